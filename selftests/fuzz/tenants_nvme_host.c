// SPDX-License-Identifier: BSD-2-Clause
/*
 * The host of tenants_nvme.h whose agent sends what it likes, on a connection of its own: requests of
 * any content, as many as there may be, whose data it sends, or others, or none; answers that it does not
 * take; and it dies in the middle.
 */
#include "tenants_nvme.h"

#include <string.h>
#include <sys/socket.h>

#include <falcon/wire/nvme.h>

enum {
	NCMD_BYTES = 1024,
};

/* How it answers. */
enum { WELL, GARBAGE, NOTHING, NEVER, MANNERS };

static struct {
	struct ulp_dial dial;
	struct fcore_conn *core;	/* NULL: it is not connected */
	uint32_t cid;			/* 0: it has not dialled */
	uint8_t pulls, pushes;		/* in these manners */
	uint8_t lives;
	uint8_t data[NCMD_BYTES];
} rogue;

static int conn_up(void *arg, const struct ulp_conn *c)
{
	(void)arg;
	rogue.core = c->core;
	return 0;
}

static void conn_down(void *arg, uint32_t cid, const char *why)
{
	(void)arg, (void)cid, (void)why;
	rogue.core = NULL;
}

static uint32_t pump(void *arg, uint64_t now)
{
	(void)arg, (void)now;
	return 0;
}

/* An answer from the target. */
static void on_push(void *arg, struct fcore_conn *c, uint32_t rsn, const void *payload, uint32_t len,
		    uint64_t now)
{
	static const enum fcore_push_outcome outcomes[MANNERS] = { FCORE_PUSH_ACK, FCORE_PUSH_CIE,
								   FCORE_PUSH_RNR, FCORE_PUSH_RNR };

	(void)arg, (void)payload, (void)len;
	fcore_push_done(c, rsn, outcomes[rogue.pushes], 10, 0, now);
}

/* The target wants data. */
static void on_pull(void *arg, struct fcore_conn *c, uint32_t rsn, const void *hdr, uint32_t hdr_len,
		    uint16_t request_len, uint64_t now)
{
	struct falcon_nvme_response w = { 0 };
	struct fcore_response r = { .ulp_hdr = &w, .ulp_hdr_len = sizeof(w), .payload = rogue.data };
	struct falcon_nvme_hdr h;

	(void)arg;
	if (rogue.pulls == NEVER)
		return;
	if (rogue.pulls == NOTHING || !falcon_nvme_nbth_unpack(hdr, hdr_len, &h) || request_len < sizeof(w)) {
		fcore_pull_respond(c, rsn, &(struct fcore_response){ 0 }, now);
		return;
	}
	r.len = request_len - (uint32_t)sizeof(w);
	if (r.len > sizeof(rogue.data))
		r.len = sizeof(rogue.data);
	h.type = FALCON_NVME_WRITE_DATA;
	if (rogue.pulls == GARBAGE) {
		h.itag ^= 1;
		r.len /= 2;
	}
	falcon_nvme_response_pack(&h, 0, &w);
	fcore_pull_respond(c, rsn, &r, now);
}

static void on_response_done(void *arg, struct fcore_conn *c, uint64_t cookie)
{
	(void)arg, (void)c, (void)cookie;
}

static void on_completion(void *arg, struct fcore_conn *c, uint64_t cookie, enum falcon_completion_code code,
			  uint8_t ulp_code)
{
	(void)arg, (void)c, (void)cookie, (void)code, (void)ulp_code;
}

static void on_xon(void *arg, struct fcore_conn *c)
{
	(void)arg, (void)c;
}

/* No accept(): the target is another layer. */
static const struct ulp_ops ops = {
	.name = "rogue", .proto = FALCON_PROTO_NVME, .conn_up = conn_up, .conn_down = conn_down, .pump = pump,
	.on_push = on_push, .on_pull = on_pull, .on_response_done = on_response_done,
	.on_completion = on_completion, .on_xon = on_xon,
};

/* Its agent, which has started once more, calls itself something else. */
static void name(void)
{
	struct falcon_nvme_offer offer = { .magic = falcon_hton32(FALCON_NVME_MAGIC),
					   .version = FALCON_NVME_VERSION,
					   .host = { 0xff, rogue.lives++ } };

	rogue.dial.data.len = sizeof(offer);
	memcpy(rogue.dial.data.bytes, &offer, sizeof(offer));
}

