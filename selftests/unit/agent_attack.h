/* SPDX-License-Identifier: BSD-2-Clause */
/* What the attacks on encrypted connections share: nothing changes if one is refused. */
#ifndef FALCON_SELFTESTS_AGENT_ATTACK_H
#define FALCON_SELFTESTS_AGENT_ATTACK_H

#include "agent_env.h"

/* All of the agent's state that a packet could change. */
struct state {
	struct falcon_conn shared[STAGE_CONNS + 1];
	struct fcore_stats stats[STAGE_CONNS + 1];
	uint64_t rx_packets[STAGE_CONNS + 1];
	uint32_t pushes, answers;
};

static inline void remember(struct state *s)
{
	memcpy(s->shared, stage.shared, sizeof(s->shared));
	for (uint32_t cid = 1; cid <= STAGE_CONNS; cid++) {
		s->stats[cid] = *fcore_conn_stats(stage.conn[cid].core);
		s->rx_packets[cid] = stage.conn[cid].sec.rx_packets;
	}
	s->pushes = stage.pushes;
	s->answers = stage.answers;
}

static inline void refused(const struct stage_frame *f, enum falcon_verdict want)
{
	static struct state before, after;
	enum falcon_verdict v;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	remember(&before);
	v = stage_receive(f);
	remember(&after);
	assert_int_equal(v, want);
	assert_memory_equal(&before, &after, sizeof(before));
}

static inline void accepted(const struct stage_frame *f)
{
	uint32_t pushes = stage.pushes;

	assert_int_equal(stage_receive(f), FALCON_V_rx_data);
	assert_int_equal(stage.pushes, pushes + 1);
}

static inline struct falcon_frame where(const struct stage_frame *f)
{
	struct falcon_frame p;

	assert_int_equal(falcon_parse_frame(f->data, f->data + f->len, &p), FALCON_V_rx_data);
	return p;
}

/* Make IP and UDP announce |udp_len| bytes, which is what |f| holds from now on. */
static inline void set_length(struct stage_frame *f, uint32_t udp_len)
{
	struct falcon_frame p = where(f);

	*(uint16_t *)(f->data + p.udp_off + 4) = htons((uint16_t)udp_len);
	*(uint16_t *)(f->data + p.l3_off + 2) = htons((uint16_t)(udp_len + 20));
	f->len = p.udp_off + udp_len;
}

/* The peer itself, with the right key, but to another tenant's function: the key's use counts, no more. */
static inline void for_another_function(uint32_t cid)
{
	static struct state before, after;
	struct stage_frame f;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	stage.shared[cid].id.rx_function = 9;
	stage.function = 8;
	stage_next(cid, &f);
	remember(&before);
	assert_int_equal(stage_receive(&f), FALCON_V_drop_function);
	remember(&after);
	before.rx_packets[cid]++;
	assert_memory_equal(&before, &after, sizeof(before));
	stage.function = 9;
	stage.peer[cid].psn--;
	stage_next(cid, &f);
	accepted(&f);
}

#endif /* FALCON_SELFTESTS_AGENT_ATTACK_H */
