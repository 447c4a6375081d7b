// SPDX-License-Identifier: BSD-2-Clause
/* The fake agent's thread: sockets and the doorbell. */
#include "fake.h"

#include <assert.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake_priv.h"
#include "ipc/fdpass.h"
#include "ipc/sleep.h"
#include "verbs/tree.h"

struct fake fake;
static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The control socket: one request, "verbs-attach". */
static void attach(void)
{
	static const char ok[] = "{\"ok\":true}";
	int s = accept4(fake.listen, NULL, NULL, SOCK_CLOEXEC);
	struct fake_ctx *ctx = fake.ctxs;
	struct fdpass fds;
	char buf[4096];
	struct stat st;

	if (s < 0)
		return;
	if (fdpass_receive(s, buf, sizeof(buf), &fds, 0) > 0) {
		assert(fds.whole && fds.n == 4);
		while (ctx->used)
			ctx++;
		memset(ctx, 0, sizeof(*ctx));
		ctx->used = true;
		ctx->cmd = fds.fd[0];
		ctx->bell = fds.fd[2];
		ctx->async = fds.fd[3];
		fstat(fds.fd[1], &st);
		ctx->areas[0].size = (uint64_t)st.st_size;
		ctx->areas[0].base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
					  MAP_SHARED, fds.fd[1], 0);
		close(fds.fd[1]);
		send(s, ok, sizeof(ok) - 1, MSG_NOSIGNAL);
	}
	close(s);
}

static void serve(struct fake_ctx *ctx)
{
	static _Alignas(8) char msg[FVERBS_MSG_MAX], out[FVERBS_MSG_MAX];
	struct fdpass fds;
	ssize_t n = fdpass_receive(ctx->cmd, msg, sizeof(msg), &fds, 0);
	size_t len;

	assert(fds.n <= 1);
	fake.answer_fd = -1;
	len = n > 0 ? fake_command(ctx, msg, (size_t)n, fds.n ? fds.fd[0] : -1, out) : 0;
	fdpass_close(&fds);
	if (len)
		fdpass_send(ctx->cmd, &(struct iovec){ .iov_base = out, .iov_len = len }, 1, &fake.answer_fd,
			    fake.answer_fd >= 0, MSG_NOSIGNAL);
	else
		fake_ctx_end(ctx);
	if (fake.answer_fd >= 0)
		close(fake.answer_fd);
}

/* Forget the rung bits: all queues are looked at anyway. */
static void answer_bell(struct fake_ctx *ctx)
{
	struct fverbs_ctx_shm *shm = (struct fverbs_ctx_shm *)ctx->areas[0].base;
	uint64_t n;

	if (read(ctx->bell, &n, sizeof(n)) < 0)
		return;
	for (int i = 0; i < FVERBS_SLOT_SUMMARY; i++)
		__atomic_exchange_n(&shm->summary[i], 0, __ATOMIC_SEQ_CST);
	for (int i = 0; i < FVERBS_SLOT_WORDS; i++)
		__atomic_exchange_n(&shm->rung[i], 0, __ATOMIC_SEQ_CST);
}

static bool rung(const struct fake_ctx *ctx)
{
	const struct fverbs_ctx_shm *shm = (const struct fverbs_ctx_shm *)ctx->areas[0].base;
	bool any = false;

	for (int i = 0; i < FVERBS_SLOT_SUMMARY; i++)
		any |= __atomic_load_n(&shm->summary[i], __ATOMIC_SEQ_CST) != 0;
	return any;
}

/* Say that we sleep, and look once more. Returns poll()'s timeout. */
static int go_to_sleep(void)
{
	int timeout = -1;

	for (struct fake_ctx *c = fake.ctxs; c < fake.ctxs + FAKE_CTXS; c++) {
		if (!c->used)
			continue;
		sleep_announce(&((struct fverbs_ctx_shm *)c->areas[0].base)->agent_sleeping);
		if (!rung(c))
			continue;
		answer_bell(c);
		timeout = 0;
	}
	return timeout;
}

