// SPDX-License-Identifier: BSD-2-Clause
/* What unpack refuses, and that it reads nothing past the end (each packet has its own heap block). */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <falcon/wire/wire.h>

static const unsigned char reliable_types[] = {
	FALCON_PULL_REQUEST, FALCON_PULL_DATA, FALCON_PUSH_DATA, FALCON_RESYNC,
};
static const unsigned char ack_types[] = { FALCON_BACK, FALCON_EACK, FALCON_NACK };

/* Unpack the first |len| bytes of |packet|, in a block with nothing behind them. */
static int try_hdr(const void *packet, size_t len)
{
	struct falcon_hdr h;
	char *copy = malloc(len ? len : 1);
	int rc;

	memcpy(copy, packet, len);
	rc = falcon_hdr_unpack(copy, copy + len, &h);
	free(copy);
	return rc;
}

static int try_ack(const void *packet, size_t len)
{
	struct falcon_ack a;
	char *copy = malloc(len ? len : 1);
	int rc;

	memcpy(copy, packet, len);
	rc = falcon_ack_unpack(copy, copy + len, &a);
	free(copy);
	return rc;
}

static uint32_t make_hdr(unsigned char type, unsigned char *out)
{
	const struct falcon_hdr h = {
		.cid = 1, .type = type, .proto = FALCON_PROTO_RAW,
		.resync_code = FALCON_RESYNC_RETX_ERROR, .resync_type = FALCON_PUSH_DATA,
	};

	return falcon_hdr_pack(&h, out);
}

static uint32_t make_ack(unsigned char type, unsigned char *out)
{
	const struct falcon_ack a = { .cid = 1, .type = type, .nack_code = FALCON_NACK_RESOURCE };

	return falcon_ack_pack(&a, out);
}

static void truncated(void **state)
{
	unsigned char p[FALCON_MAX_HDR_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(reliable_types); i++) {
		uint32_t len = make_hdr(reliable_types[i], p);

		for (uint32_t n = 0; n < len; n++)
			assert_int_equal(try_hdr(p, n), FALCON_WIRE_TRUNCATED);
		assert_int_equal(try_hdr(p, len), FALCON_WIRE_OK);
	}
	for (size_t i = 0; i < sizeof(ack_types); i++) {
		uint32_t len = make_ack(ack_types[i], p);

		for (uint32_t n = 0; n < len; n++)
			assert_int_equal(try_ack(p, n), FALCON_WIRE_TRUNCATED);
		assert_int_equal(try_ack(p, len), FALCON_WIRE_OK);
	}
}

/* ACKs and Resyncs fill their packet: a byte more is an error. */
static void too_long(void **state)
{
	unsigned char p[FALCON_MAX_HDR_LEN + 1] = { 0 };
	uint32_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(ack_types); i++) {
		len = make_ack(ack_types[i], p);
		assert_int_equal(try_ack(p, len + 1), FALCON_WIRE_LENGTH);
	}
	len = make_hdr(FALCON_RESYNC, p);
	assert_int_equal(try_hdr(p, len + 1), FALCON_WIRE_LENGTH);
}

static void version(void **state)
{
	unsigned char p[FALCON_MAX_HDR_LEN];
	uint32_t len;

	(void)state;
	for (unsigned int v = 0; v < 16; v++) {
		int want = v == FALCON_VERSION ? FALCON_WIRE_OK : FALCON_WIRE_VERSION;

		len = make_hdr(FALCON_PULL_DATA, p);
		p[0] = (unsigned char)(v << 4);
		assert_int_equal(try_hdr(p, len), want);
		len = make_ack(FALCON_BACK, p);
		p[0] = (unsigned char)(v << 4);
		assert_int_equal(try_ack(p, len), want);
	}
}

/* All 16 types through both doors. */
static void types(void **state)
{
	unsigned char p[FALCON_MAX_HDR_LEN] = { 0x10 };

	(void)state;
	for (unsigned char t = 0; t < 16; t++) {
		bool ack = memchr(ack_types, t, sizeof(ack_types));
		bool reliable = memchr(reliable_types, t, sizeof(reliable_types));

		memset(p + 4, 0, sizeof(p) - 4);
		p[7] = (unsigned char)(t << 1);
		p[24] = FALCON_RESYNC_RETX_ERROR;
		p[36] = FALCON_NACK_RNR;
		assert_int_equal(falcon_type_is_ack(t), ack);
		assert_int_equal(falcon_hdr_len(t) != 0, ack || reliable);
		assert_int_equal(try_ack(p, ack ? falcon_hdr_len(t) : sizeof(p)),
				 ack ? FALCON_WIRE_OK : FALCON_WIRE_TYPE);
		if (t == FALCON_PUSH_DATA)
			continue;
		assert_int_equal(try_hdr(p, reliable ? falcon_hdr_len(t) : sizeof(p)),
				 reliable ? FALCON_WIRE_OK : FALCON_WIRE_TYPE);
	}
}

