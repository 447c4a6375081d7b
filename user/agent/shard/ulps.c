// SPDX-License-Identifier: BSD-2-Clause
/*
 * Between the core and what stands on it: upper layers by protocol type, the rate update engine,
 * and the frames that the core gives back.
 */
#include "agent/shard/shard.h"

#include <sys/mman.h>

#include "agent/shard/plane.h"
#include "agent/rue/rue.h"
#include "agent/shard/conn.h"
#include "agent/shard/loopback.h"
#include "base/log.h"

static void core_rue_event(void *arg, struct fcore_conn *c, const struct falcon_rue_event *e)
{
	agent_rue_core_event(arg, fcore_conn_user(c), e);
}

void agent_frame_put(struct shard *s, struct xsk_frame *frame)
{
	if (s->memory && s->memory->keeps(s, frame))
		return;
	if (frame->xsk)
		handover_release(s, frame);
	else
		loopback_release(s, frame);
}

static void frame_put(void *arg, void *frame)
{
	agent_frame_put(arg, frame);
}

static struct ulp *ulp_of(struct fcore_conn *c)
{
	return ((struct agent_conn *)fcore_conn_user(c))->ulp;
}

/*
 * The upper layer of |fc|, which hears that the connection is up before it gets anything of it: the
 * peer's READY goes another way than its packets, and may come later. NULL: it is not up.
 */
static struct ulp *ulp_for_peer(struct fcore_conn *fc)
{
	struct agent_conn *c = fcore_conn_user(fc);

	if (c->state == AGENT_CONN_RECEIVING && !c->noted.heard) {
		c->noted.heard = true;
		news_of_conn(c, CONN_NEWS_HEARD, NULL);
	}
	return c->state == AGENT_CONN_UP ? c->ulp : NULL;
}

static void on_push(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn,
		    const void *payload, uint32_t len)
{
	struct ulp *ulp = ulp_for_peer(c);
	struct shard *s = arg;

	if (!ulp)
		fcore_push_done(c, rsn, FCORE_PUSH_RNR, 0, 0, s->now);
	else if (proto == ulp->ops->proto)
		ulp->ops->on_push(ulp->self, c, rsn, payload, len, s->now);
	else
		fcore_push_done(c, rsn, FCORE_PUSH_INVALID_CID, 0, 0, s->now);
}

static void on_pull(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn, const void *hdr,
		    uint32_t hdr_len, uint16_t request_len)
{
	struct ulp *ulp = ulp_for_peer(c);
	struct shard *s = arg;

	if (!ulp)
		fcore_pull_rnr(c, rsn, 0, s->now);
	else if (proto == ulp->ops->proto)
		ulp->ops->on_pull(ulp->self, c, rsn, hdr, hdr_len, request_len, s->now);
	else
		fcore_pull_respond(c, rsn, &(struct fcore_response){ 0 }, s->now);
}

static void on_response_done(void *arg, struct fcore_conn *c, uint64_t cookie)
{
	struct ulp *ulp = ulp_of(c);

	(void)arg;
	/* Cookie 0 is a response that this file made, which holds nothing. */
	if (cookie)
		ulp->ops->on_response_done(ulp->self, c, cookie);
}

static void on_pull_data(void *arg, struct fcore_conn *c, uint64_t cookie, const void *payload,
			 uint32_t len)
{
	struct ulp *ulp = ulp_of(c);

	(void)arg;
	ulp->ops->on_pull_data(ulp->self, c, cookie, payload, len);
}

static void on_completion(void *arg, struct fcore_conn *c, uint64_t cookie,
			  enum falcon_completion_code code, uint8_t ulp_code)
{
	struct ulp *ulp = ulp_of(c);

	(void)arg;
	ulp->ops->on_completion(ulp->self, c, cookie, code, ulp_code);
}

static void on_xon(void *arg, struct fcore_conn *c)
{
	struct ulp *ulp = ulp_of(c);

	(void)arg;
	ulp->ops->on_xon(ulp->self, c);
}

static bool on_rnr(void *arg, struct fcore_conn *c, uint64_t cookie, uint8_t times)
{
	struct ulp *ulp = ulp_of(c);

	(void)arg;
	return ulp->ops->on_rnr && ulp->ops->on_rnr(ulp->self, c, cookie, times);
}

static void on_zone(void *arg, enum falcon_zone zone)
{
	struct shard *s = arg;

	falcon_store(&s->plane->maps.config->shard[s->index].zone, (__u32)zone);
}

static void on_rx_level(void *arg, uint32_t level)
{
	struct shard *s = arg;

	falcon_store(&s->plane->maps.config->shard[s->index].rx_level, level);
}

