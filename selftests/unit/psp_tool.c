// SPDX-License-Identifier: BSD-2-Clause
/* What falcon-psp reads: configurations, case.json, captures, CSV; sound and not. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../tools/psp/psp.h"

#define KEY                                                                                        \
	"00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f "                                         \
	"10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f\n"
#define KEYS KEY KEY

static FILE *stream(const void *data, size_t len)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	rewind(f);
	return f;
}

static int config(const char *text, bool encrypt, struct psp_config *c, char *err)
{
	FILE *f = stream(text, strlen(text));
	int rc = config_read(f, encrypt, c, err);

	fclose(f);
	return rc;
}

static void config_good(void **state)
{
	struct psp_config c;
	char err[ERROR_LEN];

	(void)state;
	assert_int_equal(config(KEYS, false, &c, err), 0);
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(c.masters.key[i / 32][i % 32], i % 32);
	assert_int_equal(config(KEYS "9ABCDEF0\ntunnel\naes-gcm-256\n1\n2\n63\nvc\n", true, &c, err),
			 0);
	assert_true(c.spi == 0x9abcdef0);
	assert_int_equal(c.version, 1);
	assert_true(c.encap.tunnel && c.encap.vc);
	assert_int_equal(c.encap.transport_offset, 1);
	assert_int_equal(c.encap.tunnel4_offset, 2);
	assert_int_equal(c.encap.tunnel6_offset, 63);
	assert_true(c.encap.cookie == 0);
	assert_int_equal(config(KEYS "  1 transport\taes-gmac-128 0 0 0 no-vc", true, &c, err), 0);
	assert_int_equal(c.version, 2);
	assert_false(c.encap.tunnel || c.encap.vc);
}

static void config_bad(void **state)
{
	static const struct {
		const char *text, *err;
		bool encrypt;
	} cases[] = {
		{ "", "line 1: ends before the byte of a master key", false },
		{ KEY, "line 2: ends before the byte of a master key", false },
		{ KEY "100", "line 2: \"100\" is no hexadecimal byte of a master key of up to 2 digits",
		  false },
		{ KEY "0x1", "line 2: \"0x1\" is no hexadecimal byte of a master key of up to 2 digits",
		  false },
		{ KEYS "x", "line 3: \"x\" after the end", false },
		{ KEYS, "line 3: ends before the SPI", true },
		{ KEYS "123456789", "line 3: \"123456789\" is no hexadecimal SPI of up to 8 digits",
		  true },
		{ KEYS "1\nTunnel", "line 4: \"Tunnel\" is no mode", true },
		{ KEYS "1\ntunnel\naes", "line 5: \"aes\" is no algorithm", true },
		{ KEYS "1\ntunnel\naes-gcm-128\n64",
		  "line 6: \"64\" is no transport crypt offset from 0 to 63", true },
		{ KEYS "1\ntunnel\naes-gcm-128\n0\n-1",
		  "line 7: \"-1\" is no IPv4 tunnel crypt offset from 0 to 63", true },
		{ KEYS "1\ntunnel\naes-gcm-128\n0\n0\n0\n\nmaybe",
		  "line 10: \"maybe\" is no choice of vc or no-vc", true },
		{ KEYS "1\ntunnel\naes-gcm-128\n0\n0\n0\nvc\nvc", "line 10: \"vc\" after the end", true },
		{ KEYS "\001", "line 3: not a text in the expected format", true },
		{ KEYS "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  "line 3: not a text in the expected format", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct psp_config c;
		char err[ERROR_LEN] = "";

		assert_int_equal(config(cases[i].text, cases[i].encrypt, &c, err), -1);
		assert_string_equal(err, cases[i].err);
	}
}

static int json_case(const char *text, struct psp_case *c, char *err)
{
	FILE *f = stream(text, strlen(text));
	int rc = case_read(f, c, err);

	fclose(f);
	return rc;
}

static void case_good(void **state)
{
	struct psp_case c;
	char err[ERROR_LEN];

	(void)state;
	assert_int_equal(json_case("{\"forced_bit_error\": false}", &c, err), 0);
	assert_false(c.forced_bit_error);
	assert_true(c.first_iv == 1 && c.derived_key_len == 0);
	assert_true(c.cleartext_packets == -1 && c.skipped_packets == -1);
	assert_int_equal(json_case("{\"forced_bit_error\": true, \"first_iv\": 77, "
				   "\"cleartext_packets\": 3, \"encrypted_packets\": 2, "
				   "\"skipped_packets\": 1, \"case\": \"any\", "
				   "\"derived_key\": \"000102030405060708090a0b0c0d0e0f\"}",
				   &c, err), 0);
	assert_true(c.forced_bit_error && c.first_iv == 77);
	assert_true(c.cleartext_packets == 3 && c.encrypted_packets == 2 && c.skipped_packets == 1);
	assert_int_equal(c.derived_key_len, 16);
	assert_int_equal(c.derived_key[15], 15);
}

static void case_bad(void **state)
{
	static const char *const texts[] = {
		"", "{", "[]", "null", "1", "{}", "{\"forced_bit_error\": 1}",
		"{\"forced_bit_error\": true, \"forced_bit_error\": false}",
		"{\"forced_bit_error\": true, \"first_iv\": \"1\"}",
		"{\"forced_bit_error\": true, \"first_iv\": -1}",
		"{\"forced_bit_error\": true, \"cleartext_packets\": 1.5}",
		"{\"forced_bit_error\": true, \"encrypted_packets\": -1}",
		"{\"forced_bit_error\": true, \"skipped_packets\": null}",
		"{\"forced_bit_error\": true, \"derived_key\": \"00\"}",
		"{\"forced_bit_error\": true, \"derived_key\": 5}",
		"{\"forced_bit_error\": true, \"derived_key\": \"x00102030405060708090a0b0c0d0e0f\"}",
		"{\"forced_bit_error\": true} more",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct psp_case c;
		char err[ERROR_LEN] = "";

		assert_int_equal(json_case(texts[i], &c, err), -1);
		assert_true(strlen(err) > 5);
	}
}

/* A capture file with one packet of |caplen| of |len| bytes, all of it |have| bytes long. */
static int one_packet(uint32_t link, uint32_t caplen, uint32_t len, size_t have, struct capture *c,
		      char *err)
{
	uint32_t file[4096] = {
		0xa1b2c3d4, 2 | 4 << 16, 0, 0, 262144, link, /* packet: */ 0, 0, caplen, len,
	};

	return capture_read(stream(file, have), c, err);
}

