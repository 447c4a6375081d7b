// SPDX-License-Identifier: BSD-2-Clause
/* falcon-cp: names, sentences, and what it shows. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cp.h"

enum text_const {
	BAR_WIDTH = 30,
	REDRAW_NS = 100000000,
};

bool cp_split_remote(const char *arg, struct cp_config *cfg)
{
	const char *colon = strchr(arg, ':'), *slash = strchr(arg, '/');
	size_t len = colon ? (size_t)(colon - arg) : 0;

	if (!len || (slash && slash < colon) || len >= sizeof(cfg->conn) ||
	    strlen(colon + 1) > CP_TEXT_MAX)
		return false;
	memcpy(cfg->conn, arg, len);
	cfg->conn[len] = '\0';
	strcpy(cfg->remote, colon + 1);
	return true;
}

bool cp_complete_name(char *dst, size_t dst_size, const char *src)
{
	const char *slash = strrchr(src, '/'), *last = slash ? slash + 1 : src;
	size_t len = strlen(dst);

	if (len && dst[len - 1] != '/')
		return true;
	if (!*last || len + strlen(last) >= dst_size)
		return false;
	strcpy(dst + len, last);
	return true;
}

const char *cp_strerror(int rc)
{
	switch (rc) {
	case -ENOENT: return "no such file or directory";
	case -EINVAL: return "not the name of a file";
	case -EXDEV:
	case -ELOOP: return "the name leads out of the served directory, or through a link";
	case -EISDIR: return "is a directory";
	case -ENOTSUP: return "not a regular file";
	case -ENOSPC: return "the disk is full";
	case -EDQUOT: return "the disk quota is used up";
	case -ESTALE: return "the file became shorter while it was read";
	case -EBADMSG: return "the checksum differs: the data was damaged on its way";
	default: return strerror(-rc);
	}
}

static uint64_t drawn;	/* ns: last drawing; 0: nothing on the screen */

static void human(double bytes, char *buf, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t u = 0;

	for (; bytes >= 1024 && u < 4; u++)
		bytes /= 1024;
	snprintf(buf, size, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}

void cp_progress(const char *name, uint64_t done, uint64_t size, uint64_t begin)
{
	static int terminal = -1;
	uint64_t now = app_now();
	double part = size ? (double)done / (double)size : 0;
	int bar = (int)(part * BAR_WIDTH);
	char amount[32];

	if (terminal < 0)
		terminal = isatty(STDERR_FILENO);
	if (!terminal || now - drawn < REDRAW_NS)
		return;
	drawn = now;
	human((double)done, amount, sizeof(amount));
	fprintf(stderr, "\r%.40s [%.*s%*s] %3.0f %% %10s %6.2f Gb/s\033[K", name, bar,
		"##############################", BAR_WIDTH - bar, "", part * 100, amount,
		(double)done * 8 / (double)(now - begin + 1));
}

void cp_progress_end(void)
{
	if (drawn)
		fputs("\r\033[K", stderr);
	drawn = 0;
}

void cp_report(const struct cp_config *cfg, uint64_t bytes, uint64_t ns,
	       const uint8_t digest[CP_DIGEST])
{
	double s = (double)ns / 1e9, gbps = (double)bytes * 8 / (double)(ns + 1);
	char hex[2 * CP_DIGEST + 1], amount[32];

	for (int i = 0; i < CP_DIGEST; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	if (cfg->json) {
		json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:f, s:f, s:s}", "direction",
				      cfg->upload ? "upload" : "download", "local", cfg->local,
				      "conn", cfg->conn, "bytes", (json_int_t)bytes, "seconds", s,
				      "gbps", gbps, "xxh3_128", hex);

		json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
		putchar('\n');
		json_decref(o);
		return;
	}
	human((double)bytes, amount, sizeof(amount));
	printf("%s %s %s:%s  %s in %.3f s, %.2f Gb/s, xxh3-128 %s\n", cfg->local,
	       cfg->upload ? "->" : "<-", cfg->conn, cfg->remote, amount, s, gbps, hex);
}
