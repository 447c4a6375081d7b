// SPDX-License-Identifier: BSD-2-Clause
/*
 * What misbehave asks of the agent as a verbs application, past the library: as many commands at once as the
 * agent serves in a turn.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "falcon/abi/rdmacm.h"
#include "ipc/client.h"
#include "ipc/fdpass.h"
#include "misbehave.h"
#include "verbs/agent.h"

enum {
	BURST = 64,			/* commands at once */
	IDS_HELD = 16384,		/* beside those that come and go */
	HANDLES_HELD = 4096,
	EVENTS_EACH = 64,		/* as many as the agent keeps of an id */
	REGION_BYTES = 4096,
	REQUEST_FDS = 4,		/* descriptors of a request at the control socket */
};

static void attach(struct fv_agent *a)
{
	if (fv_agent_open(a, NULL))
		die("attach", fv_error());
}

/*
 * |n| commands, their requests of |len| bytes each in |reqs|; |answer_len| bytes of each answer go to
 * |answers|, zeros in place of those that were refused. False: the agent has ended it.
 */
static bool burst(struct fv_agent *a, enum fverbs_op op, const void *reqs, size_t len, unsigned int n,
		  void *answers, size_t answer_len)
{
	const struct fverbs_cmd cmd = { .op = (uint16_t)op };
	uint8_t buf[FVERBS_MSG_MAX], *to = answers;
	struct fverbs_reply reply;

	for (unsigned int i = 0; i < n; i++) {
		const struct iovec iov[2] = { { (void *)&cmd, sizeof(cmd) },
					      { (uint8_t *)reqs + i * len, len } };

		if (fdpass_send(a->cmd, iov, 2, NULL, 0, MSG_NOSIGNAL) < 0)
			return false;
	}
	for (unsigned int i = 0; i < n; i++, to += answer_len) {
		ssize_t got = recv(a->cmd, buf, sizeof(buf), 0);

		if (got < (ssize_t)sizeof(reply))
			return false;
		memcpy(&reply, buf, sizeof(reply));
		did(reply.error == 0);
		memset(to, 0, answer_len);
		if (reply.error == 0 && (size_t)got >= sizeof(reply) + answer_len)
			memcpy(to, buf + sizeof(reply), answer_len);
	}
	return true;
}

/* To a socket that takes descriptors: |n| of one that does not close. */
static bool send_slow(int sock, const void *bytes, size_t len, unsigned int n)
{
	const struct iovec iov = { .iov_base = (void *)bytes, .iov_len = len };
	int slow = slow_descriptor(), fds[FDPASS_MAX];
	bool sent;

	for (unsigned int i = 0; i < n; i++)
		fds[i] = slow;
	sent = fdpass_send(sock, &iov, 1, fds, n, MSG_NOSIGNAL) > 0;
	leave(slow);
	return sent;
}

/* Descriptors that do not close: as many as a message takes, by the command socket and the control socket. */
void misbehave_descriptors(const char *arg)
{
	static const char request[] = "{\"op\":\"threads\"}";
	const struct fverbs_cmd cmd = { .op = FVERBS_ADD_AREA };
	struct ipc_client c = IPC_CLIENT_CLOSED;
	struct fv_agent a;

	(void)arg;
	while (go_on()) {
		if (ipc_client_connect(&c, NULL) == 0) {
			did(send_slow(c.sock, request, sizeof(request) - 1, REQUEST_FDS) &&
			    ipc_client_answer(&c, NULL) == 0);
			ipc_client_close(&c);
		} else {
			did(false);
		}
		if (fv_agent_open(&a, NULL)) {
			did(false);
			continue;
		}
		/* That breaks the rules of the socket: the agent ends it. */
		did(send_slow(a.cmd, &cmd, sizeof(cmd), FDPASS_MAX));
		fv_agent_close(&a);
	}
}

/* ---- rdma_cm ---- */

static uint32_t open_channel(struct fv_agent *a)
{
	const struct fverbs_cm_req q = { .what = FVERBS_CM_OPEN_CHANNEL };
	struct fverbs_cm_answer answer;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ||
	    fv_call(a, FVERBS_CM, &q, sizeof(q), pair[1], &answer, sizeof(answer)))
		die("channel", fv_error());
	close(pair[1]);
	return answer.id;
}

/* A burst of requests, all as |q|, but of |ids|, unless those are NULL: then their answers become |made|. */
static bool ask_cm(struct fv_agent *a, const struct fverbs_cm_req *q, const uint32_t *ids, uint32_t *made)
{
	static struct fverbs_cm_req reqs[BURST];
	struct fverbs_cm_answer answers[BURST];

	for (int i = 0; i < BURST; i++) {
		reqs[i] = *q;
		if (ids)
			reqs[i].id = ids[i];
	}
	if (!burst(a, FVERBS_CM, reqs, sizeof(reqs[0]), BURST, answers, made ? sizeof(answers[0]) : 0))
		return false;
	for (int i = 0; made && i < BURST; i++)
		made[i] = answers[i].id;
	return true;
}

static bool make_ids(struct fv_agent *a, uint32_t channel, uint32_t *ids)
{
	const struct fverbs_cm_req q = { .what = FVERBS_CM_CREATE_ID, .channel = channel, .ps = RDMA_PS_TCP,
					 .qp_type = IBV_QPT_RC };

	return ask_cm(a, &q, NULL, ids);
}

