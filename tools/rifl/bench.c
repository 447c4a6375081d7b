// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rifl --bench: user data that one core turns into frames and back, in a second. */
#include "codec.h"
#include "rifl/crc.h"
#include "rifl/scramble.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	BATCH = 64,		/* frames that are at hand */
	BATCHES = 200,		/* between two looks at the clock, which take as long as some of them */
	RUN_NS = 100000000,	/* of each measurement */
};

struct bench {
	uint32_t bits;
	struct rifl_segment segment[BATCH];
	struct rifl_frame frame[BATCH];
	struct rifl_scrambler tx, rx;
	uint32_t sum;		/* keeps the compiler from leaving work out */
};

static void encode(struct bench *b)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		rifl_put_segment(&b->frame[i], b->bits, &b->segment[i]);
		rifl_scramble(&b->tx, &b->frame[i], b->bits);
		rifl_seal(&b->frame[i], b->bits, i);
	}
}

static void decode(struct bench *b)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		struct rifl_frame f;

		b->sum += rifl_verify(&b->frame[i], b->bits, i);
		rifl_descramble(&b->rx, &b->frame[i], &f, b->bits);
		if (rifl_kind(&f, b->bits) == RIFL_DATA)
			rifl_get_segment(&f, b->bits, &b->segment[i]);
	}
}

static void check_by_tables(struct bench *b)
{
	for (uint32_t i = 0; i < BATCH; i++)
		b->sum += rifl_residue_portable(&b->frame[i], b->bits);
}

static void check_fast(struct bench *b)
{
	for (uint32_t i = 0; i < BATCH; i++)
		b->sum += rifl_residue(&b->frame[i], b->bits);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Gb/s of user data. */
static double measure(struct bench *b, void (*batch)(struct bench *b))
{
	int64_t start = now_ns(), took;
	uint64_t batches = 0;

	do {
		for (uint32_t i = 0; i < BATCHES; i++)
			batch(b);
		batches += BATCHES;
		took = now_ns() - start;
	} while (took < RUN_NS);
	return (double)(batches * BATCH * rifl_payload_bytes(b->bits) * 8) / (double)took;
}

int bench(void)
{
	static struct bench b;

	printf("%5s %12s %12s %12s %12s   Gb/s of user data\n", "bits", "encode", "decode", "check",
	       "by tables");
	for (b.bits = RIFL_FRAME_BITS_MIN; b.bits <= RIFL_FRAME_BITS_MAX; b.bits *= 2) {
		for (uint32_t i = 0; i < BATCH; i++)
			b.segment[i].len = rifl_payload_bytes(b.bits);
		printf("%5u %12.1f", b.bits, measure(&b, encode));
		printf(" %12.1f", measure(&b, decode));
		printf(" %12.1f %12.1f\n", measure(&b, check_fast), measure(&b, check_by_tables));
	}
	return EXIT_SUCCESS;
}
