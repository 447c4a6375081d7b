// SPDX-License-Identifier: BSD-2-Clause
/* A parser, line by line and word by word, of the format in configs.h. */
#include "rue/configs.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rue/params.h"

enum { WORD = 64 };

struct parser {
	struct rue_configs *configs;
	struct rue_config *open;	/* NULL: between sets */
	unsigned int line;
	char *err;
	size_t size;
};

static const struct {
	const char *name;
	const char *settings[24];
} builtin[] = {
	{ "default", { NULL } },
	/* README.md says why; times in units of 131.072 ns. */
	{ "software",
	  { "fabric_base_delay=15259", "max_flow_scaling=15259", "max_fabric_congestion_window=128",
	    "min_fabric_congestion_window=0.1", "fabric_additive_increment_factor=4",
	    "min_retransmit_timeout=30518", "retransmit_limit=7", "randomize_path=on",
	    "plb_target_rtt_multiplier=2" } },
	{ "plb", { "randomize_path=on", NULL } },
	{ "eackdrop", { "max_decrease_on_eack_nack_drop=on", NULL } },
	{ "alt",
	  { "max_fabric_congestion_window=1024", "min_fabric_congestion_window=0.0625",
	    "fabric_additive_increment_factor=0.7", "fabric_multiplicative_decrease_factor=0.6",
	    "max_fabric_multiplicative_decrease=0.3", "max_decrease_on_eack_nack_drop=on",
	    "max_nic_congestion_window=1024", "min_nic_congestion_window=0.125",
	    "nic_additive_increment_factor=2.5", "nic_multiplicative_decrease_factor=0.9",
	    "max_nic_multiplicative_decrease=0.7", "target_rx_buffer_level=8",
	    "rtt_smoothing_alpha=0.875", "delay_smoothing_alpha=0.5", "topo_scaling_per_hop=5",
	    "min_retransmit_timeout=800", "retransmit_timeout_scalar=1.5", "retransmit_limit=5",
	    "min_flow_scaling_window=0.25", "max_flow_scaling_window=1024",
	    "max_flow_scaling=400", "calc_rtt_smooth=on", "ipg_bits=18",
	    "fabric_base_delay=300" } },
};

void rue_configs_builtin(struct rue_configs *c)
{
	char err[256];

	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < sizeof(builtin) / sizeof(builtin[0]); i++) {
		struct rue_config *to = &c->config[c->n++];

		snprintf(to->name, sizeof(to->name), "%s", builtin[i].name);
		swift_params_default(&to->params);
		for (size_t k = 0; k < 24 && builtin[i].settings[k]; k++)
			swift_params_set_pair(&to->params, builtin[i].settings[k], err,
					      sizeof(err));
	}
}

const struct rue_config *rue_configs_find(const struct rue_configs *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->config[i].name, name))
			return &c->config[i];
	return NULL;
}

static int fail(const struct parser *p, const char *why, const char *what)
{
	snprintf(p->err, p->size, "line %u: %s%s%.80s%s", p->line, why, *what ? " \"" : "", what,
		 *what ? "\"" : "");
	return -EINVAL;
}

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t\r\n");
}

/* Skip blanks, a remark in parentheses that is closed, and blanks. */
static const char *skip_remark(const char *s)
{
	const char *end;

	s = skip_blanks(s);
	end = *s == '(' ? strchr(s, ')') : NULL;
	return end ? skip_blanks(end + 1) : s;
}

