// SPDX-License-Identifier: BSD-2-Clause
/* The objects, their actions, and the columns of their tables. */
#include "object.h"

#include "ca.h"

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
	{"connected", "CONNECTED"}, {"paths", "PATHS"},		{"reads", "READS"},
	{"writes", "WRITES"},	    {"errors", "ERRORS"},	{"damaged", "DAMAGED"},
	{"retried", "RETRIED"},	    {"resets", "RESETS"},	{"failovers", "FAILOVERS"},
	{"reason", "REASON"},	    {NULL, NULL},
};
static const struct ctl_column namespace_columns[] = {
	{"name", "NAME"},	{"nsid", "NSID"},   {"bytes", "BYTES"},	  {"block_size", "BLOCK"},
	{"read_only", "RO"},	{"ana", "ANA"},	    {"peers", "PEERS"}, {"initiators", "INITIATORS"},
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

const struct object ctl_objects[] = {
	{"conn", "connections", conn_columns,
	 {SHOW(ctl_show_named, "[NAME]", "list connections, or one in detail"),
	  {"add", "NAME [count=N] KEY=VALUE ...", "add a connection until the agent ends",
	   ctl_conn_add},
	  {"del", "NAME [count=N]", "delete a connection", ctl_conn_del},
	  {"reset", "NAME [count=N]", "take a connection down and set it up anew", ctl_conn_reset},
	  {"set", "NAME KEY=VALUE ...", "change its congestion control", ctl_conn_set}}},
	{"counters", "packets by how they ended, in XDP and in the agent", counters_columns,
	 {SHOW(ctl_show_counters, "[all]", "list counters that are not zero, or all")}},
	{"metrics", "all counters for Prometheus, as OpenMetrics", NULL,
	 {SHOW(ctl_metrics, OPTIONS, "print them")}},
	{"window", "sliding windows of the connections", window_columns,
	 {SHOW(ctl_show_named, "[NAME]", "list windows, or one connection's in detail")}},
	{"flow", "paths of the connections", flow_columns,
	 {SHOW(ctl_show_named, "[NAME]", "list flows, or one connection's in detail")}},
	{"rue", "congestion control, flow by flow", rue_columns,
	 {SHOW(ctl_show_named, "[NAME]", "list windows, delays and pacing, or one connection's in detail"),
	  {"set", "NAME ALGORITHM [PROFILE]", "change a connection's algorithm", ctl_rue_set},
	  {"trace", OPTIONS " FILE",
	   "record what Swift is asked and answers, for falcon-rue", ctl_rue_trace}}},
	{"top", "connections, queue pairs, disks and threads by what they do, live", NULL,
	 {SHOW(ctl_top, OPTIONS, "watch connections' rates and windows"),
	  {"qp", OPTIONS, "watch queue pairs", ctl_top_qp},
	  {"nvme", OPTIONS, "watch NVMe devices", ctl_top_nvme},
	  {"shard", OPTIONS, "watch the threads that carry packets", ctl_top_shard}}},
	{"key", "keys of the connections", key_columns,
	 {SHOW(ctl_show_named, "[NAME]", "list SPIs and how much their keys have done"),
	  {"rotate", "[NAME|all]", "replace a connection's keys, or the master keys", ctl_key_rotate},
	  {"export", "", "print keys of what is received, for falcon-psp --decrypt", ctl_key_export}}},
	{"port", "interfaces and their AF_XDP sockets", port_columns,
	 {SHOW(ctl_show_all, "", "list sockets")}},
	{"pool", "resource pools, and who holds how much of them", pool_columns,
	 {SHOW(ctl_show_pool, "[NAME]", "list the pools, or what one connection holds")}},
	{"client", "applications attached to the agent", client_columns,
	 {SHOW(ctl_show_all, "", "list applications")}},
	{"agent", "how many connections the agent has", agent_columns,
	 {SHOW(ctl_show_all, "", "count them")}},
	{"shard", "threads that carry packets", shard_columns,
	 {SHOW(ctl_show_all, "", "list what they have done, and what held them up longest")}},
	{"user", "local users, and what they hold", user_columns,
	 {SHOW(ctl_show_all, "", "list users who hold something")}},
	{"nvme", "NVMe devices of targets elsewhere", nvme_columns,
	 {SHOW(ctl_show_all, "", "list devices, and what they have done"),
	  {"connect", "NAME targets=ADDRESS/NSID local=ADDRESS [KEY=VALUE ...]",
	   "add a device until the agent ends", ctl_nvme_connect},
	  {"discover", "ADDRESS [KEY=VALUE ...]", "list the namespaces that a target has for this host",
	   ctl_nvme_discover},
	  {"disconnect", "NAME", "give a device up", ctl_nvme_disconnect},
	  {"reset", "NAME", "end all commands of its controller", ctl_nvme_reset}}},
	{"namespace", "NVMe namespaces that are exported here", namespace_columns,
	 {SHOW(ctl_show_all, "", "list namespaces"),
	  {"set", "NAME iops=N mbytes_per_s=MB/s ana=STATE", "change its limits, or its ANA state",
	   ctl_namespace_set},
	  {"resize", "NAME BYTES[K|M|G|T]", "make its file longer or shorter", ctl_namespace_resize}}},
	{"device", "devices of verbs applications", device_columns,
	 {SHOW(ctl_show_all, "", "list devices with their addresses and GID indexes")}},
	{"qp", "queue pairs of verbs applications", qp_columns,
	 {SHOW(ctl_show_all, "", "list queue pairs and what they have done")}},
	{"cq", "completion queues of verbs applications", cq_columns,
	 {SHOW(ctl_show_all, "", "list completion queues")}},
	{"mr", "memory regions and windows of verbs applications", mr_columns,
	 {SHOW(ctl_show_all, "", "list regions, then windows")}},
	{"pd", "protection domains of verbs applications", pd_columns,
	 {SHOW(ctl_show_all, "", "list protection domains")}},
	{"xlr", "filters that drop transactions", xlr_columns,
	 {SHOW(ctl_show_named, "[NAME]", "list filters and what they have dropped"),
	  {"add", "initiator|target [connection=NAME] [function=N] [protocol=P] [type=push|pull]",
	   "end transactions that match", ctl_xlr_add},
	  {"del", "NUMBER", "delete a filter", ctl_xlr_del}}},
	{"config", "configuration in force", config_columns,
	 {SHOW(ctl_show_all, "", "list every key with its value and where that comes from"),
	  {"save", "[FILE]", "write what conn add has made into falcon.conf", ctl_config_save}}},
	{"ca", "certificates for the sessions between agents", ca_columns,
	 {SHOW(ctl_ca_show, "[DIR]", "list what an authority has issued"),
	  {"init", "[DIR]", "make an authority, by default in " CA_DEFAULT_DIR, ctl_ca_init},
	  {"issue", "HOST [ADDRESS ...] [days=N] [dir=DIR]", "make a host's key and certificate",
	   ctl_ca_issue},
	  {"revoke", "HOST [dir=DIR]", "put all certificates of a host on crl.pem", ctl_ca_revoke},
	  {"bundle", "HOST [dir=DIR]", "put all that a host needs into HOST.pem", ctl_ca_bundle},
	  {"install", "FILE [DIR]", "on that host: take what is in it, by default to " CA_INSTALL_DIR,
	   ctl_ca_install}}},
	{"doctor", "what keeps Falcon from working on this host", NULL,
	 {{"run", OPTIONS, "look at host, falcon.conf, agent and peers, and say what to do",
	   ctl_doctor}}},
	{"version", "version of the agent", NULL, {SHOW(ctl_show_all, "", "print it")}},
};

const int ctl_nobjects = sizeof(ctl_objects) / sizeof(ctl_objects[0]);
