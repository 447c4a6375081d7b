/* SPDX-License-Identifier: BSD-2-Clause */
/* One core with one connection and a test in the place of the peer: what it sends is recorded. */
#ifndef FALCON_SELFTESTS_CORE_ENV_H
#define FALCON_SELFTESTS_CORE_ENV_H

#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <core/parts.h>
#include <falcon/receive/rx.h>

enum {
	ENV_SENT = 1024,
	ENV_EVENTS = 1024,
	ENV_CID = 5,
	ENV_PEER_CID = 9,
	ENV_DATA = 1000,	/* our first data PSN */
	ENV_REQ = 2000,		/* our first request PSN */
	ENV_PEER_DATA = 3000,	/* the peer's */
	ENV_PEER_REQ = 4000,
	ENV_RSN = 50,		/* our first RSN */
	ENV_PEER_RSN = 70,
};

/* A packet that the core has sent. */
struct env_sent {
	struct falcon_hdr hdr;	/* reliable packets */
	struct falcon_ack ack;	/* BACK, EACK, NACK */
	uint8_t type;
	bool again;
	bool probe;		/* of the path's size */
	uint8_t flow;
	uint16_t path;
	uint32_t len;		/* bytes after the Falcon header */
	uint32_t room;		/* and behind them */
};

/* Something that the core has told the ULP. */
struct env_event {
	enum { ENV_PUSH, ENV_PULL, ENV_PULL_DATA, ENV_DONE, ENV_RESPONSE_DONE } what;
	uint32_t rsn;
	uint64_t cookie;
	uint32_t len;
	int code, ulp_code;
};

static struct env {
	struct fcore *core;
	struct fcore_conn *c;
	struct falcon_conn shared;
	uint64_t now;
	struct env_sent sent[ENV_SENT];
	uint32_t nsent;
	struct env_event event[ENV_EVENTS];
	uint32_t nevents;
	uint32_t refuse;	/* so many transmissions are refused */
	int (*on_transmit)(void);	/* what happens meanwhile; NULL: nothing */
	bool hostile;		/* refused transmissions are acknowledged all the same */
	long frames;
	uint32_t xons, fatals, retx_events;
	uint64_t rnr_cookie;
	unsigned int rnr_times;
	bool rnr_for_ever;	/* what on_rnr() answers */
	uint32_t zone, zones;	/* as told to on_zone(); how often */
	uint32_t rx_level, rx_levels;	/* as told to on_rx_level(); how often */
	uint32_t probe_t1;	/* of the latest probe */
	uint32_t path_len, path_ends;	/* as told to on_path(); how often */
	struct falcon_rue_event last_rue;
	uint8_t flow;		/* that the peer sends on */
	uint16_t path;		/* and its path */
	bool answer;		/* acknowledge pushes and answer pulls at once */
	bool close_on_event;	/* close the connection from within the next event */
	uint32_t pull_on_done;	/* pulls to submit from within the next completion */
	enum fcore_exec exec_answer;	/* of exec_give() */
	uint32_t exec_asked;	/* how often exec_give() was called */
	uint32_t exec_taken;	/* and exec_taken() */
	struct falcon_exec exec;	/* what that was told */
	uint32_t exec_access;	/* what exec_give() allows */
	uint32_t exec_responses;	/* how often exec_response() was called */
} env;

/* The peer acknowledges a PSN that it can only guess. */
static void env_acknowledge_unsent(void)
{
	struct falcon_ack a = { .type = FALCON_BACK, .rdbpsn = env.shared.cc.data_next,
				.rrbpsn = env.shared.cc.req_next };

	falcon_rx_ack(&env.shared, 0, &a, env.now);
}

static int env_transmit(void *arg, struct fcore_conn *c, const struct fcore_packet *p)
{
	struct env_sent *s = &env.sent[env.nsent];

	(void)arg;
	(void)c;
	if (env.refuse) {
		env.refuse--;
		if (env.hostile)
			env_acknowledge_unsent();
		return -EAGAIN;
	}
	assert_true(env.nsent < ENV_SENT);
	memset(s, 0, sizeof(*s));
	s->type = p->type;
	s->again = p->retransmission;
	s->flow = p->flow;
	s->path = p->path;
	s->probe = p->probe;
	if (p->probe)
		falcon_store(&env.shared.cc.probe_t1, ++env.probe_t1);
	s->len = p->ulp_hdr_len + p->payload_len;
	s->room = p->room;
	if (falcon_type_is_ack(p->type)) {
		assert_int_equal(falcon_ack_unpack(p->hdr, p->hdr + p->hdr_len, &s->ack), 0);
		assert_int_equal(s->ack.cid, ENV_PEER_CID);
	} else {
		falcon_base_unpack((const void *)p->hdr, &s->hdr);
		if (p->type == FALCON_RESYNC)
			falcon_resync_unpack((const void *)p->hdr, &s->hdr);
		assert_int_equal(s->hdr.cid, ENV_PEER_CID);
		assert_int_equal(p->hdr_len, falcon_hdr_len(p->type));
	}
	env.nsent++;
	return env.on_transmit ? env.on_transmit() : 0;
}

