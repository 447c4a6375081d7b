// SPDX-License-Identifier: BSD-2-Clause
/* falcond: start in order, turn, unwind in reverse. */
#include "agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/commands/commands.h"
#include "agent/conn/accept.h"
#include "agent/conn/conn.h"
#include "agent/conn/loopback.h"
#include "agent/conn/notes.h"
#include "agent/conn/setup.h"
#include "agent/control/control.h"
#include "agent/metrics/agent.h"
#include "agent/net/port.h"
#include "agent/nvme/nvme.h"
#include "agent/process/sandbox.h"
#include "agent/rdma/rdma.h"
#include "agent/rue/rue.h"
#include "agent/service.h"
#include "agent/shard/shard.h"
#include "agent/tenant/quota.h"
#include "base/cli.h"
#include "base/log.h"
#include "base/spin.h"
#include "crypto/sa.h"
#include "io/memory.h"
#include "ulp/rdma/rdma.h"

/* QUOTA_OBJECTS of all users: some hundred megabytes of the agent's memory. */
enum { OBJECTS_MAX = 1 << 20 };

struct options {
	const char *config;
	int offload;		/* -1: as configured */
	bool test;
	bool verbose;
};

enum { OPT_OFFLOAD = 256 };

static const struct argp_option options[] = {
	{ .name = "config", .key = 'c', .arg = "FILE",
	  .doc = "Configuration, falcon.conf(5); default /etc/falcon/falcon.conf" },
	{ .name = "offload", .key = OPT_OFFLOAD, .arg = "on|off",
	  .doc = "On: XDP runs the receive path; off: XDP only steers" },
	{ .name = "test", .key = 't', .doc = "Check the configuration and exit" },
	{ .name = "verbose", .key = 'v', .doc = "Log at level debug" },
	{},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'c': o->config = arg; break;
	case 't': o->test = true; break;
	case 'v': o->verbose = true; break;
	case OPT_OFFLOAD:
		o->offload = !strcmp(arg, "on");
		if (!o->offload && strcmp(arg, "off"))
			argp_error(state, "--offload is on or off, not \"%s\"", arg);
		break;
	case ARGP_KEY_ARG: argp_error(state, "unexpected argument \"%s\"", arg); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options, .parser = parse_option,
	.doc = "The Falcon agent: serves the interfaces to which falcon.bpf.o is attached.",
};

static void on_neigh_change(void *arg)
{
	struct agent *a = arg;

	remotes_changed(&a->remotes);
	for (unsigned int i = 0; i < a->plane.nshards; i++)
		agent_rdma_refresh(&a->plane.shards[i]);
}

static int open_signals(struct agent *a)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	a->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	a->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (a->signal_fd >= 0 && a->epoll_fd >= 0)
		return 0;
	log_err("cannot set up signals: %s", strerror(errno));
	return -errno;
}

/* Take the maps over: whatever an earlier agent left is closed to XDP before it is reused. */
static void adopt_maps(struct agent *a)
{
	struct falcon_config *cfg = a->plane.maps.config;
	const struct agent_options *opt = &a->config.agent;
	uint32_t left = 0;

	maps_ports_empty(&a->plane.maps);
	for (uint32_t cid = 0; cid < a->plane.maps.nconns; cid++) {
		left += !!a->plane.maps.conns[cid].id.flags;
		falcon_store(&a->plane.maps.conns[cid].id.flags, 0);
	}
	maps_quiesce();
	if (cfg->agent_pid)
		log_warn("taking over the maps of an agent that did not stop cleanly pid=%u "
			 "connections=%u",
			 cfg->agent_pid, left);
	memset(a->plane.maps.conns, 0, sizeof(*a->plane.maps.conns) * a->plane.maps.nconns);
	memset(a->plane.maps.dirty, 0, sizeof(*a->plane.maps.dirty) * FALCON_MAX_SHARDS);
	memset(a->plane.maps.responses, 0, sizeof(*a->plane.maps.responses) * FALCON_RESPONSES);
	memset(a->plane.maps.sinks, 0, sizeof(*a->plane.maps.sinks) * FALCON_SINKS);
	maps_sadb_empty(&a->plane.maps);
	memory_empty(&a->plane.maps);
	memset(cfg, 0, sizeof(*cfg));
	cfg->replay_margin = opt->replay_margin_ps;
	cfg->rue_p1_ns = opt->rue_p1_ns;
	cfg->rue_p2_packets = opt->rue_p2_packets;
	for (int i = 0; i < 3; i++)
		cfg->rue_threshold[i] = FALCON_RUE_RING_BYTES / 4 * (uint32_t)(i + 1);
	cfg->cur_spi_gen = sec_keys_generation(a->keys);
	cfg->pcid_match = opt->pcid;
	cfg->agent_pid = (uint32_t)getpid();
}

