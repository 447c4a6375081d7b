// SPDX-License-Identifier: BSD-2-Clause
/*
 * user/io/xsk.h over a kernel that is ours: the rings, the socket's statistics (XDP_STATISTICS) and what
 * wakes a driver. A zero-copy driver's behaviour, where no such driver is at hand.
 */
#include "unit.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "io/xsk.h"

/* ---- the kernel ---- */

static struct {
	struct xdp_statistics stats;
	uint64_t fill[XSK_RING_SIZE];
	struct xdp_desc rx[XSK_RING_SIZE];
	uint32_t fill_prod, fill_cons, fill_flags;
	uint32_t rx_prod, rx_cons, rx_flags;
	uint32_t taken;			/* frames of the fill ring that the "driver" holds */
	uint64_t held[XSK_RING_SIZE];
	unsigned int wakes;		/* recvfrom() calls */
} kernel;

static struct xsk x;
static struct falcon_credit credit;

int xsk_socket__fd(const struct xsk_socket *socket)
{
	(void)socket;
	return 77;
}

int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict len)
{
	assert_int_equal(fd, 77);
	assert_int_equal(level, SOL_XDP);
	assert_int_equal(name, XDP_STATISTICS);
	assert_true(*len >= sizeof(kernel.stats));
	memcpy(value, &kernel.stats, sizeof(kernel.stats));
	return 0;
}

/* The driver takes what is in the fill ring; if that is empty then, the driver waits to be told. */
static void driver_refills(uint32_t want)
{
	while (want && kernel.fill_cons != kernel.fill_prod) {
		kernel.held[kernel.taken++] = kernel.fill[kernel.fill_cons++ % XSK_RING_SIZE];
		want--;
	}
	if (want)
		kernel.stats.rx_fill_ring_empty_descs++;
	kernel.fill_flags = want ? XDP_RING_NEED_WAKEUP : 0;
}

ssize_t recvfrom(int fd, void *restrict buf, size_t n, int flags, struct sockaddr *restrict addr,
		 socklen_t *restrict len)
{
	assert_int_equal(fd, 77);
	assert_int_equal(flags, MSG_DONTWAIT);
	assert_true(!buf && !n && !addr && !len);
	kernel.wakes++;
	driver_refills(64);
	return 0;
}

/* |n| packets arrive in frames that the driver holds. */
static void driver_receives(uint32_t n)
{
	assert_true(n <= kernel.taken);
	while (n--) {
		struct xdp_desc *d = &kernel.rx[kernel.rx_prod++ % XSK_RING_SIZE];

		*d = (struct xdp_desc){ .addr = kernel.held[--kernel.taken] + 256, .len = 60 };
	}
}

/* ---- */

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	memset(&x, 0, sizeof(x));
	memset(&credit, 0, sizeof(credit));
	x.credit = &credit;
	x.frames = calloc(XSK_RX_FRAMES, sizeof(*x.frames));
	assert_non_null(x.frames);
	for (uint32_t i = 0; i < XSK_RX_FRAMES; i++) {
		x.frames[i] = (struct xsk_frame){ .xsk = &x, .index = i };
		x.rx_free[x.rx_nfree++] = i;
	}
	x.fill = (struct xsk_ring_prod){ .mask = XSK_RING_SIZE - 1, .size = XSK_RING_SIZE,
					 .cached_cons = XSK_RING_SIZE, .producer = &kernel.fill_prod,
					 .consumer = &kernel.fill_cons, .ring = kernel.fill,
					 .flags = &kernel.fill_flags };
	x.rx = (struct xsk_ring_cons){ .mask = XSK_RING_SIZE - 1, .size = XSK_RING_SIZE,
				       .producer = &kernel.rx_prod, .consumer = &kernel.rx_cons,
				       .ring = kernel.rx, .flags = &kernel.rx_flags };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(x.frames);
	return 0;
}

/* All that waits is taken and given back. */
static uint32_t receive(void)
{
	struct xsk_rx_item items[32];
	uint32_t total = 0, n;

	while ((n = xsk_rx(&x, items, 32)) > 0) {
		for (uint32_t i = 0; i < n; i++)
			xsk_frame_put(items[i].frame);
		total += n;
	}
	return total;
}

/* Every zero-copy driver asks for more frames than there are, again and again. */
static void xsk_dropped__not_while_a_driver_refills(void **state)
{
	(void)state;
	xsk_refill(&x);
	for (int i = 0; i < 100; i++) {
		driver_refills(XSK_RING_SIZE);
		assert_false(xsk_dropped(&x));
	}
	assert_int_equal(kernel.stats.rx_fill_ring_empty_descs, 100);
}

