/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An initiator and up to four targets in one process, without packets: a core whose transactions
 * are delivered in random order, stores in memory whose requests end in random order, connections
 * that can be lost at any moment.
 */
#ifndef FALCON_SELFTESTS_NVME_ENV_H
#define FALCON_SELFTESTS_NVME_ENV_H

#include "unit.h"

#include <ulp/nvme/nvme.h>

enum {
	ENV_TARGETS = 4,
	ENV_CONNS = 64,
	ENV_IOS = 512,
};

struct env_txn {
	bool used, pull;
	uint32_t rsn, len, hdr_len;
	uint64_t cookie, not_before;
	uint8_t hdr[FCORE_MAX_ULP_HDR];
	const uint8_t *payload;
};

struct fcore_conn {
	struct env *env;
	struct nvme_ulp *ulp;
	struct fcore_conn *peer;
	uint32_t cid;
	uint32_t rsn;
	bool up;
	bool wants_xon;
	struct env_txn txns[FCORE_MAX_TXNS];
	/* How this end has answered what it was just asked. */
	enum fcore_push_outcome outcome;
	uint8_t *packet;	/* that is being delivered: it is gone with the answer */
	uint8_t response[8192];
	uint32_t response_len;
	/* Responses that the core has not given back yet. */
	uint64_t held[FCORE_MAX_TXNS];
	unsigned int nheld;
};

/* A connection: the initiator's end and the target's. */
struct env_link {
	struct fcore_conn near, far;
	bool used;		/* dialled and not hung up */
	bool dead;		/* hung up; goes in the next step */
	int target;
	struct ulp_dial dial;
};

struct env_store {
	struct nvme_store store;
	struct env *env;
	uint8_t *bytes;
	int fail;		/* errno of every request; 0: none */
	unsigned int flushes, fuas, deallocations;
	bool frozen;		/* requests stay where they are */
	bool full;		/* no requests are taken */
};

struct env {
	uint64_t now, seed;
	struct nvme_ulp near;			/* the initiator's */
	struct nvme_ulp far[ENV_TARGETS];
	struct env_store stores[ENV_TARGETS];
	struct env_store metadata[ENV_TARGETS];	/* env_open_protected() */
	struct env_link links[ENV_CONNS];
	struct nvme_io *ios[ENV_IOS];
	unsigned int nios;
	uint32_t max_len;			/* of connections */
	unsigned int limit;			/* transactions a connection and end */
	bool refuse;				/* targets' agents accept nobody */
	uint32_t dark;				/* targets that do not answer, a bit each: env_dark() */
	bool old_targets;			/* they do not know the combined packets */
	bool hangs_up_at_once;			/* not in the next step */
	/* Of the pulls and pushes of either end, percent: they end as filtered before they are submitted. */
	unsigned int filtered_near, filtered_far_pulls, filtered_far_pushes;
	/* Looks at, or changes, data on their way: behind all that a transport could have checked. */
	void (*on_wire)(struct env *e, uint8_t *packet, uint32_t len);
	uint32_t wire_at;			/* |on_wire|'s */
	struct nvme_dev *dev;
};

/* What a test starts with: |n| targets with |bytes| each, blocks of 1 << |shift|. */
struct env *env_open(unsigned int n, uint64_t bytes, uint8_t shift, uint64_t memory);
/* The same with a cipher, or NULL, in the initiator. */
struct env *env_open_with(unsigned int n, uint64_t bytes, uint8_t shift, uint64_t memory,
			  struct nvme_cipher *cipher);
/* The same with protection information: struct nvme_md of each block, inverted, in |metadata|. */
struct env *env_open_protected(unsigned int n, uint64_t bytes, uint8_t shift, uint64_t memory);

/* What differs from that. */
struct env_format {
	struct nvme_cipher *cipher;	/* NULL: none */
	uint8_t host;				/* type of what the host sees; 0: nothing */
	bool unchecked;				/* the target does not look at it */
};
struct env *env_open_format(unsigned int n, uint64_t bytes, uint8_t shift, uint64_t memory,
			    const struct env_format *format);
void env_close(struct env *e);
/* A test's setup: its devices use the combined packets, or those of the specification alone. */
int env_combined(void **state);
int env_standard(void **state);
#define ENV_STANDARD(f) { #f, f, env_standard, NULL, NULL }
/* The test |f| in both manners. */
#define ENV_BOTH(f) { #f, f, env_combined, NULL, NULL }, { #f "_standard", f, env_standard, NULL, NULL }
/* One thing happens. */
void env_step(struct env *e);
/* Until |*done| commands have ended, |n| in all; fails if they do not. */
void env_until(struct env *e, const unsigned int *done, unsigned int n);
/* Lose link |i|, if it is up: it is dialled again by itself. */
void env_cut(struct env *e, unsigned int i);

/* Target |i| answers no more, and its connections are lost; or it answers again. */
void env_dark(struct env *e, unsigned int i, bool dark);
/* Another target, without namespaces, in the place of target |i|, which is dark and idle. */
void env_new_target(struct env *e, unsigned int i);

/* A command with its result. */
struct env_cmd {
	struct nvme_icmd icmd;
	unsigned int *done;
	bool ended;
	uint16_t status;
	uint32_t result;
};

/* An I/O command on the device's namespace; |dw12| has NLB, FUA and so on. */
void env_start(struct env *e, struct env_cmd *cmd, uint8_t opcode, uint64_t lba, uint32_t dw12,
	       void *data, unsigned int *done);
/* What |what| has for a queue entry and buffers. */
void env_start_tagged(struct env *e, struct env_cmd *cmd, const struct nvme_icmd *what,
		      unsigned int *done);
/* Any command, made by the caller, to its end. */
void env_submit(struct env *e, struct env_cmd *cmd);
/* Any admin command, made by the caller; cmd->done is counted up at its end. */
void env_start_admin(struct env *e, struct env_cmd *cmd);
/* The same as env_start(), to its end. Its status. */
uint16_t env_do(struct env *e, uint8_t opcode, uint64_t lba, uint32_t dw12, void *data);

#endif /* FALCON_SELFTESTS_NVME_ENV_H */
