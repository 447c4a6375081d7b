// SPDX-License-Identifier: BSD-2-Clause
/*
 * The life of a connection: configured, set up with the peer's agent, up, lost, set up anew.
 *
 * A connection's shared state may be rewritten only while XDP cannot be in it: its flags are
 * cleared, then maps_quiesce() waits for programs that still run, then the sockets are drained of
 * frames claimed before. agent_receive() drops frames of a connection without protocol state.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "agent/loopback.h"
#include "agent/rue.h"

const char *agent_conn_state_name(enum agent_conn_state s)
{
	switch (s) {
	case AGENT_CONN_WAITING: return "waiting";
	case AGENT_CONN_RECEIVING: return "receiving";
	case AGENT_CONN_UP: return "up";
	default: return "unknown";
	}
}

struct agent_conn *agent_conn_find(struct agent *a, const char *name)
{
	uint8_t addr[16] = {};
	struct agent_conn *by_addr = NULL;
	int family = inet_pton(AF_INET, name, addr) == 1    ? AF_INET
		     : inet_pton(AF_INET6, name, addr) == 1 ? AF_INET6
							    : AF_UNSPEC;

	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++) {
		struct agent_conn *c = a->conns[cid];

		if (!c)
			continue;
		if (!strcmp(c->cfg.name, name))
			return c;
		if (!by_addr && c->cfg.family == family && !memcmp(c->cfg.remote, addr, 16))
			by_addr = c;
	}
	return by_addr;
}

/* Close the connection to XDP and end its transactions. */
static void take_down(struct agent_conn *c, enum falcon_completion_code code, const char *why)
{
	struct agent *a = c->agent;

	snprintf(c->reason, sizeof(c->reason), "%s", why);
	if (!c->core)
		return;
	falcon_store(&c->shared->id.flags, 0);
	a->quiesce_due = true;
	log_info("connection down conn=%s cid=%u reason=\"%s\"", c->cfg.name, c->cfg.local_cid, why);
	c->ulp->ops->conn_down(c->ulp->self, c->cfg.local_cid, why);
	fcore_conn_close(c->core, code);
	c->core = NULL;
	rekey_leave(c);
	sec_close(&c->sec);
}

