/* SPDX-License-Identifier: BSD-2-Clause */
/* The falcon_* maps as `ip link` or libxdp pinned them: found, checked, mapped into memory. */
#ifndef FALCON_IO_MAPS_H
#define FALCON_IO_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "falcon/maps.h"
#include "falcon/rue.h"

struct memory_changes;
struct ring_buffer;

/* One set of maps. All are shared with XDP; include/falcon/maps.h says who writes what. */
struct maps {
	char dir[256];			/* where they are pinned */
	int ports_fd;			/* falcon_ports */
	int xsks_fd;			/* falcon_xsks */
	int counters_fd;		/* falcon_counters */
	int sadb_fd;			/* falcon_sadb */
	int memory_fd;			/* falcon_memory */
	int regions_fd;			/* falcon_regions */
	uint64_t memories[FALCON_MEMORIES / 64];	/* bit by index into falcon_memory: in use; atomic */
	struct memory_changes *changes;	/* memory.c's */
	struct falcon_conn *conns;	/* falcon_conns, |nconns| entries */
	uint32_t nconns;		/* at most FALCON_MAX_CONNS; what the attached object has */
	struct falcon_config *config;	/* falcon_config */
	struct falcon_credit *credits;	/* falcon_credits, FALCON_MAX_XSKS entries */
	struct falcon_dirty *dirty;	/* falcon_dirty */
	struct ring_buffer *rings;	/* falcon_rue and falcon_wake, consumed together */
	void (*on_event)(void *arg, const struct falcon_rue_event *e);
	void *arg;
};

/*
 * Open the maps pinned in |dir|, or in the first of the usual places if |dir| is NULL or empty.
 * |on_event| receives RUE events from maps_consume(). 0, or a negative errno with the reason and
 * the remedy in |err|: -ENOENT nothing is pinned; -EPROTO a map has another layout than this
 * program was built for.
 */
int maps_open(struct maps *m, const char *dir,
	      void (*on_event)(void *arg, const struct falcon_rue_event *e), void *arg, char *err,
	      size_t errlen);
void maps_close(struct maps *m);

/* Hand out the RUE events that XDP has queued. Returns how many there were. */
int maps_consume(struct maps *m);
/* Readable when XDP woke the agent or, at the latest, when falcon_rue fills. */
int maps_fd(const struct maps *m);

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
