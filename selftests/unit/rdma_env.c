// SPDX-License-Identifier: BSD-2-Clause
/* The wire and the hosts of rdma_env.h. */
#include "rdma_env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct env_packet {
	uint64_t at, sent, number;
	uint32_t host, cid;		/* whom it is for */
	uint8_t flow;
	uint32_t len;
	uint8_t bytes[ENV_BYTES];
};

struct env env;
static struct env_packet flight[ENV_FLIGHT];

static bool chance(unsigned int percent)
{
	return percent && unit_random(&env.random) % 100 < percent;
}

/* ---- the wire: a heap of packets ---- */

static bool before(const struct env_packet *a, const struct env_packet *b)
{
	return a->at != b->at ? a->at < b->at : a->number < b->number;
}

static void swap(uint32_t i, uint32_t j)
{
	struct env_packet p = env.flight[i];

	env.flight[i] = env.flight[j];
	env.flight[j] = p;
}

static void put(const struct env_conn *c, uint8_t flow, const void *bytes, uint32_t len)
{
	uint64_t delay = 5000 + unit_random(&env.random) % (env.faults.jitter + 1);
	uint32_t i = env.in_flight++;
	struct env_packet *p = &env.flight[i];

	assert_true(i < ENV_FLIGHT && len <= ENV_BYTES);
	if (chance(env.faults.reorder))
		delay += unit_random(&env.random) % 40000;
	p->at = env.now + delay;
	p->sent = env.now;
	p->number = env.packets++;
	p->host = c->peer_host;
	p->cid = c->peer_cid;
	p->flow = flow;
	p->len = len;
	memcpy(p->bytes, bytes, len);
	for (; i && before(&env.flight[i], &env.flight[(i - 1) / 2]); i = (i - 1) / 2)
		swap(i, (i - 1) / 2);
}

static struct env_packet pop(void)
{
	struct env_packet first = env.flight[0];
	uint32_t i = 0, n = --env.in_flight;

	env.flight[0] = env.flight[n];
	for (;;) {
		uint32_t l = 2 * i + 1, m = i;

		if (l < n && before(&env.flight[l], &env.flight[m]))
			m = l;
		if (l + 1 < n && before(&env.flight[l + 1], &env.flight[m]))
			m = l + 1;
		if (m == i)
			return first;
		swap(i, m);
		i = m;
	}
}

static void env_send(const struct env_conn *c, uint8_t flow, const void *bytes, uint32_t len)
{
	if (!chance(env.faults.loss))
		put(c, flow, bytes, len);
	if (chance(env.faults.dup))
		put(c, flow, bytes, len);
}

/* ---- what the agent is to the core ---- */

static struct env_conn *conn_of(struct env_host *h, struct fcore_conn *c)
{
	return &h->conns[fcore_conn_cid(c)];
}

static int transmit(void *arg, struct fcore_conn *c, const struct fcore_packet *p)
{
	uint8_t buf[ENV_BYTES];
	uint32_t len = p->hdr_len;

	if (chance(env.faults.refuse))
		return -EAGAIN;
	memcpy(buf, p->hdr, p->hdr_len);
	if (p->ulp_hdr_len)
		memcpy(buf + len, p->ulp_hdr, p->ulp_hdr_len);
	len += p->ulp_hdr_len;
	assert_true(len + p->payload_len <= ENV_BYTES);
	if (p->payload_len)
		memcpy(buf + len, p->payload, p->payload_len);
	env_send(conn_of(arg, c), p->flow, buf, len + p->payload_len);
	return 0;
}

static void frame_put(void *arg, void *frame)
{
	((struct env_host *)arg)->frames--;
	free(frame);
}

static void on_push(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn,
		    const void *payload, uint32_t len)
{
	assert_int_equal(proto, FALCON_PROTO_RDMA);
	rdma_ulp_ops.on_push(((struct env_host *)arg)->r, c, rsn, payload, len, env.now);
}

