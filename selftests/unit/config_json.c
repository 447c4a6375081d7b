// SPDX-License-Identifier: BSD-2-Clause
/* Connections given as JSON, and the configuration shown as JSON. */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <agent/config/config.h>

static struct agent_config cfg;
static char err[512];

static int setup(void **state)
{
	(void)state;
	return config_load(NULL, &cfg, err, sizeof(err));
}

static int add(const char *text, struct conn_config *c)
{
	json_t *obj = json_loads(text, 0, NULL);
	int ret;

	assert_non_null(obj);
	ret = config_conn_from_json(obj, &cfg.agent, c, err, sizeof(err));
	json_decref(obj);
	return ret;
}

#define BASE                                                                                       \
	"\"name\":\"b\",\"local\":\"10.0.0.1\",\"remote\":\"10.0.0.2\",\"local_cid\":1,"           \
	"\"remote_cid\":\"2\",\"security\":\"clear\""

static void accepts(void **state)
{
	struct conn_config c;

	(void)state;
	cfg.agent.params.max_retx = 99;
	if (add("{\"op\":\"conn-add\"," BASE ",\"ordering\":\"unordered\",\"rto_us\":50,"
		"\"handshake\":true}", &c))
		fail_msg("%s", err);
	assert_string_equal(c.name, "b");
	assert_int_equal(c.local_cid, 1);
	assert_int_equal(c.remote_cid, 2);
	assert_false(c.params.ordered);
	assert_true(c.handshake);
	assert_int_equal(c.params.rto_ns, 50000);
	assert_int_equal(c.params.max_retx, 99);
}

struct refusal {
	const char *text;
	const char *part;
};

static void refuses(void **state)
{
	static const struct refusal cases[] = {
		{"{}", "needs a name"},
		{"{\"name\":7}", "needs a name"},
		{"{\"name\":\"a b\"}", "needs a name"},
		{"{\"name\":\"192.0.2.2\"}", "192.0.2.2 is an address, and no name of a connection"},
		{"{\"name\":\"b\"}", "local is missing"},
		{"{" BASE ",\"bogus\":1}", "unknown key bogus"},
		{"{" BASE ",\"rto_us\":[1]}", "must be a string or a number"},
		{"{" BASE ",\"rto_us\":true}", "must be a string or a number"},
		{"{" BASE ",\"rto_us\":null}", "must be a string or a number"},
		{"{" BASE ",\"rto_us\":-1}", "rto_us must be a number"},
		{"{" BASE ",\"rto_us\":\"\"}", "rto_us must be a number"},
		{"{" BASE ",\"handshake\":false}", "needs local_spi and remote_spi"},
	};
	struct conn_config c;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(add(cases[i].text, &c), -EINVAL);
		if (!strstr(err, cases[i].part))
			fail_msg("\"%s\": %s", err, cases[i].part);
	}
}

static const json_t *find(const json_t *rows, const char *key)
{
	json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row) {
		if (strcmp(json_string_value(json_object_get(row, "key")), key) == 0)
			return row;
	}
	return NULL;
}

static void assert_row(const json_t *rows, const char *key, const char *value, const char *source)
{
	const json_t *row = find(rows, key);

	if (!row)
		fail_msg("no row for %s", key);
	assert_string_equal(json_string_value(json_object_get(row, "value")), value);
	assert_string_equal(json_string_value(json_object_get(row, "source")), source);
	assert_true(json_string_length(json_object_get(row, "help")) > 0);
}

static void shows(void **state)
{
	json_t *rows = config_show(&cfg);

	(void)state;
	assert_row(rows, "offload", "on", "default");
	assert_row(rows, "replay_margin_ms", "1000", "default");
	assert_string_equal(json_string_value(json_object_get(find(rows, "rto_us"), "unit")), "us");
	json_decref(rows);
}

/* What is shown can be given again, and is the same then. */
static void shows_a_connection(void **state)
{
	json_t *rows = json_array(), *again = json_object(), *row;
	struct conn_config c, d;
	size_t i;

	(void)state;
	assert_int_equal(add("{" BASE ",\"handshake\":\"off\",\"local_spi\":5,\"remote_spi\":6,"
			     "\"ack_timeout_us\":7}", &c), 0);
	assert_int_equal(config_show_conn(rows, &c), 0);
	assert_row(rows, "remote", "10.0.0.2", "configured");
	assert_row(rows, "ordering", "ordered", "default");
	assert_row(rows, "local_spi", "5", "configured");
	assert_row(rows, "ack_timeout_us", "7", "configured");
	assert_row(rows, "max_retx", "99", "agent");
	json_object_set_new(again, "name", json_string("b"));
	json_array_foreach(rows, i, row)
		json_object_set(again, json_string_value(json_object_get(row, "key")),
				json_object_get(row, "value"));
	if (config_conn_from_json(again, &cfg.agent, &d, err, sizeof(err)))
		fail_msg("%s", err);
	c.set = d.set = (struct config_set){};
	assert_memory_equal(&c, &d, sizeof(c));
	json_decref(again);
	json_decref(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(accepts, setup),
		cmocka_unit_test(refuses),
		cmocka_unit_test(shows),
		cmocka_unit_test(shows_a_connection),
	};

	return unit_run(tests);
}
