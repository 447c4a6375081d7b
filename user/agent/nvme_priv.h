/* SPDX-License-Identifier: BSD-2-Clause */
/* The agent's NVMe, as its own files know it. */
#ifndef FALCON_AGENT_NVME_PRIV_H
#define FALCON_AGENT_NVME_PRIV_H

#include <jansson.h>

#include "agent/agent.h"
#include "agent/nvme_store.h"
#include "ulp/nvme/nvme.h"

struct agent_nvme {
	struct agent *a;
	struct shard *shard;		/* whose thread serves it */
	struct nvme_ulp ulp;
	struct nvme_store **stores;	/* |config.nnamespaces| */
	struct nvme_store **metadata;	/* beside |stores|; NULL: no protection information */
	uint64_t *cuts;			/* bytes that a store is to be cut to; 0: it is not */
	struct nvme_ring *ring;		/* NULL: no namespaces */
	struct nvme_apps *apps;
	struct xts_cipher *ciphers;	/* of the [nvme] sections when the agent started */
	unsigned int nciphers;
};

/* nvme.c: what falconctl says of |dev|. */
json_t *agent_nvme_row(const struct nvme_dev *dev);

/* nvme_ns.c: once a second, see whether the namespaces' files have another size. */
void agent_namespaces_look(struct agent_nvme *n, uint64_t now);

#endif /* FALCON_AGENT_NVME_PRIV_H */
