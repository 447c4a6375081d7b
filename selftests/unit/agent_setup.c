// SPDX-License-Identifier: BSD-2-Clause
/*
 * What becomes of a connection's keys when the connection manager sets it up and loses it
 * (user/agent/conn/setup.c, conn.c).
 */
#include "agent_env.h"

#include "agent/conn/accept.h"
#include "agent/conn/cid.h"
#include "agent/conn/conn.h"
#include "agent/conn/filter.h"
#include "agent/conn/grace.h"
#include "agent/conn/loopback.h"
#include "agent/conn/notes.h"
#include "agent/conn/path.h"
#include "agent/conn/route.h"
#include "agent/conn/setup.h"
#include "agent/net/port.h"
#include "agent/shard/handover.h"
#include "agent/shard/shard.h"
#include "agent/tenant/quota.h"

static uint8_t encap;
static struct agent_conn *of_shard[STAGE_CONNS + 1];
static uint64_t asked_for_grace;

/* What conn.c and setup.c ask of others. */
int agent_accept(void *arg, const struct cm_request *req, struct cm_local *out, char *err, size_t errlen)
{
	(void)arg, (void)req, (void)out, (void)err, (void)errlen;
	return -EPERM;
}

void agent_take_note(void *arg, const struct cm_note *note, const struct chan_identity *who)
{
	(void)arg, (void)note, (void)who;
}

void agent_conn_route(struct agent_conn *c)
{
	static struct port any;

	c->port = &any;
}

int agent_path_limit(struct agent_conn *c, char *err, size_t errlen)
{
	(void)c, (void)err, (void)errlen;
	return 0;
}

void agent_path_search(struct agent_conn *c)
{
	(void)c;
}

void agent_path_told(struct agent_conn *c, const struct cm_path *path)
{
	(void)c, (void)path;
}

void agent_path_follow(struct agent_conn *c)
{
	(void)c;
}

void agent_rue_start(struct agent_conn *c)
{
	(void)c;
}

void agent_rue_stop(struct agent_conn *c)
{
	(void)c;
}

int agent_rue_select(struct agent_conn *c, const struct cc_options *cc, char *err, size_t errlen)
{
	(void)c, (void)cc, (void)err, (void)errlen;
	return 0;
}

void news_forget(struct agent_conn *c)
{
	(void)c;
}

void filters_conn_gone(struct agent_conn *c)
{
	(void)c;
}

struct ulp *agent_ulp(struct shard *s, uint8_t proto)
{
	(void)s, (void)proto;
	return NULL;
}

bool loopback_wanted(const struct agent_conn *c)
{
	(void)c;
	return false;
}

int loopback_start(struct agent_conn *c, char *err, size_t errlen)
{
	(void)c, (void)err, (void)errlen;
	return -EINVAL;
}

void loopback_part(struct agent_conn *c, const char *why)
{
	(void)c, (void)why;
}

void quota_uncharge(struct quota *q, uid_t uid, enum quota_kind kind, uint64_t n)
{
	(void)q, (void)uid, (void)kind, (void)n;
}

int config_conn_conflict(const struct conn_config *a, const struct conn_config *b, char *err, size_t errlen)
{
	(void)a, (void)b, (void)err, (void)errlen;
	return 0;
}

uint8_t config_encap(enum config_security security)
{
	(void)security;
	return encap;
}

enum cm_security_kind cm_security_kind(uint8_t version)
{
	return falcon_encap_is_esp(version) ? CM_SECURITY_ESP : CM_SECURITY_PSP;
}

int cm_add(struct cm *cm, const struct cm_local *local, char *err, size_t errlen)
{
	(void)cm, (void)local, (void)err, (void)errlen;
	return 0;
}

void cm_remove(struct cm *cm, uint32_t cid, const char *reason)
{
	(void)cm, (void)cid, (void)reason;
}

void cm_reset(struct cm *cm, uint32_t cid, const char *reason)
{
	(void)cm, (void)cid, (void)reason;
}

void cm_set_mtu(struct cm *cm, uint32_t cid, uint32_t mtu)
{
	(void)cm, (void)cid, (void)mtu;
}

enum cm_state cm_conn_state(const struct cm *cm, uint32_t cid)
{
	(void)cm, (void)cid;
	return CM_OPENING;
}

/* A grace period is over at once. */
uint64_t grace_ask(struct grace *g)
{
	(void)g;
	return ++asked_for_grace;
}

uint64_t grace_over(struct grace *g)
{
	(void)g;
	return asked_for_grace;
}

struct grace *grace_start(void (*wait)(void))
{
	(void)wait;
	return NULL;
}

void grace_stop(struct grace *g)
{
	(void)g;
}

void maps_quiesce(void)
{
}

uint32_t shard_receive(struct shard *s)
{
	(void)s;
	return 0;
}

uint32_t shard_take_over(struct shard *s)
{
	(void)s;
	return 0;
}

int neigh_resolve(struct neigh *n, int family, const struct falcon_addr *dst, struct neigh_entry *out)
{
	(void)n, (void)family, (void)dst, (void)out;
	return -ENETUNREACH;
}

