// SPDX-License-Identifier: BSD-2-Clause
/* The bytes of the handshake (user/agent/PROTOCOL.md). */
#include "unit.h"

#include <string.h>

#include <agent/cm_wire.h>

static const struct cm_msg open_msg = {
	.type = CM_MSG_OPEN,
	.src_cid = 0x010203,
	.dst_cid = 0x040506,
	.incarnation = 0x1122334455667788,
	.ordering = CM_ORDERED,
	.spi = 0xa1a2a3a4,
	.data_psn = 0xb1b2b3b4,
	.req_psn = 0xc1c2c3c4,
	.rsn = 0xd1d2d3d4,
	.mtu = 1500,
};
static const uint8_t open_bytes[] = {
	0x00, 0x2c, 0x01, 0x02,				/* 44 bytes, version 1, OPEN */
	0x00, 0x01, 0x02, 0x03, 0x00, 0x04, 0x05, 0x06, /* CIDs */
	0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, /* incarnation */
	0x01, 0x00, 0x00, 0x00,				/* ordered, clear */
	0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4, /* SPI, data PSN */
	0xc1, 0xc2, 0xc3, 0xc4, 0xd1, 0xd2, 0xd3, 0xd4, /* request PSN, RSN */
	0x00, 0x00, 0x05, 0xdc,				/* MTU */
};

static void golden(void **state)
{
	static const uint8_t hello[] = {0x00, 0x08, 0x01, 0x01, 'F', 'C', 'M', 'H'};
	static const uint8_t ready[] = {0x00, 0x1c, 0x01, 0x03, 0, 0, 0, 5, 0, 0, 0, 6,
					0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8};
	static const uint8_t reject[] = {0x00, 0x1a, 0x01, 0x05, 0, 0, 0, 5, 0, 0, 0, 6,
					 0, 0, 0, 0, 0, 0, 0, 7, 0x05, 0x02, 0, 0, 'n', 'o'};
	uint8_t out[CM_WIRE_MAX];
	struct cm_msg m = {.type = CM_MSG_HELLO};

	(void)state;
	assert_int_equal(cm_msg_pack(&m, out), sizeof(hello));
	assert_memory_equal(out, hello, sizeof(hello));
	assert_int_equal(cm_msg_pack(&open_msg, out), sizeof(open_bytes));
	assert_memory_equal(out, open_bytes, sizeof(open_bytes));
	m = (struct cm_msg){.type = CM_MSG_READY, .src_cid = 5, .dst_cid = 6, .incarnation = 7,
			    .peer_incarnation = 8};
	assert_int_equal(cm_msg_pack(&m, out), sizeof(ready));
	assert_memory_equal(out, ready, sizeof(ready));
	m = (struct cm_msg){.type = CM_MSG_REJECT, .src_cid = 5, .dst_cid = 6, .incarnation = 7,
			    .code = CM_CODE_ORDERING, .text = "no"};
	assert_int_equal(cm_msg_pack(&m, out), sizeof(reject));
	assert_memory_equal(out, reject, sizeof(reject));
}

static void there_and_back(void **state)
{
	struct cm_msg m, close = {.type = CM_MSG_CLOSE, .src_cid = 1, .dst_cid = 0xffffff,
				  .incarnation = 1, .code = CM_CODE_RESET};
	uint8_t out[CM_WIRE_MAX];
	const char *why;

	(void)state;
	assert_int_equal(cm_msg_unpack(open_bytes, sizeof(open_bytes), &m, &why),
			 sizeof(open_bytes));
	assert_memory_equal(&m, &open_msg, sizeof(m));
	memset(close.text, 'x', CM_WIRE_TEXT_MAX);
	assert_int_equal(cm_msg_pack(&close, out), 24 + CM_WIRE_TEXT_MAX);
	assert_int_equal(cm_msg_unpack(out, sizeof(out), &m, &why), 24 + CM_WIRE_TEXT_MAX);
	assert_string_equal(m.text, close.text);
}

static void incomplete(void **state)
{
	struct cm_msg m;
	const char *why;

	(void)state;
	for (size_t n = 0; n < sizeof(open_bytes); n++) {
		/* A copy of exactly that length, so that ASan sees any read beyond. */
		uint8_t *copy = test_malloc(n ? n : 1);

		memcpy(copy, open_bytes, n);
		assert_int_equal(cm_msg_unpack(copy, n, &m, &why), 0);
		test_free(copy);
	}
}

