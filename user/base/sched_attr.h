/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_setattr(2), for what glibc before 2.41 has no call: linux/sched/types.h, which has the structure,
 * conflicts with sched.h.
 */
#ifndef FALCON_BASE_SCHED_ATTR_H
#define FALCON_BASE_SCHED_ATTR_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SCHED_ATTR_RESET_ON_FORK 0x01
/* The time slices, ns, that kernels from 6.12 on give a thread of SCHED_OTHER that asks for them. */
#define SCHED_ATTR_SLICE_MIN (100ULL * 1000)
#define SCHED_ATTR_SLICE_MAX (100ULL * 1000 * 1000)

struct sched_attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;	/* ns; of SCHED_OTHER the first is the time slice */
};

/* Of the calling thread; |a->size| is set here. 0, or a negative errno. */
static inline int sched_set_attributes(struct sched_attributes *a)
{
	a->size = sizeof(*a);
	return syscall(SYS_sched_setattr, 0, a, 0) < 0 ? -errno : 0;
}

static inline int sched_get_attributes(struct sched_attributes *a)
{
	return syscall(SYS_sched_getattr, 0, a, sizeof(*a), 0) < 0 ? -errno : 0;
}

#endif /* FALCON_BASE_SCHED_ATTR_H */