/* After this nothing that was claimed or redirected for a closed connection is on its way. */
static void settle(struct agent *a)
{
	if (!a->quiesce_due)
		return;
	maps_quiesce();
	while (agent_receive(a))
		;
	a->quiesce_due = false;
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
	id->pcid = c->sec.pcid;
	memcpy(id->local_addr, c->cfg.local, sizeof(id->local_addr));
	memcpy(id->peer_addr, c->cfg.remote, sizeof(id->peer_addr));
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

/* Payload that fits both ends' links, and the receiver's buffers, after all headers. */
static void size_segment(struct agent_conn *c)
{
	uint32_t mtu = c->route.mtu;

	if (c->peer.params.mtu && c->peer.params.mtu < mtu)
		mtu = c->peer.params.mtu;
	if (mtu > XSK_MAX_FRAME - ETH_HLEN)
		mtu = XSK_MAX_FRAME - ETH_HLEN;
	c->mtu = mtu;
	c->max_len = frame_max_payload(mtu, c->cfg.family == AF_INET6,
				       frame_around(c->sec.encap, c->sec.peer_pcid != 0,
						    sec_inner_len(&c->sec)));
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
	memcpy(out->local, c->cfg.local, sizeof(out->local));
	memcpy(out->remote, c->cfg.remote, sizeof(out->remote));
}

static void fill_params(struct agent_conn *c, struct fcore_params *p)
{
	/* Without a handshake the peer has not said, and is configured alike. */
	c->flows = c->cfg.params.flows;
	if (c->peer.params.flows && c->peer.params.flows < c->flows)
		c->flows = c->peer.params.flows;
	*p = c->cfg.params;
	p->tx_data_psn = c->ours.data_psn;
	p->tx_req_psn = c->ours.req_psn;
	p->tx_rsn = c->ours.rsn;
	p->rx_data_psn = c->peer.data_psn;
	p->rx_req_psn = c->peer.req_psn;
	p->rx_rsn = c->peer.rsn;
	p->flows = c->flows;
	p->path_seed = c->shared->id.incarnation;
}

/* Protocol state for this incarnation, open to XDP. */
int agent_conn_set_up(struct agent_conn *c, char *err, size_t errlen)
{
	struct agent *a = c->agent;
	struct fcore_params params;

	take_down(c, kCmplDeadConn, "a new incarnation replaces it");
	settle(a);
	agent_conn_route(c);
	if (!c->port && !c->loop) {
		snprintf(err, errlen,
			 "no route to the peer of connection %s over a configured port; check ip "
			 "route and the [port] sections",
			 c->cfg.name);
		return -ENETUNREACH;
	}
	size_segment(c);
	fill_identity(c);
	fill_params(c, &params);
	c->core = fcore_conn_open(a->core, c->cfg.local_cid, c->shared, &params, a->now);
	if (!c->core) {
		snprintf(err, errlen, "out of memory for connection %s", c->cfg.name);
		return -ENOMEM;
	}
	fcore_conn_set_user(c->core, c);
	agent_rue_start(c);
	falcon_store(&c->shared->id.flags, conn_flags(c));
	rekey_join(c);
	c->state = AGENT_CONN_RECEIVING;
	c->reason[0] = 0;
	return 0;
}

int agent_conn_go_up(struct agent_conn *c)
{
	struct ulp_conn up = {
		.core = c->core,
		.cid = c->cfg.local_cid,
		.max_len = c->max_len,
		.data.len = c->peer.ulp.len,
	};
	int rc;

	agent_conn_ends(c, &up.ends);
	memcpy(up.data.bytes, c->peer.ulp.data, sizeof(up.data.bytes));
	rc = c->ulp->ops->conn_up(c->ulp->self, &up);
	if (rc < 0)
		return rc;
	c->state = AGENT_CONN_UP;
	c->setups++;
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

	c->ours = *ours;
	c->peer = *peer;
	c->cfg.remote_cid = peer->cid;
	rc = agent_agree_security(c, err, errlen);
	return rc < 0 ? rc : agent_conn_set_up(c, err, errlen);
}

static void on_ready(void *arg, uint32_t cid)
{
	struct agent *a = arg;

	if (agent_conn_go_up(a->conns[cid]) < 0)
		agent_conn_fail(a->conns[cid], "out of memory");
}

/* It was not up, and its upper layer might wait for it. */
static void tell_not_up(struct agent_conn *c, const char *reason)
{
	const struct ulp_ops *ops = c->ulp->ops;
	bool refused = cm_conn_state(c->agent->cm, c->cfg.local_cid) == CM_REJECTED;

	if (refused && !c->accepted && ops->refused)
		ops->refused(c->ulp->self, c->cfg.local_cid, reason);
	else
		ops->conn_down(c->ulp->self, c->cfg.local_cid, reason);
}

static void on_lost(void *arg, uint32_t cid, const char *reason)
{
	struct agent *a = arg;
	struct agent_conn *c = a->conns[cid];

	if (!c->core)
		tell_not_up(c, reason);
	take_down(c, kCmplDeadConn, reason);
	c->state = AGENT_CONN_WAITING;
	c->gone |= c->accepted;
	a->reap_due |= c->gone;
}

const struct cm_ops agent_cm_ops = {
	.establish = on_establish,
	.ready = on_ready,
	.lost = on_lost,
	.fill_local_security = agent_fill_security,
	.use_remote_security = agent_use_security,
	.rekeyed = agent_security_used,
	.accept = agent_accept,
	.note = agent_take_note,
};

/* Without a handshake both ends start from zero, at once. */
static int start_static(struct agent_conn *c, char *err, size_t errlen)
{
	int rc;

	c->ours = (struct cm_values){ .incarnation = 1, .security.spi = c->cfg.local_spi };
	c->peer = (struct cm_values){ .incarnation = 1, .security.spi = c->cfg.remote_spi };
	rc = agent_conn_set_up(c, err, errlen);
	if (rc == 0)
		rc = agent_conn_go_up(c);
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
		.security = cm_security_kind(config_encap(c->cfg.security)),
		.ulp = c->ulp_data,
		.params = {
			.flows = (uint8_t)c->cfg.params.flows,
			.data_window = FALCON_DATA_WINDOW,
			.req_window = FALCON_REQ_WINDOW,
		},
	};

	memcpy(out->peer, c->cfg.peer, sizeof(out->peer));
	memcpy(out->local_addr, c->cfg.local, sizeof(out->local_addr));
	memcpy(out->peer_addr, c->cfg.remote, sizeof(out->peer_addr));
	agent_conn_route(c);
	out->params.mtu = c->route.mtu;
}

