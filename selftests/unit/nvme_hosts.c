// SPDX-License-Identifier: BSD-2-Clause
/* Hosts that share a target: what one of them hoards, or leaves behind when it dies, is not the others'. */
#include "nvme_env.h"

#include <nvme/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <falcon/wire/nvme.h>

enum { MIB = 1 << 20, OTHER_CID = 99 };

/* A host with a device "d" on namespace 7 of a target, and another one, whose namespace is 8. */
struct stage {
	struct env *e;
	struct fcore_conn *other;	/* the target's end of its connection */
};

/* The other host's agent, which calls itself |id|, dials from its address. */
static void accept_other(struct env *e, const char *id, uint8_t address, uint32_t cid)
{
	struct falcon_nvme_offer offer = { .magic = falcon_hton32(FALCON_NVME_MAGIC),
					   .version = FALCON_NVME_VERSION };
	struct ulp_request req = { .ends.family = AF_INET, .ends.remote = { { 10, 0, 0, address } },
				   .peer = "other", .cid = cid, .data.len = sizeof(offer) };
	struct ulp_data reply;
	char err[160];

	memcpy(offer.host, id, strlen(id));
	memcpy(req.data.bytes, &offer, sizeof(offer));
	assert_int_equal(nvme_ulp_ops.accept(&e->far[0], &req, &reply, err, sizeof(err)), 0);
}

static struct stage set_stage(void)
{
	struct stage s = { env_open(1, MIB, 9, MIB), calloc(1, sizeof(*s.other)) };
	struct ulp_conn up = { .core = s.other, .cid = OTHER_CID, .max_len = s.e->max_len };
	struct nvme_ns_attr others = { .name = "others", .peers = "other", .store = &s.e->stores[1].store,
				       .nsid = 8, .block_shift = 9 };
	char err[160];

	assert_int_equal(nvme_target_add(s.e->far[0].target, &others, err, sizeof(err)), 0);
	assert_int_equal(env_do(s.e, nvme_cmd_flush, 0, 0, NULL), 0);
	*s.other = (struct fcore_conn){ .env = s.e, .ulp = &s.e->far[0], .cid = OTHER_CID, .up = true };
	accept_other(s.e, "other's", 9, OTHER_CID);
	assert_int_equal(nvme_ulp_ops.conn_up(s.other->ulp, &up), 0);
	return s;
}

/* The other's connection goes, and with it what is in its core; the device still works. */
static void end_stage(struct stage *s)
{
	struct fcore_conn *c = s->other;
	uint8_t data[512] = { 0x5a }, back[512];

	nvme_ulp_ops.conn_down(c->ulp, c->cid, "the test is over");
	for (unsigned int i = 0; i < FCORE_MAX_TXNS; i++)
		if (c->txns[i].used)
			nvme_ulp_ops.on_completion(c->ulp, c, c->txns[i].cookie, kCmplDeadConn, 0);
	assert_int_equal(env_do(s->e, nvme_cmd_write, 3, 0, data), 0);
	assert_int_equal(env_do(s->e, nvme_cmd_read, 3, 0, back), 0);
	assert_memory_equal(data, back, 512);
	free(c);
	env_close(s->e);
}

/* The other one sends a request for |blocks| blocks of its namespace: nCMD |offset| of its command |icmd|. */
static enum fcore_push_outcome request(struct stage *s, uint8_t type, uint32_t icmd, uint8_t offset,
				       uint16_t blocks)
{
	const struct falcon_nvme_hdr h = { .type = type, .icmd = icmd, .offset = offset,
					   .total = (uint8_t)((blocks + 1) / 2 - 1) };
	const struct falcon_nvme_cmd c = { .target_nsid = 8, .unit = 2, .nlb = (uint16_t)(blocks - 1),
					   .reftag = UINT32_MAX, .apptag = UINT16_MAX,
					   .apptag_mask = UINT16_MAX };
	struct falcon_nvme_request w;

	falcon_nvme_request_pack(&h, &c, &w);
	nvme_ulp_ops.on_push(s->other->ulp, s->other, 0, &w, sizeof(w), s->e->now);
	return s->other->outcome;
}

