// SPDX-License-Identifier: BSD-2-Clause
/* The table of configuration keys, and the four types of value they have. */
#include "agent/config/keys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "falcon/falcon.h"

#define AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define UINT(lo, hi) .type = CONFIG_UINT, .min = (lo), .max = (hi), .scale = 1
#define SCALED(lo, hi, by, u)                                                                      \
	.type = CONFIG_UINT, .min = (lo), .max = (hi), .scale = (by), .unit = (u)
#define ENUM(list) .type = CONFIG_ENUM, .choices = (list)
#define STRING .type = CONFIG_STRING
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const off_on[] = {"off", "on", NULL};
static const char *const on_off[] = {"on", "off", NULL};	/* of fields that say "no" */
static const char *const sandboxes[] = {"off", "on", "strict", NULL};
static const char *const protections[] = {"off", "type1", "type2", "type3", NULL};
static const char *const anas[] = {"optimized", "inaccessible", NULL};	/* enum config_ana */
static const char *const block_sizes[] = {"512", "4096", NULL};
static const char *const orderings[] = {"unordered", "ordered", NULL};
static const char *const log_levels[] = {"error", "warn", "info", "debug", NULL};
static const char *const controls[] = {"tls", "plain", NULL};
static const char *const securities[] = {"clear", "psp", "psp-aes-gcm-128", "psp-aes-gcm-256",
					 "psp-gmac-128", "psp-gmac-256", "esp-aes-gcm-128",
					 "esp-aes-gcm-256", NULL};
static const char *const modes[] = {"transport", "tunnel", NULL};
static const char *const priorities[] = {"normal", "high", "realtime", NULL};
static const char *const xsk_modes[] = {"auto", "copy", "zerocopy", NULL};
static const char *const rue_modes[] = {"inline", "thread", "process", NULL};
static const char *const delays[] = {"full", "fabric", "forward", "reverse", NULL};
static const char *const early_retxs[] = {"ooo", "rack", NULL};	/* enum fcore_early_retx */
static const char *const rx_csums[] = {"verify", "trusted", NULL};

/* Beginning with FCORE_MIN_CELL bytes. */
static const char *const cells[] = {"64",   "128",  "256",   "512",   "1024",  "2048",
				    "4096", "8192", "16384", "32768", "65536", NULL};

#define POOL_KEY(suffix, r, text)                                                                  \
	{"pool_" suffix, UINT(1, FCORE_NO_LIMIT), AT(struct agent_options, pools.total[r]),        \
	 .zero = "auto", .def = "auto", .help = "size of the pool " text}

/* In [agent], and in a connection, which inherits them. */
#define CC_KEYS(type, agent)                                                                       \
	{"cc", STRING, AT(type, cc.algorithm), .inherited = !(agent), .def = "swift",              \
	 .help = "congestion control: swift, fixed, or an algorithm to load, by name or path"},    \
	{"cc_profile", STRING, AT(type, cc.profile), .inherited = !(agent), .def = "software",     \
	 .help = "Swift's parameters: software, default, or those of a [swift PROFILE] section"},  \
	{"delay_select", ENUM(delays), AT(type, cc.delay_select), .inherited = !(agent),           \
	 .def = "fabric", .help = "the delay that congestion control looks at (Falcon 10.1)"}

#define SECURITY_KEY(type, agent)                                                                  \
	{"security", ENUM(securities), AT(type, security), .inherited = !(agent), .def = "psp",    \
	 .help = "how packets are protected; clear: not at all; both ends must agree"}

