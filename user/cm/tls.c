// SPDX-License-Identifier: BSD-2-Clause
/*
 * TLS 1.3 by OpenSSL, both ends authenticated: by certificates of one CA, or by a pre-shared key.
 *
 * Sessions are not resumed, so that every connection is checked against the CA and the revocation
 * list of the day. A peer must be entitled to the address that it speaks from, by an IP address in
 * its certificate; the manager may accept a name instead.
 */
#include "cm/tls.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum tls_file { FILE_CERT, FILE_KEY, FILE_CA, FILE_CRL, FILE_PSK };

static const uint8_t alpn[] = {11, 'f', 'a', 'l', 'c', 'o', 'n', '-', 'c', 'm', '/', '4'};

/* What SSL objects carry: the struct tls and the ends of their connection. */
static int tls_index = -1, ends_index = -1;

static const char *last_error(void)
{
	unsigned long e = ERR_peek_last_error();
	const char *text = e ? ERR_reason_error_string(e) : NULL;

	return text ? text : "unknown error";
}

static int fail(char *err, size_t errlen, const char *what, const char *path)
{
	snprintf(err, errlen, "%s %s: %s", what, path, last_error());
	ERR_clear_error();
	return -EINVAL;
}

int tls_check_secret(const char *path, char *err, size_t errlen)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		int ret = -errno;

		snprintf(err, errlen, "%s: %s", path, strerror(-ret));
		return ret;
	}
	if (st.st_mode & (S_IRWXG | S_IRWXO)) {
		snprintf(err, errlen, "%s is open to others than its owner; chmod 600 it", path);
		return -EACCES;
	}
	return 0;
}

static int load_own(struct tls *t, SSL_CTX *ctx, char *err, size_t errlen)
{
	int ret = tls_check_secret(t->path[FILE_KEY], err, errlen);

	if (ret)
		return ret;
	if (SSL_CTX_use_certificate_chain_file(ctx, t->path[FILE_CERT]) != 1)
		return fail(err, errlen, "tls_cert", t->path[FILE_CERT]);
	if (SSL_CTX_use_PrivateKey_file(ctx, t->path[FILE_KEY], SSL_FILETYPE_PEM) != 1)
		return fail(err, errlen, "tls_key", t->path[FILE_KEY]);
	if (SSL_CTX_check_private_key(ctx) != 1)
		return fail(err, errlen, "tls_key does not belong to the certificate:",
			    t->path[FILE_KEY]);
	return 0;
}

static int load_trust(struct tls *t, SSL_CTX *ctx, char *err, size_t errlen)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);

	if (SSL_CTX_load_verify_file(ctx, t->path[FILE_CA]) != 1)
		return fail(err, errlen, "tls_ca", t->path[FILE_CA]);
	if (t->path[FILE_CRL][0]) {
		X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());

		if (!lookup ||
		    X509_load_crl_file(lookup, t->path[FILE_CRL], X509_FILETYPE_PEM) < 1)
			return fail(err, errlen, "tls_crl", t->path[FILE_CRL]);
		X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
	}
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return 0;
}

/* Server: the peer must mean this protocol, and no other that may share the certificates. */
static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
		       const unsigned char *in, unsigned int inlen, void *arg)
{
	(void)ssl, (void)arg;
	if (SSL_select_next_proto((unsigned char **)out, outlen, alpn, sizeof(alpn), in, inlen) ==
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_OK;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* OpenSSL would ask on the terminal, and wait. */
static int no_password(char *buf, int size, int rwflag, void *arg)
{
	(void)buf, (void)size, (void)rwflag, (void)arg;
	return -1;
}

static SSL_CTX *new_context(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_method());

	if (!ctx)
		return NULL;
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify_depth(ctx, 4);
	SSL_CTX_set_default_passwd_cb(ctx, no_password);
	SSL_CTX_set_alpn_select_cb(ctx, choose_alpn, NULL);
	if (SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
	    SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) == 1 &&
	    SSL_CTX_set_num_tickets(ctx, 0) == 1 &&
	    SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
					  "TLS_CHACHA20_POLY1305_SHA256") == 1 &&
	    SSL_CTX_set1_groups_list(ctx, "X25519:P-256") == 1 &&
	    SSL_CTX_set_alpn_protos(ctx, alpn, sizeof(alpn)) == 0)
		return ctx;
	SSL_CTX_free(ctx);
	return NULL;
}

