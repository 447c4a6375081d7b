// SPDX-License-Identifier: BSD-2-Clause
/*
 * The combined packets: writes whose data come with their requests, one completion a command, one request
 * for all of a read. Which packets travel, what becomes of data that find no memory, and what a peer may
 * not send.
 */
#include "nvme_env.h"

#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/wire/nvme.h>

enum {
	MIB = 1 << 20,
	SMALL = 512 << 10,
	LARGEST = 128 << 10,
	UNIT = 1024,
	LARGE_UNIT = 4096,
	TYPES = 16,
	FOREIGN = 0x800000,
};

static unsigned int count[TYPES];

static void look(struct env *e, uint8_t *packet, uint32_t len)
{
	struct falcon_nvme_hdr h;

	(void)e;
	assert_true(falcon_nvme_nbth_unpack(packet, len, &h));
	count[h.type]++;
}

/*
 * A device of |targets| of |memory| each, whose blocks are 4 KiB, that is reached. Where memory is small
 * nCMDs are large, so that those of a connection have more data than that.
 */
static struct env *reach(unsigned int targets, uint64_t memory, bool old)
{
	struct env *e = env_open(targets, 4 * MIB, 12, memory);

	if (memory == SMALL)
		e->max_len = LARGE_UNIT + 200;
	e->old_targets = old;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	e->on_wire = look;
	memset(count, 0, sizeof(count));
	return e;
}

static void expect(unsigned int type, unsigned int n)
{
	assert_int_equal(count[type], n);
	count[type] = 0;
}

static void expect_no_more(void)
{
	for (unsigned int i = 0; i < TYPES; i++)
		assert_int_equal(count[i], 0);
}

static struct nvme_target_stats stats_of(const struct env *e)
{
	struct nvme_target_stats s;

	nvme_target_stats(e->far[0].target, &s);
	return s;
}

static void packets(void **state)
{
	struct env *e = reach(1, MIB, false);
	uint8_t *data = calloc(2, 4096);

	(void)state;
	assert_int_equal(env_do(e, nvme_cmd_write, 3, 1, data), 0);
	expect(FALCON_NVME_WRITE_WITH_DATA, 8);
	expect(FALCON_NVME_COMMAND_COMPLETION, 1);
	assert_int_equal(env_do(e, nvme_cmd_read, 3, 1, data), 0);
	expect(FALCON_NVME_READ_COMMAND, 1);
	expect(FALCON_NVME_READ_RESPONSE, 8);
	/* What has no such packet is as it was. */
	assert_int_equal(env_do(e, nvme_cmd_compare, 3, 1, data), 0);
	expect(FALCON_NVME_COMMAND, 8);
	expect(FALCON_NVME_WRITE_DATA, 8);
	expect(FALCON_NVME_WRITE_COMPLETION, 8);
	expect_no_more();
	free(data);
	env_close(e);
}

/* A command across a stripe boundary: each target completes its group. */
static void split(void **state)
{
	struct env *e = reach(2, MIB, false);
	uint8_t *data = malloc(8 * 4096), *back = malloc(8 * 4096);

	(void)state;
	memset(data, 0x6b, 8 * 4096);
	assert_int_equal(env_do(e, nvme_cmd_write, 61, 7, data), 0);
	expect(FALCON_NVME_WRITE_WITH_DATA, 32);
	expect(FALCON_NVME_COMMAND_COMPLETION, 2);
	assert_int_equal(env_do(e, nvme_cmd_read, 61, 7, back), 0);
	expect(FALCON_NVME_READ_COMMAND, 2);
	expect(FALCON_NVME_READ_RESPONSE, 32);
	expect_no_more();
	assert_memory_equal(data, back, 8 * 4096);
	assert_int_equal(e->stores[0].bytes[63 * 4096], 0x6b);
	assert_int_equal(e->stores[1].bytes[4 * 4096], 0x6b);
	free(data);
	free(back);
	env_close(e);
}

