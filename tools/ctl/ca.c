// SPDX-License-Identifier: BSD-2-Clause
/*
 * falconctl ca: a small certificate authority for the sessions between agents.
 *
 * A directory holds ca.key, ca.crt, crl.pem, HOST.key and HOST.crt, and "index", a line for each
 * certificate: serial number, time of revocation or "-", host. Files are replaced as a whole, keys
 * are for their owner alone. x509.c makes the certificates.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"
#include "ca.h"

enum { SAN_MAX = 1024 };

struct ca_args {
	const char *dir;
	const char *host;
	long days;
	char san[SAN_MAX];		/* "DNS:a,IP:192.0.2.1" */
};

bool ca_host_valid(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len >= CA_HOST_MAX || !isalnum((unsigned char)name[0]) ||
	    strcmp(name, "ca") == 0)
		return false;
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
			return false;
	}
	return true;
}

static bool is_address(const char *text)
{
	uint8_t addr[16];

	return inet_pton(AF_INET, text, addr) == 1 || inet_pton(AF_INET6, text, addr) == 1;
}

/* One word of the command line. False if it makes no sense. */
static bool take_arg(struct ca_args *a, const char *arg)
{
	size_t len = strlen(a->san);
	char *end;

	if (strncmp(arg, "dir=", 4) == 0) {
		a->dir = arg + 4;
		return true;
	}
	if (strncmp(arg, "days=", 5) == 0) {
		a->days = strtol(arg + 5, &end, 10);
		return isdigit((unsigned char)arg[5]) && !*end && a->days > 0 &&
		       a->days <= CA_DAYS_MAX;
	}
	if (!a->host && ca_host_valid(arg)) {
		a->host = arg;
		len += (size_t)snprintf(a->san, SAN_MAX, "DNS:%s", arg);
		return len < SAN_MAX;
	}
	if (!a->host || !is_address(arg))
		return false;
	len += (size_t)snprintf(a->san + len, SAN_MAX - len, ",IP:%s", arg);
	return len < SAN_MAX;
}

static int parse(struct ca_args *a, int argc, char **argv)
{
	*a = (struct ca_args){.dir = CA_DEFAULT_DIR, .days = CA_DAYS_DEFAULT};
	for (int i = 0; i < argc; i++) {
		if (take_arg(a, argv[i]))
			continue;
		fprintf(stderr, "falconctl: ca: cannot use \"%s\"; try falconctl ca help\n", argv[i]);
		return CTL_USAGE;
	}
	return CTL_OK;
}

static int put_pair(const char *dir, const char *name, const struct ca_pair *p)
{
	char path[CA_PATH_MAX];
	int ret;

	ca_path(path, sizeof(path), dir, name, ".key");
	ret = ca_put_file(path, 0600, ca_write_key, p);
	if (ret)
		return ret;
	ca_path(path, sizeof(path), dir, name, ".crt");
	return ca_put_file(path, 0644, ca_write_cert, p);
}

static int load_ca(const char *dir, struct ca_pair *ca)
{
	char key[CA_PATH_MAX], cert[CA_PATH_MAX];

	ca_path(key, sizeof(key), dir, "ca", ".key");
	ca_path(cert, sizeof(cert), dir, "ca", ".crt");
	if (ca_load(ca, key, cert))
		return CTL_OK;
	return ca_complain("no authority in", dir, "falconctl ca init makes one");
}

