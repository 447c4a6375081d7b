// SPDX-License-Identifier: BSD-2-Clause
/* falcon-cp's messages: what goes in comes out, and nothing else gets in. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/cp/proto.h"

static const struct cp_msg sample = {
	.type = CP_CHUNK,
	.session = 0x1122334455667788,
	.offset = 0x8877665544332211,
	.size = UINT64_MAX,
	.slot = 3,
	.slots = 4,
	.len = CP_SLOT_SIZE,
	.mode = 0640,
	.digest = { 1, 2, 3, [15] = 16 },
	.text = "a name",
};

static void pack__round_trip(void **state)
{
	uint8_t buf[CP_MSG_MAX];
	struct cp_msg out;
	uint32_t len = cp_pack(&sample, buf);

	(void)state;
	assert_int_equal(len, sizeof(struct cp_wire) + 6);
	assert_int_equal(cp_unpack(buf, len, &out), 0);
	assert_memory_equal(&out, &sample, sizeof(out));
}

/* The bytes themselves, so that another version on another machine reads them alike. */
static void pack__golden(void **state)
{
	static const uint8_t want[] = {
		0x46, 0x43, 0x4f, 0x50, 1,    7,    0,	  6,	0x11, 0x22, 0x33, 0x44, 0x55,
		0x66, 0x77, 0x88, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,	  0,	0,    3,    0,	  0,	0,    4,
		0,    0x10, 0,	  0,	0,    0,    1,	  0xa0, 1,    2,    3,	  0,	0,    0,
		0,    0,    0,	  0,	0,    0,    0,	  0,	0,    16,   'a',  ' ',	'n',  'a',
		'm',  'e',
	};
	uint8_t buf[CP_MSG_MAX];

	(void)state;
	assert_int_equal(cp_pack(&sample, buf), sizeof(want));
	assert_memory_equal(buf, want, sizeof(want));
}

static void pack__longest_text(void **state)
{
	uint8_t buf[CP_MSG_MAX];
	struct cp_msg m = { .type = CP_ABORT }, out;

	(void)state;
	memset(m.text, 'x', CP_TEXT_MAX);
	assert_int_equal(cp_pack(&m, buf), CP_MSG_MAX);
	assert_int_equal(cp_unpack(buf, CP_MSG_MAX, &out), 0);
	assert_int_equal(strlen(out.text), CP_TEXT_MAX);
}

static void unpack__refuses(void **state)
{
	static const struct {
		uint32_t offset;
		uint8_t value;
		int want;
	} cases[] = {
		{ 0, 0, -EBADMSG },		/* magic */
		{ 4, 2, -EPROTONOSUPPORT },	/* version */
		{ 5, 0, -EBADMSG },		/* type */
		{ 5, CP_TYPE_MAX + 1, -EBADMSG },
		{ 6, 1, -EBADMSG },		/* text length */
		{ 7, 5, -EBADMSG },
		{ 7, 7, -EBADMSG },
		{ 66, 0, -EBADMSG },		/* a NUL in the text */
	};
	uint8_t buf[CP_MSG_MAX];
	struct cp_msg out;
	uint32_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		len = cp_pack(&sample, buf);
		buf[cases[i].offset] = cases[i].value;
		assert_int_equal(cp_unpack(buf, len, &out), cases[i].want);
	}
	len = cp_pack(&sample, buf);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(cp_unpack(buf, i, &out), -EBADMSG);
}

/* Anything at all, in a buffer of just its size: ASan sees a read beyond. */
static void unpack__random(void **state)
{
	uint64_t seed = 99;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint32_t len = (uint32_t)(unit_random(&seed) % (CP_MSG_MAX + 10));
		uint8_t full[CP_MSG_MAX + 10], *buf = malloc(len ? len : 1);
		struct cp_msg out;

		cp_pack(&sample, full);
		memcpy(buf, full, len);
		for (int n = 0; n < 3 && len; n++)
			buf[unit_random(&seed) % len] = (uint8_t)unit_random(&seed);
		if (!cp_unpack(buf, len, &out))
			assert_true(strlen(out.text) <= CP_TEXT_MAX);
		free(buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pack__round_trip),   cmocka_unit_test(pack__golden),
		cmocka_unit_test(pack__longest_text), cmocka_unit_test(unpack__refuses),
		cmocka_unit_test(unpack__random),
	};

	return unit_run(tests);
}
