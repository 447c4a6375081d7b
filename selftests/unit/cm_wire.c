// SPDX-License-Identifier: BSD-2-Clause
/* The bytes of the control protocol (user/cm/PROTOCOL.md). */
#include "unit.h"

#include <string.h>

#include <cm/wire.h>
#include <falcon/codes.h>

static const struct cm_msg open_msg = {
	.type = CM_MSG_OPEN,
	.src_cid = 0x010203,
	.dst_cid = 0x040506,
	.incarnation = 0x1122334455667788,
	.ordering = CM_ORDERED,
	.kind = CM_SECURITY_PSP,
	.data_psn = 0xb1b2b3b4,
	.req_psn = 0xc1c2c3c4,
	.rsn = 0xd1d2d3d4,
	.function = 0xe2e3e4,
	.params = {.mtu = 1500, .features = CM_FEATURE_RACK, .data_window = 128,
		   .req_window = 64, .flows = 4},
	.ulp = {.proto = FALCON_PROTO_RDMA, .len = 3, .data = {0xab, 0xcd, 0xef}},
	.security = {.spi = 0xa1a2a3a4, .generation = 3, .pcid = 0x99, .version = 2, .key_len = 16,
		     .key = {0xf0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff}},
};
static const uint8_t open_bytes[] = {
	0x00, 0x73, 0x04, 0x02,				/* 115 bytes, version 4, OPEN */
	0x00, 0x01, 0x02, 0x03, 0x00, 0x04, 0x05, 0x06, /* CIDs */
	0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, /* incarnation */
	0x01, 0x01, 0x04, 0x00,				/* ordered, PSP, 4 flows */
	0x00, 0x00, 0x00, 0x01,				/* features */
	0xb1, 0xb2, 0xb3, 0xb4, 0xc1, 0xc2, 0xc3, 0xc4, /* data PSN, request PSN */
	0xd1, 0xd2, 0xd3, 0xd4, 0x00, 0xe2, 0xe3, 0xe4, /* RSN, function */
	0x00, 0x00, 0x05, 0xdc, 0x00, 0x80, 0x00, 0x40, /* MTU, windows */
	0x02, 0x03, 0x00, 0x00,				/* RDMA, 3 bytes of its data */
	0xa1, 0xa2, 0xa3, 0xa4, 0x00, 0x00, 0x00, 0x03, /* SPI, generation */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x99, /* PCID */
	0x02, 0x10, 0x00, 0x00,				/* PSP version 2, 16 bytes of key */
	0xf0, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d,
	0x0e, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0xab, 0xcd, 0xef,
};

static void packs_to(const struct cm_msg *m, const uint8_t *bytes, size_t len)
{
	uint8_t out[CM_WIRE_MAX];

	assert_int_equal(cm_msg_pack(m, out), len);
	assert_memory_equal(out, bytes, len);
}

