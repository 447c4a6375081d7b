// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the agent knows and tells of packets that XDP had only steered to it (user/agent/shard/steer.c), as
 * XDP does of those in the clear.
 */
#include "agent_attack.h"

static struct attack on = { .encap = FALCON_PSP_AES_GCM_128 };

/* ECN marks of encrypted packets are counted by the agent, which alone knows that it accepts them. */
static void ce_marks(void **state)
{
	struct stage_frame f;

	(void)state;
	stage_next(1, &f);
	accepted(&f);
	assert_int_equal(stage.a.plane.shards[0].stats.ce_marked, 0);
	stage_next(1, &f);
	f.data[ETH_HLEN + 1] |= FALCON_ECN_CE;
	fix_ip_sum(&f);
	accepted(&f);
	assert_int_equal(stage.a.plane.shards[0].stats.ce_marked, 1);
}

/* The event of an ACK comes after the core has taken the ACK: with several flows, only the core can count. */
static void events_count_what_their_ack_acknowledged(void **state)
{
	static const uint8_t payload[STAGE_PAYLOAD] = "ours";
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .payload = payload, .len = sizeof(payload) };
	struct falcon_ack ack = { .type = FALCON_BACK, .cid = 1 };
	struct stage_frame f;

	(void)state;
	stage_drop(1);
	stage.flows = 2;
	stage_connect(1, on.encap);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(fcore_push(stage.conn[1].core, &t, stage.a.now), 0);
	fcore_run(stage.a.plane.shards[0].core, stage.a.now, 100);
	assert_int_equal(stage.answers, 5);
	assert_true(stage.sent_on[0] > 0 && stage.sent_on[1] > 0);
	ack.rdbpsn = stage.shared[1].cc.data_next;
	ack.rrbpsn = stage.shared[1].cc.req_next;
	stage_ack(1, 1, &ack, &f);
	stage_receive(&f);
	assert_int_equal(stage.rue_acked, stage.sent_on[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ATTACK(ce_marks),
		ATTACK(events_count_what_their_ack_acknowledged),
	};

	return unit_run(tests);
}
