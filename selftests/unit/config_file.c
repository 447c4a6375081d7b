// SPDX-License-Identifier: BSD-2-Clause
/* falcon.conf(5): every key, what is inherited, and every refusal with its line. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <agent/config/config.h>
#include <agent/config/nvme.h>
#include <falcon/falcon.h>

static char path[UNIT_PATH];
static char err[512];

static int load(const char *text, struct agent_config *cfg)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	err[0] = 0;
	return config_load(path, cfg, err, sizeof(err));
}

/* A connection that needs no more than |rest|. */
#define CONN(name, cid, rest)                                                                      \
	"[connection " name "]\nlocal = 10.0.0.1\nremote = 10.0.0.2\nlocal_cid = " #cid            \
	"\nremote_cid = 9\nsecurity = clear\n" rest

static void defaults(void **state)
{
	struct agent_config cfg;
	struct fcore_params p;

	(void)state;
	fcore_params_default(&p);
	assert_int_equal(config_load(NULL, &cfg, err, sizeof(err)), 0);
	assert_string_equal(cfg.agent.socket, FALCON_DEFAULT_SOCKET);
	assert_string_equal(cfg.agent.socket_group, "");
	assert_true(cfg.agent.offload);
	assert_int_equal(cfg.agent.control_port, 1000);
	assert_int_equal(cfg.agent.log_level, LOG_LEVEL_INFO);
	assert_true(cfg.agent.replay_margin_ps == 1000000000000);
	assert_int_equal(cfg.agent.params.rto_ns, p.rto_ns);
	assert_int_equal(cfg.nports + cfg.nconns, 0);
}

static void every_pool_key(void **state)
{
	static const char text[] =
		"[agent]\npool_percent = 15\nalpha_percent = 160\npool_req_pkt_tx = 17\n"
		"pool_net_buf_rx = auto\npool_tx_cell = 64\npool_rx_cell = 65536\n"
		"pool_red_percent = 0\npool_host_percent = 18\npool_function_percent = 19\n"
		"[connection b]\nlocal = 10.0.0.1\nremote = 10.0.0.2\nlocal_cid = 7\n"
		"remote_cid = 8\nsecurity = clear\nlocal_function = 15\npool_percent = 20\n";
	struct agent_config cfg;
	const struct pool_options *p = &cfg.agent.pools;

	(void)state;
	if (load(text, &cfg))
		fail_msg("%s", err);
	assert_int_equal(cfg.agent.params.pool_percent, 15);
	assert_int_equal(p->total[FCORE_REQ_PKT_TX], 17);
	assert_int_equal(p->total[FCORE_NET_BUF_RX], 0);
	assert_int_equal(FCORE_MIN_CELL << p->tx_cell, 64);
	assert_int_equal(FCORE_MIN_CELL << p->rx_cell, 65536);
	assert_int_equal(p->red_percent, 0);
	assert_int_equal(p->host_percent, 18);
	assert_int_equal(p->function_percent, 19);
	assert_int_equal(cfg.conns[0].params.local_function, 15);
	assert_int_equal(cfg.conns[0].params.pool_percent, 20);
	assert_int_equal(cfg.conns[0].params.alpha_percent, 160);
	config_free(&cfg);
}

/* As every_key() has them. */
static void agent_keys(const struct agent_options *a)
{
	assert_string_equal(a->socket, "/tmp/s");
	assert_string_equal(a->socket_group, "falcon");
	assert_string_equal(a->pin_path, "/tmp/p");
	assert_false(a->offload);
	assert_int_equal(a->control_port, 2000);
	assert_int_equal(a->log_level, LOG_LEVEL_DEBUG);
	assert_string_equal(a->metrics, "[::1]:9464");
	assert_true(a->metrics_connections);
	assert_int_equal(a->replay_margin_ps, 2000000000);
	assert_int_equal(a->rue_p1_ns, 3000);
	assert_int_equal(a->rue_p2_packets, 4);
	assert_int_equal(a->params.fcwnd, 5);
	assert_int_equal(a->params.ncwnd, 6);
	assert_int_equal(a->params.rto_ns, 70000);
	assert_int_equal(a->params.max_retx, 8);
	assert_int_equal(a->params.txn_timeout_ns, 9000000);
	assert_int_equal(a->params.rnr_patience_ns, 17000);
	assert_int_equal(a->params.ack_timeout_ns, 10000);
	assert_int_equal(a->params.ack_count, 11);
	assert_int_equal(a->params.ar_fcwnd, 12);
	assert_int_equal(a->params.ar_percent, 13);
	assert_int_equal(a->params.ooo_threshold, 14);
	assert_int_equal(a->params.flows, 15);
	assert_int_equal(a->params.prr_threshold, 16);
}

