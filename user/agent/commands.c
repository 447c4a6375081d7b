// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests on the control socket: what applications need to attach and find connections, and what
 * changes connections. What only shows is in show.c.
 */
#include "agent/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/drop.h"
#include "agent/log.h"
#include "agent/nvme.h"
#include "agent/own.h"
#include "agent/rdma.h"
#include "agent/rue.h"

/* A request's handler: 0, or a negative errno with *|reply| made by control_error(). */
typedef int (*command_fn)(struct agent *a, struct control_client *cl, json_t *req, int *fds,
			  int nfds, json_t **reply);

static int attach(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply)
{
	json_int_t service = json_integer_value(json_object_get(req, "service"));
	struct client *app;
	char err[256];
	int rc;

	if (cl->user || cl->nvme)
		return control_error(reply, -EALREADY, "this connection has attached already");
	if (nfds != 3 || service < 0 || service > UINT16_MAX)
		return control_error(reply, -EINVAL,
				     "attach wants a service of 0..65535 and three descriptors");
	rc = raw_attach(a->raw, fds[0], fds[1], fds[2], (uint16_t)service, &app, err, sizeof(err));
	if (rc < 0)
		return control_error(reply, rc, "%s", err);
	/* The client owns them now. */
	for (int i = 0; i < 3; i++)
		fds[i] = -1;
	rc = quota_charge(a->quota, cl->uid, QUOTA_MEMORY, client_memory(app));
	if (rc < 0) {
		raw_detach(a->raw, app);
		quota_explain(a->quota, cl->uid, QUOTA_MEMORY, err, sizeof(err));
		return control_error(reply, rc, "%s", err);
	}
	cl->user = app;
	client_set_user(app, own_all(cl->uid) ? 0 : cl->uid);
	agent_watch(a, client_doorbell(app));
	log_info("application attached service=%u pid=%d uid=%u", client_service(app), cl->pid,
		 cl->uid);
	*reply = json_pack("{s:i}", "service", client_service(app));
	return 0;
}

static struct agent_conn *conn_of_request(struct agent *a, const struct control_client *cl,
					  const json_t *req, json_t **reply)
{
	const char *name = json_string_value(json_object_get(req, "name"));
	struct agent_conn *c = name ? agent_conn_find(a, name) : NULL;

	if (c && !own_sees(c, cl->uid))
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
	*reply = json_pack("{s:I}", "conn", (json_int_t)c->cfg.local_cid);
	return 0;
}

static int conn_info(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		     json_t **reply)
{
	json_int_t cid = json_integer_value(json_object_get(req, "conn"));
	const struct agent_conn *c = cid > 0 && cid < FALCON_MAX_CONNS
					     ? agent_conn_at(a, (uint32_t)cid)
					     : NULL;

	(void)fds, (void)nfds;
	if (!c || !own_sees(c, cl->uid))
		return control_error(reply, -ENOENT, "no connection %lld", (long long)cid);
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
	if (rc == 0 && own_all(cl->uid))
		rc = agent_conn_add(a, &cfg, err, sizeof(err));
	else if (rc == 0)
		rc = own_add(a, cl->uid, req, &cfg, err, sizeof(err));
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
	if (!own_changes(c, cl->uid))
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
	int rc = agent_show(a, req, reply);

	(void)fds, (void)nfds;
	own_filter(a, cl->uid, json_object_get(*reply, "rows"));
	return rc;
}

static const struct command {
	const char *op;
	command_fn fn;
	bool changes;	/* what is everybody's: for the agent's owner and root */
} commands[] = {
	{ "attach", attach, false },
	{ "verbs-attach", agent_rdma_attach, false },
	{ "lookup", lookup, false },
	{ "conn-info", conn_info, false },
	{ "conn-add", conn_add, false },
	{ "conn-del", conn_del, false },
	{ "conn-reset", conn_reset, false },
	{ "conn-set", agent_conn_set, true },
	{ "rue-trace", agent_rue_trace, true },
	{ "xlr-add", agent_xlr_add, true },
	{ "xlr-del", agent_xlr_del, true },
	{ "key-rotate", key_rotate, true },
	{ "key-export", key_export, true },
	{ "nvme-attach", agent_nvme_attach, false },
	{ "nvme-connect", agent_nvme_connect, true },
	{ "nvme-disconnect", agent_nvme_disconnect, true },
	{ "nvme-reset", agent_nvme_reset, false },
	{ "namespace-set", agent_namespace_set, true },
	{ "namespace-resize", agent_namespace_resize, true },
	{ "nvme-device", agent_nvme_device, false },
	{ "show", show, false },
};

int agent_command(void *arg, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply)
{
	const char *op = json_string_value(json_object_get(req, "op"));

	for (size_t i = 0; op && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(op, commands[i].op))
			continue;
		if (commands[i].changes && !own_all(cl->uid))
			return control_error(reply, -EPERM, "%s is for root", op);
		return commands[i].fn(arg, cl, req, fds, nfds, reply);
	}
	return control_error(reply, -EOPNOTSUPP, "unknown request \"%s\"", op ? op : "");
}

int agent_client_admit(void *arg, const struct control_client *cl, const gid_t *groups, size_t n,
		       char *err, size_t errlen)
{
	struct agent *a = arg;
	int rc = -EBUSY;

	if (drop_pending(cl->uid) < DROP_MAX)
		rc = quota_admit(a->quota, cl->uid, groups, n, err, errlen);
	else
		snprintf(err, errlen, "descriptors that user %u has sent cannot be closed", cl->uid);

	a->stats.clients_refused += rc < 0;
	return rc;
}

void agent_client_gone(void *arg, struct control_client *cl)
{
	struct agent *a = arg;
	struct client *app = cl->user;

	agent_rue_trace_end(a, cl);
	agent_nvme_gone(a, cl);
	quota_uncharge(a->quota, cl->uid, QUOTA_CLIENTS, 1);
	if (!app)
		return;
	cl->user = NULL;
	quota_uncharge(a->quota, cl->uid, QUOTA_MEMORY, client_memory(app));
	log_info("application gone service=%u pid=%d", client_service(app), cl->pid);
	agent_unwatch(a, client_doorbell(app));
	raw_detach(a->raw, app);
}

struct drop {
	struct control_client *found;
	const struct client *app;
};

static void find_owner(void *arg, struct control_client *cl)
{
	struct drop *d = arg;

	if (cl->user == d->app)
		d->found = cl;
}

void agent_client_broken(struct agent *a, struct client *app)
{
	struct drop d = { .app = app };

	control_each(a->control, find_owner, &d);
	if (d.found)
		control_drop(a->control, d.found);
}
