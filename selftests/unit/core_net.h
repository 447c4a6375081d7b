/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two cores back to back in virtual time. The link packs and unpacks real headers and runs the
 * shared receive path (include/falcon/receive/rx.h) as XDP and the agent do; it loses, duplicates, delays
 * and reorders by a seeded sequence.
 */
#ifndef FALCON_SELFTESTS_CORE_NET_H
#define FALCON_SELFTESTS_CORE_NET_H

#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <core/core.h>
#include <falcon/receive/rx.h>

enum {
	NET_FLIGHT = 8192,	/* packets on the link at a time */
	NET_BYTES = 512,	/* longest Falcon packet */
	NET_CID_A = 3,
	NET_CID_B = 7,
};

struct net_faults {
	unsigned int loss, dup, reorder;	/* percent */
	unsigned int jitter;		/* up to so many ns; reorders closely */
	unsigned int refuse;		/* transmit() returns -EAGAIN, percent */
	unsigned int no_credit;		/* receiver answers with a resource NACK, percent */
	unsigned int swallow;		/* claimed, then lost before the agent, percent */
};

struct net_packet {
	uint64_t at, sent;	/* ns: arrival, transmission */
	uint64_t number;	/* keeps the order of those that arrive at one time */
	int to;
	uint8_t flow;
	uint32_t len;
	uint8_t bytes[NET_BYTES];
};

struct net;

struct host {
	struct net *net;
	int index;
	struct fcore *core;
	struct fcore_conn *conn;	/* NULL once closed */
	struct falcon_conn shared;
	bool dirty, swallowed;
	long frames;		/* lent to the core */
	unsigned int fatal;
	void *ulp;
};

struct net {
	uint64_t now, random;
	uint64_t sent;		/* packets put on the link */
	struct net_faults faults;
	struct host host[2];
	struct net_packet *flight;	/* unordered: the earliest is searched */
	uint32_t in_flight;
	uint64_t events[3];	/* RUE events by type */
};

static inline bool net_chance(struct net *n, unsigned int percent)
{
	return unit_random(&n->random) % 100 < percent;
}

/* Put one Falcon packet on the link towards |to|, on |flow|. */
static inline void net_put(struct net *n, int to, uint8_t flow, const void *bytes, uint32_t len)
{
	struct net_packet *p = &n->flight[n->in_flight];
	uint64_t delay = 5000 + unit_random(&n->random) % (n->faults.jitter + 1);

	assert_true(len <= NET_BYTES);
	if (net_chance(n, n->faults.loss))
		return;
	assert_true(n->in_flight < NET_FLIGHT);
	if (net_chance(n, n->faults.reorder))
		delay += unit_random(&n->random) % 40000;
	*p = (struct net_packet){ .at = n->now + delay, .sent = n->now, .number = n->sent++,
				  .to = to, .flow = flow, .len = len };
	memcpy(p->bytes, bytes, len);
	n->in_flight++;
}

static inline void net_send(struct net *n, int to, uint8_t flow, const void *bytes, uint32_t len)
{
	net_put(n, to, flow, bytes, len);
	if (net_chance(n, n->faults.dup))
		net_put(n, to, flow, bytes, len);
}

static int net_transmit(void *arg, struct fcore_conn *c, const struct fcore_packet *p)
{
	struct host *h = arg;
	uint8_t buf[NET_BYTES];
	uint32_t len = p->hdr_len;

	assert_ptr_equal(c, h->conn);
	if (net_chance(h->net, h->net->faults.refuse))
		return -EAGAIN;
	memcpy(buf, p->hdr, p->hdr_len);
	if (p->ulp_hdr_len)
		memcpy(buf + len, p->ulp_hdr, p->ulp_hdr_len);
	len += p->ulp_hdr_len;
	if (p->payload_len)
		memcpy(buf + len, p->payload, p->payload_len);
	net_send(h->net, !h->index, p->flow, buf, len + p->payload_len);
	return 0;
}

static void net_frame_put(void *arg, void *frame)
{
	struct host *h = arg;

	h->frames--;
	free(frame);
}

