// SPDX-License-Identifier: BSD-2-Clause
/* falconctl(8), run against a control socket that answers what each test wants. */
#include "unit.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <agent/control/control.h>
#include <base/log.h>

enum { ARGS_MAX = 12, ROWS_LARGE = 3000 };

static char dir[UNIT_PATH];
static char path[UNIT_PATH + 28], program[PATH_MAX];
static struct control *ctl;
static json_t *asked;		/* the latest request */
static json_t *answer;		/* the reply to it, or NULL: an error */
static json_t *more;		/* the reply to one that goes on from somewhere */
static char out[1 << 20];	/* what falconctl wrote, both streams */

static int handler(void *arg, struct control_client *cl, json_t *req, int *fds, int nfds,
		   json_t **reply)
{
	(void)arg, (void)cl, (void)fds, (void)nfds;
	json_decref(asked);
	asked = json_incref(req);
	if (!answer)
		return control_error(reply, -ENOENT, "no connection named \"%s\"", "x");
	*reply = json_incref(json_object_get(req, "from") ? more : answer);
	return 0;
}

static int setup(void **state)
{
	char err[256];

	(void)state;
	return control_open(&ctl, path, "", handler, NULL, NULL, err, sizeof(err));
}

static int teardown(void **state)
{
	(void)state;
	control_close(ctl);
	json_decref(asked);
	json_decref(answer);
	asked = answer = NULL;
	return 0;
}

static void answer_with(const char *text)
{
	json_decref(answer);
	answer = json_loads(text, 0, NULL);
	assert_non_null(answer);
}

/* Serve until the child closes its output, of which all is collected in |out|. */
static void serve(int fd)
{
	size_t len = 0;

	for (;;) {
		struct pollfd p[2] = {{.fd = ctl ? control_fd(ctl) : -1, .events = POLLIN},
				      {.fd = fd, .events = POLLIN}};
		ssize_t n;

		assert_true(poll(p, 2, 20000) > 0);
		if (p[0].revents)
			control_process(ctl);
		if (!p[1].revents)
			continue;
		n = read(fd, out + len, sizeof(out) - len - 1);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	out[len] = 0;
}

/* Run "falconctl |line|", words split at blanks. Returns the exit status. */
static int run(const char *line)
{
	char copy[512], *argv[ARGS_MAX] = {program};
	int fds[2], status, argc = 1;
	pid_t pid;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok(copy, " "); w && argc < ARGS_MAX - 1; w = strtok(NULL, " "))
		argv[argc++] = w;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		close(fds[1]);
		execv(program, argv);
		_exit(127);
	}
	close(fds[1]);
	serve(fds[0]);
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const char *asked_for(const char *key)
{
	const char *value = json_string_value(json_object_get(asked, key));

	return value ? value : "";
}

#define CONN "{\"name\":\"b\",\"state\":\"up\",\"local\":\"10.0.0.1\",\"local_cid\":264,\"up\":true}"

static void table(void **state)
{
	(void)state;
	answer_with("{\"rows\":[" CONN ",{\"name\":\"long-name\",\"local_cid\":7,\"reason\":\"x y\"}]}");
	assert_int_equal(run("conn show"), 0);
	assert_string_equal(asked_for("op"), "show");
	assert_string_equal(asked_for("object"), "conn");
	assert_string_equal(
		out,
		"NAME       STATE  LOCAL     REMOTE  CID  PEER_CID  ORDERING  SECURITY  PORT  MTU  REASON\n"
		"b          up     10.0.0.1  -       264  -         -         -         -     -    -\n"
		"long-name  -      -         -         7  -         -         -         -     -    x y\n");
}

/* The rest is asked for, with the same words. */
static void pages(void **state)
{
	(void)state;
	answer_with("{\"rows\":[{\"name\":\"b\"}],\"next\":77}");
	more = json_loads("{\"rows\":[{\"name\":\"c\"}]}", 0, NULL);
	assert_int_equal(run("-j window show x"), 0);
	assert_string_equal(asked_for("name"), "x");
	assert_string_equal(asked_for("object"), "window");
	assert_int_equal(json_integer_value(json_object_get(asked, "from")), 77);
	assert_string_equal(out, "[{\"name\":\"b\"},{\"name\":\"c\"}]\n");
	json_decref(more);
	more = NULL;
}

static void one_in_detail(void **state)
{
	(void)state;
	answer_with("{\"rows\":[" CONN "]}");
	assert_int_equal(run("conn show b"), 0);
	assert_string_equal(asked_for("name"), "b");
	assert_string_equal(out, "name: b\nstate: up\nlocal: 10.0.0.1\nlocal_cid: 264\nup: yes\n");
}

