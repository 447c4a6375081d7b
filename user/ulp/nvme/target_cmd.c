// SPDX-License-Identifier: BSD-2-Clause
/* The life of a tCMD: gathered, admitted, given its data, carried out, answered. */
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
	nvme_tmem_put(cmd);
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
	bool data = !cmd->status && nvme_exec_answers_data(cmd);

	cmd->phase = TCMD_ANSWER;
	if (!data)
		nvme_tmem_put(cmd);
	/* Without data, one answer is for all its nCMDs. */
	if (!data && cmd->combined)
		cmd->n = 1;
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
		cmd->combined = false;
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
		      falcon_nvme_reads(h->type) ? nvme_cmd_read : nvme_cmd_write;
	cmd->combined = h->type == FALCON_NVME_READ_COMMAND || h->type == FALCON_NVME_WRITE_WITH_DATA;
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

/* Data and metadata of |n|, which are of the right length, to where they belong. */
static void take_data(struct nvme_tncmd *n, const uint8_t *data, bool inv)
{
	const struct nvme_tpart p = nvme_tncmd_part(n);
	struct nvme_tcmd *cmd = n->cmd;

	if (inv)
		cmd->status = NVME_SCT_MEDIA << 8 | (NVME_SC_GUARD_CHECK & 0xff);
	memcpy(cmd->buf + p.at, data, p.len);
	if (p.nmd)
		memcpy(cmd->md + p.md, data + p.len, p.nmd * sizeof(*cmd->md));
	n->state = TNCMD_DATA;
}

/* The request |h| is about |n|, the |data| with it, of |len| bytes, are its. False: they cannot be. */
static bool take_request(struct nvme_tncmd *n, const struct falcon_nvme_hdr *h, const uint8_t *data,
			 uint32_t len)
{
	struct nvme_tcmd *cmd = n->cmd;
	bool with = cmd->combined && !falcon_nvme_reads(h->type);
	struct nvme_tpart p;

	if (with) {
		p = nvme_tncmd_part(n);
		if (len != nvme_tpart_len(&p))
			return false;
	}
	n->itag = h->itag;
	n->offset = h->offset;
	n->state = TNCMD_HERE;
	cmd->here++;
	if (!with)
		return true;
	if (nvme_tmem_get_early(cmd)) {
		take_data(n, data, h->inv);
		cmd->data++;
	} else {
		cmd->conn->t->stats.put_off++;
	}
	return true;
}

/* A Read Command has come: it is the request of all its nCMDs. */
static bool take_all(struct nvme_tcmd *cmd, const struct falcon_nvme_hdr *h)
{
	if (h->offset != cmd->first)
		return false;
	for (unsigned int i = 0; i < cmd->n; i++)
		cmd->ncmds[i] = (struct nvme_tncmd){ .cmd = cmd, .itag = h->itag, .state = TNCMD_HERE,
						     .offset = (uint8_t)(cmd->first + i) };
	cmd->here = cmd->n;
	return true;
}

static bool take_part(struct nvme_tcmd *cmd, const struct falcon_nvme_hdr *h, const uint8_t *data,
		      uint32_t len)
{
	uint32_t i = h->offset - (uint32_t)cmd->first;

	if (cmd->combined && h->type == FALCON_NVME_READ_COMMAND)
		return take_all(cmd, h);
	return i < cmd->n && cmd->ncmds[i].state == TNCMD_ABSENT &&
	       take_request(&cmd->ncmds[i], h, data, len);
}

