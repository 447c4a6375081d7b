/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What XDP and the agent share: the values of the falcon_* maps and the metadata before a
 * redirected frame.
 *
 * There are no locks. Every field has one writer, or is changed only by atomic read-modify-write;
 * fields are grouped by writer, each group on cache lines of its own. "XDP" below is whatever runs
 * the receive path: the XDP program on any number of CPUs, or the agent with offload off.
 */
#ifndef FALCON_MAPS_H
#define FALCON_MAPS_H

#include <linux/if_ether.h>

#include "../types.h"
#include "../wire/wire.h"
#include "stats.h"

#ifndef FALCON_MAX_CONNS
#define FALCON_MAX_CONNS 131072	/* CIDs that an agent can have; a power of two */
#endif
#ifndef FALCON_CONNS
#define FALCON_CONNS 4096	/* entries of an object's falcon_conns; make CONNS=n */
#endif
_Static_assert((FALCON_MAX_CONNS & (FALCON_MAX_CONNS - 1)) == 0, "power of two");
_Static_assert(FALCON_CONNS <= FALCON_MAX_CONNS, "room for the bits in falcon_dirty");

enum falcon_maps_const {
	FALCON_MAX_PORTS = 16,		/* interfaces an agent serves */
	FALCON_MAX_QUEUES = 64,		/* RX queues an interface */
	FALCON_MAX_XSKS = FALCON_MAX_PORTS * FALCON_MAX_QUEUES,
	FALCON_MAX_SHARDS = 8,		/* threads of an agent that carry packets; a power of two */
	FALCON_RUE_RING_BYTES = 1 << 20,
	FALCON_WAKE_RING_BYTES = 1 << 12,
	FALCON_DIRTY_WORDS = FALCON_MAX_CONNS / 64,
	FALCON_DIRTY_SUMMARY = (FALCON_DIRTY_WORDS + 63) / 64,
	FALCON_META_MAGIC = 0x4641434e,
	FALCON_DEFAULT_TTL = 64,
	FALCON_FUNCTION_ANY = 1 << 24,	/* beyond the 24 bits of a function */
	FALCON_SADB_PER_CONN = 2,	/* SPIs of ESP: a current and a previous one */
	FALCON_MAX_FLOWS = 16,		/* paths of a connection; a power of two */
	FALCON_MEMORIES = 1024,		/* pieces of offload memory, of all applications together */
	FALCON_MEMORY_SHIFT = 16,	/* such a piece consists of blocks, */
	FALCON_MEMORY_BLOCK = 1 << FALCON_MEMORY_SHIFT,	/* of so many bytes */
	FALCON_REGIONS = 1 << 16,	/* regions in offload memory */
	FALCON_RESPONSES = 256,		/* connections whose pulls XDP may answer, of all shards together */
	FALCON_SINKS = 256,		/* connections whose Pull Data XDP may place, likewise */
	FALCON_SINK_RSNS = 256,		/* transactions outstanding on one of them; a power of two */
	/*
	 * Words of a window's ring (receive/window.h). A window of W PSNs touches at most W / 32 + 1
	 * groups; with at least as many words, here the next power of two, an evicted group is wholly
	 * behind the base.
	 */
	FALCON_DATA_WORDS = 8,
	FALCON_REQ_WORDS = 4,
};

/* struct falcon_conn.flags */
enum falcon_conn_flag {
	FALCON_CONN_ALIVE = 0x01,	/* without it every packet is dropped: "not alive" */
	FALCON_CONN_CLEAR = 0x02,	/* PSP version 15, and no other, is accepted */
	FALCON_CONN_ORDERED = 0x04,
	FALCON_CONN_IPV6 = 0x08,
	FALCON_CONN_NO_CSUM = 0x10,	/* link or NIC has verified the UDP checksum */
	FALCON_CONN_STEER = 0x20,	/* XDP only redirects: the agent runs the receive path */
	FALCON_CONN_TUNNEL = 0x40,	/* an inner IP header goes before Falcon's (Falcon 7.1.2) */
};

/* The SPIs of a connection as one word; struct falcon_conn_id names its parts. */
union falcon_spi_pair {
	struct {
		__u32 cur;
		__u32 prev;
	};
	__u64 word;
};

