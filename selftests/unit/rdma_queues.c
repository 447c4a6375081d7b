// SPDX-License-Identifier: BSD-2-Clause
/* Completion queues, their events and channels; shared receive queues; doorbells; devices. */
#include "rdma_obj_env.h"

static uint64_t now = 1000;

static uint32_t pump(void)
{
	return rdma_ulp_ops.pump(env.r, now);
}

static void post(uint32_t cq, uint64_t wr_id, uint8_t status, bool solicited)
{
	const struct fverbs_cqe cqe = { .wr_id = wr_id, .status = status };

	rdma_cq_post(rdma_handle_get(app.ctx, RDMA_KIND_CQ, cq), &cqe, solicited);
}

static struct fverbs_cqe *entry(const struct fverbs_place *place, uint32_t i)
{
	return (struct fverbs_cqe *)((uint8_t *)env_at(&app, place) + RDMA_RING_HDR) +
	       i % place->entries;
}

static uint32_t channel(size_t room, int *fd)
{
	*fd = env_fd(ENV_SOCKET, room);
	assert_int_equal(env_call(&app, FVERBS_CREATE_CHANNEL, NULL, 0, *fd), 0);
	return ((const struct fverbs_handle *)env_answer(&app))->handle;
}

static void completions_are_shown_once_a_round(void **state)
{
	struct fverbs_place place;
	uint32_t cq = env_cq(&app, 4, 0, &place);
	struct fverbs_cq_shm *shm = env_at(&app, &place);

	(void)state;
	post(cq, 1, 0, false);
	post(cq, 2, 0, false);
	assert_int_equal(shm->idx.tail, 0);
	assert_int_equal(pump(), 1);
	assert_int_equal(shm->idx.tail, 2);
	assert_int_equal(entry(&place, 0)->wr_id, 1);
	assert_int_equal(entry(&place, 1)->wr_id, 2);
	assert_int_equal(pump(), 0);
	for (uint32_t i = 3; i < 100; i++) {
		shm->idx.head = i - 2;
		post(cq, i, 0, false);
		pump();
		assert_int_equal(shm->idx.tail, i);
		assert_int_equal(entry(&place, i - 1)->wr_id, i);
	}
}

static void armed_queues(void **state)
{
	struct fverbs_completion_event event;
	struct fverbs_place place;
	int fd;
	uint32_t ch = channel(64, &fd), cq = env_cq(&app, 64, ch + 1, &place);
	struct fverbs_cq_shm *shm = env_at(&app, &place);

	(void)state;
	post(cq, 1, 0, true);
	pump();
	assert_false(env_take(fd, &event, sizeof(event)));
	/* One event for all of a round, and the next only when it is armed again. */
	shm->armed = FVERBS_ARMED_ANY;
	pump();
	assert_false(env_take(fd, &event, sizeof(event)));
	post(cq, 2, 0, false);
	post(cq, 3, 0, false);
	pump();
	assert_int_equal(shm->armed, FVERBS_ARMED_NO);
	assert_true(env_take(fd, &event, sizeof(event)));
	assert_int_equal(event.cookie, 0xc0);
	post(cq, 4, 0, false);
	pump();
	assert_false(env_take(fd, &event, sizeof(event)));
	/* Solicited ones and errors. */
	shm->armed = FVERBS_ARMED_SOLICITED;
	post(cq, 5, 0, false);
	pump();
	assert_int_equal(shm->armed, FVERBS_ARMED_SOLICITED);
	post(cq, 6, 0, true);
	pump();
	assert_true(env_take(fd, &event, sizeof(event)));
	shm->armed = FVERBS_ARMED_SOLICITED;
	post(cq, 7, IBV_WC_WR_FLUSH_ERR, false);
	pump();
	assert_true(env_take(fd, &event, sizeof(event)));
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CHANNEL, ch), EBUSY);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CQ, cq), 0);
	assert_int_equal(((const struct fverbs_events *)env_answer(&app))->completion, 3);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CHANNEL, ch), 0);
}

