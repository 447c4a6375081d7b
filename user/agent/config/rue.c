// SPDX-License-Identifier: BSD-2-Clause
#include "agent/config/rue.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rue/params.h"

static const char *const built_in[] = { "software", "default" };

void config_rue_init(struct rue_settings *r)
{
	struct rue_configs all;

	memset(r, 0, sizeof(*r));
	rue_configs_builtin(&all);
	for (; r->nprofiles < sizeof(built_in) / sizeof(built_in[0]); r->nprofiles++)
		r->profile[r->nprofiles] = *rue_configs_find(&all, built_in[r->nprofiles]);
}

static int find_profile(const struct rue_settings *r, const char *name)
{
	for (unsigned int i = 0; i < r->nprofiles; i++)
		if (!strcmp(r->profile[i].name, name))
			return (int)i;
	return -1;
}

int config_rue_swift(struct rue_settings *r, const char *name, unsigned int line, char *err,
		     size_t size)
{
	int n = *name ? find_profile(r, name) : 0;

	if (n >= 0 && r->profile_line[n]) {
		snprintf(err, size, "second section for profile %s of swift; the first is in line %u",
			 r->profile[n].name, r->profile_line[n]);
		return -EINVAL;
	}
	if (n < 0) {
		if (r->nprofiles == SWIFT_PROFILES || strlen(name) >= RUE_CONFIG_NAME) {
			snprintf(err, size, "swift has at most %d profiles, %s and %s among them, "
				 "with names of at most %d characters", SWIFT_PROFILES, built_in[0],
				 built_in[1], RUE_CONFIG_NAME - 1);
			return -EINVAL;
		}
		n = (int)r->nprofiles++;
		r->profile[n] = r->profile[0];
		if (r->profile_line[0]) {
			/* Not what [swift] has made of it: sections may stand in any order. */
			struct rue_settings fresh;

			config_rue_init(&fresh);
			r->profile[n] = fresh.profile[0];
		}
		snprintf(r->profile[n].name, RUE_CONFIG_NAME, "%s", name);
	}
	r->profile_line[n] = line;
	return n;
}

int config_rue_swift_key(struct rue_settings *r, int n, const char *name, const char *value,
			 char *err, size_t size)
{
	const struct swift_param *param = swift_params_find(name, strlen(name));
	size_t count;
	uint64_t bit;

	if (!param) {
		snprintf(err, size, "unknown key %s; falcon-rue --params lists them", name);
		return -EINVAL;
	}
	bit = 1ULL << (param - swift_params_table(&count));
	if (r->profile_set[n] & bit) {
		snprintf(err, size, "key %s is given twice", param->name);
		return -EINVAL;
	}
	r->profile_set[n] |= bit;
	return swift_params_set(&r->profile[n].params, param, value, err, size);
}

int config_rue_engine(struct rue_settings *r, const char *name, char *err, size_t size)
{
	const char *why = NULL;

	if (!*name || strlen(name) >= RUE_ALGORITHM_NAME)
		why = "[rue] needs the name or path of an algorithm: [rue aimd]";
	else if (!strcmp(name, "swift") || !strcmp(name, "fixed"))
		why = "[rue NAME] is for loaded algorithms; Swift has [swift] and [swift PROFILE]";
	else if (r->nengines == RUE_ENGINES)
		why = "at most four algorithms run at a time";
	for (unsigned int i = 0; i < r->nengines && !why; i++)
		if (!strcmp(r->engine[i].name, name))
			why = "second section for this algorithm";
	if (why) {
		snprintf(err, size, "%s", why);
		return -EINVAL;
	}
	snprintf(r->engine[r->nengines].name, RUE_ALGORITHM_NAME, "%s", name);
	return (int)r->nengines++;
}

int config_rue_engine_key(struct rue_settings *r, int n, const char *name, const char *value,
			  char *err, size_t size)
{
	struct rue_engine_config *g = &r->engine[n];
	int len;

	if (g->nparams == CONFIG_RUE_PARAMS) {
		snprintf(err, size, "more than %d parameters", CONFIG_RUE_PARAMS);
		return -EINVAL;
	}
	len = snprintf(g->param[g->nparams], CONFIG_RUE_PARAM, "%s=%s", name, value);
	if (len < 0 || len >= CONFIG_RUE_PARAM) {
		snprintf(err, size, "%s: key and value together are longer than %d bytes", name,
			 CONFIG_RUE_PARAM - 2);
		return -EINVAL;
	}
	g->nparams++;
	return 0;
}

int config_rue_finish(const struct rue_settings *r, unsigned int *line, char *err, size_t size)
{
	char why[200];

	for (unsigned int i = 0; i < r->nprofiles; i++) {
		if (!swift_params_check(&r->profile[i].params, why, sizeof(why)))
			continue;
		*line = r->profile_line[i];
		snprintf(err, size, "profile %s of swift: %s", r->profile[i].name, why);
		return -EINVAL;
	}
	return 0;
}

bool config_rue_has_profile(const struct rue_settings *r, const char *name, char *err, size_t size)
{
	int n;

	if (find_profile(r, name) >= 0)
		return true;
	n = snprintf(err, size, "cc_profile must be one of");
	for (unsigned int i = 0; i < r->nprofiles && n > 0 && (size_t)n < size; i++)
		n += snprintf(err + n, size - (size_t)n, " %s", r->profile[i].name);
	if (n > 0 && (size_t)n < size)
		snprintf(err + n, size - (size_t)n, ", not \"%.40s\"", name);
	return false;
}

int config_rue_show(const struct rue_settings *r, json_t *rows)
{
	char title[RUE_CONFIG_NAME + 16], value[SWIFT_PARAM_TEXT];
	size_t count;
	const struct swift_param *table = swift_params_table(&count);

	for (unsigned int i = 0; i < r->nprofiles; i++) {
		snprintf(title, sizeof(title), "swift %s", r->profile[i].name);
		for (size_t k = 0; k < count; k++) {
			double v = swift_params_get(&r->profile[i].params, &table[k]);
			json_t *row = json_pack(
				"{s:s, s:s, s:s, s:s, s:s, s:s}", "section", title, "key",
				table[k].name, "value", swift_params_format(&table[k], v, value),
				"unit", table[k].unit, "source",
				r->profile_set[i] & 1ULL << k ? "configured" : "default", "help",
				table[k].help);

			if (json_array_append_new(rows, row))
				return -ENOMEM;
		}
	}
	return 0;
}