static struct tls_stamp stamp_of(const char *path)
{
	struct tls_stamp s = {0};
	struct stat st;

	if (path[0] && stat(path, &st) == 0) {
		s.mtime_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
		s.ino = st.st_ino;
		s.size = (uint64_t)st.st_size;
	}
	return s;
}

static int load(struct tls *t, char *err, size_t errlen)
{
	SSL_CTX *ctx = new_context();
	int ret;

	if (!ctx)
		return fail(err, errlen, "cannot start", "TLS");
	for (int i = 0; i < TLS_FILES; i++)
		t->stamp[i] = stamp_of(t->path[i]);
	if (t->path[FILE_PSK][0]) {
		ret = tls_load_psks(t, t->path[FILE_PSK], err, errlen);
		tls_use_psks(ctx);
	} else {
		ret = load_own(t, ctx, err, errlen);
		if (ret == 0)
			ret = load_trust(t, ctx, err, errlen);
	}
	if (ret) {
		SSL_CTX_free(ctx);
		return ret;
	}
	SSL_CTX_free(t->ctx);
	t->ctx = ctx;
	return 0;
}

static int check_config(const struct tls *t, char *err, size_t errlen)
{
	bool certs = t->path[FILE_CERT][0] || t->path[FILE_KEY][0] || t->path[FILE_CA][0];

	if (certs && t->path[FILE_PSK][0]) {
		snprintf(err, errlen, "psk_file and tls_cert exclude each other");
		return -EINVAL;
	}
	if (certs && !(t->path[FILE_CERT][0] && t->path[FILE_KEY][0] && t->path[FILE_CA][0])) {
		snprintf(err, errlen, "tls_cert, tls_key and tls_ca go together");
		return -EINVAL;
	}
	if (!certs && t->path[FILE_CRL][0]) {
		snprintf(err, errlen, "tls_crl goes with tls_ca");
		return -EINVAL;
	}
	return 0;
}

int tls_open(struct tls *t, const struct chan_config *cfg, char *err, size_t errlen)
{
	const char *paths[TLS_FILES] = {cfg->cert, cfg->key, cfg->ca, cfg->crl, cfg->psk_file};
	int ret;

	*t = (struct tls){0};
	if (tls_index < 0) {
		tls_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
		ends_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
	}
	for (int i = 0; i < TLS_FILES; i++)
		snprintf(t->path[i], TLS_PATH_MAX, "%s", paths[i] ? paths[i] : "");
	ret = check_config(t, err, errlen);
	if (ret || (!t->path[FILE_CERT][0] && !t->path[FILE_PSK][0]))
		return ret;
	return load(t, err, errlen);
}

void tls_close(struct tls *t)
{
	SSL_CTX_free(t->ctx);
	t->ctx = NULL;
	tls_wipe_psks(t);
}

int tls_refresh(struct tls *t, bool all, char *err, size_t errlen)
{
	bool changed = all;
	int ret;

	for (int i = 0; i < TLS_FILES && !changed; i++) {
		struct tls_stamp now = stamp_of(t->path[i]);

		changed = memcmp(&now, &t->stamp[i], sizeof(now)) != 0;
	}
	if (!changed)
		return 0;
	ret = load(t, err, errlen);
	return ret ? ret : 1;
}

const struct tls *tls_of(SSL *ssl)
{
	return SSL_get_ex_data(ssl, tls_index);
}

const struct tls_ends *tls_ends_of(SSL *ssl)
{
	return SSL_get_ex_data(ssl, ends_index);
}

SSL *tls_connection(struct tls *t, int fd, bool server, const struct tls_ends *ends)
{
	SSL *ssl = SSL_new(t->ctx);

	if (!ssl)
		return NULL;
	if (SSL_set_fd(ssl, fd) != 1 || SSL_set_ex_data(ssl, tls_index, t) != 1 ||
	    SSL_set_ex_data(ssl, ends_index, (void *)ends) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	if (server)
		SSL_set_accept_state(ssl);
	else
		SSL_set_connect_state(ssl);
	return ssl;
}

/* Letters, digits, '.', '-' and '_': what a host's name is made of, and safe in every log. */
static bool plain_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]) && (!text[i] || !strchr(".-_", text[i])))
			return false;
	}
	return len > 0 && len < CHAN_NAME_MAX;
}

