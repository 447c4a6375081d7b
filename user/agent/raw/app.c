// SPDX-License-Identifier: BSD-2-Clause
#include "agent/raw/app.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/control/control.h"
#include "agent/process/deferred_close.h"
#include "agent/shard/shard.h"
#include "agent/stats/stat.h"
#include "agent/tenant/operator.h"
#include "agent/tenant/quota.h"
#include "base/log.h"

_Static_assert((int)FALCON_RING_SETS_MAX >= (int)FALCON_MAX_SHARDS, "a ring set for each shard");

enum raw_app_fds {
	FD_MEMORY,
	FD_DOORBELL,	/* of ring set 0 */
	FD_EVENT,
	FD_OTHERS,	/* the doorbell of ring set 1, if there is one, and so on */
};

/* What an application is charged, until no shard has its memory any more. */
struct raw_charge {
	struct quota *quota;
	uid_t uid;
	uint64_t bytes;
	unsigned int nclients;		/* that are not freed; by all shards' threads */
};

struct raw_app {
	unsigned int nclients;
	struct client *clients[FALCON_MAX_SHARDS];	/* [i]: in shard i, with ring set i */
};

/* Each client closes what it has, so each gets descriptors of its own. */
static int dup_fd(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static void close_ends(const struct client_ends *ends)
{
	const int fds[] = { ends->memfd, ends->doorbell, ends->event };

	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int attach_to(struct shard *s, const int *fds, uint16_t service, uid_t uid, struct client **out,
		     char *err, size_t errlen)
{
	struct client_ends ends = {
		.memfd = dup_fd(fds[FD_MEMORY]),
		.doorbell = dup_fd(fds[s->index ? FD_OTHERS + s->index - 1 : FD_DOORBELL]),
		.event = dup_fd(fds[FD_EVENT]),
		.set = s->index,
		.release = deferred_close_memory,
		.uid = uid,
	};
	int rc = -EMFILE;

	if (ends.memfd < 0 || ends.doorbell < 0 || ends.event < 0)
		snprintf(err, errlen, "the agent has no more file descriptors; raise its LimitNOFILE");
	else
		rc = raw_attach(s->raw, &ends, service, out, err, errlen);
	if (rc < 0) {
		close_ends(&ends);
		return rc;
	}
	shard_watch(s, client_doorbell(*out));
	return 0;
}

static void detach(struct agent *a, struct raw_app *app)
{
	for (unsigned int i = 0; i < app->nclients; i++) {
		shard_unwatch(&a->plane.shards[i], client_doorbell(app->clients[i]));
		raw_detach(a->plane.shards[i].raw, app->clients[i]);
	}
	free(app);
}

/* The service that the first shard picks is free in all: whoever is attached is so in each of them. */
static int attach_to_all(struct agent *a, struct raw_app *app, const int *fds, uint16_t service, uid_t uid,
			 char *err, size_t errlen)
{
	for (unsigned int i = 0; i < a->plane.nshards; i++) {
		int rc = attach_to(&a->plane.shards[i], fds, service, uid, &app->clients[i], err, errlen);

		if (rc < 0)
			return rc;
		app->nclients++;
		service = client_service(app->clients[0]);
	}
	return 0;
}

static void uncharge(void *arg)
{
	struct raw_charge *charge = arg;

	if (__atomic_sub_fetch(&charge->nclients, 1, __ATOMIC_ACQ_REL))
		return;
	quota_uncharge(charge->quota, charge->uid, QUOTA_MEMORY, charge->bytes);
	free(charge);
}

static int charge(struct agent *a, uid_t uid, const struct raw_app *app, char *err, size_t errlen)
{
	struct raw_charge *charge = malloc(sizeof(*charge));
	int rc;

	if (!charge) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	*charge = (struct raw_charge){ .quota = a->quota, .uid = uid, .nclients = app->nclients,
				       .bytes = client_memory(app->clients[0]) };
	rc = quota_charge(a->quota, uid, QUOTA_MEMORY, charge->bytes);
	if (rc < 0) {
		quota_explain(a->quota, uid, QUOTA_MEMORY, err, errlen);
		free(charge);
		return rc;
	}
	for (unsigned int i = 0; i < app->nclients; i++)
		raw_on_free(a->plane.shards[i].raw, app->clients[i], uncharge, charge);
	return 0;
}

int agent_raw_attach(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		     json_t **reply)
{
	json_int_t service = json_integer_value(json_object_get(req, "service"));
	int want = FD_OTHERS + (int)a->plane.nshards - 1;
	struct raw_app *app;
	char err[256];
	int rc;

	if (cl->raw || cl->nvme)
		return control_error(reply, -EALREADY, "this connection has attached already");
	if (nfds != want || service < 0 || service > UINT16_MAX)
		return control_error(reply, -EINVAL,
				     "attach wants a service of 0..65535 and %d descriptors", want);
	app = calloc(1, sizeof(*app));
	if (!app)
		return control_error(reply, -ENOMEM, "out of memory");
	rc = attach_to_all(a, app, fds, (uint16_t)service, cl->uid, err, sizeof(err));
	if (rc == 0)
		rc = charge(a, cl->uid, app, err, sizeof(err));
	if (rc < 0) {
		detach(a, app);
		return control_error(reply, rc, "%s", err);
	}
	for (unsigned int i = 0; i < app->nclients; i++)
		client_set_user(app->clients[i], user_is_operator(cl->uid) ? 0 : cl->uid);
	cl->raw = app;
	service = client_service(app->clients[0]);
	log_ratelimited(LOG_LEVEL_INFO, &a->applications, "application attached service=%d pid=%d uid=%u",
			(int)service, cl->pid, cl->uid);
	*reply = json_pack("{s:i}", "service", (int)service);
	return 0;
}

int agent_raw_threads(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply)
{
	(void)cl, (void)req, (void)fds, (void)nfds;
	*reply = json_pack("{s:i}", "threads", (int)a->plane.nshards);
	return 0;
}

void agent_raw_gone(struct agent *a, struct control_client *cl)
{
	struct raw_app *app = cl->raw;

	if (!app)
		return;
	cl->raw = NULL;
	raw_app_add_stats(app, &a->past_clients);
	log_ratelimited(LOG_LEVEL_INFO, &a->applications, "application gone service=%u pid=%d",
			client_service(app->clients[0]), cl->pid);
	detach(a, app);
}

void raw_app_add_stats(const struct raw_app *app, struct client_stats *sum)
{
	for (unsigned int i = 0; i < app->nclients; i++) {
		const struct client_stats *s = client_stats(app->clients[i]);

		CLIENT_STATS(STAT_ADD)
		sum->outstanding += s->outstanding;
	}
}

bool raw_app_broken(const struct raw_app *app)
{
	for (unsigned int i = 0; i < app->nclients; i++)
		if (client_broken(app->clients[i]))
			return true;
	return false;
}

json_t *raw_app_row(const struct raw_app *app, const struct control_client *cl)
{
	json_t *row = json_pack("{s:i, s:i, s:i}", "service", client_service(app->clients[0]), "pid",
				(int)cl->pid, "uid", (int)cl->uid);
	struct client_stats sum = {};

	raw_app_add_stats(app, &sum);
	STAT_PUT(row, CLIENT_STATS, &sum);
	return row;
}
