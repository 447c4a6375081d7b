/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stuck_memory from|to supply|keep: a verbs application with a page that nobody supplies, by
 * userfaultfd, sends a message to itself from that page, or to it, and says "posted". "supply": it
 * supplies the page when a line comes in and expects the message to arrive; "keep": it never does, and
 * expects to be flushed.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "to_self.h"

enum { PAGE = 4096, SKIP = 77 };

static struct to_self self;
static int uffd;

static void *make_page(int missing)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register reg = { .range = { (uintptr_t)page, PAGE },
				       .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };

	check(page != MAP_FAILED, "mmap");
	if (!missing)
		return page;
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0) {
		perror("userfaultfd");
		exit(SKIP);
	}
	check(!ioctl(uffd, UFFDIO_API, &api) && !ioctl(uffd, UFFDIO_REGISTER, &reg), "userfaultfd");
	return page;
}

static struct ibv_sge element(void *page)
{
	struct ibv_mr *mr = ibv_reg_mr(self.pd, page, PAGE, IBV_ACCESS_LOCAL_WRITE |
							       IBV_ACCESS_ON_DEMAND);

	check(mr != NULL, "region");
	return (struct ibv_sge){ (uintptr_t)page, PAGE, mr->lkey };
}

static void post(int from)
{
	struct ibv_sge source = element(make_page(from)), sink = element(make_page(!from));
	struct ibv_recv_wr recv = { .sg_list = &sink, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &source, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	check(!ibv_post_recv(self.qp, &recv, &bad_recv) && !ibv_post_send(self.qp, &send, &bad), "post");
	puts("posted");
	fflush(stdout);
}

static enum ibv_wc_status completion(void)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(self.cq, 1, &wc)) == 0)
		;
	return n < 0 ? IBV_WC_GENERAL_ERR : wc.status;
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	int from = argc > 1 && !strcmp(argv[1], "from"), supply = argc > 2 && !strcmp(argv[2], "supply");
	char line[16];

	check(ctx != NULL, "device");
	connect_to_self(ctx, 4, &self);
	post(from);
	if (!supply)
		return completion() == IBV_WC_SUCCESS;
	check(fgets(line, sizeof(line), stdin) != NULL, "stdin");
	/* Without a handler, the page is one of zeroes. */
	close(uffd);
	return completion() != IBV_WC_SUCCESS || completion() != IBV_WC_SUCCESS;
}
