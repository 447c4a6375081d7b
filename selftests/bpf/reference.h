/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receive path once more, on the host: the receive sequence of include/falcon/ with hooks that
 * say what falcon_rx does about credits, events and the agent, on memory of its own. The differential
 * test holds it against the BPF build, the fuzzers drive it alone.
 */
#ifndef FALCON_SELFTESTS_REFERENCE_H
#define FALCON_SELFTESTS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "falcon/receive/rx.h"

struct reference {
	struct falcon_conn *conns;	/* |nconns| of them, indexed by CID */
	uint32_t nconns;
	struct falcon_config config;
	bool agent;			/* the queue has a socket */
	int64_t credits;
	uint32_t max_frame;		/* bytes */
	const uint8_t *mac;		/* of the interface */
	uint32_t rue_used[FALCON_MAX_SHARDS];	/* bytes waiting in the shard's ring of falcon_rue */
	uint64_t dirty;			/* bit n: connection n was made dirty */
};

/* What happened to a frame. */
struct reference_result {
	enum falcon_verdict verdict;
	bool claimed;			/* a PSN was claimed */
	struct falcon_frame frame;	/* valid unless it was not Falcon */
	struct falcon_hdr hdr;		/* reliable packets that passed the checks */
	struct falcon_ack ack;		/* received, or sent as the answer */
};

/* Receive |frame| at |now_ns|. Fills |r| and returns its verdict. */
enum falcon_verdict reference_rx(struct reference *ref, const uint8_t *frame, size_t len,
				 uint64_t now_ns, struct reference_result *r);

#endif /* FALCON_SELFTESTS_REFERENCE_H */
