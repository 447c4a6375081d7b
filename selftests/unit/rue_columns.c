// SPDX-License-Identifier: BSD-2-Clause
/* The columns of falcon-rue's vector files: every bit of event, result and state, once. */
#include "rue_env.h"

#include "../../tools/rue/rue.h"

static void isolated(void **state)
{
	const struct vector_column *c;
	size_t n;

	(void)state;
	c = vector_columns(&n);
	for (size_t i = 0; i < n; i++) {
		struct rue_vector v = { 0 };

		c[i].put(&v, &c[i], c[i].max);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(c[k].get(&v, &c[k]), k == i ? c[i].max : 0);
	}
}

/* Together the columns cover all that the formats define, so that nothing escapes a comparison. */
static void complete(void **state)
{
	const struct vector_column *c;
	struct rue_vector v = { 0 };
	size_t n;

	(void)state;
	c = vector_columns(&n);
	for (size_t i = 0; i < n; i++)
		c[i].put(&v, &c[i], c[i].max);
	for (uint32_t bit = 0; bit < 512; bit++) {
		uint32_t tail = FALCON_EV_ecn_accumulated + FALCON_EV_ecn_accumulated_WIDTH;
		bool reserved = bit >= tail && bit < FALCON_EV_gen;

		assert_int_equal(falcon_bits_get(v.event.w, bit, 1), !reserved);
		assert_int_equal(falcon_bits_get(v.result.w, bit, 1), bit < 252);
	}
	assert_int_equal(v.after.plb, 0xffffff);
	assert_int_equal(v.before.plb, 0xffffff);
	assert_int_equal(v.after.ncwnd_fraction, 0xffff);
	assert_int_equal(v.before.ncwnd_fraction, 0xffff);
	assert_int_equal(v.now, 0xffffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(isolated),
		cmocka_unit_test(complete),
	};

	return unit_run(tests);
}
