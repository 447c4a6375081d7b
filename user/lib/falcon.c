// SPDX-License-Identifier: BSD-2-Clause
/* Attaching to the agent, and what its control socket answers. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/version.h"
#include "lib/lib.h"

/* What falcon_error(NULL) says: there is no handle after falcon_open() failed. */
static _Thread_local char open_err[sizeof(((struct falcon *)0)->err)];

const char *falcon_version(void)
{
	return FALCON_VERSION_STRING;
}

const char *falcon_error(const struct falcon *f)
{
	return f ? f->err : open_err;
}

int lib_fail(struct falcon *f, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->err, sizeof(f->err), fmt, ap);
	va_end(ap);
	return rc;
}

/* |rc| is what a function of |f->control| has returned. */
static int called(struct falcon *f, int rc)
{
	return rc ? lib_fail(f, rc, "%s", f->control.err) : 0;
}

int lib_call(struct falcon *f, json_t *request, json_t **answer)
{
	return called(f, ipc_client_call(&f->control, request, NULL, 0, answer));
}

/* How many threads of the agent carry packets, in |f->nsets|. */
static int count_threads(struct falcon *f)
{
	json_t *answer = NULL;
	json_int_t n;
	int rc = lib_call(f, json_pack("{s:s}", "op", "threads"), &answer);

	if (rc)
		return rc;
	n = json_integer_value(json_object_get(answer, "threads"));
	json_decref(answer);
	if (n < 1 || n > FALCON_RING_SETS_MAX)
		return lib_fail(f, -EPROTO, "the agent does not say how many threads it has");
	f->nsets = (unsigned int)n;
	return 0;
}

static void point(struct ring_set *set, uint8_t *base)
{
	set->rings = (struct falcon_ring_set *)base;
	set->sqes = (struct falcon_sqe *)(base + FALCON_SET_SQ);
	set->cqes = (struct falcon_cqe *)(base + FALCON_SET_CQ);
	set->msgs = (struct falcon_msg *)(base + FALCON_SET_RQ);
}

