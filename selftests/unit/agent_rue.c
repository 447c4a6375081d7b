// SPDX-License-Identifier: BSD-2-Clause
/*
 * Congestion control in the agent, with a core that is played: events are completed with the state of
 * now, merged while a thread has one, withheld by policy; algorithms change and results of the past
 * are dropped; and how full a receiver says it is. Another process may compute, come, end and hang.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/config/rue.h"
#include "agent/conn/conn.h"
#include "agent/net/port.h"
#include "agent/rue/rue.h"
#include "agent/shard/shard.h"
#include "falcon/receive/ack.h"
#include "rue/host.h"
#include "rue/serve.h"
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

int shard_watch(struct shard *s, int fd)
{
	(void)s;
	watched = fd;
	return 0;
}

void shard_unwatch(struct shard *s, int fd)
{
	(void)s, (void)fd;
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

static char dir[UNIT_PATH], path[UNIT_PATH + 28];

static int start(enum config_rue_mode mode)
{
	const struct cc_options swift = { "swift", "default", kRueDelayFull };

	memset(&agent, 0, sizeof(agent));
	memset(&conn, 0, sizeof(conn));
	memset(&shared, 0, sizeof(shared));
	config_rue_init(&agent.config.rue);
	agent.config.agent.rue_mode = mode;
	snprintf(agent.config.agent.rue_socket, sizeof(agent.config.agent.rue_socket), "%s", path);
	agent.config.agent.rue_p1_ns = 1000;
	agent.plane.shards[0].now = 1000000000;
	agent.plane.maps.nconns = 64;
	agent.plane.config = &agent.config;
	agent.plane.shards[0].plane = &agent.plane;
	agent.plane.nshards = 1;
	assert_int_equal(agent_rue_open(&agent.plane.shards[0], err, sizeof(err)), 0);
	agent.plane.shards[0].conns = agent.conns;
	agent.conns[CID] = &conn;
	conn.agent = &agent;
	conn.shard = &agent.plane.shards[0];
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

static int apart(void **state)
{
	(void)state;
	return start(CONFIG_RUE_PROCESS);
}

static int stop(void **state)
{
	(void)state;
	agent_rue_close(&agent.plane.shards[0]);
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
		uint32_t got = agent_rue_poll(&agent.plane.shards[0]);

		assert_true(got <= n);
		n -= got;
		if (n && !agent_rue_waiting(&agent.plane.shards[0]))
			assert_int_equal(poll(&fd, 1, 60000), 1);
	}
}

static void inline__event_starts_from_the_window_of_now(void **state)
{
	const struct falcon_rue_event e = ack(8);

	(void)state;
	agent_on_rue_event(&agent.plane.shards[0], &e);
	assert_int_equal(shared.cc.fcwnd, 9 << 10);
	agent_on_rue_event(&agent.plane.shards[0], &e);
	assert_in_range(shared.cc.fcwnd, (9 << 10) + 900, (9 << 10) + 920);
	assert_int_equal(falcon_res_get(&last, delay_select), kRueDelayFull);
	assert_int_equal(results, 2);
	assert_int_equal(agent_rue_stats(&conn, 0)->events, 2);
	assert_int_equal(agent_rue_poll(&agent.plane.shards[0]), 0);
	assert_false(agent_rue_waiting(&agent.plane.shards[0]));
}

static void inline__events_for_nobody_are_dropped(void **state)
{
	struct falcon_rue_event e = ack(8);

	(void)state;
	falcon_ev_set(&e, connection_id, CID + 1);
	agent_on_rue_event(&agent.plane.shards[0], &e);
	falcon_ev_set(&e, connection_id, falcon_rue_id(CID, 3));
	agent_on_rue_event(&agent.plane.shards[0], &e);
	conn.core = NULL;
	falcon_ev_set(&e, connection_id, CID);
	agent_on_rue_event(&agent.plane.shards[0], &e);
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
	agent_on_rue_event(&agent.plane.shards[0], &e);
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
	agent_on_rue_event(&agent.plane.shards[0], &e);
	assert_int_equal(shared.cc.fcwnd, 9 << 10);
}

/* As XDP counts in falcon_cc_event, when the agent takes ACKs in itself. */
static void ack__counts_what_was_acknowledged_since(void **state)
{
	struct falcon_ack a = { .type = FALCON_BACK, .rdbpsn = 3, .rrbpsn = 5 };

	(void)state;
	a.t1 = falcon_time_of_ns(agent.plane.shards[0].now) - 50;
	agent_rue_ack(&agent.plane.shards[0], &conn, 0, &a, 0, agent.plane.shards[0].now);
	assert_int_equal(shared.cc.fcwnd, 9 << 10);
	assert_int_equal(shared.cc_event.last_acked, 8);
	a.rdbpsn = 1;	/* overtaken */
	agent_rue_ack(&agent.plane.shards[0], &conn, 0, &a, 0, agent.plane.shards[0].now);
	assert_int_equal(shared.cc.fcwnd, 9 << 10);
	assert_int_equal(shared.cc_event.last_acked, 8);
	assert_int_equal(shared.cc_event.events, 2);
}

