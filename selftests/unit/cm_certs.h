/* SPDX-License-Identifier: BSD-2-Clause */
/* Files for tests of TLS: certificates good and bad, revocation lists, keys; in a directory. */
#ifndef FALCON_SELFTESTS_CM_CERTS_H
#define FALCON_SELFTESTS_CM_CERTS_H

#include "cm_env.h"

#include <openssl/pem.h>
#include <sys/stat.h>

#include "../../tools/ctl/ca.h"

enum { CERT_PATH = 2 * UNIT_PATH };

static char cert_dir[UNIT_PATH];

static inline void certs_begin(void)
{
	assert_non_null(mkdtemp(unit_template(cert_dir, "falcon-cm")));
}

static inline void certs_end(void)
{
	char command[CERT_PATH];

	snprintf(command, sizeof(command), "rm -r %s", cert_dir);
	assert_int_equal(system(command), 0);
}

/* The path of |name| in the directory; good for the next eight calls. */
static inline const char *cert_path(const char *name)
{
	static char paths[8][CERT_PATH];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, CERT_PATH, "%s/%s", cert_dir, name);
	return path;
}

/* Replaced as a whole, as an operator would. */
static inline void cert_put(const char *name, mode_t mode, bool (*write)(FILE *f, const void *what),
			    const void *what)
{
	char temp[CERT_PATH];
	FILE *f;

	snprintf(temp, sizeof(temp), "%s/new", cert_dir);
	f = fopen(temp, "w");
	assert_non_null(f);
	assert_int_equal(fchmod(fileno(f), mode), 0);
	assert_true(write(f, what));
	fclose(f);
	assert_int_equal(rename(temp, cert_path(name)), 0);
}

static inline bool put_text(FILE *f, const void *text)
{
	return fputs(text, f) >= 0;
}

/* The list of |ca| with |serial| on it, unless that is NULL. */
static inline void cert_crl(const char *name, const struct ca_pair *ca, const char *serial)
{
	struct ca_crl *crl = ca_crl_new(ca);

	if (serial)
		ca_crl_add(crl, serial, time(NULL));
	assert_true(ca_crl_sign(crl, ca));
	cert_put(name, 0644, ca_write_crl, crl);
	ca_crl_free(crl);
}

static inline void cert_host(const char *name, const struct ca_pair *ca, const char *san, long days,
			     char *serial)
{
	char path[CERT_PATH / 2], scratch[CA_SERIAL_MAX];
	struct ca_pair host;

	assert_true(ca_make_host(&host, ca, name, san, days, serial ? serial : scratch));
	snprintf(path, sizeof(path), "%s.key", name);
	cert_put(path, 0600, ca_write_key, &host);
	snprintf(path, sizeof(path), "%s.crt", name);
	cert_put(path, 0644, ca_write_cert, &host);
	ca_free(&host);
}

/* What |name| is configured with. The strings live as long as the test. */
static inline struct chan_config cert_config(const char *name, const char *ca, const char *crl)
{
	char path[CERT_PATH / 2];
	struct chan_config c = {.ca = strdup(cert_path(ca)), .crl = strdup(crl ? cert_path(crl) : "")};

	snprintf(path, sizeof(path), "%s.crt", name);
	c.cert = strdup(cert_path(path));
	snprintf(path, sizeof(path), "%s.key", name);
	c.key = strdup(cert_path(path));
	return c;
}

static inline void cert_config_free(struct chan_config *c)
{
	free((char *)c->cert);
	free((char *)c->key);
	free((char *)c->ca);
	free((char *)c->crl);
	free((char *)c->psk_file);
	*c = (struct chan_config){0};
}

#endif /* FALCON_SELFTESTS_CM_CERTS_H */
