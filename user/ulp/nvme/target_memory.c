// SPDX-License-Identifier: BSD-2-Clause
/* A tCMD's memory: got in its turn, or before it for data that come with their requests. */
#include <nvme/types.h>

#include "ulp/nvme/target_priv.h"

void nvme_tmem_keep(struct nvme_tcmd *cmd)
{
	if (cmd->early)
		TAILQ_REMOVE(&cmd->conn->t->early, cmd, early_link);
	cmd->early = false;
}

void nvme_tmem_put(struct nvme_tcmd *cmd)
{
	struct nvme_pool *pool = cmd->conn->t->pool;

	size_t used = nvme_pool_used(pool);

	nvme_tmem_keep(cmd);
	if (cmd->buf)
		nvme_pool_put(pool, cmd->buf, cmd->mem);
	if (cmd->other)
		nvme_pool_put(pool, cmd->other, cmd->mem);
	if (cmd->md)
		nvme_pool_put(pool, cmd->md, nvme_tpi_bytes(cmd));
	if (cmd->other_md)
		nvme_pool_put(pool, cmd->other_md, nvme_tpi_bytes(cmd));
	cmd->buf = cmd->other = NULL;
	cmd->md = cmd->other_md = NULL;
	cmd->conn->memory -= used - nvme_pool_used(pool);
}

/* Bytes that connections have beyond |own|, the share of each. */
static size_t common_used(const struct nvme_target *t, size_t own)
{
	const struct nvme_tconn *c;
	size_t sum = 0;

	TAILQ_FOREACH(c, &t->conns, link)
		sum += c->memory > own ? c->memory - own : 0;
	return sum;
}

/*
 * Half of the memory is in equal shares, so that a host that hoards, or is dead, leaves each of the others
 * its own; the other half is for whoever needs it, so that idle hosts keep little from a busy one.
 */
static bool over_share(const struct nvme_tcmd *cmd)
{
	const struct nvme_tconn *c = cmd->conn;
	size_t bytes, own;

	nvme_pool_base(c->t->pool, &bytes);
	own = bytes / 2 / c->t->stats.initiators;
	if (!c->memory || c->memory + cmd->mem <= own)
		return false;
	return common_used(c->t, own) + cmd->mem > bytes / 2;
}

static bool get_memory(struct nvme_tcmd *cmd)
{
	struct nvme_pool *pool = cmd->conn->t->pool;
	bool compares = !cmd->admin && cmd->opcode == nvme_cmd_compare;
	uint32_t md = cmd->mem ? nvme_tpi_bytes(cmd) : 0;

	size_t used = nvme_pool_used(pool);

	if (!cmd->mem)
		return true;
	cmd->buf = nvme_pool_get(pool, cmd->mem);
	if (cmd->buf && compares)
		cmd->other = nvme_pool_get(pool, cmd->mem);
	if (cmd->buf && md)
		cmd->md = nvme_pool_get(pool, md);
	if (cmd->md && compares)
		cmd->other_md = nvme_pool_get(pool, md);
	cmd->conn->memory += nvme_pool_used(pool) - used;
	if (cmd->buf && (cmd->other || !compares) && (cmd->md || !md) &&
	    (cmd->other_md || !md || !compares))
		return true;
	nvme_tmem_put(cmd);
	return false;
}

bool nvme_tmem_get_early(struct nvme_tcmd *cmd)
{
	if (cmd->buf)
		return true;
	if (over_share(cmd) || !get_memory(cmd))
		return false;
	cmd->early = true;
	TAILQ_INSERT_TAIL(&cmd->conn->t->early, cmd, early_link);
	return true;
}

/*
 * The latest command that has got memory before its turn loses it; |c|: one of that connection. False: there
 * is none.
 */
static bool take_away(struct nvme_target *t, const struct nvme_tconn *c)
{
	struct nvme_tcmd *victim = TAILQ_LAST(&t->early, nvme_tcmds);

	while (victim && c && victim->conn != c)
		victim = TAILQ_PREV(victim, nvme_tcmds, early_link);
	if (!victim)
		return false;
	nvme_tmem_put(victim);
	for (unsigned int i = 0; i < victim->n; i++)
		if (victim->ncmds[i].state == TNCMD_DATA)
			victim->ncmds[i].state = TNCMD_HERE;
	t->stats.put_off += victim->data;
	victim->data = 0;
	return true;
}

enum nvme_tmem nvme_tmem_get_in_turn(struct nvme_tcmd *cmd)
{
	struct nvme_tconn *c = cmd->conn;

	while (!cmd->buf && over_share(cmd))
		if (!take_away(c->t, c))
			return TMEM_OVER_SHARE;
	while (!cmd->buf && !get_memory(cmd)) {
		if (take_away(c->t, NULL))
			continue;
		c->t->stats.no_memory++;
		return TMEM_SHORT;
	}
	return TMEM_HAS;
}
