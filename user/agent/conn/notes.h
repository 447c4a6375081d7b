/* SPDX-License-Identifier: BSD-2-Clause */
/* What upper layers say to each other beside connections. */
#ifndef FALCON_AGENT_CONN_NOTES_H
#define FALCON_AGENT_CONN_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct chan_identity;
struct cm_note;
struct ulp_note;

/* struct ulp_host.note and struct cm_ops.note. */
int agent_send_note(struct agent *a, uint8_t proto, const struct ulp_note *note, char *err,
		    size_t errlen);
void agent_take_note(void *arg, const struct cm_note *note, const struct chan_identity *who);
/* Deliver what upper layers here say to those here. Returns how many notes. */
uint32_t agent_notes_run(struct agent *a);
bool agent_notes_waiting(const struct agent *a);
void agent_notes_close(struct agent *a);

#endif /* FALCON_AGENT_CONN_NOTES_H */
