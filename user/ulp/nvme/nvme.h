/* SPDX-License-Identifier: BSD-2-Clause */
/* NVMe over Falcon as an upper layer: a target and an initiator, either of which may be absent. */
#ifndef FALCON_NVME_ULP_H
#define FALCON_NVME_ULP_H

#include "ulp/nvme/initiator.h"
#include "ulp/nvme/target.h"

/* What nvme_ulp_ops is called with. */
struct nvme_ulp {
	struct nvme_target *target;		/* NULL: nobody may dial */
	struct nvme_initiator *initiator;	/* NULL: no devices */
	/* The owner's, NULL or all given: what else is to be done in a round of the loop. */
	uint32_t (*pump)(void *arg, uint64_t now);
	/* Have the stores begin what they were given, and end what has ended. Returns how much. */
	uint32_t (*stores)(void *arg);
	bool (*sleep_begin)(void *arg);
	void (*sleep_end)(void *arg);
	uint64_t wake;		/* ns: pump() is to be called then; UINT64_MAX: when there is work */
	void *arg;
};

extern const struct ulp_ops nvme_ulp_ops;

#endif /* FALCON_NVME_ULP_H */