static void *run(void *arg)
{
	struct pollfd p[2 + 2 * FAKE_CTXS];

	(void)arg;
	for (;;) {
		int timeout;

		p[0] = (struct pollfd){ .fd = fake.listen, .events = POLLIN };
		p[1] = (struct pollfd){ .fd = fake.wake, .events = POLLIN };
		for (int i = 0; i < FAKE_CTXS; i++) {
			const struct fake_ctx *c = &fake.ctxs[i];

			p[2 + 2 * i] = (struct pollfd){ c->used ? c->cmd : -1, POLLIN, 0 };
			p[3 + 2 * i] = (struct pollfd){ c->used ? c->bell : -1, POLLIN, 0 };
		}
		timeout = go_to_sleep();
		poll(p, 2 + 2 * FAKE_CTXS, timeout);
		pthread_mutex_lock(&lock);
		if (p[1].revents) {
			uint64_t n;

			if (read(fake.wake, &n, sizeof(n)) < 0 || fake.stop)
				break;
		}
		for (int i = 0; i < FAKE_CTXS; i++) {
			if (p[3 + 2 * i].revents)
				answer_bell(&fake.ctxs[i]);
			if (p[2 + 2 * i].revents)
				serve(&fake.ctxs[i]);
		}
		if (p[0].revents)
			attach();
		fake_work();
		pthread_mutex_unlock(&lock);
	}
	for (struct fake_ctx *c = fake.ctxs; c < fake.ctxs + FAKE_CTXS; c++) {
		if (c->used)
			fake_ctx_end(c);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

void fake_start(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	memset(&fake, 0, sizeof(fake));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	unlink(path);
	fake.listen = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	fake.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (bind(fake.listen, (struct sockaddr *)&addr, sizeof(addr)) || listen(fake.listen, 16))
		abort();
	if (pthread_create(&thread, NULL, run, NULL))
		abort();
}

static void wake(void)
{
	const uint64_t one = 1;

	if (write(fake.wake, &one, sizeof(one)) < 0)
		abort();
}

void fake_stop(void)
{
	pthread_mutex_lock(&lock);
	fake.stop = true;
	pthread_mutex_unlock(&lock);
	wake();
	pthread_join(thread, NULL);
	close(fake.listen);
	close(fake.wake);
}

void fake_fail(uint16_t op, enum fake_fault fault)
{
	pthread_mutex_lock(&lock);
	fake.fault_op = op;
	fake.fault = fault;
	pthread_mutex_unlock(&lock);
}

void fake_hold(bool hold)
{
	pthread_mutex_lock(&lock);
	fake.hold = hold;
	pthread_mutex_unlock(&lock);
	wake();
}

static struct fverbs_ctx_shm *shm_of(const struct fake_ctx *ctx)
{
	return (struct fverbs_ctx_shm *)ctx->areas[0].base;
}

void fake_cpu_pressure(void)
{
	pthread_mutex_lock(&lock);
	for (struct fake_ctx *c = fake.ctxs; c < fake.ctxs + FAKE_CTXS; c++) {
		if (c->used)
			falcon_store(&shm_of(c)->cpu_pressure, 1U);
	}
	pthread_mutex_unlock(&lock);
}

uint32_t fake_nappers(void)
{
	uint32_t n = 0;

	pthread_mutex_lock(&lock);
	for (struct fake_ctx *c = fake.ctxs; c < fake.ctxs + FAKE_CTXS; c++) {
		if (c->used)
			n += falcon_load(&shm_of(c)->nappers);
	}
	pthread_mutex_unlock(&lock);
	return n;
}

void fake_news(struct fake_ctx *ctx)
{
	struct fverbs_ctx_shm *shm = shm_of(ctx);

	falcon_store(&shm->news, shm->news + 1);
	if (sleep_any(&shm->nappers))
		syscall(SYS_futex, &shm->news, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t fake_memories(void)
{
	return __atomic_load_n(&fake.memories, __ATOMIC_RELAXED);
}

uint32_t fake_commands(void)
{
	return __atomic_load_n(&fake.commands, __ATOMIC_RELAXED);
}

uint32_t fake_copied(void)
{
	return __atomic_load_n(&fake.copied, __ATOMIC_RELAXED);
}

uint32_t fake_last_ordering(void)
{
	return fake.ordering;
}

uint32_t fake_last_errors(void)
{
	return fake.errors;
}

void fake_async(const void *event, uint32_t len)
{
	pthread_mutex_lock(&lock);
	for (struct fake_ctx *c = fake.ctxs; c < fake.ctxs + FAKE_CTXS; c++) {
		if (c->used)
			send(c->async, event, len, MSG_NOSIGNAL);
	}
	pthread_mutex_unlock(&lock);
}

/* The files that stand for sysfs are not for tests to leave behind. */
void fv_tree_write(const struct fverbs_device *d)
{
	(void)d;
}
