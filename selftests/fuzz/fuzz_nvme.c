// SPDX-License-Identifier: BSD-2-Clause
/*
 * NVMe over Falcon against peers that send anything: initiator and targets of nvme_env.c do their work
 * while packets that nobody has asked for come in between, made of random fields or of ones that fit what
 * is under way. Whatever comes, nothing is touched outside of a namespace or a buffer (the sanitizers,
 * and end_io()), all memory comes back, and every command ends.
 *
 * Input: steps, each a byte that says what happens, and what that takes.
 */
#include "../unit/nvme_env.h"

#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/wire/nvme.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CMDS = 16, BYTES = 1 << 19, MAX_STEPS = 400 };

struct input {
	const uint8_t *at, *end;
};

static uint8_t take(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static uint32_t take32(struct input *in)
{
	uint32_t v = take(in);

	v = v << 8 | take(in);
	v = v << 8 | take(in);
	return v << 8 | take(in);
}

/* A header: fields from the input, most of them small, as tags and identifiers under way are. */
static void header(struct input *in, struct falcon_nvme_hdr *h)
{
	uint8_t flags = take(in);

	*h = (struct falcon_nvme_hdr){
		.type = (uint8_t)((flags & 7) | (flags & 6 ? 0 : take(in) & 8)),
		.inv = flags >> 3 & 1, .split = flags >> 4 & 1, .group = flags >> 5 & 1,
		.total = take(in), .offset = take(in), .itag = take(in), .icmd = take(in),
	};
	if (flags & 0x40)
		h->itag |= take32(in) & 0xffff00;
	if (flags & 0x80)
		h->total &= 3;
}

static void command(struct input *in, struct falcon_nvme_cmd *c)
{
	uint8_t how = take(in);

	*c = (struct falcon_nvme_cmd){
		.target_nsid = how & 1 ? take(in) : 7, .slba = take(in), .nlb = take(in),
		.unit = take(in), .opcode = take(in), .admin = how >> 1 & 1, .reftag = take(in),
		.fua = how >> 2 & 1, .prinfo = how & 8 ? take(in) : 0,
	};
	if (how & 16)
		c->slba = (uint64_t)take32(in) << 32 | take32(in);
	if (how & 32)
		c->nlb = (uint16_t)take32(in);
}

/* A packet in memory of exactly its length. */
static uint8_t *packet(struct input *in, uint32_t *len)
{
	uint8_t bytes[sizeof(struct falcon_nvme_request) + 256] = {}, *p;
	struct falcon_nvme_hdr h;
	struct falcon_nvme_cmd c;

	header(in, &h);
	*len = falcon_nvme_hdr_len(h.type);
	if (*len == sizeof(struct falcon_nvme_request)) {
		command(in, &c);
		falcon_nvme_request_pack(&h, &c, (struct falcon_nvme_request *)bytes);
	} else if (*len == sizeof(struct falcon_nvme_response)) {
		falcon_nvme_response_pack(&h, take(in), (struct falcon_nvme_response *)bytes);
	} else {
		falcon_nvme_nbth_pack(&h, (struct falcon_nvme_nbth *)bytes);
	}
	switch (take(in) % 4) {
	case 0: *len = take(in); break;		/* cut, or with bytes behind it */
	case 1: bytes[take(in) % 64] ^= take(in); break;
	}
	p = malloc(*len ? *len : 1);
	memcpy(p, bytes, *len);
	return p;
}

/* A packet comes in at one end of a connection that is up. */
static void inject(struct env *e, struct input *in)
{
	uint8_t how = take(in);
	struct env_link *l = &e->links[(how >> 2) % 4];
	struct fcore_conn *c = how & 1 ? &l->near : &l->far;
	uint32_t len;
	uint8_t *p = packet(in, &len);

	if (c->up && how & 2 && c->nheld < FCORE_MAX_TXNS)
		nvme_ulp_ops.on_pull(c->ulp, c, 0, p, len, (uint16_t)take32(in), e->now);
	else if (c->up)
		nvme_ulp_ops.on_push(c->ulp, c, 0, p, len, e->now);
	free(p);
}

/* A pull of ours is answered with something. */
static void answer(struct env *e, struct input *in)
{
	struct env_link *l = &e->links[take(in) % 4];
	uint32_t len;
	uint8_t *p = packet(in, &len);

	for (unsigned int i = 0; l->far.up && i < e->limit; i++) {
		struct env_txn *t = &l->far.txns[i];

		if (!t->used || !t->pull)
			continue;
		nvme_ulp_ops.on_pull_data(l->far.ulp, &l->far, t->cookie, p, len);
		break;
	}
	free(p);
}

static void submit(struct env *e, struct input *in, struct env_cmd *cmds, uint8_t *buf)
{
	static const uint8_t ops[] = { nvme_cmd_read, nvme_cmd_write, nvme_cmd_compare,
				       nvme_cmd_write_zeroes, nvme_cmd_dsm, nvme_cmd_flush,
				       nvme_cmd_verify, 0x55 };
	unsigned int i = take(in) % CMDS;
	struct nvme_icmd what = { .sqe.opcode = ops[take(in) % sizeof(ops)], .data = buf };

	what.sqe.cdw10 = (uint32_t)take(in) << (take(in) & 7);
	what.sqe.cdw12 = take32(in) & 0x7c0000ff;
	/* PRACT, or metadata; tags that fit, or any. */
	if (what.sqe.cdw12 & 0x40000000)
		what.md = (struct nvme_pi *)(buf + (128 << 10));
	what.sqe.cdw14 = what.sqe.cdw10 + take(in) % 2;
	what.sqe.cdw15 = take(in);
	if (cmds[i].icmd.dev && !cmds[i].ended)
		return;
	env_start_tagged(e, &cmds[i], &what, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct env_format f = { .host = size >> 1 & 3, .unchecked = size >> 3 & 1 };
	struct env *e = size & 1 ? env_open_format(2, BYTES, 9, 256 << 10, &f) :
				   env_open(2, BYTES, 9, 256 << 10);
	struct env_cmd *cmds = calloc(CMDS, sizeof(*cmds));
	struct input in = { data, data + size };
	uint8_t *buf = calloc(1, (128 << 10) + 2048);

	for (int i = 0; i < 60; i++)
		env_step(e);
	for (int i = 0; i < MAX_STEPS && in.at < in.end; i++) {
		switch (take(&in) % 8) {
		case 0: submit(e, &in, cmds, buf); break;
		case 1:
		case 2: inject(e, &in); break;
		case 3: answer(e, &in); break;
		case 4: env_cut(e, take(&in) % 4); break;
		default: env_step(e); break;
		}
	}
	/* What hostile answers have left hanging ends with the timeout. */
	for (int i = 0; i < 4; i++, e->now += 31000000000ULL)
		for (int k = 0; k < 100; k++)
			env_step(e);
	for (int i = 0; i < CMDS; i++)
		assert_true(!cmds[i].icmd.dev || cmds[i].ended);
	env_close(e);
	free(buf);
	free(cmds);
	return 0;
}
