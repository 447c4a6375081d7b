// SPDX-License-Identifier: BSD-2-Clause
/* Namespaces that are in use: their limits and their sizes change. */
#include "agent/nvme/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/config/nvme.h"
#include "agent/control/control.h"
#include "agent/nvme/nvme.h"
#include "base/log.h"
#include "base/pi.h"

#define LOOK_NS 1000000000ULL

/* The namespace of |req| in *|i|, or an error in |reply|. */
static int find(struct agent *a, const json_t *req, unsigned int *i, json_t **reply)
{
	const char *name = json_string_value(json_object_get(req, "name"));

	for (*i = 0; name && *i < a->config.nnamespaces; ++*i)
		if (!strcmp(a->config.namespaces[*i].name, name))
			return 0;
	return control_error(reply, -ENOENT, "no namespace named \"%s\"; falconctl namespace lists "
			     "them", name ? name : "");
}

/* Protection information for as many blocks: what is added is of zeros. */
static int resize_metadata(struct agent_nvme *n, unsigned int i, uint64_t bytes)
{
	uint64_t blocks = bytes / config_block_bytes(&n->a->config.namespaces[i]);

	if (!n->metadata[i] || n->metadata[i]->read_only)
		return 0;
	return nvme_store_resize(n->metadata[i], blocks * sizeof(struct nvme_md));
}

static struct nvme_target *target_of(const struct agent_nvme *n, unsigned int i)
{
	return agent_namespace_owner(n, i)->ulp.target;
}

static void announce(struct agent_nvme *n, unsigned int i)
{
	const struct namespace_config *cfg = &n->a->config.namespaces[i];

	log_info("namespace %s has %" PRIu64 " bytes", cfg->name, n->stores[i]->bytes);
	nvme_target_set_blocks(target_of(n, i), i, n->stores[i]->bytes / config_block_bytes(cfg));
}

/*
 * Cut the file of a namespace that has become smaller: what had begun beyond its new end has to end before,
 * or it would make the file longer again. -EAGAIN: it has not.
 */
static int cut(struct agent_nvme *n, unsigned int i)
{
	uint64_t bytes = n->cuts[i];
	int rc;

	if (nvme_target_beyond(target_of(n, i), i, bytes / config_block_bytes(&n->a->config.namespaces[i])))
		return -EAGAIN;
	n->cuts[i] = 0;
	rc = nvme_store_resize(n->stores[i], bytes);
	if (rc == 0)
		rc = resize_metadata(n, i, bytes);
	announce(n, i);
	return rc;
}

/* Nobody waits for a medium, which may hang: the file is cut when it can be. */
static int resize(struct agent_nvme *n, unsigned int i, uint64_t bytes)
{
	const struct namespace_config *cfg = &n->a->config.namespaces[i];
	int rc = nvme_store_resizable(n->stores[i]);

	if (rc < 0)
		return rc;
	n->cuts[i] = bytes;
	if (bytes < n->stores[i]->bytes)
		nvme_target_set_blocks(target_of(n, i), i, bytes / config_block_bytes(cfg));
	rc = cut(n, i);
	if (rc != -EAGAIN)
		return rc;
	log_info("namespace %s: its file is cut when what is under way beyond %" PRIu64 " bytes has ended",
		 cfg->name, bytes);
	return 0;
}

static void look(struct agent_nvme *n, unsigned int i)
{
	const char *name = n->a->config.namespaces[i].name;
	int rc;

	if (n->cuts[i]) {
		rc = cut(n, i);
		if (rc < 0 && rc != -EAGAIN)
			log_err("namespace %s cannot be cut: %s", name, strerror(-rc));
		return;
	}
	if (!nvme_store_look(n->stores[i]))
		return;
	/* Blocks without their information would be taken for damaged. */
	if (resize_metadata(n, i, n->stores[i]->bytes))
		log_err("namespace %s: its protection information cannot be resized", name);
	else
		announce(n, i);
}

void agent_namespaces_look(struct shard_nvme *s, uint64_t now)
{
	struct agent_nvme *n = s->all;

	if (now < s->ulp.wake)
		return;
	s->ulp.wake = s->ulp.target ? now + LOOK_NS : UINT64_MAX;
	for (unsigned int i = 0; s->ulp.target && i < n->a->config.nnamespaces; i++)
		if (agent_namespace_owner(n, i) == s)
			look(n, i);
}

struct change {
	struct agent *agent;
	unsigned int i;
	const struct namespace_config *fresh;
};

/* In a call of all shards. */
static void change(void *arg)
{
	const struct change *c = arg;
	struct agent_nvme *n = c->agent->nvme;
	struct namespace_config *cfg = &c->agent->config.namespaces[c->i];

	cfg->iops = c->fresh->iops;
	cfg->bytes_per_s = c->fresh->bytes_per_s;
	cfg->ana = c->fresh->ana;
	nvme_target_set_limits(target_of(n, c->i), c->i, cfg->iops, cfg->bytes_per_s);
	for (unsigned int k = 0; k < c->agent->plane.nshards; k++)
		if (n->shards[k].ulp.target)
			nvme_target_set_inaccessible(n->shards[k].ulp.target, c->i,
						     cfg->ana == CONFIG_ANA_INACCESSIBLE);
}

void agent_namespace_change(struct agent *a, unsigned int i, const struct namespace_config *fresh)
{
	struct change c = { .agent = a, .i = i, .fresh = fresh };

	plane_call(&a->plane, change, &c);
}

int agent_namespace_set(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
			json_t **reply)
{
	struct namespace_config *cfg;
	struct change c = { .agent = a };
	char err[256];
	int rc = find(a, req, &c.i, reply);

	(void)cl, (void)fds, (void)nfds;
	if (rc < 0)
		return rc;
	cfg = &a->config.namespaces[c.i];
	rc = config_namespace_changed(req, cfg, err, sizeof(err));
	if (rc < 0)
		return control_error(reply, rc, "%s", err);
	c.fresh = cfg;
	change(&c);
	return 0;
}

int agent_namespace_resize(struct agent *a, struct control_client *cl, json_t *req, int *fds,
			   int nfds, json_t **reply)
{
	json_int_t bytes = json_integer_value(json_object_get(req, "bytes"));
	uint32_t block;
	unsigned int i;
	int rc = find(a, req, &i, reply);

	(void)cl, (void)fds, (void)nfds;
	if (rc < 0)
		return rc;
	block = config_block_bytes(&a->config.namespaces[i]);
	if (bytes < block || bytes % block)
		return control_error(reply, -EINVAL, "\"bytes\" must be whole blocks of %u", block);
	rc = resize(a->nvme, i, (uint64_t)bytes);
	if (rc < 0)
		return control_error(reply, rc, "%s: %s", a->config.namespaces[i].path,
				     rc == -EMEDIUMTYPE ? "only files can be resized here; of a "
							  "device the agent sees it by itself" :
				     rc == -EROFS ? "it is read-only" : strerror(-rc));
	return 0;
}
