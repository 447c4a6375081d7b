/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's configuration: falcon.conf(5), and the same keys from "conn-add" on the control
 * socket. One table of keys (keys.c) serves parsing, checking and showing.
 */
#ifndef FALCON_AGENT_CONFIG_H
#define FALCON_AGENT_CONFIG_H

#include <jansson.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/config/quota.h"
#include "agent/config/rue.h"
#include "agent/config/set.h"
#include "agent/process/priority.h"
#include "agent/process/sandbox.h"
#include "base/addr.h"
#include "base/log.h"
#include "cm/chan.h"
#include "core/core.h"

enum config_const {
	CONFIG_THREADS_MAX = 8,		/* that carry packets */
	CONFIG_PEERS_MAX = 256,		/* [peer] sections */
	CONFIG_NGUID_MAX = 37,		/* digits and dashes of an NGUID, with the final 0 */
	CONFIG_NAME_MAX = 64,		/* bytes of a connection's name, with the final 0 */
	CONFIG_PATH_MAX = 256,
	CONFIG_SOCKET_MAX = 108,	/* sockaddr_un.sun_path */
	CONFIG_FUNCTIONS = 16,		/* accounts of functions in the core */
};

enum config_control {
	CONFIG_CONTROL_TLS,
	CONFIG_CONTROL_PLAIN,		/* neither encrypted nor authenticated */
};

enum config_security {
	CONFIG_SECURITY_CLEAR,		/* PSP version 15: no encryption, no authentication */
	CONFIG_SECURITY_PSP,		/* the PSP version that README.md gives reasons for */
	CONFIG_SECURITY_AES_GCM_128,	/* PSP versions 0 to 3, in that order */
	CONFIG_SECURITY_AES_GCM_256,
	CONFIG_SECURITY_GMAC_128,
	CONFIG_SECURITY_GMAC_256,
	CONFIG_SECURITY_ESP_128,	/* ESP with AES-GCM */
	CONFIG_SECURITY_ESP_256,
};

enum config_mode {
	CONFIG_MODE_TRANSPORT,		/* Falcon 7.1.1 */
	CONFIG_MODE_TUNNEL,		/* Falcon 7.1.2 */
};

enum config_xsk_mode {
	CONFIG_XSK_AUTO,		/* zero-copy where the driver has it, else copy */
	CONFIG_XSK_COPY,
	CONFIG_XSK_ZEROCOPY,
};

enum config_rx_csum {
	CONFIG_CSUM_VERIFY,
	CONFIG_CSUM_TRUSTED,		/* the link or the NIC has verified UDP checksums */
};

/* The core's resource pools (core/resource.h). */
struct pool_options {
	uint32_t total[FCORE_RESOURCES];	/* packets or cells; 0: from the sockets' buffers */
	uint8_t tx_cell, rx_cell;		/* FCORE_MIN_CELL << this, bytes */
	uint32_t red_percent;
	uint32_t host_percent;			/* of each pool, 1..100 */
	uint32_t function_percent;
};

