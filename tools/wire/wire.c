// SPDX-License-Identifier: BSD-2-Clause
#include "wire.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "hop.h"
#include "link.h"

int wire_init(struct wire *w, struct pool *pool, const struct wire_conf *conf)
{
	w->pool = pool;
	w->ports = conf->ports;
	w->paths = conf->paths;
	w->by_index = conf->by_index;
	w->all = conf->all;
	w->deliver = conf->deliver;
	w->arg = conf->arg;
	/* A frame is on a wire or flies: one event each; and one for each hop. */
	w->timeline.size = pool->frames + w->paths;
	w->timeline.heap = calloc(w->timeline.size, sizeof(*w->timeline.heap));
	if (!w->timeline.heap)
		return -ENOMEM;
	for (unsigned int port = 0; port < w->ports; port++)
		for (unsigned int path = 0; path < w->paths; path++)
			link_init(&w->link[port][path], &conf->path[path], conf->seed,
				  port * WIRE_MAX_PATHS + path);
	for (unsigned int path = 0; path < w->paths; path++) {
		if (!conf->path[path].rifl)
			continue;
		w->hop[path] = hop_open(w, path, &conf->path[path], conf->seed);
		if (!w->hop[path]) {
			wire_close(w);
			return -ENOMEM;
		}
	}
	return 0;
}

void wire_close(struct wire *w)
{
	for (unsigned int path = 0; path < WIRE_MAX_PATHS; path++) {
		hop_close(w->hop[path]);
		w->hop[path] = NULL;
	}
	free(w->timeline.heap);
	w->timeline.heap = NULL;
}

/* The slot of |mac|, or a free one where it would go, or NULL if the table is full. */
static struct wire_mac *mac_slot(struct wire *w, const uint8_t *mac)
{
	uint64_t key = 0;
	uint32_t first;

	memcpy(&key, mac, ETH_ALEN);
	first = (uint32_t)(rng_mix(key) % WIRE_MACS);
	for (uint32_t i = 0; i < WIRE_MACS; i++) {
		struct wire_mac *slot = &w->mac[(first + i) % WIRE_MACS];

		if (!slot->used || !memcmp(slot->mac, mac, ETH_ALEN))
			return slot;
	}
	return NULL;
}

static void learn(struct wire *w, const uint8_t *mac, unsigned int port)
{
	struct wire_mac *slot = mac[0] & 1 ? NULL : mac_slot(w, mac);

	if (!slot)
		return;
	memcpy(slot->mac, mac, ETH_ALEN);
	slot->used = true;
	slot->port = (uint8_t)port;
}

/* Neighbour discovery has no flow, and goes where there is a way. */
static unsigned int first_up(const struct wire *w, unsigned int to)
{
	for (unsigned int path = 0; path < w->paths; path++)
		if (!w->link[to][path].set.down)
			return path;
	return 0;
}

static void send_to(struct wire *w, unsigned int to, uint32_t frame, const struct frame_info *info,
		    uint64_t now)
{
	struct pool_frame *f = &w->pool->frame[frame];
	unsigned int path = first_up(w, to);

	if (info->flow)
		path = (unsigned int)((w->by_index ? info->index : info->hash) % w->paths);
	f->to = (uint8_t)to;
	f->path = (uint8_t)path;
	link_offer(w, &w->link[to][path], frame, now);
}

static void flood(struct wire *w, unsigned int from, uint32_t frame, const struct frame_info *info,
		  uint64_t now)
{
	for (unsigned int to = 0; to < w->ports; to++) {
		uint32_t copy;

		if (to == from)
			continue;
		copy = pool_copy(w->pool, frame);
		if (copy == POOL_NONE)
			w->link[to][first_up(w, to)].stats.no_buffer++;
		else
			send_to(w, to, copy, info, now);
	}
	pool_give(w->pool, frame);
}

void wire_input(struct wire *w, unsigned int port, unsigned int queue, uint32_t frame, uint64_t now)
{
	struct pool_frame *f = &w->pool->frame[frame];
	const uint8_t *data = pool_data(w->pool, frame);
	struct frame_info info;
	const struct wire_mac *slot;

	if (f->len < ETH_HLEN) {
		w->unknown++;
		pool_give(w->pool, frame);
		return;
	}
	frame_look(data, f->len, &info);
	f->queue = (uint8_t)queue;
	f->flow = info.flow;
	f->l3 = (uint16_t)info.l3;
	if (w->ports == 2) {
		send_to(w, !port, frame, &info, now);
		return;
	}
	learn(w, data + ETH_ALEN, port);
	slot = data[0] & 1 ? NULL : mac_slot(w, data);
	if (!slot || !slot->used) {
		flood(w, port, frame, &info, now);
	} else if (slot->port != port) {
		send_to(w, slot->port, frame, &info, now);
	} else {
		w->unknown++;
		pool_give(w->pool, frame);
	}
}

unsigned int wire_advance(struct wire *w, uint64_t now)
{
	struct timeline_event event;
	unsigned int n = 0;

	for (; timeline_take(&w->timeline, now, &event); n++) {
		histogram_add(&w->late, now - event.at);
		if (event.what < WIRE_MAX_LINKS) {
			link_sent(w, &w->link[0][0] + event.what, event.at);
		} else if (event.what >= WIRE_MAX_LINKS + w->pool->frames) {
			hop_event(w->hop[event.what - WIRE_MAX_LINKS - w->pool->frames], event.at);
		} else {
			uint32_t frame = event.what - WIRE_MAX_LINKS;
			const struct pool_frame *f = &w->pool->frame[frame];

			link_arrived(w, &w->link[f->to][f->path], frame, event.at);
		}
	}
	return n;
}

uint64_t wire_next(const struct wire *w)
{
	return timeline_next(&w->timeline);
}

void wire_configure(struct wire *w, unsigned int port, unsigned int path,
		    const struct wire_settings *set)
{
	struct link *l = &w->link[port][path];

	if (set->down && !l->set.down)
		link_fail(w, l);
	if (set->ber != l->set.ber) {
		noise_begin(&l->noise, set->ber);
		if (w->hop[path])
			hop_set_ber(w->hop[path], port, set->ber);
	}
	l->set = *set;
}

void wire_reset_stats(struct wire *w)
{
	w->unknown = 0;
	memset(&w->late, 0, sizeof(w->late));
	for (unsigned int port = 0; port < w->ports; port++)
		for (unsigned int path = 0; path < w->paths; path++)
			memset(&w->link[port][path].stats, 0, sizeof(struct link_stats));
	for (unsigned int path = 0; path < w->paths; path++)
		if (w->hop[path])
			hop_reset_stats(w->hop[path]);
}
