// SPDX-License-Identifier: BSD-2-Clause
#include "pair.h"

#include <assert.h>
#include <stdlib.h>

static void on_client_broken(void *arg, struct client *cl, const char *why)
{
	struct end *e = arg;

	(void)why;
	e->broken++;
	if (cl == e->client)
		e->client = NULL;
	raw_detach(e->ulp, cl);
}

static const struct raw_ops ops = { .client_broken = on_client_broken };

int pair_attach(struct end *e, struct app *app, uint16_t service, struct client **out)
{
	const struct client_ends ends = app_ends(app);
	char err[256];

	return raw_attach(e->ulp, &ends, service, out, err, sizeof(err));
}

static void end_setup(struct end *e, uint16_t service)
{
	int rc;

	e->ulp = raw_create(&ops, e, PAIR_CONNS);
	app_make(&e->app, PAIR_ARENA, true);
	rc = pair_attach(e, &e->app, service, &e->client);
	assert(!rc);
}

int pair_setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));
	int rc = 0;

	p->now = 1000;
	end_setup(&p->near, 0);
	end_setup(&p->far, PAIR_SERVICE);
	for (uint32_t i = 0; i < PAIR_CONNS; i++) {
		fake_join(&p->near.conns[i], p->near.ulp, &p->far.conns[i], p->far.ulp, i);
		rc |= raw_conn_up(p->near.ulp, &p->near.conns[i], PAIR_SEGMENT);
		rc |= raw_conn_up(p->far.ulp, &p->far.conns[i], PAIR_SEGMENT);
	}
	*state = p;
	return rc;
}

static void end_teardown(struct end *e)
{
	for (int i = 0; i < PAIR_CONNS; i++) {
		fake_close(&e->conns[i], kCmplDeadConn);
		fake_release(&e->conns[i]);
	}
	raw_destroy(e->ulp);
	app_drop(&e->app);
}

int pair_teardown(void **state)
{
	struct pair *p = *state;

	end_teardown(&p->near);
	end_teardown(&p->far);
	free(p);
	return 0;
}

uint32_t pair_step(struct pair *p)
{
	uint32_t n = raw_pump(p->near.ulp, p->now) + raw_pump(p->far.ulp, p->now);

	for (int i = 0; i < PAIR_CONNS; i++) {
		n += fake_run(&p->near.conns[i], p->now, UINT32_MAX);
		n += fake_run(&p->far.conns[i], p->now, UINT32_MAX);
	}
	return n;
}

void pair_run(struct pair *p)
{
	int quiet = 0;

	/* Quiet twice in a row, with the longest RNR delay in use between. */
	while (quiet < 2) {
		quiet = pair_step(p) ? 0 : quiet + 1;
		p->now += 1000000;
	}
}

struct falcon_sqe pair_sqe(uint8_t op, uint64_t local, uint64_t remote, uint32_t len)
{
	return (struct falcon_sqe){
		.op = op, .dst_service = PAIR_SERVICE, .local = local, .remote = remote,
		.len = len, .cookie = 0x1234,
	};
}

struct falcon_cqe pair_do(struct pair *p, uint8_t op, uint64_t local, uint64_t remote,
			  uint32_t len)
{
	struct falcon_sqe sqe = pair_sqe(op, local, remote, len);
	struct falcon_cqe cqe = { .status = 0xff };
	bool got;

	app_submit(&p->near.app, &sqe);
	pair_run(p);
	got = app_complete(&p->near.app, &cqe);
	assert(got && cqe.cookie == sqe.cookie);
	return cqe;
}
