// SPDX-License-Identifier: BSD-2-Clause
/*
 * falconctl ca bundle and install: all that a host needs of its authority, carried to it in one file.
 *
 * The file is PEM: the host's key and certificate, the authority's certificate, the revocation list. On the
 * host they become host.key, host.crt, ca.crt and crl.pem, by these names everywhere, so that the same
 * falcon.conf fits all hosts. A file with a revocation list alone, as crl.pem is, brings that up to date.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ca.h"
#include "ctl.h"

/* Add what is in |path|, if there is such a file. NULL, or what is wrong. */
static const char *read_file(struct ca_bundle *b, const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	const char *wrong = f ? ca_bundle_read(b, f) : strerror(errno);

	if (f && f != stdin)
		fclose(f);
	return wrong;
}

int ca_bundle_make(const char *dir, const char *host)
{
	const char *const parts[][2] = {{host, ".key"}, {host, ".crt"}, {"ca", ".crt"}, {"crl", ".pem"}};
	struct ca_bundle b = {};
	char path[CA_PATH_MAX];
	const char *wrong = NULL;
	int ret;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !wrong; i++) {
		ca_path(path, sizeof(path), dir, parts[i][0], parts[i][1]);
		wrong = read_file(&b, path);
	}
	if (!wrong) {
		ca_path(path, sizeof(path), dir, host, ".crt");
		wrong = ca_bundle_wrong(&b);
	}
	if (wrong) {
		ret = ca_complain("cannot use", path, wrong);
	} else {
		ca_path(path, sizeof(path), dir, host, ".pem");
		ret = ca_put_file(path, 0600, ca_bundle_write, &b);
		if (ret == CTL_OK)
			printf("%s\n", path);
	}
	ca_bundle_free(&b);
	return ret;
}

static int put_all(const char *dir, const struct ca_bundle *b)
{
	const struct {
		const char *name;
		mode_t mode;
		bool (*write)(FILE *f, const void *what);
		const void *what;
	} files[] = {
		{"crl.pem", 0644, ca_write_crl, &b->crl}, {"ca.crt", 0644, ca_write_cert, &b->ca},
		{"host.key", 0600, ca_write_key, &b->host}, {"host.crt", 0644, ca_write_cert, &b->host},
	};
	size_t n = b->host.key ? sizeof(files) / sizeof(files[0]) : 1;
	char path[CA_PATH_MAX];
	int ret = CTL_OK;

	for (size_t i = 0; i < n && ret == CTL_OK; i++) {
		ca_path(path, sizeof(path), dir, files[i].name, "");
		ret = ca_put_file(path, files[i].mode, files[i].write, files[i].what);
	}
	return ret;
}

/* |b| was read from |file|. What the directory has already may be needed to check it. */
static int install_in(const char *dir, const char *file, struct ca_bundle *b)
{
	struct ca_bundle installed = {};
	char path[CA_PATH_MAX];
	const char *wrong = NULL;

	ca_path(path, sizeof(path), dir, "ca", ".crt");
	if (!b->ca.cert && !b->host.key && !b->host.cert)
		wrong = read_file(b, path);
	if (wrong)
		return ca_complain("no authority for", file, wrong);
	wrong = ca_bundle_wrong(b);
	if (wrong)
		return ca_complain("cannot use", file, wrong);
	ca_path(path, sizeof(path), dir, "crl", ".pem");
	if (access(path, F_OK) == 0 && !read_file(&installed, path) && ca_bundle_older(b, &installed))
		wrong = "its revocation list is older than the one that is there";
	ca_bundle_free(&installed);
	return wrong ? ca_complain("cannot use", file, wrong) : put_all(dir, b);
}

int ctl_ca_install(const struct options *o, const struct object *obj, int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : CA_INSTALL_DIR, *wrong;
	struct ca_bundle b = {};
	int ret, fd;

	(void)o, (void)obj;
	if (argc < 1 || argc > 2 || strlen(dir) > CA_DIR_MAX)
		return ctl_usage_error("give a file, and where what is in it shall be, if not in %s",
				       CA_INSTALL_DIR);
	wrong = read_file(&b, argv[0]);
	if (wrong) {
		ret = ca_complain("cannot use", argv[0], wrong);
		goto out;
	}
	ret = ca_make_dir(dir, 0755);
	if (ret < 0) {
		ret = ca_complain("cannot make", dir, strerror(-ret));
		goto out;
	}
	ret = CTL_FAILED;
	fd = ca_lock(dir);
	if (fd < 0)
		goto out;
	ret = install_in(dir, argv[0], &b);
	close(fd);
	if (ret == CTL_OK && b.host.key)
		printf("In [agent] of falcon.conf:\n\ntls_cert = %s/host.crt\ntls_key = %s/host.key\n"
		       "tls_ca = %s/ca.crt\ntls_crl = %s/crl.pem\n", dir, dir, dir, dir);
out:
	ca_bundle_free(&b);
	return ret;
}