static const struct config_key agent_keys[] = {
	{"socket", STRING, AT(struct agent_options, socket), .def = FALCON_DEFAULT_SOCKET,
	 .help = "path of the control socket"},
	{"socket_group", STRING, AT(struct agent_options, socket_group), .def = "",
	 .help = "group that may use the control socket; empty: its owner alone"},
	{"pin_path", STRING, AT(struct agent_options, pin_path), .def = "",
	 .help = "directory of the pinned falcon_* maps; empty: search"},
	{"sandbox", ENUM(sandboxes), AT(struct agent_options, sandbox), .def = "on",
	 .help = "off: keep all capabilities and system calls, for debuggers; strict: a call that is not "
		 "allowed ends the agent"},
	{"verbs", ENUM(off_on), AT(struct agent_options, verbs), .def = "on",
	 .help = "serve verbs applications, whose memory the agent reads and writes"},
	{"offload", ENUM(off_on), AT(struct agent_options, offload), .def = "on",
	 .help = "let XDP run the receive path; off: the agent does"},
	{"threads", UINT(1, CONFIG_THREADS_MAX), AT(struct agent_options, threads), .def = "1",
	 .help = "threads that carry packets, each with its share of every interface's queues"},
	{"cpus", STRING, AT(struct agent_options, cpus), .def = "",
	 .help = "CPUs of these threads, in their order: 2,4-6; empty: where the kernel has room"},
	{"priority", ENUM(priorities), AT(struct agent_options, priority), .def = "normal",
	 .help = "of these threads; high: nice -20; realtime: SCHED_RR for half of the time at most"},
	{"control_port", UINT(1, 65535), AT(struct agent_options, control_port), .def = "1000",
	 .help = "TCP port of the sessions between agents"},
	{"control_grace_ms", UINT(0, 600000), AT(struct agent_options, control_grace_ms),
	 .unit = "ms", .def = "5000",
	 .help = "how long connections stay up when the peer's agent is out of reach"},
	{"control", ENUM(controls), AT(struct agent_options, control), .def = "tls",
	 .help = "plain: sessions between agents without TLS; both ends must say so"},
	{"listen", STRING, AT(struct agent_options, listen), .def = "",
	 .help = "our addresses at which agents with a [peer] section may dial"},
	{"tls_cert", STRING, AT(struct agent_options, tls_cert), .def = "",
	 .help = "our certificate, PEM"},
	{"tls_key", STRING, AT(struct agent_options, tls_key), .def = "",
	 .help = "its private key, PEM, readable by its owner alone"},
	{"tls_ca", STRING, AT(struct agent_options, tls_ca), .def = "",
	 .help = "certificate of the CA whose hosts are accepted, PEM"},
	{"tls_crl", STRING, AT(struct agent_options, tls_crl), .def = "",
	 .help = "certificates that the CA has revoked, PEM; empty: not asked"},
	{"psk_file", STRING, AT(struct agent_options, psk_file), .def = "",
	 .help = "pre-shared keys instead of certificates: lines of ADDRESS KEY"},
	{"log_level", ENUM(log_levels), AT(struct agent_options, log_level), .def = "info",
	 .help = "least important messages to log"},
	{"metrics", STRING, AT(struct agent_options, metrics), .def = "",
	 .help = "address and port where Prometheus gets metrics; empty: nowhere"},
	{"metrics_connections", ENUM(off_on), AT(struct agent_options, metrics_connections), .def = "off",
	 .help = "on: there are also metrics of each connection"},
	{"replay_margin_ms", SCALED(1, 60000, 1000000000, "ms"),
	 AT(struct agent_options, replay_margin_ps), .def = "1000",
	 .help = "how much older than the newest packet's clock a packet may be"},
	{"pcid", ENUM(off_on), AT(struct agent_options, pcid), .def = "off",
	 .help = "ask peers for a PSP connection ID in every packet, and check it"},
	{"key_export", ENUM(off_on), AT(struct agent_options, key_export), .def = "off",
	 .help = "debugging: tell root the keys of connections, to decrypt captures"},
	{"key_lifetime_s", SCALED(0, 604800, 1000000000, "s"),
	 AT(struct agent_options, key_lifetime_ns), .def = "3600",
	 .help = "time between rotations of the master keys; 0: only on request"},
	{"key_packets", UINT(1, 1ULL << 31), AT(struct agent_options, key_packets),
	 .unit = "packets", .def = "268435456",
	 .help = "packets received with a connection's key after which it is replaced"},
	{"key_mbytes", SCALED(1, 1 << 20, 1 << 20, "MiB"), AT(struct agent_options, key_bytes),
	 .def = "65536", .help = "data received with a connection's key after which it is replaced"},
	{"key_settle_ms", SCALED(1, 10000, 1000000, "ms"),
	 AT(struct agent_options, key_settle_ns), .def = "20",
	 .help = "time that packets with a replaced key are still accepted"},
	{"rue_p1_us", SCALED(0, 1000000, 1000, "us"), AT(struct agent_options, rue_p1_ns),
	 .def = "10", .help = "time after which an ACK makes a rate update event"},
	{"rue_p2_packets", UINT(0, 1000000), AT(struct agent_options, rue_p2_packets),
	 .unit = "packets", .def = "32",
	 .help = "acknowledged packets after which an ACK makes a rate update event"},
	{"rue_mode", ENUM(rue_modes), AT(struct agent_options, rue_mode), .def = "inline",
	 .help = "compute rate updates in the agent's loop, a thread of their own, or a process"},
	{"rue_socket", STRING, AT(struct agent_options, rue_socket), .def = "/run/falcon/rue.sock",
	 .help = "with rue_mode = process: where falcon-rue --serve listens"},
	{"rx_level_packets_percent", UINT(1, 100), AT(struct agent_options, rx_ema_packets),
	 .unit = "percent", .def = "25",
	 .help = "weight of the latest value in the fill of Net Req Pkt Rx that ACKs report"},
	{"rx_level_buffers_percent", UINT(1, 100), AT(struct agent_options, rx_ema_buffers),
	 .unit = "percent", .def = "25",
	 .help = "weight of the latest value in the fill of Net Req Buf Rx that ACKs report"},
	{"rx_level_ring_percent", UINT(1, 100), AT(struct agent_options, rx_ema_ring),
	 .unit = "percent", .def = "25",
	 .help = "weight of the latest value in the fill of receive rings that ACKs report"},
	SECURITY_KEY(struct agent_options, true),
	CC_KEYS(struct agent_options, true),
	POOL_KEY("req_pkt_tx", FCORE_REQ_PKT_TX, "Req Pkt Tx: requests to send"),
	POOL_KEY("req_buf_tx", FCORE_REQ_BUF_TX, "Req Buf Tx: their cells"),
	POOL_KEY("req_pkt_rx", FCORE_REQ_PKT_RX, "Req Pkt Rx: completions of requests"),
	POOL_KEY("req_buf_rx", FCORE_REQ_BUF_RX, "Req Buf Rx: cells of the data that pulls want"),
	POOL_KEY("data_pkt_tx", FCORE_DATA_PKT_TX, "Data Pkt Tx: responses to send"),
	POOL_KEY("data_buf_tx", FCORE_DATA_BUF_TX, "Data Buf Tx: their cells"),
	POOL_KEY("net_pkt_rx", FCORE_NET_PKT_RX, "Net Req Pkt Rx: requests of peers"),
	POOL_KEY("net_buf_rx", FCORE_NET_BUF_RX, "Net Req Buf Rx: their cells"),
	{"pool_tx_cell", ENUM(cells), AT(struct agent_options, pools.tx_cell), .unit = "bytes",
	 .def = "1024", .help = "size of a cell in transmit buffer pools"},
	{"pool_rx_cell", ENUM(cells), AT(struct agent_options, pools.rx_cell), .unit = "bytes",
	 .def = "4096", .help = "size of a cell in receive buffer pools"},
	{"pool_red_percent", UINT(0, 100), AT(struct agent_options, pools.red_percent),
	 .unit = "percent", .def = "75",
	 .help = "fill of the Net Req pools beyond which only head-of-line requests are taken"},
	{"pool_host_percent", UINT(1, 100), AT(struct agent_options, pools.host_percent),
	 .unit = "percent", .def = "100", .help = "share of each pool that a host may hold"},
	{"pool_function_percent", UINT(1, 100), AT(struct agent_options, pools.function_percent),
	 .unit = "percent", .def = "100", .help = "share of each pool that a function may hold"},
};

