// SPDX-License-Identifier: BSD-2-Clause
/*
 * RDMA's connection manager, between applications that ask what they like and a host that says what
 * it likes: commands, notes and time in any order.
 *
 * The input is a sequence of steps:
 *
 *   u8 what     0: 10 ms to 2.5 s pass; 1: sockets get full or free; 2: an application dies, another
 *               comes; 3 to 9: a note; from 10 on: a command
 *   u8 a, b, c  what it is about: the command, or the message's type; which id; ports and the rest
 *
 * Ids are those that the agent has given, and now and then others; the peer's notes name them as it
 * has learnt them from what was sent. In the end nothing is left of anybody: no id, no descriptor.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ulp/rdma/cm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	STEPS = 400,		/* of an input */
	APPS = 2,
	KNOWN = 16,		/* numbers that were given, the latest */
	CHARGE_MAX = 64,	/* ids, and channels, that the applications may have */
};

static struct {
	struct rdma r;
	struct rdma_ctx apps[APPS];
	uint32_t ids[KNOWN], channels[KNOWN];
	uint32_t nids, nchannels;
	struct rcm_msg heard;	/* by the peer, last */
	unsigned int opened, closed;
	uint64_t charged[RDMA_CHARGES];
	bool full;
} t;

void rdma_devices_refresh(struct rdma *r)
{
	(void)r;
}

void rdma_qp_drain_begin(struct rdma *r, uint32_t num, struct rdma_drain *d)
{
	(void)r, (void)num;
	*d = (struct rdma_drain){};
}

/* Queue pairs are through, or will never be. */
enum rdma_drain_state rdma_qp_drain(struct rdma *r, uint32_t num, struct rdma_drain *d)
{
	(void)r;
	d->ended = num % 3 != RDMA_DRAIN_SENDING;
	return num % 3;
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
	CHECK(len <= call->answer_max);
	call->answer_len = len;
	return call->answer;
}

/* What is sent is a message, and of a size that can be sent. */
static int send_note(void *agent, uint8_t proto, const struct ulp_note *note, char *err,
		     size_t errlen)
{
	(void)agent, (void)err, (void)errlen;
	CHECK(proto == FALCON_PROTO_RDMA && note->len <= ULP_NOTE_MAX);
	CHECK(rcm_unpack(note->data, note->len, &t.heard));
	return t.full ? -ENOBUFS : 0;
}

static int send_byte(void *arg, int fd, const void *data, size_t len)
{
	(void)arg, (void)fd, (void)data;
	CHECK(len == 1);
	return t.full ? -EAGAIN : 0;
}

static void close_fd(void *arg, uint32_t uid, int fd)
{
	(void)arg, (void)uid, (void)fd;
	t.closed++;
}

static const struct ulp_host host = { .note = send_note };

static int charge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount, char *err, size_t errlen)
{
	(void)arg, (void)uid;
	snprintf(err, errlen, "no more");
	if (t.charged[what] + amount > CHARGE_MAX)
		return -EDQUOT;
	t.charged[what] += amount;
	return 0;
}

static void uncharge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount)
{
	(void)arg, (void)uid;
	CHECK(t.charged[what] >= amount);
	t.charged[what] -= amount;
}

static void start(void)
{
	memset(&t, 0, sizeof(t));
	t.r.now = 1000;
	t.r.host = (struct rdma_host){ .ulp = &host, .send = send_byte, .close = close_fd,
				       .charge = charge, .uncharge = uncharge };
	t.r.ndevices = 1;
	t.r.devices[0].ngids = 1;
	t.r.devices[0].guid = 5;
	memcpy(t.r.devices[0].gids[0].raw + 10, "\xff\xff\x0a\x00\x00\x01", 6);
	for (int i = 0; i < APPS; i++)
		t.apps[i].r = &t.r;
	rdma_join(&t.r, NULL);
	CHECK(rdma_cm_open(&t.r) == 0);
}

static void set_addr(struct fverbs_cm_addr *a, uint8_t c)
{
	*a = (struct fverbs_cm_addr){ .family = c & 0x80 ? AF_INET6 : AF_INET,
				      .port = htons((uint16_t)(c & 3)) };
	if (c & 4)
		memcpy(a->addr, "\x0a\x00\x00\x01", 4);
	if (c & 8)
		a->addr[3] ^= 3;
}

static uint32_t pick(const uint32_t *list, uint32_t n, uint8_t c)
{
	return n && c < 0xf0 ? list[(n - 1 - c % (n < KNOWN ? n : KNOWN)) % KNOWN] : c;
}

