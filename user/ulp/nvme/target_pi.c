// SPDX-License-Identifier: BSD-2-Clause
/*
 * Namespaces with protection information (NVMe 6.7): what is written is checked before the medium sees
 * it, what is read before it goes out. A command goes to the store of the data, then to that of the
 * metadata. Between the two they do not agree, so that commands on the same blocks go one after the
 * other.
 */
#include "ulp/nvme/target_priv.h"

static uint64_t blocks(const struct nvme_tcmd *cmd)
{
	return cmd->cmd.nlb + 1ULL;
}

/* Whether it has blocks' data, and these metadata. */
static bool protected(const struct nvme_tcmd *cmd)
{
	return cmd->mem && !cmd->admin && cmd->ns->attr.metadata;
}

static struct nvme_pi_tags tags(const struct nvme_tcmd *cmd)
{
	return (struct nvme_pi_tags){
		.type = 1, .prinfo = cmd->cmd.prinfo, .reftag = cmd->cmd.reftag,
		.apptag = cmd->cmd.apptag, .apptag_mask = cmd->cmd.apptag_mask,
		.apptag_counts = true,
	};
}

uint16_t nvme_tpi_check(const struct nvme_tcmd *cmd)
{
	const struct nvme_pi_tags t = tags(cmd);

	if (cmd->opcode == nvme_cmd_flush)
		return 0;
	if (!protected(cmd) || cmd->ns->attr.unchecked)
		return t.prinfo ? NVME_SC_INVALID_FIELD | NVME_SC_DNR : 0;
	return nvme_pi_suits(&t, cmd->cmd.slba, t.prinfo & NVME_PRINFO_REFTAG ||
			     (t.prinfo & NVME_PRINFO_ACT && cmd->opcode == nvme_cmd_write));
}

uint32_t nvme_tpi_bytes(const struct nvme_tcmd *cmd)
{
	return protected(cmd) ? (uint32_t)(blocks(cmd) * sizeof(struct nvme_md)) : 0;
}

uint32_t nvme_tpi_part_max(const struct nvme_tcmd *cmd)
{
	uint32_t block;

	if (!protected(cmd))
		return 0;
	block = 1U << cmd->ns->attr.block_shift;
	return (cmd->unit + block - 1) / block * (uint32_t)sizeof(struct nvme_md);
}

struct nvme_tpart nvme_tpi_part(const struct nvme_tcmd *cmd, unsigned int i)
{
	uint32_t at = i * cmd->unit, left = cmd->bytes - at;
	struct nvme_tpart p = { .at = at, .len = left < cmd->unit ? left : cmd->unit };

	if (protected(cmd)) {
		p.md = nvme_md_first(at, cmd->ns->attr.block_shift);
		p.nmd = nvme_md_count(at, p.len, cmd->ns->attr.block_shift);
	}
	return p;
}

static uint16_t block_crc(const struct nvme_tcmd *cmd, const uint8_t *data, uint32_t i)
{
	unsigned int shift = cmd->ns->attr.block_shift;

	return nvme_pi_crc(0, data + ((size_t)i << shift), (size_t)1 << shift);
}

/* 0, or the status of the first block that is not what it says. */
static uint16_t verify(const struct nvme_tcmd *cmd, const uint8_t *data, const struct nvme_md *md)
{
	const struct nvme_pi_tags t = tags(cmd);
	uint16_t status = 0;

	for (uint32_t i = 0; i < blocks(cmd) && !status && t.prinfo & NVME_PRINFO_CHECK; i++)
		status = nvme_md_check(&t, i, block_crc(cmd, data, i), &md[i]);
	return status;
}

uint16_t nvme_tpi_pulled(struct nvme_tcmd *cmd)
{
	const struct nvme_pi_tags t = tags(cmd);

	if (!cmd->md)
		return 0;
	if (!(t.prinfo & NVME_PRINFO_ACT))
		return verify(cmd, cmd->buf, cmd->md);
	for (uint32_t i = 0; i < blocks(cmd); i++)
		nvme_md_protect(&t, i, block_crc(cmd, cmd->buf, i), &cmd->md[i]);
	return 0;
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
	if (!cmd->exclusive)
		return;
	TAILQ_REMOVE(&cmd->ns->exclusive, cmd, exclusive_link);
	cmd->exclusive = false;
	/* Others may have waited for its blocks. */
	cmd->conn->t->ready++;
}

void nvme_tpi_prepare(struct nvme_tcmd *cmd)
{
	struct nvme_io *io = &cmd->io;

	if (!cmd->metadata)
		return;
	io->store = cmd->ns->attr.metadata;
	io->buf = cmd->other_md ? cmd->other_md : cmd->md;
	if (io->op == NVME_IO_FLUSH)
		return;
	/* The data are zeros by now. */
	if (io->op == NVME_IO_DISCARD)
		io->op = NVME_IO_ZERO;
	io->offset = cmd->cmd.slba * sizeof(struct nvme_md);
	io->len = blocks(cmd) * sizeof(struct nvme_md);
}

/* From what travels to what is stored, and back: see nvme_ns_attr.metadata. */
static void invert(struct nvme_md *md, uint64_t n)
{
	uint64_t *words = (uint64_t *)md;

	for (uint64_t i = 0; i < n * sizeof(*md) / sizeof(*words); i++)
		words[i] = ~words[i];
}

bool nvme_tpi_goes_on(struct nvme_tcmd *cmd, int res)
{
	if (res || cmd->metadata || !cmd->ns->attr.metadata)
		return false;
	cmd->metadata = true;
	if (cmd->io.op == NVME_IO_WRITE)
		invert(cmd->md, blocks(cmd));
	return true;
}

uint16_t nvme_tpi_finish(struct nvme_tcmd *cmd)
{
	struct nvme_md *md = cmd->other_md ? cmd->other_md : cmd->md;
	uint16_t status;

	if (!cmd->md || cmd->io.op != NVME_IO_READ)
		return 0;
	invert(md, blocks(cmd));
	status = verify(cmd, cmd->other ? cmd->other : cmd->buf, md);
	if (!status && cmd->opcode == nvme_cmd_read)
		nvme_md_interleave(cmd->buf, (uint32_t)blocks(cmd), cmd->ns->attr.block_shift, md);
	return status;
}