static void xsk_dropped__tells_each_loss_once(void **state)
{
	(void)state;
	assert_false(xsk_dropped(&x));
	kernel.stats.rx_dropped = 3;
	assert_true(xsk_dropped(&x));
	assert_false(xsk_dropped(&x));
	kernel.stats.rx_ring_full = 1;
	assert_true(xsk_dropped(&x));
	assert_false(xsk_dropped(&x));
	/* What a copying kernel counts beside rx_dropped. */
	kernel.stats.rx_dropped = 4;
	kernel.stats.rx_fill_ring_empty_descs = 1;
	assert_true(xsk_dropped(&x));
	assert_int_equal(x.drops, 5);
}

/* A receiver that sends nothing: its driver has run dry, and has to hear that there are frames again. */
static void xsk_refill__wakes_a_driver_that_has_run_dry(void **state)
{
	struct xsk_rx_item items[XSK_FILL_TARGET];
	uint32_t n;

	(void)state;
	xsk_refill(&x);
	assert_int_equal(kernel.wakes, 0);
	assert_int_equal(credit.credits, XSK_FILL_TARGET);
	driver_refills(XSK_RING_SIZE);
	assert_int_equal(kernel.taken, XSK_FILL_TARGET);
	driver_receives(XSK_FILL_TARGET);
	driver_refills(XSK_RING_SIZE);
	assert_int_equal(kernel.fill_flags, XDP_RING_NEED_WAKEUP);

	n = xsk_rx(&x, items, XSK_FILL_TARGET);
	assert_int_equal(n, XSK_FILL_TARGET);
	for (uint32_t i = 0; i < n; i++)
		xsk_frame_put(items[i].frame);
	xsk_refill(&x);
	assert_int_equal(kernel.wakes, 1);
	assert_int_equal(kernel.taken, 64);
	assert_int_equal(kernel.fill_flags, 0);
	driver_receives(64);
	assert_int_equal(receive(), 64);
	xsk_refill(&x);
	assert_int_equal(kernel.wakes, 1);
	assert_int_equal(x.rx_kicks, 1);
}

/* Frames that other threads had, and this one is short of: it is told when they come, and not before. */
static void xsk_frame_return__is_told_when_frames_are_short(void **state)
{
	static struct xsk_rx_item held[XSK_RX_FRAMES];
	uint32_t n = 0;

	(void)state;
	xsk_refill(&x);
	while (n < XSK_RX_FRAMES) {
		driver_refills(XSK_RING_SIZE);
		driver_receives(kernel.taken);
		n += xsk_rx(&x, held + n, XSK_RX_FRAMES - n);
		if (n == XSK_FILL_TARGET)
			assert_false(xsk_frame_return(held[--n].frame));
		xsk_refill(&x);
	}
	assert_int_equal(x.in_fill, 0);
	assert_false(xsk_refillable(&x));
	assert_true(xsk_frame_return(held[--n].frame));
	assert_true(xsk_refillable(&x));
	xsk_refill(&x);
	assert_int_equal(x.in_fill, 1);
	assert_false(xsk_refillable(&x));
	while (n > 0)
		xsk_frame_return(held[--n].frame);
	xsk_refill(&x);
	assert_int_equal(x.in_fill, XSK_FILL_TARGET);
	assert_int_equal(x.rx_nfree, XSK_RX_FRAMES - XSK_FILL_TARGET);
	/* It has what it needs. */
	assert_false(xsk_refillable(&x));
	assert_int_equal(credit.credits, XSK_RX_FRAMES + 1 + XSK_FILL_TARGET);
}

/* Its flag is set after the agent has looked: the next turn, which adds no frame, sees it. */
static void xsk_refill__wakes_a_driver_with_a_full_ring(void **state)
{
	(void)state;
	xsk_refill(&x);
	kernel.fill_flags = XDP_RING_NEED_WAKEUP;
	xsk_refill(&x);
	assert_int_equal(kernel.wakes, 1);
}

/* With nothing to take, waking a driver is a system call for nothing, in every turn. */
static void xsk_refill__leaves_a_driver_that_has_all(void **state)
{
	(void)state;
	xsk_refill(&x);
	driver_refills(XSK_RING_SIZE);
	assert_int_equal(kernel.fill_flags, XDP_RING_NEED_WAKEUP);
	for (int i = 0; i < 10; i++)
		xsk_refill(&x);
	assert_int_equal(kernel.wakes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(xsk_dropped__not_while_a_driver_refills, setup, teardown),
		cmocka_unit_test_setup_teardown(xsk_dropped__tells_each_loss_once, setup, teardown),
		cmocka_unit_test_setup_teardown(xsk_frame_return__is_told_when_frames_are_short, setup,
						teardown),
		cmocka_unit_test_setup_teardown(xsk_refill__wakes_a_driver_that_has_run_dry, setup,
						teardown),
		cmocka_unit_test_setup_teardown(xsk_refill__wakes_a_driver_with_a_full_ring, setup,
						teardown),
		cmocka_unit_test_setup_teardown(xsk_refill__leaves_a_driver_that_has_all, setup, teardown),
	};

	return unit_run(tests);
}