/* Their defaults are fcore_params_default()'s. */
static const struct config_key param_keys[] = {
	{"fcwnd", UINT(1, 255), AT(struct fcore_params, fcwnd), .unit = "packets",
	 .help = "initial fabric congestion window"},
	{"ncwnd", UINT(1, 1023), AT(struct fcore_params, ncwnd), .unit = "packets",
	 .help = "initial NIC congestion window"},
	{"rto_us", SCALED(10, 60000000, 1000, "us"), AT(struct fcore_params, rto_ns),
	 .help = "initial retransmission timeout"},
	{"max_retx", UINT(1, FCORE_MAX_RETX), AT(struct fcore_params, max_retx),
	 .help = "retransmissions of a packet before the connection is given up"},
	{"txn_timeout_ms", SCALED(1, 3600000, 1000000, "ms"),
	 AT(struct fcore_params, txn_timeout_ns), .help = "transaction timeout"},
	{"rnr_patience_us", SCALED(0, 60000000, 1000, "us"),
	 AT(struct fcore_params, rnr_patience_ns),
	 .help = "time that a push waits for a receive request before the peer is told (RNR)"},
	{"ack_timeout_us", SCALED(0, 1000000, 1000, "us"),
	 AT(struct fcore_params, ack_timeout_ns), .help = "ACK coalescing timeout"},
	{"ack_count", UINT(1, 128), AT(struct fcore_params, ack_count), .unit = "packets",
	 .help = "packets that make a coalesced ACK due at once"},
	{"ar_fcwnd", UINT(0, 255), AT(struct fcore_params, ar_fcwnd), .unit = "packets",
	 .help = "fabric window at or below which every packet requests an ACK"},
	{"ar_percent", UINT(0, 100), AT(struct fcore_params, ar_percent), .unit = "percent",
	 .help = "share of the packets that request an ACK above ar_fcwnd"},
	{"ooo_threshold", UINT(1, 127), AT(struct fcore_params, ooo_threshold), .unit = "packets",
	 .help = "distance behind the newest received packet that makes a packet lost"},
	{"data_window", UINT(1, FALCON_DATA_WINDOW), AT(struct fcore_params, data_window),
	 .unit = "packets", .help = "data packets under way at most; the smaller of both ends counts"},
	{"req_window", UINT(1, FALCON_REQ_WINDOW), AT(struct fcore_params, req_window),
	 .unit = "packets", .help = "Pull Requests under way at most; the smaller of both ends counts"},
	{"flows", UINT(1, FALCON_MAX_FLOWS), AT(struct fcore_params, flows),
	 .help = "paths used at a time"},
	{"prr_threshold", UINT(0, 255), AT(struct fcore_params, prr_threshold), .zero = "never",
	 .help = "timeouts in a row after which a flow takes another path"},
	{"early_retx", ENUM(early_retxs), AT(struct fcore_params, early_retx),
	 .help = "how lost packets are found before they time out: OOO distance, or RACK-TLP"},
	{"rack_rto_us", SCALED(0, 60000000, 1000, "us"), AT(struct fcore_params, rack_rto_ns),
	 .zero = "auto", .help = "time after which RACK holds an overtaken packet for lost"},
	{"tlp_us", SCALED(0, 60000000, 1000, "us"), AT(struct fcore_params, tlp_ns),
	 .zero = "auto", .help = "silence after which RACK-TLP probes the peer"},
	{"pool_percent", UINT(1, 100), AT(struct fcore_params, pool_percent), .unit = "percent",
	 .help = "share of each resource pool that the connection may hold"},
	{"alpha_percent", UINT(1, 100000), AT(struct fcore_params, alpha_percent),
	 .unit = "percent",
	 .help = "how much of a pool it may hold in proportion to what is free"},
};

