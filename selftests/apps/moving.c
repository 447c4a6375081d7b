/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * moving offload|shared|plain TEST: registers memory, and looks whether anything but its place has changed.
 * Registered memory that may move must lie where the first argument says. 0, or 1 and a sentence.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	PAGES = 64,
	BYTES = PAGES * PAGE,
	ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static const char *place;		/* what is expected */
static const int rounds = 100;

#define CHECK(ok) check(ok, #ok, __LINE__)

static void check(int ok, const char *what, int line)
{
	if (ok)
		return;
	printf("line %d: %s: %s\n", line, what, strerror(errno));
	exit(1);
}

/* Where |addr| lies, by what is mapped there. */
static const char *where(const void *addr)
{
	const char *found = "nowhere";
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];

	CHECK(maps != NULL);
	while (fgets(line, sizeof(line), maps)) {
		CHECK(sscanf(line, "%lx-%lx", &start, &end) == 2);
		if ((unsigned long)addr < start || (unsigned long)addr >= end)
			continue;
		found = strstr(line, "bpf-map") ? "offload" :
			strstr(line, "falcon-verbs") ? "shared" : "plain";
	}
	fclose(maps);
	return found;
}

static int lies(const void *addr, const char *expected)
{
	const char *is = where(addr);

	if (strcmp(is, expected))
		printf("lies in %s memory, not %s\n", is, expected);
	return !strcmp(is, expected);
}

static uint8_t *map(size_t len)
{
	uint8_t *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(mem != MAP_FAILED);
	return mem;
}

/* Where something else may be. */
static uint8_t *map_at(uint8_t *at, size_t len)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	CHECK(mmap(at, len, PROT_READ | PROT_WRITE, flags, -1, 0) == at);
	return at;
}

static struct ibv_mr *reg(void *mem, size_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, mem, len, ALL);

	CHECK(mr != NULL);
	return mr;
}

static void fill(uint8_t *mem, size_t len, uint8_t seed)
{
	for (size_t i = 0; i < len; i++)
		mem[i] = (uint8_t)(seed + i + i / PAGE);
}

static int is_filled(const uint8_t *mem, size_t len, uint8_t seed)
{
	for (size_t i = 0; i < len; i++)
		if (mem[i] != (uint8_t)(seed + i + i / PAGE))
			return 0;
	return 1;
}

/* ---- writers ---- */

static uint64_t *words;			/* the memory of all writers: a page is divided among them */
static int stop, pair[2];

enum { STORED = 0, ADDED = 64, RECEIVED = 128, PIECE = 1024 };	/* words, and bytes, of a page */

static int stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

/* Every word goes up by one in each round, and is what it was made. */
static void *stores(void *arg)
{
	(void)arg;
	for (uint64_t n = 0; !stopped(); n++)
		for (size_t p = 0; p < PAGES; p++)
			for (size_t i = 0; i < 64; i++) {
				volatile uint64_t *w = &words[p * PAGE / 8 + STORED + i];

				CHECK(*w == n);
				*w = n + 1;
			}
	return NULL;
}

