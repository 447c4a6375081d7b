// SPDX-License-Identifier: BSD-2-Clause
/*
 * Congestion control in the agent, with a core that is played: events are completed with the state of
 * now, merged while a thread has one, withheld by policy; algorithms change and results of the past
 * are dropped; and how full a receiver says it is.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "agent/rue.h"
#include "falcon/ack.h"
#include "unit.h"

enum { CID = 5 };

static struct agent agent;
static struct agent_conn conn;
static struct falcon_conn shared;
static struct falcon_rue_result last;	/* what the core was given */
static unsigned int results;
static int watched = -1;
static char err[512];

/* The rest of the agent, and the core. */

int agent_watch(struct agent *a, int fd)
{
	(void)a;
	watched = fd;
	return 0;
}

void agent_rue_trace_end(struct agent *a, const struct control_client *cl)
{
	(void)a, (void)cl;
}

bool fcore_rue_event(struct fcore *core, struct falcon_rue_event *e)
{
	(void)core;
	return falcon_rue_flow((uint32_t)falcon_ev_get(e, connection_id)) == 0;
}

void fcore_rue_base(struct fcore_conn *c, uint32_t flow, uint32_t base)
{
	(void)c;
	if (flow == 0)
		shared.cc.base_delay_target = base;
}

uint32_t fcore_conn_flow(const struct fcore_conn *c, uint32_t flow, struct fcore_flow_stats *s)
{
	(void)c, (void)flow, (void)s;
	return 1;
}

void fcore_rue_result(struct fcore_conn *c, const struct falcon_rue_result *r, uint64_t now)
{
	(void)c, (void)now;
	last = *r;
	results++;
	shared.cc.fcwnd = (uint32_t)(falcon_res_get(r, fcwnd) << 10 |
				     falcon_res_get(r, fcwnd_fraction));
	shared.cc.ncwnd = (uint32_t)falcon_res_get(r, ncwnd);
	shared.cc.rto = (uint32_t)falcon_res_get(r, retransmit_timeout);
}

static int start(enum config_rue_mode mode)
{
	const struct cc_options swift = { "swift", "default", kRueDelayFull };

	memset(&agent, 0, sizeof(agent));
	memset(&conn, 0, sizeof(conn));
	memset(&shared, 0, sizeof(shared));
	config_rue_init(&agent.config.rue);
	agent.config.agent.rue_mode = mode;
	agent.config.agent.rue_p1_ns = 1000;
	agent.now = 1000000000;
	agent.maps.nconns = 64;
	assert_int_equal(agent_rue_open(&agent, err, sizeof(err)), 0);
	agent.conns[CID] = &conn;
	conn.agent = &agent;
	conn.shared = &shared;
	conn.cfg.local_cid = CID;
	conn.cfg.params = (struct fcore_params){ .fcwnd = 100, .ncwnd = 90, .rto_ns = 4000000,
						 .flows = 1 };
	conn.core = (struct fcore_conn *)&conn;
	shared.id.cid = CID;
	shared.cc.fcwnd = 8 << 10;
	shared.cc.ncwnd = 64;
	assert_int_equal(agent_rue_select(&conn, &swift, err, sizeof(err)), 0);
	agent_rue_start(&conn);
	results = 0;
	return 0;
}

static int inlined(void **state)
{
	(void)state;
	return start(CONFIG_RUE_INLINE);
}

static int threaded(void **state)
{
	(void)state;
	return start(CONFIG_RUE_THREAD);
}

static int stop(void **state)
{
	(void)state;
	agent_rue_close(&agent);
	return 0;
}

/* An ACK of |n| packets after 50 units, as XDP describes it: with a window of long ago. */
static struct falcon_rue_event ack(uint32_t n)
{
	struct falcon_rue_event e = { { 0 } };

	falcon_ev_put(&e, connection_id, CID);
	falcon_ev_put(&e, fcwnd_integer, 1);
	falcon_ev_put(&e, t4, 50);
	falcon_ev_put(&e, num_packets_acked, n);
	return e;
}

static struct falcon_rue_event retransmission(void)
{
	struct falcon_rue_event e = { { 0 } };

