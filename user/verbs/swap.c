// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writers are held off by userfaultfds that nobody serves. A range that is registered for missing pages, and
 * has none, makes whoever touches it wait; when something else is mapped there, and the waiting are woken,
 * they fault again, and find that.
 *
 * In: register the range, take its pages away (UFFDIO_MOVE), copy them, map the new ones over it, wake.
 * Out: memory that has no userfaultfd cannot be registered, as BPF maps. So a new range is registered
 * elsewhere, and moved over the old one by mremap(), which takes place at once; UFFDIO_COPY fills it. For
 * the range to stay registered when it moves, the userfaultfd must hear of that, and mremap() waits until
 * it has been read: by a thread, which lives as long.
 */
#include "verbs/swap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs/vma.h"

#ifndef UFFDIO_MOVE
/* The kernel's, from the linux/userfaultfd.h of 6.8. */
struct uffdio_move {
	uint64_t dst, src, len, mode;
	int64_t move;			/* bytes moved, or a negative errno */
};

#define UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct uffdio_move)
#define UFFDIO_MOVE_MODE_DONTWAKE (1ULL << 0)
#define UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES (1ULL << 1)
#define UFFD_FEATURE_MOVE (1 << 16)
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	PAGE = 4096,
	TRIES = 1000,			/* of what the kernel says to try again */
};

static struct {
	pthread_once_t once;
	int in, out;			/* userfaultfds of either way; -1: none */
} fds = { PTHREAD_ONCE_INIT, -1, -1 };

/* The call is for the privileged, or all with vm.unprivileged_userfaultfd; the device for whom it lets. */
static int open_one(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK), device;

	if (fd < 0) {
		device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
		fd = device < 0 ? -1 : ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
		if (device >= 0)
			close(device);
	}
	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void open_both(void)
{
	fds.in = open_one(UFFD_FEATURE_MOVE);
	fds.out = fds.in < 0 ? -1 : open_one(UFFD_FEATURE_EVENT_REMAP);
}

bool fv_swap_possible(void)
{
	pthread_once(&fds.once, open_both);
	return fds.in >= 0 && fds.out >= 0 && sysconf(_SC_PAGESIZE) == PAGE;
}

void fv_swap_forked(void)
{
	if (fds.in >= 0)
		close(fds.in);
	if (fds.out >= 0)
		close(fds.out);
	fds.once = (pthread_once_t)PTHREAD_ONCE_INIT;
	fds.in = fds.out = -1;
}

static int hold(int fd, const void *addr, size_t len)
{
	struct uffdio_register r = {
		.range = { (uintptr_t)addr, len }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	return ioctl(fd, UFFDIO_REGISTER, &r) ? -errno : 0;
}

/* Whoever waits tries again. */
static void wake(int fd, const void *addr, size_t len)
{
	struct uffdio_range r = { (uintptr_t)addr, len };

	ioctl(fd, UFFDIO_WAKE, &r);
}

static void let_go(int fd, const void *addr, size_t len)
{
	struct uffdio_range r = { (uintptr_t)addr, len };

	ioctl(fd, UFFDIO_UNREGISTER, &r);
	wake(fd, addr, len);
}

/* Nothing else may run in this thread while pages are held: a signal's handler might touch them. */
struct calm {
	sigset_t signals;
	int cancel;
};

static void be_calm(struct calm *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancel);
	pthread_sigmask(SIG_SETMASK, &all, &before->signals);
}

static void be_as(const struct calm *before)
{
	pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
	pthread_setcancelstate(before->cancel, NULL);
}

/* On the way back, with memory of the application's in hand. Where there is none there is no going on. */
static void must(bool done)
{
	if (!done)
		abort();
}

static int map_piece(uint8_t *addr, const struct fv_piece *p, int prot)
{
	if (mmap(addr, p->len, prot, MAP_SHARED | MAP_FIXED, p->fd, (off_t)p->offset) == MAP_FAILED)
		return -errno;
	fv_madvise(addr, p->len, MADV_DONTFORK);
	/* Two mappings: none of them grows into what lies behind it in |fd|. */
	if (p->len > PAGE)
		fv_madvise(addr + p->len - PAGE, PAGE, MADV_DONTDUMP);
	return 0;
}

/* ---- in ---- */

