/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FALCON_SIM_SOAK_H
#define FALCON_SIM_SOAK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Run the schedules of |n| seeds from |seed| on, with |first| no further than the
 * first violation, and print the last line. The exit status.
 */
int soak(uint64_t n, uint64_t seed, bool first);

#endif /* FALCON_SIM_SOAK_H */
