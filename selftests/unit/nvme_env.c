// SPDX-License-Identifier: BSD-2-Clause
#include "nvme_env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/wire/nvme.h>

static bool chance(struct env *e, unsigned int percent)
{
	return unit_random(&e->seed) % 100 < percent;
}

uint32_t fcore_conn_cid(const struct fcore_conn *c)
{
	return c->cid;
}

static bool filtered(struct fcore_conn *c, bool pull)
{
	const struct env *e = c->env;

	return chance(c->env, c->ulp == &e->near ? e->filtered_near :
			      pull ? e->filtered_far_pulls : e->filtered_far_pushes);
}

static int start(struct fcore_conn *c, const struct fcore_txn *t, bool pull)
{
	if (filtered(c, pull)) {
		nvme_ulp_ops.on_completion(c->ulp, c, t->cookie, kCmplLocalXlr, 0);
		return 0;
	}
	for (unsigned int i = 0; i < c->env->limit; i++) {
		struct env_txn *x = &c->txns[i];

		if (x->used)
			continue;
		*x = (struct env_txn){ .used = true, .pull = pull, .rsn = c->rsn++, .len = t->len,
				       .hdr_len = t->ulp_hdr_len, .cookie = t->cookie,
				       .payload = t->payload };
		assert_true(t->ulp_hdr_len + t->len <= c->env->max_len);
		if (t->ulp_hdr_len)
			memcpy(x->hdr, t->ulp_hdr, t->ulp_hdr_len);
		return 0;
	}
	c->wants_xon = true;
	return -EAGAIN;
}

int fcore_push(struct fcore_conn *c, const struct fcore_txn *t, uint64_t now)
{
	(void)now;
	assert_true(c->up);
	return start(c, t, false);
}

int fcore_pull(struct fcore_conn *c, const struct fcore_txn *t, uint64_t now)
{
	(void)now;
	assert_true(c->up);
	return start(c, t, true);
}

/* What was delivered is valid until it is answered. */
static void put_packet(struct fcore_conn *c)
{
	free(c->packet);
	c->packet = NULL;
}

void fcore_push_done(struct fcore_conn *c, uint32_t rsn, enum fcore_push_outcome outcome,
		     uint8_t rnr, uint8_t ulp_code, uint64_t now)
{
	(void)rsn, (void)rnr, (void)ulp_code, (void)now;
	c->outcome = outcome;
	put_packet(c);
}

void fcore_pull_respond(struct fcore_conn *c, uint32_t rsn, const struct fcore_response *r,
			uint64_t now)
{
	(void)rsn, (void)now;
	c->response_len = r->ulp_hdr_len + r->len;
	if (r->ulp_hdr_len)
		memcpy(c->response, r->ulp_hdr, r->ulp_hdr_len);
	if (r->len)
		memcpy(c->response + r->ulp_hdr_len, r->payload, r->len);
	c->held[c->nheld++] = r->cookie;
	put_packet(c);
}

static void complete(struct fcore_conn *c, struct env_txn *t, enum falcon_completion_code code)
{
	uint64_t cookie = t->cookie;

	t->used = false;
	nvme_ulp_ops.on_completion(c->ulp, c, cookie, code, 0);
	if (c->wants_xon && c->up) {
		c->wants_xon = false;
		nvme_ulp_ops.on_xon(c->ulp, c);
	}
}

static void give_back(struct fcore_conn *c, unsigned int i)
{
	uint64_t cookie = c->held[i];

	c->held[i] = c->held[--c->nheld];
	nvme_ulp_ops.on_response_done(c->ulp, c, cookie);
}

static void deliver(struct fcore_conn *c, struct env_txn *t)
{
	struct fcore_conn *p = c->peer;
	struct env *e = c->env;
	uint8_t *packet;

	if (t->not_before > e->now)
		return;
	if (t->pull) {
		uint8_t *hdr = malloc(t->hdr_len);

		memcpy(hdr, t->hdr, t->hdr_len);
		p->packet = hdr;
		nvme_ulp_ops.on_pull(p->ulp, p, t->rsn, hdr, t->hdr_len, (uint16_t)t->len, e->now);
		assert_null(p->packet);
		if (!t->used)
			return;
		packet = malloc(p->response_len + 1);
		memcpy(packet, p->response, p->response_len);
		if (e->on_wire)
			e->on_wire(e, packet, p->response_len);
		nvme_ulp_ops.on_pull_data(c->ulp, c, t->cookie, packet, p->response_len);
		free(packet);
		complete(c, t, p->response_len ? kCmplAck : kCmplTargetNackCIE);
		return;
	}
	packet = malloc(t->hdr_len + t->len);
	memcpy(packet, t->hdr, t->hdr_len);
	if (t->len)
		memcpy(packet + t->hdr_len, t->payload, t->len);
	if (e->on_wire)
		e->on_wire(e, packet, t->hdr_len + t->len);
	p->packet = packet;
	nvme_ulp_ops.on_push(p->ulp, p, t->rsn, packet, t->hdr_len + t->len, e->now);
	assert_null(p->packet);
	if (p->outcome == FCORE_PUSH_RNR)
		t->not_before = e->now + 100000;
	else if (t->used)
		complete(c, t, p->outcome == FCORE_PUSH_ACK ? kCmplAck : kCmplTargetNackCIE);
}

