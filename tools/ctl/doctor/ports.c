// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doctor.h"
#include "io/netdev.h"
#include "io/xsk.h"

/* An interface that is looked at. */
struct port {
	struct doctor *d;
	const struct port_config *cfg;
	const char *name;
	char check[8 + IF_NAMESIZE]; /* what its findings are called */
	int fd;			     /* a socket, for ioctls */
};

static bool ask(const struct port *p, unsigned long what, struct ifreq *ifr)
{
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", p->name);
	return ioctl(p->fd, what, ifr) == 0;
}

static bool ethtool(const struct port *p, void *cmd)
{
	struct ifreq ifr = { .ifr_data = cmd };

	return ask(p, SIOCETHTOOL, &ifr);
}

static void check_link(const struct port *p)
{
	struct ifreq ifr = {};

	if (ask(p, SIOCGIFFLAGS, &ifr) && !(ifr.ifr_flags & IFF_UP)) {
		doctor_say(p->d, DOCTOR_FAIL, p->check, "is down");
		doctor_advise(p->d, "ip link set dev %s up", p->name);
	} else if (!(ifr.ifr_flags & IFF_RUNNING)) {
		doctor_say(p->d, DOCTOR_FAIL, p->check, "has no carrier");
		doctor_advise(p->d, "look at the cable, or at the other end of the link");
	}
	if (ask(p, SIOCGIFMTU, &ifr) && ifr.ifr_mtu > XSK_MAX_MTU)
		doctor_say(p->d, DOCTOR_OK, p->check, "MTU %d, of which Falcon's packets take %d",
			   ifr.ifr_mtu, XSK_MAX_MTU);
}

/* The name of the program |id|, or "?". */
static void program_name(__u32 id, char *name, size_t size)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	snprintf(name, size, "?");
	if (fd < 0)
		return;
	if (bpf_obj_get_info_by_fd(fd, &info, &len) == 0)
		snprintf(name, size, "%s", info.name);
	close(fd);
}

static void advise_attach(const struct port *p)
{
	doctor_advise(p->d, "ip link set dev %s xdp obj /usr/lib/falcon/falcon.bpf.o sec %s", p->name,
		      netdev_xdp_section(p->name));
}

static void check_program(const struct port *p)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, q);
	bool generic;
	char name[BPF_OBJ_NAME_LEN + 1];

	if (bpf_xdp_query((int)if_nametoindex(p->name), 0, &q) < 0)
		return;
	if (q.attach_mode == XDP_ATTACHED_NONE) {
		doctor_say(p->d, DOCTOR_FAIL, p->check, "no XDP program is attached");
		advise_attach(p);
		return;
	}
	generic = q.attach_mode == XDP_ATTACHED_SKB;
	program_name(generic ? q.skb_prog_id : q.prog_id, name, sizeof(name));
	/* libxdp's dispatcher runs ours beside others. */
	if (strcmp(name, "?") && strcmp(name, "falcon_rx") && strcmp(name, "falcon_rx_frags") &&
	    strcmp(name, "xdp_dispatcher")) {
		doctor_say(p->d, DOCTOR_FAIL, p->check, "the XDP program %s is attached, not falcon_rx",
			   name);
		doctor_advise(p->d,
			      "ip link set dev %s xdp off, then attach falcon.bpf.o; or load both by "
			      "xdp-loader",
			      p->name);
	} else if (generic) {
		doctor_say(p->d, DOCTOR_WARN, p->check, "XDP runs in generic mode, which is slow");
		doctor_advise(p->d,
			      "if the driver has native XDP: ip link set dev %s xdpgeneric off, then attach "
			      "with xdp",
			      p->name);
	} else {
		doctor_say(p->d, DOCTOR_OK, p->check, "%s is attached in native mode", name);
	}
}

