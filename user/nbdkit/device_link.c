// SPDX-License-Identifier: BSD-2-Clause
/* A device's agent: attached to when it is opened, and again if it has gone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "nbdkit/device_priv.h"

#define PAUSE_NS 20000000
#define NSEC_PER_SEC 1000000000ULL

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void pause_some(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	nanosleep(&pause, NULL);
}

/* Until the targets have been reached. */
static int wait_ready(struct device *d, uint64_t until, struct falcon_nvme_info *info, char *err,
		      size_t errlen)
{
	for (;; pause_some()) {
		int rc = falcon_nvme_info(d->f, d->attr.name, info);

		if (!rc && info->ready)
			return 0;
		snprintf(err, errlen, "%s%s", rc ? "" : "not reached: ", falcon_error(d->f));
		if (rc || clock_ns() >= until)
			return rc ? -rc : ETIMEDOUT;
	}
}

static int attach(struct device *d, uint64_t until, struct falcon_nvme_info *info, char *err, size_t errlen)
{
	const struct falcon_attr attr = { .socket = d->attr.socket,
					  .arena_size = SLOTS * (uint64_t)SLOT_BYTES };
	int rc = d->attr.make ? d->attr.make(d->attr.arg, err, errlen) : 0;

	if (rc)
		return rc;
	rc = -falcon_nvme_open(&attr, d->attr.name, &d->f);
	if (rc)
		snprintf(err, errlen, "%s", falcon_error(NULL));
	return rc ? rc : wait_ready(d, until, info, err, errlen);
}

static uint64_t deadline(const struct device *d)
{
	return clock_ns() + d->attr.timeout_s * NSEC_PER_SEC;
}

int device_open(const struct device_attr *attr, struct device **out, char *err, size_t errlen)
{
	struct device *d = calloc(1, sizeof(*d));
	int rc;

	if (!d) {
		snprintf(err, errlen, "out of memory");
		return ENOMEM;
	}
	d->attr = *attr;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->freed, NULL);
	pthread_cond_init(&d->left, NULL);
	pthread_cond_init(&d->returned, NULL);
	for (int i = 0; i < SLOTS; i++)
		sem_init(&d->slots[i].wake, 0, 0);
	rc = attach(d, deadline(d), &d->info, err, errlen);
	if (rc) {
		device_close(d);
		return rc;
	}
	while (1U << d->block_shift < d->info.block_size)
		d->block_shift++;
	d->protect = (struct protect){ .type = (uint8_t)d->info.protection, .own = attr->protect,
				       .shift = d->block_shift };
	device_reset_slots(d);
	*out = d;
	return 0;
}

void device_close(struct device *d)
{
	falcon_close(d->f);
	for (int i = 0; i < SLOTS; i++)
		sem_destroy(&d->slots[i].wake);
	pthread_cond_destroy(&d->returned);
	pthread_cond_destroy(&d->left);
	pthread_cond_destroy(&d->freed);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* Attach to the next agent, which may come in a while. 0 or an errno value. */
static int attach_again(struct device *d)
{
	uint64_t until = deadline(d);
	struct falcon_nvme_info info;
	char err[256];
	int rc;

	for (;; pause_some()) {
		falcon_close(d->f);
		d->f = NULL;
		rc = attach(d, until, &info, err, sizeof(err));
		if (!rc && (info.bytes < d->info.bytes || info.block_size != d->info.block_size ||
			    info.nsid != d->info.nsid || info.protection != d->info.protection)) {
			snprintf(err, sizeof(err), "it is not what it was");
			rc = ENODEV;
		}
		if (!rc || rc == ENODEV || clock_ns() >= until)
			break;
	}
	if (rc)
		d->attr.complain(d->attr.name, err);
	return rc;
}

/* With the lock, which is given up: the first that comes looks for the next agent, others wait for it. */
static void return_once(struct device *d)
{
	int rc;

	if (d->returning) {
		while (d->returning)
			pthread_cond_wait(&d->returned, &d->lock);
		return;
	}
	d->returning = true;
	while (d->users)
		pthread_cond_wait(&d->left, &d->lock);
	pthread_mutex_unlock(&d->lock);
	rc = attach_again(d);
	pthread_mutex_lock(&d->lock);
	d->returning = false;
	d->failed = rc;
	if (!rc) {
		d->dead = 0;
		device_reset_slots(d);
	}
	pthread_cond_broadcast(&d->returned);
}

int device_enter(struct device *d)
{
	int rc = 0;

	pthread_mutex_lock(&d->lock);
	if (d->dead) {
		return_once(d);
		rc = d->dead ? d->failed : 0;
	}
	d->users += !rc;
	pthread_mutex_unlock(&d->lock);
	return rc;
}

bool device_leave(struct device *d)
{
	bool gone;

	pthread_mutex_lock(&d->lock);
	gone = d->dead;
	if (--d->users == 0 && gone)
		pthread_cond_signal(&d->left);
	pthread_mutex_unlock(&d->lock);
	return gone;
}