/* Copy the next word to |word|, empty at the end; returns what follows. */
static const char *next_word(const char *s, char word[WORD])
{
	size_t n;

	s = skip_blanks(s);
	n = strcspn(s, " \t\r\n,=:");
	snprintf(word, WORD, "%.*s", (int)(n < WORD ? n : WORD - 1), s);
	return s + n;
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

/*
 * * Settings from |s| on, as many as commas announce. |first|: a line of its own, which may also be
 * one of those that mean nothing.
 */
static int read_settings(struct parser *p, const char *s, bool first)
{
	static const char *const ignored[] = { "parameter", "derived", "backpressure_alpha",
					       "flow_label_rng_seed", NULL };
	char name[WORD], value[WORD], why[200];
	const struct swift_param *param;

	for (;; first = false) {
		s = next_word(skip_blanks(s), name);
		if (!*name)
			return *s ? fail(p, "expected a parameter", s) : 0;
		if (first && is_one_of(name, ignored))
			return 0;
		param = swift_params_find(name, strlen(name));
		if (!param)
			return fail(p, "there is no parameter", name);
		s = skip_remark(s);
		s = next_word(*s == '=' ? s + 1 : s, value);
		if (!*value)
			return fail(p, "no value for", name);
		if (swift_params_set(&p->open->params, param, value, why, sizeof(why)))
			return fail(p, why, "");
		s = skip_blanks(s);
		if (*s != ',')
			return 0;
		s++;
	}
}

static int open_config(struct parser *p, const char *name, size_t len)
{
	struct rue_configs *c = p->configs;
	char copy[RUE_CONFIG_NAME];

	if (!len || len >= RUE_CONFIG_NAME || memchr(name, ',', len))
		return fail(p, "a configuration's name has 1 to 31 characters, no comma", "");
	snprintf(copy, sizeof(copy), "%.*s", (int)len, name);
	p->open = (struct rue_config *)rue_configs_find(c, copy);
	if (!p->open) {
		if (c->n == RUE_CONFIGS_MAX)
			return fail(p, "too many configurations", "");
		p->open = &c->config[c->n++];
		memcpy(p->open->name, copy, sizeof(copy));
	}
	swift_params_default(&p->open->params);
	return 0;
}

/* What follows the name on a heading. */
static int read_heading(struct parser *p, const char *s)
{
	const struct rue_config *base;
	const char *after;
	char word[WORD];

	for (;;) {
		s += strspn(s, " \t\r\n,:;");
		after = skip_remark(s);
		if (after != s) {
			s = after;
			continue;
		}
		if (*s == '(')
			return fail(p, "no closing parenthesis", "");
		after = next_word(s, word);
		if (!*word)
			return *s ? fail(p, "unexpected", s) : 0;
		base = rue_configs_find(p->configs, word);
		if (base)
			p->open->params = base->params;
		else if (swift_params_find(word, strlen(word)))
			return read_settings(p, s, false);
		else if (*skip_blanks(after) == '=')
			return fail(p, "there is no parameter", word);
		s = after;
	}
}

static bool is_heading(const char *s, const char **name)
{
	if (strncmp(s, "config", 6))
		return false;
	s = skip_blanks(s + 6);
	if (*s != '=')
		return false;
	*name = skip_blanks(s + 1);
	return true;
}

/* The parameters of the set that ends here must go together. */
static int close_config(struct parser *p)
{
	char why[200];
	int rc = 0;

	if (p->open && swift_params_check(&p->open->params, why, sizeof(why)))
		rc = fail(p, why, "");
	p->open = NULL;
	return rc;
}

static int read_line(struct parser *p, const char *s)
{
	const char *name, *end;
	int rc;

	if (!*skip_blanks(s))
		return 0;
	if (isblank((unsigned char)*s))
		return p->open ? read_settings(p, s, true) : 0;
	rc = close_config(p);
	if (rc || !is_heading(s, &name))
		return rc;
	end = *name == '"' ? strchr(name + 1, '"') : NULL;
	if (!end)
		return fail(p, "a configuration's name stands in quotes", "");
	rc = open_config(p, name + 1, (size_t)(end - name - 1));
	return rc ? rc : read_heading(p, end + 1);
}

int rue_configs_read(struct rue_configs *c, FILE *in, char *err, size_t size)
{
	struct parser p = { .configs = c, .err = err, .size = size };
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	while (!rc && getline(&line, &room, in) >= 0) {
		p.line++;
		rc = read_line(&p, line);
	}
	free(line);
	if (!rc && ferror(in)) {
		snprintf(err, size, "line %u: cannot read on", p.line + 1);
		return -EIO;
	}
	return rc ? rc : close_config(&p);
}
