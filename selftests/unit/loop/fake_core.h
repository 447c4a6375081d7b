/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A core for tests of upper layers: the transaction functions of user/core/core.h between pairs of
 * connections in one process, without packets. Keeps the contract that upper layers rely on: at
 * most FCORE_MAX_TXNS at a time, on_xon after a refusal, RNR tried again, responses given back.
 */
#ifndef FALCON_SELFTESTS_FAKE_CORE_H
#define FALCON_SELFTESTS_FAKE_CORE_H

#include "ulp/raw.h"

struct fake_txn {
	bool pull;
	uint32_t rsn;
	uint64_t cookie;
	uint8_t hdr[FCORE_MAX_ULP_HDR];
	uint32_t hdr_len;
	const uint8_t *payload;
	uint32_t len;
	uint64_t not_before;	/* after RNR */
};

struct fcore_conn {
	struct raw_ulp *ulp;
	struct fcore_conn *peer;
	uint32_t cid;
	bool unordered;		/* the youngest transaction is delivered first */
	bool stalled;		/* nothing is delivered */
	bool refused;		/* owes an on_xon */
	uint8_t ends_at_once;	/* transactions end so before they are submitted; kCmplAck: they do not */
	uint32_t limit;		/* transactions at a time */
	uint32_t next_rsn;
	uint32_t count;
	struct fake_txn txns[FCORE_MAX_TXNS];
	/* How the upper layer of this end answered what it was just asked. */
	bool answered;
	enum fcore_push_outcome outcome;
	uint8_t rnr, ulp_code;
	const void *response;
	uint32_t response_len;
	uint64_t response_cookie;
	bool hold_responses;	/* do not give them back until fake_release() */
	uint64_t held[FCORE_MAX_TXNS];
	uint32_t held_count;
};

/* Join two connections of two upper layers. */
void fake_join(struct fcore_conn *a, struct raw_ulp *ulp_a, struct fcore_conn *b,
	       struct raw_ulp *ulp_b, uint32_t cid);
/* Deliver what |c| has started, at most |budget| transactions. Returns how many ended. */
uint32_t fake_run(struct fcore_conn *c, uint64_t now, uint32_t budget);
/* End all transactions of |c| with |code|, as fcore_conn_close() does. */
void fake_close(struct fcore_conn *c, enum falcon_completion_code code);
/* Give back the responses of |c| that hold_responses kept. */
void fake_release(struct fcore_conn *c);

#endif /* FALCON_SELFTESTS_FAKE_CORE_H */