	falcon_ev_put(&e, connection_id, CID);
	falcon_ev_put(&e, event_type, kRueEventTypeRetx);
	return e;
}

/* Until the thread has answered |n| events. */
static void wait_for(uint32_t n)
{
	while (n) {
		struct pollfd fd = { .fd = watched, .events = POLLIN };
		uint32_t got = agent_rue_poll(&agent);

		assert_true(got <= n);
		n -= got;
		if (n && !agent_rue_waiting(&agent))
			assert_int_equal(poll(&fd, 1, 60000), 1);
	}
}

static void inline__event_starts_from_the_window_of_now(void **state)
{
	const struct falcon_rue_event e = ack(8);

	(void)state;
	agent_on_rue_event(&agent, &e);
	assert_int_equal(shared.cc.fcwnd, 9 << 10);
	agent_on_rue_event(&agent, &e);
	assert_in_range(shared.cc.fcwnd, (9 << 10) + 900, (9 << 10) + 920);
	assert_int_equal(falcon_res_get(&last, delay_select), kRueDelayFull);
	assert_int_equal(results, 2);
	assert_int_equal(agent_rue_stats(&conn, 0)->events, 2);
	assert_int_equal(agent_rue_poll(&agent), 0);
	assert_false(agent_rue_waiting(&agent));
}

static void inline__events_for_nobody_are_dropped(void **state)
{
	struct falcon_rue_event e = ack(8);

	(void)state;
	falcon_ev_set(&e, connection_id, CID + 1);
	agent_on_rue_event(&agent, &e);
	falcon_ev_set(&e, connection_id, falcon_rue_id(CID, 3));
	agent_on_rue_event(&agent, &e);
	conn.core = NULL;
	falcon_ev_set(&e, connection_id, CID);
	agent_on_rue_event(&agent, &e);
	assert_int_equal(results, 0);
}

static void select__fixed_restores_the_configured_windows(void **state)
{
	const struct cc_options fixed = { "fixed", "software", kRueDelayFabric };
	const struct falcon_rue_event e = ack(8);

	(void)state;
	assert_int_equal(agent_rue_select(&conn, &fixed, err, sizeof(err)), 0);
	assert_int_equal(shared.cc.fcwnd, 100 << 10);
	assert_int_equal(shared.cc.ncwnd, 90);
	assert_int_equal(shared.cc.rto, falcon_time_of_ns(4000000));
	agent_on_rue_event(&agent, &e);
	assert_int_equal(shared.cc.fcwnd, 100 << 10);
}

static void select__leaves_all_as_it_was_if_refused(void **state)
{
	const struct cc_options unknown = { "cubic", "default", 0 };
	const struct cc_options nowhere = { "fixed", "nowhere", 0 };
	const struct falcon_rue_event e = ack(8);

	(void)state;
	assert_int_equal(agent_rue_select(&conn, &unknown, err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "cubic"));
	assert_int_equal(agent_rue_select(&conn, &nowhere, err, sizeof(err)), -ENOENT);
	assert_string_equal(conn.cfg.cc.algorithm, "swift");
	agent_on_rue_event(&agent, &e);
	assert_int_equal(shared.cc.fcwnd, 9 << 10);
}

/* As XDP counts in falcon_cc_event, when the agent takes ACKs in itself. */
static void ack__counts_what_was_acknowledged_since(void **state)
{
	struct falcon_ack a = { .type = FALCON_BACK, .rdbpsn = 3, .rrbpsn = 5 };

	(void)state;
	a.t1 = falcon_time_of_ns(agent.now) - 50;
	agent_rue_ack(&agent, &conn, 0, &a, 0, agent.now);
	assert_int_equal(shared.cc.fcwnd, 9 << 10);
	assert_int_equal(shared.cc_event.last_acked, 8);
	a.rdbpsn = 1;	/* overtaken */
	agent_rue_ack(&agent, &conn, 0, &a, 0, agent.now);
	assert_int_equal(shared.cc.fcwnd, 9 << 10);
	assert_int_equal(shared.cc_event.last_acked, 8);
	assert_int_equal(shared.cc_event.events, 2);
}

