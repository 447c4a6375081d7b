/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An agent for tests of the verbs library: it speaks abi/verbs.h in a thread of the same process, and
 * carries out work requests between queue pairs that are all its own. It believes what it reads.
 */
#ifndef FALCON_SELFTESTS_VERBS_FAKE_H
#define FALCON_SELFTESTS_VERBS_FAKE_H

#include <stdbool.h>
#include <stdint.h>

/* What it does wrong. */
enum fake_fault {
	FAKE_FAULT_NONE,
	FAKE_FAULT_REFUSE,	/* answers ENOSPC */
	FAKE_FAULT_SHORT,	/* answers with half of what is due */
	FAKE_FAULT_TAG,		/* answers another command */
	FAKE_FAULT_NEGATIVE,	/* answers an error that is none */
	FAKE_FAULT_NO_FD,	/* answers without the descriptor that is due */
	FAKE_FAULT_DIE,		/* closes everything instead */
};

/* Listen at |path|. */
void fake_start(const char *path);
/* Close all sockets: the agent dies. */
void fake_stop(void);
/* From now on, answer commands of |op| (0: all) so. */
void fake_fail(uint16_t op, enum fake_fault fault);
/* Leave posted work alone, or not. */
void fake_hold(bool hold);
/* From now on say that the agent is short of CPU. */
void fake_cpu_pressure(void);
/* Threads that nap. */
uint32_t fake_nappers(void);
/* Pieces of offload memory that it has made. */
uint32_t fake_memories(void);
/* How many commands it has served, and work requests with FVERBS_SEND_COPIED it has seen. */
uint32_t fake_commands(void);
uint32_t fake_copied(void);
/* Send |len| bytes to every application's socket for asynchronous events. */
void fake_async(const void *event, uint32_t len);
/* The modes of the queue pair created last. */
uint32_t fake_last_ordering(void);
uint32_t fake_last_errors(void);

#endif /* FALCON_SELFTESTS_VERBS_FAKE_H */
