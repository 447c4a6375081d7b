// SPDX-License-Identifier: BSD-2-Clause
/* Commands that are wrong: every length, every descriptor, random bytes; limits; users' accounts. */
#include "rdma_obj_env.h"

#include <fcntl.h>

/* A message of |len| bytes as it is. */
static int raw(const void *msg, size_t len, int fd)
{
	int out_fd, rc = rdma_command(app.ctx, msg, len, fd, &app.answer, &out_fd);

	env_close_answer(out_fd);
	return rc;
}

static void every_length(void **state)
{
	static uint8_t msg[FVERBS_MSG_MAX + 8];

	(void)state;
	for (uint16_t op = 0; op < 80; op++) {
		for (size_t len = 0; len <= sizeof(msg); len += len < 400 ? 1 : 64) {
			struct fverbs_cmd cmd = { .op = op, .tag = 5 };
			int n;

			memcpy(msg, &cmd, sizeof(cmd));
			n = raw(msg, len, -1);
			if (len < sizeof(cmd) || len > FVERBS_MSG_MAX) {
				assert_int_equal(n, -EPROTO);
				continue;
			}
			assert_in_range(n, sizeof(struct fverbs_reply), FVERBS_MSG_MAX);
			assert_int_equal(app.answer.reply.tag, 5);
		}
	}
}

static void every_descriptor(void **state)
{
	static const int kinds[] = { ENV_SOCKET, ENV_MEMFD, ENV_FILE };
	static uint8_t req[512];

	(void)state;
	/* Taken or closed: none is left over (env_close()). */
	for (uint16_t op = 0; op < 80; op++)
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			for (size_t len = 0; len < sizeof(req); len += 4)
				env_call(&app, op, req, len, env_fd(kinds[k], 0));
}

static const struct rdma_command_def *any_command(uint64_t random)
{
	switch (random >> 32 & 3) {
	case 0: return &rdma_memory_commands[1 + random % (rdma_memory_ncommands - 1)];
	case 1: return &rdma_qp_commands[random % rdma_qp_ncommands];
	default: return &rdma_queue_commands[random % rdma_queue_ncommands];
	}
}

/* Handles of whatever is there, in all roles. */
static void random_requests(void **state)
{
	static uint8_t req[512];
	uint64_t random = 12345;
	unsigned int worked = 0;

	(void)state;
	env.limit[RDMA_CHARGE_MEMORY] = 64 << 20;
	for (int i = 0; i < 200000; i++) {
		const struct rdma_command_def *def = any_command(unit_random(&random));
		size_t len = unit_random(&random) % 16 ? def->len : unit_random(&random) % sizeof(req);
		int fd = -1;

		/* Small numbers mostly: those that name something. */
		for (size_t b = 0; b < len; b += 4) {
			uint64_t v = unit_random(&random);
			uint32_t word = v & 3 ? (uint32_t)(v >> 8) & 7 : (uint32_t)(v >> 8);

			if ((v & 0x70) == 0x70)
				word = ENV_PROC_BASE;
			else if ((v & 0x70) == 0x60)
				word = 64;
			memcpy(req + b, &word, 4);
		}
		if (def->fd && unit_random(&random) % 4)
			fd = env_fd(ENV_SOCKET + (int)(unit_random(&random) % 3), 64);
		worked += env_call(&app, def->op, req, len, fd) == 0;
		if (i % 64 == 0)
			rdma_ulp_ops.pump(env.r, (uint64_t)i);
	}
	/* Not all of it was nonsense. */
	assert_true(worked > 1000);
}