enum fcore_push_outcome nvme_tcmd_request(struct nvme_tconn *c, const struct falcon_nvme_hdr *h,
					  const struct falcon_nvme_cmd *req, const uint8_t *data,
					  uint32_t len)
{
	struct nvme_tcmd *cmd = find(c, h);

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
	if (!take_part(cmd, h, data, len)) {
		if (!cmd->here)
			retire(cmd);
		return FCORE_PUSH_CIE;
	}
	if (cmd->here == cmd->n)
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

/* All data of |cmd| have come. */
static void complete(struct nvme_tcmd *cmd)
{
	if (!cmd->status)
		cmd->status = nvme_tpi_pulled(cmd);
	if (cmd->status)
		answer(cmd);
	else
		go(cmd, TCMD_SUBMIT, &cmd->conn->t->submit);
}

enum nvme_admit nvme_tcmd_admit(struct nvme_tcmd *cmd, uint64_t now)
{
	/* Memory first: it can be given back, a charge cannot. */
	enum nvme_tmem memory = nvme_tmem_get_in_turn(cmd);
	struct nvme_target *t = cmd->conn->t;

	if (memory != TMEM_HAS)
		return memory == TMEM_SHORT ? WAITS : WAITS_ALONE;
	if (!charge(cmd, now)) {
		if (!cmd->early)
			nvme_tmem_put(cmd);
		return WAITS;
	}
	nvme_tmem_keep(cmd);
	TAILQ_REMOVE(&(cmd->ns ? cmd->ns : &t->ns[0])->queue, cmd, link);
	if (!nvme_exec_pulls(cmd)) {
		go(cmd, TCMD_SUBMIT, &t->submit);
	} else if (cmd->data == cmd->n) {
		complete(cmd);
	} else {
		cmd->phase = TCMD_PULL;
		want_send(cmd);
	}
	return ADMITTED;
}

bool nvme_tcmd_in_store(const struct nvme_tcmd *cmd)
{
	return cmd->phase == TCMD_IO || (cmd->phase == TCMD_SUBMIT && cmd->metadata);
}

/* |cmd|, whose connection is lost, is in a store; |n|: or, -1, is no more. */
static void count_orphan(struct nvme_tcmd *cmd, int n)
{
	struct nvme_target *t = cmd->conn->t;

	t->stats.orphans += (uint64_t)n;
	cmd->conn->orphans += (uint32_t)n;
	cmd->conn->orphans_of[cmd->ns - t->ns] += (uint8_t)n;
}

static void io_done(struct nvme_io *io, int res)
{
	struct nvme_tcmd *cmd = (struct nvme_tcmd *)((char *)io - offsetof(struct nvme_tcmd, io));
	struct nvme_target *t = cmd->conn->t;

	t->ready++;
	cmd->refs--;
	cmd->ns->ios--;
	t->room = t->room || !TAILQ_EMPTY(&cmd->ns->full);
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
	count_orphan(cmd, -1);
	retire(cmd);
}

/* Off the list that |cmd|, in TCMD_SUBMIT, is on. */
static void unlist(struct nvme_tcmd *cmd)
{
	TAILQ_REMOVE(cmd->parked ? &cmd->ns->full : &cmd->conn->t->submit, cmd, link);
	cmd->parked = false;
}

bool nvme_tcmd_submit(struct nvme_tcmd *cmd)
{
	if (nvme_exec_prepare(cmd)) {
		cmd->io.done = io_done;
		if (cmd->io.store->ops->submit(&cmd->io) < 0)
			return false;
		cmd->refs++;
		cmd->ns->ios++;
		cmd->phase = TCMD_IO;
		unlist(cmd);
		return true;
	}
	unlist(cmd);
	answer(cmd);
	return true;
}

/* Bring down what |n| pulled; what the initiator says of it may end the command. */
void nvme_target_on_pull_data(struct nvme_tncmd *n, const void *payload, uint32_t len)
{
	struct nvme_tcmd *cmd = n->cmd;
	const struct nvme_tpart p = nvme_tncmd_part(n);
	struct falcon_nvme_hdr h;

	if (n->state != TNCMD_PULLING || cmd->conn->down)
		return;
	if (!falcon_nvme_nbth_unpack(payload, len, &h) || h.type != FALCON_NVME_WRITE_DATA ||
	    h.itag != n->itag || h.icmd != cmd->icmd ||
	    len != sizeof(struct falcon_nvme_response) + nvme_tpart_len(&p)) {
		cmd->conn->t->stats.malformed += len > 0;
		return;
	}
	take_data(n, (const uint8_t *)payload + sizeof(struct falcon_nvme_response), h.inv);
}

static void pulled(struct nvme_tncmd *n)
{
	struct nvme_tcmd *cmd = n->cmd;

	/* No data, or none that could be used: see nvme_target_on_pull_data(). */
	if (n->state == TNCMD_PULLING)
		cmd->status = NVME_SC_DATA_XFER_ERROR;
	n->state = TNCMD_DATA;
	if (++cmd->data == cmd->n)
		complete(cmd);
}

void nvme_target_on_completion(struct nvme_tncmd *n, enum falcon_completion_code code)
{
	struct nvme_tcmd *cmd = n->cmd;

	(void)code;
	cmd->refs--;
	if (cmd->conn->down) {
		if (!cmd->refs && !nvme_tcmd_in_store(cmd))
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
	else if (nvme_tcmd_in_store(cmd))
		count_orphan(cmd, 1);
	else if (cmd->phase == TCMD_SUBMIT)
		unlist(cmd);
	if (!cmd->refs && !nvme_tcmd_in_store(cmd))
		retire(cmd);
}