/* The global part of the SPI check as one word; struct falcon_config names its parts. */
union falcon_spi_check {
	struct {
		__u32 gen;
		__u8 allow_prev;
		__u8 pcid_match;
		__u8 pad[2];
	};
	__u64 word;
};

/*
 * Identity and security of a connection. Writer: agent, while the connection is not alive; but a
 * rotation of keys changes SPIs and generation of live ones, as falcon_rx_check_spi() describes.
 */
struct falcon_conn_id {
	__u32 flags;		/* enum falcon_conn_flag; the agent alone, by atomic store */
	__u32 cid;		/* ours: the Destination CID of packets we receive; map index */
	__u32 peer_cid;		/* the Destination CID of packets we send */
	__u32 function;		/* Destination Function of packets we send, 24 bits */
	union {
		struct {
			__u32 cur_spi;	/* Falcon 9.2.1 Current SPI, ours; 0: not configured */
			__u32 prev_spi;	/* Falcon 9.2.1 Previous SPI */
		};
		__u64 spis;		/* union falcon_spi_pair */
	};
	__u32 cur_spi_gen;	/* Falcon 9.2.1 Current SPI Generation, of this connection */
	__u32 peer_spi;		/* SPI in packets we send, chosen by the peer */
	__u64 pcid;		/* Falcon 9.2.1 PSP Connection ID, expected in the cookie */
	__u64 incarnation;	/* random, new each time the connection is set up */
	__u8 local_addr[16];	/* IPv4 in the first 4 bytes, network order */
	__u8 peer_addr[16];
	__u8 encap;		/* that is accepted, as falcon_encap_seen(), unless FALCON_CONN_CLEAR */
	__u8 shard;		/* of the agent, whose connection it is, below FALCON_MAX_SHARDS */
	__u8 pad[2];
	__u32 rx_function;	/* Destination Function of packets we receive; FALCON_FUNCTION_ANY */
};

/* What the ACK of a flow reports, and whether one is owed. Writer: XDP, unless said otherwise. */
struct falcon_flow_rx {
	__u64 t1_t2;		/* of the flow's latest packet: T1 << 32 | T2, one store */
	__u32 ecn_count;	/* packets of the flow received with CE, cumulative */
	__u32 hops;		/* forward path hop count of the flow's latest packet */
	__u32 acked;		/* packets of the flow acknowledged, cumulative; XDP and agent, atomic */
	__u32 told;		/* |acked| as of an ACK that was sent: both, forward by compare-and-swap */
	__u64 owed_since;	/* CLOCK_MONOTONIC, ns: when the first that is not told was acknowledged */
};

/* Receiver state that packets change. Writer: XDP, by atomic read-modify-write. */
struct falcon_rx_state {
	__u64 data_rx[FALCON_DATA_WORDS];	/* claimed data PSNs (Data Window Rx Bitmap) */
	__u64 req_rx[FALCON_REQ_WORDS];		/* claimed request PSNs */
	__u64 remote_time;	/* Falcon 9.2.1 Remote Time, picoseconds; 0: none yet */
	__u32 own;		/* enum falcon_own, cleared by the EACK that carries it */
	__u32 accepted;		/* packets claimed, cumulative */
	__u32 answers_owed;	/* bit by flow: an answer did not fit into the frame, the agent owes it */
	__u32 acks_watched;	/* bit by flow: the agent watches over the ACK that XDP owes; it clears it */
	struct falcon_flow_rx flow[FALCON_MAX_FLOWS] FALCON_ALIGNED;
} FALCON_ALIGNED;

/*
 * How full the Rx resources for network requests are (Falcon 8.2.4); a larger number is stricter.
 * Requests alone are kept out: pull data and Resyncs use what is reserved, or set free.
 */
enum falcon_zone {
	FALCON_ZONE_GREEN = 0,	/* every request is taken */
	FALCON_ZONE_RED,	/* only the head of the line: on an ordered connection the next RSN */
	FALCON_ZONE_CLOSED,	/* none: a limit is reached */
};

/*
 * Receiver state that delivery changes. Writer: agent; but who acknowledges a packet, XDP or agent,
 * sets its bit and moves the base, both by compare-and-swap: falcon_rx_acknowledge().
 */
