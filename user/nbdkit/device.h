/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An NVMe device of the agent's for many threads at once: each calls, and sleeps until its commands
 * have ended. One of the waiting threads looks after the completions of all.
 */
#ifndef FALCON_NBDKIT_DEVICE_H
#define FALCON_NBDKIT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device;

struct device_attr {
	const char *socket;		/* of the agent; NULL: the default */
	const char *name;		/* of the device */
	unsigned int timeout_s;		/* to reach its targets; for the next agent to come */
	bool protect;			/* its protection information is made and checked here */
	/* Before attaching: has the agent make the device, unless it has it. NULL: that is not needed. */
	int (*make)(void *arg, char *err, size_t errlen);
	/* Of the device |name|, while no call can return it. */
	void (*complain)(const char *name, const char *sentence);
	void *arg;			/* make()'s */
};

/*
 * Attach to a device of the agent's and wait until its targets have been reached. What |attr| refers to
 * stays. 0, or an errno value with a sentence in |err|.
 *
 * If the agent goes, calls wait for the next one and do again what had not ended.
 */
int device_open(const struct device_attr *attr, struct device **out, char *err, size_t errlen);
void device_close(struct device *d);

uint64_t device_bytes(const struct device *d);
uint32_t device_block(const struct device *d);
bool device_read_only(const struct device *d);

/* Each returns 0 or an errno value. |offset| and |len| are multiples of the block, or EINVAL. */
int device_read(struct device *d, void *buf, uint64_t len, uint64_t offset);
int device_write(struct device *d, const void *buf, uint64_t len, uint64_t offset, bool fua);
/* |trim|: room on the medium need not be kept. */
int device_zero(struct device *d, uint64_t len, uint64_t offset, bool trim, bool fua);
int device_trim(struct device *d, uint64_t len, uint64_t offset, bool fua);
int device_flush(struct device *d);

/*
 * What of |len| bytes at |offset| takes up room on the medium, perhaps only for a part of them: tell()
 * is called for one extent after the other, without gaps; the rest reads as zeros. EOPNOTSUPP: the
 * device does not say.
 */
int device_extents(struct device *d, uint64_t len, uint64_t offset,
		   int (*tell)(void *arg, uint64_t offset, uint64_t len, bool allocated), void *arg);

#endif /* FALCON_NBDKIT_DEVICE_H */
