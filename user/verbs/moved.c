// SPDX-License-Identifier: BSD-2-Clause
/* Regions' memory in areas: which is there, moving it there and back, and what becomes of it in children. */
#include "verbs/moved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/movable.h"
#include "verbs/ranges.h"
#include "verbs/swap.h"
#include "verbs/vma.h"

#define AUTO_MAX (1ULL << 30)	/* bytes of the process that "auto" moves: they may not be swapped any more */

/* Memory of the application, at its own address. */
struct moved {
	struct fv_range at;
	struct fv_agent *agent;		/* whose area it is in; NULL: it has none any more */
	struct fv_place place;
	struct moved *next;		/* in |list| */
};

/* A piece that a child of fork() is to have. */
struct copy {
	struct copy *next;
	void *addr;
	size_t len;
	uint8_t *mem;			/* MAP_FAILED: memory was short */
};

/*
 * |lock| is held while memory is moved, and when the process forks. |list_lock| is for |list| alone, and
 * taken by threads that hold locks of memory allocators: who has it allocates nothing, and does not fork.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct fv_ranges all;		/* struct moved */
static struct fv_ranges regions;	/* how many have which pages */
static struct moved *list;		/* the same as |all| */
static uint64_t total;			/* bytes of them; falcon_load() */
static struct copy *copies;		/* between fork()'s two halves */

static uintptr_t page_of(uintptr_t addr)
{
	return addr & ~(uintptr_t)(FV_PAGE - 1);
}

static uintptr_t page_after(uintptr_t addr)
{
	return page_of(addr + FV_PAGE - 1);
}

static struct fv_vma_file file_of(const struct moved *m)
{
	return (struct fv_vma_file){ .fd = m->place.fd, .addr = m->at.start, .offset = m->place.offset };
}

static struct fv_piece piece_of(const struct moved *m, uintptr_t start, uintptr_t end)
{
	uintptr_t in = start - m->at.start;

	return (struct fv_piece){
		.fd = m->place.fd, .offset = m->place.offset + in, .len = end - start,
		.view = m->place.mem + in,
	};
}

/* The next part of |m| from |*at| on that is mapped where it was; *|at| is its end then. */
static bool next_part(const struct moved *m, uintptr_t *at, struct fv_vma_part *part)
{
	const struct fv_vma_file file = file_of(m);

	if (*at >= m->at.end || !fv_vma_part(FV_VMA_BEST, &file, *at, m->at.end - *at, part))
		return false;
	*at = part->end;
	return true;
}

/* ---- children ---- */

static void copy_pages(uint8_t *to, const uint8_t *from, size_t len)
{
	/* What is zero need not be written. */
	for (size_t i = 0; i < len; i += FV_PAGE)
		if (from[i] || memcmp(from + i, from + i + 1, FV_PAGE - 1))
			memcpy(to + i, from + i, FV_PAGE);
}

/* Of a part of |m|: what it has now is what the child has. */
static void make_copy(const struct moved *m, const struct fv_vma_part *part)
{
	const struct fv_piece piece = piece_of(m, part->start, part->end);
	struct copy *c = malloc(sizeof(*c));

	if (!c)
		return;
	*c = (struct copy){ .next = copies, .addr = (void *)part->start, .len = piece.len };
	c->mem = mmap(NULL, c->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		      -1, 0);
	if (c->mem != MAP_FAILED) {
		copy_pages(c->mem, piece.view, c->len);
		mprotect(c->mem, c->len, part->prot);
		/* Until the child has its copies, it shares what its parent has: there is nothing else. */
		fv_madvise(c->addr, c->len, MADV_DOFORK);
	}
	copies = c;
}

static void before_fork(void)
{
	struct fv_vma_part part;

	pthread_mutex_lock(&lock);
	for (const struct moved *m = list; m; m = m->next)
		for (uintptr_t at = m->at.start; next_part(m, &at, &part);)
			make_copy(m, &part);
}

static void after_fork(void)
{
	struct copy *c;

	while ((c = copies)) {
		copies = c->next;
		if (c->mem != MAP_FAILED) {
			fv_madvise(c->addr, c->len, MADV_DONTFORK);
			munmap(c->mem, c->len);
		}
		free(c);
	}
	pthread_mutex_unlock(&lock);
}

/* All of its memory is its own, and of its parent's regions it has none. */
static void in_child(void)
{
	for (struct copy *c = copies; c; c = c->next)
		if (c->mem != MAP_FAILED &&
		    mremap(c->mem, c->len, c->len, MREMAP_MAYMOVE | MREMAP_FIXED, c->addr) == MAP_FAILED)
			munmap(c->addr, c->len);
	copies = NULL;
	list = NULL;
	all = regions = (struct fv_ranges){ NULL };
	falcon_store(&total, (uint64_t)0);
	fv_swap_forked();
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&list_lock, NULL);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}

