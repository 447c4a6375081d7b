// SPDX-License-Identifier: BSD-2-Clause
#include "rue/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rue/pair.h"
#include "rue/share.h"

enum {
	PATIENCE_MS = 5000,	/* for a message that is announced */
	PARAMS_MAX = 64,
};

struct rue_session {
	pthread_t thread;
	int sock;
	int ended;
	void (*say)(const char *text);
	bool stop;			/* atomic; the server's */
	bool over;			/* atomic; the thread's */
	/* The thread's. */
	pid_t pid;			/* the agent's */
	struct rue_host *host;
	struct rue_pair pair;
	struct rue_share *share;
	size_t share_bytes;
	uint32_t flows;			/* our copies: */
	uint32_t commands;		/* messages received after RUE_ATTACH */
	struct rue_trace *trace;
	size_t trace_bytes;
	char why[256];			/* it ends; empty: the agent has gone, or the server */
};

static bool refuse(struct rue_session *s, const char *why)
{
	snprintf(s->why, sizeof(s->why), "%s", why);
	return false;
}

/* The next message; one that does not come in time has failed. */
static ssize_t receive(struct rue_session *s, struct rue_message *m, struct fdpass *fds)
{
	struct pollfd p = { .fd = s->sock, .events = POLLIN };

	fds->n = 0;
	memset(m, 0, sizeof(*m));
	if (poll(&p, 1, PATIENCE_MS) < 1) {
		errno = ETIMEDOUT;
		return -1;
	}
	/* All but the last byte, so that the strings end. */
	return fdpass_receive(s->sock, m, sizeof(*m) - 1, fds, 0);
}

/* Map a memfd that cannot shrink. NULL if it is none, or smaller than |least|. */
static void *map_memory(int fd, size_t least, size_t *bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *at;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) < 0 ||
	    (size_t)st.st_size < least)
		return NULL;
	*bytes = (size_t)st.st_size;
	at = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static bool map_share(struct rue_session *s, int fd)
{
	uint32_t profiles;

	s->share = map_memory(fd, sizeof(*s->share), &s->share_bytes);
	if (!s->share || s->share->magic != RUE_SHARE_MAGIC || s->share->size != sizeof(*s->share))
		return refuse(s, "falcond and falcon-rue are of different builds");
	s->flows = s->share->flows;
	profiles = s->share->n_profiles;
	if (s->flows < 64 || s->flows > RUE_SHARE_FLOWS || s->flows & (s->flows - 1) ||
	    s->share_bytes < rue_share_bytes(s->flows) || profiles > SWIFT_PROFILES)
		return refuse(s, "the shared memory does not hold what it says");
	s->host = rue_host_create(s->flows, s->share->profile, profiles, false);
	if (!s->host)
		return refuse(s, "out of memory");
	rue_host_swift_memory(s->host, s->share->state, true);
	return true;
}

static bool attach(struct rue_session *s)
{
	struct rue_message m;
	struct fdpass fds;
	ssize_t got = receive(s, &m, &fds);
	bool ok;

	if (got < (ssize_t)sizeof(m.type) || m.type != RUE_ATTACH || fds.n != RUE_ATTACH_FDS) {
		fdpass_close(&fds);
		return refuse(s, "a first message with five descriptors is wanted");
	}
	ok = map_share(s, fds.fd[4]);
	close(fds.fd[4]);
	/* The first four are the pair's in any case. */
	if (rue_pair_adopt(&s->pair, fds.fd, s->why, sizeof(s->why)))
		return false;
	return ok && rue_message_send(s->sock, "", 1, NULL, 0) == 0;
}

static bool start_engine(struct rue_session *s, const struct rue_message *m)
{
	const char *params[PARAMS_MAX + 1] = { NULL };
	const char *at = m->text + strlen(m->text) + 1;
	char err[200];
	int number;

	for (unsigned int i = 0; i < PARAMS_MAX && at < m->text + sizeof(m->text) && *at; i++) {
		params[i] = at;
		at += strlen(at) + 1;
	}
	number = rue_host_engine(s->host, m->text, params, err, sizeof(err));
	if (number < 0)
		return refuse(s, err);
	return (uint32_t)number == m->number || refuse(s, "engines are not numbered alike");
}

static void end_trace(struct rue_session *s)
{
	rue_host_trace(s->host, NULL, 0, -1);
	if (s->trace)
		munmap(s->trace, s->trace_bytes);
	s->trace = NULL;
}

