// SPDX-License-Identifier: BSD-2-Clause
/*
 * The control socket as a hostile local user sees it: messages with descriptors, through the
 * socket's server, the requests' handlers and the tables they show, to the raw layer that
 * applications attach to. The kernel's maps, sockets and the life of connections are stubs
 * (fuzz_control_agent.c).
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
#include "agent/commands/commands.h"
#include "agent/config/keys.h"
#include "agent/control/control.h"
#include "agent/net/port.h"
#include "agent/nvme/nvme.h"
#include "agent/process/deferred_close.h"
#include "agent/rdma/rdma.h"
#include "agent/rdma/show.h"
#include "agent/rue/rue.h"
#include "agent/tenant/quota.h"
#include "base/log.h"
#include "check.h"
#include "core/xlr.h"
#include "fuzz_control.h"
#include "ipc/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	FDS = 8,
	MESSAGES = 64,		/* of an input */
	ARENA = 4096,
};

static char dir[] = "/tmp/fuzz_control.XXXXXX", path[64];

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
	agent.plane.maps.nconns = FALCON_MAX_CONNS;
	agent.plane.config = &agent.config;
	agent.plane.shards[0].plane = &agent.plane;
	agent.plane.shards[0].agent = &agent;
	agent.plane.shards[0].conns = agent.conns;
	agent.plane.nshards = 1;
	agent.plane.calls[0] = &agent.plane.shards[0].call;
	CHECK(agent_rue_open(&agent.plane.shards[0], err, sizeof(err)) == 0);
	agent.plane.ports[0] = (struct port){ .ifname = "eth0", .nqueues = 1, .xsks = &xsk };
	agent.plane.nports = 1;
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
	raw_pump(agent.plane.shards[0].raw, 1);
	if (fake_client_broken)
		agent_clients_broken(&agent);
	fake_client_broken = false;
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
	fake_agent_rest();
}

/* A thread closes what was sent. */
static void wait_for_drops(void)
{
	while (deferred_close_pending(geteuid()))
		sched_yield();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int before;
	int fd;

	if (!agent.control)
		set_up();
	before = open_fds();
	agent.plane.shards[0].raw = raw_create(&fake_raw_ops, &agent.plane.shards[0], FAKE_CONNS);
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
	raw_destroy(agent.plane.shards[0].raw);
	wait_for_drops();
	CHECK(open_fds() == before);
	return 0;
}