static void env_frame_put(void *arg, void *frame)
{
	(void)arg;
	env.frames--;
	free(frame);
}

static void env_rue_event(void *arg, struct fcore_conn *c, const struct falcon_rue_event *e)
{
	(void)arg;
	(void)c;
	env.retx_events++;
	env.last_rue = *e;
}

static void env_note(struct fcore_conn *c, struct env_event e)
{
	assert_true(env.nevents < ENV_EVENTS);
	env.event[env.nevents++] = e;
	if (env.close_on_event) {
		env.close_on_event = false;
		fcore_conn_close(c, kCmplDeadConn);
		env.c = NULL;
	}
}

static void env_on_push(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn,
			const void *payload, uint32_t len)
{
	(void)arg;
	(void)proto;
	(void)payload;
	env_note(c, (struct env_event){ .what = ENV_PUSH, .rsn = rsn, .len = len });
	if (env.answer)
		fcore_push_done(c, rsn, FCORE_PUSH_ACK, 0, 0, env.now);
}

static inline void env_respond(struct fcore_conn *c, uint32_t rsn, const void *payload,
			       uint32_t len, uint64_t cookie)
{
	fcore_pull_respond(c, rsn,
			   &(struct fcore_response){ .payload = payload, .len = len, .cookie = cookie },
			   env.now);
}

static void env_on_pull(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn,
			const void *hdr, uint32_t hdr_len, uint16_t request_len)
{
	(void)arg;
	(void)proto;
	(void)hdr;
	(void)hdr_len;
	env_note(c, (struct env_event){ .what = ENV_PULL, .rsn = rsn, .len = request_len });
	if (env.answer)
		env_respond(c, rsn, NULL, 0, rsn);
}

static void env_on_response_done(void *arg, struct fcore_conn *c, uint64_t cookie)
{
	(void)arg;
	env_note(c, (struct env_event){ .what = ENV_RESPONSE_DONE, .cookie = cookie });
}

static void env_on_pull_data(void *arg, struct fcore_conn *c, uint64_t cookie,
			     const void *payload, uint32_t len)
{
	(void)arg;
	(void)payload;
	env_note(c, (struct env_event){ .what = ENV_PULL_DATA, .cookie = cookie, .len = len });
}

static void env_on_completion(void *arg, struct fcore_conn *c, uint64_t cookie,
			      enum falcon_completion_code code, uint8_t ulp_code)
{
	(void)arg;
	env_note(c, (struct env_event){ .what = ENV_DONE, .cookie = cookie, .code = (int)code,
					.ulp_code = ulp_code });
	for (; env.pull_on_done; env.pull_on_done--) {
		const struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .len = 1 };

		assert_int_equal(fcore_pull(c, &t, env.now), 0);
	}
}

static void env_on_xon(void *arg, struct fcore_conn *c)
{
	(void)arg;
	(void)c;
	env.xons++;
}

static bool env_on_rnr(void *arg, struct fcore_conn *c, uint64_t cookie, uint8_t times)
{
	(void)arg;
	(void)c;
	env.rnr_cookie = cookie;
	env.rnr_times = times;
	return env.rnr_for_ever;
}

static void env_on_zone(void *arg, enum falcon_zone zone)
{
	(void)arg;
	env.zone = zone;
	env.zones++;
}

static void env_on_rx_level(void *arg, uint32_t level)
{
	(void)arg;
	env.rx_level = level;
	env.rx_levels++;
}

static void env_on_path(void *arg, struct fcore_conn *c, uint32_t len)
{
	(void)arg;
	env.path_len = len;
	env.path_ends++;
	if (env.close_on_event) {
		fcore_conn_close(c, kCmplDeadConn);
		env.c = NULL;
	}
}

static void env_on_fatal(void *arg, struct fcore_conn *c, const char *why)
{
	(void)arg;
	(void)c;
	assert_non_null(why);
	env.fatals++;
}

