// SPDX-License-Identifier: BSD-2-Clause
#include "agent/nvme/app.h"

#include <endian.h>
#include <errno.h>
#include <nvme/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/process/deferred_close.h"

enum { TAKE_BUDGET = 128 };	/* submissions taken of an application in one round */

struct app_cmd {
	struct nvme_icmd icmd;
	struct nvme_app *app;
	struct app_cmd *next;		/* free list */
	bool used;
};

struct nvme_app {
	struct nvme_apps *apps;
	struct client *cl;
	struct nvme_dev *dev;
	TAILQ_ENTRY(nvme_app) link;	/* apps->list, or, |detached|, apps->gone */
	uid_t uid;
	void (*freed)(void *arg, uid_t uid, uint64_t bytes);
	void *freed_arg;
	uint32_t refs;			/* 1 while attached, and its commands */
	bool detached, broken;
	struct app_cmd *free;
	unsigned int nused;		/* |cmds| that have been used: the others are pages not touched yet */
	struct app_cmd cmds[FALCON_CQ_ENTRIES];	/* as many as client_take() lets be outstanding */
};

struct nvme_apps {
	TAILQ_HEAD(nvme_app_list, nvme_app) list, gone;
	void (*broken)(void *arg, struct nvme_app *app, const char *why);
	void *arg;
};

struct nvme_apps *nvme_apps_create(void (*broken)(void *arg, struct nvme_app *app,
						  const char *why), void *arg)
{
	struct nvme_apps *apps = calloc(1, sizeof(*apps));

	if (!apps)
		return NULL;
	TAILQ_INIT(&apps->list);
	TAILQ_INIT(&apps->gone);
	apps->broken = broken;
	apps->arg = arg;
	return apps;
}

void nvme_apps_destroy(struct nvme_apps *apps)
{
	free(apps);
}

unsigned int nvme_apps_lingering(const struct nvme_apps *apps, uid_t uid)
{
	const struct nvme_app *app;
	unsigned int n = 0;

	TAILQ_FOREACH(app, &apps->gone, link)
		n += app->uid == uid;
	return n;
}

int nvme_app_attach(struct nvme_apps *apps, struct nvme_dev *dev, uid_t uid, const int fds[3],
		    struct nvme_app **out, char *err, size_t errlen)
{
	const struct client_ends ends = { .memfd = fds[0], .doorbell = fds[1], .event = fds[2],
					  .release = deferred_close_memory, .uid = uid };
	struct nvme_app *app;

	if (nvme_apps_lingering(apps, uid) >= NVME_APPS_LINGER) {
		snprintf(err, errlen, "%d applications of yours that have gone have commands under way",
			 NVME_APPS_LINGER);
		return -EBUSY;
	}
	app = calloc(1, sizeof(*app));
	if (!app) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	app->cl = client_attach(&ends, 0, err, errlen);
	if (!app->cl) {
		free(app);
		return -EINVAL;
	}
	app->apps = apps;
	app->dev = dev;
	app->uid = uid;
	nvme_dev_hold(dev);
	app->refs = 1;
	TAILQ_INSERT_TAIL(&apps->list, app, link);
	*out = app;
	return 0;
}

static void put(struct nvme_app *app)
{
	if (--app->refs)
		return;
	TAILQ_REMOVE(&app->apps->gone, app, link);
	nvme_dev_release(app->dev);
	if (app->freed)
		app->freed(app->freed_arg, app->uid, client_memory(app->cl));
	client_free(app->cl);
	free(app);
}

void nvme_app_detach(struct nvme_app *app)
{
	/* What waits for an event would wait for ever; what is not sent, for a target that may have gone. */
	for (unsigned int i = 0; i < app->nused; i++)
		if (app->cmds[i].used)
			nvme_dev_cancel(&app->cmds[i].icmd);
	TAILQ_REMOVE(&app->apps->list, app, link);
	TAILQ_INSERT_TAIL(&app->apps->gone, app, link);
	client_publish(app->cl);
	client_shutdown(app->cl);
	app->detached = true;
	put(app);
}

void nvme_app_on_free(struct nvme_app *app, void (*freed)(void *arg, uid_t uid, uint64_t bytes), void *arg)
{
	app->freed = freed;
	app->freed_arg = arg;
}

const struct client *nvme_app_client(const struct nvme_app *app)
{
	return app->cl;
}

const struct nvme_dev *nvme_app_dev(const struct nvme_app *app)
{
	return app->dev;
}

void *nvme_app_arg(const struct nvme_app *app)
{
	return app->apps->arg;
}

static void done(struct nvme_icmd *icmd, uint16_t status, uint32_t result)
{
	struct app_cmd *cmd = (struct app_cmd *)icmd;
	struct nvme_app *app = cmd->app;
	const struct falcon_nvme_cqe cqe = {
		.result = htole32(result), .cid = icmd->sqe.cid,
		.sqid = htole16((uint16_t)le32toh(icmd->sqe.qid)),
		.status = htole16((uint16_t)(status << 1)),
	};
	struct falcon_cqe slot = {};

	memcpy(&slot, &cqe, sizeof(cqe));
	if (!app->detached)
		client_complete(app->cl, &slot);
	cmd->used = false;
	cmd->next = app->free;
	app->free = cmd;
	put(app);
}