static void net_rue_event(void *arg, struct fcore_conn *c, const struct falcon_rue_event *e)
{
	struct host *h = arg;

	assert_int_equal(falcon_ev_get(e, connection_id) & FALCON_RUE_CID_MASK, fcore_conn_cid(c));
	h->net->events[falcon_ev_get(e, event_type) % 3]++;
}

static void net_fatal(void *arg, struct fcore_conn *c, const char *why)
{
	struct host *h = arg;

	(void)why;
	assert_ptr_equal(c, h->conn);
	h->fatal++;
}

/* The receive path's own answer on |flow|, as XDP_TX gives it; |nacked| is NULL for an ACK. */
static inline void net_answer(struct host *h, uint8_t flow, const struct falcon_hdr *nacked)
{
	uint8_t buf[FALCON_MAX_HDR_LEN];
	struct falcon_ack a;

	falcon_ack_compose(&h->shared, flow, &a);
	if (nacked) {
		a.type = FALCON_NACK;
		a.nack_code = FALCON_NACK_RESOURCE;
		a.nack_psn = nacked->psn;
		a.nack_req_window = falcon_in_req_window(nacked->type, nacked->resync_type);
	}
	net_send(h->net, !h->index, flow, buf, falcon_ack_pack(&a, buf));
}

static inline void net_receive_ack(struct host *h, const struct net_packet *p)
{
	struct falcon_ack a;

	assert_int_equal(falcon_ack_unpack(p->bytes, p->bytes + p->len, &a), FALCON_WIRE_OK);
	assert_int_equal(a.cid, h->shared.id.cid);
	switch (falcon_rx_ack(&h->shared, p->flow, &a, h->net->now)) {
	case FALCON_V_rx_nack:
		fcore_nacked(h->conn, &a, h->net->now);
		h->dirty = true;
		break;
	case FALCON_V_ack_consumed:
	case FALCON_V_nack_consumed:
		h->dirty = true;
		break;
	case FALCON_V_ack_invalid:
		fail_msg("the peer acknowledged what was never sent");
		break;
	default:
		break;
	}
}

/* A claimed packet goes to the core, in memory of exactly its size. */
static inline void net_deliver(struct host *h, const struct net_packet *p,
			       const struct falcon_hdr *hdr)
{
	uint32_t off = falcon_hdr_len(hdr->type);
	uint8_t *frame = malloc(p->len);

	if (net_chance(h->net, h->net->faults.swallow)) {
		h->swallowed = true;
		free(frame);
		return;
	}
	memcpy(frame, p->bytes, p->len);
	h->frames++;
	fcore_receive(h->conn, &(struct fcore_rx){ .hdr = *hdr,
						   .payload = frame + off,
						   .len = p->len - off,
						   .frame = frame,
						   .flow = p->flow,
						   .now = h->net->now });
}

static inline void net_receive(struct host *h, const struct net_packet *p)
{
	const struct falcon_frame f = { .ttl = FALCON_DEFAULT_TTL, .flow = p->flow,
					.iv = p->sent * FALCON_PS_PER_NS };
	const struct falcon_base_hdr *base = (const void *)p->bytes;
	struct falcon_hdr hdr;

	if (falcon_type_is_ack(falcon_wire_type(base->func_type))) {
		net_receive_ack(h, p);
		return;
	}
	assert_int_equal(falcon_hdr_unpack(p->bytes, p->bytes + p->len, &hdr), FALCON_WIRE_OK);
	assert_int_equal(hdr.cid, h->shared.id.cid);
	falcon_rx_measure(&h->shared, &f, h->net->now);
	h->dirty |= falcon_piggyback(&h->shared, hdr.rdbpsn, hdr.rrbpsn) != 0;
	if (net_chance(h->net, h->net->faults.no_credit)) {
		net_answer(h, p->flow, &hdr);
		return;
	}
	switch (falcon_rx_window(&h->shared, &hdr)) {
	case FALCON_V_rx_data:
	case FALCON_V_rx_request:
	case FALCON_V_rx_resync:
	case FALCON_V_rx_resync_dup:
		net_deliver(h, p, &hdr);
		break;
	default:
		net_answer(h, p->flow, NULL);
		break;
	}
}

