// SPDX-License-Identifier: BSD-2-Clause
/* The commands of the rdma_cm device, as the kernel takes them, and how the agent is asked. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs/cm.h"

enum {
	QKEY_UDP = 0x01234567,	/* RDMA_UDP_QKEY */
	RNR_TIMER = 12,		/* 0.64 ms */
	PKEY = 0xffff,
};

/* A command that is being served. */
struct command {
	int fd;
	uint32_t channel;
	uint32_t code;
	const void *in;		/* what follows the header */
	size_t out;		/* bytes that there is room for at |response| */
};

/* To where the command says: as much as there is room for. */
static int respond(const struct command *c, uint64_t response, const void *data, size_t len)
{
	memcpy((void *)(uintptr_t)response, data, len < c->out ? len : c->out);
	return 0;
}

static int unsupported(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

static int invalid(void)
{
	errno = EINVAL;
	return -1;
}

static int ask_id(enum fverbs_cm_what what, uint32_t id, uint32_t value)
{
	const struct fverbs_cm_req q = { .what = what, .id = id, .value = value };

	return fv_cm_ask(&q, NULL, 0);
}

static int create_id(const struct command *c)
{
	const struct rdma_ucm_create_id *in = c->in;
	const struct fverbs_cm_req q = { .what = FVERBS_CM_CREATE_ID, .channel = c->channel,
					 .cookie = in->uid, .ps = in->ps, .qp_type = in->qp_type };
	struct rdma_ucm_create_id_resp resp;
	struct fverbs_cm_answer a;

	if (fv_cm_ask(&q, &a, sizeof(a)))
		return -1;
	resp.id = a.id;
	return respond(c, in->response, &resp, sizeof(resp));
}

static int destroy_id(const struct command *c)
{
	const struct rdma_ucm_destroy_id *in = c->in;
	const struct fverbs_cm_req q = { .what = FVERBS_CM_DESTROY_ID, .id = in->id };
	struct rdma_ucm_destroy_id_resp resp;
	struct fverbs_cm_answer a;

	if (fv_cm_ask(&q, &a, sizeof(a)))
		return -1;
	resp.events_reported = a.reported;
	return respond(c, in->response, &resp, sizeof(resp));
}

static int bind_to(uint32_t id, const void *addr)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_BIND, .id = id };

	if (!fv_cm_addr_in(addr, &q.src))
		return invalid();
	fv_cm_addr_map(&q.src);
	return fv_cm_ask(&q, NULL, 0);
}

static int bind_ip(const struct command *c)
{
	const struct rdma_ucm_bind_ip *in = c->in;

	return bind_to(in->id, &in->addr);
}

static int bind_addr(const struct command *c)
{
	const struct rdma_ucm_bind *in = c->in;

	return bind_to(in->id, &in->addr);
}

static int resolve(uint32_t id, const void *src, const void *dst)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_RESOLVE_ADDR, .id = id };

	if (!fv_cm_addr_in(dst, &q.dst))
		return invalid();
	fv_cm_addr_map(&q.dst);
	fv_cm_addr_in(src, &q.src);
	/* Which of its addresses packets leave from the agent's host knows: we may be in a container. */
	if (!q.src.family)
		q.src.family = q.dst.family;
	fv_cm_addr_map(&q.src);
	return fv_cm_ask(&q, NULL, 0);
}

static int resolve_ip(const struct command *c)
{
	const struct rdma_ucm_resolve_ip *in = c->in;

	return resolve(in->id, &in->src_addr, &in->dst_addr);
}

static int resolve_addr(const struct command *c)
{
	const struct rdma_ucm_resolve_addr *in = c->in;
	static const struct sockaddr_in6 none;

	return resolve(in->id, in->src_size ? (const void *)&in->src_addr : &none, &in->dst_addr);
}

static int resolve_route(const struct command *c)
{
	const struct rdma_ucm_resolve_route *in = c->in;

	return ask_id(FVERBS_CM_RESOLVE_ROUTE, in->id, 0);
}

static int query(uint32_t id, struct fverbs_cm_answer *a)
{
	const struct fverbs_cm_req q = { .what = FVERBS_CM_QUERY, .id = id };

	return fv_cm_ask(&q, a, sizeof(*a));
}

