// SPDX-License-Identifier: BSD-2-Clause
/* Get LBA Status: which blocks of a namespace take up room on its medium. */
#include <endian.h>
#include <string.h>

#include "ulp/nvme/status.h"
#include "ulp/nvme/target_priv.h"

/* Blocks that |cmd| is about; its range is the namespace's. */
static uint64_t range(const struct nvme_tcmd *cmd)
{
	return cmd->cmd.nlb ? cmd->cmd.nlb : cmd->ns->blocks - cmd->cmd.slba;
}

uint16_t nvme_status_check(struct nvme_tcmd *cmd)
{
	uint64_t bytes = (cmd->cmd.reftag + 1ULL) * 4;

	if (cmd->cmd.dsm != NVME_STATUS_ALLOCATED || bytes < sizeof(struct nvme_lba_status) ||
	    bytes > NVME_STATUS_BYTES)
		return NVME_SC_INVALID_FIELD | NVME_SC_DNR;
	if (cmd->cmd.slba >= cmd->ns->blocks || range(cmd) > cmd->ns->blocks - cmd->cmd.slba)
		return NVME_SC_LBA_RANGE | NVME_SC_DNR;
	cmd->bytes = cmd->mem = (uint32_t)bytes;
	return 0;
}

/* Whether block |lba| is allocated, and how many of |n| are like it. A part of a block is the whole. */
static bool allocated(const struct nvme_tns *ns, uint64_t lba, uint64_t n, uint64_t *run)
{
	struct nvme_store *s = ns->attr.store;
	unsigned int shift = ns->attr.block_shift;
	uint64_t bytes = n << shift;
	bool is = !s->ops->allocated || s->ops->allocated(s, lba << shift, bytes, &bytes);

	if (!is && bytes >> shift) {
		*run = bytes >> shift;
		return false;
	}
	*run = ((is ? bytes : 1) + (1ULL << shift) - 1) >> shift;
	return true;
}

void nvme_status_list(struct nvme_tcmd *cmd)
{
	struct nvme_lba_status *list = (struct nvme_lba_status *)cmd->buf;
	uint32_t room = (uint32_t)((cmd->bytes - sizeof(*list)) / sizeof(list->descs[0])), n = 0;
	uint64_t lba = cmd->cmd.slba, end = lba + range(cmd), run;
	struct nvme_lba_status_desc *d = NULL;

	memset(list, 0, cmd->bytes);
	list->cmpc = NVME_STATUS_COMPLETE;
	for (; lba < end; lba += run) {
		bool is = allocated(cmd->ns, lba, end - lba, &run);

		if (is && d && le64toh(d->dslba) + le32toh(d->nlb) == lba) {
			d->nlb = htole32((uint32_t)(le32toh(d->nlb) + run));
		} else if (is && n == room) {
			list->cmpc = NVME_STATUS_INCOMPLETE;
			break;
		} else if (is) {
			d = &list->descs[n++];
			run = run <= UINT32_MAX / 2 ? run : UINT32_MAX / 2;
			d->dslba = htole64(lba);
			d->nlb = htole32((uint32_t)run);
			d->status = NVME_STATUS_IS_ALLOCATED;
		}
	}
	list->nlsd = htole32(n);
}
