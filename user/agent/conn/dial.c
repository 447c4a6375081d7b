// SPDX-License-Identifier: BSD-2-Clause
/* What upper layers ask of the agent: connections to peers, and their end. */
#include "agent/conn/dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/config/keys.h"
#include "agent/conn/accept.h"
#include "agent/conn/cid.h"
#include "agent/conn/conn.h"
#include "agent/shard/shard.h"

/* As a [connection] section with no more than the two addresses would have it. */
static void configure(const struct agent *a, const struct ulp *ulp, const struct ulp_dial *d,
		      int cid, struct conn_config *cfg)
{
	char name[sizeof(cfg->name)];

	snprintf(name, sizeof(name), "%s.%d", ulp->ops->name, cid);
	config_conn_init(cfg, name);
	config_conn_inherit(cfg, &a->config.agent);
	cfg->family = d->ends.family;
	cfg->local = d->ends.local;
	cfg->remote = d->ends.remote;
	cfg->local_cid = (uint32_t)cid;
	cfg->params.ordered = d->ends.ordered;
	cfg->params.function = d->ends.function;
	snprintf(cfg->peer, sizeof(cfg->peer), "%s", d->peer ? d->peer : "");
}

static struct agent_conn *make(struct shard *s, int cid, const struct ulp_dial *d, char *err, size_t errlen)
{
	struct ulp *ulp = agent_ulp(s, d->proto);
	struct conn_config cfg;
	struct agent_conn *c;

	configure(s->agent, ulp, d, cid, &cfg);
	c = agent_conn_new(s, &cfg, ulp, err, errlen);
	if (c) {
		agent_conn_set_data(c, &d->data);
		c->owner = d->uid;
	}
	return c;
}

int agent_dial(struct shard *s, const struct ulp_dial *d, char *err, size_t errlen)
{
	int cid = agent_cid_choose(s->agent, err, errlen), rc;
	struct agent_conn *c;

	if (cid < 0)
		return cid;
	c = make(s, cid, d, err, errlen);
	rc = c ? agent_conn_start(c, err, errlen) : -ENOMEM;
	return rc < 0 ? rc : cid;
}

void agent_dial_reserved(struct shard *s, uint32_t cid, const struct ulp_dial *d)
{
	char err[256] = "";
	struct agent_conn *c = make(s, (int)cid, d, err, sizeof(err));

	if (c)
		agent_conn_begin(c);
	else
		agent_ulp_not_up(s, agent_ulp(s, d->proto), cid, err);
}