static bool for_ids(struct fv_agent *a, enum fverbs_cm_what what, const uint32_t *ids)
{
	/* Of a network that nobody has. */
	const struct fverbs_cm_req q = {
		.what = what,
		.src = { .family = AF_INET },
		.dst = { .family = AF_INET, .port = htons(7), .addr = { 203, 0, 113, 1 } },
	};

	return ask_cm(a, &q, ids, NULL);
}

/* Ids whose address cannot be resolved, again and again; nobody fetches what the agent says about it. */
void misbehave_events(const char *arg)
{
	uint32_t channel, ids[BURST];
	struct fv_agent a;

	(void)arg;
	attach(&a);
	channel = open_channel(&a);
	while (go_on() && make_ids(&a, channel, ids)) {
		for (int i = 0; i < 2 * EVENTS_EACH && go_on(); i++)
			for_ids(&a, FVERBS_CM_RESOLVE_ADDR, ids);
		for_ids(&a, FVERBS_CM_DESTROY_ID, ids);
	}
	fv_agent_close(&a);
}

/* Ids with ports: as many as the agent lets one have, and others that come and go. */
void misbehave_ids(const char *arg)
{
	uint32_t channel, ids[BURST];
	struct fv_agent a;

	(void)arg;
	attach(&a);
	channel = open_channel(&a);
	for (int held = 0; held < IDS_HELD && go_on() && make_ids(&a, channel, ids) && ids[BURST - 1];
	     held += BURST)
		for_ids(&a, FVERBS_CM_BIND, ids);
	while (go_on() && make_ids(&a, channel, ids) && for_ids(&a, FVERBS_CM_BIND, ids) &&
	       for_ids(&a, FVERBS_CM_DESTROY_ID, ids))
		;
	fv_agent_close(&a);
}

/* ---- objects ---- */

static uint32_t make_pd(struct fv_agent *a)
{
	const struct fverbs_handle device = { 0 };
	struct fverbs_handle pd;

	if (fv_call(a, FVERBS_ALLOC_PD, &device, sizeof(device), -1, &pd, sizeof(pd)))
		die("protection domain", fv_error());
	return pd.handle;
}

/* Which of the device's addresses is |address|. */
static uint8_t find_gid(struct fv_agent *a, const struct in6_addr *address)
{
	const struct fverbs_handle index = { 0 };
	struct fverbs_device device;

	if (fv_call(a, FVERBS_QUERY_DEVICE, &index, sizeof(index), -1, &device, sizeof(device)))
		die("device", fv_error());
	for (uint32_t i = 0; i < device.ngids; i++)
		if (!memcmp(device.gids[i].raw, address, sizeof(device.gids[i].raw)))
			return (uint8_t)i;
	die("device", "it does not have that address");
}

/*
 * A burst of address handles for hosts that nobody has in the network of |address|, which is ours and has
 * number |gid|: each is a connection to dial.
 */
static bool make_handles(struct fv_agent *a, uint32_t pd, const struct in6_addr *address, uint8_t gid,
			 struct fverbs_handle *made)
{
	static struct fverbs_create_ah reqs[BURST];
	static uint32_t last = 0x10000;

	for (int i = 0; i < BURST; i++) {
		uint32_t host = htonl(last++);

		reqs[i].pd = pd;
		reqs[i].attr = (struct fverbs_ah_attr){ .is_global = 1, .port_num = 1, .sgid_index = gid };
		memcpy(reqs[i].attr.dgid, address, sizeof(*address));
		memcpy(reqs[i].attr.dgid + 12, &host, sizeof(host));
	}
	return burst(a, FVERBS_CREATE_AH, reqs, sizeof(reqs[0]), BURST, made, sizeof(*made));
}

/* As many address handles as the agent lets one have; then all go, and so on. |arg|: our IPv6 address. */
void misbehave_handles(const char *arg)
{
	static struct fverbs_handle held[HANDLES_HELD];
	struct in6_addr address;
	struct fv_agent a;
	bool live = true;
	uint32_t pd;
	uint8_t gid;

	if (!arg || inet_pton(AF_INET6, arg, &address) != 1)
		die("handles", "wants an IPv6 address");
	attach(&a);
	pd = make_pd(&a);
	gid = find_gid(&a, &address);
	while (go_on() && live) {
		int n = 0;

		for (; n < HANDLES_HELD && go_on() && live; n += BURST)
			live = make_handles(&a, pd, &address, gid, held + n);
		while (live && (n -= BURST) >= 0)
			live = burst(&a, FVERBS_DESTROY_AH, held + n, sizeof(held[0]), BURST, NULL, 0);
	}
	fv_agent_close(&a);
}

/* Memory that is registered and not used. */
void misbehave_regions(const char *arg)
{
	void *memory = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fverbs_reg_mr reqs[BURST] = { 0 };
	struct fverbs_handle handles[BURST] = { 0 };
	struct fverbs_mr regions[BURST];
	struct fv_agent a;
	uint32_t pd;

	(void)arg;
	attach(&a);
	pd = make_pd(&a);
	for (int i = 0; i < BURST; i++)
		reqs[i] = (struct fverbs_reg_mr){ .pd = pd, .access = IBV_ACCESS_LOCAL_WRITE,
						  .addr = (uintptr_t)memory, .length = REGION_BYTES,
						  .iova = (uintptr_t)memory };
	while (go_on() &&
	       burst(&a, FVERBS_REG_MR, reqs, sizeof(reqs[0]), BURST, regions, sizeof(regions[0]))) {
		for (int i = 0; i < BURST; i++)
			handles[i].handle = regions[i].handle;
		if (!burst(&a, FVERBS_DEREG_MR, handles, sizeof(handles[0]), BURST, NULL, 0))
			break;
	}
	fv_agent_close(&a);
}
