/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection in a core with small cells, and what it holds. */
#ifndef FALCON_SELFTESTS_CORE_HELD_H
#define FALCON_SELFTESTS_CORE_HELD_H

#include "core_env.h"

enum { HELD_CELL = 128, HELD_CID2 = 6 };

/* Cells of 128 bytes, transactions of up to 1000 bytes: 8 cells. */
static inline struct fcore_config held_config(void)
{
	struct fcore_config cfg;

	fcore_config_default(&cfg, 4);
	cfg.tx_cell = cfg.rx_cell = HELD_CELL;
	cfg.max_len = 1000;
	return cfg;
}

static inline void held_open(bool ordered)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(ordered);

	env_open_with(&p, &cfg);
}

static inline const uint32_t *held(void)
{
	return fcore_resources(env.core, FCORE_LEVEL_CONN, ENV_CID)->used;
}

/* All that the connection holds, in the order of enum fcore_resource; the same at every level. */
static inline void held_expect(const uint32_t want[FCORE_RESOURCES])
{
	for (int level = 0; level < FCORE_LEVELS; level++) {
		const struct fcore_account *a = fcore_resources(
			env.core, (enum fcore_level)level, level == FCORE_LEVEL_CONN ? ENV_CID : 0);

		for (int r = 0; r < FCORE_RESOURCES; r++)
			if (a->used[r] != want[r])
				fail_msg("level %d: %u of %s, not %u", level, a->used[r],
					 fcore_resource_name((enum fcore_resource)r), want[r]);
	}
}
#define EXPECT_HELD(...) held_expect((const uint32_t[FCORE_RESOURCES]){ __VA_ARGS__ })

static inline int held_submit(struct fcore_conn *c, bool pull, uint32_t len)
{
	static const uint8_t bytes[1000];
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .payload = bytes, .len = len };

	return pull ? fcore_pull(c, &t, env.now) : fcore_push(c, &t, env.now);
}

/* A request of the peer, its |n|-th PSN of the window, its |r|-th RSN. */
static inline void held_receive(bool pull, uint32_t n, uint32_t r, uint32_t len)
{
	env_receive((struct falcon_hdr){ .type = pull ? FALCON_PULL_REQUEST : FALCON_PUSH_DATA,
					 .psn = (pull ? ENV_PEER_REQ : ENV_PEER_DATA) + n,
					 .rsn = ENV_PEER_RSN + r,
					 .request_len = (__u16)len },
		    pull ? 0 : len);
}

static inline void held_raise(uint32_t limit[FCORE_RESOURCES])
{
	for (int r = 0; r < FCORE_RESOURCES; r++)
		limit[r] = FCORE_NO_LIMIT;
}

/* Limit |r| to |n| at |level|, everything else to nothing in particular. */
static inline void held_limit(enum fcore_level level, enum fcore_resource r, uint32_t n)
{
	uint32_t limit[FCORE_RESOURCES];

	held_raise(limit);
	limit[r] = n;
	if (level == FCORE_LEVEL_HOST)
		assert_int_equal(fcore_limit_host(env.core, 0, limit), 0);
	else if (level == FCORE_LEVEL_FUNCTION)
		assert_int_equal(fcore_limit_function(env.core, 0, limit), 0);
	else
		fcore_limit_conn(env.c, limit);
}

static struct falcon_conn held_second;

/* Another connection, in the accounts of |host| and |function|. */
static inline struct fcore_conn *held_open_second(uint32_t host, uint32_t function)
{
	struct fcore_params p = env_params(true);
	struct fcore_conn *c;

	memset(&held_second, 0, sizeof(held_second));
	held_second.id.cid = HELD_CID2;
	held_second.id.peer_cid = ENV_PEER_CID;
	p.host = host;
	p.local_function = function;
	c = fcore_conn_open(env.core, HELD_CID2, &held_second, &p, env.now);
	assert_non_null(c);
	return c;
}

#endif /* FALCON_SELFTESTS_CORE_HELD_H */
