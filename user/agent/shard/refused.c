// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packets that were refused, for the log. XDP can only count, so the counters of both XDP and the
 * shard are looked at once in a while, and what has moved is told, at a limited rate: anybody can send
 * packets.
 */
#include "agent/shard/shard.h"

#include "agent/shard/plane.h"
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

void shard_log_refused(struct shard *s)
{
	const __u64 *own = (const __u64 *)&s->counters;
	struct falcon_counters sum = {};
	__u64 *total = (__u64 *)&sum;

	/* One shard tells of XDP's, for all. */
	if (s->index == 0 && maps_counters(&s->plane->maps, &sum) < 0)
		return;
	for (unsigned int v = 0; v < FALCON_VERDICT_COUNT; v++) {
		total[v] += own[v];
		if (refusal(v) && s->refused_known && total[v] != s->refused[v])
			log_ratelimited(LOG_LEVEL_WARN, &s->refused_limit,
					"packets refused reason=%s packets=%llu: %s", reasons[v].name,
					(unsigned long long)(total[v] - s->refused[v]),
					reasons[v].text);
		s->refused[v] = total[v];
	}
	s->refused_known = true;
}