/* A target of another make, and an initiator that is not to use them. */
static void not_agreed(void **state)
{
	uint8_t *data = calloc(1, 4096);

	(void)state;
	for (int old = 0; old < 2; old++) {
		struct env *e;

		assert_int_equal(old ? env_combined(NULL) : env_standard(NULL), 0);
		e = reach(1, MIB, old);
		assert_int_equal(env_do(e, nvme_cmd_write, 3, 0, data), 0);
		expect(FALCON_NVME_WRITE_REQUEST, 4);
		expect(FALCON_NVME_WRITE_COMPLETION, 4);
		assert_int_equal(env_do(e, nvme_cmd_read, 3, 0, data), 0);
		expect(FALCON_NVME_READ_REQUEST, 4);
		expect(FALCON_NVME_READ_RESPONSE, 4);
		expect(FALCON_NVME_WRITE_DATA, 4);
		expect_no_more();
		env_close(e);
	}
	free(data);
}

/* A refused command is answered at once, whatever has come with it; one answer is enough for a read. */
static void refused(void **state)
{
	struct env *e = reach(1, MIB, false);
	uint8_t *data = calloc(1, 4096);

	(void)state;
	e->stores[0].fail = -5;
	assert_int_equal(env_do(e, nvme_cmd_read, 3, 0, data) & 0x7ff,
			 NVME_SCT_MEDIA << 8 | (NVME_SC_READ_ERROR & 0xff));
	expect(FALCON_NVME_READ_COMMAND, 1);
	expect(FALCON_NVME_READ_RESPONSE, 1);
	assert_int_equal(env_do(e, nvme_cmd_write, 3, 0, data) & 0x7ff,
			 NVME_SCT_MEDIA << 8 | (NVME_SC_WRITE_FAULT & 0xff));
	expect(FALCON_NVME_WRITE_WITH_DATA, 4);
	expect(FALCON_NVME_COMMAND_COMPLETION, 1);
	expect_no_more();
	e->stores[0].fail = 0;
	assert_int_equal(env_do(e, nvme_cmd_read, 3, 0, data), 0);
	free(data);
	env_close(e);
}

/* More data come than there is memory: what finds none is pulled, in its turn. */
static void more_than_memory(void **state)
{
	enum { N = 12 };
	struct env *e = reach(1, SMALL, false);
	struct env_cmd *cmds = calloc(N, sizeof(*cmds));
	uint8_t *data = malloc(N * LARGEST);
	unsigned int done = 0;

	(void)state;
	for (size_t i = 0; i < N * LARGEST; i++)
		data[i] = (uint8_t)(i * 7 >> 3);
	e->stores[0].frozen = true;
	for (unsigned int i = 0; i < N; i++)
		env_start(e, &cmds[i], nvme_cmd_write, i * 32, 31, data + i * LARGEST, &done);
	for (int i = 0; i < 20000; i++)
		env_step(e);
	assert_int_equal(done, 0);
	assert_int_equal(stats_of(e).memory_used, SMALL);
	e->stores[0].frozen = false;
	env_until(e, &done, N);
	for (unsigned int i = 0; i < N; i++)
		assert_int_equal(cmds[i].status, 0);
	assert_memory_equal(e->stores[0].bytes, data, N * LARGEST);
	assert_true(stats_of(e).put_off > 0);
	assert_int_equal(stats_of(e).put_off, count[FALCON_NVME_WRITE_DATA]);
	assert_int_equal(stats_of(e).memory_used, 0);
	free(cmds);
	free(data);
	env_close(e);
}

/* A namespace with limits: commands that wait for them hold no memory that others need. */
static void limited(void **state)
{
	struct env *e = reach(1, SMALL, false);
	struct env_cmd *cmds = calloc(8, sizeof(*cmds));
	uint8_t *data = calloc(1, LARGEST);
	unsigned int done = 0;

	(void)state;
	nvme_target_set_limits(e->far[0].target, 0, 100, 0);
	for (unsigned int i = 0; i < 8; i++)
		env_start(e, &cmds[i], nvme_cmd_write, i * 32, 31, data, &done);
	env_until(e, &done, 8);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(cmds[i].status, 0);
	free(cmds);
	free(data);
	env_close(e);
}

