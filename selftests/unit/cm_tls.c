// SPDX-License-Identifier: BSD-2-Clause
/* Sessions over TLS between two connection managers: who is let in, who is not, and why. */
#include "cm_stage.h"

static struct ca_pair other_ca;
static char serial_a[CA_SERIAL_MAX], serial_b[CA_SERIAL_MAX];

#define KEY1 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define KEY2 "f00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static void replace(struct end *e, const char *name, const char *ca_file, const char *crl)
{
	cert_config_free(&e->chan);
	e->chan = cert_config(name, ca_file, crl);
}

static int setup(void **state)
{
	(void)state;
	stage_begin();
	a.psp = b.psp = true;
	assert_true(ca_make_authority(&other_ca, 30));
	cert_put("other", 0644, ca_write_cert, &other_ca);
	cert_host("a", &ca, "DNS:a,IP:" A, 30, serial_a);
	cert_host("b", &ca, "DNS:b.example,DNS:b,IP:" B, 30, serial_b);
	cert_crl("crl", &ca, NULL);
	replace(&a, "a", "ca", "crl");
	replace(&b, "b", "ca", "crl");
	return 0;
}

static int teardown(void **state)
{
	ca_free(&other_ca);
	return stage_end(state);
}

static void start(void)
{
	env_open(&a);
	env_open(&b);
	env_add(&a, A, B, 1, 2);
	env_add(&b, B, A, 2, 1);
}

static bool up(void *arg)
{
	(void)arg;
	return a.conns[1].up && b.conns[2].up;
}

static void wait_up(void)
{
	assert_true(env_until(&a, &b, up, NULL));
}

/* One end has been told so. */
static bool told(void *arg)
{
	return strstr(a.conns[1].reason, arg) || strstr(b.conns[2].reason, arg);
}

/* No connection comes of it, and somebody learns why. */
static void refused(const char *why)
{
	if (!env_until(&a, &b, told, (void *)why))
		fail_msg("no \"%s\", but \"%s\", \"%s\"", why, a.conns[1].reason, b.conns[2].reason);
	assert_int_equal(a.conns[1].established + b.conns[2].established, 0);
}

static void certificates(void **state)
{
	(void)state;
	start();
	wait_up();
	assert_memory_equal(a.conns[1].local.key, b.conns[2].peer.security.key, 32);
	cm_remove(b.cm, 2, "operator's wish");
	assert_true(env_until(&a, &b, told, "operator's wish"));
}

/* The certificate has not the address, but a name that is asked for. */
static void by_name(void **state)
{
	struct cm_local l = env_local(A, B, 1, 2);
	char err[256];

	(void)state;
	cert_host("b", &ca, "DNS:b", 30, NULL);
	start();
	refused("neither for its address nor for a configured name");
	cm_remove(a.cm, 1, "test");
	l.security = CM_SECURITY_PSP;
	strcpy(l.peer, "B");
	assert_int_equal(cm_add(a.cm, &l, err, sizeof(err)), 0);
	wait_up();
}

static bool told_4(void *arg)
{
	(void)arg;
	return strstr(b.conns[4].reason, "another name");
}

/* The certificate has the address, but not the name that one connection asks for. */
static void another_name(void **state)
{
	struct cm_local l = env_local(A, B, 3, 4);
	char err[256];

	(void)state;
	start();
	wait_up();
	l.security = CM_SECURITY_PSP;
	strcpy(l.peer, "c");
	assert_int_equal(cm_add(a.cm, &l, err, sizeof(err)), 0);
	env_add(&b, B, A, 4, 3);
	assert_true(env_until(&a, &b, told_4, NULL));
	assert_int_equal(a.conns[3].established, 0);
	assert_true(up(NULL));
}

static void unknown_ca(void **state)
{
	(void)state;
	cert_host("b", &other_ca, "DNS:b,IP:" B, 30, NULL);
	start();
	refused("unable to get local issuer certificate");
}

static void expired(void **state)
{
	(void)state;
	cert_host("b", &ca, "DNS:b,IP:" B, -1, NULL);
	start();
	refused("certificate has expired");
}

static void revoked(void **state)
{
	(void)state;
	cert_crl("crl", &ca, serial_b);
	start();
	refused("certificate revoked");
}

/* A list of another authority is none. */
static void wrong_list(void **state)
{
	(void)state;
	cert_crl("crl", &other_ca, NULL);
	start();
	refused("CRL signature failure");
}

static bool down(void *arg)
{
	(void)arg;
	return !a.conns[1].up && !b.conns[2].up;
}

/* While its session is up: the file's change is noticed. */
static void revoked_later(void **state)
{
	(void)state;
	start();
	wait_up();
	cert_crl("crl", &ca, serial_b);
	assert_true(env_until(&a, &b, down, NULL));
	assert_true(env_until(&a, &b, told, "revoked"));
	cert_crl("crl", &ca, NULL);
	wait_up();
}

static bool up_again(void *arg)
{
	(void)arg;
	return up(NULL) && a.conns[1].established == 2;
}

/* A broken file does not end what the last good one has begun. */
static void broken_file(void **state)
{
	(void)state;
	start();
	wait_up();
	cert_put("ca", 0644, put_text, "this is no certificate\n");
	cm_reset(a.cm, 1, "test");
	env_lost(&a, 1, "test");
	assert_true(env_until(&a, &b, up_again, NULL));
}