static void thread__merges_what_comes_meanwhile(void **state)
{
	const struct falcon_rue_event e = ack(2), r = retransmission();
	const struct rue_flow_stats *s = agent_rue_stats(&conn, 0);

	(void)state;
	agent_on_rue_event(&agent, &e);		/* goes out */
	agent_on_rue_event(&agent, &e);		/* these three become one */
	agent_on_rue_event(&agent, &e);
	agent_on_rue_event(&agent, &e);
	assert_int_equal(results, 0);
	wait_for(2);
	assert_int_equal(results, 2);
	assert_int_equal(s->suppressed, 2);
	/* 8 + 2 / 8, and 6 packets more. */
	assert_in_range(shared.cc.fcwnd, (8 << 10) + 256 + 740, (8 << 10) + 256 + 750);
	agent_on_rue_event(&agent, &e);
	agent_rue_core_event(&agent, &conn, &r);
	agent_on_rue_event(&agent, &e);		/* says less than the retransmission */
	wait_for(2);
	assert_int_equal(results, 4);
	assert_int_equal(s->suppressed, 3);
}

static void thread__result_of_the_past_is_dropped(void **state)
{
	const struct cc_options fixed = { "fixed", "default", kRueDelayFull };
	const struct falcon_rue_event e = ack(8);

	(void)state;
	agent_on_rue_event(&agent, &e);
	agent_on_rue_event(&agent, &e);
	assert_int_equal(agent_rue_select(&conn, &fixed, err, sizeof(err)), 0);
	wait_for(1);
	assert_int_equal(results, 1);	/* the windows that "fixed" begins with */
	assert_int_equal(shared.cc.fcwnd, 100 << 10);
	agent_on_rue_event(&agent, &e);
	/* Closed, and opened anew: the same. */
	agent_rue_start(&conn);
	wait_for(1);
	agent_on_rue_event(&agent, &e);
	wait_for(1);
	assert_int_equal(results, 2);
}

static void level__follows_the_fuller_pool(void **state)
{
	static struct xsk x;
	struct falcon_credit credit = { .credits = 1024 };

	(void)state;
	agent.config.agent.rx_ema_packets = agent.config.agent.rx_ema_ring = 100;
	x = (struct xsk){ .credit = &credit, .in_fill = 1024, .rx_nfree = XSK_RX_FRAMES - 1024 };
	assert_int_equal(agent_rx_level(&agent, &x), 0);
	credit.credits = 1024 - 32;
	assert_int_equal(agent_rx_level(&agent, &x), 1);
	credit.credits = 512;
	assert_int_equal(agent_rx_level(&agent, &x), 16);
	credit.credits = -2048;
	assert_int_equal(agent_rx_level(&agent, &x), 31);
	credit.credits = 1024;
	x.rx_nfree = XSK_RX_FRAMES - 1024 - 5120 / 2;
	assert_int_equal(agent_rx_level(&agent, &x), 16);
	x.rx_nfree = 0;
	x.in_fill = 0;
	assert_int_equal(agent_rx_level(&agent, &x), 31);
	/* A quarter of the way each time. */
	agent.config.agent.rx_ema_packets = agent.config.agent.rx_ema_ring = 25;
	x = (struct xsk){ .credit = &credit, .in_fill = 1024, .rx_nfree = XSK_RX_FRAMES - 1024 };
	credit.credits = 0;
	assert_int_equal(agent_rx_level(&agent, &x), 8);
	assert_int_equal(agent_rx_level(&agent, &x), 14);
}

int main(void)
{
#define INLINE(fn) cmocka_unit_test_setup_teardown(fn, inlined, stop)
#define THREAD(fn) cmocka_unit_test_setup_teardown(fn, threaded, stop)
	const struct CMUnitTest tests[] = {
		INLINE(inline__event_starts_from_the_window_of_now),
		INLINE(inline__events_for_nobody_are_dropped),
		INLINE(select__fixed_restores_the_configured_windows),
		INLINE(select__leaves_all_as_it_was_if_refused),
		INLINE(ack__counts_what_was_acknowledged_since),
		THREAD(thread__merges_what_comes_meanwhile),
		THREAD(thread__result_of_the_past_is_dropped),
		INLINE(level__follows_the_fuller_pool),
	};

	return unit_run(tests);
}