/* It asks for as many writes as there may be and sends no data: others have their share of the memory. */
static void hoarding(void **state)
{
	struct stage s = set_stage();
	struct nvme_target_stats stats;
	uint8_t *data = malloc(2 * 65536);

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		for (unsigned int k = 0; k < 128; k++)
			assert_int_equal(request(&s, FALCON_NVME_WRITE_REQUEST, i, (uint8_t)k, 256),
					 FCORE_PUSH_ACK);
	for (int i = 0; i < 1000; i++)
		env_step(s.e);
	nvme_target_stats(s.e->far[0].target, &stats);
	assert_int_equal(stats.memory_used, MIB / 2 + MIB / 4);
	for (int i = 0; i < 10; i++) {
		memset(data, i, 65536);
		assert_int_equal(env_do(s.e, nvme_cmd_write, 10, 127, data), 0);
		assert_int_equal(env_do(s.e, nvme_cmd_read, 10, 127, data + 65536), 0);
		assert_memory_equal(data, data + 65536, 65536);
	}
	free(data);
	end_stage(&s);
}

/* A host is gone while its commands are in a store that hangs: its new commands wait, others' do not. */
static void left_behind(void **state)
{
	struct stage s = set_stage();
	struct nvme_target_stats stats;
	unsigned int done = 0;
	struct env_cmd cmd;
	uint8_t data[512];

	(void)state;
	s.e->stores[0].frozen = true;
	env_start(s.e, &cmd, nvme_cmd_read, 5, 0, data, &done);
	while (!s.e->nios)
		env_step(s.e);
	env_cut(s.e, 0);
	nvme_target_stats(s.e->far[0].target, &stats);
	assert_int_equal(stats.orphans, 1);
	assert_int_equal(request(&s, FALCON_NVME_READ_REQUEST, 1, 0, 1), FCORE_PUSH_ACK);
	for (int i = 0; i < 5000; i++)
		env_step(s.e);
	assert_int_equal(done, 0);
	assert_true(s.e->links[0].far.up && s.e->links[0].far.outcome == FCORE_PUSH_RNR);
	s.e->stores[0].frozen = false;
	env_until(s.e, &done, 1);
	assert_int_equal(cmd.status, 0);
	end_stage(&s);
}

/* A second device of the first host's, on a namespace of its own. */
static struct nvme_dev *add_second(struct stage *s)
{
	struct nvme_ns_attr ns = { .name = "second", .peers = "any", .store = &s->e->stores[2].store,
				   .nsid = 9, .block_shift = 9 };
	struct nvme_dev_attr attr = *nvme_dev_attr(s->e->dev);
	char err[160];

	assert_int_equal(nvme_target_add(s->e->far[0].target, &ns, err, sizeof(err)), 0);
	strcpy(attr.name, "second");
	attr.targets[0].paths[0].nsid = 9;
	assert_int_equal(nvme_initiator_add(s->e->near.initiator, &attr, err, sizeof(err)), 0);
	return nvme_dev_find(s->e->near.initiator, "second");
}

/* What a lost connection left in a store that hangs keeps not even its own host from another namespace. */
static void left_elsewhere(void **state)
{
	struct stage s = set_stage();
	struct nvme_dev *first = s.e->dev, *second = add_second(&s);
	struct nvme_target_stats stats;
	unsigned int done = 0;
	uint8_t data[512] = {};
	struct env_cmd cmd;

	(void)state;
	s.e->dev = second;
	assert_int_equal(env_do(s.e, nvme_cmd_write, 3, 0, data), 0);
	s.e->dev = first;
	s.e->stores[0].frozen = true;
	env_start(s.e, &cmd, nvme_cmd_read, 5, 0, data, &done);
	while (!s.e->nios)
		env_step(s.e);
	env_cut(s.e, 0);
	s.e->dev = second;
	assert_int_equal(env_do(s.e, nvme_cmd_write, 3, 0, data), 0);
	nvme_target_stats(s.e->far[0].target, &stats);
	assert_true(stats.orphans == 1 && !done);
	s.e->dev = first;
	s.e->stores[0].frozen = false;
	env_until(s.e, &done, 1);
	assert_int_equal(cmd.status, 0);
	end_stage(&s);
}