static void connection_keys(const struct conn_config *c)
{
	assert_string_equal(c->name, "b");
	assert_int_equal(c->family, AF_INET);
	assert_memory_equal(c->remote.b, "\x0a\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(c->local_cid, 7);
	assert_int_equal(c->remote_cid, 8);
	assert_false(c->params.ordered);
	assert_false(c->handshake);
	assert_true(c->local_spi == UINT32_MAX);
	assert_int_equal(c->remote_spi, 10);
	assert_int_equal(c->params.function, 11);
	/* Its own, and inherited. */
	assert_int_equal(c->params.rto_ns, 12000);
	assert_int_equal(c->params.max_retx, 8);
}

static void every_key(void **state)
{
	static const char text[] =
		"# comment\n; comment\n\n"
		"[agent]\n"
		"socket = /tmp/s\nsocket_group = falcon\npin_path = /tmp/p\noffload = off\n"
		"control_port = 2000\nlog_level = debug\nreplay_margin_ms = 2\nrue_p1_us = 3\n"
		"metrics = [::1]:9464\nmetrics_connections = on\n"
		"rue_p2_packets = 4\nfcwnd = 5\nncwnd = 6\nrto_us = 70\nmax_retx = 8\n"
		"txn_timeout_ms = 9\nrnr_patience_us = 17\nack_timeout_us = 10\n"
		"ack_count = 11\nar_fcwnd = 12\n"
		"ar_percent = 13\nooo_threshold = 14\nflows = 15\nprr_threshold = 16\n"
		"[ port  eth0 ]\n"
		"  queues = 2 ; comment\n\tmode = copy\nrx_csum = trusted\n"
		"[port eth1]\n"
		"[connection b]\r\n"
		"local = 10.0.0.1\r\nremote=10.0.0.2\r\nlocal_cid = 0x7\nremote_cid = 8\n"
		"ordering = unordered\nsecurity = clear\nhandshake = off\nlocal_spi = 4294967295\n"
		"remote_spi = 10\nfunction = 11\nrto_us = 12\n";
	struct agent_config cfg;

	(void)state;
	if (load(text, &cfg))
		fail_msg("%s", err);
	agent_keys(&cfg.agent);
	assert_int_equal(cfg.nports, 2);
	assert_string_equal(cfg.ports[0].ifname, "eth0");
	assert_int_equal(cfg.ports[0].queues, 2);
	assert_int_equal(cfg.ports[0].mode, CONFIG_XSK_COPY);
	assert_int_equal(cfg.ports[0].rx_csum, CONFIG_CSUM_TRUSTED);
	assert_string_equal(cfg.ports[1].ifname, "eth1");
	assert_int_equal(cfg.ports[1].queues, 0);
	assert_int_equal(cfg.nconns, 1);
	connection_keys(&cfg.conns[0]);
	config_free(&cfg);
}

/* [agent] counts for connections above it too. */
static void inherits_from_below(void **state)
{
	struct agent_config cfg;

	(void)state;
	assert_int_equal(load(CONN("b", 1, "") "[agent]\nfcwnd = 77\n", &cfg), 0);
	assert_int_equal(cfg.conns[0].params.fcwnd, 77);
	assert_true(cfg.conns[0].params.ordered);
	config_free(&cfg);
}

static void inherits_security(void **state)
{
	struct agent_config cfg;

	(void)state;
	assert_int_equal(load("[agent]\nsecurity = psp-gmac-256\n" CONN("b", 1, "")
			      "[connection c]\nlocal = 10.0.0.1\nremote = 10.0.0.2\n", &cfg), 0);
	assert_int_equal(cfg.conns[0].security, CONFIG_SECURITY_CLEAR);
	assert_int_equal(cfg.conns[1].security, CONFIG_SECURITY_GMAC_256);
	config_free(&cfg);
}

/* Congestion control: what a connection says, or [agent]; profiles; what a loaded algorithm gets. */
static void congestion_control(void **state)
{
	static const char text[] =
		"[swift near]\nfabric_base_delay = 400\nmax_fcwnd = 64.5\n"
		CONN("b", 1, "cc = swift\ncc_profile = near\ndelay_select = full\n")
		CONN("c", 2, "")
		"[swift]\nrandomize_path = off\nfabric_base_delay = 500\n"
		"[swift far]\n"
		"[rue aimd]\npercent = 70\nincrease = 2\n"
		"[agent]\ncc = aimd\ncc_profile = default\nrue_mode = thread\n"
		"rx_level_packets_percent = 100\nrx_level_ring_percent = 1\n"
		"rx_level_buffers_percent = 50\n";
	struct agent_config cfg;

	(void)state;
	assert_int_equal(load(text, &cfg), 0);
	assert_int_equal(cfg.agent.rue_mode, CONFIG_RUE_THREAD);
	assert_int_equal(cfg.agent.rx_ema_packets, 100);
	assert_int_equal(cfg.agent.rx_ema_ring, 1);
	assert_int_equal(cfg.agent.rx_ema_buffers, 50);
	assert_string_equal(cfg.conns[0].cc.algorithm, "swift");
	assert_string_equal(cfg.conns[0].cc.profile, "near");
	assert_int_equal(cfg.conns[0].cc.delay_select, kRueDelayFull);
	assert_string_equal(cfg.conns[1].cc.algorithm, "aimd");
	assert_string_equal(cfg.conns[1].cc.profile, "default");
	assert_int_equal(cfg.conns[1].cc.delay_select, kRueDelayFabric);
	assert_int_equal(cfg.rue.nprofiles, 4);
	assert_string_equal(cfg.rue.profile[0].name, "software");
	assert_int_equal(cfg.rue.profile[0].params.fabric_base_delay, 500);
	assert_string_equal(cfg.rue.profile[1].name, "default");
	assert_int_equal(cfg.rue.profile[1].params.fabric_base_delay, 191);
	assert_string_equal(cfg.rue.profile[2].name, "near");
	assert_int_equal(cfg.rue.profile[2].params.fabric_base_delay, 400);
	assert_true(cfg.rue.profile[2].params.max_fabric_congestion_window == 64.5);
	/* A new profile is not what [swift] has changed, wherever that stands. */
	assert_int_not_equal(cfg.rue.profile[3].params.fabric_base_delay, 500);
	assert_int_equal(cfg.rue.nengines, 1);
	assert_string_equal(cfg.rue.engine[0].name, "aimd");
	assert_string_equal(cfg.rue.engine[0].param[1], "increase=2");
	config_free(&cfg);
}

/* A user and a group may have the same name. */
static void users_and_groups(void **state)
{
	struct agent_config cfg;

	(void)state;
	assert_int_equal(load("[user a]\nmax_qps = 5\nmax_memory_mbytes = 2\n"
			      "[group a]\nmax_clients = 0\n[user any]\n", &cfg), 0);
	assert_int_equal(cfg.nusers, 3);
	assert_int_equal(cfg.users[0].limit[QUOTA_QPS], 5);
	assert_int_equal(cfg.users[0].limit[QUOTA_MEMORY], 2 << 20);
	assert_int_equal(cfg.users[0].limit[QUOTA_CLIENTS], 64);
	assert_false(cfg.users[0].group);
	assert_true(cfg.users[1].group);
	assert_int_equal(cfg.users[1].limit[QUOTA_CLIENTS], 0);
	assert_string_equal(cfg.users[2].name, "any");
	/* Each kind has a key, with a default. */
	for (int k = 0; k < QUOTA_KINDS; k++)
		assert_true(cfg.users[2].limit[k] > 0);
	config_free(&cfg);
	assert_null(cfg.users);
}

static void nvme_sections(void **state)
{
	static const char text[] =
		"[namespace a]\npath = /srv/a\npeers = x.example y\nnsid = 7\nblock_size = 512\n"
		"read_only = on\niops = 1000\nmbytes_per_s = 5\nprotection_check = off\n"
		"[namespace b]\npath = b\npeers = any\nmemory_mbytes = 96\npage_cache = on\n"
		"ana = inaccessible\nnguid = 01234567-89ab-CDEF-0000-0000000000ff\n"
		"[nvme d]\nlocal = fd00::1\ntargets = fd00::2/1|fd01::2/4@fd01::1, fd00::3/65535\n"
		"peer = x\nnsid = 3\n"
		"function = 4\nstripe_kbytes = 1024\nchunk_gbytes = 32\ntimeout_ms = 200\n"
		"read_only = on\n";
	static const uint8_t nguid[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, [15] = 0xff };
	uint8_t read[NVME_NGUID_BYTES];
	struct nvme_dev_attr dev;
	struct agent_config cfg;

	(void)state;
	assert_int_equal(load(text, &cfg), 0);
	assert_int_equal(cfg.nnamespaces, 2);
	assert_int_equal(cfg.namespaces[0].ana, CONFIG_ANA_OPTIMIZED);
	assert_int_equal(cfg.namespaces[1].ana, CONFIG_ANA_INACCESSIBLE);
	assert_true(config_nguid(cfg.namespaces[1].nguid, read));
	assert_memory_equal(read, nguid, sizeof(nguid));
	assert_true(config_nguid(cfg.namespaces[0].nguid, read) && !read[0]);
	assert_string_equal(cfg.namespaces[0].path, "/srv/a");
	assert_string_equal(cfg.namespaces[0].peers, "x.example y");
	assert_int_equal(cfg.namespaces[0].nsid, 7);
	assert_int_equal(config_block_bytes(&cfg.namespaces[0]), 512);
	assert_true(cfg.namespaces[0].read_only);
	assert_false(cfg.namespaces[0].protection_check);
	assert_false(cfg.namespaces[0].page_cache);
	assert_true(cfg.namespaces[1].page_cache);
	assert_int_equal(cfg.namespaces[0].iops, 1000);
	assert_int_equal(cfg.namespaces[0].bytes_per_s, 5000000);
	assert_int_equal(config_block_bytes(&cfg.namespaces[1]), 4096);
	assert_int_equal(cfg.namespaces[1].iops + cfg.namespaces[1].bytes_per_s, 0);
	assert_int_equal(cfg.namespaces[0].memory, 64 << 20);
	assert_int_equal(config_nvme_memory(&cfg), 96 << 20);
	assert_int_equal(cfg.nnvmes, 1);
	assert_int_equal(config_nvme_dev(&cfg.nvmes[0], &dev, err, sizeof(err)), 0);
	assert_int_equal(dev.ntargets, 2);
	assert_int_equal(dev.nsid, 3);
	assert_int_equal(dev.stripe_shift, 2);
	assert_int_equal(dev.chunk_shift, 5);
	assert_int_equal(dev.timeout_ns, 200000000);
	assert_true(dev.read_only);
	assert_int_equal(dev.targets[0].npaths, 2);
	assert_int_equal(dev.targets[0].paths[0].ends.local.b[1], 0);
	assert_int_equal(dev.targets[0].paths[1].nsid, 4);
	assert_int_equal(dev.targets[0].paths[1].ends.remote.b[1], 1);
	assert_int_equal(dev.targets[0].paths[1].ends.local.b[1], 1);
	assert_string_equal(dev.targets[0].paths[1].peer, "x");
	assert_int_equal(dev.targets[1].npaths, 1);
	assert_int_equal(dev.targets[1].paths[0].nsid, 65535);
	assert_int_equal(dev.targets[1].paths[0].ends.family, AF_INET6);
	assert_int_equal(dev.targets[1].paths[0].ends.remote.b[15], 3);
	assert_int_equal(dev.targets[1].paths[0].ends.function, 4);
	assert_string_equal(dev.targets[1].paths[0].peer, "x");
	config_free(&cfg);
}

static void ipv6_and_long_name(void **state)
{
	struct agent_config cfg;

	(void)state;
	assert_int_equal(load("[connection abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz_"
			      "123456789]\n"
			      "local = fd00::1\nremote = fd00::2\nlocal_cid = 1\nremote_cid = 2\n"
			      "security = clear\n", &cfg), 0);
	assert_int_equal(strlen(cfg.conns[0].name), 63);
	assert_int_equal(cfg.conns[0].family, AF_INET6);
	config_free(&cfg);
}

struct refusal {
	const char *text;
	unsigned int line;
	const char *part;	/* of the message */
};

/* Refused, with that line and that reason. */
static void refused(const struct refusal *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct agent_config cfg;
		char where[UNIT_PATH + 28];

		if (load(cases[i].text, &cfg) == 0)
			fail_msg("accepted: %s", cases[i].text);
		snprintf(where, sizeof(where), "%s:%u: ", path, cases[i].line);
		if (strncmp(err, where, strlen(where)) || !strstr(err, cases[i].part))
			fail_msg("\"%s\" is not line %u: %s", err, cases[i].line, cases[i].part);
	}
}

