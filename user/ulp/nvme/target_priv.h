/* SPDX-License-Identifier: BSD-2-Clause */
/* The target's own structures, shared by its source files. */
#ifndef FALCON_NVME_TARGET_PRIV_H
#define FALCON_NVME_TARGET_PRIV_H

#include <nvme/types.h>
#include <sys/queue.h>

#include "falcon/wire/nvme.h"
#include "base/pi.h"
#include "ulp/nvme/pool.h"
#include "ulp/nvme/target.h"

enum nvme_target_limits {
	TARGET_PEER_MAX = 64,	/* bytes of a peer's name, with the final 0 */
	TCMD_NCMDS = 129,	/* of 1 KiB in NVME_TARGET_MDTS, and one that a split leaves over */
	TCMD_HASH = 64,		/* chains of a connection's tCMDs by iCMD identifier */
	TARGET_BURST_NS = 10000000,	/* that a namespace's limits may be ahead of time */
	TARGET_RNR_CODE = 10,	/* 0.32 ms: what a command takes */
	TARGET_MEMORY_MIN = 2 * NVME_POOL_MAX,	/* a read's, or a Compare's, and their metadata */
};

enum nvme_tncmd_state {
	TNCMD_ABSENT,		/* its request has not come */
	TNCMD_HERE,
	TNCMD_PULLING,		/* its Write Data Request is in the core */
	TNCMD_DATA,		/* its data have come, or will not */
	TNCMD_ANSWERING,	/* its answer is in the core */
	TNCMD_ANSWERED,
};

struct nvme_tncmd {
	struct nvme_tcmd *cmd;
	uint32_t itag;		/* the initiator's */
	uint8_t offset;		/* NCNT offset, as it came */
	uint8_t state;		/* enum nvme_tncmd_state */
};

/* The part of a command that an nCMD carries. */
struct nvme_tpart {
	uint32_t at, len;	/* of the data, bytes */
	uint32_t md, nmd;	/* first of the metadata, and how many: 0 if none travel */
};

enum nvme_tcmd_phase {
	TCMD_GATHER,		/* requests are coming */
	TCMD_QUEUED,		/* whole; waits for memory and limits */
	TCMD_PULL,		/* its data are pulled */
	TCMD_SUBMIT,		/* to go to the store */
	TCMD_IO,		/* in the store */
	TCMD_HELD,		/* Asynchronous Event Request: until there is an event */
	TCMD_ANSWER,		/* answers go out; ends when all have been taken */
};

struct nvme_tcmd {
	struct nvme_tconn *conn;
	TAILQ_ENTRY(nvme_tcmd) link;	/* of the list of its phase: free, ns->queue, t->submit or ns->full */
	TAILQ_ENTRY(nvme_tcmd) send_link;	/* conn->send, if |sending| */
	struct nvme_tcmd *next;		/* in its chain of conn->hash */
	struct nvme_tns *ns;		/* NULL: none, and |status| says why */
	struct falcon_nvme_cmd cmd;	/* as its first request has it */
	uint32_t icmd, function;
	uint8_t type;			/* of the requests: enum falcon_nvme_type */
	uint8_t opcode;			/* NVMe's; |admin| says which set */
	bool admin, group, split;
	bool combined;			/* its requests are combined packets, and its completion is */
	uint8_t total;			/* NCNT total, as it came */
	uint8_t phase;			/* enum nvme_tcmd_phase */
	bool sending;
	bool limited;			/* has waited for the limits */
	uint16_t first;			/* NCNT offset of ncmds[0] */
	uint16_t n;			/* nCMDs that it consists of */
	uint16_t here, data, answered;	/* how many have got that far */
	uint16_t cursor;		/* the first that may have something to send */
	uint16_t refs;			/* transactions in the core, and one while in the store */
	uint16_t status;		/* CQE status field */
	uint16_t unit;			/* data of an nCMD, bytes */
	uint32_t bytes;			/* data; 0: none travel; metadata are not counted */
	uint32_t mem;			/* bytes of |buf|: data, and what is read with them */
	uint8_t *buf, *other;		/* of the pool; |other|: what Compare reads; NULL: none */
	struct nvme_md *md;		/* of the pool: one a block; NULL: none */
	struct nvme_md *other_md;	/* of the pool: what Compare reads; NULL: none */
	bool parked;			/* on ns->full */
	bool early;			/* on t->early */
	TAILQ_ENTRY(nvme_tcmd) early_link;
	bool metadata;			/* |io| is about the metadata; the data are done with */
	bool exclusive;			/* on ns->exclusive */
	TAILQ_ENTRY(nvme_tcmd) exclusive_link;
	struct nvme_io io;
	struct nvme_tncmd ncmds[TCMD_NCMDS];
};
TAILQ_HEAD(nvme_tcmds, nvme_tcmd);

