// SPDX-License-Identifier: BSD-2-Clause
/* XRC domains: which file and which device they are of, and who shares them. */
#include "rdma_obj_env.h"

#include <fcntl.h>

static void xrc_domains(void **state)
{
	struct fverbs_open_xrcd req = { .oflags = 0, .has_fd = 1 };
	struct env_app other;
	uint32_t mine, theirs;
	int fd = env_fd(ENV_FILE, 0);

	(void)state;
	env.fds[fd].inode = 5;
	assert_int_equal(env_call(&app, FVERBS_OPEN_XRCD, &req, sizeof(req), fd), ENOENT);
	req.oflags = O_CREAT;
	fd = env_fd(ENV_FILE, 0);
	env.fds[fd].inode = 5;
	assert_int_equal(env_call(&app, FVERBS_OPEN_XRCD, &req, sizeof(req), fd), 0);
	mine = ((const struct fverbs_handle *)env_answer(&app))->handle;
	env_attach(&other, 1);
	fd = env_fd(ENV_FILE, 0);
	env.fds[fd].inode = 5;
	req.oflags = O_CREAT | O_EXCL;
	assert_int_equal(env_call(&other, FVERBS_OPEN_XRCD, &req, sizeof(req), fd), EEXIST);
	fd = env_fd(ENV_FILE, 0);
	env.fds[fd].inode = 5;
	req.oflags = 0;
	assert_int_equal(env_call(&other, FVERBS_OPEN_XRCD, &req, sizeof(req), fd), 0);
	theirs = ((const struct fverbs_handle *)env_answer(&other))->handle;
	assert_ptr_equal(rdma_handle_get(app.ctx, RDMA_KIND_XRCD, mine),
			 rdma_handle_get(other.ctx, RDMA_KIND_XRCD, theirs));
	assert_int_equal(env_drop(&app, FVERBS_CLOSE_XRCD, mine), 0);
	env_detach(&other);
	assert_null(env.r->xrcds);
}

static uint32_t open_domain(uint32_t device)
{
	const struct fverbs_open_xrcd req = { .device = device, .oflags = O_CREAT, .has_fd = 1 };
	int fd = env_fd(ENV_FILE, 0);

	env.fds[fd].inode = 5;
	assert_int_equal(env_call(&app, FVERBS_OPEN_XRCD, &req, sizeof(req), fd), 0);
	return ((const struct fverbs_handle *)env_answer(&app))->handle;
}

/* A domain is one of a device, and what belongs to it, too; a file may name one of each. */
static void xrc_domains_of_two_devices(void **state)
{
	struct fverbs_create_srq srq = { .place = env_place(&app, 4, 64), .pd = env_pd(&app), .max_wr = 4,
					 .max_sge = 1, .type = IBV_SRQT_XRC };
	struct fverbs_create_qp req = { .type = IBV_QPT_XRC_RECV };
	struct fverbs_place place;
	uint32_t first, second;

	(void)state;
	env.devices[1] = (struct fverbs_device){ .name = "falcon1", .ngids = 1, .port_state = 4 };
	env.ndevices = 2;
	rdma_devices_refresh(env.r);
	first = open_domain(0);
	second = open_domain(1);
	assert_ptr_not_equal(rdma_handle_get(app.ctx, RDMA_KIND_XRCD, first),
			     rdma_handle_get(app.ctx, RDMA_KIND_XRCD, second));
	for (uint32_t device = 0; device < 2; device++) {
		req.xrcd_plus_1 = (device ? second : first) + 1;
		assert_int_equal(env_call(&app, FVERBS_CREATE_QP, &req, sizeof(req), -1), 0);
		assert_int_equal(env.qps[1 + device]->init.device, device);
	}
	srq.cq = env_cq(&app, 4, 0, &place);
	srq.xrcd = second;
	assert_int_equal(env_call(&app, FVERBS_CREATE_SRQ, &srq, sizeof(srq), -1), EINVAL);
	srq.xrcd = first;
	assert_int_equal(env_call(&app, FVERBS_CREATE_SRQ, &srq, sizeof(srq), -1), 0);
}

/* A receiving queue pair, opened by a second process, and what remains when its creator goes. */
static void queue_pairs_of_two_processes(void **state)
{
	const struct fverbs_open_xrcd named = { .oflags = O_CREAT, .has_fd = 1 };
	struct fverbs_create_qp req = { .type = IBV_QPT_XRC_RECV, .cookie = 1 };
	struct fverbs_open_qp open = { .cookie = 2 };
	struct fverbs_handle_num qp, again;
	struct fverbs_async_event event;
	struct env_app other;

	(void)state;
	env_attach(&other, 1);
	assert_int_equal(env_call(&app, FVERBS_OPEN_XRCD, &named, sizeof(named), env_fd(ENV_FILE, 0)), 0);
	req.xrcd_plus_1 = ((const struct fverbs_handle *)env_answer(&app))->handle + 1;
	assert_int_equal(env_call(&other, FVERBS_OPEN_XRCD, &named, sizeof(named), env_fd(ENV_FILE, 0)), 0);
	open.xrcd = ((const struct fverbs_handle *)env_answer(&other))->handle;
	assert_int_equal(env_call(&app, FVERBS_CREATE_QP, &req, sizeof(req), -1), 0);
	qp = *(const struct fverbs_handle_num *)env_answer(&app);
	open.qp_num = qp.num + 1;
	assert_int_equal(env_call(&other, FVERBS_OPEN_QP, &open, sizeof(open), -1), EINVAL);
	open.qp_num = qp.num;
	assert_int_equal(env_call(&other, FVERBS_OPEN_QP, &open, sizeof(open), -1), 0);
	again = *(const struct fverbs_handle_num *)env_answer(&other);
	assert_int_equal(again.num, qp.num);
	/* The creator destroys his handle alone; when he goes, so does the queue pair. */
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_QP, qp.handle), 0);
	assert_int_equal(env_drop(&other, FVERBS_QUERY_QP, again.handle), 0);
	env_detach(&app);
	assert_int_equal(env_drop(&other, FVERBS_QUERY_QP, again.handle), EINVAL);
	assert_true(env_take(other.async, &event, sizeof(event)));
	assert_true(event.type == IBV_EVENT_QP_FATAL && event.cookie == 2);
	assert_int_equal(env_drop(&other, FVERBS_DESTROY_QP, again.handle), 0);
	app = other;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, env_set_up, env_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(xrc_domains), TEST(xrc_domains_of_two_devices), TEST(queue_pairs_of_two_processes),
	};

	return unit_run(tests);
}