static void on_pull(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn, const void *hdr,
		    uint32_t hdr_len, uint16_t request_len)
{
	assert_int_equal(proto, FALCON_PROTO_RDMA);
	rdma_ulp_ops.on_pull(((struct env_host *)arg)->r, c, rsn, hdr, hdr_len, request_len, env.now);
}

static void on_response_done(void *arg, struct fcore_conn *c, uint64_t cookie)
{
	rdma_ulp_ops.on_response_done(((struct env_host *)arg)->r, c, cookie);
}

static void on_pull_data(void *arg, struct fcore_conn *c, uint64_t cookie, const void *payload,
			 uint32_t len)
{
	uint8_t bytes[ENV_BYTES];

	if (!cookie)
		return;
	if (env.tamper) {
		memcpy(bytes, payload, len);
		payload = bytes;
		len = env.tamper(bytes, len);
	}
	rdma_ulp_ops.on_pull_data(((struct env_host *)arg)->r, c, cookie, payload, len);
}

static void on_completion(void *arg, struct fcore_conn *c, uint64_t cookie,
			  enum falcon_completion_code code, uint8_t ulp_code)
{
	/* A transaction that a test has made itself. */
	if (!cookie)
		return;
	rdma_ulp_ops.on_completion(((struct env_host *)arg)->r, c, cookie, code, ulp_code);
}

static void on_xon(void *arg, struct fcore_conn *c)
{
	rdma_ulp_ops.on_xon(((struct env_host *)arg)->r, c);
}

static void on_rnr(void *arg, struct fcore_conn *c, uint64_t cookie, uint8_t times)
{
	if (cookie)
		rdma_ulp_ops.on_rnr(((struct env_host *)arg)->r, c, cookie, times);
}

static void on_fatal(void *arg, struct fcore_conn *c, const char *why)
{
	(void)why;
	conn_of(arg, c)->hung = true;
}

static const struct fcore_ops core_ops = {
	.transmit = transmit, .frame_put = frame_put, .on_push = on_push, .on_pull = on_pull,
	.on_response_done = on_response_done, .on_pull_data = on_pull_data,
	.on_completion = on_completion, .on_xon = on_xon, .on_rnr = on_rnr, .on_fatal = on_fatal,
};

/* ---- what the agent is to the layer ---- */

static uint32_t new_cid(struct env_host *h)
{
	for (uint32_t i = 0; i < ENV_CONNS; i++) {
		uint32_t cid = 1 + (h->ncids++ % (ENV_CONNS - 1));

		if (!h->conns[cid].core && !h->conns[cid].hung && !h->conns[cid].peer_cid)
			return cid;
	}
	fail_msg("out of CIDs");
	return 0;
}

static int dial(void *agent, const struct ulp_dial *d, char *err, size_t errlen)
{
	struct env_host *h = agent;
	uint32_t cid = new_cid(h);

	(void)err, (void)errlen;
	h->conns[cid].peer_cid = UINT32_MAX;
	h->dials[h->ndials].dial = *d;
	h->dials[h->ndials++].cid = cid;
	return (int)cid;
}

static void hangup(void *agent, uint32_t cid, const char *why)
{
	struct env_host *h = agent;

	(void)why;
	h->conns[cid].hung = true;
}

static const struct ulp_host ulp_host = { .dial = dial, .hangup = hangup };

static unsigned int devices(void *arg, struct fverbs_device *out)
{
	struct env_host *h = arg;

	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "falcon0");
	out->port_state = IBV_PORT_ACTIVE;
	out->active_mtu = IBV_MTU_1024;
	out->max_msg = 1024;
	out->ngids = 1;
	out->gids[0].raw[10] = out->gids[0].raw[11] = 0xff;
	out->gids[0].raw[12] = 10;
	out->gids[0].raw[15] = (uint8_t)(h->index + 1);
	return 1;
}

