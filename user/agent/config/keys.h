/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of configuration keys: what each is, where it is stored, how it is read and shown. */
#ifndef FALCON_AGENT_CONFIG_KEYS_H
#define FALCON_AGENT_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_options;
struct conn_config;

enum config_type {
	CONFIG_UINT,	/* number, stored multiplied by |scale| */
	CONFIG_ENUM,	/* one of |choices|, stored as its index */
	CONFIG_STRING,	/* stored with a final 0 */
	CONFIG_ADDR,	/* struct falcon_addr; its family goes to |family_offset| */
};

struct config_key {
	const char *name;
	enum config_type type;
	size_t offset;			/* of the value in its section's struct */
	size_t size;			/* of the value, bytes */
	uint64_t min, max;		/* CONFIG_UINT, before scaling */
	uint64_t scale;			/* stored units in one written unit */
	const char *unit;		/* of the written value, NULL: none */
	const char *zero;		/* the word written for 0 or for no address, NULL: none */
	const char *const *choices;	/* CONFIG_ENUM, NULL-terminated */
	size_t family_offset;		/* CONFIG_ADDR: an int */
	const char *def;		/* default as written; NULL: set by code, or none */
	const char *help;
	bool inherited;			/* of a connection: unless given, [agent]'s key of that name */
};

enum config_section_id {
	CONFIG_AGENT,
	CONFIG_PORT,
	CONFIG_PEER,
	CONFIG_USER,
	CONFIG_GROUP,
	CONFIG_CONNECTION,
	CONFIG_NAMESPACE,
	CONFIG_NVME,
	CONFIG_SWIFT,	/* keys of their own, see rue.h */
	CONFIG_RUE,
	CONFIG_SECTION_COUNT,
};

/* A kind of section: its own keys, and whether it has the protocol parameters too. */
struct config_section {
	const char *name;
	const struct config_key *keys;
	unsigned int nkeys;
	const struct config_key *params;	/* config_params, or NULL */
	unsigned int nparams;
	size_t params_offset;			/* of the struct fcore_params in the section's */
};

extern const struct config_section config_sections[CONFIG_SECTION_COUNT];

/*
 * The section's key with index |i|, own keys first, NULL beyond the last; |*offset| is set to where
 * its value is in the section's struct. Index i is bit i of the struct's |set|.
 */
const struct config_key *config_key_at(const struct config_section *s, unsigned int i,
				       size_t *offset);

/* Index of key |name|, -1 if the section has none of that name. */
int config_key_find(const struct config_section *s, const char *name);

/* Set the keys that have a default in the table. */
void config_section_defaults(const struct config_section *s, void *base);

/*
 * Parse |text| as the value of key |i| into the section's struct |base|. 0, or -EINVAL with a
 * sentence in |err|.
 */
int config_key_set(const struct config_section *s, unsigned int i, void *base, const char *text,
		   char *err, size_t errlen);

/* The value of key |i| as one would write it. */
void config_key_get(const struct config_section *s, unsigned int i, const void *base, char *text,
		    size_t size);

/* True if |name| can name a connection: letters, digits, '.', '_' and '-', short enough. */
bool config_name_valid(const char *name);
/* 0 if a connection may have it; -EINVAL with a sentence in |err|. */
int config_conn_name_check(const char *name, char *err, size_t errlen);

/* What |c| does not set and may come from |agent| does. */
void config_conn_inherit(struct conn_config *c, const struct agent_options *agent);

/* Set |c| to the defaults under |name|, which is valid. */
void config_conn_init(struct conn_config *c, const char *name);

/*
 * After all keys of |c| are set: take what it does not set from |agent| and check that the whole
 * makes sense. 0, or -EINVAL with a sentence in |err|.
 */
int config_conn_finish(struct conn_config *c, const struct agent_options *agent, char *err,
		       size_t errlen);

#endif /* FALCON_AGENT_CONFIG_KEYS_H */
