// SPDX-License-Identifier: BSD-2-Clause
/* What upper layers ask of the agent: connections to peers, and their end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/config_keys.h"

_Static_assert((int)ULP_DATA_MAX == (int)CM_ULP_DATA_MAX, "the offer carries what the upper layer says");

void agent_conn_set_data(struct agent_conn *c, const struct ulp_data *data)
{
	c->ulp_data.len = data->len;
	memcpy(c->ulp_data.data, data->bytes, sizeof(c->ulp_data.data));
}

/* As a [connection] section with no more than the two addresses would have it. */
static void configure(const struct agent *a, const struct ulp *ulp, const struct ulp_dial *d,
		      int cid, struct conn_config *cfg)
{
	char name[sizeof(cfg->name)];

	snprintf(name, sizeof(name), "%s.%d", ulp->ops->name, cid);
	config_conn_init(cfg, name);
	config_conn_inherit(cfg, &a->config.agent);
	cfg->family = d->ends.family;
	memcpy(cfg->local, d->ends.local, sizeof(cfg->local));
	memcpy(cfg->remote, d->ends.remote, sizeof(cfg->remote));
	cfg->local_cid = (uint32_t)cid;
	cfg->params.ordered = d->ends.ordered;
	cfg->params.function = d->ends.function;
	snprintf(cfg->peer, sizeof(cfg->peer), "%s", d->peer ? d->peer : "");
}

static int dial(void *agent, const struct ulp_dial *d, char *err, size_t errlen)
{
	struct agent *a = agent;
	struct ulp *ulp = agent_ulp(a, d->proto);
	int cid = agent_cid_choose(a, err, errlen);
	struct conn_config cfg;
	struct agent_conn *c;
	int rc;

	if (cid < 0)
		return cid;
	configure(a, ulp, d, cid, &cfg);
	c = agent_conn_new(a, &cfg, ulp, err, errlen);
	if (!c)
		return -ENOMEM;
	agent_conn_set_data(c, &d->data);
	rc = agent_conn_start(c, err, errlen);
	return rc < 0 ? rc : cid;
}

static void hangup(void *agent, uint32_t cid, const char *why)
{
	struct agent *a = agent;

	struct agent_conn *c = agent_conn_at(a, cid);

	if (c)
		agent_conn_drop(c, why);
}

const struct ulp_host agent_ulp_host = {
	.dial = dial,
	.hangup = hangup,
	.note = agent_send_note,
};
