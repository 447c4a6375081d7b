// SPDX-License-Identifier: BSD-2-Clause
/* Commands of an application's library: which there are, their form, and their answers. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ulp/rdma/objects.h"

enum {
	REQUEST_MAX = FVERBS_MSG_MAX - (int)sizeof(struct fverbs_cmd),
	ANSWER_MAX = FVERBS_MSG_MAX - (int)sizeof(struct fverbs_reply),
};
_Static_assert(sizeof(struct fverbs_device) <= ANSWER_MAX, "the longest answer");

int rdma_call_fail(struct rdma_call *call, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(call->err, sizeof(call->err), fmt, ap);
	va_end(ap);
	return error;
}

static const char *const kind_names[RDMA_KINDS] = {
	[RDMA_KIND_PD] = "protection domain", [RDMA_KIND_MR] = "memory region",
	[RDMA_KIND_MW] = "memory window",     [RDMA_KIND_CHANNEL] = "completion channel",
	[RDMA_KIND_CQ] = "completion queue",  [RDMA_KIND_SRQ] = "shared receive queue",
	[RDMA_KIND_XRCD] = "XRC domain",      [RDMA_KIND_QP] = "queue pair",
	[RDMA_KIND_AH] = "address handle",
};

void *rdma_call_object(struct rdma_call *call, enum rdma_kind kind, uint32_t handle)
{
	void *object = rdma_handle_get(call->ctx, kind, handle);

	if (!object)
		rdma_call_fail(call, -EINVAL, "there is no %s %u", kind_names[kind], handle);
	return object;
}

int rdma_call_charge(struct rdma_call *call, enum rdma_charge what, uint64_t amount)
{
	return rdma_ctx_charge(call->ctx, what, amount, call->err, sizeof(call->err));
}

int rdma_call_handle(struct rdma_call *call, enum rdma_kind kind, void *object, uint32_t max,
		     uint32_t *handle)
{
	enum rdma_charge what = rdma_kind_charge(kind);
	int rc = what == RDMA_CHARGES ? 0 : rdma_call_charge(call, what, 1);

	if (rc < 0)
		return rc;
	*handle = rdma_handle_new(call->ctx, kind, object, max);
	if (*handle)
		return 0;
	if (what != RDMA_CHARGES)
		rdma_ctx_uncharge(call->ctx, what, 1);
	return rdma_call_fail(call, -ENOSPC, "no more than %u %ss, and %u objects, an application",
			      max, kind_names[kind], RDMA_MAX_HANDLES);
}

int rdma_call_busy(struct rdma_call *call, enum rdma_kind kind, uint32_t uses)
{
	return rdma_call_fail(call, -EBUSY, "%u other objects use this %s: destroy them first", uses,
			      kind_names[kind]);
}

void *rdma_call_answer(struct rdma_call *call, size_t len)
{
	call->answer_len = len;
	return call->answer;
}

static const struct rdma_command_def *find_in(const struct rdma_command_def *defs, unsigned int n,
					      uint16_t op)
{
	for (unsigned int i = 0; i < n; i++)
		if (defs[i].op == op)
			return &defs[i];
	return NULL;
}

static const struct rdma_command_def *find(uint16_t op)
{
	const struct rdma_command_def *def;

	def = find_in(rdma_memory_commands, rdma_memory_ncommands, op);
	if (!def)
		def = find_in(rdma_queue_commands, rdma_queue_ncommands, op);
	if (!def)
		def = find_in(rdma_qp_commands, rdma_qp_ncommands, op);
	if (!def)
		def = find_in(rdma_cm_commands, rdma_cm_ncommands, op);
	return def;
}

static int serve(struct rdma_call *call, const struct fverbs_cmd *cmd)
{
	const struct rdma_command_def *def = find(cmd->op);

	if (!def || cmd->reserved)
		return rdma_call_fail(call, -EOPNOTSUPP, "this agent knows no command %u", cmd->op);
	if (cmd->op == FVERBS_HELLO ? call->ctx->hello : !call->ctx->hello)
		return rdma_call_fail(call, -EPROTO, "the first command, and only it, is HELLO");
	if (def->len != RDMA_ANY_LEN && call->len != def->len)
		return rdma_call_fail(call, -EINVAL, "command %u has %u bytes, not %zu", cmd->op,
				      def->len, call->len);
	if (call->fd >= 0 && !def->fd)
		return rdma_call_fail(call, -EINVAL, "command %u has no descriptor", cmd->op);
	return def->fn(call);
}

int rdma_command(struct rdma_ctx *ctx, const void *msg, size_t len, int fd, void *out, int *out_fd)
{
	struct rdma *r = ctx->r;
	union {
		uint8_t bytes[REQUEST_MAX];
		uint64_t aligned;
	} request;
	struct rdma_call call = {
		.r = r,
		.ctx = ctx,
		.req = request.bytes,
		.fd = fd,
		.answer_fd = -1,
		.answer = (uint8_t *)out + sizeof(struct fverbs_reply),
		.answer_max = ANSWER_MAX,
	};
	struct fverbs_reply reply = {};
	struct fverbs_cmd cmd;
	int rc = -EPROTO;

	if (len >= sizeof(cmd) && len <= FVERBS_MSG_MAX) {
		memcpy(&cmd, msg, sizeof(cmd));
		call.len = len - sizeof(cmd);
		memcpy(request.bytes, (const uint8_t *)msg + sizeof(cmd), call.len);
		memset(out, 0, FVERBS_MSG_MAX);
		rc = serve(&call, &cmd);
	}
	if (call.fd >= 0)
		r->host.close(r->host.arg, ctx->owner.uid, call.fd);
	*out_fd = call.answer_fd;
	if (len < sizeof(cmd) || len > FVERBS_MSG_MAX)
		return -EPROTO;
	if (rc < 0) {
		call.answer_len = strlen(call.err);
		memcpy(call.answer, call.err, call.answer_len);
	}
	reply.error = rc < 0 ? -rc : 0;
	reply.tag = cmd.tag;
	memcpy(out, &reply, sizeof(reply));
	return (int)(sizeof(reply) + call.answer_len);
}
