// SPDX-License-Identifier: BSD-2-Clause
/* The target's life: namespaces, connections, and the round of the loop. */
#include "ulp/nvme/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ulp/nvme/target_priv.h"

struct nvme_target *nvme_target_create(uint32_t shard, uint64_t memory)
{
	struct nvme_target *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->shard = shard;
	if (memory < TARGET_MEMORY_MIN)
		memory = TARGET_MEMORY_MIN;
	t->pool = nvme_pool_create(memory);
	if (!t->pool) {
		free(t);
		return NULL;
	}
	TAILQ_INIT(&t->conns);
	TAILQ_INIT(&t->submit);
	TAILQ_INIT(&t->early);
	for (unsigned int i = 0; i < NVME_MAX_NS; i++) {
		TAILQ_INIT(&t->ns[i].queue);
		TAILQ_INIT(&t->ns[i].full);
		TAILQ_INIT(&t->ns[i].exclusive);
	}
	return t;
}

void nvme_target_destroy(struct nvme_target *t)
{
	struct nvme_tconn *c;

	if (!t)
		return;
	while ((c = TAILQ_FIRST(&t->conns))) {
		TAILQ_REMOVE(&t->conns, c, link);
		free(c);
	}
	for (unsigned int i = 0; i < t->nns; i++)
		free(t->ns[i].peers);
	nvme_pool_destroy(t->pool);
	free(t);
}

void *nvme_target_memory(const struct nvme_target *t, size_t *bytes)
{
	return nvme_pool_base(t->pool, bytes);
}

void nvme_target_set_host(struct nvme_target *t, const struct ulp_host *host, void *agent)
{
	t->host = host;
	t->agent = agent;
}

int nvme_target_add(struct nvme_target *t, const struct nvme_ns_attr *attr, char *err,
		    size_t errlen)
{
	struct nvme_tns *ns = &t->ns[t->nns];

	for (unsigned int i = 0; i < t->nns; i++) {
		if (t->ns[i].attr.nsid != attr->nsid)
			continue;
		snprintf(err, errlen, "namespaces %s and %s both have nsid %u", t->ns[i].attr.name,
			 attr->name, attr->nsid);
		return -EEXIST;
	}
	if (t->nns == NVME_MAX_NS) {
		snprintf(err, errlen, "more than %d namespaces", NVME_MAX_NS);
		return -ENOSPC;
	}
	if (!(nvme_store_bytes(attr->store) >> attr->block_shift)) {
		snprintf(err, errlen, "namespace %s has no room for one block", attr->name);
		return -EINVAL;
	}
	if (attr->metadata && nvme_store_bytes(attr->metadata) / sizeof(struct nvme_md) <
			      nvme_store_bytes(attr->store) >> attr->block_shift) {
		snprintf(err, errlen, "namespace %s has no room for the protection information of "
			 "all its blocks", attr->name);
		return -EINVAL;
	}
	ns->attr = *attr;
	ns->peers = strdup(attr->peers);
	if (!ns->peers)
		return -ENOMEM;
	ns->attr.peers = ns->peers;
	ns->attr.read_only |= attr->store->read_only ||
			      (attr->metadata && attr->metadata->read_only);
	ns->blocks = nvme_store_bytes(attr->store) >> attr->block_shift;
	t->nns++;
	return 0;
}

bool nvme_target_ns(const struct nvme_target *t, unsigned int i, struct nvme_ns_attr *attr,
		    struct nvme_ns_stats *stats)
{
	if (i >= t->nns)
		return false;
	*attr = t->ns[i].attr;
	*stats = t->ns[i].stats;
	return true;
}

/* Initiators of the |i|th namespace ask what has changed. */
static void tell(struct nvme_target *t, unsigned int i)
{
	struct nvme_tconn *c;

	TAILQ_FOREACH(c, &t->conns, link)
		if (!c->down && nvme_exec_visible(c, i))
			nvme_tconn_event(c);
}

void nvme_target_set_blocks(struct nvme_target *t, unsigned int i, uint64_t blocks)
{
	if (t->ns[i].blocks == blocks)
		return;
	t->ns[i].blocks = blocks;
	tell(t, i);
}

void nvme_target_set_inaccessible(struct nvme_target *t, unsigned int i, bool inaccessible)
{
	if (t->ns[i].attr.inaccessible == inaccessible)
		return;
	t->ns[i].attr.inaccessible = inaccessible;
	tell(t, i);
}