/* After adopt_maps(): no event of connections that are no more comes into new rings. */
static int open_rings(struct agent *a)
{
	void *shards[FALCON_MAX_SHARDS];
	char err[320];
	int rc;

	for (unsigned int i = 0; i < a->plane.nshards; i++)
		shards[i] = &a->plane.shards[i];
	rc = maps_rings_open(&a->plane.maps, a->plane.nshards, agent_on_rue_event, shards, err, sizeof(err));
	if (rc < 0)
		log_err("%s", err);
	return rc;
}

static int open_ports(struct plane *p)
{
	for (; p->nports < p->config->nports; p->nports++) {
		struct port *port = &p->ports[p->nports];
		int rc = port_open(port, p->nports, &p->config->ports[p->nports], &p->maps, p->nshards);

		if (rc < 0)
			return rc;
		for (uint32_t q = 0; q < port->nqueues; q++)
			agent_rx_level_init(&p->shards[q % p->nshards], &port->waiting[q]);
	}
	return 0;
}

static void close_ports(struct plane *p)
{
	while (p->nports > 0)
		port_close(&p->ports[--p->nports], &p->maps);
}

/* SIGTERM leaves nothing behind in the maps; the program stays, it is the operator's. */
static void leave_maps(struct agent *a)
{
	maps_quiesce();
	memset(a->plane.maps.conns, 0, sizeof(*a->plane.maps.conns) * a->plane.maps.nconns);
	memset(a->plane.maps.dirty, 0, sizeof(*a->plane.maps.dirty) * FALCON_MAX_SHARDS);
	memset(a->plane.maps.responses, 0, sizeof(*a->plane.maps.responses) * FALCON_RESPONSES);
	memset(a->plane.maps.sinks, 0, sizeof(*a->plane.maps.sinks) * FALCON_SINKS);
	maps_sadb_empty(&a->plane.maps);
	memset(a->plane.maps.config, 0, sizeof(*a->plane.maps.config));
}

static int open_shard(struct shard *s, char *err, size_t errlen)
{
	struct agent *a = s->agent;
	struct fcore_config cfg;
	int rc = agent_rue_open(s, err, errlen);

	if (rc < 0)
		return rc;
	agent_pools_config(&a->plane, &cfg);
	cfg.responses_count = FALCON_RESPONSES / a->plane.nshards;
	cfg.first_response = s->index * cfg.responses_count;
	cfg.responses = a->plane.maps.responses + cfg.first_response;
	cfg.sinks_count = FALCON_SINKS / a->plane.nshards;
	cfg.first_sink = s->index * cfg.sinks_count;
	cfg.sinks = a->plane.maps.sinks + cfg.first_sink;
	s->core = fcore_create(&agent_core_ops, s, &cfg);
	s->raw = s->core ? raw_create(&agent_raw_ops, s, a->plane.maps.nconns) : NULL;
	if (!s->raw)
		return -ENOMEM;
	shard_ulp_add(s, &raw_ulp_ops, s->raw);
	agent_pools_limit(s, &cfg);
	return a->config.agent.verbs ? agent_rdma_open(s) : 0;
}

static int open_protocol(struct agent *a)
{
	char err[256] = "out of memory";
	int rc = 0;

	for (unsigned int i = 0; i < a->plane.nshards && rc == 0; i++)
		rc = open_shard(&a->plane.shards[i], err, sizeof(err));
	if (rc == 0)
		return agent_nvme_open(a);	/* it says itself what is wrong */
	log_err("%s", err);
	return rc;
}

static int open_keys(struct agent *a)
{
	int rc = sec_keys_open(&a->keys);

	rekey_init(a);
	if (rc < 0)
		log_err("cannot make master keys in locked memory: %s; look at LimitMEMLOCK= or "
			"ulimit -l",
			strerror(-rc));
	if (rc == 0 && a->config.agent.key_export)
		log_warn("KEYS CAN BE EXPORTED: key_export = on; whoever has them reads all traffic");
	if (rc == 0 && a->config.agent.key_lifetime_ns)
		a->rekey.next_rotation = spin_clock() + a->config.agent.key_lifetime_ns;
	return rc;
}