static void check_queues(const struct port *p)
{
	unsigned int has = netdev_rx_queues(p->name), serves = p->cfg->queues ? p->cfg->queues : has;
	unsigned int threads = p->d->config.agent.threads;

	if (!has)
		return;
	if (serves < has) {
		doctor_say(p->d, DOCTOR_FAIL, p->check,
			   "queues = %u, but there are %u receive queues: what comes by "
			   "the others is lost",
			   serves, has);
		doctor_advise(p->d, "ethtool -L %s combined %u", p->name, serves);
	} else if (serves > has) {
		doctor_say(p->d, DOCTOR_FAIL, p->check, "queues = %u, but there are only %u receive queues",
			   serves, has);
		doctor_advise(p->d, "ethtool -L %s combined %u, or leave queues out", p->name, serves);
	}
	if (has < threads) {
		doctor_say(p->d, DOCTOR_FAIL, p->check, "threads = %u, but there are only %u receive queues",
			   threads, has);
		doctor_advise(p->d, "set threads in [agent] to %u, or ethtool -L %s combined %u", has,
			      p->name, threads);
	}
}

/* The number of the device feature |name|, or -1. */
static int feature_number(const struct port *p, const char *name)
{
	struct {
		struct ethtool_sset_info info;
		__u32 n;
	} sets = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES } };
	struct ethtool_gstrings *names;
	int found = -1;

	if (!ethtool(p, &sets) || !sets.info.sset_mask)
		return -1;
	names = calloc(1, sizeof(*names) + (size_t)sets.n * ETH_GSTRING_LEN);
	if (!names)
		return -1;
	*names = (struct ethtool_gstrings){ .cmd = ETHTOOL_GSTRINGS,
					    .string_set = ETH_SS_FEATURES,
					    .len = sets.n };
	for (__u32 i = 0; ethtool(p, names) && i < sets.n && found < 0; i++)
		if (!strncmp((char *)names->data + i * ETH_GSTRING_LEN, name, ETH_GSTRING_LEN))
			found = (int)i;
	free(names);
	return found;
}

static bool has_feature(const struct port *p, const char *name)
{
	enum { BLOCKS = 8 };
	struct {
		struct ethtool_gfeatures head;
		struct ethtool_get_features_block block[BLOCKS];
	} f = { .head = { .cmd = ETHTOOL_GFEATURES, .size = BLOCKS } };
	int n = feature_number(p, name);

	return n >= 0 && n < BLOCKS * 32 && ethtool(p, &f) && f.block[n / 32].active >> n % 32 & 1;
}

/* What merges packets before XDP sees them. */
static void check_aggregation(const struct port *p)
{
	bool lro = has_feature(p, "rx-lro"), gro = has_feature(p, "rx-gro-hw");

	if (!lro && !gro)
		return;
	doctor_say(p->d, DOCTOR_FAIL, p->check, "%s is on: merged frames are no Falcon packets",
		   lro && gro ? "LRO and hardware GRO"
		   : lro      ? "LRO"
			      : "hardware GRO");
	doctor_advise(p->d, "ethtool -K %s lro off rx-gro-hw off", p->name);
}

static void check_port(struct doctor *d, const struct port_config *cfg, int fd)
{
	struct port p = { .d = d, .cfg = cfg, .name = cfg->ifname, .fd = fd };

	snprintf(p.check, sizeof(p.check), "port %s", cfg->ifname);
	if (!if_nametoindex(cfg->ifname)) {
		doctor_say(d, DOCTOR_FAIL, p.check, "there is no such interface");
		doctor_advise(d, "ip link shows what there is; correct the section [port %s]", cfg->ifname);
		return;
	}
	check_link(&p);
	check_program(&p);
	check_queues(&p);
	check_aggregation(&p);
}

void doctor_ports(struct doctor *d)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (!d->config.nports) {
		doctor_say(d, DOCTOR_FAIL, "ports", "%s has no [port]: the agent has no interface",
			   d->config_path);
		doctor_advise(d, "add a section [port IFNAME] for each interface that Falcon is to use");
	}
	for (unsigned int i = 0; i < d->config.nports && fd >= 0; i++)
		check_port(d, &d->config.ports[i], fd);
	if (fd >= 0)
		close(fd);
}
