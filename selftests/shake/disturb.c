// SPDX-License-Identifier: BSD-2-Clause
/*
 * Disturb the machine until the parent ends or a signal comes: disturb HOW [ARGUMENT].
 *
 *	burn		computes
 *	fork		starts short processes, one after the other
 *	memory		walks over memory that the caches cannot hold, and gives it back and takes it again
 *	slices		takes a CPU at real-time priority for a tenth of each millisecond: the time slices of
 *			all others get short
 *	stop MARK	stops agents, the processes named falcond with MARK in their FALCON_TEST_MARKS, for
 *			up to 100 ms, and lets them go on for up to 300 ms
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	US = 1000,
	MS = 1000 * US,
	AREA = 64 << 20,	/* bytes */
	LINE = 64,
	AGENTS = 64,		/* stopped at a time */
	ENVIRON = 1 << 16,
};

static volatile sig_atomic_t over;

static void end(int signal)
{
	(void)signal;
	over = 1;
}

static void pass(long ns)
{
	nanosleep(&(struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 }, NULL);
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int burn(const char *argument)
{
	volatile uint64_t sum = 0;

	(void)argument;
	while (!over)
		sum = sum * 3 + 1;
	return 0;
}

static int fork_all_the_time(const char *argument)
{
	(void)argument;
	while (!over) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		if (pid < 0)
			pass(MS);
		else
			waitpid(pid, NULL, 0);
	}
	return 0;
}

static int walk_memory(const char *argument)
{
	(void)argument;
	while (!over) {
		uint8_t *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (area == MAP_FAILED) {
			pass(MS);
			continue;
		}
		for (int turn = 0; turn < 4 && !over; turn++)
			for (uint32_t at = 0, i = 0; i < AREA / LINE; i++, at += 1009 * LINE)
				area[at % AREA]++;
		munmap(area, AREA);
	}
	return 0;
}

static int cut_slices(const char *argument)
{
	const struct sched_param p = { .sched_priority = 1 };

	(void)argument;
	if (sched_setscheduler(0, SCHED_RR, &p)) {
		fprintf(stderr, "disturb: real-time priority: %s\n", strerror(errno));
		return 1;
	}
	while (!over) {
		for (int64_t until = now() + 100 * US; now() < until;)
			;
		pass(900 * US);
	}
	return 0;
}

/* The text of /proc/|pid|/|name|, with a NUL behind it. Returns its length, 0 if it cannot be read. */
static size_t read_proc(const char *pid, const char *name, char *text, size_t size)
{
	char path[300];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

/* Marks are words, with a space before and behind each. */
static bool is_agent(const char *pid, const char *mark)
{
	static char text[ENVIRON];
	char word[300];
	size_t n;

	snprintf(word, sizeof(word), " %s ", mark);
	if (!read_proc(pid, "comm", text, sizeof(text)) || strcmp(text, "falcond\n"))
		return false;
	n = read_proc(pid, "environ", text, sizeof(text));
	for (size_t i = 0; i < n; i += strlen(text + i) + 1)
		if (!strncmp(text + i, "FALCON_TEST_MARKS=", 18) && strstr(text + i, word))
			return true;
	return false;
}

static int find_agents(const char *mark, pid_t *pids)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int n = 0;

	if (!proc)
		return 0;
	while (n < AGENTS && (e = readdir(proc)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && is_agent(e->d_name, mark))
			pids[n++] = (pid_t)atoi(e->d_name);
	closedir(proc);
	return n;
}

/* One or all of them at a time: peers that are silent together are another case than one of two. */
static int stop_agents(const char *mark)
{
	pid_t pids[AGENTS];

	if (!mark || !*mark)
		return 2;
	while (!over) {
		int n = find_agents(mark, pids), one = n && rand() % 2 ? rand() % n : -1;

		for (int i = 0; i < n; i++)
			if (one < 0 || i == one)
				kill(pids[i], SIGSTOP);
		pass(rand() % 100 * MS + MS);
		for (int i = 0; i < n; i++)
			kill(pids[i], SIGCONT);
		pass(rand() % 300 * MS + MS);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *argument);
	} hows[] = {
		{ "burn", burn }, { "fork", fork_all_the_time }, { "memory", walk_memory },
		{ "slices", cut_slices }, { "stop", stop_agents },
	};
	const struct sigaction act = { .sa_handler = end };

	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	srand((unsigned int)getpid());
	for (size_t i = 0; argc > 1 && i < sizeof(hows) / sizeof(hows[0]); i++)
		if (!strcmp(argv[1], hows[i].name))
			return hows[i].run(argv[2]);
	fprintf(stderr, "usage: disturb burn|fork|memory|slices|stop [MARK]\n");
	return 2;
}