static void json(void **state)
{
	(void)state;
	answer_with("{\"rows\":[" CONN "]}");
	assert_int_equal(run("-j conn show"), 0);
	assert_string_equal(out, "[" CONN "]\n");
	assert_int_equal(run("-p conn"), 0);
	assert_string_equal(out, "[\n  {\n    \"name\": \"b\",\n    \"state\": \"up\",\n    "
				 "\"local\": \"10.0.0.1\",\n    \"local_cid\": 264,\n    \"up\": "
				 "true\n  }\n]\n");
	answer_with("{\"rows\":[]}");
	assert_int_equal(run("-j conn"), 0);
	assert_string_equal(out, "[]\n");
	assert_int_equal(run("conn"), 0);
	assert_string_equal(out, "");
}

static void counters(void **state)
{
	static const char rows[] = "{\"rows\":[{\"name\":\"rx_data\",\"meaning\":\"m\",\"xdp\":5,"
				   "\"agent\":0},{\"name\":\"drop_cid\",\"meaning\":\"n\","
				   "\"xdp\":0,\"agent\":0}]}";

	(void)state;
	answer_with(rows);
	assert_int_equal(run("counters show"), 0);
	assert_string_equal(out, "COUNTER  XDP  AGENT  MEANING\nrx_data    5      0  m\n");
	assert_int_equal(run("counters show all"), 0);
	assert_non_null(strstr(out, "drop_cid"));
	assert_int_equal(run("-j counters"), 0);
	assert_non_null(strstr(out, "drop_cid"));
}

static void large_table(void **state)
{
	json_t *rows = json_array();

	(void)state;
	for (int i = 0; i < ROWS_LARGE; i++)
		json_array_append_new(rows, json_pack("{s:s, s:i}", "name", "a-connection-name",
						      "local_cid", i));
	answer = json_pack("{s:o}", "rows", rows);
	assert_int_equal(run("-j conn"), 0);
	rows = json_loads(out, 0, NULL);
	assert_int_equal(json_array_size(rows), ROWS_LARGE);
	json_decref(rows);
}

static void add(void **state)
{
	(void)state;
	answer_with("{}");
	assert_int_equal(run("conn add x local=10.0.0.1 rto_us=5 remote=a=b"), 0);
	assert_string_equal(out, "");
	assert_string_equal(asked_for("op"), "conn-add");
	assert_string_equal(asked_for("name"), "x");
	assert_string_equal(asked_for("rto_us"), "5");
	assert_string_equal(asked_for("remote"), "a=b");
	assert_int_equal(run("conn add name=x local=1"), 0);
	assert_string_equal(asked_for("name"), "x");
	assert_int_equal(run("conn add x y"), 1);
	assert_int_equal(run("conn add x op=show"), 1);
	assert_int_equal(run("conn add x local=1 local=2"), 1);
	assert_int_equal(run("conn add x count=0 local=1"), 1);
	assert_int_equal(run("conn add x count=2x local=1"), 1);
	assert_int_equal(run("conn add x count=3 local=1"), 0);
	assert_string_equal(asked_for("name"), "x.3");
	assert_string_equal(asked_for("count"), "");
}

static void del_and_reset(void **state)
{
	(void)state;
	answer_with("{}");
	assert_int_equal(run("conn del x"), 0);
	assert_string_equal(asked_for("op"), "conn-del");
	assert_int_equal(run("conn reset x"), 0);
	assert_string_equal(asked_for("op"), "conn-reset");
	assert_string_equal(asked_for("name"), "x");
	assert_int_equal(run("conn del"), 1);
	assert_int_equal(run("conn del x y"), 1);
	assert_int_equal(run("conn del x count=4"), 0);
	assert_string_equal(asked_for("name"), "x.4");
	assert_int_equal(run("conn del x count=-4"), 1);
}

static void congestion_control(void **state)
{
	(void)state;
	answer_with("{}");
	assert_int_equal(run("conn set x cc=fixed delay_select=full"), 0);
	assert_string_equal(asked_for("op"), "conn-set");
	assert_string_equal(asked_for("name"), "x");
	assert_string_equal(asked_for("cc"), "fixed");
	assert_string_equal(asked_for("delay_select"), "full");
	assert_int_equal(run("rue set x swift near"), 0);
	assert_string_equal(asked_for("op"), "conn-set");
	assert_string_equal(asked_for("cc"), "swift");
	assert_string_equal(asked_for("cc_profile"), "near");
	assert_int_equal(run("conn set x"), 1);
	assert_int_equal(run("conn set x op=show"), 1);
	assert_int_equal(run("conn set x fixed"), 1);
	assert_int_equal(run("rue set x"), 1);
	assert_int_equal(run("rue set x swift near far"), 1);
	assert_int_equal(run("rue trace"), 1);
	assert_int_equal(run("rue trace --count 0 f"), 1);
	assert_int_equal(run("rue trace --seconds x f"), 1);
	assert_int_equal(run("rue trace f g"), 1);
}

