/* SPDX-License-Identifier: BSD-2-Clause */
/* Files as frames, and how fast frames are made. */
#ifndef FALCON_RIFL_CODEC_H
#define FALCON_RIFL_CODEC_H

#include <stdint.h>

struct codec_options {
	uint32_t frame_bits;
	uint32_t id_bits;
	const char *in, *out;	/* files; "-" is standard input or output */
};

/* The file |in| as one packet of frames with the IDs from 0 on, into |out|. An exit status. */
int codec_encode(const struct codec_options *o);

/* The user data of the frames in |in| into |out|. Complains of frames that are not good. An exit status. */
int codec_decode(const struct codec_options *o);

/* Print how fast one core encodes and decodes. An exit status. */
int bench(void);

#endif /* FALCON_RIFL_CODEC_H */