static int query_route(const struct command *c)
{
	const struct rdma_ucm_query *in = c->in;
	struct rdma_ucm_query_route_resp resp = { .ibdev_index = UINT32_MAX };
	struct ib_user_path_rec *path = &resp.ib_route[0];
	struct fverbs_cm_answer a;

	if (query(in->id, &a))
		return -1;
	fv_cm_addr_out(&a.src, &resp.src_addr);
	fv_cm_addr_out(&a.dst, &resp.dst_addr);
	if (a.guid) {
		resp.node_guid = a.guid;
		resp.port_num = 1;
		resp.num_paths = a.dst.family != 0;
		fv_cm_gid(&a.src, path->sgid);
		fv_cm_gid(&a.dst, path->dgid);
		path->pkey = PKEY;
		path->mtu = a.path_mtu;
		path->mtu_selector = path->rate_selector = path->packet_life_time_selector = 2;
		path->hop_limit = 64;
		path->numb_path = 1;
		path->reversible = 1;
	}
	return respond(c, in->response, &resp, sizeof(resp));
}

static int query_addr(const struct command *c)
{
	const struct rdma_ucm_query *in = c->in;
	struct rdma_ucm_query_addr_resp resp = { .ibdev_index = UINT32_MAX, .pkey = PKEY };
	struct fverbs_cm_answer a;

	if (in->option != RDMA_USER_CM_QUERY_ADDR)
		return unsupported();
	if (query(in->id, &a))
		return -1;
	resp.node_guid = a.guid;
	resp.port_num = a.guid ? 1 : 0;
	resp.src_size = resp.dst_size = sizeof(struct sockaddr_in6);
	fv_cm_addr_out(&a.src, &resp.src_addr);
	fv_cm_addr_out(&a.dst, &resp.dst_addr);
	return respond(c, in->response, &resp, sizeof(resp));
}

static struct fverbs_cm_param param_in(const struct rdma_ucm_conn_param *p)
{
	struct fverbs_cm_param out = {
		.qp_num = p->qp_num,
		.qkey = p->qkey ? p->qkey : QKEY_UDP,
		.responder_resources = p->responder_resources,
		.initiator_depth = p->initiator_depth,
		.flow_control = p->flow_control != 0,
		.retry_count = p->retry_count,
		.rnr_retry_count = p->rnr_retry_count,
		.srq = p->srq != 0,
		.private_data_len = p->private_data_len,
	};

	memcpy(out.private_data, p->private_data, p->private_data_len);
	return out;
}

static int connect_id(const struct command *c)
{
	const struct rdma_ucm_connect *in = c->in;
	const struct fverbs_cm_req q = { .what = FVERBS_CM_CONNECT, .id = in->id,
					 .param = param_in(&in->conn_param) };

	return fv_cm_ask(&q, NULL, 0);
}

static int accept_id(const struct command *c)
{
	const struct rdma_ucm_accept *in = c->in;
	struct fverbs_cm_req q = { .what = FVERBS_CM_ACCEPT, .id = in->id, .cookie = in->uid };

	if (in->conn_param.valid)
		q.param = param_in(&in->conn_param);
	return fv_cm_ask(&q, NULL, 0);
}

static int reject_id(const struct command *c)
{
	const struct rdma_ucm_reject *in = c->in;
	struct fverbs_cm_req q = { .what = FVERBS_CM_REJECT, .id = in->id, .value = in->reason,
				   .param.private_data_len = in->private_data_len };

	memcpy(q.param.private_data, in->private_data, in->private_data_len);
	return fv_cm_ask(&q, NULL, 0);
}

static int disconnect_id(const struct command *c)
{
	const struct rdma_ucm_disconnect *in = c->in;

	return ask_id(FVERBS_CM_DISCONNECT, in->id, 0);
}

static int listen_id(const struct command *c)
{
	const struct rdma_ucm_listen *in = c->in;

	return ask_id(FVERBS_CM_LISTEN, in->id, in->backlog);
}

/* What the application has learnt of its queue pair, the agent knows before it. */
static int notify(const struct command *c)
{
	(void)c;
	return 0;
}

static int migrate_id(const struct command *c)
{
	const struct rdma_ucm_migrate_id *in = c->in;
	const struct fverbs_cm_req q = { .what = FVERBS_CM_MIGRATE, .id = in->id,
					 .channel = c->channel };
	struct rdma_ucm_migrate_resp resp;
	struct fverbs_cm_answer a;

	if (fv_cm_ask(&q, &a, sizeof(a)))
		return -1;
	resp.events_reported = a.reported;
	return respond(c, in->response, &resp, sizeof(resp));
}

