// SPDX-License-Identifier: BSD-2-Clause
/* Requests on the control socket about NVMe devices: applications, devices made and given up, discovery. */
#include "agent/nvme/priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/config/nvme.h"
#include "agent/control/control.h"
#include "agent/nvme/app.h"
#include "agent/nvme/nvme.h"
#include "agent/shard/shard.h"
#include "agent/tenant/operator.h"
#include "agent/tenant/quota.h"
#include "base/log.h"
#include "io/netdev.h"

/* The device that |req| names, and who has it in *|s|, if not NULL; or NULL, with an error in |reply|. */
static struct nvme_dev *dev_of_request(struct agent *a, const json_t *req, struct shard_nvme **s,
				       json_t **reply)
{
	const char *name = json_string_value(json_object_get(req, "name"));
	struct nvme_dev *dev = NULL;

	if (name)
		dev = agent_nvme_find(a->nvme, name, s);
	if (!name)
		control_error(reply, -EINVAL, "\"name\" is missing");
	else if (!dev)
		control_error(reply, -ENOENT, "no NVMe device named \"%s\"; falconctl nvme show "
			      "lists them", name);
	return dev;
}

/* What an application has left under way is its user's for as long as it takes. */
static void uncharge(void *quota, uid_t uid, uint64_t bytes)
{
	quota_uncharge(quota, uid, QUOTA_MEMORY, bytes);
}

int agent_nvme_attach(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply)
{
	struct shard_nvme *s;
	struct nvme_dev *dev = dev_of_request(a, req, &s, reply);
	struct nvme_app *app;
	char err[256];
	int rc;

	if (!dev)
		return -ENOENT;
	if (cl->raw || cl->nvme)
		return control_error(reply, -EALREADY, "this connection has attached already");
	if (nfds != 3)
		return control_error(reply, -EINVAL, "nvme-attach wants three descriptors");
	rc = nvme_app_attach(s->apps, dev, cl->uid, fds, &app, err, sizeof(err));
	if (rc < 0)
		return control_error(reply, rc, "%s", err);
	/* The application's object owns them now. */
	for (int i = 0; i < 3; i++)
		fds[i] = -1;
	rc = quota_charge(a->quota, cl->uid, QUOTA_MEMORY, client_memory(nvme_app_client(app)));
	if (rc < 0) {
		nvme_app_detach(app);
		quota_explain(a->quota, cl->uid, QUOTA_MEMORY, err, sizeof(err));
		return control_error(reply, rc, "%s", err);
	}
	nvme_app_on_free(app, uncharge, a->quota);
	cl->nvme = app;
	shard_watch(s->shard, client_doorbell(nvme_app_client(app)));
	log_ratelimited(LOG_LEVEL_INFO, &a->applications, "application attached nvme=%s pid=%d uid=%u",
			nvme_dev_attr(dev)->name, cl->pid, cl->uid);
	/* A service number is what all attached applications are told. */
	*reply = json_pack("{s:i}", "nsid", (int)nvme_dev_attr(dev)->nsid);
	return 0;
}

static void end_discovery(struct control_client *cl)
{
	if (cl->discovery)
		nvme_initiator_remove(cl->discovery);
	cl->discovery = NULL;
}

void agent_nvme_gone(struct agent *a, struct control_client *cl)
{
	struct nvme_app *app = cl->nvme;
	const struct shard_nvme *s;

	end_discovery(cl);
	if (!app)
		return;
	s = nvme_app_arg(app);
	cl->nvme = NULL;
	log_ratelimited(LOG_LEVEL_INFO, &a->applications, "application gone nvme=%s pid=%d",
			nvme_dev_attr(nvme_app_dev(app))->name, cl->pid);
	shard_unwatch(s->shard, client_doorbell(nvme_app_client(app)));
	nvme_app_detach(app);
}

int agent_nvme_device(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply)
{
	struct shard_nvme *s;
	struct nvme_dev *dev = dev_of_request(a, req, &s, reply);

	(void)cl, (void)fds, (void)nfds;
	if (!dev)
		return -ENOENT;
	*reply = agent_nvme_row(s, dev);
	return 0;
}

/*
 * Without "local" packets leave from the address that this host has towards the first target: a caller in a
 * container does not know it. What makes no sense is config_nvme_dev()'s to say.
 */
