// SPDX-License-Identifier: BSD-2-Clause
/* What keys open, and what they do not: regions, windows, protection domains, stale keys. */
#include "rdma_obj_env.h"

#include <sanitizer/asan_interface.h>

enum {
	BASE = ENV_PROC_BASE,
	RW = IBV_ACCESS_LOCAL_WRITE,
	ALL = RW | RDMA_ACCESS_REMOTE | IBV_ACCESS_MW_BIND,
	WRITE = IBV_ACCESS_REMOTE_WRITE,
	READ = IBV_ACCESS_REMOTE_READ,
};

static uint32_t pd, other_pd, cq, qp_handle, other_qp_handle;
static struct rdma_qp *qp, *other_qp;

static int set_up(void **state)
{
	env_set_up(state);
	pd = env_pd(&app);
	other_pd = env_pd(&app);
	cq = env_cq(&app, 16, 0, NULL);
	qp_handle = env_qp(&app, pd, cq, 1);
	qp = env_qp_of(&app, qp_handle);
	other_qp_handle = env_qp(&app, pd, cq, 2);
	other_qp = env_qp_of(&app, other_qp_handle);
	return 0;
}

static struct rdma_pd *pd_of(uint32_t handle)
{
	return rdma_handle_get(app.ctx, RDMA_KIND_PD, handle);
}

static enum rdma_fault local(uint32_t domain, uint32_t key, uint64_t addr, uint32_t len,
			     uint32_t access)
{
	struct rdma_span span;
	enum rdma_fault fault = rdma_resolve_local(pd_of(domain), key, addr, len, access, &span);

	assert_true(fault == RDMA_FAULT_NONE || !span.mr);
	rdma_span_put(&span);
	return fault;
}

static enum rdma_fault remote_by(struct rdma_qp *by, uint32_t domain, uint32_t key, uint64_t addr,
				 uint32_t len, uint32_t access)
{
	struct rdma_span span;
	enum rdma_fault fault =
		rdma_resolve_remote(by, pd_of(domain), key, addr, len, access, &span);

	rdma_span_put(&span);
	return fault;
}

static enum rdma_fault remote(uint32_t key, uint64_t addr, uint32_t len, uint32_t access)
{
	return remote_by(qp, pd, key, addr, len, access);
}

static void bounds(void **state)
{
	struct fverbs_mr mr = env_reg(&app, pd, BASE + 100, 1000, ALL);

	(void)state;
	assert_int_equal(local(pd, mr.lkey, BASE + 100, 1000, RW), RDMA_FAULT_NONE);
	assert_int_equal(local(pd, mr.lkey, BASE + 100, 1001, RW), RDMA_FAULT_BOUNDS);
	assert_int_equal(local(pd, mr.lkey, BASE + 99, 1, RW), RDMA_FAULT_BOUNDS);
	assert_int_equal(local(pd, mr.lkey, BASE + 1099, 1, RW), RDMA_FAULT_NONE);
	assert_int_equal(local(pd, mr.lkey, BASE + 1100, 1, RW), RDMA_FAULT_BOUNDS);
	assert_int_equal(local(pd, mr.lkey, UINT64_MAX, 2, RW), RDMA_FAULT_BOUNDS);
	assert_int_equal(local(pd, mr.lkey, UINT64_MAX - 10, UINT32_MAX, RW), RDMA_FAULT_BOUNDS);
	/* No bytes need no key. */
	assert_int_equal(local(pd, 0, 0, 0, RW), RDMA_FAULT_NONE);
	assert_int_equal(remote(12345, 0, 0, WRITE), RDMA_FAULT_NONE);
}

