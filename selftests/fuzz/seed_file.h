/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a first corpus. */
#ifndef FALCON_FUZZ_SEED_FILE_H
#define FALCON_FUZZ_SEED_FILE_H

#include <stddef.h>

/* Write |len| bytes of |data| to DIR/KIND/seed-N, or end the program. */
void seed_write(const char *dir, const char *kind, unsigned int n, const void *data, size_t len);

/* seeds_cp.c: write DIR/fuzz_cp/. */
void cp_seeds(const char *dir);
/* seeds_emulator.c: write DIR/fuzz_emulator/. */
void emulator_seeds(const char *dir);
/* seeds_tenants.c: write DIR/fuzz_tenants/. */
void tenants_seeds(const char *dir);

#endif /* FALCON_FUZZ_SEED_FILE_H */
