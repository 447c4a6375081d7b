/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration of congestion control: sections [swift], [swift PROFILE] and [rue ALGORITHM], whose
 * keys are the algorithms' own.
 */
#ifndef FALCON_AGENT_CONFIG_RUE_H
#define FALCON_AGENT_CONFIG_RUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rue/host.h"

enum config_rue_const {
	CONFIG_RUE_PARAMS = 16,		/* of a loaded algorithm */
	CONFIG_RUE_PARAM = 96,		/* bytes of "name=value", with the final 0 */
};

enum config_rue_mode {
	CONFIG_RUE_INLINE,		/* the agent's loop computes results itself */
	CONFIG_RUE_THREAD,		/* a thread of its own, behind two queues */
	CONFIG_RUE_PROCESS,		/* another process, behind two queues */
};

/* How a connection's congestion is controlled: of [agent], of a connection, or set at run time. */
struct cc_options {
	char algorithm[RUE_ALGORITHM_NAME];	/* name, or path of a shared object */
	char profile[RUE_CONFIG_NAME];
	uint8_t delay_select;			/* enum falcon_rue_delay */
};

/* Section [rue ALGORITHM]: what create() is given. */
struct rue_engine_config {
	char name[RUE_ALGORITHM_NAME];
	char param[CONFIG_RUE_PARAMS][CONFIG_RUE_PARAM];
	unsigned int nparams;
};

struct rue_settings {
	struct rue_config profile[SWIFT_PROFILES];	/* the first two are built in */
	uint64_t profile_set[SWIFT_PROFILES];	/* parameters given, bits by place in the table */
	unsigned int profile_line[SWIFT_PROFILES];	/* of its section; 0: not in the file */
	unsigned int nprofiles;
	struct rue_engine_config engine[RUE_ENGINES];
	unsigned int nengines;
};

/* The built-in profiles alone. */
void config_rue_init(struct rue_settings *r);

/* Open [swift NAME], or [swift] if |name| is empty. Its number, or -EINVAL with why in |err|. */
int config_rue_swift(struct rue_settings *r, const char *name, unsigned int line, char *err,
		     size_t size);
/* A key of profile |n|. 0, or -EINVAL with why in |err|. */
int config_rue_swift_key(struct rue_settings *r, int n, const char *name, const char *value,
			 char *err, size_t size);
/* Open [rue NAME]. Its number, or -EINVAL with why in |err|. */
int config_rue_engine(struct rue_settings *r, const char *name, char *err, size_t size);
int config_rue_engine_key(struct rue_settings *r, int n, const char *name, const char *value,
			  char *err, size_t size);

/* Check each profile as a whole. 0, or -EINVAL with why in |err| and the section's line in *|line|. */
int config_rue_finish(const struct rue_settings *r, unsigned int *line, char *err, size_t size);

/* True if there is a profile |name|; otherwise those there are in |err|. */
bool config_rue_has_profile(const struct rue_settings *r, const char *name, char *err, size_t size);

/* Append the parameters of every profile to |rows|, as config_show() does. 0, or -ENOMEM. */
int config_rue_show(const struct rue_settings *r, json_t *rows);

#endif /* FALCON_AGENT_CONFIG_RUE_H */