/*
 * Move pages from |src| to |dst|, one of which is |theirs|, the application's, of several mappings perhaps:
 * it goes by one at a time. 0 or a negative errno; *|done| bytes have been moved in any case.
 */
static int move_pages(uint8_t *dst, const uint8_t *src, size_t len, const uint8_t *theirs, size_t *done)
{
	uintptr_t end = (uintptr_t)theirs;
	int tries = 0;

	for (*done = 0; *done < len;) {
		uintptr_t at = (uintptr_t)theirs + *done;
		struct uffdio_move m = {
			.dst = (uintptr_t)dst + *done, .src = (uintptr_t)src + *done, .len = len - *done,
			.mode = UFFDIO_MOVE_MODE_DONTWAKE | UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES,
		};

		if (at >= end)
			end = fv_vma_end(at);
		if (end > at && end - at < m.len)
			m.len = end - at;
		if (!ioctl(fds.in, UFFDIO_MOVE, &m))
			m.move = (int64_t)m.len;
		else if (m.move <= 0 && (errno != EAGAIN || ++tries > TRIES))
			return -errno;
		if (m.move > 0)
			*done += (size_t)m.move;
		else
			sched_yield();
	}
	return 0;
}

/* Move the pages at |addr| to |shadow|, and hold off whoever misses them. 0 or a negative errno. */
static int take_pages(uint8_t *addr, size_t len, uint8_t *shadow)
{
	size_t done = 0, back;
	int rc = hold(fds.in, addr, len);

	if (rc)
		return rc;
	rc = hold(fds.in, shadow, len);
	if (!rc)
		rc = move_pages(shadow, addr, len, addr, &done);
	if (!rc) {
		let_go(fds.in, shadow, len);
		return 0;
	}
	/* What cannot go back page by page does so as a mapping. */
	if (done && move_pages(addr, shadow, done, addr, &back))
		must(mremap(shadow + back, done - back, done - back, MREMAP_MAYMOVE | MREMAP_FIXED,
			    addr + back) != MAP_FAILED);
	let_go(fds.in, addr, len);
	return rc;
}

static bool is_zero(const uint8_t *page)
{
	return !page[0] && !memcmp(page, page + 1, PAGE - 1);
}

static int map_over(uint8_t *addr, const struct fv_piece *to, uint8_t *shadow)
{
	int rc;

	for (size_t at = 0; at < to->len; at += PAGE)
		if (!is_zero(shadow + at))
			memcpy(to->view + at, shadow + at, PAGE);
	rc = map_piece(addr, to, PROT_READ | PROT_WRITE);
	if (rc)
		must(mremap(shadow, to->len, to->len, MREMAP_MAYMOVE | MREMAP_FIXED, addr) != MAP_FAILED);
	/* Of the userfaultfd's range nothing is left to be let go. */
	wake(fds.in, addr, to->len);
	return rc;
}

int fv_swap_in(void *addr, const struct fv_piece *to)
{
	size_t len = to->len;
	struct calm before;
	uint8_t *shadow;
	int rc;

	if (!fv_swap_possible())
		return -EPERM;
	shadow = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shadow == MAP_FAILED)
		return -errno;
	be_calm(&before);
	rc = take_pages(addr, len, shadow);
	/* A child had them, too, or they are the zero page: they become its own by being written. */
	if (rc == -EBUSY && !fv_madvise(addr, len, MADV_POPULATE_WRITE))
		rc = take_pages(addr, len, shadow);
	if (!rc)
		rc = map_over(addr, to, shadow);
	be_as(&before);
	munmap(shadow, len);
	return rc;
}

/* ---- out ---- */

/* Read what |fds.out| has to say until |arg|, an eventfd, says that it is enough. */
static void *listen_to_moves(void *arg)
{
	struct pollfd p[2] = {
		{ .fd = fds.out, .events = POLLIN }, { .fd = *(const int *)arg, .events = POLLIN },
	};
	struct uffd_msg msg;

	while (poll(p, 2, -1) < 0 || !p[1].revents)
		while (read(fds.out, &msg, sizeof(msg)) > 0)
			;
	return NULL;
}

/* How many bytes of pages are as the first is, zero or not. */
static size_t run_of(const uint8_t *view, size_t len, bool *zero)
{
	size_t n = PAGE;

	for (*zero = is_zero(view); n < len && is_zero(view + n) == *zero;)
		n += PAGE;
	return n;
}

