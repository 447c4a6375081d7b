/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An agent's receive path, keys and rotation without sockets and maps: connections are set up as
 * conn.c would, the peers are this file, and what the agent asks of others is written down.
 */
#ifndef FALCON_SELFTESTS_AGENT_ENV_H
#define FALCON_SELFTESTS_AGENT_ENV_H

#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/security.h"
#include "agent/rue/rue.h"
#include "agent/shard/shard.h"
#include "crypto/kdf.h"
#include "falcon/receive/ack.h"
#include "falcon/receive/rx.h"

enum {
	STAGE_CONNS = 3,	/* CIDs 1 to 3 */
	STAGE_PSN = 1000,	/* the peers' first, both windows */
	STAGE_FRAME = 2048,
	STAGE_PAYLOAD = 64,
};

/* A peer: what it seals with, and how its frames look. */
struct stage_peer {
	struct sa *sa;
	struct frame_template tmpl;
	struct cm_security told;	/* by the agent, last */
	uint32_t psn;			/* of its next data packet */
	uint64_t clock;			/* ps */
};

struct stage_frame {
	uint8_t room[sizeof(struct falcon_meta)];
	uint8_t data[STAGE_FRAME];
	uint32_t len;
};

static struct stage {
	struct agent a;
	struct agent_conn conn[STAGE_CONNS + 1];	/* by CID; 0 is not used */
	struct stage_peer peer[STAGE_CONNS + 1];
	struct falcon_conn shared[STAGE_CONNS + 1];
	struct falcon_config config;
	uint32_t pushes;		/* that the core has delivered */
	uint32_t answers;		/* packets that the agent wanted to send */
	uint32_t sent_on[FALCON_MAX_FLOWS];	/* of these, by flow */
	uint32_t asked[STAGE_CONNS + 1];	/* calls of cm_rekey() */
	struct {
		uint32_t spi, cid;
	} sadb[2 * STAGE_CONNS];	/* falcon_sadb; SPI 0: not used */
	bool cm_busy;			/* cm_rekey() says -ENOTCONN */
	uint32_t failed;		/* calls of agent_conn_fail() */
	uint32_t function;		/* Destination Function of the peers' packets */
	uint32_t flows;			/* of connections that stage_connect() makes; 0: one */
	uint32_t rue_acked;		/* packets that the RUE events of ACKs said were acknowledged */
} stage;

int agent_transmit(void *arg, struct fcore_conn *fc, const struct fcore_packet *p)
{
	(void)arg, (void)fc;
	stage.answers++;
	stage.sent_on[p->flow]++;
	return 0;
}

void shard_mark_dirty(struct shard *s, uint32_t cid)
{
	(void)s, (void)cid;
}

/* Unless the test has conn.c. */
__attribute__((weak)) void agent_conn_fail(struct agent_conn *c, const char *why)
{
	(void)c, (void)why;
	stage.failed++;
}

/* Control hears at once. */
void news_of_conn(struct agent_conn *c, enum conn_news what, const char *why)
{
	assert_int_equal(what, CONN_NEWS_REKEY);
	assert_null(why);
	rekey_worn(c);
}

void agent_rue_ack(struct shard *s, struct agent_conn *c, uint32_t flow,
		   const struct falcon_ack *ack, uint32_t t3, uint64_t now)
{
	struct falcon_rue_event e = {};

	falcon_rue_event_ack(c->shared, flow, ack, t3, falcon_time_of_ns(now), 0, &e);
	if (fcore_rue_event(s->core, &e))
		stage.rue_acked += (uint32_t)falcon_ev_get(&e, num_packets_acked);
}

int cm_rekey(struct cm *cm, uint32_t cid)
{
	(void)cm;
	if (stage.cm_busy)
		return -ENOTCONN;
	stage.asked[cid]++;
	return 0;
}

/* The entry of |spi| in falcon_sadb, SPI and CID; NULL if there is none. */
static inline uint32_t *stage_sadb(uint32_t spi)
{
	for (unsigned int i = 0; i < 2 * STAGE_CONNS; i++)
		if (stage.sadb[i].spi == spi)
			return &stage.sadb[i].spi;
	return NULL;
}

int maps_sadb_add(struct maps *m, uint32_t spi, uint32_t cid)
{
	uint32_t *entry = stage_sadb(spi) ? stage_sadb(spi) : stage_sadb(0);

	assert_ptr_equal(m, &stage.a.plane.maps);
	if (!entry)
		return -E2BIG;
	entry[0] = spi;
	entry[1] = cid;
	return 0;
}

void maps_sadb_del(struct maps *m, uint32_t spi)
{
	uint32_t *entry = stage_sadb(spi);

	assert_ptr_equal(m, &stage.a.plane.maps);
	assert_non_null(entry);
	entry[0] = 0;
}

static void stage_frame_put(void *arg, void *frame)
{
	(void)arg, (void)frame;
}

