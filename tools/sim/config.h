/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A scenario: hosts, links, connections, their faults. One table of keys (keys.c) reads it from a
 * file, prints it as one, and tells the shrinker what can be taken away.
 */
#ifndef FALCON_SIM_CONFIG_H
#define FALCON_SIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../common/noise.h"

enum sim_limits {
	SIM_MAX_HOSTS = 64,
	SIM_MAX_LEAVES = 8,
	SIM_MAX_SPINES = 8,
	SIM_MAX_TRUNKS = SIM_MAX_LEAVES * SIM_MAX_SPINES,
	SIM_MAX_CONNS = 64,	/* sections; each may stand for many connections */
	SIM_MAX_FUNCTIONS = 16,
	SIM_MAX_QUEUES = 8,
	SIM_RESPONSES = 4,	/* connections of a host whose pulls XDP answers at a time */
	SIM_SINKS = 4,		/* connections of a host whose Pull Data XDP places at a time */
	SIM_FILTERS = 4,	/* xLR rules of a host */
	SIM_MAX_TXNS = 1000000,
	SIM_MAX_SIZE = 8192,	/* bytes of a transaction */
	SIM_MIN_MTU = 256,	/* bytes; and at most so many of a host's link: */
	SIM_MAX_MTU = 9000,
	SIM_MAX_SWIFT = 16,	/* parameters of the rate update engine */
	SIM_MAX_NAME = 48,
};

#define SIM_US UINT64_C(1000)
#define SIM_MS UINT64_C(1000000)
#define SIM_S UINT64_C(1000000000)

#define SIM_BER_ONE NOISE_ONE	/* a BER of 1 */

/* Every value of a scenario is a uint64_t: times in ns, rates in bit/s, chances in ppm. */

/* A switch's port, and the wire behind it. */
struct sim_link_cfg {
	uint64_t rate;		/* 0: infinite */
	uint64_t delay;
	uint64_t delay_at, delay_then;	/* from the one on, the other; 0: it stays */
	uint64_t mtu;		/* of which neither end knows; 0: any */
	uint64_t mtu_at, mtu_then;	/* from the one on, the other; 0: it stays */
	uint64_t jitter;	/* uniform, added to each packet */
	uint64_t queue;		/* bytes; 0: unlimited */
	uint64_t ecn;		/* queue length, bytes, from which packets are marked; 0: never */
	uint64_t loss;
	uint64_t burst;		/* Gilbert-Elliott: chance, each packet, that a bad spell begins ... */
	uint64_t burst_end;	/* ... and, within one, that it ends ... */
	uint64_t burst_loss;	/* ... and the chance of loss within */
	uint64_t drop_from;	/* of the 64 packets from this one on ... */
	uint64_t drop_mask;	/* ... those whose bit is set are lost */
	uint64_t reorder;	/* packets held back ... */
	uint64_t reorder_by;	/* ... for up to so long */
	uint64_t duplicate;
	uint64_t replay;	/* chance that a packet is sent again by a stranger ... */
	uint64_t replay_by;	/* ... up to so much later */
	uint64_t corrupt;
	uint64_t corrupt_ip;	/* of the IPv4 header alone */
	uint64_t ber;		/* bit errors, of SIM_BER_ONE bits; Ethernet loses what has any */
	uint64_t rifl;		/* bits of a RIFL frame, which carry Ethernet's; 0: none */
	uint64_t blackout_at;	/* nothing gets through from here ... */
	uint64_t blackout_for;	/* ... for so long; 0: none */
	uint64_t blackout_every;	/* ... and again each time this has passed; 0: once */
};