static bool start_trace(struct rue_session *s, const struct rue_message *m, int fd)
{
	size_t room;

	end_trace(s);
	if (m->number == 0)
		return true;
	s->trace = map_memory(fd, sizeof(*s->trace), &s->trace_bytes);
	if (!s->trace)
		return refuse(s, "the memory of a trace cannot be used");
	room = (s->trace_bytes - sizeof(*s->trace)) / sizeof(s->trace->record[0]);
	rue_host_trace(s->host, s->trace, m->number < room ? m->number : (uint32_t)room, m->only);
	return true;
}

static bool obey(struct rue_session *s)
{
	struct rue_message m;
	struct fdpass fds;
	ssize_t got = receive(s, &m, &fds);
	bool ok;

	s->commands++;
	if (got <= 0)
		ok = refuse(s, got ? strerror(errno) : "");
	else if (m.type == RUE_START_ENGINE)
		ok = start_engine(s, &m);
	else if (m.type == RUE_TRACE)
		ok = (fds.n == 1 || m.number == 0) ? start_trace(s, &m, fds.fd[0])
						   : refuse(s, "a trace without its memory");
	else
		ok = refuse(s, "a message of an unknown type");
	fdpass_close(&fds);
	return ok;
}

static void forget_flows(struct rue_session *s)
{
	uint64_t *reset = rue_share_reset(s->share, s->flows);

	for (uint32_t word = 0; word < s->flows / 64; word++) {
		uint64_t bits = __atomic_load_n(&reset[word], __ATOMIC_RELAXED);

		if (bits)
			bits = __atomic_exchange_n(&reset[word], 0, __ATOMIC_RELAXED);
		for (; bits; bits &= bits - 1)
			rue_host_reset(s->host, word * 64 + (uint32_t)__builtin_ctzll(bits));
	}
}

/* The agent has gone if its socket says so while no message is announced. */
static bool agent_there(const struct rue_session *s)
{
	char c;
	ssize_t n = recv(s->sock, &c, 1, MSG_PEEK | MSG_DONTWAIT);

	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool go_on(void *arg, bool look)
{
	struct rue_session *s = arg;

	if (falcon_load(&s->stop))
		return false;
	if (falcon_load(&s->share->resets) &&
	    __atomic_exchange_n(&s->share->resets, 0, __ATOMIC_ACQ_REL))
		forget_flows(s);
	while (falcon_load(&s->share->commands) != s->commands)
		if (!obey(s))
			return false;
	return !look || agent_there(s);
}

static void tell(const struct rue_session *s, const char *what, const char *why)
{
	char text[320];

	snprintf(text, sizeof(text), "agent pid=%d %s%s%s", (int)s->pid, what, *why ? ": " : "", why);
	s->say(text);
}

static void clean_up(struct rue_session *s)
{
	if (s->host) {
		end_trace(s);
		rue_host_destroy(s->host);
	}
	rue_pair_close(&s->pair);
	if (s->share)
		munmap(s->share, s->share_bytes);
}

static void *serve(void *arg)
{
	struct rue_session *s = arg;
	struct rue_run run = { .go_on = go_on, .arg = s, .watch = s->sock };
	struct ucred peer = { .pid = 0 };
	socklen_t len = sizeof(peer);
	const uint64_t one = 1;

	getsockopt(s->sock, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	s->pid = peer.pid;
	if (attach(s)) {
		tell(s, "attached", "");
		run.host = s->host;
		rue_pair_run(&s->pair, &run);
	}
	if (s->why[0])
		rue_message_send(s->sock, s->why, strlen(s->why), NULL, 0);
	tell(s, s->why[0] ? "refused" : "gone", s->why);
	clean_up(s);
	shutdown(s->sock, SHUT_RDWR);
	falcon_store(&s->over, true);
	return write(s->ended, &one, sizeof(one)) < 0 ? NULL : s;
}

struct rue_session *rue_session_start(int sock, int ended, void (*say)(const char *text))
{
	struct rue_session *s = calloc(1, sizeof(*s));

	if (s) {
		s->sock = sock;
		s->ended = ended;
		s->say = say;
		s->pair.events.memory = s->pair.events.bell = -1;
		s->pair.results.memory = s->pair.results.bell = -1;
		if (pthread_create(&s->thread, NULL, serve, s) == 0)
			return s;
	}
	close(sock);
	free(s);
	return NULL;
}

bool rue_session_over(const struct rue_session *s)
{
	return falcon_load(&s->over);
}

void rue_session_end(struct rue_session *s)
{
	falcon_store(&s->stop, true);
	/* Ends its sleep, and any wait for a message. */
	shutdown(s->sock, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->sock);
	free(s);
}