static void filters(void **state)
{
	(void)state;
	answer_with("{\"number\": 5}");
	assert_int_equal(run("xlr add initiator connection=x type=push"), 0);
	assert_string_equal(out, "5\n");
	assert_string_equal(asked_for("op"), "xlr-add");
	assert_string_equal(asked_for("where"), "initiator");
	assert_string_equal(asked_for("connection"), "x");
	assert_string_equal(asked_for("type"), "push");
	assert_int_equal(run("xlr del 5"), 0);
	assert_string_equal(asked_for("op"), "xlr-del");
	assert_int_equal(json_integer_value(json_object_get(asked, "number")), 5);
	assert_int_equal(run("xlr add"), 1);
	assert_int_equal(run("xlr add target type"), 1);
	assert_int_equal(run("xlr add target op=show"), 1);
	assert_int_equal(run("xlr del"), 1);
	assert_int_equal(run("xlr del five"), 1);
	assert_int_equal(run("xlr del 5 6"), 1);
}

static void namespaces(void **state)
{
	(void)state;
	answer_with("{}");
	assert_int_equal(run("namespace set disk iops=5 mbytes_per_s=unlimited"), 0);
	assert_string_equal(asked_for("op"), "namespace-set");
	assert_string_equal(asked_for("name"), "disk");
	assert_string_equal(asked_for("iops"), "5");
	assert_string_equal(asked_for("mbytes_per_s"), "unlimited");
	assert_int_equal(run("namespace set disk op=show"), 1);
	assert_int_equal(run("nvme reset disk"), 0);
	assert_string_equal(asked_for("op"), "nvme-reset");
	assert_int_equal(run("nvme reset"), 1);
	assert_int_equal(run("namespace resize disk 64M"), 0);
	assert_string_equal(asked_for("op"), "namespace-resize");
	assert_int_equal(json_integer_value(json_object_get(asked, "bytes")), 64 << 20);
	assert_int_equal(run("namespace resize disk 12288"), 0);
	assert_int_equal(json_integer_value(json_object_get(asked, "bytes")), 12288);
	assert_int_equal(run("namespace resize disk"), 1);
	assert_int_equal(run("namespace resize disk 1X"), 1);
	assert_int_equal(run("namespace resize disk -1"), 1);
	assert_int_equal(run("namespace resize disk 1Mx"), 1);
	assert_int_equal(run("namespace resize disk 9999999999T"), 1);
}

/* Two looks at rows that do not change, on what is no terminal. */
/* What the agent has written is printed as it is, and asked for as the command line says. */
static void metrics(void **state)
{
	(void)state;
	answer_with("{\"text\":\"# TYPE falcon_x counter\\nfalcon_x_total 1\\n# EOF\\n\"}");
	assert_int_equal(run("metrics"), 0);
	assert_string_equal(out, "# TYPE falcon_x counter\nfalcon_x_total 1\n# EOF\n");
	assert_string_equal(asked_for("op"), "metrics");
	assert_true(json_is_false(json_object_get(asked, "connections")));
	assert_int_equal(run("metrics --connections"), 0);
	assert_true(json_is_true(json_object_get(asked, "connections")));
	assert_int_equal(run("metrics x"), 1);
	answer_with("{\"rows\":[]}");
	assert_int_equal(run("metrics"), 2);
}

static void top(void **state)
{
	const char *second;

	(void)state;
	answer_with("{\"rows\":[{\"name\":\"slow\",\"fcwnd\":0.5,\"tx_packets\":7},"
		    "{\"name\":\"fast\",\"fcwnd\":77.1,\"tx_packets\":7}]}");
	assert_int_equal(run("top -n 2 -d 0.01 --sort fcwnd"), 0);
	assert_non_null(strstr(out, "sorted by FCWND\nNAME "));
	assert_non_null(strstr(out, "\nfast "));
	assert_true(strstr(out, "\nfast ") < strstr(out, "\nslow "));
	assert_non_null(strstr(out, " 77.1 "));
	second = strstr(strstr(out, "OPS/S") + 1, "OPS/S");
	assert_non_null(second);
	assert_null(strstr(second + 1, "OPS/S"));
	assert_null(strchr(out, '\033'));
	assert_int_equal(run("-j top -n 2 -d 0.01"), 0);
	second = strchr(out, '\n');
	assert_non_null(second);
	assert_memory_equal(out, "[{\"name\":\"slow\"", 15);
	assert_memory_equal(second + 1, "[{\"name\":\"slow\"", 15);
	assert_non_null(strstr(second, "\"tx_per_s\":0.0"));
	assert_non_null(strstr(second, "\"fcwnd\":77.1"));
	assert_int_equal(run("top --sort nothing"), 1);
	assert_int_equal(run("top -n x"), 1);
	assert_int_equal(run("top -d 0"), 1);
	assert_int_equal(run("top show x"), 1);
}

