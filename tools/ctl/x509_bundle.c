// SPDX-License-Identifier: BSD-2-Clause
/* What a host gets of an authority in one file: PEM, read and checked by OpenSSL. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "ca.h"

void ca_bundle_free(struct ca_bundle *b)
{
	ca_free(&b->host);
	ca_free(&b->ca);
	X509_CRL_free(b->crl.crl);
	b->crl.crl = NULL;
}

static bool take_cert(struct ca_bundle *b, X509 *cert)
{
	X509 **at = X509_check_ca(cert) ? &b->ca.cert : &b->host.cert;

	if (*at)
		return false;
	X509_up_ref(cert);
	*at = cert;
	return true;
}

/* False if there is one of its kind already. */
static bool take(struct ca_bundle *b, const X509_INFO *info)
{
	if (info->x509 && !take_cert(b, info->x509))
		return false;
	if (info->crl) {
		if (b->crl.crl)
			return false;
		X509_CRL_up_ref(info->crl);
		b->crl.crl = info->crl;
	}
	if (info->x_pkey) {
		if (b->host.key || !info->x_pkey->dec_pkey)
			return false;
		EVP_PKEY_up_ref(info->x_pkey->dec_pkey);
		b->host.key = info->x_pkey->dec_pkey;
	}
	return true;
}

/* Instead of asking at the terminal: keys of ours have no password. */
static int no_password(char *buf, int size, int writing, void *arg)
{
	(void)buf, (void)size, (void)writing, (void)arg;
	return -1;
}

const char *ca_bundle_read(struct ca_bundle *b, FILE *f)
{
	STACK_OF(X509_INFO) *all = PEM_X509_INFO_read(f, NULL, no_password, NULL);
	const char *wrong = all ? NULL : ca_error();

	for (int i = 0; i < sk_X509_INFO_num(all) && !wrong; i++) {
		if (!take(b, sk_X509_INFO_value(all, i)))
			wrong = "more than one key, host's certificate, authority or revocation list";
	}
	sk_X509_INFO_pop_free(all, X509_INFO_free);
	return wrong;
}

/* The host's certificate, by the authority's and the list. */
static const char *check_host(const struct ca_bundle *b)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	const char *wrong = NULL;

	if (!store || !ctx || X509_STORE_add_cert(store, b->ca.cert) != 1 ||
	    X509_STORE_add_crl(store, b->crl.crl) != 1 ||
	    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK) != 1 ||
	    X509_STORE_CTX_init(ctx, store, b->host.cert, NULL) != 1)
		wrong = ca_error();
	else if (X509_verify_cert(ctx) != 1)
		wrong = X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx));
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return wrong;
}

const char *ca_bundle_wrong(const struct ca_bundle *b)
{
	if (!b->ca.cert)
		return "no certificate of an authority";
	if (!b->crl.crl)
		return "no revocation list";
	if (X509_CRL_verify(b->crl.crl, X509_get0_pubkey(b->ca.cert)) != 1)
		return "the revocation list is not the authority's";
	if (!b->host.key && !b->host.cert)
		return NULL;
	if (!b->host.key || !b->host.cert || X509_check_private_key(b->host.cert, b->host.key) != 1)
		return "no private key and certificate that belong together";
	return check_host(b);
}

bool ca_bundle_older(const struct ca_bundle *b, const struct ca_bundle *installed)
{
	return installed->crl.crl && X509_CRL_verify(installed->crl.crl, X509_get0_pubkey(b->ca.cert)) == 1 &&
	       ASN1_TIME_compare(X509_CRL_get0_lastUpdate(b->crl.crl),
				 X509_CRL_get0_lastUpdate(installed->crl.crl)) < 0;
}

bool ca_bundle_write(FILE *f, const void *what)
{
	const struct ca_bundle *b = what;

	return ca_write_key(f, &b->host) && ca_write_cert(f, &b->host) && ca_write_cert(f, &b->ca) &&
	       ca_write_crl(f, &b->crl);
}