/* Abort (admin): one of the application's own commands, if nothing of it has been sent. */
static void abort_cmd(struct app_cmd *cmd)
{
	uint32_t which = le32toh(cmd->icmd.sqe.cdw10), result = 1;

	for (unsigned int i = 0; i < cmd->app->nused; i++) {
		struct app_cmd *c = &cmd->app->cmds[i];

		if (!c->used || c == cmd || le16toh(c->icmd.sqe.cid) != which >> 16 ||
		    le32toh(c->icmd.sqe.qid) != (which & 0xffff))
			continue;
		result = !nvme_dev_abort(&c->icmd);
		break;
	}
	done(&cmd->icmd, 0, result);
}

/* The namespace of the application's controller that |sqe| is about; any of it, if about none. */
static struct nvme_dev *namespace(const struct nvme_app *app, const struct falcon_nvme_sqe *sqe)
{
	uint32_t nsid = le32toh(sqe->nsid);
	bool identify_ns = sqe->opcode == nvme_admin_identify &&
			   (le32toh(sqe->cdw10) & 0xff) == NVME_IDENTIFY_CNS_NS;
	bool own = !sqe->qid && sqe->opcode != nvme_admin_get_lba_status && !identify_ns;

	/* Its only one takes what is for all: see nvme_dev_submit(). */
	if (own || !nvme_ctrl_next(app->dev, nvme_ctrl_next(app->dev, 0)))
		return app->dev;
	return nvme_ctrl_ns(app->dev, nsid);
}

static void start(struct app_cmd *cmd, uint64_t now)
{
	const struct falcon_nvme_sqe *sqe = &cmd->icmd.sqe;
	struct nvme_app *app = cmd->app;
	struct nvme_dev *dev = namespace(app, sqe);
	uint64_t bytes, md;

	cmd->icmd.done = done;
	if (!dev)
		return done(&cmd->icmd, NVME_SC_INVALID_NS | NVME_SC_DNR, 0);
	bytes = nvme_sqe_bytes(dev, sqe);
	md = nvme_sqe_md_bytes(dev, sqe);
	cmd->icmd.data = client_local(app->cl, le64toh(sqe->prp1), bytes);
	cmd->icmd.md = md ? client_local(app->cl, le64toh(sqe->mptr), md) : NULL;
	if (!sqe->qid && sqe->opcode == nvme_admin_abort_cmd)
		return abort_cmd(cmd);
	/* How much data a command has is not known before. */
	if (!nvme_dev_ready(dev))
		return done(&cmd->icmd, NVME_SC_NS_NOT_READY, 0);
	if (!cmd->icmd.data || sqe->prp2 || sqe->cdw3 ||
	    (md ? !cmd->icmd.md || le64toh(sqe->mptr) % 4 : sqe->mptr != 0))
		return done(&cmd->icmd, NVME_SC_INVALID_FIELD | NVME_SC_DNR, 0);
	nvme_dev_submit(dev, &cmd->icmd, now);
}

/* A command for what client_take() has given, which there always is. */
static struct app_cmd *unused(struct nvme_app *app)
{
	struct app_cmd *cmd = app->free;

	if (cmd) {
		app->free = cmd->next;
	} else {
		cmd = &app->cmds[app->nused++];
		cmd->app = app;
	}
	cmd->used = true;
	app->refs++;
	return cmd;
}

static uint32_t take(struct nvme_app *app, uint64_t now)
{
	for (uint32_t n = 0; n < TAKE_BUDGET; n++) {
		struct app_cmd *cmd;
		struct falcon_sqe slot;
		int rc = client_take(app->cl, &slot);

		if (rc < 0)
			app->broken = true;
		if (rc <= 0)
			return n;
		cmd = unused(app);
		memcpy(&cmd->icmd.sqe, &slot, sizeof(cmd->icmd.sqe));
		start(cmd, now);
	}
	return TAKE_BUDGET;
}

uint32_t nvme_apps_pump(struct nvme_apps *apps, uint64_t now)
{
	struct nvme_app *app, *next;
	uint32_t n = 0;

	for (app = TAILQ_FIRST(&apps->list); app; app = next) {
		next = TAILQ_NEXT(app, link);
		if (!app->broken)
			n += take(app, now);
		client_publish(app->cl);
		if (app->broken)
			apps->broken(apps->arg, app, "impossible ring indexes in the shared memory");
	}
	return n;
}

bool nvme_apps_sleep_begin(struct nvme_apps *apps)
{
	struct nvme_app *app;
	bool sleep = true;

	TAILQ_FOREACH(app, &apps->list, link) {
		client_publish(app->cl);
		sleep = client_sleep_begin(app->cl) && sleep;
	}
	if (!sleep)
		nvme_apps_sleep_end(apps);
	return sleep;
}

void nvme_apps_sleep_end(struct nvme_apps *apps)
{
	struct nvme_app *app;

	TAILQ_FOREACH(app, &apps->list, link)
		client_sleep_end(app->cl);
}