/* 10.6.1, by the frames that wait meanwhile: all; P1 or P2; P1; both. */
static void ack__makes_an_event_by_policy(void **state)
{
	static const struct {
		uint32_t waiting, acked;
		uint64_t after_ns;
		bool event;
	} ask[] = {
		{ 255, 1, 0, true },	 { 256, 1, 1000, false }, { 256, 1, 1001, true },
		{ 511, 32, 0, true },	 { 511, 31, 0, false },	  { 512, 200, 0, false },
		{ 767, 1, 1001, true },	 { 768, 1, 1001, false }, { 2000, 32, 1001, true },
		{ 2000, 50, 10, false }, { 0, 1, 0, true },
	};
	struct falcon_ack a = { .type = FALCON_BACK };
	uint32_t events = 1, suppressed = 0;

	(void)state;
	agent.config.agent.rue_p2_packets = 32;
	agent_rue_ack(&agent.plane.shards[0], &conn, 0, &a, 0, agent.plane.shards[0].now);
	for (size_t i = 0; i < sizeof(ask) / sizeof(ask[0]); i++) {
		uint32_t owed = a.rdbpsn - shared.cc_event.last_acked;

		/* What was withheld counts with the next, and with P2: begin anew with an event. */
		agent.plane.shards[0].rx_waiting = 0;
		if (owed) {
			agent_rue_ack(&agent.plane.shards[0], &conn, 0, &a, 0, agent.plane.shards[0].now);
			events++;
		}
		a.rdbpsn += ask[i].acked;
		agent.plane.shards[0].now += ask[i].after_ns;
		agent.plane.shards[0].rx_waiting = ask[i].waiting;
		agent_rue_ack(&agent.plane.shards[0], &conn, 0, &a, 0, agent.plane.shards[0].now);
		events += ask[i].event;
		suppressed += !ask[i].event;
		assert_int_equal(shared.cc_event.events, events);
		assert_int_equal(shared.cc_event.suppressed, suppressed);
		assert_int_equal(results, events);
		assert_int_equal(shared.cc_event.last_acked,
				 ask[i].event ? a.rdbpsn : a.rdbpsn - ask[i].acked);
	}
}

static void stats__are_of_the_latest_result(void **state)
{
	struct falcon_rue_event e = ack(8);
	const struct rue_flow_stats *s = agent_rue_stats(&conn, 0);

	(void)state;
	falcon_ev_set(&e, t4, 80);
	agent_on_rue_event(&agent.plane.shards[0], &e);
	assert_int_equal(s->delay, falcon_res_get(&last, delay_state));
	assert_int_equal(s->delay, 80);
	assert_int_equal(s->rtt, falcon_res_get(&last, rtt_state));
	assert_int_equal(s->gap, 0);
	agent_rue_start(&conn);
	assert_int_equal(s->delay, 0);
}

static void thread__merges_what_comes_meanwhile(void **state)
{
	const struct falcon_rue_event e = ack(2), r = retransmission();
	const struct rue_flow_stats *s = agent_rue_stats(&conn, 0);

	(void)state;
	agent_on_rue_event(&agent.plane.shards[0], &e);		/* goes out */
	agent_on_rue_event(&agent.plane.shards[0], &e);		/* these three become one */
	agent_on_rue_event(&agent.plane.shards[0], &e);
	agent_on_rue_event(&agent.plane.shards[0], &e);
	assert_int_equal(results, 0);
	wait_for(2);
	assert_int_equal(results, 2);
	assert_int_equal(s->suppressed, 2);
	/* 8 + 2 / 8, and 6 packets more. */
	assert_in_range(shared.cc.fcwnd, (8 << 10) + 256 + 740, (8 << 10) + 256 + 750);
	agent_on_rue_event(&agent.plane.shards[0], &e);
	agent_rue_core_event(&agent.plane.shards[0], &conn, &r);
	agent_on_rue_event(&agent.plane.shards[0], &e);		/* says less than the retransmission */
	wait_for(2);
	assert_int_equal(results, 4);
	assert_int_equal(s->suppressed, 3);
}

