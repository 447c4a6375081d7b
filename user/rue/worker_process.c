// SPDX-License-Identifier: BSD-2-Clause
/* The agent's side of an engine in another process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rue/worker_priv.h"

static int make_share(struct rue_worker *w, uint32_t flows)
{
	const struct rue_config *profile;
	void *at = MAP_FAILED;

	w->share_bytes = rue_share_bytes(flows);
	w->memory = memfd_create("falcon-rue-share", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (w->memory >= 0 && ftruncate(w->memory, (off_t)w->share_bytes) == 0 &&
	    fcntl(w->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		at = mmap(NULL, w->share_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->memory, 0);
	if (at == MAP_FAILED)
		return -1;
	w->share = at;
	w->flows = flows;
	w->share->magic = RUE_SHARE_MAGIC;
	w->share->size = sizeof(*w->share);
	w->share->flows = flows;
	for (uint32_t i = 0; (profile = rue_host_profile_at(w->host, i)); i++)
		w->share->profile[w->share->n_profiles++] = *profile;
	return 0;
}

static int connect_to(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int sock, why;

	if (strlen(path) >= sizeof(to.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(to.sun_path, path, strlen(path));
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock >= 0 && connect(sock, (struct sockaddr *)&to, sizeof(to)) == 0)
		return sock;
	why = errno;
	if (sock >= 0)
		close(sock);
	errno = why;
	return -1;
}

static int attach(const struct rue_worker *w)
{
	const uint32_t type = RUE_ATTACH;
	const int fd[RUE_ATTACH_FDS] = { w->pair.events.memory, w->pair.events.bell,
					 w->pair.results.memory, w->pair.results.bell, w->memory };

	return rue_message_send(w->sock, &type, sizeof(type), fd, RUE_ATTACH_FDS);
}

struct rue_worker *rue_worker_connect(struct rue_host *h, const char *path, uint32_t flows,
				      uint32_t entries, char *err, size_t size)
{
	int sock = connect_to(path), why = errno;
	struct rue_worker *w;

	if (sock < 0) {
		snprintf(err, size, "%s: %s", path, strerror(why));
		return NULL;
	}
	w = rue_worker_new(h, entries, err, size);
	if (!w) {
		close(sock);
		return NULL;
	}
	w->sock = sock;
	if (make_share(w, flows) || attach(w)) {
		snprintf(err, size, "%s: %s", path, strerror(errno));
		rue_worker_stop(w);
		return NULL;
	}
	return w;
}

void rue_worker_part(struct rue_worker *w)
{
	if (w->share)
		munmap(w->share, w->share_bytes);
	if (w->memory >= 0)
		close(w->memory);
	if (w->sock >= 0)
		close(w->sock);
}

int rue_worker_sock(const struct rue_worker *w)
{
	return w->sock;
}

void *rue_worker_states(const struct rue_worker *w)
{
	return w->share->state;
}

int rue_worker_look(struct rue_worker *w, char *err, size_t size)
{
	char text[256];
	ssize_t n = recv(w->sock, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n == 1 && !text[0] && !w->ready) {
		w->ready = true;
		return 1;
	}
	if (n > 0)
		snprintf(err, size, "%.*s", (int)n, text);
	else
		snprintf(err, size, "%s", n < 0 ? strerror(errno) : "it has ended");
	return -1;
}

/* Send, and let the engine look before it processes any later event. */
static bool tell(struct rue_worker *w, const struct rue_message *m, size_t text, const int *fd)
{
	if (rue_message_send(w->sock, m, offsetof(struct rue_message, text) + text, fd, fd ? 1 : 0))
		return false;
	falcon_store(&w->share->commands, ++w->told);
	rue_way_ring(&w->pair.events);
	return true;
}

bool rue_worker_engine(struct rue_worker *w, uint32_t number, const char *name,
		       const char *const *params)
{
	struct rue_message m = { .type = RUE_START_ENGINE, .number = number };
	const char *next = name;
	size_t used = 0;

	do {
		size_t len = strlen(next) + 1;

		if (len > sizeof(m.text) - used)
			return false;
		memcpy(m.text + used, next, len);
		used += len;
		next = params ? *params++ : NULL;
	} while (next);
	return tell(w, &m, used, NULL);
}

bool rue_worker_trace(struct rue_worker *w, int fd, uint32_t records, int64_t only)
{
	const struct rue_message m = { .type = RUE_TRACE, .number = records, .only = only };

	return tell(w, &m, 0, records ? &fd : NULL);
}

void rue_worker_reset(struct rue_worker *w, uint32_t base_delay_target)
{
	uint32_t index = base_delay_target & (w->flows - 1);

	if (w->sock < 0)
		return;
	__atomic_fetch_or(&rue_share_reset(w->share, w->flows)[index / 64], 1ULL << index % 64,
			  __ATOMIC_RELAXED);
	__atomic_exchange_n(&w->share->resets, 1, __ATOMIC_ACQ_REL);
}