static const struct config_key port_keys[] = {
	{"queues", UINT(0, FALCON_MAX_QUEUES), AT(struct port_config, queues), .zero = "auto",
	 .def = "auto", .help = "receive queues to serve, from 0 on; auto: all of the device"},
	{"mode", ENUM(xsk_modes), AT(struct port_config, mode), .def = "auto",
	 .help = "AF_XDP mode; auto: zero-copy where the driver has it"},
	{"rx_csum", ENUM(rx_csums), AT(struct port_config, rx_csum), .def = "verify",
	 .help = "trusted: link or NIC has verified the UDP checksum"},
};

static const struct config_key peer_keys[] = {
	{"functions", STRING, AT(struct peer_config, functions), .def = "any",
	 .help = "Destination Functions that the peer may use: any, or numbers and ranges"},
	{"max_connections", UINT(0, FALCON_MAX_CONNS - 1), AT(struct peer_config, max_connections),
	 .def = "64", .help = "connections that the peer may hold at once"},
	{"clear", ENUM(off_on), AT(struct peer_config, clear), .def = "off",
	 .help = "on: connections without encryption are accepted from it"},
};

/* Of [user NAME] and [group NAME]. */
static const struct config_key user_keys[] = {
	{"max_clients", UINT(0, UINT32_MAX), AT(struct quota_section, limit[QUOTA_CLIENTS]),
	 .def = "64", .help = "programs that may be connected to the control socket at once"},
	{"max_connections", UINT(0, FALCON_MAX_CONNS - 1),
	 AT(struct quota_section, limit[QUOTA_CONNECTIONS]), .def = "64",
	 .help = "Falcon connections that programs of the user may have added at once"},
	{"max_links", UINT(0, FALCON_MAX_CONNS - 1), AT(struct quota_section, limit[QUOTA_LINKS]),
	 .def = "1024", .help = "Falcon connections of queue pairs and address handles at once"},
	{"max_qps", UINT(0, UINT32_MAX), AT(struct quota_section, limit[QUOTA_QPS]),
	 .def = "1024", .help = "queue pairs and shared receive queues at once"},
	{"max_mrs", UINT(0, UINT32_MAX), AT(struct quota_section, limit[QUOTA_MRS]),
	 .def = "4096", .help = "memory regions and windows at once"},
	{"max_cm_ids", UINT(0, UINT16_MAX), AT(struct quota_section, limit[QUOTA_CM_IDS]),
	 .def = "4096", .help = "rdma_cm ids at once, requests that nobody has accepted yet among them"},
	{"max_channels", UINT(0, UINT32_MAX), AT(struct quota_section, limit[QUOTA_CHANNELS]),
	 .def = "4096", .help = "channels for completions and events of rdma_cm at once"},
	{"max_objects", UINT(0, UINT32_MAX), AT(struct quota_section, limit[QUOTA_OBJECTS]),
	 .def = "16384", .help = "protection domains, completion queues, address handles and such at once"},
	{"max_memory_mbytes", SCALED(0, 1 << 30, 1 << 20, "MiB"),
	 AT(struct quota_section, limit[QUOTA_MEMORY]), .def = "4096",
	 .help = "memory shared with the agent: arenas, rings, memory regions"},
};

