// SPDX-License-Identifier: BSD-2-Clause
#include "agent/conn/rekey.h"

#include <errno.h>
#include <stdio.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "base/log.h"

static const uint64_t NS_PER_MS = 1000000;

void rekey_init(struct agent *a)
{
	struct rekey *r = &a->rekey;

	TAILQ_INIT(&r->due);
	TAILQ_INIT(&r->sent);
	TAILQ_INIT(&r->settling);
	r->next_rotation = UINT64_MAX;
}

static struct rekey_list *list_of(struct rekey *r, enum rekey_state state)
{
	switch (state) {
	case REKEY_DUE: return &r->due;
	case REKEY_SENT: return &r->sent;
	case REKEY_SETTLING: return &r->settling;
	default: return NULL;
	}
}

/* Put |c| at the end of |state|'s list, where |at| is no earlier than the others'. */
static void enter(struct agent_conn *c, enum rekey_state state, uint64_t at)
{
	struct rekey *r = &c->agent->rekey;
	struct rekey_list *from = list_of(r, c->rekey), *to = list_of(r, state);

	if (from)
		TAILQ_REMOVE(from, c, rekey_link);
	if (to)
		TAILQ_INSERT_TAIL(to, c, rekey_link);
	r->open += (to != NULL) - (from != NULL);
	c->rekey = state;
	c->rekey_at = at;
}

static void make_due(struct agent_conn *c)
{
	enter(c, REKEY_DUE, 0);
	c->agent->rekey.retry_at = 0;
}

/* One store, so that a packet sees both halves of it, or neither (falcon_rx_check_spi()). */
static void set_global(struct agent *a, uint32_t generation, bool allow_prev)
{
	union falcon_spi_check global = { .word = falcon_load(&a->plane.maps.config->spi_check) };

	global.gen = generation;
	global.allow_prev = allow_prev;
	falcon_store(&a->plane.maps.config->spi_check, global.word);
}

/*
 * Step 2 for all connections; those without keys only follow the generation. What is looked at changes
 * in calls alone, and the stores are atomic.
 */
static void begin_all(struct agent *a, uint32_t generation)
{
	for (uint32_t cid = 0; cid < a->plane.maps.nconns; cid++) {
		struct agent_conn *c = a->conns[cid];

		if (!c || !c->core)
			continue;
		if (sec_clear(&c->sec))
			falcon_store(&c->shared->id.cur_spi_gen, generation);
		else if (c->rekey == REKEY_NONE)
			make_due(c);
	}
}

int rekey_all(struct agent *a, char *err, size_t errlen)
{
	struct rekey *r = &a->rekey;
	uint32_t generation;
	int rc;

	if (r->rotating) {
		snprintf(err, errlen, "a rotation of keys is under way");
		return -EALREADY;
	}
	rc = sec_keys_rotate(a->keys);
	if (rc < 0) {
		snprintf(err, errlen, "no random numbers for a new master key");
		return rc;
	}
	generation = sec_keys_generation(a->keys);
	set_global(a, generation, true);
	r->rotating = true;
	r->started = a->now;
	if (a->config.agent.key_lifetime_ns)
		r->next_rotation = a->now + a->config.agent.key_lifetime_ns;
	begin_all(a, generation);
	log_debug("keys rotate generation=%u connections=%u", generation, r->open);
	return 0;
}

int rekey_conn(struct agent_conn *c, char *err, size_t errlen)
{
	if (sec_clear(&c->sec)) {
		snprintf(err, errlen, "connection %s is clear, it has no keys", c->cfg.name);
		return -EINVAL;
	}
	if (!c->core || c->state != AGENT_CONN_UP) {
		snprintf(err, errlen, "connection %s is not up", c->cfg.name);
		return -ENOTCONN;
	}
	if (c->rekey != REKEY_NONE) {
		snprintf(err, errlen, "the keys of connection %s are being rotated", c->cfg.name);
		return -EALREADY;
	}
	make_due(c);
	return 0;
}

static bool overtaken(const struct agent_conn *c)
{
	return c->shared->id.cur_spi_gen != sec_keys_generation(c->agent->keys);
}

void rekey_join(struct agent_conn *c)
{
	if (!sec_clear(&c->sec) && c->rekey == REKEY_NONE && overtaken(c))
		make_due(c);
}

void rekey_leave(struct agent_conn *c)
{
	enter(c, REKEY_NONE, 0);
}

void rekey_answered(struct agent_conn *c)
{
	if (c->rekey == REKEY_SENT)
		enter(c, REKEY_SETTLING, c->agent->now + c->agent->config.agent.key_settle_ns);
}

