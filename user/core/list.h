/* SPDX-License-Identifier: BSD-2-Clause */
/* A doubly linked ring, embedded in what it links. An element that is in no list links to itself. */
#ifndef FALCON_CORE_LIST_H
#define FALCON_CORE_LIST_H

#include <stdbool.h>

struct fc_list {
	struct fc_list *next, *prev;
};

static inline void fc_list_init(struct fc_list *l)
{
	l->next = l->prev = l;
}

/* Of a head: nothing is in the list. Of an element: it is in no list. */
static inline bool fc_list_empty(const struct fc_list *l)
{
	return l->next == l;
}

/* Take |l| out of the list that it is in, if any. */
static inline void fc_list_remove(struct fc_list *l)
{
	l->next->prev = l->prev;
	l->prev->next = l->next;
	fc_list_init(l);
}

/* Put |l|, which is in no list, last into |head|. */
static inline void fc_list_append(struct fc_list *head, struct fc_list *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

#endif /* FALCON_CORE_LIST_H */
