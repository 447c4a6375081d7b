/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands of a verbs application's library to the agent.
 *
 * The library attaches through the control socket: {"op": "verbs-attach"} with four descriptors, in
 * this order: the agent's end of a SOCK_SEQPACKET pair for commands; the memfd of area 0
 * (verbs_shm.h); an eventfd, the doorbell; the agent's end of a SOCK_STREAM pair for asynchronous
 * events. The application's end of the last two is what it waits on; EOF there, or on the command
 * socket, says that the agent has gone. The agent ends the context when the command socket does.
 *
 * One message is one command: struct fverbs_cmd, then the command's request. It is answered by one
 * message: struct fverbs_reply, then the command's answer if |error| is 0, else a sentence for
 * people without a final 0. Commands are served in order. A library may have several under way.
 *
 * Objects are named by handles, numbers that the agent chooses and that mean something only on this
 * context. Numbers are in the host's byte order, addresses of peers in network order. Enumerations
 * and flags are those of <infiniband/verbs.h>. All reserved fields must be 0.
 */
#ifndef FALCON_VERBS_ABI_H
#define FALCON_VERBS_ABI_H

#include <linux/types.h>

enum fverbs_abi_const {
	FVERBS_ABI_VERSION = 1,		/* first word of FVERBS_HELLO */
	FVERBS_MSG_MAX = 4096,		/* bytes of a command or an answer */
	FVERBS_FDS_MAX = 1,		/* descriptors that come with a command, or an answer */
	FVERBS_DEVICES_MAX = 16,
	FVERBS_GIDS_MAX = 32,		/* of a device's port */
	FVERBS_NAME_MAX = 64,		/* as IBV_SYSFS_NAME_MAX */
};

enum fverbs_op {
	FVERBS_HELLO = 1,		/* fverbs_hello, a descriptor -> fverbs_hello_answer; first */
	FVERBS_QUERY_DEVICE,		/* fverbs_handle (index) -> fverbs_device */
	FVERBS_ADD_AREA,		/* - and a memfd -> fverbs_handle: its number */
	FVERBS_DEL_AREA,		/* fverbs_handle; EBUSY: something lies in it */
	FVERBS_ALLOC_PD,		/* fverbs_handle (device index) -> fverbs_handle */
	FVERBS_DEALLOC_PD,		/* fverbs_handle; EBUSY */
	FVERBS_REG_MR,			/* fverbs_reg_mr -> fverbs_mr */
	FVERBS_REREG_MR,		/* fverbs_rereg_mr -> fverbs_mr */
	FVERBS_DEREG_MR,		/* fverbs_handle; EBUSY: windows are bound to it */
	FVERBS_ALLOC_MW,		/* fverbs_alloc_mw -> fverbs_mr */
	FVERBS_DEALLOC_MW,		/* fverbs_handle */
	FVERBS_CREATE_CHANNEL,		/* - and our end of a SOCK_STREAM pair -> fverbs_handle */
	FVERBS_DESTROY_CHANNEL,		/* fverbs_handle; EBUSY */
	FVERBS_CREATE_CQ,		/* fverbs_create_cq -> fverbs_handle */
	FVERBS_RESIZE_CQ,		/* fverbs_resize_cq: the agent moves what is unread */
	FVERBS_DESTROY_CQ,		/* fverbs_handle -> fverbs_events; EBUSY */
	FVERBS_CREATE_SRQ,		/* fverbs_create_srq -> fverbs_handle_num */
	FVERBS_MODIFY_SRQ,		/* fverbs_modify_srq */
	FVERBS_QUERY_SRQ,		/* fverbs_handle -> fverbs_srq_attr */
	FVERBS_DESTROY_SRQ,		/* fverbs_handle -> fverbs_events; EBUSY */
	FVERBS_OPEN_XRCD,		/* fverbs_open_xrcd, a file or none -> fverbs_handle */
	FVERBS_CLOSE_XRCD,		/* fverbs_handle; EBUSY */
	FVERBS_CREATE_QP,		/* fverbs_create_qp -> fverbs_handle_num */
	FVERBS_OPEN_QP,			/* fverbs_open_qp -> fverbs_handle_num: XRC receive QP */
	FVERBS_MODIFY_QP,		/* fverbs_modify_qp */
	FVERBS_QUERY_QP,		/* fverbs_handle -> fverbs_qp_attr */
	FVERBS_DESTROY_QP,		/* fverbs_handle -> fverbs_events */
	FVERBS_CREATE_AH,		/* fverbs_create_ah -> fverbs_handle */
	FVERBS_DESTROY_AH,		/* fverbs_handle */
	FVERBS_NEW_AREA,		/* fverbs_new_area -> fverbs_new_area_answer, a descriptor */
	FVERBS_CM = 64,			/* fverbs_cm_*: rdmacm.h */
};

