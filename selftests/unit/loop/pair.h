/* SPDX-License-Identifier: BSD-2-Clause */
/* Two raw layers with an application each, joined by the fake core's connections. */
#ifndef FALCON_SELFTESTS_PAIR_H
#define FALCON_SELFTESTS_PAIR_H

#include "app.h"
#include "fake_core.h"

enum pair_const {
	PAIR_CONNS = 2,
	PAIR_SEGMENT = 1000,
	PAIR_ARENA = 1 << 20,
	PAIR_SERVICE = 7,	/* of the application at the far end */
};

/* One end. */
struct end {
	struct raw_ulp *ulp;
	struct app app;
	struct client *client;		/* NULL: detached */
	int broken;			/* client_broken() calls */
	struct fcore_conn conns[PAIR_CONNS];
};

struct pair {
	struct end near, far;
	uint64_t now;
};

/* For cmocka: *state is a new pair with everything up and attached. */
int pair_setup(void **state);
int pair_teardown(void **state);

/* Attach |app|, newly made, to |e| under |service|. 0 or raw_attach()'s error. */
int pair_attach(struct end *e, struct app *app, uint16_t service, struct client **out);

/* Let both ends work until nothing moves any more; time passes so that RNR delays end. */
void pair_run(struct pair *p);
/* The same, one round, time standing still. Returns how much moved. */
uint32_t pair_step(struct pair *p);

/* Submit an operation of the near application to the far one, run, and return its completion. */
struct falcon_cqe pair_do(struct pair *p, uint8_t op, uint64_t local, uint64_t remote,
			  uint32_t len);
/* An operation on connection 0 to the far application. */
struct falcon_sqe pair_sqe(uint8_t op, uint64_t local, uint64_t remote, uint32_t len);

#endif /* FALCON_SELFTESTS_PAIR_H */
