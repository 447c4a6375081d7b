// SPDX-License-Identifier: BSD-2-Clause
#include "agent/nvme.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/commands.h"
#include "agent/config_nvme.h"
#include "base/log.h"
#include "agent/nvme_app.h"
#include "agent/nvme_priv.h"
#include "agent/own.h"
#include "agent/stat.h"
#include "crypto/locked.h"
#include "crypto/xts.h"
#include "io/netdev.h"
#include "base/pi.h"

/* A device's cipher; |xts| is NULL if it has none. */
struct xts_cipher {
	struct nvme_cipher cipher;
	struct xts *xts;
};

static bool crypt_xts(const struct nvme_cipher *cipher, bool encrypt, uint64_t unit, const void *in,
		      void *out, uint32_t len, struct nvme_pi *pi)
{
	return xts_crypt(((const struct xts_cipher *)cipher)->xts, encrypt, unit, in, out, len, pi);
}

/* The key is in memory only as long as the cipher takes to be made of it; it is told to nobody. */
static int open_cipher(const struct nvme_config *cfg, struct xts_cipher *out)
{
	uint8_t *key = locked_new(XTS_KEY);
	char err[512] = "out of locked memory";
	int rc = key ? xts_read_key(cfg->key_file, key, err, sizeof(err)) : -ENOMEM;

	if (rc == 0) {
		out->cipher.crypt = crypt_xts;
		out->xts = xts_new(key);
		rc = out->xts ? 0 : -EINVAL;
		snprintf(err, sizeof(err), "OpenSSL refuses the key");
	}
	locked_free(key, XTS_KEY);
	if (rc < 0)
		log_err("nvme %s: %s", cfg->name, err);
	return rc;
}

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

	a->nvme = calloc(1, sizeof(*a->nvme));
	if (a->nvme && cfg->nnamespaces)
		a->nvme->stores = calloc(cfg->nnamespaces, sizeof(*a->nvme->stores));
	if (a->nvme && cfg->nnamespaces)
		a->nvme->metadata = calloc(cfg->nnamespaces, sizeof(*a->nvme->metadata));
	if (a->nvme && cfg->nnamespaces)
		a->nvme->cuts = calloc(cfg->nnamespaces, sizeof(*a->nvme->cuts));
	if (a->nvme && cfg->nnvmes)
		a->nvme->ciphers = calloc(cfg->nnvmes, sizeof(*a->nvme->ciphers));
	if (!a->nvme || (cfg->nnamespaces && (!a->nvme->stores || !a->nvme->metadata || !a->nvme->cuts)) ||
	    (cfg->nnvmes && !a->nvme->ciphers)) {
		log_err("out of memory");
		return -ENOMEM;
	}
	a->nvme->a = a;
	a->nvme->nciphers = cfg->nnvmes;
	for (unsigned int i = 0; i < cfg->nnvmes; i++) {
		int rc = cfg->nvmes[i].key_file[0] ?
				 open_cipher(&cfg->nvmes[i], &a->nvme->ciphers[i]) : 0;

		if (rc < 0)
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
		.metadata = n->metadata[i], .nsid = cfg->nsid, .shard = owner->shard->index,
		.block_shift = cfg->block_size == CONFIG_BLOCK_512 ? 9 : 12,
		.unchecked = !cfg->protection_check, .read_only = cfg->read_only,
		.iops = cfg->iops, .bps = cfg->bytes_per_s,
	};

	memcpy(attr.name, cfg->name, sizeof(attr.name));
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

static int open_devices(struct agent_nvme *n, char *err, size_t errlen)
{
	struct nvme_dev_attr attr;
	int rc = 0;

	for (unsigned int i = 0; i < n->a->config.nnvmes && rc == 0; i++) {
		rc = config_nvme_dev(&n->a->config.nvmes[i], &attr, err, errlen);
		attr.by_file = true;
		if (n->ciphers[i].xts)
			attr.cipher = &n->ciphers[i].cipher;
		if (rc == 0)
			rc = agent_nvme_make(n, &attr, err, errlen);
	}
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
	unsigned int owners = a->nshards < a->config.nnamespaces ? a->nshards : a->config.nnamespaces;
	int rc = 0;

	s->apps = nvme_apps_create(app_broken, s);
	s->ulp.initiator = nvme_initiator_create(id, s->shard->index, a->nshards);
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

	n->shards = calloc(a->nshards, sizeof(*n->shards));
	if (!n->shards)
		rc = -ENOMEM;
	for (unsigned int i = 0; n->shards && i < a->nshards; i++)
		n->shards[i] = (struct shard_nvme){ .all = n, .shard = &a->shards[i] };
	for (unsigned int i = 0; i < a->nshards && rc == 0; i++)
		rc = open_shard(&n->shards[i], id, err, sizeof(err));
	if (rc == 0)
		rc = open_devices(n, err, sizeof(err));
	if (rc < 0)
		log_err("%s", err);
	return rc;
}

void agent_nvme_close(struct agent *a)
{
	struct agent_nvme *n = a->nvme;

	if (!n)
		return;
	for (unsigned int i = 0; n->shards && i < a->nshards; i++) {
		nvme_ring_close(n->shards[i].ring);
		nvme_target_destroy(n->shards[i].ulp.target);
		nvme_initiator_destroy(n->shards[i].ulp.initiator);
		nvme_apps_destroy(n->shards[i].apps);
	}
	for (unsigned int i = 0; n->stores && i < a->config.nnamespaces; i++)
		nvme_store_close(n->stores[i]);
	for (unsigned int i = 0; n->metadata && i < a->config.nnamespaces; i++)
		nvme_store_close(n->metadata[i]);
	for (unsigned int i = 0; i < n->nciphers; i++)
		xts_free(n->ciphers[i].xts);
	free(n->ciphers);
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

	for (unsigned int i = 0; i < n->a->nshards && !dev; i++) {
		dev = nvme_dev_find(n->shards[i].ulp.initiator, name);
		if (dev && s)
			*s = &n->shards[i];
	}
	return dev;
}

