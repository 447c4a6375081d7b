/* SPDX-License-Identifier: BSD-2-Clause */
/* A device's own structures, shared by its source files. */
#ifndef FALCON_NBDKIT_DEVICE_PRIV_H
#define FALCON_NBDKIT_DEVICE_PRIV_H

#include <endian.h>
#include <pthread.h>
#include <semaphore.h>

#include "falcon/falcon.h"
#include "falcon/nvme_api.h"
#include "base/pi.h"
#include "base/spin.h"
#include "nbdkit/device.h"
#include "nbdkit/protect.h"

enum {
	SLOTS = 64,		/* commands at a time */
	METADATA = FALCON_NVME_MDTS / 512 * sizeof(struct nvme_pi),	/* bytes of a slot's */
};
#define SLOT_BYTES (FALCON_NVME_MDTS + METADATA)

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
 * until its own command has ended. Data are copied without the lock. If the agent goes, all threads leave
 * (device_leave()); the first that comes back waits until the last has left, and attaches to the next one.
 */
struct device {
	struct device_attr attr;
	struct falcon *f;	/* NULL: the agent has gone, and there is no other yet */
	struct falcon_nvme_info info;	/* stays as it was when it was opened */
	unsigned int block_shift;
	struct protect protect;
	pthread_mutex_t lock;	/* of everything below, and of |f| */
	pthread_cond_t freed;	/* a slot has become free */
	pthread_cond_t left;	/* |dead|: the last user has left */
	pthread_cond_t returned;	/* |returning| is over */
	unsigned int users;	/* threads between device_enter() and device_leave() */
	bool returning;		/* a thread attaches to the next agent */
	int failed;		/* errno of the last attempt */
	bool led;		/* there is a leader */
	struct spin spin;	/* the leader's */
	int dead;		/* errno: the agent is gone */
	struct slot *free;
	struct slot slots[SLOTS];
};

/* device_link.c: the agent, and the next one. */

/*
 * Before anything below: waits for the next agent if the last has gone. 0, or an errno value if none has come
 * within the device's timeout, or its device is another.
 */
int device_enter(struct device *d);
/* Afterwards. True: the agent has gone meanwhile; what has failed is to be tried again. */
bool device_leave(struct device *d);

/* device_queue.c: commands under way. */

/* All slots are free. */
void device_reset_slots(struct device *d);
/* NULL: there is none, and |wait| is not wanted, or the agent is gone. */
struct slot *device_get_slot(struct device *d, bool wait);
void device_put_slot(struct device *d, struct slot *s);
/* Of |s|, in the arena. */
uint8_t *device_data(struct device *d, const struct slot *s);
struct nvme_pi *device_metadata(struct device *d, const struct slot *s);
/* Its offset there, as entries have it. */
uint64_t device_offset(struct device *d, const void *p);
/* 0 or an errno value, after which |s| counts as ended. */
int device_submit(struct device *d, struct slot *s, struct falcon_nvme_sqe *sqe);
/* Wait for |s|, whose data stay until device_put_slot(). Its errno value, or that of the agent's end. */
int device_finish(struct device *d, struct slot *s);

#endif /* FALCON_NBDKIT_DEVICE_PRIV_H */