void rekey_worn(struct agent_conn *c)
{
	if (c->rekey == REKEY_NONE && c->state == AGENT_CONN_UP)
		make_due(c);
}

/* Steps 2 and 3 follow when the connection manager asks for the new key (security.c). */
static void begin_due(struct agent *a)
{
	struct rekey *r = &a->rekey;
	struct agent_conn *c;

	if (a->now < r->retry_at)
		return;
	for (int i = 0; i < REKEY_AT_ONCE && (c = TAILQ_FIRST(&r->due)); i++) {
		if (cm_rekey(a->cm, c->cfg.local_cid) == 0) {
			enter(c, REKEY_SENT, a->now + REKEY_ANSWER_MS * NS_PER_MS);
			continue;
		}
		/* Not ready, or its last rekeying is not over for the connection manager. */
		TAILQ_REMOVE(&r->due, c, rekey_link);
		TAILQ_INSERT_TAIL(&r->due, c, rekey_link);
		r->retry_at = a->now + REKEY_RETRY_US * 1000ULL;
	}
}

static void give_up(struct agent_conn *c)
{
	c->agent->rekey.keys_unanswered++;
	enter(c, REKEY_NONE, 0);
	agent_conn_fail(c, "the peer did not take a new key");
}

/* A connection that stays half set up must not hold up the rotation, which ends for all or none. */
static void give_up_stale(struct agent *a)
{
	struct rekey *r = &a->rekey;
	struct agent_conn *c;

	while ((c = TAILQ_FIRST(&r->sent)) && c->rekey_at <= a->now)
		give_up(c);
	if (!r->rotating || a->now < r->started + REKEY_ANSWER_MS * NS_PER_MS)
		return;
	while ((c = TAILQ_FIRST(&r->due)))
		give_up(c);
}

/* In a call. */
static void forget_previous(void *arg)
{
	struct agent_conn *c = arg;
	union falcon_spi_pair pair = { .word = falcon_load(&c->shared->id.spis) };

	pair.prev = pair.cur;
	falcon_store(&c->shared->id.spis, pair.word);
	sec_rx_retire(&c->sec);
	c->noted.rekey = false;
}

/* Step 4. */
static void retire(struct agent_conn *c)
{
	agent_conn_call(c, forget_previous);
	c->agent->rekey.keys_replaced++;
	enter(c, REKEY_NONE, 0);
	/* The agent's keys may have been rotated while only this connection's were. */
	if (overtaken(c))
		make_due(c);
}

/* Step 5. */
static void finish(struct agent *a)
{
	struct rekey *r = &a->rekey;

	set_global(a, sec_keys_generation(a->keys), false);
	r->rotating = false;
	r->key_rotations++;
	log_debug("keys rotated generation=%u ms=%llu", sec_keys_generation(a->keys),
		  (unsigned long long)((a->now - r->started) / NS_PER_MS));
}

static bool all_current(const struct agent *a)
{
	for (uint32_t cid = 0; cid < a->plane.maps.nconns; cid++) {
		const struct agent_conn *c = a->conns[cid];

		if (c && c->core && overtaken(c))
			return false;
	}
	return true;
}

void rekey_run(struct agent *a)
{
	struct rekey *r = &a->rekey;
	struct agent_conn *c;
	char err[128];

	if (a->now >= r->next_rotation && !r->rotating && rekey_all(a, err, sizeof(err)) < 0) {
		log_err("keys are not rotated: %s", err);
		r->next_rotation = a->now + 1000 * NS_PER_MS;
	}
	begin_due(a);
	give_up_stale(a);
	while ((c = TAILQ_FIRST(&r->settling)) && c->rekey_at <= a->now)
		retire(c);
	if (r->rotating && r->open == 0 && all_current(a))
		finish(a);
}

uint64_t rekey_deadline(const struct agent *a)
{
	const struct rekey *r = &a->rekey;
	const struct agent_conn *sent = TAILQ_FIRST(&r->sent);
	const struct agent_conn *settling = TAILQ_FIRST(&r->settling);
	uint64_t next = r->rotating ? UINT64_MAX : r->next_rotation;

	if (!TAILQ_EMPTY(&r->due))
		next = r->retry_at;
	else if (r->rotating && r->open == 0)
		next = 0;
	if (sent && sent->rekey_at < next)
		next = sent->rekey_at;
	if (settling && settling->rekey_at < next)
		next = settling->rekey_at;
	return next;
}