struct fverbs_cmd {
	__u16 op;			/* enum fverbs_op */
	__u16 reserved;
	__u32 tag;			/* returned in the answer */
};

struct fverbs_reply {
	__s32 error;			/* 0, or an errno value (positive) */
	__u32 tag;
};

struct fverbs_handle {
	__u32 handle;
	__u32 reserved;
};

struct fverbs_handle_num {
	__u32 handle;
	__u32 num;			/* queue pair or SRQ number, 24 bits */
};

/* An area of offload memory, which XDP reaches, too. The descriptor that comes back is to be mapped. */
struct fverbs_new_area {
	__u64 size;			/* bytes */
};

struct fverbs_new_area_answer {
	__u32 number;			/* of the area, as with FVERBS_ADD_AREA */
	__u32 reserved;
	__u64 size;			/* bytes that it has: at least as many */
};

/* Where a queue lies; the agent checks that all of it is in the area, aligned to 64 bytes. */
struct fverbs_place {
	__u32 area;
	__u32 entries;			/* a power of two */
	__u64 offset;			/* bytes into the area */
	__u32 stride;			/* bytes; completion queues: 64 */
	__u32 reserved;
};

/*
 * Comes with a descriptor of /proc/self/mem, open for reading and writing: how the agent reaches what
 * is registered. The processes of root and of the agent's own user may go without.
 */
struct fverbs_hello {
	__u32 version;			/* FVERBS_ABI_VERSION */
	__u32 reserved;
};

struct fverbs_hello_answer {
	__u32 version;
	__u32 devices;			/* how many there are */
	__u64 agent_boot;		/* random, of this run of the agent */
};

struct fverbs_gid {
	__u8 raw[16];			/* IPv4 as ::ffff:a.b.c.d */
	__u32 ifindex;
	__u32 reserved;
};

/* A device: one per attached interface, with one port. */
struct fverbs_device {
	char name[FVERBS_NAME_MAX];	/* falcon0, ... */
	char netdev[16];
	__u8 mac[6];
	__u8 port_state;		/* enum ibv_port_state */
	__u8 active_mtu;		/* enum ibv_mtu: what one transaction's payload has room for */
	__u32 ifindex;
	__u32 max_msg;			/* bytes of a UD message */
	__u64 guid;			/* network order */
	__u64 speed_mbps;		/* 0: not known */
	__u32 max_qp, max_cq, max_mr, max_mw, max_pd, max_srq, max_ah, max_xrcd;
	__u32 max_qp_wr, max_srq_wr, max_cqe, max_sge, max_inline;
	__u32 max_rd_atomic;
	__u32 ngids;
	__u32 reserved;
	struct fverbs_gid gids[FVERBS_GIDS_MAX];
};

struct fverbs_reg_mr {
	__u32 pd;
	__u32 access;			/* enum ibv_access_flags */
	__u64 addr;			/* in the application; in an area: bytes into it */
	__u64 length;			/* bytes */
	__u64 iova;			/* what remote and local requests call |addr| */
	__u32 area_plus_1;		/* 0: ordinary memory of the process; else area + 1 */
	__u32 implicit;			/* 1: all of the process's memory (on-demand paging) */
};

struct fverbs_rereg_mr {
	__u32 mr;
	__u32 flags;			/* enum ibv_rereg_mr_flags */
	struct fverbs_reg_mr to;	/* what the flags name */
};

struct fverbs_mr {
	__u32 handle;
	__u32 lkey;
	__u32 rkey;			/* windows: rkey alone */
	__u32 reserved;
};

struct fverbs_alloc_mw {
	__u32 pd;
	__u32 type;			/* enum ibv_mw_type */
};

struct fverbs_create_cq {
	struct fverbs_place place;
	__u64 cookie;			/* in events on the channel and asynchronous ones */
	__u32 channel_plus_1;		/* 0: none */
	__u32 comp_vector;
	__u32 device;			/* index */
	__u32 flags;			/* 1: an overrun is ignored (IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) */
};

/*
 * The new queue's indexes are 0 before, as in a new one. The agent writes what the old one holds
 * unread from the new one's start; the library keeps off both until the answer. EINVAL: it does not
 * fit. So with FVERBS_MODIFY_SRQ, of requests that no message has taken.
 */
struct fverbs_resize_cq {
	__u32 cq;
	__u32 reserved;
	struct fverbs_place place;
};