struct falcon_rx_acked {
	__u32 data_base;	/* DBPSN: oldest data PSN not acknowledged */
	__u32 req_base;		/* RBPSN: oldest request PSN not acknowledged */
	__u32 ack_count;	/* packets acknowledged that make an ACK due at once */
	__u32 rue_info;		/* value driven from RUE for ACKs, 22 bits */
	__u32 zone;		/* enum falcon_zone of the connection alone */
	__u32 next_rsn;		/* NRSN (Falcon 8.5.1): the head of the line */
	__u64 data_ack[FALCON_DATA_WORDS];	/* Data Window ACK Bitmap */
	__u64 req_ack[FALCON_REQ_WORDS];	/* Request Window Bitmap, as EACKs report it */
} FALCON_ALIGNED;

/* Transmitter state that ACKs change. Writer: XDP, by atomic read-modify-write. */
struct falcon_tx_acked {
	__u32 data_base;	/* transmitter's DBPSN: all below is acknowledged */
	__u32 req_base;		/* transmitter's RBPSN */
	__u32 own;		/* enum falcon_own received; the agent takes it by exchange */
	__u32 acks;		/* ACKs and NACKs consumed, cumulative */
	__u32 eacks;		/* EACKs among them */
	__u32 nacks_resource;	/* resource NACKs among them */
	__u64 data_ack[FALCON_DATA_WORDS];	/* PSNs that EACKs acknowledged */
	__u64 data_rx[FALCON_DATA_WORDS];	/* PSNs that EACKs reported as received */
	__u64 req_ack[FALCON_REQ_WORDS];
	__u64 t1_t4[FALCON_MAX_FLOWS];	/* of each flow's latest ACK: T1 << 32 | T4, one store */
	__u64 ack_bases;	/* of the latest ACK or NACK: data << 32 | requests, one store */
	__u32 probe_seen;	/* the last T1 of an ACK that was cc.probe_t1 when the ACK came */
	/*
	 * 1: the agent watches over the Pull Data that XDP sends; XDP sets it, the agent clears it. Atomic.
	 */
	__u32 watched;
} FALCON_ALIGNED;

/* What a RUE event needs to know. Writer: agent, from RUE results and its own sends. */
struct falcon_cc {
	/*
	 * DNPSN: acknowledgments at or beyond it are refused. Writer: XDP, if it answers pulls
	 * (exec.responses).
	 */
	__u32 data_next;
	__u32 req_next;		/* RNPSN */
	__u32 fcwnd;		/* packets, 11.10 fixed point */
	__u32 ncwnd;		/* packets */
	__u32 inter_packet_gap;	/* FALCON_RUE_GAP_NS (512 ns) */
	__u32 rto;		/* Falcon time units */
	__u32 fabric_window_time_marker;
	__u32 nic_window_time_marker;
	__u32 base_delay_target;
	__u32 delay_state;
	__u32 rtt_state;
	__u8 ncwnd_direction;
	__u8 cc_opaque;
	__u8 delay_select;	/* enum falcon_rue_delay */
	__u8 event_queue_select;
	__u8 flows;		/* ours, 1..FALCON_MAX_FLOWS */
	__u8 ooo_threshold;	/* Out-of-order Distance Threshold, PSNs (Falcon 9.1.4) */
	__u32 probe_t1;		/* T1 of the probe of the path's size that waits for its ACK; 0: none */
	/* Packets of the data window that may be on the wire for XDP to send one more; 0: none of its own. */
	__u32 xdp_window;
	__u32 sinks;		/* one past the entry of falcon_sinks; 0: XDP places no Pull Data */
} FALCON_ALIGNED;

/* Event policy state (Falcon 10.6.1). Writer: XDP; races only cost an event more or less. */
struct falcon_cc_event {
	__u64 last_ns;		/* CLOCK_MONOTONIC of the last event */
	__u32 last_acked;	/* falcon_ack_total() at the last event */
	__u32 events;		/* events produced */
	__u32 suppressed;	/* ACKs that the policy or a full queue kept from being events */
} FALCON_ALIGNED;

/* Who carries out the requests of a connection's peer. */
enum falcon_exec_owner {
	FALCON_EXEC_AGENT = 0,	/* the agent: XDP hands every request up */
	FALCON_EXEC_FREE,	/* nobody at the moment: XDP or agent may take it */
	FALCON_EXEC_XDP,	/* an XDP program, while it carries out one request */
};

