// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a peer may send that is no NVMe over Falcon, or somebody else's business: it is refused with a clear
 * status or dropped, and counted; nothing is written that should not be.
 */
#include "nvme_env.h"

#include <endian.h>
#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/wire/nvme.h>

enum { MIB = 1 << 20, CODE = 0x7ff, FOREIGN = 0x800000 };

/* A device "d" on namespace 7 of one target, which has 8 for another host, and is reached. */
struct stage {
	struct env *e;
	struct fcore_conn *near, *far;
};

static struct stage set_stage(void)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	struct nvme_ns_attr others = { .name = "others", .peers = "other",
				       .store = &e->stores[1].store, .nsid = 8, .block_shift = 9 };
	char err[160];

	memset(e->stores[1].bytes, 0x77, MIB);
	assert_int_equal(nvme_target_add(e->far[0].target, &others, err, sizeof(err)), 0);
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	return (struct stage){ e, &e->links[0].near, &e->links[0].far };
}

static uint64_t target_malformed(const struct stage *s)
{
	struct nvme_target_stats stats;

	nvme_target_stats(s->e->far[0].target, &stats);
	return stats.malformed;
}

static uint64_t device_malformed(const struct stage *s)
{
	struct nvme_dev_info info;

	nvme_dev_info(s->e->dev, &info);
	return info.malformed;
}

/* No namespace has changed, nothing holds memory, and the device still works. */
static void end_stage(struct stage *s)
{
	uint8_t data[512] = { 0x5a }, back[512];
	struct nvme_target_stats stats;

	for (int i = 0; i < 1000; i++)
		env_step(s->e);
	for (size_t i = 0; i < MIB; i++) {
		assert_int_equal(s->e->stores[0].bytes[i], 0);
		assert_int_equal(s->e->stores[1].bytes[i], 0x77);
	}
	nvme_target_stats(s->e->far[0].target, &stats);
	assert_int_equal(stats.memory_used, 0);
	assert_int_equal(env_do(s->e, nvme_cmd_write, 3, 0, data), 0);
	assert_int_equal(env_do(s->e, nvme_cmd_read, 3, 0, back), 0);
	assert_memory_equal(data, back, 512);
	env_close(s->e);
}

/* Push |len| bytes to the end |c|, in memory of just that size. How it answers. */
static enum fcore_push_outcome push(struct stage *s, struct fcore_conn *c, const void *p, uint32_t len)
{
	void *copy = malloc(len ? len : 1);

	memcpy(copy, p, len);
	nvme_ulp_ops.on_push(c->ulp, c, 0, copy, len, s->e->now);
	free(copy);
	return c->outcome;
}

static enum fcore_push_outcome request(struct stage *s, const struct falcon_nvme_hdr *h,
				       const struct falcon_nvme_cmd *c)
{
	struct falcon_nvme_request w;

	falcon_nvme_request_pack(h, c, &w);
	return push(s, s->far, &w, sizeof(w));
}

/* The status with which the target answers nCMD |icmd| of the stage's connection. */
static uint16_t answer(struct stage *s, uint32_t icmd)
{
	for (int step = 0; step < 10000; step++, env_step(s->e))
		for (unsigned int i = 0; i < s->e->limit; i++) {
			const struct env_txn *t = &s->far->txns[i];
			const struct falcon_nvme_response *r = (void *)t->hdr;
			struct falcon_nvme_hdr got;

			if (t->used && !t->pull &&
			    falcon_nvme_nbth_unpack(r, sizeof(*r), &got) && got.icmd == icmd)
				return falcon_nvme_status(r) & CODE;
		}
	fail_msg("no answer");
	return 0;
}

static uint16_t ask(struct stage *s, uint8_t type, const struct falcon_nvme_cmd *c)
{
	static uint32_t icmd = FOREIGN;
	const struct falcon_nvme_hdr h = { .type = type, .icmd = ++icmd, .itag = FOREIGN };

	assert_int_equal(request(s, &h, c), FCORE_PUSH_ACK);
	return answer(s, h.icmd);
}

