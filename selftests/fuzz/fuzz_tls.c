// SPDX-License-Identifier: BSD-2-Clause
/*
 * The files that tls_cert, tls_key, tls_ca, tls_crl and psk_file name: one of them, by the first
 * byte, holds the rest of the input; the others are good.
 *
 * What is refused leaves a sentence, as much of it as there is room for, and what was loaded before
 * stays in force. What is accepted can be put to use: a connection is made with it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../tools/ctl/ca.h"
#include "check.h"
#include "cm/tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATH = 128 };

static char dir[] = "/tmp/fuzz_tls.XXXXXX";
static char good[TLS_FILES][PATH], bad[PATH];
static const char *const names[TLS_FILES] = {"crt", "key", "ca", "crl", "psk"};

static void remove_files(void)
{
	for (int i = 0; i < TLS_FILES; i++)
		unlink(good[i]);
	unlink(bad);
	rmdir(dir);
}

static void put(const char *path, bool (*write)(FILE *f, const void *what), const void *what)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fchmod(fileno(f), 0600) == 0 && write(f, what));
	fclose(f);
}

static bool write_text(FILE *f, const void *text)
{
	return fputs(text, f) >= 0;
}

static void make_files(void)
{
	char serial[CA_SERIAL_MAX];
	struct ca_pair ca, host;
	struct ca_crl *crl;

	CHECK(mkdtemp(dir));
	for (int i = 0; i < TLS_FILES; i++)
		snprintf(good[i], PATH, "%s/%s", dir, names[i]);
	snprintf(bad, PATH, "%s/input", dir);
	atexit(remove_files);
	CHECK(ca_make_authority(&ca, 30) && ca_make_host(&host, &ca, "a", "IP:10.0.0.1", 30, serial));
	crl = ca_crl_new(&ca);
	ca_crl_add(crl, serial, time(NULL));
	CHECK(ca_crl_sign(crl, &ca));
	put(good[0], ca_write_cert, &host);
	put(good[1], ca_write_key, &host);
	put(good[2], ca_write_cert, &ca);
	put(good[3], ca_write_crl, crl);
	put(good[4], write_text,
	    "* 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n");
	ca_crl_free(crl);
	ca_free(&host);
	ca_free(&ca);
}

/* The files of a kind of configuration, |which| of them the input. */
static struct chan_config configured(int which, const char *path)
{
	bool psk = which == 4;
	const char *file[TLS_FILES];

	for (int i = 0; i < TLS_FILES; i++)
		file[i] = psk != (i == 4) ? "" : i == which ? path : good[i];
	return (struct chan_config){.cert = file[0], .key = file[1], .ca = file[2],
				    .crl = file[3], .psk_file = file[4]};
}

static void check_sentence(int ret, const char *err, size_t errlen)
{
	CHECK(err[errlen] == '#');
	CHECK(ret == 0 || (ret < 0 && memchr(err, 0, errlen) && err[0]));
}

static void use(struct tls *t)
{
	static const struct tls_ends ends = {.family = AF_INET, .local = { { 10, 0, 0, 1 } },
					     .peer = { { 10, 0, 0, 2 } }};
	int sv[2];
	SSL *ssl;

	CHECK(t->ctx && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sv) == 0);
	ssl = tls_connection(t, sv[0], false, &ends);
	CHECK(ssl);
	SSL_do_handshake(ssl);
	SSL_free(ssl);
	close(sv[0]);
	close(sv[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool made;
	int which = size ? data[0] % TLS_FILES : 0, fd, ret;
	struct chan_config cfg;
	char err[300];
	struct tls t;

	if (!made)
		make_files();
	made = true;
	if (size == 0)
		return 0;
	fd = open(bad, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)size - 1);
	close(fd);
	memset(err, '#', sizeof(err));
	cfg = configured(which, bad);
	ret = tls_open(&t, &cfg, err, sizeof(err) - 1);
	check_sentence(ret, err, sizeof(err) - 1);
	if (ret == 0)
		use(&t);
	tls_close(&t);
	/* The same in the place of a good file that is in use. */
	cfg = configured(which, good[which]);
	CHECK(tls_open(&t, &cfg, err, sizeof(err) - 1) == 0);
	snprintf(t.path[which], TLS_PATH_MAX, "%s", bad);
	memset(err, '#', sizeof(err));
	ret = tls_refresh(&t, false, err, size % 64 + 2);
	check_sentence(ret == 1 ? 0 : ret, err, size % 64 + 2);
	CHECK(ret != 0);
	use(&t);
	tls_close(&t);
	return 0;
}
