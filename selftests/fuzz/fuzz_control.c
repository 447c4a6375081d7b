// SPDX-License-Identifier: BSD-2-Clause
/*
 * The control socket as a hostile local user sees it: messages with descriptors, through the
 * socket's server, the requests' handlers and the tables they show, to the raw layer that
 * applications attach to. The kernel's maps, sockets and the life of connections are stubs.
 *
 * The input is a sequence of messages:
 *
 *   u8 how      bits 0-2: descriptors; 3: padded beyond what a message may have; 4: do not take
 *               the reply; 5: on a new connection from here on; 6, 7: the memory passed is not
 *               sealed, its rings are nonsense
 *   u16 kinds   two bits a descriptor: memory of an application, eventfd, stream socket, /dev/null
 *   u16 len     bytes of text, which follow
 *
 * Every message but an empty one has one reply, an object with "ok", and on failure the name of an
 * error and a sentence; what is too long for a message is in a memfd of the size told. A connection
 * that "conn-add" makes is one that the agent may have, and survives being shown and read again.
 * When the clients have gone, so has every descriptor and attached application.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../unit/loop/app.h"
#include "../unit/loop/fake_core.h"
#include "agent/agent.h"
#include "agent/commands.h"
#include "agent/config_keys.h"
#include "agent/drop.h"
#include "base/log.h"
#include "agent/nvme.h"
#include "agent/rdma.h"
#include "agent/rdma_show.h"
#include "agent/rue.h"
#include "check.h"
#include "core/xlr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	CONNS = 8,
	FDS = 8,
	MESSAGES = 64,		/* of an input */
	WATCHES = 64,
	ARENA = 4096,
};

static struct agent agent;
static struct fcore_conn cores[CONNS];
static char dir[] = "/tmp/fuzz_control.XXXXXX", path[64];
static bool watched[FDS_WATCHED];

/* The rest of the agent. */

int shard_watch(struct shard *s, int fd)
{
	CHECK(s == &agent.shards[0] && fd >= 0 && fd < FDS_WATCHED && !watched[fd]);
	watched[fd] = true;
	return 0;
}

void shard_unwatch(struct shard *s, int fd)
{
	CHECK(s == &agent.shards[0] && fd >= 0 && fd < FDS_WATCHED && watched[fd]);
	watched[fd] = false;
}

int maps_counters(const struct maps *m, struct falcon_counters *out)
{
	CHECK(m == &agent.maps);
	memset(out, 0x5a, sizeof(*out));
	return 0;
}

int maps_sadb_add(struct maps *m, uint32_t spi, uint32_t cid)
{
	(void)m, (void)spi, (void)cid;
	abort();
}

void maps_sadb_del(struct maps *m, uint32_t spi)
{
	(void)m, (void)spi;
	abort();
}

void fcore_params_default(struct fcore_params *p)
{
	*p = (struct fcore_params){ .ordered = true };
}

const struct fcore_stats *fcore_conn_stats(const struct fcore_conn *c)
{
	static const struct fcore_stats stats = { .rtt_ns = UINT64_MAX };

	CHECK(c >= cores && c < cores + CONNS);
	return &stats;
}

uint32_t fcore_conn_flow(const struct fcore_conn *c, uint32_t flow, struct fcore_flow_stats *s)
{
	CHECK(c >= cores && c < cores + CONNS && flow == 0);
	*s = (struct fcore_flow_stats){ 0 };
	return 1;
}

uint32_t fcore_rx_level(const struct fcore *core)
{
	(void)core;
	return 0;
}

void fcore_rue_base(struct fcore_conn *c, uint32_t flow, uint32_t base)
{
	CHECK(c >= cores && c < cores + CONNS && flow < FALCON_MAX_FLOWS && base);
}

bool fcore_rue_event(struct fcore *core, struct falcon_rue_event *e)
{
	(void)core, (void)e;
	abort();
}

void fcore_rue_result(struct fcore_conn *c, const struct falcon_rue_result *r, uint64_t now)
{
	(void)now;
	CHECK(c >= cores && c < cores + CONNS && falcon_res_get(r, fcwnd));
}

/* The filters that are there. */
static struct {
	struct fcore_xlr_rule rule;
	bool used;
} filters[FCORE_XLR_RULES];

int fcore_xlr_add(struct fcore *core, const struct fcore_xlr_rule *rule)
{
	(void)core;
	/* What the core refuses, the request must have refused before. */
	CHECK(rule->where < FCORE_XLR_WHERES);
	CHECK(!(rule->fields & FCORE_XLR_TYPE) || rule->type == FALCON_PUSH_DATA ||
	       rule->type == FALCON_PULL_REQUEST);
	for (int i = 0; i < FCORE_XLR_RULES; i++) {
		if (filters[i].used)
			continue;
		filters[i].rule = *rule;
		filters[i].used = true;
		return i;
	}
	return -ENOSPC;
}

