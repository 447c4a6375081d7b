// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rifl: RIFL by itself. falcon-rifl.1 says what it does. */
#include "codec.h"
#include "paper.h"
#include "rifl/lane.h"
#include "soak.h"
#include "line.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage_text[] =
	"usage: falcon-rifl --soak N [--seed S] [--schedule K] [--ber R] [--pcap FILE]\n"
	"       falcon-rifl --table 2|3|5 [--plot FILE]\n"
	"       falcon-rifl --figure 8|9 [--slots N] [--seed S] [--plot FILE]\n"
	"       falcon-rifl --bench\n"
	"       falcon-rifl encode|decode [--bits N] [--id-bits N] IN OUT\n";

enum mode { MODE_NONE, MODE_SOAK, MODE_TABLE, MODE_FIGURE, MODE_BENCH, MODE_ENCODE, MODE_DECODE };

struct options {
	enum mode mode;
	struct soak_options soak;
	struct codec_options codec;
	uint64_t number;	/* of the table or figure */
	uint64_t slots;
	const char *plot;	/* file for a picture of it, or NULL */
};

static bool parse_number(const char *text, uint64_t *v)
{
	char *end;

	*v = strtoull(text, &end, 0);
	return *text && !*end;
}

static bool parse_small(const char *text, uint32_t *v)
{
	uint64_t n;

	if (!parse_number(text, &n) || n > UINT32_MAX)
		return false;
	*v = (uint32_t)n;
	return true;
}

/* A BER from 0 to 0.1, in LINE_BER_ONE. */
static bool parse_ber(const char *text, uint64_t *v)
{
	char *end;
	double ber = strtod(text, &end);

	if (!*text || *end || !(ber >= 0 && ber <= 0.1))
		return false;
	*v = (uint64_t)(ber * (double)LINE_BER_ONE + 0.5);
	return true;
}

static bool set_mode(struct options *o, enum mode mode)
{
	bool first = o->mode == MODE_NONE;

	o->mode = mode;
	return first;
}

static bool parse_words(struct options *o, int n, char **word)
{
	if (n == 0)
		return o->mode != MODE_NONE;
	if (n != 3 || !set_mode(o, strcmp(word[0], "encode") ? MODE_DECODE : MODE_ENCODE))
		return false;
	o->codec.in = word[1];
	o->codec.out = word[2];
	return !strcmp(word[0], "encode") || !strcmp(word[0], "decode");
}

/* 0, or the exit status plus one. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "soak", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "schedule", required_argument, NULL, 'k' },
		{ "ber", required_argument, NULL, 'b' },
		{ "pcap", required_argument, NULL, 'p' },
		{ "table", required_argument, NULL, 't' },
		{ "figure", required_argument, NULL, 'f' },
		{ "slots", required_argument, NULL, 'l' },
		{ "plot", required_argument, NULL, 'o' },
		{ "bench", no_argument, NULL, 'm' },
		{ "bits", required_argument, NULL, 'w' },
		{ "id-bits", required_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	bool good = true;
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 'n': good &= set_mode(o, MODE_SOAK) && parse_number(optarg, &o->soak.frames); break;
		case 's': good &= parse_number(optarg, &o->soak.seed); break;
		case 'k': good &= parse_number(optarg, &o->soak.first); break;
		case 'b': good &= parse_ber(optarg, &o->soak.ber); break;
		case 'p': o->soak.pcap = optarg; break;
		case 't': good &= set_mode(o, MODE_TABLE) && parse_number(optarg, &o->number); break;
		case 'f': good &= set_mode(o, MODE_FIGURE) && parse_number(optarg, &o->number); break;
		case 'l': good &= parse_number(optarg, &o->slots) && o->slots > 0; break;
		case 'o': o->plot = optarg; break;
		case 'm': good &= set_mode(o, MODE_BENCH); break;
		case 'w': good &= parse_small(optarg, &o->codec.frame_bits); break;
		case 'i': good &= parse_small(optarg, &o->codec.id_bits); break;
		case 'h': fputs(usage_text, stdout); return EXIT_SUCCESS + 1;
		default: good = false; break;
		}
	}
	good = good && (!o->plot || o->mode == MODE_TABLE || o->mode == MODE_FIGURE);
	good = good && parse_words(o, argc - optind, argv + optind);
	good = good && rifl_frame_bits_valid(o->codec.frame_bits);
	good = good && o->codec.id_bits >= RIFL_ID_BITS_MIN && o->codec.id_bits <= RIFL_ID_BITS_MAX;
	if (good)
		return 0;
	fputs(usage_text, stderr);
	return 2 + 1;
}

/* A table or figure of the paper, and its picture if that is wanted. */
static int paper(const struct options *o)
{
	size_t len = 0;
	char *csv = NULL;
	FILE *out = open_memstream(&csv, &len);
	int rc = 2;

	if (!out) {
		perror("falcon-rifl");
		return rc;
	}
	rc = o->mode == MODE_TABLE ? paper_table(out, o->number) :
				     paper_figure(out, o->number, o->slots, o->soak.seed);
	if (fclose(out)) {
		perror("falcon-rifl");
		rc = 2;
	} else {
		fputs(csv, stdout);
	}
	if (!rc && o->plot)
		rc = paper_plot(o->number, csv, o->plot);
	free(csv);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = {
		.soak = { .seed = 1, .ber = UINT64_MAX },
		.codec = { .frame_bits = 256, .id_bits = 8 },
		.slots = 200000,
	};
	int rc = parse_options(argc, argv, &o);

	if (rc)
		return rc - 1;
	switch (o.mode) {
	case MODE_SOAK: return soak(&o.soak);
	case MODE_TABLE:
	case MODE_FIGURE: return paper(&o);
	case MODE_BENCH: return bench();
	case MODE_ENCODE: return codec_encode(&o.codec);
	default: return codec_decode(&o.codec);
	}
}
