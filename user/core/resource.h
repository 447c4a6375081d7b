/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resources (Falcon 8.2, paper 4.5 and 4.6): what transactions hold, who may hold how much of it,
 * and how to look.
 *
 * The four pools of 8.2.2 (Tx and Rx packets, Tx and Rx buffers) are carved into regions, which
 * leaves eight resources. Each is accounted for at four levels: an allocation must fit at every
 * one. Limits of a lower level may add up to more than there is: the totals of the NIC prevent an
 * overrun.
 *
 *                         ULP Requests (8.2.3)         ULP Data        Network Requests (8.2.4)
 *                  Pkt Tx  Buf Tx    Pkt Rx  Buf Rx    Pkt Tx  Buf Tx    Pkt Rx  Buf Rx
 *   Push Data           1  ceil(L/N)      1       0                           1  ceil(L/N)
 *   Pull Request        1  1              1  ceil(L/N)                        1  1
 *   Pull Data                                               1  ceil(L/N)
 *
 * L is the Request Length in bytes, of a response its own length, and N the size of a cell. What an
 * initiator will need to receive is allocated with the request (8.2.2), so a response always finds
 * room. Tx resources are given back when the packet is acknowledged or becomes a Resync, Rx
 * resources when the upper layer has completed or taken the transaction.
 */
#ifndef FALCON_CORE_RESOURCE_H
#define FALCON_CORE_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/occupancy.h"
#include "falcon/abi/maps.h"

struct fcore;
struct fcore_conn;

/* Packets count 1 a transaction, buffers in cells. If you add one, also edit the name table. */
enum fcore_resource {
	FCORE_REQ_PKT_TX,	/* ULP Requests: Push and Pull Requests */
	FCORE_REQ_BUF_TX,
	FCORE_REQ_PKT_RX,	/* ULP Requests: completions, and the data of pulls */
	FCORE_REQ_BUF_RX,
	FCORE_DATA_PKT_TX,	/* ULP Data: Pull Data; also called Res Pkt Tx and Res Buf Tx */
	FCORE_DATA_BUF_TX,
	FCORE_NET_PKT_RX,	/* Network Requests: Push Data and Pull Requests of peers */
	FCORE_NET_BUF_RX,
	FCORE_RESOURCES,
};

enum fcore_level {
	FCORE_LEVEL_NIC,	/* the core; its limits are the pools' sizes */
	FCORE_LEVEL_HOST,
	FCORE_LEVEL_FUNCTION,
	FCORE_LEVEL_CONN,
	FCORE_LEVELS,
};

enum fcore_resource_const {
	FCORE_NO_LIMIT = INT32_MAX,
	FCORE_ALPHA_ONE = 256,		/* alpha is fixed point with 8 fraction bits */
	FCORE_MIN_CELL = 64,		/* bytes; cells are powers of two */
	FCORE_MAX_CELL = 65536,
};

/* One level's account. */
struct fcore_account {
	uint32_t used[FCORE_RESOURCES];
	uint32_t limit[FCORE_RESOURCES];	/* 0..FCORE_NO_LIMIT */
	uint32_t high[FCORE_RESOURCES];		/* high-water mark of |used| */
	uint32_t refused[FCORE_RESOURCES];	/* allocations that failed for it here, free-running */
};

/* What fcore_create() is told. */
struct fcore_config {
	uint32_t max_conns;
	uint32_t hosts;			/* accounts of hosts, 1..65536 */
	uint32_t functions;		/* accounts of functions, 1..65536 */
	uint32_t total[FCORE_RESOURCES];	/* the pools' sizes */
	uint32_t tx_cell, rx_cell;	/* bytes, FCORE_MIN_CELL..FCORE_MAX_CELL */
	uint32_t max_len;		/* bytes of the largest transaction, 1..65535 */
	uint32_t red_percent;		/* of the network region: beyond it only head-of-line requests */
	uint32_t alpha;			/* what connections start with; 1/FCORE_ALPHA_ONE */
	uint32_t rx_ema[2];		/* 10.2's averaging constants, percent: Net Req Pkt, Buf Rx */
	/* The core's part of falcon_responses, for connections whose pulls XDP answers: from entry ... */
	struct falcon_responses *responses;
	uint32_t first_response, responses_count;	/* ... on so many, at most FALCON_RESPONSES */
	/* The same of falcon_sinks, for connections whose Pull Data XDP places; at most FALCON_SINKS. */
	struct falcon_sinks *sinks;
	uint32_t first_sink, sinks_count;
};

/* The upper layer's credits on a connection (8.2.3): what it could allocate now. */
struct fcore_credits {
	uint32_t credit[FCORE_NET_PKT_RX];	/* indices: enum fcore_resource up to ULP Data */
	bool xoff;		/* a submission was refused, on_xon() is to come */
};

/*
 * Set |cfg| to the defaults for up to |max_conns| connections: pools that 64 connections at their
 * bounds fill, cells of 1 KiB, red beyond 75 percent, alpha 1, no limits below the pools' sizes.
 */
void fcore_config_default(struct fcore_config *cfg, uint32_t max_conns);

/*
 * Limit what a host, a function or a connection may hold. Values below what one transaction of
 * |max_len| bytes takes are raised to that, since a connection could not get on with less. What is
 * held beyond a lowered limit is not taken away. -ENOENT: no such host or function.
 */
int fcore_limit_host(struct fcore *core, uint32_t host, const uint32_t limit[FCORE_RESOURCES]);
int fcore_limit_function(struct fcore *core, uint32_t function,
			 const uint32_t limit[FCORE_RESOURCES]);
void fcore_limit_conn(struct fcore_conn *c, const uint32_t limit[FCORE_RESOURCES]);

/*
 * The share of a connection relative to others (paper 4.6): it may hold T = alpha * free of each
 * resource, and one transaction in any case. In 1/FCORE_ALPHA_ONE. The rate update engine scales it
 * down (FALCON_RUE_RESULT_SHARE_FIELDS); fcore_conn_alpha() is what comes of that.
 */
void fcore_conn_set_alpha(struct fcore_conn *c, uint32_t alpha);
uint32_t fcore_conn_alpha(const struct fcore_conn *c);

/* What |c|'s upper layer may allocate at this moment. */
void fcore_credits(const struct fcore_conn *c, struct fcore_credits *out);

/* The account of |index| at |level|, for FCORE_LEVEL_CONN a CID; NULL if there is none. */
const struct fcore_account *fcore_resources(const struct fcore *core, enum fcore_level level,
					    uint32_t index);

/* "Req Pkt Tx" ... as 8.2.3 and 8.2.4 spell it; "nic" ... */
const char *fcore_resource_name(enum fcore_resource r);
const char *fcore_level_name(enum fcore_level level);

/* The zone of the pools (8.2.4): what fcore_ops.on_zone() was told, or is about to be. */
enum falcon_zone fcore_zone(const struct fcore *core);

/*
 * The buffer level of ACKs and NACKs (10.2), 0..FCORE_RX_LEVELS - 1: that of the fullest of the
 * pools for network requests, packets and buffers, and of what waits in front of the core.
 */
uint32_t fcore_rx_level(const struct fcore *core);
/* Frames that the core has not been given yet fill their rings to |level|, in the same steps. */
void fcore_rx_waiting(struct fcore *core, uint32_t level);

#endif /* FALCON_CORE_RESOURCE_H */
