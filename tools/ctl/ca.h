/* SPDX-License-Identifier: BSD-2-Clause */
/* falconctl ca: its commands (ca.c), and certificates by OpenSSL (x509.c). */
#ifndef FALCON_TOOLS_CTL_CA_H
#define FALCON_TOOLS_CTL_CA_H

#include <jansson.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define CA_DEFAULT_DIR "/etc/falcon/ca"

enum ca_const {
	CA_DIR_MAX = 200,		/* bytes of a directory's name */
	CA_PATH_MAX = 288,
	CA_HOST_MAX = 64,		/* bytes of a host's name, with the final 0 */
	CA_SERIAL_MAX = 65,		/* bytes of a serial number in hexadecimal */
	CA_DAYS_DEFAULT = 825,		/* that a host's certificate is valid */
	CA_DAYS_MAX = 7300,		/* that the authority's is */
};

/* Commands; they return an enum ctl_exit. */
int ctl_ca_init(int argc, char **argv);
int ctl_ca_issue(int argc, char **argv);
int ctl_ca_revoke(int argc, char **argv);
/* What was issued, an array of objects. */
json_t *ctl_ca_rows(const char *dir);

/* A key and the certificate for it. */
struct ca_pair {
	EVP_PKEY *key;
	X509 *cert;
};

/* All return false if it fails; ca_error() tells why. */
bool ca_make_authority(struct ca_pair *p, long days);
/* |san| is a subjectAltName as OpenSSL's configuration has it; |serial| has CA_SERIAL_MAX bytes. */
bool ca_make_host(struct ca_pair *p, const struct ca_pair *ca, const char *host, const char *san,
		  long days, char *serial);
bool ca_load(struct ca_pair *p, const char *key, const char *cert);
void ca_free(struct ca_pair *p);
const char *ca_error(void);

/* |what| is a struct ca_pair, of which the one or the other half is written, or a struct ca_crl. */
bool ca_write_key(FILE *f, const void *what);
bool ca_write_cert(FILE *f, const void *what);
bool ca_write_crl(FILE *f, const void *what);

/* A revocation list in the making; NULL is an empty one that cannot be signed. */
struct ca_crl;
struct ca_crl *ca_crl_new(const struct ca_pair *ca);
void ca_crl_add(struct ca_crl *crl, const char *serial, time_t when);
bool ca_crl_sign(struct ca_crl *crl, const struct ca_pair *ca);
void ca_crl_free(struct ca_crl *crl);

#endif /* FALCON_TOOLS_CTL_CA_H */