/* ---- there ---- */

/* |m| is at its address, or no more. False: memory is short. */
static bool enter(struct moved *m)
{
	if (!fv_ranges_add(&all, &m->at))
		return false;
	pthread_mutex_lock(&list_lock);
	m->next = list;
	list = m;
	pthread_mutex_unlock(&list_lock);
	falcon_store(&total, total + (m->at.end - m->at.start));
	return true;
}

static void forget(struct moved *m)
{
	struct moved **p = &list;

	pthread_mutex_lock(&list_lock);
	while (*p != m)
		p = &(*p)->next;
	*p = m->next;
	pthread_mutex_unlock(&list_lock);
	falcon_store(&total, total - (m->at.end - m->at.start));
}

/* Move [start, end) to an area of |agent|'s. NULL: there is none, or it cannot be moved. */
static struct moved *move(struct fv_agent *agent, bool offload, uintptr_t start, uintptr_t end)
{
	struct moved *m = calloc(1, sizeof(*m));
	struct fv_piece piece;

	if (!m || !fv_place_alloc(agent, offload, end - start, &m->place)) {
		free(m);
		return NULL;
	}
	m->at = (struct fv_range){ start, end };
	m->agent = agent;
	piece = piece_of(m, start, end);
	if (enter(m)) {
		if (!fv_swap_in((void *)start, &piece))
			return m;
		fv_ranges_remove(&all, &m->at);
		forget(m);
	}
	fv_area_free(agent, m->place.mem);
	free(m);
	return NULL;
}

static struct moved *move_if(struct fv_agent *agent, uintptr_t addr, size_t len, enum fv_memory to,
			     bool remote)
{
	struct moved *m = NULL;
	uintptr_t start, end;

	if (to == FV_MEMORY_PLAIN || !fv_swap_possible() || !fv_movable(addr, len, &start, &end))
		return NULL;
	if (to == FV_MEMORY_AUTO && end - start > AUTO_MAX - (total < AUTO_MAX ? total : AUTO_MAX))
		return NULL;
	/* What others have may be written by the agent while it is copied: of that it knows nothing. */
	if (fv_ranges_first(&regions, start, end) || fv_ranges_first(&all, start, end))
		return NULL;
	/* To what no peer reaches XDP has nothing to do. */
	if (to == FV_MEMORY_OFFLOAD || (to == FV_MEMORY_AUTO && remote))
		m = move(agent, true, start, end);
	if (!m && to != FV_MEMORY_OFFLOAD)
		m = move(agent, false, start, end);
	return m;
}

/* ---- back ---- */

/* Whether an area, or what has been moved, is mapped from |start| on. */
static bool known(uintptr_t start)
{
	return fv_area_at(start) || fv_ranges_first(&all, start, start + 1);
}

/*
 * Give the application memory of its own wherever |m| is still mapped; what it unmapped is its own already.
 * False: some of the area is mapped all the same, where mremap() has taken it, or memory is short.
 */
static bool give_back(const struct moved *m)
{
	const struct fv_vma_file file = file_of(m);
	size_t len = m->at.end - m->at.start, whole = 0;
	uintptr_t at = m->at.start;
	struct fv_vma_part part;
	struct fv_swapper s;
	bool done = true;

	if (fv_swap_begin(&s))
		return false;
	while (done && next_part(m, &at, &part)) {
		const struct fv_piece piece = piece_of(m, part.start, part.end);

		/* Not while somebody discards it. */
		pthread_mutex_lock(&list_lock);
		done = !fv_swap_out((void *)part.start, &piece, part.prot);
		pthread_mutex_unlock(&list_lock);
		whole += part.end - part.start;
	}
	fv_swap_end(&s);
	return done && (whole == len || !fv_vma_elsewhere(&file, len, known));
}

/* No region has anything of |m| any more. */
static void move_back(struct moved *m)
{
	bool done = give_back(m);

	forget(m);
	fv_ranges_remove(&all, &m->at);
	/* What the application still has in the area stays its own, also when there is no area any more. */
	if (done && m->agent)
		fv_area_free(m->agent, m->place.mem);
	if (!m->agent) {
		munmap(m->place.mem, m->at.end - m->at.start);
		close(m->place.fd);
	}
	free(m);
}

/* ---- regions ---- */

static struct moved *has(struct fv_agent *agent, uintptr_t addr, size_t len)
{
	struct moved *m = (struct moved *)fv_ranges_first(&all, addr, addr + len);
	struct fv_vma_part part;
	uintptr_t at = page_of(addr), before = at;