/* Only what is in the clear, and does not go through the agent anyway. */
static enum fcore_exec exec_give(void *arg, struct fcore_conn *c, struct falcon_exec *e)
{
	const struct agent_conn *conn = fcore_conn_user(c);
	uint32_t flags = falcon_load(&fcore_conn_shared(c)->id.flags);
	struct ulp *ulp = conn->ulp;

	(void)arg;
	if (conn->state != AGENT_CONN_UP || !(flags & FALCON_CONN_CLEAR) || flags & FALCON_CONN_STEER ||
	    !ulp->ops->exec_give)
		return FCORE_EXEC_NEVER;
	return ulp->ops->exec_give(ulp->self, c, e);
}

static void exec_taken(void *arg, struct fcore_conn *c, const struct falcon_exec *e)
{
	struct ulp *ulp = ulp_of(c);

	(void)arg;
	ulp->ops->exec_taken(ulp->self, c, e);
}

static void exec_response(void *arg, struct fcore_conn *c, const struct falcon_response *r, uint8_t *hdr,
			  struct fcore_response *out)
{
	struct ulp *ulp = ulp_of(c);

	(void)arg;
	ulp->ops->exec_response(ulp->self, c, r, hdr, out);
}

static void on_path(void *arg, struct fcore_conn *c, uint32_t len)
{
	(void)arg;
	news_path(fcore_conn_user(c), len);
}

static void on_fatal(void *arg, struct fcore_conn *c, const char *why)
{
	(void)arg;
	news_of_conn(fcore_conn_user(c), CONN_NEWS_FAILED, why);
}

static void *pages_new(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void pages_free(void *p, size_t bytes)
{
	munmap(p, bytes);
}

const struct fcore_ops agent_core_ops = {
	.pages_new = pages_new,
	.pages_free = pages_free,
	.transmit = agent_transmit,
	.frame_put = frame_put,
	.rue_event = core_rue_event,
	.on_push = on_push,
	.on_pull = on_pull,
	.on_response_done = on_response_done,
	.on_pull_data = on_pull_data,
	.on_completion = on_completion,
	.on_xon = on_xon,
	.on_rnr = on_rnr,
	.on_zone = on_zone,
	.on_rx_level = on_rx_level,
	.exec_give = exec_give,
	.exec_taken = exec_taken,
	.exec_response = exec_response,
	.on_path = on_path,
	.on_fatal = on_fatal,
};

/* The application broke the rules of its shared memory: its control connection ends. */
static void on_client_broken(void *arg, struct client *cl, const char *why)
{
	(void)cl, (void)why;
	news_clients(arg);
}

const struct raw_ops agent_raw_ops = { .client_broken = on_client_broken };

void shard_ulp_add(struct shard *s, const struct ulp_ops *ops, void *self)
{
	s->ulps[s->nulps++] = (struct ulp){ .ops = ops, .self = self };
}

struct ulp *agent_ulp(struct shard *s, uint8_t proto)
{
	for (unsigned i = 0; i < s->nulps; i++)
		if (s->ulps[i].ops->proto == proto)
			return &s->ulps[i];
	return NULL;
}

uint32_t shard_ulps_pump(struct shard *s)
{
	uint32_t work = 0;

	for (unsigned i = 0; i < s->nulps; i++)
		work += s->ulps[i].ops->pump(s->ulps[i].self, s->now);
	return work;
}

void shard_ulps_were_away(struct shard *s, uint64_t ns)
{
	for (unsigned i = 0; i < s->nulps; i++)
		if (s->ulps[i].ops->was_away)
			s->ulps[i].ops->was_away(s->ulps[i].self, ns);
}

bool shard_ulps_sleep_begin(struct shard *s)
{
	for (unsigned i = 0; i < s->nulps; i++) {
		if (s->ulps[i].ops->sleep_begin(s->ulps[i].self))
			continue;
		while (i-- > 0)
			s->ulps[i].ops->sleep_end(s->ulps[i].self);
		return false;
	}
	return true;
}

void shard_ulps_sleep_end(struct shard *s)
{
	for (unsigned i = 0; i < s->nulps; i++)
		s->ulps[i].ops->sleep_end(s->ulps[i].self);
}

uint64_t shard_ulps_deadline(const struct shard *s)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < s->nulps; i++) {
		const struct ulp *u = &s->ulps[i];
		uint64_t at = u->ops->deadline ? u->ops->deadline(u->self) : UINT64_MAX;

		next = at < next ? at : next;
	}
	return next;
}
