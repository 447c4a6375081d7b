/* SPDX-License-Identifier: BSD-2-Clause */
/* Two connection managers that hear each other's notes when the test wants, and an application at each. */
#ifndef FALCON_SELFTESTS_RDMA_CM_ENV_H
#define FALCON_SELFTESTS_RDMA_CM_ENV_H

#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ulp/rdma/cm.h>

enum { NOTES = 512 };

struct side {
	struct rdma r;
	struct rdma_ctx ctx;
	struct side *peer;
	struct ulp_note out[NOTES];	/* on their way to the peer */
	unsigned int head, tail;
	unsigned int bytes, closed;	/* on channels; descriptors closed */
	bool full;			/* sockets have no room */
	struct fverbs_cm_answer answer;	/* to the last command */
	struct fverbs_cm_event event;
	uint32_t channel;
	uint32_t qpn;			/* the queue pair that there is, ... */
	enum rdma_drain_state drain;	/* ... and how far it is */
	uint64_t charged[RDMA_CHARGES];
	uint64_t max[RDMA_CHARGES];	/* that may be charged */
};

static struct side a, b;

static int send_note(void *agent, uint8_t proto, const struct ulp_note *note, char *err,
		     size_t errlen)
{
	struct side *s = agent;

	(void)proto, (void)err, (void)errlen;
	assert_true(s->tail - s->head < NOTES);
	s->out[s->tail++ % NOTES] = *note;
	return 0;
}

static int send_byte(void *arg, int fd, const void *data, size_t len)
{
	struct side *s = arg;

	(void)fd, (void)data;
	if (s->full)
		return -EAGAIN;
	s->bytes += (unsigned int)len;
	return 0;
}

static void close_fd(void *arg, uint32_t uid, int fd)
{
	(void)uid, (void)fd;
	((struct side *)arg)->closed++;
}

static int charge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount, char *err, size_t errlen)
{
	struct side *s = arg;

	(void)uid;
	assert_true(what == RDMA_CHARGE_CM_IDS || what == RDMA_CHARGE_CHANNELS);
	if (s->charged[what] + amount > s->max[what]) {
		snprintf(err, errlen, "no more");
		return -EDQUOT;
	}
	s->charged[what] += amount;
	return 0;
}

static void uncharge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount)
{
	struct side *s = arg;

	(void)uid;
	assert_true(s->charged[what] >= amount);
	s->charged[what] -= amount;
}

void rdma_devices_refresh(struct rdma *r)
{
	(void)r;
}

void rdma_qp_drain_begin(struct rdma *r, uint32_t num, struct rdma_drain *d)
{
	(void)r, (void)num;
	*d = (struct rdma_drain){};
}

enum rdma_drain_state rdma_qp_drain(struct rdma *r, uint32_t num, struct rdma_drain *d)
{
	const struct side *s = r == &a.r ? &a : &b;

	if (!s->qpn || s->qpn != num)
		return RDMA_DRAIN_DONE;
	d->ended = s->drain != RDMA_DRAIN_SENDING;
	return s->drain;
}

int rdma_call_fail(struct rdma_call *call, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(call->err, sizeof(call->err), fmt, ap);
	va_end(ap);
	return error;
}

void *rdma_call_answer(struct rdma_call *call, size_t len)
{
	call->answer_len = len;
	return call->answer;
}

static const struct ulp_host host = { .note = send_note };

static int ask(struct side *s, struct fverbs_cm_req *q)
{
	uint64_t room[64] = {};
	struct rdma_call call = { .r = &s->r, .ctx = &s->ctx, .req = q, .len = sizeof(*q), .fd = 7,
				  .answer = room };
	int rc = rdma_cm_command(&call);

	memcpy(q->what == FVERBS_CM_GET_EVENT ? (void *)&s->event : (void *)&s->answer, room,
	       q->what == FVERBS_CM_GET_EVENT ? sizeof(s->event) : sizeof(s->answer));
	if (rc < 0)
		assert_int_not_equal(call.err[0], 0);
	return rc;
}

static int ask_id(struct side *s, enum fverbs_cm_what what, uint32_t id)
{
	struct fverbs_cm_req q = { .what = what, .id = id, .channel = s->channel };

	return ask(s, &q);
}

