/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pull Data that XDP places at the initiator: where, and which. falcon/maps.h has the state, struct
 * falcon_sink.
 *
 * The agent opens a sink with the request. XDP takes it for the packet that answers, places what that brings,
 * claims and acknowledges it. Whoever closes the sink knows whether that has happened, and that nothing is
 * placed from then on.
 */
#ifndef FALCON_SINK_H
#define FALCON_SINK_H

#include "pull.h"

enum falcon_sink_state {
	FALCON_SINK_CLOSED = 0,	/* Pull Data goes to the agent */
	FALCON_SINK_OPEN,
	FALCON_SINK_XDP,	/* an XDP program, while it places one packet */
	FALCON_SINK_PLACED,	/* the data are there: the agent is to close it */
};

FALCON_INLINE __u64 falcon_sink_word(enum falcon_sink_state state, __u32 rsn)
{
	return (__u64)state << 32 | rsn;
}

FALCON_INLINE struct falcon_sink *falcon_sink_at(struct falcon_sinks *sinks, __u32 rsn)
{
	return &sinks->at[rsn & (FALCON_SINK_RSNS - 1)];
}

/* XDP: own |s| for the response to |rsn|. False: there is nowhere to place it, or it is placed. */
FALCON_INLINE bool falcon_sink_take(struct falcon_sink *s, __u32 rsn)
{
	__u64 want = falcon_sink_word(FALCON_SINK_OPEN, rsn);

	return falcon_load(&s->state) == want &&
	       falcon_cas(&s->state, want, falcon_sink_word(FALCON_SINK_XDP, rsn)) == want;
}

/* XDP, which owns |s| for |rsn|: it is |placed|, or as it was. */
FALCON_INLINE void falcon_sink_leave(struct falcon_sink *s, __u32 rsn, bool placed)
{
	/* Nobody else changes it meanwhile: this is a store that nothing before it passes. */
	falcon_cas(&s->state, falcon_sink_word(FALCON_SINK_XDP, rsn),
		   falcon_sink_word(placed ? FALCON_SINK_PLACED : FALCON_SINK_OPEN, rsn));
}

/*
 * The RDMA headers of a response, |in|, are those that |s| expects, of a READ as far as |steth|. XDP's to
 * ask, which owns |s|.
 */
FALCON_INLINE bool falcon_sink_expects(const struct falcon_sink *s,
				       const struct falcon_atomic_response_hdr *in)
{
	const struct falcon_read_response_hdr *read = (const struct falcon_read_response_hdr *)in;
	const struct falcon_rdma_steth *steth = s->atomic ? &in->steth : &read->steth;

	return in->rbth.word0 == s->rbth[0] && in->rbth.dest_qp == s->rbth[1] && in->rbth.sn == s->rbth[2] &&
	       steth->va_hi == s->steth[0] && steth->va_lo == s->steth[1] && steth->lkey == s->steth[2];
}

/* Bytes of RDMA's headers of the response that |s| expects; and of all of it, padding included. */
FALCON_INLINE __u32 falcon_sink_hdr_len(const struct falcon_sink *s)
{
	return s->atomic ? sizeof(struct falcon_atomic_response_hdr) :
			   sizeof(struct falcon_read_response_hdr);
}

FALCON_INLINE __u32 falcon_sink_response_len(const struct falcon_sink *s)
{
	return falcon_sink_hdr_len(s) + (s->atomic ? 0 : s->length + falcon_rdma_pad(s->length));
}

#ifndef __bpf__
/* Agent: XDP may place the response to |rsn| as |s|, which is closed, says. */
static inline void falcon_sink_open(struct falcon_sink *s, __u32 rsn)
{
	falcon_store(&s->state, falcon_sink_word(FALCON_SINK_OPEN, rsn));
}

/* Agent: is the response to |rsn|, for which |s| was opened, placed? */
static inline bool falcon_sink_is_placed(const struct falcon_sink *s, __u32 rsn)
{
	return falcon_load(&s->state) == falcon_sink_word(FALCON_SINK_PLACED, rsn);
}

/* Agent: nothing is placed in |s| from here on. True: the response was. */
static inline bool falcon_sink_close(struct falcon_sink *s)
{
	for (;;) {
		__u64 state = falcon_load(&s->state);

		if (state >> 32 != FALCON_SINK_XDP && falcon_cas(&s->state, state, 0) == state)
			return state >> 32 == FALCON_SINK_PLACED;
		falcon_exec_relax();
	}
}

/* Agent: |s| expects the response to |p|, a request of queue pair |qp|, |room| being what it says of that. */
static inline void falcon_sink_expect(struct falcon_sink *s, const struct falcon_pull *p, __u32 qp, bool room)
{
	const struct falcon_exec e = { .peer_qp = qp, .room = room };
	struct falcon_atomic_response_hdr out;
	/* Both end with it. */
	__u32 len = falcon_response_pack(&e, p, 0, &out);

	__builtin_memcpy(s->rbth, &out.rbth, sizeof(s->rbth));
	__builtin_memcpy(s->steth, (const char *)&out + len - sizeof(s->steth), sizeof(s->steth));
	s->atomic = !falcon_pull_is_read(p);
	s->length = p->length;
}
#endif

#endif /* FALCON_SINK_H */
