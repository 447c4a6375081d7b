/* SPDX-License-Identifier: BSD-2-Clause */
/* How large the packets of a connection may be: links, headers, and what lies between. */
#ifndef FALCON_AGENT_CONN_PATH_H
#define FALCON_AGENT_CONN_PATH_H

#include <stddef.h>
#include <stdint.h>

struct agent_conn;
struct cm_path;

/* By links and headers; for agent_conn_set_up(). 0 or -EMSGSIZE. */
int agent_path_limit(struct agent_conn *c, char *err, size_t errlen);
/* The peer is ready: search what the path carries. A connection with a handshake goes up then. */
void agent_path_search(struct agent_conn *c);
/* What the search found, of struct fcore_ops.on_path(). */
void agent_path_found(struct agent_conn *c, uint32_t len);
/* What the peer says of its search and of its link: struct cm_ops.path(). */
void agent_path_told(struct agent_conn *c, const struct cm_path *path);
/* |c|, which is set up, has a route whose MTU may be another. */
void agent_path_follow(struct agent_conn *c);

#endif /* FALCON_AGENT_CONN_PATH_H */
