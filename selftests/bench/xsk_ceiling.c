// SPDX-License-Identifier: BSD-2-Clause
/*
 * How fast bare AF_XDP is on this machine, as a measure for everything above it.
 *
 *	xsk_ceiling send IF SECONDS SIZE	send frames of SIZE bytes as fast as possible
 *	xsk_ceiling drop IF SECONDS OBJECT	count them in an XDP program that drops them
 *	xsk_ceiling recv IF SECONDS OBJECT	count them in an AF_XDP receiver
 *
 * A receiver prints "ready" when it is, and packets per second over SECONDS from the first packet
 * on. Queue 0 only. A receiver gives up when nothing has come for GIVE_UP_S seconds.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <xdp/xsk.h>

enum limits {
	FRAMES = 8192,
	FRAME_SIZE = 4096,
	RING = 8192,
	BATCH = 64,
	MIN_SIZE = 60,
	GIVE_UP_S = 10,
	MAX_CPUS = 1024,
};

struct port {
	struct xsk_socket *xsk;
	struct xsk_umem *umem;
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons comp, rx;
	char *area;
};

static _Noreturn void die(const char *what, int err)
{
	fprintf(stderr, "xsk_ceiling: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void port_open(struct port *p, const char *ifname)
{
	const struct xsk_umem_config umem = {
		.fill_size = RING, .comp_size = RING, .frame_size = FRAME_SIZE,
	};
	const struct xsk_socket_config cfg = {
		.rx_size = RING,
		.tx_size = RING,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP,
	};
	int err;

	p->area = mmap(NULL, (size_t)FRAMES * FRAME_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (p->area == MAP_FAILED)
		die("mmap", errno);
	err = xsk_umem__create(&p->umem, p->area, (size_t)FRAMES * FRAME_SIZE, &p->fill, &p->comp,
			       &umem);
	if (err)
		die("umem", err);
	err = xsk_socket__create(&p->xsk, ifname, 0, p->umem, &p->rx, &p->tx, &cfg);
	if (err)
		die(ifname, err);
}

/* A UDP frame to the discard port; nobody looks at it. */
static void fill_frame(char *frame, unsigned int size)
{
	static const unsigned char head[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0,		/* Ethernet, IPv4 */
		0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0,
		10, 0, 0, 1, 10, 0, 0, 2, 0, 9, 0, 9, 0, 0, 0, 0,
	};

	memset(frame, 0, size);
	memcpy(frame, head, sizeof(head));
}

static void run_send(const char *ifname, double seconds, unsigned int size)
{
	struct port p = { 0 };
	unsigned long long sent = 0;
	unsigned int in_flight = 0, next = 0;
	double start, end;

	if (size < MIN_SIZE || size > FRAME_SIZE)
		die("frame size", EINVAL);
	port_open(&p, ifname);
	for (unsigned int i = 0; i < FRAMES; i++)
		fill_frame(p.area + (size_t)i * FRAME_SIZE, size);
	start = now_s();
	end = start + seconds;
	while (now_s() < end) {
		unsigned int idx, n;

		if (in_flight + BATCH <= FRAMES && xsk_ring_prod__reserve(&p.tx, BATCH, &idx)) {
			for (n = 0; n < BATCH; n++, next = (next + 1) % FRAMES) {
				struct xdp_desc *d = xsk_ring_prod__tx_desc(&p.tx, idx + n);

				d->addr = (__u64)next * FRAME_SIZE;
				d->len = size;
			}
			xsk_ring_prod__submit(&p.tx, BATCH);
			in_flight += BATCH;
		}
		sendto(xsk_socket__fd(p.xsk), NULL, 0, MSG_DONTWAIT, NULL, 0);
		n = xsk_ring_cons__peek(&p.comp, RING, &idx);
		xsk_ring_cons__release(&p.comp, n);
		in_flight -= n;
		sent += n;
	}
	printf("%.0f\n", sent / (now_s() - start));
}

/* Load |object|, keeping only |program|, and attach it to |ifname| natively. */
static struct bpf_object *attach(const char *object, const char *program, const char *ifname)
{
	struct bpf_object *obj = bpf_object__open_file(object, NULL);
	struct bpf_program *prog;
	int err;