/* The index as text, to be freed; "" if there is none. */
static char *read_index(const char *dir)
{
	char path[CA_PATH_MAX], *text = NULL;
	size_t size = 0;
	FILE *f;

	ca_path(path, sizeof(path), dir, "index", "");
	f = fopen(path, "re");
	if (!f)
		return strdup("");
	if (getdelim(&text, &size, 0, f) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(f);
	return text;
}

static bool write_text(FILE *f, const void *text)
{
	return fputs(text, f) >= 0;
}

/* From the index's lines: a revocation list in force, and the index itself. */
static int put_lists(const char *dir, const struct ca_pair *ca, const char *index)
{
	char path[CA_PATH_MAX];
	struct ca_crl *crl = ca_crl_new(ca);
	int ret;

	for (const char *line = index; *line; line += strcspn(line, "\n") + 1) {
		char serial[CA_SERIAL_MAX], when[32];

		if (sscanf(line, "%64s %31s", serial, when) == 2 && strcmp(when, "-") != 0)
			ca_crl_add(crl, serial, (time_t)strtoll(when, NULL, 10));
		if (!line[strcspn(line, "\n")])
			break;
	}
	if (!ca_crl_sign(crl, ca)) {
		ca_crl_free(crl);
		return ca_complain("cannot sign", "crl.pem", ca_error());
	}
	ca_path(path, sizeof(path), dir, "crl.pem", "");
	ret = ca_put_file(path, 0644, ca_write_crl, crl);
	ca_crl_free(crl);
	if (ret)
		return ret;
	ca_path(path, sizeof(path), dir, "index", "");
	return ca_put_file(path, 0644, write_text, index);
}

static int init_in(const struct ca_args *a)
{
	struct ca_pair ca;
	int ret;

	if (!ca_make_authority(&ca, a->days))
		return ca_complain("cannot make", "an authority", ca_error());
	ret = put_pair(a->dir, "ca", &ca);
	if (!ret)
		ret = put_lists(a->dir, &ca, "");
	ca_free(&ca);
	return ret;
}

int ctl_ca_init(const struct options *o, const struct object *obj, int argc, char **argv)
{
	char path[CA_PATH_MAX];
	struct ca_args a = {.dir = CA_DEFAULT_DIR, .days = CA_DAYS_MAX};
	int ret, fd;

	(void)o, (void)obj;
	/* The one word is the directory here. */
	if (argc > 1)
		return ca_complain("init takes", "one directory", "try falconctl ca help");
	if (argc == 1)
		a.dir = argv[0];
	if (strlen(a.dir) > CA_DIR_MAX)
		return ca_complain("directory", a.dir, "name too long");
	ret = ca_make_dir(a.dir, 0700);
	if (ret < 0)
		return ca_complain("cannot make", a.dir, strerror(-ret));
	fd = ca_lock(a.dir);
	if (fd < 0)
		return CTL_FAILED;
	ca_path(path, sizeof(path), a.dir, "ca", ".key");
	if (access(path, F_OK) == 0)
		ret = ca_complain("directory", a.dir, "there is an authority already");
	else
		ret = init_in(&a);
	close(fd);
	return ret;
}

static int issue_in(const struct ca_args *a, const struct ca_pair *ca)
{
	char serial[CA_SERIAL_MAX], *index, *longer = NULL;
	struct ca_pair host;
	int ret;

	if (!ca_make_host(&host, ca, a->host, a->san, a->days, serial))
		return ca_complain("cannot make a certificate for", a->host, ca_error());
	/* First into the index: what is not there cannot be revoked. */
	index = read_index(a->dir);
	ret = asprintf(&longer, "%s%s - %s\n", index, serial, a->host) < 0
		      ? ca_complain("index", a->dir, "out of memory")
		      : put_lists(a->dir, ca, longer);
	if (!ret)
		ret = put_pair(a->dir, a->host, &host);
	free(index);
	free(longer);
	ca_free(&host);
	return ret;
}

/* |index| with the host's lines revoked; *|found| counts them. */
static char *revoke_lines(const char *index, const char *host, unsigned int *found)
{
	char *out = NULL, line[CA_SERIAL_MAX + CA_HOST_MAX + 64];
	size_t size = 0;
	FILE *in = fmemopen((void *)index, strlen(index) + 1, "r"), *f = open_memstream(&out, &size);

	while (in && f && fgets(line, sizeof(line), in)) {
		char serial[CA_SERIAL_MAX], when[32], name[CA_HOST_MAX];

		if (sscanf(line, "%64s %31s %63s", serial, when, name) != 3)
			continue;
		if (strcmp(name, host) == 0 && strcmp(when, "-") == 0) {
			snprintf(when, sizeof(when), "%lld", (long long)time(NULL));
			(*found)++;
		}
		fprintf(f, "%s %s %s\n", serial, when, name);
	}
	if (in)
		fclose(in);
	if (f)
		fclose(f);
	return out;
}

static int revoke_in(const struct ca_args *a, const struct ca_pair *ca)
{
	char *index = read_index(a->dir), *changed;
	unsigned int found = 0;
	int ret = CTL_FAILED;

	changed = index[0] ? revoke_lines(index, a->host, &found) : NULL;
	if (found)
		ret = put_lists(a->dir, ca, changed);
	else
		ca_complain("nothing to revoke for", a->host, "falconctl ca show lists certificates");
	free(changed);
	free(index);
	return ret;
}

static int with_ca(int argc, char **argv,
		   int (*fn)(const struct ca_args *a, const struct ca_pair *ca))
{
	struct ca_args a;
	struct ca_pair ca;
	int ret = parse(&a, argc, argv), fd;

	if (ret)
		return ret;
	if (!a.host || strlen(a.dir) > CA_DIR_MAX) {
		ca_complain("name", "a host", "of letters, digits, '.', '_' and '-'");
		return CTL_USAGE;
	}
	fd = ca_lock(a.dir);
	if (fd < 0)
		return CTL_FAILED;
	ret = load_ca(a.dir, &ca);
	if (!ret) {
		ret = fn(&a, &ca);
		ca_free(&ca);
	}
	close(fd);
	return ret;
}

int ctl_ca_issue(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)o, (void)obj;
	return with_ca(argc, argv, issue_in);
}

int ctl_ca_revoke(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)o, (void)obj;
	return with_ca(argc, argv, revoke_in);
}

static int bundle_in(const struct ca_args *a, const struct ca_pair *ca)
{
	(void)ca;
	return ca_bundle_make(a->dir, a->host);
}

int ctl_ca_bundle(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)o, (void)obj;
	return with_ca(argc, argv, bundle_in);
}

json_t *ctl_ca_rows(const char *dir)
{
	char *index = read_index(dir), *save, *line;
	json_t *rows = json_array();

	for (line = strtok_r(index, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char serial[CA_SERIAL_MAX], when[32], name[CA_HOST_MAX];

		if (sscanf(line, "%64s %31s %63s", serial, when, name) == 3)
			json_array_append_new(rows, json_pack("{s:s, s:s, s:b}", "host", name,
							      "serial", serial, "revoked",
							      strcmp(when, "-") != 0));
	}
	free(index);
	return rows;
}
