// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <string.h>

#include "../../tools/common/histogram.h"

static struct histogram h;

static int clear(void **state)
{
	(void)state;
	memset(&h, 0, sizeof(h));
	return 0;
}

static void empty(void **state)
{
	(void)state;
	assert_int_equal(histogram_quantile(&h, 0.5), 0);
	assert_true(histogram_mean(&h) == 0);
}

/* Whatever is put in comes back not smaller and at most 1/SUB larger. */
static void one_value__is_close(void **state)
{
	uint64_t seed = 42;

	for (int i = 0; i < 20000; i++) {
		uint64_t v = unit_random(&seed) >> (i % 64), q;

		clear(state);
		histogram_add(&h, v);
		histogram_add(&h, UINT64_MAX);
		q = histogram_quantile(&h, 0.5);
		assert_true(q >= v);
		assert_true(q - v <= v / HISTOGRAM_SUB);
	}
}

static void edges(void **state)
{
	for (int bit = 0; bit < 64; bit++) {
		for (int d = -1; d <= 1; d++) {
			uint64_t v = (1ULL << bit) + (uint64_t)(int64_t)d;

			clear(state);
			histogram_add(&h, v);
			assert_true(histogram_quantile(&h, 1) == v);
			assert_true(h.min == v && h.max == v);
		}
	}
}

static void quantiles__of_a_line(void **state)
{
	static const struct {
		double fraction;
		uint64_t want;
	} cases[] = { { 0, 1 }, { 0.01, 10 }, { 0.05, 50 }, { 0.1, 100 } };

	(void)state;
	for (uint64_t v = 1; v <= 1000; v++)
		histogram_add(&h, v);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(histogram_quantile(&h, cases[i].fraction), cases[i].want);
	assert_in_range(histogram_quantile(&h, 0.5), 500, 500 + 500 / HISTOGRAM_SUB);
	assert_in_range(histogram_quantile(&h, 0.99), 990, 1000);
	assert_int_equal(histogram_quantile(&h, 1), 1000);
	assert_true(histogram_mean(&h) == 500.5);
	assert_int_equal(h.count, 1000);
}

static void quantiles__outlier(void **state)
{
	(void)state;
	for (int i = 0; i < 999; i++)
		histogram_add(&h, 10);
	histogram_add(&h, 5000000);
	assert_int_equal(histogram_quantile(&h, 0.999), 10);
	assert_int_equal(histogram_quantile(&h, 0.9999), 5000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(empty, clear),
		cmocka_unit_test_setup(one_value__is_close, clear),
		cmocka_unit_test_setup(edges, clear),
		cmocka_unit_test_setup(quantiles__of_a_line, clear),
		cmocka_unit_test_setup(quantiles__outlier, clear),
	};

	return unit_run(tests);
}
