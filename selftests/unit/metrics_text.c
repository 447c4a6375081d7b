// SPDX-License-Identifier: BSD-2-Clause
/* Counters by description: rows for falconctl, names of metrics, labels, and what a scraper asks for. */
#include "unit.h"

#include <string.h>

#include <agent/metrics/metrics.h>
#include <core/core.h>

static const char *name_of(enum stat_table_id id, const char *stat, const char *prefix)
{
	static char name[STAT_NAME_MAX];

	stat_metric_name(stat_find(id, stat), prefix, name);
	return name;
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(name_of(STAT_CORE, "tx_packets", "falcon_transport"),
			    "falcon_transport_tx_packets");
	assert_string_equal(name_of(STAT_CORE, "rtt_ns", "falcon_connection"),
			    "falcon_connection_rtt_seconds");
	assert_string_equal(name_of(STAT_FLOW, "rto_ns", "falcon_flow"), "falcon_flow_rto_seconds");
	assert_string_equal(name_of(STAT_QP, "tx_bytes", "falcon_rdma_qp"), "falcon_rdma_qp_tx_bytes");
	assert_string_equal(name_of(STAT_NVME_TARGET, "memory_used", "falcon_nvme_target"),
			    "falcon_nvme_target_memory_used_bytes");
	assert_string_equal(name_of(STAT_XDP, "xdp_tx", "falcon_xdp"), "falcon_xdp_tx");
	assert_null(stat_find(STAT_CORE, "tx_packet"));
}

static void rows(void **state)
{
	const struct fcore_stats core = { .tx_packets = 7, .rtt_ns = 1500, .tx_probes = 3 };
	const struct fcore_flow_stats flow = { .rtt_ns = 1500, .sent = 9 };
	json_t *row = json_object();

	(void)state;
	STAT_PUT(row, FCORE_STATS, &core);
	assert_int_equal(json_object_size(row), stat_tables[STAT_CORE].n);
	assert_int_equal(json_integer_value(json_object_get(row, "tx_packets")), 7);
	assert_int_equal(json_integer_value(json_object_get(row, "tx_probes")), 3);
	assert_int_equal(json_integer_value(json_object_get(row, "rtt_ns")), 1500);
	json_object_clear(row);
	STAT_PUT(row, FCORE_FLOW_STATS, &flow);
	assert_true(json_real_value(json_object_get(row, "rtt_us")) == 1.5);
	assert_int_equal(json_integer_value(json_object_get(row, "sent")), 9);
	json_decref(row);
}

static void sums(void **state)
{
	struct fcore_stats sum = { .tx_packets = 1, .rtt_ns = 5 };
	const struct fcore_stats more = { .tx_packets = 2, .repaths = 3, .rtt_ns = 7 };

	(void)state;
	stat_add(STAT_CORE, &sum, &more);
	assert_int_equal(sum.tx_packets, 3);
	assert_int_equal(sum.repaths, 3);
	assert_int_equal(sum.rtt_ns, 5);
}

static void labels(void **state)
{
	char text[METRICS_LABELS_MAX] = "", longest[2 * METRICS_LABELS_MAX];

	(void)state;
	metrics_label(text, "connection", "a\"b\\c\n\xc3");
	assert_string_equal(text, "connection=\"a\\\"b\\\\c\\\\x0a\\\\xc3\"");
	metrics_label_number(text, "flow", 3);
	assert_non_null(strstr(text, "\",flow=\"3\""));

	/* What is too long is cut, and remains a label. */
	memset(longest, '\n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	text[0] = 0;
	metrics_label(text, "name", longest);
	assert_true(strlen(text) < sizeof(text));
	assert_int_equal(text[strlen(text) - 1], '"');
	metrics_label(text, "more", longest);
	assert_true(strlen(text) < sizeof(text));
	assert_int_equal(text[strlen(text) - 1], '"');
}

static void accepts(void **state)
{
	static const struct {
		const char *header;
		enum metrics_format format;
	} cases[] = {
		{ NULL, METRICS_PROMETHEUS },
		{ "", METRICS_PROMETHEUS },
		{ "*/*", METRICS_PROMETHEUS },
		{ "text/plain", METRICS_PROMETHEUS },
		{ "application/openmetrics-text", METRICS_OPENMETRICS },
		{ "application/openmetrics-text; version=1.0.0; charset=utf-8", METRICS_OPENMETRICS },
		{ "application/openmetrics-text;version=0.0.1", METRICS_PROMETHEUS },
		{ "application/openmetrics-text;q=0", METRICS_PROMETHEUS },
		{ "application/openmetrics-text;q=0.3, text/plain;q=0.5", METRICS_PROMETHEUS },
		{ "text/plain;q=0.3,application/openmetrics-text;q=0.5", METRICS_OPENMETRICS },
		{ "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;"
		  "version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", METRICS_OPENMETRICS },
		{ "application/openmetrics-textual", METRICS_PROMETHEUS },
		{ ",,, ;q=;q,application/openmetrics-text;q=9,\t", METRICS_PROMETHEUS },
		{ "application/openmetrics-text;q=nan", METRICS_PROMETHEUS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(metrics_negotiate(cases[i].header), cases[i].format);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names), cmocka_unit_test(rows),   cmocka_unit_test(sums),
		cmocka_unit_test(labels), cmocka_unit_test(accepts),
	};

	return unit_run(tests);
}
