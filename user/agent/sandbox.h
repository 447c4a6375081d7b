/* SPDX-License-Identifier: BSD-2-Clause */
/* What the agent gives up at its start: capabilities, system calls, core dumps. */
#ifndef FALCON_AGENT_SANDBOX_H
#define FALCON_AGENT_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * For this thread and all that it starts; before any other thread, since capabilities are a
 * thread's. |chown| keeps CAP_CHOWN, for the control socket's group; |ptrace| CAP_SYS_PTRACE, for
 * the memory of verbs applications. There is no way back. 0, or a negative errno with a sentence in
 * |err|.
 */
int sandbox_enter(bool chown, bool ptrace, char *err, size_t errlen);

#endif /* FALCON_AGENT_SANDBOX_H */