/* The type of service and paths are the agent's business: those options are taken and left. */
static int set_option(const struct command *c)
{
	const struct rdma_ucm_set_option *in = c->in;
	const void *optval = (const void *)(uintptr_t)in->optval;
	uint32_t value = 0;
	uint8_t timeout;

	if (in->level != RDMA_OPTION_ID)
		return 0;
	switch (in->optname) {
	case RDMA_OPTION_ID_REUSEADDR:
		if (in->optlen != sizeof(value))
			return invalid();
		memcpy(&value, optval, sizeof(value));
		return ask_id(FVERBS_CM_REUSE, in->id, value);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (in->optlen != sizeof(timeout))
			return invalid();
		memcpy(&timeout, optval, sizeof(timeout));
		return ask_id(FVERBS_CM_TIMEOUT, in->id, timeout);
	default:
		return 0;
	}
}

static int no_multicast(const struct command *c)
{
	(void)c;
	return unsupported();
}

/* ---- queue pairs ---- */

static void path_of(const struct fverbs_cm_answer *a, struct ib_uverbs_ah_attr *ah)
{
	fv_cm_gid(&a->dst, ah->grh.dgid);
	ah->grh.sgid_index = (uint8_t)a->sgid_index;
	ah->grh.hop_limit = 64;
	ah->is_global = 1;
	ah->port_num = 1;
}

static void to_init(const struct fverbs_cm_answer *a, struct ib_uverbs_qp_attr *q)
{
	q->qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	q->port_num = 1;
	if (a->datagram) {
		q->qp_attr_mask |= IBV_QP_QKEY;
		q->qkey = QKEY_UDP;
		return;
	}
	q->qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
	q->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			     IBV_ACCESS_REMOTE_ATOMIC;
}

static void to_rtr(const struct fverbs_cm_answer *a, struct ib_uverbs_qp_attr *q)
{
	if (a->datagram)
		return;
	q->qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	path_of(a, &q->ah_attr);
	q->path_mtu = a->path_mtu;
	q->dest_qp_num = a->remote_qpn;
	q->max_dest_rd_atomic = a->responder_resources;
	q->min_rnr_timer = RNR_TIMER;
}

static void to_rts(const struct fverbs_cm_answer *a, struct ib_uverbs_qp_attr *q)
{
	q->qp_attr_mask |= IBV_QP_SQ_PSN;
	if (a->datagram)
		return;
	q->qp_attr_mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			   IBV_QP_MAX_QP_RD_ATOMIC;
	q->timeout = a->timeout;
	q->retry_cnt = a->retry_count & 7;
	q->rnr_retry = a->rnr_retry_count & 7;
	q->max_rd_atomic = a->initiator_depth;
}

static int init_qp_attr(const struct command *c)
{
	const struct rdma_ucm_init_qp_attr *in = c->in;
	struct ib_uverbs_qp_attr q = { .qp_attr_mask = IBV_QP_STATE, .qp_state = in->qp_state,
				       .cur_qp_state = in->qp_state };
	struct fverbs_cm_answer a;

	if (query(in->id, &a))
		return -1;
	switch (in->qp_state) {
	case IBV_QPS_INIT: to_init(&a, &q); break;
	case IBV_QPS_RTR: to_rtr(&a, &q); break;
	case IBV_QPS_RTS: to_rts(&a, &q); break;
	default: return invalid();
	}
	return respond(c, in->response, &q, sizeof(q));
}

/* ---- events ---- */

static void conn_out(const struct fverbs_cm_param *p, struct rdma_ucm_conn_param *out)
{
	out->qp_num = p->qp_num;
	out->responder_resources = p->responder_resources;
	out->initiator_depth = p->initiator_depth;
	out->flow_control = p->flow_control;
	out->retry_count = p->retry_count;
	out->rnr_retry_count = p->rnr_retry_count;
	out->srq = p->srq;
	out->private_data_len = p->private_data_len;
	memcpy(out->private_data, p->private_data, p->private_data_len);
}

