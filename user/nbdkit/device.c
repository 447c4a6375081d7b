// SPDX-License-Identifier: BSD-2-Clause
#include "nbdkit/device.h"

#include <endian.h>
#include <errno.h>
#include <nvme/types.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "falcon/falcon.h"
#include "falcon/nvme_api.h"
#include "base/spin.h"
#include "nbdkit/protect.h"

enum {
	SLOTS = 64,		/* commands at a time */
	WINDOW = 16,		/* of them, one call's */
	POLL_MS = 1000,
	DSM_AD = 4,		/* attribute Deallocate */
	DEAC = 1 << 25,		/* of Write Zeroes: may deallocate */
	ATYPE_ALLOCATED = 2,	/* Get LBA Status: blocks that take up room */
	LIST = 4096,		/* bytes of its list */
	LISTS = 16,		/* asked for in one call */
	METADATA = FALCON_NVME_MDTS / 512 * sizeof(struct nvme_pi),	/* bytes of a slot's */
};
#define SLOT_BYTES (FALCON_NVME_MDTS + METADATA)
#define RANGE_BLOCKS (1U << 30)		/* of a trim in one command */

/* A command's place; its data, and metadata, are at the slot's part of the arena. */
struct slot {
	struct slot *next;	/* free list */
	sem_t wake;		/* of the thread that waits, if |waited|: it is done, or it leads now */
	bool waited;		/* |wake| is to be posted, once; with the lock */
	bool leads;		/* was made the leader before |wake| was posted */
	bool done;		/* set last, with the lock; read without */
	bool checked;		/* metadata go with the data */
	uint16_t status;
};

/*
 * Of the threads that wait for a command one is the leader, which looks after the completions of all,
 * until its own command has ended. Data are copied without the lock.
 */
struct device {
	struct falcon *f;
	struct falcon_nvme_info info;
	unsigned int block_shift;
	struct protect protect;
	pthread_mutex_t lock;	/* of everything below, and of |f| */
	pthread_cond_t freed;	/* a slot has become free */
	bool led;		/* there is a leader */
	struct spin spin;	/* the leader's */
	int dead;		/* errno: the agent is gone */
	struct slot *free;
	struct slot slots[SLOTS];
};

static int wait_ready(struct device *d, const char *name, unsigned int timeout_s, char *err,
		      size_t errlen)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int rc;

	for (unsigned int i = 0;; i++) {
		rc = falcon_nvme_info(d->f, name, &d->info);
		if (!rc && d->info.ready)
			return 0;
		snprintf(err, errlen, "%s%s", rc ? "" : "not reached: ", falcon_error(d->f));
		if (rc || i >= timeout_s * 50)
			return rc ? -rc : ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
}

int device_open(const char *socket, const char *name, unsigned int timeout_s, bool protect,
		struct device **out, char *err, size_t errlen)
{
	const struct falcon_attr attr = { .socket = socket,
					  .arena_size = SLOTS * (uint64_t)SLOT_BYTES };
	struct device *d = calloc(1, sizeof(*d));
	int rc;

	if (!d) {
		snprintf(err, errlen, "out of memory");
		return ENOMEM;
	}
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->freed, NULL);
	for (int i = 0; i < SLOTS; i++)
		sem_init(&d->slots[i].wake, 0, 0);
	rc = -falcon_nvme_open(&attr, name, &d->f);
	if (rc)
		snprintf(err, errlen, "%s", falcon_error(NULL));
	else
		rc = wait_ready(d, name, timeout_s, err, errlen);
	if (rc) {
		device_close(d);
		return rc;
	}
	while (1U << d->block_shift < d->info.block_size)
		d->block_shift++;
	d->protect = (struct protect){ .type = (uint8_t)d->info.protection, .own = protect,
				       .shift = d->block_shift };
	for (int i = 0; i < SLOTS; i++) {
		d->slots[i].next = d->free;
		d->free = &d->slots[i];
	}
	*out = d;
	return 0;
}