static void side_open(struct side *s, struct side *peer, const char *ip)
{
	struct fverbs_device *d = &s->r.devices[0];

	memset(s, 0, sizeof(*s));
	s->peer = peer;
	s->r.now = 1000;
	s->r.host = (struct rdma_host){ .ulp = &host, .agent = s, .arg = s, .send = send_byte,
					.close = close_fd, .charge = charge,
					.uncharge = uncharge };
	for (int i = 0; i < RDMA_CHARGES; i++)
		s->max[i] = UINT64_MAX;
	s->r.ndevices = 1;
	d->ngids = 1;
	d->guid = 77;
	d->gids[0].raw[10] = d->gids[0].raw[11] = 0xff;
	inet_pton(AF_INET, ip, d->gids[0].raw + 12);
	s->ctx.r = &s->r;
	rdma_join(&s->r, NULL);
	assert_int_equal(rdma_cm_open(&s->r), 0);
	assert_int_equal(ask_id(s, FVERBS_CM_OPEN_CHANNEL, 0), 0);
	s->channel = s->answer.id;
}

/* One note arrives; false: there is none. */
static inline bool deliver(struct side *s)
{
	if (s->head == s->tail)
		return false;
	struct ulp_note n = s->out[s->head++ % NOTES];
	struct falcon_addr addr;

	addr = n.local;
	n.local = n.remote;
	n.remote = addr;
	rdma_cm_note(&s->peer->r, &n);
	return true;
}

static inline void settle(uint64_t now)
{
	a.r.now = b.r.now = now;
	do {
		rdma_cm_run(&a.r);
		rdma_cm_run(&b.r);
	} while (deliver(&a) | deliver(&b));
}

static struct fverbs_cm_addr address(const char *ip, uint16_t port)
{
	struct fverbs_cm_addr x = { .family = AF_INET, .port = htons(port) };

	inet_pton(AF_INET, ip, x.addr);
	return x;
}

static uint32_t make_id(struct side *s, uint64_t cookie, bool ud)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_CREATE_ID, .channel = s->channel,
				   .cookie = cookie, .ps = ud ? RDMA_PS_UDP : RDMA_PS_TCP,
				   .qp_type = ud ? IBV_QPT_UD : IBV_QPT_RC };

	assert_int_equal(ask(s, &q), 0);
	return s->answer.id;
}

static int bind_to(struct side *s, uint32_t id, const char *ip, uint16_t port)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_BIND, .id = id, .src = address(ip, port) };

	return ask(s, &q);
}

/* The next event is |type|, of cookie |cookie|. Its id. */
static uint32_t expect(struct side *s, uint32_t type, uint64_t cookie, int status)
{
	assert_int_equal(ask_id(s, FVERBS_CM_GET_EVENT, s->channel), 0);
	assert_int_equal(s->event.type, type);
	assert_int_equal(s->event.cookie, cookie);
	assert_int_equal(s->event.status, status);
	return s->event.id;
}

static void expect_none(struct side *s)
{
	assert_int_equal(ask_id(s, FVERBS_CM_GET_EVENT, s->channel), -EAGAIN);
}

static int with_param(struct side *s, enum fverbs_cm_what what, uint32_t id, uint32_t qpn,
		      const char *text)
{
	struct fverbs_cm_req q = { .what = what, .id = id, .cookie = what == FVERBS_CM_ACCEPT ? 5 : 0,
				   .param = { .qp_num = qpn, .responder_resources = 3,
					      .initiator_depth = 9, .retry_count = 6,
					      .rnr_retry_count = 7, .qkey = 0x1234567 } };

	q.param.private_data_len = (uint8_t)strlen(text);
	memcpy(q.param.private_data, text, strlen(text));
	return ask(s, &q);
}

static uint32_t listen_at(struct side *s, const char *ip, uint16_t port, bool ud)
{
	uint32_t id = make_id(s, 100, ud);

	assert_int_equal(bind_to(s, id, ip, port), 0);
	assert_int_equal(ask_id(s, FVERBS_CM_LISTEN, id), 0);
	return id;
}

/* Resolved, and asking for port |port| of the other side. */
static uint32_t dial(struct side *s, const char *from, const char *to, uint16_t port, bool ud)
{
	uint32_t id = make_id(s, 200, ud);
	struct fverbs_cm_req q = { .what = FVERBS_CM_RESOLVE_ADDR, .id = id,
				   .src = address(from, 0), .dst = address(to, port) };

	assert_int_equal(ask(s, &q), 0);
	expect(s, RDMA_CM_EVENT_ADDR_RESOLVED, 200, 0);
	assert_int_equal(with_param(s, FVERBS_CM_CONNECT, id, 11, ""), -EINVAL);
	assert_int_equal(ask_id(s, FVERBS_CM_RESOLVE_ROUTE, id), 0);
	expect(s, RDMA_CM_EVENT_ROUTE_RESOLVED, 200, 0);
	assert_int_equal(with_param(s, FVERBS_CM_CONNECT, id, 11, "hello"), 0);
	return id;
}

#endif /* FALCON_SELFTESTS_RDMA_CM_ENV_H */
