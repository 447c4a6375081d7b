// SPDX-License-Identifier: BSD-2-Clause
/*
 * libFuzzer on the wire formats: what unpacks, packs again and unpacks to the same; reserved bits
 * aside, to the same bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "falcon/wire/psp.h"
#include "falcon/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define promise(cond)                                                                              \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond);         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static bool same_hdr(const struct falcon_hdr *a, const struct falcon_hdr *b)
{
	return a->cid == b->cid && a->function == b->function && a->proto == b->proto &&
	       a->type == b->type && a->ar == b->ar && a->resync_code == b->resync_code &&
	       a->resync_type == b->resync_type && a->request_len == b->request_len &&
	       a->rdbpsn == b->rdbpsn && a->rrbpsn == b->rrbpsn && a->psn == b->psn &&
	       a->rsn == b->rsn && a->vendor == b->vendor;
}

static void reliable(const uint8_t *data, size_t size)
{
	uint8_t out[FALCON_MAX_HDR_LEN + 0x10000] = {};
	struct falcon_hdr a, b;
	uint32_t len;

	if (falcon_hdr_unpack(data, data + size, &a) != FALCON_WIRE_OK)
		return;
	promise(!falcon_type_is_ack(a.type));
	len = falcon_hdr_pack(&a, out);
	promise(len == falcon_hdr_len(a.type));
	promise(len <= size);
	/* Payload follows: Push Data's length has to agree with it. */
	if (size > sizeof(out))
		return;
	promise(falcon_hdr_unpack(out, out + size, &b) == FALCON_WIRE_OK);
	promise(same_hdr(&a, &b));
}

static void acknowledgment(const uint8_t *data, size_t size)
{
	uint8_t out[FALCON_MAX_HDR_LEN] = {}, again[FALCON_MAX_HDR_LEN] = {};
	struct falcon_ack a, b;
	uint32_t len;

	if (falcon_ack_unpack(data, data + size, &a) != FALCON_WIRE_OK)
		return;
	promise(falcon_type_is_ack(a.type));
	len = falcon_ack_pack(&a, out);
	promise(len == falcon_hdr_len(a.type));
	promise(len <= size);
	promise(falcon_ack_unpack(out, out + len, &b) == FALCON_WIRE_OK);
	promise(falcon_ack_pack(&b, again) == len);
	promise(!memcmp(out, again, len));
	promise(a.rdbpsn == b.rdbpsn && a.rrbpsn == b.rrbpsn && a.ecn == b.ecn && a.own == b.own);
}

static void psp(const uint8_t *data, size_t size)
{
	struct falcon_psp_hdr in, out;

	if (size < sizeof(in))
		return;
	memcpy(&in, data, sizeof(in));
	falcon_psp_fill(&out, falcon_psp_version(&in), falcon_psp_has_vc(&in),
			falcon_ntoh32(in.spi), falcon_ntoh64(in.iv));
	promise(falcon_psp_version(&out) == falcon_psp_version(&in));
	promise(falcon_psp_has_vc(&out) == falcon_psp_has_vc(&in));
	promise(out.spi == in.spi && out.iv == in.iv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* In memory of just the size, so that the sanitizer sees a read beyond. */
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	reliable(copy, size);
	acknowledgment(copy, size);
	psp(copy, size);
	free(copy);
	return 0;
}