/* Section [agent]. */
struct agent_options {
	char socket[CONFIG_SOCKET_MAX];		/* control socket */
	char socket_group[32];			/* may use the socket too; "": the owner alone */
	char pin_path[CONFIG_PATH_MAX];		/* where falcon_* maps are pinned; "": search */
	enum sandbox_mode sandbox;		/* privileges that are given up at the start */
	bool verbs;				/* serve verbs applications */
	bool offload;				/* false: XDP only steers */
	uint32_t threads;			/* that carry packets, 1..CONFIG_THREADS_MAX */
	char cpus[CONFIG_PATH_MAX];		/* of these, a list in their order; "": any */
	enum priority_level priority;		/* of these */
	uint16_t control_port;			/* TCP port of the agents' sessions */
	uint32_t control_grace_ms;		/* that connections stay up without a session */
	enum config_control control;
	char listen[CONFIG_PATH_MAX];		/* addresses where peers may dial; "": none */
	char tls_cert[CONFIG_PATH_MAX];		/* PEM files; "": none */
	char tls_key[CONFIG_PATH_MAX];
	char tls_ca[CONFIG_PATH_MAX];
	char tls_crl[CONFIG_PATH_MAX];
	char psk_file[CONFIG_PATH_MAX];
	enum log_level log_level;
	char metrics[CONFIG_PATH_MAX];		/* ADDRESS:PORT where metrics are served; "": nowhere */
	bool metrics_connections;		/* with metrics of each connection */
	uint64_t replay_margin_ps;		/* Falcon 9.2.1 Replay Protection Margin */
	bool pcid;				/* Falcon 9.2.1 PCID Match Enable */
	bool key_export;			/* debugging: keys are told on request */
	uint64_t key_lifetime_ns;		/* between rotations of master keys; 0: none */
	uint64_t key_packets;			/* received with one key before it is replaced */
	uint64_t key_bytes;			/* the same in bytes of PSP packets */
	uint64_t key_settle_ns;			/* that a replaced key is still accepted */
	uint64_t rue_p1_ns;			/* Falcon 10.6.1 P1 */
	uint32_t rue_p2_packets;		/* Falcon 10.6.1 P2 */
	enum config_rue_mode rue_mode;
	char rue_socket[CONFIG_SOCKET_MAX];	/* of an engine in another process */
	uint32_t rx_ema_packets, rx_ema_buffers;	/* Falcon 10.2 alpha, percent, of the pools */
	uint32_t rx_ema_ring;			/* and of the receive rings */
	enum config_security security;		/* of connections that say nothing else, and dialled ones */
	struct cc_options cc;			/* likewise */
	struct pool_options pools;
	struct fcore_params params;		/* what connections start from */
	struct config_set set;			/* keys that were given, one bit a key */
	unsigned int line;			/* of the section; 0: not in the file */
};

/* Section [port IFNAME]. */
struct port_config {
	char ifname[IFNAMSIZ];
	uint32_t queues;			/* RX queues to serve; 0: all that the device has */
	enum config_xsk_mode mode;
	enum config_rx_csum rx_csum;
	struct config_set set;
	unsigned int line;
};

/* Section [connection NAME], or one "conn-add". */
struct conn_config {
	char name[CONFIG_NAME_MAX];
	int family;				/* AF_INET or AF_INET6 */
	struct falcon_addr local;
	struct falcon_addr remote;
	/* Both are given, or the peer is dialled: both 0, until they are chosen. */
	uint32_t local_cid;			/* 1..FALCON_MAX_CONNS - 1 */
	uint32_t remote_cid;			/* 24 bits, not 0 */
	enum config_security security;
	enum config_mode mode;
	int inner_family;			/* tunnel: AF_INET or AF_INET6; else 0 */
	struct falcon_addr inner_local;		/* tunnel: of the inner IP header, as |local| */
	struct falcon_addr inner_remote;
	char peer[CHAN_NAME_MAX];		/* name the peer must prove; "": that of its address */
	bool handshake;				/* false: purely static, PSNs and RSNs 0 */
	uint32_t local_spi;			/* handshake off: of packets we receive, not 0 */
	uint32_t remote_spi;			/* handshake off: of packets we send, not 0 */
	struct cc_options cc;
	struct fcore_params params;		/* ordered, function and protocol values; PSNs 0 */
	struct config_set set;
	unsigned int line;
};

/* Section [peer NAME]: what may be dialled by an agent whose certificate has that name. */
struct peer_config {
	char name[CONFIG_NAME_MAX];		/* "any": all others */
	char functions[CONFIG_PATH_MAX];	/* Destination Functions: "any", or "0,16-31" */
	uint32_t max_connections;
	bool clear;				/* connections without encryption are accepted */
	struct config_set set;
	unsigned int line;
};

/* Section [namespace NAME]: what NVMe initiators may reach. */
struct namespace_config {
	char name[CONFIG_NAME_MAX];
	char path[CONFIG_PATH_MAX];		/* file or block device */
	char protection[CONFIG_PATH_MAX];	/* file of protection information; "": none */
	bool protection_check;			/* it is checked here */
	uint32_t nsid;
	char nguid[CONFIG_NGUID_MAX];		/* as config_nguid() reads it; "": none */
	uint32_t ana;				/* enum config_ana */
	uint32_t block_size;			/* enum config_block_size */
	bool read_only;
	bool page_cache;			/* the file is used through it */
	char peers[CONFIG_PATH_MAX];		/* names, or "any" */
	uint64_t iops;				/* commands a second; 0: no limit */
	uint64_t bytes_per_s;			/* 0: no limit */
	uint64_t memory;			/* bytes for data under way; the largest counts */
	struct config_set set;
	unsigned int line;
};

