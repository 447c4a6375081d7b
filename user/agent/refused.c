// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packets that were refused, for the log. XDP can only count, so the counters of both XDP and the
 * agent are looked at once in a while, and what has moved is told, at a limited rate: anybody can send
 * packets.
 */
#include "agent/agent.h"
#include "base/log.h"

static const struct {
	const char *name, *text;
} reasons[FALCON_VERDICT_COUNT] = {
#define REASON(name, text) { #name, text },
	FALCON_VERDICTS(REASON)
#undef REASON
};

/* What has become of packets because of what they are, not because of our state or load. */
static bool refusal(unsigned int v)
{
	return v == FALCON_V_ack_invalid || (v >= FALCON_V_drop_truncated && v < FALCON_V_drop_busy);
}

void agent_log_refused(struct agent *a)
{
	const uint64_t *own = (const uint64_t *)&a->shard.counters;
	struct falcon_counters sum;
	uint64_t *total = (uint64_t *)&sum;

	if (maps_counters(&a->maps, &sum) < 0)
		return;
	for (unsigned int v = 0; v < FALCON_VERDICT_COUNT; v++) {
		total[v] += own[v];
		if (refusal(v) && a->refused_known && total[v] != a->refused[v])
			log_ratelimited(LOG_LEVEL_WARN, &a->refused_limit,
					"packets refused reason=%s packets=%llu: %s", reasons[v].name,
					(unsigned long long)(total[v] - a->refused[v]),
					reasons[v].text);
		a->refused[v] = total[v];
	}
	a->refused_known = true;
}