/*
 * The initiator for a device of |attr|: that which has a device of this name, and will refuse a second one;
 * else that which has devices of the same controller, as an application's queues are for all of them; else
 * that with the fewest devices.
 */
static struct nvme_initiator *initiator_for(const struct agent_nvme *n, const struct nvme_dev_attr *attr)
{
	struct nvme_initiator *in, *best = n->shards[0].ulp.initiator;

	for (unsigned int i = 0; i < n->a->nshards; i++)
		if (nvme_dev_find(n->shards[i].ulp.initiator, attr->name))
			return n->shards[i].ulp.initiator;
	for (unsigned int i = 0; i < n->a->nshards; i++) {
		in = n->shards[i].ulp.initiator;
		if (nvme_initiator_has_controller(in, attr))
			return in;
		if (nvme_initiator_devices(in) < nvme_initiator_devices(best))
			best = in;
	}
	return best;
}

int agent_nvme_make(struct agent_nvme *n, const struct nvme_dev_attr *attr, char *err, size_t errlen)
{
	return nvme_initiator_add(initiator_for(n, attr), attr, err, errlen);
}

struct section {
	struct agent_nvme *nvme;
	const struct nvme_config *cfg;	/* to be added */
	const char *name;		/* to be removed */
	char *err;
	size_t errlen;
	int rc;
};

/* In a call. */
static void add_section(void *arg)
{
	struct section *s = arg;
	struct nvme_dev_attr attr;

	s->rc = config_nvme_dev(s->cfg, &attr, s->err, s->errlen);
	attr.by_file = true;
	if (s->rc == 0)
		s->rc = agent_nvme_make(s->nvme, &attr, s->err, s->errlen);
}

int agent_nvme_add(struct agent *a, const struct nvme_config *cfg, char *err, size_t errlen)
{
	struct section s = { .nvme = a->nvme, .cfg = cfg, .err = err, .errlen = errlen };

	agent_call(a, add_section, &s);
	return s.rc;
}

/* In a call. */
static void remove_section(void *arg)
{
	const struct section *s = arg;
	struct nvme_dev *dev = agent_nvme_find(s->nvme, s->name, NULL);

	if (dev && nvme_dev_attr(dev)->by_file)
		nvme_initiator_remove(dev);
}

void agent_nvme_remove(struct agent *a, const char *name)
{
	struct section s = { .nvme = a->nvme, .name = name };

	agent_call(a, remove_section, &s);
}

json_t *agent_nvme_row(const struct shard_nvme *s, const struct nvme_dev *dev)
{
	const struct nvme_dev_attr *attr = nvme_dev_attr(dev);
	struct nvme_dev_info i;
	json_t *row;

	nvme_dev_info(dev, &i);
	row = json_pack("{s:s, s:s, s:i, s:b, s:b, s:i, s:I, s:i, s:b, s:i, s:i, s:i, s:b, s:b, s:s}",
			"name", attr->name, "controller", nvme_dev_controller(dev), "shard",
			(int)s->shard->index, "ready", i.ready,
			"encrypted", attr->cipher != NULL, "nsid", (int)attr->nsid, "bytes",
			(json_int_t)(i.blocks << i.block_shift), "block_size",
			i.ready ? 1 << i.block_shift : 0, "read_only", i.read_only, "targets",
			(int)attr->ntargets, "connected", (int)i.up, "protection", attr->protection,
			"protected", i.protected, "refused", i.refused,
			"reason", i.reason);
	stat_put(row, STAT_NVME_DEV, &i);
	return row;
}

void agent_show_nvme(struct agent *a, const struct show_query *q, json_t *rows)
{
	struct nvme_dev *dev;

	(void)q;
	for (unsigned int k = 0; k < a->nshards; k++) {
		const struct shard_nvme *s = &a->nvme->shards[k];

		for (unsigned int i = 0; (dev = nvme_dev_at(s->ulp.initiator, i)); i++)
			json_array_append_new(rows, agent_nvme_row(s, dev));
	}
}

void agent_show_namespace(struct agent *a, const struct show_query *q, json_t *rows)
{
	/* Where it is, and whose it is elsewhere, is the operator's business. */
	bool operator = own_all(q->uid);

	for (unsigned int i = 0; i < a->config.nnamespaces; i++) {
		const struct shard_nvme *owner = agent_namespace_owner(a->nvme, i);
		struct nvme_target_stats all;
		struct nvme_ns_stats s;
		struct nvme_ns_attr attr;
		json_t *row;

		nvme_target_ns(owner->ulp.target, i, &attr, &s);
		nvme_target_stats(owner->ulp.target, &all);
		row = json_pack("{s:s, s:i, s:i, s:s, s:I, s:i, s:b, s:b, s:s, s:I, s:I}", "name", attr.name,
				"nsid", (int)attr.nsid, "shard", (int)attr.shard, "path",
				operator ? a->config.namespaces[i].path : "", "bytes",
				(json_int_t)nvme_store_bytes(attr.store), "block_size",
				1 << attr.block_shift, "read_only", attr.read_only, "protected",
				attr.metadata != NULL, "peers", operator ? attr.peers : "", "iops",
				(json_int_t)attr.iops, "bytes_per_s", (json_int_t)attr.bps);
		stat_put(row, STAT_NVME_NS, &s);
		stat_put(row, STAT_NVME_TARGET, &all);
		json_array_append_new(rows, row);
	}
}
