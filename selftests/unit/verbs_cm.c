// SPDX-License-Identifier: BSD-2-Clause
/* The rdma_cm device that the library stands in for: its files, commands and events; the agent is here. */
#include "unit.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs/agent.h"
#include "verbs/cm.h"
#include "verbs/fv.h"

enum { CHANNEL = 9, ESTABLISHED = 9 };

/* What the agent was asked, and what it answers. */
static struct fverbs_cm_req asked;
static unsigned int questions;
static int fail;			/* errno value */
static struct fverbs_cm_answer answer;
static struct fverbs_cm_event event;
static unsigned int events;		/* that wait */
static int agent_end = -1;		/* of the channel's socket */
static int chan;
static bool closes_meanwhile;		/* another thread, before the agent answers for an event */
static bool asked_for_event;

int fv_agent_open(struct fv_agent *agent, void (*lost)(struct fv_agent *agent))
{
	(void)lost;
	agent->devices = 1;
	return 0;
}

void fv_agent_close(struct fv_agent *agent)
{
	(void)agent;
}

void *fv_real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static int device(struct fverbs_device *d)
{
	memset(d, 0, sizeof(*d));
	d->ngids = 2;
	d->gids[0].raw[0] = 0xfd;
	memcpy(d->gids[1].raw + 10, "\xff\xff\x0a\x00\x00\x01", 6);
	return 0;
}

int fv_call(struct fv_agent *agent, enum fverbs_op op, const void *req, size_t len, int fd,
	    void *out, size_t out_len)
{
	(void)agent;
	if (op == FVERBS_QUERY_DEVICE)
		return device(out);
	assert_int_equal(op, FVERBS_CM);
	assert_int_equal(len, sizeof(asked));
	memcpy(&asked, req, len);
	questions++;
	if (asked.what == FVERBS_CM_OPEN_CHANNEL) {
		agent_end = dup(fd);
		((struct fverbs_cm_answer *)out)->id = CHANNEL;
		return 0;
	}
	if (asked.what == FVERBS_CM_GET_EVENT && closes_meanwhile) {
		__atomic_store_n(&asked_for_event, true, __ATOMIC_RELEASE);
		while (fv_cm_channel(chan))
			sched_yield();
		return errno = EINVAL;
	}
	if (asked.what == FVERBS_CM_GET_EVENT) {
		errno = EAGAIN;
		if (!events)
			return EAGAIN;
		events--;
		memcpy(out, &event, out_len);
		return 0;
	}
	errno = fail;
	if (!fail && out_len)
		memcpy(out, &answer, out_len);
	return fail;
}