/* An initiator's connection. */
struct nvme_tconn {
	struct nvme_target *t;
	struct fcore_conn *core;	/* NULL: not up */
	uint32_t cid;
	bool down;			/* gone; freed with its last tCMD */
	bool blocked;			/* the core said -EAGAIN; on_xon() comes */
	uint32_t max_len;		/* bytes of a transaction */
	uint32_t used;			/* tCMDs that are not free */
	size_t memory;			/* of the pool that they have, bytes */
	uint8_t host[16];		/* of the initiator's offer */
	uint32_t device;
	struct ulp_ends ends;
	char peer[TARGET_PEER_MAX];	/* the name that the initiator's agent has proved; "": none */
	uint64_t waits;			/* round over a queue in which it has to wait */
	uint32_t orphans;		/* |down|: tCMDs that are still in a store, ... */
	uint8_t orphans_of[NVME_MAX_NS];	/* ... and of each namespace, by index */
	uint64_t allowed[NVME_MAX_NS / 64];	/* namespaces that it sees, by index */
	struct nvme_tcmd *event;	/* Asynchronous Event Request that is TCMD_HELD; NULL: none */
	bool changed;			/* a namespace has changed, and it was not told */
	TAILQ_ENTRY(nvme_tconn) link;
	struct nvme_tcmds free, send;
	struct nvme_tcmd *hash[TCMD_HASH];
	struct nvme_tcmd cmds[NVME_TCMDS];
};

/* A namespace. */
struct nvme_tns {
	struct nvme_ns_attr attr;
	char *peers;
	uint64_t blocks;
	uint64_t busy_until;		/* ns: when the limits have been worked off */
	struct nvme_tcmds queue;
	uint32_t ios;			/* requests that its stores have */
	struct nvme_tcmds full;		/* TCMD_SUBMIT: until one of |ios| ends, for want of room; in order */
	struct nvme_tcmds exclusive;	/* those in the stores or about to go, oldest first */
	struct nvme_ns_stats stats;
};

struct nvme_target {
	const struct ulp_host *host;
	void *agent;
	uint32_t shard;			/* whose it is */
	struct nvme_pool *pool;
	TAILQ_HEAD(, nvme_tconn) conns;
	struct nvme_tconn *by_cid[FALCON_MAX_CONNS];	/* those that are not down */
	struct nvme_tcmds submit;	/* TCMD_SUBMIT, if not on a namespace's |full| */
	bool room;			/* a store has had room since commands began to wait for it */
	struct nvme_tcmds early;	/* those that have got memory before their turn, latest last */
	struct nvme_tns ns[NVME_MAX_NS];
	uint64_t round;			/* counts rounds over a queue, from 1 */
	unsigned int nns, next_ns;	/* |next_ns|: where the round over the queues begins */
	uint64_t now;			/* of the latest call, ns */
	uint32_t ready;			/* tCMDs that the next round has something to do for */
	struct nvme_target_stats stats;
};

/* target_cmd.c: the life of a tCMD. */

/* Take a request that came on |c|, and the |len| bytes of |data| behind it. The answer to the push. */
enum fcore_push_outcome nvme_tcmd_request(struct nvme_tconn *c, const struct falcon_nvme_hdr *h,
					  const struct falcon_nvme_cmd *cmd, const uint8_t *data,
					  uint32_t len);
enum nvme_admit {
	ADMITTED,
	WAITS,			/* and so does what is behind it */
	WAITS_ALONE,		/* it, and what its connection has behind it */
};

/* Go on with a tCMD of a namespace's queue. */
enum nvme_admit nvme_tcmd_admit(struct nvme_tcmd *cmd, uint64_t now);
/*
 * Whether a store has a tCMD's request, or is to get the second one: what has written its data has to write
 * their metadata, whoever waits for it.
 */