/* With one channel for both, ib_send_lat -e takes the first event for what it has sent to be complete. */
static void events_come_in_the_order_of_completions(void **state)
{
	struct fverbs_completion_event event;
	uint32_t ch, cq[4];
	int fd;

	(void)state;
	ch = channel(64, &fd);
	for (uint32_t i = 0; i < 4; i++) {
		const struct fverbs_create_cq req = { .place = env_place(&app, 4, 64), .cookie = i,
						      .channel_plus_1 = ch + 1 };

		assert_int_equal(env_call(&app, FVERBS_CREATE_CQ, &req, sizeof(req), -1), 0);
		cq[i] = ((const struct fverbs_handle *)env_answer(&app))->handle;
		((struct fverbs_cq_shm *)env_at(&app, &req.place))->armed = FVERBS_ARMED_ANY;
		post(cq[i], 1, 0, false);
	}
	post(cq[0], 2, 0, false);
	/* In the middle, and the last one. */
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CQ, cq[1]), 0);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CQ, cq[3]), 0);
	pump();
	for (uint32_t i = 0; i < 4; i += 2) {
		assert_true(env_take(fd, &event, sizeof(event)));
		assert_int_equal(event.cookie, i);
	}
	assert_false(env_take(fd, &event, sizeof(event)));
}

static void events_wait_for_room(void **state)
{
	struct fverbs_completion_event event;
	struct fverbs_place place;
	struct fverbs_cq_shm *shm = NULL;
	uint32_t ch, cq[3];
	int fd;

	(void)state;
	ch = channel(16, &fd);
	for (int i = 0; i < 3; i++) {
		cq[i] = env_cq(&app, 64, ch + 1, &place);
		shm = env_at(&app, &place);
		for (int k = 0; k < 2; k++) {
			shm->armed = FVERBS_ARMED_ANY;
			post(cq[i], 1, 0, false);
			pump();
		}
	}
	assert_true(rdma_ulp_ops.deadline(env.r) < UINT64_MAX);
	/* Nothing is lost: six events, as the socket has room for them. */
	for (int i = 0; i < 6; i++) {
		assert_true(env_take(fd, &event, sizeof(event)));
		now = rdma_ulp_ops.deadline(env.r);
		if (now == UINT64_MAX)
			now = 1000;
		pump();
	}
	assert_false(env_take(fd, &event, sizeof(event)));
	assert_true(rdma_ulp_ops.deadline(env.r) == UINT64_MAX);
	/* One that is destroyed owes nothing. */
	for (int k = 0; k < 4; k++) {
		shm->armed = FVERBS_ARMED_ANY;
		post(cq[2], 1, 0, false);
		pump();
	}
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CQ, cq[2]), 0);
	assert_int_equal(((const struct fverbs_events *)env_answer(&app))->completion, 4);
	assert_true(env_take(fd, &event, sizeof(event)) && env_take(fd, &event, sizeof(event)));
	now += 10 * 1000 * 1000;
	pump();
	assert_false(env_take(fd, &event, sizeof(event)));
}

static bool take_async(uint32_t type, uint64_t cookie)
{
	struct fverbs_async_event event;

	return env_take(app.async, &event, sizeof(event)) && event.type == type &&
	       event.cookie == cookie;
}

static void overrun(void **state)
{
	struct fverbs_place place;
	uint32_t pd = env_pd(&app), cq = env_cq(&app, 2, 0, &place);
	uint32_t handle = env_qp(&app, pd, cq, 5);
	struct rdma_qp *qp = env_qp_of(&app, handle);
	struct fverbs_cq_shm *shm = env_at(&app, &place);

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		post(cq, i, 0, false);
	pump();
	assert_int_equal(shm->idx.tail, 2);
	assert_int_equal(entry(&place, 0)->wr_id, 0);
	assert_int_equal(qp->fatal, 1);
	assert_int_equal(qp->event, IBV_EVENT_QP_FATAL);
	assert_true(take_async(IBV_EVENT_CQ_ERR, 0xc0));
	/* For good, and told once. */
	shm->idx.head = 2;
	post(cq, 9, 0, false);
	pump();
	assert_int_equal(shm->idx.tail, 2);
	assert_false(take_async(IBV_EVENT_CQ_ERR, 0xc0));
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CQ, cq), EBUSY);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_QP, handle), 0);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CQ, cq), 0);
	assert_int_equal(((const struct fverbs_events *)env_answer(&app))->async, 1);
}