static void pack_refuses(void **state)
{
	unsigned char p[FALCON_MAX_HDR_LEN];

	(void)state;
	for (unsigned char t = 0; t < 16; t++) {
		if (!memchr(reliable_types, t, sizeof(reliable_types)))
			assert_int_equal(make_hdr(t, p), 0);
		if (!memchr(ack_types, t, sizeof(ack_types)))
			assert_int_equal(make_ack(t, p), 0);
	}
}

/* 7.5: "The payload size of the push data packet must match this request length." */
static void push_length(void **state)
{
	struct falcon_hdr h = { .cid = 1, .type = FALCON_PUSH_DATA };
	unsigned char p[FALCON_MAX_HDR_LEN + 128] = { 0 };

	(void)state;
	for (unsigned int len = 0; len < 100; len++) {
		uint32_t hdr;

		h.request_len = (uint16_t)len;
		hdr = falcon_hdr_pack(&h, p);
		assert_int_equal(try_hdr(p, hdr + len), FALCON_WIRE_OK);
		assert_int_equal(try_hdr(p, hdr + len + 1), FALCON_WIRE_LENGTH);
		if (len)
			assert_int_equal(try_hdr(p, hdr + len - 1), FALCON_WIRE_LENGTH);
	}
}

/* The largest length that a push can announce. */
static void push_length_max(void **state)
{
	struct falcon_hdr h = { .type = FALCON_PUSH_DATA, .request_len = FALCON_MAX_REQUEST_LEN };
	size_t len = sizeof(struct falcon_push_hdr) + FALCON_MAX_REQUEST_LEN;
	unsigned char *p = calloc(1, len + 1);

	(void)state;
	falcon_hdr_pack(&h, p);
	assert_int_equal(try_hdr(p, len), FALCON_WIRE_OK);
	assert_int_equal(try_hdr(p, len - 1), FALCON_WIRE_LENGTH);
	free(p);
}

/* 7.6, its table of codes */
static void resync_codes(void **state)
{
	unsigned char p[FALCON_MAX_HDR_LEN];
	uint32_t len = make_hdr(FALCON_RESYNC, p);

	(void)state;
	for (unsigned int code = 0; code < 256; code++) {
		p[24] = (unsigned char)code;
		assert_int_equal(try_hdr(p, len),
				 code >= 1 && code <= 7 ? FALCON_WIRE_OK : FALCON_WIRE_CODE);
	}
}

/* A Resync replaces a packet that had a PSN: a request, pull data or push data. */
static void resync_types(void **state)
{
	unsigned char p[FALCON_MAX_HDR_LEN];
	uint32_t len = make_hdr(FALCON_RESYNC, p);

	(void)state;
	for (unsigned int t = 0; t < 16; t++) {
		bool ok = t == FALCON_PULL_REQUEST || t == FALCON_PULL_DATA ||
			  t == FALCON_PUSH_DATA;

		p[25] = (unsigned char)(t << 4);
		assert_int_equal(try_hdr(p, len), ok ? FALCON_WIRE_OK : FALCON_WIRE_CODE);
	}
}

/* 7.8, its table of codes */
static void nack_codes(void **state)
{
	unsigned char p[FALCON_MAX_HDR_LEN];
	uint32_t len = make_ack(FALCON_NACK, p);

	(void)state;
	for (unsigned int code = 0; code < 256; code++) {
		bool ok = code == 1 || code == 2 || code == 4 || (code >= 6 && code <= 8);

		p[36] = (unsigned char)code;
		assert_int_equal(try_ack(p, len), ok ? FALCON_WIRE_OK : FALCON_WIRE_CODE);
	}
}

/* Section 9: requests have a window of their own, everything else with a PSN shares one. */
static void windows(void **state)
{
	(void)state;
	assert_true(falcon_in_req_window(FALCON_PULL_REQUEST, 0));
	assert_false(falcon_in_req_window(FALCON_PULL_DATA, 0));
	assert_false(falcon_in_req_window(FALCON_PUSH_DATA, 0));
	assert_true(falcon_in_req_window(FALCON_RESYNC, FALCON_PULL_REQUEST));
	assert_false(falcon_in_req_window(FALCON_RESYNC, FALCON_PUSH_DATA));
	assert_false(falcon_in_req_window(FALCON_RESYNC, FALCON_PULL_DATA));
	assert_int_equal(FALCON_REQ_WINDOW, 64);
	assert_int_equal(FALCON_DATA_WINDOW, 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truncated),
		cmocka_unit_test(too_long),
		cmocka_unit_test(version),
		cmocka_unit_test(types),
		cmocka_unit_test(pack_refuses),
		cmocka_unit_test(push_length),
		cmocka_unit_test(push_length_max),
		cmocka_unit_test(resync_codes),
		cmocka_unit_test(resync_types),
		cmocka_unit_test(nack_codes),
		cmocka_unit_test(windows),
	};

	return unit_run(tests);
}
