// SPDX-License-Identifier: BSD-2-Clause
/* Keys of the layers of one agent: none is two layers', since XDP has one table for all. */
#include "unit.h"

#include <stdlib.h>

#include <ulp/rdma/objects.h>

enum { LAYERS = RDMA_GROUP_MAX, KEYS = 5000 };

static struct rdma_group group;
static struct rdma layers[LAYERS];
static struct rdma_mr regions[LAYERS][KEYS];

static int set_up(void **state)
{
	(void)state;
	group = (struct rdma_group){};
	for (int i = 0; i < LAYERS; i++) {
		layers[i] = (struct rdma){ .host = { .boot = 12345, .group = &group } };
		rdma_join(&layers[i], &group);
		assert_int_equal(rdma_keys_open(&layers[i]), 0);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < LAYERS; i++)
		rdma_keys_close(&layers[i]);
	return 0;
}

static int by_key(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void all_differ(void **state)
{
	static uint32_t all[LAYERS * KEYS];
	uint32_t n = 0;

	(void)state;
	for (int i = 0; i < LAYERS; i++) {
		for (int k = 0; k < KEYS; k++) {
			assert_int_equal(rdma_key_new(&layers[i], &regions[i][k]), 0);
			all[n++] = regions[i][k].key;
		}
	}
	qsort(all, n, sizeof(all[0]), by_key);
	for (uint32_t i = 1; i < n; i++)
		assert_int_not_equal(all[i] >> 8, all[i - 1] >> 8);
}

static void each_finds_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < LAYERS; i++)
		assert_int_equal(rdma_key_new(&layers[i], &regions[i][0]), 0);
	for (int i = 0; i < LAYERS; i++)
		for (int k = 0; k < LAYERS; k++)
			assert_ptr_equal(rdma_key_find(&layers[i], regions[k][0].key),
					 i == k ? &regions[k][0] : NULL);
}

/* Windows' keys change by their variant, and come back by the same index. */
static void changed_and_used_again(void **state)
{
	struct rdma_mr *mr = &regions[3][0];
	uint32_t first;

	(void)state;
	assert_int_equal(rdma_key_new(&layers[3], mr), 0);
	first = mr->key;
	rdma_key_change(&layers[3], mr, first ^ 0x55);
	assert_null(rdma_key_find(&layers[3], first));
	assert_ptr_equal(rdma_key_find(&layers[3], first ^ 0x55), mr);
	rdma_key_free(&layers[3], mr->key);
	assert_null(rdma_key_find(&layers[3], mr->key));
	for (int k = 1; k < KEYS; k++) {
		assert_int_equal(rdma_key_new(&layers[3], &regions[3][k]), 0);
		rdma_key_free(&layers[3], regions[3][k].key);
		assert_int_equal(regions[3][k].key >> 8 & (RDMA_GROUP_MAX - 1), 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_differ, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_finds_its_own, set_up, tear_down),
		cmocka_unit_test_setup_teardown(changed_and_used_again, set_up, tear_down),
	};

	return unit_run(tests);
}