void disk_host_open(void)
{
	struct env_host *h = &env.host[0];
	char err[256];
	int cid;

	memset(&rogue, 0, sizeof(rogue));
	rogue.dial = (struct ulp_dial){ .proto = FALCON_PROTO_NVME, .peer = "",
					.ends = { .family = AF_INET, .local = { { 10, 0, 0, 3 } },
						  .remote = { { 10, 0, 0, 2 } } } };
	name();
	h->others[OTHER_ROGUE - 1] = (struct ulp){ &ops, &rogue };
	cid = env_dial_other(h, OTHER_ROGUE, &rogue.dial, err, sizeof(err));
	CHECK(cid > 0);
	rogue.cid = (uint32_t)cid;
}

/* Its host is cut off: the target learns it, as it would in time. */
void disk_host_close(void)
{
	const struct env_conn *c = &env.host[0].conns[rogue.cid];

	if (c->core)
		env_end_conn(&env.host[c->peer_host], c->peer_cid);
	env_leave_other(OTHER_ROGUE);
	env.host[0].others[OTHER_ROGUE - 1] = (struct ulp){ 0 };
}

static void die(void)
{
	struct env_host *h = &env.host[0];
	struct env_conn *c = &h->conns[rogue.cid];

	if (!c->core)
		return;
	name();
	c->dial = rogue.dial;
	env_end_conn(&env.host[c->peer_host], c->peer_cid);
	env_end_conn(h, rogue.cid);
}

static struct falcon_nvme_hdr a_header(void)
{
	uint8_t v = (uint8_t)number(1);
	struct falcon_nvme_hdr h = {
		.type = v & 0xf, .inv = v >> 4 & 1, .split = v >> 5 & 1, .group = v >> 6 & 1,
		.total = (uint8_t)number(1), .offset = (uint8_t)number(1), .itag = (uint32_t)number(1),
		.icmd = (uint32_t)number(1),
	};

	return h;
}

static struct falcon_nvme_cmd a_command(void)
{
	uint8_t v = (uint8_t)number(1);
	struct falcon_nvme_cmd c = {
		.target_nsid = v & 1 ? (uint16_t)number(1) : DISK_BAD + 1, .slba = number(1),
		.nlb = (uint16_t)number(1), .unit = (uint8_t)number(1), .opcode = (uint8_t)number(1),
		.admin = v >> 1 & 1, .fua = v >> 2 & 1, .reftag = UINT32_MAX, .apptag = UINT16_MAX,
		.apptag_mask = UINT16_MAX,
	};

	/* The good one's namespace is open to it, too: nobody but its application uses it. */
	if (c.target_nsid == DISK_GOOD + 1)
		c.target_nsid = DISKS + 1;
	return c;
}

/* Requests in a row: of one command, or of one each. */
static void request(void)
{
	struct falcon_nvme_hdr h = a_header();
	struct falcon_nvme_cmd c = a_command();
	uint64_t n = number(1) + 1;
	bool commands = number(1) & 1;
	struct fcore_txn t = { .proto = FALCON_PROTO_NVME, .payload = rogue.data,
			       .len = (uint32_t)number(1) * 4, .cookie = 1 };
	struct falcon_nvme_request w;

	for (; n && rogue.core; n--) {
		uint32_t len = falcon_nvme_hdr_len(h.type);

		memset(&w, 0, sizeof(w));
		falcon_nvme_request_pack(&h, &c, &w);
		t.ulp_hdr = &w;
		t.ulp_hdr_len = len ? len : sizeof(w);
		if (fcore_push(rogue.core, &t, env.now))
			return;
		h.icmd += commands;
		h.offset += !commands;
		h.itag++;
	}
}

void disk_host_act(void)
{
	switch (number(1) % 8) {
	case 6:
		rogue.pulls = (uint8_t)(number(1) % MANNERS);
		rogue.pushes = (uint8_t)(number(1) % MANNERS);
		break;
	case 7: die(); break;
	default: request(); break;
	}
}
