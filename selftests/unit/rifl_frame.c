// SPDX-License-Identifier: BSD-2-Clause
/* RIFL frames against golden ones made by hand; verification code and scrambler against plain models. */
#include "unit.h"
#include "rifl/crc.h"
#include "rifl/scramble.h"

#include <errno.h>
#include <string.h>

static const uint32_t sizes[] = { 128, 256, 512, 1024, 2048 };

/* ---- golden frames ---- */

/* |f|, sealed with |id|, has the bytes that |hex| says. */
static void assert_golden(struct rifl_frame *f, uint32_t bits, uint32_t id, const char *hex)
{
	uint8_t bytes[RIFL_FRAME_BITS_MAX / 8];
	char text[RIFL_FRAME_BITS_MAX / 4 + 1];

	rifl_seal(f, bits, id);
	rifl_to_bytes(f, bits, bytes);
	for (uint32_t i = 0; i < bits / 8; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	assert_string_equal(text, hex);
	assert_true(rifl_verify(f, bits, id));
}

static void golden_data(void **state)
{
	struct rifl_segment s = { .len = 14 };
	struct rifl_frame f;

	(void)state;
	for (uint8_t i = 0; i < 14; i++)
		s.data[i] = i;
	assert_int_equal(rifl_put_segment(&f, 128, &s), 0);
	assert_golden(&f, 128, 0, "5000102030405060708090a0b0c0d0fe");
	s = (struct rifl_segment){ .len = 5, .end = true, .data = "RIFL!" };
	assert_int_equal(rifl_put_segment(&f, 128, &s), 0);
	assert_golden(&f, 128, 0x2a, "65249464c21000000000000000005e95");
	s = (struct rifl_segment){ .len = 14, .end = true };
	memset(s.data, 0xff, 14);
	assert_int_equal(rifl_put_segment(&f, 128, &s), 0);
	assert_golden(&f, 128, 0xfff, "7ffffffffffffffffffffffffffffc34");
}

static void golden_kinds(void **state)
{
	static const struct {
		enum rifl_kind kind;
		uint32_t id;
		const char *hex;
	} golden[] = {
		{ RIFL_INVALID, 1, "40000000000000000000000000000238" },
		{ RIFL_FC_PAUSE, 1, "40000000000000000000000000001217" },
		{ RIFL_FC_RESUME, 1, "40000000000000000000000000002266" },
		{ RIFL_IDLE, 3, "8000400000000000000000000000029b" },
		{ RIFL_PAUSE_REQUEST, 3, "80040000000000000000000000000a33" },
		{ RIFL_RETRANS_REQUEST, 3, "84000000000000000000000000000f42" },
	};
	struct rifl_frame f;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(golden); i++) {
		assert_int_equal(rifl_put_kind(&f, 128, golden[i].kind), 0);
		assert_golden(&f, 128, golden[i].id, golden[i].hex);
		assert_int_equal(rifl_kind(&f, 128), golden[i].kind);
	}
}

/* Two frames in succession, the scrambler's past being zeros. */
static void golden_scrambled(void **state)
{
	struct rifl_segment s = { .len = 30 };
	struct rifl_scrambler sc = { 0 };
	struct rifl_frame f;

	(void)state;
	for (uint8_t i = 0; i < 30; i++)
		s.data[i] = i;
	rifl_put_segment(&f, 256, &s);
	rifl_scramble(&sc, &f, 256);
	assert_golden(&f, 256, 7, "50009024b965d35cb6d7cfb0962f864488329397e9e7579039f3f5f602883873");
	rifl_put_segment(&f, 256, &s);
	rifl_scramble(&sc, &f, 256);
	assert_golden(&f, 256, 8, "6aeb426a5667426f48c977dcaa4139076c1aed75ece340c181fc3e20803bc94e");
}

/* ---- codec ---- */

static void segment_round_trip(void **state)
{
	struct rifl_segment s, back;
	struct rifl_frame f, again;
	uint8_t bytes[RIFL_FRAME_BITS_MAX / 8];
	uint64_t rng = 1;

	(void)state;
	for (uint32_t n = 0; n < ARRAY_SIZE(sizes); n++) {
		uint32_t bits = sizes[n], full = rifl_payload_bytes(bits);

		assert_int_equal(full, bits / 8 - 2);
		for (s.len = 0; s.len <= full; s.len++) {
			for (uint32_t i = 0; i < sizeof(s.data); i++)
				s.data[i] = (uint8_t)unit_random(&rng);
			s.end = s.len < full || unit_random(&rng) % 2;
			memset(&f, 0xa5, sizeof(f));
			assert_int_equal(rifl_put_segment(&f, bits, &s), 0);
			assert_int_equal(rifl_syn(&f), RIFL_SYN_DATA);
			assert_int_equal(rifl_kind(&f, bits), RIFL_DATA);
			rifl_to_bytes(&f, bits, bytes);
			rifl_from_bytes(&again, bits, bytes);
			rifl_get_segment(&again, bits, &back);
			assert_int_equal(back.len, s.len);
			assert_int_equal(back.end, s.end);
			assert_memory_equal(back.data, s.data, s.len);
		}
	}
}

