// SPDX-License-Identifier: BSD-2-Clause
/* What a host gets of an authority in one file: PEM, read and checked by OpenSSL. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "ca.h"

void ca_bundle_free(struct ca_bundle *b)
{
	EVP_PKEY_free(b->key);
	X509_free(b->cert);
	X509_free(b->ca);
	X509_CRL_free(b->crl);
	*b = (struct ca_bundle){};
}

static bool take_cert(struct ca_bundle *b, X509 *cert)
{
	X509 **at = X509_check_ca(cert) ? &b->ca : &b->cert;

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
		if (b->crl)
			return false;
		X509_CRL_up_ref(info->crl);
		b->crl = info->crl;
	}
	if (info->x_pkey) {
		if (b->key || !info->x_pkey->dec_pkey)
			return false;
		EVP_PKEY_up_ref(info->x_pkey->dec_pkey);
		b->key = info->x_pkey->dec_pkey;
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

	if (!store || !ctx || X509_STORE_add_cert(store, b->ca) != 1 ||
	    X509_STORE_add_crl(store, b->crl) != 1 ||
	    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK) != 1 ||
	    X509_STORE_CTX_init(ctx, store, b->cert, NULL) != 1)
		wrong = ca_error();
	else if (X509_verify_cert(ctx) != 1)
		wrong = X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx));
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return wrong;
}

const char *ca_bundle_wrong(const struct ca_bundle *b)
{
	if (!b->ca)
		return "no certificate of an authority";
	if (!b->crl)
		return "no revocation list";
	if (X509_CRL_verify(b->crl, X509_get0_pubkey(b->ca)) != 1)
		return "the revocation list is not the authority's";
	if (!b->key && !b->cert)
		return NULL;
	if (!b->key || !b->cert || X509_check_private_key(b->cert, b->key) != 1)
		return "no private key and certificate that belong together";
	return check_host(b);
}

bool ca_bundle_older(const struct ca_bundle *b, const struct ca_bundle *installed)
{
	return installed->crl && X509_CRL_verify(installed->crl, X509_get0_pubkey(b->ca)) == 1 &&
	       ASN1_TIME_compare(X509_CRL_get0_lastUpdate(b->crl),
				 X509_CRL_get0_lastUpdate(installed->crl)) < 0;
}

bool ca_bundle_write_key(FILE *f, const void *what)
{
	const struct ca_bundle *b = what;

	return PEM_write_PKCS8PrivateKey(f, b->key, NULL, NULL, 0, NULL, NULL) == 1;
}

bool ca_bundle_write_cert(FILE *f, const void *what)
{
	return PEM_write_X509(f, ((const struct ca_bundle *)what)->cert) == 1;
}

bool ca_bundle_write_ca(FILE *f, const void *what)
{
	return PEM_write_X509(f, ((const struct ca_bundle *)what)->ca) == 1;
}

bool ca_bundle_write_crl(FILE *f, const void *what)
{
	return PEM_write_X509_CRL(f, ((const struct ca_bundle *)what)->crl) == 1;
}

bool ca_bundle_write(FILE *f, const void *what)
{
	return ca_bundle_write_key(f, what) && ca_bundle_write_cert(f, what) && ca_bundle_write_ca(f, what) &&
	       ca_bundle_write_crl(f, what);
}
