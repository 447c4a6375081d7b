// SPDX-License-Identifier: BSD-2-Clause
#include "agent/nvme/nvme.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/config/nvme.h"
#include "agent/conn/heard.h"
#include "agent/conn/rows.h"
#include "agent/nvme/app.h"
#include "agent/nvme/priv.h"
#include "agent/shard/shard.h"
#include "agent/stats/stat.h"
#include "agent/tenant/operator.h"
#include "base/log.h"
#include "base/pi.h"
#include "io/netdev.h"

static bool open_stores(struct agent_nvme *n, unsigned int i, char *err, size_t errlen)
{
	const struct namespace_config *ns = &n->a->config.namespaces[i];
	uint32_t block = config_block_bytes(ns);
	unsigned int flags = (ns->read_only ? NVME_STORE_READ_ONLY : 0) |
			     (ns->page_cache ? NVME_STORE_CACHED : 0);

	n->stores[i] = nvme_store_open(ns->path, block, flags, err, errlen);
	if (!n->stores[i] || !ns->protection[0])
		return n->stores[i];
	n->metadata[i] = nvme_store_open_metadata(ns->protection, n->stores[i]->bytes / block,
						  sizeof(struct nvme_md), ns->read_only, err,
						  errlen);
	return n->metadata[i];
}

int agent_nvme_prepare(struct agent *a)
{
	const struct agent_config *cfg = &a->config;
	char err[512];
	int rc;

	a->nvme = calloc(1, sizeof(*a->nvme));
	if (a->nvme && cfg->nnamespaces)
		a->nvme->stores = calloc(cfg->nnamespaces, sizeof(*a->nvme->stores));
	if (a->nvme && cfg->nnamespaces)
		a->nvme->metadata = calloc(cfg->nnamespaces, sizeof(*a->nvme->metadata));
	if (a->nvme && cfg->nnamespaces)
		a->nvme->cuts = calloc(cfg->nnamespaces, sizeof(*a->nvme->cuts));
	if (!a->nvme || (cfg->nnamespaces && (!a->nvme->stores || !a->nvme->metadata || !a->nvme->cuts))) {
		log_err("out of memory");
		return -ENOMEM;
	}
	a->nvme->a = a;
	TAILQ_INIT(&a->nvme->made);
	rc = agent_nvme_read_keys(a->nvme, err, sizeof(err));
	if (rc < 0) {
		log_err("%s", err);
		return rc;
	}
	for (unsigned int i = 0; i < cfg->nnamespaces; i++) {
		if (open_stores(a->nvme, i, err, sizeof(err)))
			continue;
		log_err("namespace %s: %s", cfg->namespaces[i].name, err);
		return -EINVAL;
	}
	return 0;
}

/* All shards' targets know of it; its owner's serves it. */
static int add_namespace(struct shard_nvme *s, unsigned int i, char *err, size_t errlen)
{
	struct agent_nvme *n = s->all;
	const struct namespace_config *cfg = &n->a->config.namespaces[i];
	const struct shard_nvme *owner = agent_namespace_owner(n, i);
	struct nvme_ns_attr attr = {
		.peers = cfg->peers, .store = n->stores[i],
		.metadata = n->metadata[i], .inaccessible = cfg->ana == CONFIG_ANA_INACCESSIBLE,
		.nsid = cfg->nsid, .shard = owner->shard->index,
		.block_shift = cfg->block_size == CONFIG_BLOCK_512 ? 9 : 12,
		.unchecked = !cfg->protection_check, .read_only = cfg->read_only,
		.iops = cfg->iops, .bps = cfg->bytes_per_s,
	};

	memcpy(attr.name, cfg->name, sizeof(attr.name));
	config_nguid(cfg->nguid, attr.nguid);
	if (owner == s) {
		nvme_store_attach(n->stores[i], s->ring);
		if (n->metadata[i])
			nvme_store_attach(n->metadata[i], s->ring);
		log_info("namespace %s nsid=%u path=%s direct=%s thread=%u", cfg->name, cfg->nsid,
			 cfg->path, nvme_store_direct(n->stores[i]) ? "yes" : "no", s->shard->index);
	}
	return nvme_target_add(s->ulp.target, &attr, err, errlen);
}

/* Of as many shards as have namespaces of their own, each with its part of the memory. */
static int open_target(struct shard_nvme *s, unsigned int owners, char *err, size_t errlen)
{
	const struct agent_config *cfg = &s->all->a->config;
	size_t bytes;
	void *memory;
	int rc;

	s->ulp.target = nvme_target_create(s->shard->index, config_nvme_memory(cfg) / owners);
	if (!s->ulp.target)
		return -ENOMEM;
	nvme_target_set_host(s->ulp.target, &shard_ulp_host, s->shard);
	memory = nvme_target_memory(s->ulp.target, &bytes);
	rc = nvme_ring_open(&s->ring, memory, bytes, err, errlen);
	for (unsigned int i = 0; i < cfg->nnamespaces && rc == 0; i++)
		rc = add_namespace(s, i, err, errlen);
	if (rc == 0)
		rc = shard_watch(s->shard, nvme_ring_fd(s->ring));
	return rc;
}

static uint32_t pump(void *arg, uint64_t now)
{
	struct shard_nvme *s = arg;

	agent_namespaces_look(s, now);
	return nvme_apps_pump(s->apps, now);
}

static uint32_t pump_stores(void *arg)
{
	struct shard_nvme *s = arg;

	return s->ring ? nvme_ring_poll(s->ring) : 0;
}

