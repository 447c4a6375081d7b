/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* BPF ONLY. A request that may be carried out, as it is handed to functions that are verified alone. */
#ifndef FALCON_BPF_REQUEST_H
#define FALCON_BPF_REQUEST_H

#include "falcon/receive/sink.h"

/* What its Falcon header says, and where that of RDMA is. */
struct falcon_request {
	__u32 cid;
	__u32 rsn;
	__u32 psn;
	__u32 flow;
	__u32 off, len;		/* of what is behind Falcon's header, bytes */
	__u32 falcon_off;	/* where Falcon's header is, bytes */
	__u32 request_len;
	__u32 asked;		/* 1: for an ACK */
	__u64 now;		/* CLOCK_MONOTONIC at reception, ns */
};

/* What is left to do for a request that was carried out. */
enum falcon_next {
	FALCON_NEXT_NOTHING = 0,
	FALCON_NEXT_ACK,		/* send the ACK that is due */
	FALCON_NEXT_RESPONSE,		/* the Falcon packet has become the response: send it */
};

/*
 * What takes more room than there is on the stack, which 6.1 counts in steps of 32 bytes; and what would
 * have the verifier go many ways, which it does not for values in memory.
 */
struct falcon_scratch {
	__u32 verdict;			/* of a request that may have been carried out */
	__u32 next;			/* enum falcon_next */
	struct falcon_request request;
	union {
		union falcon_pull_hdr in;
		struct falcon_atomic_response_hdr response;	/* of Pull Data that came */
	};
	struct falcon_pull pull;
	struct falcon_hdr hdr;		/* of the response */
	struct {
		struct falcon_base_hdr base;
		struct falcon_atomic_response_hdr rdma;
	} out;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct falcon_scratch);
} falcon_scratch SEC(".maps");

/* This CPU's. */
FALCON_INLINE struct falcon_scratch *falcon_scratch_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&falcon_scratch, &zero);
}

enum falcon_executed {
	FALCON_EXECUTED_NOT,		/* it is not for us: nothing has changed */
	FALCON_EXECUTED,		/* an ACK is owed, and not due yet */
	FALCON_EXECUTED_LAST,		/* likewise, and nothing need follow soon */
	FALCON_EXECUTED_DUE,		/* an ACK is due */
};

enum falcon_pulled {
	FALCON_PULLED_NOT,		/* it is not for us: nothing has changed */
	FALCON_PULLED,			/* the frame is the response */
	FALCON_PULLED_LOST,		/* it is none: the agent will send the response */
};

#endif /* FALCON_BPF_REQUEST_H */
