// SPDX-License-Identifier: BSD-2-Clause
/*
 * An application that writes whatever it likes into the shared memory, while the agent works on it:
 * the agent must neither touch memory beyond it (ASan and the end of the mapping watch) nor loop
 * nor block, and must find out about impossible indexes.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "ulp/client.h"
#include "loop/app.h"

enum {
	ARENA = 4096,
	ROUNDS = 200,
	STEPS = 2000,
};

struct hostile {
	struct app app;
	struct client *cl;
	uint64_t seed;
	uint32_t outstanding;
	uint32_t detected;
};

/* A value near something that matters, or anything. */
static uint32_t nasty(struct hostile *h, uint32_t near)
{
	static const uint32_t offsets[] = { 0, 1, -1U, FALCON_SQ_ENTRIES, FALCON_SQ_ENTRIES + 1,
					    FALCON_CQ_ENTRIES, FALCON_CQ_ENTRIES + 1,
					    FALCON_RQ_ENTRIES, 0x80000000 };
	uint64_t r = unit_random(&h->seed);

	if (r & 1)
		return (uint32_t)(r >> 32);
	return near + offsets[(r >> 8) % ARRAY_SIZE(offsets)];
}

static void scribble(struct hostile *h)
{
	struct falcon_ring_set *rings = h->app.rings;
	struct falcon_shm *shm = h->app.shm;

	switch (unit_random(&h->seed) % 10) {
	case 0: rings->sq.tail = nasty(h, rings->sq.head); break;
	case 1: rings->sq.head = nasty(h, rings->sq.tail); break;
	case 2: rings->cq.head = nasty(h, rings->cq.tail); break;
	case 3: rings->cq.tail = nasty(h, rings->cq.head); break;
	case 4: rings->rq.head = nasty(h, rings->rq.tail); break;
	case 5: rings->rq.tail = nasty(h, rings->rq.head); break;
	case 6: rings->agent_sleeping = nasty(h, 0); break;
	case 7: shm->app_sleeping = nasty(h, 1); break;
	case 8: shm->arena_size = unit_random(&h->seed); break;
	case 9: rings->sq.tail++; break;
	}
}

static void take(struct hostile *h)
{
	struct falcon_sqe sqe;
	int rc = client_take(h->cl, &sqe);

	assert_true(rc == 0 || rc == 1 || rc == -EPROTO);
	if (rc == 1)
		h->outstanding++;
	if (rc < 0)
		h->detected++;
	assert_true(h->outstanding <= FALCON_CQ_ENTRIES);
	assert_int_equal(client_stats(h->cl)->outstanding, h->outstanding);
}

static void work(struct hostile *h)
{
	static const char text[FALCON_MSG_MAX];

	switch (unit_random(&h->seed) % 6) {
	case 0:
	case 1: take(h); break;
	case 2:
		if (h->outstanding) {
			client_complete(h->cl, &(struct falcon_cqe){ 0 });
			h->outstanding--;
		}
		break;
	case 3: client_deliver(h->cl, 0, 0, 0, text, sizeof(text)); break;
	case 4: client_publish(h->cl); break;
	case 5:
		if (client_sleep_begin(h->cl))
			client_sleep_end(h->cl);
		break;
	}
}

static void scribbles__do_no_harm(void **state)
{
	uint32_t detected = 0;

	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		struct hostile h = { .seed = round * 0x9e3779b97f4a7c15 };
		struct client_ends ends;
		char err[256];

		app_make(&h.app, ARENA, true);
		ends = app_ends(&h.app);
		h.cl = client_attach(&ends, 1, err, sizeof(err));
		assert_non_null(h.cl);
		for (int i = 0; i < STEPS; i++) {
			if (unit_random(&h.seed) % 4 == 0)
				scribble(&h);
			work(&h);
		}
		detected += h.detected > 0;
		client_free(h.cl);
		h.app.arena_size = ARENA;
		app_drop(&h.app);
	}
	assert_true(detected > ROUNDS / 2);
}

static void impossible__indexes_are_found(void **state)
{
	static const struct {
		uint32_t sq_tail, cq_head, rq_head;
		int want;
	} cases[] = {
		{ FALCON_SQ_ENTRIES, 0, 0, 1 },
		{ FALCON_SQ_ENTRIES + 1, 0, 0, -EPROTO },
		{ UINT32_MAX, 0, 0, -EPROTO },
		{ 1, 1, 0, -EPROTO },
		{ 1, UINT32_MAX, 0, 1 },	/* unread: 1, which may be */
		{ 1, 0U - FALCON_CQ_ENTRIES, 0, 0 },
		{ 1, 0U - FALCON_CQ_ENTRIES - 1, 0, -EPROTO },
		{ 1, 0, 1, -EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct client_ends ends;
		struct falcon_sqe sqe;
		struct client *cl;
		char err[256];
		struct app a;

		app_make(&a, ARENA, true);
		ends = app_ends(&a);
		cl = client_attach(&ends, 1, err, sizeof(err));
		a.rings->sq.tail = cases[i].sq_tail;
		a.rings->cq.head = cases[i].cq_head;
		a.rings->rq.head = cases[i].rq_head;
		client_deliver(cl, 0, 0, 0, "", 0);
		assert_int_equal(client_take(cl, &sqe), cases[i].want);
		client_free(cl);
		app_drop(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impossible__indexes_are_found),
		cmocka_unit_test(scribbles__do_no_harm),
	};

	return unit_run(tests);
}
