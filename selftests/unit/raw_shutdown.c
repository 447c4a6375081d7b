// SPDX-License-Identifier: BSD-2-Clause
/* The raw layer when connections and applications come and go while work is under way. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "loop/pair.h"

enum { OPS = 6, BIG = 200 * PAIR_SEGMENT };

/* Operations of which a part is in the core and a part waits. */
static void start_many(struct pair *p)
{
	p->near.conns[0].stalled = true;
	for (uint64_t i = 0; i < OPS; i++) {
		struct falcon_sqe sqe = pair_sqe(FALCON_RAW_PUT, 0, 0, BIG);

		sqe.cookie = i;
		app_submit(&p->near.app, &sqe);
	}
	pair_run(p);
	assert_int_equal(p->near.conns[0].count, FCORE_MAX_TXNS);
}

static void assert_all_dead(struct pair *p)
{
	uint32_t seen = 0;
	struct falcon_cqe cqe;

	while (app_complete(&p->near.app, &cqe)) {
		assert_int_equal(cqe.status, kCmplDeadConn);
		seen |= 1U << cqe.cookie;
	}
	assert_int_equal(seen, (1U << OPS) - 1);
}

static void conn_down__then_core_closes(void **state)
{
	struct pair *p = *state;

	start_many(p);
	raw_conn_down(p->near.ulp, 0);
	fake_close(&p->near.conns[0], kCmplDeadConn);
	pair_run(p);
	assert_all_dead(p);
}

static void conn_down__after_core_closed(void **state)
{
	struct pair *p = *state;

	start_many(p);
	fake_close(&p->near.conns[0], kCmplDeadConn);
	raw_conn_down(p->near.ulp, 0);
	pair_run(p);
	assert_all_dead(p);
}

static void conn_down__then_up_again(void **state)
{
	struct pair *p = *state;
	struct falcon_sqe sqe = pair_sqe(FALCON_RAW_PUT, 0, 0, 8);
	struct falcon_cqe cqe;

	conn_down__then_core_closes(state);
	app_submit(&p->near.app, &sqe);
	pair_run(p);
	assert_true(app_complete(&p->near.app, &cqe));
	assert_int_equal(cqe.status, kCmplDeadConn);
	p->near.conns[0].stalled = false;
	assert_int_equal(raw_conn_up(p->near.ulp, &p->near.conns[0], 100), 0);
	cqe = pair_do(p, FALCON_RAW_PUT, 0, 0, BIG);
	assert_int_equal(cqe.status, kCmplAck);
	assert_int_equal(cqe.len, BIG);
}

static void conn_down__that_was_never_up(void **state)
{
	struct pair *p = *state;

	raw_conn_down(p->near.ulp, UINT32_MAX);
	raw_conn_down(p->near.ulp, 1);
	raw_conn_down(p->near.ulp, 1);
}

static void count(void *arg)
{
	++*(int *)arg;
}

/* The memory that transactions in the core point to stays until they end (ASan watches). */
static void detach__with_work_in_the_core(void **state)
{
	struct pair *p = *state;
	int freed = 0;

	start_many(p);
	raw_on_free(p->near.ulp, p->near.client, count, &freed);
	raw_detach(p->near.ulp, p->near.client);
	assert_int_equal(app_signals(&p->near.app), -1);
	assert_int_equal(freed, 0);
	p->near.conns[0].stalled = false;
	pair_run(p);
	assert_int_equal(freed, 1);
	assert_int_equal(p->near.conns[0].count, 0);
	assert_int_equal(p->near.app.rings->cq.tail, 0);
}

static void detach__with_pulls_in_the_core(void **state)
{
	struct pair *p = *state;
	struct falcon_sqe sqe = pair_sqe(FALCON_RAW_GET, 0, 0, BIG);

	memset(p->far.app.arena, 1, BIG);
	p->near.conns[0].stalled = true;
	app_submit(&p->near.app, &sqe);
	pair_run(p);
	raw_detach(p->near.ulp, p->near.client);
	p->near.conns[0].stalled = false;
	pair_run(p);
	assert_int_equal(p->near.app.arena[0], 0);
}

/* A response under way keeps the target's memory, too. */
static void detach__with_responses_in_the_core(void **state)
{
	struct pair *p = *state;
	struct falcon_cqe cqe;

	p->far.conns[0].hold_responses = true;
	cqe = pair_do(p, FALCON_RAW_GET, 0, 0, BIG);
	assert_int_equal(cqe.status, kCmplAck);
	raw_detach(p->far.ulp, p->far.client);
	assert_int_equal(*(const uint8_t *)p->far.conns[0].response, 0);
	fake_release(&p->far.conns[0]);
}