static void end_conn(struct fcore_conn *c)
{
	if (!c->up)
		return;
	c->up = false;
	nvme_ulp_ops.conn_down(c->ulp, c->cid, "cut");
	for (unsigned int i = 0; i < FCORE_MAX_TXNS; i++)
		if (c->txns[i].used)
			complete(c, &c->txns[i], kCmplDeadConn);
	while (c->nheld)
		give_back(c, 0);
}

static void end_link(struct env_link *l)
{
	end_conn(&l->near);
	end_conn(&l->far);
	l->used = l->dead = false;
}

void env_cut(struct env *e, unsigned int i)
{
	struct env_link *l = &e->links[i];

	if (!l->used || !l->near.up)
		return;
	/* Either end may be the first to notice. */
	end_conn(chance(e, 50) ? &l->near : &l->far);
	end_conn(&l->near);
	end_conn(&l->far);
}

void env_dark(struct env *e, unsigned int i, bool dark)
{
	e->dark &= ~(1U << i);
	e->dark |= (uint32_t)dark << i;
	for (unsigned int k = 0; dark && k < ENV_CONNS; k++)
		if (e->links[k].target == (int)i)
			env_cut(e, k);
}

static int dial(void *agent, const struct ulp_dial *d, char *err, size_t errlen)
{
	struct env *e = agent;

	(void)err, (void)errlen;
	for (unsigned int i = 0; i < ENV_CONNS; i++) {
		struct env_link *l = &e->links[i];

		if (l->used || l->dead)
			continue;
		memset(l, 0, sizeof(*l));
		l->used = true;
		l->dial = *d;
		l->target = d->ends.remote.b[3];
		return (int)i + 1;
	}
	return -ENOSPC;
}

static void hangup(void *agent, uint32_t cid, const char *why)
{
	struct env *e = agent;
	struct env_link *l = &e->links[(cid - 1) % ENV_CONNS];

	(void)why;
	l->dead = true;
	if (e->hangs_up_at_once)
		end_link(l);
}

static const struct ulp_host host = { .dial = dial, .hangup = hangup };

/* Both ends as the agents set them up. */
static void establish(struct env *e, unsigned int i)
{
	struct env_link *l = &e->links[i];
	struct ulp_request req = { .ends = l->dial.ends, .peer = "near", .data = l->dial.data,
				   .cid = i + 1 + ENV_CONNS };
	struct ulp_conn near = { .core = &l->near, .cid = i + 1, .max_len = e->max_len },
			far = { .core = &l->far, .cid = req.cid, .max_len = e->max_len };
	char err[160];

	if (e->refuse || e->dark >> l->target & 1 ||
	    nvme_ulp_ops.accept(&e->far[l->target], &req, &near.data, err, sizeof(err)))
		return;
	if (e->old_targets)
		near.data.bytes[offsetof(struct falcon_nvme_offer, flags)] &= ~FALCON_NVME_KNOWS_COMBINED;
	l->near = (struct fcore_conn){ .env = e, .ulp = &e->near, .peer = &l->far, .cid = i + 1,
				       .up = true };
	l->far = (struct fcore_conn){ .env = e, .ulp = &e->far[l->target], .peer = &l->near,
				      .cid = req.cid, .up = true };
	assert_int_equal(nvme_ulp_ops.conn_up(l->far.ulp, &far), 0);
	assert_int_equal(nvme_ulp_ops.conn_up(l->near.ulp, &near), 0);
}

void env_new_target(struct env *e, unsigned int i)
{
	nvme_target_destroy(e->far[i].target);
	e->far[i].target = nvme_target_create(0, 0);
	nvme_target_set_host(e->far[i].target, &host, e);
}

static int store_submit(struct nvme_io *io)
{
	struct env_store *s = (struct env_store *)io->store;

	if (s->full || s->env->nios == ENV_IOS || chance(s->env, 5))
		return -EAGAIN;
	s->env->ios[s->env->nios++] = io;
	return 0;
}

/* What was never written and what was deallocated takes up no room. */
static bool store_allocated(struct nvme_store *store, uint64_t offset, uint64_t len, uint64_t *run)
{
	const uint8_t *p = ((struct env_store *)store)->bytes + offset;

	assert_true(offset <= store->bytes && len <= store->bytes - offset);
	for (*run = 1; *run < len && !p[*run] == !p[0]; (*run)++)
		;
	return p[0];
}

