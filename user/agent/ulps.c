// SPDX-License-Identifier: BSD-2-Clause
/*
 * Between the core and what stands on it: upper layers by protocol type, the rate update engine,
 * and the frames that the core gives back.
 */
#include "agent/agent.h"
#include "agent/log.h"
#include "agent/rue.h"

static void core_rue_event(void *arg, struct fcore_conn *c, const struct falcon_rue_event *e)
{
	agent_rue_core_event(arg, fcore_conn_user(c), e);
}

static void frame_put(void *arg, void *frame)
{
	(void)arg;
	xsk_frame_put(frame);
}

static void on_push(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn,
		    const void *payload, uint32_t len)
{
	struct agent *a = arg;

	if (proto == FALCON_PROTO_RAW)
		raw_on_push(a->raw, c, rsn, payload, len, a->now);
	else
		fcore_push_done(c, rsn, FCORE_PUSH_INVALID_CID, 0, 0, a->now);
}

static void on_pull(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn, const void *hdr,
		    uint32_t hdr_len, uint16_t request_len)
{
	struct agent *a = arg;

	if (proto == FALCON_PROTO_RAW)
		raw_on_pull(a->raw, c, rsn, hdr, hdr_len, request_len, a->now);
	else
		fcore_pull_respond(c, rsn, NULL, 0, 0, a->now);
}

static void on_response_done(void *arg, struct fcore_conn *c, uint64_t cookie)
{
	struct agent *a = arg;

	/* Cookie 0 is a response that this file made, which holds nothing. */
	if (cookie)
		raw_on_response_done(a->raw, c, cookie);
}

static void on_pull_data(void *arg, struct fcore_conn *c, uint64_t cookie, const void *payload,
			 uint32_t len)
{
	struct agent *a = arg;

	raw_on_pull_data(a->raw, c, cookie, payload, len);
}

static void on_completion(void *arg, struct fcore_conn *c, uint64_t cookie,
			  enum falcon_completion_code code, uint8_t ulp_code)
{
	struct agent *a = arg;

	raw_on_completion(a->raw, c, cookie, code, ulp_code);
}

static void on_xon(void *arg, struct fcore_conn *c)
{
	struct agent *a = arg;

	raw_on_xon(a->raw, c);
}

static void on_zone(void *arg, enum falcon_zone zone)
{
	struct agent *a = arg;

	falcon_store(&a->maps.config->zone, (__u32)zone);
}

static void on_fatal(void *arg, struct fcore_conn *c, const char *why)
{
	(void)arg;
	agent_conn_fail(fcore_conn_user(c), why);
}

const struct fcore_ops agent_core_ops = {
	.transmit = agent_transmit,
	.frame_put = frame_put,
	.rue_event = core_rue_event,
	.on_push = on_push,
	.on_pull = on_pull,
	.on_response_done = on_response_done,
	.on_pull_data = on_pull_data,
	.on_completion = on_completion,
	.on_xon = on_xon,
	.on_zone = on_zone,
	.on_fatal = on_fatal,
};

/* The application broke the rules of its shared memory: its control connection ends. */
static void client_broken(void *arg, struct client *cl, const char *why)
{
	struct agent *a = arg;

	log_warn("application detached: %s service=%u", why, client_service(cl));
	agent_client_broken(a, cl);
}

const struct raw_ops agent_raw_ops = { .client_broken = client_broken };