/* Copies of whole pieces between our memory and an application's, which ends where it ends. */
static ssize_t copy(struct env_app *app, bool read, const struct iovec *local, unsigned int nlocal,
		    const struct iovec *remote, unsigned int nremote)
{
	unsigned int l = 0, r = 0;
	size_t loff = 0, roff = 0;
	ssize_t done = 0;

	if (app->dead)
		return -ESRCH;
	while (l < nlocal && r < nremote) {
		size_t n = local[l].iov_len - loff, m = remote[r].iov_len - roff;
		uint8_t *there = (uint8_t *)remote[r].iov_base + roff;
		uint8_t *here = (uint8_t *)local[l].iov_base + loff;

		n = n < m ? n : m;
		if (there < app->memory || there + n > app->memory + app->size)
			return done ? done : -EFAULT;
		memcpy(read ? here : there, read ? there : here, n);
		done += (ssize_t)n;
		loff += n;
		roff += n;
		if (loff == local[l].iov_len) {
			l++;
			loff = 0;
		}
		if (roff == remote[r].iov_len) {
			r++;
			roff = 0;
		}
	}
	return done;
}

static ssize_t host_read(void *arg, void *proc, const struct iovec *local, unsigned int nlocal,
			 const struct iovec *remote, unsigned int nremote)
{
	(void)arg;
	return copy(proc, true, local, nlocal, remote, nremote);
}

static ssize_t host_write(void *arg, void *proc, const struct iovec *local, unsigned int nlocal,
			  const struct iovec *remote, unsigned int nremote)
{
	(void)arg;
	return copy(proc, false, local, nlocal, remote, nremote);
}

static struct env_app *app_of_fd[64];

static int host_send(void *arg, int fd, const void *data, size_t len)
{
	struct env_app *app = app_of_fd[fd];

	(void)arg;
	if (len == sizeof(app->events[0])) {
		assert_true(app->nevents < ENV_EVENTS);
		memcpy(&app->events[app->nevents++], data, len);
	}
	return 0;
}

static void host_unmap(void *arg, void *base, uint64_t size)
{
	(void)arg;
	munmap(base, size);
}

static void host_close(void *arg, uint32_t uid, int fd)
{
	(void)arg, (void)uid, (void)fd;
}

static bool host_is_socket(void *arg, int fd)
{
	(void)arg, (void)fd;
	return true;
}

static void host_open(struct env_host *h, int index)
{
	struct fcore_config cfg;
	struct rdma_host rh = {
		.ulp = &ulp_host, .agent = h, .read = host_read, .write = host_write,
		.devices = devices, .send = host_send, .unmap = host_unmap, .close = host_close,
		.is_socket = host_is_socket, .boot = 0x1234 + (uint64_t)index, .arg = h,
	};

	h->index = index;
	fcore_config_default(&cfg, ENV_CONNS);
	cfg.max_len = ENV_MAX_LEN;
	h->core = fcore_create(&core_ops, h, &cfg);
	h->r = rdma_create(&rh);
	assert_non_null(h->core);
	assert_non_null(h->r);
}

void env_open(uint64_t seed)
{
	memset(&env, 0, sizeof(env));
	env.random = seed * 0x9e3779b97f4a7c15ULL + 1;
	env.now = 1000000000;
	env.flight = flight;
	for (int i = 0; i < ENV_HOSTS; i++)
		host_open(&env.host[i], i);
}

static void end_conn(struct env_host *h, uint32_t cid, const char *why)
{
	struct env_conn *c = &h->conns[cid];
	struct fcore_conn *core = c->core;

	rdma_ulp_ops.conn_down(h->r, cid, why);
	if (core)
		fcore_conn_close(core, kCmplDeadConn);
	rdma_ulp_ops.conn_gone(h->r, cid);
	c->core = NULL;
	c->peer_cid = 0;
	c->hung = c->dirty = false;
}

void env_close(void)
{
	for (int i = 0; i < ENV_HOSTS; i++) {
		struct env_host *h = &env.host[i];

		for (uint32_t cid = 1; cid < ENV_CONNS; cid++)
			if (h->conns[cid].core)
				end_conn(h, cid, "the test ends");
		rdma_destroy(h->r);
		assert_int_equal(h->frames, 0);
		fcore_destroy(h->core);
	}
}

