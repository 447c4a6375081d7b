// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the initiator asks for, field by field (NVMe 6.7, 8.2, 8.3, 8.5), and how a target says that its
 * namespace is formatted.
 */
#include "nvme_env.h"

#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/wire/nvme.h>

enum { MIB = 1 << 20, MOST = 64 };

/* Requests that have come by, in the order of their delivery. */
static struct request {
	struct falcon_nvme_hdr h;
	struct falcon_nvme_cmd c;
} seen[MOST];
static unsigned int nseen;
/* Of Identify Namespace: the first part of the answer. */
static struct nvme_id_ns format;

static void look(struct env *e, uint8_t *packet, uint32_t len)
{
	struct falcon_nvme_hdr h;

	(void)e;
	assert_true(falcon_nvme_nbth_unpack(packet, len, &h));
	if (h.type == FALCON_NVME_READ_RESPONSE && h.offset == 0 && len > 1024)
		memcpy(&format, packet + sizeof(struct falcon_nvme_response), 1024);
	if (falcon_nvme_hdr_len(h.type) != sizeof(struct falcon_nvme_request) || nseen == MOST)
		return;
	seen[nseen].h = h;
	falcon_nvme_request_unpack((const void *)packet, h.type, &seen[nseen++].c);
}

/* A device that has been reached, whose first command comes now. */
static struct env *open_seen(unsigned int targets, uint8_t shift, const struct env_format *f)
{
	struct env *e = f ? env_open_format(targets, MIB, shift, MIB, f) :
			    env_open(targets, MIB, shift, MIB);

	memset(&format, 0, sizeof(format));
	e->on_wire = look;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	nseen = 0;
	return e;
}

static void check_tags(uint8_t prinfo, uint32_t reftag, uint16_t apptag)
{
	assert_true(nseen > 0);
	for (unsigned int i = 0; i < nseen; i++) {
		assert_int_equal(seen[i].c.prinfo, prinfo);
		assert_int_equal(seen[i].c.reftag, reftag);
		assert_int_equal(seen[i].c.apptag, apptag);
		assert_int_equal(seen[i].c.apptag_mask, 0xffff);
	}
	nseen = 0;
}

/* Read and Write, Compare and Verify, of blocks 4 and 5 of a target's. */
static void tags_of(const struct env_format *f, uint8_t prinfo, uint32_t reftag, uint16_t apptag)
{
	struct env *e = open_seen(1, 12, f);
	uint8_t *data = calloc(2, 4096);

	assert_int_equal(env_do(e, nvme_cmd_write, 4, 1, data), 0);
	check_tags(prinfo, reftag, apptag);
	assert_int_equal(env_do(e, nvme_cmd_read, 4, 1, data), 0);
	check_tags(prinfo, reftag, apptag);
	assert_int_equal(env_do(e, nvme_cmd_compare, 4, 1, data), 0);
	check_tags(prinfo, reftag, apptag);
	assert_int_equal(env_do(e, nvme_cmd_verify, 4, 1, NULL), 0);
	check_tags(prinfo, reftag, apptag);
	free(data);
	env_close(e);
}

/* PRACT clear, PRCHK set, tags of the target's LBA; or, disabled, PRCHK clear and tags all ones. */
static void s6_7_tags_of_requests(void **state)
{
	const struct env_format checked = {}, unchecked = { .unchecked = true };

	(void)state;
	tags_of(&checked, NVME_PRINFO_CHECK, 4, 4);
	tags_of(&unchecked, 0, UINT32_MAX, UINT16_MAX);
	tags_of(NULL, 0, UINT32_MAX, UINT16_MAX);
}

static void s6_7_format_of_targets(void **state)
{
	const struct env_format f = {};

	(void)state;
	env_close(open_seen(1, 12, &f));
	assert_int_equal(format.flbas, 0);
	assert_int_equal(format.lbaf[0].ms, 16);
	assert_int_equal(format.lbaf[0].ds, 12);
	assert_int_equal(format.dps, NVME_NS_DPS_PI_TYPE1);
	assert_int_equal(format.mc, NVME_NS_MC_SEPARATE);
	env_close(open_seen(1, 12, NULL));
	assert_int_equal(format.lbaf[0].ms | format.dps, 0);
}

/* A command across a stripe boundary: both groups, each nCMD once, with what their group has. */
static void s8_2_split_command(void **state)
{
	struct env *e = open_seen(2, 12, NULL);
	uint8_t *data = calloc(8, 4096), offsets[32] = {};

	(void)state;
	/* Stripes of 64 blocks, nCMDs of 1 KiB: three blocks of target 0's, five of target 1's. */
	assert_int_equal(env_do(e, nvme_cmd_write, 61, 7, data), 0);
	assert_int_equal(nseen, 32);
	for (unsigned int i = 0; i < nseen; i++) {
		const struct request *r = &seen[i];

		assert_int_equal(r->h.type, FALCON_NVME_WRITE_REQUEST);
		assert_int_equal(r->h.split, 1);
		assert_int_equal(r->h.total, 31);
		assert_int_equal(r->h.icmd, seen[0].h.icmd);
		assert_int_equal(r->h.group, r->h.offset >= 12);
		assert_int_equal(r->c.slba, r->h.group ? 0 : 61);
		assert_int_equal(r->c.nlb, r->h.group ? 4 : 2);
		assert_int_equal(offsets[r->h.offset]++, 0);
	}
	nseen = 0;
	assert_int_equal(env_do(e, nvme_cmd_read, 60, 3, data), 0);
	assert_int_equal(nseen, 16);
	for (unsigned int i = 0; i < nseen; i++)
		assert_int_equal(seen[i].h.split | seen[i].h.group, 0);
	free(data);
	env_close(e);
}

/* "As per the original NVMe command." */
static void s8_5_fields_of_the_command(void **state)
{
	struct env *e = open_seen(1, 12, NULL);
	uint8_t *data = calloc(1, 4096);
	struct env_cmd cmd = {
		.icmd = { .sqe = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1, .cdw10 = 9,
				   .cdw12 = 3U << 30 | 5 << 20, .cdw13 = 0x1234 << 16 | 0xa5 },
			  .data = data },
	};

	(void)state;
	env_submit(e, &cmd);
	assert_int_equal(cmd.status, 0);
	assert_int_equal(nseen, 4);
	assert_int_equal(seen[0].c.initiator_nsid, 1);
	assert_int_equal(seen[0].c.target_nsid, 7);
	assert_int_equal(seen[0].c.slba, 9);
	assert_int_equal(seen[0].c.nlb, 0);
	assert_int_equal(seen[0].c.fua & seen[0].c.lr, 1);
	assert_int_equal(seen[0].c.dtype, 5);
	assert_int_equal(seen[0].c.dspec, 0x1234);
	assert_int_equal(seen[0].c.dsm, 0xa5);
	nseen = 0;
	cmd.icmd.sqe.opcode = nvme_cmd_read;
	cmd.ended = false;
	env_submit(e, &cmd);
	assert_int_equal(seen[0].h.type, FALCON_NVME_READ_REQUEST);
	assert_int_equal(seen[0].c.fua & seen[0].c.lr, 1);
	assert_int_equal(seen[0].c.dsm, 0xa5);
	free(data);
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENV_STANDARD(s6_7_tags_of_requests),
		ENV_STANDARD(s6_7_format_of_targets),
		ENV_STANDARD(s8_2_split_command),
		ENV_STANDARD(s8_5_fields_of_the_command),
	};

	return unit_run(tests);
}
