/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that a socket has dropped. */
#ifndef FALCON_AGENT_CONN_DROPS_H
#define FALCON_AGENT_CONN_DROPS_H

struct agent;

/* A socket has dropped frames: release the claims that never arrived. */
void agent_recover_drops(struct agent *a);

#endif /* FALCON_AGENT_CONN_DROPS_H */
