// SPDX-License-Identifier: BSD-2-Clause
/*
 * One connection's incarnations: protocol state made, opened to XDP, closed to it, and let go; and
 * what the connection manager says of it.
 *
 * A connection's shared state may be rewritten only while XDP cannot be in it: its flags are
 * cleared, then a grace period lets programs that still run end, then the sockets are drained of
 * frames claimed before. shard_receive() drops frames of a connection without protocol state.
 */
#include "agent/conn/route.h"
#include "agent/conn/setup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/conn/accept.h"
#include "agent/conn/conn.h"
#include "agent/conn/grace.h"
#include "agent/conn/notes.h"
#include "agent/conn/path.h"
#include "agent/conn/security.h"
#include "agent/rue/rue.h"
#include "agent/shard/shard.h"
#include "base/log.h"

const char *agent_conn_state_name(enum agent_conn_state s)
{
	switch (s) {
	case AGENT_CONN_WAITING: return "waiting";
	case AGENT_CONN_RECEIVING: return "receiving";
	case AGENT_CONN_UP: return "up";
	default: return "unknown";
	}
}

/* In a call. */
static void close_core(void *arg)
{
	struct agent_conn *c = arg;
	bool was_up = c->state == AGENT_CONN_UP;

	c->state = AGENT_CONN_WAITING;
	falcon_store(&c->shared->id.flags, 0);
	c->ulp->ops->conn_down(c->ulp->self, c->cfg.local_cid, c->reason);
	fcore_conn_close(c->core, kCmplDeadConn);
	c->core = NULL;
	agent_rue_stop(c);
	news_forget(c);
	/*
	 * An offer that has carried nothing may meet another one of the peer's, who has its key
	 * (cm/PROTOCOL.md). Its key ends with the next offer, or with the connection.
	 */
	if (was_up)
		sec_close(&c->sec);
	else
		sec_tx_retire(&c->sec);
}

void agent_conn_take_down(struct agent_conn *c, const char *why)
{
	struct agent *a = c->agent;

	snprintf(c->reason, sizeof(c->reason), "%s", why);
	if (!c->core)
		return;
	a->nup -= c->state == AGENT_CONN_UP;
	agent_conn_call(c, close_core);
	c->closed_in = grace_ask(a->grace);
	log_info("connection down conn=%s cid=%u reason=\"%s\"", c->cfg.name, c->cfg.local_cid, why);
	rekey_leave(c);
}

void agent_drain(struct agent *a)
{
	/* A second time for what was handed over to a shard that had had its turn. */
	for (unsigned int times = a->plane.nshards > 1 ? 2 : 1; times > 0; times--)
		for (unsigned int i = 0; i < a->plane.nshards; i++)
			call_drain(&a->plane.shards[i].call);
}

bool agent_conn_settled(struct agent_conn *c)
{
	struct agent *a = c->agent;
	uint64_t over;

	if (c->closed_in > a->drained) {
		over = grace_over(a->grace);
		if (over < c->closed_in)
			return false;
		agent_drain(a);
		a->drained = over;
	}
	c->closed_in = 0;
	return true;
}

void agent_conn_settle(struct agent_conn *c)
{
	if (agent_conn_settled(c))
		return;
	maps_quiesce();
	agent_drain(c->agent);
	c->closed_in = 0;
}

static void fill_identity(struct agent_conn *c)
{
	struct falcon_conn_id *id = &c->shared->id;

	memset(id, 0, sizeof(*id));
	id->cid = c->cfg.local_cid;
	id->peer_cid = c->cfg.remote_cid;
	id->function = c->cfg.params.function;
	id->cur_spi = c->ours.security.spi;
	id->prev_spi = c->ours.security.spi;
	id->cur_spi_gen = sec_clear(&c->sec) ? sec_keys_generation(c->agent->keys)
					     : c->ours.security.generation;
	id->peer_spi = c->peer.security.spi;
	id->incarnation = c->ours.incarnation;
	id->encap = falcon_encap_seen(c->sec.encap);
	id->shard = (uint8_t)c->shard->index;
	/* Without a handshake nobody has said. */
	id->rx_function = c->cfg.handshake ? c->peer.function : FALCON_FUNCTION_ANY;
	id->pcid = c->sec.pcid;
	memcpy(id->local_addr, c->cfg.local.b, sizeof(id->local_addr));
	memcpy(id->peer_addr, c->cfg.remote.b, sizeof(id->peer_addr));
}

