// SPDX-License-Identifier: BSD-2-Clause
/* FVERBS_CM: what an application's library asks of the connection manager. */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#include "ulp/rdma/cm.h"

typedef int (*handler)(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id);

static struct fverbs_cm_answer *answer(struct rdma_call *call, const struct rcm_id *id)
{
	struct fverbs_cm_answer *a = rdma_call_answer(call, sizeof(*a));

	if (id) {
		a->id = id->number;
		a->reported = id->reported;
	}
	return a;
}

static int open_channel(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	struct rcm_channel *ch;
	int rc;

	(void)q;
	if (call->fd < 0)
		return rdma_call_fail(call, -EINVAL, "a channel needs a socket");
	rc = rcm_channel_new(call->ctx, call->fd, &ch, call->err, sizeof(call->err));
	if (rc < 0)
		return rc;
	call->fd = -1;
	answer(call, id)->id = ch->number;
	return 0;
}

static struct rcm_channel *channel(struct rdma_call *call, uint32_t number)
{
	struct rcm_channel *ch = rcm_channel_find(call->ctx, number);

	if (!ch)
		rdma_call_fail(call, -EINVAL, "there is no event channel %u", number);
	return ch;
}

static int close_channel(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	struct rcm_channel *ch = channel(call, q->id);

	(void)id;
	if (!ch)
		return -EINVAL;
	rcm_channel_free(ch);
	return 0;
}

static int create_id(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	struct rcm_channel *ch = channel(call, q->channel);
	int rc;

	if (!ch)
		return -EINVAL;
	if (q->ps != RDMA_PS_TCP && q->ps != RDMA_PS_UDP && q->ps != RDMA_PS_IB)
		return rdma_call_fail(call, -EOPNOTSUPP, "port space 0x%x: there are TCP, UDP and IB",
				      q->ps);
	rc = rcm_id_new(ch, q->ps, q->qp_type, &id, call->err, sizeof(call->err));
	if (rc < 0)
		return rc;
	id->cookie = q->cookie;
	answer(call, id);
	return 0;
}

static int destroy_id(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	(void)q;
	answer(call, id);
	rcm_id_free(id);
	return 0;
}

static bool valid_addr(const struct fverbs_cm_addr *a)
{
	return a->family == AF_INET || a->family == AF_INET6;
}

static int bind_id(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	int rc = -EINVAL;

	if (id->state == RCM_IDLE && valid_addr(&q->src))
		rc = rcm_bind(id, &q->src);
	if (rc == -EADDRINUSE)
		return rdma_call_fail(call, rc, "the port is in use");
	if (rc == -EADDRNOTAVAIL)
		return rdma_call_fail(call, rc, "no Falcon device has the address, or no port is free");
	return rc < 0 ? rdma_call_fail(call, rc, "the id is bound, or the address no IP address") : 0;
}

static int resolve_addr(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	const struct rdma_host *host = &call->r->host;
	struct fverbs_cm_addr src = q->src;
	int rc = 0;

	if (!valid_addr(&src) || q->dst.family != src.family ||
	    (id->state != RCM_IDLE && id->state != RCM_BOUND))
		return rdma_call_fail(call, -EINVAL, "addresses of two families, or not in order");
	/* What fails leaves the state, and could be asked for again for ever. */
	if (id->unfetched >= RCM_EVENTS_MAX)
		return rdma_call_fail(call, -ENOBUFS, "%u events of the id wait to be fetched",
				      id->unfetched);
	if (rcm_is_any(&src) && (id->state == RCM_IDLE || id->any)) {
		rc = host->source ? host->source(host->arg, &q->dst, &src) : -ENETUNREACH;
		if (rc < 0)
			return rdma_call_fail(call, rc, "the agent's host has no route there");
	}
	if (id->state == RCM_IDLE) {
		rc = rcm_bind(id, &src);
	} else if (id->any) {
		memcpy(id->src.addr, src.addr, sizeof(id->src.addr));
		id->src.family = src.family;
		id->any = false;
		rc = rcm_find_device(id);
	}
	id->dst = q->dst;
	if (rc == 0)
		id->state = RCM_ADDR_RESOLVED;
	rcm_event(id, rc ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, rc ? -ENODEV : 0,
		  NULL);
	return 0;
}

