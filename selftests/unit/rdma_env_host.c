// SPDX-License-Identifier: BSD-2-Clause
/* The hosts of rdma_env.h: what an agent is to its core and to the RDMA layer. */
#include "rdma_env_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <falcon/abi/rdmacm.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* ---- what the agent is to the core ---- */

static struct env_conn *conn_of(struct env_host *h, struct fcore_conn *c)
{
	return &h->conns[fcore_conn_cid(c)];
}

/* Whose connection |c| is. */
static struct ulp layer_of(struct env_host *h, struct fcore_conn *c)
{
	return env_layer(h, conn_of(h, c)->other);
}

static int transmit(void *arg, struct fcore_conn *c, const struct fcore_packet *p)
{
	uint8_t buf[ENV_BYTES];
	uint32_t len = p->hdr_len;

	if (env_chance(env.faults.refuse))
		return -EAGAIN;
	memcpy(buf, p->hdr, p->hdr_len);
	if (p->ulp_hdr_len)
		memcpy(buf + len, p->ulp_hdr, p->ulp_hdr_len);
	len += p->ulp_hdr_len;
	assert_true(len + p->payload_len <= ENV_BYTES);
	if (p->payload_len)
		memcpy(buf + len, p->payload, p->payload_len);
	if (!env.hostile && !conn_of(arg, c)->other)
		env_rules_check(arg, fcore_conn_cid(c), buf, len + p->payload_len);
	if (env.tap)
		env.tap(arg, buf, len + p->payload_len);
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
	struct ulp u = layer_of(arg, c);

	assert_int_equal(proto, u.ops->proto);
	u.ops->on_push(u.self, c, rsn, payload, len, env.now);
}

static void on_pull(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn, const void *hdr,
		    uint32_t hdr_len, uint16_t request_len)
{
	struct ulp u = layer_of(arg, c);

	assert_int_equal(proto, u.ops->proto);
	u.ops->on_pull(u.self, c, rsn, hdr, hdr_len, request_len, env.now);
}

static void on_response_done(void *arg, struct fcore_conn *c, uint64_t cookie)
{
	struct ulp u = layer_of(arg, c);

	u.ops->on_response_done(u.self, c, cookie);
}

static void on_pull_data(void *arg, struct fcore_conn *c, uint64_t cookie, const void *payload,
			 uint32_t len)
{
	struct ulp u = layer_of(arg, c);
	uint8_t bytes[ENV_BYTES];

	if (!cookie)
		return;
	if (env.tamper) {
		memcpy(bytes, payload, len);
		payload = bytes;
		len = env.tamper(bytes, len);
	}
	u.ops->on_pull_data(u.self, c, cookie, payload, len);
}

static void on_completion(void *arg, struct fcore_conn *c, uint64_t cookie,
			  enum falcon_completion_code code, uint8_t ulp_code)
{
	struct ulp u = layer_of(arg, c);

	/* A transaction that a test has made itself. */
	if (!cookie)
		return;
	u.ops->on_completion(u.self, c, cookie, code, ulp_code);
}

static void on_xon(void *arg, struct fcore_conn *c)
{
	struct ulp u = layer_of(arg, c);

	u.ops->on_xon(u.self, c);
}

static bool on_rnr(void *arg, struct fcore_conn *c, uint64_t cookie, uint8_t times)
{
	struct ulp u = layer_of(arg, c);

	return cookie && u.ops->on_rnr && u.ops->on_rnr(u.self, c, cookie, times);
}

static void on_fatal(void *arg, struct fcore_conn *c, const char *why)
{
	(void)why;
	conn_of(arg, c)->hung = ((struct env_host *)arg)->hung = true;
}

static const struct fcore_ops core_ops = {
	.transmit = transmit, .frame_put = frame_put, .on_push = on_push, .on_pull = on_pull,
	.on_response_done = on_response_done, .on_pull_data = on_pull_data,
	.on_completion = on_completion, .on_xon = on_xon, .on_rnr = on_rnr, .on_fatal = on_fatal,
};

/* ---- what the agent is to the layer ---- */

uint32_t env_new_cid(struct env_host *h)
{
	for (uint32_t i = 0; i < ENV_CONNS; i++) {
		uint32_t cid = 1 + (h->ncids++ % (ENV_CONNS - 1));

		if (!h->conns[cid].core && !h->conns[cid].hung && !h->conns[cid].peer_cid)
			return cid;
	}
	return 0;
}

void env_dial_later(struct env_host *h, uint32_t cid, const struct ulp_dial *d, uint64_t at)
{
	h->conns[cid].peer_cid = UINT32_MAX;
	h->dials[h->ndials].dial = *d;
	h->dials[h->ndials].at = at;
	h->dials[h->ndials++].cid = cid;
}