static enum fcore_push_outcome push(struct env *e, struct fcore_conn *c, const void *head, uint32_t len,
				    uint32_t data)
{
	uint8_t *copy = calloc(1, len + data);

	memcpy(copy, head, len);
	nvme_ulp_ops.on_push(c->ulp, c, 0, copy, len + data, e->now);
	free(copy);
	return c->outcome;
}

/* As a hostile initiator: nCMD |offset| of a command of |blocks| blocks, with |data| bytes. */
static enum fcore_push_outcome request(struct env *e, uint8_t type, uint32_t icmd, uint8_t offset,
				       uint16_t blocks, uint32_t data)
{
	const struct falcon_nvme_hdr h = { .type = type, .icmd = FOREIGN + icmd, .offset = offset,
					   .total = (uint8_t)(blocks * 4 - 1) };
	const struct falcon_nvme_cmd c = { .target_nsid = 7, .slba = 500, .unit = UNIT / 512,
					   .nlb = (uint16_t)(blocks - 1), .reftag = UINT32_MAX,
					   .apptag = UINT16_MAX, .apptag_mask = UINT16_MAX };
	struct falcon_nvme_request w;

	falcon_nvme_request_pack(&h, &c, &w);
	return push(e, &e->links[0].far, &w, sizeof(w), data);
}

static void attack_requests(void **state)
{
	struct env *e = reach(1, MIB, false);
	const uint8_t with = FALCON_NVME_WRITE_WITH_DATA;

	(void)state;
	for (uint32_t len = 0; len <= 2 * UNIT; len += 64)
		if (len != UNIT)
			assert_int_equal(request(e, with, 1, 0, 2, len), FCORE_PUSH_CIE);
	assert_int_equal(stats_of(e).memory_used, 0);
	/* The same twice, beyond its end, of another kind. */
	assert_int_equal(request(e, with, 2, 1, 2, UNIT), FCORE_PUSH_ACK);
	assert_int_equal(request(e, with, 2, 1, 2, UNIT), FCORE_PUSH_CIE);
	assert_int_equal(request(e, with, 2, 8, 2, UNIT), FCORE_PUSH_CIE);
	assert_int_equal(request(e, FALCON_NVME_WRITE_REQUEST, 2, 0, 2, 0), FCORE_PUSH_CIE);
	assert_int_equal(request(e, FALCON_NVME_READ_COMMAND, 2, 0, 2, 0), FCORE_PUSH_CIE);
	/* A read of all that begins in the middle, or has data. */
	assert_int_equal(request(e, FALCON_NVME_READ_COMMAND, 3, 1, 2, 0), FCORE_PUSH_CIE);
	assert_int_equal(request(e, FALCON_NVME_READ_COMMAND, 3, 0, 2, 64), FCORE_PUSH_CIE);
	/* A target's packet. */
	assert_int_equal(request(e, FALCON_NVME_COMMAND_COMPLETION, 3, 0, 2, 0), FCORE_PUSH_CIE);
	assert_true(stats_of(e).malformed >= 38);
	for (size_t i = 0; i < 4 * MIB; i++)
		assert_int_equal(e->stores[0].bytes[i], 0);
	env_close(e);
}

/* Commands that never become whole take the memory, until it is somebody's turn. */
static void attack_half_commands(void **state)
{
	struct env *e = reach(1, SMALL, false);
	uint8_t *data = malloc(LARGEST), *back = malloc(LARGEST);

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(request(e, FALCON_NVME_WRITE_WITH_DATA, i, 5, 32, UNIT), FCORE_PUSH_ACK);
	assert_int_equal(stats_of(e).memory_used, SMALL);
	memset(data, 0x21, LARGEST);
	assert_int_equal(env_do(e, nvme_cmd_write, 64, 31, data), 0);
	assert_int_equal(env_do(e, nvme_cmd_read, 64, 31, back), 0);
	assert_memory_equal(data, back, LARGEST);
	assert_int_equal(e->stores[0].bytes[500 * 4096 + 5 * UNIT], 0);
	free(data);
	free(back);
	env_close(e);
}

