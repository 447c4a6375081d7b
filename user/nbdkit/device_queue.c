// SPDX-License-Identifier: BSD-2-Clause
/* Commands under way: slots, submissions, and who looks after completions. */
#include <errno.h>
#include <nvme/types.h>
#include <poll.h>

#include "nbdkit/device_priv.h"

enum { POLL_MS = 1000 };

uint8_t *device_data(struct device *d, const struct slot *s)
{
	return (uint8_t *)falcon_arena(d->f) + (s - d->slots) * SLOT_BYTES;
}

struct nvme_pi *device_metadata(struct device *d, const struct slot *s)
{
	return (struct nvme_pi *)(device_data(d, s) + FALCON_NVME_MDTS);
}

void device_reset_slots(struct device *d)
{
	d->free = NULL;
	for (int i = 0; i < SLOTS; i++) {
		d->slots[i].next = d->free;
		d->free = &d->slots[i];
	}
}

uint64_t device_offset(struct device *d, const void *p)
{
	return (uint64_t)((const uint8_t *)p - (uint8_t *)falcon_arena(d->f));
}

static int errno_of(uint16_t status)
{
	switch (status & 0x7ff) {
	case NVME_SC_SUCCESS: return 0;
	case NVME_SC_CAP_EXCEEDED: return ENOSPC;
	case NVME_SC_LBA_RANGE: return EINVAL;
	case NVME_SC_NS_WRITE_PROTECTED: return EROFS;
	case NVME_SC_INVALID_OPCODE: return EOPNOTSUPP;
	default: return EIO;
	}
}

/* Threads to be woken once the lock is free, so that they do not run into it. */
struct wakes {
	unsigned int n;
	struct slot *slots[SLOTS];
};

static void wake_later(struct wakes *w, struct slot *s)
{
	if (!s->waited)
		return;
	s->waited = false;
	w->slots[w->n++] = s;
}

static void unlock_and_wake(struct device *d, struct wakes *w)
{
	pthread_mutex_unlock(&d->lock);
	for (unsigned int i = 0; i < w->n; i++)
		sem_post(&w->slots[i]->wake);
	w->n = 0;
}

static void take_completions(struct device *d, struct wakes *w)
{
	struct falcon_nvme_cqe cqes[SLOTS];
	int n = falcon_nvme_poll(d->f, cqes, SLOTS);

	if (n < 0)
		falcon_store(&d->dead, -n);
	for (int i = 0; i < n; i++) {
		struct slot *s = &d->slots[le16toh(cqes[i].cid) % SLOTS];

		s->status = le16toh(cqes[i].status) >> 1;
		falcon_store(&s->done, true);
		wake_later(w, s);
	}
}

/* With the lock: one of those who wait leads from now on; all hear of it if it is over. */
static void hand_over(struct device *d, struct wakes *w)
{
	d->led = false;
	for (int i = 0; i < SLOTS && !d->led; i++) {
		if (!d->slots[i].waited)
			continue;
		d->slots[i].leads = d->led = !d->dead;
		wake_later(w, &d->slots[i]);
	}
	if (d->dead)
		pthread_cond_broadcast(&d->freed);
}

/* With the lock, which is given up now and then: take completions until |s| has ended. */
static void lead(struct device *d, struct slot *s, struct wakes *w)
{
	struct pollfd pfd = { .fd = falcon_fd(d->f), .events = POLLIN };
	uint64_t since = spin_clock(), now = since;

	for (;;) {
		take_completions(d, w);
		if (s->done || d->dead)
			return;
		unlock_and_wake(d, w);
		if (!spin_once(&d->spin, since, now)) {
			int rc;

			pthread_mutex_lock(&d->lock);
			if (falcon_arm(d->f))
				continue;
			pthread_mutex_unlock(&d->lock);
			since = spin_clock();
			rc = poll(&pfd, 1, POLL_MS);
			now = spin_clock();
			spin_slept(&d->spin, now - since, rc > 0);
			since = now;
		} else {
			now = spin_clock();
		}
		pthread_mutex_lock(&d->lock);
	}
}

/* Until |s| has ended, or the agent has. */
static void wait_for(struct device *d, struct slot *s)
{
	struct wakes w = { 0 };

	if (falcon_load(&s->done))
		return;
	pthread_mutex_lock(&d->lock);
	if (d->led && !s->done && !d->dead) {
		s->waited = true;
		pthread_mutex_unlock(&d->lock);
		while (sem_wait(&s->wake))
			;
		if (!s->leads)
			return;
		s->leads = false;
		pthread_mutex_lock(&d->lock);
	} else if (s->done || d->dead) {
		pthread_mutex_unlock(&d->lock);
		return;
	}
	d->led = true;
	lead(d, s, &w);
	hand_over(d, &w);
	unlock_and_wake(d, &w);
}

struct slot *device_get_slot(struct device *d, bool wait)
{
	struct slot *s;

	pthread_mutex_lock(&d->lock);
	/* Those who have the slots are looking after completions. */
	while (!d->free && wait && !d->dead)
		pthread_cond_wait(&d->freed, &d->lock);
	s = d->dead ? NULL : d->free;
	if (s) {
		d->free = s->next;
		s->done = false;
		s->status = 0;
	}
	pthread_mutex_unlock(&d->lock);
	return s;
}

void device_put_slot(struct device *d, struct slot *s)
{
	pthread_mutex_lock(&d->lock);
	s->next = d->free;
	d->free = s;
	pthread_cond_signal(&d->freed);
	pthread_mutex_unlock(&d->lock);
}

int device_submit(struct device *d, struct slot *s, struct falcon_nvme_sqe *sqe)
{
	int rc;

	sqe->cid = htole16((uint16_t)(s - d->slots));
	sqe->nsid = htole32(d->info.nsid);
	sqe->prp1 = htole64(device_offset(d, device_data(d, s)));
	pthread_mutex_lock(&d->lock);
	rc = -falcon_nvme_submit(d->f, sqe);
	s->done = rc != 0;
	if (rc == EPIPE)
		falcon_store(&d->dead, rc);
	falcon_flush(d->f);
	pthread_mutex_unlock(&d->lock);
	return rc;
}

int device_finish(struct device *d, struct slot *s)
{
	wait_for(d, s);
	return falcon_load(&s->done) ? errno_of(s->status) : falcon_load(&d->dead);
}
