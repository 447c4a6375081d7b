// SPDX-License-Identifier: BSD-2-Clause
/* What the target's commands mean: checks, Identify, requests to the store, and their ends. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ulp/nvme/target_priv.h"

enum { IDENTIFY_BYTES = 4096 };

bool nvme_exec_visible(const struct nvme_tconn *c, unsigned int i)
{
	return c->allowed[i / 64] >> i % 64 & 1;
}

static struct nvme_tns *find(const struct nvme_tconn *c, uint32_t nsid)
{
	for (unsigned int i = 0; i < c->t->nns; i++)
		if (c->t->ns[i].attr.nsid == nsid && nvme_exec_visible(c, i))
			return &c->t->ns[i];
	return NULL;
}

static bool writes(const struct nvme_tcmd *cmd)
{
	return !cmd->admin && (cmd->opcode == nvme_cmd_write || cmd->opcode == nvme_cmd_dsm ||
			       cmd->opcode == nvme_cmd_write_zeroes);
}

bool nvme_exec_waits(const struct nvme_tcmd *cmd)
{
	return cmd->admin && cmd->opcode == nvme_admin_async_event;
}

bool nvme_exec_pulls(const struct nvme_tcmd *cmd)
{
	return !cmd->admin && (cmd->opcode == nvme_cmd_write || cmd->opcode == nvme_cmd_compare);
}

bool nvme_exec_answers_data(const struct nvme_tcmd *cmd)
{
	return cmd->admin ? cmd->opcode == nvme_admin_identify ||
			    cmd->opcode == nvme_admin_get_lba_status :
			    cmd->opcode == nvme_cmd_read;
}

/* 0, or the status of a command that the namespace does not take. */
static uint16_t check_range(const struct nvme_tcmd *cmd)
{
	uint64_t nlb = cmd->cmd.nlb + 1ULL;

	if (cmd->opcode == nvme_cmd_flush)
		return 0;
	if (cmd->cmd.slba > cmd->ns->blocks || nlb > cmd->ns->blocks - cmd->cmd.slba)
		return NVME_SC_LBA_RANGE | NVME_SC_DNR;
	return 0;
}

static uint16_t check_io(struct nvme_tcmd *cmd)
{
	uint64_t bytes = 0;
	uint16_t status;

	switch (cmd->opcode) {
	case nvme_cmd_flush:
		break;
	case nvme_cmd_read:
	case nvme_cmd_write:
	case nvme_cmd_compare:
	case nvme_cmd_verify:
		bytes = (cmd->cmd.nlb + 1ULL) << cmd->ns->attr.block_shift;
		break;
	case nvme_cmd_dsm:
	case nvme_cmd_write_zeroes:
		break;
	default:
		return NVME_SC_INVALID_OPCODE | NVME_SC_DNR;
	}
	if (bytes > NVME_TARGET_MDTS)
		return NVME_SC_INVALID_FIELD | NVME_SC_DNR;
	cmd->mem = (uint32_t)bytes;
	cmd->bytes = cmd->opcode == nvme_cmd_verify ? 0 : (uint32_t)bytes;
	if (cmd->opcode == nvme_cmd_read)
		cmd->mem += nvme_tpi_bytes(cmd);
	if (writes(cmd) && cmd->ns->attr.read_only)
		return NVME_SC_NS_WRITE_PROTECTED | NVME_SC_DNR;
	status = check_range(cmd);
	return status ? status : nvme_tpi_check(cmd);
}

