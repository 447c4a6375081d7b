/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The emulator without I/O: ports, between each two of them the same set of parallel paths, and
 * on every path, for every port it leads to, one link with a queue. Frames and the time (ns, of any
 * clock that does not go back) come in as arguments, and leave through a callback.
 *
 *	wire_input -> route -> choose a path -> link: queue -> wire -> flight -> deliver
 *
 * On a path that speaks RIFL, wire and flight are a hop (hop.h), which both directions share.
 *
 * The same seed, settings, and frames at the same times give the same results. Each kind of chance
 * on each link draws from a stream of its own, so without a rate, which packets are lost depends on
 * their numbers alone and not on time.
 */
#ifndef FALCON_WIRE_WIRE_H
#define FALCON_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "../common/histogram.h"
#include "../common/noise.h"
#include "pool.h"
#include "settings.h"
#include "timeline.h"

enum wire_const {
	WIRE_MAX_PORTS = 16,
	WIRE_MAX_PATHS = 16,
	WIRE_MAX_LINKS = WIRE_MAX_PORTS * WIRE_MAX_PATHS,
	WIRE_MACS = 1024,	/* slots of the forwarding table */
};

struct hop;

/* The kinds of chance. */
enum link_chance {
	CHANCE_LOSS,
	CHANCE_STATE,		/* of Gilbert-Elliott */
	CHANCE_DUP,
	CHANCE_CORRUPT,
	CHANCE_ECN,
	CHANCE_JITTER,
	CHANCE_REORDER,
	CHANCES,
};

/*
 * Packets, free-running. After all has drained,
 * offered + duplicated = delivered + lost + queue_full + down + no_buffer + bit_errors.
 */
struct link_stats {
	uint64_t offered, offered_bytes;
	uint64_t delivered, delivered_bytes;
	uint64_t queue_full;	/* dropped: no room in the queue */
	uint64_t lost;		/* dropped: by the loss model */
	uint64_t down;		/* dropped: the link was, or went, down */
	uint64_t no_buffer;	/* copies not made, no frame being free */
	uint64_t bit_errors;	/* dropped: the FCS was wrong, or RIFL began again */
	uint64_t marked;	/* CE */
	uint64_t duplicated;
	uint64_t corrupted;
	uint64_t reordered;	/* spared the delay, or held back */
	uint64_t max_packets;	/* most that ever waited */
	struct histogram depth;	/* bytes that arriving packets found waiting; with a rate only */
	struct histogram wait;	/* ns from arrival to the wire; with a rate only */
	struct histogram delay;	/* ns from arrival to delivery */
};

/* One direction of one path. */
struct link {
	struct wire_settings set;
	struct rng rng[CHANCES];
	struct noise noise;	/* without RIFL */
	bool bad;		/* state of Gilbert-Elliott */
	uint32_t epoch;		/* how often it went down: what was under way then is lost */
	uint32_t head, tail;	/* frames that wait */
	uint64_t packets, bytes;	/* how many */
	uint32_t serving;	/* the frame on the wire, POOL_NONE if that is idle */
	uint64_t served;	/* order of the event that ends it */
	uint64_t remainder;	/* of the division of bits by the rate, for the next packet */
	uint64_t under_way;	/* frames let in, and not out yet */
	struct link_stats stats;
};

struct wire_mac {
	uint8_t mac[6];
	bool used;
	uint8_t port;
};

struct wire {
	struct pool *pool;
	unsigned int ports, paths;
	bool by_index;		/* choose paths by flow index, not by hash */
	bool all;		/* impair what is no flow, too */
	void (*deliver)(void *arg, uint32_t frame);	/* the frame is the callee's then */
	void *arg;
	struct timeline timeline;
	struct wire_mac mac[WIRE_MACS];
	uint64_t unknown;	/* frames to the port they came from, or too short */
	struct histogram late;	/* ns between when something was due and when it was done */
	struct link link[WIRE_MAX_PORTS][WIRE_MAX_PATHS];	/* towards the port */
	struct hop *hop[WIRE_MAX_PATHS];	/* of a path that speaks RIFL, else NULL */
};

struct wire_conf {
	unsigned int ports, paths;
	bool by_index, all;
	uint64_t seed;
	struct wire_settings path[WIRE_MAX_PATHS];
	void (*deliver)(void *arg, uint32_t frame);
	void *arg;
};

/*
 * Make an emulator of |w|, which is large and zero, for the frames of |pool|. Settings have been checked;
 * RIFL takes two ports. 0 or -ENOMEM.
 */
int wire_init(struct wire *w, struct pool *pool, const struct wire_conf *conf);
void wire_close(struct wire *w);

/* A frame has come in through |port|, receive queue |queue|; it is the emulator's now. */
void wire_input(struct wire *w, unsigned int port, unsigned int queue, uint32_t frame,
		uint64_t now);

/*
 * Let happen what is due by |now|; call it before wire_input() with the same time. Returns how much
 * that was.
 */
unsigned int wire_advance(struct wire *w, uint64_t now);

/* When wire_advance() has something to do; UINT64_MAX if nothing is under way. */
uint64_t wire_next(const struct wire *w);

/* Give the link new settings, which have been checked. Going down loses what is under way. */
void wire_configure(struct wire *w, unsigned int port, unsigned int path,
		    const struct wire_settings *set);

/* Begin all statistics anew. */
void wire_reset_stats(struct wire *w);

#endif /* FALCON_WIRE_WIRE_H */
