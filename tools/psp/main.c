// SPDX-License-Identifier: BSD-2-Clause
/* falcon-psp: PSP as a tool. This file: the command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "psp.h"

enum option_id {
	OPT_VECTORS = 256,
	OPT_KDF,
	OPT_BENCH,
	OPT_DECRYPT,
	OPT_KEYS,
	OPT_SHOW,
	OPT_SECONDS,
};

static const struct argp_option options[] = {
	{ .name = "vectors", .key = OPT_VECTORS, .arg = "DIR",
	  .doc = "Replay a folder of cases, or one case" },
	{ .name = "kdf", .key = OPT_KDF, .arg = "FILE.csv", .doc = "Check derived keys" },
	{ .name = "bench", .key = OPT_BENCH, .doc = "Measure sealing and opening" },
	{ .name = "decrypt", .key = OPT_DECRYPT, .arg = "IN.pcap",
	  .doc = "Make a capture readable, into OUT.pcap" },
	{ .name = "keys", .key = OPT_KEYS, .arg = "FILE", .doc = "What falconctl key export has printed" },
	{ .name = "show", .key = OPT_SHOW, .arg = "N", .doc = "Print at most N mismatches (20)" },
	{ .name = "seconds", .key = OPT_SECONDS, .arg = "S",
	  .doc = "Length of each measurement, up to 60 (0.1)" },
	{ .name = "json", .key = 'j', .doc = "Print JSON" },
	{},
};

struct command {
	int what;		/* OPT_VECTORS, OPT_KDF, OPT_BENCH or OPT_DECRYPT */
	const char *path;
	const char *keys, *out;	/* OPT_DECRYPT */
	double seconds;
	struct vector_options vectors;
};

static void set_mode(const struct argp_state *state, struct command *c, int what, const char *path)
{
	if (c->what)
		argp_error(state, "one of --vectors, --kdf, --bench and --decrypt at a time");
	c->what = what;
	c->path = path;
}

static void finish(const struct argp_state *state, const struct command *c)
{
	if (!c->what)
		argp_error(state, "one of --vectors, --kdf, --bench and --decrypt is needed");
	if (c->what == OPT_DECRYPT && (!c->keys || !c->out))
		argp_error(state, "--decrypt needs --keys FILE and OUT.pcap");
	if (c->what != OPT_DECRYPT && c->out)
		argp_error(state, "unexpected argument \"%s\"", c->out);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct command *c = state->input;

	switch (key) {
	case OPT_VECTORS:
	case OPT_KDF:
	case OPT_DECRYPT:
	case OPT_BENCH: set_mode(state, c, key, arg); break;
	case OPT_KEYS: c->keys = arg; break;
	case OPT_SHOW: c->vectors.show = cli_number(state, "--show", arg, 0, 1000000000); break;
	case OPT_SECONDS: c->seconds = cli_real(state, "--seconds", arg, 0, 60); break;
	case 'j': c->vectors.json = true; break;
	case ARGP_KEY_ARG:
		if (c->out)
			argp_error(state, "unexpected argument \"%s\"", arg);
		c->out = arg;
		break;
	case ARGP_KEY_END: finish(state, c); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options, .parser = parse_option,
	.args_doc = "--vectors DIR\n--kdf FILE.csv\n--bench\n--decrypt IN.pcap --keys FILE OUT.pcap",
	.doc = "Encrypt and decrypt PSP packets, and check and measure how this build does it.",
};

static int run(const struct command *c)
{
	switch (c->what) {
	case OPT_VECTORS: return vectors(c->path, &c->vectors);
	case OPT_KDF: return kdf_vectors(c->path, &c->vectors);
	case OPT_BENCH: return bench(c->seconds, c->vectors.json);
	default: return decrypt(c->path, c->out, c->keys);
	}
}

int main(int argc, char **argv)
{
	struct command c = { .seconds = 0.1, .vectors = { .show = 20 } };
	int rc;

	cli_parse(&argp, 0, argc, argv, &c);
	rc = run(&c);
	if (fflush(stdout)) {
		fprintf(stderr, "falcon-psp: writing: %s\n", strerror(errno));
		return 2;
	}
	return rc;
}