static void golden(void **state)
{
	static const uint8_t hello[] = {0x00, 0x14, 0x04, 0x01, 'F', 'C', 'M', 'H', 0, 0,
					0,    0,    0,	  0,	0,   9,   0,   0,   0x0b, 0xb8};
	static const uint8_t ready[] = {0x00, 0x1c, 0x04, 0x03, 0, 0, 0, 5, 0, 0, 0, 6,
					0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8};
	static const uint8_t reject[] = {0x00, 0x1a, 0x04, 0x05, 0, 0, 0, 5, 0, 0, 0, 6,
					 0, 0, 0, 0, 0, 0, 0, 7, 0x05, 0x02, 0, 0, 'n', 'o'};
	static const uint8_t rekeyed[] = {0x00, 0x24, 0x04, 0x07, 0, 0, 0, 5, 0, 0, 0, 6,
					  0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8,
					  0, 0, 0, 9, 0, 0, 0, 10};
	static const uint8_t keepalive[] = {0x00, 0x04, 0x04, 0x09};
	static const uint8_t note[] = {0x00, 0x0a, 0x04, 0x0a, 2, 0, 0, 0, 'o', 'k'};
	static const uint8_t path[] = {0x00, 0x24, 0x04, 0x0b, 0, 0, 0, 5, 0, 0, 0, 6,
				       0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8,
				       0, 0, 0x05, 0x78, 0, 0, 0x23, 0x28};
	struct cm_msg m = {.type = CM_MSG_HELLO, .boot = 9, .alive_ms = 3000};

	(void)state;
	packs_to(&m, hello, sizeof(hello));
	packs_to(&open_msg, open_bytes, sizeof(open_bytes));
	m = (struct cm_msg){.type = CM_MSG_READY, .src_cid = 5, .dst_cid = 6, .incarnation = 7,
			    .peer_incarnation = 8};
	packs_to(&m, ready, sizeof(ready));
	m.type = CM_MSG_REKEYED;
	m.security.spi = 9;
	m.security.generation = 10;
	packs_to(&m, rekeyed, sizeof(rekeyed));
	m = (struct cm_msg){.type = CM_MSG_PATH, .src_cid = 5, .dst_cid = 6, .incarnation = 7,
			    .peer_incarnation = 8, .path = {.len = 1400, .mtu = 9000}};
	packs_to(&m, path, sizeof(path));
	m = (struct cm_msg){.type = CM_MSG_REJECT, .src_cid = 5, .dst_cid = 6, .incarnation = 7,
			    .code = CM_CODE_ORDERING, .text = "no"};
	packs_to(&m, reject, sizeof(reject));
	m = (struct cm_msg){.type = CM_MSG_KEEPALIVE};
	packs_to(&m, keepalive, sizeof(keepalive));
	m = (struct cm_msg){.type = CM_MSG_NOTE, .proto = 2, .note_len = 2, .note = "ok"};
	packs_to(&m, note, sizeof(note));
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
		{1, 0x6f, "message of a wrong length"},
		{1, 0xa1, "message of a wrong length"},
		{2, 3, "another protocol version"},
		{3, 0, "unknown message type"},
		{3, 10, "NOTE for no upper layer"},
		{3, 11, "message of a wrong length"},
		{3, 12, "unknown message type"},
		{3, 1, "message of a wrong length"},
		{4, 1, "CID out of range"},
		{8, 1, "CID out of range"},
		{20, 2, "reserved bits set in OPEN"},
		{21, 0, "OPEN contradicts itself about its security"},
		{21, 2, "OPEN contradicts itself about its security"},
		{22, 0, "OPEN without incarnation, flows or windows"},
		{23, 1, "reserved bits set in OPEN"},
		{40, 1, "reserved bits set in OPEN"},
		{52, 0, "OPEN for no upper layer"},
		{52, 8, "OPEN for no upper layer"},
		{53, 2, "message of a wrong length"},
		{49, 0, "OPEN without incarnation, flows or windows"},
		{55, 1, "reserved bits set in OPEN"},
		{72, 15, "key does not go with the security's version"},
		{72, 4, "key does not go with the security's version"},
		{73, 32, "key does not go with the security's version"},
		{75, 1, "reserved bits set in security"},
		{92, 1, "reserved bits set in security"},
		{111, 1, "reserved bits set in security"},
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
	assert_string_equal(why, "OPEN without incarnation, flows or windows");
	memcpy(in, open_bytes, sizeof(in));
	memset(in + 56, 0, 4);
	assert_int_equal(cm_msg_unpack(in, sizeof(in), &m, &why), -1);
	assert_string_equal(why, "security without SPI");
	memcpy(in, open_bytes, sizeof(in));
	memset(in + 4, 0, 4);
	assert_int_equal(cm_msg_unpack(in, sizeof(in), &m, &why), -1);
}

/* A key with its salt, as long as keys get; there is no PCID with ESP. */
static void esp(void **state)
{
	struct cm_msg got, m = {.type = CM_MSG_REKEY, .src_cid = 5, .dst_cid = 6, .incarnation = 7,
				.peer_incarnation = 8};
	uint8_t out[CM_WIRE_MAX];
	const char *why;

	(void)state;
	m.security = (struct cm_security){.spi = 256, .generation = 1, .version = 17, .key_len = 36};
	memset(m.security.key, 0xa5, 36);
	assert_int_equal(cm_msg_pack(&m, out), 84);
	assert_int_equal(cm_msg_unpack(out, sizeof(out), &got, &why), 84);
	assert_memory_equal(&got, &m, sizeof(m));
	m.security.version = 16;
	cm_msg_pack(&m, out);
	assert_int_equal(cm_msg_unpack(out, sizeof(out), &got, &why), -1);
	m.security.key_len = 20;
	cm_msg_pack(&m, out);
	assert_int_equal(cm_msg_unpack(out, sizeof(out), &got, &why), 84);
	m.security.pcid = 1;
	cm_msg_pack(&m, out);
	assert_int_equal(cm_msg_unpack(out, sizeof(out), &got, &why), -1);
	assert_string_equal(why, "ESP has no PCID");
	assert_int_equal(cm_security_kind(0), CM_SECURITY_PSP);
	assert_int_equal(cm_security_kind(3), CM_SECURITY_PSP);
	assert_int_equal(cm_security_kind(15), CM_SECURITY_CLEAR);
	assert_int_equal(cm_security_kind(17), CM_SECURITY_ESP);
}

