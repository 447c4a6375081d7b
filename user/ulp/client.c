// SPDX-License-Identifier: BSD-2-Clause
#include "ulp/client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ipc/sleep.h"

/* Our own copy of everything that matters: what lies in |shm| may change under our eyes. */
struct client {
	struct falcon_shm *shm;
	struct falcon_ring_set *rings;
	struct falcon_sqe *sqes;
	struct falcon_cqe *cqes;
	struct falcon_msg *msgs;
	uint8_t *arena;
	uint64_t arena_size;
	uint64_t remote_offset, remote_len;
	bool remote_write, remote_read;
	bool broken;			/* an index was impossible */
	uint16_t service;
	unsigned int set, sets;		/* ours, and of the whole memory */
	uint32_t user;
	int memfd, doorbell, event;
	void (*release)(uint32_t uid, int fd, void *base, uint64_t size);	/* struct client_ends' */
	uint32_t uid;

	uint32_t sq_head, sq_tail;	/* tail as last seen */
	uint32_t cq_tail, rq_tail;
	uint32_t sq_published, cq_published, rq_published;
	struct client_stats stats;
};

__attribute__((format(printf, 3, 4)))
static int fail(char *err, size_t err_len, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, err_len, fmt, ap);
	va_end(ap);
	return -1;
}

int client_check_memfd(int fd, uint64_t *size, char *err, size_t err_len)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return fail(err, err_len, "the memory is not a memfd sealed against shrinking");
	if (fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC)
		return fail(err, err_len, "the memory is not plain memfd memory (huge pages?)");
	if (fstat(fd, &st) || st.st_size < 0)
		return fail(err, err_len, "cannot get the memory's size: %s", strerror(errno));
	*size = (uint64_t)st.st_size;
	return 0;
}

bool client_is_eventfd(int fd)
{
	char path[64], link[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, link, sizeof(link) - 1) > 0 && !strcmp(link, "anon_inode:[eventfd]");
}

bool client_is_socket(int fd, int type)
{
	int its_domain = 0, its_type = 0;
	socklen_t len = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &its_domain, &len) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &its_type, &len) == 0 &&
	       its_domain == AF_UNIX && its_type == type;
}

static int check_signals(int doorbell, int event, char *err, size_t err_len)
{
	if (!client_is_eventfd(doorbell))
		return fail(err, err_len, "the doorbell is not an eventfd");
	if (!client_is_socket(event, SOCK_STREAM))
		return fail(err, err_len, "the event descriptor is not a Unix stream socket");
	return 0;
}

/* The header, copied once and checked, for ring set |set|. |size| is the memory's, bytes. */
static int check_header(const struct falcon_shm *h, unsigned int set, uint64_t size, char *err,
			size_t err_len)
{
	if (h->magic != FALCON_SHM_MAGIC)
		return fail(err, err_len, "the memory does not begin with the magic number");
	if (h->version != FALCON_SHM_VERSION)
		return fail(err, err_len, "shared memory of version %u, this agent has %u",
			    h->version, FALCON_SHM_VERSION);
	if (h->ring_sets > FALCON_RING_SETS_MAX || set >= h->ring_sets)
		return fail(err, err_len, "memory with %u ring sets has none with number %u", h->ring_sets,
			    set);
	if (h->arena_size > FALCON_ARENA_MAX || size < FALCON_SHM_ARENA(h->ring_sets) + h->arena_size)
		return fail(err, err_len, "an arena of %llu bytes does not fit the memory",
			    (unsigned long long)h->arena_size);
	if (h->remote_offset > h->arena_size || h->remote_len > h->arena_size - h->remote_offset)
		return fail(err, err_len, "the range opened for remote access exceeds the arena");
	return 0;
}

