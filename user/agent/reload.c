// SPDX-License-Identifier: BSD-2-Clause
#include "agent/reload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/agent.h"
#include "agent/config/keys.h"
#include "agent/conn/conn.h"
#include "agent/nvme/nvme.h"
#include "agent/service.h"
#include "agent/tenant/quota.h"
#include "base/log.h"

/* Keys of [agent] that control alone looks at, whenever it needs them. */
static const char *const live_keys[] = { "log_level", "key_settle_ms", "metrics_connections" };

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

		/* Names of certificates have no case. */
		if ((l->id == CONFIG_PEER ? strcasecmp(at, section) : strcmp(at, section)) == 0 &&
		    is_group(l, at) == is_group(l, section))
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

/* Limits and ANA states are as the file says, also if falconctl has set others. */
static void take_changes(struct agent *a, const struct agent_config *new)
{
	const struct list now = LIST(CONFIG_NAMESPACE, new->namespaces, new->nnamespaces);

	for (unsigned int i = 0; i < a->config.nnamespaces; i++) {
		const struct namespace_config *was = &a->config.namespaces[i];
		const struct namespace_config *is = (const void *)find(&now, was->name);

		if (!is || (is->iops == was->iops && is->bytes_per_s == was->bytes_per_s &&
				    is->ana == was->ana))
			continue;
		agent_namespace_change(a, i, is);
		log_info("changed section=\"namespace %s\" iops=%llu bytes_per_s=%llu ana=%s", is->name,
			 (unsigned long long)is->iops, (unsigned long long)is->bytes_per_s,
			 is->ana == CONFIG_ANA_INACCESSIBLE ? "inaccessible" : "optimized");
	}
}

static void tell_all_waiting(const struct agent_config *old, const struct agent_config *new)
{
	json_t *was = json_array(), *is = json_array();

	tell_waiting(&LIST(CONFIG_PORT, old->ports, old->nports),
		     &LIST(CONFIG_PORT, new->ports, new->nports));
	tell_waiting(&LIST(CONFIG_NAMESPACE, old->namespaces, old->nnamespaces),
		     &LIST(CONFIG_NAMESPACE, new->namespaces, new->nnamespaces));
	if (config_rue_show(&old->rue, was) || config_rue_show(&new->rue, is) || !json_equal(was, is))
		log_warn("takes effect when the agent starts again section=\"swift or rue\"");
	json_decref(was);
	json_decref(is);
}

/* In order: of a user's groups the first section counts. */
static bool users_differ(const struct list *old, const struct list *new)
{
	if (old->n != new->n)
		return true;
	for (unsigned int i = 0; i < new->n; i++) {
		const char *was = old->base + i * old->size, *is = new->base + i * new->size;

		if (strcmp(was, is) || is_group(old, was) != is_group(new, is) ||
		    section_differs(old->id, was, is))
			return true;
	}
	return false;
}

/*
 * Users' limits. The socket stays open to those to whom it was when the agent started: with the first section
 * that is not yet everybody.
 */
static void take_users(struct agent *a, struct agent_config *new)
{
	struct quota_section *users = a->config.users;
	unsigned int nusers = a->config.nusers;
	char err[512];

	if (!users_differ(&LIST(CONFIG_USER, users, nusers), &LIST(CONFIG_USER, new->users, new->nusers)))
		return;
	if (quota_renew(a->quota, new->users, new->nusers, err, sizeof(err)) < 0) {
		log_warn("takes effect when the agent starts again section=\"user or group\": %s", err);
		return;
	}
	if (!nusers && !a->config.agent.socket_group[0])
		log_warn("the control socket lets other users in when the agent starts again");
	log_info("changed section=\"user or group\" sections=%u", new->nusers);
	a->config.users = new->users;
	a->config.nusers = new->nusers;
	new->users = users;
	new->nusers = nusers;
}

