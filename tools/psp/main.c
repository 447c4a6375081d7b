// SPDX-License-Identifier: BSD-2-Clause
/* falcon-psp: PSP as a tool. This file: the command line. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "psp.h"

static const char usage_text[] =
"falcon-psp --vectors DIR     replay a folder of cases, or one case\n"
"falcon-psp --kdf FILE.csv    check derived keys\n"
"falcon-psp --bench           measure sealing and opening\n"
"falcon-psp --decrypt IN.pcap --keys FILE OUT.pcap\n"
"                             make a capture readable, by falconctl key export\n"
"\n"
"  --show N       print at most N mismatches (20)\n"
"  --seconds S    of each measurement, up to 60 (0.1)\n"
"  -j, --json     print JSON\n"
"  -V, --version  print the version\n"
"  -h, --help     print this\n";

enum option_id {
	OPT_VECTORS = 256,
	OPT_KDF,
	OPT_BENCH,
	OPT_DECRYPT,
	OPT_KEYS,
	OPT_SHOW,
	OPT_SECONDS,
};

static const struct option options[] = {
	{ "vectors", required_argument, NULL, OPT_VECTORS },
	{ "kdf", required_argument, NULL, OPT_KDF },
	{ "bench", no_argument, NULL, OPT_BENCH },
	{ "decrypt", required_argument, NULL, OPT_DECRYPT },
	{ "keys", required_argument, NULL, OPT_KEYS },
	{ "show", required_argument, NULL, OPT_SHOW },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "json", no_argument, NULL, 'j' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

struct command {
	int what;		/* OPT_VECTORS, OPT_KDF, OPT_BENCH or OPT_DECRYPT */
	const char *path;
	const char *keys, *out;	/* OPT_DECRYPT */
	double seconds;
	struct vector_options vectors;
};

static void __attribute__((noreturn)) bad_usage(const char *why, const char *what)
{
	fprintf(stderr, "falcon-psp: %s%s%s; see --help\n", why, *what ? ": " : "", what);
	exit(2);
}

static double number(const char *text, double max)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text || *end || !(n >= 0 && n <= max))
		bad_usage("not a number in range", text);
	return n;
}

static void set_mode(struct command *c, int what, const char *path)
{
	if (c->what)
		bad_usage("one of --vectors, --kdf, --bench and --decrypt at a time", "");
	c->what = what;
	c->path = path;
}

static void set_option(struct command *c, int opt, const char *arg)
{
	switch (opt) {
	case OPT_VECTORS:
	case OPT_KDF:
	case OPT_DECRYPT:
	case OPT_BENCH: set_mode(c, opt, arg); break;
	case OPT_KEYS: c->keys = arg; break;
	case OPT_SHOW: c->vectors.show = (unsigned long)number(arg, 1e9); break;
	case OPT_SECONDS: c->seconds = number(arg, 60); break;
	case 'j': c->vectors.json = true; break;
	case 'V': printf("falcon-psp %s\n", FALCON_VERSION_STRING); exit(0);
	case 'h': fputs(usage_text, stdout); exit(0);
	default: exit(2);
	}
}

static int run(const struct command *c)
{
	switch (c->what) {
	case OPT_VECTORS: return vectors(c->path, &c->vectors);
	case OPT_KDF: return kdf_vectors(c->path, &c->vectors);
	case OPT_BENCH: return bench(c->seconds, c->vectors.json);
	case OPT_DECRYPT:
		if (!c->keys || !c->out)
			bad_usage("--decrypt needs --keys FILE and OUT.pcap", "");
		return decrypt(c->path, c->out, c->keys);
	default: bad_usage("one of --vectors, --kdf, --bench and --decrypt is needed", "");
	}
}

int main(int argc, char **argv)
{
	struct command c = { .seconds = 0.1, .vectors = { .show = 20 } };
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "jVh", options, NULL)) != -1)
		set_option(&c, opt, optarg);
	if (c.what == OPT_DECRYPT && optind < argc)
		c.out = argv[optind++];
	if (optind < argc)
		bad_usage("unexpected argument", argv[optind]);
	rc = run(&c);
	if (fflush(stdout)) {
		fprintf(stderr, "falcon-psp: writing: %s\n", strerror(errno));
		return 2;
	}
	return rc;
}