/* Sections for users decide in place of the socket's mode, unless a group owns it. */
static int guard_control(struct agent *a, char *err, size_t errlen)
{
	const struct agent_options *opt = &a->config.agent;
	int rc = 0;

	control_guard(a->control, agent_client_admit);
	if (quota_restricts(a->quota) && !opt->socket_group[0])
		rc = control_open_to_all(a->control);
	if (rc == 0)
		return 0;
	snprintf(err, errlen, "control socket %s: %s", opt->socket, strerror(-rc));
	control_close(a->control);
	a->control = NULL;
	return rc;
}

static int open_control(struct agent *a)
{
	const struct agent_options *opt = &a->config.agent;
	const struct chan_config chan = {
		.plain = opt->control == CONFIG_CONTROL_PLAIN,
		.port = opt->control_port,
		.cert = opt->tls_cert,
		.key = opt->tls_key,
		.ca = opt->tls_ca,
		.crl = opt->tls_crl,
		.psk_file = opt->psk_file,
	};
	const struct cm_options cm = {
		.chan = &chan,
		.grace_ms = opt->control_grace_ms,
	};
	char err[256];
	int rc = neigh_open(&a->neigh, on_neigh_change, a, err, sizeof(err));

	if (rc == 0 && (rc = agent_conns_open(a)) < 0)
		snprintf(err, sizeof(err), "cannot watch XDP: %s", strerror(-rc));
	if (rc == 0)
		rc = cm_open(&a->cm, &agent_cm_ops, a, &cm, err, sizeof(err));
	if (rc == 0)
		rc = control_open(&a->control, opt->socket, opt->socket_group, agent_command,
				  agent_client_gone, a, err, sizeof(err));
	if (rc == 0)
		rc = guard_control(a, err, sizeof(err));
	if (rc < 0)
		log_err("%s", err);
	return rc;
}

static int add_connections(struct agent *a)
{
	char err[512];

	if (agent_listen(a, err, sizeof(err)) < 0) {
		log_err("%s", err);
		return -EINVAL;
	}
	for (unsigned i = 0; i < a->config.nconns; i++) {
		int rc = agent_conn_configure(a, &a->config.conns[i], err, sizeof(err));

		if (rc < 0) {
			log_err("%s", err);
			return rc;
		}
	}
	return 0;
}

/* What open_protocol() has made, as far as it came, and what waits for the loop. */
static void close_protocol(struct agent *a)
{
	for (unsigned int i = 0; i < a->plane.nshards; i++) {
		agent_rdma_close(&a->plane.shards[i]);
		raw_destroy(a->plane.shards[i].raw);
	}
	agent_nvme_close(a);
	for (unsigned int i = 0; i < a->plane.nshards; i++)
		if (a->plane.shards[i].core)
			fcore_destroy(a->plane.shards[i].core);
	loopback_close(a);
	agent_notes_close(a);
	free(a->rdma_group);
	agent_rue_trace_end(NULL);
	for (unsigned int i = 0; i < a->plane.nshards; i++)
		agent_rue_close(&a->plane.shards[i]);
}

static int open_shards(struct agent *a)
{
	int rc = 0;

	a->plane.config = &a->config;
	a->plane.quota = a->quota;
	a->plane.nshards = a->config.agent.threads;
	for (unsigned int i = 0; i < a->plane.nshards && rc == 0; i++)
		rc = shard_open(&a->plane.shards[i], &a->plane, a, i);
	if (rc < 0)
		log_err("cannot set up a thread that carries packets: %s", strerror(-rc));
	return rc;
}

/* What this host has for all users together. */
static void share_out(struct agent *a)
{
	struct rlimit files;

	/* Number 0 is nobody's. */
	quota_set_room(a->quota, QUOTA_LINKS, a->plane.maps.nconns - 1);
	/* A thread that is full is not asked for by those who do not care. */
	quota_set_room(a->quota, QUOTA_CLIENTS, (uint64_t)a->plane.nshards * RDMA_CTXS_MAX);
	quota_set_room(a->quota, QUOTA_QPS, RDMA_NUMBERS_MAX);
	quota_set_room(a->quota, QUOTA_MRS, RDMA_KEYS_MAX);
	quota_set_room(a->quota, QUOTA_CM_IDS, RDMA_CM_IDS_MAX);
	quota_set_room(a->quota, QUOTA_OBJECTS, OBJECTS_MAX);
	/* The other half is for clients, peers' sessions, and what waits to be closed. */
	getrlimit(RLIMIT_NOFILE, &files);
	quota_set_room(a->quota, QUOTA_CHANNELS, files.rlim_cur / 2);
}