static void iova_is_not_the_address(void **state)
{
	const struct fverbs_reg_mr req = { .pd = pd, .addr = BASE + 16, .iova = 7, .length = 64,
					   .access = ALL };
	struct rdma_span span;
	uint32_t key;

	(void)state;
	assert_int_equal(env_call(&app, FVERBS_REG_MR, &req, sizeof(req), -1), 0);
	key = ((const struct fverbs_mr *)env_answer(&app))->rkey;
	assert_int_equal(rdma_resolve_remote(qp, pd_of(pd), key, 10, 61, WRITE, &span),
			 RDMA_FAULT_NONE);
	assert_int_equal(span.addr, BASE + 19);
	assert_null(span.direct);
	rdma_span_put(&span);
	assert_int_equal(remote(key, 10, 62, WRITE), RDMA_FAULT_BOUNDS);
	assert_int_equal(remote(key, BASE + 16, 1, WRITE), RDMA_FAULT_BOUNDS);
}

static void access_flags(void **state)
{
	struct fverbs_mr plain = env_reg(&app, pd, BASE, 64, 0);
	struct fverbs_mr writes = env_reg(&app, pd, BASE, 64, RW | WRITE);

	(void)state;
	assert_int_equal(local(pd, plain.lkey, BASE, 64, 0), RDMA_FAULT_NONE);
	assert_int_equal(local(pd, plain.lkey, BASE, 64, RW), RDMA_FAULT_ACCESS);
	assert_int_equal(remote(plain.rkey, BASE, 64, READ), RDMA_FAULT_ACCESS);
	assert_int_equal(remote(writes.rkey, BASE, 64, WRITE), RDMA_FAULT_NONE);
	assert_int_equal(remote(writes.rkey, BASE, 64, READ), RDMA_FAULT_ACCESS);
	assert_int_equal(remote(writes.rkey, BASE, 8, IBV_ACCESS_REMOTE_ATOMIC), RDMA_FAULT_ACCESS);
}

static void access_flags_that_do_not_go_together(void **state)
{
	const uint32_t wrong[] = { WRITE, IBV_ACCESS_REMOTE_ATOMIC, 1U << 19, 1U << 31 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const struct fverbs_reg_mr req = { .pd = pd, .addr = BASE, .length = 1,
						   .access = wrong[i] };

		assert_int_equal(env_call(&app, FVERBS_REG_MR, &req, sizeof(req), -1), EINVAL);
	}
	env_reg(&app, pd, BASE, 1, READ | IBV_ACCESS_RELAXED_ORDERING);
}

static void protection_domains(void **state)
{
	struct fverbs_mr mr = env_reg(&app, pd, BASE, 64, ALL);
	struct env_app stranger;
	struct rdma_span span;
	uint32_t theirs;

	(void)state;
	assert_int_equal(local(other_pd, mr.lkey, BASE, 64, RW), RDMA_FAULT_PD);
	assert_int_equal(remote_by(qp, other_pd, mr.rkey, BASE, 64, READ), RDMA_FAULT_PD);
	/* Another application's domain of the same handle. */
	env_attach(&stranger, 1);
	theirs = env_pd(&stranger);
	assert_int_equal(theirs, pd);
	assert_int_equal(rdma_resolve_local(rdma_handle_get(stranger.ctx, RDMA_KIND_PD, theirs),
					    mr.lkey, BASE, 64, 0, &span), RDMA_FAULT_PD);
	env_detach(&stranger);
}

static void stale_keys(void **state)
{
	struct fverbs_mr mr = env_reg(&app, pd, BASE, 64, ALL), again;

	(void)state;
	assert_int_equal(local(pd, mr.lkey ^ 1, BASE, 64, RW), RDMA_FAULT_KEY);
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, mr.handle), 0);
	assert_int_equal(local(pd, mr.lkey, BASE, 64, RW), RDMA_FAULT_KEY);
	/* However often a region comes and goes, no key comes again soon. */
	for (int i = 0; i < 20000; i++) {
		again = env_reg(&app, pd, BASE, 64, ALL);
		assert_int_not_equal(again.lkey, mr.lkey);
		assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, again.handle), 0);
	}
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, mr.handle), EINVAL);
}

