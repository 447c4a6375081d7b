/* SPDX-License-Identifier: BSD-2-Clause */
/* falcon-cp: what its parts share. */
#ifndef FALCON_TOOLS_CP_H
#define FALCON_TOOLS_CP_H

#include <stdbool.h>
#include <stdint.h>

#include "../common/app.h"
#include "file.h"
#include "proto.h"
#include "../common/mailbox.h"

/* What to do, from the command line. */
struct cp_config {
	bool json;
	uint16_t service;	/* served, or at the far end */
	uint64_t timeout;	/* seconds without progress that are too many */
	const char *dir;	/* server: what to serve */
	bool upload;		/* client: to the far end, not from it */
	char conn[64];		/* client: the connection's name */
	char remote[CP_TEXT_MAX + 1];	/* client: the name at the far end */
	char local[PATH_MAX];	/* client: the file here */
};

/* Split "HOST:NAME" into |cfg|'s fields: no slash before the colon. False: it is a local path. */
bool cp_split_remote(const char *arg, struct cp_config *cfg);
/*
 * Complete a target that names a directory (|dst| empty or ending in '/') with the last part of
 * |src|. False if the result does not fit |dst_size| bytes or |src| has no last part.
 */
bool cp_complete_name(char *dst, size_t dst_size, const char *src);

/* A sentence for an errno value of cp_source_*() and cp_sink_*(). */
const char *cp_strerror(int rc);

/* Show how far a copy is, if standard error is a terminal; at most ten times a second. */
void cp_progress(const char *name, uint64_t done, uint64_t size, uint64_t begin);
/* Remove what cp_progress() drew. */
void cp_progress_end(void);
/* Print what was copied, on the standard output. */
void cp_report(const struct cp_config *cfg, uint64_t bytes, uint64_t ns,
	       const uint8_t digest[CP_DIGEST]);

/* Serve until told to stop, and across restarts of the agent. The exit status. */
int cp_serve(const struct cp_config *cfg);
/* Copy. The exit status; what went wrong has been said. */
int cp_client(const struct cp_config *cfg);

#endif /* FALCON_TOOLS_CP_H */