int fcore_xlr_del(struct fcore *core, uint32_t number)
{
	bool used = number < FCORE_XLR_RULES && filters[number].used;

	(void)core;
	if (used)
		filters[number].used = false;
	return used ? 0 : -ENOENT;
}

int fcore_xlr_get(const struct fcore *core, uint32_t number, struct fcore_xlr_rule *rule,
		  uint64_t *hits)
{
	(void)core;
	if (number >= FCORE_XLR_RULES || !filters[number].used)
		return -ENOENT;
	*rule = filters[number].rule;
	*hits = UINT64_MAX;
	return 0;
}

const char *agent_conn_state_name(enum agent_conn_state s)
{
	CHECK(s <= AGENT_CONN_UP);
	return "state";
}

struct agent_conn *agent_conn_named(const struct agent *a, const char *name)
{
	for (uint32_t i = 0; i < FALCON_MAX_CONNS; i++)
		if (a->conns[i] && !strcmp(a->conns[i]->cfg.name, name))
			return a->conns[i];
	return NULL;
}

struct agent_conn *agent_conn_find(const struct agent *a, const char *name)
{
	return agent_conn_named(a, name);
}

struct agent_conn *agent_conn_find_for(const struct agent *a, const char *name, uid_t uid)
{
	(void)uid;
	return agent_conn_named(a, name);
}

struct agent_conn *agent_conn_at(const struct agent *a, uint32_t cid)
{
	CHECK(a == &agent);
	return cid < a->maps.nconns ? a->conns[cid] : NULL;
}

uint32_t agent_conn_segment(const struct agent_conn *c)
{
	return c->max_len;
}

/* What was given, as "conn-add" would have it. */
static json_t *as_request(const struct conn_config *cfg, json_t *rows)
{
	json_t *req = json_pack("{s:s}", "name", cfg->name), *row;
	size_t i;

	CHECK(req && config_show_conn(rows, cfg) == 0);
	json_array_foreach(rows, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "source")), "configured"))
			json_object_set(req, json_string_value(json_object_get(row, "key")),
					json_object_get(row, "value"));
	return req;
}

