// SPDX-License-Identifier: BSD-2-Clause
/* Configuration as JSON: a connection from it, every key to it. */
#include "agent/config/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/config/keys.h"

/* |v| as it would stand in the file; -EINVAL if it is no scalar that can. */
static int value_text(const json_t *v, bool is_enum, char *text, size_t size)
{
	int n;

	if (json_is_string(v))
		n = snprintf(text, size, "%s", json_string_value(v));
	else if (json_is_integer(v))
		n = snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_boolean(v) && is_enum)
		n = snprintf(text, size, "%s", json_is_true(v) ? "on" : "off");
	else
		return -EINVAL;
	return n >= 0 && (size_t)n < size ? 0 : -EINVAL;
}

/* Key |key| of the section whose struct is |base|, with its |set|. */
static int set_member(const struct config_section *s, void *base, struct config_set *set,
		      const char *key, const json_t *v, char *err, size_t errlen)
{
	int i = config_key_find(s, key);
	char text[CONFIG_PATH_MAX];
	size_t offset;

	if (i < 0) {
		snprintf(err, errlen, "unknown key %s of a section [%s]", key, s->name);
		return -EINVAL;
	}
	if (value_text(v, config_key_at(s, (unsigned int)i, &offset)->type == CONFIG_ENUM, text,
		       sizeof(text))) {
		snprintf(err, errlen, "value of %s must be a string or a number", key);
		return -EINVAL;
	}
	if (config_key_set(s, (unsigned int)i, base, text, err, errlen))
		return -EINVAL;
	config_set_add(set, (unsigned int)i);
	return 0;
}

/* Every member of |obj| but "op" and "name". */
static int set_members(const json_t *obj, const struct config_section *s, void *base,
		       struct config_set *set, char *err, size_t errlen)
{
	const char *key;
	json_t *value;

	/* jansson iterates over a non-const object only, but does not change it. */
	json_object_foreach((json_t *)obj, key, value) {
		if (strcmp(key, "op") == 0 || strcmp(key, "name") == 0)
			continue;
		if (set_member(s, base, set, key, value, err, errlen))
			return -EINVAL;
	}
	return 0;
}

int config_nvme_from_json(const json_t *obj, struct nvme_config *out, char *err, size_t errlen)
{
	const char *name = json_string_value(json_object_get(obj, "name"));

	if (!name || !config_name_valid(name)) {
		snprintf(err, errlen, "an NVMe device needs a name of at most %d letters, digits, "
			 "'.', '_' and '-'", CONFIG_NAME_MAX - 1);
		return -EINVAL;
	}
	*out = (struct nvme_config){};
	snprintf(out->name, sizeof(out->name), "%s", name);
	config_section_defaults(&config_sections[CONFIG_NVME], out);
	return set_members(obj, &config_sections[CONFIG_NVME], out, &out->set, err, errlen);
}

int config_namespace_changed(const json_t *obj, struct namespace_config *ns, char *err,
			    size_t errlen)
{
	struct namespace_config changed = *ns;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)obj, key, value) {
		if (!strcmp(key, "op") || !strcmp(key, "name") || !strcmp(key, "iops") ||
		    !strcmp(key, "mbytes_per_s") || !strcmp(key, "ana"))
			continue;
		snprintf(err, errlen, "iops, mbytes_per_s and ana can be changed, %s cannot", key);
		return -EINVAL;
	}
	if (set_members(obj, &config_sections[CONFIG_NAMESPACE], &changed, &changed.set, err, errlen))
		return -EINVAL;
	*ns = changed;
	return 0;
}

int config_conn_from_json(const json_t *obj, const struct agent_options *defaults,
			  struct conn_config *out, char *err, size_t errlen)
{
	const char *name = json_string_value(json_object_get(obj, "name"));

	if (config_conn_name_check(name ? name : "", err, errlen))
		return -EINVAL;
	config_conn_init(out, name);
	if (set_members(obj, &config_sections[CONFIG_CONNECTION], out, &out->set, err, errlen))
		return -EINVAL;
	return config_conn_finish(out, defaults, err, errlen);
}

