// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a peer's agent sends after its HELLO, given to a session with three connections, to which the
 * peer may dial more: bytes as the fuzzer likes, or messages that are mostly right. The owner's
 * callbacks check that they come in order.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cm/priv.h>
#include <falcon/wire/psp.h>

enum {
	CONNS = 3,
	DIALLED = 4,		/* CIDs behind those: for connections that the peer dials */
	CIDS = CONNS + DIALLED + 1,
};
static const uint64_t SECOND = 1000000000;

static bool set_up[CIDS], up[CIDS], taken[CIDS];
static unsigned int calls;

static int establish(void *arg, uint32_t cid, const struct cm_values *ours,
		     const struct cm_values *peer, char *err, size_t errlen)
{
	(void)arg;
	if (set_up[cid] || !ours->incarnation || !ours->security.spi || !peer->incarnation ||
	    !peer->security.spi)
		abort();
	/* Every seventh fails, so that this path is seen too. */
	if (++calls % 7 == 0) {
		snprintf(err, errlen, "as the fuzzer wishes");
		return -1;
	}
	set_up[cid] = true;
	return 0;
}

static void ready(void *arg, uint32_t cid)
{
	(void)arg;
	if (!set_up[cid] || up[cid])
		abort();
	up[cid] = true;
}

static void lost(void *arg, uint32_t cid, const char *reason)
{
	(void)arg;
	if (!reason[0])
		abort();
	set_up[cid] = up[cid] = false;
}

static int accept_dialled(void *arg, const struct cm_request *req, struct cm_local *out, char *err,
			  size_t errlen)
{
	(void)arg;
	for (uint32_t cid = CONNS + 1; cid < CIDS; cid++) {
		if (taken[cid])
			continue;
		taken[cid] = true;
		out->local_cid = cid;
		out->ulp.proto = req->ulp.proto;
		out->params = (struct cm_params){.flows = 1, .data_window = 128, .req_window = 64};
		return 0;
	}
	snprintf(err, errlen, "no more");
	return -1;
}

static int use_remote(void *arg, uint32_t cid, const struct cm_security *in)
{
	(void)arg;
	if (!set_up[cid])
		abort();
	return in->generation == 3 ? -1 : 0;
}

static void rekeyed(void *arg, uint32_t cid, uint32_t generation)
{
	(void)arg, (void)generation;
	if (!set_up[cid])
		abort();
}

static void path(void *arg, uint32_t cid, const struct cm_path *found)
{
	(void)arg;
	if (!up[cid] || !found->len)
		abort();
}

static const struct cm_ops ops = {
	.establish = establish,
	.ready = ready,
	.lost = lost,
	.accept = accept_dialled,
	.use_remote_security = use_remote,
	.rekeyed = rekeyed,
	.path = path,
};

static struct cm *open_cm(void)
{
	struct cm *cm;
	char err[128];

	if (cm_open(&cm, &ops, NULL, &(struct cm_options){0}, err, sizeof(err)))
		abort();
	memset(set_up, 0, sizeof(set_up));
	memset(up, 0, sizeof(up));
	memset(taken, 0, sizeof(taken));
	for (uint32_t cid = 1; cid <= CONNS; cid++) {
		/* The lower address, so that nothing listens. */
		struct cm_local l = {.family = AF_INET, .local_addr = { { 127, 0, 0, 1 } },
				     .peer_addr = { { 127, 0, 0, 2 } }, .local_cid = cid,
				     .remote_cid = cid, .ordered = cid & 1,
				     .ulp.proto = FALCON_PROTO_RAW,
				     .params = {.flows = 1, .data_window = 128,
						.req_window = 64}};

		if (cm_add(cm, &l, err, sizeof(err)))
			abort();
	}
	return cm;
}

/*
 * A message out of four bytes of input: type, connection, incarnation, and what is wrong with it.
 * READY and REJECT must name our own random incarnation to have an effect; half of them do.
 */
static size_t build(const struct cm *cm, const uint8_t *in, uint8_t *out)
{
	uint32_t cid = 1 + in[1] % CIDS;
	uint64_t ours = cid < CIDS && cm->conns[cid] && in[2] & 8 ? cm->conns[cid]->ours.incarnation : 0;
	struct cm_msg m = {
		.type = CM_MSG_OPEN + in[0] % (CM_MSG_MAX - 1),
		.src_cid = cid,
		.dst_cid = in[3] == 2 ? 0 : cid,
		.incarnation = 1 + in[2] % 8,
		.peer_incarnation = ours ? ours : 1,
		.ulp.proto = FALCON_PROTO_RAW,
		.ordering = (cid ^ (in[3] == 1)) & 1,
		.params = {.flows = 1, .data_window = 128, .req_window = 64},
		.security = {.spi = 7, .version = FALCON_PSP_CLEAR, .generation = in[2] & 3},
		.code = 1 + in[0] / 8 % CM_CODE_MAX,
		.text = "text",
		.proto = FALCON_PROTO_RDMA,
		.note_len = in[2],
	};
	size_t len;

	if (m.type == CM_MSG_REJECT && ours)
		m.incarnation = ours;
	len = cm_msg_pack(&m, out);
	if (in[3] >= 0xf8)
		out[in[2] % len] ^= (uint8_t)(1 << (in[3] & 7));
	return len;
}

static void deliver(struct cm *cm, int fd, const uint8_t *data, size_t size)
{
	static uint64_t now;
	uint8_t sink[CM_OUT_PAUSE];

	/* Fails once the session has ended, which is as good. */
	(void)!send(fd, data, size, MSG_NOSIGNAL);
	cm_process(cm, now += SECOND / 4);
	while (read(fd, sink, sizeof(sink)) > 0)
		;
}

/* The first byte says which: messages built from the rest, or the rest as it is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cm *cm;
	int sv[2];

	if (size == 0)
		return 0;
	log_set_level(LOG_LEVEL_ERROR);
	cm = open_cm();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv))
		abort();
	cm_session_adopt(cm, cm->sessions, sv[0], 1, &(struct chan_identity){0},
			 &(struct cm_msg){.boot = 1, .alive_ms = CM_ALIVE_MS});
	for (size_t at = 1; data[0] & 1 && at + 4 <= size; at += 4) {
		uint8_t out[CM_WIRE_MAX];

		deliver(cm, sv[1], out, build(cm, data + at, out));
	}
	for (size_t at = 1; !(data[0] & 1) && at < size; at += CM_IN_SIZE / 4)
		deliver(cm, sv[1], data + at,
			size - at < CM_IN_SIZE / 4 ? size - at : CM_IN_SIZE / 4);
	close(sv[1]);
	cm_close(cm);
	return 0;
}