static void ud_out(const struct fverbs_cm_event *e, struct rdma_ucm_ud_param *out)
{
	struct fverbs_cm_answer a;

	out->qp_num = e->param.qp_num;
	out->qkey = e->param.qkey;
	out->private_data_len = e->param.private_data_len;
	memcpy(out->private_data, e->param.private_data, e->param.private_data_len);
	if (!query(e->id, &a) && a.dst.family)
		path_of(&a, &out->ah_attr);
}

/* If another thread has closed the channel: the kernel would not tell, and programs rely on that. */
static void stay_if_closed(const struct command *c)
{
	while (fv_cm_channel(c->fd) != c->channel)
		pause();
}

static int get_event(const struct command *c)
{
	const struct rdma_ucm_get_event *in = c->in;
	const struct fverbs_cm_req q = { .what = FVERBS_CM_GET_EVENT, .id = c->channel };
	struct rdma_ucm_event_resp resp = { 0 };
	struct fverbs_cm_event e;
	ssize_t n;
	int rc;
	char byte;

	/* Its event may have moved to another channel, or gone with its id. */
	do {
		n = recv(c->fd, &byte, 1, 0);
		if (n == 0) {
			stay_if_closed(c);
			errno = EIO;
		}
		if (n <= 0)
			return -1;
		rc = fv_cm_ask(&q, &e, sizeof(e));
	} while (rc && errno == EAGAIN);
	if (rc) {
		int err = errno;

		stay_if_closed(c);
		errno = err;
		return -1;
	}
	resp.uid = e.cookie;
	resp.id = e.id;
	resp.event = e.type;
	resp.status = (uint32_t)e.status;
	if (e.datagram)
		ud_out(&e, &resp.param.ud);
	else
		conn_out(&e.param, &resp.param.conn);
	return respond(c, in->response, &resp, sizeof(resp));
}

static const struct {
	int (*fn)(const struct command *c);
	size_t len;		/* bytes that it needs behind the header */
} commands[] = {
#define COMMAND(code, fn, in) [RDMA_USER_CM_CMD_##code] = { fn, sizeof(struct rdma_ucm_##in) }
	COMMAND(CREATE_ID, create_id, create_id),
	COMMAND(DESTROY_ID, destroy_id, destroy_id),
	COMMAND(BIND_IP, bind_ip, bind_ip),
	COMMAND(BIND, bind_addr, bind),
	COMMAND(RESOLVE_IP, resolve_ip, resolve_ip),
	COMMAND(RESOLVE_ADDR, resolve_addr, resolve_addr),
	COMMAND(RESOLVE_ROUTE, resolve_route, resolve_route),
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = { query_route, offsetof(struct rdma_ucm_query, option) },
	COMMAND(QUERY, query_addr, query),
	[RDMA_USER_CM_CMD_CONNECT] = { connect_id, offsetof(struct rdma_ucm_connect, reserved) },
	COMMAND(LISTEN, listen_id, listen),
	[RDMA_USER_CM_CMD_ACCEPT] = { accept_id, offsetof(struct rdma_ucm_accept, reserved) },
	COMMAND(REJECT, reject_id, reject),
	COMMAND(DISCONNECT, disconnect_id, disconnect),
	COMMAND(INIT_QP_ATTR, init_qp_attr, init_qp_attr),
	COMMAND(GET_EVENT, get_event, get_event),
	COMMAND(SET_OPTION, set_option, set_option),
	COMMAND(NOTIFY, notify, notify),
	COMMAND(MIGRATE_ID, migrate_id, migrate_id),
	COMMAND(JOIN_IP_MCAST, no_multicast, join_ip_mcast),
	COMMAND(JOIN_MCAST, no_multicast, join_mcast),
#undef COMMAND
};

ssize_t fv_cm_write(int fd, uint32_t channel, const void *buf, size_t len)
{
	struct command c = { .fd = fd, .channel = channel };
	struct rdma_ucm_cmd_hdr hdr;

	if (len < sizeof(hdr))
		return invalid();
	memcpy(&hdr, buf, sizeof(hdr));
	c.code = hdr.cmd;
	c.in = (const uint8_t *)buf + sizeof(hdr);
	c.out = hdr.out;
	if (hdr.cmd >= sizeof(commands) / sizeof(commands[0]) || !commands[hdr.cmd].fn) {
		errno = ENOSYS;
		return -1;
	}
	if (len - sizeof(hdr) < commands[hdr.cmd].len)
		return invalid();
	return commands[hdr.cmd].fn(&c) ? -1 : (ssize_t)len;
}