static void segment_refused(void **state)
{
	struct rifl_segment s = { .len = 15, .end = true };
	struct rifl_frame f;

	(void)state;
	assert_int_equal(rifl_put_segment(&f, 128, &s), -EINVAL);
	s = (struct rifl_segment){ .len = 13 };
	assert_int_equal(rifl_put_segment(&f, 128, &s), -EINVAL);
	assert_int_equal(rifl_put_kind(&f, 128, RIFL_DATA), -EINVAL);
	assert_int_equal(rifl_put_kind(&f, 128, RIFL_RESERVED), -EINVAL);
}

static void reserved_codes(void **state)
{
	struct rifl_segment s = { .len = 1, .end = true };
	struct rifl_frame f;

	(void)state;
	for (uint32_t code = 0; code < 256; code++) {
		rifl_put_segment(&f, 128, &s);
		f.word[1] = (f.word[1] & ~0xff000ULL) | code << 12;
		assert_int_equal(rifl_kind(&f, 128), code < 14 ? RIFL_DATA : RIFL_RESERVED);
		rifl_put_kind(&f, 128, RIFL_INVALID);
		f.word[1] |= code << 12;
		assert_true(code < 3 || rifl_kind(&f, 128) == RIFL_RESERVED);
	}
	for (uint64_t code = 0; code < 0x10000; code++) {
		f.word[0] = 2ULL << 62 | code << 46;
		assert_true(code == 0x1 || code == 0x10 || code == 0x1000 ||
			    rifl_kind(&f, 128) == RIFL_RESERVED);
	}
	f.word[0] = 0;
	assert_int_equal(rifl_kind(&f, 128), RIFL_RESERVED);
	f.word[0] = 3ULL << 62;
	assert_int_equal(rifl_kind(&f, 128), RIFL_RESERVED);
}

static void frame_sizes(void **state)
{
	uint32_t valid = 0;

	(void)state;
	for (uint32_t bits = 0; bits <= 8192; bits++)
		valid += rifl_frame_bits_valid(bits);
	assert_int_equal(valid, ARRAY_SIZE(sizes));
	for (uint32_t n = 0; n < ARRAY_SIZE(sizes); n++)
		assert_true(rifl_frame_bits_valid(sizes[n]));
}

/* ---- verification code ---- */

static void random_frame(struct rifl_frame *f, uint64_t *rng)
{
	for (uint32_t i = 0; i < RIFL_WORDS_MAX; i++)
		f->word[i] = unit_random(rng);
}

static void flip(struct rifl_frame *f, uint32_t bit)
{
	f->word[bit / 64] ^= 1ULL << (63 - bit % 64);
}

/* Long division, bit by bit. */
static uint32_t residue_model(const struct rifl_frame *f, uint32_t bits)
{
	uint32_t r = 0;

	for (uint32_t i = 0; i < bits; i++) {
		r = r << 1 | (f->word[i / 64] >> (63 - i % 64) & 1);
		if (r >> 12)
			r ^= 0x102f;
	}
	return r;
}

static void residue_is_the_remainder(void **state)
{
	uint64_t rng = 2;
	struct rifl_frame f;

	(void)state;
	if (!rifl_residue_fast_usable())
		print_message("# no carry-less multiplication here: tables alone\n");
	for (uint32_t n = 0; n < ARRAY_SIZE(sizes); n++) {
		for (int k = 0; k < 200; k++) {
			uint32_t want;

			random_frame(&f, &rng);
			want = residue_model(&f, sizes[n]);
			assert_int_equal(rifl_residue_portable(&f, sizes[n]), want);
			assert_int_equal(rifl_residue(&f, sizes[n]), want);
			if (rifl_residue_fast_usable())
				assert_int_equal(rifl_residue_fast(&f, sizes[n]), want);
		}
	}
}

/* Linear, so that single bits show all of it. */
static void residue_of_single_bits(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < ARRAY_SIZE(sizes); n++) {
		for (uint32_t i = 0; i < sizes[n]; i++) {
			struct rifl_frame f = { 0 };
			uint32_t want;

			flip(&f, i);
			want = residue_model(&f, sizes[n]);
			assert_int_equal(rifl_residue_portable(&f, sizes[n]), want);
			assert_int_equal(rifl_residue(&f, sizes[n]), want);
		}
	}
}

