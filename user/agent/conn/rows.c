// SPDX-License-Identifier: BSD-2-Clause
#include "agent/conn/rows.h"

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/users.h"
#include "agent/tenant/operator.h"
#include "ulp/ulp.h"

struct each_conn {
	struct agent *agent;
	const struct show_query *q;	/* NULL: all */
	void (*fn)(const struct agent_conn *c, void *arg);
	void *arg;
	bool up;
	uint32_t at_once;
	uint32_t cid;			/* the next */
};

enum { CIDS_AT_ONCE = 4096 };

bool show_wants(const struct show_query *q, const struct agent_conn *c)
{
	if (q->only && c != q->only)
		return false;
	return user_is_operator(q->uid) ||
	       (user_sees_conn(c, q->uid) && c->ulp->ops->proto == FALCON_PROTO_RAW);
}

/* In a call. */
static void some_conns(void *arg)
{
	struct each_conn *e = arg;
	uint32_t nconns = e->agent->plane.maps.nconns, left = e->at_once;

	for (uint32_t n = 0; n < CIDS_AT_ONCE && left && e->cid < nconns; n++, e->cid++) {
		const struct agent_conn *c = agent_conn_at(e->agent, e->cid);

		if (!c || (e->q && !show_wants(e->q, c)) || (e->up && !c->core))
			continue;
		e->fn(c, e->arg);
		left--;
	}
}

void agent_each_conn(struct agent *a, uint32_t at_once, void (*fn)(const struct agent_conn *c, void *arg),
		     void *arg)
{
	struct each_conn e = { .agent = a, .fn = fn, .arg = arg, .at_once = at_once };

	while (e.cid < a->plane.maps.nconns)
		plane_call(&a->plane, some_conns, &e);
}

void agent_show_each(struct agent *a, const struct show_query *q, bool up,
		     void (*fn)(const struct agent_conn *c, void *rows), json_t *rows)
{
	struct each_conn e = { .agent = a, .q = q, .up = up, .fn = fn, .arg = rows, .at_once = ROWS_AT_ONCE };
	size_t most = json_array_size(rows) + SHOW_ROWS;

	e.cid = q->from < UINT32_MAX ? (uint32_t)q->from : UINT32_MAX;
	for (int i = 0; i < SHOW_LOOKS && e.cid < a->plane.maps.nconns && json_array_size(rows) < most; i++)
		plane_call(&a->plane, some_conns, &e);
	if (e.cid < a->plane.maps.nconns)
		*q->next = e.cid;
}
