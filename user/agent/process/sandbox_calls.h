/* SPDX-License-Identifier: BSD-2-Clause */
/* The system calls that the agent may make after its start. */
#ifndef FALCON_AGENT_PROCESS_SANDBOX_CALLS_H
#define FALCON_AGENT_PROCESS_SANDBOX_CALLS_H

#include <stdbool.h>

/*
 * Refuse all others, in this thread and all that it starts: they fail with ENOSYS; |fatal|: they end the
 * process by SIGSYS. |disks|: io_uring is allowed. |memory|: other processes' memory and descriptors are.
 * 0 or a negative errno.
 */
int sandbox_filter_calls(bool disks, bool memory, bool fatal);

#endif /* FALCON_AGENT_PROCESS_SANDBOX_CALLS_H */
