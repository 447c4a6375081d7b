// SPDX-License-Identifier: BSD-2-Clause
/* Certificates and revocation lists by OpenSSL: P-256, SHA-256, what RFC 5280 asks for. */
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "ca.h"

enum {
	SKEW_S = 3600,			/* that hosts' clocks may be behind ours */
	SERIAL_BITS = 127,
	DAY_S = 86400,
};

const char *ca_error(void)
{
	const char *text = ERR_reason_error_string(ERR_peek_last_error());

	return text ? text : "out of memory";
}

void ca_free(struct ca_pair *p)
{
	EVP_PKEY_free(p->key);
	X509_free(p->cert);
	*p = (struct ca_pair){0};
}

static bool add_ext(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *ext;
	X509V3_CTX ctx;
	bool ok;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = ext && X509_add_ext(cert, ext, -1) == 1;
	X509_EXTENSION_free(ext);
	return ok;
}

static bool set_serial(X509 *cert)
{
	BIGNUM *bn = BN_new();
	bool ok = bn && BN_rand(bn, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
		  BN_to_ASN1_INTEGER(bn, X509_get_serialNumber(cert));

	BN_free(bn);
	return ok;
}

static bool set_name(X509 *cert, const char *cn)
{
	return X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
					  (const unsigned char *)cn, -1, -1, 0) == 1;
}

/* A new key, and a certificate for it that lacks its extensions and signature. */
static bool begin(struct ca_pair *p, const char *cn, const X509 *issuer, long days)
{
	const X509_NAME *by;

	p->key = EVP_EC_gen("P-256");
	p->cert = X509_new();
	if (!p->key || !p->cert || X509_set_version(p->cert, X509_VERSION_3) != 1 ||
	    !set_serial(p->cert) || !set_name(p->cert, cn))
		return false;
	by = X509_get_subject_name(issuer ? issuer : p->cert);
	return X509_set_issuer_name(p->cert, by) == 1 &&
	       X509_gmtime_adj(X509_getm_notBefore(p->cert), -SKEW_S) &&
	       X509_gmtime_adj(X509_getm_notAfter(p->cert), days * DAY_S) &&
	       X509_set_pubkey(p->cert, p->key) == 1;
}

bool ca_make_authority(struct ca_pair *p, long days)
{
	bool ok;

	*p = (struct ca_pair){0};
	ok = begin(p, "Falcon agents", NULL, days) &&
	     add_ext(p->cert, p->cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	     add_ext(p->cert, p->cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	     add_ext(p->cert, p->cert, NID_subject_key_identifier, "hash") &&
	     X509_sign(p->cert, p->key, EVP_sha256()) > 0;
	if (!ok)
		ca_free(p);
	return ok;
}

static bool serial_text(const X509 *cert, char *text)
{
	BIGNUM *bn = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
	char *hex = bn ? BN_bn2hex(bn) : NULL;
	bool ok = hex && strlen(hex) < CA_SERIAL_MAX;

	if (ok)
		strcpy(text, hex);
	OPENSSL_free(hex);
	BN_free(bn);
	return ok;
}

bool ca_make_host(struct ca_pair *p, const struct ca_pair *ca, const char *host, const char *san,
		  long days, char *serial)
{
	bool ok;

	*p = (struct ca_pair){0};
	ok = begin(p, host, ca->cert, days) &&
	     add_ext(p->cert, ca->cert, NID_basic_constraints, "critical,CA:FALSE") &&
	     add_ext(p->cert, ca->cert, NID_key_usage, "critical,digitalSignature") &&
	     add_ext(p->cert, ca->cert, NID_ext_key_usage, "serverAuth,clientAuth") &&
	     add_ext(p->cert, ca->cert, NID_subject_alt_name, san) &&
	     add_ext(p->cert, ca->cert, NID_subject_key_identifier, "hash") &&
	     add_ext(p->cert, ca->cert, NID_authority_key_identifier, "keyid:always") &&
	     X509_sign(p->cert, ca->key, EVP_sha256()) > 0 && serial_text(p->cert, serial);
	if (!ok)
		ca_free(p);
	return ok;
}

bool ca_load(struct ca_pair *p, const char *key, const char *cert)
{
	FILE *f = fopen(key, "re");

	*p = (struct ca_pair){0};
	if (f) {
		p->key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
		fclose(f);
	}
	f = fopen(cert, "re");
	if (f) {
		p->cert = PEM_read_X509(f, NULL, NULL, NULL);
		fclose(f);
	}
	if (p->key && p->cert && X509_check_private_key(p->cert, p->key) == 1)
		return true;
	ca_free(p);
	return false;
}

bool ca_write_key(FILE *f, const void *what)
{
	const struct ca_pair *p = what;

	return PEM_write_PKCS8PrivateKey(f, p->key, NULL, NULL, 0, NULL, NULL) == 1;
}

bool ca_write_cert(FILE *f, const void *what)
{
	return PEM_write_X509(f, ((const struct ca_pair *)what)->cert) == 1;
}

bool ca_write_crl(FILE *f, const void *what)
{
	return PEM_write_X509_CRL(f, ((const struct ca_crl *)what)->crl) == 1;
}

struct ca_crl *ca_crl_new(const struct ca_pair *ca)
{
	struct ca_crl *c = OPENSSL_zalloc(sizeof(*c));
	ASN1_TIME *now = X509_gmtime_adj(NULL, -SKEW_S);

	if (c)
		c->crl = X509_CRL_new();
	if (!c || !c->crl || !now ||
	    X509_CRL_set_version(c->crl, X509_CRL_VERSION_2) != 1 ||
	    X509_CRL_set_issuer_name(c->crl, X509_get_subject_name(ca->cert)) != 1 ||
	    X509_CRL_set1_lastUpdate(c->crl, now) != 1 ||
	    /* As long as the authority itself: there is nobody who renews it. */
	    X509_CRL_set1_nextUpdate(c->crl, X509_get0_notAfter(ca->cert)) != 1) {
		ca_crl_free(c);
		c = NULL;
	}
	ASN1_TIME_free(now);
	return c;
}

void ca_crl_add(struct ca_crl *c, const char *serial, time_t when)
{
	X509_REVOKED *r = X509_REVOKED_new();
	ASN1_TIME *t = ASN1_TIME_set(NULL, when);
	ASN1_INTEGER *n = NULL;
	BIGNUM *bn = NULL;

	if (c && r && t && BN_hex2bn(&bn, serial) && (n = BN_to_ASN1_INTEGER(bn, NULL)) &&
	    X509_REVOKED_set_serialNumber(r, n) == 1 && X509_REVOKED_set_revocationDate(r, t) == 1 &&
	    X509_CRL_add0_revoked(c->crl, r) == 1)
		r = NULL;
	X509_REVOKED_free(r);
	ASN1_TIME_free(t);
	ASN1_INTEGER_free(n);
	BN_free(bn);
}

bool ca_crl_sign(struct ca_crl *c, const struct ca_pair *ca)
{
	return c && X509_CRL_sort(c->crl) == 1 && X509_CRL_sign(c->crl, ca->key, EVP_sha256()) > 0;
}

void ca_crl_free(struct ca_crl *c)
{
	if (c)
		X509_CRL_free(c->crl);
	OPENSSL_free(c);
}