static void a_span_outlives_its_region(void **state)
{
	struct fverbs_mr mr = env_reg(&app, pd, BASE, 64, ALL);
	struct rdma_span span;

	(void)state;
	assert_int_equal(rdma_resolve_local(pd_of(pd), mr.lkey, BASE, 8, RW, &span),
			 RDMA_FAULT_NONE);
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, mr.handle), 0);
	assert_true(span.mr->dead);
	rdma_span_put(&span);
	assert_null(span.mr);
}

static void reregistration(void **state)
{
	struct fverbs_mr mr = env_reg(&app, pd, BASE, 64, ALL);
	struct fverbs_rereg_mr req = { .mr = mr.handle, .flags = IBV_REREG_MR_CHANGE_ACCESS,
				       .to = { .access = 0, .pd = 77, .addr = 1 } };

	(void)state;
	assert_int_equal(env_call(&app, FVERBS_REREG_MR, &req, sizeof(req), -1), 0);
	assert_int_equal(local(pd, mr.lkey, BASE, 64, 0), RDMA_FAULT_NONE);
	assert_int_equal(local(pd, mr.lkey, BASE, 64, RW), RDMA_FAULT_ACCESS);
	req.flags = IBV_REREG_MR_CHANGE_PD;
	assert_int_equal(env_call(&app, FVERBS_REREG_MR, &req, sizeof(req), -1), EINVAL);
	assert_int_equal(local(pd, mr.lkey, BASE, 64, 0), RDMA_FAULT_NONE);
	req.to.pd = other_pd;
	assert_int_equal(env_call(&app, FVERBS_REREG_MR, &req, sizeof(req), -1), 0);
	assert_int_equal(local(other_pd, mr.lkey, BASE, 64, 0), RDMA_FAULT_NONE);
	assert_int_equal(local(pd, mr.lkey, BASE, 64, 0), RDMA_FAULT_PD);
	assert_int_equal(env_drop(&app, FVERBS_DEALLOC_PD, other_pd), EBUSY);
	req.flags = IBV_REREG_MR_CHANGE_TRANSLATION;
	req.to.addr = req.to.iova = BASE + 4096;
	req.to.length = 4096;
	assert_int_equal(env_call(&app, FVERBS_REREG_MR, &req, sizeof(req), -1), 0);
	assert_int_equal(local(other_pd, mr.lkey, BASE, 1, 0), RDMA_FAULT_BOUNDS);
	assert_int_equal(local(other_pd, mr.lkey, BASE + 4096, 4096, 0), RDMA_FAULT_NONE);
	assert_int_equal(env.charged[RDMA_CHARGE_MEMORY], 4096);
	req.flags = 0;
	assert_int_equal(env_call(&app, FVERBS_REREG_MR, &req, sizeof(req), -1), EINVAL);
}

static void memory_that_is_not_there(void **state)
{
	struct fverbs_reg_mr req = { .pd = pd, .addr = BASE, .length = ENV_PROC_SIZE + 1 };

	(void)state;
	/* It may come later; nobody looks, who could be kept waiting. */
	env.reads = 0;
	assert_int_equal(env_call(&app, FVERBS_REG_MR, &req, sizeof(req), -1), 0);
	req = (struct fverbs_reg_mr){ .pd = pd, .addr = UINT64_MAX, .length = 2 };
	assert_int_equal(env_call(&app, FVERBS_REG_MR, &req, sizeof(req), -1), EINVAL);
	/* No bytes are there always, and open nothing. */
	req = (struct fverbs_reg_mr){ .pd = pd, .addr = 1, .iova = 1 };
	assert_int_equal(env_call(&app, FVERBS_REG_MR, &req, sizeof(req), -1), 0);
	assert_int_equal(local(pd, ((const struct fverbs_mr *)env_answer(&app))->lkey, 1, 1, 0),
			 RDMA_FAULT_BOUNDS);
	assert_int_equal(env.reads, 0);
}

