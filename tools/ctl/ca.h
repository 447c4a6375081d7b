/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * falconctl ca: an authority's commands (ca.c), what a host gets of it in one file (ca_bundle.c), files
 * (ca_files.c), and certificates by OpenSSL (x509.c).
 */
#ifndef FALCON_TOOLS_CTL_CA_H
#define FALCON_TOOLS_CTL_CA_H

#include <jansson.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#define CA_DEFAULT_DIR "/etc/falcon/ca"
#define CA_INSTALL_DIR "/etc/falcon"

enum ca_const {
	CA_DIR_MAX = 200,		/* bytes of a directory's name */
	CA_PATH_MAX = 288,
	CA_HOST_MAX = 64,		/* bytes of a host's name, with the final 0 */
	CA_SERIAL_MAX = 65,		/* bytes of a serial number in hexadecimal */
	CA_DAYS_DEFAULT = 825,		/* that a host's certificate is valid */
	CA_DAYS_MAX = 7300,		/* that the authority's is */
};

/* Actions of "falconctl ca" (ctl.h). */
struct options;
struct object;
int ctl_ca_init(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_ca_issue(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_ca_revoke(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_ca_bundle(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_ca_install(const struct options *o, const struct object *obj, int argc, char **argv);
/* What was issued, an array of objects. */
json_t *ctl_ca_rows(const char *dir);

/* ca.c: whether |name| can be a host's. */
bool ca_host_valid(const char *name);

/* ca_files.c: say what went wrong, of what, and why. CTL_FAILED. */
int ca_complain(const char *what, const char *of, const char *why);
/* |dir|/|name||suffix| to |path|, |size| bytes of room. */
void ca_path(char *path, size_t size, const char *dir, const char *name, const char *suffix);
/* No other process changes the directory until the descriptor is closed; -1 after a message. */
int ca_lock(const char *dir);
/* As mkdir -p: |mode| is of the last part, its parents may be read by all. 0 or a negative errno. */
int ca_make_dir(const char *dir, mode_t mode);
/* Write |what| to |path|, which is made anew. An enum ctl_exit, after a message. */
int ca_put_file(const char *path, mode_t mode, bool (*write)(FILE *f, const void *what), const void *what);

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
struct ca_crl {
	X509_CRL *crl;
};

struct ca_crl *ca_crl_new(const struct ca_pair *ca);
void ca_crl_add(struct ca_crl *crl, const char *serial, time_t when);
bool ca_crl_sign(struct ca_crl *crl, const struct ca_pair *ca);
void ca_crl_free(struct ca_crl *crl);

/* What a host gets of its authority (x509_bundle.c). */
struct ca_bundle {
	struct ca_pair host;		/* NULL, as the rest: there is none */
	struct ca_pair ca;		/* without its key */
	struct ca_crl crl;
};

/* ca_bundle.c: write |dir|/|host|.pem from what the authority in |dir| has. An enum ctl_exit. */
int ca_bundle_make(const char *dir, const char *host);

/* Add what is in |f|, PEM, to |b|. NULL, or what is wrong with it. */
const char *ca_bundle_read(struct ca_bundle *b, FILE *f);
/* What keeps a host from working with |b|: a list alone, with its authority, is fine. NULL: nothing. */
const char *ca_bundle_wrong(const struct ca_bundle *b);
/* Whether |installed| has a later list of the same authority. */
bool ca_bundle_older(const struct ca_bundle *b, const struct ca_bundle *installed);
void ca_bundle_free(struct ca_bundle *b);
/* |what| is a struct ca_bundle, of which all is written. */
bool ca_bundle_write(FILE *f, const void *what);

#endif /* FALCON_TOOLS_CTL_CA_H */