static int dial(void *agent, const struct ulp_dial *d, char *err, size_t errlen)
{
	struct env_host *h = agent;
	uint32_t cid = env_new_cid(h);

	if (!cid) {
		snprintf(err, errlen, "out of CIDs");
		return -ENOSPC;
	}
	env_dial_later(h, cid, d, 0);
	return (int)cid;
}

int env_dial_other(struct env_host *h, unsigned int other, const struct ulp_dial *d, char *err,
		   size_t errlen)
{
	int cid = dial(h, d, err, errlen);

	if (cid < 0)
		return cid;
	h->conns[cid].other = other;
	h->conns[cid].redial = true;
	h->conns[cid].dial = *d;
	return cid;
}

void env_hangup_other(struct env_host *h, uint32_t cid)
{
	h->conns[cid].hung = h->hung = true;
	h->conns[cid].redial = false;
}

static void hangup(void *agent, uint32_t cid, const char *why)
{
	struct env_host *h = agent;

	(void)why;
	h->conns[cid].hung = h->hung = true;
}

static int send_note(void *agent, uint8_t proto, const struct ulp_note *note, char *err, size_t errlen)
{
	(void)agent, (void)proto;
	if (env.nnotes == ENV_NOTES) {
		snprintf(err, errlen, "too many notes wait");
		return -ENOBUFS;
	}
	env.notes[env.nnotes++] = *note;
	return 0;
}

static const struct ulp_host ulp_host = { .dial = dial, .hangup = hangup, .note = send_note };

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

/*
 * Copies of whole pieces between our memory and an application's, which ends where it ends. An agent's
 * thread may be lost in there (agent/shard/stall.h), with all that stands on its stack.
 */
static ssize_t copy(struct env_app *app, bool read, const struct iovec *local, unsigned int nlocal,
		    const struct iovec *remote, unsigned int nremote)
{
	unsigned int l = 0, r = 0;
	size_t loff = 0, roff = 0;
	ssize_t done = 0;

	assert_false(app->host->ending);
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
	if (app->full)
		return -EAGAIN;
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

static void *host_map(void *arg, int fd, uint64_t *size, char *err, size_t errlen)
{
	void *base = mmap(NULL, ENV_AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)fd, (void)err, (void)errlen;
	assert_true(base != MAP_FAILED);
	((struct env_host *)arg)->fds--;
	*size = ENV_AREA;
	return base;
}

static void host_close(void *arg, uint32_t uid, int fd)
{
	(void)uid, (void)fd;
	((struct env_host *)arg)->fds--;
}

/* All descriptors are of one file. */
static int host_file_id(void *arg, int fd, struct rdma_file_id *out)
{
	(void)arg, (void)fd;
	*out = (struct rdma_file_id){ .inode = 1 };
	return 0;
}

static int host_charge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount, char *err,
		       size_t errlen)
{
	if (!env.charge || env.charge(arg, uid, what, (int64_t)amount))
		return 0;
	snprintf(err, errlen, "that is too much");
	return -EDQUOT;
}

static void host_uncharge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount)
{
	if (env.charge)
		env.charge(arg, uid, what, -(int64_t)amount);
}

/* The one address that there is. */
static int host_source(void *arg, const struct fverbs_cm_addr *dst, struct fverbs_cm_addr *src)
{
	if (dst->family != AF_INET)
		return -ENETUNREACH;
	memcpy(src->addr, (uint8_t[4]){ 10, 0, 0, (uint8_t)(((struct env_host *)arg)->index + 1) }, 4);
	return 0;
}

static bool host_is_socket(void *arg, int fd)
{
	(void)arg, (void)fd;
	return true;
}

void env_host_open(struct env_host *h, int index)
{
	struct fcore_config cfg;
	struct rdma_host rh = {
		.ulp = &ulp_host, .agent = h, .read = host_read, .write = host_write,
		.devices = devices, .source = host_source, .send = host_send, .map = host_map,
		.unmap = host_unmap, .close = host_close, .file_id = host_file_id,
		.is_socket = host_is_socket, .charge = host_charge, .uncharge = host_uncharge,
		.boot = 0x1234 + (uint64_t)index, .arg = h,
	};

	h->index = index;
	fcore_config_default(&cfg, ENV_CONNS);
	cfg.max_len = ENV_OTHER_MAX_LEN;
	h->core = fcore_create(&core_ops, h, &cfg);
	h->r = rdma_create(&rh);
	assert_non_null(h->core);
	assert_non_null(h->r);
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
