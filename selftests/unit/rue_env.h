/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection and its engine, for the tests of Swift. */
#ifndef FALCON_SELFTESTS_RUE_ENV_H
#define FALCON_SELFTESTS_RUE_ENV_H

#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rue/params.h"
#include "rue/swift.h"

/*
 * An event as its fields' values, and what came of it. Windows in 1/1024, as held in the formats.
 */
struct rue_env {
	struct swift *engine;
	struct swift_params params;
	uint32_t now, type, t1, t2, t3, t4, retx, nack, hops, level, fcwnd, ncwnd, acked;
	uint32_t eack, eack_drop, select, fmarker, nmarker, direction, base, delay, rtt, opaque;
	struct swift_state state;
	struct falcon_rue_result r;
};

static inline void rue_env_params(struct rue_env *v)
{
	char err[256] = "";

	if (swift_set_profile(v->engine, 0, &v->params, err, sizeof(err)))
		fail_msg("%s", err);
}

/*
 * * Default parameters, and an ACK at time 10000 of a packet that took 100 units out and 100 back
 * after 20 at the receiver, on a connection with windows of 32 and 64 whose markers are long past.
 */
static inline void rue_env_init(struct rue_env *v)
{
	memset(v, 0, sizeof(*v));
	v->engine = swift_create(16, SWIFT_STATE_BYTES);
	assert_non_null(v->engine);
	swift_params_default(&v->params);
	v->now = 10000;
	v->t1 = 9780;
	v->t2 = 9880;
	v->t3 = 9900;
	v->t4 = 10000;
	v->select = kRueDelayFabric;
	v->fcwnd = 32 * 1024;
	v->ncwnd = 64;
	v->acked = 1;
	v->fmarker = v->nmarker = 5000;
	v->direction = 1;
	v->delay = 200;
	v->rtt = 220;
}

static inline void rue_env_fini(struct rue_env *v)
{
	swift_destroy(v->engine);
}

/* Let the round trip take |rtt| units, all of it in the fabric, and end now. */
static inline void rue_env_rtt(struct rue_env *v, uint32_t rtt)
{
	v->t4 = v->now;
	v->t1 = (v->now - rtt) & 0xffffff;
	v->t2 = v->t3 = (v->t1 + rtt / 2) & 0xffffff;
}

static inline struct falcon_rue_event rue_env_event(const struct rue_env *v)
{
	struct falcon_rue_event e = { { 0 } };

	falcon_ev_put(&e, event_type, v->type);
	falcon_ev_put(&e, t1, v->t1);
	falcon_ev_put(&e, t2, v->t2);
	falcon_ev_put(&e, t3, v->t3);
	falcon_ev_put(&e, t4, v->t4);
	falcon_ev_put(&e, retransmit_count, v->retx);
	falcon_ev_put(&e, nack_code, v->nack);
	falcon_ev_put(&e, forward_hops, v->hops);
	falcon_ev_put(&e, rx_buffer_level, v->level);
	falcon_ev_put(&e, fcwnd_fraction, v->fcwnd);
	falcon_ev_put(&e, fcwnd_integer, v->fcwnd >> 10);
	falcon_ev_put(&e, ncwnd, v->ncwnd);
	falcon_ev_put(&e, num_packets_acked, v->acked);
	falcon_ev_put(&e, eack, v->eack);
	falcon_ev_put(&e, eack_drop, v->eack_drop);
	falcon_ev_put(&e, delay_select, v->select);
	falcon_ev_put(&e, fabric_window_time_marker, v->fmarker);
	falcon_ev_put(&e, nic_window_time_marker, v->nmarker);
	falcon_ev_put(&e, ncwnd_direction, v->direction);
	falcon_ev_put(&e, base_delay_target, v->base);
	falcon_ev_put(&e, delay_state, v->delay);
	falcon_ev_put(&e, rtt_state, v->rtt);
	falcon_ev_put(&e, cc_opaque, v->opaque);
	return e;
}

/* Process the event: |r| is the result, |state| the state before and then after. */
static inline void rue_env_run(struct rue_env *v)
{
	struct falcon_rue_event e = rue_env_event(v);

	*swift_state(v->engine, v->base) = v->state;
	memset(&v->r, 0, sizeof(v->r));
	rue_swift.process(v->engine, &e, v->now, &v->r);
	v->state = *swift_state(v->engine, v->base);
}

#define rue_env_get(v, name) ((uint32_t)falcon_res_get(&(v)->r, name))

static inline uint32_t rue_env_fcwnd(const struct rue_env *v)
{
	return rue_env_get(v, fcwnd) << 10 | rue_env_get(v, fcwnd_fraction);
}

/* The NIC window in 1/1024, with the fraction that the engine keeps. */
static inline uint32_t rue_env_ncwnd(const struct rue_env *v)
{
	return (rue_env_get(v, ncwnd) << 10) + v->state.ncwnd_fraction;
}

#endif /* FALCON_SELFTESTS_RUE_ENV_H */
