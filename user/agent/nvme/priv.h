/* SPDX-License-Identifier: BSD-2-Clause */
/* The agent's NVMe, as its own files know it. */
#ifndef FALCON_AGENT_NVME_PRIV_H
#define FALCON_AGENT_NVME_PRIV_H

#include <jansson.h>

#include "agent/agent.h"
#include "agent/nvme/nvme.h"
#include "agent/nvme/store.h"
#include "ulp/nvme/nvme.h"

/* What a shard has of it: devices with their applications, and namespaces. */
struct shard_nvme {
	struct agent_nvme *all;
	struct shard *shard;
	struct nvme_ulp ulp;
	struct nvme_ring *ring;		/* NULL: no namespaces */
	struct nvme_apps *apps;
};

struct agent_nvme {
	struct agent *a;
	struct shard_nvme *shards;	/* |a->plane.nshards| */
	struct nvme_store **stores;	/* |config.nnamespaces|, each its owner's; and so are ... */
	struct nvme_store **metadata;	/* beside |stores|; NULL: no protection information */
	uint64_t *cuts;			/* bytes that a store is to be cut to; 0: it is not */
	TAILQ_HEAD(, nvme_made) made;	/* devices; control's, changed in calls */
	struct nvme_cipher **ciphers;	/* of the sections at start, until they are devices'; NULL: no key */
	unsigned int nciphers;		/* not |config.nnvmes|, which changes when the file is read again */
};

/* The shard that serves namespace |i| of the configuration: they are dealt out in turn. */
static inline struct shard_nvme *agent_namespace_owner(const struct agent_nvme *n, unsigned int i)
{
	return &n->shards[i % n->a->plane.nshards];
}

/* nvme.c: by name, and who has it in *|s|, if not NULL; or NULL. In a call of all shards, as what follows. */
struct nvme_dev *agent_nvme_find(const struct agent_nvme *n, const char *name, struct shard_nvme **s);

/*
 * dev.c: read the keys of the configuration's devices, before privileges are given up; and make these
 * devices. 0, or a negative errno with |err|.
 */
int agent_nvme_read_keys(struct agent_nvme *n, char *err, size_t errlen);
int agent_nvme_open_devices(struct agent_nvme *n, char *err, size_t errlen);
/* The initiators are destroyed. */
void agent_nvme_close_devices(struct agent_nvme *n);
/* Remove |dev|. In a call. */
void agent_nvme_unmake(struct agent_nvme *n, struct nvme_dev *dev);
/* What falconctl says of |dev|, which |s| has. In a call. */
json_t *agent_nvme_row(const struct shard_nvme *s, const struct nvme_dev *dev);

/* ns.c: once a second, see whether the shard's namespaces' files have another size. */
void agent_namespaces_look(struct shard_nvme *s, uint64_t now);

#endif /* FALCON_AGENT_NVME_PRIV_H */
