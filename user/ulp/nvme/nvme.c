// SPDX-License-Identifier: BSD-2-Clause
/* NVMe over Falcon as the agent calls it: the end that dials is the initiator. */
#include "ulp/nvme/nvme.h"

#include <errno.h>
#include <stdio.h>

static bool initiators(const struct nvme_ulp *u, uint32_t cid)
{
	return u->initiator && nvme_initiator_owns(u->initiator, cid);
}

static uint32_t dial_for(const void *ulp, const struct ulp_data *data)
{
	const struct nvme_ulp *u = ulp;

	return u->target ? nvme_target_dial_for(u->target, data) : 0;
}

static int accept_dialled(void *ulp, const struct ulp_request *req, struct ulp_data *reply,
			  char *err, size_t errlen)
{
	struct nvme_ulp *u = ulp;

	if (u->target)
		return nvme_target_accept(u->target, req, reply, err, errlen);
	snprintf(err, errlen, "no NVMe namespaces are here");
	return -EPERM;
}

static int conn_up(void *ulp, const struct ulp_conn *conn)
{
	struct nvme_ulp *u = ulp;

	if (initiators(u, conn->cid))
		return nvme_initiator_conn_up(u->initiator, conn);
	return u->target ? nvme_target_conn_up(u->target, conn) : -ENOENT;
}

static void conn_down(void *ulp, uint32_t cid, const char *why)
{
	struct nvme_ulp *u = ulp;

	if (initiators(u, cid))
		nvme_initiator_conn_down(u->initiator, cid, why);
	else if (u->target)
		nvme_target_conn_down(u->target, cid);
}

static uint32_t pump(void *ulp, uint64_t now)
{
	struct nvme_ulp *u = ulp;
	uint32_t n = u->pump ? u->pump(u->arg, now) : 0;

	if (u->target)
		n += nvme_target_pump(u->target, now);
	/* What begins at once ends at once, if the medium is memory: its answers need no other round. */
	if (u->target && u->stores) {
		n += u->stores(u->arg);
		if (nvme_target_busy(u->target))
			n += nvme_target_pump(u->target, now);
	}
	if (u->initiator)
		n += nvme_initiator_pump(u->initiator, now);
	return n;
}

static bool sleep_begin(void *ulp)
{
	struct nvme_ulp *u = ulp;

	if ((u->target && nvme_target_busy(u->target)) ||
	    (u->initiator && nvme_initiator_busy(u->initiator)))
		return false;
	return !u->sleep_begin || u->sleep_begin(u->arg);
}

static void sleep_end(void *ulp)
{
	struct nvme_ulp *u = ulp;

	if (u->sleep_end)
		u->sleep_end(u->arg);
}

static uint64_t deadline(const void *ulp)
{
	const struct nvme_ulp *u = ulp;
	uint64_t a = u->target ? nvme_target_deadline(u->target) : UINT64_MAX;
	uint64_t b = u->initiator ? nvme_initiator_deadline(u->initiator) : UINT64_MAX;

	uint64_t c = u->pump ? u->wake : UINT64_MAX;

	b = b < c ? b : c;
	return a < b ? a : b;
}

static void was_away(void *ulp, uint64_t ns)
{
	const struct nvme_ulp *u = ulp;

	if (u->initiator)
		nvme_initiator_was_away(u->initiator, ns);
}

static void on_push(void *ulp, struct fcore_conn *c, uint32_t rsn, const void *payload,
		    uint32_t len, uint64_t now)
{
	struct nvme_ulp *u = ulp;

	if (initiators(u, fcore_conn_cid(c)))
		nvme_initiator_on_push(u->initiator, c, rsn, payload, len, now);
	else if (u->target)
		nvme_target_on_push(u->target, c, rsn, payload, len, now);
	else
		fcore_push_done(c, rsn, FCORE_PUSH_INVALID_CID, 0, 0, now);
}

/* Only targets pull. */
static void on_pull(void *ulp, struct fcore_conn *c, uint32_t rsn, const void *hdr,
		    uint32_t hdr_len, uint16_t request_len, uint64_t now)
{
	const struct fcore_response none = {};
	struct nvme_ulp *u = ulp;

	if (initiators(u, fcore_conn_cid(c)))
		nvme_initiator_on_pull(u->initiator, c, rsn, hdr, hdr_len, request_len, now);
	else
		fcore_pull_respond(c, rsn, &none, now);
}

static struct nvme_incmd *incmd(uint64_t cookie)
{
	return (struct nvme_incmd *)(uintptr_t)(cookie & ~NVME_COOKIE_INITIATOR);
}

static struct nvme_tncmd *tncmd(uint64_t cookie)
{
	return (struct nvme_tncmd *)(uintptr_t)cookie;
}

static void on_response_done(void *ulp, struct fcore_conn *c, uint64_t cookie)
{
	(void)ulp, (void)c;
	/* Cookie 0 is a response without data. */
	if (cookie)
		nvme_initiator_on_response_done(incmd(cookie));
}

static void on_pull_data(void *ulp, struct fcore_conn *c, uint64_t cookie, const void *payload,
			 uint32_t len)
{
	(void)ulp, (void)c;
	nvme_target_on_pull_data(tncmd(cookie), payload, len);
}

static void on_completion(void *ulp, struct fcore_conn *c, uint64_t cookie,
			  enum falcon_completion_code code, uint8_t ulp_code)
{
	(void)ulp, (void)c, (void)ulp_code;
	if (cookie & NVME_COOKIE_INITIATOR)
		nvme_initiator_on_completion(incmd(cookie), code);
	else
		nvme_target_on_completion(tncmd(cookie), code);
}

static void on_xon(void *ulp, struct fcore_conn *c)
{
	struct nvme_ulp *u = ulp;
	uint32_t cid = fcore_conn_cid(c);

	if (initiators(u, cid))
		nvme_initiator_on_xon(u->initiator, cid);
	else if (u->target)
		nvme_target_on_xon(u->target, cid);
}

const struct ulp_ops nvme_ulp_ops = {
	.name = "nvme",
	.proto = FALCON_PROTO_NVME,
	.dial_for = dial_for,
	.accept = accept_dialled,
	.conn_up = conn_up,
	.conn_down = conn_down,
	.pump = pump,
	.sleep_begin = sleep_begin,
	.sleep_end = sleep_end,
	.deadline = deadline,
	.was_away = was_away,
	.on_push = on_push,
	.on_pull = on_pull,
	.on_response_done = on_response_done,
	.on_pull_data = on_pull_data,
	.on_completion = on_completion,
	.on_xon = on_xon,
};
