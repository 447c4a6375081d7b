/* SPDX-License-Identifier: BSD-2-Clause */
/* falcon-psp: PSP against vectors of other implementations. What its files share. */
#ifndef FALCON_PSP_TOOL_H
#define FALCON_PSP_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "crypto/encap.h"
#include "crypto/kdf.h"

/* A line of JSON; |value| is given away. */
void print_json(json_t *value);

enum {
	ERROR_LEN = 256,	/* room for the reason of a failure */
	FRAME_MAX = 14 + 40 + 65535,
	PACKETS_MAX = 1000000,
};

/* What an encrypt.cfg or decrypt.cfg says. */
struct psp_config {
	struct psp_master_keys masters;
	/* Of encrypt.cfg alone: */
	uint32_t spi;
	uint8_t version;
	struct psp_encap encap;
};

/*
 * Read the reference tool's format from |in|: words between blanks. A decrypt.cfg has the master
 * keys only. Besides the reference's algorithms, aes-gmac-128 and -256 are known. Returns 0, or -1
 * with the line and the reason in |err| of ERROR_LEN bytes.
 */
int config_read(FILE *in, bool encrypt, struct psp_config *c, char *err);

/* What a case.json says; -1 where it does not. */
struct psp_case {
	bool forced_bit_error;
	uint64_t first_iv;
	long cleartext_packets, encrypted_packets, skipped_packets;
	unsigned int derived_key_len;	/* 0: not given */
	uint8_t derived_key[PSP_KEY_MAX];
};

/* Read a case.json. Returns 0, or -1 with the reason in |err|. */
int case_read(FILE *in, struct psp_case *c, char *err);

struct packet {
	uint8_t *data;
	uint32_t len;
};

/* The packets of a capture, in memory. */
struct capture {
	struct packet *packets;
	size_t n;
};

/*
 * Read a whole capture of Ethernet frames, which |in| is closed with. Returns 0, or -1 with the
 * packet and the reason in |err|; then |c| is empty.
 */
int capture_read(FILE *in, struct capture *c, char *err);

void capture_free(struct capture *c);

struct vector_options {
	unsigned long show;	/* print so many mismatches */
	bool json;
};

/*
 * Replay the cases in the folder |path|, or the case that it is. Returns the exit status: 0, 1 if
 * anything differs or is malformed, 2 if there are no cases.
 */
int vectors(const char *path, const struct vector_options *o);

/* Check a CSV of derived keys, likewise. */
int kdf_vectors(const char *path, const struct vector_options *o);

/* The same from an open stream |in| that |name| stands for; counts into |*n| and |*bad|. */
int kdf_check(FILE *in, const char *name, unsigned long show, unsigned long *n, unsigned long *bad);

/*
 * Open what the keys in |keys|, exported by falconctl, open of the capture |in|, and write all of it to
 * |out|. Returns the exit status: 0, or 2 after a message.
 */
int decrypt(const char *in, const char *out, const char *keys);

/* Rates of sealing and opening, |seconds| a point. Returns the exit status. */
int bench(double seconds, bool json);

#endif /* FALCON_PSP_TOOL_H */
