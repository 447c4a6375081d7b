// SPDX-License-Identifier: BSD-2-Clause
/*
 * Accepting what peers dial. An accepted connection exists as long as it is up: when it is lost,
 * agent_conns_run() removes it.
 */
#include "agent/conn/accept.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/config/keys.h"
#include "agent/config/policy.h"
#include "agent/conn/cid.h"
#include "agent/conn/conn.h"
#include "agent/conn/setup.h"
#include "agent/shard/shard.h"
#include "base/log.h"

static void configure(const struct agent *a, const struct peer_config *peer, int cid,
		      const struct cm_request *req, struct conn_config *cfg)
{
	char name[sizeof(cfg->name)];

	snprintf(name, sizeof(name), "%.48s.%d",
		 req->who->nnames ? req->who->names[0] : peer->name, cid);
	config_conn_init(cfg, name);
	config_conn_inherit(cfg, &a->config.agent);
	cfg->family = req->family;
	cfg->local = req->local_addr;
	cfg->remote = req->peer_addr;
	cfg->local_cid = (uint32_t)cid;
	cfg->params.ordered = req->ordered;
	cfg->params.function = req->function;
	cfg->security = config_security(req->version);
}

/* Whose upper layer |proto| is to have what is dialled with |data|. */
static struct shard *dialled_for(struct agent *a, uint8_t proto, const struct ulp_data *data)
{
	const struct ulp *ulp = agent_ulp(&a->plane.shards[0], proto);
	uint32_t i = ulp && ulp->ops->dial_for ? ulp->ops->dial_for(ulp->self, data) : 0;

	if (ulp && ulp->ops->any_shard)
		return agent_quietest_shard(a);
	return &a->plane.shards[i < a->plane.nshards ? i : 0];
}

struct consent {
	struct ulp *ulp;
	const struct ulp_request *req;
	struct ulp_data *reply;
	char *err;
	size_t errlen;
	int rc;
};

/* In a call. */
static void ask(void *arg)
{
	struct consent *c = arg;

	c->rc = c->ulp->ops->accept(c->ulp->self, c->req, c->reply, c->err, c->errlen);
}

int agent_ask_ulp(struct agent *a, const struct conn_config *cfg, const struct cm_request *req,
		  struct shard **shard, struct ulp **ulp, struct ulp_data *reply, char *err, size_t errlen)
{
	struct ulp_request r = {
		.ends = {
			.family = cfg->family,
			.function = req->function,
			.ordered = req->ordered,
		},
		.peer = req->who->nnames ? req->who->names[0] : "",
		.data.len = req->ulp.len,
		.cid = cfg->local_cid,
	};
	struct consent c = { .req = &r, .reply = reply, .err = err, .errlen = errlen };

	memcpy(r.data.bytes, req->ulp.data, sizeof(r.data.bytes));
	*shard = dialled_for(a, req->ulp.proto, &r.data);
	*ulp = agent_ulp(*shard, req->ulp.proto);
	if (!*ulp || !(*ulp)->ops->accept) {
		snprintf(err, errlen, "no upper layer %u takes connections here", req->ulp.proto);
		return -EOPNOTSUPP;
	}
	r.ends.local = cfg->local;
	r.ends.remote = cfg->remote;
	c.ulp = *ulp;
	call_run(&(*shard)->call, ask, &c);
	return c.rc;
}

struct not_up {
	struct ulp *ulp;
	uint32_t cid;
	const char *why;
};

/* In a call. */
static void tell_not_up(void *arg)
{
	const struct not_up *n = arg;

	n->ulp->ops->conn_down(n->ulp->self, n->cid, n->why);
}

void agent_ulp_not_up(struct shard *s, struct ulp *ulp, uint32_t cid, const char *why)
{
	struct not_up n = { .ulp = ulp, .cid = cid, .why = why };

	call_run(&s->call, tell_not_up, &n);
}

static int refuse(struct agent *a, int rc, const char *err)
{
	/* Of two applications that connect, one comes first, and dials again; or both dial at once. */
	enum log_level level = rc == -ENOENT || rc == -EALREADY ? LOG_LEVEL_INFO : LOG_LEVEL_WARN;

	a->stats.dials_refused++;
	log_ratelimited(level, &a->refusals, "connection refused: %s", err);
	return rc;
}

int agent_accept(void *arg, const struct cm_request *req, struct cm_local *out, char *err,
		 size_t errlen)
{
	struct agent *a = arg;
	int section = policy_check(&a->config, a->peer_conns, req, err, errlen);
	int cid = section < 0 ? section : agent_cid_choose(a, err, errlen);
	struct ulp_data reply = {};
	struct conn_config cfg;
	struct agent_conn *c;
	struct shard *shard;
	struct ulp *ulp;
	int rc;

	if (cid < 0)
		return refuse(a, cid, err);
	configure(a, &a->config.peers[section], cid, req, &cfg);
	rc = agent_ask_ulp(a, &cfg, req, &shard, &ulp, &reply, err, errlen);
	if (rc < 0) {
		agent_cid_release(a, (uint32_t)cid);
		return refuse(a, rc, err);
	}
	c = agent_conn_new(shard, &cfg, ulp, err, errlen);
	if (!c) {
		agent_ulp_not_up(shard, ulp, (uint32_t)cid, err);
		return -ENOMEM;
	}
	agent_conn_set_data(c, &reply);
	c->accepted = true;
	c->section = (uint32_t)section;
	a->peer_conns[section]++;
	agent_conn_offer(c, out);
	return 0;
}

/* One word of the list at |*text|, which is left behind it. */
static int take_address(const char **text, struct falcon_addr *addr)
{
	char word[INET6_ADDRSTRLEN] = "";
	size_t len;

	*text += strspn(*text, ", ");
	len = strcspn(*text, ", ");
	if (len > 0 && len < sizeof(word))
		memcpy(word, *text, len);
	*text += len;
	*addr = (struct falcon_addr){ 0 };
	if (inet_pton(AF_INET, word, addr->b) == 1)
		return AF_INET;
	return inet_pton(AF_INET6, word, addr->b) == 1 ? AF_INET6 : AF_UNSPEC;
}

int agent_listen(struct agent *a, char *err, size_t errlen)
{
	const char *text = a->config.agent.listen;
	int ret = 0;

	while (ret == 0 && text[strspn(text, ", ")]) {
		struct falcon_addr addr;
		int family = take_address(&text, &addr);

		if (family == AF_UNSPEC) {
			snprintf(err, errlen, "listen must be IPv4 or IPv6 addresses, not \"%s\"",
				 a->config.agent.listen);
			return -EINVAL;
		}
		ret = cm_listen(a->cm, family, &addr, err, errlen);
	}
	return ret;
}