static int find_local(json_t *req, char *err, size_t errlen)
{
	const char *targets = json_string_value(json_object_get(req, "targets"));
	char text[INET6_ADDRSTRLEN] = "";
	struct falcon_addr remote, local;
	int family, rc;

	if (!targets || json_object_get(req, "local"))
		return 0;
	targets += strspn(targets, " \t");
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(targets, "/"), targets);
	family = strchr(text, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(family, text, remote.b) != 1)
		return 0;
	rc = netdev_source(family, &remote, 0, &local);
	if (rc < 0) {
		snprintf(err, errlen, "no route to %s: %s", text, strerror(-rc));
		return rc;
	}
	inet_ntop(family, local.b, text, sizeof(text));
	return json_object_set_new(req, "local", json_string(text)) ? -ENOMEM : 0;
}

/* The device that |req| describes. 0, or an errno with |err|. */
static int config_of_request(json_t *req, struct nvme_config *cfg, char *err, size_t errlen)
{
	int rc = find_local(req, err, errlen);

	return rc ? rc : config_nvme_from_json(req, cfg, err, errlen);
}

int agent_nvme_connect(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		       json_t **reply)
{
	struct nvme_config cfg;
	char err[256];
	int rc = config_of_request(req, &cfg, err, sizeof(err));

	(void)cl, (void)fds, (void)nfds;
	if (rc == 0)
		rc = agent_nvme_add(a, &cfg, false, err, sizeof(err));
	return rc < 0 ? control_error(reply, rc, "%s", err) : 0;
}

static json_t *found_rows(const struct nvme_found *found, unsigned int n)
{
	json_t *rows = json_array();

	for (const struct nvme_found *f = found; f < found + n; f++)
		json_array_append_new(rows, json_pack("{s:I, s:I, s:i, s:b, s:b}",
						      "nsid", (json_int_t)f->nsid,
						      "bytes", (json_int_t)(f->blocks << f->block_shift),
						      "block_size", 1 << f->block_shift, "read_only",
						      f->read_only, "protected", f->protected));
	return rows;
}

/* The first request of a client begins it; the same again asks how far it is. */
int agent_nvme_discover(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
			json_t **reply)
{
	const struct nvme_found *found;
	struct nvme_dev_attr attr;
	struct nvme_dev_info info;
	struct nvme_config cfg;
	char err[256];
	unsigned int n;
	int rc = 0;

	(void)fds, (void)nfds;
	if (!cl->discovery) {
		rc = config_of_request(req, &cfg, err, sizeof(err));
		if (rc == 0)
			rc = config_nvme_dev(&cfg, &attr, err, sizeof(err));
		if (rc == 0)
			rc = nvme_initiator_discover(a->nvme->shards[0].ulp.initiator, &attr,
						     &cl->discovery, err, sizeof(err));
		if (rc < 0)
			return control_error(reply, rc, "%s", err);
	}
	rc = nvme_dev_discovered(cl->discovery, &found, &n);
	if (rc == -EAGAIN) {
		nvme_dev_info(cl->discovery, &info);
		*reply = json_pack("{s:b, s:s}", "done", false, "reason", info.reason);
		return 0;
	}
	if (rc == 0)
		*reply = json_pack("{s:b, s:o}", "done", true, "rows", found_rows(found, n));
	else
		control_error(reply, rc, "the target does not list its namespaces");
	end_discovery(cl);
	return rc;
}

int agent_nvme_disconnect(struct agent *a, struct control_client *cl, json_t *req, int *fds,
			  int nfds, json_t **reply)
{
	struct nvme_dev *dev = dev_of_request(a, req, NULL, reply);

	(void)cl, (void)fds, (void)nfds;
	if (!dev)
		return -ENOENT;
	agent_nvme_unmake(a->nvme, dev);
	return 0;
}

int agent_nvme_reset(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		     json_t **reply)
{
	struct nvme_dev *dev = dev_of_request(a, req, NULL, reply);

	(void)fds, (void)nfds;
	if (!dev)
		return -ENOENT;
	if (!user_is_operator(cl->uid) && !(cl->nvme && nvme_ctrl_same(nvme_app_dev(cl->nvme), dev)))
		return control_error(reply, -EPERM, "who is not attached to it may not reset it");
	log_info("controller %s reset pid=%d uid=%u", nvme_dev_controller(dev), cl->pid, cl->uid);
	nvme_ctrl_reset(dev);
	return 0;
}
