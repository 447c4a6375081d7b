/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FVERBS_CM (verbs.h): RDMA connection management for an application's library, with the meaning
 * of the kernel's rdma_cm device. Requests and answers are of one form each; what a request does not
 * need is 0. Ports are in network order. Port spaces, event types, reasons and states are the numbers
 * of <rdma/rdma_cma.h> and <infiniband/verbs.h>.
 *
 * Events wait in the agent, each on the channel of its id. For each a byte comes on the channel's
 * socket; whoever has read a byte asks for an event, of which there may be none by then.
 */
#ifndef FALCON_RDMACM_ABI_H
#define FALCON_RDMACM_ABI_H

#include <linux/types.h>

enum fverbs_cm_const {
	FVERBS_CM_PRIVATE_MAX = 256,	/* bytes of private data */
};

enum fverbs_cm_what {
	FVERBS_CM_OPEN_CHANNEL = 1,	/* and our end of a SOCK_STREAM pair -> id: the channel's */
	FVERBS_CM_CLOSE_CHANNEL,	/* id: a channel; its ids go, too */
	FVERBS_CM_CREATE_ID,		/* channel, ps, qp_type, cookie -> id */
	FVERBS_CM_DESTROY_ID,		/* id -> reported */
	FVERBS_CM_BIND,			/* id, src: address 0: any; port 0: one that is free */
	FVERBS_CM_RESOLVE_ADDR,		/* id, src (0: by route), dst; ADDR_RESOLVED or ADDR_ERROR follows */
	FVERBS_CM_RESOLVE_ROUTE,	/* id; ROUTE_RESOLVED follows */
	FVERBS_CM_QUERY,		/* id -> all of fverbs_cm_answer */
	FVERBS_CM_LISTEN,		/* id, value: backlog */
	FVERBS_CM_CONNECT,		/* id, param */
	FVERBS_CM_ACCEPT,		/* id, param and cookie; at the end that has connected: neither */
	FVERBS_CM_REJECT,		/* id, param: private data; value: reason, 0: the consumer's */
	FVERBS_CM_DISCONNECT,		/* id */
	FVERBS_CM_GET_EVENT,		/* id: a channel -> fverbs_cm_event; EAGAIN: there is none */
	FVERBS_CM_MIGRATE,		/* id, channel -> reported */
	FVERBS_CM_REUSE,		/* id, value: whether its port may be in use */
	FVERBS_CM_TIMEOUT,		/* id, value: queue pairs' timeout, 4.096 us * 2^value, 0..31 */
};

struct fverbs_cm_addr {
	__u16 family;			/* AF_INET, AF_INET6; 0: none */
	__be16 port;
	__u32 scope;			/* of an IPv6 link-local address */
	__u8 addr[16];			/* IPv4 in the first 4 bytes */
};

struct fverbs_cm_param {
	__u32 qp_num;
	__u32 qkey;			/* datagrams */
	__u8 responder_resources;
	__u8 initiator_depth;
	__u8 flow_control;
	__u8 retry_count;
	__u8 rnr_retry_count;
	__u8 srq;
	__u8 reserved;
	__u8 private_data_len;		/* bytes */
	__u8 private_data[FVERBS_CM_PRIVATE_MAX];
};

struct fverbs_cm_req {
	__u32 what;			/* enum fverbs_cm_what */
	__u32 id;
	__u64 cookie;			/* of the id, in its events */
	__u32 channel;
	__u32 value;
	__u16 ps;			/* enum rdma_port_space */
	__u8 qp_type;			/* enum ibv_qp_type */
	__u8 reserved[5];
	struct fverbs_cm_addr src, dst;
	struct fverbs_cm_param param;
};

struct fverbs_cm_answer {
	__u32 id;
	__u32 reported;			/* events that the application has got of the id */
	__u64 guid;			/* of the device, network order; 0: not bound to one */
	__u32 device;			/* index */
	__u32 sgid_index;
	__u32 remote_qpn;
	__u32 remote_qkey;
	__u8 responder_resources;	/* as the two ends have agreed */
	__u8 initiator_depth;
	__u8 retry_count;
	__u8 rnr_retry_count;
	__u8 path_mtu;			/* enum ibv_mtu */
	__u8 datagram;			/* 1: UD */
	__u8 timeout;			/* as FVERBS_CM_TIMEOUT has set it, or 14 */
	__u8 reserved;
	struct fverbs_cm_addr src, dst;
};

struct fverbs_cm_event {
	__u64 cookie;			/* of the id; a connection request: of the one that listens */
	__u32 id;			/* a connection request: the new one */
	__u32 type;			/* enum rdma_cm_event_type */
	__s32 status;			/* negative errno; REJECTED: the reason */
	__u32 datagram;			/* 1: UD */
	struct fverbs_cm_param param;
};

#endif /* FALCON_RDMACM_ABI_H */
