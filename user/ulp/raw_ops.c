// SPDX-License-Identifier: BSD-2-Clause
/* The raw upper layer as the agent calls it. */
#include "ulp/raw.h"

static uint32_t segment(uint32_t max_len)
{
	uint32_t hdr = sizeof(struct falcon_raw_hdr);

	return max_len > hdr ? max_len - hdr : 0;
}

static int conn_up(void *ulp, const struct ulp_conn *conn)
{
	int rc = raw_conn_up(ulp, conn->core, segment(conn->max_len));

	if (rc == 0)
		raw_conn_own(ulp, conn->cid, conn->owner);
	return rc;
}

static void conn_resized(void *ulp, uint32_t cid, uint32_t max_len)
{
	raw_conn_resize(ulp, cid, segment(max_len));
}

static void conn_down(void *ulp, uint32_t cid, const char *why)
{
	(void)why;
	raw_conn_down(ulp, cid);
}

static void conn_gone(void *ulp, uint32_t cid)
{
	raw_conn_gone(ulp, cid);
}

/* Whoever policy lets in may reach the services that applications have opened. */
static int accept_dialled(void *ulp, const struct ulp_request *req, struct ulp_data *reply,
			  char *err, size_t errlen)
{
	(void)ulp, (void)req, (void)err, (void)errlen;
	reply->len = 0;
	return 0;
}

static uint32_t pump(void *ulp, uint64_t now)
{
	return raw_pump(ulp, now);
}

static bool sleep_begin(void *ulp)
{
	return raw_sleep_begin(ulp);
}

static void sleep_end(void *ulp)
{
	raw_sleep_end(ulp);
}

static void on_push(void *ulp, struct fcore_conn *c, uint32_t rsn, const void *payload,
		    uint32_t len, uint64_t now)
{
	raw_on_push(ulp, c, rsn, payload, len, now);
}

static void on_pull(void *ulp, struct fcore_conn *c, uint32_t rsn, const void *hdr,
		    uint32_t hdr_len, uint16_t request_len, uint64_t now)
{
	raw_on_pull(ulp, c, rsn, hdr, hdr_len, request_len, now);
}

static void on_response_done(void *ulp, struct fcore_conn *c, uint64_t cookie)
{
	raw_on_response_done(ulp, c, cookie);
}

static void on_pull_data(void *ulp, struct fcore_conn *c, uint64_t cookie, const void *payload,
			 uint32_t len)
{
	raw_on_pull_data(ulp, c, cookie, payload, len);
}

static void on_completion(void *ulp, struct fcore_conn *c, uint64_t cookie,
			  enum falcon_completion_code code, uint8_t ulp_code)
{
	raw_on_completion(ulp, c, cookie, code, ulp_code);
}

static void on_xon(void *ulp, struct fcore_conn *c)
{
	raw_on_xon(ulp, c);
}

const struct ulp_ops raw_ulp_ops = {
	.name = "raw",
	.proto = FALCON_PROTO_RAW,
	.any_shard = true,
	.accept = accept_dialled,
	.conn_up = conn_up,
	.conn_resized = conn_resized,
	.conn_down = conn_down,
	.conn_gone = conn_gone,
	.pump = pump,
	.sleep_begin = sleep_begin,
	.sleep_end = sleep_end,
	.on_push = on_push,
	.on_pull = on_pull,
	.on_response_done = on_response_done,
	.on_pull_data = on_pull_data,
	.on_completion = on_completion,
	.on_xon = on_xon,
};
