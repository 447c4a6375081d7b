// SPDX-License-Identifier: BSD-2-Clause
/* The life of a tCMD: gathered, admitted, pulled, carried out, answered. */
#include <stdlib.h>
#include <string.h>

#include "ulp/nvme/target_priv.h"

static struct nvme_tcmd **chain(struct nvme_tconn *c, uint32_t icmd)
{
	return &c->hash[icmd % TCMD_HASH];
}

/*
 * The tCMD that an nCMD belongs to. One whose answers are out may still be waiting for their
 * acknowledgments when its identifier is used again: it is another's.
 */
static struct nvme_tcmd *find(struct nvme_tconn *c, const struct falcon_nvme_hdr *h)
{
	for (struct nvme_tcmd *cmd = *chain(c, h->icmd); cmd; cmd = cmd->next)
		if (cmd->icmd == h->icmd && cmd->group == h->group && cmd->phase == TCMD_GATHER)
			return cmd;
	return NULL;
}

static void release_memory(struct nvme_tcmd *cmd)
{
	struct nvme_pool *pool = cmd->conn->t->pool;

	if (cmd->buf)
		nvme_pool_put(pool, cmd->buf, cmd->mem);
	if (cmd->other)
		nvme_pool_put(pool, cmd->other, cmd->mem);
	if (cmd->md)
		nvme_pool_put(pool, cmd->md, nvme_tpi_bytes(cmd));
	if (cmd->other_md)
		nvme_pool_put(pool, cmd->other_md, nvme_tpi_bytes(cmd));
	cmd->buf = cmd->other = NULL;
	cmd->md = cmd->other_md = NULL;
}

/* Nothing refers to |cmd| any more. */
static void retire(struct nvme_tcmd *cmd)
{
	struct nvme_tconn *c = cmd->conn;
	struct nvme_tcmd **p = chain(c, cmd->icmd);

	c->t->ready++;
	while (*p != cmd)
		p = &(*p)->next;
	*p = cmd->next;
	if (cmd->sending)
		TAILQ_REMOVE(&c->send, cmd, send_link);
	if (cmd->ns && !c->down) {
		cmd->ns->stats.errors += cmd->status != 0;
		cmd->ns->stats.damaged += nvme_pi_damaged(cmd->status);
	}
	release_memory(cmd);
	nvme_tpi_end(cmd);
	TAILQ_INSERT_HEAD(&c->free, cmd, link);
	if (--c->used == 0 && c->down) {
		TAILQ_REMOVE(&c->t->conns, c, link);
		free(c);
	}
}

static void want_send(struct nvme_tcmd *cmd)
{
	cmd->cursor = 0;
	cmd->conn->t->ready++;
	if (cmd->sending)
		return;
	cmd->sending = true;
	TAILQ_INSERT_TAIL(&cmd->conn->send, cmd, send_link);
}

static void answer(struct nvme_tcmd *cmd)
{
	cmd->phase = TCMD_ANSWER;
	if (cmd->status || !nvme_exec_answers_data(cmd))
		release_memory(cmd);
	want_send(cmd);
}

void nvme_tconn_event(struct nvme_tconn *c)
{
	struct nvme_tcmd *cmd = c->event;

	c->changed = !cmd;
	c->event = NULL;
	if (cmd)
		answer(cmd);
}

static void go(struct nvme_tcmd *cmd, enum nvme_tcmd_phase phase, struct nvme_tcmds *list)
{
	cmd->phase = (uint8_t)phase;
	cmd->conn->t->ready++;
	TAILQ_INSERT_TAIL(list, cmd, link);
}

/* All requests have come. */
static void gathered(struct nvme_tcmd *cmd)
{
	struct nvme_target *t = cmd->conn->t;

	if (cmd->status)
		return answer(cmd);
	if (nvme_exec_waits(cmd)) {
		cmd->phase = TCMD_HELD;
		cmd->conn->event = cmd;
		if (cmd->conn->changed)
			nvme_tconn_event(cmd->conn);
		return;
	}
	/* Commands without a namespace are about the controller, which has no limits. */
	go(cmd, TCMD_QUEUED, &(cmd->ns ? cmd->ns : &t->ns[0])->queue);
}