static void stage_push(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn,
		       const void *payload, uint32_t len)
{
	(void)arg, (void)proto, (void)payload, (void)len;
	stage.pushes++;
	fcore_push_done(c, rsn, FCORE_PUSH_ACK, 0, 0, stage.a.plane.shards[0].now);
}

static void stage_completion(void *arg, struct fcore_conn *c, uint64_t cookie,
			     enum falcon_completion_code code, uint8_t ulp_code)
{
	(void)arg, (void)c, (void)cookie, (void)code, (void)ulp_code;
}

static const struct fcore_ops stage_ops = {
	.transmit = agent_transmit,
	.frame_put = stage_frame_put,
	.on_completion = stage_completion,
	.on_push = stage_push,
};

static inline void stage_address(uint8_t addr[16], uint8_t last)
{
	const uint8_t a[4] = { 10, 0, 0, last };

	memset(addr, 0, 16);
	memcpy(addr, a, 4);
}

/* The peer takes what the agent told it: it seals so from now on. */
static inline void stage_peer_uses(uint32_t cid, const struct cm_security *told)
{
	struct stage_peer *p = &stage.peer[cid];

	sa_free(p->sa);
	p->told = *told;
	p->sa = sa_new(SA_SEAL, told->version, told->spi, told->key);
	assert_non_null(p->sa);
}

/* What conn.c and the connection manager do for connection |cid|. */
static inline void stage_connect(uint32_t cid, uint8_t version)
{
	struct agent_conn *c = &stage.conn[cid];
	struct falcon_conn_id *id = &stage.shared[cid].id;
	struct stage_peer *p = &stage.peer[cid];
	struct cm_security ours = { .version = FALCON_PSP_CLEAR, .spi = 77 };
	struct fcore_params params;
	struct frame_route r = { .encap = version, .spi = 77 };
	char err[128];

	c->agent = &stage.a;
	c->shard = &stage.a.plane.shards[0];
	snprintf(c->cfg.name, sizeof(c->cfg.name), "c%u", cid);
	c->cfg.local_cid = cid;
	c->sec.maps = &stage.a.plane.maps;
	c->sec.cid = cid;
	c->sec.encap = version;
	c->shared = &stage.shared[cid];
	stage.a.conns[cid] = c;
	assert_int_equal(agent_fill_security(&stage.a, cid, &ours), 0);
	if (version != FALCON_PSP_CLEAR)
		stage_peer_uses(cid, &ours);
	c->ours.security = ours;
	c->peer.security = (struct cm_security){ .spi = 500 + cid, .version = version,
						 .key = { 1, 2, (uint8_t)cid } };
	assert_int_equal(agent_agree_security(c, err, sizeof(err)), 0);
	memset(id, 0, sizeof(*id));
	id->cid = cid;
	id->cur_spi = id->prev_spi = ours.spi;
	id->cur_spi_gen = ours.generation;
	id->encap = falcon_encap_seen(version);
	id->pcid = c->sec.pcid;
	stage_address(id->local_addr, 1);
	stage_address(id->peer_addr, 2);
	stage_address(r.dst_addr.b, 1);
	stage_address(r.src_addr.b, 2);
	r.vc = ours.pcid != 0;
	r.cookie = ours.pcid;
	frame_template_init(&p->tmpl, &r);
	p->psn = STAGE_PSN;
	fcore_params_default(&params);
	params.ordered = false;
	if (stage.flows)
		params.flows = stage.flows;
	params.rx_data_psn = params.rx_req_psn = STAGE_PSN;
	c->core = fcore_conn_open(stage.a.plane.shards[0].core, cid, c->shared, &params,
				  stage.a.plane.shards[0].now);
	assert_non_null(c->core);
	fcore_conn_set_user(c->core, c);
	id->flags = FALCON_CONN_ALIVE | (version == FALCON_PSP_CLEAR ? FALCON_CONN_CLEAR : 0);
	rekey_join(c);
	c->state = AGENT_CONN_UP;
}

static inline void stage_open(uint8_t version)
{
	struct fcore_config cfg;

	memset(&stage, 0, sizeof(stage));
	stage.a.now = stage.a.plane.shards[0].now = 1000000000;
	stage.a.plane.config = &stage.a.config;
	stage.a.plane.shards[0].plane = &stage.a.plane;
	stage.a.plane.maps.config = &stage.config;
	stage.a.plane.maps.nconns = STAGE_CONNS + 1;
	stage.a.config.agent.key_packets = UINT64_MAX;
	stage.a.config.agent.key_bytes = UINT64_MAX;
	stage.a.config.agent.key_settle_ns = 1000000;
	fcore_config_default(&cfg, FALCON_MAX_CONNS);
	stage.a.plane.shards[0].core = fcore_create(&stage_ops, &stage.a, &cfg);
	assert_non_null(stage.a.plane.shards[0].core);
	assert_int_equal(sec_keys_open(&stage.a.keys), 0);
	rekey_init(&stage.a);
	stage.config.cur_spi_gen = sec_keys_generation(stage.a.keys);
	stage.config.replay_margin = 1000000;
	for (uint32_t cid = 1; cid <= STAGE_CONNS; cid++) {
		stage.peer[cid].clock = 1000000000;
		stage_connect(cid, version);
	}
}