bool nvme_tcmd_in_store(const struct nvme_tcmd *cmd);
/* Give a tCMD to the store, which nvme_tpi_begin() allows. False: there is no room. */
bool nvme_tcmd_submit(struct nvme_tcmd *cmd);
/* Its connection is lost. */
void nvme_tcmd_abandon(struct nvme_tcmd *cmd);
/* A namespace that |c| sees has changed: its initiator is told now, or when it asks. */
void nvme_tconn_event(struct nvme_tconn *c);

/* target_memory.c: where a tCMD's data are. */

enum nvme_tmem {
	TMEM_HAS,
	TMEM_OVER_SHARE,	/* its initiator has what is its own: others go first */
	TMEM_SHORT,		/* there is none, not even what others have got before their turn */
};

/* It is |cmd|'s turn. */
enum nvme_tmem nvme_tmem_get_in_turn(struct nvme_tcmd *cmd);
/*
 * Before its turn, for data that come with their request. A command whose turn it is takes the memory away if
 * it finds no other; the data are pulled then.
 */
bool nvme_tmem_get_early(struct nvme_tcmd *cmd);
/* It is not taken away any more. */
void nvme_tmem_keep(struct nvme_tcmd *cmd);
/* Give back what |cmd| has, if anything. */
void nvme_tmem_put(struct nvme_tcmd *cmd);

/* target_send.c: requests for data, and answers. */

/* Send what |cmd| has to send. False: the core takes no more. */
bool nvme_tcmd_send(struct nvme_tcmd *cmd);
/* What of its command's data |n| carries. */
struct nvme_tpart nvme_tncmd_part(const struct nvme_tncmd *n);
/* Bytes of data and metadata. */
uint32_t nvme_tpart_len(const struct nvme_tpart *p);

/* target_exec.c: what the commands mean. */

/* Whether |c| sees the |i|th namespace. */
bool nvme_exec_visible(const struct nvme_tconn *c, unsigned int i);
/* Whether it is an Asynchronous Event Request. */
bool nvme_exec_waits(const struct nvme_tcmd *cmd);

/* The namespace of |cmd| in cmd->ns, how much data it has, or its status. */
void nvme_exec_check(struct nvme_tcmd *cmd);
/* Whether its data are pulled, and whether they are sent. */
bool nvme_exec_pulls(const struct nvme_tcmd *cmd);
bool nvme_exec_answers_data(const struct nvme_tcmd *cmd);
/* Fill cmd->io. False: nothing is to be asked of the store; cmd->status is set. */
bool nvme_exec_prepare(struct nvme_tcmd *cmd);
/* The store has ended with |res|. Sets cmd->status. */
void nvme_exec_finish(struct nvme_tcmd *cmd, int res);

/* target_status.c: Get LBA Status. */

/* 0, or the status of a command that asks wrongly; sets how much data it has. */
uint16_t nvme_status_check(struct nvme_tcmd *cmd);
/* Fill cmd->buf with its list. */
void nvme_status_list(struct nvme_tcmd *cmd);

/* target_pi.c: protection information. */

/* 0, or the status of a command whose PRINFO and tags do not suit the namespace. */
uint16_t nvme_tpi_check(const struct nvme_tcmd *cmd);
/* Bytes of metadata memory that |cmd| needs. */
uint32_t nvme_tpi_bytes(const struct nvme_tcmd *cmd);
/* Bytes of metadata of |cmd|'s largest nCMD. */
uint32_t nvme_tpi_part_max(const struct nvme_tcmd *cmd);
struct nvme_tpart nvme_tpi_part(const struct nvme_tcmd *cmd, unsigned int i);
/* What |cmd| has pulled is complete. 0, or the status of data that are not what they say. */
uint16_t nvme_tpi_pulled(struct nvme_tcmd *cmd);
/* |cmd| is to go to the stores. False: not before an earlier one on the same blocks is done. */
bool nvme_tpi_begin(struct nvme_tcmd *cmd);
/* It is done with them, or will not go; may be called at any time. */
void nvme_tpi_end(struct nvme_tcmd *cmd);
/* cmd->io is as for the data, which have been dealt with: make of it the request for the metadata. */
void nvme_tpi_prepare(struct nvme_tcmd *cmd);
/* The store has ended with |res|. True: now the metadata. */
bool nvme_tpi_goes_on(struct nvme_tcmd *cmd, int res);
/*
 * Data and metadata were read. 0, or the status of those that do not agree; what is to be sent is then
 * as it travels.
 */
uint16_t nvme_tpi_finish(struct nvme_tcmd *cmd);

#endif /* FALCON_NVME_TARGET_PRIV_H */
