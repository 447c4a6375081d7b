/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stage for tests of falcon.bpf.o: the object loaded but pinned nowhere, its maps in reach, and
 * in a network namespace of the process a veth pair, "fa" to "fb". The end "fb" has an AF_XDP
 * socket on queue 0 of two, so that redirects have somewhere to go, and all that "fa" sends
 * arrives there.
 */
#ifndef FALCON_SELFTESTS_ENV_H
#define FALCON_SELFTESTS_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xdp/xsk.h>

#include "conn.h"
#include "falcon/abi/maps.h"
#include "falcon/rue.h"
#include "packet.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct CMUnitTest;
struct bpf_object;
struct ring_buffer;

enum env_const {
	ENV_CONNS = 4,			/* connections that env_reset() sets up, CIDs 0 .. 3 */
	ENV_PORT = 3,			/* index of the veth in falcon_ports */
	ENV_XSK = ENV_PORT * FALCON_MAX_QUEUES,	/* index of the socket */
	ENV_FRAMES = 512,
	ENV_FRAME_SIZE = 4096,
	ENV_MAX_FRAME = 3000,		/* of that port, bytes */
	ENV_PSN = 1000,			/* first PSN of all windows */
};

/* Of one shard, in falcon_rue and falcon_wake. */
struct env_rings {
	struct env *env;
	uint32_t shard;
	struct ring_buffer *both;
};

struct env {
	struct bpf_object *obj;
	int prog_fd, frags_fd, ports_fd, xsks_fd, counters_fd, sadb_fd;
	struct falcon_conn *conns;
	struct falcon_config *config;
	struct falcon_credit *credits;
	struct falcon_dirty *dirty;	/* FALCON_MAX_SHARDS of them */
	struct env_rings rings[FALCON_MAX_SHARDS];	/* none for shard 0 */
	struct falcon_rue_event event;	/* the latest that env_consume() got */
	uint64_t wakes;			/* records that env_consume() got from falcon_wake */
	uint64_t strays;		/* records in rings that are not of their connection's shard */
	int ifindex;			/* of "fb" */
	struct xsk_umem *umem;
	struct xsk_socket *xsk;
	struct xsk_ring_prod fill, tx;	/* the socket's; nothing is in the fill ring at first */
	struct xsk_ring_cons comp, rx;
	uint8_t *area;			/* of the UMEM: ENV_FRAMES of ENV_FRAME_SIZE bytes */
	struct falcon_counters *percpu;	/* scratch for env_counters() */
	int ncpu;
};

/* What BPF_PROG_TEST_RUN returned. */
struct env_result {
	int action;			/* enum xdp_action */
	uint32_t meta_len;		/* bytes of metadata before the frame */
	uint32_t len;			/* bytes of frame */
	uint8_t buf[4096];		/* metadata, then frame */
};

/* Path of |name| under the build directory that this test program lies in. */
void env_object_path(const char *name, char *path, size_t len);

/*
 * Run |n| tests as a group named |group| on this stage, results in TAP; |more|, unless NULL, sets the
 * rest of it, 0 or an error with errno set. For use as "return env_main();".
 */
int env_main(struct env *e, const char *group, const struct CMUnitTest *tests, size_t n,
	     int (*more)(void));

/* Set the stage. 0; 1 with *|why| set if it cannot be had here (no root); -1 after an error. */
int env_open(struct env *e, const char **why);
void env_close(struct env *e);

/*
 * Configuration and connections as fresh: CID 0 IPv4, 1 IPv6, 2 IPv4 with another peer, 3 IPv6.
 * All windows start at ENV_PSN and 16 packets of each transmit window are out. Credits: 64. There are
 * no SPIs of ESP.
 */
void env_reset(struct env *e);

/* From now on |spi| is one of ESP, for connection |cid|. */
void env_sadb(struct env *e, uint32_t spi, uint32_t cid);

/* The encapsulation that connection |cid| accepts: TTL 60, no ECN, |iv| as given. */
void env_shape(const struct env *e, uint32_t cid, uint64_t iv, struct packet_shape *s);
/* A Push Data header for connection |cid| with |psn|, which acknowledges nothing new. */
void env_push(const struct env *e, uint32_t cid, uint32_t psn, struct falcon_hdr *h);

/* A BACK of one more data packet arrives for connection |cid|. */
void env_ack(struct env *e, uint32_t cid);

/* Run the program once on |frame|, arriving on "fb", queue |queue|. 0 or a negative errno. */
int env_run(struct env *e, const uint8_t *frame, size_t len, uint32_t queue, struct env_result *r);
/* The same, arriving on interface |ifindex|. */
int env_run_on(struct env *e, const uint8_t *frame, size_t len, int ifindex, uint32_t queue,
	       struct env_result *r);
/* The program for frames in several buffers, on "fb", queue 0: its action, or a negative errno. */
int env_run_frags(struct env *e, const uint8_t *frame, size_t len);

/* Sum of the counters over all CPUs. */
void env_counters(struct env *e, struct falcon_counters *sum);
/*
 * The one verdict counted between |before| and |after|; -1 if none or more than one has moved, or
 * by more than one.
 */
int env_verdict(const struct falcon_counters *before, const struct falcon_counters *after);
const char *env_verdict_name(int v);

/*
 * Drain the rings of falcon_rue and falcon_wake, of all shards. Returns how many records there were; fails
 * the test if one was not in the ring of its connection's shard.
 */
int env_consume(struct env *e);
/* Drain the rings of |shard|, which has some. Returns how many records there were. */
int env_consume_shard(struct env *e, uint32_t shard);
/*
 * Bit n: connection n is dirty, n below 64. Fails the test if the entry of another shard than the
 * connection's says so, or a summary says something else.
 */
uint64_t env_dirty(const struct env *e);
/* Forget what is dirty. */
void env_dirty_clear(struct env *e);

#endif /* FALCON_SELFTESTS_ENV_H */