static void refusals_of_sections_and_values(void **state)
{
	static const struct refusal cases[] = {
		{"fcwnd = 1\n", 1, "before any section"},
		{"[agent]\nbogus = 1\n", 2, "unknown key bogus in [agent]"},
		{"\n\n[bogus]\n", 3, "unknown section [bogus]"},
		{"[agent\n", 1, "malformed section header"},
		{"[agent x]\n", 1, "[agent] takes no name"},
		{"[agent]\n[port eth0]\n[agent]\n", 3, "second [agent] section; the first is in line 1"},
		{"[agent]\nwhat\n", 2, "neither key = value nor a section"},
		{"[agent]\nfcwnd = 1\n\nfcwnd = 2\n", 4, "given twice"},
		{"[agent]\nmax_retx = 255\n", 2, "max_retx must be a number from 1 to 254, not \"255\""},
		{"[agent]\nfcwnd = 0\n", 2, "fcwnd must be a number from 1 to 255, not \"0\""},
		{"[agent]\nfcwnd = 256\n", 2, "from 1 to 255"},
		{"[agent]\nfcwnd = -1\n", 2, "from 1 to 255"},
		{"[agent]\nfcwnd = 5x\n", 2, "from 1 to 255"},
		{"[agent]\nfcwnd =\n", 2, "from 1 to 255"},
		{"[agent]\nfcwnd = 99999999999999999999999\n", 2, "from 1 to 255"},
		{"[agent]\noffload = yes\n", 2, "offload must be one of off on, not \"yes\""},
		{"[agent]\nar_percent = 101\n", 2, "from 0 to 100"},
		{"[agent]\ncpus = 1-\n", 1, "cpus must be numbers and ranges"},
		{"[agent]\ncpus = 99999\n", 1, "cpus must be numbers and ranges"},
		{"[agent]\nthreads = 4\ncpus = 0-1,7\n", 1, "cpus = 0-1,7 has fewer CPUs than"},
		{"[agent]\nsocket = /tmp/\xff\n", 2, "socket must be UTF-8 text"},
	};

	(void)state;
	refused(cases, ARRAY_SIZE(cases));
}