static void refused(void **state)
{
	(void)state;
	assert_int_equal(run("conn del x"), 2);
	assert_string_equal(out, "falconctl: no connection named \"x\"\n");
	assert_int_equal(run("-j conn show x"), 2);
}

static void abbreviations(void **state)
{
	(void)state;
	answer_with("{\"rows\":[]}");
	assert_int_equal(run("w s"), 0);
	assert_string_equal(asked_for("object"), "window");
	assert_int_equal(run("conn r x"), 0);
	assert_string_equal(asked_for("op"), "conn-reset");
	/* show, not set, which would want more. */
	assert_int_equal(run("conn s x"), 0);
	assert_string_equal(asked_for("op"), "show");
	assert_int_equal(run("rue s"), 0);
	assert_string_equal(asked_for("object"), "rue");
	assert_int_equal(run("rue se x fixed"), 0);
	assert_string_equal(asked_for("op"), "conn-set");
	assert_int_equal(run("ca i"), 1);
	assert_string_equal(out, "falconctl: ambiguous action \"i\"; there are show init issue "
				 "revoke bundle install\n");
	assert_int_equal(run("con"), 1);
	assert_string_equal(out, "falconctl: ambiguous object \"con\"; there are conn counters "
				 "metrics window flow rue top key port pool client agent shard user nvme "
				 "namespace device qp cq mr pd xlr config ca doctor version\n");
	assert_int_equal(run("bogus"), 1);
	assert_int_equal(run("conn bogus"), 1);
	assert_string_equal(out, "falconctl: unknown action \"bogus\"; there are show add del "
				 "reset set\n");
	assert_int_equal(run("port show x"), 1);
	assert_int_equal(run("conn show x y"), 1);
}

static void help(void **state)
{
	(void)state;
	assert_int_equal(run("help"), 0);
	assert_non_null(strstr(out, "Usage: falconctl"));
	assert_int_equal(run("-h"), 0);
	assert_int_equal(run(""), 1);
	assert_int_equal(run("conn help"), 0);
	assert_non_null(strstr(out, "falconctl conn reset NAME"));
	assert_int_equal(run("conn add help"), 0);
	assert_non_null(strstr(out, "rto_us"));
	assert_int_equal(run("conn del help"), 0);
	assert_int_equal(run("-V"), 0);
	assert_int_equal(run("-x conn"), 1);
	assert_null(asked);
}

static void no_agent(void **state)
{
	(void)state;
	control_close(ctl);
	ctl = NULL;
	assert_int_equal(run("conn"), 2);
	assert_non_null(strstr(out, "no falcond at "));
	setenv("FALCON_SOCKET", "", 1);
	assert_int_equal(run("-s /nonexistent conn"), 2);
	assert_non_null(strstr(out, "no falcond at /nonexistent; is it running?"));
	setenv("FALCON_SOCKET", path, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(table),	   TEST(one_in_detail), TEST(json),    TEST(counters),
		TEST(large_table), TEST(pages), TEST(add),		TEST(del_and_reset), TEST(refused),
		TEST(abbreviations), TEST(help),	TEST(no_agent), TEST(congestion_control),
		TEST(abbreviations), TEST(help),	TEST(no_agent), TEST(namespaces),
		TEST(top),	   TEST(filters),	TEST(metrics),
	};
	char self[PATH_MAX] = "";
	int ret;

	log_set_level(LOG_LEVEL_ERROR);
	/* build/selftests/unit/NAME.t -> build/falconctl */
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 ||
	    !mkdtemp(unit_template(dir, "falconctl")))
		return 1;
	snprintf(program, sizeof(program), "%s/../../falconctl", dirname(self));
	snprintf(path, sizeof(path), "%s/sock", dir);
	setenv("FALCON_SOCKET", path, 1);
	ret = unit_run(tests);
	rmdir(dir);
	return ret;
}