static int make_memory(struct falcon *f, const struct falcon_attr *attr)
{
	uint8_t *base;

	if (attr->arena_size > FALCON_ARENA_MAX || attr->remote_offset > attr->arena_size ||
	    attr->remote_len > attr->arena_size - attr->remote_offset)
		return lib_fail(f, -EINVAL, "the arena is too large, or the remote range is "
				"outside of it");
	f->arena_size = FALCON_SHM_ROUND(attr->arena_size);
	f->map_size = FALCON_SHM_ARENA(f->nsets) + f->arena_size;
	f->memfd = memfd_create("falcon", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (f->memfd < 0 || ftruncate(f->memfd, (off_t)f->map_size) ||
	    fcntl(f->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return lib_fail(f, -errno, "cannot make shared memory: %s", strerror(errno));
	base = mmap(NULL, f->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, f->memfd, 0);
	if (base == MAP_FAILED)
		return lib_fail(f, -ENOMEM, "cannot map shared memory: %s", strerror(errno));
	f->shm = (struct falcon_shm *)base;
	for (unsigned int i = 0; i < f->nsets; i++)
		point(&f->sets[i], base + FALCON_SHM_SET(i));
	f->arena = base + FALCON_SHM_ARENA(f->nsets);
	f->shm->magic = FALCON_SHM_MAGIC;
	f->shm->version = FALCON_SHM_VERSION;
	f->shm->arena_size = f->arena_size;
	f->shm->remote_offset = attr->remote_offset;
	f->shm->remote_len = attr->remote_len;
	f->shm->remote_write = attr->remote_write != 0;
	f->shm->remote_read = attr->remote_read != 0;
	f->shm->ring_sets = f->nsets;
	return 0;
}

static int make_doorbells(struct falcon *f)
{
	for (unsigned int i = 0; i < f->nsets; i++) {
		f->sets[i].doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (f->sets[i].doorbell < 0)
			return -1;
	}
	return 0;
}

/*
 * Hand memory and signals over: the memory, the doorbell of set 0, the event, the other sets' doorbells.
 * The agent's end of the event socket must be its alone: see EOF.
 */
static int attach(struct falcon *f, json_t *request, json_t **answer)
{
	int pair[2], fds[2 + FALCON_RING_SETS_MAX], rc;

	if (make_doorbells(f) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
		json_decref(request);
		return lib_fail(f, -errno, "cannot make descriptors: %s", strerror(errno));
	}
	f->event = pair[0];
	fds[0] = f->memfd;
	fds[1] = f->sets[0].doorbell;
	fds[2] = pair[1];
	for (unsigned int i = 1; i < f->nsets; i++)
		fds[2 + i] = f->sets[i].doorbell;
	rc = called(f, ipc_client_call(&f->control, request, fds, 2 + f->nsets, answer));
	close(pair[1]);
	return rc;
}

/*
 * Have all pages of the memory: the agent's threads would else make those that it is the first to touch,
 * which is this process's to do, and for its own control group to count. A kernel before 5.14 cannot.
 */
static int have_pages(struct falcon *f)
{
	if (madvise(f->shm, f->map_size, MADV_POPULATE_WRITE) == 0 || errno == EINVAL)
		return 0;
	return lib_fail(f, -errno, "there is not enough memory for %llu bytes: %s",
			(unsigned long long)f->map_size, strerror(errno));
}

static struct falcon *new_handle(void)
{
	struct falcon *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->memfd = f->event = -1;
	f->nsets = 1;
	for (int i = 0; i < FALCON_RING_SETS_MAX; i++)
		f->sets[i].doorbell = -1;
	return f;
}

int lib_open(const struct falcon_attr *attr, json_t *request, bool all_threads, json_t **answer,
	     struct falcon **out)
{
	struct falcon *f = new_handle();
	int rc;

	*out = NULL;
	if (!f) {
		json_decref(request);
		snprintf(open_err, sizeof(open_err), "out of memory");
		return -ENOMEM;
	}
	rc = called(f, ipc_client_connect(&f->control, attr->socket));
	if (!rc && all_threads)
		rc = count_threads(f);
	if (!rc)
		rc = make_memory(f, attr);
	if (rc)
		json_decref(request);
	else
		rc = attach(f, request, answer);
	/* Not before the agent has said that it may be so much. */
	if (!rc)
		rc = have_pages(f);
	if (rc)
		return lib_open_failed(f, rc);
	*out = f;
	return 0;
}

int lib_open_failed(struct falcon *f, int rc)
{
	memcpy(open_err, f->err, sizeof(open_err));
	falcon_close(f);
	return rc;
}

int falcon_open(const struct falcon_attr *attr, struct falcon **out)
{
	json_t *answer = NULL;
	json_int_t got;
	int rc = lib_open(attr, json_pack("{s:s, s:i}", "op", "attach", "service", attr->service),
			  true, &answer, out);

	if (rc)
		return rc;
	got = json_integer_value(json_object_get(answer, "service"));
	json_decref(answer);
	if (got < 1 || got > 65535) {
		lib_fail(*out, -EPROTO, "the agent gave no service number");
		rc = lib_open_failed(*out, -EPROTO);
		*out = NULL;
		return rc;
	}
	(*out)->service = (uint16_t)got;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void falcon_close(struct falcon *f)
{
	if (!f)
		return;
	ipc_client_close(&f->control);
	for (int i = 0; i < FALCON_RING_SETS_MAX; i++)
		close_fd(f->sets[i].doorbell);
	close_fd(f->event);
	close_fd(f->memfd);
	if (f->shm)
		munmap(f->shm, f->map_size);
	free(f);
}

void *falcon_arena(struct falcon *f)
{
	return f->arena;
}

uint64_t falcon_arena_size(const struct falcon *f)
{
	return f->arena_size;
}

uint16_t falcon_service(const struct falcon *f)
{
	return f->service;
}

int falcon_divide(struct falcon *f, uint64_t bytes)
{
	if (!(f->shm->agent_features & FALCON_SHM_GRANTS))
		return lib_fail(f, -EOPNOTSUPP, "the agent is older than libfalcon %s, and cannot keep peers "
				"apart", FALCON_VERSION_STRING);
	if (!bytes || (f->shm->remote_len + bytes - 1) / bytes > FALCON_GRANTS_MAX)
		return lib_fail(f, -EINVAL, "there can be %d slots, not more", FALCON_GRANTS_MAX);
	__atomic_store_n(&f->shm->slot_bytes, bytes, __ATOMIC_RELEASE);
	return 0;
}

static int set_grant(struct falcon *f, unsigned int slot, uint64_t grant)
{
	if (slot >= FALCON_GRANTS_MAX)
		return lib_fail(f, -EINVAL, "there can be %d slots, not more", FALCON_GRANTS_MAX);
	__atomic_store_n(&f->shm->grants[slot], grant, __ATOMIC_RELEASE);
	return 0;
}

int falcon_grant(struct falcon *f, unsigned int slot, uint32_t conn, uint16_t service)
{
	return set_grant(f, slot, FALCON_GRANT(conn, service));
}

int falcon_revoke(struct falcon *f, unsigned int slot)
{
	return set_grant(f, slot, 0);
}

int falcon_lookup(struct falcon *f, const char *name, uint32_t *conn)
{
	json_t *answer = NULL, *value;
	int rc = lib_call(f, json_pack("{s:s, s:s}", "op", "lookup", "name", name), &answer);

	if (rc)
		return rc;
	value = json_object_get(answer, "conn");
	if (json_is_integer(value))
		*conn = (uint32_t)json_integer_value(value);
	else
		rc = lib_fail(f, -EPROTO, "the agent's answer has no connection number");
	json_decref(answer);
	return rc;
}

int falcon_conn_info(struct falcon *f, uint32_t conn, struct falcon_conn_info *info)
{
	json_t *answer = NULL;
	const char *name = "";
	int segment = 0, mtu = 0;
	int rc = lib_call(f, json_pack("{s:s, s:I}", "op", "conn-info", "conn", (json_int_t)conn),
			  &answer);

	if (rc)
		return rc;
	memset(info, 0, sizeof(*info));
	info->conn = conn;
	if (json_unpack(answer, "{s:s, s:b, s:b, s?i, s?i}", "name", &name, "up", &info->up,
			"ordered", &info->ordered, "segment", &segment, "mtu", &mtu))
		rc = lib_fail(f, -EPROTO, "the agent's answer on a connection is incomplete");
	snprintf(info->name, sizeof(info->name), "%s", name);
	info->segment = (uint32_t)segment;
	info->mtu = (uint32_t)mtu;
	json_decref(answer);
	return rc;
}