static void refusals_of_engines(void **state)
{
	static const struct refusal cases[] = {
		{"[swift]\nbogus = 1\n", 2, "unknown key bogus"},
		{"[swift x]\nretransmit_limit = 0\n", 2, "retransmit_limit is [1, 255], not 0"},
		{"[swift x]\nmax_fcwnd = 2\nmax_fcwnd = 2\n", 3, "given twice"},
		{"\n[swift x]\nmax_fcwnd = 1\nmin_fcwnd = 2\n", 2, "profile x of swift: min_fabric"},
		{"[swift]\n[swift software]\n", 2, "second section for profile software"},
		{"[swift 1]\n[swift 2]\n[swift 3]\n[swift 4]\n[swift 5]\n[swift 6]\n[swift 7]\n", 7,
		 "at most 8 profiles"},
		{"[agent]\nmetrics = 9464\n", 1, "metrics must be ADDRESS:PORT"},
		{"[agent]\ncc_profile = far\n", 1, "cc_profile must be one of software default, not"},
		{CONN("b", 1, "cc_profile = far\n"), 1, "cc_profile must be one of"},
		{"[agent]\ndelay_select = short\n", 2, "one of full fabric forward reverse"},
		{"[rue]\n", 1, "needs the name"},
		{"[rue swift]\n", 1, "is for loaded algorithms"},
		{"[rue x]\n[rue x]\n", 2, "second section"},
	};

	(void)state;
	refused(cases, ARRAY_SIZE(cases));
}

