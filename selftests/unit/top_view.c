// SPDX-License-Identifier: BSD-2-Clause
/* What falconctl top shows (tools/ctl/top_view.h) of tables that the test gives in the agent's place. */
#include "unit.h"

#include <string.h>

#include "../../tools/ctl/top_view.h"

static const char *conn, *rue, *qp;		/* JSON; NULL: the agent does not answer */
static struct top_sample s;

json_t *ctl_rows(const struct options *o, const char *object, const char *name)
{
	const char *text = !strcmp(object, "conn") ? conn : !strcmp(object, "rue") ? rue : qp;

	(void)o;
	assert_null(name);
	return text ? json_loads(text, 0, NULL) : NULL;
}

static int setup(void **state)
{
	(void)state;
	conn = "[{\"name\":\"a\",\"tx_packets\":100,\"tx_retx_rto\":1,\"tx_retx_early\":2,\"tx_retx_own\":3},"
	       "{\"name\":\"b\",\"tx_packets\":10,\"completed\":5}]";
	rue = "[{\"name\":\"b\",\"fcwnd\":1.5,\"events\":7},"
	      "{\"name\":\"a\",\"flow\":0,\"fcwnd\":2.5,\"events\":1},"
	      "{\"name\":\"a\",\"flow\":1,\"fcwnd\":9.5,\"events\":1000}]";
	s = (struct top_sample){ .view = &top_views[TOP_CONN], .elapsed = 2 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	top_start(&s, NULL);
	return 0;
}

static const struct top_column *column(const char *title)
{
	const struct top_column *c = s.view->columns;

	while (c->title && strcmp(c->title, title))
		c++;
	assert_non_null(c->title);
	return c;
}

/* What stands in the line of the |n|-th row. */
static const char *cell(const char *title, size_t n)
{
	static struct top_cell c;

	c = top_cell_of(&s, column(title), json_array_get(s.now.rows, n));
	return c.text;
}

static void values_of_two_tables(void **state)
{
	(void)state;
	assert_true(top_look(NULL, &s));
	assert_string_equal(cell("NAME", 0), "a");
	assert_string_equal(cell("FCWND", 0), "2.5");	/* of the first flow */
	assert_string_equal(cell("FCWND", 1), "1.5");
	assert_string_equal(cell("STATE", 0), "-");
	assert_string_equal(cell("TX/S", 0), "0");	/* there is nothing to compare with */
}

static void rates(void **state)
{
	struct top_cell c;

	(void)state;
	assert_true(top_look(NULL, &s));
	conn = "[{\"name\":\"new\",\"tx_packets\":50},"
	       "{\"name\":\"b\",\"tx_packets\":4,\"completed\":25},"
	       "{\"name\":\"a\",\"tx_packets\":1100,\"tx_retx_rto\":2,\"tx_retx_early\":4,"
	       "\"tx_retx_own\":6}]";
	assert_true(top_look(NULL, &s));
	assert_string_equal(cell("TX/S", 2), "500");
	assert_string_equal(cell("RETX/S", 2), "3");
	assert_string_equal(cell("OPS/S", 1), "10");
	assert_string_equal(cell("TX/S", 1), "0");	/* it has begun anew */
	assert_string_equal(cell("TX/S", 0), "0");	/* as this one has */
	c = top_cell_of(&s, column("TX/S"), json_array_get(s.now.rows, 2));
	assert_true(c.order > 499.9 && c.order < 500.1);
}

static void json(void **state)
{
	json_t *v;

	(void)state;
	assert_true(top_look(NULL, &s));
	assert_true(top_look(NULL, &s));
	v = top_json_of(&s, column("TX/S"), json_array_get(s.now.rows, 0));
	assert_true(json_is_real(v));
	json_decref(v);
	v = top_json_of(&s, column("FCWND"), json_array_get(s.now.rows, 0));
	assert_true(json_real_value(v) == 2.5);
	json_decref(v);
	assert_null(top_json_of(&s, column("STATE"), json_array_get(s.now.rows, 0)));
}

/* Queue pairs are told apart by process and number. */
static void another_view(void **state)
{
	(void)state;
	assert_true(top_look(NULL, &s));
	top_start(&s, &top_views[TOP_QP]);
	qp = "[{\"pid\":1,\"qpn\":\"0x10\",\"sent\":1},{\"pid\":2,\"qpn\":\"0x10\",\"sent\":100}]";
	assert_true(top_look(NULL, &s));
	qp = "[{\"pid\":2,\"qpn\":\"0x10\",\"sent\":300},{\"pid\":1,\"qpn\":\"0x10\",\"sent\":3}]";
	assert_true(top_look(NULL, &s));
	assert_string_equal(cell("PID", 0), "2");
	assert_string_equal(cell("SENT/S", 0), "100");
	assert_string_equal(cell("SENT/S", 1), "1");
}

static void no_answer(void **state)
{
	(void)state;
	assert_true(top_look(NULL, &s));
	rue = NULL;
	assert_false(top_look(NULL, &s));
	assert_string_equal(cell("FCWND", 0), "2.5");	/* what was seen last stays */
}

/* Every view's sorting is by one of its columns, and its columns fit. */
static void tables(void **state)
{
	(void)state;
	for (const struct top_view *v = top_views; v < top_views + TOP_VIEWS; v++) {
		assert_true(v->sort < top_columns(v));
		assert_true(top_columns(v) <= TOP_COLUMNS);
		assert_non_null(v->id[0]);
		for (int c = 0; c < top_columns(v); c++) {
			assert_true(strlen(v->columns[c].title) <= (size_t)abs(v->columns[c].width));
			assert_non_null(v->tables[v->columns[c].table]);
			for (int d = 0; d < c; d++)
				assert_string_not_equal(v->columns[c].member, v->columns[d].member);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(values_of_two_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(rates, setup, teardown),
		cmocka_unit_test_setup_teardown(json, setup, teardown),
		cmocka_unit_test_setup_teardown(another_view, setup, teardown),
		cmocka_unit_test_setup_teardown(no_answer, setup, teardown),
		cmocka_unit_test(tables),
	};

	return unit_run(tests);
}
