/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-256-XTS (IEEE 1619) over data units of 512 bytes, for what is stored (NVMe 6.7). A unit's number
 * is its tweak, 16 bytes, little-endian.
 */
#ifndef FALCON_CRYPTO_XTS_H
#define FALCON_CRYPTO_XTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xts_const {
	XTS_KEY = 64,		/* bytes: both keys */
	XTS_UNIT = 512,
	XTS_TAIL = 8,		/* protection information that goes with a unit */
};

struct xts;

/* For |key|, XTS_KEY bytes whose halves differ; it is not needed afterwards. NULL: refused. */
struct xts *xts_new(const uint8_t *key);
void xts_free(struct xts *x);

/*
 * Encrypt or decrypt |len| bytes, a multiple of XTS_UNIT, from |in| to |out|, which may be the same;
 * the first unit has number |unit|. The last unit is longer by the XTS_TAIL bytes at |tail|, which are
 * changed in place; NULL: it is like the others. False: the library has failed, |out| is undefined.
 */
bool xts_crypt(struct xts *x, bool encrypt, uint64_t unit, const void *in, void *out, size_t len,
	       void *tail);

/*
 * Read a key from |path|: 128 hexadecimal digits, blanks and line ends between them allowed, in a file
 * that only its owner may read. 0, or -errno with a sentence in |err|.
 */
int xts_read_key(const char *path, uint8_t *key, char *err, size_t errlen);

#endif /* FALCON_CRYPTO_XTS_H */
