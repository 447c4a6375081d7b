// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a transaction is: everything about it follows from the number it has at its initiator, the
 * distance of its RSN from the first, so that both ends, and the checks, know what is to come of
 * it. The parts of a message are alike but for the last one's length.
 */
#include "sim.h"

#include <string.h>

/* Of transaction |i| of |e|; |what| names the property. */
static uint64_t property(const struct endpoint *e, uint32_t i, uint32_t what)
{
	return rng_mix(rng_mix((uint64_t)e->salt << 32 | i) + what);
}

static bool chance(const struct endpoint *e, uint32_t i, uint32_t what, uint64_t ppm)
{
	return ppm && property(e, i, what) % SIM_PPM < ppm;
}

bool ulp_is_pull(const struct endpoint *e, uint32_t i)
{
	return chance(e, i / e->parts, 1, e->cfg->pull);
}

/* What the upper layer would like to send or ask for. */
static uint32_t wanted_length(const struct endpoint *e, uint32_t i)
{
	const struct sim_conn_cfg *c = e->cfg;

	if (!c->message)
		return (uint32_t)(c->size_min +
				  property(e, i, 2) % (c->size_max - c->size_min + 1));
	if (i % e->parts + 1 < e->parts)
		return (uint32_t)c->mtu;
	return (uint32_t)(c->message - (e->parts - 1) * c->mtu);
}

/* No longer than what the path carried; a response that is longer than asked for has to fit, too. */
uint32_t ulp_length(const struct endpoint *e, uint32_t i)
{
	uint32_t len = wanted_length(e, i), most = txn_of(e, i)->most;

	if (ulp_is_overlong(e, i))
		most -= most ? SIM_OVERLONG : 0;
	return most && len > most ? most : len;
}

bool ulp_is_overlong(const struct endpoint *e, uint32_t i)
{
	return chance(e, i, 3, e->cfg->overlong);
}

/* Mostly what was asked for, sometimes less, or nothing: the pull's way to fail (8.5.3.5). */
uint32_t ulp_response_len(const struct endpoint *e, uint32_t i)
{
	uint32_t len = ulp_length(e, i);

	if (ulp_is_overlong(e, i))
		return len + 1 + (uint32_t)(property(e, i, 4) % SIM_OVERLONG);
	if (chance(e, i, 9, e->cfg->brief))
		return property(e, i, 4) % 2 ? len / 2 : 0;
	return len;
}

enum fcore_push_outcome ulp_outcome(const struct endpoint *e, uint32_t i)
{
	const struct sim_conn_cfg *c = e->cfg;

	if (chance(e, i, 5, c->cie))
		return FCORE_PUSH_CIE;
	if (chance(e, i, 6, c->nre))
		return FCORE_PUSH_NRE;
	if (chance(e, i, 7, c->invalid_cid))
		return FCORE_PUSH_INVALID_CID;
	return FCORE_PUSH_ACK;
}

/* Bytes of transaction |i| of |e|, whichever way they go: 8 at a time. */
static uint64_t pattern(const struct endpoint *e, uint32_t i, uint32_t word)
{
	return (property(e, i, 8) + word) * 0x9e3779b97f4a7c15ULL;
}

void *ulp_make_bytes(const struct endpoint *e, uint32_t i, uint32_t len)
{
	uint8_t *b;

	if (!e->sim->cfg->data)
		return e->sim->blank;
	b = pool_get(&e->sim->payloads, len);
	for (uint32_t n = 0; n < len; n += 8) {
		uint64_t w = pattern(e, i, n / 8);

		memcpy(b + n, &w, len - n < 8 ? len - n : 8);
	}
	return b;
}

void ulp_put_bytes(const struct endpoint *e, void *bytes)
{
	if (bytes != e->sim->blank)
		pool_put(&e->sim->payloads, bytes);
}

bool ulp_bytes_good(const struct endpoint *e, uint32_t i, const void *bytes, uint32_t len)
{
	const uint8_t *b = bytes;

	for (uint32_t n = 0; n < len && e->sim->cfg->data; n += 8) {
		uint64_t w = pattern(e, i, n / 8);

		if (memcmp(b + n, &w, len - n < 8 ? len - n : 8))
			return false;
	}
	return true;
}
