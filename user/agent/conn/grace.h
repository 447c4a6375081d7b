/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting for XDP programs without waiting: grace periods, one after the other, in a thread.
 *
 * What has been closed to XDP may be rewritten when a grace period is over that began after it was
 * closed. Periods have numbers, from 1 on; however many ask meanwhile, they share the next one.
 */
#ifndef FALCON_AGENT_CONN_GRACE_H
#define FALCON_AGENT_CONN_GRACE_H

#include <stdbool.h>
#include <stdint.h>

struct grace;

/* |wait| returns after a grace period (maps_quiesce()). NULL if there is no memory or thread. */
struct grace *grace_start(void (*wait)(void));
/* Ends when the period under way does; NULL is allowed. */
void grace_stop(struct grace *g);

/* The number of a period that begins after this call; it will come by itself. */
uint64_t grace_ask(struct grace *g);
/* The number of the last period that is over. */
uint64_t grace_over(struct grace *g);
/* Readable when a period is over; for epoll, edge-triggered, never read. */
int grace_fd(const struct grace *g);

#endif /* FALCON_AGENT_CONN_GRACE_H */
