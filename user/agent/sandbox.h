/* SPDX-License-Identifier: BSD-2-Clause */
/* What the agent gives up at its start: capabilities, system calls, core dumps. */
#ifndef FALCON_AGENT_SANDBOX_H
#define FALCON_AGENT_SANDBOX_H

#include <stddef.h>

/* Capabilities that stay on request. */
enum sandbox_keep {
	SANDBOX_CHOWN = 1 << 0,		/* for the control socket's group */
	SANDBOX_SYS_PTRACE = 1 << 1,	/* for the memory of verbs applications */
	SANDBOX_SYS_NICE = 1 << 2,	/* for threads' priority, where resource limits do not give it */
};

/*
 * For this thread and all that it starts; before any other thread, since capabilities are a
 * thread's. |keep|: enum sandbox_keep. There is no way back. 0, or a negative errno with a sentence in
 * |err|.
 */
int sandbox_enter(unsigned int keep, char *err, size_t errlen);

#endif /* FALCON_AGENT_SANDBOX_H */