/* When something happens next: a packet arrives, or a core wants to run. */
static inline uint64_t net_next(struct net *n)
{
	uint64_t next = FCORE_NEVER;

	for (uint32_t i = 0; i < n->in_flight; i++)
		next = n->flight[i].at < next ? n->flight[i].at : next;
	for (int i = 0; i < 2; i++) {
		uint64_t t = fcore_next_deadline(n->host[i].core, n->now);

		/* A core that was refused wants to run at once: some time later will do. */
		if (t <= n->now)
			t = n->now + 500;
		next = t < next ? t : next;
	}
	return next;
}

static inline bool net_before(const struct net_packet *a, const struct net_packet *b)
{
	return a->at != b->at ? a->at < b->at : a->number < b->number;
}

/* Hand over what has arrived, in the order of arrival. */
static inline void net_arrivals(struct net *n)
{
	for (;;) {
		uint32_t first = 0;
		struct net_packet p;

		for (uint32_t i = 1; i < n->in_flight; i++)
			if (net_before(&n->flight[i], &n->flight[first]))
				first = i;
		if (!n->in_flight || n->flight[first].at > n->now)
			return;
		p = n->flight[first];
		n->flight[first] = n->flight[--n->in_flight];
		if (n->host[p.to].conn)
			net_receive(&n->host[p.to], &p);
	}
}

/* Jump to the next event and let both hosts do what the agent's loop does. */
static inline void net_step(struct net *n)
{
	uint64_t next = net_next(n);

	if (next == FCORE_NEVER)
		next = n->now + 1000;
	n->now = next;
	net_arrivals(n);
	for (int i = 0; i < 2; i++) {
		struct host *h = &n->host[i];

		if (h->conn && h->dirty)
			fcore_acked(h->conn, n->now);
		h->dirty = false;
		fcore_run(h->core, n->now, 1 + (uint32_t)(unit_random(&n->random) % 64));
		if (h->conn && h->swallowed)
			fcore_release_claims(h->conn);
		h->swallowed = false;
	}
}

/* Both ends' parameters from one set: what is ours to send is the peer's to receive. */
static inline void net_open(struct net *n, const struct fcore_ops *ops, struct fcore_params p,
			    uint64_t seed)
{
	struct fcore_config cfg;

	fcore_config_default(&cfg, 4);
	memset(n, 0, sizeof(*n));
	n->random = seed * 0x9e3779b97f4a7c15ULL + 1;
	n->now = 1000000000ULL;
	n->flight = malloc(NET_FLIGHT * sizeof(*n->flight));
	for (int i = 0; i < 2; i++) {
		struct host *h = &n->host[i];

		h->net = n;
		h->index = i;
		h->core = fcore_create(ops, h, &cfg);
		h->shared.id.cid = i ? NET_CID_B : NET_CID_A;
		h->shared.id.peer_cid = i ? NET_CID_A : NET_CID_B;
		h->conn = fcore_conn_open(h->core, h->shared.id.cid, &h->shared, &p, n->now);
		assert_non_null(h->conn);
	}
}

/* Close both ends; whatever the cores hold comes back now. */
static inline void net_close(struct net *n)
{
	for (int i = 0; i < 2; i++) {
		struct host *h = &n->host[i];

		fcore_conn_close(h->conn, kCmplDeadConn);
		h->conn = NULL;
		assert_null(fcore_conn_lookup(h->core, h->shared.id.cid));
		for (int r = 0; r < FCORE_RESOURCES; r++)
			assert_int_equal(fcore_resources(h->core, FCORE_LEVEL_NIC, 0)->used[r], 0);
		assert_int_equal(h->frames, 0);
		fcore_destroy(h->core);
	}
	free(n->flight);
}

#endif /* FALCON_SELFTESTS_CORE_NET_H */
