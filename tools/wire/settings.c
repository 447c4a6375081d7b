// SPDX-License-Identifier: BSD-2-Clause
#include "settings.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../rifl/hop.h"

#define MAX_RATE 1e13		/* bit/s */
#define MAX_TIME 60e9		/* ns */
#define MAX_QUEUE 1e12		/* bytes or packets */
#define MAX_BER 1e-3

#define NS_PER_S 1000000000ULL

enum {
	DEFAULT_QUEUE = 512 * 1024,
	NUMBER_LEN = 40,
	SLOT_NS_MIN = 256,	/* of a RIFL hop, which takes a CPU about half of that for both directions; */
};

#define MAX_RIFL_RATE 2000000000ULL	/* ... of frames of more than 512 bits this is half of its time */

struct unit {
	const char *name;
	double factor;
};

/* The first is meant if none is written. */
static const struct unit rates[] = {
	{ "bit", 1 },   { "k", 1e3 },	 { "kbit", 1e3 }, { "m", 1e6 },
	{ "mbit", 1e6 }, { "g", 1e9 }, { "gbit", 1e9 }, { NULL, 0 },
};
static const struct unit times[] = {
	{ "us", 1e3 }, { "ns", 1 }, { "ms", 1e6 }, { "s", 1e9 }, { NULL, 0 },
};
static const struct unit sizes[] = {
	{ "b", 1 },  { "k", 1024 },	 { "kb", 1024 },
	{ "m", 1048576 }, { "mb", 1048576 }, { NULL, 0 },
};
static const struct unit shares[] = { { "%", 1 }, { NULL, 0 } };
static const struct unit plain[] = { { "", 1 }, { NULL, 0 } };

struct key {
	const char *name;
	const char *value;	/* for the help */
	const char *help;
	int (*set)(struct wire_settings *s, const char *value, char *err);
};