/*
 * How many nCMDs the command, or its group, has, and the first one's offset. False: impossible. What
 * is refused is answered nCMD by nCMD, since its numbers are not to be relied on.
 */
static bool count(struct nvme_tcmd *cmd, const struct falcon_nvme_hdr *h)
{
	uint32_t n = cmd->bytes ? (cmd->bytes + cmd->unit - 1) / cmd->unit : 1;

	if (cmd->status) {
		cmd->bytes = cmd->mem = 0;
		cmd->n = 1;
		cmd->first = h->offset;
		return true;
	}
	cmd->n = (uint16_t)n;
	cmd->first = h->split && h->group ? (uint16_t)(h->total + 1U - n) : 0;
	if (n > TCMD_NCMDS || n > h->total + 1U)
		return false;
	return h->split || n == h->total + 1U;
}

static void start(struct nvme_tcmd *cmd, const struct falcon_nvme_hdr *h,
		  const struct falcon_nvme_cmd *c)
{
	cmd->cmd = *c;
	cmd->icmd = h->icmd;
	cmd->function = h->function;
	cmd->group = h->group;
	cmd->split = h->split;
	cmd->total = h->total;
	cmd->type = h->type;
	cmd->admin = c->admin;
	cmd->opcode = h->type == FALCON_NVME_COMMAND ? c->opcode :
		      h->type == FALCON_NVME_READ_REQUEST ? nvme_cmd_read : nvme_cmd_write;
	cmd->phase = TCMD_GATHER;
	cmd->unit = c->unit ? c->unit * 512U : FALCON_NVME_NCMD_DATA;
	cmd->limited = cmd->sending = cmd->metadata = false;
	cmd->here = cmd->data = cmd->answered = cmd->cursor = cmd->refs = cmd->status = 0;
	cmd->bytes = cmd->mem = 0;
	cmd->ns = NULL;
	for (unsigned int i = 0; i < TCMD_NCMDS; i++)
		cmd->ncmds[i] = (struct nvme_tncmd){ .cmd = cmd };
	nvme_exec_check(cmd);
}

static struct nvme_tcmd *open_cmd(struct nvme_tconn *c, const struct falcon_nvme_hdr *h,
				  const struct falcon_nvme_cmd *req)
{
	struct nvme_tcmd *cmd = TAILQ_FIRST(&c->free);

	/* More than an nCMD may have: cmd->unit might have no room for it, and be 0. */
	if (req->unit > FALCON_NVME_NCMD_DATA / 512)
		return NULL;
	start(cmd, h, req);
	if (!count(cmd, h) ||
	    (cmd->bytes && cmd->unit + nvme_tpi_part_max(cmd) +
				   sizeof(struct falcon_nvme_response) > c->max_len))
		return NULL;
	TAILQ_REMOVE(&c->free, cmd, link);
	c->used++;
	cmd->next = *chain(c, h->icmd);
	*chain(c, h->icmd) = cmd;
	return cmd;
}

/* Whether a further request says the same as the first. */
static bool agrees(const struct nvme_tcmd *cmd, const struct falcon_nvme_hdr *h,
		   const struct falcon_nvme_cmd *c)
{
	return cmd->type == h->type && cmd->split == h->split && cmd->total == h->total &&
	       cmd->function == h->function && !memcmp(&cmd->cmd, c, sizeof(*c));
}

enum fcore_push_outcome nvme_tcmd_request(struct nvme_tconn *c, const struct falcon_nvme_hdr *h,
					  const struct falcon_nvme_cmd *req)
{
	struct nvme_tcmd *cmd = find(c, h);
	struct nvme_tncmd *n;

	if (!cmd && TAILQ_EMPTY(&c->free)) {
		c->t->stats.overrun++;
		return FCORE_PUSH_RNR;
	}
	if (cmd && !agrees(cmd, h, req))
		return FCORE_PUSH_CIE;
	if (!cmd)
		cmd = open_cmd(c, h, req);
	if (!cmd)
		return FCORE_PUSH_CIE;
	if (h->offset < cmd->first || h->offset - cmd->first >= cmd->n ||
	    cmd->ncmds[h->offset - cmd->first].state != TNCMD_ABSENT) {
		if (!cmd->here)
			retire(cmd);
		return FCORE_PUSH_CIE;
	}
	n = &cmd->ncmds[h->offset - cmd->first];
	n->itag = h->itag;
	n->offset = h->offset;
	n->state = TNCMD_HERE;
	if (++cmd->here == cmd->n)
		gathered(cmd);
	return FCORE_PUSH_ACK;
}

