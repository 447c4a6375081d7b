// SPDX-License-Identifier: BSD-2-Clause
/* The table of the core's resource pools: those that are shared, or those of one connection. */
#include "agent/commands/commands.h"

#include <jansson.h>
#include <stdio.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/rows.h"
#include "agent/metrics/now.h"
#include "agent/stats/stat.h"

static void show_account(json_t *rows, enum fcore_level level, const char *name,
			 const struct fcore_account *acc)
{
	for (int r = 0; r < FCORE_RESOURCES; r++) {
		json_t *row = json_pack("{s:s, s:s, s:s}", "level", fcore_level_name(level), "name", name,
					"resource", fcore_resource_name((enum fcore_resource)r));
		struct pool_now now;

		pool_now(acc, (unsigned int)r, &now);
		STAT_PUT(row, POOL_NOW, &now);
		if (acc->limit[r] == FCORE_NO_LIMIT)
			json_object_set_new(row, "limit", json_null());
		json_array_append_new(rows, row);
	}
}

static bool was_used(const struct fcore_account *acc)
{
	for (int r = 0; r < FCORE_RESOURCES; r++)
		if (acc->high[r] || acc->refused[r])
			return true;
	return false;
}

static void show_shared(const struct fcore *core, json_t *rows)
{
	const struct fcore_account *acc;
	char name[16];

	show_account(rows, FCORE_LEVEL_NIC, "", fcore_resources(core, FCORE_LEVEL_NIC, 0));
	for (int level = FCORE_LEVEL_HOST; level < FCORE_LEVEL_CONN; level++) {
		for (uint32_t i = 0; (acc = fcore_resources(core, (enum fcore_level)level, i)); i++) {
			snprintf(name, sizeof(name), "%u", i);
			if (was_used(acc))
				show_account(rows, (enum fcore_level)level, name, acc);
		}
	}
}

void agent_show_pool(struct agent *a, const struct show_query *q, json_t *rows)
{
	const struct agent_conn *only = q->only;
	const struct fcore_account *acc;

	if (only) {
		acc = fcore_resources(only->shard->core, FCORE_LEVEL_CONN, only->cfg.local_cid);
		if (acc)
			show_account(rows, FCORE_LEVEL_CONN, only->cfg.name, acc);
		return;
	}
	for (unsigned int i = 0; i < a->plane.nshards; i++)
		show_shared(a->plane.shards[i].core, rows);
}
