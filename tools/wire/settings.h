/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a path does to packets, as people write it: KEY=VALUE. The same keys are options of the
 * command line, parts of --path, and arguments of "falcon-wire set".
 */
#ifndef FALCON_WIRE_SETTINGS_H
#define FALCON_WIRE_SETTINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shares are out of this: always. */
#define WIRE_ALWAYS (1ULL << 32)

enum settings_const {
	WIRE_MAX_BURST = 4096,		/* bits */
	WIRE_MAX_OVERHEAD = 1000,	/* bytes */
	WIRE_ERR_LEN = 200,		/* room for a message */
};

/* A length of a queue, in bytes or in packets. */
struct wire_size {
	uint64_t n;
	bool packets;
};

/*
 * Loss. Random: every packet is lost with share p. Gilbert-Elliott: the link is good or bad; from
 * packet to packet it goes bad with share p and good again with share r; a packet gets through a
 * bad link with share h, and through a good one with share k.
 */
struct wire_loss {
	bool gilbert_elliott;
	uint64_t p, r, h, k;
};

/* One direction of one path. Shares are out of WIRE_ALWAYS. */
struct wire_settings {
	bool down;		/* all is lost */
	uint64_t rate;		/* bit/s; 0: infinitely fast, and no queue */
	uint64_t overhead;	/* bytes that each packet takes on the wire besides its own */
	struct wire_size queue;	/* what may wait for the wire, apart from the packet on it */
	struct wire_size ecn;	/* packets that find so much waiting are marked CE; 0: never */
	uint64_t ecn_share;	/* share to mark whatever waits */
	uint64_t delay;		/* ns, one way */
	uint64_t jitter;	/* ns; the delay of each packet is delay +- jitter, evenly spread */
	uint64_t reorder;	/* share that is spared the delay, or held back by reorder_by */
	uint64_t reorder_by;	/* ns; 0: spared */
	struct wire_loss loss;
	uint64_t dup;		/* share that arrives twice */
	uint64_t corrupt;	/* share that arrives with wrong bits */
	uint64_t burst;		/* length of a burst of wrong bits */
	uint64_t ber;		/* independent bit errors, of NOISE_ONE; without RIFL packets are lost */
	uint64_t rifl;		/* bits of a RIFL frame; 0: Ethernet. The same both ways of a path */
};

/* No impairment; a queue of 512 KiB should there be a rate. */
void settings_init(struct wire_settings *s);

/* The name of key |i|, counted from 0, and what its value looks like; NULL behind the last. */
const char *settings_key(unsigned int i, const char **value, const char **help);

/* Set |key| from |value|. 0, or -EINVAL and a sentence in |err| (WIRE_ERR_LEN bytes). */
int settings_set(struct wire_settings *s, const char *key, const char *value, char *err);
/* The same of "KEY=VALUE". */
int settings_assign(struct wire_settings *s, const char *text, char *err);

/* Whether the settings make sense together. 0, or -EINVAL and a sentence in |err|. */
int settings_check(const struct wire_settings *s, char *err);

/* Whether |s|, which has been checked, can take the place of |old| on a link that runs. The same. */
int settings_check_change(const struct wire_settings *old, const struct wire_settings *s, char *err);

/* All of them, by key, in bit/s, bytes, nanoseconds and percent. NULL without memory. */
json_t *settings_json(const struct wire_settings *s);

#endif /* FALCON_WIRE_SETTINGS_H */
