// SPDX-License-Identifier: BSD-2-Clause
/* What misbehave does by the control socket, and by the C API. */
#include <endian.h>
#include <jansson.h>
#include <nvme/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <falcon/falcon.h>
#include <falcon/nvme_api.h>

#include "ipc/client.h"
#include "ipc/fdpass.h"
#include "misbehave.h"

enum {
	CONNECTIONS = 16,		/* of "reset" */
	COMMANDS = 64,			/* of "nvme", under way */
	COMMAND_BYTES = FALCON_NVME_MDTS,
	READY_MS = 20,			/* between looks whether a device has become ready */
};

/* Attach, leave a descriptor that does not close in the event socket, and go. */
void misbehave_event(const char *arg)
{
	const struct falcon_attr attr = { .arena_size = 4096 };
	const struct iovec iov = { .iov_base = "x", .iov_len = 1 };

	(void)arg;
	while (go_on()) {
		struct falcon *f;
		int slow;

		if (falcon_open(&attr, &f) < 0) {
			did(false);
			continue;
		}
		slow = slow_descriptor();
		did(fdpass_send(falcon_fd(f), &iov, 1, &slow, 1, MSG_NOSIGNAL) == 1);
		leave(slow);
		falcon_close(f);
	}
}

static void connect_control(struct ipc_client *c)
{
	if (ipc_client_connect(c, NULL) < 0)
		die("control socket", c->err);
}

/* Ask for all rows of a table, |arg|, which is what falconctl show does. */
void misbehave_show(const char *arg)
{
	struct ipc_client c = IPC_CLIENT_CLOSED;

	connect_control(&c);
	while (go_on())
		did(ipc_client_call(&c, json_pack("{s:s, s:s}", "op", "show", "object", arg ? arg : "conn"),
				    NULL, 0, NULL) == 0);
	ipc_client_close(&c);
}

static int about(struct ipc_client *c, const char *op, int number)
{
	char name[32];

	snprintf(name, sizeof(name), "bad%d", number);
	return ipc_client_call(c, json_pack("{s:s, s:s}", "op", op, "name", name), NULL, 0, NULL);
}

/*
 * Connections of one's own, from |arg| as "LOCAL REMOTE", begin anew again and again: each time the peer gets
 * an OPEN for a connection that is up.
 */
void misbehave_reset(const char *arg)
{
	struct ipc_client c = IPC_CLIENT_CLOSED;
	char local[64], remote[64], name[32];

	if (!arg || sscanf(arg, "%63s %63s", local, remote) != 2)
		die("reset", "wants \"LOCAL REMOTE\"");
	connect_control(&c);
	for (int i = 0; i < CONNECTIONS; i++) {
		snprintf(name, sizeof(name), "bad%d", i);
		if (ipc_client_call(&c, json_pack("{s:s, s:s, s:s, s:s}", "op", "conn-add", "name", name,
						  "local", local, "remote", remote), NULL, 0, NULL) < 0)
			die("conn-add", c.err);
	}
	for (int i = 0; go_on(); i++)
		did(about(&c, "conn-reset", i % CONNECTIONS) == 0);
	for (int i = 0; i < CONNECTIONS; i++)
		about(&c, "conn-del", i);
	ipc_client_close(&c);
}

static struct falcon *open_device(const char *device, struct falcon_nvme_info *info)
{
	const struct falcon_attr attr = { .arena_size = (uint64_t)COMMANDS * COMMAND_BYTES };
	struct falcon *f;

	if (falcon_nvme_open(&attr, device, &f) < 0)
		die(device, falcon_error(NULL));
	do {
		if (falcon_nvme_info(f, device, info) < 0)
			die(device, falcon_error(f));
	} while (!info->ready && usleep(READY_MS * 1000) == 0 && go_on());
	return f;
}

/* Writes as many as there may be, all under way, and dies when the first has ended. */
static _Noreturn void die_in_commands(const char *device)
{
	struct falcon_nvme_info info = { 0 };
	struct falcon *f = open_device(device, &info);
	struct falcon_nvme_cqe cqe;
	int n = 0;

	for (uint16_t i = 0; i < COMMANDS && info.ready; i++) {
		uint32_t blocks = COMMAND_BYTES / info.block_size;
		const struct falcon_nvme_sqe sqe = {
			.opcode = nvme_cmd_write, .cid = htole16(i), .nsid = htole32(info.nsid),
			.qid = htole32(1), .prp1 = htole64((uint64_t)i * COMMAND_BYTES),
			.cdw10 = htole32(i * blocks), .cdw12 = htole32(blocks - 1),
		};

		if (falcon_nvme_submit(f, &sqe) < 0)
			die("submit", falcon_error(f));
	}
	while (info.ready && (n = falcon_nvme_poll(f, &cqe, 1)) == 0)
		falcon_wait(f, -1);
	_exit(n != 1);
}

/* Applications of the NVMe device |arg| that die in the midst of commands, one after the other. */
void misbehave_nvme(const char *arg)
{
	if (!arg)
		die("nvme", "wants a device");
	while (go_on()) {
		pid_t child = fork();
		int status;

		if (child == 0)
			die_in_commands(arg);
		if (child < 0)
			die("nvme", "fork");
		while (waitpid(child, &status, 0) < 0)
			;
		did(status == 0);
	}
}
