/* SPDX-License-Identifier: BSD-2-Clause */
/* The way to a connection's peer. */
#ifndef FALCON_AGENT_CONN_ROUTE_H
#define FALCON_AGENT_CONN_ROUTE_H

struct agent_conn;

/* Let |c|'s packets go the way that leads to its peer now, if any does. */
void agent_conn_route(struct agent_conn *c);

#endif /* FALCON_AGENT_CONN_ROUTE_H */