/* A store that has no room for more holds up no other, and no turn is spent on what waits for it. */
static void full_store(void **state)
{
	enum { WAIT = 20 };
	struct stage s = set_stage();
	struct nvme_target *t = s.e->far[0].target;
	struct nvme_dev *first = s.e->dev, *second = add_second(&s);
	struct env_cmd cmds[1 + WAIT];
	unsigned int done = 0;
	uint8_t data[512] = {};

	(void)state;
	s.e->stores[0].frozen = true;
	env_start(s.e, &cmds[0], nvme_cmd_read, 0, 0, data, &done);
	while (!s.e->nios)
		env_step(s.e);
	s.e->stores[0].full = true;
	for (unsigned int i = 1; i <= WAIT; i++)
		env_start(s.e, &cmds[i], nvme_cmd_read, i, 0, data, &done);
	for (int i = 0; i < 2000; i++)
		env_step(s.e);
	nvme_target_pump(t, s.e->now);
	assert_false(nvme_target_busy(t));
	s.e->dev = second;
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(env_do(s.e, nvme_cmd_write, i, 0, data), 0);
	assert_int_equal(done, 0);
	assert_int_equal(s.e->nios, 1);
	s.e->dev = first;
	s.e->stores[0].frozen = s.e->stores[0].full = false;
	env_until(s.e, &done, 1 + WAIT);
	for (unsigned int i = 0; i <= WAIT; i++)
		assert_int_equal(cmds[i].status, 0);
	end_stage(&s);
}

/* Hosts that do nothing leave a busy one the half that is for all. */
static void idle_hosts(void **state)
{
	enum { HOSTS = 50, COMMANDS = 3, BYTES = 128 << 10 };
	struct stage s = set_stage();
	struct env_cmd cmds[COMMANDS];
	struct nvme_target_stats stats;
	uint8_t *data = calloc(1, BYTES);
	unsigned int done = 0;
	char id[8];

	(void)state;
	for (uint32_t i = 0; i < HOSTS; i++) {
		snprintf(id, sizeof(id), "idle %u", i);
		accept_other(s.e, id, (uint8_t)(100 + i), OTHER_CID + 1 + i);
	}
	s.e->stores[0].frozen = true;
	for (unsigned int i = 0; i < COMMANDS; i++)
		env_start(s.e, &cmds[i], nvme_cmd_write, i * BYTES / 512, BYTES / 512 - 1, data, &done);
	for (int i = 0; i < 20000; i++)
		env_step(s.e);
	nvme_target_stats(s.e->far[0].target, &stats);
	assert_int_equal(stats.memory_used, COMMANDS * BYTES);
	s.e->stores[0].frozen = false;
	env_until(s.e, &done, COMMANDS);
	for (uint32_t i = 0; i < HOSTS; i++)
		nvme_ulp_ops.conn_down(s.other->ulp, OTHER_CID + 1 + i, "the test is over");
	free(data);
	end_stage(&s);
}

/* Whether the target has hung up on connection |cid| of the other host's. */
static bool hung_up(struct stage *s, uint32_t cid)
{
	return s->e->links[(cid - 1) % ENV_CONNS].dead;
}

/* An agent that was started again: what its predecessor's connection still brings comes to nothing. */
static void started_again(void **state)
{
	struct stage s = set_stage();

	(void)state;
	accept_other(s.e, "another agent's", 10, OTHER_CID + 1);
	assert_false(hung_up(&s, OTHER_CID));
	accept_other(s.e, "its successor's", 9, OTHER_CID + 2);
	assert_true(hung_up(&s, OTHER_CID));
	assert_false(hung_up(&s, OTHER_CID + 1) || hung_up(&s, OTHER_CID + 2) || hung_up(&s, 1));
	for (uint32_t i = 1; i <= 2; i++)
		nvme_ulp_ops.conn_down(s.other->ulp, OTHER_CID + i, "the test is over");
	end_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENV_BOTH(hoarding),
		ENV_BOTH(idle_hosts),
		ENV_BOTH(left_behind),
		ENV_BOTH(left_elsewhere), ENV_BOTH(full_store),
		cmocka_unit_test(started_again),
	};

	return unit_run(tests);
}
