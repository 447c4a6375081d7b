/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An application's shared memory as a test sees it: every byte can be set to anything, which
 * libfalcon would not let one do.
 */
#ifndef FALCON_SELFTESTS_APP_H
#define FALCON_SELFTESTS_APP_H

#include <stdbool.h>
#include <stdint.h>

#include "falcon/shm.h"
#include "ulp/client.h"

struct app {
	int memfd, doorbell, event, agent_event;	/* agent_event: what the agent gets */
	struct falcon_shm *shm;		/* with one ring set */
	struct falcon_ring_set *rings;
	struct falcon_sqe *sqes;
	struct falcon_cqe *cqes;
	struct falcon_msg *msgs;
	uint8_t *arena;
	uint64_t arena_size;
};

/* Make memory with an arena, all of it open to peers, and the signals; sealed if |seal|. */
void app_make(struct app *a, uint64_t arena_size, bool seal);
/* What the agent gets. */
struct client_ends app_ends(const struct app *a);
/* Unmap and close what the application keeps; the agent's descriptors are the agent's. */
void app_drop(struct app *a);
/* The same, and close the agent's too: it did not take them. */
void app_drop_all(struct app *a);

/* Submit, and publish. The ring must have room. */
void app_submit(struct app *a, const struct falcon_sqe *sqe);
/* Take the next completion. False: there is none. */
bool app_complete(struct app *a, struct falcon_cqe *cqe);
/* The oldest message or NULL; and give it back. */
const struct falcon_msg *app_message(const struct app *a);
void app_message_done(struct app *a);
/* How many signals are waiting at the event socket; -1 at its end. Reads them. */
int app_signals(struct app *a);

#endif /* FALCON_SELFTESTS_APP_H */