static int start(struct agent_conn *c, char *err, size_t errlen)
{
	struct cm_local local;

	if (loopback_wanted(c))
		return loopback_start(c, err, errlen);
	agent_conn_offer(c, &local);
	if (!c->cfg.handshake)
		return start_static(c, err, errlen);
	snprintf(c->reason, sizeof(c->reason), "waiting for the peer's agent");
	return cm_add(c->agent->cm, &local, err, errlen);
}

static int check_conflicts(struct agent *a, const struct conn_config *cfg, char *err, size_t errlen)
{
	if (cfg->local_cid >= a->maps.nconns) {
		snprintf(err, errlen,
			 "connection %s: local_cid %u is beyond the %u connections that the attached "
			 "XDP object has room for; falcon-large.bpf.o has more",
			 cfg->name, cfg->local_cid, a->maps.nconns);
		return -ERANGE;
	}
	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++) {
		int rc = a->conns[cid] ? config_conn_conflict(cfg, &a->conns[cid]->cfg, err, errlen)
				       : 0;

		if (rc < 0)
			return rc;
	}
	return 0;
}

static void init_security(struct agent_conn *c)
{
	c->sec.maps = &c->agent->maps;
	c->sec.cid = c->cfg.local_cid;
	c->sec.encap = config_encap(c->cfg.security);
	c->sec.tunnel = c->cfg.mode == CONFIG_MODE_TUNNEL;
	c->sec.inner_ipv6 = c->cfg.inner_family == AF_INET6;
	memcpy(c->sec.inner_local, c->cfg.inner_local, sizeof(c->sec.inner_local));
	memcpy(c->sec.inner_peer, c->cfg.inner_remote, sizeof(c->sec.inner_peer));
}

struct agent_conn *agent_conn_new(struct agent *a, const struct conn_config *cfg, struct ulp *ulp,
				  char *err, size_t errlen)
{
	struct agent_conn *c = calloc(1, sizeof(*c));

	if (!c) {
		snprintf(err, errlen, "out of memory for connection %s", cfg->name);
		return NULL;
	}
	c->agent = a;
	c->cfg = *cfg;
	c->ulp = ulp;
	c->ulp_data.proto = ulp->ops->proto;
	init_security(c);
	c->shared = &a->maps.conns[cfg->local_cid];
	a->conns[cfg->local_cid] = c;
	if (agent_rue_select(c, &cfg->cc, err, errlen) < 0) {
		a->conns[cfg->local_cid] = NULL;
		free(c);
		return NULL;
	}
	return c;
}

int agent_conn_start(struct agent_conn *c, char *err, size_t errlen)
{
	int rc = start(c, err, errlen);

	if (rc < 0) {
		c->agent->conns[c->cfg.local_cid] = NULL;
		take_down(c, kCmplDeadConn, err);
		free(c);
	}
	return rc;
}

/* Configured connections carry raw transactions. */
static int add(struct agent *a, const struct conn_config *cfg, char *err, size_t errlen)
{
	struct agent_conn *c = agent_conn_new(a, cfg, agent_ulp(a, FALCON_PROTO_RAW), err, errlen);

	return c ? agent_conn_start(c, err, errlen) : -EINVAL;
}

int agent_conn_add(struct agent *a, const struct conn_config *cfg, char *err, size_t errlen)
{
	int rc = check_conflicts(a, cfg, err, errlen);
	struct conn_config chosen = *cfg;

	if (rc == 0 && !cfg->local_cid) {
		rc = agent_cid_choose(a, err, errlen);
		chosen.local_cid = (uint32_t)rc;
	}
	return rc < 0 ? rc : add(a, &chosen, err, errlen);
}

static struct agent_conn *find_or_explain(struct agent *a, const char *name, char *err,
					  size_t errlen)
{
	struct agent_conn *c = agent_conn_find(a, name);

	if (!c)
		snprintf(err, errlen, "no connection named \"%s\"; falconctl conn show lists them",
			 name);
	return c;
}

