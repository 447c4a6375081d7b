// SPDX-License-Identifier: BSD-2-Clause
/*
 * Namespaces with protection information (NVMe 6.7): a command goes to the store of the data, then
 * to that of the metadata. Between the two they do not agree, so that commands on the same blocks
 * go one after the other.
 */
#include "ulp/nvme/pi.h"
#include "ulp/nvme/target_priv.h"

static uint64_t blocks(const struct nvme_tcmd *cmd)
{
	return cmd->cmd.nlb + 1ULL;
}

static struct nvme_pi_range range(const struct nvme_tcmd *cmd)
{
	return (struct nvme_pi_range){
		.data = cmd->other ? cmd->other : cmd->buf, .blocks = (uint32_t)blocks(cmd),
		.shift = cmd->ns->attr.block_shift, .prinfo = cmd->cmd.prinfo,
		.reftag = (uint32_t)cmd->cmd.slba, .apptag = cmd->cmd.apptag,
		.apptag_mask = cmd->cmd.apptag_mask,
	};
}

uint16_t nvme_tpi_check(const struct nvme_tcmd *cmd)
{
	uint8_t prinfo = cmd->cmd.prinfo;

	if (cmd->opcode == nvme_cmd_flush)
		return 0;
	if (!cmd->mem || !cmd->ns->attr.metadata)
		return prinfo ? NVME_SC_INVALID_FIELD | NVME_SC_DNR : 0;
	if (!(prinfo & NVME_PRINFO_ACT))
		return NVME_SC_INVALID_FIELD | NVME_SC_DNR;
	if (prinfo & NVME_PRINFO_REFTAG && cmd->cmd.reftag != (uint32_t)cmd->cmd.slba)
		return NVME_SC_INVALID_PI | NVME_SC_DNR;
	return 0;
}

uint32_t nvme_tpi_bytes(const struct nvme_tcmd *cmd)
{
	if (!cmd->mem || cmd->admin || !cmd->ns->attr.metadata)
		return 0;
	return (uint32_t)(blocks(cmd) * sizeof(struct nvme_pi));
}

static bool overlap(const struct nvme_tcmd *a, const struct nvme_tcmd *b)
{
	return a->cmd.slba < b->cmd.slba + blocks(b) && b->cmd.slba < a->cmd.slba + blocks(a);
}

bool nvme_tpi_begin(struct nvme_tcmd *cmd)
{
	struct nvme_tcmd *other;

	if (cmd->admin || !cmd->ns->attr.metadata || cmd->opcode == nvme_cmd_flush)
		return true;
	if (!cmd->exclusive) {
		cmd->exclusive = true;
		TAILQ_INSERT_TAIL(&cmd->ns->exclusive, cmd, exclusive_link);
	}
	/* In the order in which they came: nobody waits for ever. */
	for (other = cmd; (other = TAILQ_PREV(other, nvme_tcmds, exclusive_link));)
		if (overlap(cmd, other))
			return false;
	return true;
}

void nvme_tpi_end(struct nvme_tcmd *cmd)
{
	if (cmd->exclusive)
		TAILQ_REMOVE(&cmd->ns->exclusive, cmd, exclusive_link);
	cmd->exclusive = false;
}

void nvme_tpi_prepare(struct nvme_tcmd *cmd)
{
	struct nvme_io *io = &cmd->io;

	if (!cmd->metadata) {
		const struct nvme_pi_range r = range(cmd);

		if (io->op == NVME_IO_WRITE)
			nvme_pi_insert(&r, (struct nvme_pi *)cmd->md);
		return;
	}
	io->store = cmd->ns->attr.metadata;
	io->buf = cmd->md;
	if (io->op == NVME_IO_FLUSH)
		return;
	/* The data are zeros by now. */
	if (io->op == NVME_IO_DISCARD)
		io->op = NVME_IO_ZERO;
	io->offset = cmd->cmd.slba * sizeof(struct nvme_pi);
	io->len = blocks(cmd) * sizeof(struct nvme_pi);
}

bool nvme_tpi_goes_on(struct nvme_tcmd *cmd, int res)
{
	if (res || cmd->metadata || !cmd->ns->attr.metadata)
		return false;
	cmd->metadata = true;
	return true;
}

uint16_t nvme_tpi_verify(const struct nvme_tcmd *cmd)
{
	const struct nvme_pi_range r = range(cmd);

	if (!cmd->md || cmd->io.op != NVME_IO_READ)
		return 0;
	return nvme_pi_verify(&r, (const struct nvme_pi *)cmd->md);
}
