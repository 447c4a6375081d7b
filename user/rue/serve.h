/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rate update engines for agents in other processes, which connect to a Unix socket (share.h). Each agent
 * has a thread, and engines, of its own.
 */
#ifndef FALCON_USER_RUE_SERVE_H
#define FALCON_USER_RUE_SERVE_H

#include <stddef.h>

enum { RUE_SERVE_AGENTS = 16 };	/* at a time */

struct rue_server;

/*
 * Listen at |path|, which only this process' user, and root, may use; a socket that a dead process has
 * left there is replaced. |say| is told what happens, by several threads. NULL with the reason in |err|.
 */
struct rue_server *rue_serve(const char *path, void (*say)(const char *text), char *err, size_t size);
/* Wait for agents and serve them, until |stop|, a descriptor, is readable. */
void rue_serve_run(struct rue_server *s, int stop);
/* Part with all agents, and remove the socket. */
void rue_serve_end(struct rue_server *s);

#endif /* FALCON_USER_RUE_SERVE_H */
