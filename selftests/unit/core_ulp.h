/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An upper layer that checks everything: bytes, exactly-once delivery, RSN order, completion order.
 * Everything about a transaction follows from its number, so that both ends know what to expect;
 * the number is also its distance from the first RSN.
 */
#ifndef FALCON_SELFTESTS_CORE_ULP_H
#define FALCON_SELFTESTS_CORE_ULP_H

#include "core_net.h"

enum {
	ULP_TXNS = 1024,	/* at most, each direction */
	ULP_LATER = 512,	/* answers owed at a time */
	ULP_HDR = 8,
	ULP_MAX_LEN = 300,
};

struct ulp_plan {
	uint32_t txns;		/* each direction */
	unsigned int later;	/* answered after a while, percent */
	unsigned int rnr;	/* answered with receiver not ready, percent */
	unsigned int fail;	/* pushes that end in error, percent */
	bool ordered;
	uint32_t first_rsn;
};

/* An answer that the ULP owes. */
struct ulp_later {
	uint64_t at;
	uint32_t rsn;
	bool push;
	uint16_t request_len;
};

struct ulp {
	struct host *host;
	const struct ulp_plan *plan;
	uint32_t submitted, completed, accepted;
	uint32_t next_completion, next_accept;	/* expected on an ordered connection */
	bool blocked;		/* waits for on_xon() */
	long responses;		/* lent to the core */
	uint8_t done[ULP_TXNS];	/* completions of each of ours */
	uint8_t code[ULP_TXNS], ulp_code[ULP_TXNS];
	uint8_t seen[ULP_TXNS];	/* acceptances of each of the peer's */
	bool data[ULP_TXNS];	/* pull data delivered */
	void *payload[ULP_TXNS];
	struct ulp_later later[ULP_LATER];
	uint32_t owed;
};

/* What transaction |i| of host |h| is like: |salt| names the property. */
static inline uint32_t ulp_property(int h, uint32_t i, uint32_t salt)
{
	uint64_t s = ((uint64_t)i << 20 | salt << 1 | (uint32_t)h) * 0x9e3779b97f4a7c15ULL + 1;

	unit_random(&s);
	return (uint32_t)(unit_random(&s) >> 32);
}

static inline bool ulp_is_pull(int h, uint32_t i)
{
	return ulp_property(h, i, 1) % 3 == 0;
}

static inline uint32_t ulp_len(int h, uint32_t i)
{
	return ulp_property(h, i, 2) % (ULP_MAX_LEN + 1);
}

/* A response may be shorter than wanted. */
static inline uint32_t ulp_response_len(int h, uint32_t i)
{
	uint32_t len = ulp_len(h, i);

	return ulp_property(h, i, 3) % 4 ? len : len / 2;
}

static inline uint8_t ulp_byte(int h, uint32_t i, uint32_t n)
{
	return (uint8_t)(i * 31 + n * 7 + (uint32_t)h * 101 + (n >> 8));
}

static inline bool ulp_fails(const struct ulp_plan *p, int h, uint32_t i)
{
	return !ulp_is_pull(h, i) && ulp_property(h, i, 4) % 100 < p->fail;
}

/* How it fails. */
static inline enum fcore_push_outcome ulp_failure(int h, uint32_t i)
{
	return (enum fcore_push_outcome)(FCORE_PUSH_CIE + ulp_property(h, i, 5) % 3);
}

static inline enum falcon_completion_code ulp_failure_code(int h, uint32_t i)
{
	static const enum falcon_completion_code codes[] = {
		kCmplTargetNackCIE, kCmplTargetNackNRE, kCmplTargetNackCID,
	};

	return codes[ulp_failure(h, i) - FCORE_PUSH_CIE];
}

static inline void *ulp_bytes(int h, uint32_t i, uint32_t len)
{
	uint8_t *b = malloc(len + 1);

	for (uint32_t n = 0; n < len; n++)
		b[n] = ulp_byte(h, i, n);
	return b;
}

static inline void ulp_check_bytes(const uint8_t *b, int h, uint32_t i, uint32_t len)
{
	for (uint32_t n = 0; n < len; n++)
		if (b[n] != ulp_byte(h, i, n))
			fail_msg("transaction %u byte %u", i, n);
}

