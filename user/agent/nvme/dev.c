// SPDX-License-Identifier: BSD-2-Clause
/* Virtual NVMe devices: of the file's sections, and of falconctl's commands. */
#include "agent/nvme/priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/config/nvme.h"
#include "agent/nvme/nvme.h"
#include "agent/stats/stat.h"
#include "crypto/locked.h"
#include "crypto/xts.h"

/* A device that is there. */
struct nvme_made {
	TAILQ_ENTRY(nvme_made) link;
	struct nvme_config cfg;
	bool by_file;			/* a section of the file says so; else a command */
};

struct xts_cipher {
	struct nvme_cipher cipher;
	struct xts *xts;
};

static bool crypt_xts(const struct nvme_cipher *cipher, bool encrypt, uint64_t unit, const void *in,
		      void *out, uint32_t len, struct nvme_pi *pi)
{
	return xts_crypt(((const struct xts_cipher *)cipher)->xts, encrypt, unit, in, out, len, pi);
}

static void release_xts(struct nvme_cipher *cipher)
{
	struct xts_cipher *x = (struct xts_cipher *)cipher;

	xts_free(x->xts);
	free(x);
}

/* The key is in memory only as long as the cipher takes to be made of it; it is told to nobody. */
static int open_cipher(const struct nvme_config *cfg, struct nvme_cipher **out, char *err, size_t errlen)
{
	struct xts_cipher *x = calloc(1, sizeof(*x));
	uint8_t *key = locked_new(XTS_KEY);
	char why[512] = "out of locked memory";
	int rc = x && key ? xts_read_key(cfg->key_file, key, why, sizeof(why)) : -ENOMEM;

	if (rc == 0) {
		x->cipher = (struct nvme_cipher){ .crypt = crypt_xts, .release = release_xts };
		x->xts = xts_new(key);
		rc = x->xts ? 0 : -EINVAL;
		snprintf(why, sizeof(why), "OpenSSL refuses the key");
	}
	locked_free(key, XTS_KEY);
	if (rc < 0) {
		free(x);
		snprintf(err, errlen, "nvme %s: %s", cfg->name, why);
		return rc;
	}
	*out = &x->cipher;
	return 0;
}

/*
 * The initiator for a device of |attr|: that which has a device of this name, and will refuse a second one;
 * else that which has devices of the same controller, as an application's queues are for all of them; else
 * that with the fewest devices.
 */
static struct nvme_initiator *initiator_for(const struct agent_nvme *n, const struct nvme_dev_attr *attr)
{
	struct nvme_initiator *in, *best = n->shards[0].ulp.initiator;

	for (unsigned int i = 0; i < n->a->plane.nshards; i++)
		if (nvme_dev_find(n->shards[i].ulp.initiator, attr->name))
			return n->shards[i].ulp.initiator;
	for (unsigned int i = 0; i < n->a->plane.nshards; i++) {
		in = n->shards[i].ulp.initiator;
		if (nvme_initiator_has_controller(in, attr))
			return in;
		if (nvme_initiator_devices(in) < nvme_initiator_devices(best))
			best = in;
	}
	return best;
}

struct making {
	struct agent_nvme *nvme;
	struct nvme_made *made;
	struct nvme_dev_attr attr;
	char *err;
	size_t errlen;
	int rc;
};

/* In a call. */
static void make(void *arg)
{
	struct making *m = arg;

	m->rc = nvme_initiator_add(initiator_for(m->nvme, &m->attr), &m->attr, m->err, m->errlen);
	if (m->rc == 0)
		TAILQ_INSERT_TAIL(&m->nvme->made, m->made, link);
}

/* |cipher|, or NULL, is the device's from now on. */
static int add(struct agent_nvme *n, const struct nvme_config *cfg, bool by_file, struct nvme_cipher *cipher,
	       char *err, size_t errlen)
{
	struct making m = { .nvme = n, .made = calloc(1, sizeof(*m.made)), .err = err, .errlen = errlen };

	snprintf(err, errlen, "out of memory");
	m.rc = m.made ? config_nvme_dev(cfg, &m.attr, err, errlen) : -ENOMEM;
	if (m.rc == 0) {
		m.made->cfg = *cfg;
		m.made->by_file = by_file;
		m.attr.cipher = cipher;
		plane_call(&n->a->plane, make, &m);
	}
	if (m.rc < 0) {
		free(m.made);
		if (cipher)
			cipher->release(cipher);
	}
	return m.rc;
}

int agent_nvme_add(struct agent *a, const struct nvme_config *cfg, bool by_file, char *err, size_t errlen)
{
	struct nvme_cipher *cipher = NULL;
	int rc = cfg->key_file[0] ? open_cipher(cfg, &cipher, err, errlen) : 0;

	return rc ? rc : add(a->nvme, cfg, by_file, cipher, err, errlen);
}

int agent_nvme_read_keys(struct agent_nvme *n, char *err, size_t errlen)
{
	const struct agent_config *cfg = &n->a->config;
	int rc = 0;

	n->ciphers = calloc(cfg->nnvmes ? cfg->nnvmes : 1, sizeof(*n->ciphers));
	if (!n->ciphers) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	n->nciphers = cfg->nnvmes;
	for (unsigned int i = 0; i < n->nciphers && rc == 0; i++)
		if (cfg->nvmes[i].key_file[0])
			rc = open_cipher(&cfg->nvmes[i], &n->ciphers[i], err, errlen);
	return rc;
}