struct sim_host_cfg {
	uint64_t nic_rate;	/* 0: infinite */
	uint64_t nic_queue;	/* bytes; beyond it transmit() says -EAGAIN; 0: unlimited */
	uint64_t nic_clock;	/* T1 is when a packet leaves the NIC, not when it is handed to it */
	uint64_t clock;		/* what its clock shows at the beginning */
	uint64_t clock_fast, clock_slow;	/* the one less the other: by how much it gains, ppm */
	uint64_t offload;	/* 0: XDP only steers, the agent runs the receive path */
	uint64_t queues;	/* receive queues, among which flows are spread */
	uint64_t race;		/* chance that XDP has a packet while the agent is in its turn */
	uint64_t exec;		/* chance that XDP may carry out the next requests of an ordered connection */
	uint64_t latency;	/* from an event until the agent's loop runs */
	uint64_t budget;	/* packets a turn of fcore_run() */
	uint64_t credits;	/* frames that XDP may have handed over */
	uint64_t requests;	/* Net Req Pkt Rx: of peers, at a time; 0: as |pool| says */
	uint64_t no_credit;	/* chance that a packet finds no credit */
	uint64_t no_room;	/* chance that XDP's answer does not fit into the frame */
	uint64_t swallow;	/* chance that a claimed frame never arrives at the agent */
	uint64_t own;		/* chance that a packet seems to have been beyond the window */
	uint64_t refuse;	/* chance that transmit() says -EAGAIN */
	uint64_t mtu;		/* of its own link, which its agent knows */
	uint64_t mtu_at, mtu_then;	/* from the one on, the other; 0: it stays */
	uint64_t move_at;	/* it has another address on its link, ... */
	uint64_t move_for;	/* ... of which its peers hear after so long; 0: not */
	uint64_t stray_flow;	/* chance that a packet leaves on any flow and path, as a stranger's may */
	uint64_t replay_margin;	/* that a packet may be older than the latest (Falcon 9.2.2.2) */
	uint64_t pcid;		/* packets to it need a cookie */
	uint64_t key_packets;	/* received with a key until it is replaced */
	uint64_t key_lifetime;	/* between rotations of all keys; 0: none */
	uint64_t key_settle;	/* that a replaced key is still accepted */
	uint64_t key_delay;	/* each message about keys takes up to so long */
	uint64_t pause_every;	/* the agent stands still, on average so often ... */
	uint64_t pause_for;	/* ... for up to so long; 0: never */
	uint64_t crash_at;	/* the agent dies ... */
	uint64_t crash_for;	/* ... and another starts so long after; 0: not */
	uint64_t xlr;		/* xLR filters: bits for own pushes, pulls, peers' pushes, pulls ... */
	uint64_t xlr_at, xlr_for;	/* ... from the one on, for the other */
	uint64_t xlr_conn;	/* they match this end of a connection; 0: all */
	uint64_t mem_rate;	/* at which pushed data gets into the host's memory; 0: at once */
	uint64_t slow_rate;	/* ... and from slow_at on, for slow_for */
	uint64_t slow_at, slow_for, slow_every;
	uint64_t rx_buffer;	/* bytes of pushed data that may wait for that; 0: any */
	uint64_t pool;		/* packets in each pool (8.2.2); 0: never the limit */
	uint64_t pool_cells;	/* cells in each buffer pool; 0: as many as packets may need */
	uint64_t conn_pool;	/* of both, what a connection may hold, packets; 0: no limit */
	uint64_t functions;	/* PCI functions, among which connections go round */
	uint64_t function_pool;	/* of both, what a function may hold; 0: no limit */
	uint64_t host_pool;	/* the same of the host that they are of */
	uint64_t tx_cell, rx_cell;	/* bytes */
	uint64_t red;		/* percent of the network region, zone threshold (8.2.4) */
	uint64_t alpha;		/* share of a connection (paper 4.6), 1/256 */
	uint64_t rue_delay;	/* from a rate update engine's event to its result in force */
	uint64_t rue_time;	/* that it takes for an event */
	uint64_t rue_queue;	/* events that may wait for it */
	uint64_t rue_p1;	/* event policy (Falcon 10.6.1): time since the last event ... */
	uint64_t rue_p2;	/* ... and packets acknowledged since */
};

enum sim_encap {
	SIM_ENCAP_CLEAR,
	SIM_ENCAP_PSP_128,
	SIM_ENCAP_PSP_256,
	SIM_ENCAP_GMAC,
	SIM_ENCAP_ESP,
};

enum sim_cc {
	SIM_CC_NONE,	/* windows as configured */
	SIM_CC_FIXED,	/* events and results, but the windows stay */
	SIM_CC_SWIFT,
};

/* Who finds out how large packets may be. */
enum sim_path {
	SIM_PATH_ANY,		/* nobody */
	SIM_PATH_AGREED,	/* both ends, each its direction, before they go up */
	SIM_PATH_ALONE,		/* each end for itself, and up at once: without a handshake */
};