static void a_head_that_cannot_be(void **state)
{
	struct fverbs_place place;
	uint32_t cq = env_cq(&app, 2, 0, &place);
	struct fverbs_cq_shm *shm = env_at(&app, &place);

	(void)state;
	shm->idx.head = 77;
	post(cq, 1, 0, false);
	pump();
	assert_true(take_async(IBV_EVENT_CQ_ERR, 0xc0));
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_CQ, cq), 0);
}

static void an_overrun_that_is_ignored(void **state)
{
	struct fverbs_create_cq req = { .place = env_place(&app, 2, 64), .flags = 1 };
	struct fverbs_cq_shm *shm = env_at(&app, &req.place);
	uint32_t cq;

	(void)state;
	assert_int_equal(env_call(&app, FVERBS_CREATE_CQ, &req, sizeof(req), -1), 0);
	cq = ((const struct fverbs_handle *)env_answer(&app))->handle;
	for (uint64_t i = 0; i < 4; i++)
		post(cq, i, 0, false);
	pump();
	shm->idx.head = 2;
	post(cq, 9, 0, false);
	pump();
	assert_int_equal(shm->idx.tail, 3);
	assert_int_equal(env.fds[app.async].nsent, 0);
}

static void a_queue_that_moves(void **state)
{
	struct fverbs_place place;
	uint32_t cq = env_cq(&app, 8, 0, &place);
	struct fverbs_cq_shm *shm = env_at(&app, &place);
	struct fverbs_resize_cq req = { .cq = cq, .place = env_place(&app, 4, 64) };
	struct fverbs_cq_shm *moved = env_at(&app, &req.place);

	(void)state;
	for (uint64_t i = 0; i < 5; i++) {
		post(cq, i, 0, false);
	}
	pump();
	/* Five do not fit four; three do. */
	assert_int_equal(env_call(&app, FVERBS_RESIZE_CQ, &req, sizeof(req), -1), EINVAL);
	shm->idx.head = 2;
	shm->armed = FVERBS_ARMED_ANY;
	assert_int_equal(env_call(&app, FVERBS_RESIZE_CQ, &req, sizeof(req), -1), 0);
	assert_int_equal(moved->idx.tail, 3);
	assert_int_equal(moved->armed, FVERBS_ARMED_ANY);
	post(cq, 5, 0, false);
	pump();
	assert_int_equal(moved->idx.tail, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(entry(&req.place, i)->wr_id, 2 + i);
}

/* What has not been shown when a queue moves is shown behind the move, with the event that was asked for. */
static void a_queue_that_moves_owes_its_event(void **state)
{
	struct fverbs_completion_event event;
	struct fverbs_place place;
	int fd;
	uint32_t ch = channel(64, &fd), cq = env_cq(&app, 8, ch + 1, &place);
	struct fverbs_resize_cq req = { .cq = cq, .place = env_place(&app, 4, 64) };
	struct fverbs_cq_shm *moved = env_at(&app, &req.place);

	(void)state;
	post(cq, 1, 0, false);
	pump();
	((struct fverbs_cq_shm *)env_at(&app, &place))->armed = FVERBS_ARMED_ANY;
	post(cq, 2, 0, false);
	assert_int_equal(env_call(&app, FVERBS_RESIZE_CQ, &req, sizeof(req), -1), 0);
	assert_int_equal(moved->idx.tail, 1);
	assert_false(env_take(fd, &event, sizeof(event)));
	pump();
	assert_int_equal(moved->idx.tail, 2);
	assert_true(env_take(fd, &event, sizeof(event)));
	assert_int_equal(moved->armed, FVERBS_ARMED_NO);
}

/* ---- shared receive queues ---------------------------------------------------------------- */

static uint32_t create_srq(uint32_t entries, uint32_t limit, struct fverbs_place *place)
{
	struct fverbs_create_srq req = { .place = env_place(&app, entries, 64), .pd = env_pd(&app),
					 .max_wr = entries, .max_sge = 3, .limit = limit,
					 .cookie = 0x59 };

	*place = req.place;
	assert_int_equal(env_call(&app, FVERBS_CREATE_SRQ, &req, sizeof(req), -1), 0);
	return ((const struct fverbs_handle_num *)env_answer(&app))->handle;
}

static void post_recv(const struct fverbs_place *place, uint64_t wr_id, uint32_t nsge, uint32_t len)
{
	struct fverbs_wq_shm *shm = env_at(&app, place);
	uint8_t *at = (uint8_t *)(shm + 1) + (shm->idx.tail % place->entries) * place->stride;
	struct fverbs_recv_wqe *wqe = (struct fverbs_recv_wqe *)at;
	struct fverbs_sge *sge = (struct fverbs_sge *)(wqe + 1);

	*wqe = (struct fverbs_recv_wqe){ .wr_id = wr_id, .num_sge = nsge };
	for (uint32_t i = 0; i < nsge && i < 3; i++)
		sge[i] = (struct fverbs_sge){ .addr = i, .len = len };
	shm->idx.tail++;
}

static void receive_requests(void **state)
{
	struct fverbs_place place;
	uint32_t handle = create_srq(4, 0, &place);
	struct rdma_srq *srq = rdma_handle_get(app.ctx, RDMA_KIND_SRQ, handle);
	struct fverbs_wq_shm *shm = env_at(&app, &place);
	struct rdma_recv out;

	(void)state;
	assert_ptr_equal(rdma_srq_find(env.r, rdma_srq_num(srq)), srq);
	assert_int_equal(rdma_srq_take(srq, &out), 0);
	for (uint64_t i = 0; i < 40; i++) {
		post_recv(&place, i, (uint32_t)(i % 4), 100);
		assert_int_equal(rdma_srq_take(srq, &out), 1);
		assert_int_equal(out.wr_id, i);
		assert_int_equal(out.num_sge, i % 4);
		assert_int_equal(out.total, i % 4 * 100);
		assert_int_equal(shm->idx.head, i + 1);
	}
	/* Too many elements, or too many bytes: taken, and said to be wrong. */
	post_recv(&place, 50, 4, 1);
	assert_int_equal(rdma_srq_take(srq, &out), -EINVAL);
	assert_int_equal(out.wr_id, 50);
	post_recv(&place, 51, UINT32_MAX, 1);
	assert_int_equal(rdma_srq_take(srq, &out), -EINVAL);
	post_recv(&place, 52, 2, UINT32_MAX);
	assert_int_equal(rdma_srq_take(srq, &out), -EINVAL);
	assert_int_equal(rdma_srq_take(srq, &out), 0);
	shm->idx.tail += 5;
	assert_int_equal(rdma_srq_take(srq, &out), -EPROTO);
	assert_true(take_async(IBV_EVENT_SRQ_ERR, 0x59));
	shm->idx.tail -= 5;
	assert_int_equal(rdma_srq_take(srq, &out), -EPROTO);
	assert_false(take_async(IBV_EVENT_SRQ_ERR, 0x59));
}

static void the_limit(void **state)
{
	struct fverbs_place place;
	uint32_t handle = create_srq(8, 2, &place);
	struct rdma_srq *srq = rdma_handle_get(app.ctx, RDMA_KIND_SRQ, handle);
	struct fverbs_modify_srq req = { .srq = handle, .mask = IBV_SRQ_LIMIT, .attr.limit = 2 };
	struct rdma_recv out;

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		post_recv(&place, i, 1, 1);
	rdma_srq_take(srq, &out);
	assert_false(take_async(IBV_EVENT_SRQ_LIMIT_REACHED, 0x59));
	rdma_srq_take(srq, &out);
	assert_true(take_async(IBV_EVENT_SRQ_LIMIT_REACHED, 0x59));
	rdma_srq_take(srq, &out);
	assert_false(take_async(IBV_EVENT_SRQ_LIMIT_REACHED, 0x59));
	/* Armed again while fewer wait: at once. */
	assert_int_equal(env_call(&app, FVERBS_MODIFY_SRQ, &req, sizeof(req), -1), 0);
	assert_true(take_async(IBV_EVENT_SRQ_LIMIT_REACHED, 0x59));
	req.attr.limit = 9;
	assert_int_equal(env_call(&app, FVERBS_MODIFY_SRQ, &req, sizeof(req), -1), EINVAL);
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_SRQ, handle), 0);
	assert_int_equal(((const struct fverbs_events *)env_answer(&app))->async, 2);
}

