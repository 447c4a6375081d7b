/* SPDX-License-Identifier: BSD-2-Clause */
/* falconctl(8): what its files share. */
#ifndef FALCON_TOOLS_CTL_H
#define FALCON_TOOLS_CTL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/cli.h"
#include "ipc/client.h"

/* Exit statuses, as ip(8) has them. */
enum ctl_exit {
	CTL_OK = 0,
	CTL_USAGE = 1,		/* the command line is wrong */
	CTL_FAILED = 2,		/* the agent refuses, or there is none */
};

/* The command line before the object. */
struct options {
	const char *socket;	/* NULL: where ipc_client_path() says */
	bool json;
	bool pretty;
};

struct object;

/* What an action does with the arguments that follow it. Returns an enum ctl_exit. */
typedef int (*action_fn)(const struct options *o, const struct object *obj, int argc, char **argv);

/* conn.c */
int ctl_conn_add(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_conn_del(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_conn_reset(const struct options *o, const struct object *obj, int argc, char **argv);

/* nvme.c */
int ctl_nvme_connect(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_nvme_discover(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_nvme_disconnect(const struct options *o, const struct object *obj, int argc, char **argv);

int ctl_nvme_reset(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_namespace_set(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_namespace_resize(const struct options *o, const struct object *obj, int argc, char **argv);

/* metrics.c */
int ctl_metrics(const struct options *o, const struct object *obj, int argc, char **argv);

/* xlr.c */
int ctl_xlr_add(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_xlr_del(const struct options *o, const struct object *obj, int argc, char **argv);

/* rue.c, trace.c, top.c */
int ctl_conn_set(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_rue_set(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_rue_trace(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_top(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_top_qp(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_top_nvme(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_top_shard(const struct options *o, const struct object *obj, int argc, char **argv);

/* save.c */
int ctl_config_save(const struct options *o, const struct object *obj, int argc, char **argv);

/* doctor/ */
int ctl_doctor(const struct options *o, const struct object *obj, int argc, char **argv);

/* Say on stderr what is wrong with the command line, |what| in the place of %s. CTL_USAGE. */
int ctl_usage_error(const char *fmt, const char *what);

/*
 * Parse the options and arguments of the action |name|, the words after it, into |input| by |argp|. A line
 * that is wrong, or asks for help, ends the program (cli.h).
 */
void ctl_parse(const char *name, const struct argp *argp, int argc, char **argv, void *input);

/*
 * A request |op| with KEY=VALUE ... as its members; the first argument may be a value alone, that of
 * |first|. NULL after saying |usage|, with the argument in the place of %s.
 */
json_t *ctl_keys(const char *op, const char *first, const char *usage, int argc, char **argv);

/*
 * Send |req|, which is released, to the agent at |path| and wait for its reply. The reply, to be
 * released by the caller, if the agent says "ok"; otherwise NULL, after a sentence on stderr.
 */
json_t *ctl_request(const char *path, json_t *req);

/*
 * The same on a connection of one's own, to be closed with ipc_client_close(). 0, or -1 after a sentence;
 * ctl_reach() says nothing, but returns a negative errno with the sentence in |agent->err|.
 */
int ctl_connect(struct ipc_client *agent, const char *path);
int ctl_reach(struct ipc_client *agent, const char *path);
/* |pass| goes with the request, unless it is -1. */
json_t *ctl_call(struct ipc_client *agent, json_t *req, int pass);

/* All rows of |object|, page after page; with |name|, unless it is NULL. NULL with the reason in |agent|. */
json_t *ctl_pages(struct ipc_client *agent, const char *object, const char *name);

/* Both halves of ctl_call(), for several requests under way. 0, or -1 after a sentence on stderr. */
int ctl_ask(struct ipc_client *agent, json_t *req);
json_t *ctl_answer(struct ipc_client *agent);

/* Send |req|, of whose reply only success matters. */
int ctl_send(const struct options *o, json_t *req);

/* The rows of |object|, only of connection |name| unless that is NULL. NULL after a sentence. */
json_t *ctl_rows(const struct options *o, const char *object, const char *name);

/* A column of a table: the member that it shows, and its heading. */
struct ctl_column {
	const char *key;
	const char *title;
};

/* A value as it is printed: without quotes, booleans as yes and no. */
void ctl_cell(const json_t *v, char *text, size_t size);

/* Print |rows| as JSON, for people if the options say so. */
void ctl_print_json(const struct options *o, const json_t *rows);

/* Print |rows|, an array of objects, as a table; |columns| ends with a NULL key. */
void ctl_print_table(const json_t *rows, const struct ctl_column *columns);

/* Print every member of each row as "key: value", a blank line between rows. */
void ctl_print_list(const json_t *rows);

/* True if all of the row's numbers are 0. */
bool ctl_row_is_zero(const json_t *row);

#endif /* FALCON_TOOLS_CTL_H */