/* Two of these have the same words. */
static void *adds(void *arg)
{
	uint64_t *sum = arg;

	for (*sum = 0; !stopped(); ++*sum)
		__atomic_fetch_add(&words[*sum % PAGES * PAGE / 8 + ADDED], 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *sends(void *arg)
{
	uint8_t piece[PIECE];

	(void)arg;
	for (uint8_t n = 0; !stopped(); n++) {
		memset(piece, n, sizeof(piece));
		CHECK(send(pair[0], piece, sizeof(piece), 0) == sizeof(piece));
	}
	shutdown(pair[0], SHUT_RDWR);
	return NULL;
}

static void *receives(void *arg)
{
	uint8_t n = 0;
	size_t p = 0;

	(void)arg;
	for (;; n++, p = (p + 1) % PAGES) {
		uint8_t *to = (uint8_t *)&words[p * PAGE / 8 + RECEIVED];
		ssize_t got = p % 2 ? read(pair[1], to, PIECE) : recv(pair[1], to, PIECE, 0);

		CHECK(got >= 0);
		if (!got)
			return NULL;
		CHECK(got == PIECE);
		for (size_t i = 0; i < PIECE; i++)
			CHECK(to[i] == n);
	}
}

/* No store and no system call of other threads is lost, and none fails. */
static void writers(void)
{
	void *(*const threads[])(void *) = { stores, adds, adds, sends, receives };
	pthread_t t[sizeof(threads) / sizeof(threads[0])];
	uint64_t sums[sizeof(t) / sizeof(t[0])] = { 0 }, sum = 0;

	words = (uint64_t *)map(BYTES);
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		CHECK(!pthread_create(&t[i], NULL, threads[i], &sums[i]));
	for (int i = 0; i < rounds; i++) {
		/* All of it, a part, and two parts that overlap, by turns. */
		uint8_t *start = (uint8_t *)words + (i % 3 ? i % PAGES / 2 * PAGE : 0);
		size_t len = i % 3 ? (size_t)(1 + i % 7) * PAGE : BYTES;
		struct ibv_mr *mr = reg(start, len), *more = i % 3 == 2 ? reg(start + PAGE, len) : NULL;

		CHECK(lies(start, place));
		sched_yield();
		CHECK(!ibv_dereg_mr(mr));
		CHECK(!more || !ibv_dereg_mr(more));
		CHECK(lies(start, "plain"));
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		CHECK(!pthread_join(t[i], NULL));
	for (size_t p = 0; p < PAGES; p++)
		sum += words[p * PAGE / 8 + ADDED];
	CHECK(sum == sums[1] + sums[2] && sum);
}

/* ---- regions that share memory ---- */

static void overlapping(void)
{
	uint8_t *mem = map(BYTES);
	struct ibv_context *other = ibv_open_device(ctx->device);
	struct ibv_pd *other_pd = ibv_alloc_pd(other);
	struct ibv_mr *all, *inside, *outside, *others;

	CHECK(other_pd != NULL);
	fill(mem, BYTES, 1);
	all = reg(mem, BYTES / 2);
	inside = reg(mem + 100, 5000);
	outside = reg(mem + BYTES / 4, BYTES / 2);
	others = ibv_reg_mr(other_pd, mem + BYTES / 4, PAGE, ALL);
	CHECK(others && lies(mem, place) && lies(mem + BYTES / 2, "plain"));
	CHECK(!ibv_dereg_mr(all) && lies(mem, place));
	CHECK(!ibv_dereg_mr(outside) && lies(mem, place));
	CHECK(!ibv_dereg_mr(inside) && lies(mem, place));
	CHECK(!ibv_dereg_mr(others) && lies(mem, "plain"));
	CHECK(is_filled(mem, BYTES, 1));
	/* The context ends, where another has some of its memory, too. */
	all = reg(mem, BYTES);
	others = ibv_reg_mr(other_pd, mem + PAGE, 2 * PAGE, ALL);
	CHECK(others && lies(mem, place));
	CHECK(!ibv_dealloc_pd(pd) || errno == EBUSY);
	CHECK(!ibv_close_device(ctx));
	CHECK(is_filled(mem, BYTES, 1) && lies(mem, place));
	fill(mem, BYTES, 2);
	CHECK(!ibv_dereg_mr(others) && lies(mem, "plain") && is_filled(mem, BYTES, 2));
	/* One ends that has regions, and nobody else has. */
	others = ibv_reg_mr(other_pd, mem, BYTES, ALL);
	CHECK(others && lies(mem, place));
	CHECK(!ibv_close_device(other) && lies(mem, "plain") && is_filled(mem, BYTES, 2));
	munmap(mem, BYTES);
}

static void reregistered(void)
{
	uint8_t *mem = map(BYTES);
	struct ibv_mr *mr;

	fill(mem, BYTES, 1);
	mr = reg(mem, 2 * PAGE);
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE));
	CHECK(lies(mem, place));
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, NULL,
			    mem + BYTES / 2, BYTES / 2, ALL));
	CHECK(lies(mem, "plain") && lies(mem + BYTES / 2, place) && lies(mem + BYTES - 1, place));
	CHECK(!ibv_dereg_mr(mr) && lies(mem + BYTES / 2, "plain") && is_filled(mem, BYTES, 1));
}

/* ---- children ---- */

static int ends_well(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status == 0;
}

static void children(void)
{
	uint8_t *mem = map(BYTES), *hole = mem + 3 * PAGE;
	struct ibv_mr *mr;
	int go[2], status;
	char c = 0;
	pid_t pid;

	fill(mem, BYTES, 1);
	mr = reg(mem, BYTES);
	CHECK(munmap(hole, PAGE) == 0 && pipe(go) == 0);
	pid = fork();
	if (!pid) {
		/* When the parent has changed it. */
		CHECK(read(go[0], &c, 1) == 1);
		CHECK(lies(mem, "plain") && lies(hole, "nowhere"));
		CHECK(is_filled(mem, 3 * PAGE, 1) && mem[BYTES - 1] == (uint8_t)(1 + BYTES - 1 + PAGES - 1));
		memset(mem, 7, 3 * PAGE);
		_exit(ibv_dereg_mr(mr) || mem[0] != 7 || !lies(mem, "plain"));
	}
	fill(mem, 3 * PAGE, 2);
	CHECK(lies(mem, place) && write(go[1], &c, 1) == 1 && ends_well(pid));
	CHECK(is_filled(mem, 3 * PAGE, 2));
	/* One that the C library does not know of, and that touches it, ends; it does its parent no harm. */
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile uint8_t *)mem = 9;
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(!strcmp(place, "plain") ? status == 0 : WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(is_filled(mem, 3 * PAGE, 2));
	CHECK(!ibv_dereg_mr(mr) && lies(mem, "plain") && is_filled(mem, 3 * PAGE, 2));
	/* What a child has had, too, moves like other memory. */
	mr = reg(mem, 3 * PAGE);
	CHECK(lies(mem, place) && is_filled(mem, 3 * PAGE, 2) && !ibv_dereg_mr(mr));
}