static void attack_malformed_to_target(void **state)
{
	struct stage s = set_stage();
	const struct falcon_nvme_hdr h = { .type = FALCON_NVME_WRITE_REQUEST, .icmd = FOREIGN };
	const struct falcon_nvme_cmd c = { .target_nsid = 7, .unit = 2 };
	struct falcon_nvme_request w;
	uint8_t longer[sizeof(w) + 1] = {};
	uint64_t n = 0;

	(void)state;
	falcon_nvme_request_pack(&h, &c, &w);
	for (uint32_t len = 0; len < sizeof(w); len++, n++)
		assert_int_equal(push(&s, s.far, &w, len), FCORE_PUSH_CIE);
	memcpy(longer, &w, sizeof(w));
	assert_int_equal(push(&s, s.far, longer, sizeof(longer)), FCORE_PUSH_CIE);
	n++;
	/* Reserved types, what only initiators get, other versions. */
	for (unsigned int first = 0; first < 256; first++) {
		unsigned int type = first & 0xf;

		if (first >> 4 == FALCON_NVME_VERSION && falcon_nvme_hdr_len((__u8)type) == sizeof(w))
			continue;
		*(uint8_t *)&w = (uint8_t)first;
		assert_int_equal(push(&s, s.far, &w, sizeof(w)), FCORE_PUSH_CIE);
		n++;
	}
	assert_int_equal(target_malformed(&s), n);
	end_stage(&s);
}

/* An nCMD beyond the command's number, the same one twice, one that says something else, impossible sums. */
static void attack_contradictory_requests(void **state)
{
	struct stage s = set_stage();
	struct falcon_nvme_hdr h = { .type = FALCON_NVME_WRITE_REQUEST, .icmd = FOREIGN, .total = 1 };
	struct falcon_nvme_cmd c = { .target_nsid = 7, .unit = 2, .nlb = 3 };

	(void)state;
	assert_int_equal(request(&s, &h, &c), FCORE_PUSH_ACK);
	assert_int_equal(request(&s, &h, &c), FCORE_PUSH_CIE);
	h.offset = 1;
	c.slba = 9;
	assert_int_equal(request(&s, &h, &c), FCORE_PUSH_CIE);
	h.offset = 2;
	c.slba = 0;
	assert_int_equal(request(&s, &h, &c), FCORE_PUSH_CIE);
	h.icmd++;
	/* Two nCMDs of 1 KiB are not 64 KiB, and not 512 bytes; more than 4 KiB is no unit. */
	h.offset = 0;
	c.nlb = 127;
	assert_int_equal(request(&s, &h, &c), FCORE_PUSH_CIE);
	c.nlb = 0;
	assert_int_equal(request(&s, &h, &c), FCORE_PUSH_CIE);
	for (unsigned int unit = 9; unit < 256; unit++) {
		c.unit = (uint8_t)unit;
		assert_int_equal(request(&s, &h, &c), FCORE_PUSH_CIE);
	}
	assert_int_equal(target_malformed(&s), 5 + 247);
	end_stage(&s);
}

static void attack_out_of_range(void **state)
{
	static const uint8_t writing[] = { nvme_cmd_write_zeroes, nvme_cmd_dsm, nvme_cmd_verify };
	static const struct { uint64_t slba; uint16_t nlb; } ranges[] = {
		{ 2048, 0 }, { 2047, 1 }, { 2000, 65535 }, { UINT64_MAX, 0 }, { UINT64_MAX - 1, 2 },
		{ 1ULL << 55, 0 }, { (1ULL << 55) - 1, 8 }, { 1ULL << 63, 255 },
	};
	struct stage s = set_stage();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct falcon_nvme_cmd c = { .target_nsid = 7, .unit = 2, .slba = ranges[i].slba,
					     .nlb = ranges[i].nlb };

		if (c.nlb < 256) {
			assert_int_equal(ask(&s, FALCON_NVME_READ_REQUEST, &c), NVME_SC_LBA_RANGE);
			assert_int_equal(ask(&s, FALCON_NVME_WRITE_REQUEST, &c), NVME_SC_LBA_RANGE);
		}
		for (size_t k = 0; k < ARRAY_SIZE(writing) - (c.nlb > 255); k++) {
			c.opcode = writing[k];
			assert_int_equal(ask(&s, FALCON_NVME_COMMAND, &c), NVME_SC_LBA_RANGE);
		}
	}
	end_stage(&s);
}

/* More data than a command may have: refused before any memory is taken. */
static void attack_too_long(void **state)
{
	struct stage s = set_stage();
	struct falcon_nvme_cmd c = { .target_nsid = 7, .unit = 2, .nlb = 300, .opcode = nvme_cmd_compare };

	(void)state;
	assert_int_equal(ask(&s, FALCON_NVME_READ_REQUEST, &c), NVME_SC_INVALID_FIELD);
	assert_int_equal(ask(&s, FALCON_NVME_WRITE_REQUEST, &c), NVME_SC_INVALID_FIELD);
	assert_int_equal(ask(&s, FALCON_NVME_COMMAND, &c), NVME_SC_INVALID_FIELD);
	end_stage(&s);
}