static void only_its_frame_id_verifies(void **state)
{
	uint64_t rng = 3;
	struct rifl_frame f;

	(void)state;
	random_frame(&f, &rng);
	rifl_unseal(&f, 256);
	rifl_seal(&f, 256, 68);
	for (uint32_t id = 0; id < 4096; id++)
		assert_int_equal(rifl_verify(&f, 256, id), id == 68);
}

/*
 * Hamming distance 4. The residues of any two single bits differ, so two errors show, and their number of
 * bits is odd, so three do. The one exception is the first and the last bit of 2048, of which the first makes
 * the syncword illegal.
 */
static void three_errors_are_found(void **state)
{
	uint32_t seen[4096] = { 0 }, pairs = 0;

	(void)state;
	for (uint32_t i = 0; i < 2048; i++) {
		struct rifl_frame f = { 0 };
		uint32_t r;

		flip(&f, i);
		r = rifl_residue(&f, 2048);
		/* An even number of terms divides by x + 1, at which a single bit is 1. */
		assert_int_not_equal(r, 0);
		assert_int_equal(__builtin_popcount(r) % 2, 1);
		if (seen[r]) {
			assert_int_equal(seen[r] - 1, 0);
			assert_int_equal(i, 2047);
			pairs++;
		}
		seen[r] = i + 1;
	}
	assert_int_equal(pairs, 1);
}

/* Every burst of up to 12 bits, anywhere. */
static void bursts_are_found(void **state)
{
	(void)state;
	for (uint32_t at = 0; at + 12 <= 256; at++) {
		for (uint32_t pattern = 1; pattern < 4096; pattern += 2) {
			struct rifl_frame f = { 0 };
			uint32_t low = 256 - 12 - at;

			f.word[3 - low / 64] ^= (uint64_t)pattern << low % 64;
			if (low % 64 > 52)
				f.word[3 - low / 64 - 1] ^= pattern >> (64 - low % 64);
			assert_int_not_equal(rifl_residue(&f, 256), 0);
		}
	}
}

/* ---- scrambler ---- */

/* By the definition; |past| holds the 33 bits before, the latest last. */
static void scramble_model(struct rifl_frame *f, uint32_t bits, uint8_t past[33])
{
	for (uint32_t i = 2; i < bits - 12; i++) {
		uint8_t y = past[33 - 13] ^ past[0];

		y ^= f->word[i / 64] >> (63 - i % 64) & 1;
		f->word[i / 64] &= ~(1ULL << (63 - i % 64));
		f->word[i / 64] |= (uint64_t)y << (63 - i % 64);
		memmove(past, past + 1, 32);
		past[32] = y;
	}
}

static void scrambler_is_its_polynomial(void **state)
{
	uint64_t rng = 4;

	(void)state;
	for (uint32_t n = 0; n < ARRAY_SIZE(sizes); n++) {
		struct rifl_scrambler tx = { 0 }, rx = { 0 };
		struct rifl_frame f, want, back;
		uint8_t past[33] = { 0 };

		for (int k = 0; k < 20; k++) {
			random_frame(&f, &rng);
			want = back = f;
			scramble_model(&want, sizes[n], past);
			rifl_scramble(&tx, &f, sizes[n]);
			assert_memory_equal(f.word, want.word, sizes[n] / 8);
			rifl_descramble(&rx, &f, &f, sizes[n]);
			assert_memory_equal(f.word, back.word, sizes[n] / 8);
		}
	}
}

/* An error among a frame's last bits spoils the next, and no other. The receiver starts with any past. */
static void descrambler_finds_its_way(void **state)
{
	struct rifl_scrambler tx = { 0x123456789 }, rx = { 0 };
	static const bool right[] = { false, true, false, false, true };
	struct rifl_frame f, clear, got;

	(void)state;
	rifl_put_kind(&clear, 256, RIFL_IDLE);
	for (uint32_t k = 0; k < ARRAY_SIZE(right); k++) {
		f = clear;
		rifl_scramble(&tx, &f, 256);
		if (k == 2)
			flip(&f, 240);
		rifl_descramble(&rx, &f, &got, 256);
		assert_int_equal(!memcmp(got.word, clear.word, 32), right[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_data),
		cmocka_unit_test(golden_kinds),
		cmocka_unit_test(golden_scrambled),
		cmocka_unit_test(segment_round_trip),
		cmocka_unit_test(segment_refused),
		cmocka_unit_test(reserved_codes),
		cmocka_unit_test(frame_sizes),
		cmocka_unit_test(residue_is_the_remainder),
		cmocka_unit_test(residue_of_single_bits),
		cmocka_unit_test(only_its_frame_id_verifies),
		cmocka_unit_test(three_errors_are_found),
		cmocka_unit_test(bursts_are_found),
		cmocka_unit_test(scrambler_is_its_polynomial),
		cmocka_unit_test(descrambler_finds_its_way),
	};

	return unit_run(tests);
}