static const struct config_key namespace_keys[] = {
	{"path", STRING, AT(struct namespace_config, path), .def = "",
	 .help = "file or block device that holds the blocks"},
	{"nsid", UINT(1, 65535), AT(struct namespace_config, nsid), .def = "1",
	 .help = "NVMe namespace identifier by which initiators ask for it"},
	{"nguid", STRING, AT(struct namespace_config, nguid), .def = "",
	 .help = "globally unique identifier, 32 hexadecimal digits: the same at all agents with its medium"},
	{"ana", ENUM(anas), AT(struct namespace_config, ana), .def = "optimized",
	 .help = "inaccessible: initiators are to take another path to the namespace"},
	{"block_size", ENUM(block_sizes), AT(struct namespace_config, block_size), .def = "4096",
	 .unit = "bytes", .help = "logical block"},
	{"read_only", ENUM(off_on), AT(struct namespace_config, read_only), .def = "off",
	 .help = "on: commands that write are refused"},
	{"page_cache", ENUM(off_on), AT(struct namespace_config, page_cache), .def = "off",
	 .help = "on: use the file through the page cache, not past it"},
	{"protection", STRING, AT(struct namespace_config, protection), .def = "",
	 .help = "file of the blocks' protection information; none: they have none"},
	{"protection_check", ENUM(off_on), AT(struct namespace_config, protection_check),
	 .def = "on", .help = "off: protection information is stored, but not checked here"},
	{"peers", STRING, AT(struct namespace_config, peers), .def = "",
	 .help = "names in the certificates of agents that may use it, or any"},
	{"iops", UINT(1, UINT32_MAX), AT(struct namespace_config, iops), .zero = "unlimited",
	 .def = "unlimited", .unit = "commands/s", .help = "limit of commands"},
	{"memory_mbytes", SCALED(1, 1024, 1 << 20, "MiB"),
	 AT(struct namespace_config, memory), .def = "64",
	 .help = "memory for data under way; the largest counts, for all namespaces"},
	{"mbytes_per_s", SCALED(1, 1 << 20, 1000000, "MB/s"),
	 AT(struct namespace_config, bytes_per_s), .zero = "unlimited", .def = "unlimited",
	 .help = "limit of data"},
};