static uint32_t conn_flags(const struct agent_conn *c)
{
	uint32_t flags = c->loop ? 0 : FALCON_CONN_ALIVE;

	if (sec_clear(&c->sec))
		flags |= FALCON_CONN_CLEAR;
	if (c->sec.tunnel)
		flags |= FALCON_CONN_TUNNEL;
	if (c->cfg.params.ordered)
		flags |= FALCON_CONN_ORDERED;
	if (c->cfg.family == AF_INET6)
		flags |= FALCON_CONN_IPV6;
	if (!c->agent->offload)
		flags |= FALCON_CONN_STEER;
	if (c->port && c->port->trusted_csum)
		flags |= FALCON_CONN_NO_CSUM;
	return flags;
}

uint32_t agent_conn_segment(const struct agent_conn *c)
{
	uint32_t hdr = sizeof(struct falcon_raw_hdr);

	return c->max_len > hdr ? c->max_len - hdr : 0;
}

void agent_conn_ends(const struct agent_conn *c, struct ulp_ends *out)
{
	*out = (struct ulp_ends){
		.family = c->cfg.family,
		.function = c->cfg.params.function,
		.ordered = c->cfg.params.ordered,
	};
	out->local = c->cfg.local;
	out->remote = c->cfg.remote;
}

/* Without a handshake the peer has not said, and is configured alike. */
static uint32_t agreed(uint32_t ours, uint32_t peer)
{
	return peer && peer < ours ? peer : ours;
}

static void fill_params(struct agent_conn *c, struct fcore_params *p)
{
	const struct cm_params *peer = &c->peer.params;

	c->flows = agreed(c->cfg.params.flows, peer->flows);
	*p = c->cfg.params;
	p->data_window = c->data_window = agreed(p->data_window, peer->data_window);
	p->req_window = c->req_window = agreed(p->req_window, peer->req_window);
	p->tx_data_psn = c->ours.data_psn;
	p->tx_req_psn = c->ours.req_psn;
	p->tx_rsn = c->ours.rsn;
	p->rx_data_psn = c->peer.data_psn;
	p->rx_req_psn = c->peer.req_psn;
	p->rx_rsn = c->peer.rsn;
	p->flows = c->flows;
	/*
	 * Connections spread over paths. The incarnation is random, which makes flow labels hard to guess
	 * (RFC 6437); one that has no handshake has none.
	 */
	p->path_seed = c->shared->id.incarnation ^
		       ((uint64_t)c->cfg.local_cid << 32 | c->cfg.remote_cid);
}

struct opening {
	struct agent_conn *conn;
	struct fcore_params params;
};

/* In a call: protocol state for this incarnation, open to XDP. */
static void open_core(void *arg)
{
	struct opening *o = arg;
	struct agent_conn *c = o->conn;

	c->core = fcore_conn_open(c->shard->core, c->cfg.local_cid, c->shared, &o->params, c->shard->now);
	if (!c->core)
		return;
	fcore_conn_set_user(c->core, c);
	news_forget(c);
	agent_rue_start(c);
	falcon_store(&c->shared->id.flags, conn_flags(c));
	c->state = AGENT_CONN_RECEIVING;
}

int agent_conn_set_up(struct agent_conn *c, char *err, size_t errlen)
{
	struct opening o = { .conn = c };
	int rc;

	agent_conn_take_down(c, "a new incarnation replaces it");
	agent_conn_settle(c);
	agent_conn_route(c);
	if (!c->port && !c->loop) {
		snprintf(err, errlen,
			 "no route to the peer of connection %s over a configured port; check ip "
			 "route and the [port] sections",
			 c->cfg.name);
		return -ENETUNREACH;
	}
	rc = agent_path_limit(c, err, errlen);
	if (rc < 0)
		return rc;
	fill_identity(c);
	fill_params(c, &o.params);
	call_run(&c->shard->call, open_core, &o);
	if (!c->core) {
		snprintf(err, errlen, "out of memory for connection %s", c->cfg.name);
		return -ENOMEM;
	}
	rekey_join(c);
	c->reason[0] = 0;
	return 0;
}

struct rising {
	struct agent_conn *conn;
	struct ulp_conn up;
	int rc;
};

/* In a call. */
static void tell_up(void *arg)
{
	struct rising *r = arg;
	struct agent_conn *c = r->conn;

	r->up.core = c->core;
	r->rc = c->ulp->ops->conn_up(c->ulp->self, &r->up);
	if (r->rc < 0)
		return;
	c->state = AGENT_CONN_UP;
	c->noted.rekey = false;
}