static __attribute__((format(printf, 2, 3))) int refuse(char *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, WIRE_ERR_LEN, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static double factor_of(const struct unit *units, const char *name)
{
	if (!*name)
		return units[0].factor;
	for (; units->name; units++)
		if (!strcasecmp(units->name, name))
			return units->factor;
	return 0;
}

/*
 * Digits with at most one point among them, then a unit: no signs, exponents or words, so that what
 * is left over can only be the unit.
 */
static int number(const char *text, const struct unit *units, double max, double *out, char *err)
{
	size_t digits = strspn(text, "0123456789."), whole = strspn(text, "0123456789");
	char copy[NUMBER_LEN];
	double factor;

	if (!whole || digits >= sizeof(copy) || strspn(text + whole, ".") > 1 ||
	    (digits > whole && strspn(text + whole + 1, "0123456789") != digits - whole - 1))
		return refuse(err, "\"%.40s\" is not a number", text);
	factor = factor_of(units, text + digits);
	if (factor == 0)
		return refuse(err, "\"%.40s\": unknown unit \"%.20s\"", text, text + digits);
	memcpy(copy, text, digits);
	copy[digits] = '\0';
	*out = strtod(copy, NULL) * factor;
	if (*out > max)
		return refuse(err, "\"%.40s\" is too much", text);
	return 0;
}

static int whole(const char *text, const struct unit *units, double max, uint64_t *out, char *err)
{
	double value;
	int rc = number(text, units, max, &value, err);

	if (rc == 0)
		*out = (uint64_t)llround(value);
	return rc;
}

static int share(const char *text, uint64_t *out, char *err)
{
	double value;
	int rc = number(text, shares, 1e30, &value, err);

	if (rc == 0 && value > 100)
		return refuse(err, "\"%.40s\" is more than 100 %%", text);
	if (rc == 0)
		*out = (uint64_t)llround(value / 100 * (double)WIRE_ALWAYS);
	return rc;
}

/* "12p" are packets, anything else bytes. */
static int size(const char *text, struct wire_size *out, char *err)
{
	static const struct unit packets[] = { { "p", 1 }, { NULL, 0 } };
	struct wire_size value = { .packets = *text && text[strlen(text) - 1] == 'p' };
	int rc = whole(text, value.packets ? packets : sizes, MAX_QUEUE, &value.n, err);

	if (rc == 0)
		*out = value;
	return rc;
}

static int set_rate(struct wire_settings *s, const char *value, char *err)
{
	return whole(value, rates, MAX_RATE, &s->rate, err);
}

static int set_overhead(struct wire_settings *s, const char *value, char *err)
{
	return whole(value, plain, WIRE_MAX_OVERHEAD, &s->overhead, err);
}

static int set_queue(struct wire_settings *s, const char *value, char *err)
{
	return size(value, &s->queue, err);
}

static int set_ecn(struct wire_settings *s, const char *value, char *err)
{
	if (strchr(value, '%'))
		return share(value, &s->ecn_share, err);
	return size(value, &s->ecn, err);
}

static int set_delay(struct wire_settings *s, const char *value, char *err)
{
	return whole(value, times, MAX_TIME, &s->delay, err);
}

static int set_jitter(struct wire_settings *s, const char *value, char *err)
{
	return whole(value, times, MAX_TIME, &s->jitter, err);
}

static int set_reorder(struct wire_settings *s, const char *value, char *err)
{
	return share(value, &s->reorder, err);
}

static int set_reorder_by(struct wire_settings *s, const char *value, char *err)
{
	return whole(value, times, MAX_TIME, &s->reorder_by, err);
}

static int set_loss(struct wire_settings *s, const char *value, char *err)
{
	uint64_t p = 0;
	int rc = share(value, &p, err);

	if (rc == 0)
		s->loss = (struct wire_loss){ .p = p };
	return rc;
}

/* "ge:p[,r[,h[,k]]]" in percent. */
static int set_loss_model(struct wire_settings *s, const char *value, char *err)
{
	struct wire_loss loss = { .gilbert_elliott = true, .k = WIRE_ALWAYS };
	uint64_t *const parameter[] = { &loss.p, &loss.r, &loss.h, &loss.k };
	char copy[4 * NUMBER_LEN], *word, *rest = copy;
	unsigned int n = 0;

	if (!strcmp(value, "random")) {
		if (s->loss.gilbert_elliott)
			s->loss = (struct wire_loss){ 0 };
		return 0;
	}
	if (strncmp(value, "ge:", 3) || strlen(value) >= sizeof(copy))
		return refuse(err, "\"%.40s\" is neither \"random\" nor \"ge:P,R,H,K\"", value);
	strcpy(copy, value + 3);
	while ((word = strsep(&rest, ","))) {
		if (n == sizeof(parameter) / sizeof(parameter[0]))
			return refuse(err, "\"%.40s\" has more than P,R,H,K", value);
		if (share(word, parameter[n++], err))
			return -EINVAL;
	}
	if (n == 1)
		loss.r = WIRE_ALWAYS - loss.p;
	s->loss = loss;
	return 0;
}

static int set_dup(struct wire_settings *s, const char *value, char *err)
{
	return share(value, &s->dup, err);
}

static int set_corrupt(struct wire_settings *s, const char *value, char *err)
{
	return share(value, &s->corrupt, err);
}

static int set_burst(struct wire_settings *s, const char *value, char *err)
{
	uint64_t bits = 0;
	int rc = whole(value, plain, WIRE_MAX_BURST, &bits, err);

	if (rc == 0 && bits < 1)
		return refuse(err, "a burst has at least 1 bit");
	if (rc == 0)
		s->burst = bits;
	return rc;
}

/* With an exponent, which others do not have. */
static int set_ber(struct wire_settings *s, const char *value, char *err)
{
	char *end;
	double ber = strtod(value, &end);

	if (!*value || *end || value[strspn(value, "0123456789.e-")])
		return refuse(err, "\"%.40s\" is not a ratio like 1e-7", value);
	if (!(ber >= 0 && ber <= MAX_BER))
		return refuse(err, "\"%.40s\" is not from 0 to %g", value, MAX_BER);
	s->ber = (uint64_t)llround(ber * (double)NOISE_ONE);
	return 0;
}

static int set_rifl(struct wire_settings *s, const char *value, char *err)
{
	uint64_t bits;

	if (whole(value, plain, RIFL_FRAME_BITS_MAX, &bits, err))
		return -EINVAL;
	if (bits && !rifl_frame_bits_valid((uint32_t)bits))
		return refuse(err, "\"%.40s\" is none of: 0, 128, 256, 512, 1024, 2048", value);
	s->rifl = bits;
	return 0;
}

static int set_down(struct wire_settings *s, const char *value, char *err)
{
	if (strcmp(value, "0") && strcmp(value, "1"))
		return refuse(err, "\"%.40s\" is neither 0 nor 1", value);
	s->down = *value == '1';
	return 0;
}

static const struct key keys[] = {
	{ "rate", "BIT/S", "bit/s; k, m, g; 0 for infinitely fast", set_rate },
	{ "overhead", "BYTES", "of each packet on the wire besides its own", set_overhead },
	{ "queue", "SIZE", "what may wait for the wire: bytes, k, m, or packets, p (512k)", set_queue },
	{ "ecn", "SIZE|PCT%", "mark CE from so much waiting on, or so many packets", set_ecn },
	{ "delay", "TIME", "one way; ns, us, ms, s", set_delay },
	{ "jitter", "TIME", "by how much the delay varies, up and down", set_jitter },
	{ "reorder", "PCT", "share of packets spared the delay, or held back", set_reorder },
	{ "reorder-by", "TIME", "how long they are held back", set_reorder_by },
	{ "loss", "PCT", "share of packets lost, at random", set_loss },
	{ "loss-model", "MODEL", "random, or ge:P,R,H,K (Gilbert-Elliott, percent)", set_loss_model },
	{ "dup", "PCT", "share of packets that arrive twice", set_dup },
	{ "corrupt", "PCT", "share of packets that arrive with bit errors", set_corrupt },
	{ "corrupt-burst", "BITS", "length of a burst of bit errors (1)", set_burst },
	{ "ber", "RATIO", "bit errors; Ethernet loses a packet that has any", set_ber },
	{ "rifl", "BITS", "packets travel in RIFL frames of 128, 256, 512, 1024, 2048 bits", set_rifl },
	{ "down", "0|1", "whether all is lost (0)", set_down },
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

void settings_init(struct wire_settings *s)
{
	*s = (struct wire_settings){ .queue.n = DEFAULT_QUEUE, .burst = 1 };
}

const char *settings_key(unsigned int i, const char **value, const char **help)
{
	if (i >= KEYS)
		return NULL;
	*value = keys[i].value;
	*help = keys[i].help;
	return keys[i].name;
}

int settings_set(struct wire_settings *s, const char *key, const char *value, char *err)
{
	char why[WIRE_ERR_LEN];

	for (unsigned int i = 0; i < KEYS; i++) {
		if (strcmp(key, keys[i].name))
			continue;
		return keys[i].set(s, value, why) ? refuse(err, "%s: %.150s", key, why) : 0;
	}
	return refuse(err, "unknown setting \"%.40s\"", key);
}

int settings_assign(struct wire_settings *s, const char *text, char *err)
{
	const char *equals = strchr(text, '=');
	char key[NUMBER_LEN];

	if (!equals || equals == text)
		return refuse(err, "\"%.40s\" is not KEY=VALUE", text);
	if ((size_t)(equals - text) >= sizeof(key))
		return refuse(err, "unknown setting \"%.40s\"", text);
	memcpy(key, text, (size_t)(equals - text));
	key[equals - text] = '\0';
	return settings_set(s, key, equals + 1, err);
}

/*
 * What a RIFL hop can be: in order, with its own overhead, as long as its frame IDs reach, with as many
 * errors as its checksum is for, and so fast that every frame can be made and checked in time.
 */
static int check_rifl(const struct wire_settings *s, char *err)
{
	const struct rifl_hop_cfg hop = {
		.frame_bits = (uint32_t)s->rifl, .rate = s->rate, .delay = s->delay,
	};
	uint64_t most = s->rifl * NS_PER_S / SLOT_NS_MIN;

	if (most > MAX_RIFL_RATE)
		most = MAX_RIFL_RATE;
	if (!s->rate || s->rate > most)
		return refuse(err, "rifl: with frames of %llu bits the rate is from 1 bit/s to %llu Mbit/s",
			      (unsigned long long)s->rifl, (unsigned long long)most / 1000000);
	if (s->jitter || s->reorder || s->overhead)
		return refuse(err, "rifl: it keeps the order and has an overhead of its own; without jitter, "
				   "reorder and overhead");
	if (rifl_hop_check(&hop))
		return refuse(err, "rifl: the delay is too long for frames of %llu bits at this rate",
			      (unsigned long long)s->rifl);
	if (s->ber > line_greatest_ber(hop.frame_bits))
		return refuse(err, "ber: more than %g is not for RIFL frames of %llu bits",
			      (double)line_greatest_ber(hop.frame_bits) / (double)NOISE_ONE,
			      (unsigned long long)s->rifl);
	return 0;
}

int settings_check(const struct wire_settings *s, char *err)
{
	if (s->jitter > s->delay)
		return refuse(err, "jitter: more than the delay");
	if (s->reorder && !s->delay && !s->reorder_by)
		return refuse(err, "reorder: without a delay nothing can be spared one; set delay or "
				   "reorder-by");
	if (s->ecn.n && !s->rate)
		return refuse(err, "ecn: without a rate nothing waits");
	return s->rifl ? check_rifl(s, err) : 0;
}

int settings_check_change(const struct wire_settings *old, const struct wire_settings *s, char *err)
{
	if (old->rifl == s->rifl && (!s->rifl || (old->rate == s->rate && old->delay == s->delay)))
		return 0;
	return refuse(err, "rifl: both directions share a hop, which cannot become another while it runs");
}

static double percent(uint64_t share_)
{
	return (double)share_ * 100 / (double)WIRE_ALWAYS;
}

static json_t *size_json(const struct wire_size *z)
{
	return json_pack("{s:I}", z->packets ? "packets" : "bytes", (json_int_t)z->n);
}

static json_t *loss_json(const struct wire_loss *l)
{
	if (!l->gilbert_elliott)
		return json_pack("{s:s, s:f}", "model", "random", "p", percent(l->p));
	return json_pack("{s:s, s:f, s:f, s:f, s:f}", "model", "ge", "p", percent(l->p), "r",
			 percent(l->r), "h", percent(l->h), "k", percent(l->k));
}

json_t *settings_json(const struct wire_settings *s)
{
	return json_pack("{s:b, s:I, s:I, s:o, s:o, s:f, s:I, s:I, s:f, s:I, s:o, s:f, s:f, s:I, s:f, s:I}",
			 "down", s->down, "rate", (json_int_t)s->rate, "overhead",
			 (json_int_t)s->overhead, "queue", size_json(&s->queue), "ecn",
			 size_json(&s->ecn), "ecn_percent", percent(s->ecn_share), "delay_ns",
			 (json_int_t)s->delay, "jitter_ns", (json_int_t)s->jitter, "reorder_percent",
			 percent(s->reorder), "reorder_by_ns", (json_int_t)s->reorder_by, "loss",
			 loss_json(&s->loss), "dup_percent", percent(s->dup), "corrupt_percent",
			 percent(s->corrupt), "corrupt_burst", (json_int_t)s->burst, "ber",
			 (double)s->ber / (double)NOISE_ONE, "rifl", (json_int_t)s->rifl);
}