/* ---- connections ---- */

static void open_conn(struct env_host *h, uint32_t cid, struct env_host *peer, uint32_t peer_cid,
		      bool ordered)
{
	struct env_conn *c = &h->conns[cid];
	struct fcore_params p;

	fcore_params_default(&p);
	p.ordered = ordered;
	p.rto_ns = 100000;
	memset(&c->shared, 0, sizeof(c->shared));
	c->shared.id.cid = cid;
	c->shared.id.peer_cid = peer_cid;
	c->peer_host = (uint32_t)peer->index;
	c->peer_cid = peer_cid;
	c->hung = c->dirty = false;
	c->core = fcore_conn_open(h->core, cid, &c->shared, &p, env.now);
	assert_non_null(c->core);
}

static void come_up(struct env_host *h, uint32_t cid, const struct ulp_ends *ends,
		    const struct ulp_data *data)
{
	const struct ulp_conn up = { .core = h->conns[cid].core, .cid = cid, .max_len = ENV_MAX_LEN,
				     .ends = *ends, .data = *data };

	assert_int_equal(rdma_ulp_ops.conn_up(h->r, &up), 0);
}

static void answer_dial(struct env_host *h, const struct ulp_dial *d, uint32_t cid)
{
	struct env_host *peer = &env.host[d->ends.remote[3] - 1];
	struct ulp_request req = { .ends = d->ends, .peer = "", .data = d->data };
	struct ulp_data reply = { 0 };
	char err[256] = "";

	if (h->conns[cid].hung) {
		end_conn(h, cid, "hung up");
		return;
	}
	if (h->deaf) {
		rdma_ulp_ops.refused(h->r, cid, "nobody there");
		return;
	}
	memcpy(req.ends.local, d->ends.remote, 16);
	memcpy(req.ends.remote, d->ends.local, 16);
	req.cid = new_cid(peer);
	peer->conns[req.cid].peer_cid = UINT32_MAX;
	if (rdma_ulp_ops.accept(peer->r, &req, &reply, err, sizeof(err))) {
		peer->conns[req.cid].peer_cid = 0;
		rdma_ulp_ops.refused(h->r, cid, err);
		return;
	}
	open_conn(h, cid, peer, req.cid, d->ends.ordered);
	open_conn(peer, req.cid, h, cid, d->ends.ordered);
	come_up(peer, req.cid, &req.ends, &d->data);
	come_up(h, cid, &d->ends, &reply);
}

static void serve_dials(struct env_host *h)
{
	while (h->ndials) {
		struct ulp_dial d = h->dials[0].dial;
		uint32_t cid = h->dials[0].cid;

		memmove(&h->dials[0], &h->dials[1], --h->ndials * sizeof(h->dials[0]));
		answer_dial(h, &d, cid);
	}
}

/* Who hangs up ends the other end, too; both have had a round to send what they owed. */
static void serve_hangups(struct env_host *h)
{
	for (uint32_t cid = 1; cid < ENV_CONNS; cid++) {
		struct env_conn *c = &h->conns[cid];
		struct env_host *peer = &env.host[c->peer_host];
		uint32_t other = c->peer_cid;

		if (!c->hung || other == UINT32_MAX)
			continue;
		if (c->core && peer->conns[other].core)
			peer->conns[other].hung = true;
		end_conn(h, cid, "hung up");
	}
}

/* ---- packets ---- */

static void answer(struct env_conn *c, uint8_t flow)
{
	uint8_t buf[FALCON_MAX_HDR_LEN];
	struct falcon_ack a;

	falcon_ack_compose(&c->shared, flow, &a);
	env_send(c, flow, buf, falcon_ack_pack(&a, buf));
}

