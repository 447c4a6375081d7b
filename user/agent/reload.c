// SPDX-License-Identifier: BSD-2-Clause
#include "agent/reload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/config_keys.h"
#include "base/log.h"

/* Keys of [agent] that control alone looks at, whenever it needs them. */
static const char *const live_keys[] = { "log_level", "key_settle_ms" };

static bool is_live(const char *key)
{
	for (size_t i = 0; i < sizeof(live_keys) / sizeof(live_keys[0]); i++)
		if (!strcmp(live_keys[i], key))
			return true;
	return false;
}

static bool key_differs(const struct config_section *s, unsigned int i, const void *x, const void *y)
{
	char a[CONFIG_PATH_MAX], b[CONFIG_PATH_MAX];

	config_key_get(s, i, x, a, sizeof(a));
	config_key_get(s, i, y, b, sizeof(b));
	return strcmp(a, b);
}

static void take_agent_keys(struct agent *a, const struct agent_options *new)
{
	const struct config_section *s = &config_sections[CONFIG_AGENT];
	const struct config_key *key;
	size_t offset;

	for (unsigned int i = 0; (key = config_key_at(s, i, &offset)); i++) {
		if (!key_differs(s, i, &a->config.agent, new))
			continue;
		if (is_live(key->name)) {
			memcpy((char *)&a->config.agent + offset, (const char *)new + offset, key->size);
			log_info("changed section=agent key=%s", key->name);
		} else {
			log_warn("takes effect when the agent starts again section=agent key=%s", key->name);
		}
	}
	if (!a->verbose)
		log_set_level(a->config.agent.log_level);
}

/* Sections of one kind, each of which begins with its name. */
struct list {
	enum config_section_id id;
	const char *base;
	unsigned int n;
	size_t size;			/* bytes of one */
};

#define LIST(kind, array, count) \
	((struct list){ (kind), (const char *)(array), (count), sizeof((array)[0]) })

/* [user NAME] and [group NAME] are in one list. */
static bool is_group(const struct list *l, const char *section)
{
	return l->id == CONFIG_USER && ((const struct quota_section *)(const void *)section)->group;
}

/* The section of |l| that is named as |section|, one of the same kind. */
static const char *find(const struct list *l, const char *section)
{
	for (unsigned int i = 0; i < l->n; i++) {
		const char *at = l->base + i * l->size;

		if (!strcmp(at, section) && is_group(l, at) == is_group(l, section))
			return at;
	}
	return NULL;
}

static bool section_differs(enum config_section_id id, const void *x, const void *y)
{
	const struct config_section *s = &config_sections[id];
	size_t offset;

	for (unsigned int i = 0; config_key_at(s, i, &offset); i++)
		if (key_differs(s, i, x, y))
			return true;
	return false;
}

/* A line for each section of |new| that is another than in |old|, or was not there, or is not any more. */
static void tell_waiting(const struct list *old, const struct list *new)
{
	const char *section = config_sections[old->id].name;

	for (unsigned int i = 0; i < new->n; i++) {
		const char *name = new->base + i * new->size, *was = find(old, name);

		if (!was || section_differs(old->id, was, name))
			log_warn("takes effect when the agent starts again section=\"%s %s\"", section, name);
	}
	for (unsigned int i = 0; i < old->n; i++)
		if (!find(new, old->base + i * old->size))
			log_warn("stays until the agent starts again section=\"%s %s\"", section,
				 old->base + i * old->size);
}

static void tell_all_waiting(const struct agent_config *old, const struct agent_config *new)
{
	json_t *was = json_array(), *is = json_array();

	tell_waiting(&LIST(CONFIG_PORT, old->ports, old->nports),
		     &LIST(CONFIG_PORT, new->ports, new->nports));
	tell_waiting(&LIST(CONFIG_USER, old->users, old->nusers),
		     &LIST(CONFIG_USER, new->users, new->nusers));
	tell_waiting(&LIST(CONFIG_NAMESPACE, old->namespaces, old->nnamespaces),
		     &LIST(CONFIG_NAMESPACE, new->namespaces, new->nnamespaces));
	tell_waiting(&LIST(CONFIG_NVME, old->nvmes, old->nnvmes),
		     &LIST(CONFIG_NVME, new->nvmes, new->nnvmes));
	if (config_rue_show(&old->rue, was) || config_rue_show(&new->rue, is) || !json_equal(was, is))
		log_warn("takes effect when the agent starts again section=\"swift or rue\"");
	json_decref(was);
	json_decref(is);
}

/* Accepted connections count for a section by its place, which may be another now. */
static void take_peers(struct agent *a, struct agent_config *new)
{
	const struct list now = LIST(CONFIG_PEER, new->peers, new->npeers);
	struct peer_config *peers = a->config.peers;
	unsigned int npeers = a->config.npeers;

	memset(a->peer_conns, 0, sizeof(a->peer_conns));
	for (uint32_t cid = 0; cid < a->maps.nconns; cid++) {
		struct agent_conn *c = a->conns[cid];
		const char *at;

		if (!c || !c->accepted || c->loop || c->leaving)
			continue;
		at = c->section < npeers ? find(&now, peers[c->section].name) : NULL;
		c->section = at ? (uint32_t)((size_t)(at - now.base) / now.size) : CONFIG_PEERS_MAX;
		a->peer_conns[c->section]++;
		if (!at && !c->gone)
			agent_conn_drop(c, "its [peer] section has gone");
	}
	a->config.peers = new->peers;
	a->config.npeers = new->npeers;
	new->peers = peers;
	new->npeers = npeers;
}

/* Compared with the file as it was: what falconctl has added or removed is left alone. */
static void take_conns(struct agent *a, struct agent_config *new)
{
	const struct list was = LIST(CONFIG_CONNECTION, a->config.conns, a->config.nconns);
	const struct list now = LIST(CONFIG_CONNECTION, new->conns, new->nconns);
	struct conn_config *conns = a->config.conns;
	unsigned int nconns = a->config.nconns;
	char err[512];

	for (unsigned int i = 0; i < nconns; i++)
		if (!find(&now, conns[i].name) && agent_conn_find(a, conns[i].name) &&
		    agent_conn_del(a, conns[i].name, err, sizeof(err)) < 0)
			log_warn("not removed section=\"connection %s\": %s", conns[i].name, err);
	for (unsigned int i = 0; i < new->nconns; i++) {
		const char *old = find(&was, new->conns[i].name);

		if (!old) {
			if (agent_conn_add(a, &new->conns[i], err, sizeof(err)) < 0)
				log_warn("not added section=\"connection %s\": %s", new->conns[i].name, err);
		} else if (section_differs(CONFIG_CONNECTION, old, &new->conns[i])) {
			log_warn("takes effect when the agent starts again, or the connection is deleted and "
				 "added section=\"connection %s\"", new->conns[i].name);
			new->conns[i] = *(const struct conn_config *)(const void *)old;
		}
	}
	a->config.conns = new->conns;
	a->config.nconns = new->nconns;
	new->conns = conns;
	new->nconns = nconns;
}

void agent_reload(struct agent *a)
{
	struct agent_config *new = calloc(1, sizeof(*new));
	char err[512] = "out of memory";

	if (!new || config_load(a->config_path, new, err, sizeof(err)) < 0) {
		log_err("configuration not read again, nothing changes: %s", err);
		free(new);
		return;
	}
	take_agent_keys(a, &new->agent);
	tell_all_waiting(&a->config, new);
	take_peers(a, new);
	take_conns(a, new);
	config_free(new);
	free(new);
	log_info("configuration read again config=%s", a->config_path);
}
