/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables for falconctl that have rows about connections, of which there may be very many. */
#ifndef FALCON_AGENT_CONN_ROWS_H
#define FALCON_AGENT_CONN_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct agent;
struct agent_conn;

/* What a table is to be about. */
struct show_query {
	const struct agent_conn *only;	/* this connection; NULL: all */
	uid_t uid;			/* who asks */
	uint64_t from;			/* where the rows before have ended; 0: these are the first */
	uint64_t *next;			/* becomes where these end, unless they are the last */
};

/*
 * Of tables that users can make long, a request gets a page: rows until there are SHOW_ROWS, or SHOW_LOOKS
 * calls have been made to look for some. A call makes ROWS_AT_ONCE of them: no packet moves meanwhile.
 */
enum show_page { SHOW_ROWS = 256, SHOW_LOOKS = 64, ROWS_AT_ONCE = 32 };

/*
 * Whether rows about |c| are for whoever asks. Ordinary users see what they may use: their own
 * connections, and the host's for raw transactions. The others, with their addresses, are those of other
 * users' programs.
 */
bool show_wants(const struct show_query *q, const struct agent_conn *c);

/*
 * Have |fn| append rows about each connection that |q| is about, a page of them; only such as are set
 * up if |up|.
 */
void agent_show_each(struct agent *a, const struct show_query *q, bool up,
		     void (*fn)(const struct agent_conn *c, void *rows), json_t *rows);
/* |fn| of each connection, |at_once| of them in a call. */
void agent_each_conn(struct agent *a, uint32_t at_once, void (*fn)(const struct agent_conn *c, void *arg),
		     void *arg);

#endif /* FALCON_AGENT_CONN_ROWS_H */
