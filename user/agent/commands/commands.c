// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests on the control socket: what applications need to attach and find connections, and what
 * changes connections. What only shows is in show.c.
 */
#include "agent/commands/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/security.h"
#include "agent/conn/setup.h"
#include "agent/conn/users.h"
#include "agent/control/control.h"
#include "agent/metrics/agent.h"
#include "agent/nvme/app.h"
#include "agent/nvme/nvme.h"
#include "agent/process/deferred_close.h"
#include "agent/raw/app.h"
#include "agent/rdma/rdma.h"
#include "agent/rue/rue.h"
#include "agent/tenant/operator.h"
#include "agent/tenant/quota.h"
#include "base/log.h"

/* A request's handler: 0, or a negative errno with *|reply| made by control_error(). */
typedef int (*command_fn)(struct agent *a, struct control_client *cl, json_t *req, int *fds,
			  int nfds, json_t **reply);

static struct agent_conn *conn_of_request(struct agent *a, const struct control_client *cl,
					  const json_t *req, json_t **reply)
{
	const char *name = json_string_value(json_object_get(req, "name"));
	struct agent_conn *c = name ? agent_conn_find_for(a, name, cl->uid) : NULL;

	if (c && !user_sees_conn(c, cl->uid))
		c = NULL;
	if (!name)
		control_error(reply, -EINVAL, "\"name\" is missing");
	else if (!c)
		control_error(reply, -ENOENT,
			      "no connection named \"%s\"; falconctl conn show lists them", name);
	return c;
}

static int lookup(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply)
{
	const struct agent_conn *c = conn_of_request(a, cl, req, reply);

	(void)fds, (void)nfds;
	if (!c)
		return -ENOENT;
	*reply = json_pack("{s:I}", "conn",
			   (json_int_t)FALCON_CONN_HANDLE(c->shard->index, c->cfg.local_cid));
	return 0;
}

/* The connection with the |handle| that "lookup" has given, or NULL: it is gone. */
static const struct agent_conn *conn_of_handle(struct agent *a, json_int_t handle)
{
	uint32_t cid = handle > 0 && handle <= UINT32_MAX ? FALCON_CONN_CID((uint32_t)handle) : 0;
	const struct agent_conn *c = cid && cid < FALCON_MAX_CONNS ? agent_conn_at(a, cid) : NULL;

	return c && c->shard->index == FALCON_CONN_SET((uint32_t)handle) ? c : NULL;
}

static int conn_info(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		     json_t **reply)
{
	json_int_t conn = json_integer_value(json_object_get(req, "conn"));
	const struct agent_conn *c = conn_of_handle(a, conn);

	(void)fds, (void)nfds;
	if (!c || !user_sees_conn(c, cl->uid))
		return control_error(reply, -ENOENT, "no connection %lld", (long long)conn);
	*reply = json_pack("{s:s, s:b, s:b, s:I, s:I, s:s}", "name", c->cfg.name, "up",
			   c->state == AGENT_CONN_UP, "ordered", c->cfg.params.ordered, "segment",
			   (json_int_t)agent_conn_segment(c), "mtu", (json_int_t)c->mtu, "reason", c->reason);
	return 0;
}

static int conn_add(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		    json_t **reply)
{
	struct conn_config cfg;
	char err[256];
	int rc = config_conn_from_json(req, &a->config.agent, &cfg, err, sizeof(err));

	(void)fds, (void)nfds;
	if (rc == 0 && user_is_operator(cl->uid))
		rc = agent_conn_add(a, &cfg, cl->uid, err, sizeof(err));
	else if (rc == 0)
		rc = user_conn_add(a, cl->uid, req, &cfg, err, sizeof(err));
	return rc < 0 ? control_error(reply, rc, "%s", err) : 0;
}

static int change(struct agent *a, const struct control_client *cl, json_t *req, json_t **reply,
		  int (*fn)(struct agent *a, const char *name, char *err, size_t errlen))
{
	const struct agent_conn *c = conn_of_request(a, cl, req, reply);
	char err[256];
	int rc;

	if (!c)
		return -ENOENT;
	if (!user_changes_conn(c, cl->uid))
		return control_error(reply, -EPERM, "connection %s is not yours", c->cfg.name);
	rc = fn(a, c->cfg.name, err, sizeof(err));
	return rc < 0 ? control_error(reply, rc, "%s", err) : 0;
}

static int conn_del(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		    json_t **reply)
{
	(void)fds, (void)nfds;
	return change(a, cl, req, reply, agent_conn_del);
}

static int conn_reset(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply)
{
	(void)fds, (void)nfds;
	return change(a, cl, req, reply, agent_conn_reset);
}

/* Of one connection, or without a name of the whole agent. */
static int key_rotate(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply)
{
	struct agent_conn *c = NULL;
	char err[256];
	int rc;

	(void)cl, (void)fds, (void)nfds;
	if (json_object_get(req, "name")) {
		c = conn_of_request(a, cl, req, reply);
		if (!c)
			return -ENOENT;
	}
	rc = c ? rekey_conn(c, err, sizeof(err)) : rekey_all(a, err, sizeof(err));
	return rc < 0 ? control_error(reply, rc, "%s", err) : 0;
}

