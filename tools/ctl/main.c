// SPDX-License-Identifier: BSD-2-Clause
/*
 * falconctl: falconctl [OPTIONS] OBJECT ACTION ..., in the manner of ip(8) and bpftool(8).
 *
 * Objects and actions are one table, from which abbreviations and help are made. What is shown is
 * the agent's to say: it sends rows, this prints them.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/config_keys.h"
#include "base/version.h"
#include "falcon/falcon.h"
#include "ctl.h"
#include "ca.h"

struct action {
	const char *name;
	const char *args;	/* for help */
	const char *help;
	action_fn run;
};

enum { ACTIONS_MAX = 6 };

struct object {
	const char *name;
	const char *help;
	const struct ctl_column *columns;	/* of "show"; NULL: a list */
	struct action actions[ACTIONS_MAX];	/* the first is the default */
};

static int print_rows(const struct options *o, const struct object *obj, const json_t *rows,
		      bool detail)
{
	if (o->json) {
		ctl_print_json(o, rows);
	} else if (detail || !obj->columns) {
		ctl_print_list(rows);
	} else {
		ctl_print_table(rows, obj->columns);
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? CTL_OK : CTL_FAILED;
}

int ctl_usage_error(const char *fmt, const char *what)
{
	fputs("falconctl: ", stderr);
	fprintf(stderr, fmt, what);
	fputs("; try falconctl --help\n", stderr);
	return CTL_USAGE;
}

json_t *ctl_rows(const struct options *o, const char *object, const char *name)
{
	struct ipc_client agent;
	json_t *rows;

	if (ctl_connect(&agent, o->socket) < 0)
		return NULL;
	rows = ctl_pages(&agent, object, name);
	if (!rows)
		fprintf(stderr, "falconctl: %s\n", agent.err);
	ipc_client_close(&agent);
	return rows;
}

int ctl_send(const struct options *o, json_t *req)
{
	json_t *reply = ctl_request(o->socket, req);

	json_decref(reply);
	return reply ? CTL_OK : CTL_FAILED;
}

/* show: everything, or what belongs to one connection, in detail. */
static int show_rows(const struct options *o, const struct object *obj, int argc, char **argv,
		     bool detail)
{
	json_t *rows;
	int ret;

	if (argc > 1)
		return ctl_usage_error("unexpected argument \"%s\"", argv[1]);
	rows = ctl_rows(o, obj->name, argc ? argv[0] : NULL);
	if (!rows)
		return CTL_FAILED;
	ret = print_rows(o, obj, rows, detail);
	json_decref(rows);
	return ret;
}

static int show_named(const struct options *o, const struct object *obj, int argc, char **argv)
{
	return show_rows(o, obj, argc, argv, argc > 0);
}

/* show: eight rows also of one connection, so a table of them, too. */
static int show_pool(const struct options *o, const struct object *obj, int argc, char **argv)
{
	return show_rows(o, obj, argc, argv, false);
}

static int show_all(const struct options *o, const struct object *obj, int argc, char **argv)
{
	if (argc > 0)
		return ctl_usage_error("unexpected argument \"%s\"", argv[0]);
	return show_named(o, obj, 0, argv);
}

/* A person wants to see what has happened; a program gets every counter. */
static int show_counters(const struct options *o, const struct object *obj, int argc, char **argv)
{
	bool all = argc > 0 && strcmp(argv[0], "all") == 0;
	json_t *rows;
	int ret;

	if (argc > all)
		return ctl_usage_error("unexpected argument \"%s\"", argv[all]);
	rows = ctl_rows(o, obj->name, NULL);
	if (!rows)
		return CTL_FAILED;
	for (size_t i = json_array_size(rows); i-- > 0 && !o->json && !all;) {
		if (ctl_row_is_zero(json_array_get(rows, i)))
			json_array_remove(rows, i);
	}
	ret = print_rows(o, obj, rows, false);
	json_decref(rows);
	return ret;
}

/* JSON in any case, as falcon-psp --decrypt reads it. */
static int key_export(const struct options *o, const struct object *obj, int argc, char **argv)
{
	json_t *reply, *rows;
	int rc;

	(void)obj;
	if (argc > 0)
		return ctl_usage_error("unexpected argument \"%s\"", argv[0]);
	reply = ctl_request(o->socket, json_pack("{s:s}", "op", "key-export"));
	rows = json_object_get(reply, "rows");
	rc = rows && json_dumpf(rows, stdout, JSON_INDENT(1)) == 0 ? CTL_OK : CTL_FAILED;
	if (rows)
		putchar('\n');
	json_decref(reply);
	return rc;
}

/* Without a name, or with "all", the agent's master keys. */
static int key_rotate(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	if (argc == 0 || (argc == 1 && strcmp(argv[0], "all") == 0))
		return ctl_send(o, json_pack("{s:s}", "op", "key-rotate"));
	if (argc > 1)
		return ctl_usage_error("unexpected argument \"%s\"", argv[1]);
	return ctl_send(o, json_pack("{s:s, s:s}", "op", "key-rotate", "name", argv[0]));
}

static int help_add(void)
{
	const struct config_section *s = &config_sections[CONFIG_CONNECTION];
	const struct config_key *k;
	size_t offset;

	puts("Usage: falconctl conn add NAME KEY=VALUE ...\n\nKeys, as in falcon.conf(5):");
	for (unsigned int i = 0; (k = config_key_at(s, i, &offset)); i++)
		printf("  %-15s %s%s%s%s\n", k->name, k->help, k->unit ? " (" : "",
		       k->unit ? k->unit : "", k->unit ? ")" : "");
	return CTL_OK;
}

static int ca_show(const struct options *o, const struct object *obj, int argc, char **argv)
{
	const char *dir = argc > 0 ? argv[0] : CA_DEFAULT_DIR;
	json_t *rows;
	int ret;

	if (argc > 1)
		return ctl_usage_error("unexpected argument \"%s\"", argv[1]);
	rows = ctl_ca_rows(strncmp(dir, "dir=", 4) == 0 ? dir + 4 : dir);
	ret = print_rows(o, obj, rows, false);
	json_decref(rows);
	return ret;
}

static const struct ctl_column ca_columns[] = {
	{"host", "HOST"}, {"serial", "SERIAL"}, {"revoked", "REVOKED"}, {NULL, NULL},
};
static const struct ctl_column conn_columns[] = {
	{"name", "NAME"},	  {"state", "STATE"},
	{"local", "LOCAL"},	  {"remote", "REMOTE"},
	{"local_cid", "CID"},	  {"remote_cid", "PEER_CID"},
	{"ordering", "ORDERING"}, {"security", "SECURITY"},
	{"port", "PORT"},	  {"mtu", "MTU"},
	{"reason", "REASON"},	  {NULL, NULL},
};
static const struct ctl_column counters_columns[] = {
	{"name", "COUNTER"}, {"xdp", "XDP"}, {"agent", "AGENT"}, {"meaning", "MEANING"},
	{NULL, NULL},
};
static const struct ctl_column shard_columns[] = {
	{"shard", "SHARD"}, {"priority", "PRIORITY"}, {"connections", "CONNECTIONS"},
	{"applications", "APPLICATIONS"},
	{"turns", "TURNS"}, {"shared_turns", "SHARED_TURNS"}, {"sleeps", "SLEEPS"},
	{"rx_frames", "RX_FRAMES"}, {"handed_over", "HANDED_OVER"}, {"calls", "CALLS"},
	{"longest_turn_us", "LONGEST_TURN_US"}, {"longest_call_us", "LONGEST_CALL_US"}, {NULL, NULL},
};
static const struct ctl_column window_columns[] = {
	{"name", "NAME"},
	{"rx_data_base", "RX_DATA_BASE"},
	{"rx_req_base", "RX_REQ_BASE"},
	{"rx_accepted", "ACCEPTED"},
	{"tx_data_base", "TX_DATA_BASE"},
	{"tx_data_next", "TX_DATA_NEXT"},
	{"tx_req_base", "TX_REQ_BASE"},
	{"tx_req_next", "TX_REQ_NEXT"},
	{"fcwnd", "FCWND"},
	{"ncwnd", "NCWND"},
	{"acks", "ACKS"},
	{"eacks", "EACKS"},
	{NULL, NULL},
};
static const struct ctl_column key_columns[] = {
	{"name", "NAME"},
	{"security", "SECURITY"},
	{"generation", "GENERATION"},
	{"spi", "SPI"},
	{"prev_spi", "PREV_SPI"},
	{"peer_spi", "PEER_SPI"},
	{"rotation", "ROTATION"},
	{"rotations", "ROTATIONS"},
	{"rx_packets", "RX_PACKETS"},
	{"tx_packets", "TX_PACKETS"},
	{NULL, NULL},
};
static const struct ctl_column port_columns[] = {
	{"dev", "DEV"},		  {"queue", "QUEUE"},	    {"xdp", "XDP"},
	{"af_xdp", "AF_XDP"},	  {"rx_frames", "RX_FRAMES"}, {"tx_frames", "TX_FRAMES"},
	{"credits", "CREDITS"}, {"refused", "REFUSED"},   {"drops", "DROPS"},
	{NULL, NULL},
};
static const struct ctl_column pool_columns[] = {
	{"level", "LEVEL"}, {"name", "NAME"}, {"resource", "RESOURCE"}, {"used", "USED"},
	{"limit", "LIMIT"}, {"high", "HIGH"}, {"refused", "REFUSED"},	{NULL, NULL},
};
static const struct ctl_column client_columns[] = {
	{"service", "SERVICE"},	    {"pid", "PID"},		  {"uid", "UID"},
	{"taken", "TAKEN"},	    {"completed", "COMPLETED"}, {"outstanding", "OUTSTANDING"},
	{"messages", "MESSAGES"}, {"ring_full", "RING_FULL"}, {NULL, NULL},
};
static const struct ctl_column agent_columns[] = {
	{"connections", "CONNECTIONS"}, {"up", "UP"},		{"leaving", "LEAVING"},
	{"room", "ROOM"},		{"setups", "SETUPS"},	{NULL, NULL},
};
static const struct ctl_column user_columns[] = {
	{"uid", "UID"},		{"kind", "BY"},			{"section", "SECTION"},
	{"clients", "CLIENTS"}, {"connections", "CONNECTIONS"}, {"links", "LINKS"},
	{"qps", "QPS"},		{"mrs", "MRS"},			{"objects", "OBJECTS"},
	{"cm_ids", "CM_IDS"},	{"channels", "CHANNELS"},
	{"memory", "MEMORY"},	{"max_memory", "MAX_MEMORY"},
	{NULL, NULL},
};
static const struct ctl_column flow_columns[] = {
	{"name", "NAME"},     {"flow", "FLOW"},	    {"path", "PATH"},	  {"fcwnd", "FCWND"},
	{"outstanding", "OUT"}, {"rtt_us", "RTT_US"}, {"rto_us", "RTO_US"}, {"sent", "SENT"},
	{"lost", "LOST"},     {"rx_ecn", "RX_ECN"}, {"rx_hops", "RX_HOPS"}, {NULL, NULL},
};
static const struct ctl_column rue_columns[] = {
	{"name", "NAME"},	{"flow", "FLOW"},     {"algorithm", "ALGORITHM"},
	{"profile", "PROFILE"}, {"fcwnd", "FCWND"},   {"ncwnd", "NCWND"},
	{"delay_us", "DELAY_US"}, {"rtt_us", "RTT_US"}, {"rto_us", "RTO_US"},
	{"gap_us", "GAP_US"},	{"plb_attempts", "PLB"}, {"events", "EVENTS"},
	{"suppressed", "SUPPRESSED"}, {NULL, NULL},
};
static const struct ctl_column nvme_columns[] = {
	{"name", "NAME"},	    {"ready", "READY"},		{"nsid", "NSID"},
	{"bytes", "BYTES"},	    {"block_size", "BLOCK"},	{"targets", "TARGETS"},
	{"connected", "CONNECTED"}, {"reads", "READS"},		{"writes", "WRITES"},
	{"errors", "ERRORS"},	    {"damaged", "DAMAGED"},	{"retried", "RETRIED"},
	{"resets", "RESETS"},	    {"reason", "REASON"},	{NULL, NULL},
};
static const struct ctl_column namespace_columns[] = {
	{"name", "NAME"},	{"nsid", "NSID"},   {"bytes", "BYTES"},	  {"block_size", "BLOCK"},
	{"read_only", "RO"},	{"peers", "PEERS"}, {"initiators", "INITIATORS"},
	{"reads", "READS"},	{"writes", "WRITES"}, {"errors", "ERRORS"}, {"limited", "LIMITED"},
	{"path", "PATH"},	{NULL, NULL},
};
static const struct ctl_column device_columns[] = {
	{"name", "NAME"}, {"dev", "DEV"},	{"state", "STATE"}, {"mtu", "MTU"},
	{"index", "INDEX"}, {"gid", "GID"}, {NULL, NULL},
};
static const struct ctl_column qp_columns[] = {
	{"pid", "PID"},	      {"device", "DEVICE"}, {"qpn", "QPN"},
	{"type", "TYPE"},     {"state", "STATE"},   {"remote_qpn", "REMOTE"},
	{"remote", "GID"},    {"tx_packets", "TX"}, {"rx_packets", "RX"},
	{"sent", "SENT"},     {"received", "RECEIVED"}, {"sent_in_error", "FAILED"},
	{"not_ready", "NOT_READY"}, {"lost", "LOST"}, {"copies_failed", "COPIES_FAILED"},
	{NULL, NULL},
};
static const struct ctl_column cq_columns[] = {
	{"pid", "PID"},	      {"handle", "HANDLE"}, {"entries", "ENTRIES"},
	{"unread", "UNREAD"}, {"queues", "QUEUES"}, {"channel", "CHANNEL"},
	{"failed", "FAILED"}, {"completions", "COMPLETIONS"}, {"events", "EVENTS"}, {NULL, NULL},
};
static const struct ctl_column mr_columns[] = {
	{"pid", "PID"},	    {"kind", "KIND"}, {"pd", "PD"},	    {"key", "KEY"},
	{"access", "ACCESS"}, {"iova", "IOVA"}, {"length", "LENGTH"}, {NULL, NULL},
};
static const struct ctl_column pd_columns[] = {
	{"pid", "PID"}, {"handle", "HANDLE"}, {"device", "DEVICE"}, {"objects", "OBJECTS"},
	{NULL, NULL},
};
static const struct ctl_column xlr_columns[] = {
	{"number", "NUMBER"},	  {"where", "WHERE"}, {"name", "CONNECTION"}, {"function", "FUNCTION"},
	{"protocol", "PROTOCOL"}, {"type", "TYPE"},   {"hits", "HITS"},	      {NULL, NULL},
};
static const struct ctl_column config_columns[] = {
	{"section", "SECTION"}, {"key", "KEY"},	      {"value", "VALUE"},
	{"unit", "UNIT"},	{"source", "SOURCE"}, {NULL, NULL},
};

#define SHOW(fn, args, help) {"show", args, help, fn}
#define TOP_ARGS "[-d SECONDS] [-n COUNT] [--batch] [--sort COLUMN]"

static const struct object objects[] = {
	{"conn", "connections", conn_columns,
	 {SHOW(show_named, "[NAME]", "list connections, or one in detail"),
	  {"add", "NAME [count=N] KEY=VALUE ...", "add a connection until the agent ends",
	   ctl_conn_add},
	  {"del", "NAME [count=N]", "delete a connection", ctl_conn_del},
	  {"reset", "NAME [count=N]", "take a connection down and set it up anew", ctl_conn_reset},
	  {"set", "NAME KEY=VALUE ...", "change its congestion control", ctl_conn_set}}},
	{"counters", "packets by how they ended, in XDP and in the agent", counters_columns,
	 {SHOW(show_counters, "[all]", "list counters that are not zero, or all")}},
	{"metrics", "all counters for Prometheus, as OpenMetrics", NULL,
	 {SHOW(ctl_metrics, "[--connections]", "print them, and those of each connection")}},
	{"window", "sliding windows of the connections", window_columns,
	 {SHOW(show_named, "[NAME]", "list windows, or one connection's in detail")}},
	{"flow", "paths of the connections", flow_columns,
	 {SHOW(show_named, "[NAME]", "list flows, or one connection's in detail")}},
	{"rue", "congestion control, flow by flow", rue_columns,
	 {SHOW(show_named, "[NAME]", "list windows, delays and pacing, or one connection's in detail"),
	  {"set", "NAME ALGORITHM [PROFILE]", "change a connection's algorithm", ctl_rue_set},
	  {"trace", "FILE [--count N] [--seconds S] [--conn NAME]",
	   "record what Swift is asked and answers, for falcon-rue", ctl_rue_trace}}},
	{"top", "connections, queue pairs, disks and threads by what they do, live", NULL,
	 {SHOW(ctl_top, TOP_ARGS, "watch connections' rates and windows"),
	  {"qp", TOP_ARGS, "watch queue pairs", ctl_top_qp},
	  {"nvme", TOP_ARGS, "watch NVMe devices", ctl_top_nvme},
	  {"shard", TOP_ARGS, "watch the threads that carry packets", ctl_top_shard}}},
	{"key", "keys of the connections", key_columns,
	 {SHOW(show_named, "[NAME]", "list SPIs and how much their keys have done"),
	  {"rotate", "[NAME|all]", "replace a connection's keys, or the master keys", key_rotate},
	  {"export", "", "print keys of what is received, for falcon-psp --decrypt", key_export}}},
	{"port", "interfaces and their AF_XDP sockets", port_columns,
	 {SHOW(show_all, "", "list sockets")}},
	{"pool", "resource pools, and who holds how much of them", pool_columns,
	 {SHOW(show_pool, "[NAME]", "list the pools, or what one connection holds")}},
	{"client", "applications attached to the agent", client_columns,
	 {SHOW(show_all, "", "list applications")}},
	{"agent", "how many connections the agent has", agent_columns,
	 {SHOW(show_all, "", "count them")}},
	{"shard", "threads that carry packets", shard_columns,
	 {SHOW(show_all, "", "list what they have done, and what held them up longest")}},
	{"user", "local users, and what they hold", user_columns,
	 {SHOW(show_all, "", "list users who hold something")}},
	{"nvme", "NVMe devices of targets elsewhere", nvme_columns,
	 {SHOW(show_all, "", "list devices, and what they have done"),
	  {"connect", "NAME targets=ADDRESS/NSID local=ADDRESS [KEY=VALUE ...]",
	   "add a device until the agent ends", ctl_nvme_connect},
	  {"discover", "ADDRESS [KEY=VALUE ...]", "list the namespaces that a target has for this host",
	   ctl_nvme_discover},
	  {"disconnect", "NAME", "give a device up", ctl_nvme_disconnect},
	  {"reset", "NAME", "end all commands of its controller", ctl_nvme_reset}}},
	{"namespace", "NVMe namespaces that are exported here", namespace_columns,
	 {SHOW(show_all, "", "list namespaces"),
	  {"set", "NAME iops=N mbytes_per_s=MB/s", "change its limits", ctl_namespace_set},
	  {"resize", "NAME BYTES[K|M|G|T]", "make its file longer or shorter", ctl_namespace_resize}}},
	{"device", "devices of verbs applications", device_columns,
	 {SHOW(show_all, "", "list devices with their addresses and GID indexes")}},
	{"qp", "queue pairs of verbs applications", qp_columns,
	 {SHOW(show_all, "", "list queue pairs and what they have done")}},
	{"cq", "completion queues of verbs applications", cq_columns,
	 {SHOW(show_all, "", "list completion queues")}},
	{"mr", "memory regions and windows of verbs applications", mr_columns,
	 {SHOW(show_all, "", "list regions, then windows")}},
	{"pd", "protection domains of verbs applications", pd_columns,
	 {SHOW(show_all, "", "list protection domains")}},
	{"xlr", "filters that drop transactions", xlr_columns,
	 {SHOW(show_named, "[NAME]", "list filters and what they have dropped"),
	  {"add", "initiator|target [connection=NAME] [function=N] [protocol=P] [type=push|pull]",
	   "end transactions that match", ctl_xlr_add},
	  {"del", "NUMBER", "delete a filter", ctl_xlr_del}}},
	{"config", "configuration in force", config_columns,
	 {SHOW(show_all, "", "list every key with its value and where that comes from"),
	  {"save", "[FILE]", "write what conn add has made into falcon.conf", ctl_config_save}}},
	{"ca", "certificates for the sessions between agents", ca_columns,
	 {SHOW(ca_show, "[DIR]", "list what an authority has issued"),
	  {"init", "[DIR]", "make an authority, by default in " CA_DEFAULT_DIR, ctl_ca_init},
	  {"issue", "HOST [ADDRESS ...] [days=N] [dir=DIR]", "make a host's key and certificate",
	   ctl_ca_issue},
	  {"revoke", "HOST [dir=DIR]", "put all certificates of a host on crl.pem", ctl_ca_revoke},
	  {"bundle", "HOST [dir=DIR]", "put all that a host needs into HOST.pem", ctl_ca_bundle},
	  {"install", "FILE [DIR]", "on that host: take what is in it, by default to " CA_INSTALL_DIR,
	   ctl_ca_install}}},
	{"doctor", "what keeps Falcon from working on this host", NULL,
	 {{"run", "[-c FILE]", "look at host, falcon.conf, agent and peers, and say what to do",
	   ctl_doctor}}},
	{"version", "version of the agent", NULL, {SHOW(show_all, "", "print it")}},
};

enum { OBJECTS = sizeof(objects) / sizeof(objects[0]) };

static void help_object(const struct object *obj)
{
	for (int i = 0; i < ACTIONS_MAX && obj->actions[i].name; i++) {
		const struct action *a = &obj->actions[i];
		char command[64];

		snprintf(command, sizeof(command), "%s %s %s", obj->name, a->name, a->args);
		printf("  falconctl %-34s %s\n", command, a->help);
	}
}

static void help_all(void)
{
	puts("Usage: falconctl [-j] [-p] [-s SOCKET] OBJECT ACTION ...\n"
	     "Look into the Falcon agent and change its connections: falconctl(8).\n\n"
	     "  -j, --json           print JSON\n"
	     "  -p, --pretty         print JSON for people\n"
	     "  -s, --socket SOCKET  the agent's; default $FALCON_SOCKET, else\n"
	     "                       " FALCON_DEFAULT_SOCKET "\n"
	     "  -V, --version        print falconctl's version and exit\n"
	     "  -h, --help           print this and exit\n\n"
	     "Objects and actions may be abbreviated; the first action is the default, also where\n"
	     "an abbreviation fits another one, too.\n");
	for (int i = 0; i < OBJECTS; i++)
		help_object(&objects[i]);
}

/*
 * Index of the word that |text| is or abbreviates, among |n| whose names |name_at| gives; -1 after
 * a message if there is none or more than one.
 */
static int match(const char *text, int n, const char *(*name_at)(const void *of, int i),
		 const void *of, const char *kind)
{
	int found = -1, candidates = 0;

	for (int i = 0; i < n && name_at(of, i); i++) {
		if (strcmp(name_at(of, i), text) == 0)
			return i;
		if (strncmp(name_at(of, i), text, strlen(text)) == 0) {
			found = i;
			candidates++;
		}
	}
	if (candidates == 1)
		return found;
	fprintf(stderr, "falconctl: %s %s \"%s\"; there are", candidates ? "ambiguous" : "unknown",
		kind, text);
	for (int i = 0; i < n && name_at(of, i); i++)
		fprintf(stderr, " %s", name_at(of, i));
	fputc('\n', stderr);
	return -1;
}

static const char *object_name(const void *of, int i)
{
	return ((const struct object *)of)[i].name;
}

static const char *action_name(const void *of, int i)
{
	return ((const struct action *)of)[i].name;
}

static bool wants_help(int argc, char **argv)
{
	return argc > 0 && strcmp(argv[0], "help") == 0;
}

static int run_object(const struct options *o, const struct object *obj, int argc, char **argv)
{
	const struct action *a = &obj->actions[0];

	if (wants_help(argc, argv)) {
		help_object(obj);
		return CTL_OK;
	}
	/* Options belong to the default action. */
	if (argc > 0 && argv[0][0] != '-') {
		bool first = strncmp(a->name, argv[0], strlen(argv[0])) == 0;
		int i = first ? 0 : match(argv[0], ACTIONS_MAX, action_name, obj->actions, "action");

		if (i < 0)
			return CTL_USAGE;
		a = &obj->actions[i];
		argc--;
		argv++;
	}
	if (wants_help(argc, argv) && a->run == ctl_conn_add)
		return help_add();
	if (wants_help(argc, argv)) {
		printf("Usage: falconctl %s %s %s\n%s\n", obj->name, a->name, a->args, a->help);
		return CTL_OK;
	}
	return a->run(o, obj, argc, argv);
}

/* Returns -1 to go on, else the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},     {"pretty", no_argument, NULL, 'p'},
		{"socket", required_argument, NULL, 's'}, {"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},     {NULL, 0, NULL, 0},
	};
	int opt;

	/* "+": options end at the object. */
	while ((opt = getopt_long(argc, argv, "+jps:Vh", longs, NULL)) != -1) {
		switch (opt) {
		case 'p': o->pretty = true; /* fall through */
		case 'j': o->json = true; break;
		case 's': o->socket = optarg; break;
		case 'V': puts("falconctl " FALCON_VERSION_STRING); return CTL_OK;
		case 'h': help_all(); return CTL_OK;
		default: return ctl_usage_error("cannot use these %s", "options");
		}
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct options o = {0};
	int ret = parse_options(argc, argv, &o), i;

	if (ret >= 0)
		return ret;
	argc -= optind;
	argv += optind;
	if (argc == 0 || wants_help(argc, argv)) {
		help_all();
		return argc == 0 ? CTL_USAGE : CTL_OK;
	}
	i = match(argv[0], OBJECTS, object_name, objects, "object");
	if (i < 0)
		return CTL_USAGE;
	return run_object(&o, &objects[i], argc - 1, argv + 1);
}
