/* SPDX-License-Identifier: BSD-2-Clause */
/* What the agent gives up at its start: capabilities, system calls, core dumps. */
#ifndef FALCON_AGENT_PROCESS_SANDBOX_H
#define FALCON_AGENT_PROCESS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/* [agent] sandbox in falcon.conf(5). */
enum sandbox_mode {
	SANDBOX_OFF,
	SANDBOX_ON,
	SANDBOX_STRICT,			/* a system call that is not allowed ends the agent */
};

/* What stays on request: capabilities, and the system calls that go with them. */
enum sandbox_keep {
	SANDBOX_CHOWN = 1 << 0,		/* for the control socket's group */
	SANDBOX_SYS_PTRACE = 1 << 1,	/* for the memory of verbs applications */
	SANDBOX_SYS_NICE = 1 << 2,	/* for threads' priority, where resource limits do not give it */
	SANDBOX_IO_URING = 1 << 3,	/* for namespaces of NVMe; no capability */
};

/*
 * For this thread and all that it starts; before any other thread, since capabilities are a
 * thread's. |keep|: enum sandbox_keep. |strict|: SANDBOX_STRICT. There is no way back. 0, or a negative errno
 * with a sentence in |err|.
 */
int sandbox_enter(unsigned int keep, bool strict, char *err, size_t errlen);

#endif /* FALCON_AGENT_PROCESS_SANDBOX_H */