	if (!m || m->agent != agent || addr < m->at.start || addr + len > m->at.end)
		return NULL;
	/* The application may have put something else there. */
	while (at < addr + len) {
		if (!next_part(m, &at, &part) || part.start != before)
			return NULL;
		before = at;
	}
	return m;
}

static void where(const struct moved *m, uintptr_t addr, uint32_t *area, __u64 *offset)
{
	*area = m->place.area;
	*offset = m->place.offset + (addr - m->at.start);
}

int fv_moved_get(struct fv_agent *agent, const void *mem, size_t len, enum fv_memory to, bool remote,
		 uint32_t *area, __u64 *offset)
{
	uintptr_t addr = (uintptr_t)mem;
	struct moved *m;
	int rc = -ENOENT;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&lock);
	m = has(agent, addr, len);
	if (!m)
		m = move_if(agent, addr, len, to, remote);
	if (!fv_count_add(&regions, page_of(addr), page_after(addr + len)))
		rc = -ENOMEM;
	else if (m)
		rc = 0;
	if (m && !rc)
		where(m, addr, area, offset);
	if (m && rc)
		move_back(m);
	pthread_mutex_unlock(&lock);
	return rc;
}

void fv_moved_put(struct fv_agent *agent, const void *mem, size_t len)
{
	uintptr_t start = page_of((uintptr_t)mem), end = page_after((uintptr_t)mem + len);
	struct fv_range *r;

	/* A child has none of its parent's regions. */
	if (fv_forked(agent))
		return;
	pthread_mutex_lock(&lock);
	fv_count_sub(&regions, start, end);
	while ((r = fv_ranges_first(&all, start, end))) {
		start = r->end;
		if (!fv_ranges_first(&regions, r->start, r->end))
			move_back((struct moved *)r);
	}
	pthread_mutex_unlock(&lock);
}

/* Have |m| know its memory by itself. */
static bool keep(struct moved *m)
{
	size_t len = m->at.end - m->at.start;
	int fd = fcntl(m->place.fd, F_DUPFD_CLOEXEC, 0);
	uint8_t *mem = fd < 0 ? MAP_FAILED :
		       mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)m->place.offset);

	if (mem == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	pthread_mutex_lock(&list_lock);
	m->place.mem = mem;
	m->place.fd = fd;
	m->agent = NULL;
	pthread_mutex_unlock(&list_lock);
	return true;
}

void fv_moved_leave(struct fv_agent *agent)
{
	struct moved *m, *next;

	if (fv_forked(agent))
		return;
	pthread_mutex_lock(&lock);
	for (m = list; m; m = next) {
		next = m->next;
		/* Regions of other contexts have some of it. */
		if (m->agent == agent && !keep(m))
			move_back(m);
	}
	pthread_mutex_unlock(&lock);
}

/* ---- what the application does with it ---- */

bool fv_moved_any(void)
{
	return falcon_load(&total) != 0;
}

bool fv_moved_has(uintptr_t addr, size_t len)
{
	const struct moved *m;

	pthread_mutex_lock(&list_lock);
	for (m = list; m; m = m->next)
		if (m->at.start < addr + len && m->at.end > addr)
			break;
	pthread_mutex_unlock(&list_lock);
	return m != NULL;
}

/* What is mapped is a piece of what has been moved. NULL: it is not. */
static struct moved *moved_at(const struct fv_vma *v)
{
	struct moved *m = list;

	while (m && !(v->start >= m->at.start && v->start < m->at.end))
		m = m->next;
	return m && v->shared && v->offset - m->place.offset == v->start - m->at.start ? m : NULL;
}

struct discard {
	uintptr_t start, end;
	int advice, rc;
};

static bool discard(void *arg, const struct fv_vma *v)
{
	struct discard *d = arg;
	uintptr_t start = v->start > d->start ? v->start : d->start, end = v->end < d->end ? v->end : d->end;
	const struct moved *m = moved_at(v);

	if (m) {
		struct fv_piece p = piece_of(m, start, end);

		if (fv_madvise(p.view, p.len, MADV_REMOVE))
			memset(p.view, 0, p.len);
	} else if (fv_madvise((void *)start, end - start, d->advice)) {
		d->rc = -1;
	}
	return true;
}

int fv_moved_discard(uintptr_t addr, size_t len, int advice)
{
	struct discard d = { .start = addr, .end = page_after(addr + len), .advice = advice };

	pthread_mutex_lock(&list_lock);
	if (!fv_vma_each(FV_VMA_BEST, addr, d.end - addr, discard, &d))
		d.rc = fv_madvise((void *)addr, len, advice);
	pthread_mutex_unlock(&list_lock);
	return d.rc;
}
