// SPDX-License-Identifier: BSD-2-Clause
#include "fake_core.h"

#include <errno.h>
#include <string.h>

void fake_join(struct fcore_conn *a, struct raw_ulp *ulp_a, struct fcore_conn *b,
	       struct raw_ulp *ulp_b, uint32_t cid)
{
	memset(a, 0, sizeof(*a));
	memset(b, 0, sizeof(*b));
	a->ulp = ulp_a;
	b->ulp = ulp_b;
	a->peer = b;
	b->peer = a;
	a->cid = b->cid = cid;
	a->limit = b->limit = FCORE_MAX_TXNS;
}

uint32_t fcore_conn_cid(const struct fcore_conn *c)
{
	return c->cid;
}

static int start(struct fcore_conn *c, const struct fcore_txn *t, bool pull)
{
	struct fake_txn *txn = &c->txns[c->count];

	if (c->ends_at_once) {
		raw_on_completion(c->ulp, c, t->cookie, c->ends_at_once, 0);
		return 0;
	}
	if (c->count >= c->limit) {
		c->refused = true;
		return -EAGAIN;
	}
	c->count++;
	txn->pull = pull;
	txn->rsn = c->next_rsn++;
	txn->cookie = t->cookie;
	txn->hdr_len = t->ulp_hdr_len;
	memcpy(txn->hdr, t->ulp_hdr, t->ulp_hdr_len);
	txn->payload = t->payload;
	txn->len = t->len;
	txn->not_before = 0;
	return 0;
}

int fcore_push(struct fcore_conn *c, const struct fcore_txn *t, uint64_t now)
{
	(void)now;
	return start(c, t, false);
}

int fcore_pull(struct fcore_conn *c, const struct fcore_txn *t, uint64_t now)
{
	(void)now;
	return start(c, t, true);
}

void fcore_push_done(struct fcore_conn *c, uint32_t rsn, enum fcore_push_outcome outcome,
		     uint8_t rnr, uint8_t ulp_code, uint64_t now)
{
	(void)rsn;
	(void)now;
	c->answered = true;
	c->outcome = outcome;
	c->rnr = rnr;
	c->ulp_code = ulp_code;
}

void fcore_pull_respond(struct fcore_conn *c, uint32_t rsn, const struct fcore_response *resp,
			uint64_t now)
{
	(void)rsn;
	(void)now;
	c->answered = true;
	c->response = resp->payload;
	c->response_len = resp->len;
	c->response_cookie = resp->cookie;
}

static void complete(struct fcore_conn *c, uint32_t i, enum falcon_completion_code code,
		     uint8_t ulp_code)
{
	uint64_t cookie = c->txns[i].cookie;

	c->count--;
	memmove(&c->txns[i], &c->txns[i + 1], (c->count - i) * sizeof(c->txns[0]));
	raw_on_completion(c->ulp, c, cookie, code, ulp_code);
	if (c->refused) {
		c->refused = false;
		raw_on_xon(c->ulp, c);
	}
}

/* Returns false if the transaction has to wait. */
static bool run_push(struct fcore_conn *c, uint32_t i, uint64_t now)
{
	uint8_t packet[FCORE_MAX_ULP_HDR + 65536];
	struct fake_txn *t = &c->txns[i];

	memcpy(packet, t->hdr, t->hdr_len);
	if (t->len)
		memcpy(packet + t->hdr_len, t->payload, t->len);
	c->peer->answered = false;
	raw_on_push(c->peer->ulp, c->peer, t->rsn, packet, t->hdr_len + t->len, now);
	if (c->peer->outcome == FCORE_PUSH_RNR) {
		t->not_before = now + falcon_rnr_timeout_ns(c->peer->rnr);
		return false;
	}
	complete(c, i, c->peer->outcome == FCORE_PUSH_ACK ? kCmplAck : kCmplTargetNackCIE,
		 c->peer->ulp_code);
	return true;
}

static void run_pull(struct fcore_conn *c, uint32_t i, uint64_t now)
{
	struct fake_txn *t = &c->txns[i];
	struct fcore_conn *p = c->peer;

	p->answered = false;
	raw_on_pull(p->ulp, p, t->rsn, t->hdr, t->hdr_len, (uint16_t)t->len, now);
	raw_on_pull_data(c->ulp, c, t->cookie, p->response, p->response_len);
	if (p->hold_responses)
		p->held[p->held_count++] = p->response_cookie;
	else
		raw_on_response_done(p->ulp, p, p->response_cookie);
	complete(c, i, p->response_len ? kCmplAck : kCmplTargetNackCIE, 0);
}

uint32_t fake_run(struct fcore_conn *c, uint64_t now, uint32_t budget)
{
	uint32_t n = 0;

	while (n < budget && c->count && !c->stalled) {
		uint32_t i = c->unordered ? c->count - 1 : 0;

		if (c->txns[i].not_before > now)
			break;
		if (c->txns[i].pull)
			run_pull(c, i, now);
		else if (!run_push(c, i, now))
			break;
		n++;
	}
	return n;
}

void fake_close(struct fcore_conn *c, enum falcon_completion_code code)
{
	while (c->count)
		complete(c, 0, code, 0);
}

void fake_release(struct fcore_conn *c)
{
	while (c->held_count)
		raw_on_response_done(c->ulp, c, c->held[--c->held_count]);
}