/* One byte of an OPEN replaced. */
struct bad {
	size_t at;
	uint8_t value;
	const char *why;
};

static void refused(void **state)
{
	static const struct bad bad[] = {
		{0, 0x01, "message of a wrong length"},
		{1, 0x2b, "message of a wrong length"},
		{1, 0x2d, "message of a wrong length"},
		{2, 2, "another protocol version"},
		{3, 0, "unknown message type"},
		{3, 6, "unknown message type"},
		{3, 1, "message of a wrong length"},
		{4, 1, "CID out of range"},
		{8, 1, "CID out of range"},
		{20, 2, "reserved bits set in OPEN"},
		{22, 1, "reserved bits set in OPEN"},
		{23, 1, "reserved bits set in OPEN"},
	};
	uint8_t in[sizeof(open_bytes)];
	struct cm_msg m;
	const char *why;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		memcpy(in, open_bytes, sizeof(in));
		in[bad[i].at] = bad[i].value;
		assert_int_equal(cm_msg_unpack(in, sizeof(in), &m, &why), -1);
		assert_string_equal(why, bad[i].why);
	}
	memcpy(in, open_bytes, sizeof(in));
	memset(in + 12, 0, 8);
	assert_int_equal(cm_msg_unpack(in, sizeof(in), &m, &why), -1);
	assert_string_equal(why, "OPEN without incarnation or SPI");
	memcpy(in, open_bytes, sizeof(in));
	memset(in + 4, 0, 4);
	assert_int_equal(cm_msg_unpack(in, sizeof(in), &m, &why), -1);
}

static void refused_text(void **state)
{
	static const uint8_t close[] = {0x00, 0x1a, 0x01, 0x04, 0, 0, 0, 5, 0, 0, 0, 6,
					0, 0, 0, 0, 0, 0, 0, 7, 0x01, 0x02, 0, 0, 'n', 'o'};
	uint8_t in[sizeof(close)];
	struct cm_msg m;
	const char *why;

	(void)state;
	memcpy(in, close, sizeof(in));
	assert_int_equal(cm_msg_unpack(in, sizeof(in), &m, &why), sizeof(in));
	in[21] = 3;
	assert_int_equal(cm_msg_unpack(in, sizeof(in), &m, &why), -1);
	in[21] = 1;
	assert_int_equal(cm_msg_unpack(in, sizeof(in), &m, &why), -1);
	in[21] = 2;
	in[25] = '\n';
	assert_int_equal(cm_msg_unpack(in, sizeof(in), &m, &why), -1);
	assert_string_equal(why, "text that is not printable");
}

/* Whatever is accepted packs to the very bytes it came from: nothing is ignored. */
static void random_bytes(void **state)
{
	uint64_t seed = 1;
	uint8_t in[CM_WIRE_MAX], out[CM_WIRE_MAX];
	unsigned int accepted = 0;
	struct cm_msg m;
	const char *why;

	(void)state;
	for (int round = 0; round < 100000; round++) {
		int n;

		for (size_t i = 0; i < sizeof(in); i++)
			in[i] = (uint8_t)unit_random(&seed);
		memcpy(in, open_bytes, 4);
		in[3] = (uint8_t)(unit_random(&seed) % 7);
		in[1] = (uint8_t[]){0, 8, 44, 28, 24, 24, 0}[in[3]];
		in[4] = in[8] = in[20] = in[21] = in[22] = in[23] = 0;
		n = cm_msg_unpack(in, sizeof(in), &m, &why);
		assert_true(n >= -1 && n <= CM_WIRE_MAX);
		if (n <= 0)
			continue;
		accepted++;
		assert_int_equal(cm_msg_pack(&m, out), n);
		assert_memory_equal(in, out, n);
	}
	assert_true(accepted > 10000);
}

static void code_texts(void **state)
{
	(void)state;
	for (uint8_t code = 1; code <= CM_CODE_MAX; code++)
		assert_string_not_equal(cm_code_text(code), cm_code_text(0));
	assert_string_equal(cm_code_text(CM_CODE_MAX + 1), cm_code_text(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),	cmocka_unit_test(there_and_back),
		cmocka_unit_test(incomplete),	cmocka_unit_test(refused),
		cmocka_unit_test(refused_text), cmocka_unit_test(random_bytes),
		cmocka_unit_test(code_texts),
	};

	return unit_run(tests);
}
