/* SPDX-License-Identifier: BSD-2-Clause */
/* The version that every program of this tree reports. */
#ifndef FALCON_BASE_VERSION_H
#define FALCON_BASE_VERSION_H

#define FALCON_VERSION_STRING "0.1.0"

#endif /* FALCON_BASE_VERSION_H */