static void a_receive_queue_that_moves(void **state)
{
	struct fverbs_place place;
	uint32_t handle = create_srq(8, 0, &place);
	struct rdma_srq *srq = rdma_handle_get(app.ctx, RDMA_KIND_SRQ, handle);
	struct fverbs_modify_srq req = { .srq = handle, .mask = IBV_SRQ_MAX_WR, .attr.max_wr = 4,
					 .place = env_place(&app, 4, 64) };
	struct rdma_recv out;

	(void)state;
	for (uint64_t i = 0; i < 6; i++)
		post_recv(&place, i, 1, 10);
	assert_int_equal(env_call(&app, FVERBS_MODIFY_SRQ, &req, sizeof(req), -1), EINVAL);
	rdma_srq_take(srq, &out);
	rdma_srq_take(srq, &out);
	assert_int_equal(env_call(&app, FVERBS_MODIFY_SRQ, &req, sizeof(req), -1), 0);
	assert_int_equal(((struct fverbs_wq_shm *)env_at(&app, &req.place))->idx.tail, 4);
	for (uint64_t i = 2; i < 6; i++) {
		assert_int_equal(rdma_srq_take(srq, &out), 1);
		assert_int_equal(out.wr_id, i);
	}
	assert_int_equal(rdma_srq_take(srq, &out), 0);
	assert_int_equal(env_drop(&app, FVERBS_QUERY_SRQ, handle), 0);
	assert_int_equal(((const struct fverbs_srq_attr *)env_answer(&app))->max_wr, 4);
}

