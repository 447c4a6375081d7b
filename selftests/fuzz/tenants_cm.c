// SPDX-License-Identifier: BSD-2-Clause
/* In fuzz_tenants.c, what misbehaving applications ask of the connection manager; what a peer's says. */
#include "tenants_verbs.h"

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <string.h>

enum {
	SQUATTED = 16,			/* ids, of one of the input */
	CHOSEN = RCM_PORT_LAST - RCM_PORT_FIRST + 1,
	PORTS = 4,			/* that all use, from 1 on; more are those that are chosen */
};

struct tenants_cm tenants_cm(const struct env_host *h)
{
	const struct rcm_channel *ch;
	const struct rdma_ctx *ctx;
	const struct rcm_event *e;
	const struct rcm_id *id;
	struct tenants_cm n = { 0 };

	for (ctx = h->r->ctxs; ctx; ctx = ctx->next) {
		LIST_FOREACH(ch, &ctx->cm_channels, entry) {
			n.channels++;
			LIST_FOREACH(id, &ch->ids, in_channel)
				n.ids++;
			TAILQ_FOREACH(e, &ch->events, entry)
				n.events++;
		}
	}
	return n;
}

static struct fverbs_cm_addr an_address(void)
{
	uint32_t v = (uint32_t)number(1);
	uint16_t port = (uint16_t)number(1);
	struct fverbs_cm_addr a = { .family = v & 0x80 ? AF_INET6 : AF_INET };
	uint8_t gid[16];

	a.port = htons(v & 0x40 ? (uint16_t)(RCM_PORT_FIRST + port) : port % PORTS);
	tenant_target(gid);
	if (!(v & 0x20))
		memcpy(a.addr, gid + 12, 4);
	return a;
}

static int ask(struct tenant *t, struct fverbs_cm_req *q, void *answer, size_t len)
{
	bool fd = q->what == FVERBS_CM_OPEN_CHANNEL;

	return tenant_command(t, FVERBS_CM, q, sizeof(*q), fd, answer, len);
}

void tenant_cm(struct tenant *t)
{
	struct fverbs_cm_req q = {
		.what = (uint32_t)number(1) % 19, .id = known_pick(&t->ids),
		.channel = known_pick(&t->channels), .value = (uint32_t)number(1),
		.ps = number(1) & 1 ? RDMA_PS_UDP : RDMA_PS_TCP, .src = an_address(), .dst = an_address(),
		.param = { .qp_num = (uint32_t)number(1), .private_data_len = (uint8_t)number(1) },
	};
	uint8_t answer[sizeof(struct fverbs_cm_event)] = { 0 };
	struct fverbs_cm_answer a;
	struct fverbs_cm_event e;

	if (q.what == FVERBS_CM_GET_EVENT || q.what == FVERBS_CM_CLOSE_CHANNEL)
		q.id = q.channel;
	if (ask(t, &q, answer, sizeof(answer)))
		return;
	memcpy(&a, answer, sizeof(a));
	memcpy(&e, answer, sizeof(e));
	if (q.what == FVERBS_CM_OPEN_CHANNEL)
		known_add(&t->channels, a.id);
	else if (q.what == FVERBS_CM_CREATE_ID)
		known_add(&t->ids, a.id);
	else if (q.what == FVERBS_CM_GET_EVENT && e.type == RDMA_CM_EVENT_CONNECT_REQUEST)
		known_add(&t->ids, e.id);
}

/* One more, bound to port |port|. */
static bool squat(struct tenant *t, uint32_t channel, uint16_t port)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_CREATE_ID, .channel = channel, .ps = RDMA_PS_TCP,
				   .src = { .family = AF_INET, .port = htons(port) } };
	struct fverbs_cm_answer a;

	if (ask(t, &q, &a, sizeof(a)))
		return false;
	known_add(&t->ids, a.id);
	q.id = a.id;
	q.what = FVERBS_CM_BIND;
	ask(t, &q, &a, sizeof(a));
	return true;
}

void tenant_squat(struct tenant *t)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_OPEN_CHANNEL };
	uint32_t port = (uint32_t)(RCM_PORT_FIRST + number(2) % CHOSEN), n = (uint32_t)number(1) * SQUATTED;
	struct fverbs_cm_answer a;

	if (ask(t, &q, &a, sizeof(a)))
		return;
	known_add(&t->channels, a.id);
	while (n-- && squat(t, a.id, (uint16_t)port++))
		;
}

void tenants_note(void)
{
	struct ulp_note n = {
		.family = AF_INET, .local = { { 10, 0, 0, 1 } }, .remote = { { 10, 0, 0, 2 } },
	};
	struct rcm_msg m = {
		.type = (uint8_t)(1 + number(1) % RCM_TYPES), .src_id = (uint32_t)number(1),
		.ps = number(1) & 1 ? RDMA_PS_UDP : RDMA_PS_TCP, .src_port = (uint16_t)number(1),
		.reason = (uint16_t)number(1),
		.param = { .qp_num = (uint32_t)number(1), .private_data_len = (uint8_t)number(1) },
	};
	uint32_t v = (uint32_t)number(1);

	m.dst_port = (uint16_t)(v & 0x80 ? RCM_PORT_FIRST + v % 64 : v % PORTS);
	if (m.type != RCM_REQ && m.type != RCM_SIDR_REQ)
		m.dst_id = known_pick(&tenants[v % (TENANTS - 1)].ids);
	n.len = rcm_pack(&m, n.data);
	if (v == 0xff)
		n.data[number(1) % n.len] ^= (uint8_t)number(1);
	meter_turn("a note", true);
	rdma_ulp_ops.note(env.host[0].r, &n, "");
	meter_turn("a note", false);
}
