// SPDX-License-Identifier: BSD-2-Clause
/* What falconctl top shows (tools/ctl/top_view.h) of tables that the test gives in the agent's place. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "../../tools/ctl/top_view.h"

static const char *conn, *rue, *qp;		/* JSON; NULL: the agent does not answer */
static struct top_sample s;
static struct ipc_client agent;
static bool there;

enum { SOCKET = 1000 };

json_t *ctl_pages(struct ipc_client *c, const char *object, const char *name)
{
	const char *text = !strcmp(object, "conn") ? conn : !strcmp(object, "rue") ? rue : qp;

	assert_ptr_equal(c, &agent);
	assert_int_equal(c->sock, SOCKET);
	assert_null(name);
	return text ? json_loads(text, 0, NULL) : NULL;
}

int ctl_reach(struct ipc_client *c, const char *path)
{
	assert_string_equal(path, "path");
	if (!there)
		return -ENOENT;
	c->sock = SOCKET;
	return 0;
}

void ipc_client_close(struct ipc_client *c)
{
	c->sock = -1;
}

/* Another look, two seconds after the last. */
static bool look(void)
{
	return top_look(&s, &agent, "path", s.now.at + 2);
}

static int setup(void **state)
{
	(void)state;
	conn = "[{\"name\":\"a\",\"tx_packets\":100,\"tx_retx_rto\":1,\"tx_retx_early\":2,\"tx_retx_own\":3},"
	       "{\"name\":\"b\",\"tx_packets\":10,\"completed\":5}]";
	rue = "[{\"name\":\"b\",\"fcwnd\":1.5,\"events\":7},"
	      "{\"name\":\"a\",\"flow\":0,\"fcwnd\":2.5,\"events\":1},"
	      "{\"name\":\"a\",\"flow\":1,\"fcwnd\":9.5,\"events\":1000}]";
	s = (struct top_sample){ .view = &top_views[TOP_CONN] };
	agent = (struct ipc_client)IPC_CLIENT_CLOSED;
	there = true;
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
	assert_true(look());
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
	assert_true(look());
	conn = "[{\"name\":\"new\",\"tx_packets\":50},"
	       "{\"name\":\"b\",\"tx_packets\":4,\"completed\":25},"
	       "{\"name\":\"a\",\"tx_packets\":1100,\"tx_retx_rto\":2,\"tx_retx_early\":4,"
	       "\"tx_retx_own\":6}]";
	assert_true(look());
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
	assert_true(look());
	assert_true(look());
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
	assert_true(look());
	top_start(&s, &top_views[TOP_QP]);
	qp = "[{\"pid\":1,\"qpn\":\"0x10\",\"sent\":1},{\"pid\":2,\"qpn\":\"0x10\",\"sent\":100}]";
	assert_true(look());
	qp = "[{\"pid\":2,\"qpn\":\"0x10\",\"sent\":300},{\"pid\":1,\"qpn\":\"0x10\",\"sent\":3}]";
	assert_true(look());
	assert_string_equal(cell("PID", 0), "2");
	assert_string_equal(cell("SENT/S", 0), "100");
	assert_string_equal(cell("SENT/S", 1), "1");
}

/* What was seen last stays, and an agent that is there again is asked again. */
static void no_answer(void **state)
{
	const char *was = rue;

	(void)state;
	assert_true(look());
	rue = NULL;
	assert_false(look());
	assert_string_equal(cell("FCWND", 0), "2.5");
	assert_int_equal(agent.sock, -1);
	there = false;
	assert_false(look());
	rue = was;
	there = true;
	assert_true(look());
	assert_string_equal(cell("FCWND", 0), "2.5");
}

/* The names in the order of the lines. */
static const char *sorted(const char *title, bool reverse)
{
	static char names[64];
	size_t n;
	struct top_line *lines = top_lines(&s, (int)(column(title) - s.view->columns), reverse, &n);

	assert_non_null(lines);
	names[0] = 0;
	for (size_t i = 0; i < n; i++)
		strcat(names, lines[i].cell[0].text);
	free(lines);
	return names;
}

static void sorting(void **state)
{
	(void)state;
	conn = "[{\"name\":\"b\",\"state\":\"up\"},{\"name\":\"a\",\"state\":\"up\"},"
	       "{\"name\":\"c\",\"state\":\"down\"}]";
	rue = "[{\"name\":\"a\",\"fcwnd\":10},{\"name\":\"b\",\"fcwnd\":9.5},{\"name\":\"c\",\"fcwnd\":100}]";
	assert_true(look());
	assert_string_equal(sorted("FCWND", false), "cab");
	assert_string_equal(sorted("FCWND", true), "bac");
	assert_string_equal(sorted("STATE", false), "cab");	/* equal ones by name */
	assert_string_equal(sorted("STATE", true), "abc");
	assert_string_equal(sorted("NAME", false), "abc");
	assert_string_equal(sorted("NAME", true), "cba");
	assert_string_equal(sorted("TX/S", true), "abc");	/* all zero */
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
		cmocka_unit_test_setup_teardown(sorting, setup, teardown),
		cmocka_unit_test(tables),
	};

	return unit_run(tests);
}