static void copied(struct rdma_copy *copy, int error)
{
	(void)copy;
	assert_int_equal(error, 0);
}

/* ---- the rest ------------------------------------------------------------------------------ */

static void doorbells(void **state)
{
	uint32_t pd = env_pd(&app), cq = env_cq(&app, 2, 0, NULL);
	struct rdma_qp *a = env_qp_of(&app, env_qp(&app, pd, cq, 0));
	struct rdma_qp *b = env_qp_of(&app, env_qp(&app, pd, cq, FVERBS_SLOTS - 1));
	struct fverbs_ctx_shm *shm = (struct fverbs_ctx_shm *)app.area;

	(void)state;
	assert_true(rdma_ulp_ops.sleep_begin(env.r));
	assert_int_equal(shm->agent_sleeping, 1);
	rdma_ulp_ops.sleep_end(env.r);
	assert_int_equal(shm->agent_sleeping, 0);
	shm->rung[0] = 1;
	shm->rung[FVERBS_SLOT_WORDS - 1] = 1ULL << 63;
	shm->summary[0] = 1;
	shm->summary[FVERBS_SLOT_SUMMARY - 1] = 1ULL << 63;
	assert_false(rdma_ulp_ops.sleep_begin(env.r));
	assert_int_equal(shm->agent_sleeping, 0);
	assert_int_equal(pump(), 2);
	assert_true(a->rung == 1 && b->rung == 1);
	assert_int_equal(pump(), 0);
	/* Bits of nobody are nothing. */
	memset(shm->rung, 0xff, sizeof(shm->rung));
	memset(shm->summary, 0xff, sizeof(shm->summary));
	assert_int_equal(pump(), 2);
	assert_true(rdma_ulp_ops.sleep_begin(env.r));
	rdma_ulp_ops.sleep_end(env.r);
}