static enum fcore_exec env_exec_give(void *arg, struct fcore_conn *c, struct falcon_exec *e)
{
	(void)arg;
	(void)c;
	env.exec_asked++;
	e->sn = 100;
	e->access = env.exec_access;
	return env.exec_answer;
}

static void env_exec_taken(void *arg, struct fcore_conn *c, const struct falcon_exec *e)
{
	(void)arg;
	(void)c;
	env.exec_taken++;
	env.exec = *e;
}

/* Its cookie is the RSN. */
static void env_exec_response(void *arg, struct fcore_conn *c, const struct falcon_response *r, uint8_t *hdr,
			      struct fcore_response *out)
{
	(void)arg;
	(void)c;
	env.exec_responses++;
	memset(hdr, 1, FCORE_MAX_RESP_HDR);
	out->ulp_hdr_len = FCORE_MAX_RESP_HDR;
	out->payload = "response";
	out->len = 8;
	out->cookie = r->rsn;
}

static const struct fcore_ops env_ops = {
	.transmit = env_transmit,
	.frame_put = env_frame_put,
	.rue_event = env_rue_event,
	.on_push = env_on_push,
	.on_pull = env_on_pull,
	.on_response_done = env_on_response_done,
	.on_pull_data = env_on_pull_data,
	.on_completion = env_on_completion,
	.on_xon = env_on_xon,
	.on_rnr = env_on_rnr,
	.on_zone = env_on_zone,
	.on_rx_level = env_on_rx_level,
	.exec_give = env_exec_give,
	.exec_taken = env_exec_taken,
	.exec_response = env_exec_response,
	.on_path = env_on_path,
	.on_fatal = env_on_fatal,
};

/* Defaults that keep out of a test's way: no AR by percentage, no coalescing by count, no patience. */
static inline struct fcore_params env_params(bool ordered)
{
	struct fcore_params p;

	fcore_params_default(&p);
	p.ordered = ordered;
	p.tx_data_psn = ENV_DATA;
	p.tx_req_psn = ENV_REQ;
	p.rx_data_psn = ENV_PEER_DATA;
	p.rx_req_psn = ENV_PEER_REQ;
	p.tx_rsn = ENV_RSN;
	p.rx_rsn = ENV_PEER_RSN;
	p.alpha_percent = 0;	/* the core's */
	p.rto_ns = 1000000;
	p.max_retx = 3;
	p.txn_timeout_ns = 1000000000;
	p.rnr_patience_ns = 0;
	p.ack_timeout_ns = 50000;
	p.ack_count = 1000;
	p.ar_percent = 0;
	p.ar_fcwnd = 0;
	p.early_retx = FCORE_EARLY_OOO;
	return p;
}

/* A connection with |p| in a core with |cfg|. */
static inline void env_open_with(const struct fcore_params *p, const struct fcore_config *cfg)
{
	memset(&env, 0, sizeof(env));
	env.now = 5000000000ULL;
	env.shared.id.cid = ENV_CID;
	env.shared.id.peer_cid = ENV_PEER_CID;
	env.core = fcore_create(&env_ops, NULL, cfg);
	assert_non_null(env.core);
	env.c = fcore_conn_open(env.core, ENV_CID, &env.shared, p, env.now);
	assert_non_null(env.c);
}

static inline void env_open(const struct fcore_params *p)
{
	struct fcore_config cfg;

	fcore_config_default(&cfg, 2);
	env_open_with(p, &cfg);
}

/* Every resource has been given back, at every level. */
static inline void env_expect_pools_full(void)
{
	for (int level = 0; level < FCORE_LEVELS; level++) {
		uint32_t index = level == FCORE_LEVEL_CONN ? ENV_CID : 0;
		const struct fcore_account *a =
			fcore_resources(env.core, (enum fcore_level)level, index);

		for (int r = 0; a && r < FCORE_RESOURCES; r++)
			if (a->used[r])
				fail_msg("%u of %s held at level %s", a->used[r],
					 fcore_resource_name((enum fcore_resource)r),
					 fcore_level_name((enum fcore_level)level));
	}
}

static inline void env_close(void)
{
	if (env.c)
		fcore_conn_close(env.c, kCmplDeadConn);
	assert_int_equal(env.frames, 0);
	env_expect_pools_full();
	fcore_destroy(env.core);
}

/* Run the core; returns how many packets it has sent, which start at env.sent[0]. */
static inline uint32_t env_run(void)
{
	env.nsent = 0;
	fcore_run(env.core, env.now, ENV_SENT);
	return env.nsent;
}