/* Whether the namespace's limits allow |cmd| now; if so, it is charged. */
static bool charge(struct nvme_tcmd *cmd, uint64_t now)
{
	struct nvme_tns *ns = cmd->ns;
	uint64_t earliest = now > TARGET_BURST_NS ? now - TARGET_BURST_NS : 0, cost = 0;

	if (!ns || cmd->admin || (!ns->attr.iops && !ns->attr.bps))
		return true;
	if (ns->busy_until > now) {
		ns->stats.limited += !cmd->limited;
		cmd->limited = true;
		return false;
	}
	if (ns->attr.iops)
		cost = 1000000000ULL / ns->attr.iops;
	if (ns->attr.bps && cmd->bytes * 1000000000ULL / ns->attr.bps > cost)
		cost = cmd->bytes * 1000000000ULL / ns->attr.bps;
	ns->busy_until = (ns->busy_until > earliest ? ns->busy_until : earliest) + cost;
	return true;
}

static bool get_memory(struct nvme_tcmd *cmd)
{
	struct nvme_pool *pool = cmd->conn->t->pool;
	bool compares = !cmd->admin && cmd->opcode == nvme_cmd_compare;
	uint32_t md = cmd->mem ? nvme_tpi_bytes(cmd) : 0;

	if (!cmd->mem)
		return true;
	cmd->buf = nvme_pool_get(pool, cmd->mem);
	if (cmd->buf && compares)
		cmd->other = nvme_pool_get(pool, cmd->mem);
	if (cmd->buf && md)
		cmd->md = nvme_pool_get(pool, md);
	if (cmd->md && compares)
		cmd->other_md = nvme_pool_get(pool, md);
	if (cmd->buf && (cmd->other || !compares) && (cmd->md || !md) &&
	    (cmd->other_md || !md || !compares))
		return true;
	release_memory(cmd);
	cmd->conn->t->stats.no_memory++;
	return false;
}

bool nvme_tcmd_admit(struct nvme_tcmd *cmd, uint64_t now)
{
	struct nvme_target *t = cmd->conn->t;

	/* Memory first: it can be given back, a charge cannot. */
	if (!get_memory(cmd))
		return false;
	if (!charge(cmd, now)) {
		release_memory(cmd);
		return false;
	}
	TAILQ_REMOVE(&(cmd->ns ? cmd->ns : &t->ns[0])->queue, cmd, link);
	if (nvme_exec_pulls(cmd)) {
		cmd->phase = TCMD_PULL;
		want_send(cmd);
	} else {
		go(cmd, TCMD_SUBMIT, &t->submit);
	}
	return true;
}

/* What has written its data has to write their metadata, whoever waits for it. */
static bool in_store(const struct nvme_tcmd *cmd)
{
	return cmd->phase == TCMD_IO || (cmd->phase == TCMD_SUBMIT && cmd->metadata);
}

static void io_done(struct nvme_io *io, int res)
{
	struct nvme_tcmd *cmd = (struct nvme_tcmd *)((char *)io - offsetof(struct nvme_tcmd, io));
	struct nvme_target *t = cmd->conn->t;

	t->ready++;
	cmd->refs--;
	if (nvme_tpi_goes_on(cmd, res)) {
		/* Before all others, which may wait for the blocks. */
		cmd->phase = TCMD_SUBMIT;
		TAILQ_INSERT_HEAD(&t->submit, cmd, link);
		nvme_tcmd_submit(cmd);
		return;
	}
	nvme_exec_finish(cmd, res);
	nvme_tpi_end(cmd);
	if (!cmd->conn->down)
		return answer(cmd);
	t->stats.orphans--;
	retire(cmd);
}

