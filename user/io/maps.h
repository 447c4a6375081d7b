/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The falcon_* maps as `ip link` or libxdp pinned them: found, checked, mapped into memory; and the ring
 * buffers by which XDP tells shards.
 */
#ifndef FALCON_IO_MAPS_H
#define FALCON_IO_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "falcon/abi/maps.h"
#include "falcon/rue.h"

struct memory_changes;
struct ring_buffer;

/* What XDP tells a shard, in rings of its own. */
struct maps_rings {
	struct ring_buffer *both;	/* its rings of falcon_rue and falcon_wake, consumed together */
	void (*on_event)(void *arg, const struct falcon_rue_event *e);
	void *arg;
};

/* One set of maps. All are shared with XDP; include/falcon/abi/maps.h says who writes what. */
struct maps {
	char dir[256];			/* where they are pinned */
	int ports_fd;			/* falcon_ports */
	int xsks_fd;			/* falcon_xsks */
	int counters_fd;		/* falcon_counters */
	int sadb_fd;			/* falcon_sadb */
	int memory_fd;			/* falcon_memory */
	int regions_fd;			/* falcon_regions */
	int rue_fd;			/* falcon_rue */
	int wake_fd;			/* falcon_wake */
	uint64_t memories[FALCON_MEMORIES / 64];	/* bit by index into falcon_memory: in use; atomic */
	struct memory_changes *changes;	/* memory.c's */
	struct falcon_conn *conns;	/* falcon_conns, |nconns| entries */
	uint32_t nconns;		/* at most FALCON_MAX_CONNS; what the attached object has */
	struct falcon_config *config;	/* falcon_config */
	struct falcon_credit *credits;	/* falcon_credits, FALCON_MAX_XSKS entries */
	struct falcon_dirty *dirty;	/* falcon_dirty, FALCON_MAX_SHARDS entries */
	struct falcon_responses *responses;	/* falcon_responses, FALCON_RESPONSES entries */
	struct falcon_sinks *sinks;	/* falcon_sinks, FALCON_SINKS entries */
	struct maps_rings rings[FALCON_MAX_SHARDS];	/* by shard; rings.c's */
};

/*
 * Open the maps pinned in |dir|, or in the first of the usual places if |dir| is NULL or empty; without
 * rings. 0, or a negative errno with the reason and the remedy in |err|: -ENOENT nothing is pinned; -EPROTO a
 * map has another layout than this program was built for.
 */
int maps_open(struct maps *m, const char *dir, char *err, size_t errlen);
/* With the rings: XDP still writes to them, for nobody. */
void maps_close(struct maps *m);

/*
 * rings.c: have XDP tell the shards below |n|, at most FALCON_MAX_SHARDS, and no others, by new rings. What
 * an earlier agent has not read is gone. |on_event| receives RUE events from maps_consume() of shard i, with
 * |args|[i]. Once, after maps_open(); the kernel waits for grace periods of RCU. 0, or a negative errno with
 * a sentence in |err|: -ENOMEM, -EPERM.
 */
int maps_rings_open(struct maps *m, uint32_t n,
		    void (*on_event)(void *arg, const struct falcon_rue_event *e), void *const *args,
		    char *err, size_t errlen);
/* rings.c: for maps_close(). */
void maps_rings_close(struct maps *m);
/*
 * rings.c: hand out the RUE events that XDP has queued for |shard|. Returns how many there were, wake-ups
 * included. Each shard's thread calls it for itself.
 */
int maps_consume(struct maps *m, uint32_t shard);
/* rings.c: readable when XDP woke |shard| or, at the latest, when its ring of falcon_rue fills. */
int maps_fd(const struct maps *m, uint32_t shard);

/* Sum of falcon_counters over all CPUs. 0 or a negative errno. */
int maps_counters(const struct maps *m, struct falcon_counters *sum);

/*
 * falcon_sadb: packets with |spi| are connection |cid|'s. 0, or a negative errno: -E2BIG it is full,
 * -ENOMEM.
 */
int maps_sadb_add(struct maps *m, uint32_t spi, uint32_t cid);
/* They are nobody's. */
void maps_sadb_del(struct maps *m, uint32_t spi);
/* Nothing of what another agent has left is known any more. */
void maps_sadb_empty(struct maps *m);

/*
 * XDP knows no interface any more, and hands nobody anything. What an agent that was killed has left could
 * name another interface's socket, to which nothing can be redirected.
 */
void maps_ports_empty(struct maps *m);

/*
 * Wait until no XDP program that was running at the call still runs, so that state which the
 * flags have closed to XDP may be rewritten.
 */
void maps_quiesce(void);

#endif /* FALCON_IO_MAPS_H */