/*
 * What XDP needs to carry out requests of RDMA on an ordered connection. XDP takes it for the request
 * that is next in order, if it is one that XDP can do; every other request goes to the agent, which takes
 * it before it looks at the request, and frees it when it is done with all that it has. So whoever owns it
 * knows that all requests before the next one are carried out.
 *
 * With |responses|, whoever owns it also numbers the packets of the data window: an agent that has one to
 * send takes it first, and finds in falcon_responses what XDP has sent.
 */
struct falcon_exec {
	__u64 owner;		/* enum falcon_exec_owner << 32 | RSN of the next request; atomic */
	/* The rest is the owner's, but for |quiet|. */
	__u64 pd;		/* number of the queue pair's protection domain */
	__u32 qp;		/* the queue pair's number */
	__u32 sn;		/* sequence number of the next request (RDMA 8.2) */
	__u32 write_len;	/* bytes of the WRITE that is under way */
	__u32 in_write;		/* 1: its last packet is still to come */
	__u64 packets;		/* that XDP has carried out since the agent freed it */
	__u64 bytes;		/* of payload that came with these */
	__u32 pulls;		/* of these, READs and atomics */
	__u32 access;		/* enum falcon_region_access: what the queue pair's peer may do */
	/* What pulls take. */
	__u32 responses;	/* one past the entry of falcon_responses; 0: pulls are the agent's */
	__u32 peer_qp;		/* whom responses are for */
	__u32 read_rmsn;	/* of the next pull (RDMA 8.3.2) */
	__u32 ar_fcwnd;		/* ACK Request Fcwnd Threshold (Falcon 9.1.3.1), packets */
	__u8 ar_percent;	/* ACK Request Percent, 0..100 */
	__u8 ar_credit;		/* percent towards the next AR */
	__u8 room;		/* 1: what READs' responses say of |room| (falcon/rdma.h) */
	/*
	 * 1: the agent has nothing on the wire, and need not hear what becomes of XDP's. Writer: agent,
	 * atomic.
	 */
	__u8 quiet;
} FALCON_ALIGNED;
_Static_assert(sizeof(struct falcon_exec) == 2 * FALCON_CACHE_LINE, "two cache lines");

/*
 * Map falcon_conns: array indexed by CID, mmapable. It has FALCON_CONNS entries as the object was
 * built, which is memory that the host gives for good; an agent takes what it finds.
 */
struct falcon_conn {
	struct falcon_conn_id id;
	struct falcon_rx_state rx FALCON_ALIGNED;
	struct falcon_rx_acked rx_acked;
	struct falcon_tx_acked tx_acked;
	struct falcon_cc cc;
	struct falcon_cc_event cc_event;
	struct falcon_exec exec;
} FALCON_ALIGNED;

/*
 * A shard of the agent: a thread that carries packets, with connections of its own. Writer: that shard. Each
 * has a cache line of its own, which XDP does not write: shards go to sleep often.
 */
struct falcon_shard {
	__u32 sleeping;		/* 1: XDP must wake the shard when it makes one of its connections dirty */
	__u32 zone;		/* enum falcon_zone of all its connections together */
	__u32 rx_level;		/* Falcon 10.2, the quantized buffer level that their ACKs carry, 0..31 */
} FALCON_ALIGNED;

/* Map falcon_config: one entry, mmapable. Writer: agent, unless said otherwise. */
struct falcon_config {
	__u64 replay_margin;	/* Falcon 9.2.1 Replay Protection Margin, picoseconds */
	__u64 rue_p1_ns;	/* P1: time since the last event */
	__u32 rue_p2_packets;	/* P2: packets acked since the last event */
	__u32 rue_threshold[3];	/* bytes used in a ring of falcon_rue, ascending */
	union {
		struct {
			__u32 cur_spi_gen;	/* Falcon 9.2.1, global */
			__u8 allow_prev_spi_gen;	/* Allow Previous SPI Generation */
			__u8 pcid_match;	/* Falcon 9.2.1 PCID Match Enable */
			__u8 pad[2];
		};
		__u64 spi_check;		/* union falcon_spi_check */
	};
	__u32 agent_pid;	/* the running agent; 0: none */
	struct falcon_shard shard[FALCON_MAX_SHARDS];
} FALCON_ALIGNED;