bool nvme_target_beyond(const struct nvme_target *t, unsigned int i, uint64_t blocks)
{
	const struct nvme_tconn *c;

	TAILQ_FOREACH(c, &t->conns, link)
		for (unsigned int k = 0; k < NVME_TCMDS; k++)
			if (c->cmds[k].ns == &t->ns[i] && nvme_tcmd_in_store(&c->cmds[k]) &&
			    c->cmds[k].cmd.slba + c->cmds[k].cmd.nlb + 1 > blocks)
				return true;
	return false;
}

void nvme_target_set_limits(struct nvme_target *t, unsigned int i, uint64_t iops, uint64_t bps)
{
	t->ns[i].attr.iops = iops;
	t->ns[i].attr.bps = bps;
	/* What waits has been waiting for the old ones. */
	t->ns[i].busy_until = 0;
	t->ready++;
}

void nvme_target_stats(const struct nvme_target *t, struct nvme_target_stats *out)
{
	size_t bytes;

	*out = t->stats;
	nvme_pool_base(t->pool, &bytes);
	out->memory_size = bytes;
	out->memory_used = nvme_pool_used(t->pool);
	out->memory_most = nvme_pool_most(t->pool);
}

/* Whether |name| is one of |list|. */
static bool listed(const char *list, const char *name)
{
	static const char blanks[] = ", \t";
	size_t n;

	for (list += strspn(list, blanks); *list; list += n + strspn(list + n, blanks)) {
		n = strcspn(list, blanks);
		if (n == 3 && !strncmp(list, "any", 3))
			return true;
		if (n == strlen(name) && n && !strncasecmp(list, name, n))
			return true;
	}
	return false;
}

static bool same_address(const struct nvme_tconn *a, const struct nvme_tconn *b)
{
	return a->ends.family == b->ends.family &&
	       falcon_addr_equal(&a->ends.remote, &b->ends.remote);
}

/*
 * The same initiator's earlier connection, which it has lost, or it would not dial; and those of the agent
 * that was at the same address before, whose writes must not come after those of its successor.
 */
static void replace(struct nvme_target *t, const struct nvme_tconn *fresh)
{
	struct nvme_tconn *c, *next;

	for (c = TAILQ_FIRST(&t->conns); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->down)
			continue;
		if (memcmp(c->host, fresh->host, sizeof(c->host))) {
			if (same_address(c, fresh))
				t->host->hangup(t->agent, c->cid, "its agent has been started again");
		} else if (c->device == fresh->device) {
			t->host->hangup(t->agent, c->cid, "its initiator has dialled again");
		}
	}
}

static struct nvme_tconn *new_conn(struct nvme_target *t, const struct ulp_request *req,
				   const struct falcon_nvme_offer *offer)
{
	struct nvme_tconn *c = calloc(1, sizeof(*c));
	bool any = false;

	if (!c)
		return NULL;
	c->t = t;
	c->cid = req->cid;
	c->device = falcon_ntoh32(offer->device);
	memcpy(c->host, offer->host, sizeof(c->host));
	c->ends = req->ends;
	snprintf(c->peer, sizeof(c->peer), "%s", req->peer);
	for (unsigned int i = 0; i < t->nns; i++) {
		if (!listed(t->ns[i].peers, req->peer))
			continue;
		c->allowed[i / 64] |= 1ULL << i % 64;
		any = true;
	}
	TAILQ_INIT(&c->free);
	TAILQ_INIT(&c->send);
	for (unsigned int i = 0; i < NVME_TCMDS; i++) {
		c->cmds[i].conn = c;
		TAILQ_INSERT_TAIL(&c->free, &c->cmds[i], link);
	}
	if (any)
		return c;
	free(c);
	return NULL;
}

/* False: |data| are not an initiator's. What they need not have is 0 if they do not have it. */
static bool unpack_offer(const struct ulp_data *data, struct falcon_nvme_offer *out)
{
	*out = (struct falcon_nvme_offer){};
	memcpy(out, data->bytes, data->len < sizeof(*out) ? data->len : sizeof(*out));
	return data->len >= FALCON_NVME_OFFER_MIN && out->magic == falcon_hton32(FALCON_NVME_MAGIC) &&
	       out->version == FALCON_NVME_VERSION;
}

uint32_t nvme_target_dial_for(const struct nvme_target *t, const struct ulp_data *data)
{
	struct falcon_nvme_offer offer;

	if (!unpack_offer(data, &offer))
		return 0;
	for (unsigned int i = 0; i < t->nns; i++)
		if (t->ns[i].attr.nsid == falcon_ntoh32(offer.nsid))
			return t->ns[i].attr.shard;
	return 0;
}