static void attack_unknown_namespace(void **state)
{
	struct stage s = set_stage();
	struct falcon_nvme_cmd c = { .unit = 2, .opcode = nvme_cmd_write_zeroes };

	(void)state;
	for (uint32_t nsid = 0; nsid < 65536; nsid += nsid == 6 ? 2 : nsid < 20 ? 1 : 4369) {
		c.target_nsid = (uint16_t)nsid;
		assert_int_equal(ask(&s, FALCON_NVME_READ_REQUEST, &c), NVME_SC_INVALID_NS);
		assert_int_equal(ask(&s, FALCON_NVME_WRITE_REQUEST, &c), NVME_SC_INVALID_NS);
		assert_int_equal(ask(&s, FALCON_NVME_COMMAND, &c), NVME_SC_INVALID_NS);
	}
	end_stage(&s);
}

/* What is another host's is refused like what does not exist, and no list has it. */
static void attack_namespace_of_others(void **state)
{
	static const uint8_t io[] = { nvme_cmd_flush, nvme_cmd_write_zeroes, nvme_cmd_dsm,
				      nvme_cmd_verify, nvme_cmd_compare };
	struct stage s = set_stage();
	struct falcon_nvme_cmd c = { .target_nsid = 8, .unit = 2 };
	const struct env_txn *list = NULL;
	const struct falcon_nvme_hdr h = { .type = FALCON_NVME_COMMAND, .icmd = FOREIGN / 2 };

	(void)state;
	assert_int_equal(ask(&s, FALCON_NVME_READ_REQUEST, &c), NVME_SC_INVALID_NS);
	assert_int_equal(ask(&s, FALCON_NVME_WRITE_REQUEST, &c), NVME_SC_INVALID_NS);
	for (size_t i = 0; i < ARRAY_SIZE(io); i++) {
		c.opcode = io[i];
		assert_int_equal(ask(&s, FALCON_NVME_COMMAND, &c), NVME_SC_INVALID_NS);
	}
	c.admin = 1;
	c.opcode = nvme_admin_get_lba_status;
	assert_int_equal(ask(&s, FALCON_NVME_COMMAND, &c), NVME_SC_INVALID_NS);
	c.opcode = nvme_admin_identify;
	c.reftag = NVME_IDENTIFY_CNS_NS;
	assert_int_equal(ask(&s, FALCON_NVME_COMMAND, &c), NVME_SC_INVALID_NS);
	/* The list has 7 alone: what Identify sends in its first nCMD of four. */
	c.target_nsid = 0;
	c.reftag = NVME_IDENTIFY_CNS_NS_ACTIVE_LIST;
	for (uint8_t i = 0; i < 4; i++) {
		struct falcon_nvme_hdr each = h;

		each.total = 3;
		each.offset = i;
		assert_int_equal(request(&s, &each, &c), FCORE_PUSH_ACK);
	}
	assert_int_equal(answer(&s, h.icmd), 0);
	for (unsigned int i = 0; i < s.e->limit && !list; i++) {
		struct falcon_nvme_hdr got;

		if (s.far->txns[i].used && s.far->txns[i].payload &&
		    falcon_nvme_nbth_unpack(s.far->txns[i].hdr, 36, &got) && got.icmd == h.icmd &&
		    got.offset == 0)
			list = &s.far->txns[i];
	}
	assert_non_null(list);
	assert_int_equal(le32toh(((const uint32_t *)list->payload)[0]), 7);
	assert_int_equal(((const uint32_t *)list->payload)[1], 0);
	end_stage(&s);
}

static void attack_unknown_opcodes(void **state)
{
	struct stage s = set_stage();
	struct falcon_nvme_cmd c = { .target_nsid = 7, .unit = 2 };

	(void)state;
	for (unsigned int op = 0; op < 256; op++) {
		bool known = op == nvme_cmd_flush || op == nvme_cmd_write || op == nvme_cmd_read ||
			     op == nvme_cmd_compare || op == nvme_cmd_write_zeroes ||
			     op == nvme_cmd_dsm || op == nvme_cmd_verify;

		c.opcode = (uint8_t)op;
		c.admin = 0;
		if (!known)
			assert_int_equal(ask(&s, FALCON_NVME_COMMAND, &c), NVME_SC_INVALID_OPCODE);
		c.admin = 1;
		if (op != nvme_admin_identify && op != nvme_admin_get_lba_status &&
		    op != nvme_admin_async_event)
			assert_int_equal(ask(&s, FALCON_NVME_COMMAND, &c), NVME_SC_INVALID_OPCODE);
	}
	end_stage(&s);
}