/* Whoever naps hears of all that a round has shown, once. */
static void naps_end_with_news(void **state)
{
	uint32_t cq = env_cq(&app, 4, 0, NULL), pd = env_pd(&app);
	struct fverbs_mr mr = env_reg(&app, pd, ENV_PROC_BASE, 64, IBV_ACCESS_LOCAL_WRITE);
	struct fverbs_ctx_shm *shm = (struct fverbs_ctx_shm *)app.area;
	uint8_t byte = 1;
	struct rdma_copy copy = { .kind = RDMA_COPY_WRITE, .local = &byte, .done = copied };
	uint32_t news = shm->news;

	(void)state;
	pump();
	assert_int_equal(shm->news, news);
	post(cq, 1, 0, false);
	post(cq, 2, 0, false);
	pump();
	assert_int_equal(shm->news, news + 1);
	assert_int_equal(env.wakes, 0);
	shm->nappers = 1;
	pump();
	assert_int_equal(env.wakes, 0);
	post(cq, 3, 0, false);
	pump();
	assert_int_equal(env.wakes, 1);
	/* Bytes that a peer has written; those that were read are nothing new. */
	assert_int_equal(rdma_resolve_local(rdma_handle_get(app.ctx, RDMA_KIND_PD, pd), mr.lkey,
					    ENV_PROC_BASE, 1, 0, &copy.span), RDMA_FAULT_NONE);
	rdma_copy_queue(env.r, &copy);
	pump();
	assert_int_equal(shm->news, news + 3);
	assert_int_equal(env.wakes, 2);
	copy.kind = RDMA_COPY_READ;
	assert_int_equal(rdma_resolve_local(rdma_handle_get(app.ctx, RDMA_KIND_PD, pd), mr.lkey,
					    ENV_PROC_BASE, 1, 0, &copy.span), RDMA_FAULT_NONE);
	rdma_copy_queue(env.r, &copy);
	pump();
	assert_int_equal(shm->news, news + 3);
}

static void cpu_pressure_is_told(void **state)
{
	const struct fverbs_ctx_shm *shm = (const struct fverbs_ctx_shm *)app.area;
	struct env_app late;

	(void)state;
	assert_int_equal(shm->cpu_pressure, 0);
	rdma_set_cpu_pressure(env.r, true);
	assert_int_equal(shm->cpu_pressure, 1);
	env_attach(&late, 1);
	assert_int_equal(((const struct fverbs_ctx_shm *)late.area)->cpu_pressure, 1);
	rdma_set_cpu_pressure(env.r, false);
	assert_int_equal(shm->cpu_pressure, 0);
	assert_int_equal(((const struct fverbs_ctx_shm *)late.area)->cpu_pressure, 0);
	env_detach(&late);
}

static void devices_change(void **state)
{
	struct fverbs_device *d = &env.devices[0];
	const struct fverbs_device *seen = rdma_device(env.r, 0);

	(void)state;
	/* The index of an address stays its own. */
	d->ngids = 3;
	d->gids[1].raw[15] = 2;
	d->gids[2].raw[15] = 3;
	rdma_devices_refresh(env.r);
	assert_int_equal(seen->ngids, 3);
	assert_true(take_async(IBV_EVENT_GID_CHANGE, 1));
	d->gids[0].raw[15] = 3;
	d->gids[1].raw[15] = 4;
	d->ngids = 2;
	rdma_devices_refresh(env.r);
	assert_true(take_async(IBV_EVENT_GID_CHANGE, 1));
	assert_int_equal(seen->gids[0].raw[15], 4);
	assert_int_equal(seen->gids[1].raw[15], 0);
	assert_int_equal(seen->gids[2].raw[15], 3);
	assert_int_equal(seen->ngids, 3);
	rdma_devices_refresh(env.r);
	assert_int_equal(env.fds[app.async].nsent, 0);
	d->port_state = IBV_PORT_DOWN;
	rdma_devices_refresh(env.r);
	assert_true(take_async(IBV_EVENT_PORT_ERR, 1));
	d->port_state = IBV_PORT_ACTIVE;
	rdma_devices_refresh(env.r);
	assert_true(take_async(IBV_EVENT_PORT_ACTIVE, 1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, env_set_up, env_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(completions_are_shown_once_a_round), TEST(armed_queues),
		TEST(events_come_in_the_order_of_completions), TEST(events_wait_for_room),
		TEST(overrun), TEST(a_head_that_cannot_be),
		TEST(an_overrun_that_is_ignored), TEST(a_queue_that_moves),
		TEST(a_queue_that_moves_owes_its_event), TEST(receive_requests),
		TEST(the_limit), TEST(a_receive_queue_that_moves), TEST(doorbells),
		TEST(naps_end_with_news), TEST(cpu_pressure_is_told),
		TEST(devices_change),
	};

	return unit_run(tests);
}
