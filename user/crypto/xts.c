// SPDX-License-Identifier: BSD-2-Clause
#include "crypto/xts.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"

enum { FILE_MAX = 512, TWEAK = 16 };

struct xts {
	EVP_CIPHER_CTX *dir[2];		/* decrypt, encrypt */
};

struct xts *xts_new(const uint8_t *key)
{
	struct xts *x = calloc(1, sizeof(*x));
	bool ok = x != NULL;

	for (int enc = 0; ok && enc < 2; enc++) {
		x->dir[enc] = EVP_CIPHER_CTX_new();
		ok = x->dir[enc] && EVP_CipherInit_ex(x->dir[enc], EVP_aes_256_xts(), NULL, key,
						      NULL, enc) == 1;
	}
	if (ok)
		return x;
	xts_free(x);
	return NULL;
}

void xts_free(struct xts *x)
{
	if (!x)
		return;
	EVP_CIPHER_CTX_free(x->dir[0]);
	EVP_CIPHER_CTX_free(x->dir[1]);
	free(x);
}

static bool crypt_unit(EVP_CIPHER_CTX *ctx, bool encrypt, uint64_t unit, const void *in, void *out,
		       int len)
{
	uint8_t tweak[TWEAK] = {};
	uint64_t le = htole64(unit);
	int n;

	memcpy(tweak, &le, sizeof(le));
	return EVP_CipherInit_ex(ctx, NULL, NULL, NULL, tweak, encrypt) == 1 &&
	       EVP_CipherUpdate(ctx, out, &n, in, len) == 1;
}

bool xts_crypt(struct xts *x, bool encrypt, uint64_t unit, const void *in, void *out, size_t len,
	       void *tail)
{
	uint8_t last[XTS_UNIT + XTS_TAIL], *to = out;
	const uint8_t *from = in;
	size_t at = 0;

	for (; at + (tail ? XTS_UNIT : 0) < len; at += XTS_UNIT, unit++)
		if (!crypt_unit(x->dir[encrypt], encrypt, unit, from + at, to + at, XTS_UNIT))
			return false;
	if (!tail)
		return true;
	/* Ciphertext stealing works on one piece. */
	memcpy(last, from + at, XTS_UNIT);
	memcpy(last + XTS_UNIT, tail, XTS_TAIL);
	if (!crypt_unit(x->dir[encrypt], encrypt, unit, last, last, sizeof(last)))
		return false;
	memcpy(to + at, last, XTS_UNIT);
	memcpy(tail, last + XTS_UNIT, XTS_TAIL);
	return true;
}

int xts_read_key(const char *path, uint8_t *key, char *err, size_t errlen)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	char text[FILE_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || (n = read(fd, text, sizeof(text))) < 0) {
		rc = -errno;
		snprintf(err, errlen, "%s: %s", path, strerror(errno));
	} else if (st.st_mode & 077) {
		rc = -EPERM;
		snprintf(err, errlen, "%s: others may read this key; chmod 600", path);
	} else if (!hex_read(text, (size_t)n, " \t\r\n\v\f", key, XTS_KEY) ||
		   !memcmp(key, key + XTS_KEY / 2, XTS_KEY / 2)) {
		rc = -EINVAL;
		snprintf(err, errlen, "%s: not 128 hexadecimal digits, the halves different: "
			 "openssl rand -hex 64", path);
	}
	OPENSSL_cleanse(text, sizeof(text));
	if (fd >= 0)
		close(fd);
	return rc;
}
