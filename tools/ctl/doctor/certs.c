// SPDX-License-Identifier: BSD-2-Clause
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cm/tls.h"
#include "doctor.h"

#define NEW_CERTIFICATE \
	"where the authority is: falconctl ca issue HOST ADDRESS ..., ca bundle HOST; here: ca install FILE"

enum { SOON_DAYS = 30, DAY_S = 86400 };

static X509 *read_cert(const char *path)
{
	FILE *f = fopen(path, "re");
	X509 *cert = f ? PEM_read_X509(f, NULL, NULL, NULL) : NULL;

	if (f)
		fclose(f);
	return cert;
}

/* A date of a certificate, for people. */
static const char *date(const ASN1_TIME *t, char *text, size_t size)
{
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm) != 1 || !strftime(text, size, "%F", &tm))
		snprintf(text, size, "?");
	return text;
}

static void check_dates(struct doctor *d, const char *path, const X509 *cert)
{
	const ASN1_TIME *from = X509_get0_notBefore(cert), *to = X509_get0_notAfter(cert);
	time_t now = time(NULL);
	char text[32];

	if (ASN1_TIME_cmp_time_t(from, now) > 0) {
		doctor_say(d, DOCTOR_FAIL, "certificate", "%s is not valid before %s", path,
			   date(from, text, sizeof(text)));
		doctor_advise(d, "set this host's clock, or that of the host that has issued it");
	} else if (ASN1_TIME_cmp_time_t(to, now) < 0) {
		doctor_say(d, DOCTOR_FAIL, "certificate", "%s has expired on %s", path,
			   date(to, text, sizeof(text)));
		doctor_advise(d, NEW_CERTIFICATE);
	} else if (ASN1_TIME_cmp_time_t(to, now + SOON_DAYS * (time_t)DAY_S) < 0) {
		doctor_say(d, DOCTOR_WARN, "certificate", "%s expires on %s", path,
			   date(to, text, sizeof(text)));
		doctor_advise(d, NEW_CERTIFICATE);
	} else {
		doctor_say(d, DOCTOR_OK, "certificate", "%s, valid to %s", path,
			   date(to, text, sizeof(text)));
	}
}

/* Whether peers that have the same authority and revocation list will believe |cert|. */
static void check_trust(struct doctor *d, struct tls *t, X509 *cert)
{
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	int why = X509_V_ERR_OUT_OF_MEM;

	if (ctx && X509_STORE_CTX_init(ctx, SSL_CTX_get_cert_store(t->ctx), cert, NULL) == 1) {
		X509_verify_cert(ctx);
		why = X509_STORE_CTX_get_error(ctx);
	}
	X509_STORE_CTX_free(ctx);
	/* Dates have had their finding. */
	if (why == X509_V_OK || why == X509_V_ERR_CERT_HAS_EXPIRED || why == X509_V_ERR_CERT_NOT_YET_VALID)
		return;
	doctor_say(d, DOCTOR_FAIL, "certificate", "peers will refuse %s: %s", d->config.agent.tls_cert,
		   X509_verify_cert_error_string(why));
	if (why == X509_V_ERR_CERT_REVOKED)
		doctor_advise(d, "falconctl ca issue HOST ADDRESS ... makes another");
	else if (why == X509_V_ERR_CRL_HAS_EXPIRED)
		doctor_advise(d, "copy the authority's present crl.pem to %s", d->config.agent.tls_crl);
	else
		doctor_advise(d, "tls_ca has to be the authority that has issued tls_cert, on all hosts");
}

/* A peer looks for the address that it is spoken to from, unless it is configured to ask for a name. */
static void check_address(struct doctor *d, X509 *cert, const struct conn_config *c)
{
	char text[INET6_ADDRSTRLEN];

	if (!c->handshake || X509_check_ip(cert, c->local.b, c->family == AF_INET ? 4 : 16, 0) == 1)
		return;
	doctor_address(c->family, &c->local, text);
	doctor_say(d, DOCTOR_WARN, "certificate",
		   "does not hold %s, from which connection %s is made: a peer without "
		   "peer = NAME for it refuses it",
		   text, c->name);
	doctor_advise(d, "falconctl ca issue HOST %s ..., with all of this host's addresses", text);
}

/* Whether anything is negotiated with peers' agents. */
static bool needs_sessions(const struct agent_config *cfg)
{
	for (unsigned int i = 0; i < cfg->nconns; i++)
		if (cfg->conns[i].handshake)
			return true;
	return cfg->npeers || cfg->nnvmes || cfg->agent.listen[0];
}

static void check_files(struct doctor *d, struct tls *t)
{
	const char *path = d->config.agent.tls_cert;
	X509 *cert = read_cert(path);

	if (!cert)
		return;
	check_dates(d, path, cert);
	check_trust(d, t, cert);
	for (unsigned int i = 0; i < d->config.nconns; i++)
		check_address(d, cert, &d->config.conns[i]);
	X509_free(cert);
}

static bool is_missing(const char *path)
{
	return path[0] && access(path, F_OK) < 0;
}

void doctor_certs(struct doctor *d)
{
	const struct agent_options *a = &d->config.agent;
	const struct chan_config cfg = { .cert = a->tls_cert,
					 .key = a->tls_key,
					 .ca = a->tls_ca,
					 .crl = a->tls_crl,
					 .psk_file = a->psk_file };
	char err[512];
	struct tls t;

	if (a->control == CONFIG_CONTROL_PLAIN) {
		doctor_say(d, DOCTOR_WARN, "certificate",
			   "control = plain: whoever reaches this host may pose as a peer");
		doctor_advise(d, "use certificates (falconctl ca), but in laboratories");
		return;
	}
	if (tls_open(&t, &cfg, err, sizeof(err)) < 0) {
		doctor_say(d, DOCTOR_FAIL, "certificate", "%s", err);
		if (is_missing(a->tls_cert) || is_missing(a->tls_key) || is_missing(a->tls_ca))
			doctor_advise(d, NEW_CERTIFICATE);
		return;
	}
	if (t.ctx && a->tls_cert[0]) {
		check_files(d, &t);
	} else if (!t.ctx && needs_sessions(&d->config)) {
		doctor_say(d, DOCTOR_FAIL, "certificate",
			   "neither tls_cert nor psk_file: peers are not talked to");
		doctor_advise(
			d, "falconctl ca init and falconctl ca issue make certificates; see falcon.conf(5)");
	}
	tls_close(&t);
}