/* Asymmetric namespace access: whether initiators are to use this path to the namespace. */
enum config_ana {
	CONFIG_ANA_OPTIMIZED,
	CONFIG_ANA_INACCESSIBLE,
};

enum config_block_size {
	CONFIG_BLOCK_512,
	CONFIG_BLOCK_4096,
};

/* Section [nvme NAME]: a virtual NVMe device. */
struct nvme_config {
	char name[CONFIG_NAME_MAX];
	int family;				/* AF_INET or AF_INET6 */
	struct falcon_addr local;		/* as conn_config.local */
	char targets[CONFIG_PATH_MAX];		/* "PATH[|PATH...] ...", a PATH "ADDRESS/NSID[@LOCAL]" */
	char peer[CHAN_NAME_MAX];		/* as conn_config.peer */
	uint32_t nsid;
	uint32_t function;
	uint64_t stripe;			/* bytes: a power of two, at least 256 KiB */
	uint64_t chunk;				/* bytes: a power of two, at least 1 GiB */
	uint64_t timeout_ns;
	bool read_only;
	bool combined;				/* combined packets, where the target knows them */
	uint32_t protection;			/* type that applications see; 0: none */
	char controller[CONFIG_NAME_MAX];	/* whose namespace it is; "": of its own */
	char key_file[CONFIG_PATH_MAX];		/* AES-256-XTS key; "": data are not encrypted */
	struct config_set set;
	unsigned int line;
};

struct agent_config {
	struct agent_options agent;
	struct port_config *ports;
	unsigned int nports;
	struct peer_config *peers;
	unsigned int npeers;
	struct quota_section *users;		/* [user] and [group] sections */
	unsigned int nusers;
	struct conn_config *conns;
	unsigned int nconns;
	struct namespace_config *namespaces;
	unsigned int nnamespaces;
	struct nvme_config *nvmes;
	unsigned int nnvmes;
	struct rue_settings rue;
};

/*
 * Read |path| into |cfg|. 0, or a negative errno value with "path:line: sentence" in |err|, in
 * which case |cfg| holds nothing to free. |path| may be NULL: the defaults.
 */
int config_load(const char *path, struct agent_config *cfg, char *err, size_t errlen);

/* Free what config_load() allocated. */
void config_free(struct agent_config *cfg);

/*
 * A connection from the members of |obj|: "name" and the keys of a [connection] section, values as
 * strings, integers or (on and off) booleans; the member "op" is skipped. Keys that are absent
 * come from |defaults|. 0, or -EINVAL with a sentence in |err|.
 */
int config_conn_from_json(const json_t *obj, const struct agent_options *defaults,
			  struct conn_config *out, char *err, size_t errlen);

/*
 * An NVMe device from the members of |obj|, as config_conn_from_json() does it. 0, or -EINVAL with a
 * sentence in |err|.
 */
int config_nvme_from_json(const json_t *obj, struct nvme_config *out, char *err, size_t errlen);

/*
 * The members of |obj| that may change, limits and ANA state, into |ns|. 0, or -EINVAL with a sentence in
 * |err|.
 */
int config_namespace_changed(const json_t *obj, struct namespace_config *ns, char *err,
			    size_t errlen);

/* 0 if |a| and |b| may exist side by side, else -EEXIST with a sentence about |a| in |err|. */
int config_conn_conflict(const struct conn_config *a, const struct conn_config *b, char *err,
			 size_t errlen);

/* The enum falcon_encap of a connection with |security|, and the other way round. */
uint8_t config_encap(enum config_security security);
enum config_security config_security(uint8_t encap);

/*
 * Every key of [agent] and the ports with its value: a new array of {"section", "key", "value",
 * "unit", "source": "configured"|"agent" (inherited from that section)|"default", "help"}. NULL if
 * memory is short. Connections come and go: append each with config_show_conn().
 */
json_t *config_show(const struct agent_config *cfg);

/* Append the keys of |conn| to |rows|. 0, or -ENOMEM. */
int config_show_conn(json_t *rows, const struct conn_config *conn);
/* The same of an NVMe device that no section has made. */
int config_show_nvme(json_t *rows, const struct nvme_config *dev);

#endif /* FALCON_AGENT_CONFIG_H */