static void capture(void **state)
{
	enum { HEAD = 24, RECORD = 16 };
	char err[ERROR_LEN];
	struct capture c;

	(void)state;
	assert_int_equal(one_packet(1, 60, 60, HEAD + RECORD + 60, &c, err), 0);
	assert_true(c.n == 1 && c.packets[0].len == 60);
	capture_free(&c);
	assert_int_equal(one_packet(1, 0, 0, HEAD + RECORD, &c, err), 0);
	assert_true(c.n == 1 && c.packets[0].len == 0);
	capture_free(&c);
	assert_int_equal(one_packet(1, 0, 0, HEAD, &c, err), 0);
	assert_true(c.n == 0);
	assert_int_equal(one_packet(113, 60, 60, HEAD + RECORD + 60, &c, err), -1);
	assert_string_equal(err, "not a capture of Ethernet frames");
	assert_int_equal(one_packet(1, 60, 61, HEAD + RECORD + 60, &c, err), -1);
	assert_string_equal(err, "packet 1: not all there, or too long");
	for (size_t have = 0; have < HEAD + RECORD + 60; have++) {
		if (have == HEAD)
			continue;
		assert_int_equal(one_packet(1, 60, 60, have, &c, err), -1);
		assert_true(c.n == 0 && !c.packets);
	}
}

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define HEADER "master_key0,master_key1,spi,version,selected_master_key,derived_key\n"
#define GOOD ZEROS "," ZEROS ",00000000,0,0,9b9f7ea87ccdb6b75c4d1f99a12b224a\n"

static void csv(void **state)
{
	static const struct {
		const char *text;
		unsigned long keys, bad;
		int rc;
	} cases[] = {
		{ HEADER GOOD GOOD, 2, 0, 0 },
		{ HEADER, 0, 0, 0 },
		{ HEADER "\n\r\n" GOOD "\n", 1, 0, 0 },
		{ "x,derived_key,version,spi,selected_master_key,master_key1,master_key0\n"
		  "y,9b9f7ea87ccdb6b75c4d1f99a12b224a,0,0,0," ZEROS "," ZEROS, 1, 0, 0 },
		{ "", 0, 1, -1 },
		{ "spi,version\n" GOOD, 0, 1, -1 },
		{ HEADER "a,b\n" GOOD, 2, 1, 0 },
		{ HEADER ZEROS "," ZEROS ",80000000,0,0,9b9f7ea87ccdb6b75c4d1f99a12b224a\n", 1, 1, 0 },
		{ HEADER ZEROS "," ZEROS ",00000001,0,0,9b9f7ea87ccdb6b75c4d1f99a12b224a\n", 1, 1, 0 },
		{ HEADER ZEROS "," ZEROS ",0,4,0,9b9f7ea87ccdb6b75c4d1f99a12b224a\n", 1, 1, 0 },
		{ HEADER ZEROS "," ZEROS ",0,1,0,9b9f7ea87ccdb6b75c4d1f99a12b224a\n", 1, 1, 0 },
		{ HEADER ZEROS "," ZEROS ",000000000,0,0,9b9f7ea87ccdb6b75c4d1f99a12b224a\n", 1, 1, 0 },
		{ HEADER ZEROS "," ZEROS ",,0,0,9b9f7ea87ccdb6b75c4d1f99a12b224a\n", 1, 1, 0 },
		{ HEADER ZEROS ",00,0,0,0,9b9f7ea87ccdb6b75c4d1f99a12b224a\n", 1, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		FILE *f = stream(cases[i].text, strlen(cases[i].text));
		unsigned long keys, bad;

		assert_int_equal(kdf_check(f, "test", 0, &keys, &bad), cases[i].rc);
		assert_int_equal(keys, cases[i].keys);
		assert_int_equal(bad, cases[i].bad);
		fclose(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(config_good),
		cmocka_unit_test(config_bad),
		cmocka_unit_test(case_good),
		cmocka_unit_test(case_bad),
		cmocka_unit_test(capture),
		cmocka_unit_test(csv),
	};

	return unit_run(tests);
}
