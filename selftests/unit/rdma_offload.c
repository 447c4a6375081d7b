// SPDX-License-Identifier: BSD-2-Clause
/* Offload memory: whose it is, what it is charged, and which regions in it XDP is told of. */
#include "rdma_obj_env.h"

enum {
	SIZE = 100000,
	ROUNDED = 2 * FALCON_MEMORY_BLOCK,
	RW = IBV_ACCESS_LOCAL_WRITE,
	ALL = RW | RDMA_ACCESS_REMOTE,
};

static uint32_t pd, area;

static int new_area(uint64_t size, uint32_t *number)
{
	const struct fverbs_new_area req = { .size = size };
	int rc = env_call(&app, FVERBS_NEW_AREA, &req, sizeof(req), -1);
	const struct fverbs_new_area_answer *answer = env_answer(&app);

	if (!rc) {
		*number = answer->number;
		assert_int_equal(answer->size, (size + FALCON_MEMORY_BLOCK - 1) / FALCON_MEMORY_BLOCK *
						       FALCON_MEMORY_BLOCK);
	}
	return rc;
}

static int set_up(void **state)
{
	uint32_t cq;

	env_set_up(state);
	pd = env_pd(&app);
	cq = env_cq(&app, 16, 0, NULL);
	env_qp(&app, pd, cq, 1);
	env_qp(&app, pd, cq, 2);
	assert_int_equal(new_area(SIZE, &area), 0);
	return 0;
}

static struct fverbs_mr reg(uint64_t at, uint64_t len, uint32_t access)
{
	const struct fverbs_reg_mr req = { .pd = pd, .addr = at, .length = len, .iova = 0x7000 + at,
					   .area_plus_1 = area + 1, .access = access };

	assert_int_equal(env_call(&app, FVERBS_REG_MR, &req, sizeof(req), -1), 0);
	return *(const struct fverbs_mr *)env_answer(&app);
}

static void charged_and_given_back(void **state)
{
	(void)state;
	assert_int_equal(env.memories, 1);
	assert_int_equal(env.charged[RDMA_CHARGE_MEMORY], ROUNDED);
	assert_int_equal(env_drop(&app, FVERBS_DEL_AREA, area), 0);
	assert_int_equal(env.memories_freed, 1);
	assert_int_equal(env.charged[RDMA_CHARGE_MEMORY], 0);
}

static void goes_with_its_application(void **state)
{
	(void)state;
	reg(0, SIZE, ALL);
	env_detach(&app);
	app.ctx = NULL;
	assert_int_equal(env.memories_freed, 1);
	assert_int_equal(env.regions, 0);
}

static void refused(void **state)
{
	uint32_t other;

	(void)state;
	assert_int_equal(new_area(0, &other), EINVAL);
	assert_int_equal(new_area((1ULL << 32) + 1, &other), EINVAL);
	env.limit[RDMA_CHARGE_MEMORY] = ROUNDED + FALCON_MEMORY_BLOCK;
	assert_int_equal(new_area(FALCON_MEMORY_BLOCK + 1, &other), EDQUOT);
	env.memory_refused = true;
	assert_int_equal(new_area(1, &other), ENOSPC);
	assert_string_equal(app.error, "there is none left");
	assert_int_equal(env.charged[RDMA_CHARGE_MEMORY], ROUNDED);
	env.memory_refused = false;
	assert_int_equal(new_area(1, &other), 0);
	assert_int_not_equal(other, area);
}

static void no_more_areas(void **state)
{
	uint32_t other;
	int rc = 0;

	(void)state;
	for (int i = 0; i < RDMA_MAX_AREAS && !rc; i++)
		rc = new_area(1, &other);
	assert_int_equal(rc, ENOSPC);
	assert_int_equal(env.memories, RDMA_MAX_AREAS - 1);
}

static void xdp_is_told(void **state)
{
	struct fverbs_mr mr = reg(4096, 5000, ALL);

	(void)state;
	assert_int_equal(env.regions, 1);
	assert_int_equal(env.region_key, mr.rkey);
	assert_int_equal(env.region.iova, 0x8000);
	assert_int_equal(env.region.offset, 4096);
	assert_int_equal(env.region.length, 5000);
	assert_int_equal(env.region.memory, ENV_MEMORY);
	assert_int_equal(env.region.access, FALCON_REGION_WRITE | FALCON_REGION_READ | FALCON_REGION_ATOMIC);
	assert_true(env.region.pd > 0);
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, mr.handle), 0);
	assert_int_equal(env.regions, 0);
	/* Of both queue pairs it was made sure that XDP has ended. */
	assert_int_equal(env.waits, 2);
}

static void what_peers_may_do(void **state)
{
	(void)state;
	reg(0, 100, RW | IBV_ACCESS_REMOTE_READ);
	assert_int_equal(env.region.access, FALCON_REGION_READ);
	reg(0, 100, RW | IBV_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(env.region.access, FALCON_REGION_ATOMIC);
	assert_int_equal(env.regions, 2);
}

static void not_of_others(void **state)
{
	(void)state;
	reg(0, 100, RW);
	env_reg(&app, pd, ENV_PROC_BASE, 100, ALL);
	assert_int_equal(env.regions, 0);
	env.regions_refused = true;
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, reg(0, 100, ALL).handle), 0);
	assert_int_equal(env.waits, 0);
}

static void another_domain_has_another_number(void **state)
{
	uint64_t number;

	(void)state;
	reg(0, 100, ALL);
	number = env.region.pd;
	pd = env_pd(&app);
	reg(0, 100, ALL);
	assert_int_not_equal(env.region.pd, number);
}

static void reregistered(void **state)
{
	struct fverbs_mr mr = reg(0, 100, ALL);
	struct fverbs_rereg_mr req = { .mr = mr.handle, .flags = IBV_REREG_MR_CHANGE_ACCESS,
				       .to = { .access = RW } };

	(void)state;
	assert_int_equal(env_call(&app, FVERBS_REREG_MR, &req, sizeof(req), -1), 0);
	assert_int_equal(env.regions, 0);
	assert_int_equal(env.waits, 2);
	req.to.access = ALL;
	assert_int_equal(env_call(&app, FVERBS_REREG_MR, &req, sizeof(req), -1), 0);
	assert_int_equal(env.regions, 1);
	assert_int_equal(env.region_key, mr.rkey);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(charged_and_given_back, set_up, env_tear_down),
		cmocka_unit_test_setup_teardown(goes_with_its_application, set_up, env_tear_down),
		cmocka_unit_test_setup_teardown(refused, set_up, env_tear_down),
		cmocka_unit_test_setup_teardown(no_more_areas, set_up, env_tear_down),
		cmocka_unit_test_setup_teardown(xdp_is_told, set_up, env_tear_down),
		cmocka_unit_test_setup_teardown(what_peers_may_do, set_up, env_tear_down),
		cmocka_unit_test_setup_teardown(not_of_others, set_up, env_tear_down),
		cmocka_unit_test_setup_teardown(another_domain_has_another_number, set_up, env_tear_down),
		cmocka_unit_test_setup_teardown(reregistered, set_up, env_tear_down),
	};

	return unit_run(tests);
}
