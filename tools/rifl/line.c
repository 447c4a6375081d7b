// SPDX-License-Identifier: BSD-2-Clause
/*
 * Errors of a line. A frame has independent errors or a burst or noise, not two of these: the checksum finds
 * every burst of 12 bits, but of a burst and an error elsewhere only 2047 in 2048.
 */
#include "line.h"

#include <stdlib.h>
#include <string.h>

bool line_open(struct line *l, uint32_t bits, uint64_t delay, uint64_t seed, uint64_t stream)
{
	memset(l, 0, sizeof(*l));
	l->bits = bits;
	l->delay = delay;
	l->size = (uint32_t)(delay / (LINE_SLOT / 100 * 99)) + 2;
	l->ring = calloc(l->size, sizeof(*l->ring));
	rng_seed(&l->rng, seed, stream);
	return l->ring != NULL;
}

void line_close(struct line *l)
{
	free(l->ring);
	l->ring = NULL;
}

/* The distribution has no memory, so a new gap may begin at any bit. */
static void next_gap(struct line *l)
{
	if (l->faults.ber)
		l->gap += rng_exponential(&l->rng, LINE_BER_ONE / l->faults.ber);
}

void line_set_faults(struct line *l, const struct faults *faults)
{
	l->faults = *faults;
	l->noise_left = 0;
	l->gap = 0;
	next_gap(l);
}

uint64_t line_greatest_ber(uint32_t frame_bits)
{
	switch (frame_bits) {
	case 512: return LINE_BER_ONE / 20000;
	case 1024: return LINE_BER_ONE / 50000;
	case 2048: return LINE_BER_ONE / 100000;
	default: return LINE_BER_ONE / 10000;
	}
}

uint64_t line_good_frames(const struct line *l)
{
	if (l->noise_left || l->faults.noise_ppm || l->faults.burst_ppm)
		return 0;
	return l->faults.ber ? l->gap / l->bits : UINT64_MAX;
}

void line_skip(struct line *l, uint64_t n)
{
	if (l->faults.ber)
		l->gap -= n * l->bits;
}

void line_clear(struct line *l)
{
	l->count = 0;
}

static void flip(struct rifl_frame *f, uint64_t bit)
{
	f->word[bit / 64] ^= 1ULL << (63 - bit % 64);
}

static void independent(struct line *l, struct rifl_frame *f)
{
	l->hit += l->gap < l->bits;
	while (l->gap < l->bits) {
		flip(f, l->gap);
		l->gap++;
		next_gap(l);
	}
	l->gap -= l->bits;
}

static void burst(struct line *l, struct rifl_frame *f)
{
	uint64_t len = rng_range(&l->rng, 1, LINE_BURST_MAX), at = rng_below(&l->rng, l->bits - len + 1);
	uint64_t pattern = rng_next(&l->rng) | 1 | 1ULL << (len - 1);

	l->hit++;
	for (uint64_t i = 0; i < len; i++)
		if (pattern >> i & 1)
			flip(f, at + i);
}

/*
 * A stretch of noise: its first frame has one error, for a frame of noise that comes out of the blue may be
 * taken for a good one, one time in 2^14, and no code of 12 bits can help that.
 */
static void begin_noise(struct line *l, struct rifl_frame *f)
{
	l->hit++;
	l->noise_left = (uint32_t)rng_range(&l->rng, 1, l->faults.noise_frames);
	flip(f, rng_below(&l->rng, l->bits));
}

static void noise(struct line *l, struct rifl_frame *f)
{
	l->hit++;
	l->noise_left--;
	for (uint32_t i = 0; i < rifl_words(l->bits); i++)
		f->word[i] = rng_next(&l->rng);
}

void line_send(struct line *l, uint64_t now, const struct rifl_frame *f)
{
	struct line_frame *to = &l->ring[(l->head + l->count) % l->size];

	if (l->count == l->size)
		abort();
	l->count++;
	to->arrival = now + l->delay;
	memcpy(to->f.word, f->word, l->bits / 8);
	if (l->noise_left)
		noise(l, &to->f);
	else if (rng_chance(&l->rng, l->faults.noise_ppm))
		begin_noise(l, &to->f);
	else if (rng_chance(&l->rng, l->faults.burst_ppm))
		burst(l, &to->f);
	else if (l->faults.ber)
		independent(l, &to->f);
}

bool line_receive(struct line *l, uint64_t now, struct rifl_frame *f)
{
	struct line_frame *from = &l->ring[l->head];

	if (l->count == 0 || from->arrival > now)
		return false;
	memcpy(f->word, from->f.word, l->bits / 8);
	l->head = (l->head + 1) % l->size;
	l->count--;
	return true;
}
