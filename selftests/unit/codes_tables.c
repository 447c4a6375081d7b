// SPDX-License-Identifier: BSD-2-Clause
/* The tables of codes: Falcon 7.2, 7.6, 7.8 and 11. */
#include "unit.h"

#include <falcon/codes.h>

/* 7.8, RNR NACK Timeout, in the table's own unit (milliseconds) and order: value 0 to 31. */
static void rnr_timeouts(void **state)
{
	static const double ms[FALCON_RNR_TIMEOUTS] = {
		655.36, 0.01,  0.02,  0.03,  0.04,  0.06,   0.08,   0.12,
		0.16,	0.24,  0.32,  0.48,  0.64,  0.96,   1.28,   1.92,
		2.56,	3.84,  5.12,  7.68,  10.24, 15.36,  20.48,  30.72,
		40.96,	61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
	};

	(void)state;
	for (unsigned char code = 0; code < FALCON_RNR_TIMEOUTS; code++)
		assert_int_equal(falcon_rnr_timeout_ns(code), (uint64_t)(ms[code] * 1e6 + 0.5));
}

/* Beyond 2 the values grow by 4/3 and 3/2 in turn: a slip in the table would show. */
static void rnr_progression(void **state)
{
	(void)state;
	for (unsigned char code = 4; code < FALCON_RNR_TIMEOUTS - 2; code++)
		assert_int_equal(falcon_rnr_timeout_ns(code + 2),
				 2 * falcon_rnr_timeout_ns(code));
	assert_int_equal(falcon_rnr_timeout_ns(0), 2 * falcon_rnr_timeout_ns(30));
}

static void rnr_high_bits(void **state)
{
	(void)state;
	assert_int_equal(falcon_rnr_timeout_ns(0xe1), falcon_rnr_timeout_ns(1));
}

/* 11, the table of completion error codes */
static void completion_codes(void **state)
{
	static const struct {
		unsigned char value;
		const char *name;
	} table[] = {
		{ 0x0, "kCmplAck" },	       { 0x9, "kCmplOpErr" },
		{ 0x1, "kCmplTargetNackCIE" }, { 0xa, "kCmplDeadConn" },
		{ 0x3, "kCmplTargetNackNRE" }, { 0xb, "kCmplLocalRsrc" },
		{ 0x4, "kCmplTargetNackCID" }, { 0xc, "kUlpCmplCdtErr" },
		{ 0x8, "kCmplLocalTO" },       { 0xd, "kCmplRemoteErr" },
		{ 0xf, "kCmplLocalXlr" },      { 0x2, "unknown" },
		{ 0x5, "unknown" },	       { 0x6, "unknown" },
		{ 0x7, "unknown" },	       { 0xe, "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_string_equal(falcon_completion_name(table[i].value), table[i].name);
	assert_int_equal(kCmplTargetNackCIE, 1);
	assert_int_equal(kCmplLocalXlr, 15);
}

/* 7.2, the table of packet types and the three of ACK and NACK */
static void packet_types(void **state)
{
	static const char *const name[16] = {
		[0] = "Pull Request", [3] = "Pull Data", [5] = "Push Data", [6] = "Resync",
		[8] = "NACK", [9] = "BACK", [10] = "EACK",
	};

	(void)state;
	for (unsigned char t = 0; t < 16; t++)
		assert_string_equal(falcon_type_name(t), name[t] ? name[t] : "Reserved");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rnr_timeouts),
		cmocka_unit_test(rnr_progression),
		cmocka_unit_test(rnr_high_bits),
		cmocka_unit_test(completion_codes),
		cmocka_unit_test(packet_types),
	};

	return unit_run(tests);
}