static void all_of_memory(void **state)
{
	const struct fverbs_reg_mr req = { .pd = pd, .length = UINT64_MAX, .implicit = 1,
					   .access = RW | IBV_ACCESS_ON_DEMAND };
	struct rdma_span span;
	uint32_t key;

	(void)state;
	assert_int_equal(env_call(&app, FVERBS_REG_MR, &req, sizeof(req), -1), 0);
	key = ((const struct fverbs_mr *)env_answer(&app))->lkey;
	assert_int_equal(local(pd, key, 0, 1, RW), RDMA_FAULT_NONE);
	assert_int_equal(rdma_resolve_local(pd_of(pd), key, BASE + 5, 1, RW, &span),
			 RDMA_FAULT_NONE);
	assert_int_equal(span.addr, BASE + 5);
	rdma_span_put(&span);
	assert_int_equal(local(pd, key, UINT64_MAX, 2, RW), RDMA_FAULT_BOUNDS);
}

static void memory_in_an_area(void **state)
{
	struct fverbs_reg_mr req = { .pd = pd, .addr = 4096, .iova = 0x5000, .length = 100,
				     .area_plus_1 = 2, .access = ALL };
	uint32_t area, mr;
	struct rdma_span span;

	(void)state;
	assert_int_equal(env_call(&app, FVERBS_REG_MR, &req, sizeof(req), -1), EINVAL);
	assert_int_equal(env_call(&app, FVERBS_ADD_AREA, NULL, 0, env_fd(ENV_MEMFD, 0)), 0);
	area = ((const struct fverbs_handle *)env_answer(&app))->handle;
	assert_int_equal(area, 1);
	assert_int_equal(env_call(&app, FVERBS_REG_MR, &req, sizeof(req), -1), 0);
	mr = ((const struct fverbs_mr *)env_answer(&app))->handle;
	assert_int_equal(rdma_resolve_remote(qp, pd_of(pd),
					     ((const struct fverbs_mr *)env_answer(&app))->rkey,
					     0x5000 + 99, 1, WRITE, &span), RDMA_FAULT_NONE);
	assert_ptr_equal(span.direct, app.ctx->areas[1]->base + 4096 + 99);
	assert_int_equal(env_drop(&app, FVERBS_DEL_AREA, area), EBUSY);
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, mr), 0);
	assert_int_equal(env_drop(&app, FVERBS_DEL_AREA, area), 0);
	/* What a span refers to stays mapped. */
	assert_int_equal(env.maps, 2);
	*span.direct = 1;
	rdma_span_put(&span);
	assert_int_equal(env.maps, 1);
	req.area_plus_1 = 1;
	req.addr = ENV_AREA_SIZE - 99;
	assert_int_equal(env_call(&app, FVERBS_REG_MR, &req, sizeof(req), -1), EINVAL);
	assert_int_equal(env_drop(&app, FVERBS_DEL_AREA, 0), EINVAL);
}

/* ---- windows ------------------------------------------------------------------------------- */

static struct fverbs_mr alloc_mw(uint32_t domain, uint32_t type)
{
	const struct fverbs_alloc_mw req = { .pd = domain, .type = type };

	assert_int_equal(env_call(&app, FVERBS_ALLOC_MW, &req, sizeof(req), -1), 0);
	return *(const struct fverbs_mr *)env_answer(&app);
}

static int bind_to(struct rdma_qp *on, const struct fverbs_mr *mw, uint32_t key,
		   const struct fverbs_mr *mr, uint64_t addr, uint64_t len, uint32_t access)
{
	const struct fverbs_send_wqe wqe = { .opcode = IBV_WR_BIND_MW, .imm = key, .rkey = mr->rkey,
					     .mw = mw->handle, .bind_addr = addr, .bind_len = len,
					     .bind_access = access };

	return rdma_mw_bind(on, &wqe);
}

