// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rifl: RIFL by itself. falcon-rifl.1 says what it does. */
#include "codec.h"
#include "paper.h"
#include "rifl/lane.h"
#include "base/cli.h"
#include "soak.h"
#include "line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mode { MODE_NONE, MODE_SOAK, MODE_TABLE, MODE_FIGURE, MODE_BENCH, MODE_ENCODE, MODE_DECODE };

struct options {
	enum mode mode;
	struct soak_options soak;
	struct codec_options codec;
	uint64_t number;	/* of the table or figure */
	uint64_t slots;
	const char *plot;	/* file for a picture of it, or NULL */
};

enum option_id {
	OPT_SOAK = 256,
	OPT_SEED,
	OPT_SCHEDULE,
	OPT_BER,
	OPT_PCAP,
	OPT_TABLE,
	OPT_FIGURE,
	OPT_SLOTS,
	OPT_PLOT,
	OPT_BENCH,
	OPT_BITS,
	OPT_ID_BITS,
};

static const struct argp_option options[] = {
	{ .name = "soak", .key = OPT_SOAK, .arg = "N",
	  .doc = "Send N frames over links of all kinds, and check what arrives" },
	{ .name = "seed", .key = OPT_SEED, .arg = "S", .doc = "Of all random choices (1)" },
	{ .name = "schedule", .key = OPT_SCHEDULE, .arg = "K", .doc = "Soak: begin with schedule K (0)" },
	{ .name = "ber", .key = OPT_BER, .arg = "R", .doc = "Soak: bit error ratio, 0 to 0.1" },
	{ .name = "pcap", .key = OPT_PCAP, .arg = "FILE",
	  .doc = "Soak: capture the first schedule's frames" },
	{ .name = "table", .key = OPT_TABLE, .arg = "2|3|5", .doc = "Compute a table of the paper" },
	{ .name = "figure", .key = OPT_FIGURE, .arg = "8|9", .doc = "Compute a figure of the paper" },
	{ .name = "slots", .key = OPT_SLOTS, .arg = "N",
	  .doc = "Figure 9: of so many slots at each ratio (200000)" },
	{ .name = "plot", .key = OPT_PLOT, .arg = "FILE", .doc = "Have gnuplot draw the table or figure" },
	{ .name = "bench", .key = OPT_BENCH, .doc = "Measure encoding and decoding" },
	{ .name = "bits", .key = OPT_BITS, .arg = "N",
	  .doc = "Bits of a frame: 128, 256, 512, 1024 or 2048 (256)" },
	{ .name = "id-bits", .key = OPT_ID_BITS, .arg = "N", .doc = "Bits of a frame ID (8)" },
	{},
};

static uint64_t number(const struct argp_state *state, const char *name, const char *text)
{
	return cli_number(state, name, text, 0, UINT64_MAX);
}

static void set_mode(const struct argp_state *state, struct options *o, enum mode mode)
{
	if (o->mode != MODE_NONE)
		argp_error(state, "one of --soak, --table, --figure, --bench, encode and decode at a time");
	o->mode = mode;
}

/* encode or decode, IN and OUT */
static void take_word(const struct argp_state *state, struct options *o, char *word)
{
	bool encode = !strcmp(word, "encode");

	switch (state->arg_num) {
	case 0:
		if (!encode && strcmp(word, "decode"))
			argp_error(state, "\"%s\" is neither encode nor decode", word);
		set_mode(state, o, encode ? MODE_ENCODE : MODE_DECODE);
		break;
	case 1: o->codec.in = word; break;
	case 2: o->codec.out = word; break;
	default: argp_error(state, "unexpected argument \"%s\"", word);
	}
}

static void finish(const struct argp_state *state, const struct options *o)
{
	if (o->mode == MODE_NONE)
		argp_error(state, "one of --soak, --table, --figure, --bench, encode and decode is needed");
	if ((o->mode == MODE_ENCODE || o->mode == MODE_DECODE) && !o->codec.out)
		argp_error(state, "name the files IN and OUT");
	if (o->plot && o->mode != MODE_TABLE && o->mode != MODE_FIGURE)
		argp_error(state, "--plot draws what --table or --figure has computed");
	if (!rifl_frame_bits_valid(o->codec.frame_bits))
		argp_error(state, "--bits: a frame has 128, 256, 512, 1024 or 2048");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_SOAK:
		set_mode(state, o, MODE_SOAK);
		o->soak.frames = number(state, "--soak", arg);
		break;
	case OPT_SEED: o->soak.seed = number(state, "--seed", arg); break;
	case OPT_SCHEDULE: o->soak.first = number(state, "--schedule", arg); break;
	case OPT_BER:
		o->soak.ber = (uint64_t)(cli_real(state, "--ber", arg, 0, 0.1) * (double)LINE_BER_ONE + 0.5);
		break;
	case OPT_PCAP: o->soak.pcap = arg; break;
	case OPT_TABLE:
		set_mode(state, o, MODE_TABLE);
		o->number = number(state, "--table", arg);
		break;
	case OPT_FIGURE:
		set_mode(state, o, MODE_FIGURE);
		o->number = number(state, "--figure", arg);
		break;
	case OPT_SLOTS: o->slots = cli_number(state, "--slots", arg, 1, UINT64_MAX); break;
	case OPT_PLOT: o->plot = arg; break;
	case OPT_BENCH: set_mode(state, o, MODE_BENCH); break;
	case OPT_BITS: o->codec.frame_bits = (uint32_t)cli_number(state, "--bits", arg, 0, UINT32_MAX); break;
	case OPT_ID_BITS:
		o->codec.id_bits = (uint32_t)cli_number(state, "--id-bits", arg, RIFL_ID_BITS_MIN,
							RIFL_ID_BITS_MAX);
		break;
	case ARGP_KEY_ARG: take_word(state, o, arg); break;
	case ARGP_KEY_END: finish(state, o); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options, .parser = parse_option,
	.args_doc = "--soak N\n--table 2|3|5\n--figure 8|9\n--bench\nencode|decode IN OUT",
	.doc = "RIFL, retransmission on the link, by itself: soaks, the paper's tables and figures, its "
	       "frames.",
};

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

	cli_parse(&argp, 0, argc, argv, &o);
	switch (o.mode) {
	case MODE_SOAK: return soak(&o.soak);
	case MODE_TABLE:
	case MODE_FIGURE: return paper(&o);
	case MODE_BENCH: return bench();
	case MODE_ENCODE: return codec_encode(&o.codec);
	default: return codec_decode(&o.codec);
	}
}
