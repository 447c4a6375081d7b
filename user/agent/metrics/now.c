// SPDX-License-Identifier: BSD-2-Clause
#include "agent/metrics/now.h"

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/rdma/priv.h"
#include "agent/rdma/rdma.h"

void agent_census(const struct agent *a, struct agent_census *out)
{
	const struct agent_conn *c;

	*out = (struct agent_census){ .up = a->nup, .room = a->plane.maps.nconns - 1 };
	TAILQ_FOREACH(c, &a->leaving, reap_link)
		out->leaving++;
	out->connections = a->nconns - out->leaving;
}

void shard_now(const struct shard *s, struct shard_now *out)
{
	const struct rdma_user *u;

	*out = (struct shard_now){ .connections = s->nconns };
	if (!s->rdma)
		return;
	out->applications = s->rdma->napps;
	out->verbs_stalls = s->rdma->stalls;
	out->verbs_rests = s->rdma->rests;
	LIST_FOREACH(u, &s->rdma->users, entry)
		out->verbs_rests += u->rest.rests;
}

void conn_now(const struct agent_conn *c, struct conn_now *out)
{
	*out = (struct conn_now){ .up = c->state == AGENT_CONN_UP, .mtu = c->mtu, .flows = c->flows };
}

void conn_seen(const struct agent_conn *c, struct conn_seen *out)
{
	const struct falcon_conn *s = c->shared;

	*out = (struct conn_seen){
		.acks = falcon_load(&s->tx_acked.acks),
		.eacks = falcon_load(&s->tx_acked.eacks),
		.resource_nacks = falcon_load(&s->tx_acked.nacks_resource),
		.rue_events = falcon_load(&s->cc_event.events),
		.rue_suppressed = falcon_load(&s->cc_event.suppressed),
	};
}

void queue_now(const struct xsk *x, struct queue_now *out)
{
	*out = (struct queue_now){
		.rx_free = x->rx_nfree,
		.credits = (uint64_t)falcon_load(&x->credit->credits),
		.refused = falcon_load(&x->credit->refused),
	};
}

void pool_now(const struct fcore_account *acc, unsigned int resource, struct pool_now *out)
{
	*out = (struct pool_now){
		.used = acc->used[resource],
		.high = acc->high[resource],
		.limit = acc->limit[resource],
		.refused = acc->refused[resource],
	};
}
