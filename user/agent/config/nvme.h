/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sections [namespace] and [nvme] mean to the NVMe layer. */
#ifndef FALCON_AGENT_CONFIG_NVME_H
#define FALCON_AGENT_CONFIG_NVME_H

#include "agent/config/config.h"
#include "ulp/nvme/initiator.h"

/*
 * The checks that have to wait for the end of the file. 0, or -EINVAL with a sentence in |err| and
 * the section's line in |*line|.
 */
int config_nvme_finish(const struct agent_config *cfg, unsigned int *line, char *err,
		       size_t errlen);

/* What the initiator is to know of |cfg|. 0, or -EINVAL with a sentence in |err|. */
int config_nvme_dev(const struct nvme_config *cfg, struct nvme_dev_attr *out, char *err,
		    size_t errlen);

/* Bytes of data memory that the target has for all namespaces; 0: there are none. */
uint64_t config_nvme_memory(const struct agent_config *cfg);

/*
 * The 32 hexadecimal digits of |text|, and perhaps dashes, into |out|; zeros if it is empty. False: it is
 * neither.
 */
bool config_nguid(const char *text, uint8_t out[NVME_NGUID_BYTES]);

/* Bytes of a namespace's logical block. */
uint32_t config_block_bytes(const struct namespace_config *ns);

#endif /* FALCON_AGENT_CONFIG_NVME_H */