static const struct config_key nvme_keys[] = {
	{"local", .type = CONFIG_ADDR, .family_offset = offsetof(struct nvme_config, family),
	 AT(struct nvme_config, local), .help = "our address"},
	{"targets", STRING, AT(struct nvme_config, targets), .def = "",
	 .help = "ADDRESS/NSID of each target, 1, 2, 4, 8 or 16, or several paths to it with | between; "
		 "more than one: striped"},
	{"peer", STRING, AT(struct nvme_config, peer), .def = "",
	 .help = "name in the targets' certificates; empty: their addresses must be"},
	{"nsid", UINT(1, 65535), AT(struct nvme_config, nsid), .def = "1",
	 .help = "identifier of the device's namespace"},
	{"controller", STRING, AT(struct nvme_config, controller), .def = "",
	 .help = "name of the NVMe controller that it is a namespace of; empty: its own"},
	{"function", UINT(0, FALCON_FUNCTION_MASK), AT(struct nvme_config, function), .def = "0",
	 .help = "destination function of the packets we send"},
	{"stripe_kbytes", SCALED(256, 1 << 20, 1024, "KiB"), AT(struct nvme_config, stripe),
	 .def = "256", .help = "stripe: a power of two"},
	{"chunk_gbytes", SCALED(1, 1 << 20, 1 << 30, "GiB"), AT(struct nvme_config, chunk),
	 .def = "1", .help = "chunk: a power of two"},
	{"timeout_ms", SCALED(100, 3600000, 1000000, "ms"), AT(struct nvme_config, timeout_ns),
	 .def = "30000", .help = "how long a command may take before it ends with an error"},
	{"read_only", ENUM(off_on), AT(struct nvme_config, read_only), .def = "off",
	 .help = "on: commands that write are refused here"},
	{"protection", ENUM(protections), AT(struct nvme_config, protection), .def = "off",
	 .help = "type of protection information that applications see"},
	{"combined", ENUM(off_on), AT(struct nvme_config, combined), .def = "on",
	 .help = "off: packets of the specification alone, even to targets that know the combined ones"},
	{"key_file", STRING, AT(struct nvme_config, key_file), .def = "",
	 .help = "file with the AES-256-XTS key that data are encrypted with before they are sent"},
};

#define ADDR .type = CONFIG_ADDR, .family_offset = offsetof(struct conn_config, family)
#define INNER_ADDR                                                                                 \
	.type = CONFIG_ADDR, .family_offset = offsetof(struct conn_config, inner_family),          \
	.zero = "none", .def = "none"

static const struct config_key conn_keys[] = {
	{"local", ADDR, AT(struct conn_config, local), .help = "our address"},
	{"remote", ADDR, AT(struct conn_config, remote), .help = "the peer's address"},
	{"local_cid", UINT(1, FALCON_MAX_CONNS - 1), AT(struct conn_config, local_cid),
	 .zero = "dial", .def = "dial",
	 .help = "our connection ID: the peer's remote_cid"},
	{"remote_cid", UINT(1, FALCON_CID_MASK), AT(struct conn_config, remote_cid),
	 .zero = "dial", .def = "dial",
	 .help = "the peer's connection ID: its local_cid"},
	{"ordering", ENUM(orderings), AT(struct conn_config, params.ordered), .def = "ordered",
	 .help = "whether transactions are delivered in the order they were started"},
	{"flow_control", ENUM(on_off), AT(struct conn_config, params.no_flow_control), .def = "on",
	 .help = "off: transactions for which resources are short end in error and do not wait"},
	SECURITY_KEY(struct conn_config, false),
	{"mode", ENUM(modes), AT(struct conn_config, mode), .def = "transport",
	 .help = "tunnel: an inner IP header, with inner_local and inner_remote, goes along"},
	{"inner_local", INNER_ADDR, AT(struct conn_config, inner_local),
	 .help = "with mode = tunnel: our address inside"},
	{"inner_remote", INNER_ADDR, AT(struct conn_config, inner_remote),
	 .help = "with mode = tunnel: the peer's address inside"},
	{"peer", STRING, AT(struct conn_config, peer), .def = "",
	 .help = "name in the peer's certificate; empty: its address must be"},
	{"handshake", ENUM(off_on), AT(struct conn_config, handshake), .def = "on",
	 .help = "agree on SPIs and sequence numbers with the peer's agent; off: configured"},
	{"local_spi", UINT(0, UINT32_MAX), AT(struct conn_config, local_spi), .zero = "none",
	 .def = "none", .help = "with handshake = off: SPI of packets we receive"},
	{"remote_spi", UINT(0, UINT32_MAX), AT(struct conn_config, remote_spi), .zero = "none",
	 .def = "none", .help = "with handshake = off: SPI of packets we send"},
	{"local_function", UINT(0, CONFIG_FUNCTIONS - 1),
	 AT(struct conn_config, params.local_function), .def = "0",
	 .help = "function of ours on whose account the connection is"},
	{"function", UINT(0, FALCON_FUNCTION_MASK), AT(struct conn_config, params.function),
	 .def = "0", .help = "destination function of the packets we send"},
	CC_KEYS(struct conn_config, false),
};

