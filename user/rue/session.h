/* SPDX-License-Identifier: BSD-2-Clause */
/* An agent that an engine process serves (share.h). */
#ifndef FALCON_USER_RUE_SESSION_H
#define FALCON_USER_RUE_SESSION_H

#include <stdbool.h>

struct rue_session;

/*
 * Serve the agent at |sock|, which is the session's from then on, on a thread. |say| is told what
 * happens; |ended|, an eventfd, rings when the agent has gone. NULL if there is no memory or thread.
 */
struct rue_session *rue_session_start(int sock, int ended, void (*say)(const char *text));
/* True if the agent has gone. */
bool rue_session_over(const struct rue_session *s);
/* Part with the agent, and wait for the thread. */
void rue_session_end(struct rue_session *s);

#endif /* FALCON_USER_RUE_SESSION_H */