static int map_memory(struct client *cl, const struct falcon_shm *h, char *err, size_t err_len)
{
	uint64_t arena = FALCON_SHM_ARENA(h->ring_sets);
	uint8_t *base = mmap(NULL, arena + h->arena_size, PROT_READ | PROT_WRITE, MAP_SHARED, cl->memfd, 0);
	uint8_t *set;

	if (base == MAP_FAILED)
		return fail(err, err_len, "cannot map the memory: %s", strerror(errno));
	cl->shm = (struct falcon_shm *)base;
	cl->sets = h->ring_sets;
	cl->shm->agent_features = FALCON_SHM_GRANTS;
	set = base + FALCON_SHM_SET(cl->set);
	cl->rings = (struct falcon_ring_set *)set;
	cl->sqes = (struct falcon_sqe *)(set + FALCON_SET_SQ);
	cl->cqes = (struct falcon_cqe *)(set + FALCON_SET_CQ);
	cl->msgs = (struct falcon_msg *)(set + FALCON_SET_RQ);
	cl->arena = base + arena;
	cl->arena_size = h->arena_size;
	cl->remote_offset = h->remote_offset;
	cl->remote_len = h->remote_len;
	cl->remote_write = h->remote_write;
	cl->remote_read = h->remote_read;
	return 0;
}

/* Where nobody has to be spared. */
static void release_now(uint32_t uid, int fd, void *base, uint64_t size)
{
	(void)uid;
	if (base)
		munmap(base, size);
	if (fd >= 0)
		close(fd);
}

struct client *client_attach(const struct client_ends *ends, uint16_t service, char *err,
			     size_t err_len)
{
	struct falcon_shm header;
	struct client *cl;
	uint64_t size = 0;

	if (client_check_memfd(ends->memfd, &size, err, err_len) ||
	    check_signals(ends->doorbell, ends->event, err, err_len))
		return NULL;
	if (pread(ends->memfd, &header, sizeof(header), 0) != (ssize_t)sizeof(header)) {
		fail(err, err_len, "the memory is too small to hold its header");
		return NULL;
	}
	if (check_header(&header, ends->set, size, err, err_len))
		return NULL;
	cl = calloc(1, sizeof(*cl));
	if (!cl) {
		fail(err, err_len, "out of memory");
		return NULL;
	}
	cl->memfd = ends->memfd;
	cl->set = ends->set;
	if (map_memory(cl, &header, err, err_len)) {
		free(cl);
		return NULL;
	}
	cl->doorbell = ends->doorbell;
	cl->event = ends->event;
	cl->release = ends->release ? ends->release : release_now;
	cl->uid = ends->uid;
	cl->service = service;
	return cl;
}

unsigned int client_set(const struct client *cl)
{
	return cl->set;
}

unsigned int client_sets(const struct client *cl)
{
	return cl->sets;
}

void client_set_user(struct client *cl, uint32_t uid)
{
	cl->user = uid;
}

uint32_t client_user(const struct client *cl)
{
	return cl->user;
}

uint64_t client_memory(const struct client *cl)
{
	return FALCON_SHM_ARENA(cl->sets) + cl->arena_size;
}

void client_shutdown(struct client *cl)
{
	shutdown(cl->event, SHUT_RDWR);
}

void client_free(struct client *cl)
{
	if (!cl)
		return;
	cl->release(cl->uid, cl->event, NULL, 0);
	cl->release(cl->uid, cl->memfd, cl->shm, client_memory(cl));
	close(cl->doorbell);
	free(cl);
}

uint16_t client_service(const struct client *cl)
{
	return cl->service;
}

int client_doorbell(const struct client *cl)
{
	return cl->doorbell;
}

const struct client_stats *client_stats(const struct client *cl)
{
	return &cl->stats;
}

/* How many submissions are waiting; negative if the application wrote nonsense. */
static int submissions(struct client *cl)
{
	if (cl->sq_tail == cl->sq_head)
		cl->sq_tail = falcon_load(&cl->rings->sq.tail);
	if (cl->broken || cl->sq_tail - cl->sq_head > FALCON_SQ_ENTRIES)
		return -EPROTO;
	return (int)(cl->sq_tail - cl->sq_head);
}

/*
 * 1 if one more operation would find room for its completion, 0 if not, -EPROTO if the application
 * claims to have read what was never written.
 */
static int may_start(const struct client *cl)
{
	uint32_t unread = cl->cq_tail - falcon_load(&cl->rings->cq.head);

	if (unread > FALCON_CQ_ENTRIES)
		return -EPROTO;
	return unread + cl->stats.outstanding < FALCON_CQ_ENTRIES;
}

bool client_broken(const struct client *cl)
{
	return cl->broken;
}