static bool sleep_begin(void *arg)
{
	struct shard_nvme *s = arg;

	if (s->ring && !nvme_ring_sleep_begin(s->ring))
		return false;
	if (nvme_apps_sleep_begin(s->apps))
		return true;
	if (s->ring)
		nvme_ring_sleep_end(s->ring);
	return false;
}

static void sleep_end(void *arg)
{
	struct shard_nvme *s = arg;

	if (s->ring)
		nvme_ring_sleep_end(s->ring);
	nvme_apps_sleep_end(s->apps);
}

static void app_broken(void *arg, struct nvme_app *app, const char *why)
{
	struct shard_nvme *s = arg;

	(void)app, (void)why;
	news_clients(s->shard);
}

/* |id|: of the agent, towards targets. */
static int open_shard(struct shard_nvme *s, const uint8_t *id, char *err, size_t errlen)
{
	const struct agent *a = s->all->a;
	unsigned int nshards = a->plane.nshards, nnamespaces = a->config.nnamespaces;
	unsigned int owners = nshards < nnamespaces ? nshards : nnamespaces;
	int rc = 0;

	s->apps = nvme_apps_create(app_broken, s);
	s->ulp.initiator = nvme_initiator_create(id, s->shard->index, a->plane.nshards);
	if (!s->apps || !s->ulp.initiator)
		return -ENOMEM;
	nvme_initiator_set_host(s->ulp.initiator, &shard_ulp_host, s->shard);
	if (s->shard->index < owners)
		rc = open_target(s, owners, err, errlen);
	if (rc < 0)
		return rc;
	s->ulp.pump = pump;
	s->ulp.stores = pump_stores;
	s->ulp.sleep_begin = sleep_begin;
	s->ulp.sleep_end = sleep_end;
	s->ulp.arg = s;
	shard_ulp_add(s->shard, &nvme_ulp_ops, &s->ulp);
	return 0;
}

int agent_nvme_open(struct agent *a)
{
	struct agent_nvme *n = a->nvme;
	char err[512] = "out of memory";
	uint8_t id[16];
	int rc = getrandom(id, sizeof(id), 0) == sizeof(id) ? 0 : -errno;

	n->shards = calloc(a->plane.nshards, sizeof(*n->shards));
	if (!n->shards)
		rc = -ENOMEM;
	for (unsigned int i = 0; n->shards && i < a->plane.nshards; i++)
		n->shards[i] = (struct shard_nvme){ .all = n, .shard = &a->plane.shards[i] };
	for (unsigned int i = 0; i < a->plane.nshards && rc == 0; i++)
		rc = open_shard(&n->shards[i], id, err, sizeof(err));
	if (rc == 0)
		rc = agent_nvme_open_devices(n, err, sizeof(err));
	if (rc < 0)
		log_err("%s", err);
	return rc;
}

void agent_nvme_close(struct agent *a)
{
	struct agent_nvme *n = a->nvme;

	if (!n)
		return;
	for (unsigned int i = 0; n->shards && i < a->plane.nshards; i++) {
		nvme_ring_close(n->shards[i].ring);
		nvme_target_destroy(n->shards[i].ulp.target);
		nvme_initiator_destroy(n->shards[i].ulp.initiator);
		nvme_apps_destroy(n->shards[i].apps);
	}
	for (unsigned int i = 0; n->stores && i < a->config.nnamespaces; i++)
		nvme_store_close(n->stores[i]);
	for (unsigned int i = 0; n->metadata && i < a->config.nnamespaces; i++)
		nvme_store_close(n->metadata[i]);
	agent_nvme_close_devices(n);
	free(n->shards);
	free(n->stores);
	free(n->metadata);
	free(n->cuts);
	free(n);
	a->nvme = NULL;
}

struct nvme_dev *agent_nvme_find(const struct agent_nvme *n, const char *name, struct shard_nvme **s)
{
	struct nvme_dev *dev = NULL;

	for (unsigned int i = 0; i < n->a->plane.nshards && !dev; i++) {
		dev = nvme_dev_find(n->shards[i].ulp.initiator, name);
		if (dev && s)
			*s = &n->shards[i];
	}
	return dev;
}

void agent_show_namespace(struct agent *a, const struct show_query *q, json_t *rows)
{
	/* Where it is, and whose it is elsewhere, is the operator's business. */
	bool operator = user_is_operator(q->uid);

	for (unsigned int i = 0; i < a->config.nnamespaces; i++) {
		const struct shard_nvme *owner = agent_namespace_owner(a->nvme, i);
		struct nvme_target_stats all;
		struct nvme_ns_stats s;
		struct nvme_ns_attr attr;
		json_t *row;

		nvme_target_ns(owner->ulp.target, i, &attr, &s);
		nvme_target_stats(owner->ulp.target, &all);
		row = json_pack("{s:s, s:i, s:i, s:s, s:I, s:i, s:b, s:b, s:s, s:s, s:I, s:I}", "name",
				attr.name, "nsid", (int)attr.nsid, "shard", (int)attr.shard, "path",
				operator ? a->config.namespaces[i].path : "", "bytes",
				(json_int_t)nvme_store_bytes(attr.store), "block_size",
				1 << attr.block_shift, "read_only", attr.read_only, "protected",
				attr.metadata != NULL, "ana",
				attr.inaccessible ? "inaccessible" : "optimized", "peers",
				operator ? attr.peers : "", "iops", (json_int_t)attr.iops,
				"bytes_per_s", (json_int_t)attr.bps);
		STAT_PUT(row, NVME_NS_STATS, &s);
		STAT_PUT(row, NVME_TARGET_STATS, &all);
		json_array_append_new(rows, row);
	}
}