/* Requests of whose commands the rest never comes hold no memory, and no more than so many places. */
static void attack_half_commands(void **state)
{
	struct stage s = set_stage();
	struct falcon_nvme_hdr h = { .type = FALCON_NVME_WRITE_REQUEST, .icmd = FOREIGN, .total = 63 };
	const struct falcon_nvme_cmd c = { .target_nsid = 7, .unit = 2, .nlb = 127 };
	struct nvme_target_stats stats;
	int taken = 0;

	(void)state;
	while (request(&s, &h, &c) == FCORE_PUSH_ACK && taken <= NVME_TCMDS) {
		h.icmd++;
		taken++;
	}
	/* One place is the initiator's request for events. */
	assert_in_range(taken, NVME_TCMDS - 1, NVME_TCMDS);
	assert_int_equal(s.far->outcome, FCORE_PUSH_RNR);
	nvme_target_stats(s.e->far[0].target, &stats);
	assert_int_equal(stats.memory_used, 0);
	assert_true(stats.overrun > 0);
	/* Its own connection is all that it has spoilt. */
	env_cut(s.e, 0);
	end_stage(&s);
}

/* Another host uses the very tags and identifiers of a command that is under way. */
static void attack_tags_of_others(void **state)
{
	struct stage s = set_stage();
	struct nvme_dev_attr attr = *nvme_dev_attr(s.e->dev);
	uint8_t data[512] = { 0x33 }, back[512];
	struct fcore_conn *other;
	struct env_cmd cmd;
	unsigned int done = 0, sent = 0;
	char err[160];

	(void)state;
	strcpy(attr.name, "other");
	assert_int_equal(nvme_initiator_add(s.e->near.initiator, &attr, err, sizeof(err)), 0);
	for (int i = 0; i < 5000; i++)
		env_step(s.e);
	other = &s.e->links[1].far;
	assert_true(other->up);
	s.e->stores[0].full = true;
	env_start(s.e, &cmd, nvme_cmd_write, 5, 0, data, &done);
	for (int step = 0; step < 2000; step++, env_step(s.e))
		for (unsigned int i = 0; i < s.e->limit; i++) {
			const struct env_txn *t = &s.near->txns[i];
			struct falcon_nvme_request w;
			struct falcon_nvme_hdr h;

			/* Whatever it sends, as if it came from the other one, to other blocks. */
			if (!t->used || t->pull || !falcon_nvme_nbth_unpack(t->hdr, t->hdr_len, &h) ||
			    h.type != FALCON_NVME_WRITE_REQUEST)
				continue;
			sent++;
			memcpy(&w, t->hdr, sizeof(w));
			w.slba_lo = falcon_hton32(99);
			push(&s, other, &w, sizeof(w));
		}
	assert_true(sent > 0);
	s.e->stores[0].full = false;
	env_until(s.e, &done, 1);
	assert_int_equal(cmd.status, 0);
	/* The initiator has not given the other one the data of a command that is not of its connection. */
	for (int i = 0; i < 2000; i++)
		env_step(s.e);
	assert_int_equal(s.e->stores[0].bytes[99 * 512], 0);
	assert_int_equal(env_do(s.e, nvme_cmd_read, 5, 0, back), 0);
	assert_memory_equal(back, data, 512);
	memset(s.e->stores[0].bytes + 5 * 512, 0, 512);
	end_stage(&s);
}

/* Answers and pulls for nobody, to an initiator that has commands under way. */
static void attack_unasked_completions(void **state)
{
	struct stage s = set_stage();
	uint8_t data[1024] = { 0x44 };
	struct env_cmd cmd;
	unsigned int done = 0;
	uint64_t n = 0, before = device_malformed(&s);

	(void)state;
	s.e->stores[0].frozen = true;
	env_start(s.e, &cmd, nvme_cmd_read, 0, 1, data, &done);
	for (int i = 0; i < 1000; i++)
		env_step(s.e);
	for (uint32_t itag = 0; itag < 4096; itag += 7)
		for (uint8_t type = 0; type < 16; type++) {
			uint8_t packet[64] = {};
			const struct falcon_nvme_hdr h = { .type = type, .itag = itag, .icmd = FOREIGN };

			falcon_nvme_nbth_pack(&h, (struct falcon_nvme_nbth *)packet);
			assert_int_equal(push(&s, s.near, packet, falcon_nvme_hdr_len(type) ?
					 falcon_nvme_hdr_len(type) : 64), FCORE_PUSH_CIE);
			n++;
		}
	assert_int_equal(device_malformed(&s) - before, n);
	assert_int_equal(done, 0);
	s.e->stores[0].frozen = false;
	env_until(s.e, &done, 1);
	assert_int_equal(cmd.status, 0);
	assert_int_equal(data[0], 0);
	end_stage(&s);
}