int nvme_target_accept(struct nvme_target *t, const struct ulp_request *req,
		       struct ulp_data *reply, char *err, size_t errlen)
{
	struct falcon_nvme_offer offer, answer = {
		.magic = falcon_hton32(FALCON_NVME_MAGIC), .version = FALCON_NVME_VERSION,
		.flags = FALCON_NVME_KNOWS_COMMAND | FALCON_NVME_KNOWS_COMBINED,
		.tcmds = falcon_hton16(NVME_TCMDS),
	};
	struct nvme_tconn *c;

	if (!unpack_offer(&req->data, &offer) || req->ends.ordered) {
		snprintf(err, errlen, "not an initiator of NVMe over Falcon, version %d, on an "
			 "unordered connection", FALCON_NVME_VERSION);
		return -EPROTO;
	}
	c = new_conn(t, req, &offer);
	if (!c) {
		snprintf(err, errlen, "no namespace is for %s",
			 req->peer[0] ? req->peer : "agents without a name");
		return -EPERM;
	}
	replace(t, c);
	TAILQ_INSERT_TAIL(&t->conns, c, link);
	t->by_cid[c->cid] = c;
	t->stats.initiators++;
	reply->len = sizeof(answer);
	memcpy(reply->bytes, &answer, sizeof(answer));
	return 0;
}

static struct nvme_tconn *conn_of(struct nvme_target *t, uint32_t cid)
{
	return cid < FALCON_MAX_CONNS ? t->by_cid[cid] : NULL;
}

int nvme_target_conn_up(struct nvme_target *t, const struct ulp_conn *conn)
{
	struct nvme_tconn *c = conn_of(t, conn->cid);

	if (!c)
		return -ENOENT;
	c->core = conn->core;
	c->max_len = conn->max_len;
	return 0;
}

bool nvme_target_conn_down(struct nvme_target *t, uint32_t cid)
{
	struct nvme_tconn *c = conn_of(t, cid);
	uint32_t left;

	if (!c)
		return false;
	t->by_cid[cid] = NULL;
	c->down = true;
	c->core = NULL;
	t->stats.initiators--;
	left = c->used;
	if (!left) {
		TAILQ_REMOVE(&t->conns, c, link);
		free(c);
	}
	/* The last one frees |c|. */
	for (unsigned int i = 0; left && i < TCMD_HASH; i++) {
		struct nvme_tcmd *cmd = c->hash[i], *next;

		for (; cmd; cmd = next) {
			next = cmd->next;
			left--;
			nvme_tcmd_abandon(cmd);
			if (!left)
				return true;
		}
	}
	return true;
}

/* As far as the queue of |ns| goes; the commands of a connection stay in their order. */
static uint32_t admit_ns(struct nvme_target *t, struct nvme_tns *ns)
{
	struct nvme_tcmd *cmd = TAILQ_FIRST(&ns->queue), *next;
	enum nvme_admit how = ADMITTED;
	uint32_t n = 0;

	t->round++;
	for (; cmd && how != WAITS; cmd = next) {
		next = TAILQ_NEXT(cmd, link);
		if (cmd->conn->waits == t->round)
			continue;
		how = nvme_tcmd_admit(cmd, t->now);
		n += how == ADMITTED;
		if (how == WAITS_ALONE)
			cmd->conn->waits = t->round;
	}
	return n;
}

/* Every namespace's queue in turn. */
static uint32_t admit(struct nvme_target *t)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < t->nns || i == 0; i++)
		n += admit_ns(t, &t->ns[t->nns ? (t->next_ns + i) % t->nns : 0]);
	t->next_ns++;
	return n;
}

static uint32_t send_all(struct nvme_target *t)
{
	struct nvme_tconn *c;
	struct nvme_tcmd *cmd;
	uint32_t n = 0;

	TAILQ_FOREACH(c, &t->conns, link) {
		while (c->core && !c->blocked && (cmd = TAILQ_FIRST(&c->send))) {
			if (nvme_tcmd_send(cmd))
				n++;
			else
				c->blocked = true;
		}
	}
	return n;
}

/* What its stores have no room for waits for that with its namespace, and holds up no other. */
static void park(struct nvme_target *t, struct nvme_tcmd *cmd)
{
	TAILQ_REMOVE(&t->submit, cmd, link);
	/* Others may wait for the blocks of what has written its data. */
	if (cmd->metadata)
		TAILQ_INSERT_HEAD(&cmd->ns->full, cmd, link);
	else
		TAILQ_INSERT_TAIL(&cmd->ns->full, cmd, link);
	cmd->parked = true;
}

static void unpark(struct nvme_target *t, struct nvme_tcmd *cmd)
{
	TAILQ_REMOVE(&cmd->ns->full, cmd, link);
	TAILQ_INSERT_TAIL(&t->submit, cmd, link);
	cmd->parked = false;
}