/* Copies of |len| bytes at |from| to where they are missing. 0 or a negative errno. */
static int fill_run(uint8_t *addr, const uint8_t *from, size_t len)
{
	int tries = 0;

	while (len) {
		struct uffdio_copy c = {
			.dst = (uintptr_t)addr, .src = (uintptr_t)from, .len = len,
			.mode = UFFDIO_COPY_MODE_DONTWAKE,
		};

		if (!ioctl(fds.out, UFFDIO_COPY, &c))
			return 0;
		if (c.copy <= 0 && (errno != EAGAIN || ++tries > TRIES))
			return -errno;
		if (c.copy <= 0) {
			sched_yield();
			continue;
		}
		addr += c.copy;
		from += c.copy;
		len -= (size_t)c.copy;
	}
	return 0;
}

/* What is zero comes by itself. */
static int fill(uint8_t *addr, size_t len, const uint8_t *view)
{
	int rc = 0;
	bool zero;

	for (size_t at = 0, n; at < len && !rc; at += n) {
		n = run_of(view + at, len - at, &zero);
		if (!zero)
			rc = fill_run(addr + at, view + at, n);
	}
	return rc;
}

/* Hold a page that nobody misses, and nobody has to wait for: the listener's own may be among them. */
static bool hold_present(uint8_t *page)
{
	unsigned char present = 0;

	return !mincore(page, PAGE, &present) && present & 1 && !hold(fds.out, page, PAGE);
}

/*
 * |fresh| is held, and somebody listens. So are the pages before and behind it, if they are such memory: it
 * becomes one mapping with them before anything is in it, as it was, and the application may mremap() all
 * of it.
 */
static int put_over(uint8_t *addr, const struct fv_piece *to, uint8_t *fresh, int prot)
{
	bool before, behind;
	int rc = 0;

	before = hold_present(addr - PAGE);
	behind = hold_present(addr + to->len);
	/* Here it waits until the listener has read of it. */
	if (mremap(fresh, to->len, to->len, MREMAP_MAYMOVE | MREMAP_FIXED, addr) == MAP_FAILED) {
		rc = -errno;
		munmap(fresh, to->len);
	} else {
		rc = fill(addr, to->len, to->view);
		if (!rc && prot != (PROT_READ | PROT_WRITE))
			mprotect(addr, to->len, prot);
		if (rc)
			must(!map_piece(addr, to, prot));
		let_go(fds.out, addr, to->len);
	}
	if (before)
		let_go(fds.out, addr - PAGE, PAGE);
	if (behind)
		let_go(fds.out, addr + to->len, PAGE);
	return rc;
}

int fv_swap_out(void *addr, const struct fv_piece *from, int prot)
{
	size_t len = from->len;
	/* Between pages of another kind, so that it is no part of a mapping that has pages already. */
	uint8_t *around = mmap(NULL, len + 2 * PAGE, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *fresh;
	struct calm before;
	int rc;

	if (around == MAP_FAILED)
		return -errno;
	fresh = mmap(around + PAGE, len, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (fresh == MAP_FAILED) {
		rc = -errno;
		munmap(around, len + 2 * PAGE);
		return rc;
	}
	be_calm(&before);
	rc = hold(fds.out, fresh, len);
	if (rc)
		munmap(fresh, len);
	else
		rc = put_over(addr, from, fresh, prot);
	be_as(&before);
	/* What was between them is at its place, or gone. */
	munmap(around, PAGE);
	munmap(around + PAGE + len, PAGE);
	return rc;
}

int fv_swap_begin(struct fv_swapper *s)
{
	struct calm before;
	int rc;

	if (!fv_swap_possible())
		return -EPERM;
	s->stop = eventfd(0, EFD_CLOEXEC);
	if (s->stop < 0)
		return -errno;
	/* Signals are not the listener's business. */
	be_calm(&before);
	rc = -pthread_create(&s->listener, NULL, listen_to_moves, &s->stop);
	be_as(&before);
	if (rc)
		close(s->stop);
	return rc;
}

void fv_swap_end(struct fv_swapper *s)
{
	eventfd_write(s->stop, 1);
	pthread_join(s->listener, NULL);
	close(s->stop);
}