static void refusals_of_ports_and_users(void **state)
{
	static const struct refusal cases[] = {
		{"[port]\n", 1, "interface name"},
		{"[port abcdefghijklmnop]\n", 1, "interface name"},
		{"[port a/b]\n", 1, "interface name"},
		{"[port a]\n[port a]\n", 2, "second section for port a"},
		{"[port a]\nqueues = 65\n", 2, "auto or a number from 0 to 64"},
		{"[user]\n", 1, "[user] needs a name, or a number"},
		{"[group a/b]\n", 1, "[group] needs a name, or a number"},
		{"[user a]\n[user b]\n[user a]\n", 3, "second section for user a"},
		{"[user a]\nmax_memory_mbytes = 2000000000\n", 2, "from 0 to 1073741824"},
		{"[user a]\nmax_qps = -1\n", 2, "max_qps must be a number"},
	};

	(void)state;
	refused(cases, ARRAY_SIZE(cases));
}

static void refusals_of_disks(void **state)
{
	static const struct refusal cases[] = {
		{"[namespace]\n", 1, "[namespace] needs a name"},
		{"[namespace a]\npath = x\n", 1, "[namespace a]: peers is missing"},
		{"[namespace a]\npeers = any\n", 1, "[namespace a]: path is missing"},
		{"[namespace a]\nblock_size = 1024\n", 2, "one of 512 4096"},
		{"[namespace a]\npath = /a\npeers = any\nprotection = /a\n", 1,
		 "is a file of [namespace a] already"},
		{"[namespace a]\nmemory_mbytes = 1025\n", 2, "from 1 to 1024"},
		{"[namespace a]\nprotection_check = 2\n", 2, "one of off on"},
		{"[nvme d]\nprotection = type4\n", 2, "one of off type1 type2 type3"},
		{"[namespace a]\nnsid = 65536\n", 2, "from 1 to 65535"},
		{"[nvme d]\n[nvme d]\n", 2, "second section [nvme d]"},
		{"[nvme d]\ntargets = 10.0.0.1/1\n", 1, "[nvme d]: local is missing"},
		{"[nvme d]\nlocal = 10.0.0.1\n", 1, "needs 1, 2, 4, 8 or 16 targets, not 0"},
		{"[nvme d]\nlocal = 10.0.0.1\ntargets = 10.0.0.2\n", 1, "\"10.0.0.2\" is not"},
		{"[nvme d]\nlocal = 10.0.0.1\ntargets = 10.0.0.2/1|\n", 1, "\"10.0.0.2/1|\" is not"},
		{"[nvme d]\nlocal = 10.0.0.1\ntargets = 10.0.0.2/1@fd00::1\n", 1, "is not"},
		{"[nvme d]\nlocal = 10.0.0.1\ntargets = 1.1.1.1/1|1.1.1.2/1|1.1.1.3/1|1.1.1.4/1|1.1.1.5/1\n",
		 1, "up to 4 paths"},
		{"[namespace a]\npath = a\npeers = any\nnguid = 0123\n", 1, "\"0123\" is not"},
		{"[namespace a]\npath = a\npeers = any\nnguid = 0123456789abcdef0123456789abcdeg\n",
		 1, "is not"},
		{"[namespace a]\npath = a\npeers = any\nnguid = 0123456789abcdef0123456789abcdef\n"
		 "[namespace b]\npath = b\npeers = any\nnsid = 2\n"
		 "nguid = 01234567-89ABCDEF0123456789abcdef\n",
		 5, "[namespace b]: nguid is that of [namespace a]"},
		{"[nvme d]\nlocal = 10.0.0.1\ntargets = fd00::1/1\n", 1, "\"fd00::1/1\" is not"},
		{"[nvme d]\nlocal = 10.0.0.1\ntargets = 10.0.0.2/0\n", 1, "is not"},
		{"[nvme d]\nlocal = 10.0.0.1\nstripe_kbytes = 300\n", 1, "powers of two"},
	};

	(void)state;
	refused(cases, ARRAY_SIZE(cases));
}

