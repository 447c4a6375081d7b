// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pre-shared keys for TLS 1.3, always with an ephemeral key exchange beside them.
 *
 * A line of the file is "ADDRESS KEY" or "* KEY", the key in hexadecimal; the first line that fits
 * the peer's address counts. On the wire the connecting end names its own address, and the other
 * takes it only from there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/tls.h"

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *p = c ? strchr(digits, c | 0x20) : NULL;

	return p ? (int)(p - digits) : -1;
}

static bool parse_key(const char *hex, struct tls_psk *psk)
{
	size_t n = strlen(hex);

	if (n % 2 || n < 2 * TLS_PSK_MIN || n > 2 * TLS_PSK_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		int d = hex_digit(hex[i]);

		if (d < 0)
			return false;
		psk->key[i / 2] = (uint8_t)(psk->key[i / 2] << 4 | d);
	}
	psk->len = n / 2;
	return true;
}

static bool parse_line(char *line, struct tls_psk *psk)
{
	char *save, *who = strtok_r(line, " \t\r\n", &save);
	char *key = strtok_r(NULL, " \t\r\n", &save);

	*psk = (struct tls_psk){.family = AF_UNSPEC};
	if (!who || !key || strtok_r(NULL, " \t\r\n", &save))
		return false;
	if (inet_pton(AF_INET, who, psk->addr.b) == 1)
		psk->family = AF_INET;
	else if (inet_pton(AF_INET6, who, psk->addr.b) == 1)
		psk->family = AF_INET6;
	else if (strcmp(who, "*") != 0)
		return false;
	return parse_key(key, psk);
}

void tls_wipe_psks(struct tls *t)
{
	if (t->psks)
		OPENSSL_cleanse(t->psks, t->npsks * sizeof(*t->psks));
	free(t->psks);
	t->psks = NULL;
	t->npsks = 0;
}

/* Append |psk|; the array grows at powers of two, and is wiped where it was. */
static bool append(struct tls *into, const struct tls_psk *psk)
{
	struct tls_psk *bigger;

	if (into->npsks == TLS_PSKS_MAX)
		return false;
	if ((into->npsks & (into->npsks - 1)) == 0) {
		bigger = calloc(into->npsks ? 2UL * into->npsks : 1, sizeof(*bigger));
		if (!bigger)
			return false;
		if (into->psks) {
			memcpy(bigger, into->psks, into->npsks * sizeof(*bigger));
			OPENSSL_cleanse(into->psks, into->npsks * sizeof(*bigger));
			free(into->psks);
		}
		into->psks = bigger;
	}
	into->psks[into->npsks++] = *psk;
	return true;
}

static int read_lines(FILE *f, struct tls *into, const char *path, char *err, size_t errlen)
{
	char line[256];
	struct tls_psk psk;
	int ret = 0;

	for (unsigned int n = 1; ret == 0 && fgets(line, sizeof(line), f); n++) {
		if (line[strspn(line, " \t\r\n")] == 0 || line[0] == '#')
			continue;
		if (!parse_line(line, &psk) || !append(into, &psk)) {
			snprintf(err, errlen, "%s:%u: a line is ADDRESS KEY or * KEY, the key of %d "
				 "to %d bytes in hexadecimal", path, n, TLS_PSK_MIN, TLS_PSK_MAX);
			ret = -EINVAL;
		}
	}
	OPENSSL_cleanse(line, sizeof(line));
	OPENSSL_cleanse(&psk, sizeof(psk));
	if (ret == 0 && into->npsks == 0) {
		snprintf(err, errlen, "%s holds no key", path);
		ret = -EINVAL;
	}
	return ret;
}

int tls_load_psks(struct tls *t, const char *path, char *err, size_t errlen)
{
	int ret = tls_check_secret(path, err, errlen);
	struct tls fresh = {0};
	FILE *f;

	if (ret)
		return ret;
	f = fopen(path, "re");
	if (!f) {
		ret = -errno;
		snprintf(err, errlen, "%s: %s", path, strerror(-ret));
		return ret;
	}
	setvbuf(f, NULL, _IONBF, 0);
	ret = read_lines(f, &fresh, path, err, errlen);
	fclose(f);
	if (ret) {
		tls_wipe_psks(&fresh);
		return ret;
	}
	tls_wipe_psks(t);
	t->psks = fresh.psks;
	t->npsks = fresh.npsks;
	return 0;
}

static const struct tls_psk *find(const struct tls *t, const struct tls_ends *ends)
{
	for (unsigned int i = 0; i < t->npsks; i++) {
		const struct tls_psk *p = &t->psks[i];

		if (p->family == AF_UNSPEC ||
		    (p->family == ends->family && falcon_addr_equal(&p->addr, &ends->peer)))
			return p;
	}
	return NULL;
}

/* The key as TLS wants it: a session that never was. */
static SSL_SESSION *session_of(SSL *ssl, const struct tls_psk *psk)
{
	static const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
	SSL_SESSION *sess = SSL_SESSION_new();

	if (sess && cipher && SSL_SESSION_set1_master_key(sess, psk->key, psk->len) == 1 &&
	    SSL_SESSION_set_cipher(sess, cipher) == 1 &&
	    SSL_SESSION_set_protocol_version(sess, TLS1_3_VERSION) == 1)
		return sess;
	SSL_SESSION_free(sess);
	return NULL;
}

/* Client: the identity is kept where it lives as long as the handshake. */
static int use_session(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *idlen,
		       SSL_SESSION **sess)
{
	static _Thread_local char name[INET6_ADDRSTRLEN];
	const struct tls_ends *ends = tls_ends_of(ssl);
	const struct tls_psk *psk = find(tls_of(ssl), ends);

	*sess = NULL;
	if (!psk || (md && EVP_MD_get_type(md) != NID_sha256))
		return 1;
	inet_ntop(ends->family, ends->local.b, name, sizeof(name));
	*id = (const unsigned char *)name;
	*idlen = strlen(name);
	*sess = session_of(ssl, psk);
	return *sess != NULL;
}

static int find_session(SSL *ssl, const unsigned char *id, size_t idlen, SSL_SESSION **sess)
{
	const struct tls_ends *ends = tls_ends_of(ssl);
	const struct tls_psk *psk = find(tls_of(ssl), ends);
	char name[INET6_ADDRSTRLEN];

	*sess = NULL;
	inet_ntop(ends->family, ends->peer.b, name, sizeof(name));
	if (!psk || idlen != strlen(name) || memcmp(id, name, idlen) != 0)
		return 1;
	*sess = session_of(ssl, psk);
	return *sess != NULL;
}

void tls_use_psks(SSL_CTX *ctx)
{
	SSL_CTX_set_psk_use_session_callback(ctx, use_session);
	SSL_CTX_set_psk_find_session_callback(ctx, find_session);
}