/* Submit until all is submitted or the core refuses. */
static inline void ulp_submit(struct ulp *u)
{
	struct host *h = u->host;

	while (u->submitted < u->plan->txns && !u->blocked) {
		uint32_t i = u->submitted, hdr[2] = { i, ~i };
		bool pull = ulp_is_pull(h->index, i);
		struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .ulp_hdr = hdr,
				       .ulp_hdr_len = ULP_HDR, .len = ulp_len(h->index, i),
				       .cookie = i };
		int rc;

		if (!pull)
			u->payload[i] = ulp_bytes(h->index, i, t.len);
		t.payload = u->payload[i];
		rc = pull ? fcore_pull(h->conn, &t, h->net->now) :
			    fcore_push(h->conn, &t, h->net->now);
		if (rc) {
			assert_int_equal(rc, -EAGAIN);
			free(u->payload[i]);
			u->payload[i] = NULL;
			u->blocked = true;
			return;
		}
		u->submitted++;
	}
}

/* The peer's transaction |rsn| was accepted: once, and in order. */
static inline void ulp_accept(struct ulp *u, uint32_t rsn)
{
	uint32_t i = rsn - u->plan->first_rsn;

	assert_true(i < u->plan->txns);
	assert_int_equal(u->seen[i]++, 0);
	u->accepted++;
	if (u->plan->ordered)
		assert_int_equal(i, u->next_accept);
	u->next_accept = i + 1;
}

/* Respond with |bytes|, the first of them as a header. That is gone when this returns: it is copied. */
static inline void ulp_respond(struct host *h, uint32_t rsn, uint8_t *bytes, uint32_t len, uint32_t i)
{
	uint32_t n = i % (FCORE_MAX_RESP_HDR + 1);
	uint8_t hdr[FCORE_MAX_RESP_HDR];
	struct fcore_response r = { .ulp_hdr = hdr, .cookie = (uintptr_t)bytes };

	r.ulp_hdr_len = n < len ? n : len;
	memcpy(hdr, bytes, r.ulp_hdr_len);
	r.payload = bytes + r.ulp_hdr_len;
	r.len = len - r.ulp_hdr_len;
	fcore_pull_respond(h->conn, rsn, &r, h->net->now);
	memset(hdr, 0xee, sizeof(hdr));
}

/* Give the answer to |l|; the peer's transaction is of the other host. */
static inline void ulp_answer(struct ulp *u, const struct ulp_later *l)
{
	struct host *h = u->host;
	uint32_t i = l->rsn - u->plan->first_rsn, len;
	uint64_t now = h->net->now;
	void *bytes;

	ulp_accept(u, l->rsn);
	if (!l->push) {
		len = ulp_response_len(!h->index, i);
		assert_int_equal(l->request_len, ulp_len(!h->index, i));
		bytes = ulp_bytes(!h->index, i, len);
		u->responses++;
		ulp_respond(h, l->rsn, bytes, len, i);
	} else if (ulp_fails(u->plan, !h->index, i)) {
		fcore_push_done(h->conn, l->rsn, ulp_failure(!h->index, i), 0, (uint8_t)i, now);
	} else {
		fcore_push_done(h->conn, l->rsn, FCORE_PUSH_ACK, 0, 0, now);
	}
}

static inline void ulp_not_ready(struct ulp *u, const struct ulp_later *l)
{
	struct host *h = u->host;
	uint8_t rnr = (uint8_t)(1 + unit_random(&h->net->random) % 12);

	if (l->push)
		fcore_push_done(h->conn, l->rsn, FCORE_PUSH_RNR, rnr, 0, h->net->now);
	else
		fcore_pull_rnr(h->conn, l->rsn, rnr, h->net->now);
}

/*
 * Deliveries end here: answer, now, later or with RNR. On an ordered connection answers stay in
 * order, and what was delivered after one that is not ready is not ready either (8.5.3.4).
 */
static inline void ulp_deliver(struct ulp *u, struct ulp_later l)
{
	struct net *n = u->host->net;

	if (net_chance(n, u->plan->later) || (u->plan->ordered && u->owed)) {
		assert_true(u->owed < ULP_LATER);
		l.at = n->now + unit_random(&n->random) % 30000;
		u->later[u->owed++] = l;
	} else if (net_chance(n, u->plan->rnr)) {
		ulp_not_ready(u, &l);
	} else {
		ulp_answer(u, &l);
	}
}

