// SPDX-License-Identifier: BSD-2-Clause
/*
 * No nonce twice: IVs whatever the clock does, their order at sealing, the limits of a key. The
 * limits are out of reach by use, so this test sees the association from inside.
 */
#include "psp_seal.h"

#include "crypto/sa_priv.h"

/* A clock that goes on, stands, jumps, goes back and wraps. */
static uint64_t next_clock(uint64_t clock, uint64_t *rng)
{
	uint64_t r = unit_random(rng);

	switch (r % 8) {
	case 0: return clock;
	case 1: return clock - (r >> 40);
	case 2: return clock - (r >> 20);
	case 3: return clock + (r >> 20);
	case 4: return 0;
	default: return clock + (r >> 50);
	}
}

/* The distance from the first IV only grows: so no two are equal, wraps included. */
static void any_clock(void **state)
{
	uint64_t rng = 88172645463325252ULL;

	(void)state;
	for (unsigned int run = 0; run < 200; run++) {
		struct psp_pair p = pair_new(0);
		uint64_t clock = run % 2 ? unit_random(&rng) : UINT64_MAX - run, first, iv, span = 0;
		unsigned int i;

		assert_int_equal(sa_next_iv(p.seal, clock, &first), 0);
		assert_true(first == clock);
		for (i = 0; i < 2000; i++) {
			clock = next_clock(clock, &rng);
			if (sa_next_iv(p.seal, clock, &iv))
				break;
			assert_true(iv - first > span);
			span = iv - first;
		}
		assert_true(i > 10);
		pair_free(&p);
	}
}

static void follows_clock(void **state)
{
	static const struct {
		uint64_t clock, iv;
	} steps[] = {
		{ 1000, 1000 }, { 1000, 1001 }, { 1001, 1002 }, { 1000000, 1000000 },
		{ 999999, 1000001 }, { 0, 1000002 }, { 1000003, 1000003 }, { 5000000, 5000000 },
	};
	struct psp_pair p = pair_new(0);
	uint64_t iv;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		assert_int_equal(sa_next_iv(p.seal, steps[i].clock, &iv), 0);
		assert_true(iv == steps[i].iv);
	}
	pair_free(&p);
}

/* The clock's wrap at 2^64 ps, every 213 days, is no end. */
static void wraps(void **state)
{
	struct psp_pair p = pair_new(0);
	uint64_t iv;

	(void)state;
	assert_int_equal(sa_next_iv(p.seal, UINT64_MAX - 1, &iv), 0);
	assert_int_equal(sa_next_iv(p.seal, UINT64_MAX, &iv), 0);
	assert_int_equal(sa_next_iv(p.seal, UINT64_MAX, &iv), 0);
	assert_true(iv == 0);
	assert_int_equal(sa_next_iv(p.seal, 500, &iv), 0);
	assert_true(iv == 500);
	pair_free(&p);
}

/* Once round is the end, before the first IV would come again. */
static void all_used(void **state)
{
	struct psp_pair p = pair_new(0);
	uint64_t iv, clock = 7, good = 0;

	(void)state;
	while (!sa_next_iv(p.seal, clock, &iv) && good < 10) {
		clock = iv + (1ULL << 62);
		good++;
	}
	assert_int_equal(good, 4);	/* 7, and three quarters further */
	p.seal->span = UINT64_MAX - 2;
	assert_int_equal(sa_next_iv(p.seal, 0, &iv), 0);
	assert_true(iv == 7 - 2ULL);
	assert_int_equal(sa_next_iv(p.seal, 0, &iv), SA_ERR_EXHAUSTED);
	assert_int_equal(sa_next_iv(p.seal, 8, &iv), SA_ERR_EXHAUSTED);
	pair_free(&p);
}

static int seal_with(struct sa *sa, uint64_t iv)
{
	uint8_t psp[64] = { 0 };

	falcon_psp_fill((struct falcon_psp_hdr *)psp, sa_encap(sa), false, PAIR_SPI, iv);
	return psp_seal(sa, psp, 30, sizeof(psp));
}

/* Only IVs that were given, and each once, in order. */
static void order(void **state)
{
	struct psp_pair p = pair_new(0);
	uint64_t iv[4];

	(void)state;
	assert_int_equal(seal_with(p.seal, 0), SA_ERR_IV);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(sa_next_iv(p.seal, UINT64_MAX - 1 + i * 2, &iv[i]), 0);
	assert_int_equal(seal_with(p.seal, iv[3] + 1), SA_ERR_IV);
	assert_int_equal(seal_with(p.seal, iv[0] - 1), SA_ERR_IV);
	assert_int_equal(seal_with(p.seal, iv[0]), 46);
	assert_int_equal(seal_with(p.seal, iv[0]), SA_ERR_IV);
	assert_int_equal(seal_with(p.seal, iv[2]), 46);	/* iv[1] left out */
	assert_int_equal(seal_with(p.seal, iv[1]), SA_ERR_IV);
	assert_int_equal(seal_with(p.seal, iv[2]), SA_ERR_IV);
	assert_int_equal(seal_with(p.seal, iv[3]), 46);
	assert_int_equal(seal_with(p.seal, iv[3]), SA_ERR_IV);
	assert_int_equal(sa_usage(p.seal).packets, 3);
	pair_free(&p);
}

/* A packet refused for another reason has used up neither IV nor key. */
static void refused_is_free(void **state)
{
	struct psp_pair p = pair_new(0);
	uint8_t psp[64];
	uint32_t len = packet_make(p.seal, psp, false, 0, 10);

	(void)state;
	assert_int_equal(psp_seal(p.seal, psp, len, len), SA_ERR_ROOM);
	assert_int_equal(sa_usage(p.seal).packets, 0);
	assert_int_equal(psp_seal(p.seal, psp, len, sizeof(psp)), len + 16);
	assert_int_equal(sa_usage(p.seal).packets, 1);
	assert_int_equal(sa_usage(p.seal).blocks, 3);	/* 26 bytes, and the lengths */
	pair_free(&p);
}

static void limits(void **state)
{
	struct psp_pair p = pair_new(1);
	uint64_t iv;

	(void)state;
	assert_int_equal(sa_next_iv(p.seal, 1, &iv), 0);
	p.seal->used.packets = SA_MAX_PACKETS - 1;
	assert_int_equal(seal_with(p.seal, iv), 46);
	assert_int_equal(sa_next_iv(p.seal, 1, &iv), 0);
	assert_int_equal(seal_with(p.seal, iv), SA_ERR_EXHAUSTED);
	p.seal->used = (struct sa_usage){ .blocks = SA_MAX_BLOCKS - 3 };
	assert_int_equal(seal_with(p.seal, iv), 46);
	assert_int_equal(sa_next_iv(p.seal, 1, &iv), 0);
	assert_int_equal(seal_with(p.seal, iv), SA_ERR_EXHAUSTED);
	pair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_clock),
		cmocka_unit_test(follows_clock),
		cmocka_unit_test(wraps),
		cmocka_unit_test(all_used),
		cmocka_unit_test(order),
		cmocka_unit_test(refused_is_free),
		cmocka_unit_test(limits),
	};

	return unit_run(tests);
}