static int setup(void **state)
{
	(void)state;
	fail = 0;
	events = 0;
	memset(&answer, 0, sizeof(answer));
	memset(&event, 0, sizeof(event));
	chan = fv_cm_open(O_RDWR);
	assert_true(chan >= 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (fv_cm_channel(chan))
		close(chan);
	if (agent_end >= 0)
		close(agent_end);
	agent_end = -1;
	return 0;
}

/* A command as librdmacm writes it. */
static struct {
	struct rdma_ucm_cmd_hdr hdr;
	union {
		struct rdma_ucm_create_id create;
		struct rdma_ucm_resolve_ip resolve;
		struct rdma_ucm_bind_ip bind;
		struct rdma_ucm_query query;
		struct rdma_ucm_init_qp_attr attr;
		struct rdma_ucm_get_event get;
		struct rdma_ucm_accept accept;
		struct rdma_ucm_migrate_id migrate;
		uint8_t bytes[1024];
	} u;
} __attribute__((packed, aligned(8))) cmd;

static ssize_t command(uint32_t code, void *out, size_t len)
{
	cmd.hdr = (struct rdma_ucm_cmd_hdr){ code, sizeof(cmd.u), (uint16_t)len };
	memcpy(cmd.u.bytes, &out, code == RDMA_USER_CM_CMD_CREATE_ID ? 0 : sizeof(out));
	return write(chan, &cmd, sizeof(cmd));
}

static void is_a_device(void **state)
{
	struct stat st;

	(void)state;
	assert_true(fv_cm_path("/dev/infiniband/rdma_cm"));
	assert_false(fv_cm_path("/dev/infiniband/uverbs0"));
	assert_false(fv_cm_path(NULL));
	assert_int_equal(fv_cm_channel(chan), CHANNEL);
	assert_int_equal(fstat(chan, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(fcntl(chan, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

/* Closed, it is nobody's, and the number means another file. */
static void closed(void **state)
{
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(close(chan), 0);
	assert_int_equal(asked.what, FVERBS_CM_CLOSE_CHANNEL);
	assert_int_equal(asked.id, CHANNEL);
	fd = open("/dev/null", O_RDWR);
	assert_int_equal(fd, chan);
	assert_int_equal(fv_cm_channel(fd), 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
}

static unsigned int woken;
static bool returned;

static void wake(int sig)
{
	(void)sig;
	__atomic_fetch_add(&woken, 1, __ATOMIC_RELEASE);
}

static void *take_event(void *arg)
{
	struct rdma_ucm_event_resp resp;

	command(RDMA_USER_CM_CMD_GET_EVENT, &resp, sizeof(resp));
	__atomic_store_n(&returned, true, __ATOMIC_RELEASE);
	return arg;
}

/* Who waits for an event while another thread closes the channel is never told, as the kernel has it. */
static void closed_meanwhile(void **state)
{
	pthread_t reader;

	(void)state;
	signal(SIGUSR1, wake);
	closes_meanwhile = true;
	assert_int_equal(send(agent_end, "x", 1, 0), 1);
	assert_int_equal(pthread_create(&reader, NULL, take_event, NULL), 0);
	while (!__atomic_load_n(&asked_for_event, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_int_equal(close(chan), 0);
	/* It wakes for signals, and goes on waiting. */
	while (!__atomic_load_n(&returned, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&woken, __ATOMIC_ACQUIRE) < 100) {
		pthread_kill(reader, SIGUSR1);
		sched_yield();
	}
	assert_false(returned);
	pthread_cancel(reader);
	pthread_join(reader, NULL);
	closes_meanwhile = false;
}

/* What a child closes that has our memory stays open here. */
static void vforked(void **state)
{
	unsigned int before = questions;
	pid_t pid = vfork();

	(void)state;
	if (!pid) {
		close(chan);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(questions, before);
	assert_int_equal(fv_cm_channel(chan), CHANNEL);
}

/* Another file in its place, that we were not told of. */
static void replaced(void **state)
{
	int fd = open("/dev/null", O_RDWR);

	(void)state;
	assert_int_equal(dup2(fd, chan), chan);
	assert_int_equal(fv_cm_channel(chan), 0);
	assert_int_equal(write(chan, "x", 1), 1);
	close(fd);
}

static void malformed(void **state)
{
	unsigned int before = questions;

	(void)state;
	assert_int_equal(write(chan, "abc", 3), -1);
	assert_int_equal(errno, EINVAL);
	for (uint32_t code = 0; code < 40; code++) {
		cmd.hdr = (struct rdma_ucm_cmd_hdr){ .cmd = code };
		assert_int_equal(write(chan, &cmd, sizeof(cmd.hdr) + 3), -1);
		assert_true(errno == EINVAL || errno == ENOSYS);
	}
	cmd.hdr.cmd = UINT32_MAX;
	assert_int_equal(write(chan, &cmd, sizeof(cmd)), -1);
	assert_int_equal(errno, ENOSYS);
	assert_int_equal(questions, before);
}

static void ids(void **state)
{
	struct rdma_ucm_create_id_resp resp = { 0 };

	(void)state;
	answer.id = 77;
	cmd.u.create = (struct rdma_ucm_create_id){ .uid = 0x123456789a, .ps = 0x106, .qp_type = 2,
						    .response = (uintptr_t)&resp };
	assert_int_equal(command(RDMA_USER_CM_CMD_CREATE_ID, &resp, sizeof(resp)), sizeof(cmd));
	assert_int_equal(resp.id, 77);
	assert_int_equal(asked.what, FVERBS_CM_CREATE_ID);
	assert_int_equal(asked.cookie, 0x123456789a);
	assert_int_equal(asked.channel, CHANNEL);
	fail = ENOSPC;
	assert_int_equal(command(RDMA_USER_CM_CMD_CREATE_ID, &resp, sizeof(resp)), -1);
	assert_int_equal(errno, ENOSPC);
	fail = 0;
	cmd.hdr.cmd = RDMA_USER_CM_CMD_JOIN_MCAST;
	assert_int_equal(write(chan, &cmd, sizeof(cmd)), -1);
	assert_int_equal(errno, EOPNOTSUPP);
}

/* The host's own addresses become a device's; where none is given the agent finds one. */
static void addresses(void **state)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(7471) };

	(void)state;
	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	memset(&cmd.u, 0, sizeof(cmd.u));
	memcpy(&cmd.u.bind.addr, &own, sizeof(own));
	cmd.hdr.cmd = RDMA_USER_CM_CMD_BIND_IP;
	assert_int_equal(write(chan, &cmd, sizeof(cmd)), sizeof(cmd));
	assert_int_equal(asked.src.family, AF_INET);
	assert_int_equal(asked.src.port, htons(7471));
	assert_memory_equal(asked.src.addr, "\x0a\x00\x00\x01\x00", 5);
	memset(&cmd.u, 0, sizeof(cmd.u));
	memcpy(&cmd.u.resolve.dst_addr, &own, sizeof(own));
	cmd.hdr.cmd = RDMA_USER_CM_CMD_RESOLVE_IP;
	assert_int_equal(write(chan, &cmd, sizeof(cmd)), sizeof(cmd));
	/* By whatever address the agent's host has a route: not by what this process sees of the network. */
	assert_int_equal(asked.src.family, AF_INET);
	assert_memory_equal(asked.src.addr, "\0\0\0\0", 4);
	assert_memory_equal(asked.dst.addr, "\x0a\x00\x00\x01", 4);
	own.sin_family = AF_UNIX;
	memcpy(&cmd.u.resolve.dst_addr, &own, sizeof(own));
	assert_int_equal(write(chan, &cmd, sizeof(cmd)), -1);
	assert_int_equal(errno, EINVAL);
}

/* Not more than there is room for is written. */
static void short_room(void **state)
{
	struct rdma_ucm_query_route_resp resp;

	(void)state;
	answer = (struct fverbs_cm_answer){ .guid = 5, .src.family = AF_INET, .dst.family = AF_INET };
	memset(&resp, 0x55, sizeof(resp));
	assert_int_equal(command(RDMA_USER_CM_CMD_QUERY_ROUTE, &resp,
				 offsetof(struct rdma_ucm_query_route_resp, ibdev_index)),
			 sizeof(cmd));
	assert_int_equal(resp.node_guid, 5);
	assert_int_equal(resp.num_paths, 1);
	assert_int_equal(resp.ibdev_index, 0x55555555);
}

static void queue_pairs(void **state)
{
	struct ib_uverbs_qp_attr q;

	(void)state;
	answer = (struct fverbs_cm_answer){ .remote_qpn = 33, .responder_resources = 4,
		.initiator_depth = 5, .retry_count = 6, .rnr_retry_count = 7, .sgid_index = 2,
		.path_mtu = IBV_MTU_1024, .timeout = 21,
		.dst = { .family = AF_INET, .addr = { 10, 0, 0, 2 } } };
	cmd.u.attr.qp_state = IBV_QPS_RTR;
	command(RDMA_USER_CM_CMD_INIT_QP_ATTR, &q, sizeof(q));
	assert_int_equal(q.dest_qp_num, 33);
	assert_int_equal(q.max_dest_rd_atomic, 4);
	assert_int_equal(q.ah_attr.grh.sgid_index, 2);
	assert_memory_equal(q.ah_attr.grh.dgid + 10, "\xff\xff\x0a\x00\x00\x02", 6);
	assert_true(q.qp_attr_mask & IBV_QP_AV);
	cmd.u.attr.qp_state = IBV_QPS_RTS;
	command(RDMA_USER_CM_CMD_INIT_QP_ATTR, &q, sizeof(q));
	assert_int_equal(q.max_rd_atomic, 5);
	assert_int_equal(q.retry_cnt, 6);
	assert_int_equal(q.timeout, 21);
	assert_int_equal(q.rnr_retry, 7);
	cmd.u.attr.qp_state = IBV_QPS_SQD;
	assert_int_equal(command(RDMA_USER_CM_CMD_INIT_QP_ATTR, &q, sizeof(q)), -1);
	answer.datagram = 1;
	cmd.u.attr.qp_state = IBV_QPS_INIT;
	command(RDMA_USER_CM_CMD_INIT_QP_ATTR, &q, sizeof(q));
	assert_true(q.qp_attr_mask & IBV_QP_QKEY);
	assert_int_equal(q.qkey, 0x01234567);
}

static bool readable(void)
{
	struct pollfd p = { .fd = chan, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

static void events_come(void **state)
{
	struct rdma_ucm_event_resp resp;

	(void)state;
	assert_false(readable());
	fcntl(chan, F_SETFL, O_NONBLOCK);
	assert_int_equal(command(RDMA_USER_CM_CMD_GET_EVENT, &resp, sizeof(resp)), -1);
	assert_int_equal(errno, EAGAIN);
	/* A byte whose event has moved, then one with an event. */
	assert_int_equal(send(agent_end, "x", 1, 0), 1);
	assert_true(readable());
	assert_int_equal(command(RDMA_USER_CM_CMD_GET_EVENT, &resp, sizeof(resp)), -1);
	assert_int_equal(errno, EAGAIN);
	event = (struct fverbs_cm_event){ .cookie = 0xabcdef0123, .id = 4, .type = ESTABLISHED,
					  .status = -ETIMEDOUT,
					  .param = { .qp_num = 8, .private_data_len = 3,
						     .private_data = "abc" } };
	events = 1;
	assert_int_equal(send(agent_end, "x", 1, 0), 1);
	assert_int_equal(command(RDMA_USER_CM_CMD_GET_EVENT, &resp, sizeof(resp)), sizeof(cmd));
	assert_int_equal(resp.uid, 0xabcdef0123);
	assert_int_equal(resp.id, 4);
	assert_int_equal((int)resp.status, -ETIMEDOUT);
	assert_int_equal(resp.param.conn.qp_num, 8);
	assert_memory_equal(resp.param.conn.private_data, "abc", 3);
	event.datagram = 1;
	events = 1;
	answer.dst = (struct fverbs_cm_addr){ .family = AF_INET, .addr = { 10, 0, 0, 2 } };
	assert_int_equal(send(agent_end, "x", 1, 0), 1);
	assert_int_equal(command(RDMA_USER_CM_CMD_GET_EVENT, &resp, sizeof(resp)), sizeof(cmd));
	assert_int_equal(resp.param.ud.qp_num, 8);
	assert_int_equal(resp.param.ud.ah_attr.grh.dgid[15], 2);
	/* The agent goes. */
	close(agent_end);
	agent_end = -1;
	assert_int_equal(command(RDMA_USER_CM_CMD_GET_EVENT, &resp, sizeof(resp)), -1);
	assert_int_equal(errno, EIO);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(is_a_device), T(closed),    T(closed_meanwhile), T(vforked), T(replaced), T(malformed),
		T(ids),		T(addresses), T(short_room), T(queue_pairs), T(events_come),
	};

	return unit_run(tests);
}
