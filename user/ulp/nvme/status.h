/* SPDX-License-Identifier: BSD-2-Clause */
/* Get LBA Status of allocated blocks: what <nvme/types.h> does not have yet. */
#ifndef FALCON_NVME_STATUS_H
#define FALCON_NVME_STATUS_H

enum nvme_status_const {
	NVME_STATUS_ALLOCATED = 0x02,		/* ATYPE: blocks that take up room */
	NVME_STATUS_IS_ALLOCATED = 0x02,	/* of a descriptor */
	NVME_STATUS_INCOMPLETE = 1,		/* CMPC: there are more than had room */
	NVME_STATUS_COMPLETE = 2,
	NVME_STATUS_BYTES = 4096,		/* of a list that a target returns, at most */
};

#endif /* FALCON_NVME_STATUS_H */