static void check_round_trip(const struct agent *a, const struct conn_config *cfg)
{
	json_t *rows = json_array(), *req = as_request(cfg, rows), *again = json_array();
	struct conn_config second;
	char err[256];

	if (config_conn_from_json(req, &a->config.agent, &second, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		abort();
	}
	CHECK(config_show_conn(again, &second) == 0 && json_equal(rows, again));
	json_decref(rows);
	json_decref(again);
	json_decref(req);
}

/* All addresses are this host's. */
int neigh_resolve(struct neigh *n, int family, const uint8_t dst[16], struct neigh_entry *out)
{
	(void)n, (void)family, (void)dst;
	*out = (struct neigh_entry){ .local = true };
	return 0;
}

void neigh_release(struct neigh_entry *e)
{
	(void)e;
}

int agent_conn_add(struct agent *a, const struct conn_config *cfg, uid_t owner, char *err, size_t errlen)
{
	static const struct ulp_ops raw_ops = { .proto = FALCON_PROTO_RAW };
	static struct ulp raw = { .ops = &raw_ops };
	struct agent_conn *c;

	CHECK(config_name_valid(cfg->name));
	CHECK(cfg->local_cid < FALCON_MAX_CONNS && cfg->remote_cid < 1U << 24);
	/* Number 0 of this agent is for what is dialled. */
	CHECK(!cfg->local_cid == !cfg->remote_cid);
	CHECK(cfg->family == AF_INET || cfg->family == AF_INET6);
	check_round_trip(a, cfg);
	if (a->conns[cfg->local_cid] || agent_conn_find(a, cfg->name)) {
		snprintf(err, errlen, "there is one");
		return -EEXIST;
	}
	c = calloc(1, sizeof(*c));
	c->agent = a;
	c->shard = &a->shards[0];
	c->ulp = &raw;
	c->cfg = *cfg;
	c->owner = owner;
	if (cfg->local_cid < CONNS) {
		c->core = &cores[cfg->local_cid];
		c->shared = calloc(1, sizeof(*c->shared));
		c->state = AGENT_CONN_UP;
	}
	a->conns[cfg->local_cid] = c;
	return 0;
}

static void conn_free(struct agent *a, struct agent_conn *c)
{
	a->conns[c->cfg.local_cid] = NULL;
	free(c->shared);
	free(c);
}

int agent_conn_del(struct agent *a, const char *name, char *err, size_t errlen)
{
	struct agent_conn *c = agent_conn_find(a, name);

	if (!c) {
		snprintf(err, errlen, "no connection named \"%s\"", name);
		return -ENOENT;
	}
	conn_free(a, c);
	return 0;
}

int agent_conn_reset(struct agent *a, const char *name, char *err, size_t errlen)
{
	if (agent_conn_find(a, name))
		return 0;
	snprintf(err, errlen, "no connection named \"%s\"", name);
	return -ENOENT;
}

int rekey_conn(struct agent_conn *c, char *err, size_t errlen)
{
	CHECK(c && c->agent == &agent);
	snprintf(err, errlen, "not up");
	return -ENOTCONN;
}

int rekey_all(struct agent *a, char *err, size_t errlen)
{
	(void)err, (void)errlen;
	CHECK(a == &agent);
	return 0;
}

json_t *agent_keys_json(struct agent *a)
{
	CHECK(a->config.agent.key_export);
	return json_array();
}

/* No verbs applications: no rows. */
#define NO_ROWS(name)                                                                              \
	void name(struct agent *a, const struct show_query *q, json_t *rows)                    \
	{                                                                                          \
		(void)a, (void)q, (void)rows;                                                   \
	}

NO_ROWS(agent_show_device)
NO_ROWS(agent_show_qp)
NO_ROWS(agent_show_cq)
NO_ROWS(agent_show_mr)
NO_ROWS(agent_show_pd)

int agent_rdma_attach(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply)
{
	(void)a, (void)cl, (void)req, (void)fds, (void)nfds;
	return control_error(reply, -EOPNOTSUPP, "no verbs applications here");
}

/* Nothing of a request but a boolean gets to the metrics, which look at cores that are not here. */
int agent_metrics_command(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
			  json_t **reply)
{
	(void)a, (void)cl, (void)req, (void)fds, (void)nfds;
	return control_error(reply, -EOPNOTSUPP, "no metrics here");
}

void agent_show_pool(struct agent *a, const struct show_query *q, json_t *rows)
{
	CHECK(a == &agent && (!q->only || q->only->agent == a) && json_is_array(rows));
}

/* Devices are never dialled here: nobody calls the layer's pump(). */
const struct ulp_host shard_ulp_host;

void shard_ulp_add(struct shard *s, const struct ulp_ops *ops, void *self)
{
	CHECK(s == &agent.shards[0] && ops && self);
}

static bool broken;

void news_clients(struct shard *s)
{
	CHECK(s == &agent.shards[0]);
	broken = true;
}

static void on_client_broken(void *arg, struct client *cl, const char *why)
{
	(void)cl, (void)why;
	news_clients(arg);
}

static const struct raw_ops raw_ops = { .client_broken = on_client_broken };

/* The hostile user. */

static void remove_dir(void)
{
	control_close(agent.control);
	rmdir(dir);
}

static void set_up(void)
{
	static struct falcon_credit credit;
	static struct xsk xsk = { .credit = &credit };
	char err[256];

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	CHECK(config_load(NULL, &agent.config, err, sizeof(err)) == 0);
	CHECK(quota_open(&agent.quota, agent.config.users, agent.config.nusers, err, sizeof(err)) == 0);
	agent.maps.nconns = FALCON_MAX_CONNS;
	agent.shards[0].agent = &agent;
	agent.shards[0].conns = agent.conns;
	agent.nshards = 1;
	agent.calls[0] = &agent.shards[0].call;
	CHECK(agent_rue_open(&agent.shards[0], err, sizeof(err)) == 0);
	agent.ports[0] = (struct port){ .ifname = "eth0", .nqueues = 1, .xsks = &xsk };
	agent.nports = 1;
	log_set_level(LOG_LEVEL_ERROR);
	CHECK(control_open(&agent.control, path, "", agent_command, agent_client_gone, &agent, err,
			   sizeof(err)) == 0);
	atexit(remove_dir);
}

static int dial(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(sun.sun_path, path);
	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	return fd;
}

/* A descriptor to pass, of one of four kinds. */
static int passed_fd(unsigned int kind, bool sealed, bool nonsense)
{
	struct app app;
	int fds[2];

	switch (kind) {
	case 0:
		app_make(&app, ARENA, sealed);
		app.rings->sq.tail = nonsense ? UINT32_MAX : 0;
		app_drop(&app);
		close(app.doorbell);
		close(app.agent_event);
		return app.memfd;
	case 1:
		return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	case 2:
		CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
		close(fds[0]);
		return fds[1];
	default:
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
}

/* Send |len| bytes of |text| with the descriptors that |head|, the message's, asks for. */
static bool send_text(int fd, const void *text, size_t len, const uint8_t *head)
{
	char cbuf[CMSG_SPACE(sizeof(int) * FDS)] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { .iov_base = (void *)text, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	unsigned int kinds = head[1] | (unsigned int)head[2] << 8;
	int fds[FDS], nfds = head[0] & 7;
	bool sent;

	for (int i = 0; i < nfds; i++)
		fds[i] = passed_fd(kinds >> 2 * i & 3, !(head[0] & 0x40), head[0] & 0x80);
	if (nfds) {
		struct cmsghdr *c = (struct cmsghdr *)cbuf;

		msg.msg_control = cbuf;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)nfds);
	}
	sent = sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)len;
	for (int i = 0; i < nfds; i++)
		close(fds[i]);
	return sent;
}