void device_close(struct device *d)
{
	falcon_close(d->f);
	for (int i = 0; i < SLOTS; i++)
		sem_destroy(&d->slots[i].wake);
	pthread_cond_destroy(&d->freed);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

uint64_t device_bytes(const struct device *d)
{
	return d->info.bytes;
}

uint32_t device_block(const struct device *d)
{
	return d->info.block_size;
}

bool device_read_only(const struct device *d)
{
	return d->info.read_only;
}

static uint8_t *data_of(struct device *d, const struct slot *s)
{
	return (uint8_t *)falcon_arena(d->f) + (s - d->slots) * SLOT_BYTES;
}

static struct nvme_pi *metadata_of(struct device *d, const struct slot *s)
{
	return (struct nvme_pi *)(data_of(d, s) + FALCON_NVME_MDTS);
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

/* NULL: there is none, and |wait| is not wanted, or the agent is gone. */
static struct slot *get_slot(struct device *d, bool wait)
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

static void put_slot(struct device *d, struct slot *s)
{
	pthread_mutex_lock(&d->lock);
	s->next = d->free;
	d->free = s;
	pthread_cond_signal(&d->freed);
	pthread_mutex_unlock(&d->lock);
}

/* 0 or an errno value, after which |s| counts as ended. */
static int submit(struct device *d, struct slot *s, struct falcon_nvme_sqe *sqe)
{
	int rc;

	sqe->cid = htole16((uint16_t)(s - d->slots));
	sqe->nsid = htole32(d->info.nsid);
	sqe->prp1 = htole64((uint64_t)(data_of(d, s) - (uint8_t *)falcon_arena(d->f)));
	pthread_mutex_lock(&d->lock);
	rc = -falcon_nvme_submit(d->f, sqe);
	s->done = rc != 0;
	falcon_flush(d->f);
	pthread_mutex_unlock(&d->lock);
	return rc;
}

/* Wait for |s|, whose data stay until put_slot(). Its errno value; after the agent's end, the agent's. */
static int finish(struct device *d, struct slot *s)
{
	wait_for(d, s);
	return falcon_load(&s->done) ? errno_of(s->status) : falcon_load(&d->dead);
}

struct transfer {
	uint8_t opcode;
	bool fua, deallocate;
	uint64_t max;		/* bytes of a command */
	uint8_t *in;		/* read: where to */
	const uint8_t *out;	/* write: where from */
};

/* One command of |t| for |len| bytes at |offset|; |at|: bytes into the call's buffer. */
static int start(struct device *d, const struct transfer *t, struct slot *s, uint64_t at,
		 uint64_t len, uint64_t offset)
{
	uint64_t lba = offset >> d->block_shift;
	struct falcon_nvme_sqe sqe = {
		.opcode = t->opcode,
		.qid = htole32(1),
		.cdw10 = htole32((uint32_t)lba),
		.cdw11 = htole32((uint32_t)(lba >> 32)),
		.cdw12 = htole32((uint32_t)((len >> d->block_shift) - 1) |
				 (uint32_t)t->fua << 30 | (t->deallocate ? DEAC : 0)),
	};
	const struct nvme_dsm_range range = { .nlb = htole32((uint32_t)(len >> d->block_shift)),
					      .slba = htole64(lba) };

	if (t->out)
		memcpy(data_of(d, s), t->out + at, len);
	protect_command(&d->protect, &sqe);
	s->checked = protect_has_metadata(&d->protect, &sqe);
	if (s->checked)
		sqe.mptr = htole64((uint64_t)((uint8_t *)metadata_of(d, s) -
					      (uint8_t *)falcon_arena(d->f)));
	if (s->checked && t->out)
		protect_make(&d->protect, lba, t->out + at, len, metadata_of(d, s));
	if (t->opcode == nvme_cmd_dsm) {
		memcpy(data_of(d, s), &range, sizeof(range));
		sqe.cdw10 = sqe.cdw12 = 0;
		sqe.cdw11 = htole32(DSM_AD);
	}
	return submit(d, s, &sqe);
}

/* What |s| has read, to where it is wanted. An errno value if it is not what was written. */
static int take(struct device *d, const struct slot *s, uint8_t *to, uint64_t len, uint64_t offset)
{
	memcpy(to, data_of(d, s), len);
	return !s->checked || protect_check(&d->protect, offset >> d->block_shift, to, len,
					    metadata_of(d, s)) ? 0 : EIO;
}

/* |len| bytes at |offset|, in commands of at most |t->max|, several at a time. */
static int run(struct device *d, const struct transfer *t, uint64_t len, uint64_t offset)
{
	struct slot *window[WINDOW];
	uint64_t sizes[WINDOW], begun = 0, ended = 0;
	unsigned int head = 0, n = 0;
	int rc = 0, one;

	if ((offset | len) & (d->info.block_size - 1))
		return EINVAL;
	while (n || (begun < len && !rc)) {
		struct slot *s = NULL;

		if (begun < len && !rc && n < WINDOW)
			s = get_slot(d, n == 0);
		if (s) {
			unsigned int i = (head + n) % WINDOW;

			sizes[i] = len - begun < t->max ? len - begun : t->max;
			window[i] = s;
			rc = start(d, t, s, begun, sizes[i], offset + begun);
			begun += sizes[i];
			n++;
			continue;
		}
		if (!n)
			break;
		s = window[head];
		one = finish(d, s);
		if (!one && t->in && !rc)
			one = take(d, s, t->in + ended, sizes[head], offset + ended);
		put_slot(d, s);
		rc = rc ? rc : one;
		ended += sizes[head];
		head = (head + 1) % WINDOW;
		n--;
	}
	return rc ? rc : falcon_load(&d->dead);
}

int device_read(struct device *d, void *buf, uint64_t len, uint64_t offset)
{
	const struct transfer t = { .opcode = nvme_cmd_read, .max = FALCON_NVME_MDTS, .in = buf };

	return run(d, &t, len, offset);
}

int device_write(struct device *d, const void *buf, uint64_t len, uint64_t offset, bool fua)
{
	const struct transfer t = { .opcode = nvme_cmd_write, .max = FALCON_NVME_MDTS, .out = buf,
				    .fua = fua };

	return run(d, &t, len, offset);
}

int device_zero(struct device *d, uint64_t len, uint64_t offset, bool trim, bool fua)
{
	const struct transfer t = { .opcode = nvme_cmd_write_zeroes, .fua = fua, .deallocate = trim,
				    .max = (uint64_t)65536 << d->block_shift };

	return run(d, &t, len, offset);
}

int device_trim(struct device *d, uint64_t len, uint64_t offset, bool fua)
{
	const struct transfer t = { .opcode = nvme_cmd_dsm,
				    .max = (uint64_t)RANGE_BLOCKS << d->block_shift };
	int rc = run(d, &t, len, offset);

	return rc || !fua ? rc : device_flush(d);
}

/* One command by itself; what it brings, at most |len| bytes, goes to |out|. */
static int run_one(struct device *d, struct falcon_nvme_sqe *sqe, void *out, size_t len)
{
	struct slot *s = get_slot(d, true);
	int rc, one;

	if (!s)
		return falcon_load(&d->dead);
	rc = submit(d, s, sqe);
	one = finish(d, s);
	rc = rc ? rc : one;
	if (!rc && len)
		memcpy(out, data_of(d, s), len);
	put_slot(d, s);
	return rc;
}

int device_flush(struct device *d)
{
	struct falcon_nvme_sqe sqe = { .opcode = nvme_cmd_flush, .qid = htole32(1) };

	return run_one(d, &sqe, NULL, 0);
}

/* A list of blocks that are allocated, in order, from |lba| on; *|end|: how far it goes. */
static int get_list(struct device *d, uint64_t lba, uint64_t *end, struct nvme_lba_status *list)
{
	uint64_t n = *end - lba < UINT16_MAX ? *end - lba : UINT16_MAX;
	struct falcon_nvme_sqe sqe = {
		.opcode = nvme_admin_get_lba_status, .cdw10 = htole32((uint32_t)lba),
		.cdw11 = htole32((uint32_t)(lba >> 32)), .cdw12 = htole32(LIST / 4 - 1),
		.cdw13 = htole32((uint32_t)n | (uint32_t)ATYPE_ALLOCATED << 24),
	};
	uint32_t entries, room = (LIST - sizeof(*list)) / sizeof(list->descs[0]);
	int rc = run_one(d, &sqe, list, LIST);

	if (rc)
		return rc;
	entries = le32toh(list->nlsd) < room ? le32toh(list->nlsd) : room;
	list->nlsd = htole32(entries);
	*end = lba + n;
	/* It had room for no more. */
	if (list->cmpc == 1 && entries)
		*end = le64toh(list->descs[entries - 1].dslba) +
		       le32toh(list->descs[entries - 1].nlb);
	return 0;
}

int device_extents(struct device *d, uint64_t len, uint64_t offset,
		   int (*tell)(void *arg, uint64_t offset, uint64_t len, bool allocated), void *arg)
{
	unsigned int shift = d->block_shift;
	uint64_t at = offset >> shift, last = (offset + len - 1) >> shift, end;
	struct nvme_lba_status *list = malloc(LIST);
	int rc = list ? 0 : ENOMEM;

	for (int i = 0; i < LISTS && at <= last && !rc; i++) {
		end = last + 1;
		rc = get_list(d, at, &end, list);
		for (uint32_t k = 0; !rc && k < le32toh(list->nlsd); k++) {
			uint64_t from = le64toh(list->descs[k].dslba);
			uint32_t n = le32toh(list->descs[k].nlb);

			if (from > at)
				rc = tell(arg, at << shift, (from - at) << shift, false);
			if (!rc && n)
				rc = tell(arg, from << shift, (uint64_t)n << shift, true);
			at = from + n;
		}
		if (!rc && at < end)
			rc = tell(arg, at << shift, (end - at) << shift, false);
		at = end;
	}
	free(list);
	return rc;
}
