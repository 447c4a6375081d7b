// SPDX-License-Identifier: BSD-2-Clause
/* falconctl show, and what else prints what the agent has: it sends rows. */
#include <stdio.h>
#include <string.h>

#include "ca.h"
#include "object.h"

static int print_rows(const struct options *o, const struct object *obj, const json_t *rows,
		      bool detail)
{
	if (o->json) {
		ctl_print_json(o, rows);
	} else if (detail || !obj->columns) {
		ctl_print_list(rows);
	} else {
		ctl_print_table(rows, obj->columns);
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? CTL_OK : CTL_FAILED;
}

/* show: everything, or what belongs to one connection, in detail. */
static int show_rows(const struct options *o, const struct object *obj, int argc, char **argv,
		     bool detail)
{
	json_t *rows;
	int ret;

	if (argc > 1)
		return ctl_usage_error("unexpected argument \"%s\"", argv[1]);
	rows = ctl_rows(o, obj->name, argc ? argv[0] : NULL);
	if (!rows)
		return CTL_FAILED;
	ret = print_rows(o, obj, rows, detail);
	json_decref(rows);
	return ret;
}

int ctl_show_named(const struct options *o, const struct object *obj, int argc, char **argv)
{
	return show_rows(o, obj, argc, argv, argc > 0);
}

/* show: eight rows also of one connection, so a table of them, too. */
int ctl_show_pool(const struct options *o, const struct object *obj, int argc, char **argv)
{
	return show_rows(o, obj, argc, argv, false);
}

int ctl_show_all(const struct options *o, const struct object *obj, int argc, char **argv)
{
	if (argc > 0)
		return ctl_usage_error("unexpected argument \"%s\"", argv[0]);
	return ctl_show_named(o, obj, 0, argv);
}

/* A person wants to see what has happened; a program gets every counter. */
int ctl_show_counters(const struct options *o, const struct object *obj, int argc, char **argv)
{
	bool all = argc > 0 && strcmp(argv[0], "all") == 0;
	json_t *rows;
	int ret;

	if (argc > all)
		return ctl_usage_error("unexpected argument \"%s\"", argv[all]);
	rows = ctl_rows(o, obj->name, NULL);
	if (!rows)
		return CTL_FAILED;
	for (size_t i = json_array_size(rows); i-- > 0 && !o->json && !all;) {
		if (ctl_row_is_zero(json_array_get(rows, i)))
			json_array_remove(rows, i);
	}
	ret = print_rows(o, obj, rows, false);
	json_decref(rows);
	return ret;
}

/* JSON in any case, as falcon-psp --decrypt reads it. */
int ctl_key_export(const struct options *o, const struct object *obj, int argc, char **argv)
{
	json_t *reply, *rows;
	int rc;

	(void)obj;
	if (argc > 0)
		return ctl_usage_error("unexpected argument \"%s\"", argv[0]);
	reply = ctl_request(o->socket, json_pack("{s:s}", "op", "key-export"));
	rows = json_object_get(reply, "rows");
	rc = rows && json_dumpf(rows, stdout, JSON_INDENT(1)) == 0 ? CTL_OK : CTL_FAILED;
	if (rows)
		putchar('\n');
	json_decref(reply);
	return rc;
}

/* Without a name, or with "all", the agent's master keys. */
int ctl_key_rotate(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	if (argc == 0 || (argc == 1 && strcmp(argv[0], "all") == 0))
		return ctl_send(o, json_pack("{s:s}", "op", "key-rotate"));
	if (argc > 1)
		return ctl_usage_error("unexpected argument \"%s\"", argv[1]);
	return ctl_send(o, json_pack("{s:s, s:s}", "op", "key-rotate", "name", argv[0]));
}

int ctl_ca_show(const struct options *o, const struct object *obj, int argc, char **argv)
{
	const char *dir = argc > 0 ? argv[0] : CA_DEFAULT_DIR;
	json_t *rows;
	int ret;

	if (argc > 1)
		return ctl_usage_error("unexpected argument \"%s\"", argv[1]);
	rows = ctl_ca_rows(strncmp(dir, "dir=", 4) == 0 ? dir + 4 : dir);
	ret = print_rows(o, obj, rows, false);
	json_decref(rows);
	return ret;
}