static const struct nvme_store_ops store_ops = { .submit = store_submit,
						 .allocated = store_allocated };

static void end_io(struct env *e, unsigned int i)
{
	struct nvme_io *io = e->ios[i];
	struct env_store *s = (struct env_store *)io->store;

	if (s->frozen)
		return;
	e->ios[i] = e->ios[--e->nios];
	assert_true(io->offset <= io->store->bytes && io->len <= io->store->bytes - io->offset);
	s->flushes += io->op == NVME_IO_FLUSH;
	s->deallocations += io->op == NVME_IO_ZERO && io->deallocate;
	s->fuas += io->op == NVME_IO_WRITE && io->fua;
	if (s->fail) {
		io->done(io, s->fail);
		return;
	}
	if (io->op == NVME_IO_READ)
		memcpy(io->buf, s->bytes + io->offset, io->len);
	else if (io->op == NVME_IO_WRITE)
		memcpy(s->bytes + io->offset, io->buf, io->len);
	else if (io->op != NVME_IO_FLUSH)
		memset(s->bytes + io->offset, 0, io->len);
	io->done(io, 0);
}

static void run_link(struct env *e, unsigned int i)
{
	struct env_link *l = &e->links[i];
	struct fcore_conn *c = chance(e, 50) ? &l->near : &l->far;

	if (l->dead) {
		end_link(l);
		return;
	}
	if (!l->used)
		return;
	if (!l->near.up && chance(e, 10))
		establish(e, i);
	for (unsigned int k = 0; k < 8 && c->up; k++) {
		struct env_txn *t = &c->txns[unit_random(&e->seed) % e->limit];

		if (t->used)
			deliver(c, t);
		if (c->nheld && chance(e, 50))
			give_back(c, (unsigned int)(unit_random(&e->seed) % c->nheld));
	}
}

void env_step(struct env *e)
{
	e->now += 1000;
	for (unsigned int i = 0; i < ENV_CONNS; i++)
		if (e->links[i].used || e->links[i].dead)
			run_link(e, i);
	if (e->nios && chance(e, 50))
		end_io(e, (unsigned int)(unit_random(&e->seed) % e->nios));
	nvme_ulp_ops.pump(&e->near, e->now);
	for (unsigned int i = 0; i < ENV_TARGETS; i++)
		nvme_ulp_ops.pump(&e->far[i], e->now);
}

void env_until(struct env *e, const unsigned int *done, unsigned int n)
{
	for (int i = 0; *done < n; i++) {
		if (i == 2000000)
			fail_msg("%u of %u commands have ended", *done, n);
		env_step(e);
	}
}

static bool standard;

int env_combined(void **state)
{
	(void)state;
	standard = false;
	return 0;
}

int env_standard(void **state)
{
	(void)state;
	standard = true;
	return 0;
}

static struct env_store new_store(struct env *e, uint64_t bytes)
{
	return (struct env_store){ .store = { .ops = &store_ops, .bytes = bytes }, .env = e,
				   .bytes = calloc(1, bytes) };
}

/* |format|: NULL: no protection information. */
static struct env *open_env(unsigned int n, uint64_t bytes, uint8_t shift, uint64_t memory,
			    struct nvme_cipher *cipher, const struct env_format *format)
{
	static const uint8_t id[16] = "an initiator's";
	struct env *e = calloc(1, sizeof(*e));
	struct nvme_dev_attr dev = { .name = "d", .nsid = 1, .ntargets = n,
				     .timeout_ns = 30000000000ULL, .cipher = cipher, .standard = standard,
				     .protection = format ? format->host : 0 };
	char err[160];

	e->seed = 0x9e3779b97f4a7c15;
	e->max_len = 1400;
	e->limit = 64;
	e->near.initiator = nvme_initiator_create(id, 0, 1);
	nvme_initiator_set_host(e->near.initiator, &host, e);
	for (unsigned int i = 0; i < ENV_TARGETS; i++) {
		struct env_store *s = &e->stores[i];
		struct nvme_ns_attr ns = { .name = "n", .peers = "other near", .store = &s->store,
					   .nsid = 7, .block_shift = shift };

		*s = new_store(e, bytes);
		if (format) {
			ns.unchecked = format->unchecked;
			e->metadata[i] = new_store(e, (bytes >> shift) * sizeof(struct nvme_md));
			ns.metadata = &e->metadata[i].store;
		}
		e->far[i].target = nvme_target_create(0, memory);
		nvme_target_set_host(e->far[i].target, &host, e);
		assert_int_equal(nvme_target_add(e->far[i].target, &ns, err, sizeof(err)), 0);
		if (i < n) {
			dev.targets[i].npaths = 1;
			dev.targets[i].paths[0].nsid = 7;
			dev.targets[i].paths[0].ends.remote.b[3] = (uint8_t)i;
		}
	}
	assert_int_equal(nvme_initiator_add(e->near.initiator, &dev, err, sizeof(err)), 0);
	e->dev = nvme_dev_find(e->near.initiator, "d");
	return e;
}

