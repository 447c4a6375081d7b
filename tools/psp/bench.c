// SPDX-License-Identifier: BSD-2-Clause
/* falcon-psp --bench: how fast one core seals and opens. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/rand.h>

#include <falcon/wire/psp.h>

#include "psp.h"

enum { BATCH = 64, FRAME_ROOM = 4096 };

struct pair {
	struct sa *seal, *open;
	struct psp_job jobs[BATCH];
	uint8_t *memory;
	uint32_t len;		/* of header and data */
};

struct point {
	double seal, open;	/* packets a second */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool pair_init(struct pair *p, uint8_t version, uint32_t size)
{
	uint8_t key[PSP_KEY_MAX];
	const uint32_t spi = 0x80000001;

	if (RAND_bytes(key, sizeof(key)) != 1)
		return false;
	p->len = FALCON_PSP_HDR_LEN + size;
	p->seal = sa_new(SA_SEAL, version, spi, key);
	p->open = sa_new(SA_OPEN, version, spi, key);
	p->memory = calloc(BATCH, FRAME_ROOM);
	if (!p->seal || !p->open || !p->memory)
		return false;
	for (unsigned int i = 0; i < BATCH; i++)
		p->jobs[i].psp = p->memory + (size_t)i * FRAME_ROOM;
	return true;
}

static void pair_free(struct pair *p)
{
	sa_free(p->seal);
	sa_free(p->open);
	free(p->memory);
}

/* Make the batch ready to be sealed again: headers with new IVs. */
static bool refill(struct pair *p)
{
	uint64_t iv;

	for (unsigned int i = 0; i < BATCH; i++) {
		struct psp_job *j = &p->jobs[i];

		if (sa_next_iv(p->seal, 0, &iv))
			return false;
		falcon_psp_fill((struct falcon_psp_hdr *)j->psp, sa_encap(p->seal), false,
				sa_spi(p->seal), iv);
		j->sa = p->seal;
		j->len = p->len;
		j->room = FRAME_ROOM;
	}
	return true;
}

static bool measure(struct pair *p, double seconds, struct point *point)
{
	double seal = 0, open = 0, start, mid, n = 0;

	do {
		if (!refill(p))
			return false;
		start = now();
		if (psp_seal_batch(p->jobs, BATCH) != BATCH)
			return false;
		mid = now();
		for (unsigned int i = 0; i < BATCH; i++) {
			p->jobs[i].sa = p->open;
			p->jobs[i].len += FALCON_ICV_LEN;
		}
		if (psp_open_batch(p->jobs, BATCH) != BATCH)
			return false;
		open += now() - mid;
		seal += mid - start;
		n += BATCH;
	} while (seal + open < seconds);
	*point = (struct point){ .seal = n / seal, .open = n / open };
	return true;
}

/* A line, or a row of |rows| if there are any. */
static void print_point(const char *name, uint32_t size, const struct point *p, json_t *rows)
{
	double gbit = size * 8 / 1e9;

	if (rows)
		json_array_append_new(rows, json_pack("{s:s, s:i, s:I, s:I}", "algorithm", name, "bytes",
						      (int)size, "seal_pps", (json_int_t)p->seal,
						      "open_pps", (json_int_t)p->open));
	else
		printf("%-13s %6u %10.0f %8.2f %10.0f %8.2f\n", name, size, p->seal, p->seal * gbit,
		       p->open, p->open * gbit);
}

int bench(double seconds, bool json)
{
	static const char *const names[] = { "aes-gcm-128", "aes-gcm-256", "aes-gmac-128",
					     "aes-gmac-256" };
	static const uint32_t sizes[] = { 64, 1500, 3500 };
	json_t *rows = json ? json_array() : NULL;

	if (!json)
		printf("%-13s %6s %10s %8s %10s %8s\n", "algorithm", "bytes", "seal/s", "Gb/s",
		       "open/s", "Gb/s");
	for (unsigned int i = 0; i < 12; i++) {
		struct pair p = { 0 };
		struct point point;
		bool ok = pair_init(&p, (uint8_t)(i / 3), sizes[i % 3]) &&
			  measure(&p, seconds, &point);

		pair_free(&p);
		if (!ok) {
			fprintf(stderr, "falcon-psp: %s\n", sa_strerror(SA_ERR_CRYPTO));
			json_decref(rows);
			return 1;
		}
		print_point(names[i / 3], sizes[i % 3], &point, rows);
	}
	if (json)
		print_json(rows);
	return 0;
}
