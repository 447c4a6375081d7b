// SPDX-License-Identifier: BSD-2-Clause
/* The first corpus of fuzz_emulator.c: queues, failures, chances, and a switch that learns. */
#include <string.h>

#include "seed_file.h"

enum { MAX_LEN = 1024, HEAD = 46 };

/* A step is a command, or 'f' and 'g' for a frame and its answer, or 't' and an exponent of ns. */
static const char *const seeds[][8] = {
	{ "set rate=8mbit queue=3p ecn=1p", "fffff", "t\x14", "ggg", "set path=1 down=1", "show",
	  "reset", "ff" },
	{ "set dup=50 corrupt=30 corrupt-burst=9", "set loss-model=ge:10,20,30,99", "ffffff", "t\x10",
	  "set path=2 to=to-b rate=5", "ffff" },
	{ "set delay=1ms jitter=1ms reorder=10", "fgfgfg", "set path=all down=1", "t\x1e", "fg",
	  "set path=0 down=0 reorder-by=1us", "fg" },
};

static size_t frame(unsigned char *out, int answer)
{
	static const unsigned char head[HEAD] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 2, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0,
		10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 3, 3, 0xe8,
	};

	out[0] = (unsigned char)(HEAD << 2 | (answer ? 2 : 1));
	memcpy(out + 1, head, HEAD);
	if (answer) {
		out[6] = 1;
		out[12] = 2;
	}
	return HEAD + 1;
}

static size_t step(unsigned char *out, const char *text)
{
	size_t len = 0;

	if (*text == 't') {
		out[0] = (unsigned char)(text[1] << 2 | 3);
		return 1;
	}
	if (*text == 'f' || *text == 'g') {
		for (; *text; text++)
			len += frame(out + len, *text == 'g');
		return len;
	}
	out[0] = (unsigned char)(strlen(text) << 2);
	memcpy(out + 1, text, strlen(text));
	return strlen(text) + 1;
}

void emulator_seeds(const char *dir)
{
	unsigned char out[MAX_LEN];

	for (unsigned int i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		size_t len = 0;

		for (int k = 0; k < 8 && seeds[i][k]; k++)
			len += step(out + len, seeds[i][k]);
		seed_write(dir, "fuzz_emulator", i, out, len);
	}
}