struct env *env_open(unsigned int n, uint64_t bytes, uint8_t shift, uint64_t memory)
{
	return open_env(n, bytes, shift, memory, NULL, NULL);
}

struct env *env_open_with(unsigned int n, uint64_t bytes, uint8_t shift, uint64_t memory,
			  struct nvme_cipher *cipher)
{
	return open_env(n, bytes, shift, memory, cipher, NULL);
}

struct env *env_open_protected(unsigned int n, uint64_t bytes, uint8_t shift, uint64_t memory)
{
	const struct env_format format = {};

	return open_env(n, bytes, shift, memory, NULL, &format);
}

struct env *env_open_format(unsigned int n, uint64_t bytes, uint8_t shift, uint64_t memory,
			    const struct env_format *format)
{
	return open_env(n, bytes, shift, memory, format->cipher, format);
}

static uint32_t orphans(struct env *e)
{
	struct nvme_target_stats s;
	uint32_t n = 0;

	for (unsigned int i = 0; i < ENV_TARGETS; i++) {
		nvme_target_stats(e->far[i].target, &s);
		n += s.orphans;
	}
	return n;
}

void env_close(struct env *e)
{
	for (unsigned int i = 0; i < ENV_CONNS; i++) {
		end_conn(&e->links[i].near);
		end_conn(&e->links[i].far);
	}
	for (unsigned int i = 0; i < ENV_TARGETS; i++)
		e->stores[i].frozen = e->metadata[i].frozen = e->metadata[i].full = false;
	while (e->nios || orphans(e)) {
		if (e->nios)
			end_io(e, 0);
		for (unsigned int i = 0; i < ENV_TARGETS; i++)
			nvme_ulp_ops.pump(&e->far[i], e->now);
	}
	for (unsigned int i = 0; i < ENV_TARGETS; i++) {
		struct nvme_target_stats s;

		nvme_target_stats(e->far[i].target, &s);
		assert_int_equal(s.memory_used, 0);
		assert_int_equal(s.orphans + s.initiators, 0);
		nvme_target_destroy(e->far[i].target);
		free(e->stores[i].bytes);
		free(e->metadata[i].bytes);
	}
	nvme_initiator_destroy(e->near.initiator);
	free(e);
}

static void ended(struct nvme_icmd *icmd, uint16_t status, uint32_t result)
{
	struct env_cmd *cmd = (struct env_cmd *)icmd;

	assert_false(cmd->ended);
	cmd->ended = true;
	cmd->status = status;
	cmd->result = result;
	if (cmd->done)
		(*cmd->done)++;
}

void env_start_tagged(struct env *e, struct env_cmd *cmd, const struct nvme_icmd *what,
		      unsigned int *done)
{
	*cmd = (struct env_cmd){ .icmd = *what, .done = done };
	cmd->icmd.sqe.qid = cmd->icmd.sqe.nsid = 1;
	cmd->icmd.done = ended;
	nvme_dev_submit(e->dev, &cmd->icmd, e->now);
}

void env_start(struct env *e, struct env_cmd *cmd, uint8_t opcode, uint64_t lba, uint32_t dw12,
	       void *data, unsigned int *done)
{
	*cmd = (struct env_cmd){
		.icmd = { .sqe = { .opcode = opcode, .qid = 1, .nsid = 1, .cdw10 = (uint32_t)lba,
				   .cdw11 = (uint32_t)(lba >> 32), .cdw12 = dw12 },
			  .data = data, .done = ended },
		.done = done,
	};
	nvme_dev_submit(e->dev, &cmd->icmd, e->now);
}

void env_start_admin(struct env *e, struct env_cmd *cmd)
{
	cmd->icmd.done = ended;
	nvme_dev_submit(e->dev, &cmd->icmd, e->now);
}

void env_submit(struct env *e, struct env_cmd *cmd)
{
	unsigned int done = 0;

	cmd->icmd.done = ended;
	cmd->done = &done;
	nvme_dev_submit(e->dev, &cmd->icmd, e->now);
	env_until(e, &done, 1);
	cmd->done = NULL;
}

uint16_t env_do(struct env *e, uint8_t opcode, uint64_t lba, uint32_t dw12, void *data)
{
	struct env_cmd *cmd = calloc(1, sizeof(*cmd));
	unsigned int done = 0;
	uint16_t status;

	env_start(e, cmd, opcode, lba, dw12, data, &done);
	env_until(e, &done, 1);
	status = cmd->status;
	free(cmd);
	return status;
}
