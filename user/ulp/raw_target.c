// SPDX-License-Identifier: BSD-2-Clause
/* Target side: what peers ask of the services attached here. */
#include "ulp/raw_priv.h"

#include <string.h>

/* How a push is answered: outcome and, for FCORE_PUSH_CIE, an enum falcon_raw_error. */
struct answer {
	enum fcore_push_outcome outcome;
	uint8_t ulp_code;
};

static const struct answer accepted = { FCORE_PUSH_ACK, FALCON_RAW_OK };
static const struct answer not_ready = { FCORE_PUSH_RNR, FALCON_RAW_OK };

static struct answer refused(enum falcon_raw_error why)
{
	return (struct answer){ FCORE_PUSH_CIE, (uint8_t)why };
}

static struct raw_client *find_service(struct raw_ulp *ulp, const struct falcon_raw_hdr *hdr)
{
	return ulp->services[falcon_ntoh16(hdr->dst_service)];
}

static struct answer put(struct raw_client *rc, uint32_t cid, const struct falcon_raw_hdr *hdr,
			 const void *data, uint32_t len)
{
	void *to = client_remote(rc->cl, falcon_ntoh64(hdr->offset), len, true, cid,
				 falcon_ntoh16(hdr->src_service));

	if (!to)
		return refused(FALCON_RAW_NO_ACCESS);
	memcpy(to, data, len);
	return accepted;
}

/*
 * A full ring makes the sender wait, but not for ever: on an ordered connection everything behind
 * this message waits too, also what is for other services.
 */
static struct answer deliver(struct raw_client *rc, uint32_t cid, const struct falcon_raw_hdr *hdr,
			     const void *data, uint32_t len, uint64_t now)
{
	if (len > FALCON_MSG_MAX)
		return refused(FALCON_RAW_MALFORMED);
	if (!client_deliver(rc->cl, cid, falcon_ntoh16(hdr->src_service),
			    falcon_ntoh64(hdr->offset), data, len)) {
		rc->full_since = 0;
		return accepted;
	}
	if (!rc->full_since)
		rc->full_since = now;
	if (now - rc->full_since > RAW_STUCK_NS)
		return refused(FALCON_RAW_STUCK);
	return not_ready;
}

static struct answer handle_push(struct raw_ulp *ulp, uint32_t cid, const uint8_t *payload,
				 uint32_t len, uint64_t now)
{
	struct falcon_raw_hdr hdr;
	struct raw_client *rc;

	if (len < sizeof(hdr))
		return refused(FALCON_RAW_MALFORMED);
	memcpy(&hdr, payload, sizeof(hdr));
	payload += sizeof(hdr);
	len -= sizeof(hdr);
	rc = find_service(ulp, &hdr);
	if (!rc)
		return refused(FALCON_RAW_NO_SERVICE);
	switch (hdr.op) {
	case FALCON_RAW_PUT: return put(rc, cid, &hdr, payload, len);
	case FALCON_RAW_SEND: return deliver(rc, cid, &hdr, payload, len, now);
	default: return refused(FALCON_RAW_MALFORMED);
	}
}

void raw_on_push(struct raw_ulp *ulp, struct fcore_conn *c, uint32_t rsn, const void *payload,
		 uint32_t len, uint64_t now)
{
	struct answer a = handle_push(ulp, fcore_conn_cid(c), payload, len, now);

	fcore_push_done(c, rsn, a.outcome, RAW_RNR_CODE, a.ulp_code, now);
}

/* The service that a pull asks and the memory it asks for, or NULL. */
static struct raw_client *pull_source(struct raw_ulp *ulp, uint32_t cid, const void *hdr, uint32_t hdr_len,
				      uint32_t len, const void **from)
{
	struct falcon_raw_hdr h;
	struct raw_client *rc;

	if (hdr_len < sizeof(h))
		return NULL;
	memcpy(&h, hdr, sizeof(h));
	rc = find_service(ulp, &h);
	if (!rc || h.op != FALCON_RAW_GET)
		return NULL;
	*from = client_remote(rc->cl, falcon_ntoh64(h.offset), len, false, cid,
			      falcon_ntoh16(h.src_service));
	return *from ? rc : NULL;
}

void raw_on_pull(struct raw_ulp *ulp, struct fcore_conn *c, uint32_t rsn, const void *hdr,
		 uint32_t hdr_len, uint16_t request_len, uint64_t now)
{
	struct fcore_response resp = { 0 };
	struct raw_client *rc = pull_source(ulp, fcore_conn_cid(c), hdr, hdr_len, request_len,
					    &resp.payload);

	if (rc) {
		rc->refs++;
		resp.len = request_len;
		resp.cookie = (uintptr_t)rc;
	}
	fcore_pull_respond(c, rsn, &resp, now);
}

void raw_on_response_done(struct raw_ulp *ulp, struct fcore_conn *c, uint64_t cookie)
{
	(void)ulp;
	(void)c;
	if (cookie)
		raw_client_put((struct raw_client *)(uintptr_t)cookie);
}