void neigh_release(struct neigh_entry *e)
{
	(void)e;
}

static int conn_up(void *self, const struct ulp_conn *up)
{
	(void)self, (void)up;
	return 0;
}

static void conn_down(void *self, uint32_t cid, const char *reason)
{
	(void)self, (void)cid, (void)reason;
}

static const struct ulp_ops ops = { .proto = FALCON_PROTO_RAW, .conn_up = conn_up, .conn_down = conn_down };
static struct ulp ulp = { .ops = &ops };

static int begin(uint8_t version)
{
	encap = version;
	stage_open(version);
	stage.a.plane.maps.conns = stage.shared;
	stage.a.plane.nshards = 0;
	agent_conns_init(&stage.a);
	stage.a.plane.shards[0].agent = &stage.a;
	stage.a.plane.shards[0].conns = of_shard;
	stage.conn[1].ulp = &ulp;
	stage_address(stage.conn[1].cfg.local.b, 1);
	stage_address(stage.conn[1].cfg.remote.b, 2);
	stage_drop(1);
	return 0;
}

static int fresh(void **state)
{
	(void)state;
	return begin(FALCON_PSP_AES_GCM_256);
}

static int fresh_esp(void **state)
{
	(void)state;
	return begin(FALCON_ESP_AES_GCM_256);
}

static int done(void **state)
{
	(void)state;
	sec_close(&stage.conn[1].sec);
	stage_close();
	return 0;
}

/* Our offer, of which the peer is told the key. */
static struct cm_values offer(void)
{
	struct cm_values v = { .incarnation = 1, .cid = 1 };

	assert_int_equal(agent_cm_ops.fill_local_security(&stage.a, 1, &v.security), 0);
	return v;
}

/* The peer's |n|-th offer meets |ours|. */
static void meet(const struct cm_values *ours, uint8_t n)
{
	struct cm_values peer = {
		.incarnation = n, .cid = 9, .data_psn = STAGE_PSN, .req_psn = STAGE_PSN,
		.security = { .spi = 600U + n, .version = encap, .key = { n },
			      .key_len = (uint8_t)sa_key_len(encap) },
	};
	char err[256] = "";

	if (agent_cm_ops.establish(&stage.a, 1, ours, &peer, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(stage.conn[1].state, AGENT_CONN_RECEIVING);
	assert_int_equal(sa_spi(stage.conn[1].sec.tx), 600 + n);
	stage_peer_uses(1, &ours->security);
	stage.peer[1].psn = STAGE_PSN;
}

static void lose(void)
{
	agent_cm_ops.lost(&stage.a, 1, "peer started over");
	assert_null(stage.conn[1].core);
	assert_null(stage.conn[1].sec.tx);
}

static void receives(void)
{
	struct stage_frame f;

	stage_next(1, &f);
	assert_int_equal(stage_receive(&f), FALCON_V_rx_data);
}

/* Resets cross: an offer that has carried nothing meets another one of the peer's. Its key still opens. */
static void an_offer_meets_another(void **state)
{
	struct cm_values ours = offer();

	(void)state;
	for (uint8_t n = 1; n <= 3; n++) {
		meet(&ours, n);
		lose();
	}
	meet(&ours, 4);
	receives();
}

/* What has been up is over with its keys; and one offer takes the other's place. */
static void keys_do_not_outlive_their_use(void **state)
{
	struct agent_conn *c = &stage.conn[1];
	struct cm_values ours = offer();
	uint32_t first = ours.security.spi;

	(void)state;
	meet(&ours, 1);
	assert_int_equal(agent_conn_go_up(c), 0);
	lose();
	assert_null(c->sec.rx_cur);
	ours = offer();
	assert_int_not_equal(ours.security.spi, first);
	meet(&ours, 2);
	lose();
	first = ours.security.spi;
	ours = offer();
	assert_null(c->sec.rx_prev);
	assert_int_equal(sa_spi(c->sec.rx_cur), ours.security.spi);
	assert_null(stage_sadb(first));
}

/* A connection that goes before its offer was taken leaves nothing: neither key nor, with ESP, its SPI. */
static void an_offer_that_was_not_taken(void **state)
{
	struct conn_config cfg = { .name = "late", .local_cid = 1, .handshake = true };
	struct cm_values ours;
	char err[256] = "";

	(void)state;
	stage.a.conns[1] = NULL;
	assert_true(agent_cid_claim(&stage.a, 1));
	assert_non_null(agent_conn_new(&stage.a.plane.shards[0], &cfg, &ulp, err, sizeof(err)));
	ours = offer();
	assert_int_equal(agent_conn_del(&stage.a, "late", err, sizeof(err)), 0);
	agent_conns_run(&stage.a);
	assert_null(stage.a.conns[1]);
	assert_null(stage_sadb(ours.security.spi));
}

#define TEST(f) { #f, f, fresh, done, NULL }, { #f "_esp", f, fresh_esp, done, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_offer_meets_another),
		TEST(keys_do_not_outlive_their_use),
		TEST(an_offer_that_was_not_taken),
	};

	return unit_run(tests);
}