static void refusals_of_connections(void **state)
{
	static const struct refusal cases[] = {
		{"[connection]\n", 1, "needs a name"},
		{"[connection 192.0.2.2]\n", 1, "192.0.2.2 is an address, and no name of a connection"},
		{"[connection a b]\n", 1, "malformed section header"},
		{"[connection b]\nlocal = 10.0.0\n", 2, "must be an IPv4 or IPv6 address"},
		{"[connection b]\nlocal = 0.0.0.0\n", 2, "unicast"},
		{"[connection b]\nlocal = 224.0.0.1\n", 2, "unicast"},
		{"[connection b]\nlocal = fe80::1\n", 2, "unicast"},
		{"[connection b]\nlocal = ::\n", 2, "unicast"},
		{"[connection b]\nlocal = ::ffff:10.0.0.1\n", 2, "unicast"},
		{"[connection b]\nlocal = 10.0.0.1\nremote = fd00::1\n", 3, "both be IPv4 or both IPv6"},
		{"[connection b]\nlocal_cid = 0\n", 2, "local_cid must be"},
		{"[connection b]\nremote_cid = 0x1000000\n", 2, "remote_cid must be"},
		{"[connection b]\nlocal = 10.0.0.1\n", 1, "connection b: remote is missing"},
		{"\n" CONN("b", 1, "handshake = off\nlocal_spi = 1\n"), 2, "needs local_spi and"},
		{CONN("b", 1, "local_spi = 1\n"), 1, "go with handshake = off"},
		{CONN("b", 1, "") CONN("b", 2, ""), 7, "a connection named b already"},
		{CONN("b", 1, "") CONN("c", 1, ""), 7, "local_cid 1 is connection b's already"},
		{"[connection b]\nlocal = 10.0.0.1\nremote = 10.0.0.1\nlocal_cid = 1\n"
		 "remote_cid = 1\nsecurity = clear\n", 1, "the same address"},
		{"[connection b]\nlocal = 10.0.0.1\nremote = 10.0.0.2\nlocal_cid = 1\n"
		 "remote_cid = 1\nhandshake = off\nlocal_spi = 1\nremote_spi = 2\n", 1,
		 "handshake = off exchanges no keys; set security = clear"},
		{CONN("b", 1, "mode = tunnel\n"), 1, "mode = tunnel needs inner_local and"},
		{CONN("b", 1, "inner_local = 10.1.0.1\n"), 1, "go with mode = tunnel"},
		{CONN("b", 1, "mode = tunnel\ninner_local = 10.1.0.1\ninner_remote = 10.1.0.2\n"), 1,
		 "clear packets are not tunneled"},
	};

	(void)state;
	refused(cases, ARRAY_SIZE(cases));
}