	if (!obj)
		die(object, errno);
	bpf_object__for_each_program(prog, obj)
		bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), program));
	err = bpf_object__load(obj);
	if (err)
		die("load", err);
	prog = bpf_object__find_program_by_name(obj, program);
	err = bpf_xdp_attach((int)if_nametoindex(ifname), bpf_program__fd(prog),
			     XDP_FLAGS_DRV_MODE, NULL);
	if (err)
		die("attach", err);
	return obj;
}

static unsigned long long dropped(int map)
{
	static __u64 value[MAX_CPUS];
	unsigned long long sum = 0;
	__u32 zero = 0;
	int cpus = libbpf_num_possible_cpus();

	if (cpus > MAX_CPUS || bpf_map_lookup_elem(map, &zero, value))
		die("counter", errno);
	for (int i = 0; i < cpus; i++)
		sum += value[i];
	return sum;
}

static void run_drop(const char *ifname, double seconds, const char *object)
{
	struct bpf_object *obj = attach(object, "ceiling_drop", ifname);
	int map = bpf_object__find_map_fd_by_name(obj, "received");
	double give_up = now_s() + GIVE_UP_S, start, took;
	const struct timespec tick = { .tv_nsec = 1000000 };
	unsigned long long before;

	puts("ready");
	while (!dropped(map)) {
		if (now_s() > give_up)
			die("no packets", ETIMEDOUT);
		nanosleep(&tick, NULL);
	}
	before = dropped(map);
	start = now_s();
	while (now_s() < start + seconds)
		nanosleep(&tick, NULL);
	took = now_s() - start;
	printf("%.0f\n", (dropped(map) - before) / took);
	bpf_xdp_detach((int)if_nametoindex(ifname), XDP_FLAGS_DRV_MODE, NULL);
}

/* Take what has arrived, give the frames back. Returns how many. */
static unsigned int take(struct port *p)
{
	unsigned int idx, fill, n = xsk_ring_cons__peek(&p->rx, BATCH, &idx);

	if (!n || xsk_ring_prod__reserve(&p->fill, n, &fill) != n)
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		__u64 addr = xsk_ring_cons__rx_desc(&p->rx, idx + i)->addr;

		*xsk_ring_prod__fill_addr(&p->fill, fill + i) = addr & ~(__u64)(FRAME_SIZE - 1);
	}
	xsk_ring_prod__submit(&p->fill, n);
	xsk_ring_cons__release(&p->rx, n);
	return n;
}

static void run_recv(const char *ifname, double seconds, const char *object)
{
	struct bpf_object *obj = attach(object, "ceiling_redirect", ifname);
	struct port p = { 0 };
	double give_up, start, t;
	unsigned long long got = 0;
	__u32 idx;

	port_open(&p, ifname);
	if (xsk_socket__update_xskmap(p.xsk, bpf_object__find_map_fd_by_name(obj, "sockets")))
		die("xskmap", errno);
	if (xsk_ring_prod__reserve(&p.fill, RING, &idx) != RING)
		die("fill ring", ENOSPC);
	for (__u32 i = 0; i < RING; i++)
		*xsk_ring_prod__fill_addr(&p.fill, idx + i) = (__u64)i * FRAME_SIZE;
	xsk_ring_prod__submit(&p.fill, RING);
	puts("ready");
	give_up = now_s() + GIVE_UP_S;
	while (!take(&p)) {
		struct pollfd pfd = { .fd = xsk_socket__fd(p.xsk), .events = POLLIN };

		if (now_s() > give_up)
			die("no packets", ETIMEDOUT);
		poll(&pfd, 1, 100);
	}
	start = now_s();
	while ((t = now_s()) < start + seconds)
		got += take(&p);
	printf("%.0f\n", got / (t - start));
	bpf_xdp_detach((int)if_nametoindex(ifname), XDP_FLAGS_DRV_MODE, NULL);
}

int main(int argc, char **argv)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	setvbuf(stdout, NULL, _IOLBF, 0);
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	if (argc != 5)
		goto usage;
	if (!strcmp(argv[1], "send"))
		run_send(argv[2], atof(argv[3]), (unsigned int)atoi(argv[4]));
	else if (!strcmp(argv[1], "drop"))
		run_drop(argv[2], atof(argv[3]), argv[4]);
	else if (!strcmp(argv[1], "recv"))
		run_recv(argv[2], atof(argv[3]), argv[4]);
	else
		goto usage;
	return 0;
usage:
	fputs("usage: xsk_ceiling send IF SECONDS SIZE | drop|recv IF SECONDS OBJECT\n", stderr);
	return 2;
}