bool nvme_tcmd_submit(struct nvme_tcmd *cmd)
{
	struct nvme_target *t = cmd->conn->t;

	if (nvme_exec_prepare(cmd)) {
		cmd->io.done = io_done;
		if (cmd->io.store->ops->submit(&cmd->io) < 0)
			return false;
		cmd->refs++;
		cmd->phase = TCMD_IO;
		TAILQ_REMOVE(&t->submit, cmd, link);
		return true;
	}
	TAILQ_REMOVE(&t->submit, cmd, link);
	answer(cmd);
	return true;
}

static struct falcon_nvme_hdr header(const struct nvme_tncmd *n, enum falcon_nvme_type type)
{
	const struct nvme_tcmd *cmd = n->cmd;

	return (struct falcon_nvme_hdr){
		.type = (uint8_t)type, .split = cmd->split, .group = cmd->group,
		.total = cmd->total, .offset = n->offset, .function = cmd->function,
		.ttag = (uint32_t)(cmd - cmd->conn->cmds), .itag = n->itag, .icmd = cmd->icmd,
	};
}

static struct nvme_tpart part(const struct nvme_tncmd *n)
{
	return nvme_tpi_part(n->cmd, (unsigned int)(n - n->cmd->ncmds));
}

/* Bytes of data and metadata. */
static uint32_t part_len(const struct nvme_tpart *p)
{
	return p->len + p->nmd * (uint32_t)sizeof(struct nvme_md);
}

static int pull(struct nvme_tncmd *n)
{
	const struct falcon_nvme_hdr h = header(n, FALCON_NVME_WRITE_DATA_REQUEST);
	const struct nvme_tpart p = part(n);
	struct falcon_nvme_nbth w;
	struct fcore_txn txn = {
		.proto = FALCON_PROTO_NVME, .ulp_hdr = &w, .ulp_hdr_len = sizeof(w),
		.len = (uint32_t)sizeof(struct falcon_nvme_response) + part_len(&p),
		.cookie = (uintptr_t)n,
	};
	int rc;

	falcon_nvme_nbth_pack(&h, &w);
	n->state = TNCMD_PULLING;
	n->cmd->refs++;
	rc = fcore_pull(n->cmd->conn->core, &txn, n->cmd->conn->t->now);
	if (rc < 0) {
		n->state = TNCMD_HERE;
		n->cmd->refs--;
	}
	return rc;
}

static int reply(struct nvme_tncmd *n)
{
	const struct nvme_tcmd *cmd = n->cmd;
	bool data = nvme_exec_answers_data(cmd), with = data && !cmd->status;
	const struct falcon_nvme_hdr h = header(n, data ? FALCON_NVME_READ_RESPONSE :
							 FALCON_NVME_WRITE_COMPLETION);
	const struct nvme_tpart p = part(n);
	uint8_t was = n->state;
	struct falcon_nvme_response w;
	struct fcore_txn txn = {
		.proto = FALCON_PROTO_NVME, .ulp_hdr = &w, .ulp_hdr_len = sizeof(w),
		.payload = with ? cmd->buf + p.at + p.md * sizeof(struct nvme_md) : NULL,
		.len = with ? part_len(&p) : 0, .cookie = (uintptr_t)n,
	};
	int rc;

	falcon_nvme_response_pack(&h, cmd->status, &w);
	n->state = TNCMD_ANSWERING;
	n->cmd->refs++;
	rc = fcore_push(cmd->conn->core, &txn, cmd->conn->t->now);
	if (rc < 0) {
		n->state = was;
		n->cmd->refs--;
	}
	return rc;
}

/* Whether |cmd| is among what its connection has to send. */
static void set_sending(struct nvme_tcmd *cmd, bool sending)
{
	struct nvme_tcmds *list = &cmd->conn->send;

	if (sending)
		TAILQ_INSERT_HEAD(list, cmd, send_link);
	else
		TAILQ_REMOVE(list, cmd, send_link);
	cmd->sending = sending;
}

