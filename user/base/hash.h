/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uthash as this agent uses it: without memory an element is not added, and its handle's |tbl| is
 * NULL; nothing exits.
 */
#ifndef FALCON_BASE_HASH_H
#define FALCON_BASE_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif /* FALCON_BASE_HASH_H */