static void command(const uint8_t *in)
{
	uint64_t room[FVERBS_MSG_MAX / 8] = {};
	struct fverbs_cm_req q = {
		.what = in[1] % 19,
		.id = pick(t.ids, t.nids, in[2]),
		.channel = pick(t.channels, t.nchannels, in[3]),
		.value = in[3],
		.cookie = in[2],
		.ps = in[3] & 1 ? RDMA_PS_UDP : RDMA_PS_TCP,
		.param = { .qp_num = in[3], .private_data_len = in[3] },
	};
	struct rdma_call call = {
		.r = &t.r, .ctx = &t.apps[in[0] % APPS], .req = &q, .len = sizeof(q), .fd = -1,
		.answer = room, .answer_max = FVERBS_MSG_MAX - sizeof(struct fverbs_reply),
	};
	const struct fverbs_cm_answer *a = (const void *)room;
	const struct fverbs_cm_event *e = (const void *)room;

	set_addr(&q.src, in[3]);
	set_addr(&q.dst, (uint8_t)(in[3] >> 1));
	if (q.what == FVERBS_CM_OPEN_CHANNEL) {
		call.fd = 3;
		t.opened++;
	}
	if (q.what == FVERBS_CM_GET_EVENT || q.what == FVERBS_CM_CLOSE_CHANNEL)
		q.id = q.channel;
	if (rdma_cm_command(&call) < 0)
		CHECK(call.err[0]);
	else if (q.what == FVERBS_CM_OPEN_CHANNEL)
		t.channels[t.nchannels++ % KNOWN] = a->id;
	else if (q.what == FVERBS_CM_CREATE_ID)
		t.ids[t.nids++ % KNOWN] = a->id;
	else if (q.what == FVERBS_CM_GET_EVENT && e->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		t.ids[t.nids++ % KNOWN] = e->id;
	if (call.fd >= 0)
		t.closed++;
}

static void note(const uint8_t *in)
{
	struct ulp_note n = { .family = AF_INET };
	struct rcm_msg m = {
		.type = (uint8_t)(1 + in[1] % RCM_TYPES),
		.src_id = in[2],
		.ps = in[3] & 1 ? RDMA_PS_UDP : RDMA_PS_TCP,
		.src_port = in[3] >> 5,
		.dst_port = in[3] >> 1 & 3,
		.reason = in[3] >> 7,
		.param = { .qp_num = in[2], .private_data_len = in[3] },
	};

	memcpy(&n.local, "\x0a\x00\x00\x01", 4);
	memcpy(&n.remote, in[0] & 1 ? "\x0a\x00\x00\x02" : "\x0a\x00\x00\x01", 4);
	if (m.type != RCM_REQ && m.type != RCM_SIDR_REQ)
		m.dst_id = in[2] & 1 ? t.heard.src_id : pick(t.ids, t.nids, in[2]);
	if (in[2] & 2)
		m.src_id = t.heard.dst_id;
	n.len = rcm_pack(&m, n.data);
	if (in[0] == 9)
		n.data[in[2] % n.len] ^= in[3];
	/* Alone in its group, it is what any message that is not for a number of another's is for. */
	if (rdma_cm_note_for(&t.r, &n, false) < 0)
		CHECK(rdma_cm_note_for(&t.r, &n, true) == 0);
	rdma_cm_note(&t.r, &n);
}

static void step(const uint8_t *in)
{
	if (in[0] >= 10)
		command(in);
	else if (in[0] >= 3)
		note(in);
	else if (in[0] == 2)
		rdma_cm_ctx_gone(&t.apps[in[1] % APPS]);
	else if (in[0] == 1)
		t.full = in[1] & 1;
	else
		t.r.now += (1 + in[1] % 250) * 10000000ULL;
	rdma_cm_run(&t.r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	start();
	for (size_t i = 0; i + 4 <= size && i < STEPS * 4; i += 4)
		step(data + i);
	for (int i = 0; i < APPS; i++)
		rdma_cm_ctx_gone(&t.apps[i]);
	CHECK(LIST_EMPTY(&t.r.cm->timed) && LIST_EMPTY(&t.r.cm->owing));
	for (uint32_t port = 0; port < RCM_PORTS; port++)
		CHECK(LIST_EMPTY(&t.r.cm->by_port[port]));
	CHECK(t.opened == t.closed);
	for (int i = 0; i < RDMA_CHARGES; i++)
		CHECK(!t.charged[i]);
	rdma_cm_close(&t.r);
	return 0;
}
