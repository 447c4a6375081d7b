// SPDX-License-Identifier: BSD-2-Clause
/* falcon-wire: an emulator of the links between two or more interfaces. See falcon-wire(8). */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "control.h"
#include "emulator.h"

static void deliver(void *arg, uint32_t frame)
{
	struct emulator *em = arg;
	const struct pool_frame *f = &em->pool.frame[frame];

	port_send(&em->port[f->to], f->queue, frame);
}

/* Small buffers if they do: half the memory, which the kernel pins. */
static uint32_t buffer_size(const struct options *o)
{
	uint32_t size = PORT_MAX_FRAME / 2;

	for (unsigned int i = 0; i < o->conf.ports; i++) {
		int len = port_frame_len(o->name[i]);

		if (len < 0) {
			fprintf(stderr, "falcon-wire: interface \"%s\": %s\n", o->name[i],
				strerror(-len));
			return 0;
		}
		if ((uint32_t)len > pool_max_len(PORT_MAX_FRAME)) {
			fprintf(stderr,
				"falcon-wire: %s: frames of %d bytes do not fit; lower its MTU by %u\n",
				o->name[i], len, (uint32_t)len - pool_max_len(PORT_MAX_FRAME));
			return 0;
		}
		if ((uint32_t)len > pool_max_len(size))
			size = PORT_MAX_FRAME;
	}
	return size;
}

/* Frames to fly, and those that lie ready at the queues. */
static uint32_t frames_needed(const struct options *o)
{
	uint32_t n = (uint32_t)o->frames;

	for (unsigned int i = 0; i < o->conf.ports; i++)
		n += port_queues(o->name[i]) * PORT_FILL;
	return n;
}

static int open_ports(struct emulator *em, const struct options *o)
{
	for (unsigned int i = 0; i < o->conf.ports; i++) {
		if (port_open(&em->port[i], o->name[i], o->io, &em->umem))
			return -1;
		em->ports++;
		fprintf(stderr, "falcon-wire: %s: %s, %u queues\n", o->name[i],
			port_io_name(em->port[i].io), em->port[i].queues);
	}
	return 0;
}

static int start(struct emulator *em, struct options *o)
{
	uint32_t size = buffer_size(o);

	if (!size)
		return -1;
	o->conf.deliver = deliver;
	o->conf.arg = em;
	em->umem.pool = &em->pool;
	em->wire = calloc(1, sizeof(*em->wire));
	if (!em->wire || pool_init(&em->pool, frames_needed(o), size) ||
	    wire_init(em->wire, &em->pool, &o->conf)) {
		fprintf(stderr, "falcon-wire: no memory for %u frames\n", frames_needed(o));
		return -1;
	}
	if (o->control && !(em->control = control_open(o->control)))
		return -1;
	return open_ports(em, o);
}

static void finish(struct emulator *em)
{
	control_close(em->control);
	for (unsigned int i = 0; i < em->ports; i++)
		port_close(&em->port[i]);
	if (em->umem.umem)
		xsk_umem__delete(em->umem.umem);
	if (em->wire)
		wire_close(em->wire);
	free(em->wire);
	pool_close(&em->pool);
}

/*
 * Ask for priority. Where the kernel weighs sessions against each other first (autogroups), that of
 * a process counts within its session only, so the session's is set too.
 */
static void be_nice(int nice)
{
	FILE *autogroup;

	if (nice == 0)
		return;
	if (setpriority(PRIO_PROCESS, 0, nice))
		fprintf(stderr, "falcon-wire: priority %d: %s\n", nice, strerror(errno));
	autogroup = fopen("/proc/self/autogroup", "w");
	if (!autogroup)
		return;
	fprintf(autogroup, "%d\n", nice);
	fclose(autogroup);
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level, (void)fmt, (void)ap;
	return 0;
}

int main(int argc, char **argv)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	static struct emulator em;
	static struct options o;
	int rc = 1;

	if (argc > 1 && (!strcmp(argv[1], "set") || !strcmp(argv[1], "show") ||
			 !strcmp(argv[1], "reset")))
		return client_main(argc, argv);
	options_parse(&o, argc, argv);
	if (o.check)
		return 0;
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	/* What fails is said here in its own words. */
	libbpf_set_print(quiet);
	be_nice(o.nice);
	if (start(&em, &o) == 0)
		rc = emulator_run(&em, o.json);
	finish(&em);
	return rc;
}
