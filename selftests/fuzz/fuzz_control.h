/* SPDX-License-Identifier: BSD-2-Clause */
/* The agent of fuzz_control.c, most of which fuzz_control_agent.c stands for. */
#ifndef FALCON_FUZZ_CONTROL_H
#define FALCON_FUZZ_CONTROL_H

#include "../unit/loop/fake_core.h"
#include "agent/agent.h"

enum { FAKE_CONNS = 8 };		/* of the core */

extern struct agent agent;
extern const struct raw_ops fake_raw_ops;
/* An application broke the rules of its rings; whoever sees that sets it back. */
extern bool fake_client_broken;

/* All clients have gone: nothing of theirs is watched; connections that they have made end. */
void fake_agent_rest(void);

#endif /* FALCON_FUZZ_CONTROL_H */
