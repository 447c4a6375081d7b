/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGHUP: the configuration file is read again. What can change while the agent runs does; of the rest a line
 * in the log says that it waits for the next start. falcond(8) has the list.
 */
#ifndef FALCON_AGENT_RELOAD_H
#define FALCON_AGENT_RELOAD_H

struct agent;

/* By control. With an error in the file nothing changes. */
void agent_reload(struct agent *a);

#endif /* FALCON_AGENT_RELOAD_H */