static void hello_comes_first_and_once(void **state)
{
	const struct fverbs_hello hello = { .version = FVERBS_ABI_VERSION }, old = { .version = 7 };
	struct rdma_owner owner = { .proc = &env.procs[1], .uid = 1, .pid = 8 };
	struct env_app second = { .error = "" };
	struct fverbs_ctx_shm *shm = aligned_alloc(4096, ENV_AREA_SIZE);
	char err[256];

	(void)state;
	assert_int_equal(env_call(&app, FVERBS_HELLO, &hello, sizeof(hello), -1), EPROTO);
	memset(shm, 0, ENV_AREA_SIZE);
	assert_null(rdma_ctx_open(env.r, &owner, shm, ENV_AREA_SIZE, 0, err, sizeof(err)));
	shm->magic = FVERBS_SHM_MAGIC;
	assert_null(rdma_ctx_open(env.r, &owner, shm, ENV_AREA_SIZE, 0, err, sizeof(err)));
	shm->version = FVERBS_SHM_VERSION;
	assert_null(rdma_ctx_open(env.r, &owner, shm, sizeof(*shm) - 1, 0, err, sizeof(err)));
	second.ctx = rdma_ctx_open(env.r, &owner, shm, ENV_AREA_SIZE, 0, err, sizeof(err));
	env.maps++;
	assert_int_equal(env_drop(&second, FVERBS_QUERY_DEVICE, 0), EPROTO);
	assert_int_equal(env_call(&second, FVERBS_HELLO, &old, sizeof(old), -1), EPROTO);
	env.procs[1].memory_refused = true;
	assert_int_equal(env_call(&second, FVERBS_HELLO, &hello, sizeof(hello), env_fd(ENV_FILE, 0)),
			 EACCES);
	assert_string_equal(second.error, "not this one's");
	env.procs[1].memory_refused = false;
	assert_int_equal(env_call(&second, FVERBS_HELLO, &hello, sizeof(hello), env_fd(ENV_FILE, 0)), 0);
	rdma_ctx_close(second.ctx);
}

static void devices(void **state)
{
	const struct fverbs_device *d;

	(void)state;
	assert_int_equal(env_drop(&app, FVERBS_QUERY_DEVICE, 1), ENODEV);
	assert_int_equal(env_drop(&app, FVERBS_QUERY_DEVICE, 0), 0);
	d = env_answer(&app);
	assert_string_equal(d->name, "falcon0");
	assert_true(d->max_qp > 0 && d->max_sge == FVERBS_SGE_MAX && d->ngids == 1);
	assert_int_equal(env_drop(&app, FVERBS_ALLOC_PD, 1), ENODEV);
}

/* Everything in an order in which nothing goes before what is made of it. */
static void busy(void **state)
{
	uint32_t pd = env_pd(&app), cq = env_cq(&app, 4, 0, NULL), qp = env_qp(&app, pd, cq, 3);
	struct fverbs_mr mr = env_reg(&app, pd, ENV_PROC_BASE, 8, 0);
	struct fverbs_create_ah ah = { .pd = pd, .attr.is_global = 1 };
	uint32_t handle;

	(void)state;
	assert_int_equal(env_call(&app, FVERBS_CREATE_AH, &ah, sizeof(ah), -1), 0);
	handle = ((const struct fverbs_handle *)env_answer(&app))->handle;
	assert_non_null(rdma_ah_link(rdma_ah_find(app.ctx, handle), 0, true));
	assert_int_equal(env_drop(&app, FVERBS_DEALLOC_PD, pd), EBUSY);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CQ, cq), EBUSY);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_QP, qp), 0);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CQ, cq), 0);
	assert_int_equal(env_drop(&app, FVERBS_DEALLOC_PD, pd), EBUSY);
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, mr.handle), 0);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_AH, handle), 0);
	assert_int_equal(env_drop(&app, FVERBS_DEALLOC_PD, pd), 0);
	assert_int_equal(env_drop(&app, FVERBS_DEALLOC_PD, pd), EINVAL);
	/* A handle of one kind is none of another. */
	pd = env_pd(&app);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CQ, pd), EINVAL);
	ah.pd = pd;
	ah.attr.is_global = 0;
	assert_int_equal(env_call(&app, FVERBS_CREATE_AH, &ah, sizeof(ah), -1), EINVAL);
}

static void places(void **state)
{
	const struct fverbs_place wrong[] = {
		{ .area = 1, .entries = 4, .stride = 64 },
		{ .area = RDMA_MAX_AREAS, .entries = 4, .stride = 64 },
		{ .area = 0xffffffff, .entries = 4, .stride = 64 },
		{ .entries = 0, .stride = 64 },
		{ .entries = 3, .stride = 64 },
		{ .entries = 1U << 31, .stride = 64 },
		{ .entries = 4, .stride = 0 },
		{ .entries = 4, .stride = 128 },
		{ .entries = 4, .stride = 64, .offset = 32 },
		{ .entries = 4, .stride = 64, .offset = ENV_AREA_SIZE - 384 },
		{ .entries = 4, .stride = 64, .offset = UINT64_MAX - 63 },
		{ .entries = 4, .stride = 64, .reserved = 1 },
	};
	struct fverbs_create_cq req = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		req.place = wrong[i];
		assert_int_equal(env_call(&app, FVERBS_CREATE_CQ, &req, sizeof(req), -1), EINVAL);
	}
	req.place = (struct fverbs_place){ .entries = 4, .stride = 64, .offset = ENV_AREA_SIZE - 448 };
	assert_int_equal(env_call(&app, FVERBS_CREATE_CQ, &req, sizeof(req), -1), 0);
}