const struct config_section config_sections[CONFIG_SECTION_COUNT] = {
	[CONFIG_AGENT] = {"agent", agent_keys, COUNT(agent_keys), param_keys, COUNT(param_keys),
			  offsetof(struct agent_options, params)},
	[CONFIG_PORT] = {"port", port_keys, COUNT(port_keys), NULL, 0, 0},
	[CONFIG_PEER] = {"peer", peer_keys, COUNT(peer_keys), NULL, 0, 0},
	[CONFIG_USER] = {"user", user_keys, COUNT(user_keys), NULL, 0, 0},
	[CONFIG_GROUP] = {"group", user_keys, COUNT(user_keys), NULL, 0, 0},
	[CONFIG_CONNECTION] = {"connection", conn_keys, COUNT(conn_keys), param_keys,
			       COUNT(param_keys), offsetof(struct conn_config, params)},
	[CONFIG_NAMESPACE] = {"namespace", namespace_keys, COUNT(namespace_keys), NULL, 0, 0},
	[CONFIG_NVME] = {"nvme", nvme_keys, COUNT(nvme_keys), NULL, 0, 0},
	[CONFIG_SWIFT] = {"swift", NULL, 0, NULL, 0, 0},
	[CONFIG_RUE] = {"rue", NULL, 0, NULL, 0, 0},
};

_Static_assert(COUNT(agent_keys) + COUNT(param_keys) <= CONFIG_KEYS_MAX, "one bit a key in |set|");
_Static_assert(COUNT(conn_keys) + COUNT(param_keys) <= CONFIG_KEYS_MAX, "one bit a key in |set|");

const struct config_key *config_key_at(const struct config_section *s, unsigned int i,
				       size_t *offset)
{
	if (i < s->nkeys) {
		*offset = s->keys[i].offset;
		return &s->keys[i];
	}
	i -= s->nkeys;
	*offset = 0;
	if (i >= s->nparams)
		return NULL;
	*offset = s->params_offset + s->params[i].offset;
	return &s->params[i];
}

int config_key_find(const struct config_section *s, const char *name)
{
	const struct config_key *k;
	size_t offset;

	for (unsigned int i = 0; (k = config_key_at(s, i, &offset)); i++) {
		if (strcmp(k->name, name) == 0)
			return (int)i;
	}
	return -1;
}

void config_section_defaults(const struct config_section *s, void *base)
{
	char err[64];

	for (unsigned int i = 0; i < s->nkeys; i++) {
		if (s->keys[i].def)
			config_key_set(s, i, base, s->keys[i].def, err, sizeof(err));
	}
}

static void store(void *p, size_t size, uint64_t v)
{
	switch (size) {
	case 1: *(uint8_t *)p = (uint8_t)v; break;
	case 2: *(uint16_t *)p = (uint16_t)v; break;
	case 4: *(uint32_t *)p = (uint32_t)v; break;
	default: *(uint64_t *)p = v; break;
	}
}

static uint64_t load(const void *p, size_t size)
{
	switch (size) {
	case 1: return *(const uint8_t *)p;
	case 2: return *(const uint16_t *)p;
	case 4: return *(const uint32_t *)p;
	default: return *(const uint64_t *)p;
	}
}

static int set_uint(const struct config_key *k, void *p, const char *text, char *err, size_t errlen)
{
	char *end;
	uint64_t v;

	if (k->zero && strcmp(text, k->zero) == 0) {
		store(p, k->size, 0);
		return 0;
	}
	errno = 0;
	v = strtoull(text, &end, 0);
	if (text[0] < '0' || text[0] > '9' || *end || errno || v < k->min || v > k->max) {
		snprintf(err, errlen, "%s must be %s%sa number from %" PRIu64 " to %" PRIu64
			 ", not \"%s\"", k->name, k->zero ? k->zero : "", k->zero ? " or " : "",
			 k->min, k->max, text);
		return -EINVAL;
	}
	store(p, k->size, v * k->scale);
	return 0;
}