static int run(struct agent *a)
{
	char err[512];
	int rc;

	agent_conns_init(a);
	if ((rc = open_signals(a)) < 0)
		return rc;
	if ((rc = open_shards(a)) < 0)
		return rc;
	rc = maps_open(&a->plane.maps, a->config.agent.pin_path, err, sizeof(err));
	if (rc < 0) {
		log_err("%s", err);
		return rc;
	}
	if ((rc = open_keys(a)) < 0)
		goto out_maps;
	/* The socket first: it tells whether another agent is at work on these maps. */
	if ((rc = open_control(a)) < 0)
		goto out_keys;
	adopt_maps(a);
	share_out(a);
	if ((rc = open_rings(a)) < 0)
		goto out_ports;
	/* Before the core, whose pools are as large as the sockets' buffers. */
	if ((rc = open_ports(&a->plane)) < 0)
		goto out_ports;
	if ((rc = agent_metrics_open(a)) < 0)
		goto out_ports;
	if ((rc = open_protocol(a)) < 0)
		goto out_ports;
	if ((rc = add_connections(a)) < 0)
		goto out_conns;
	log_info("ready socket=%s maps=%s offload=%s connections=%u aes=%s", a->config.agent.socket,
		 a->plane.maps.dir, a->offload ? "on" : "off", a->config.nconns, sa_library());
	service_open(a);
	service_ready();
	rc = agent_loop(a);
	if (rc < 0)
		log_err("cannot start the thread that carries packets: %s", strerror(-rc));
	service_stopping();
out_conns:
	agent_conns_close(a);
out_ports:
	agent_metrics_close(a);
	/* Applications still attached are detached by their control connections' end. */
	control_close(a->control);
	a->control = NULL;
	close_ports(&a->plane);
	close_protocol(a);
	leave_maps(a);
	cm_close(a->cm);
	neigh_close(a->neigh);
out_keys:
	sec_keys_close(a->keys);
out_maps:
	maps_close(&a->plane.maps);
	for (unsigned int i = 0; i < a->plane.nshards; i++)
		shard_close(&a->plane.shards[i]);
	log_info("stopped");
	return rc;
}

/* The configuration, and what it says about the host's users, while they can be looked up. */
static int load(struct agent *a, const char *path, char *err, size_t errlen)
{
	int rc = config_load(path, &a->config, err, errlen);

	if (rc < 0)
		return rc;
	rc = quota_open(&a->quota, a->config.users, a->config.nusers, err, errlen);
	if (rc < 0)
		config_free(&a->config);
	return rc;
}

/* Open what needs privileges, and give them up. 0, or a negative errno, reason logged. */
static int give_up(struct agent *a)
{
	const struct agent_options *o = &a->config.agent;
	int rc = agent_nvme_prepare(a);
	unsigned int keep = 0;
	char err[256];

	if (o->socket_group[0])
		keep |= SANDBOX_CHOWN;
	if (o->verbs)
		keep |= SANDBOX_SYS_PTRACE;
	if (!priority_allow(o->priority))
		keep |= SANDBOX_SYS_NICE;
	if (a->config.nnamespaces > 0)
		keep |= SANDBOX_IO_URING;
	if (rc < 0 || o->sandbox == SANDBOX_OFF)
		return rc;
	rc = sandbox_enter(keep, o->sandbox == SANDBOX_STRICT, err, sizeof(err));
	if (rc < 0)
		log_err("%s", err);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = { .config = "/etc/falcon/falcon.conf", .offload = -1 };
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	/* Three descriptors an application, its control connection, and the peers' sessions. */
	const struct rlimit files = { 65536, 65536 };
	struct agent *a;
	char err[512];
	int rc;

	cli_parse(&argp, 0, argc, argv, &o);
	a = calloc(1, sizeof(*a));
	if (!a || load(a, o.config, err, sizeof(err)) < 0) {
		log_err("%s", a ? err : "out of memory");
		free(a);
		return 1;
	}
	if (o.test) {
		printf("%s: ok, %u ports, %u connections\n", o.config, a->config.nports,
		       a->config.nconns);
		quota_close(a->quota);
		config_free(&a->config);
		free(a);
		return 0;
	}
	log_set_level(o.verbose ? LOG_LEVEL_DEBUG : a->config.agent.log_level);
	a->config_path = o.config;
	a->verbose = o.verbose;
	a->offload = o.offload >= 0 ? o.offload : a->config.agent.offload;
	/* What follows waits for the kernel, behind others on a busy host. */
	log_info("starting config=%s", o.config);
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	setrlimit(RLIMIT_NOFILE, &files);
	rc = give_up(a);
	if (rc == 0)
		rc = run(a);
	agent_nvme_close(a);
	quota_close(a->quota);
	config_free(&a->config);
	free(a);
	return rc < 0 ? 1 : 0;
}