static void queue_pairs_that_are_refused(void **state)
{
	uint32_t pd = env_pd(&app), cq = env_cq(&app, 4, 0, NULL);
	const struct fverbs_create_qp good = { .sq = env_place(&app, 4, 128), .pd = pd, .send_cq = cq,
					       .recv_cq = cq, .type = IBV_QPT_RC };
	struct fverbs_create_qp req[8];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(req); i++)
		req[i] = good;
	req[0].pd = cq;
	req[1].send_cq = pd;
	req[2].recv_cq = 99;
	req[3].slot = FVERBS_SLOTS;
	req[4].srq_plus_1 = 5;
	req[5].ordering = 3;
	req[6].type = IBV_QPT_RAW_PACKET;
	req[7].type = IBV_QPT_XRC_RECV;
	for (size_t i = 0; i < ARRAY_SIZE(req); i++)
		assert_int_equal(env_call(&app, FVERBS_CREATE_QP, &req[i], sizeof(req[i]), -1), EINVAL);
	assert_int_equal(env_call(&app, FVERBS_CREATE_QP, &good, sizeof(good), -1), 0);
	/* Its slot is taken now. */
	assert_int_equal(env_call(&app, FVERBS_CREATE_QP, &good, sizeof(good), -1), EINVAL);
	assert_int_equal(env.charged[RDMA_CHARGE_QPS], 1);
}

static void limits(void **state)
{
	const struct fverbs_handle req = {};
	unsigned int n = 0;

	(void)state;
	while (env_call(&app, FVERBS_ALLOC_PD, &req, sizeof(req), -1) == 0)
		n++;
	assert_int_equal(n, RDMA_MAX_PDS);
	assert_int_equal(app.answer.reply.error, ENOSPC);
	for (n = 0; env_call(&app, FVERBS_ADD_AREA, NULL, 0, env_fd(ENV_MEMFD, 0)) == 0; n++)
		;
	assert_int_equal(n, RDMA_MAX_AREAS - 1);
}

static void accounts(void **state)
{
	uint32_t pd = env_pd(&app), cq = env_cq(&app, 4, 0, NULL), qp = env_qp(&app, pd, cq, 0);
	struct fverbs_create_qp more = { .sq = env_place(&app, 4, 128), .pd = pd, .send_cq = cq,
					 .recv_cq = cq, .slot = 1, .type = IBV_QPT_RC };
	struct fverbs_reg_mr mr = { .pd = pd, .addr = ENV_PROC_BASE, .length = 4096 };
	struct fverbs_mr made;
	struct fverbs_rereg_mr again = { .flags = IBV_REREG_MR_CHANGE_TRANSLATION };

	(void)state;
	env.limit[RDMA_CHARGE_QPS] = 1;
	assert_int_equal(env_call(&app, FVERBS_CREATE_QP, &more, sizeof(more), -1), EDQUOT);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_QP, qp), 0);
	assert_int_equal(env_call(&app, FVERBS_CREATE_QP, &more, sizeof(more), -1), 0);
	env.limit[RDMA_CHARGE_MRS] = 1;
	env.limit[RDMA_CHARGE_MEMORY] = 4096;
	made = env_reg(&app, pd, mr.addr, mr.length, 0);
	assert_int_equal(env_call(&app, FVERBS_REG_MR, &mr, sizeof(mr), -1), EDQUOT);
	/* As much again, of another place, is not more. */
	again.mr = made.handle;
	again.to = mr;
	again.to.addr += 4096;
	assert_int_equal(env_call(&app, FVERBS_REREG_MR, &again, sizeof(again), -1), 0);
	again.to.length = 4097;
	assert_int_equal(env_call(&app, FVERBS_REREG_MR, &again, sizeof(again), -1), EDQUOT);
	assert_int_equal(env.charged[RDMA_CHARGE_MEMORY], 4096);
	assert_int_equal(env_call(&app, FVERBS_ADD_AREA, NULL, 0, env_fd(ENV_MEMFD, 0)), EDQUOT);
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, made.handle), 0);
	assert_int_equal(env.charged[RDMA_CHARGE_MRS], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, env_set_up, env_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_length), TEST(every_descriptor), TEST(random_requests),
		TEST(hello_comes_first_and_once), TEST(devices), TEST(busy), TEST(places),
		TEST(queue_pairs_that_are_refused), TEST(limits), TEST(accounts),
	};

	return unit_run(tests);
}
