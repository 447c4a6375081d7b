// SPDX-License-Identifier: BSD-2-Clause
/* Packet sockets, for where AF_XDP cannot be had, and for users who want to capture in between. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port.h"

enum { BUFFER = 32 << 20, SEND_RETRIES = 1000 };

static int set_option(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) ? -errno : 0;
}

/*
 * A program that passes everything. What the other end of a veth pair sends by XDP_TX or a redirect,
 * veth leaves in its ring for ever while no program of the driver is on this end; then the ring is
 * full, and the pair carries nothing at all. A driver that takes no program has no such peer.
 */
static void attach_pass(struct port *p)
{
	const struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);
	int prog = bpf_prog_load(BPF_PROG_TYPE_XDP, "wire_pass", "Dual BSD/GPL", pass,
				 sizeof(pass) / sizeof(pass[0]), NULL);

	if (prog < 0)
		return;
	p->link = bpf_link_create(prog, p->ifindex, BPF_XDP, &opts);
	close(prog);
}

int port_packet_open(struct port *p, char *err, size_t len)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htobe16(ETH_P_ALL),
				    .sll_ifindex = p->ifindex };
	int rc;

	p->queues = 1;
	p->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = p->fd < 0 ? -errno : 0;
	if (rc == 0)
		rc = set_option(p->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
	if (rc == 0)
		rc = set_option(p->fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
	if (rc == 0)
		rc = set_option(p->fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER);
	if (rc == 0)
		rc = set_option(p->fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER);
	if (rc == 0 && bind(p->fd, (struct sockaddr *)&addr, sizeof(addr)))
		rc = -errno;
	if (rc) {
		snprintf(err, len, "%s", strerror(-rc));
		port_packet_close(p);
		return rc;
	}
	attach_pass(p);
	return 0;
}

void port_packet_close(struct port *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->link >= 0)
		close(p->link);
	p->fd = -1;
	p->link = -1;
}

unsigned int port_packet_receive(struct port *p, uint32_t *frames)
{
	struct mmsghdr msg[PORT_BATCH] = { 0 };
	struct iovec iov[PORT_BATCH];
	uint32_t frame[PORT_BATCH];
	unsigned int n, kept = 0;
	int got;

	for (n = 0; n < PORT_BATCH && (frame[n] = pool_take(p->pool)) != POOL_NONE; n++) {
		p->pool->frame[frame[n]].offset = POOL_HEADROOM;
		iov[n] = (struct iovec){ .iov_base = pool_data(p->pool, frame[n]),
					 .iov_len = pool_max_len(p->pool->size) };
		msg[n].msg_hdr.msg_iov = &iov[n];
		msg[n].msg_hdr.msg_iovlen = 1;
	}
	got = n ? recvmmsg(p->fd, msg, n, MSG_DONTWAIT, NULL) : 0;
	for (unsigned int i = 0; i < n; i++) {
		bool whole = (int)i < got && !(msg[i].msg_hdr.msg_flags & MSG_TRUNC);

		p->stats.oversize += (int)i < got && !whole;
		p->pool->frame[frame[i]].len = msg[i].msg_len;
		if (whole)
			frames[kept++] = frame[i];
		else
			pool_give(p->pool, frame[i]);
	}
	return kept;
}

void port_packet_flush(struct port *p)
{
	struct mmsghdr msg[PORT_BATCH] = { 0 };
	struct iovec iov[PORT_BATCH];
	unsigned int done = 0, retries = 0;

	for (unsigned int i = 0; i < p->outs; i++) {
		iov[i] = (struct iovec){ .iov_base = pool_data(p->pool, p->out[i]),
					 .iov_len = p->pool->frame[p->out[i]].len };
		msg[i].msg_hdr.msg_iov = &iov[i];
		msg[i].msg_hdr.msg_iovlen = 1;
	}
	while (done < p->outs) {
		int sent = sendmmsg(p->fd, msg + done, p->outs - done, MSG_DONTWAIT);

		if (sent > 0) {
			done += (unsigned int)sent;
			p->stats.sent += (unsigned int)sent;
		} else if (retries++ < SEND_RETRIES) {
			sched_yield();
		} else {
			done++;
			p->stats.unsent++;
		}
	}
	while (p->outs)
		pool_give(p->pool, p->out[--p->outs]);
}

void port_packet_send(struct port *p, uint32_t frame)
{
	if (p->outs == PORT_BATCH)
		port_packet_flush(p);
	p->out[p->outs++] = frame;
}

uint64_t port_packet_overrun(const struct port *p)
{
	struct tpacket_stats st = { 0 };
	socklen_t len = sizeof(st);

	return getsockopt(p->fd, SOL_PACKET, PACKET_STATISTICS, &st, &len) ? 0 : st.tp_drops;
}