/* Let |ns| pass at once, then run. */
static inline uint32_t env_pass(uint64_t ns)
{
	env.now += ns;
	return env_run();
}

static inline void env_push(uint64_t cookie)
{
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .payload = "payload", .len = 7,
			       .cookie = cookie };

	assert_int_equal(fcore_push(env.c, &t, env.now), 0);
}

static inline void env_pull(uint64_t cookie, uint32_t len)
{
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .len = len, .cookie = cookie };

	assert_int_equal(fcore_pull(env.c, &t, env.now), 0);
}

/* The peer's ACK; bases and bitmaps as given. Returns the receive path's verdict. */
static inline enum falcon_verdict env_ack(struct falcon_ack a)
{
	enum falcon_verdict v;

	if (!a.type)
		a.type = FALCON_BACK;
	if (!a.t1)
		a.t1 = falcon_time_of_ns(env.now - 10000);
	v = falcon_rx_ack(&env.shared, env.flow, &a, env.now);
	if (v == FALCON_V_rx_nack)
		fcore_nacked(env.c, &a, env.now);
	fcore_acked(env.c, env.now);
	return v;
}

/* Acknowledge |data| and |req| packets from the first on. */
static inline void env_ack_all(uint32_t data, uint32_t req)
{
	assert_int_equal(env_ack((struct falcon_ack){ .rdbpsn = ENV_DATA + data,
						      .rrbpsn = ENV_REQ + req }),
			 FALCON_V_ack_consumed);
}

/* A packet of the peer's, through the window check to the core. Returns the verdict. */
static inline enum falcon_verdict env_receive(struct falcon_hdr h, uint32_t len)
{
	enum falcon_verdict v;
	uint8_t *frame;

	h.cid = ENV_CID;
	h.proto = FALCON_PROTO_RAW;
	falcon_piggyback(&env.shared, h.rdbpsn, h.rrbpsn);
	v = falcon_rx_window(&env.shared, &h);
	if (!falcon_verdict_delivers(v))
		return v;
	frame = calloc(1, len + 1);
	env.frames++;
	fcore_receive(env.c, &(struct fcore_rx){ .hdr = h, .payload = frame, .len = len,
						 .frame = frame, .flow = env.flow,
						 .path = env.path, .now = env.now });
	return v;
}

/* The peer's |n|-th data PSN, with the |r|-th RSN, as push data. */
static inline enum falcon_verdict env_receive_push(uint32_t n, uint32_t r, bool ar)
{
	return env_receive((struct falcon_hdr){ .type = FALCON_PUSH_DATA, .ar = ar,
						.psn = ENV_PEER_DATA + n, .rsn = ENV_PEER_RSN + r,
						.request_len = 7 }, 7);
}

static inline enum falcon_verdict env_receive_pull(uint32_t n, uint32_t r, bool ar)
{
	return env_receive((struct falcon_hdr){ .type = FALCON_PULL_REQUEST, .ar = ar,
						.psn = ENV_PEER_REQ + n, .rsn = ENV_PEER_RSN + r,
						.request_len = 100 }, 0);
}

/* Pull data for our |r|-th RSN. */
static inline enum falcon_verdict env_receive_data(uint32_t n, uint32_t r, uint32_t len)
{
	return env_receive((struct falcon_hdr){ .type = FALCON_PULL_DATA,
						.psn = ENV_PEER_DATA + n, .rsn = ENV_RSN + r },
			   len);
}

/* A Resync in the place of |type|, which tells the window. */
static inline enum falcon_verdict env_receive_resync(uint8_t type, uint32_t psn, uint32_t rsn)
{
	return env_receive((struct falcon_hdr){ .type = FALCON_RESYNC, .resync_type = type,
						.resync_code = FALCON_RESYNC_RETX_ERROR,
						.psn = psn, .rsn = rsn }, 0);
}

static inline void env_expect(uint32_t i, struct env_event e)
{
	assert_true(i < env.nevents);
	assert_int_equal(env.event[i].what, e.what);
	assert_int_equal(env.event[i].rsn, e.rsn);
	assert_int_equal(env.event[i].cookie, e.cookie);
	assert_int_equal(env.event[i].len, e.len);
	assert_int_equal(env.event[i].code, e.code);
	assert_int_equal(env.event[i].ulp_code, e.ulp_code);
}

#endif /* FALCON_SELFTESTS_CORE_ENV_H */
