/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ends, A and B, with certificates of one authority: what most tests of TLS begin with. */
#ifndef FALCON_SELFTESTS_CM_STAGE_H
#define FALCON_SELFTESTS_CM_STAGE_H

#include "cm_certs.h"

#define A "127.0.0.1"
#define B "127.0.0.2"

static struct end a, b;
static struct ca_pair ca;

/* Neither end is open yet; their certificates are for their addresses and the names a and b. */
static inline void stage_begin(void)
{
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	certs_begin();
	assert_true(ca_make_authority(&ca, 30));
	cert_put("ca", 0644, ca_write_cert, &ca);
	cert_host("a", &ca, "DNS:a,IP:" A, 30, NULL);
	cert_host("b", &ca, "DNS:b,IP:" B, 30, NULL);
	a.chan = cert_config("a", "ca", NULL);
	b.chan = cert_config("b", "ca", NULL);
}

/* Close both and remove all files; a cmocka teardown. */
static inline int stage_end(void **state)
{
	(void)state;
	cm_close(a.cm);
	cm_close(b.cm);
	cert_config_free(&a.chan);
	cert_config_free(&b.chan);
	ca_free(&ca);
	certs_end();
	return 0;
}

/* In place of its certificate |e| uses the keys in file |name|, which gets |line|. */
static inline void stage_psk(struct end *e, const char *name, const char *line)
{
	cert_put(name, 0600, put_text, line);
	cert_config_free(&e->chan);
	e->chan.psk_file = strdup(cert_path(name));
}

#endif /* FALCON_SELFTESTS_CM_STAGE_H */