/*
 * Map falcon_sadb (Falcon 6.5): hash, for ESP, whose packets do not show their connection. Key: an SPI
 * of ours; value: the CID, __u32, of the connection that has it as its current or previous SPI.
 * Writer: agent.
 */

/* Map falcon_ports: hash keyed by ifindex. Writer: agent. */
struct falcon_port {
	__u32 index;		/* 0..FALCON_MAX_PORTS - 1; socket = index * FALCON_MAX_QUEUES + queue */
	__u32 max_frame;	/* longest frame the socket's buffers take, bytes */
	__u8 mac[ETH_ALEN];	/* the interface's: frames for another are not ours */
	__u8 pad[2];
};

/*
 * Map falcon_credits: array indexed like falcon_xsks, mmapable. XDP takes one credit for every
 * frame that it redirects, before it claims anything; the agent grants no more than there are free
 * slots in both the fill and the receive ring, so a redirect never finds them full.
 */
struct falcon_credit {
	__s64 credits;		/* atomic by both */
	__u64 refused;		/* frames refused for want of credit; XDP, atomic */
} FALCON_ALIGNED;

/*
 * Map falcon_memory: array of maps, of offload memory: memory of applications that XDP reaches. Each inner
 * map is an array of blocks, mmapable, made by the agent for one application, which maps it, too. Writer of
 * the outer map: agent.
 */

/* Map falcon_regions: hash keyed by key (rkey), of the regions in offload memory. Writer: agent. */
struct falcon_region {
	__u64 iova;		/* what requests call its first byte */
	__u64 length;		/* bytes */
	__u64 offset;		/* where it begins: bytes into the memory */
	__u64 pd;		/* number of its protection domain */
	__u32 memory;		/* index into falcon_memory */
	__u32 access;		/* enum falcon_region_access */
};

/* What peers may do. */
enum falcon_region_access {
	FALCON_REGION_WRITE = 0x01,
	FALCON_REGION_READ = 0x02,
	FALCON_REGION_ATOMIC = 0x04,
};

/* Pull Data that XDP has sent: what it takes to send it again. */
struct falcon_response {
	__u64 sent_ns;		/* CLOCK_MONOTONIC */
	__u64 va;		/* READ: address of the first byte, as the request has it */
	__u64 sink_va;		/* the request's STETH */
	__u64 original;		/* atomic: what was there before */
	__u32 sink_lkey;
	__u32 rsn, sn;		/* the request's */
	__u32 rkey;
	__u32 length;		/* READ: bytes */
	__u8 opcode;		/* enum falcon_rdma_opcode of the request */
	__u8 pad[3];
};

/*
 * Map falcon_responses: array, mmapable, of what XDP has sent on a connection. Slot: data PSN modulo
 * FALCON_DATA_WINDOW. Writer: who owns the connection's exec, which names the entry.
 */
struct falcon_responses {
	struct falcon_response at[FALCON_DATA_WINDOW];
} FALCON_ALIGNED;

/* Where XDP may place the Pull Data that answer one request, and which those are (falcon/sink.h). */
struct falcon_sink {
	__u64 state;		/* enum falcon_sink_state << 32 | RSN of the request; atomic */
	/* The rest is the agent's, while the sink is closed. */
	__u64 offset;		/* where the data go: bytes into the memory */
	__u32 memory;		/* index into falcon_memory */
	__u32 length;		/* bytes of data; of an atomic 8 */
	__u32 atomic;		/* 1: the response is that of an atomic */
	__be32 rbth[3];		/* RDMA's headers (RDMA 8.2, 8.3.4), as the response has to have them */
	__be32 steth[3];
	__u32 pad;
};

/*
 * Map falcon_sinks: array, mmapable, of the sinks of a connection, which names the entry (cc.sinks). Slot:
 * RSN modulo FALCON_SINK_RSNS. Writer: agent, but for |state|.
 */
struct falcon_sinks {
	struct falcon_sink at[FALCON_SINK_RSNS];
} FALCON_ALIGNED;

