// SPDX-License-Identifier: BSD-2-Clause
/*
 * Applications of the raw layer in fuzz_tenants.c, one a host, on two connections: operations of
 * all kinds, rings that mean anything, and they go and come again in the middle.
 */
#include <string.h>

#include "tenants.h"
#include "ulp/raw.h"

enum {
	ARENA = 4 * 4096,
	SERVICE = 7,
	BURST = 64,			/* operations of one of the input */
};

static struct raw {
	struct raw_ulp *ulp;
	struct app app;
	struct client *client;		/* NULL: it is detached */
} raws[ENV_HOSTS];

static void attach(struct raw *s)
{
	struct client_ends ends;
	char err[256];

	app_make(&s->app, ARENA, true);
	ends = app_ends(&s->app);
	CHECK(raw_attach(s->ulp, &ends, SERVICE, &s->client, err, sizeof(err)) == 0);
}

static void detach(struct raw *s)
{
	if (s->client)
		raw_detach(s->ulp, s->client);
	s->client = NULL;
}

static void on_client_broken(void *arg, struct client *cl, const char *why)
{
	struct raw *s = arg;

	CHECK(cl == s->client && why);
	detach(s);
}

static const struct raw_ops ops = { .client_broken = on_client_broken };

void raws_join(void)
{
	for (uint32_t cid = 1; cid <= RAW_CONNS; cid++)
		if (!env.host[0].conns[cid].peer_cid && !env.host[1].conns[cid].peer_cid)
			env_join_other(OTHER_RAW, cid);
}

void raws_open(void)
{
	for (int i = 0; i < ENV_HOSTS; i++) {
		raws[i].ulp = raw_create(&ops, &raws[i], ENV_CONNS);
		CHECK(raws[i].ulp);
		env.host[i].others[OTHER_RAW - 1] = (struct ulp){ &raw_ulp_ops, raws[i].ulp };
		attach(&raws[i]);
	}
	raws_join();
}

void raws_close(void)
{
	for (int i = 0; i < ENV_HOSTS; i++) {
		detach(&raws[i]);
		app_drop(&raws[i].app);
	}
	env_leave_other(OTHER_RAW);
	for (int i = 0; i < ENV_HOSTS; i++) {
		env.host[i].others[OTHER_RAW - 1] = (struct ulp){ 0 };
		raw_destroy(raws[i].ulp);
	}
}

static void submit(struct raw *s)
{
	uint32_t cid = 1 + (uint32_t)number(1) % 3;
	struct falcon_sqe sqe = {
		.op = (uint8_t)(number(1) % 5), .dst_service = number(1) < 0xf0 ? SERVICE : 1,
		.conn = cid, .local = number(2), .remote = number(2), .len = (uint32_t)number(2),
	};

	for (uint64_t n = number(1) % BURST; n; n--)
		s->app.sqes[s->app.rings->sq.tail++ % FALCON_SQ_ENTRIES] = sqe;
}

void shared_scribble(struct app *a)
{
	uint64_t size = FALCON_SHM_ARENA(1) + a->arena_size, at = number(4) % size;

	for (uint64_t len = number(1); len && at < size; len--, at++)
		((uint8_t *)a->shm)[at] = (uint8_t)number(1);
}

void shared_index(struct app *a)
{
	struct falcon_ring_set *rings = a->rings;
	__u32 *const indexes[] = { &rings->sq.tail, &rings->sq.head, &rings->cq.tail,
				   &rings->cq.head, &rings->rq.tail, &rings->rq.head };

	*indexes[number(1) % ARRAY_SIZE(indexes)] += (uint32_t)number(2);
}

void shared_drain(struct app *a)
{
	struct falcon_cqe cqe;

	for (int i = 0; i < FALCON_CQ_ENTRIES && app_complete(a, &cqe); i++)
		;
	if (app_message(a))
		app_message_done(a);
}

void raw_act(unsigned int which)
{
	struct raw *s = &raws[which];

	switch (number(1) % 8) {
	case 0:
	case 1:
	case 2: submit(s); break;
	case 3: shared_scribble(&s->app); break;
	case 4: shared_index(&s->app); break;
	case 5:
	case 6: shared_drain(&s->app); break;
	case 7:
		detach(s);
		app_drop(&s->app);
		attach(s);
		break;
	}
}