/* Start the transaction of |n| that the phase of its command asks for. */
static int send_one(struct nvme_tncmd *n)
{
	if (n->cmd->phase == TCMD_PULL && n->state == TNCMD_HERE)
		return pull(n);
	if (n->cmd->phase == TCMD_ANSWER && n->state < TNCMD_ANSWERING)
		return reply(n);
	return 0;
}

/*
 * A transaction may end before it has been submitted, where a filter ends it (Falcon 11). With the last
 * of them |cmd| goes on to its next phase, and may ask to be sent again, or is over: nothing looks at it
 * afterwards.
 */
bool nvme_tcmd_send(struct nvme_tcmd *cmd)
{
	for (;;) {
		struct nvme_tncmd *n = &cmd->ncmds[cmd->cursor++];
		bool last = cmd->cursor == cmd->n;

		if (last)
			set_sending(cmd, false);
		if (send_one(n) < 0) {
			cmd->cursor--;
			if (last)
				set_sending(cmd, true);
			return false;
		}
		if (last)
			return true;
	}
}

/* Bring down what |n| pulled; what the initiator says of it may end the command. */
void nvme_target_on_pull_data(struct nvme_tncmd *n, const void *payload, uint32_t len)
{
	struct nvme_tcmd *cmd = n->cmd;
	const uint8_t *data = (const uint8_t *)payload + sizeof(struct falcon_nvme_response);
	const struct nvme_tpart p = part(n);
	struct falcon_nvme_hdr h;

	if (n->state != TNCMD_PULLING || cmd->conn->down)
		return;
	if (!falcon_nvme_nbth_unpack(payload, len, &h) || h.type != FALCON_NVME_WRITE_DATA ||
	    h.itag != n->itag || h.icmd != cmd->icmd ||
	    len != sizeof(struct falcon_nvme_response) + part_len(&p)) {
		cmd->conn->t->stats.malformed += len > 0;
		return;
	}
	if (h.inv)
		cmd->status = NVME_SCT_MEDIA << 8 | (NVME_SC_GUARD_CHECK & 0xff);
	memcpy(cmd->buf + p.at, data, p.len);
	if (p.nmd)
		memcpy(cmd->md + p.md, data + p.len, p.nmd * sizeof(*cmd->md));
	n->state = TNCMD_DATA;
}

static void pulled(struct nvme_tncmd *n)
{
	struct nvme_tcmd *cmd = n->cmd;

	/* No data, or none that could be used: see nvme_target_on_pull_data(). */
	if (n->state == TNCMD_PULLING)
		cmd->status = NVME_SC_DATA_XFER_ERROR;
	n->state = TNCMD_DATA;
	if (++cmd->data < cmd->n)
		return;
	if (!cmd->status)
		cmd->status = nvme_tpi_pulled(cmd);
	if (cmd->status)
		answer(cmd);
	else
		go(cmd, TCMD_SUBMIT, &cmd->conn->t->submit);
}

void nvme_target_on_completion(struct nvme_tncmd *n, enum falcon_completion_code code)
{
	struct nvme_tcmd *cmd = n->cmd;

	(void)code;
	cmd->refs--;
	if (cmd->conn->down) {
		if (!cmd->refs && !in_store(cmd))
			retire(cmd);
		return;
	}
	if (cmd->phase == TCMD_PULL)
		return pulled(n);
	n->state = TNCMD_ANSWERED;
	if (++cmd->answered == cmd->n)
		retire(cmd);
}

void nvme_tcmd_abandon(struct nvme_tcmd *cmd)
{
	struct nvme_target *t = cmd->conn->t;

	t->stats.dropped++;
	if (cmd->phase == TCMD_QUEUED)
		TAILQ_REMOVE(&(cmd->ns ? cmd->ns : &t->ns[0])->queue, cmd, link);
	else if (in_store(cmd))
		t->stats.orphans++;
	else if (cmd->phase == TCMD_SUBMIT)
		TAILQ_REMOVE(&t->submit, cmd, link);
	if (!cmd->refs && !in_store(cmd))
		retire(cmd);
}