int agent_conn_go_up(struct agent_conn *c)
{
	struct rising r = {
		.conn = c,
		.up = {
			.cid = c->cfg.local_cid,
			.max_len = c->max_len,
			.owner = c->owned ? (int64_t)c->owner : -1,
			.data.len = c->peer.ulp.len,
		},
	};

	agent_conn_ends(c, &r.up.ends);
	memcpy(r.up.data.bytes, c->peer.ulp.data, sizeof(r.up.data.bytes));
	call_run(&c->shard->call, tell_up, &r);
	if (r.rc < 0)
		return r.rc;
	c->stats.setups++;
	c->agent->nup++;
	c->agent->stats.setups++;
	log_info("connection up conn=%s cid=%u peer_cid=%u %s %s mtu=%u max_len=%u", c->cfg.name,
		 c->cfg.local_cid, c->cfg.remote_cid, c->ulp->ops->name,
		 c->cfg.params.ordered ? "ordered" : "unordered", c->mtu, c->max_len);
	return 0;
}

static int on_establish(void *arg, uint32_t cid, const struct cm_values *ours,
			const struct cm_values *peer, char *err, size_t errlen)
{
	struct agent *a = arg;
	struct agent_conn *c = a->conns[cid];
	int rc;

	/* Peers could have one grace period after the other go by in this thread. */
	if (!agent_conn_settled(c))
		return -EAGAIN;
	c->ours = *ours;
	c->peer = *peer;
	c->cfg.remote_cid = peer->cid;
	rc = agent_agree_security(c, err, errlen);
	return rc < 0 ? rc : agent_conn_set_up(c, err, errlen);
}

static void on_ready(void *arg, uint32_t cid)
{
	struct agent *a = arg;

	agent_path_search(a->conns[cid]);
}

static void on_peer_path(void *arg, uint32_t cid, const struct cm_path *path)
{
	struct agent *a = arg;

	agent_path_told(a->conns[cid], path);
}

/* In a call. */
static void tell_refused(void *arg)
{
	struct agent_conn *c = arg;

	c->ulp->ops->refused(c->ulp->self, c->cfg.local_cid, c->reason);
}

/* In a call. */
static void tell_down(void *arg)
{
	struct agent_conn *c = arg;

	c->ulp->ops->conn_down(c->ulp->self, c->cfg.local_cid, c->reason);
}

void agent_conn_tell_not_up(struct agent_conn *c, bool refused, const char *reason)
{
	snprintf(c->reason, sizeof(c->reason), "%s", reason);
	agent_conn_call(c, refused && c->ulp->ops->refused ? tell_refused : tell_down);
}

static void on_lost(void *arg, uint32_t cid, const char *reason)
{
	struct agent *a = arg;
	struct agent_conn *c = a->conns[cid];

	if (!c->core)
		agent_conn_tell_not_up(c, cm_conn_state(a->cm, cid) == CM_REJECTED && !c->accepted, reason);
	agent_conn_take_down(c, reason);
	c->state = AGENT_CONN_WAITING;
	if (c->accepted)
		agent_conn_drop(c, reason);
}

const struct cm_ops agent_cm_ops = {
	.establish = on_establish,
	.ready = on_ready,
	.lost = on_lost,
	.path = on_peer_path,
	.fill_local_security = agent_fill_security,
	.use_remote_security = agent_use_security,
	.rekeyed = agent_security_used,
	.accept = agent_accept,
	.note = agent_take_note,
};

/* Without a handshake both ends start from zero, at once. */
int agent_conn_start_static(struct agent_conn *c, char *err, size_t errlen)
{
	int rc;

	c->ours = (struct cm_values){ .incarnation = 1, .security.spi = c->cfg.local_spi };
	c->peer = (struct cm_values){ .incarnation = 1, .security.spi = c->cfg.remote_spi };
	rc = agent_conn_set_up(c, err, errlen);
	if (rc == 0)
		rc = agent_conn_go_up(c);
	if (rc == 0)
		agent_path_search(c);
	return rc;
}

void agent_conn_offer(struct agent_conn *c, struct cm_local *out)
{
	*out = (struct cm_local){
		.family = c->cfg.family,
		.local_cid = c->cfg.local_cid,
		.remote_cid = c->cfg.remote_cid,
		.ordered = c->cfg.params.ordered,
		.function = c->cfg.params.function,
		.owner = c->owner,
		.security = cm_security_kind(config_encap(c->cfg.security)),
		.ulp = c->ulp_data,
		.params = {
			.features = CM_FEATURE_PATH,
			.flows = (uint8_t)c->cfg.params.flows,
			.data_window = (uint16_t)c->cfg.params.data_window,
			.req_window = (uint16_t)c->cfg.params.req_window,
		},
	};

	memcpy(out->peer, c->cfg.peer, sizeof(out->peer));
	out->local_addr = c->cfg.local;
	out->peer_addr = c->cfg.remote;
	agent_conn_route(c);
	out->params.mtu = c->route.mtu;
}