static int key_export(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply)
{
	(void)req, (void)fds, (void)nfds;
	if (!a->config.agent.key_export)
		return control_error(reply, -EPERM, "keys stay here; see key_export in falcon.conf(5)");
	log_warn("KEYS EXPORTED: pid=%d uid=%u now reads all traffic", cl->pid, cl->uid);
	*reply = json_pack("{s:o}", "rows", agent_keys_json(a));
	return 0;
}

static int show(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		json_t **reply)
{
	(void)fds, (void)nfds;
	return agent_show(a, req, cl->uid, reply);
}

static const struct command {
	const char *op;
	command_fn fn;
	bool changes;	/* what is everybody's: for the agent's owner and root */
	bool call;	/* is about what the shard has: in a call */
} commands[] = {
	{ "attach", agent_raw_attach, .call = true },
	{ "threads", agent_raw_threads, .call = false },
	{ "verbs-attach", agent_rdma_attach, .call = true },
	{ "lookup", lookup, .call = false },
	{ "conn-info", conn_info, .call = false },
	{ "conn-add", conn_add, .call = false },
	{ "conn-del", conn_del, .call = false },
	{ "conn-reset", conn_reset, .call = false },
	{ "conn-set", agent_conn_set, .changes = true, .call = true },
	{ "rue-trace", agent_rue_trace, .changes = true, .call = true },
	{ "xlr-add", agent_xlr_add, .changes = true, .call = true },
	{ "xlr-del", agent_xlr_del, .changes = true, .call = true },
	{ "key-rotate", key_rotate, .changes = true },
	{ "key-export", key_export, .changes = true, .call = true },
	{ "nvme-attach", agent_nvme_attach, .call = true },
	{ "nvme-connect", agent_nvme_connect, .changes = true },
	{ "nvme-discover", agent_nvme_discover, .changes = true, .call = true },
	{ "nvme-disconnect", agent_nvme_disconnect, .changes = true, .call = true },
	{ "nvme-reset", agent_nvme_reset, .call = true },
	{ "namespace-set", agent_namespace_set, .changes = true, .call = true },
	{ "namespace-resize", agent_namespace_resize, .changes = true, .call = true },
	{ "nvme-device", agent_nvme_device, .call = true },
	{ "show", show, .call = false },
	{ "metrics", agent_metrics_command, .call = false },
};

/* A request that is being served. */
struct request {
	struct agent *agent;
	command_fn fn;
	struct control_client *client;
	json_t *req, **reply;
	int *fds, nfds, rc;
};

static void serve(void *arg)
{
	struct request *r = arg;

	r->rc = r->fn(r->agent, r->client, r->req, r->fds, r->nfds, r->reply);
}

int agent_command(void *arg, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply)
{
	const char *op = json_string_value(json_object_get(req, "op"));
	struct request r = { .agent = arg, .client = cl, .req = req, .reply = reply, .fds = fds,
			     .nfds = nfds };

	for (size_t i = 0; op && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(op, commands[i].op))
			continue;
		if (commands[i].changes && !user_is_operator(cl->uid))
			return control_error(reply, -EPERM, "%s is for root", op);
		r.fn = commands[i].fn;
		if (commands[i].call)
			plane_call(&r.agent->plane, serve, &r);
		else
			serve(&r);
		return r.rc;
	}
	return control_error(reply, -EOPNOTSUPP, "unknown request \"%s\"", op ? op : "");
}

int agent_client_admit(void *arg, const struct control_client *cl, const gid_t *groups, size_t n,
		       char *err, size_t errlen)
{
	struct agent *a = arg;
	int rc = -EBUSY;

	if (!deferred_close_full(cl->uid))
		rc = quota_admit(a->quota, cl->uid, groups, n, err, errlen);
	else
		snprintf(err, errlen, "descriptors that user %u has sent cannot be closed", cl->uid);

	a->stats.clients_refused += rc < 0;
	return rc;
}

struct leaving {
	struct agent *agent;
	struct control_client *client;
};

/* In a call. */
static void detach(void *arg)
{
	struct agent *a = ((struct leaving *)arg)->agent;
	struct control_client *cl = ((struct leaving *)arg)->client;

	agent_rue_trace_end(cl);
	agent_nvme_gone(a, cl);
	agent_raw_gone(a, cl);
	quota_uncharge(a->quota, cl->uid, QUOTA_CLIENTS, 1);
}

void agent_client_gone(void *arg, struct control_client *cl)
{
	struct leaving l = { .agent = arg, .client = cl };

	plane_call(&l.agent->plane, detach, &l);
}

/* Looking for one that broke the rules. */
struct search {
	struct agent *agent;
	struct control_client *found;
};

static void look_at(void *arg, struct control_client *cl)
{
	struct search *s = arg;

	if ((cl->raw && raw_app_broken(cl->raw)) ||
	    (cl->nvme && client_broken(nvme_app_client(cl->nvme))))
		s->found = cl;
}

/* In a call. */
static void look_at_all(void *arg)
{
	struct search *s = arg;

	control_each(s->agent->control, look_at, s);
}

void agent_clients_broken(struct agent *a)
{
	struct search s = { .agent = a };

	do {
		s.found = NULL;
		plane_call(&a->plane, look_at_all, &s);
		if (!s.found)
			return;
		log_warn("application detached: impossible ring indexes in the shared memory pid=%d",
			 (int)s.found->pid);
		control_drop(a->control, s.found);
	} while (true);
}