/* Names that fit and are what they seem; the others do not count. */
static void take_names(X509 *cert, struct chan_identity *who)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);

	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
		const GENERAL_NAME *n = sk_GENERAL_NAME_value(names, i);
		const char *text;
		size_t len;

		if (n->type != GEN_DNS || who->nnames == CHAN_NAMES_MAX)
			continue;
		text = (const char *)ASN1_STRING_get0_data(n->d.dNSName);
		len = (size_t)ASN1_STRING_length(n->d.dNSName);
		if (!plain_name(text, len))
			continue;
		memcpy(who->names[who->nnames], text, len);
		who->names[who->nnames++][len] = 0;
	}
	GENERAL_NAMES_free(names);
}

static bool means_our_protocol(SSL *ssl)
{
	const unsigned char *got;
	unsigned int len;

	SSL_get0_alpn_selected(ssl, &got, &len);
	return len == sizeof(alpn) - 1 && memcmp(got, alpn + 1, len) == 0;
}

bool tls_identify(SSL *ssl, const struct tls_ends *ends, struct chan_identity *who, char *reason)
{
	size_t addr_len = ends->family == AF_INET6 ? 16 : 4;
	X509 *cert = SSL_get0_peer_certificate(ssl);

	*who = (struct chan_identity){.authenticated = true};
	if (!means_our_protocol(ssl)) {
		snprintf(reason, CHAN_REASON_MAX, "peer speaks another protocol");
		return false;
	}
	if (tls_of(ssl)->npsks) {
		/* With a key and without a certificate this is an external PSK, found by address. */
		who->of_address = SSL_session_reused(ssl) == 1;
		who->nnames = 1;
		inet_ntop(ends->family, ends->peer.b, who->names[0], CHAN_NAME_MAX);
		if (!who->of_address)
			snprintf(reason, CHAN_REASON_MAX, "peer has not used a pre-shared key");
		return who->of_address;
	}
	if (!cert || SSL_get_verify_result(ssl) != X509_V_OK) {
		snprintf(reason, CHAN_REASON_MAX, "peer has shown no certificate");
		return false;
	}
	who->of_address = X509_check_ip(cert, ends->peer.b, addr_len, 0) == 1;
	take_names(cert, who);
	return true;
}

bool tls_still_valid(const struct tls *t, SSL *ssl, char *reason)
{
	X509 *cert = SSL_get0_peer_certificate(ssl);
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	bool ok = false;

	if (!cert) {
		X509_STORE_CTX_free(check);
		return true;
	}
	if (check && X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(t->ctx), cert,
					 SSL_get_peer_cert_chain(ssl)) == 1) {
		ok = X509_verify_cert(check) == 1;
		snprintf(reason, CHAN_REASON_MAX, "peer's certificate: %s",
			 X509_verify_cert_error_string(X509_STORE_CTX_get_error(check)));
	}
	X509_STORE_CTX_free(check);
	ERR_clear_error();
	return ok;
}

/* A caller that only looks who listens. */
static bool said_nothing(SSL *ssl)
{
	return SSL_is_server(ssl) && BIO_number_read(SSL_get_rbio(ssl)) == 0;
}

void tls_reason(SSL *ssl, int ret, bool handshake, char *reason)
{
	int saved = errno, what = SSL_get_error(ssl, ret);
	long verify = SSL_get_verify_result(ssl);
	unsigned long e = ERR_peek_last_error();

	if (verify != X509_V_OK)
		snprintf(reason, CHAN_REASON_MAX, "peer's certificate: %s",
			 X509_verify_cert_error_string(verify));
	else if (what == SSL_ERROR_ZERO_RETURN)
		reason[0] = 0;
	else if (ERR_GET_REASON(e) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		snprintf(reason, CHAN_REASON_MAX, "%s",
			 !handshake	   ? "cut off without TLS's close_notify"
			 : said_nothing(ssl) ? "it hung up without a word, as falconctl doctor does"
					     : "peer's agent breaks the TLS handshake off; is it plain?");
	else if (what == SSL_ERROR_SYSCALL)
		snprintf(reason, CHAN_REASON_MAX, "connection lost: %s", strerror(saved));
	else
		snprintf(reason, CHAN_REASON_MAX, "TLS: %s", last_error());
	ERR_clear_error();
}
