// SPDX-License-Identifier: BSD-2-Clause
/*
 * falcon.conf: config_load() of a file that holds the input.
 *
 * A refused file must leave a sentence that names file and line, or as much of it as there is room
 * for, and nothing to free. What an accepted one says is checked against the rules that the rest of
 * the agent relies on; written out again as config_show() tells it, it must be accepted and mean
 * the same.
 */
#include <jansson.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "agent/config/keys.h"
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Load |text| through a file; |err| has |errlen| bytes and one more that must stay. */
static int load(const void *text, size_t size, struct agent_config *cfg, char *err, size_t errlen)
{
	static char path[64];
	static int fd = -1;
	int ret;

	if (fd < 0) {
		fd = memfd_create("falcon.conf", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, text, size, 0) == (ssize_t)size);
	memset(err, '#', errlen + 1);
	ret = config_load(path, cfg, err, errlen);
	CHECK(err[errlen] == '#');
	if (ret) {
		CHECK(ret < 0 && memchr(err, 0, errlen) && !cfg->ports && !cfg->conns);
		CHECK(strncmp(err, path, strnlen(path, strlen(err))) == 0);
	}
	return ret;
}

static void check_conns(const struct agent_config *cfg)
{
	for (unsigned int i = 0; i < cfg->nconns; i++) {
		const struct conn_config *c = &cfg->conns[i];

		CHECK(config_name_valid(c->name) && c->line);
		CHECK(c->local_cid < FALCON_MAX_CONNS && c->remote_cid < 1U << 24);
		/* Without both the peer is dialled. */
		CHECK(!c->local_cid == !c->remote_cid);
		CHECK(c->family == AF_INET || c->family == AF_INET6);
		CHECK(c->handshake ? !c->local_spi && !c->remote_spi :
				     c->local_spi && c->remote_spi);
		for (unsigned int k = 0; k < i; k++)
			CHECK((!c->local_cid || cfg->conns[k].local_cid != c->local_cid) &&
			      strcmp(cfg->conns[k].name, c->name));
	}
}

static json_t *shown(const struct agent_config *cfg)
{
	json_t *rows = config_show(cfg);

	CHECK(rows);
	for (unsigned int i = 0; i < cfg->nconns; i++)
		CHECK(config_show_conn(rows, &cfg->conns[i]) == 0);
	return rows;
}

/* The file that |rows| describe: sections, and the keys that were given. */
static char *written(const json_t *rows, size_t *size)
{
	const char *section = "";
	json_t *row;
	size_t i;
	char *text;
	FILE *f = open_memstream(&text, size);

	json_array_foreach(rows, i, row) {
		const char *in = json_string_value(json_object_get(row, "section"));

		if (strcmp(in, section))
			fprintf(f, "[%s]\n", in);
		section = in;
		if (!strcmp(json_string_value(json_object_get(row, "source")), "configured"))
			/* No blank: " ;" would begin a comment, and a value may begin with ';'. */
			fprintf(f, "%s=%s\n", json_string_value(json_object_get(row, "key")),
				json_string_value(json_object_get(row, "value")));
	}
	fclose(f);
	return text;
}

static void check_round_trip(const struct agent_config *cfg)
{
	json_t *first = shown(cfg), *second;
	struct agent_config again;
	char err[513], *text;
	size_t size;

	text = written(first, &size);
	if (load(text, size, &again, err, sizeof(err) - 1)) {
		fprintf(stderr, "%s\n%s", err, text);
		abort();
	}
	second = shown(&again);
	CHECK(json_equal(first, second));
	json_decref(first);
	json_decref(second);
	config_free(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_config cfg;
	char err[513];
	int ret = load(data, size, &cfg, err, sizeof(err) - 1);

	if (ret == 0) {
		check_conns(&cfg);
		check_round_trip(&cfg);
		config_free(&cfg);
	} else {
		CHECK(load(data, size, &cfg, err, 1 + size % 64) == ret);
	}
	return 0;
}
