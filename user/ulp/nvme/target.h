/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The target of NVMe over Falcon: namespaces on stores (store.h), and the commands of initiators.
 *
 * An initiator's nCMDs are gathered to tCMDs (NVMe 6.5); a tCMD that is whole waits in its
 * namespace's queue for memory and for the namespace's limits, pulls its data if it writes, goes to
 * the store, and is answered nCMD by nCMD. Nothing is allocated for a command: a connection has its
 * tCMDs, all of them share the pool's data memory.
 *
 * One thread, no clock: time comes in as an argument, ns. The on_*() functions are called from
 * within fcore_*(), the others never are.
 *
 * An agent with several threads has a target in each of them. All targets list all namespaces, but each
 * namespace belongs to one target, whose thread has its queue, its limits and the connections made for it.
 */
#ifndef FALCON_NVME_TARGET_H
#define FALCON_NVME_TARGET_H

#include "falcon/abi/stats.h"
#include "ulp/nvme/store.h"
#include "ulp/ulp.h"

enum nvme_target_const {
	NVME_TCMDS = 128,	/* that a connection may have under way */
	NVME_MAX_NS = 256,	/* namespaces of a target */
	NVME_TARGET_MDTS = 128 * 1024,	/* bytes of data of a command */
	NVME_NS_NAME_MAX = 64,
};

struct nvme_target;

/* A namespace, as it is configured. */
struct nvme_ns_attr {
	char name[NVME_NS_NAME_MAX];	/* for people */
	const char *peers;	/* who sees it: names separated by commas or blanks, or "any" */
	struct nvme_store *store;	/* stays the caller's, for as long as the target lives */
	/*
	 * 16 bytes for each block, each bit the other way round than in struct nvme_md, so that a file of
	 * zeros is of blocks that were never written; the caller's as |store| is. NULL: no metadata.
	 */
	struct nvme_store *metadata;
	bool unchecked;		/* with |metadata|: they are stored and given back as they came */
	uint32_t nsid;		/* 1..65535 */
	uint8_t nguid[16];	/* that tells it from all others, by whatever path; zeros: none */
	uint32_t shard;		/* whose target carries its commands out; others only identify it */
	uint8_t block_shift;	/* log2 of the logical block: 9 or 12 */
	bool read_only;
	bool inaccessible;	/* by this path (NVMe's ANA state): whatever comes is to go another way */
	uint64_t iops;		/* commands a second; 0: no limit */
	uint64_t bps;		/* bytes of data a second; 0: no limit */
};

/* Of a namespace (stats.h). */
#define NVME_NS_STATS(V)										\
	V(counter, reads, none, "commands carried out that read")					\
	V(counter, writes, none, "commands carried out that write")					\
	V(counter, others, none, "other commands carried out")						\
	V(counter, read_bytes, bytes, "data read")							\
	V(counter, written_bytes, bytes, "data written")						\
	V(counter, errors, none, "commands that ended with another status than 0")			\
	V(counter, damaged, none, "commands that ended with a check error: see pi.h")			\
	V(counter, limited, none, "commands that had to wait for the limits")

struct nvme_ns_stats {
	NVME_NS_STATS(STAT_MEMBER)
};

/* Of the target (stats.h). */
#define NVME_TARGET_STATS(V)										\
	V(counter, malformed, none, "packets that were refused")					\
	V(counter, overrun, none, "requests put off: their connection has too many under way")		\
	V(counter, no_memory, none, "rounds in which a command had to wait for memory")			\
	V(counter, put_off, none, "nCMDs whose data came and found no memory: they were pulled")	\
	V(counter, dropped, none, "commands whose connection was lost")					\
	V(gauge, initiators, none, "connections of initiators")						\
	V(gauge, orphans, none, "commands of lost connections still in a store")			\
	V(gauge, memory_size, bytes, "memory for data under way")					\
	V(gauge, memory_used, bytes, "memory in use")							\
	V(gauge, memory_most, bytes, "memory in use at most at any time")

struct nvme_target_stats {
	NVME_TARGET_STATS(STAT_MEMBER)
};

/*
 * The target of |shard| with |memory| bytes for data, more if the largest command would find no room in them;
 * NULL if memory is short.
 */
struct nvme_target *nvme_target_create(uint32_t shard, uint64_t memory);
/* Free; its connections are down, and the stores are idle. */
void nvme_target_destroy(struct nvme_target *t);
/* The memory that nvme_io.buf is in, for registering with the kernel. */
void *nvme_target_memory(const struct nvme_target *t, size_t *bytes);

/* Add a namespace. 0, or -EEXIST, -EINVAL or -ENOSPC with a sentence in |err|. */
int nvme_target_add(struct nvme_target *t, const struct nvme_ns_attr *attr, char *err,
		    size_t errlen);
/* The |i|th namespace and its counters; false: there are no more. */
bool nvme_target_ns(const struct nvme_target *t, unsigned int i, struct nvme_ns_attr *attr,
		    struct nvme_ns_stats *stats);
/* The |i|th namespace has |blocks| blocks from now on, at least 1; its initiators are told. */
void nvme_target_set_blocks(struct nvme_target *t, unsigned int i, uint64_t blocks);
/* Whether its stores are still at a command that reaches beyond the first |blocks|. */
bool nvme_target_beyond(const struct nvme_target *t, unsigned int i, uint64_t blocks);
/* Other limits for the |i|th namespace: commands and bytes a second, 0: none. */
void nvme_target_set_limits(struct nvme_target *t, unsigned int i, uint64_t iops, uint64_t bps);
/*
 * Whether initiators are to take another path to the |i|th namespace, or may take this one. They are told;
 * what they have under way ends as ever. All shards' targets have to know.
 */
void nvme_target_set_inaccessible(struct nvme_target *t, unsigned int i, bool inaccessible);
void nvme_target_stats(const struct nvme_target *t, struct nvme_target_stats *out);

/*
 * What nvme.c gives on of struct ulp_ops. |host| and |agent| are for hanging up the connection
 * that an initiator replaces. accept() of a peer without any namespace is -EPERM.
 */
void nvme_target_set_host(struct nvme_target *t, const struct ulp_host *host, void *agent);
/* Of the namespace that an initiator dials for with |data|; 0 if it does not say, or there is no such. */
uint32_t nvme_target_dial_for(const struct nvme_target *t, const struct ulp_data *data);
int nvme_target_accept(struct nvme_target *t, const struct ulp_request *req,
		       struct ulp_data *reply, char *err, size_t errlen);
int nvme_target_conn_up(struct nvme_target *t, const struct ulp_conn *conn);
/* False: |cid| was no connection of the target's. */
bool nvme_target_conn_down(struct nvme_target *t, uint32_t cid);
uint32_t nvme_target_pump(struct nvme_target *t, uint64_t now);
bool nvme_target_busy(const struct nvme_target *t);
uint64_t nvme_target_deadline(const struct nvme_target *t);

/* Cookies of the target's transactions are addresses of this, which says whose they are. */
struct nvme_tncmd;

void nvme_target_on_push(struct nvme_target *t, struct fcore_conn *c, uint32_t rsn,
			 const void *payload, uint32_t len, uint64_t now);
void nvme_target_on_pull_data(struct nvme_tncmd *n, const void *payload, uint32_t len);
void nvme_target_on_completion(struct nvme_tncmd *n, enum falcon_completion_code code);
void nvme_target_on_xon(struct nvme_target *t, uint32_t cid);

#endif /* FALCON_NVME_TARGET_H */