/* The text that a reply of {"memfd":bytes} stands for. */
static json_t *load_memfd(json_t *note, int memfd)
{
	json_int_t bytes = json_integer_value(json_object_get(note, "memfd"));
	struct stat st;
	json_t *reply;

	CHECK(fstat(memfd, &st) == 0 && bytes > CONTROL_MSG_MAX && st.st_size == bytes);
	lseek(memfd, 0, SEEK_SET);
	reply = json_loadfd(memfd, 0, NULL);
	close(memfd);
	json_decref(note);
	return reply;
}

static void check_reply(json_t *reply)
{
	const char *name = json_string_value(json_object_get(reply, "errno"));

	CHECK(json_is_object(reply) && json_is_boolean(json_object_get(reply, "ok")));
	if (json_is_false(json_object_get(reply, "ok"))) {
		CHECK(name && name[0] == 'E');
		CHECK(json_string_length(json_object_get(reply, "error")));
	}
	json_decref(reply);
}

static void take_reply(int fd)
{
	static char text[CONTROL_MSG_MAX + 1];
	char cbuf[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = { .iov_base = text, .iov_len = sizeof(text) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = cbuf,
			      .msg_controllen = sizeof(cbuf) };
	ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	json_t *reply;
	int memfd;

	CHECK(n > 0 && n <= CONTROL_MSG_MAX);
	reply = json_loadb(text, (size_t)n, 0, NULL);
	if (c) {
		memcpy(&memfd, CMSG_DATA(c), sizeof(memfd));
		reply = load_memfd(reply, memfd);
	}
	check_reply(reply);
}

/* Send one message and have it answered. Returns the connection to go on with. */
static int talk(int fd, const uint8_t *head, const uint8_t *text, size_t len)
{
	static uint8_t padded[CONTROL_MSG_MAX + 1 + UINT16_MAX];

	if (head[0] & 0x20) {
		close(fd);
		fd = dial();
	}
	memset(padded, ' ', CONTROL_MSG_MAX + 1);
	memcpy(padded + (head[0] & 8 ? CONTROL_MSG_MAX + 1 : 0), text, len);
	if (head[0] & 8)
		len += CONTROL_MSG_MAX + 1;
	if (!send_text(fd, padded, len, head))
		return fd;
	/* The first turn may only accept. */
	for (int i = 0; i < 3; i++)
		control_process(agent.control);
	raw_pump(agent.shards[0].raw, 1);
	if (broken)
		agent_clients_broken(&agent);
	broken = false;
	if (len && !(head[0] & 0x10))
		take_reply(fd);
	if (!len) {
		close(fd);
		fd = dial();
	}
	return fd;
}

static void count(void *arg, struct control_client *cl)
{
	(void)cl;
	(*(unsigned int *)arg)++;
}

static void hang_up(int fd)
{
	unsigned int left = 0;

	close(fd);
	for (int i = 0; i < MESSAGES; i++)
		control_process(agent.control);
	control_each(agent.control, count, &left);
	CHECK(left == 0);
	for (int i = 0; i < FDS_WATCHED; i++)
		CHECK(!watched[i]);
	for (uint32_t i = 0; i < FALCON_MAX_CONNS; i++)
		if (agent.conns[i])
			conn_free(&agent, agent.conns[i]);
}

/* A thread closes what was sent. */
static void wait_for_drops(void)
{
	while (drop_pending(geteuid()))
		sched_yield();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int before;
	int fd;

	if (!agent.control)
		set_up();
	before = open_fds();
	agent.shards[0].raw = raw_create(&raw_ops, &agent.shards[0], CONNS);
	CHECK(agent_nvme_prepare(&agent) == 0 && agent_nvme_open(&agent) == 0);
	fd = dial();
	for (int i = 0; i < MESSAGES && size >= 5; i++) {
		size_t len = data[3] | (size_t)data[4] << 8;

		if (len > size - 5)
			len = size - 5;
		fd = talk(fd, data, data + 5, len);
		data += 5 + len;
		size -= 5 + len;
	}
	hang_up(fd);
	agent_nvme_close(&agent);
	raw_destroy(agent.shards[0].raw);
	wait_for_drops();
	CHECK(open_fds() == before);
	return 0;
}
