/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stuck_memory from|to supply|keep: a verbs application with a page that nobody supplies, by
 * userfaultfd, sends a message to itself from that page, or to it, and says "posted". "supply": it
 * supplies the page when a line comes in and expects the message to arrive; "keep": it never does, and
 * expects to be flushed.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, SKIP = 77 };

static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static int uffd;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

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

/* A queue pair that is its own peer. */
static void connect_to_self(struct ibv_context *ctx)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
					 .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				 .qp_access_flags = IBV_ACCESS_LOCAL_WRITE };

	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	init.send_cq = init.recv_cq = cq;
	qp = pd && cq ? ibv_create_qp(pd, &init) : NULL;
	check(qp != NULL, "queue pair");
	check(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					     IBV_QP_ACCESS_FLAGS), "INIT");
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = qp->qp_num;
	a.max_dest_rd_atomic = 1;
	a.min_rnr_timer = 12;
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	check(!ibv_query_gid(ctx, 1, 0, &a.ah_attr.grh.dgid), "GID");
	check(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					     IBV_QP_MIN_RNR_TIMER), "RTR");
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 14;
	a.retry_cnt = a.rnr_retry = 7;
	a.max_rd_atomic = 1;
	check(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					     IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

static struct ibv_sge element(void *page)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, page, PAGE, IBV_ACCESS_LOCAL_WRITE |
							       IBV_ACCESS_ON_DEMAND);

	check(mr != NULL, "region");
	return (struct ibv_sge){ (uintptr_t)page, PAGE, mr->lkey };
}

static void post(int from)
{
	struct ibv_sge source = element(make_page(from)), sink = element(make_page(!from));
	struct ibv_recv_wr recv = { .sg_list = &sink, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &source, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	check(!ibv_post_recv(qp, &recv, &bad_recv) && !ibv_post_send(qp, &send, &bad), "post");
	puts("posted");
	fflush(stdout);
}

static enum ibv_wc_status completion(void)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
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
	connect_to_self(ctx);
	post(from);
	if (!supply)
		return completion() == IBV_WC_SUCCESS;
	check(fgets(line, sizeof(line), stdin) != NULL, "stdin");
	/* Without a handler, the page is one of zeroes. */
	close(uffd);
	return completion() != IBV_WC_SUCCESS || completion() != IBV_WC_SUCCESS;
}