static void receive_ack(struct env_conn *c, const struct env_packet *p)
{
	struct falcon_ack a;

	assert_int_equal(falcon_ack_unpack(p->bytes, p->bytes + p->len, &a), FALCON_WIRE_OK);
	switch (falcon_rx_ack(&c->shared, p->flow, &a, env.now)) {
	case FALCON_V_rx_nack:
		fcore_nacked(c->core, &a, env.now);
		c->dirty = true;
		break;
	case FALCON_V_ack_consumed:
	case FALCON_V_nack_consumed:
		c->dirty = true;
		break;
	default:
		break;
	}
}

static void deliver(struct env_host *h, struct env_conn *c, const struct env_packet *p,
		    const struct falcon_hdr *hdr)
{
	uint32_t off = falcon_hdr_len(hdr->type);
	uint8_t *frame = malloc(p->len);

	memcpy(frame, p->bytes, p->len);
	h->frames++;
	fcore_receive(c->core, &(struct fcore_rx){ .hdr = *hdr, .payload = frame + off,
						   .len = p->len - off, .frame = frame,
						   .flow = p->flow, .now = env.now });
}

static void receive(const struct env_packet *p)
{
	struct env_host *h = &env.host[p->host];
	struct env_conn *c = &h->conns[p->cid];
	const struct falcon_base_hdr *base = (const void *)p->bytes;
	struct falcon_hdr hdr;

	if (!c->core)
		return;
	if (falcon_type_is_ack(falcon_wire_type(base->func_type))) {
		receive_ack(c, p);
		return;
	}
	assert_int_equal(falcon_hdr_unpack(p->bytes, p->bytes + p->len, &hdr), FALCON_WIRE_OK);
	/* Of a connection that had this CID before. */
	if (hdr.cid != c->shared.id.cid)
		return;
	c->dirty |= falcon_piggyback(&c->shared, hdr.rdbpsn, hdr.rrbpsn) != 0;
	switch (falcon_rx_window(&c->shared, &hdr)) {
	case FALCON_V_rx_data:
	case FALCON_V_rx_request:
	case FALCON_V_rx_resync:
	case FALCON_V_rx_resync_dup:
		deliver(h, c, p, &hdr);
		break;
	default:
		answer(c, p->flow);
		break;
	}
}

/* ---- time ---- */

static uint64_t next_event(void)
{
	uint64_t next = env.in_flight ? env.flight[0].at : env.now + 1000000;

	for (int i = 0; i < ENV_HOSTS; i++) {
		uint64_t t = fcore_next_deadline(env.host[i].core, env.now);
		uint64_t u = rdma_ulp_ops.deadline(env.host[i].r);

		t = u < t ? u : t;
		t = t <= env.now ? env.now + 500 : t;
		next = t < next ? t : next;
	}
	return next;
}

static void host_round(struct env_host *h)
{
	for (uint32_t cid = 1; cid < ENV_CONNS; cid++) {
		struct env_conn *c = &h->conns[cid];

		if (c->core && c->dirty)
			fcore_acked(c->core, env.now);
		c->dirty = false;
	}
	rdma_ulp_ops.pump(h->r, env.now);
	fcore_run(h->core, env.now, 64);
}

void env_step(void)
{
	env.now = next_event();
	while (env.in_flight && env.flight[0].at <= env.now) {
		struct env_packet p = pop();

		receive(&p);
	}
	for (int i = 0; i < ENV_HOSTS; i++)
		host_round(&env.host[i]);
	for (int i = 0; i < ENV_HOSTS; i++) {
		serve_dials(&env.host[i]);
		serve_hangups(&env.host[i]);
	}
}

void env_steps(unsigned int n)
{
	while (n--)
		env_step();
}

bool env_run(bool (*done)(void *arg), void *arg, unsigned int limit)
{
	while (!done(arg)) {
		if (!limit--)
			return false;
		env_step();
	}
	return true;
}





int env_fd_of(struct env_app *app)
{
	for (int fd = 1; fd < (int)ARRAY_SIZE(app_of_fd); fd++) {
		if (app_of_fd[fd] && app_of_fd[fd] != app)
			continue;
		app_of_fd[fd] = app;
		return fd;
	}
	fail_msg("too many applications");
	return -1;
}
