/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an agent and an engine in another process (falcon-rue --serve) share besides the two queues: a
 * memory for what has to be in step with them, and messages on a Unix socket of type SOCK_SEQPACKET.
 *
 * The agent connects and sends RUE_ATTACH with RUE_ATTACH_FDS descriptors: memory and bell of the
 * events, of the results (pair.h), and the memory of a struct rue_share. The engine answers with a text:
 * empty if all is well, else why not, and then it closes. Later messages have no answer, unless it is
 * why the engine gives up. Each is counted in |commands| before an event may rely on it.
 *
 * Both sides are of one build, which |size| checks, and trust each other no further than that neither
 * can make the other crash.
 */
#ifndef FALCON_USER_RUE_SHARE_H
#define FALCON_USER_RUE_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "ipc/fdpass.h"
#include "rue/configs.h"

enum rue_share_const {
	RUE_SHARE_MAGIC = 0x53455552,		/* "RUES" */
	RUE_SHARE_FLOWS = 1 << SWIFT_INDEX_BITS,
	RUE_SHARE_TEXT = 2048,			/* bytes of a message's strings */
	RUE_ATTACH_FDS = 5,
};

struct rue_share {
	/* The agent, before it sends RUE_ATTACH. */
	uint32_t magic;
	uint32_t size;			/* sizeof(struct rue_share) */
	uint32_t flows;			/* indexes are below; a power of two from 64 to RUE_SHARE_FLOWS */
	uint32_t n_profiles;		/* of Swift */
	struct rue_config profile[SWIFT_PROFILES];
	/* The agent, atomic; behind them what they announce. */
	uint32_t commands FALCON_ALIGNED;	/* messages sent after RUE_ATTACH, free-running */
	uint32_t resets;			/* 1: there are bits in |reset|; both, by exchange */
	/*
	 * Here follow struct swift_state[flows], the engine's, that the agent shows and goes on from; and
	 * uint64_t[flows / 64], a bit for each flow that all engines have to forget, both, by exchange.
	 */
	struct swift_state state[] FALCON_ALIGNED;
};

static inline size_t rue_share_bytes(uint32_t flows)
{
	return sizeof(struct rue_share) + (size_t)flows * sizeof(struct swift_state) + flows / 8;
}

static inline uint64_t *rue_share_reset(struct rue_share *s, uint32_t flows)
{
	return (uint64_t *)&s->state[flows];
}

enum rue_message_type {
	RUE_ATTACH,
	RUE_START_ENGINE,	/* |number|, which is the next one; strings: name, NAME=VALUE... */
	RUE_TRACE,		/* record into the descriptor that comes along; |number| 0: no more */
};

struct rue_message {
	uint32_t type;
	uint32_t number;		/* RUE_TRACE: records there is room for */
	int64_t only;			/* RUE_TRACE: the CID to record; negative: all */
	char text[RUE_SHARE_TEXT];	/* strings, one behind the other, as many as were sent */
};

/*
 * Send |len| bytes with |n| descriptors, at most RUE_ATTACH_FDS. 0, or -1 with errno set; it never
 * blocks, and ends no process by a signal.
 */
int rue_message_send(int sock, const void *data, size_t len, const int *fd, unsigned int n);

#endif /* FALCON_USER_RUE_SHARE_H */