static void thread__result_of_the_past_is_dropped(void **state)
{
	const struct cc_options fixed = { "fixed", "default", kRueDelayFull };
	const struct falcon_rue_event e = ack(8);

	(void)state;
	agent_on_rue_event(&agent.plane.shards[0], &e);
	agent_on_rue_event(&agent.plane.shards[0], &e);
	assert_int_equal(agent_rue_select(&conn, &fixed, err, sizeof(err)), 0);
	wait_for(1);
	assert_int_equal(results, 1);	/* the windows that "fixed" begins with */
	assert_int_equal(shared.cc.fcwnd, 100 << 10);
	agent_on_rue_event(&agent.plane.shards[0], &e);
	/* Closed, and opened anew: the same. */
	agent_rue_start(&conn);
	wait_for(1);
	agent_on_rue_event(&agent.plane.shards[0], &e);
	wait_for(1);
	assert_int_equal(results, 2);
}

/* What the core was told of receive rings. */
static uint32_t waiting_level = UINT32_MAX;

void fcore_rx_waiting(struct fcore *core, uint32_t level)
{
	assert_ptr_equal(core, agent.plane.shards[0].core);
	waiting_level = level;
}

/* Of two ports' rings the fuller one counts. */
static void level__of_the_fullest_ring(void **state)
{
	struct fcore_occupancy ring[3];

	(void)state;
	agent.config.agent.rx_ema_ring = 100;
	for (int i = 0; i < 3; i++)
		agent_rx_level_init(&agent.plane.shards[0], &ring[i]);
	agent.plane.nports = 2;
	agent.plane.ports[0] = (struct port){ .nqueues = 2, .waiting = ring };
	agent.plane.ports[1] = (struct port){ .nqueues = 1, .waiting = &ring[2] };
	agent_rx_level_set(&agent.plane.shards[0], &ring[1], XSK_FILL_TARGET / 2);
	assert_int_equal(waiting_level, 16);
	agent_rx_level_set(&agent.plane.shards[0], &ring[2], XSK_FILL_TARGET);
	assert_int_equal(waiting_level, 31);
	agent_rx_level_set(&agent.plane.shards[0], &ring[1], 0);
	assert_int_equal(waiting_level, 31);
	agent_rx_level_set(&agent.plane.shards[0], &ring[2], XSK_FILL_TARGET / 32);
	assert_int_equal(waiting_level, 1);
	agent_rx_level_set(&agent.plane.shards[0], &ring[2], 0);
	assert_int_equal(waiting_level, 0);
	agent.plane.nports = 0;
}

/* An engine in another process, but for the process. */

static struct rue_server *server;
static pthread_t serving;
static int serve_no_more;

static void say(const char *text)
{
	(void)text;
}

static void *run_server(void *arg)
{
	rue_serve_run(arg, serve_no_more);
	return NULL;
}

static void start_engine(void)
{
	serve_no_more = eventfd(0, EFD_CLOEXEC);
	server = rue_serve(path, say, err, sizeof(err));
	assert_non_null(server);
	assert_int_equal(pthread_create(&serving, NULL, run_server, server), 0);
}

static void end_engine(void)
{
	assert_int_equal(eventfd_write(serve_no_more, 1), 0);
	pthread_join(serving, NULL);
	rue_serve_end(server);
	close(serve_no_more);
}

/* Let a second pass, until results are computed |where|. */
static void wait_until(const char *where)
{
	agent.plane.shards[0].now += 1100000000;
	agent_rue_tick(&agent.plane.shards[0]);
	for (int i = 0; strcmp(agent_rue_where(&agent.plane.shards[0]), where) && i < 600; i++) {
		struct pollfd fd = { .fd = watched, .events = POLLIN };

		assert_int_equal(poll(&fd, 1, 60000), 1);
		agent_rue_tick(&agent.plane.shards[0]);
	}
	assert_string_equal(agent_rue_where(&agent.plane.shards[0]), where);
}

static void process__computes_once_it_is_there(void **state)
{
	const struct falcon_rue_event e = ack(8);

	(void)state;
	assert_string_equal(agent_rue_where(&agent.plane.shards[0]), "inline");
	agent_on_rue_event(&agent.plane.shards[0], &e);
	assert_int_equal(shared.cc.fcwnd, 9 << 10);
	start_engine();
	wait_until("process");
	agent_on_rue_event(&agent.plane.shards[0], &e);
	assert_int_equal(results, 1);
	wait_for(1);
	assert_in_range(shared.cc.fcwnd, (9 << 10) + 900, (9 << 10) + 920);
	end_engine();
	wait_until("inline");
}