/* Routes are the agent's business, and found with each connection. */
static int resolve_route(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	(void)q;
	if (id->state != RCM_ADDR_RESOLVED)
		return rdma_call_fail(call, -EINVAL, "the address is not resolved");
	id->state = RCM_ROUTE_RESOLVED;
	rcm_event(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
	return 0;
}

static uint8_t smaller(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static int query(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	struct fverbs_cm_answer *a = answer(call, id);
	bool active = id->state == RCM_REP_RCVD || id->state == RCM_CONNECTED;

	(void)q;
	a->src = id->src;
	a->dst = id->dst;
	a->datagram = id->datagram;
	a->timeout = id->timeout;
	a->remote_qpn = id->remote.qp_num;
	a->remote_qkey = id->remote.qkey;
	a->responder_resources = id->remote.responder_resources;
	a->initiator_depth = id->remote.initiator_depth;
	a->rnr_retry_count = id->remote.rnr_retry_count;
	a->retry_count = id->remote.retry_count;
	if (active) {
		a->responder_resources = smaller(a->responder_resources,
						 id->local.responder_resources);
		a->initiator_depth = smaller(a->initiator_depth, id->local.initiator_depth);
		a->retry_count = id->local.retry_count;
	}
	if (!id->bound)
		return 0;
	a->guid = call->r->devices[id->device].guid;
	a->device = id->device;
	a->sgid_index = id->sgid_index;
	a->path_mtu = call->r->devices[id->device].active_mtu;
	return 0;
}

static int listen_id(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	if (id->state != RCM_BOUND)
		return rdma_call_fail(call, -EINVAL, "only a bound id can listen");
	id->backlog = q->value && q->value < RCM_BACKLOG_MAX ? q->value : RCM_BACKLOG_MAX;
	id->state = RCM_LISTEN;
	return 0;
}

static int connect_id(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	int rc = rcm_connect(id, &q->param);

	return rc < 0 ? rdma_call_fail(call, rc, "the route is not resolved") : 0;
}

static int accept_id(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	int rc = rcm_accept(id, &q->param);

	if (q->cookie)
		id->cookie = q->cookie;
	return rc < 0 ? rdma_call_fail(call, rc, "there is nothing to accept") : 0;
}

static int reject_id(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	int rc = rcm_reject(id, &q->param, (uint16_t)(q->value & 0xff));

	return rc < 0 ? rdma_call_fail(call, rc, "there is nothing to reject") : 0;
}

static int disconnect_id(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	int rc = rcm_disconnect(id);

	(void)q;
	return rc < 0 ? rdma_call_fail(call, rc, "there is no connection") : 0;
}

static int get_event(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	struct rcm_channel *ch = channel(call, q->id);

	(void)id;
	if (!ch)
		return -EINVAL;
	if (!rcm_event_take(ch, rdma_call_answer(call, sizeof(struct fverbs_cm_event))))
		return rdma_call_fail(call, -EAGAIN, "no event");
	return 0;
}

static int migrate_id(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	struct rcm_channel *ch = channel(call, q->channel);

	if (!ch)
		return -EINVAL;
	rcm_migrate(id, ch);
	answer(call, id);
	return 0;
}

static int reuse_id(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	(void)call;
	id->reuse = q->value != 0;
	return 0;
}

static int set_timeout(struct rdma_call *call, const struct fverbs_cm_req *q, struct rcm_id *id)
{
	if (q->value > 31)
		return rdma_call_fail(call, -EINVAL, "timeouts are from 0 to 31, not %u", q->value);
	id->timeout = (uint8_t)q->value;
	return 0;
}

static const struct {
	handler fn;
	bool id;		/* it is about one of the application's ids */
} handlers[] = {
	[FVERBS_CM_OPEN_CHANNEL] = { open_channel, false },
	[FVERBS_CM_CLOSE_CHANNEL] = { close_channel, false },
	[FVERBS_CM_CREATE_ID] = { create_id, false },
	[FVERBS_CM_DESTROY_ID] = { destroy_id, true },
	[FVERBS_CM_BIND] = { bind_id, true },
	[FVERBS_CM_RESOLVE_ADDR] = { resolve_addr, true },
	[FVERBS_CM_RESOLVE_ROUTE] = { resolve_route, true },
	[FVERBS_CM_QUERY] = { query, true },
	[FVERBS_CM_LISTEN] = { listen_id, true },
	[FVERBS_CM_CONNECT] = { connect_id, true },
	[FVERBS_CM_ACCEPT] = { accept_id, true },
	[FVERBS_CM_REJECT] = { reject_id, true },
	[FVERBS_CM_DISCONNECT] = { disconnect_id, true },
	[FVERBS_CM_GET_EVENT] = { get_event, false },
	[FVERBS_CM_MIGRATE] = { migrate_id, true },
	[FVERBS_CM_REUSE] = { reuse_id, true },
	[FVERBS_CM_TIMEOUT] = { set_timeout, true },
};

int rdma_cm_command(struct rdma_call *call)
{
	const struct fverbs_cm_req *q = call->req;
	struct rcm_id *id = NULL;

	if (q->what >= sizeof(handlers) / sizeof(handlers[0]) || !handlers[q->what].fn)
		return rdma_call_fail(call, -EOPNOTSUPP, "no connection management of kind %u", q->what);
	if (handlers[q->what].id) {
		id = rcm_id_find(call->r, q->id);
		if (!id || id->channel->ctx != call->ctx)
			return rdma_call_fail(call, -EINVAL, "there is no rdma_cm id %u", q->id);
	}
	return handlers[q->what].fn(call, q, id);
}

bool rdma_command_of_group(const void *msg, size_t len)
{
	struct fverbs_cmd cmd;
	struct fverbs_cm_req q;

	if (len != sizeof(cmd) + sizeof(q))
		return false;
	memcpy(&cmd, msg, sizeof(cmd));
	memcpy(&q, (const uint8_t *)msg + sizeof(cmd), sizeof(q));
	/* They take ports, of which a host has one set. */
	return cmd.op == FVERBS_CM && (q.what == FVERBS_CM_BIND || q.what == FVERBS_CM_RESOLVE_ADDR);
}

const struct rdma_command_def rdma_cm_commands[] = {
	{ FVERBS_CM, sizeof(struct fverbs_cm_req), true, rdma_cm_command },
};
const unsigned int rdma_cm_ncommands = 1;