/* Whether key |i| was given, stems from [agent] or is the built-in default. */
static const char *source_of(const struct config_section *s, const struct config_set *set,
			     unsigned int i)
{
	if (config_set_has(set, i))
		return "configured";
	if (s == &config_sections[CONFIG_CONNECTION] && (i >= s->nkeys || s->keys[i].inherited))
		return "agent";
	return "default";
}

/* Append one row for every key of the section whose struct is |base|. */
static int show_section(json_t *rows, const struct config_section *s, const char *title,
			const void *base, const struct config_set *set)
{
	const struct config_key *k;
	char text[CONFIG_PATH_MAX];
	size_t offset;

	for (unsigned int i = 0; (k = config_key_at(s, i, &offset)); i++) {
		json_t *row;

		config_key_get(s, i, base, text, sizeof(text));
		row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "section", title, "key", k->name,
				"value", text, "unit", k->unit ? k->unit : "", "source",
				source_of(s, set, i), "help", k->help);
		if (json_array_append_new(rows, row))
			return -ENOMEM;
	}
	return 0;
}

int config_show_conn(json_t *rows, const struct conn_config *c)
{
	char title[CONFIG_NAME_MAX + 16];

	snprintf(title, sizeof(title), "connection %s", c->name);
	return show_section(rows, &config_sections[CONFIG_CONNECTION], title, c, &c->set);
}

int config_show_nvme(json_t *rows, const struct nvme_config *dev)
{
	char title[CONFIG_NAME_MAX + 16];

	snprintf(title, sizeof(title), "nvme %s", dev->name);
	return show_section(rows, &config_sections[CONFIG_NVME], title, dev, &dev->set);
}

static int show_nvme(json_t *rows, const struct agent_config *cfg)
{
	char title[CONFIG_NAME_MAX + 16];
	int ret = 0;

	for (unsigned int i = 0; i < cfg->nnamespaces && !ret; i++) {
		const struct namespace_config *ns = &cfg->namespaces[i];

		snprintf(title, sizeof(title), "namespace %s", ns->name);
		ret = show_section(rows, &config_sections[CONFIG_NAMESPACE], title, ns, &ns->set);
	}
	for (unsigned int i = 0; i < cfg->nnvmes && !ret; i++)
		ret = config_show_nvme(rows, &cfg->nvmes[i]);
	return ret;
}

static int show_agent_and_ports(json_t *rows, const struct agent_config *cfg)
{
	char title[CONFIG_NAME_MAX + 16];
	int ret;

	ret = show_section(rows, &config_sections[CONFIG_AGENT], "agent", &cfg->agent,
			   &cfg->agent.set);
	for (unsigned int i = 0; i < cfg->nports && !ret; i++) {
		const struct port_config *p = &cfg->ports[i];

		snprintf(title, sizeof(title), "port %s", p->ifname);
		ret = show_section(rows, &config_sections[CONFIG_PORT], title, p, &p->set);
	}
	for (unsigned int i = 0; i < cfg->npeers && !ret; i++) {
		const struct peer_config *p = &cfg->peers[i];

		snprintf(title, sizeof(title), "peer %s", p->name);
		ret = show_section(rows, &config_sections[CONFIG_PEER], title, p, &p->set);
	}
	for (unsigned int i = 0; i < cfg->nusers && !ret; i++) {
		const struct quota_section *s = &cfg->users[i];
		const struct config_section *kind =
			&config_sections[s->group ? CONFIG_GROUP : CONFIG_USER];

		snprintf(title, sizeof(title), "%s %s", kind->name, s->name);
		ret = show_section(rows, kind, title, s, &s->set);
	}
	return ret ? ret : show_nvme(rows, cfg);
}

json_t *config_show(const struct agent_config *cfg)
{
	json_t *rows = json_array();

	if (rows && (show_agent_and_ports(rows, cfg) || config_rue_show(&cfg->rue, rows))) {
		json_decref(rows);
		return NULL;
	}
	return rows;
}
