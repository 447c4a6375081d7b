// SPDX-License-Identifier: BSD-2-Clause
/*
 * The PSP header (PSP Architecture Specification, Falcon 6.5 and 7.1). The bytes of version 0 and 1
 * packets are those that Google's PSP reference tool writes, apart from the next header.
 */
#include "unit.h"

#include <string.h>

#include <falcon/wire/psp.h>

_Static_assert(offsetof(struct falcon_psp_hdr, next_header) == 0, "");
_Static_assert(offsetof(struct falcon_psp_hdr, hdr_ext_len) == 1, "");
_Static_assert(offsetof(struct falcon_psp_hdr, crypt_offset) == 2, "");
_Static_assert(offsetof(struct falcon_psp_hdr, flags) == 3, "");
_Static_assert(offsetof(struct falcon_psp_hdr, spi) == 4, "");
_Static_assert(offsetof(struct falcon_psp_hdr, iv) == 8, "");

static void fill(void **state)
{
	static const unsigned char want[] = {
		0xfc, 0x01, 0x01, 0x3d,	/* 252; 8 bytes more; CID clear; S0 D0 1111 V0 1 */
		0x9a, 0xbc, 0xde, 0xf0,	/* SPI */
		0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
	};
	struct falcon_psp_hdr h;

	(void)state;
	memset(&h, 0xff, sizeof(h));
	falcon_psp_fill(&h, FALCON_PSP_CLEAR, false, 0x9abcdef0, 0x0123456789abcdef);
	assert_memory_equal(&h, want, sizeof(want));
	assert_int_equal(falcon_psp_len(false), sizeof(want));
}

static void fill_vc(void **state)
{
	static const unsigned char want[] = {
		0xfc, 0x02, 0x03, 0x3f,	/* 16 bytes more; cookie and CID clear; 1111 V1 1 */
		0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
	};
	struct falcon_psp_hdr h;

	(void)state;
	memset(&h, 0xff, sizeof(h));
	falcon_psp_fill(&h, FALCON_PSP_CLEAR, true, 1, 2);
	assert_memory_equal(&h, want, sizeof(want));
	assert_int_equal(falcon_psp_len(true), sizeof(want) + 8);
}

/* Byte 3 as the reference tool writes it: version 0 and 1, without and with cookie. */
static void flags_reference(void **state)
{
	static const struct {
		unsigned char version, vc, flags;
	} cases[] = {
		{ FALCON_PSP_AES_GCM_128, 0, 0x01 },
		{ FALCON_PSP_AES_GCM_256, 0, 0x05 },
		{ FALCON_PSP_AES_GCM_128, 1, 0x03 },
		{ FALCON_PSP_AES_GCM_256, 1, 0x07 },
		{ FALCON_PSP_GMAC_128, 0, 0x09 },
		{ FALCON_PSP_GMAC_256, 1, 0x0f },
	};
	struct falcon_psp_hdr h;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		falcon_psp_fill(&h, cases[i].version, cases[i].vc, 1, 1);
		assert_int_equal(h.flags, cases[i].flags);
		assert_int_equal(h.hdr_ext_len, cases[i].vc ? 2 : 1);
	}
}

/* All 256 values of byte 3: version and cookie bit are read from their places and no other. */
static void flags_all(void **state)
{
	struct falcon_psp_hdr h = { 0 };

	(void)state;
	for (unsigned int b = 0; b < 256; b++) {
		h.flags = (unsigned char)b;
		assert_int_equal(falcon_psp_version(&h), (b >> 2) & 15);
		assert_int_equal(falcon_psp_has_vc(&h), (b >> 1) & 1);
	}
	assert_int_equal(FALCON_PSP_F_SAMPLE, 0x80);
	assert_int_equal(FALCON_PSP_F_DROP, 0x40);
	assert_int_equal(FALCON_PSP_F_ONE, 0x01);
}

/*
 * The offset is counted in 4 bytes from the end of the base header, the cookie inside: the CID, the
 * first 4 bytes of Falcon, stays clear (Falcon 7.1).
 */
static void crypt_offset(void **state)
{
	(void)state;
	assert_int_equal(FALCON_PSP_HDR_LEN + falcon_psp_crypt_offset(false, 0) * 4,
			 falcon_psp_len(false) + 4);
	assert_int_equal(FALCON_PSP_HDR_LEN + falcon_psp_crypt_offset(true, 0) * 4,
			 falcon_psp_len(true) + 4);
}

/* 131.072 ns a unit: 2^17 ps. T1 is the IV's bits 48:17. */
static void time_units(void **state)
{
	(void)state;
	assert_int_equal(falcon_time_of_iv(131071), 0);
	assert_int_equal(falcon_time_of_iv(131072), 1);
	assert_int_equal(falcon_time_of_iv(0xffffffffULL << 17), 0xffffffff);
	assert_int_equal(falcon_time_of_iv(1ULL << 49), 0);
	assert_int_equal(falcon_time_of_ns(131), 0);
	assert_int_equal(falcon_time_of_ns(132), 1);
	assert_int_equal(falcon_time_of_ns(1000000), 7629);	/* 1 ms */
	for (uint64_t ns = 1; ns < 1ULL << 53; ns = ns * 3 + 1)
		assert_int_equal(falcon_time_of_ns(ns), falcon_time_of_iv(ns * 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fill),
		cmocka_unit_test(fill_vc),
		cmocka_unit_test(flags_reference),
		cmocka_unit_test(flags_all),
		cmocka_unit_test(crypt_offset),
		cmocka_unit_test(time_units),
	};

	return unit_run(tests);
}
