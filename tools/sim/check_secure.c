// SPDX-License-Identifier: BSD-2-Clause
/*
 * Keys (6.5, 9.2.2): none is given out or used twice, nor a nonce; a packet is sealed with a key that its
 * receiver accepts, and accepted under no other than the current one and, for a while, the one before; what
 * is as it should be is not refused. A key is known here by a number that follows from its bytes.
 */
#include "check.h"

#include <falcon/wire/esp.h>

#include <stdlib.h>
#include <string.h>

static void remember(struct sim *s, uint64_t key)
{
	if (s->nkeys % 64 == 0)
		s->keys = realloc(s->keys, (s->nkeys + 64) * sizeof(*s->keys));
	if (!s->keys)
		abort();
	s->keys[s->nkeys++] = key;
}

uint64_t check_key_made(struct endpoint *e, const uint8_t *bytes, uint32_t len)
{
	struct key_use *k = &e->keys;
	uint64_t key = len;

	for (uint32_t i = 0; i < len; i++)
		key = rng_mix(key << 8 ^ key >> 56 ^ bytes[i]);
	for (uint32_t i = 0; i < e->sim->nkeys; i++)
		if (e->sim->keys[i] == key)
			sim_fail(e->sim, e, "a key is given out twice");
	remember(e->sim, key);
	k->before = k->accepts;
	k->accepts = key;
	k->accepted = 0;
	k->until = FCORE_NEVER;
	return key;
}

bool check_key_taken(struct endpoint *e, uint64_t key)
{
	struct key_use *k = &e->keys;

	if (k->seals == key)
		return false;
	k->seals = key;
	k->sealed = 0;
	return true;
}

void check_key_answered(struct endpoint *e)
{
	e->keys.until = host_now(e->host) + e->host->cfg->key_settle;
}

void check_keys(struct endpoint *e, bool two)
{
	struct key_use *k = &e->keys;

	if (k->until <= host_now(e->host)) {
		k->before = 0;
		k->until = FCORE_NEVER;
	}
	if (two != (k->before != 0))
		sim_fail(e->sim, e, "%s the key before the current one", two ? "still has" : "has forgotten");
}

void check_worn(struct endpoint *e, int err)
{
	if (err != SA_ERR_EXHAUSTED || !e->cfg->key_left || e->keys.sealed != e->cfg->key_left)
		sim_fail(e->sim, e, "cannot seal: %s, after %llu packets", sa_strerror(err),
			 (unsigned long long)e->keys.sealed);
}

void check_sealed(struct endpoint *e, struct frame *f)
{
	const struct key_use *peer = &e->peer->keys;
	struct key_use *k = &e->keys;

	f->key = k->seals;
	if (k->sealed && (int64_t)(f->iv - k->last_iv) <= 0)
		sim_fail(e->sim, e, "IV %llu after %llu under one key", (unsigned long long)f->iv,
			 (unsigned long long)k->last_iv);
	k->last_iv = f->iv;
	k->sealed++;
	if (e->cfg->key_left && k->sealed > e->cfg->key_left)
		sim_fail(e->sim, e, "a key seals %llu packets", (unsigned long long)k->sealed);
	if (e->peer->core && e->peer->incarnation == e->incarnation && k->seals != peer->accepts &&
	    k->seals != peer->before)
		sim_fail(e->sim, e, "seals with a key that its peer does not accept");
}

/* Verdict |v| is that a packet's encapsulation is not as it should be. */
static bool is_refusal(enum falcon_verdict v)
{
	return v == FALCON_V_drop_spi || v == FALCON_V_drop_auth || v == FALCON_V_drop_esp ||
	       v == FALCON_V_drop_inner || v == FALCON_V_drop_pcid || v == FALCON_V_pass_spi ||
	       v == FALCON_V_drop_psp_version || v == FALCON_V_drop_psp;
}

static bool is_accepted(enum falcon_verdict v)
{
	return falcon_verdict_delivers(v) || falcon_verdict_answers(v) || v == FALCON_V_ack_consumed ||
	       v == FALCON_V_nack_consumed || falcon_verdict_executed(v);
}

/* Newer than all that |k| has accepted. */
static bool is_newest(const struct key_use *k, const struct frame *f)
{
	return !k->heard || (int64_t)(f->iv - k->latest) > 0;
}

/* |f|, which is as it was sent to |e|, is refused with |v|. */
static void check_refused(const struct endpoint *e, const struct frame *f, bool current,
			  enum falcon_verdict v)
{
	if (secure_wanted(e->cfg) && current && is_refusal(v))
		sim_fail(e->sim, e, "a good packet was refused (verdict %d)", v);
	if (v == FALCON_V_drop_replay && is_newest(&e->keys, f))
		sim_fail(e->sim, e, "a new packet was taken for an old one");
}

/* |e| has accepted |f|, which was sealed with its current key or the one before, if |current|. */
static void check_accepted_sealed(struct endpoint *e, const struct frame *f, bool current)
{
	struct key_use *k = &e->keys;

	if (!current)
		sim_fail(e->sim, e, "a packet was accepted under a key that is over, or not there yet");
	k->accepted += f->key == k->accepts;
	if (k->accepted > e->host->cfg->key_packets && e->core && !secure_replaces(e))
		sim_fail(e->sim, e, "a key is not replaced after %llu packets",
			 (unsigned long long)k->accepted);
}

void check_opened(struct endpoint *e, const struct frame *f, enum falcon_verdict v)
{
	struct endpoint *to = f->from->peer;
	struct key_use *k = &to->keys;
	bool current = f->key == k->accepts || (k->before && f->key == k->before);

	if (!to->sim->cfg->checks || v == FALCON_V_steered)
		return;
	if (!f->corrupt && to->core)
		check_refused(to, f, current, v);
	if (!e || !is_accepted(v))
		return;
	if (e != to)
		sim_fail(e->sim, e, "a packet of another connection was accepted (verdict %d)", v);
	if (secure_wanted(e->cfg))
		check_accepted_sealed(e, f, current);
	if (k->heard && (int64_t)(f->iv - (k->latest - to->host->config.replay_margin)) <= 0)
		sim_fail(e->sim, e, "accepted, and %llu ps older than the latest (verdict %d)",
			 (unsigned long long)(k->latest - f->iv), v);
	if (is_newest(k, f))
		k->latest = f->iv;
	k->heard = true;
}