void nvme_exec_check(struct nvme_tcmd *cmd)
{
	uint8_t cns = (uint8_t)cmd->cmd.reftag;
	bool identify = cmd->admin && cmd->opcode == nvme_admin_identify;
	bool status = cmd->admin && cmd->opcode == nvme_admin_get_lba_status;

	cmd->ns = find(cmd->conn, cmd->cmd.target_nsid);
	if (nvme_exec_waits(cmd))
		cmd->status = !cmd->conn->event ? 0 :
			      NVME_SCT_CMD_SPECIFIC << 8 | NVME_SC_ASYNC_LIMIT | NVME_SC_DNR;
	else if (cmd->admin && !identify && !status)
		cmd->status = NVME_SC_INVALID_OPCODE | NVME_SC_DNR;
	else if (!cmd->ns && (!identify || cns == NVME_IDENTIFY_CNS_NS))
		cmd->status = NVME_SC_INVALID_NS | NVME_SC_DNR;
	else if (cmd->ns && cmd->ns->attr.inaccessible && (!identify || cns == NVME_IDENTIFY_CNS_NS))
		cmd->status = NVME_SCT_PATH << 8 | NVME_SC_ANA_INACCESSIBLE;
	else if (identify)
		cmd->bytes = cmd->mem = IDENTIFY_BYTES;
	else if (cmd->ns->attr.shard != cmd->conn->t->shard)
		cmd->status = NVME_SC_INVALID_NS | NVME_SC_DNR;
	else
		cmd->status = status ? nvme_status_check(cmd) : check_io(cmd);
}

/* "|s|", padded with blanks, as NVMe has its strings. */
static void put_text(char *out, size_t size, const char *s)
{
	memset(out, ' ', size);
	memcpy(out, s, strnlen(s, size));
}

/* |ns->blocks| is kept by the owner's target alone; the others ask the store. */
static uint64_t blocks_of(const struct nvme_target *t, const struct nvme_tns *ns)
{
	return ns->attr.shard == t->shard ? ns->blocks :
					    nvme_store_bytes(ns->attr.store) >> ns->attr.block_shift;
}

static void identify_ns(const struct nvme_target *t, const struct nvme_tns *ns, struct nvme_id_ns *id)
{
	id->nsze = id->ncap = id->nuse = htole64(blocks_of(t, ns));
	id->lbaf[0].ds = ns->attr.block_shift;
	/* Deallocated blocks read as zeros; Write Zeroes may deallocate. */
	id->dlfeat = 1 | NVME_NS_DLFEAT_WRITE_ZEROES;
	id->nsattr = ns->attr.read_only;
	id->nmic = 1;
	memcpy(id->nguid, ns->attr.nguid, sizeof(id->nguid));
	id->mc = NVME_NS_MC_SEPARATE;
	id->dpc = NVME_NS_DPC_PI_TYPE1 | NVME_NS_DPC_PI_LAST;
	id->dps = ns->attr.metadata && !ns->attr.unchecked ? NVME_NS_DPS_PI_TYPE1 :
							      NVME_NS_DPS_PI_NONE;
	id->lbaf[0].ms = htole16(ns->attr.metadata ? sizeof(struct nvme_md) : 0);
}

static void identify_ctrl(const struct nvme_target *t, struct nvme_id_ctrl *id)
{
	put_text(id->sn, sizeof(id->sn), "0");
	put_text(id->mn, sizeof(id->mn), "NVMe over Falcon target");
	put_text(id->fr, sizeof(id->fr), "1");
	id->mdts = 5;			/* 128 KiB in pages of 4 KiB */
	id->ver = htole32(0x10400);
	id->cntrltype = 1;
	id->sqes = 0x66;
	id->cqes = 0x44;
	id->nn = htole32(t->nns);
	id->oacs = htole16(NVME_CTRL_OACS_LBA_STATUS);
	id->oncs = htole16(NVME_CTRL_ONCS_COMPARE | NVME_CTRL_ONCS_DSM |
			   NVME_CTRL_ONCS_WRITE_ZEROES | NVME_CTRL_ONCS_VERIFY);
	id->vwc = 1;
	snprintf(id->subnqn, sizeof(id->subnqn), "nqn.2024-02.org.opencompute:falcon");
}

/* Ascending NSIDs above the one asked for, as far as they fit. */
static void identify_list(const struct nvme_tcmd *cmd, uint32_t *out)
{
	const struct nvme_target *t = cmd->conn->t;
	uint32_t last = cmd->cmd.target_nsid;

	for (unsigned int n = 0; n < IDENTIFY_BYTES / 4; n++) {
		uint32_t next = UINT32_MAX;

		for (unsigned int i = 0; i < t->nns; i++)
			if (nvme_exec_visible(cmd->conn, i) &&
			    t->ns[i].attr.nsid > last && t->ns[i].attr.nsid < next)
				next = t->ns[i].attr.nsid;
		if (next == UINT32_MAX)
			return;
		out[n] = htole32(next);
		last = next;
	}
}