/* Nothing stays of a pair's other end if that was dialled. */
static void part_for_good(struct agent_conn *c, const char *why)
{
	struct agent_conn *twin = c->twin;

	c->gone = true;
	loopback_part(c, why);
	if (twin && twin->gone)
		take_down(twin, kCmplDeadConn, why);
}

static void leave(struct agent_conn *c, const char *why)
{
	if (c->cfg.handshake)
		cm_remove(c->agent->cm, c->cfg.local_cid, why);
	take_down(c, kCmplDeadConn, why);
	if (c->loop)
		part_for_good(c, why);
}

/* For the reason that it has, which take_down() writes over. */
static void leave_as_told(struct agent_conn *c)
{
	char why[sizeof(c->reason)];

	snprintf(why, sizeof(why), "%s", c->reason);
	leave(c, why);
}

/* After leave() and settle(). */
static void forget(struct agent_conn *c)
{
	memset(c->shared, 0, sizeof(*c->shared));
	if (c->accepted && !c->loop)
		c->agent->peer_conns[c->section]--;
	c->agent->conns[c->cfg.local_cid] = NULL;
	free(c);
}

int agent_conn_del(struct agent *a, const char *name, char *err, size_t errlen)
{
	struct agent_conn *c = find_or_explain(a, name, err, errlen);

	if (!c)
		return -ENOENT;
	leave(c, "deleted by the operator");
	settle(a);
	forget(c);
	return 0;
}

/* Down, and set up anew: by a new handshake, or at once without one. */
static int restart(struct agent_conn *c, const char *why, char *err, size_t errlen)
{
	take_down(c, kCmplDeadConn, why);
	c->state = AGENT_CONN_WAITING;
	if (c->accepted) {
		c->gone = true;
		c->agent->reap_due = true;
	}
	if (c->loop)
		loopback_part(c, why);
	else if (!c->cfg.handshake)
		return start_static(c, err, errlen);
	else
		cm_reset(c->agent->cm, c->cfg.local_cid, why);
	return 0;
}

int agent_conn_reset(struct agent *a, const char *name, char *err, size_t errlen)
{
	struct agent_conn *c = find_or_explain(a, name, err, errlen);

	return c ? restart(c, "reset by the operator", err, errlen) : -ENOENT;
}

void agent_conns_close(struct agent *a)
{
	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++)
		if (a->conns[cid])
			leave(a->conns[cid], "the agent stops");
	settle(a);
	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++)
		if (a->conns[cid])
			forget(a->conns[cid]);
}

void agent_conns_reroute(struct agent *a)
{
	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++) {
		struct agent_conn *c = a->conns[cid];

		if (!c)
			continue;
		agent_conn_route(c);
		if (c->cfg.handshake)
			cm_set_mtu(a->cm, cid, c->route.mtu);
		if (c->core && c->routed && c->route.mtu < c->mtu)
			agent_conn_fail(c, "the path's MTU has shrunk");
	}
}

void agent_conn_fail(struct agent_conn *c, const char *why)
{
	snprintf(c->reason, sizeof(c->reason), "%s", why);
	c->failing = true;
	c->agent->reap_due = true;
}

void agent_conn_drop(struct agent_conn *c, const char *why)
{
	snprintf(c->reason, sizeof(c->reason), "%s", why);
	c->gone = true;
	c->agent->reap_due = true;
}

/* What peers had dialled and has been lost goes, and what was dropped, all with one wait. */
static void remove_gone(struct agent *a)
{
	bool any = false;

	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++) {
		if (a->conns[cid] && a->conns[cid]->gone)
			leave_as_told(a->conns[cid]);
		any |= a->conns[cid] && a->conns[cid]->gone;
	}
	if (!any)
		return;
	settle(a);
	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++)
		if (a->conns[cid] && a->conns[cid]->gone)
			forget(a->conns[cid]);
}

void agent_conns_reap(struct agent *a)
{
	a->reap_due = false;
	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++) {
		struct agent_conn *c = a->conns[cid];
		char why[sizeof(c->reason)], err[256] = "";

		if (!c || !c->failing)
			continue;
		c->failing = false;
		snprintf(why, sizeof(why), "%s", c->reason);
		if (restart(c, why, err, sizeof(err)) < 0)
			log_warn("connection stays down conn=%s: %s", c->cfg.name, err);
	}
	remove_gone(a);
}