static void windows_of_type_1(void **state)
{
	struct fverbs_mr mr = env_reg(&app, pd, BASE, 4096, ALL), mw = alloc_mw(pd, IBV_MW_TYPE_1);
	uint32_t key = ibv_inc_rkey(mw.rkey);

	(void)state;
	assert_int_equal(remote(mw.rkey, BASE, 1, READ), RDMA_FAULT_KEY);
	assert_int_equal(bind_to(qp, &mw, key, &mr, BASE + 100, 50, READ), 0);
	assert_int_equal(remote(mw.rkey, BASE + 100, 1, READ), RDMA_FAULT_KEY);
	assert_int_equal(remote(key, BASE + 100, 50, READ), RDMA_FAULT_NONE);
	assert_int_equal(remote(key, BASE + 100, 51, READ), RDMA_FAULT_BOUNDS);
	assert_int_equal(remote(key, BASE + 100, 50, WRITE), RDMA_FAULT_ACCESS);
	/* All queue pairs of the domain; not as a key of local requests. */
	assert_int_equal(remote_by(other_qp, pd, key, BASE + 100, 1, READ), RDMA_FAULT_NONE);
	assert_int_equal(local(pd, key, BASE + 100, 1, 0), RDMA_FAULT_KEY);
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, mr.handle), EBUSY);
	/* Bound anew, elsewhere; then to nothing. */
	assert_int_equal(bind_to(qp, &mw, key + 1, &mr, BASE, 10, READ | WRITE), 0);
	assert_int_equal(remote(key, BASE, 1, READ), RDMA_FAULT_KEY);
	assert_int_equal(remote(key + 1, BASE, 10, WRITE), RDMA_FAULT_NONE);
	assert_int_equal(bind_to(qp, &mw, key + 2, &mr, 0, 0, 0), 0);
	assert_int_equal(remote(key + 2, BASE, 1, READ), RDMA_FAULT_KEY);
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, mr.handle), 0);
	assert_int_equal(rdma_key_invalidate(qp, key + 2, true), IBV_WC_REM_ACCESS_ERR);
}

static void windows_of_type_2(void **state)
{
	struct fverbs_mr mr = env_reg(&app, pd, BASE, 4096, ALL), mw = alloc_mw(pd, IBV_MW_TYPE_2);
	uint32_t key = ibv_inc_rkey(mw.rkey);

	(void)state;
	assert_int_equal(bind_to(qp, &mw, key, &mr, BASE, 64, READ | IBV_ACCESS_ZERO_BASED), 0);
	assert_int_equal(remote(key, 0, 64, READ), RDMA_FAULT_NONE);
	assert_int_equal(remote(key, BASE, 1, READ), RDMA_FAULT_BOUNDS);
	/* Only for the queue pair that bound it; not twice without being invalidated. */
	assert_int_equal(remote_by(other_qp, pd, key, 0, 1, READ), RDMA_FAULT_PD);
	assert_int_equal(bind_to(qp, &mw, key + 1, &mr, BASE, 64, READ), IBV_WC_MW_BIND_ERR);
	assert_int_equal(remote(key, 0, 64, READ), RDMA_FAULT_NONE);
	assert_int_equal(rdma_key_invalidate(other_qp, key, true), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(rdma_key_invalidate(qp, key + 1, false), IBV_WC_MW_BIND_ERR);
	assert_int_equal(rdma_key_invalidate(qp, mr.rkey, false), IBV_WC_MW_BIND_ERR);
	assert_int_equal(rdma_key_invalidate(qp, key, false), 0);
	assert_int_equal(remote(key, 0, 1, READ), RDMA_FAULT_KEY);
	assert_int_equal(rdma_key_invalidate(qp, key, false), IBV_WC_MW_BIND_ERR);
	assert_int_equal(bind_to(qp, &mw, key + 1, &mr, BASE, 64, READ), 0);
	/* With the queue pair goes what it had bound. */
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_QP, qp_handle), 0);
	assert_int_equal(remote_by(other_qp, pd, key + 1, BASE, 1, READ), RDMA_FAULT_KEY);
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, mr.handle), 0);
}

