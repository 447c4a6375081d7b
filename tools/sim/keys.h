/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of a scenario: where each value lies, how it is written, and what it may be. */
#ifndef FALCON_SIM_KEYS_H
#define FALCON_SIM_KEYS_H

#include "config.h"

enum key_type {
	T_COUNT,	/* a number */
	T_BOOL,		/* yes, no */
	T_TIME,		/* 10ns, 5us, 1.5ms, 2s */
	T_RATE,		/* 10gbit, 100mbit, 5kbit */
	T_CHANCE,	/* 0.5% */
	T_RATIO,	/* 1e-7, in SIM_BER_ONE */
	T_NAME,		/* one of |names| */
};

enum key_section {
	S_RUN,
	S_LINK,
	S_TRUNK,
	S_HOST,
	S_CONNECTION,
	S_SWIFT,
	S_SECTIONS,
};

extern const char *const key_section_names[S_SECTIONS];

struct key {
	enum key_section section;
	const char *name;
	enum key_type type;
	size_t offset;		/* in what the section describes */
	uint64_t min, max;
	bool fault;		/* the shrinker may take it away */
	const char *const *names;	/* T_NAME: by value, then NULL */
};

extern const struct sim_link_cfg link_defaults;
extern const struct sim_host_cfg host_defaults;
extern const struct sim_conn_cfg conn_defaults;

/* Key |i| in order, or NULL behind the last. */
const struct key *key_at(uint32_t i);
/* NULL if |section| has none called |name|. */
const struct key *key_find(enum key_section section, const char *name);
/* Read |s| as a value of |k|; false if it is none. The range is the caller's to check. */
bool key_parse(const struct key *k, const char *s, uint64_t *v);
/* Write "name = value" and a newline. */
void key_print(const struct key *k, uint64_t v, FILE *out);

#endif /* FALCON_SIM_KEYS_H */
