// SPDX-License-Identifier: BSD-2-Clause
/*
 * Keys of regions and windows. A key is an index into the layer's table, the layer's number in its group if
 * that has several, since XDP looks keys up in one table for all, and, in its low 8 bits, a
 * variant that changes whenever the index is given anew. Indexes that have become free are given in
 * the order in which they did, so that it takes long until a stale key could be somebody else's; and
 * then it is of another protection domain.
 */
#include <errno.h>
#include <stdlib.h>

#include "ulp/rdma/objects.h"

enum key_const {
	KEY_BITS = 32,
	KEY_VARIANT_BITS = 8,
	KEY_FIRST_SIZE = 1024,		/* elements at first; then it doubles */
	KEY_RESERVE = 256,		/* free indexes that are kept out of use for a while */
};

struct key_slot {
	struct rdma_mr *mr;		/* NULL: free */
	uint32_t key;			/* its present or latest */
	uint32_t next;			/* free: the next free one, 0: none */
};

struct rdma_keys {
	struct key_slot *slots;		/* [0] is never given */
	uint32_t size, used;		/* elements; that were ever given */
	uint32_t first, last;		/* free ones: oldest and latest, 0: none */
	uint32_t member, shift;		/* the layer's number; bits of a key below its index */
	uint32_t nfree;
	uint64_t random;		/* state of the variants' generator */
};

int rdma_keys_open(struct rdma *r)
{
	struct rdma_keys *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->slots = calloc(KEY_FIRST_SIZE, sizeof(*k->slots));
	if (!k->slots) {
		free(k);
		return -ENOMEM;
	}
	k->size = KEY_FIRST_SIZE;
	k->used = 1;
	k->random = r->host.boot | 1;
	k->member = r->member;
	k->shift = KEY_VARIANT_BITS + (r->host.group ? RDMA_GROUP_BITS : 0);
	r->keys = k;
	return 0;
}

void rdma_keys_close(struct rdma *r)
{
	if (r->keys)
		free(r->keys->slots);
	free(r->keys);
	r->keys = NULL;
}

/* Where a variant begins (xorshift64). */
static uint8_t first_variant(struct rdma_keys *k)
{
	k->random ^= k->random << 13;
	k->random ^= k->random >> 7;
	k->random ^= k->random << 17;
	return (uint8_t)(k->random >> 32);
}

static int grow(struct rdma_keys *k)
{
	struct key_slot *bigger;

	if (k->used < k->size)
		return 0;
	if (k->size >= 1U << (KEY_BITS - k->shift))
		return -ENOMEM;
	bigger = realloc(k->slots, 2 * (size_t)k->size * sizeof(*k->slots));
	if (!bigger)
		return -ENOMEM;
	k->slots = bigger;
	k->size *= 2;
	return 0;
}

static uint32_t take_oldest(struct rdma_keys *k)
{
	uint32_t i = k->first;

	k->first = k->slots[i].next;
	if (!k->first)
		k->last = 0;
	k->nfree--;
	return i;
}

int rdma_key_new(struct rdma *r, struct rdma_mr *mr)
{
	struct rdma_keys *k = r->keys;
	struct key_slot *s;
	uint32_t i;

	if (k->nfree > KEY_RESERVE || (k->nfree && grow(k) < 0)) {
		i = take_oldest(k);
	} else {
		if (grow(k) < 0)
			return -ENOMEM;
		i = k->used++;
		k->slots[i].key = first_variant(k);
	}
	s = &k->slots[i];
	s->key = i << k->shift | k->member << KEY_VARIANT_BITS |
		 ((s->key + 1) & ((1U << KEY_VARIANT_BITS) - 1));
	s->mr = mr;
	mr->key = s->key;
	return 0;
}

static struct key_slot *slot_of(const struct rdma_keys *k, uint32_t key)
{
	uint32_t i = key >> k->shift;

	return i < k->used ? &k->slots[i] : NULL;
}

void rdma_key_free(struct rdma *r, uint32_t key)
{
	struct rdma_keys *k = r->keys;
	struct key_slot *s = slot_of(k, key);
	uint32_t i = key >> k->shift;

	s->mr = NULL;
	s->next = 0;
	if (k->last)
		k->slots[k->last].next = i;
	else
		k->first = i;
	k->last = i;
	k->nfree++;
}

struct rdma_mr *rdma_key_find(const struct rdma *r, uint32_t key)
{
	const struct key_slot *s = slot_of(r->keys, key);

	return s && s->key == key ? s->mr : NULL;
}

void rdma_key_change(struct rdma *r, struct rdma_mr *mr, uint32_t key)
{
	slot_of(r->keys, mr->key)->key = key;
	mr->key = key;
}

void rdma_key_replace(struct rdma *r, struct rdma_mr *old, struct rdma_mr *mr)
{
	slot_of(r->keys, old->key)->mr = mr;
	mr->key = old->key;
}