static bool stale(void *arg)
{
	(void)arg;
	return cm_stale(a.cm) && strstr(cm_stale(a.cm), "tls_crl");
}

static bool fresh(void *arg)
{
	(void)arg;
	return !cm_stale(a.cm);
}

/* A list that cannot be read: the old one stays, and that is known until there is a good one. */
static void broken_list(void **state)
{
	(void)state;
	start();
	wait_up();
	assert_null(cm_stale(a.cm));
	cert_put("crl", 0644, put_text, "this is no list\n");
	assert_true(env_until(&a, &b, stale, NULL));
	assert_true(up(NULL));
	cert_crl("crl", &ca, serial_b);
	assert_true(env_until(&a, &b, told, "revoked"));
	assert_true(env_until(&a, &b, fresh, NULL));
}

static void psk(void **state)
{
	(void)state;
	stage_psk(&a, "psk-a", "# hosts\n" B " " KEY1 "\n");
	stage_psk(&b, "psk-b", "10.0.0.1 " KEY2 "\n* " KEY1 "\n");
	start();
	wait_up();
}

static void psk_wrong(void **state)
{
	(void)state;
	stage_psk(&a, "psk-a", "* " KEY1 "\n");
	stage_psk(&b, "psk-b", "* " KEY2 "\n");
	start();
	refused("TLS");
}

static void psk_of_another(void **state)
{
	(void)state;
	stage_psk(&a, "psk-a", "* " KEY1 "\n");
	stage_psk(&b, "psk-b", "10.0.0.1 " KEY1 "\n");
	start();
	refused("TLS");
}

static void psk_against_certificate(void **state)
{
	(void)state;
	stage_psk(&a, "psk-a", "* " KEY1 "\n");
	start();
	refused("TLS");
}

/* One end is plain: refused, whichever connects. */
static void downgrade(void **state)
{
	(void)state;
	cert_config_free(&a.chan);
	a.psp = b.psp = false;
	start();
	assert_true(env_until(&a, &b, told, "our way to talk"));
	assert_int_equal(a.conns[1].established + b.conns[2].established, 0);
}

static void downgrade_of_listener(void **state)
{
	(void)state;
	cert_config_free(&b.chan);
	a.psp = b.psp = false;
	start();
	refused("is it plain?");
}

static void opening_fails(struct chan_config *cfg, const char *why)
{
	struct cm_options opt = {.chan = cfg};
	char err[256];
	struct cm *cm;

	cfg->port = ENV_PORT;
	assert_true(cm_open(&cm, &env_ops, NULL, &opt, err, sizeof(err)) < 0);
	if (!strstr(err, why))
		fail_msg("\"%s\" does not say \"%s\"", err, why);
}

static bool put_encrypted_key(FILE *f, const void *key)
{
	return PEM_write_PKCS8PrivateKey(f, key, EVP_aes_128_cbc(), "secret", 6, NULL, NULL) == 1;
}

/* What falcond says at its start. */
static void bad_files(void **state)
{
	(void)state;
	assert_int_equal(chmod(a.chan.key, 0640), 0);
	opening_fails(&a.chan, "chmod 600");
	assert_int_equal(chmod(a.chan.key, 0600), 0);
	replace(&a, "a", "none", NULL);
	opening_fails(&a.chan, "tls_ca");
	replace(&a, "a", "ca", "ca");
	opening_fails(&a.chan, "tls_crl");
	replace(&a, "a", "ca", NULL);
	cert_host("other", &ca, "DNS:x", 30, NULL);
	free((char *)a.chan.key);
	a.chan.key = strdup(cert_path("other.key"));
	opening_fails(&a.chan, "tls_key");
	/* Nobody is asked for its password. */
	replace(&a, "a", "ca", NULL);
	cert_put("a.key", 0600, put_encrypted_key, ca.key);
	opening_fails(&a.chan, "tls_key");
	stage_psk(&a, "psk", "* 0011\n");
	opening_fails(&a.chan, "hexadecimal");
	stage_psk(&a, "psk", "\n");
	opening_fails(&a.chan, "no key");
}

static void nothing_configured(void **state)
{
	struct cm_local l = env_local(A, B, 1, 2);
	struct chan_config none = {.port = ENV_PORT};
	struct cm_options opt = {.chan = &none};
	char err[256];

	(void)state;
	assert_int_equal(cm_open(&a.cm, &env_ops, &a, &opt, err, sizeof(err)), 0);
	assert_int_equal(cm_add(a.cm, &l, err, sizeof(err)), -ENOKEY);
	assert_non_null(strstr(err, "control = plain"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(certificates), TEST(by_name),	 TEST(another_name),
		TEST(unknown_ca),   TEST(expired),	 TEST(revoked),
		TEST(wrong_list),   TEST(revoked_later), TEST(broken_file), TEST(broken_list),
		TEST(psk),	    TEST(psk_wrong),	 TEST(psk_of_another),
		TEST(downgrade),    TEST(downgrade_of_listener),
		TEST(bad_files),    TEST(nothing_configured),
		TEST(psk_against_certificate),
	};

	if (!env_namespace()) {
		puts("1..0 # SKIP needs a network namespace of its own (root)");
		return 0;
	}
	return unit_run(tests);
}