/* How many events the object has caused, which the library waits to see acknowledged. */
struct fverbs_events {
	__u32 completion;
	__u32 async;
};

struct fverbs_create_srq {
	struct fverbs_place place;
	__u64 cookie;
	__u32 pd;
	__u32 type;			/* enum ibv_srq_type: basic or XRC */
	__u32 xrcd;			/* XRC */
	__u32 cq;			/* XRC */
	__u32 max_wr, max_sge;
	__u32 limit;
	__u32 reserved;
};

struct fverbs_srq_attr {
	__u32 max_wr, max_sge, limit;
	__u32 reserved;
};

struct fverbs_modify_srq {
	__u32 srq;
	__u32 mask;			/* enum ibv_srq_attr_mask */
	struct fverbs_srq_attr attr;
	struct fverbs_place place;	/* IBV_SRQ_MAX_WR: the new queue; the agent moves what waits */
};

struct fverbs_open_xrcd {
	__u32 device;
	__u32 oflags;			/* O_CREAT, O_EXCL */
	__u32 has_fd;			/* 1: a descriptor comes along, whose file names the domain */
	__u32 reserved;
};

/* How a queue pair orders and reports errors (RDMA 6.2, 6.3). */
enum fverbs_ordering {
	FVERBS_STRONGLY_ORDERED,
	FVERBS_WEAKLY_ORDERED,
	FVERBS_UNORDERED,
};

enum fverbs_errors {
	FVERBS_VERBS_COMPATIBLE,
	FVERBS_COMPLETE_IN_ERROR,
};

struct fverbs_create_qp {
	struct fverbs_place sq;		/* entries 0: none (XRC receive) */
	struct fverbs_place rq;		/* entries 0: none, or a shared one */
	__u64 cookie;			/* in asynchronous events and completions */
	__u32 slot;			/* of struct fverbs_ctx_shm.rung; unique in the context */
	__u32 pd;			/* XRC receive: unused */
	__u32 send_cq, recv_cq;
	__u32 srq_plus_1;		/* 0: none */
	__u32 xrcd_plus_1;		/* XRC receive */
	__u32 type;			/* enum ibv_qp_type */
	__u32 max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
	__u32 sq_sig_all;
	__u32 ordering;			/* enum fverbs_ordering */
	__u32 errors;			/* enum fverbs_errors */
	__u32 reserved;
};

struct fverbs_open_qp {
	__u64 cookie;
	__u32 xrcd;
	__u32 qp_num;
};

/* Where a queue pair or address handle leads: struct ibv_ah_attr without what Ethernet has not. */
struct fverbs_ah_attr {
	__u8 dgid[16];
	__u32 flow_label;
	__u8 sgid_index;
	__u8 hop_limit;
	__u8 traffic_class;
	__u8 sl;
	__u8 src_path_bits;
	__u8 static_rate;
	__u8 is_global;
	__u8 port_num;
	__u16 dlid;
	__u16 reserved;
};

/* struct ibv_qp_attr, as far as it means something here. */
struct fverbs_qp_attr {
	__u8 qp_state, cur_qp_state;	/* enum ibv_qp_state */
	__u8 path_mtu;			/* enum ibv_mtu */
	__u8 path_mig_state;
	__u32 qkey, rq_psn, sq_psn, dest_qp_num;
	__u32 qp_access_flags;
	__u32 max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
	struct fverbs_ah_attr ah, alt_ah;
	__u16 pkey_index, alt_pkey_index;
	__u8 en_sqd_async_notify, sq_draining;
	__u8 max_rd_atomic, max_dest_rd_atomic;
	__u8 min_rnr_timer, port_num, timeout, retry_cnt;
	__u8 rnr_retry, alt_port_num, alt_timeout;
	__u8 sq_sig_all;
	__u32 rate_limit;
};

struct fverbs_modify_qp {
	__u32 qp;
	__u32 mask;			/* enum ibv_qp_attr_mask */
	struct fverbs_qp_attr attr;
};

struct fverbs_create_ah {
	__u32 pd;
	__u32 reserved;
	struct fverbs_ah_attr attr;
};

/* On a channel's socket: a completion queue has something. */
struct fverbs_completion_event {
	__u64 cookie;			/* of the queue */
};

/* On the socket for asynchronous events. */
struct fverbs_async_event {
	__u64 cookie;			/* of the queue pair, completion queue or SRQ; port: its number */
	__u32 type;			/* enum ibv_event_type */
	__u32 device;			/* index */
};

#endif /* FALCON_VERBS_ABI_H */
