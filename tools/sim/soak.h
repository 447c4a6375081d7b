/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FALCON_SIM_SOAK_H
#define FALCON_SIM_SOAK_H

#include <stdint.h>

/* Run the schedules of |n| seeds from |seed| on and print the last line. The exit status. */
int soak(uint64_t n, uint64_t seed);

#endif /* FALCON_SIM_SOAK_H */
