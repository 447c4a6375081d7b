// SPDX-License-Identifier: BSD-2-Clause
/*
 * Errors of a wire. A frame has independent errors or a burst or noise, not two of these: the checksum finds
 * every burst of 12 bits, but of a burst and an error elsewhere only 2047 in 2048.
 */
#include "wire.h"

#include <stdlib.h>
#include <string.h>

bool wire_open(struct wire *w, uint32_t bits, uint64_t delay, uint64_t seed, uint64_t stream)
{
	memset(w, 0, sizeof(*w));
	w->bits = bits;
	w->delay = delay;
	w->size = (uint32_t)(delay / (WIRE_SLOT / 100 * 99)) + 2;
	w->ring = calloc(w->size, sizeof(*w->ring));
	rng_seed(&w->rng, seed, stream);
	return w->ring != NULL;
}

void wire_close(struct wire *w)
{
	free(w->ring);
	w->ring = NULL;
}

/* The distribution has no memory, so a new gap may begin at any bit. */
static void next_gap(struct wire *w)
{
	if (w->faults.ber)
		w->gap += rng_exponential(&w->rng, WIRE_BER_ONE / w->faults.ber);
}

void wire_set_faults(struct wire *w, const struct faults *faults)
{
	w->faults = *faults;
	w->noise_left = 0;
	w->gap = 0;
	next_gap(w);
}

void wire_clear(struct wire *w)
{
	w->count = 0;
}

static void flip(struct rifl_frame *f, uint64_t bit)
{
	f->word[bit / 64] ^= 1ULL << (63 - bit % 64);
}

static void independent(struct wire *w, struct rifl_frame *f)
{
	w->hit += w->gap < w->bits;
	while (w->gap < w->bits) {
		flip(f, w->gap);
		w->gap++;
		next_gap(w);
	}
	w->gap -= w->bits;
}

static void burst(struct wire *w, struct rifl_frame *f)
{
	uint64_t len = rng_range(&w->rng, 1, WIRE_BURST_MAX), at = rng_below(&w->rng, w->bits - len + 1);
	uint64_t pattern = rng_next(&w->rng) | 1 | 1ULL << (len - 1);

	w->hit++;
	for (uint64_t i = 0; i < len; i++)
		if (pattern >> i & 1)
			flip(f, at + i);
}

/*
 * A stretch of noise: its first frame has one error, for a frame of noise that comes out of the blue may be
 * taken for a good one, one time in 2^14, and no code of 12 bits can help that.
 */
static void begin_noise(struct wire *w, struct rifl_frame *f)
{
	w->hit++;
	w->noise_left = (uint32_t)rng_range(&w->rng, 1, w->faults.noise_frames);
	flip(f, rng_below(&w->rng, w->bits));
}

static void noise(struct wire *w, struct rifl_frame *f)
{
	w->hit++;
	w->noise_left--;
	for (uint32_t i = 0; i < rifl_words(w->bits); i++)
		f->word[i] = rng_next(&w->rng);
}

void wire_send(struct wire *w, uint64_t now, const struct rifl_frame *f)
{
	struct wire_frame *to = &w->ring[(w->head + w->count) % w->size];

	if (w->count == w->size)
		abort();
	w->count++;
	to->arrival = now + w->delay;
	memcpy(to->f.word, f->word, w->bits / 8);
	if (w->noise_left)
		noise(w, &to->f);
	else if (rng_chance(&w->rng, w->faults.noise_ppm))
		begin_noise(w, &to->f);
	else if (rng_chance(&w->rng, w->faults.burst_ppm))
		burst(w, &to->f);
	else if (w->faults.ber)
		independent(w, &to->f);
}

bool wire_receive(struct wire *w, uint64_t now, struct rifl_frame *f)
{
	struct wire_frame *from = &w->ring[w->head];

	if (w->count == 0 || from->arrival > now)
		return false;
	memcpy(f->word, from->f.word, w->bits / 8);
	w->head = (w->head + 1) % w->size;
	w->count--;
	return true;
}