/* The header of the first request of type |type| that the initiator has in its core, as an answer's. */
static struct falcon_nvme_hdr answer_to(struct env *e, uint8_t type, uint8_t as)
{
	struct falcon_nvme_hdr h;

	for (int step = 0; step < 1000; step++, env_step(e))
		for (unsigned int i = 0; i < e->limit; i++) {
			const struct env_txn *t = &e->links[0].near.txns[i];

			if (!t->used || t->pull || !falcon_nvme_nbth_unpack(t->hdr, t->hdr_len, &h) ||
			    h.type != type)
				continue;
			h.type = as;
			return h;
		}
	fail_msg("no such request");
	return h;
}

static enum fcore_push_outcome answer(struct env *e, const struct falcon_nvme_hdr *h, uint16_t status,
				      uint32_t data)
{
	struct falcon_nvme_response w;

	falcon_nvme_response_pack(h, status, &w);
	return push(e, &e->links[0].near, &w, sizeof(w), data);
}

/* A hostile target: answers that do not fit, or come twice. */
static void attack_answers(void **state)
{
	struct env *e = reach(1, MIB, false);
	uint8_t *data = calloc(1, LARGEST);
	struct falcon_nvme_hdr h;
	unsigned int done = 0;
	struct env_cmd cmd;

	(void)state;
	e->stores[0].frozen = true;
	env_start(e, &cmd, nvme_cmd_read, 0, 1, data, &done);
	h = answer_to(e, FALCON_NVME_READ_COMMAND, FALCON_NVME_COMMAND_COMPLETION);
	assert_int_equal(answer(e, &h, 0, 0), FCORE_PUSH_CIE);
	h.type = FALCON_NVME_READ_RESPONSE;
	assert_int_equal(answer(e, &h, 0, UNIT + 1), FCORE_PUSH_CIE);
	assert_int_equal(answer(e, &h, 0, UNIT), FCORE_PUSH_ACK);
	assert_int_equal(answer(e, &h, 0, UNIT), FCORE_PUSH_CIE);
	h.offset = 7;
	assert_int_equal(answer(e, &h, 0, UNIT), FCORE_PUSH_ACK);
	h.offset = h.total = 8;
	assert_int_equal(answer(e, &h, 0, UNIT), FCORE_PUSH_CIE);
	assert_int_equal(done, 0);
	h.offset = 3;
	assert_int_equal(answer(e, &h, NVME_SC_INTERNAL, 0), FCORE_PUSH_ACK);
	env_until(e, &done, 1);
	assert_int_equal(cmd.status, NVME_SC_INTERNAL);
	assert_int_equal(answer(e, &h, NVME_SC_INTERNAL, 0), FCORE_PUSH_CIE);

	/* The completion of a command that has not been sent whole. */
	env_start(e, &cmd, nvme_cmd_write, 0, 31, data, &done);
	h = answer_to(e, FALCON_NVME_WRITE_WITH_DATA, FALCON_NVME_COMMAND_COMPLETION);
	assert_int_equal(answer(e, &h, 0, 0), FCORE_PUSH_CIE);
	e->stores[0].frozen = false;
	env_until(e, &done, 2);
	assert_int_equal(cmd.status, 0);
	/* ... and of one whose requests were not combined. */
	e->stores[0].frozen = true;
	env_start(e, &cmd, nvme_cmd_compare, 0, 0, data, &done);
	h = answer_to(e, FALCON_NVME_COMMAND, FALCON_NVME_COMMAND_COMPLETION);
	assert_int_equal(answer(e, &h, 0, 0), FCORE_PUSH_CIE);
	e->stores[0].frozen = false;
	env_until(e, &done, 3);
	assert_int_equal(cmd.status, 0);
	free(data);
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets),
		cmocka_unit_test(split),
		cmocka_unit_test_setup(refused, env_combined),
		cmocka_unit_test(more_than_memory),
		cmocka_unit_test(limited),
		cmocka_unit_test(attack_requests),
		cmocka_unit_test(attack_half_commands),
		cmocka_unit_test(attack_answers),
		cmocka_unit_test_teardown(not_agreed, env_combined),
	};

	return unit_run(tests);
}