int client_take(struct client *cl, struct falcon_sqe *out)
{
	int rc = submissions(cl);

	if (rc > 0)
		rc = may_start(cl);
	cl->broken = rc < 0;
	if (rc <= 0)
		return rc;
	memcpy(out, &cl->sqes[cl->sq_head % FALCON_SQ_ENTRIES], sizeof(*out));
	/* From here on |out| alone is looked at, whatever the compiler knows about memcpy(). */
	__asm__ volatile("" : : : "memory");
	cl->sq_head++;
	cl->stats.taken++;
	cl->stats.outstanding++;
	return 1;
}

void client_complete(struct client *cl, const struct falcon_cqe *cqe)
{
	cl->cqes[cl->cq_tail % FALCON_CQ_ENTRIES] = *cqe;
	cl->cq_tail++;
	cl->stats.completed++;
	cl->stats.outstanding--;
}

int client_deliver(struct client *cl, uint32_t cid, uint16_t src_service, uint64_t tag,
		   const void *payload, uint32_t len)
{
	uint32_t unread = cl->rq_tail - falcon_load(&cl->rings->rq.head);
	struct falcon_msg *m = &cl->msgs[cl->rq_tail % FALCON_RQ_ENTRIES];

	if (unread > FALCON_RQ_ENTRIES)
		cl->broken = true;
	if (unread >= FALCON_RQ_ENTRIES) {
		cl->stats.ring_full++;
		return -ENOBUFS;
	}
	m->conn = FALCON_CONN_HANDLE(cl->set, cid);
	m->src_service = src_service;
	m->len = (__u16)len;
	m->tag = tag;
	memcpy(m->payload, payload, len);
	cl->rq_tail++;
	cl->stats.messages++;
	return 0;
}

void client_publish(struct client *cl)
{
	bool produced = cl->cq_tail != cl->cq_published || cl->rq_tail != cl->rq_published;

	if (cl->sq_head != cl->sq_published) {
		cl->sq_published = cl->sq_head;
		falcon_store(&cl->rings->sq.head, cl->sq_head);
	}
	if (!produced)
		return;
	cl->cq_published = cl->cq_tail;
	cl->rq_published = cl->rq_tail;
	falcon_store(&cl->rings->cq.tail, cl->cq_tail);
	falcon_store(&cl->rings->rq.tail, cl->rq_tail);
	if (sleep_claim(&cl->shm->app_sleeping)) {
		cl->stats.wakes++;
		/* A full socket holds signals that were not read yet; a closed one has no reader. */
		send(cl->event, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

void *client_local(const struct client *cl, uint64_t offset, uint64_t len)
{
	if (offset > cl->arena_size || len > cl->arena_size - offset)
		return NULL;
	return cl->arena + offset;
}

/* Whether |len| bytes from |in| on, bytes into the range that peers may reach, are granted to that peer. */
static bool granted(const struct client *cl, uint64_t in, uint64_t len, uint32_t cid, uint16_t service)
{
	uint64_t bytes = __atomic_load_n(&cl->shm->slot_bytes, __ATOMIC_ACQUIRE), slot;

	if (!bytes)
		return true;
	slot = in / bytes;
	if (slot >= FALCON_GRANTS_MAX || len > bytes - in % bytes)
		return false;
	return __atomic_load_n(&cl->shm->grants[slot], __ATOMIC_ACQUIRE) ==
	       FALCON_GRANT(FALCON_CONN_HANDLE(cl->set, cid), service);
}

void *client_remote(const struct client *cl, uint64_t offset, uint64_t len, bool write, uint32_t cid,
		    uint16_t service)
{
	uint64_t in = offset - cl->remote_offset;

	if (!(write ? cl->remote_write : cl->remote_read))
		return NULL;
	if (offset < cl->remote_offset || in > cl->remote_len || len > cl->remote_len - in)
		return NULL;
	return granted(cl, in, len, cid, service) ? cl->arena + offset : NULL;
}

bool client_sleep_begin(struct client *cl)
{
	sleep_announce(&cl->rings->agent_sleeping);
	/* Nonsense counts as work: taking it is what finds it out. */
	if (submissions(cl) && may_start(cl)) {
		client_sleep_end(cl);
		return false;
	}
	return true;
}

void client_sleep_end(struct client *cl)
{
	sleep_over(&cl->rings->agent_sleeping);
}