static void long_line(void **state)
{
	struct agent_config cfg;
	char text[512] = "[agent]\nsocket = /";

	(void)state;
	memset(text + strlen(text), 'x', 300);
	assert_int_equal(load(text, &cfg), -EINVAL);
	assert_non_null(strstr(err, ":2: line is longer than"));
}

static void no_file(void **state)
{
	struct agent_config cfg;

	(void)state;
	assert_int_equal(config_load("/nonexistent/falcon.conf", &cfg, err, sizeof(err)), -ENOENT);
	assert_string_equal(err, "/nonexistent/falcon.conf: No such file or directory");
}

/* Nothing that stands in a file may crash the parser; ASan watches. */
static void random_text(void **state)
{
	static const char *const words[] = {
		"[", "]", "agent", "port", "connection", " ", "\n", "=", "local", "10.0.0.1", ";",
		"fcwnd", "\t", "b", "#", "\xff", ":", "0x", "on", "remote_cid",
	};
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct agent_config cfg;
		char text[2048] = "";

		for (unsigned int n = unit_random(&seed) % 100; n > 0; n--)
			strcat(text, words[unit_random(&seed) % ARRAY_SIZE(words)]);
		if (load(text, &cfg) == 0)
			config_free(&cfg);
		else
			assert_int_not_equal(err[0], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),	       cmocka_unit_test(every_key),
		cmocka_unit_test(every_pool_key),
		cmocka_unit_test(inherits_from_below), cmocka_unit_test(inherits_security),
		cmocka_unit_test(users_and_groups),    cmocka_unit_test(nvme_sections),
		cmocka_unit_test(ipv6_and_long_name),
		cmocka_unit_test(refusals_of_sections_and_values),
		cmocka_unit_test(refusals_of_engines), cmocka_unit_test(refusals_of_ports_and_users),
		cmocka_unit_test(refusals_of_disks),   cmocka_unit_test(refusals_of_connections),
		cmocka_unit_test(long_line),
		cmocka_unit_test(no_file),	       cmocka_unit_test(random_text),
		cmocka_unit_test(congestion_control),
	};
	int fd = mkstemp(unit_template(path, "falcon-config")), ret;

	if (fd < 0)
		return 1;
	close(fd);
	ret = unit_run(tests);
	unlink(path);
	return ret;
}