/* However many an application has bound, a queue pair that goes looks at its own only. */
static void windows_of_other_queue_pairs(void **state)
{
	struct fverbs_mr mr = env_reg(&app, pd, BASE, 4096, ALL), mw = alloc_mw(pd, IBV_MW_TYPE_2);
	uint32_t key = ibv_inc_rkey(mw.rkey);
	struct rdma_mr *window;

	(void)state;
	assert_int_equal(bind_to(qp, &mw, key, &mr, BASE, 64, READ), 0);
	window = rdma_key_find(app.ctx->r, key);
	ASAN_POISON_MEMORY_REGION(window, sizeof(*window));
	assert_int_equal(env_drop(&app, FVERBS_DESTROY_QP, other_qp_handle), 0);
	ASAN_UNPOISON_MEMORY_REGION(window, sizeof(*window));
	assert_int_equal(remote(key, BASE, 1, READ), RDMA_FAULT_NONE);
}

static void bindings_that_are_refused(void **state)
{
	struct fverbs_mr all = env_reg(&app, pd, BASE, 4096, ALL), mw = alloc_mw(pd, IBV_MW_TYPE_2),
			 other = alloc_mw(other_pd, IBV_MW_TYPE_2), one = alloc_mw(pd, IBV_MW_TYPE_1),
			 foreign = env_reg(&app, other_pd, BASE, 4096, ALL),
			 bare = env_reg(&app, pd, BASE, 4096, RW),
			 reads = env_reg(&app, pd, BASE, 4096, IBV_ACCESS_MW_BIND);
	uint32_t key = mw.rkey + 1, bad = IBV_WC_MW_BIND_ERR;

	(void)state;
	assert_int_equal(bind_to(qp, &mw, key + 256, &all, BASE, 1, READ), bad);
	assert_int_equal(bind_to(qp, &mw, key, &all, BASE, 0, READ), bad);
	assert_int_equal(bind_to(qp, &mw, key, &all, BASE, 4097, READ), bad);
	assert_int_equal(bind_to(qp, &mw, key, &all, BASE - 1, 1, READ), bad);
	assert_int_equal(bind_to(qp, &mw, key, &all, UINT64_MAX, UINT64_MAX, READ), bad);
	assert_int_equal(bind_to(qp, &mw, key, &foreign, BASE, 1, READ), bad);
	assert_int_equal(bind_to(qp, &mw, key, &bare, BASE, 1, READ), bad);
	assert_int_equal(bind_to(qp, &mw, key, &reads, BASE, 1, WRITE), bad);
	assert_int_equal(bind_to(qp, &mw, key, &one, BASE, 1, READ), bad);
	assert_int_equal(bind_to(qp, &mw, key, &all, BASE, 1, 1U << 15), bad);
	assert_int_equal(bind_to(qp, &other, other.rkey, &foreign, BASE, 1, READ), bad);
	assert_int_equal(bind_to(qp, &one, one.rkey, &all, BASE, 1, READ | IBV_ACCESS_ZERO_BASED), bad);
	assert_int_equal(bind_to(qp, &all, all.rkey, &all, BASE, 1, READ), bad);
	assert_int_equal(bind_to(qp, &mw, key, &reads, BASE, 1, READ), 0);
	assert_int_equal(env_drop(&app, FVERBS_DEALLOC_MW, mw.handle), 0);
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, reads.handle), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, env_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bounds), TEST(iova_is_not_the_address), TEST(access_flags),
		TEST(access_flags_that_do_not_go_together), TEST(protection_domains),
		TEST(stale_keys), TEST(a_span_outlives_its_region), TEST(reregistration),
		TEST(memory_that_is_not_there), TEST(all_of_memory), TEST(memory_in_an_area),
		TEST(windows_of_type_1), TEST(windows_of_type_2),
		TEST(windows_of_other_queue_pairs), TEST(bindings_that_are_refused),
	};

	return unit_run(tests);
}
