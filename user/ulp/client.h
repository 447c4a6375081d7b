/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's side of one ring set of an attached application: the shared memory of
 * include/falcon/shm.h.
 *
 * The application is not trusted. What it wrote before attaching is copied once and checked; a ring
 * index that cannot be right makes client_take() fail, after which the client is to be detached;
 * nothing an application does afterwards can make the agent fault, block or loop.
 *
 * Memory of the arena may be on its way through the core after the application has gone. Whoever
 * hands it to the core (user/ulp/raw.c) counts that and calls client_free() when the last is back.
 */
#ifndef FALCON_ULP_CLIENT_H
#define FALCON_ULP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "falcon/abi/stats.h"
#include "falcon/shm.h"

struct client;

/* Of an application of raw transactions (stats.h). */
#define CLIENT_STATS(V)											\
	V(counter, taken, none, "submissions taken")							\
	V(counter, completed, none, "completions written")						\
	V(gauge, outstanding, none, "submissions taken and not completed yet")				\
	V(counter, messages, none, "messages delivered")						\
	V(counter, ring_full, none, "messages refused: no room in the message ring")			\
	V(counter, wakes, none, "signals sent to a sleeping application")

struct client_stats {
	CLIENT_STATS(STAT_MEMBER)
};

/* What an application hands over for one ring set. */
struct client_ends {
	int memfd;
	int doorbell;		/* an eventfd that the application writes */
	/*
	 * An end of a Unix stream socket pair that wakes the application, and whose closing tells it
	 * that the agent has gone. Not an eventfd: the application shares an eventfd's O_NONBLOCK and
	 * could make the agent block in write().
	 */
	int event;
	unsigned int set;	/* which of the memory's ring sets */
	/*
	 * How the client gives |event| and the memory back, instead of by close() and munmap(): |event|
	 * may have been sent descriptors, whose closing takes as long as the application likes, and the
	 * last to give a memory back has all of its pages to free. |fd| is -1, or |base| NULL, if there
	 * is none. NULL: by close() and munmap().
	 */
	void (*release)(uint32_t uid, int fd, void *base, uint64_t size);
	uint32_t uid;		/* release()'s */
};

/*
 * Map the memory of |ends| and attach to its ring set under |service|.
 *
 * Returns a client that owns the three descriptors, or NULL with a sentence in |err|, in which
 * case they stay the caller's.
 */
struct client *client_attach(const struct client_ends *ends, uint16_t service, char *err,
			     size_t err_len);

/* Tell the application that it is over (EOF on its event socket); no more ring operations. */
void client_shutdown(struct client *cl);
/* Unmap, close and free; NULL is allowed. */
void client_free(struct client *cl);

uint16_t client_service(const struct client *cl);
/* Its ring set, and how many the application's memory has. */
unsigned int client_set(const struct client *cl);
unsigned int client_sets(const struct client *cl);
/* Whose application it is: 0, root, unless said. */
void client_set_user(struct client *cl, uint32_t uid);
uint32_t client_user(const struct client *cl);
/* Bytes that are mapped: all ring sets and the arena. */
uint64_t client_memory(const struct client *cl);
/* To be added to epoll with EPOLLIN | EPOLLET and never read. */
int client_doorbell(const struct client *cl);
const struct client_stats *client_stats(const struct client *cl);

/*
 * Copy the next submission to |out|. 1: taken, client_complete() must follow for it some time;
 * 0: there is none, or as many operations are outstanding as the completion ring can hold;
 * -EPROTO: the ring's indexes are impossible, detach this client.
 */
int client_take(struct client *cl, struct falcon_sqe *out);
/* Whether it broke the rules of its shared memory: nothing more is taken, it is to be detached. */
bool client_broken(const struct client *cl);

/* Write a completion. There is always room: client_take() sees to that. */
void client_complete(struct client *cl, const struct falcon_cqe *cqe);

/*
 * Put a message of connection |cid| into the message ring; |len| is at most FALCON_MSG_MAX.
 * -ENOBUFS: the ring is full.
 */
int client_deliver(struct client *cl, uint32_t cid, uint16_t src_service, uint64_t tag,
		   const void *payload, uint32_t len);

/* Make what was taken, completed and delivered visible, and wake the application if it sleeps. */
void client_publish(struct client *cl);

/* Memory of the arena, or NULL if [offset, offset + len) is not in it. */
void *client_local(const struct client *cl, uint64_t offset, uint64_t len);
/*
 * The same for a peer that wants to write (|write|) or read, on connection |cid| from |service| there: NULL
 * also if not opened for it.
 */
void *client_remote(const struct client *cl, uint64_t offset, uint64_t len, bool write, uint32_t cid,
		    uint16_t service);

/*
 * Announce that the agent is about to sleep: from here on the application rings the doorbell.
 * False: there is work already; the announcement has been taken back.
 */
bool client_sleep_begin(struct client *cl);
void client_sleep_end(struct client *cl);

/*
 * Memory of a stranger's that can never fault: |fd| is sealed against shrinking, and of the kernel's
 * own tmpfs (a hugetlbfs page may be missing when it is touched). 0 and its bytes in *|size|, or -1
 * with why in |err|.
 */
int client_check_memfd(int fd, uint64_t *size, char *err, size_t err_len);
/* A stranger's descriptors of other kinds could block us in poll() or send(). */
bool client_is_eventfd(int fd);
/* A Unix socket of |type|. */
bool client_is_socket(int fd, int type);

#endif /* FALCON_ULP_CLIENT_H */
