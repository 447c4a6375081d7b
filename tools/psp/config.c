// SPDX-License-Identifier: BSD-2-Clause
/* falcon-psp: the reference tool's configuration files, and case.json. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <falcon/wire/psp.h>

#include "base/hex.h"
#include "psp.h"

enum { WORD_MAX = 32 };

struct reader {
	FILE *in;
	unsigned long line;	/* of the last word */
	char word[WORD_MAX];
	char *err;
};

static int __attribute__((format(printf, 2, 3))) fail(char *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, ERROR_LEN, fmt, ap);
	va_end(ap);
	return -1;
}

/* The next word into |r->word|; an empty one at the end. -1 if it is no word of such a file. */
static int next_word(struct reader *r)
{
	size_t n = 0;
	int c;

	while ((c = getc(r->in)) != EOF && isspace(c))
		r->line += c == '\n';
	for (; c != EOF && !isspace(c); c = getc(r->in)) {
		if (n == WORD_MAX - 1 || !isgraph(c))
			return fail(r->err, "line %lu: not a text in the expected format", r->line);
		r->word[n++] = (char)c;
	}
	if (c != EOF)
		ungetc(c, r->in);
	r->word[n] = 0;
	return 0;
}

static int need_word(struct reader *r, const char *what)
{
	if (next_word(r))
		return -1;
	return *r->word ? 0 : fail(r->err, "line %lu: ends before the %s", r->line, what);
}

/* A word of hexadecimal digits, at most |digits|. */
static int read_hex(struct reader *r, const char *what, unsigned int digits, uint32_t *value)
{
	size_t n;

	if (need_word(r, what))
		return -1;
	n = strlen(r->word);
	if (n > digits || strspn(r->word, "0123456789abcdefABCDEF") != n)
		return fail(r->err, "line %lu: \"%s\" is no hexadecimal %s of up to %u digits",
			    r->line, r->word, what, digits);
	*value = (uint32_t)strtoul(r->word, NULL, 16);
	return 0;
}

static int read_key(struct reader *r, uint8_t *key)
{
	uint32_t byte;

	for (unsigned int i = 0; i < PSP_MASTER_KEY_LEN; i++) {
		if (read_hex(r, "byte of a master key", 2, &byte))
			return -1;
		key[i] = (uint8_t)byte;
	}
	return 0;
}

static int read_offset(struct reader *r, const char *what, uint8_t *units)
{
	size_t n;

	if (need_word(r, what))
		return -1;
	n = strlen(r->word);
	if (n > 3 || strspn(r->word, "0123456789") != n || atoi(r->word) > FALCON_PSP_CRYPT_MASK)
		return fail(r->err, "line %lu: \"%s\" is no %s from 0 to 63", r->line, r->word,
			    what);
	*units = (uint8_t)atoi(r->word);
	return 0;
}

/* One of |n| words; its index in |*value|. */
static int read_choice(struct reader *r, const char *what, const char *const *words, size_t n,
		       size_t *value)
{
	if (need_word(r, what))
		return -1;
	for (*value = 0; *value < n; ++*value)
		if (!strcmp(r->word, words[*value]))
			return 0;
	return fail(r->err, "line %lu: \"%s\" is no %s", r->line, r->word, what);
}

static int read_encrypt(struct reader *r, struct psp_config *c)
{
	static const char *const modes[] = { "transport", "tunnel" };
	static const char *const cookies[] = { "no-vc", "vc" };
	static const char *const algorithms[] = {
		[FALCON_PSP_AES_GCM_128] = "aes-gcm-128",
		[FALCON_PSP_AES_GCM_256] = "aes-gcm-256",
		[FALCON_PSP_GMAC_128] = "aes-gmac-128",
		[FALCON_PSP_GMAC_256] = "aes-gmac-256",
	};
	size_t mode, algorithm, vc;

	if (read_hex(r, "SPI", 8, &c->spi) || read_choice(r, "mode", modes, 2, &mode) ||
	    read_choice(r, "algorithm", algorithms, 4, &algorithm) ||
	    read_offset(r, "transport crypt offset", &c->encap.transport_offset) ||
	    read_offset(r, "IPv4 tunnel crypt offset", &c->encap.tunnel4_offset) ||
	    read_offset(r, "IPv6 tunnel crypt offset", &c->encap.tunnel6_offset) ||
	    read_choice(r, "choice of vc or no-vc", cookies, 2, &vc))
		return -1;
	c->version = (uint8_t)algorithm;
	c->encap.tunnel = mode;
	c->encap.vc = vc;
	return 0;
}

int config_read(FILE *in, bool encrypt, struct psp_config *c, char *err)
{
	struct reader r = { .in = in, .line = 1, .err = err };

	memset(c, 0, sizeof(*c));
	if (read_key(&r, c->masters.key[0]) || read_key(&r, c->masters.key[1]) ||
	    (encrypt && read_encrypt(&r, c)) || next_word(&r))
		return -1;
	return *r.word ? fail(err, "line %lu: \"%s\" after the end", r.line, r.word) : 0;
}

/* A count that may be missing: -1 then. */
static int json_count(const json_t *root, const char *name, long *value, char *err)
{
	const json_t *j = json_object_get(root, name);

	*value = -1;
	if (!j)
		return 0;
	if (!json_is_integer(j) || json_integer_value(j) < 0 || json_integer_value(j) > PACKETS_MAX)
		return fail(err, "\"%s\" is not a count", name);
	*value = (long)json_integer_value(j);
	return 0;
}

static int json_key(const json_t *root, struct psp_case *c, char *err)
{
	const json_t *j = json_object_get(root, "derived_key");
	const char *text = json_string_value(j);

	if (!j)
		return 0;
	for (unsigned int len = 16; text && len <= PSP_KEY_MAX; len += 16) {
		if (hex_read(text, strlen(text), "", c->derived_key, len)) {
			c->derived_key_len = len;
			return 0;
		}
	}
	return fail(err, "\"derived_key\" is not a key of 16 or 32 bytes");
}

static int json_case(const json_t *root, struct psp_case *c, char *err)
{
	const json_t *forced = json_object_get(root, "forced_bit_error");
	const json_t *iv = json_object_get(root, "first_iv");

	if (!json_is_boolean(forced))
		return fail(err, "\"forced_bit_error\" is not there, or neither true nor false");
	c->forced_bit_error = json_is_true(forced);
	c->first_iv = 1;
	if (iv && (!json_is_integer(iv) || json_integer_value(iv) < 0))
		return fail(err, "\"first_iv\" is not a number");
	if (iv)
		c->first_iv = (uint64_t)json_integer_value(iv);
	if (json_count(root, "cleartext_packets", &c->cleartext_packets, err) ||
	    json_count(root, "encrypted_packets", &c->encrypted_packets, err) ||
	    json_count(root, "skipped_packets", &c->skipped_packets, err))
		return -1;
	return json_key(root, c, err);
}

int case_read(FILE *in, struct psp_case *c, char *err)
{
	json_error_t why;
	json_t *root;
	int rc;

	memset(c, 0, sizeof(*c));
	root = json_loadf(in, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		return fail(err, "line %d: %s", why.line, why.text);
	rc = json_case(root, c, err);
	json_decref(root);
	return rc;
}
