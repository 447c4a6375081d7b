// SPDX-License-Identifier: BSD-2-Clause
/* The verbs library: devices and objects, and what is refused. */
#include "verbs/env.h"

#include <sys/mman.h>

#include "falcon/abi/verbs.h"
#include "falcon/verbs_ext.h"
#include "verbs/vma.h"

static void device_is_described(void **state)
{
	struct env *e = *state;
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	__be16 pkey;

	assert_int_equal(ibv_query_device(e->ctx, &attr), 0);
	assert_int_equal(attr.max_sge, 16);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(attr.atomic_cap, IBV_ATOMIC_HCA);
	assert_int_equal(ibv_query_device_ex(e->ctx, NULL, &ex), 0);
	assert_true(ex.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT);
	assert_int_equal(ibv_query_port(e->ctx, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_int_equal(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(port.active_width * port.active_speed, 4);
	assert_int_equal(port.gid_tbl_len, 3);
	assert_int_equal(ibv_query_port(e->ctx, 2, &port), EINVAL);
	assert_int_equal(ibv_query_pkey(e->ctx, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(ibv_query_pkey(e->ctx, 1, 1, &pkey), -1);
	assert_int_equal(ibv_get_pkey_index(e->ctx, 1, 0xffff), 0);
	assert_int_equal(ibv_get_device_guid(e->ctx->device), 0x0123456789abcdef);
}

static void gids_keep_their_places(void **state)
{
	struct env *e = *state;
	struct ibv_gid_entry entry, all[4];
	union ibv_gid gid;

	assert_int_equal(ibv_query_gid(e->ctx, 1, 0, &gid), 0);
	assert_int_equal(gid.raw[12], 192);
	assert_int_equal(ibv_query_gid(e->ctx, 1, 3, &gid), -1);
	assert_int_equal(ibv_query_gid_ex(e->ctx, 1, 2, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(entry.ndev_ifindex, 7);
	/* The second address has gone. */
	assert_int_equal(ibv_query_gid_ex(e->ctx, 1, 1, &entry, 0), ENODATA);
	assert_int_equal(ibv_query_gid_ex(e->ctx, 1, 0, &entry, 1), EINVAL);
	assert_int_equal(ibv_query_gid_table(e->ctx, all, 4, 0), 2);
	assert_int_equal(all[1].gid_index, 2);
	assert_int_equal(ibv_query_gid_table(e->ctx, all, 1, 0), -EINVAL);
}

static void completion_queues_are_checked(void **state)
{
	struct env *e = *state;
	struct ibv_cq *cq;

	assert_null(ibv_create_cq(e->ctx, 0, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(e->ctx, -1, NULL, NULL, 0));
	assert_null(ibv_create_cq(e->ctx, 5000, NULL, NULL, 0));
	assert_null(ibv_create_cq(e->ctx, 1, NULL, NULL, 1));
	assert_null(ibv_create_cq(e->ctx, 1, NULL, NULL, -1));
	cq = ibv_create_cq(e->ctx, 5, e, NULL, 0);
	assert_non_null(cq);
	assert_int_equal(cq->cqe, 8);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	/* A channel in use stays. */
	assert_int_equal(ibv_destroy_comp_channel(e->channel), EBUSY);
}

static void queue_pairs_are_checked(void **state)
{
	struct env *e = *state;
	struct ibv_qp_init_attr good = {
		.send_cq = e->cq, .recv_cq = e->cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1 },
	}, attr;

	attr = good;
	attr.qp_type = IBV_QPT_RAW_PACKET;
	assert_null(ibv_create_qp(e->pd, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr = good;
	attr.cap.max_send_wr = 1025;
	assert_null(ibv_create_qp(e->pd, &attr));
	assert_int_equal(errno, EINVAL);
	attr = good;
	attr.cap.max_inline_data = 513;
	assert_null(ibv_create_qp(e->pd, &attr));
	attr = good;
	attr.send_cq = NULL;
	assert_null(ibv_create_qp(e->pd, &attr));
}

static void modes_reach_the_agent(void **state)
{
	struct env *e = *state;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = e->cq, .recv_cq = e->cq, .qp_type = IBV_QPT_RC, .pd = e->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD, .cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	struct falcon_qp_attr modes = {
		.size = sizeof(modes), .ordering = FALCON_QP_UNORDERED,
		.errors = FALCON_QP_COMPLETE_IN_ERROR,
	};
	struct ibv_qp *qp;

	assert_int_equal(fake_last_ordering(), FALCON_QP_STRONGLY_ORDERED);
	qp = falcon_create_qp(e->ctx, &attr, &modes);
	assert_non_null(qp);
	assert_int_equal(fake_last_ordering(), FALCON_QP_UNORDERED);
	assert_int_equal(fake_last_errors(), FALCON_QP_COMPLETE_IN_ERROR);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	modes.ordering = 3;
	assert_null(falcon_create_qp(e->ctx, &attr, &modes));
	assert_int_equal(errno, EINVAL);
	setenv("FALCON_QP_ORDERING", "weak", 1);
	qp = ibv_create_qp_ex(e->ctx, &attr);
	unsetenv("FALCON_QP_ORDERING");
	assert_non_null(qp);
	assert_int_equal(fake_last_ordering(), FALCON_QP_WEAKLY_ORDERED);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void regions_are_checked(void **state)
{
	struct env *e = *state;
	struct ibv_mr *mr;
	char *hole = (char *)mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;

	assert_null(ibv_reg_mr(e->pd, e->mem, 8, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(e->pd, e->mem, 0, 0));
	assert_null(ibv_reg_mr(e->pd, e->mem, 8, 1 << 12));
	assert_null(ibv_reg_mr(e->pd, (void *)-16L, 64, 0));
	assert_null(ibv_reg_dmabuf_mr(e->pd, 0, 8, 0, 0, 0));
	assert_int_equal(errno, EOPNOTSUPP);
	mr = ibv_reg_mr(e->pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(e->pd, e->mem, 8, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
	assert_non_null(mr);
	assert_int_equal(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, e->mem + 16, 16, 0),
			 0);
	assert_ptr_equal(mr->addr, e->mem + 16);
	assert_int_equal(mr->length, 16);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_REMOTE_WRITE), IBV_REREG_MR_ERR_INPUT);
	/* What is not there, but may come when it is needed. */
	assert_int_equal(munmap(hole, 4096), 0);
	errno = 0;
	assert_null(ibv_reg_mr(e->pd, hole - 4096, 8192, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, hole, 16, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(e->pd, hole, 16, IBV_ACCESS_ON_DEMAND);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(hole - 4096, 4096);
}

static bool registers(struct env *e, void *addr, size_t len, int access)
{
	bool write = access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_mr *mr;

	assert_int_equal(fv_vma_allows(FV_VMA_BEST, (uintptr_t)addr, len, write),
			 fv_vma_allows(FV_VMA_TEXT, (uintptr_t)addr, len, write));
	errno = 0;
	mr = ibv_reg_mr(e->pd, addr, len, access);
	if (!mr)
		assert_int_equal(errno, EFAULT);
	else
		assert_int_equal(ibv_dereg_mr(mr), 0);
	return mr;
}

/* Memory is registered for what all of its mappings allow. */
static void regions_of_several_mappings(void **state)
{
	enum { PAGE = 4096, PAGES = 5 };
	struct env *e = *state;
	uint8_t *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mprotect(at + 2 * PAGE, PAGE, PROT_READ), 0);
	assert_true(registers(e, at, PAGES * PAGE, 0));
	assert_true(registers(e, at, PAGES * PAGE, IBV_ACCESS_REMOTE_READ));
	assert_false(registers(e, at, PAGES * PAGE, IBV_ACCESS_LOCAL_WRITE));
	assert_false(registers(e, at + 3 * PAGE - 1, 1, IBV_ACCESS_LOCAL_WRITE));
	assert_true(registers(e, at, 2 * PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	assert_true(registers(e, at + 3 * PAGE, 2 * PAGE, IBV_ACCESS_LOCAL_WRITE));
	mr = ibv_reg_mr(e->pd, at + 2 * PAGE, 8, 0);
	assert_non_null(mr);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(mprotect(at + 2 * PAGE, PAGE, PROT_NONE), 0);
	assert_false(registers(e, at, PAGES * PAGE, 0));
	assert_int_equal(munmap(at + 2 * PAGE, PAGE), 0);
	assert_false(registers(e, at, PAGES * PAGE, 0));
	assert_true(registers(e, at + PAGE, PAGE, 0));
	munmap(at, PAGES * PAGE);
}

static void device_memory(void **state)
{
	struct env *e = *state;
	struct ibv_alloc_dm_attr attr = { .length = 128 };
	struct ibv_dm *dm = ibv_alloc_dm(e->ctx, &attr);
	struct ibv_mr *mr;
	char got[4];

	assert_non_null(dm);
	assert_int_equal(ibv_memcpy_to_dm(dm, 124, "abcd", 4), 0);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 124, 4), 0);
	assert_memory_equal(got, "abcd", 4);
	assert_int_equal(ibv_memcpy_to_dm(dm, 128, "abcd", 4), EFAULT);
	assert_int_equal(ibv_memcpy_to_dm(dm, 4, "abcd", 3), EINVAL);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 2, 4), EINVAL);
	assert_null(ibv_reg_dm_mr(e->pd, dm, 0, 129, IBV_ACCESS_ZERO_BASED));
	assert_null(ibv_reg_dm_mr(e->pd, dm, 0, 8, IBV_ACCESS_LOCAL_WRITE));
	mr = ibv_reg_dm_mr(e->pd, dm, 0, 128, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void parent_domains(void **state)
{
	struct env *e = *state;
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_td *td = ibv_alloc_td(e->ctx, &td_attr);
	struct ibv_parent_domain_init_attr attr = { .pd = e->pd, .td = td };
	struct ibv_pd *pd = ibv_alloc_parent_domain(e->ctx, &attr);

	assert_non_null(pd);
	assert_int_equal(ibv_dealloc_td(td), EBUSY);
	assert_int_equal(ibv_dealloc_pd(e->pd), EBUSY);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
}

/* More queues than the first area of shared memory holds, and all of it given back. */
static void many_queues(void **state)
{
	struct env *e = *state;
	struct ibv_cq *cqs[60];

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(cqs); i++) {
			cqs[i] = ibv_create_cq(e->ctx, 4096, NULL, NULL, 0);
			assert_non_null(cqs[i]);
		}
		for (size_t i = 0; i < ARRAY_SIZE(cqs); i++)
			assert_int_equal(ibv_destroy_cq(cqs[(i * 7) % ARRAY_SIZE(cqs)]), 0);
	}
}

static void what_falcon_has_not(void **state)
{
	struct env *e = *state;
	struct ibv_ah_attr ah = { .dlid = 5, .port_num = 1 };
	union ibv_gid gid = { 0 };
	struct ibv_ece ece;

	assert_int_equal(ibv_attach_mcast(e->a, &gid, 0), EOPNOTSUPP);
	assert_int_equal(ibv_detach_mcast(e->a, &gid, 0), EOPNOTSUPP);
	assert_int_equal(ibv_query_ece(e->a, &ece), EOPNOTSUPP);
	assert_null(ibv_create_ah(e->pd, &ah));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_import_pd(e->ctx, 1));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_import_device(e->ctx->cmd_fd));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_qp_to_qp_ex(e->a));
}

static void refusals_are_passed_on(void **state)
{
	struct env *e = *state;

	fake_fail(FVERBS_ALLOC_PD, FAKE_FAULT_REFUSE);
	assert_null(ibv_alloc_pd(e->ctx));
	assert_int_equal(errno, ENOSPC);
	fake_fail(0, FAKE_FAULT_NEGATIVE);
	assert_null(ibv_alloc_pd(e->ctx));
	assert_int_equal(errno, EPROTO);
	fake_fail(0, FAKE_FAULT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(device_is_described, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(gids_keep_their_places, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(completion_queues_are_checked, env_setup,
						env_teardown),
		cmocka_unit_test_setup_teardown(queue_pairs_are_checked, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(modes_reach_the_agent, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(regions_are_checked, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(regions_of_several_mappings, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(device_memory, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(parent_domains, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(many_queues, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(what_falcon_has_not, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(refusals_are_passed_on, env_setup, env_teardown),
	};

	return unit_run(tests);
}
