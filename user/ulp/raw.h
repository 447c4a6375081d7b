/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw upper layer, agent side: PUT, GET and SEND of attached applications
 * (include/falcon/raw.h) as transactions of the core, and the peers' transactions as accesses to
 * their arenas and message rings.
 *
 * An operation of any size is cut into segments, one transaction each. Operations of a connection
 * are submitted in the order in which they were taken; each connection has its own queue, so that
 * one that is held up holds up no other. No memory is allocated per operation.
 *
 * One thread. The raw_on_*() functions are called from within fcore_*(); the others from the
 * agent's loop, never from a callback of the core.
 */
#ifndef FALCON_ULP_RAW_H
#define FALCON_ULP_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ulp/client.h"
#include "core/core.h"
#include "falcon/raw.h"
#include "ulp/ulp.h"

enum raw_const {
	RAW_MAX_CLIENTS = 256,
	RAW_CLIENTS_LINGER = 16,	/* of a user that have gone, with work in the core */
	RAW_FIRST_FREE_SERVICE = 32768,	/* services from here up are for whoever asks for none */
};

struct raw_ulp;

/* What the layer asks of the agent. */
struct raw_ops {
	/*
	 * |cl| broke the rules of the shared memory (|why|): close its control connection. Called
	 * from raw_pump() only; raw_detach() from within is allowed, later will do as well.
	 */
	void (*client_broken)(void *arg, struct client *cl, const char *why);
};

/* The upper layer for connection numbers below |max_conns|, or NULL if memory is short. */
struct raw_ulp *raw_create(const struct raw_ops *ops, void *arg, uint32_t max_conns);
/* Free; connections must be closed in the core and down here. Detaches whoever is left. */
void raw_destroy(struct raw_ulp *ulp);

/*
 * Attach an application: see client_attach(). |service| 0: the next free one. On success *|out| is
 * the client, valid until raw_detach(), and owns the descriptors. -EADDRINUSE: the service is
 * taken; -EUSERS: RAW_MAX_CLIENTS are attached; -EBUSY: RAW_CLIENTS_LINGER of |ends->uid| linger;
 * -EINVAL: the memory is not as it should be; -ENOMEM. |err| then has the sentence, and the descriptors
 * stay the caller's.
 */
int raw_attach(struct raw_ulp *ulp, const struct client_ends *ends, uint16_t service,
	       struct client **out, char *err, size_t err_len);
/* The application has gone. Its queued operations vanish; what is in the core ends silently. */
void raw_detach(struct raw_ulp *ulp, struct client *cl);
/*
 * Call |freed| when the memory of |cl|, which is attached, is mapped no more: when what it has in the core
 * has ended, too.
 */
void raw_on_free(struct raw_ulp *ulp, const struct client *cl, void (*freed)(void *arg), void *arg);

/*
 * Connection |c| is established; a transaction may carry |segment| bytes after the raw header
 * (at most 65535). |c| must stay valid until raw_conn_down(). 0 or -ENOMEM.
 */
int raw_conn_up(struct raw_ulp *ulp, struct fcore_conn *c, uint32_t segment);
/* It is up, and a transaction may carry |segment| bytes from now on. */
void raw_conn_resize(struct raw_ulp *ulp, uint32_t cid, uint32_t segment);
/*
 * Connection |cid| is gone: its queued operations end with kCmplDeadConn. What the core has of
 * them ends when fcore_conn_close() completes it, which may be called before or after.
 */
void raw_conn_down(struct raw_ulp *ulp, uint32_t cid);

/* Only applications of the user |owner|, and root's, may use connection |cid|; -1: all may. */
void raw_conn_own(struct raw_ulp *ulp, uint32_t cid, int64_t owner);
/* Connection |cid|, which is down and closed in the core, will not come up again. */
void raw_conn_gone(struct raw_ulp *ulp, uint32_t cid);

/*
 * Take submissions, start transactions, publish completions and messages. To be called in every
 * round of the loop, after what was received was handed to the core. Returns how many submissions
 * and transactions it moved: 0 means there was nothing to do.
 */
uint32_t raw_pump(struct raw_ulp *ulp, uint64_t now);

/* Before sleeping: publish, and have the doorbells rung. False: there is work, do not sleep. */
bool raw_sleep_begin(struct raw_ulp *ulp);
void raw_sleep_end(struct raw_ulp *ulp);

/* The core's callbacks for FALCON_PROTO_RAW, with the time of the fcore_*() call around them. */
void raw_on_push(struct raw_ulp *ulp, struct fcore_conn *c, uint32_t rsn, const void *payload,
		 uint32_t len, uint64_t now);
void raw_on_pull(struct raw_ulp *ulp, struct fcore_conn *c, uint32_t rsn, const void *hdr,
		 uint32_t hdr_len, uint16_t request_len, uint64_t now);
void raw_on_response_done(struct raw_ulp *ulp, struct fcore_conn *c, uint64_t cookie);
void raw_on_pull_data(struct raw_ulp *ulp, struct fcore_conn *c, uint64_t cookie,
		      const void *payload, uint32_t len);
void raw_on_completion(struct raw_ulp *ulp, struct fcore_conn *c, uint64_t cookie,
		       enum falcon_completion_code code, uint8_t ulp_code);
void raw_on_xon(struct raw_ulp *ulp, struct fcore_conn *c);

/* All of this for the agent; the object is a struct raw_ulp. */
extern const struct ulp_ops raw_ulp_ops;

#endif /* FALCON_ULP_RAW_H */
