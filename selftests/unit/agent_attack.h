/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attacks on encrypted connections that PSP (agent_attack.c) and ESP (agent_attack_esp.c) have to
 * refuse alike: nothing changes if one is refused.
 */
#ifndef FALCON_SELFTESTS_AGENT_ATTACK_H
#define FALCON_SELFTESTS_AGENT_ATTACK_H

#include "agent_env.h"

/* An encapsulation as the attacks need to know it: what their tests get as their state. */
struct attack {
	uint8_t encap;
	uint32_t spi_off, iv_off;	/* in the security header */
	uint32_t min, word;		/* UDP's length: of the shortest packet, and its unit */
	enum falcon_verdict reflected;	/* our packet as we sent it */
	enum falcon_verdict not_ours;	/* an SPI that is nobody's */
};

/* A test of the encapsulation that the file calls |on|, with connections of its own. */
#define ATTACK(test) cmocka_unit_test_prestate_setup_teardown(test, fresh, done, &on)

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

/* The IPv4 header of |f| was changed: its checksum is right again. */
static inline void fix_ip_sum(struct stage_frame *f)
{
	uint8_t *ip = f->data + ETH_HLEN;
	uint32_t sum = 0;

	memset(ip + 10, 0, 2);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* Make IP and UDP announce |udp_len| bytes, which is what |f| holds from now on. */
static inline void set_length(struct stage_frame *f, uint32_t udp_len)
{
	struct falcon_frame p = where(f);

	*(uint16_t *)(f->data + p.udp_off + 4) = htons((uint16_t)udp_len);
	*(uint16_t *)(f->data + p.l3_off + 2) = htons((uint16_t)(udp_len + 20));
	fix_ip_sum(f);
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

static inline void open_stage(uint8_t encap)
{
	struct stage_frame f;

	stage_open(encap);
	stage_next(1, &f);
	accepted(&f);
}

static inline int fresh(void **state)
{
	const struct attack *on = *state;

	open_stage(on->encap);
	return 0;
}

static inline int done(void **state)
{
	(void)state;
	stage_close();
	for (unsigned int i = 0; i < ARRAY_SIZE(stage.sadb); i++)
		assert_int_equal(stage.sadb[i].spi, 0);
	return 0;
}

static inline void set_spi(const struct attack *on, struct stage_frame *f, uint32_t spi)
{
	*(uint32_t *)(f->data + where(f).sec_off + on->spi_off) = htonl(spi);
}

static inline void set_cid(struct stage_frame *f, uint32_t cid)
{
	f->data[where(f).falcon_off + 3] = (uint8_t)cid;
}

/* With a key of his own, the attacker's packets are perfect but for the ICV. */
static inline void forged(void **state)
{
	const struct attack *on = *state;
	const uint8_t key[SA_KEY_MAX] = "my own";
	struct sa *own = stage.peer[1].sa;
	struct stage_frame f;

	stage.peer[1].sa = sa_new(SA_SEAL, on->encap, sa_spi(own), key);
	stage_next(1, &f);
	refused(&f, FALCON_V_drop_auth);
	sa_free(stage.peer[1].sa);
	stage.peer[1].sa = own;
	stage.peer[1].psn--;
	stage_next(1, &f);
	accepted(&f);
}

/*
 * Every bit from the security header to the ICV. |want|, told the bit, counted from there, and the
 * verdict, returns what the verdict should have been.
 */
static inline void flip_all(uint8_t encap,
			    enum falcon_verdict (*want)(uint32_t bit, enum falcon_verdict v))
{
	struct stage_frame f, g;
	uint32_t first;

	open_stage(encap);
	stage_next(1, &f);
	first = where(&f).sec_off * 8u;
	for (uint32_t bit = first; bit < f.len * 8; bit++) {
		g = f;
		g.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		refused(&g, want(bit - first, stage_receive(&g)));
	}
	accepted(&f);
	stage_close();
}

static inline void truncated(void **state)
{
	const struct attack *on = *state;
	struct stage_frame f, g;
	struct falcon_frame p;

	stage_next(1, &f);
	p = where(&f);
	for (uint32_t len = 0; len < f.len; len++) {
		g = f;
		g.len = len;
		refused(&g, len < p.sec_off + 16u ? FALCON_V_pass_not_falcon
						  : FALCON_V_drop_ip_length);
	}
	/* IP and UDP changed to match: too short, not in whole words, or another ICV. */
	for (uint32_t len = 8 + 16; len < p.udp_len; len++) {
		g = f;
		set_length(&g, len);
		refused(&g, len < on->min ? FALCON_V_drop_truncated
					  : len % on->word ? FALCON_V_drop_esp : FALCON_V_drop_auth);
	}
	g = f;
	set_length(&g, p.udp_len + on->word);
	refused(&g, FALCON_V_drop_auth);
	accepted(&f);
}

/* Within the margin a replayed packet is a duplicate, which is answered; beyond it, it is nothing. */
static inline void replayed(void **state)
{
	struct stage_frame f, g;
	uint64_t remote_time;

	(void)state;
	stage_next(1, &f);
	accepted(&f);
	stage_next(1, &g);
	accepted(&g);
	remote_time = stage.shared[1].rx.remote_time;
	for (int i = 0; i < 3; i++) {
		uint32_t pushes = stage.pushes;

		/* In or below the window, depending on whether it has been acknowledged. */
		assert_true(falcon_verdict_answers(stage_receive(&f)));
		assert_int_equal(stage.pushes, pushes);
		assert_int_equal(stage.shared[1].rx.remote_time, remote_time);
	}
	stage.peer[1].clock += stage.config.replay_margin;
	stage_next(1, &g);
	accepted(&g);
	refused(&f, FALCON_V_drop_replay);
}

/* An IV from the future would shut the peer out: it must be authenticated first. */
static inline void remote_time_moves_only_after_authentication(void **state)
{
	const struct attack *on = *state;
	struct stage_frame f, g;

	stage_next(1, &f);
	g = f;
	g.data[where(&f).sec_off + on->iv_off] ^= 0x10;
	refused(&g, FALCON_V_drop_auth);
	accepted(&f);
}

/* Our own packets sent back to us, as ours and as the peer's. */
static inline void reflected(void **state)
{
	const struct attack *on = *state;
	struct frame_template t;
	struct frame_route r = { .encap = on->encap };
	struct falcon_hdr h = { .cid = 1, .type = FALCON_PUSH_DATA, .psn = STAGE_PSN + 1 };
	struct fcore_packet pkt = {};
	struct stage_frame f;

	stage_address(r.src_addr.b, 1);
	stage_address(r.dst_addr.b, 2);
	frame_template_init(&t, &r);
	pkt.hdr_len = falcon_hdr_pack(&h, pkt.hdr);
	f.len = (uint32_t)frame_build(&t, stage.conn[1].sec.tx, &pkt, 2000000000, f.data);
	refused(&f, on->reflected);
	/* Addresses exchanged, by chance even the CIDs are the same. */
	*(uint32_t *)(f.data + ETH_HLEN + 12) = htonl(0x0a000002);
	*(uint32_t *)(f.data + ETH_HLEN + 16) = htonl(0x0a000001);
	fix_ip_sum(&f);
	refused(&f, on->not_ours);
	/* And the SPI is made ours. */
	set_spi(on, &f, stage.shared[1].id.cur_spi);
	refused(&f, FALCON_V_drop_auth);
	*(uint32_t *)(f.data + ETH_HLEN + 12) = htonl(0x0a000001);
	fix_ip_sum(&f);
	refused(&f, FALCON_V_drop_address);
}

/* A packet of one connection passed off as another's, which only the key keeps apart. */
static inline void cross_connection(void **state)
{
	const struct attack *on = *state;
	struct stage_frame f, g;

	stage_next(1, &f);
	g = f;
	if (!falcon_encap_is_esp(on->encap))
		set_cid(&g, 2);
	set_spi(on, &g, stage.shared[2].id.cur_spi);
	refused(&g, FALCON_V_drop_auth);
	/* A peer with a key of its own, connection 2's, speaks as connection 1. */
	stage_next(2, &g);
	if (!falcon_encap_is_esp(on->encap))
		set_cid(&g, 1);
	set_spi(on, &g, stage.shared[1].id.cur_spi);
	refused(&g, FALCON_V_drop_auth);
	accepted(&f);
}

static inline void cross_tenant(void **state)
{
	(void)state;
	for_another_function(1);
}

/* A packet in |encap| that is right in every other way. */
static inline void downgraded_to(uint8_t encap)
{
	struct frame_template keep = stage.peer[1].tmpl;
	struct sa *own = stage.peer[1].sa;
	struct frame_route r = { .encap = encap };
	struct stage_frame f;

	r.spi = stage.shared[1].id.cur_spi;
	stage_address(r.dst_addr.b, 1);
	stage_address(r.src_addr.b, 2);
	frame_template_init(&stage.peer[1].tmpl, &r);
	stage.peer[1].sa = sa_new(SA_SEAL, encap, r.spi, stage.peer[1].told.key);
	stage_next(1, &f);
	refused(&f, FALCON_V_drop_psp_version);
	sa_free(stage.peer[1].sa);
	stage.peer[1].sa = own;
	stage.peer[1].tmpl = keep;
}

/* Nothing of what was sealed with a key that is gone. */
static inline void old_spi_and_expired_generation(void **state)
{
	const struct attack *on = *state;
	struct stage_frame f, g;
	char err[128];

	stage_next(1, &f);
	stage_next(2, &g);
	assert_int_equal(rekey_conn(&stage.conn[1], err, sizeof(err)), 0);
	stage_turn(1);
	stage_answer(1);
	stage_turn(stage.a.config.agent.key_settle_ns);
	refused(&f, on->not_ours);
	assert_int_equal(rekey_all(&stage.a, err, sizeof(err)), 0);
	stage_turn(1);
	for (uint32_t cid = 1; cid <= STAGE_CONNS; cid++)
		stage_answer(cid);
	stage_turn(stage.a.config.agent.key_settle_ns);
	assert_false(stage.a.rekey.rotating);
	refused(&g, on->not_ours);
	/* Not even if the connection still named the SPI. */
	stage.shared[2].id.cur_spi = stage.shared[2].id.prev_spi = sa_spi(stage.peer[2].sa);
	stage.shared[2].id.cur_spi_gen--;
	stage_next(2, &g);
	refused(&g, FALCON_V_drop_spi);
}

#endif /* FALCON_SELFTESTS_AGENT_ATTACK_H */
