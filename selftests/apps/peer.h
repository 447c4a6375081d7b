/* SPDX-License-Identifier: BSD-2-Clause */
/* What verbs applications of two ends share here: how they meet, and how their queue pairs are connected. */
#ifndef FALCON_SELFTESTS_APPS_PEER_H
#define FALCON_SELFTESTS_APPS_PEER_H

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PEER_PORT = 18515 };

/* Of libfalcon_verbs.so, where it is loaded. */
extern void *falcon_alloc_offload(struct ibv_context *context, size_t size) __attribute__((weak));

/* The other end of a queue pair, and what differs between applications. */
struct peer_qp {
	uint32_t qpn;
	union ibv_gid gid;
	int gid_index;		/* ours */
	uint8_t timeout;	/* as ibv_qp_attr has it */
	uint8_t rd_atomic;	/* READs and atomics under way, each way */
};

/* Ends the program with a sentence unless |ok|. */
static inline void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

/* A connection to |server|; as the server, with NULL, from whoever comes first. */
static inline int peer_meet(const char *server)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(PEER_PORT) };
	int one = 1, s = socket(AF_INET, SOCK_STREAM, 0), sock = s;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (server) {
		check(inet_pton(AF_INET, server, &sin.sin_addr) == 1, server);
		check(!connect(s, (struct sockaddr *)&sin, sizeof(sin)), "connect");
		return sock;
	}
	check(!bind(s, (struct sockaddr *)&sin, sizeof(sin)) && !listen(s, 1), "listen");
	sock = accept(s, NULL, NULL);
	check(sock >= 0, "accept");
	close(s);
	return sock;
}

/* Tell the peer |len| bytes, and hear as many. */
static inline void peer_swap(int sock, const void *mine, void *theirs, size_t len)
{
	check(write(sock, mine, len) == (ssize_t)len, "telling the peer");
	check(recv(sock, theirs, len, MSG_WAITALL) == (ssize_t)len, "hearing from the peer");
}

/* To INIT; the peer may do what |access| says. */
static inline void peer_init_qp(struct ibv_qp *qp, unsigned int access)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access };

	check(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	      "INIT");
}

/* From INIT to RTS. */
static inline void peer_connect_qp(struct ibv_qp *qp, const struct peer_qp *far)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = far->qpn,
		.max_dest_rd_atomic = far->rd_atomic, .min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1 },
	};

	a.ah_attr.grh.dgid = far->gid;
	a.ah_attr.grh.sgid_index = (uint8_t)far->gid_index;
	a.ah_attr.grh.hop_limit = 64;
	check(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), "RTR");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = far->timeout, .retry_cnt = 7,
				  .rnr_retry = 7, .max_rd_atomic = far->rd_atomic };
	check(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

#endif /* FALCON_SELFTESTS_APPS_PEER_H */
