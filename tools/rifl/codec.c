// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rifl --encode and --decode. */
#include "codec.h"
#include "rifl/crc.h"
#include "rifl/scramble.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct codec {
	const struct codec_options *o;
	FILE *in, *out;
	struct rifl_scrambler scrambler;
	uint64_t frames, bad;
	uint32_t id;
};

static bool codec_open(struct codec *c, const struct codec_options *o)
{
	memset(c, 0, sizeof(*c));
	c->o = o;
	c->in = strcmp(o->in, "-") ? fopen(o->in, "rb") : stdin;
	if (!c->in) {
		perror(o->in);
		return false;
	}
	c->out = strcmp(o->out, "-") ? fopen(o->out, "wb") : stdout;
	if (!c->out) {
		perror(o->out);
		fclose(c->in);
		return false;
	}
	return true;
}

/* Returns |status|, or 2 if anything could not be read or written. */
static int codec_close(struct codec *c, int status)
{
	bool read_well = !ferror(c->in);
	bool written = !ferror(c->out);

	fclose(c->in);
	if (fclose(c->out) || !written) {
		perror(c->o->out);
		return 2;
	}
	if (!read_well) {
		fprintf(stderr, "%s: cannot be read\n", c->o->in);
		return 2;
	}
	return status;
}

static void next_id(struct codec *c)
{
	c->id = (c->id + 1) & ((1U << c->o->id_bits) - 1);
}

static void write_segment(struct codec *c, const struct rifl_segment *s)
{
	uint8_t bytes[RIFL_FRAME_BITS_MAX / 8];
	uint32_t bits = c->o->frame_bits;
	struct rifl_frame f;

	rifl_put_segment(&f, bits, s);
	rifl_scramble(&c->scrambler, &f, bits);
	rifl_seal(&f, bits, c->id);
	rifl_to_bytes(&f, bits, bytes);
	fwrite(bytes, bits / 8, 1, c->out);
	next_id(c);
}

int codec_encode(const struct codec_options *o)
{
	uint32_t full = rifl_payload_bytes(o->frame_bits);
	struct rifl_segment s;
	struct codec c;
	int next;

	if (!codec_open(&c, o))
		return 2;
	do {
		s.len = (uint32_t)fread(s.data, 1, full, c.in);
		next = s.len == full ? getc(c.in) : EOF;
		if (next != EOF)
			ungetc(next, c.in);
		s.end = next == EOF;
		write_segment(&c, &s);
	} while (!s.end);
	return codec_close(&c, EXIT_SUCCESS);
}

static void complain(struct codec *c, const char *what)
{
	c->bad++;
	fprintf(stderr, "%s: frame %" PRIu64 ": %s\n", c->o->in, c->frames, what);
}

static void decode_data(struct codec *c, const struct rifl_frame *f)
{
	struct rifl_segment s;

	switch (rifl_kind(f, c->o->frame_bits)) {
	case RIFL_DATA:
		rifl_get_segment(f, c->o->frame_bits, &s);
		fwrite(s.data, 1, s.len, c->out);
		break;
	case RIFL_RESERVED:
		complain(c, "its code has no meaning");
		break;
	default:
		break;
	}
}

static void decode_frame(struct codec *c, struct rifl_frame *f)
{
	uint32_t bits = c->o->frame_bits;
	bool good = rifl_verify(f, bits, c->id);

	rifl_descramble(&c->scrambler, f, f, bits);
	if (!rifl_syn_legal(f))
		complain(c, "illegal syncword");
	else if (!good)
		complain(c, "wrong verification code");
	else if (rifl_syn(f) == RIFL_SYN_DATA)
		decode_data(c, f);
	/* A damaged frame is taken for a data frame: most are. */
	if (!good || rifl_syn(f) == RIFL_SYN_DATA)
		next_id(c);
}

int codec_decode(const struct codec_options *o)
{
	uint8_t bytes[RIFL_FRAME_BITS_MAX / 8];
	uint32_t size = o->frame_bits / 8;
	struct rifl_frame f;
	struct codec c;
	size_t n;

	if (!codec_open(&c, o))
		return 2;
	while ((n = fread(bytes, 1, size, c.in)) == size) {
		rifl_from_bytes(&f, o->frame_bits, bytes);
		decode_frame(&c, &f);
		c.frames++;
	}
	if (n)
		complain(&c, "it is cut off");
	return codec_close(&c, c.bad ? EXIT_FAILURE : EXIT_SUCCESS);
}
