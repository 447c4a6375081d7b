/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture of frames for tools/dissector/falcon_rifl.lua, which says what a packet has before its frame. */
#ifndef FALCON_RIFL_CAPTURE_H
#define FALCON_RIFL_CAPTURE_H

#include "rifl/frame.h"

#include <stdio.h>

struct capture {
	const char *path;
	FILE *file;
};

/* Begin the capture |path|. Returns false having said why. */
bool capture_open(struct capture *c, const char *path);

/*
 * Add |f|, of |bits| bits, that the end |from| has sent on lane |lane| with IDs of |id_bits| bits, and that
 * has arrived at |now|. What cannot be written is told at the end.
 */
void capture_frame(struct capture *c, uint64_t now, uint32_t from, uint32_t lane, uint32_t id_bits,
		   const struct rifl_frame *f, uint32_t bits);

/* End it. Returns false having said why if anything could not be written. */
bool capture_close(struct capture *c);

#endif /* FALCON_RIFL_CAPTURE_H */
