// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <string.h>

#include "../../tools/perf/perf.h"

static void pattern__finds_every_changed_byte(void **state)
{
	uint8_t buf[37];

	(void)state;
	for (uint64_t len = 0; len <= sizeof(buf); len++) {
		perf_pattern_fill(buf, len, 7);
		assert_true(perf_pattern_check(buf, len, 7));
		for (uint64_t i = 0; i < len; i++) {
			buf[i] ^= 0x10;
			assert_false(perf_pattern_check(buf, len, 7));
			buf[i] ^= 0x10;
		}
	}
}

/* An operation whose data never came, or is another's, is seen. */
static void pattern__differs(void **state)
{
	uint8_t buf[64], zero[64] = { 0 };

	(void)state;
	for (uint64_t seq = 0; seq < 1000; seq++) {
		perf_pattern_fill(buf, sizeof(buf), seq);
		assert_false(perf_pattern_check(buf, sizeof(buf), seq + 1));
		assert_false(perf_pattern_check(buf + 8, 8, seq));
		assert_false(perf_pattern_check(zero, sizeof(zero), seq));
	}
}

static void msg__round_trip_and_refusals(void **state)
{
	struct perf_msg m = perf_msg_make(PERF_WELCOME, 1ULL << 40, 2, 3), out;

	(void)state;
	assert_true(perf_msg_parse(&m, sizeof(m), &out));
	assert_int_equal(out.type, PERF_WELCOME);
	assert_true(falcon_ntoh64(out.size) == 1ULL << 40);
	assert_int_equal(falcon_ntoh64(out.offset), 2);
	assert_int_equal(falcon_ntoh64(out.digest), 3);
	assert_false(perf_msg_parse(&m, sizeof(m) - 1, &out));
	m.version++;
	assert_false(perf_msg_parse(&m, sizeof(m), &out));
	m.version--;
	m.magic++;
	assert_false(perf_msg_parse(&m, sizeof(m), &out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pattern__finds_every_changed_byte),
		cmocka_unit_test(pattern__differs),
		cmocka_unit_test(msg__round_trip_and_refusals),
	};

	return unit_run(tests);
}