/* Accepted connections count for a section by its place, which may be another now. */
static void take_peers(struct agent *a, struct agent_config *new)
{
	const struct list now = LIST(CONFIG_PEER, new->peers, new->npeers);
	struct peer_config *peers = a->config.peers;
	unsigned int npeers = a->config.npeers;

	memset(a->peer_conns, 0, sizeof(a->peer_conns));
	for (uint32_t cid = 0; cid < a->plane.maps.nconns; cid++) {
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

/* That which a section has made; one that falconctl has made since, by the same name, is not. */
static struct agent_conn *configured(struct agent *a, const char *name)
{
	struct agent_conn *c = agent_conn_named(a, name);

	return c && c->configured ? c : NULL;
}

static void remove_conns(struct agent *a, const struct list *now)
{
	char err[512];

	for (unsigned int i = 0; i < a->config.nconns; i++) {
		const char *name = a->config.conns[i].name;

		if (!find(now, name) && configured(a, name) && agent_conn_del(a, name, err, sizeof(err)) < 0)
			log_warn("not removed section=\"connection %s\": %s", name, err);
	}
}

/* Whether |cfg| is what falconctl has added and saved: then it is the section's from now on. */
static bool adopt(struct agent *a, const struct conn_config *cfg)
{
	struct agent_conn *c = agent_conn_named(a, cfg->name);
	struct conn_config its;

	if (!c || c->configured || c->accepted || c->owned || c->ulp->ops->proto != FALCON_PROTO_RAW)
		return false;
	its = c->cfg;
	/* Which one it has is the agent's choice if none was given. */
	if (!cfg->local_cid)
		its.local_cid = 0;
	c->configured = !section_differs(CONFIG_CONNECTION, &its, cfg);
	return c->configured;
}

/* A section that cannot be followed now is as if it were not there: the next time it is tried again. */
static void add_conns(struct agent *a, struct agent_config *new)
{
	const struct list was = LIST(CONFIG_CONNECTION, a->config.conns, a->config.nconns);
	unsigned int n = 0;
	char err[512];

	for (unsigned int i = 0; i < new->nconns; i++) {
		struct conn_config *cfg = &new->conns[i];
		const void *old = find(&was, cfg->name);

		if (!old && !adopt(a, cfg) && agent_conn_configure(a, cfg, err, sizeof(err)) < 0) {
			log_warn("not added section=\"connection %s\": %s", cfg->name, err);
			continue;
		}
		if (old && section_differs(CONFIG_CONNECTION, old, cfg)) {
			log_warn("takes effect when the agent starts again section=\"connection %s\"",
				 cfg->name);
			*cfg = *(const struct conn_config *)old;
		}
		new->conns[n++] = *cfg;
	}
	new->nconns = n;
}

/* Compared with the file as it was: what falconctl has added or removed is left alone. */
static void take_conns(struct agent *a, struct agent_config *new)
{
	struct conn_config *conns = a->config.conns;
	unsigned int nconns = a->config.nconns;

	remove_conns(a, &LIST(CONFIG_CONNECTION, new->conns, new->nconns));
	add_conns(a, new);
	a->config.conns = new->conns;
	a->config.nconns = new->nconns;
	new->conns = conns;
	new->nconns = nconns;
}

/* Whether |cfg| is what falconctl has connected and saved: then it is the section's from now on. */
static bool adopt_nvme(struct agent *a, const struct nvme_config *cfg)
{
	const struct nvme_config *its = agent_nvme_by_command(a, cfg->name);

	if (!its || section_differs(CONFIG_NVME, its, cfg))
		return false;
	agent_nvme_adopt(a, cfg->name);
	return true;
}

/* What [nvme] section |cfg|, which was |old| or NULL, is to be now; false: it is as if it were not there. */
static bool take_nvme(struct agent *a, struct nvme_config *cfg, const void *old)
{
	char err[512];

	if (old && section_differs(CONFIG_NVME, old, cfg)) {
		log_warn("takes effect when the agent starts again section=\"nvme %s\"", cfg->name);
		*cfg = *(const struct nvme_config *)old;
	}
	if (old || adopt_nvme(a, cfg))
		return true;
	if (agent_nvme_add(a, cfg, true, err, sizeof(err)) < 0) {
		log_warn("not added section=\"nvme %s\": %s", cfg->name, err);
		return false;
	}
	log_info("added section=\"nvme %s\"", cfg->name);
	return true;
}

static void take_nvmes(struct agent *a, struct agent_config *new)
{
	struct nvme_config *nvmes = a->config.nvmes;
	const struct list was = LIST(CONFIG_NVME, nvmes, a->config.nnvmes);
	const struct list is = LIST(CONFIG_NVME, new->nvmes, new->nnvmes);
	unsigned int n = 0;

	for (unsigned int i = 0; i < was.n; i++) {
		if (find(&is, nvmes[i].name))
			continue;
		agent_nvme_remove(a, nvmes[i].name);
		log_info("removed section=\"nvme %s\"", nvmes[i].name);
	}
	for (unsigned int i = 0; i < is.n; i++) {
		struct nvme_config *cfg = &new->nvmes[i];

		if (take_nvme(a, cfg, find(&was, cfg->name)))
			new->nvmes[n++] = *cfg;
	}
	a->config.nvmes = new->nvmes;
	a->config.nnvmes = n;
	new->nvmes = nvmes;
	new->nnvmes = was.n;
}

static void reload(struct agent *a)
{
	struct agent_config *new = calloc(1, sizeof(*new));
	char err[512] = "out of memory";

	if (!new || config_load(a->config_path, new, err, sizeof(err)) < 0) {
		log_err("configuration not read again, nothing changes: %s", err);
		free(new);
		return;
	}
	take_agent_keys(a, &new->agent);
	take_changes(a, new);
	take_users(a, new);
	tell_all_waiting(&a->config, new);
	take_peers(a, new);
	take_conns(a, new);
	take_nvmes(a, new);
	config_free(new);
	free(new);
	log_info("configuration read again config=%s", a->config_path);
}

void agent_reload(struct agent *a)
{
	service_reloading();
	reload(a);
	service_ready();
}