/* Attach |app|, newly made, submit a PUT, and go. 0 or raw_attach()'s error. */
static int come_and_go(struct pair *p, struct app *app)
{
	struct falcon_sqe sqe = pair_sqe(FALCON_RAW_PUT, 0, 0, 8);
	struct client *cl;
	int rc;

	app_make(app, 4096, true);
	rc = pair_attach(&p->near, app, 0, &cl);
	if (rc)
		return rc;
	app_submit(app, &sqe);
	pair_step(p);
	raw_detach(p->near.ulp, cl);
	return 0;
}

/* Who comes and goes while a peer does not answer cannot have the agent keep memory without end. */
static void detach__some_linger(void **state)
{
	struct app apps[RAW_CLIENTS_LINGER], more;
	struct pair *p = *state;

	p->near.conns[0].stalled = true;
	for (int i = 0; i < RAW_CLIENTS_LINGER; i++)
		assert_int_equal(come_and_go(p, &apps[i]), 0);
	assert_int_equal(come_and_go(p, &more), -EBUSY);
	app_drop_all(&more);
	p->near.conns[0].stalled = false;
	pair_run(p);
	assert_int_equal(come_and_go(p, &more), 0);
	app_drop(&more);
	for (int i = 0; i < RAW_CLIENTS_LINGER; i++)
		app_drop(&apps[i]);
}

/* What one application has queued goes with it; what another has stays and in order. */
static void detach__leaves_the_others(void **state)
{
	struct pair *p = *state;
	struct falcon_cqe cqe;
	struct client *other;
	struct app app;

	app_make(&app, BIG, true);
	assert_int_equal(pair_attach(&p->near, &app, 0, &other), 0);
	p->near.conns[0].limit = 2;
	p->near.conns[0].stalled = true;
	for (uint64_t i = 0; i < OPS; i++) {
		struct falcon_sqe sqe = pair_sqe(FALCON_RAW_PUT, 0, 0, BIG);

		sqe.cookie = i;
		app_submit(&p->near.app, &sqe);
		app_submit(&app, &sqe);
		pair_run(p);
	}
	raw_detach(p->near.ulp, p->near.client);
	p->near.conns[0].stalled = false;
	pair_run(p);
	for (uint64_t i = 0; i < OPS; i++) {
		assert_true(app_complete(&app, &cqe));
		assert_int_equal(cqe.cookie, i);
		assert_int_equal(cqe.status, kCmplAck);
		assert_int_equal(cqe.len, BIG);
	}
	app_drop(&app);
}

static void broken__is_reported_once_and_detached(void **state)
{
	struct pair *p = *state;

	p->near.app.rings->sq.tail = FALCON_SQ_ENTRIES + 1;
	assert_false(raw_sleep_begin(p->near.ulp));
	pair_run(p);
	assert_int_equal(p->near.broken, 1);
	assert_null(p->near.client);
	assert_int_equal(app_signals(&p->near.app), -1);
	assert_true(raw_sleep_begin(p->near.ulp));
	raw_sleep_end(p->near.ulp);
}

static void services__taken_free_and_many(void **state)
{
	static struct app apps[RAW_MAX_CLIENTS];
	static struct client *clients[RAW_MAX_CLIENTS];
	struct pair *p = *state;
	struct app app;
	int n = 0;

	app_make(&app, 4096, true);
	assert_int_equal(pair_attach(&p->far, &app, PAIR_SERVICE, &clients[0]), -EADDRINUSE);
	for (; n < RAW_MAX_CLIENTS - 1; n++) {
		app_make(&apps[n], 4096, true);
		assert_int_equal(pair_attach(&p->far, &apps[n], 0, &clients[n]), 0);
		assert_true(client_service(clients[n]) >= RAW_FIRST_FREE_SERVICE);
	}
	assert_int_equal(pair_attach(&p->far, &app, 0, &clients[n]), -EUSERS);
	raw_detach(p->far.ulp, clients[0]);
	assert_int_equal(pair_attach(&p->far, &app, PAIR_SERVICE + 1, &clients[0]), 0);
	app_drop(&app);
	while (n--)
		app_drop(&apps[n]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(conn_down__then_core_closes), T(conn_down__after_core_closed),
		T(conn_down__then_up_again), T(conn_down__that_was_never_up),
		T(detach__with_work_in_the_core), T(detach__with_pulls_in_the_core),
		T(detach__with_responses_in_the_core), T(detach__some_linger), T(detach__leaves_the_others),
		T(broken__is_reported_once_and_detached), T(services__taken_free_and_many),
	};

	return unit_run(tests);
}