/*
 * Map falcon_dirty: array indexed by shard, mmapable. Which of the shard's connections have ACK state that it
 * has not looked at, bit by CID. XDP sets the bit, then the summary bit; the shard takes the summary word,
 * then the words that it names, by exchange with 0.
 */
struct falcon_dirty {
	__u64 summary[FALCON_DIRTY_SUMMARY];
	__u64 word[FALCON_DIRTY_WORDS];
} FALCON_ALIGNED;

/*
 * Maps falcon_rue and falcon_wake: arrays of maps, indexed by shard, of ring buffers. XDP writes the RUE
 * events (Falcon 10.6.2.1) of a connection into its shard's ring of falcon_rue, for the next look of the
 * shard, and, when it must wake it, the CID, __u64, into its ring of falcon_wake. Without a ring it does what
 * it does when that is full. Writer of the outer maps: agent. Its rings stay when it ends, since one that
 * crashes cannot take them away, and nothing is written for connections that are not alive; the next agent
 * puts its own in their place.
 */

/*
 * Every way a packet can end, each with its counter; enum and counters come from this one list.
 * V(lower-case name, what it means)
 */
#define FALCON_VERDICTS(V)                                                                        \
	V(pass_not_falcon, "not Falcon: left to the kernel")                                      \
	V(pass_spi, "ESP of an SPI that is not ours: left to the kernel")                         \
	V(pass_other, "between other hosts, to be bridged or forwarded: left to the kernel")      \
	V(rx_data, "data window packet accepted and redirected")                                  \
	V(rx_request, "request window packet accepted and redirected")                            \
	V(rx_resync, "Resync accepted and redirected")                                            \
	V(rx_resync_dup, "Resync of a packet received before: redirected to be acknowledged")     \
	V(rx_nack, "NACK with an upper-layer code redirected")                                    \
	V(steered, "redirected, to be decrypted or with offload off: the agent goes on")          \
	V(ack_consumed, "BACK or EACK consumed")                                                  \
	V(nack_consumed, "resource NACK consumed")                                                \
	V(dup_acked, "duplicate answered with an ACK")                                            \
	V(old_acked, "packet below the window answered with an ACK")                              \
	V(oow_acked, "packet beyond the window answered with an EACK, OWN set")                   \
	V(resource_nacked, "no room at the agent: answered with a resource NACK")                 \
	V(zone_nacked, "buffers filling up, and not next in line: answered with a resource NACK") \
	V(xdp_placed, "WRITE, or Pull Data, placed by XDP and acknowledged")                      \
	V(xdp_read, "READ answered by XDP")                                                       \
	V(xdp_atomic, "fetch-and-add or compare-and-swap carried out and answered by XDP")        \
	V(ack_stale, "ACK older than what is known: dropped")                                     \
	V(ack_invalid, "ACK of something never sent: dropped")                                    \
	V(drop_truncated, "shorter than its headers say")                                         \
	V(drop_ip_length, "IP and frame length disagree")                                         \
	V(drop_ip_fragment, "IP fragment to the PSP port")                                        \
	V(drop_ip_csum, "wrong IPv4 header checksum (Falcon 9.2.2.1)")                            \
	V(drop_udp_length, "UDP and IP length disagree (Falcon 9.2.2.1)")                         \
	V(drop_csum, "wrong or missing UDP checksum (Falcon 9.2.2.1)")                            \
	V(drop_psp, "malformed PSP header")                                                       \
	V(drop_esp, "malformed ESP: length, padding or next header (RFC 4303 2.4)")               \
	V(drop_psp_version, "PSP version, or ESP, not configured for the connection")             \
	V(drop_version, "Falcon version is not 1")                                                \
	V(drop_type, "reserved Falcon packet type")                                               \
	V(drop_length, "Request Length contradicts the payload, or bytes too many")               \
	V(drop_code, "reserved Resync or NACK code")                                              \
	V(drop_cid, "unknown CID")                                                                \
	V(drop_function, "Destination Function is not the connection's")                          \
	V(drop_not_alive, "connection not alive (Falcon 11)")                                     \
	V(drop_address, "addresses are not the connection's")                                     \
	V(drop_spi, "SPI check failed (Falcon 9.2.2.3)")                                          \
	V(drop_pcid, "PCID does not match (Falcon 9.2.2.3)")                                      \
	V(drop_replay, "replay protection check failed (Falcon 9.2.2.2)")                         \
	V(drop_auth, "forged or damaged: decryption failed (Falcon 9.2.2.1)")                     \
	V(drop_inner, "inner IP header is not the tunnel's, or missing, or one too many")         \
	V(drop_busy, "lost every race for a window word")                                         \
	V(drop_no_agent, "no agent socket on this queue")                                         \
	V(drop_too_big, "longer than the agent's buffers")                                        \
	V(drop_no_room, "the answer does not fit into the frame: left to the agent")              \
	V(drop_metadata, "driver has no room for XDP metadata")                                   \
	V(drop_no_credit, "no room at the agent, and no answer is due: steered, or a NACK")