struct sim_conn_cfg {
	uint64_t from, to;	/* hosts */
	uint64_t count;		/* connections that this section stands for */
	uint64_t from_hosts, to_hosts;	/* hosts among which they go round, from |from| and |to| on */
	uint64_t ordered;
	uint64_t ipv6;
	uint64_t encap;		/* enum sim_encap */
	uint64_t rekey_every;	/* mean time until an end, or both, are asked for new keys; 0: never */
	uint64_t key_left;	/* packets that a key can still seal; 0: as many as any */
	uint64_t transactions;	/* of host |from|; messages, if they have a length */
	uint64_t back;		/* of host |to| */
	uint64_t pull;		/* chance that a transaction is a pull */
	uint64_t size_min, size_max;	/* bytes */
	uint64_t path;		/* enum sim_path */
	uint64_t message;	/* bytes of a message, cut into transactions; 0: each is for itself */
	uint64_t mtu;		/* bytes of a transaction of a message */
	uint64_t depth;		/* outstanding at a time; 0: what the core takes */
	uint64_t gap;		/* mean time between submissions; 0: none */
	uint64_t load;		/* open loop, Poisson: bit/s offered; 0: closed loop */
	uint64_t start;
	uint64_t start_spread;	/* the connections of a section start within so long */
	uint64_t close_at;	/* closed in flight; 0: not */
	uint64_t psn, rsn;	/* the first of each sequence follow from these */
	/* The upper layers. */
	uint64_t flow_control;	/* 0: beyond its credits a transaction ends at once (8.2.3) */
	uint64_t late;		/* chance of a late answer ... */
	uint64_t late_by;	/* ... by up to so much */
	uint64_t rnr;		/* chance of receiver not ready, each delivery */
	uint64_t rnr_code;	/* largest timeout code */
	uint64_t rnr_patience;	/* how long a push is held before the peer is told */
	uint64_t cie, nre, invalid_cid;	/* chance of a push to end so */
	uint64_t overlong;	/* chance of a response longer than wanted */
	uint64_t brief;		/* chance of a response shorter than wanted, or empty */
	/* Congestion control. */
	uint64_t cc;		/* enum sim_cc */
	uint64_t delay_select;	/* enum falcon_rue_delay */
	/* struct fcore_params */
	uint64_t fcwnd, ncwnd, rto, max_retx, txn_timeout, ack_timeout, ack_count;
	uint64_t ar_fcwnd, ar_percent, ooo_threshold;
	uint64_t early_retx;	/* enum fcore_early_retx */
	uint64_t rack_rto, tlp;	/* 0: from the round trip */
	uint64_t flows;
	uint64_t prr_threshold;	/* timeouts in a row until a flow changes its path; 0: never */
	uint64_t rue_every;	/* mean time between RUE results of any kind; 0: none */
	char name[SIM_MAX_NAME];
};

struct sim_cfg {
	uint64_t seed;
	uint64_t hosts;
	uint64_t leaves, spines;	/* three-stage Clos; 0 leaves: one switch */
	uint64_t reroute;	/* leaves leave out trunks dead for so long; 0: never */
	uint64_t heal;		/* from here on no faults */
	uint64_t relief;	/* from |heal| on links are infinitely fast, too */
	uint64_t limit;		/* drained before this, or it is a violation; 0: reckoned */
	uint64_t warmup;	/* results count from here on ... */
	uint64_t stop;		/* ... until here, when upper layers stop; 0: all */
	uint64_t data;		/* 0: packets have lengths, but no payload */
	uint64_t checks;	/* 0: promises are not checked, except that all drains */
	uint64_t nconns;
	struct sim_link_cfg link[SIM_MAX_HOSTS];	/* from the switch to each host */
	struct sim_link_cfg trunk[SIM_MAX_TRUNKS];	/* leaf * spines + spine; both ways */
	struct sim_host_cfg host[SIM_MAX_HOSTS];
	struct sim_conn_cfg conn[SIM_MAX_CONNS];
	char swift[SIM_MAX_SWIFT][SIM_MAX_NAME];	/* "parameter=value" */
};

void sim_cfg_init(struct sim_cfg *cfg);
/* A connection of |cfg| with default values, or NULL if there are SIM_MAX_CONNS. */
struct sim_conn_cfg *sim_cfg_add_conn(struct sim_cfg *cfg);
/* The host of side |side| of connection |n| of section |c|. */
static inline uint32_t sim_cfg_host(const struct sim_cfg *cfg, const struct sim_conn_cfg *c,
				    uint64_t n, int side)
{
	uint64_t host = side ? c->to + n % c->to_hosts : c->from + n % c->from_hosts;

	return (uint32_t)(host % cfg->hosts);
}

/* Write |cfg| as a scenario file. */
void sim_cfg_print(const struct sim_cfg *cfg, FILE *out);

/* The schedule of |seed| of a soak. */
void sim_cfg_random(struct sim_cfg *cfg, uint64_t seed);

/*
 * Set fault |n| of |cfg| back to its default everywhere. False if there is no fault |n|;
 * |*changed| tells whether that made a difference.
 */
bool sim_cfg_remove_fault(struct sim_cfg *cfg, uint32_t n, bool *changed);

#endif /* FALCON_SIM_CONFIG_H */