/* ---- what becomes of it while it is registered ---- */

static void unmapped(void)
{
	uint8_t *mem = map(BYTES), *other;
	struct ibv_mr *mr;

	fill(mem, BYTES, 1);
	mr = reg(mem, BYTES);
	CHECK(munmap(mem + PAGE, PAGE) == 0);
	other = map_at(mem + 5 * PAGE, PAGE);
	CHECK(other[0] == 0);
	other[0] = 3;
	CHECK(!ibv_dereg_mr(mr));
	CHECK(lies(mem, "plain") && lies(mem + PAGE, "nowhere") && lies(mem + 6 * PAGE, "plain"));
	CHECK(other[0] == 3 && other[1] == 0 && is_filled(mem, PAGE, 1));
	/* What lies there now is not what lay there when it was moved. */
	mem = map(BYTES);
	mr = reg(mem, BYTES);
	map_at(mem, BYTES);
	fill(mem, BYTES, 4);
	CHECK(!ibv_dereg_mr(mr) && is_filled(mem, BYTES, 4));
}

static void remapped(void)
{
	uint8_t *mem = map(BYTES), *to, *fresh;
	struct ibv_mr *mr;

	fill(mem, BYTES, 1);
	mr = reg(mem, BYTES);
	/* It may be moved, and keeps what it has, also when the region is gone and others come. */
	to = mremap(mem, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, map(PAGE));
	CHECK(to != MAP_FAILED && is_filled(to, PAGE, 1));
	CHECK(!ibv_dereg_mr(mr) && is_filled(to, PAGE, 1));
	fresh = map(BYTES);
	mr = reg(fresh, BYTES);
	memset(fresh, 9, BYTES);
	CHECK(!ibv_dereg_mr(mr) && is_filled(to, PAGE, 1));
	/* It may grow, and what it grows by is zero. */
	mem = map(BYTES);
	fill(mem, BYTES, 2);
	mr = reg(mem, BYTES);
	to = mremap(mem, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
	CHECK(to != MAP_FAILED && is_filled(to, BYTES, 2));
	for (size_t i = BYTES; i < 2 * BYTES; i++)
		CHECK(to[i] == 0);
	CHECK(!ibv_dereg_mr(mr) && is_filled(to, BYTES, 2));
	/* And afterwards, as if nothing had been: what has no neighbours is one mapping again. */
	mem = mmap(NULL, BYTES + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mem != MAP_FAILED);
	mem += PAGE;
	CHECK(mprotect(mem, BYTES, PROT_READ | PROT_WRITE) == 0);
	fill(mem, BYTES, 3);
	mr = reg(mem + PAGE, BYTES / 2);
	CHECK(!ibv_dereg_mr(mr));
	to = mremap(mem, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
	CHECK(to != MAP_FAILED && is_filled(to, BYTES, 3));
}

static void discarded(void)
{
	uint8_t *mem = map(BYTES);
	struct ibv_mr *mr;

	fill(mem, BYTES, 1);
	mr = reg(mem, BYTES / 2);
	CHECK(madvise(mem + PAGE, BYTES / 2, MADV_DONTNEED) == 0);
	CHECK(is_filled(mem, PAGE, 1));
	for (size_t i = PAGE; i < PAGE + BYTES / 2; i++)
		CHECK(mem[i] == 0);
	mem[PAGE] = 5;
	CHECK(madvise(mem, PAGE, MADV_FREE) == 0 && madvise(mem, PAGE, MADV_DOFORK) == 0);
	CHECK(!ibv_dereg_mr(mr) && mem[PAGE] == 5 && mem[PAGE + 1] == 0);
	/* Protection is kept. */
	mr = reg(mem, BYTES);
	CHECK(mprotect(mem, PAGE, PROT_READ) == 0 && !ibv_dereg_mr(mr));
	CHECK(!ibv_reg_mr(pd, mem, PAGE, IBV_ACCESS_LOCAL_WRITE) && errno == EFAULT);
}

/* Memory of the C library's: buffers of their own mappings move, and live as before. */
static void allocated(void)
{
	uint8_t *mem = malloc(BYTES), *page = NULL;
	struct ibv_mr *mr;
	volatile uintptr_t at;		/* the compiler need not know what it was */

	CHECK(mem != NULL);
	fill(mem, BYTES, 1);
	mr = reg(mem, BYTES);
	CHECK(lies(mem, place));
	mem = realloc(mem, 8 * BYTES);
	CHECK(mem && is_filled(mem, BYTES, 1) && !ibv_dereg_mr(mr) && is_filled(mem, BYTES, 1));
	fill(mem, 8 * BYTES, 2);
	mr = reg(mem, 8 * BYTES);
	CHECK(lies(mem, place));
	mem = realloc(mem, BYTES);
	CHECK(mem && is_filled(mem, BYTES, 2));
	free(mem);
	CHECK(!ibv_dereg_mr(mr));
	/* In the heap, whole pages. */
	CHECK(posix_memalign((void **)&page, PAGE, 2 * PAGE) == 0);
	fill(page, 2 * PAGE, 3);
	mr = reg(page, 2 * PAGE);
	CHECK(lies(page, place) && is_filled(page, 2 * PAGE, 3));
	at = (uintptr_t)page;
	free(page);
	for (int i = 0; i < 100; i++)
		memset(malloc(1000), i, 1000);
	CHECK(!ibv_dereg_mr(mr) && lies((void *)at, "plain"));
}

/* ---- what does not move ---- */

static void stays(void *mem, size_t len, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, mem, len, (int)access);

	CHECK(mr && lies(mem, "plain") && !ibv_dereg_mr(mr) && lies(mem, "plain"));
}

static void *in_thread(void *arg)
{
	_Alignas(PAGE) uint8_t stack[2 * PAGE];
	uint8_t *arena = NULL;

	(void)arg;
	memset(stack, 1, sizeof(stack));
	stays(stack, sizeof(stack), ALL);
	CHECK(posix_memalign((void **)&arena, PAGE, 2 * PAGE) == 0);
	memset(arena, 1, 2 * PAGE);
	stays(arena, 2 * PAGE, ALL);
	free(arena);
	return NULL;
}

static void not_movable(void)
{
	_Alignas(PAGE) uint8_t stack[2 * PAGE];
	uint8_t *mem = map(BYTES), *huge, *small = malloc(10000);
	FILE *file = tmpfile();
	struct ibv_mr *mr;
	pthread_t t;

	memset(stack, 1, sizeof(stack));
	stays(stack, sizeof(stack), ALL);
	CHECK(!pthread_create(&t, NULL, in_thread, NULL) && !pthread_join(t, NULL));
	/* Pages that others have a part of. */
	stays(small, 10000, ALL);
	stays(mem + 8, BYTES - 8, ALL);
	stays(mem, BYTES - 8, ALL);
	stays(mem, BYTES, ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(mprotect(mem, PAGE, PROT_READ) == 0);
	stays(mem, BYTES, 0);
	CHECK(mlock(mem + PAGE, PAGE) == 0);
	stays(mem + PAGE, PAGE, ALL);
	CHECK(file && ftruncate(fileno(file), BYTES) == 0);
	for (int flags = MAP_SHARED; flags <= MAP_PRIVATE; flags++) {
		mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, fileno(file), 0);
		CHECK(mem != MAP_FAILED);
		stays(mem, BYTES, ALL);
	}
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(mem != MAP_FAILED);
	stays(mem, BYTES, ALL);
	huge = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (huge == MAP_FAILED)
		printf("# no huge pages here: %s\n", strerror(errno));
	else
		stays(huge, 2 << 20, ALL);
	mr = ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	CHECK(mr && !ibv_dereg_mr(mr));
}

static const struct {
	const char *name;
	void (*fn)(void);
} tests[] = {
	{ "writers", writers }, { "overlapping", overlapping }, { "reregistered", reregistered },
	{ "children", children }, { "unmapped", unmapped }, { "remapped", remapped },
	{ "discarded", discarded }, { "allocated", allocated }, { "not_movable", not_movable },
};

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	CHECK(argc == 3 && list && list[0]);
	place = argv[1];
	ctx = ibv_open_device(list[0]);
	CHECK(ctx != NULL);
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	CHECK(pd != NULL);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(tests[i].name, argv[2]) || !strcmp(argv[2], "all"))
			tests[i].fn();
	return 0;
}