static uint16_t identify(struct nvme_tcmd *cmd)
{
	memset(cmd->buf, 0, IDENTIFY_BYTES);
	switch ((uint8_t)cmd->cmd.reftag) {
	case NVME_IDENTIFY_CNS_NS:
		identify_ns(cmd->conn->t, cmd->ns, (struct nvme_id_ns *)cmd->buf);
		return 0;
	case NVME_IDENTIFY_CNS_CTRL:
		identify_ctrl(cmd->conn->t, (struct nvme_id_ctrl *)cmd->buf);
		return 0;
	case NVME_IDENTIFY_CNS_NS_ACTIVE_LIST:
		identify_list(cmd, (uint32_t *)cmd->buf);
		return 0;
	default:
		return NVME_SC_INVALID_FIELD | NVME_SC_DNR;
	}
}

bool nvme_exec_prepare(struct nvme_tcmd *cmd)
{
	struct nvme_io *io = &cmd->io;
	unsigned int shift;

	if (cmd->admin && cmd->opcode == nvme_admin_get_lba_status) {
		nvme_status_list(cmd);
		return false;
	}
	if (cmd->admin) {
		cmd->status = identify(cmd);
		return false;
	}
	/* The namespace may have become smaller; what has written its data writes their metadata. */
	cmd->status = cmd->metadata ? 0 : check_range(cmd);
	if (cmd->status)
		return false;
	shift = cmd->ns->attr.block_shift;
	io->store = cmd->ns->attr.store;
	io->offset = cmd->cmd.slba << shift;
	io->len = (cmd->cmd.nlb + 1ULL) << shift;
	io->buf = cmd->other ? cmd->other : cmd->buf;
	io->fua = cmd->cmd.fua;
	io->deallocate = cmd->cmd.dsm & FALCON_NVME_DEALLOCATE;
	switch (cmd->opcode) {
	case nvme_cmd_write: io->op = NVME_IO_WRITE; break;
	case nvme_cmd_write_zeroes: io->op = NVME_IO_ZERO; break;
	case nvme_cmd_dsm: io->op = NVME_IO_DISCARD; break;
	case nvme_cmd_flush:
		io->op = NVME_IO_FLUSH;
		io->offset = io->len = 0;
		break;
	default: io->op = NVME_IO_READ; break;
	}
	if (cmd->ns->attr.metadata)
		nvme_tpi_prepare(cmd);
	return true;
}

static uint16_t status_of(const struct nvme_tcmd *cmd, int res)
{
	switch (res) {
	case 0: return 0;
	case -ENOSPC:
	case -EDQUOT: return NVME_SC_CAP_EXCEEDED;
	case -EROFS:
	case -EBADF: return NVME_SC_NS_WRITE_PROTECTED | NVME_SC_DNR;
	case -EOPNOTSUPP: return NVME_SC_INVALID_OPCODE | NVME_SC_DNR;
	default:
		return (NVME_SCT_MEDIA << 8) |
		       (cmd->io.op == NVME_IO_READ ? NVME_SC_READ_ERROR & 0xff :
						     NVME_SC_WRITE_FAULT & 0xff);
	}
}

void nvme_exec_finish(struct nvme_tcmd *cmd, int res)
{
	struct nvme_ns_stats *s = &cmd->ns->stats;

	/* Deallocation is advice. */
	if (cmd->opcode == nvme_cmd_dsm && res == -EOPNOTSUPP)
		res = 0;
	cmd->status = status_of(cmd, res);
	if (!res)
		cmd->status = nvme_tpi_finish(cmd);
	if (!res && !cmd->status && cmd->other && memcmp(cmd->buf, cmd->other, cmd->bytes))
		cmd->status = NVME_SCT_MEDIA << 8 | (NVME_SC_COMPARE_FAILED & 0xff);
	if (cmd->opcode == nvme_cmd_read) {
		s->reads++;
		s->read_bytes += cmd->bytes;
	} else if (cmd->opcode == nvme_cmd_write) {
		s->writes++;
		s->written_bytes += cmd->bytes;
	} else {
		s->others++;
	}
}