static void refused_text(void **state)
{
	static const uint8_t close[] = {0x00, 0x1a, 0x04, 0x04, 0, 0, 0, 5, 0, 0, 0, 6,
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

/* One of the versions of PSP or ESP, with a key of its length. */
static void tidy_security(uint8_t *sec)
{
	sec[16] &= sec[16] & 16 ? 17 : 3;
	sec[17] = sec[16] & 1 ? 32 : 16;
	if (sec[16] & 16) {
		sec[17] += 4;
		memset(sec + 8, 0, 8);
	}
	sec[18] = sec[19] = 0;
	memset(sec + 20 + sec[17], 0, 36u - sec[17]);
}

/* Most of what makes a message of |type| acceptable, so that the rest of it is looked at. */
static void tidy(uint8_t *in, uint8_t type)
{
	static const uint8_t len[CM_MSG_MAX + 1] = {0, 20, 112, 28, 24, 24, 84, 36, 28, 4,
							     8 + 20, 36};
	uint8_t *sec = type == CM_MSG_OPEN ? in + 56 : in + 28;

	in[0] = 0;
	in[1] = len[type];
	if (type == CM_MSG_OPEN) {
		in[52] = 1 + in[52] % FALCON_PROTO_RAW;
		in[53] %= CM_ULP_DATA_MAX + 1;
		in[1] += in[53];
		in[54] = in[55] = 0;
	}
	in[2] = CM_WIRE_VERSION;
	in[3] = type;
	in[4] = in[8] = 0;
	if (type == CM_MSG_NOTE) {
		in[4] = 1 + in[12] % FALCON_PROTO_RAW;
		in[5] = in[6] = in[7] = 0;
	}
	if (type == CM_MSG_HELLO)
		memcpy(in + 4, "FCMH", 4);
	if (type == CM_MSG_CLOSE || type == CM_MSG_REJECT)
		in[21] = in[22] = in[23] = 0;
	if (type == CM_MSG_OPEN) {
		in[20] &= 1;
		in[23] = in[40] = 0;
	}
	if (type == CM_MSG_OPEN || type == CM_MSG_REKEY) {
		tidy_security(sec);
		if (type == CM_MSG_OPEN)
			in[21] = sec[16] & 16 ? 2 : 1;
	}
}

/* Whatever is accepted packs to the very bytes it came from: nothing is ignored. */
static void random_bytes(void **state)
{
	uint64_t seed = 1;
	uint8_t in[CM_WIRE_MAX], out[CM_WIRE_MAX];
	unsigned int accepted[CM_MSG_MAX + 1] = {0};
	struct cm_msg m;
	const char *why;

	(void)state;
	for (int round = 0; round < 100000; round++) {
		uint8_t type = (uint8_t)(unit_random(&seed) % (CM_MSG_MAX + 1));
		int n;

		for (size_t i = 0; i < sizeof(in); i++)
			in[i] = (uint8_t)unit_random(&seed);
		tidy(in, type);
		if (round & 1)
			in[unit_random(&seed) % sizeof(in)] ^= 1 << unit_random(&seed) % 8;
		n = cm_msg_unpack(in, sizeof(in), &m, &why);
		assert_true(n >= -1 && n <= CM_WIRE_MAX);
		if (n <= 0)
			continue;
		accepted[m.type]++;
		assert_int_equal(cm_msg_pack(&m, out), n);
		assert_memory_equal(in, out, n);
	}
	for (int type = 1; type <= CM_MSG_MAX; type++)
		assert_true(accepted[type] > 1000);
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
		cmocka_unit_test(esp),
		cmocka_unit_test(refused_text), cmocka_unit_test(random_bytes),
		cmocka_unit_test(code_texts),
	};

	return unit_run(tests);
}