/* Pulls of what is not there: of nobody's command, of a read's, twice, of more than there is. */
static void attack_unasked_pulls(void **state)
{
	struct stage s = set_stage();
	uint8_t data[512] = { 0x55 };
	struct env_cmd cmd;
	unsigned int done = 0;
	uint64_t n = 0, before = device_malformed(&s);

	(void)state;
	s.e->stores[0].frozen = true;
	env_start(s.e, &cmd, nvme_cmd_read, 0, 0, data, &done);
	for (int i = 0; i < 1000; i++)
		env_step(s.e);
	for (uint32_t itag = 0; itag < 1024; itag++)
		for (uint32_t icmd = 0; icmd < 4; icmd++) {
			const struct falcon_nvme_hdr h = { .type = FALCON_NVME_WRITE_DATA_REQUEST,
							   .itag = itag, .icmd = icmd };
			struct falcon_nvme_nbth w;

			falcon_nvme_nbth_pack(&h, &w);
			nvme_ulp_ops.on_pull(s.near->ulp, s.near, 0, &w, sizeof(w),
					     sizeof(struct falcon_nvme_response) + 512, s.e->now);
			assert_int_equal(s.near->response_len, 0);
			s.near->nheld--;
			n++;
		}
	assert_int_equal(device_malformed(&s) - before, n);
	s.e->stores[0].frozen = false;
	env_until(s.e, &done, 1);
	assert_int_equal(cmd.status, 0);
	end_stage(&s);
}

/* What the target has asked for comes with another length, type or tag: nothing is written. */
static void attack_wrong_data(void **state)
{
	struct stage s = set_stage();
	struct falcon_nvme_cmd c = { .target_nsid = 7, .unit = 2 };

	(void)state;
	for (unsigned int what = 0; what < 6; what++) {
		struct falcon_nvme_hdr h = { .type = FALCON_NVME_WRITE_REQUEST, .icmd = FOREIGN + what,
					     .itag = FOREIGN };
		uint8_t packet[sizeof(struct falcon_nvme_response) + 513];
		uint32_t len = sizeof(packet) - 1;
		struct env_txn *t = NULL;

		memset(packet, 0xee, sizeof(packet));
		assert_int_equal(request(&s, &h, &c), FCORE_PUSH_ACK);
		nvme_ulp_ops.pump(s.far->ulp, s.e->now);
		for (unsigned int i = 0; i < s.e->limit; i++)
			if (s.far->txns[i].used && s.far->txns[i].pull)
				t = &s.far->txns[i];
		assert_non_null(t);
		h.type = what == 0 ? FALCON_NVME_READ_RESPONSE : FALCON_NVME_WRITE_DATA;
		h.itag ^= what == 1;
		h.icmd ^= what == 2;
		len = what == 3 ? len - 1 : what == 4 ? len + 1 : what == 5 ? 8 : len;
		falcon_nvme_response_pack(&h, 0, (struct falcon_nvme_response *)packet);
		nvme_ulp_ops.on_pull_data(s.far->ulp, s.far, t->cookie, packet, len);
		t->used = false;
		nvme_ulp_ops.on_completion(s.far->ulp, s.far, t->cookie, kCmplAck, 0);
		assert_int_equal(answer(&s, FOREIGN + what), NVME_SC_DATA_XFER_ERROR);
	}
	assert_int_equal(target_malformed(&s), 6);
	end_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_malformed_to_target),
		cmocka_unit_test(attack_contradictory_requests),
		cmocka_unit_test(attack_out_of_range),
		cmocka_unit_test(attack_too_long),
		cmocka_unit_test(attack_unknown_namespace),
		cmocka_unit_test(attack_namespace_of_others),
		cmocka_unit_test(attack_unknown_opcodes),
		cmocka_unit_test(attack_half_commands),
		ENV_STANDARD(attack_tags_of_others),
		cmocka_unit_test(attack_unasked_completions),
		cmocka_unit_test(attack_unasked_pulls),
		cmocka_unit_test(attack_wrong_data),
	};

	return unit_run(tests);
}
