// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which CIDs are taken: a bit each, changed atomically, so that shards in the middle of a turn and control
 * take them without asking one another. They are given in turn: one that was used lately comes last.
 */
#include "agent/conn/cid.h"

#include <errno.h>
#include <stdio.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"

bool agent_cid_claim(struct agent *a, uint32_t cid)
{
	uint64_t bit = 1ULL << cid % 64;

	return !(__atomic_fetch_or(&a->cids[cid / 64], bit, __ATOMIC_ACQ_REL) & bit);
}

void agent_cid_release(struct agent *a, uint32_t cid)
{
	__atomic_fetch_and(&a->cids[cid / 64], ~(1ULL << cid % 64), __ATOMIC_ACQ_REL);
}

int agent_cid_take(struct agent *a, char *err, size_t errlen)
{
	uint32_t last = a->plane.maps.nconns - 1, cid = __atomic_load_n(&a->last_cid, __ATOMIC_RELAXED);

	for (uint32_t n = 0; n < last; n++) {
		cid = cid % last + 1;
		if (!agent_cid_claim(a, cid))
			continue;
		__atomic_store_n(&a->last_cid, cid, __ATOMIC_RELAXED);
		return (int)cid;
	}
	snprintf(err, errlen, "all %u connections are in use", last);
	return -ENOSPC;
}

int agent_cid_choose(struct agent *a, char *err, size_t errlen)
{
	const struct agent_conn *leaving = TAILQ_FIRST(&a->leaving);
	int cid = agent_cid_take(a, err, errlen);

	/* Within a call nobody may wait for one that leaves; upper layers ask again. */
	if (cid >= 0 || !leaving || call_within())
		return cid;
	agent_cid_free(a, leaving->cfg.local_cid);
	return agent_cid_take(a, err, errlen);
}
