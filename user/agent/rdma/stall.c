// SPDX-License-Identifier: BSD-2-Clause
/*
 * Applications whose memory keeps the agent waiting (stall.h): their copies wait, everybody else's go
 * on. Who keeps it waiting for too long is detached; what then is left of him is a thread, what the call
 * of that has to do with, and a place of his user's among those that may be attached.
 */
#include "agent/rdma/priv.h"

#include <stdlib.h>

#include "agent/shard/loopq.h"
#include "agent/shard/shard.h"

static const uint64_t DETACH_NS = 5ULL * 1000 * 1000 * 1000;

/* A frame that its owner has given back while a late call may still read it. */
struct kept_frame {
	struct kept_frame *next;
	struct xsk_frame *frame;
};

void agent_rdma_stalled(struct shard *s, struct stall_call *call)
{
	struct rdma_app *app = (struct rdma_app *)((char *)call - offsetof(struct rdma_app, call));
	struct agent_rdma *v = s->rdma;

	app->late = rdma_stalled(v->layer);
	app->late_since = s->now;
	rdma_rest_late(&app->user->rest, s->now);
	v->nlate++;
	v->stalls++;
	log_ratelimited(LOG_LEVEL_INFO, &v->stall_limit,
			"memory of a verbs application does not answer, it waits pid=%d", (int)app->pid);
}

/* Give back what nobody uses any more. */
static void release_frames(struct agent_rdma *v)
{
	struct kept_frame *k = v->kept, *next;

	v->kept = NULL;
	for (; k; k = next) {
		next = k->next;
		agent_frame_put(v->shard, k->frame);
		free(k);
	}
}

static void resume(struct rdma_app *app)
{
	rdma_resumed(app->late, app->call.result);
	app->late = NULL;
	app->rdma->nlate--;
}

void agent_rdma_late(struct shard *s)
{
	struct agent_rdma *v = s->rdma;
	struct rdma_app *app;

	if (!v->nlate)
		return;
	for (app = v->apps; app; app = app->next) {
		if (!app->late)
			continue;
		if (stall_over(&app->call)) {
			resume(app);
		} else if (s->now - app->late_since > DETACH_NS) {
			app->overdue = true;
			news_verbs(s);
		}
	}
	for (app = v->gone; app; app = app->next) {
		if (!app->late || !stall_over(&app->call))
			continue;
		resume(app);
		news_verbs(s);
	}
	release_frames(v);
}

/* What control is to do about applications whose memory keeps the agent waiting. */
struct reaping {
	struct agent_rdma *rdma;
	struct rdma_app *overdue;	/* to be detached; NULL: none */
	struct rdma_let_gos let_go;
	struct rdma_app *over;		/* was detached, and nobody waits for it any more; NULL: none */
};

/* In a call. */
static void find(void *arg)
{
	struct reaping *r = arg;
	struct rdma_app *app;

	for (app = r->rdma->apps; app && !r->overdue; app = app->next) {
		if (app->late && app->overdue)
			r->overdue = app;
		app->overdue = false;
	}
	for (app = r->rdma->gone; app && !r->over; app = app->next)
		if (!app->late)
			r->over = app;
	STAILQ_CONCAT(&r->let_go, &r->rdma->let_go);
}

void agent_rdma_reap(struct shard *s)
{
	struct reaping r;

	do {
		r = (struct reaping){ .rdma = s->rdma };
		STAILQ_INIT(&r.let_go);
		call_run(&s->call, find, &r);
		agent_rdma_give_back(s->rdma, &r.let_go);
		if (r.overdue) {
			log_warn("verbs application detached: its memory does not answer pid=%d",
				 (int)r.overdue->pid);
			agent_rdma_detach(r.overdue);
		}
		if (r.over)
			agent_rdma_free(r.over);
	} while (r.overdue || r.over);
}

unsigned int agent_rdma_held(const struct agent_rdma *v, uid_t uid)
{
	unsigned int n = 0;

	for (const struct rdma_app *app = v->gone; app; app = app->next)
		n += app->uid == uid;
	return n;
}

bool agent_rdma_keeps(struct shard *s, struct xsk_frame *frame)
{
	struct agent_rdma *v = s->rdma;
	struct kept_frame *k;
	const void *at;
	size_t len;

	if (!v->nlate)
		return false;
	if (frame->xsk) {
		at = xsk_frame_data(frame);
		len = XSK_FRAME_SIZE;
	} else {
		at = ((struct loopq_frame *)frame)->data;
		len = sizeof(((struct loopq_frame *)frame)->data);
	}
	if (!rdma_late_uses(v->layer, at, len))
		return false;
	k = malloc(sizeof(*k));
	/* Without memory for a note it is lost to us, which harms nobody's data. */
	if (k)
		*k = (struct kept_frame){ .next = v->kept, .frame = frame };
	v->kept = k ? k : v->kept;
	return true;
}
