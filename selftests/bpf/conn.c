// SPDX-License-Identifier: BSD-2-Clause
#include "conn.h"

#include <string.h>

#include "falcon/receive/window.h"

void conn_windows(struct falcon_conn *c, uint32_t psn)
{
	memset(&c->rx, 0, sizeof(c->rx));
	memset(&c->rx_acked, 0, sizeof(c->rx_acked));
	memset(&c->tx_acked, 0, sizeof(c->tx_acked));
	memset(&c->cc_event, 0, sizeof(c->cc_event));
	c->rx_acked.data_base = c->rx_acked.req_base = psn;
	c->tx_acked.data_base = c->tx_acked.req_base = psn;
	c->cc.data_next = c->cc.req_next = psn + 16;
	c->cc_event.last_acked = 2 * psn;
	falcon_ring_init(c->rx.data_rx, FALCON_DATA_WORDS, psn);
	falcon_ring_init(c->rx.req_rx, FALCON_REQ_WORDS, psn);
	falcon_ring_init(c->rx_acked.data_ack, FALCON_DATA_WORDS, psn);
	falcon_ring_init(c->rx_acked.req_ack, FALCON_REQ_WORDS, psn);
	falcon_ring_init(c->tx_acked.data_ack, FALCON_DATA_WORDS, psn);
	falcon_ring_init(c->tx_acked.data_rx, FALCON_DATA_WORDS, psn);
	falcon_ring_init(c->tx_acked.req_ack, FALCON_REQ_WORDS, psn);
}

void conn_fresh(struct falcon_conn *c, uint32_t cid, uint32_t psn)
{
	bool ipv6 = cid & 1;

	memset(c, 0, sizeof(*c));
	c->id.flags = FALCON_CONN_ALIVE | FALCON_CONN_CLEAR | (ipv6 ? FALCON_CONN_IPV6 : 0);
	c->id.cid = cid;
	c->id.peer_cid = 0xabc00 + cid;
	c->id.cur_spi = c->id.prev_spi = CONN_SPI + cid;
	c->id.cur_spi_gen = CONN_SPI_GEN;
	c->id.peer_spi = CONN_PEER_SPI + cid;
	c->id.rx_function = cid & 2 ? CONN_FUNCTION : FALCON_FUNCTION_ANY;
	c->id.shard = (uint8_t)((1 + CONN_SHARD_STEP * cid) % FALCON_MAX_SHARDS);
	c->id.pcid = 0x1122334455667788ULL + cid;
	c->id.local_addr[0] = c->id.peer_addr[0] = ipv6 ? 0xfd : 10;
	c->id.local_addr[3] = 1;
	c->id.peer_addr[3] = (uint8_t)(2 + cid);
	if (ipv6) {
		c->id.local_addr[15] = 1;
		c->id.peer_addr[15] = (uint8_t)(2 + cid);
	}
	c->cc.fcwnd = 16 << 10;
	c->cc.flows = FALCON_MAX_FLOWS;
	c->cc.ooo_threshold = 2;
	c->cc.ncwnd = 16;
	c->cc.rto = 1000;
	conn_windows(c, psn);
}