int agent_nvme_open_devices(struct agent_nvme *n, char *err, size_t errlen)
{
	const struct agent_config *cfg = &n->a->config;
	struct nvme_cipher *cipher;
	int rc = 0;

	for (unsigned int i = 0; i < cfg->nnvmes && rc == 0; i++) {
		cipher = n->ciphers[i];
		n->ciphers[i] = NULL;
		rc = add(n, &cfg->nvmes[i], true, cipher, err, errlen);
	}
	return rc;
}

static struct nvme_made *find_made(const struct agent_nvme *n, const char *name)
{
	struct nvme_made *m;

	TAILQ_FOREACH(m, &n->made, link)
		if (!strcmp(m->cfg.name, name))
			break;
	return m;
}

void agent_nvme_unmake(struct agent_nvme *n, struct nvme_dev *dev)
{
	struct nvme_made *m = find_made(n, nvme_dev_attr(dev)->name);

	nvme_initiator_remove(dev);
	if (m)
		TAILQ_REMOVE(&n->made, m, link);
	free(m);
}

/* In a call. */
static void remove_by_file(void *arg)
{
	const struct making *m = arg;
	struct nvme_dev *dev = agent_nvme_find(m->nvme, m->attr.name, NULL);

	if (dev && find_made(m->nvme, m->attr.name)->by_file)
		agent_nvme_unmake(m->nvme, dev);
}

void agent_nvme_remove(struct agent *a, const char *name)
{
	struct making m = { .nvme = a->nvme };

	snprintf(m.attr.name, sizeof(m.attr.name), "%s", name);
	plane_call(&a->plane, remove_by_file, &m);
}

const struct nvme_config *agent_nvme_by_command(const struct agent *a, const char *name)
{
	const struct nvme_made *m = find_made(a->nvme, name);

	return m && !m->by_file ? &m->cfg : NULL;
}

void agent_nvme_adopt(struct agent *a, const char *name)
{
	struct nvme_made *m = find_made(a->nvme, name);

	if (m)
		m->by_file = true;
}

void agent_nvme_close_devices(struct agent_nvme *n)
{
	struct nvme_made *m;

	while ((m = TAILQ_FIRST(&n->made))) {
		TAILQ_REMOVE(&n->made, m, link);
		free(m);
	}
	for (unsigned int i = 0; i < n->nciphers; i++)
		if (n->ciphers[i])
			n->ciphers[i]->release(n->ciphers[i]);
	free(n->ciphers);
}

/* The paths in use, or being tried, as the file has them. */
static json_t *paths_of(const struct nvme_dev *dev)
{
	char text[NVME_MAX_TARGETS * (INET6_ADDRSTRLEN + 8)] = "", address[INET6_ADDRSTRLEN];
	size_t len = 0;

	for (uint32_t i = 0; i < nvme_dev_attr(dev)->ntargets; i++) {
		const struct nvme_path_attr *path = nvme_dev_path(dev, i);

		inet_ntop(path->ends.family, path->ends.remote.b, address, sizeof(address));
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s/%u", i ? " " : "", address,
					path->nsid);
	}
	return json_string(text);
}

json_t *agent_nvme_row(const struct shard_nvme *s, const struct nvme_dev *dev)
{
	const struct nvme_dev_attr *attr = nvme_dev_attr(dev);
	const struct nvme_made *m = find_made(s->all, attr->name);
	struct nvme_dev_info i;
	json_t *row;

	nvme_dev_info(dev, &i);
	row = json_pack("{s:s, s:s, s:s, s:i, s:b, s:b, s:i, s:I, s:i, s:b, s:i, s:i, s:o, s:i, s:b, s:b, "
			"s:s}", "name", attr->name, "by", m && m->by_file ? "file" : "command", "controller",
			nvme_dev_controller(dev), "shard", (int)s->shard->index, "ready", i.ready,
			"encrypted", attr->cipher != NULL, "nsid", (int)attr->nsid, "bytes",
			(json_int_t)(i.blocks << i.block_shift), "block_size",
			i.ready ? 1 << i.block_shift : 0, "read_only", i.read_only, "targets",
			(int)attr->ntargets, "connected", (int)i.up, "paths", paths_of(dev), "protection",
			attr->protection, "protected", i.protected, "refused", i.refused, "reason", i.reason);
	STAT_PUT(row, NVME_DEV_STATS, &i);
	return row;
}

void agent_show_nvme(struct agent *a, const struct show_query *q, json_t *rows)
{
	struct nvme_dev *dev;

	(void)q;
	for (unsigned int k = 0; k < a->plane.nshards; k++) {
		const struct shard_nvme *s = &a->nvme->shards[k];

		for (unsigned int i = 0; (dev = nvme_dev_at(s->ulp.initiator, i)); i++)
			json_array_append_new(rows, agent_nvme_row(s, dev));
	}
}

void agent_nvme_show_config(const struct agent *a, json_t *rows)
{
	const struct nvme_made *m;

	TAILQ_FOREACH(m, &a->nvme->made, link)
		if (!m->by_file)
			config_show_nvme(rows, &m->cfg);
}
