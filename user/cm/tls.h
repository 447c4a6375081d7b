/* SPDX-License-Identifier: BSD-2-Clause */
/* TLS 1.3 as channels use it: what is loaded, what is asked of a peer, and who it turns out to be. */
#ifndef FALCON_CM_TLS_H
#define FALCON_CM_TLS_H

#include <openssl/ssl.h>

#include "base/addr.h"
#include "cm/chan.h"

enum tls_const {
	TLS_PATH_MAX = 256,
	TLS_PSK_MIN = 32,	/* bytes of a pre-shared key */
	TLS_PSK_MAX = 64,
	TLS_PSKS_MAX = 4096,	/* lines of the file */
};

/* A pre-shared key: of the peer at an address, or of all others. */
struct tls_psk {
	int family;		/* AF_UNSPEC: of all others */
	struct falcon_addr addr;
	uint8_t key[TLS_PSK_MAX];
	size_t len;
};

/* When a file was loaded, to notice that it has changed. */
struct tls_stamp {
	int64_t mtime_ns;
	uint64_t ino, size;
};

enum { TLS_FILES = 5 };

struct tls {
	SSL_CTX *ctx;		/* NULL: nothing is configured */
	char path[TLS_FILES][TLS_PATH_MAX];	/* certificate, key, CA, CRL, PSKs; "": none */
	struct tls_stamp stamp[TLS_FILES];
	struct tls_psk *psks;
	unsigned int npsks;
};

/* The two ends of a TCP connection, for the checks that need them. */
struct tls_ends {
	int family;
	struct falcon_addr local;
	struct falcon_addr peer;
};

/* Load what |cfg| names. 0, or -EINVAL or another negative errno with a sentence in |err|. */
int tls_open(struct tls *t, const struct chan_config *cfg, char *err, size_t errlen);
void tls_close(struct tls *t);

/*
 * Load the files anew if one has changed, or in any case if |all|. Returns 1 if so, 0 if not, or a negative
 * errno with a sentence in |err|, in which case what was loaded before stays in force.
 */
int tls_refresh(struct tls *t, bool all, char *err, size_t errlen);

/* A connection on |fd|; |ends| must stay where it is. NULL if memory is short. */
SSL *tls_connection(struct tls *t, int fd, bool server, const struct tls_ends *ends);

/* After the handshake: who the peer is. False, with a reason, if it is nobody we talk to. */
bool tls_identify(SSL *ssl, const struct tls_ends *ends, struct chan_identity *who, char *reason);

/* Whether the peer's certificate would be accepted now. True if it had none (PSK). */
bool tls_still_valid(const struct tls *t, SSL *ssl, char *reason);

/*
 * Why |ssl| failed, its call having returned |ret|, perhaps in the handshake; |reason| has
 * CHAN_REASON_MAX bytes. Empty: the peer has ended it in good order.
 */
void tls_reason(SSL *ssl, int ret, bool handshake, char *reason);

/* tls_psk.c: read |path| into |t|. */
int tls_load_psks(struct tls *t, const char *path, char *err, size_t errlen);
void tls_wipe_psks(struct tls *t);
/* tls_psk.c: have |ctx| use the keys of |t|. */
void tls_use_psks(SSL_CTX *ctx);
/* tls.c: 0 if nobody but its owner can read |path|; else -EACCES or another error, and |err|. */
int tls_check_secret(const char *path, char *err, size_t errlen);
/* tls.c: what |ssl| was made with. */
const struct tls *tls_of(SSL *ssl);
const struct tls_ends *tls_ends_of(SSL *ssl);

#endif /* FALCON_CM_TLS_H */
