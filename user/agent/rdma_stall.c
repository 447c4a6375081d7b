// SPDX-License-Identifier: BSD-2-Clause
/*
 * Applications whose memory keeps the agent waiting (stall.h): their copies wait, everybody else's go
 * on. Who keeps it waiting for too long is detached; what then is left of him is a thread, what the call
 * of that has to do with, and a place of his user's among those that may be attached.
 */
#include <stdlib.h>

#include "agent/loopback.h"
#include "agent/loopq.h"
#include "agent/rdma.h"

static const uint64_t DETACH_NS = 5ULL * 1000 * 1000 * 1000;

/* A frame that its owner has given back while a late call may still read it. */
struct kept_frame {
	struct kept_frame *next;
	struct xsk_frame *frame;
};

void agent_rdma_stalled(struct agent *a, struct stall_call *call)
{
	struct rdma_app *app = (struct rdma_app *)((char *)call - offsetof(struct rdma_app, call));
	struct agent_rdma *v = a->rdma;

	app->late = rdma_stalled(v->layer);
	app->late_since = a->now;
	v->nlate++;
	v->stalls++;
	log_ratelimited(LOG_LEVEL_INFO, &v->limit,
			"memory of a verbs application does not answer, it waits pid=%d", (int)app->pid);
}

/* Give back what nobody uses any more. */
static void release_frames(struct agent_rdma *v)
{
	struct kept_frame *k = v->kept, *next;

	v->kept = NULL;
	for (; k; k = next) {
		next = k->next;
		agent_frame_put(v->agent, k->frame);
		free(k);
	}
}

static void resume(struct rdma_app *app)
{
	rdma_resumed(app->late, app->call.result);
	app->late = NULL;
	app->rdma->nlate--;
}

void agent_rdma_late(struct agent *a)
{
	struct agent_rdma *v = a->rdma;
	struct rdma_app *app, *next;

	if (!v || !v->nlate)
		return;
	for (app = v->apps; app; app = next) {
		next = app->next;
		if (!app->late)
			continue;
		if (stall_over(&app->call)) {
			resume(app);
		} else if (a->now - app->late_since > DETACH_NS) {
			log_warn("verbs application detached: its memory does not answer pid=%d",
				 (int)app->pid);
			agent_rdma_detach(app);
		}
	}
	for (app = v->gone; app; app = next) {
		next = app->next;
		if (!stall_over(&app->call))
			continue;
		resume(app);
		agent_rdma_free(app);
	}
	release_frames(v);
}

unsigned int agent_rdma_held(const struct agent_rdma *v, uid_t uid)
{
	unsigned int n = 0;

	for (const struct rdma_app *app = v->gone; app; app = app->next)
		n += app->uid == uid;
	return n;
}

bool agent_rdma_keeps(struct agent *a, struct xsk_frame *frame)
{
	struct agent_rdma *v = a->rdma;
	struct kept_frame *k;
	const void *at;
	size_t len;

	if (!v || !v->nlate)
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