static void process__ends_and_windows_stay(void **state)
{
	const struct falcon_rue_event e = ack(8);
	uint32_t acked;

	(void)state;
	agent.config.rue.profile[1].params.randomize_path = true;
	agent_rue_close(&agent.plane.shards[0]);
	assert_int_equal(agent_rue_open(&agent.plane.shards[0], err, sizeof(err)), 0);
	assert_int_equal(agent_rue_select(&conn, &(struct cc_options){ "swift", "default", 0 }, err,
					  sizeof(err)), 0);
	start_engine();
	wait_until("process");
	agent_on_rue_event(&agent.plane.shards[0], &e);
	wait_for(1);
	acked = swift_plb_get(rue_host_swift_state(agent_rue_host(&agent.plane.shards[0]),
							   agent_rue_base(&conn, 0)).plb,
			      acked);
	assert_int_equal(acked, 0);	/* a whole window, and so a round */
	agent_on_rue_event(&agent.plane.shards[0], &e);
	wait_for(1);
	assert_int_equal(swift_plb_get(rue_host_swift_state(agent_rue_host(&agent.plane.shards[0]),
							    agent_rue_base(&conn, 0)).plb, acked), 8);
	/* One is with the engine, and one follows it. */
	agent_on_rue_event(&agent.plane.shards[0], &e);
	agent_on_rue_event(&agent.plane.shards[0], &e);
	end_engine();
	wait_until("inline");
	assert_in_range(results, 3, 4);
	assert_in_range(shared.cc.fcwnd, (10 << 10) + 500, 12 << 10);
	agent_on_rue_event(&agent.plane.shards[0], &e);
	assert_in_range(results, 4, 5);
	/* And one that comes back finds all as it is. */
	start_engine();
	wait_until("process");
	agent_on_rue_event(&agent.plane.shards[0], &e);
	wait_for(1);
	assert_in_range(shared.cc.fcwnd, 11 << 10, 13 << 10);
	end_engine();
	wait_until("inline");
}

static void process__learns_of_engines_and_flows(void **state)
{
	const struct cc_options fixed = { "fixed", "software", kRueDelayFabric };
	const struct falcon_rue_event e = ack(8);

	(void)state;
	start_engine();
	wait_until("process");
	assert_int_equal(agent_rue_select(&conn, &fixed, err, sizeof(err)), 0);
	results = 0;
	agent_on_rue_event(&agent.plane.shards[0], &e);
	wait_for(1);
	assert_int_equal(results, 1);
	assert_int_equal(shared.cc.fcwnd, 100 << 10);
	/* Opened anew: what is under way is of the past. */
	agent_on_rue_event(&agent.plane.shards[0], &e);
	agent_rue_start(&conn);
	wait_for(1);
	assert_int_equal(results, 1);
	end_engine();
	wait_until("inline");
}

/* Somebody who agrees to everything, and does nothing. */
static void process__hangs_and_is_done_without(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const struct falcon_rue_event e = ack(8);
	int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0), peer;

	(void)state;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(bind(sock, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(sock, 1), 0);
	agent.plane.shards[0].now += 1100000000;
	agent_rue_tick(&agent.plane.shards[0]);
	peer = accept(sock, NULL, NULL);
	assert_int_equal(send(peer, "", 1, 0), 1);
	wait_until("process");
	agent_on_rue_event(&agent.plane.shards[0], &e);
	agent_on_rue_event(&agent.plane.shards[0], &e);
	assert_int_equal(results, 0);
	agent_rue_tick(&agent.plane.shards[0]);
	agent.plane.shards[0].now += 900000000;
	agent_rue_tick(&agent.plane.shards[0]);
	assert_string_equal(agent_rue_where(&agent.plane.shards[0]), "process");
	agent.plane.shards[0].now += 200000000;
	agent_rue_tick(&agent.plane.shards[0]);
	assert_string_equal(agent_rue_where(&agent.plane.shards[0]), "inline");
	assert_int_equal(results, 1);
	close(peer);
	close(sock);
	unlink(path);
}

int main(void)
{
#define PROCESS(fn) cmocka_unit_test_setup_teardown(fn, apart, stop)
#define INLINE(fn) cmocka_unit_test_setup_teardown(fn, inlined, stop)
#define THREAD(fn) cmocka_unit_test_setup_teardown(fn, threaded, stop)
	const struct CMUnitTest tests[] = {
		INLINE(inline__event_starts_from_the_window_of_now),
		INLINE(inline__events_for_nobody_are_dropped),
		INLINE(select__fixed_restores_the_configured_windows),
		INLINE(select__leaves_all_as_it_was_if_refused),
		INLINE(ack__counts_what_was_acknowledged_since),
		INLINE(ack__makes_an_event_by_policy),
		INLINE(stats__are_of_the_latest_result),
		THREAD(thread__merges_what_comes_meanwhile),
		THREAD(thread__result_of_the_past_is_dropped),
		INLINE(level__of_the_fullest_ring),
		PROCESS(process__computes_once_it_is_there),
		PROCESS(process__ends_and_windows_stay),
		PROCESS(process__learns_of_engines_and_flows),
		PROCESS(process__hangs_and_is_done_without),
	};
	int rc;

	assert_non_null(mkdtemp(unit_template(dir, "falcon-rue")));
	snprintf(path, sizeof(path), "%s/rue.sock", dir);
	rc = unit_run(tests);
	rmdir(dir);
	return rc;
}