static int set_enum(const struct config_key *k, void *p, const char *text, char *err, size_t errlen)
{
	size_t len;

	for (unsigned int i = 0; k->choices[i]; i++) {
		if (strcmp(k->choices[i], text) == 0) {
			store(p, k->size, i);
			return 0;
		}
	}
	len = (size_t)snprintf(err, errlen, "%s must be one of", k->name);
	for (unsigned int i = 0; k->choices[i] && len < errlen; i++)
		len += (size_t)snprintf(err + len, errlen - len, " %s", k->choices[i]);
	if (len < errlen)
		snprintf(err + len, errlen - len, ", not \"%s\"", text);
	return -EINVAL;
}

/* The control socket shows every value, and JSON carries nothing but UTF-8. */
static bool is_utf8(const char *text)
{
	json_t *s = json_string(text);
	bool valid = s;

	json_decref(s);
	return valid;
}

static int set_string(const struct config_key *k, void *p, const char *text, char *err,
		      size_t errlen)
{
	if (!is_utf8(text)) {
		snprintf(err, errlen, "%s must be UTF-8 text", k->name);
		return -EINVAL;
	}
	if (strlen(text) >= k->size) {
		snprintf(err, errlen, "%s is longer than %zu bytes", k->name, k->size - 1);
		return -EINVAL;
	}
	memset(p, 0, k->size);
	memcpy(p, text, strlen(text));
	return 0;
}

/* A host's own address: not the wildcard, multicast, or an IPv6 one that needs a scope. */
static bool addr_usable(int family, const uint8_t *a)
{
	static const uint8_t zero[16], mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (family == AF_INET)
		return a[0] != 0 && a[0] < 224;
	return memcmp(a, zero, 16) != 0 && a[0] != 0xff &&
	       !(a[0] == 0xfe && (a[1] & 0xc0) == 0x80) && memcmp(a, mapped, 12) != 0;
}

static int set_addr(const struct config_key *k, void *p, int *family, const char *text, char *err,
		    size_t errlen)
{
	int f = strchr(text, ':') ? AF_INET6 : AF_INET;
	struct falcon_addr addr = {0};

	if (k->zero && strcmp(text, k->zero) == 0) {
		memset(p, 0, sizeof(addr));
		return 0;
	}
	if (inet_pton(f, text, addr.b) != 1) {
		snprintf(err, errlen, "%s must be an IPv4 or IPv6 address, not \"%s\"", k->name,
			 text);
		return -EINVAL;
	}
	if (!addr_usable(f, addr.b)) {
		snprintf(err, errlen, "%s must be a unicast address with global meaning, not %s",
			 k->name, text);
		return -EINVAL;
	}
	if (*family && *family != f) {
		snprintf(err, errlen, "local and remote must both be IPv4 or both IPv6");
		return -EINVAL;
	}
	*family = f;
	*(struct falcon_addr *)p = addr;
	return 0;
}

int config_key_set(const struct config_section *s, unsigned int i, void *base, const char *text,
		   char *err, size_t errlen)
{
	size_t offset;
	const struct config_key *k = config_key_at(s, i, &offset);
	char *p = (char *)base + offset;

	switch (k->type) {
	case CONFIG_UINT: return set_uint(k, p, text, err, errlen);
	case CONFIG_ENUM: return set_enum(k, p, text, err, errlen);
	case CONFIG_STRING: return set_string(k, p, text, err, errlen);
	case CONFIG_ADDR:
		return set_addr(k, p, (int *)((char *)base + k->family_offset), text, err, errlen);
	}
	return -EINVAL;
}

void config_key_get(const struct config_section *s, unsigned int i, const void *base, char *text,
		    size_t size)
{
	size_t offset;
	const struct config_key *k = config_key_at(s, i, &offset);
	const char *p = (const char *)base + offset;
	uint64_t v;

	switch (k->type) {
	case CONFIG_UINT:
		v = load(p, k->size) / k->scale;
		if (v == 0 && k->zero)
			snprintf(text, size, "%s", k->zero);
		else
			snprintf(text, size, "%" PRIu64, v);
		break;
	case CONFIG_ENUM: snprintf(text, size, "%s", k->choices[load(p, k->size)]); break;
	case CONFIG_STRING: snprintf(text, size, "%s", p); break;
	case CONFIG_ADDR:
		if (!inet_ntop(*(const int *)((const char *)base + k->family_offset), p, text,
			       (socklen_t)size))
			snprintf(text, size, "%s", k->zero ? k->zero : "");
		break;
	}
}