enum falcon_verdict {
#define FALCON_VERDICT_ENUM(name, text) FALCON_V_##name,
	FALCON_VERDICTS(FALCON_VERDICT_ENUM)
#undef FALCON_VERDICT_ENUM
	FALCON_VERDICT_COUNT,
};

/* True for the verdicts that leave the frame to the kernel. */
FALCON_INLINE bool falcon_verdict_passes(enum falcon_verdict v)
{
	return v <= FALCON_V_pass_other;
}

/* True for the verdicts that hand the frame to the agent. */
FALCON_INLINE bool falcon_verdict_delivers(enum falcon_verdict v)
{
	return v >= FALCON_V_rx_data && v <= FALCON_V_steered;
}

/* True for the verdicts that have claimed a PSN; all of them deliver. */
FALCON_INLINE bool falcon_verdict_claims(enum falcon_verdict v)
{
	return v >= FALCON_V_rx_data && v <= FALCON_V_rx_resync;
}

/* True for the verdicts of requests that were carried out, claimed and acknowledged. */
FALCON_INLINE bool falcon_verdict_executed(enum falcon_verdict v)
{
	return v >= FALCON_V_xdp_placed && v <= FALCON_V_xdp_atomic;
}

/* True for the verdicts that answer with a resource NACK. */
FALCON_INLINE bool falcon_verdict_nacks(enum falcon_verdict v)
{
	return v == FALCON_V_resource_nacked || v == FALCON_V_zone_nacked;
}

/* True for the verdicts that answer with an ACK or NACK. */
FALCON_INLINE bool falcon_verdict_answers(enum falcon_verdict v)
{
	return v >= FALCON_V_dup_acked && v <= FALCON_V_zone_nacked;
}

/* What XDP counts beside verdicts (stats.h). */
#define FALCON_XDP_STATS(V)										\
	V(counter, xdp_tx, none, "frames turned round and sent by XDP_TX")				\
	V(counter, xdp_acked, none, "ACKs among them of packets that XDP has accepted")			\
	V(counter, rue_events, none, "events for the rate update engine")				\
	V(counter, rue_suppressed, none, "events withheld by policy (Falcon 10.6.1), or for want of room") \
	V(counter, wakeups, none, "times XDP woke a sleeping shard of the agent")			\
	V(counter, ce_marked, none, "packets accepted with ECN CE")

/* Map falcon_counters: per-CPU array, one entry. Writer: XDP. Free-running, never reset. */
struct falcon_counters {
#define FALCON_VERDICT_COUNTER(name, text) __u64 name;
	FALCON_VERDICTS(FALCON_VERDICT_COUNTER)
#undef FALCON_VERDICT_COUNTER
	FALCON_XDP_STATS(STAT_FIELD)
};

/* Before a redirected frame's first byte, in its XDP metadata. */
struct falcon_meta {
	__u32 magic;		/* FALCON_META_MAGIC */
	__u8 verdict;		/* one of falcon_verdict_delivers() */
	__u8 flow;		/* falcon_frame.flow */
	__u16 falcon_off;	/* Falcon header, bytes from the start of the frame */
	__u16 falcon_len;	/* Falcon header and payload, bytes; no padding, no ICV */
	__u16 path;		/* falcon_frame.path */
	__u32 cid;		/* destination CID, valid index into falcon_conns */
	__u64 rx_ns;		/* CLOCK_MONOTONIC at reception */
};
_Static_assert(sizeof(struct falcon_meta) == 24, "metadata: multiple of 4, at most 32 bytes");

#endif /* FALCON_MAPS_H */