/* Requests of |ns| have ended: others may take their place. */
static uint32_t submit_parked(struct nvme_target *t, struct nvme_tns *ns)
{
	struct nvme_tcmd *cmd;
	uint32_t n = 0;

	for (; (cmd = TAILQ_FIRST(&ns->full)); n++) {
		if (!nvme_tpi_begin(cmd)) {
			unpark(t, cmd);
		} else if (!nvme_tcmd_submit(cmd)) {
			/* Without a request there will be no end of one. */
			t->room = t->room || !ns->ios;
			break;
		}
	}
	return n;
}

/* What waits for blocks, or for a store, holds up nobody else. */
static uint32_t submit_all(struct nvme_target *t)
{
	struct nvme_tcmd *cmd, *next;
	uint32_t n = 0;

	if (t->room) {
		t->room = false;
		for (unsigned int i = 0; i < t->nns; i++)
			n += submit_parked(t, &t->ns[i]);
	}
	for (cmd = TAILQ_FIRST(&t->submit); cmd; cmd = next) {
		next = TAILQ_NEXT(cmd, link);
		if (!cmd->admin && !cmd->metadata && !TAILQ_EMPTY(&cmd->ns->full))
			park(t, cmd);
		else if (!nvme_tpi_begin(cmd))
			continue;
		else if (nvme_tcmd_submit(cmd))
			n++;
		else if (cmd->ns->ios)
			park(t, cmd);
		else
			t->ready++;
	}
	return n;
}

uint32_t nvme_target_pump(struct nvme_target *t, uint64_t now)
{
	uint32_t n;

	t->now = now;
	t->ready = 0;
	n = admit(t);
	n += submit_all(t);
	return n + send_all(t);
}

bool nvme_target_busy(const struct nvme_target *t)
{
	return t->ready || t->room;
}

uint64_t nvme_target_deadline(const struct nvme_target *t)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < t->nns; i++)
		if (!TAILQ_EMPTY(&t->ns[i].queue) && t->ns[i].busy_until > t->now &&
		    t->ns[i].busy_until < next)
			next = t->ns[i].busy_until;
	return next;
}

static bool same_host(const struct nvme_tconn *a, const struct nvme_tconn *b)
{
	return !memcmp(a->host, b->host, sizeof(a->host)) || (a->peer[0] && !strcmp(a->peer, b->peer)) ||
	       same_address(a, b);
}

/*
 * Whether a lost connection of the same host has left something of namespace |nsid| in a store. It may be
 * older than what comes now: it has to end first. Other namespaces have nothing to do with it, and may be
 * those of the host's other users: their media work.
 */
static bool left_behind(const struct nvme_tconn *c, uint32_t nsid)
{
	const struct nvme_target *t = c->t;
	const struct nvme_tconn *lost;
	unsigned int i = 0;

	if (!t->stats.orphans)
		return false;
	while (i < t->nns && t->ns[i].attr.nsid != nsid)
		i++;
	TAILQ_FOREACH(lost, &t->conns, link)
		if (lost->orphans && i < t->nns && lost->orphans_of[i] && same_host(lost, c))
			return true;
	return false;
}

void nvme_target_on_push(struct nvme_target *t, struct fcore_conn *core, uint32_t rsn,
			 const void *payload, uint32_t len, uint64_t now)
{
	enum fcore_push_outcome outcome = FCORE_PUSH_CIE;
	struct nvme_tconn *c = conn_of(t, fcore_conn_cid(core));
	const uint32_t fixed = sizeof(struct falcon_nvme_request);
	struct falcon_nvme_cmd cmd;
	struct falcon_nvme_hdr h;

	if (c && falcon_nvme_nbth_unpack(payload, len, &h) &&
	    falcon_nvme_hdr_len(h.type) == fixed) {
		memset(&cmd, 0, sizeof(cmd));
		falcon_nvme_request_unpack(payload, h.type, &cmd);
		outcome = left_behind(c, cmd.target_nsid) ? FCORE_PUSH_RNR :
			  nvme_tcmd_request(c, &h, &cmd, (const uint8_t *)payload + fixed, len - fixed);
	}
	t->stats.malformed += outcome == FCORE_PUSH_CIE;
	fcore_push_done(core, rsn, outcome, TARGET_RNR_CODE, 0, now);
}

void nvme_target_on_xon(struct nvme_target *t, uint32_t cid)
{
	struct nvme_tconn *c = conn_of(t, cid);

	if (c) {
		c->blocked = false;
		t->ready++;
	}
}