static inline void stage_drop(uint32_t cid)
{
	struct agent_conn *c = &stage.conn[cid];

	if (!c->core)
		return;
	c->shared->id.flags = 0;
	fcore_conn_close(c->core, kCmplDeadConn);
	c->core = NULL;
	rekey_leave(c);
	sec_close(&c->sec);
}

static inline void stage_close(void)
{
	for (uint32_t cid = 1; cid <= STAGE_CONNS; cid++) {
		stage_drop(cid);
		sa_free(stage.peer[cid].sa);
	}
	fcore_destroy(stage.a.plane.shards[0].core);
	sec_keys_close(stage.a.keys);
}

/* |pkt| as |cid|'s peer sends it. */
static inline void stage_seal(uint32_t cid, const struct fcore_packet *pkt, struct stage_frame *f)
{
	struct stage_peer *p = &stage.peer[cid];
	int n;

	p->clock += 1000;
	n = frame_build(&p->tmpl, p->sa, pkt, p->clock, f->data);
	assert_true(n > 0);
	f->len = (uint32_t)n;
}

/* The next packet of |cid|'s peer: a push of STAGE_PAYLOAD bytes, sealed. */
static inline void stage_next(uint32_t cid, struct stage_frame *f)
{
	static const uint8_t payload[STAGE_PAYLOAD] = "known plaintext, which nobody may see";
	uint32_t psn = stage.peer[cid].psn++;
	struct fcore_packet pkt = { .payload = payload, .payload_len = STAGE_PAYLOAD };
	struct falcon_hdr h = {
		.cid = cid, .type = FALCON_PUSH_DATA, .request_len = STAGE_PAYLOAD,
		.function = stage.function,
		.psn = psn, .rsn = psn - STAGE_PSN, .proto = FALCON_PROTO_RAW,
	};

	pkt.hdr_len = falcon_hdr_pack(&h, pkt.hdr);
	stage_seal(cid, &pkt, f);
}

/* An ACK of |cid|'s peer on |flow|, sealed. */
static inline void stage_ack(uint32_t cid, uint32_t flow, const struct falcon_ack *a, struct stage_frame *f)
{
	struct fcore_packet pkt = { .flow = (uint8_t)flow };

	pkt.hdr_len = falcon_ack_pack(a, pkt.hdr);
	stage_seal(cid, &pkt, f);
}

/* As XDP and rx.c hand it on: the verdict of the receive path. Works on a copy. */
static inline enum falcon_verdict stage_receive(const struct stage_frame *frame)
{
	static struct stage_frame copy;
	struct falcon_meta m = { .magic = FALCON_META_MAGIC, .verdict = FALCON_V_steered };
	struct xsk_frame handle = {};
	struct xsk_rx_item it = { .frame = &handle, .data = copy.data, .len = frame->len };
	struct falcon_frame f;
	enum falcon_verdict v;
	bool kept = false;

	copy = *frame;
	v = falcon_parse_frame(copy.data, copy.data + copy.len, &f);
	if (falcon_encap_is_esp(f.encap)) {
		if (!stage_sadb(f.spi))
			return FALCON_V_pass_spi;
		f.cid = stage_sadb(f.spi)[1];
	}
	if (v != FALCON_V_rx_data)
		return v;
	if (f.cid > STAGE_CONNS)
		return FALCON_V_drop_cid;
	if (f.cid == 0 || !stage.conn[f.cid].core)
		return FALCON_V_drop_not_alive;
	m.cid = f.cid;
	m.falcon_off = f.falcon_off;
	m.falcon_len = f.falcon_len;
	m.flow = f.flow;
	m.rx_ns = stage.a.plane.shards[0].now;
	return agent_steered(&stage.conn[f.cid], &m, &it, &kept);
}

/* The agent looks after its keys, |ns| later. */
static inline void stage_turn(uint64_t ns)
{
	stage.a.now = stage.a.plane.shards[0].now += ns;
	rekey_run(&stage.a);
}

/* The connection manager gets round to the rekeying it was asked for; the peer does what it is told. */
static inline void stage_answer(uint32_t cid)
{
	struct cm_security told = {};

	assert_int_equal(agent_fill_security(&stage.a, cid, &told), 0);
	stage_peer_uses(cid, &told);
	agent_security_used(&stage.a, cid, told.generation);
}

#endif /* FALCON_SELFTESTS_AGENT_ENV_H */
