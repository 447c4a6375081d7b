/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of misbehave.c have of one another. */
#ifndef FALCON_BENCH_MISBEHAVE_H
#define FALCON_BENCH_MISBEHAVE_H

#include <stdbool.h>

enum { PEERS_MAX = 64 };	/* sockets that linger, at a time */

/* ---- misbehave.c ---- */

_Noreturn void die(const char *what, const char *why);
/* Whether there is time left, and nobody has asked for an end. */
bool go_on(void);
/* One more has been done, or refused. The first that was done is told: the load has begun. */
void did(bool done);
/* A socket whose close() lasts until PEERS_MAX others have been made after it; for leave(). */
int slow_descriptor(void);
/* Close |fd|, which may last, if whoever it was handed over to has closed it before. */
void leave(int fd);

/* ---- misbehave_control.c: by the control socket and the C API ---- */

void misbehave_event(const char *arg);
void misbehave_show(const char *arg);
void misbehave_reset(const char *arg);
void misbehave_nvme(const char *arg);

/* ---- misbehave_verbs.c: by commands of verbs applications ---- */

void misbehave_descriptors(const char *arg);
void misbehave_events(const char *arg);
void misbehave_ids(const char *arg);
void misbehave_handles(const char *arg);
void misbehave_regions(const char *arg);

/* ---- misbehave_memory.c: by memory that comes late ---- */

void misbehave_memory(const char *arg);

#endif /* FALCON_BENCH_MISBEHAVE_H */