static inline void ulp_answer_later(struct ulp *u)
{
	struct net *n = u->host->net;
	uint32_t i = 0;

	while (i < u->owed) {
		struct ulp_later l = u->later[i];
		bool again = net_chance(n, u->plan->rnr);

		if (l.at > n->now) {
			i += 1;
			if (u->plan->ordered)
				return;
			continue;
		}
		u->owed--;
		memmove(&u->later[i], &u->later[i + 1], (u->owed - i) * sizeof(l));
		if (!again) {
			ulp_answer(u, &l);
			continue;
		}
		ulp_not_ready(u, &l);
		for (; u->plan->ordered && u->owed; u->owed--) {
			ulp_not_ready(u, &u->later[0]);
			memmove(&u->later[0], &u->later[1], (u->owed - 1) * sizeof(l));
		}
	}
}

static struct ulp *ulp_of(void *arg)
{
	return ((struct host *)arg)->ulp;
}

static void ulp_on_push(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn,
			const void *payload, uint32_t len)
{
	struct ulp *u = ulp_of(arg);
	int peer = !u->host->index;
	uint32_t hdr[2];

	(void)c;
	assert_int_equal(proto, FALCON_PROTO_RAW);
	assert_true(len >= ULP_HDR);
	memcpy(hdr, payload, ULP_HDR);
	assert_int_equal(hdr[0], rsn - u->plan->first_rsn);
	assert_int_equal(hdr[1], ~hdr[0]);
	assert_false(ulp_is_pull(peer, hdr[0]));
	assert_int_equal(len, ULP_HDR + ulp_len(peer, hdr[0]));
	ulp_check_bytes((const uint8_t *)payload + ULP_HDR, peer, hdr[0], len - ULP_HDR);
	ulp_deliver(u, (struct ulp_later){ .rsn = rsn, .push = true });
}

static void ulp_on_pull(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn,
			const void *hdr, uint32_t hdr_len, uint16_t request_len)
{
	struct ulp *u = ulp_of(arg);
	uint32_t h[2];

	(void)c;
	assert_int_equal(proto, FALCON_PROTO_RAW);
	assert_int_equal(hdr_len, ULP_HDR);
	memcpy(h, hdr, ULP_HDR);
	assert_int_equal(h[0], rsn - u->plan->first_rsn);
	ulp_deliver(u, (struct ulp_later){ .rsn = rsn, .request_len = request_len });
}

static void ulp_on_response_done(void *arg, struct fcore_conn *c, uint64_t cookie)
{
	(void)c;
	free((void *)(uintptr_t)cookie);
	ulp_of(arg)->responses--;
}

static void ulp_on_pull_data(void *arg, struct fcore_conn *c, uint64_t cookie,
			     const void *payload, uint32_t len)
{
	struct ulp *u = ulp_of(arg);
	uint32_t i = (uint32_t)cookie;

	(void)c;
	assert_int_equal(len, ulp_response_len(u->host->index, i));
	ulp_check_bytes(payload, u->host->index, i, len);
	assert_false(u->data[i]);
	u->data[i] = true;
}

static void ulp_on_completion(void *arg, struct fcore_conn *c, uint64_t cookie,
			      enum falcon_completion_code code, uint8_t ulp_code)
{
	struct ulp *u = ulp_of(arg);
	uint32_t i = (uint32_t)cookie;

	(void)c;
	assert_int_equal(u->done[i]++, 0);
	if (u->plan->ordered)
		assert_int_equal(i, u->next_completion);
	u->next_completion = i + 1;
	u->code[i] = (uint8_t)code;
	u->ulp_code[i] = ulp_code;
	assert_int_equal(u->data[i], ulp_is_pull(u->host->index, i) && code == kCmplAck);
	free(u->payload[i]);
	u->payload[i] = NULL;
	u->completed++;
}

static void ulp_on_xon(void *arg, struct fcore_conn *c)
{
	struct ulp *u = ulp_of(arg);

	(void)c;
	u->blocked = false;
	ulp_submit(u);
}

static const struct fcore_ops ulp_ops = {
	.transmit = net_transmit,
	.frame_put = net_frame_put,
	.rue_event = net_rue_event,
	.on_push = ulp_on_push,
	.on_pull = ulp_on_pull,
	.on_response_done = ulp_on_response_done,
	.on_pull_data = ulp_on_pull_data,
	.on_completion = ulp_on_completion,
	.on_xon = ulp_on_xon,
	.on_fatal = net_fatal,
};

#endif /* FALCON_SELFTESTS_CORE_ULP_H */
