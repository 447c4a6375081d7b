// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the connection manager asks about keys: which SPI and key a connection's peer shall use, and
 * what to do with those that the peer has chosen (step 2 of Falcon 9.2.2.3; rekey.h).
 */
#include "agent/conn/security.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "base/log.h"

_Static_assert((int)SA_KEY_MAX == (int)CM_KEY_MAX, "a key fits into what peers are told");

/*
 * Let the new SPI in, of a connection that packets arrive for: the generation first, then both SPIs
 * at once, so that none that is good before and after is refused meanwhile (falcon_rx_check_spi()).
 */
static void publish(struct agent_conn *c, uint32_t spi, uint32_t generation)
{
	struct falcon_conn_id *id = &c->shared->id;
	union falcon_spi_pair pair = { .word = falcon_load(&id->spis) };

	pair.prev = pair.cur;
	pair.cur = spi;
	falcon_store(&id->cur_spi_gen, generation);
	falcon_store(&id->spis, pair.word);
}

/* A new incarnation starts with keys of its own, and keeps its PCID. */
static int start_over(struct agent_conn *c)
{
	sec_close(&c->sec);
	c->sec.pcid = 0;
	/* ESP has no room for one, nor need: an SPI is one connection's. */
	if (!c->agent->config.agent.pcid || falcon_encap_is_esp(c->sec.encap))
		return 0;
	while (!c->sec.pcid)
		if (RAND_bytes((unsigned char *)&c->sec.pcid, sizeof(c->sec.pcid)) != 1)
			return -EIO;
	return 0;
}

/* What the connection manager asks for, and the answer. */
struct asked {
	struct agent_conn *conn;
	struct cm_security *out;
	const struct cm_security *in;
	int rc;
};

static int fill_security(struct agent_conn *c, struct cm_security *out)
{
	struct agent *a = c->agent;
	uint32_t spi;
	int rc;

	out->generation = sec_keys_generation(a->keys);
	if (sec_clear(&c->sec))
		return 0;
	rc = c->core ? 0 : start_over(c);
	spi = sec_keys_spi(a->keys);
	if (rc == 0 && spi == 0)
		rc = -EAGAIN;
	if (rc == 0)
		rc = sec_rx_use(&c->sec, a->keys, spi, a->config.agent.key_export, out->key);
	if (rc < 0) {
		log_err("no key for connection conn=%s: %s", c->cfg.name, strerror(-rc));
		return rc;
	}
	out->spi = spi;
	out->version = c->sec.encap;
	out->key_len = (uint8_t)sa_key_len(c->sec.encap);
	out->pcid = c->sec.pcid;
	c->noted.rekey = false;
	if (c->core)
		publish(c, spi, out->generation);
	return 0;
}

static void fill_in_call(void *arg)
{
	struct asked *asked = arg;

	asked->rc = fill_security(asked->conn, asked->out);
}

int agent_fill_security(void *arg, uint32_t cid, struct cm_security *out)
{
	struct agent *a = arg;
	struct asked asked = { .conn = a->conns[cid], .out = out };

	call_run(&asked.conn->shard->call, fill_in_call, &asked);
	return asked.rc;
}

static int use_security(struct agent_conn *c, const struct cm_security *in)
{
	if (in->version != c->sec.encap || in->pcid != c->sec.peer_pcid)
		return -EPROTO;
	return sec_clear(&c->sec) ? 0 : sec_tx_use(&c->sec, in->spi, in->key);
}

static void use_in_call(void *arg)
{
	struct asked *asked = arg;

	asked->rc = use_security(asked->conn, asked->in);
}

int agent_use_security(void *arg, uint32_t cid, const struct cm_security *in)
{
	struct agent *a = arg;
	struct asked asked = { .conn = a->conns[cid], .in = in };

	call_run(&asked.conn->shard->call, use_in_call, &asked);
	return asked.rc;
}

void agent_security_used(void *arg, uint32_t cid, uint32_t generation)
{
	struct agent *a = arg;

	(void)generation;
	rekey_answered(a->conns[cid]);
}

/* The keys that this incarnation has agreed on may have been overtaken by a rotation. */
static bool expired(const struct agent *a, uint32_t generation)
{
	const struct falcon_config *global = a->plane.maps.config;

	return generation != global->cur_spi_gen &&
	       !(global->allow_prev_spi_gen && generation == global->cur_spi_gen - 1);
}

int agent_agree_security(struct agent_conn *c, char *err, size_t errlen)
{
	struct cm_security *ours = &c->ours.security, *peer = &c->peer.security;
	int rc = 0;

	if (peer->version != c->sec.encap) {
		snprintf(err, errlen, "security is %s here, %s at the peer",
			 sec_name(c->sec.encap), sec_name(peer->version));
		return -EPROTO;
	}
	if (expired(c->agent, ours->generation)) {
		snprintf(err, errlen, "keys were rotated meanwhile");
		return -ESTALE;
	}
	c->sec.peer_pcid = peer->pcid;
	if (!sec_clear(&c->sec))
		rc = sec_tx_use(&c->sec, peer->spi, peer->key);
	OPENSSL_cleanse(peer->key, sizeof(peer->key));
	if (rc < 0)
		snprintf(err, errlen, "the peer's key cannot be used");
	return rc;
}

static void append_key(const struct agent_conn *c, uint32_t spi, json_t *rows)
{
	unsigned int len = sa_key_len(c->sec.encap);
	char hex[2 * SA_KEY_MAX + 1];
	uint8_t key[SA_KEY_MAX];

	if (sec_export(&c->sec, c->agent->keys, spi, key) < 0)
		return;
	for (unsigned int i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", key[i]);
	json_array_append_new(rows, json_pack("{s:s, s:I, s:i, s:s}", "name", c->cfg.name, "spi",
					      (json_int_t)spi, "version", c->sec.encap, "key",
					      hex));
	OPENSSL_cleanse(key, sizeof(key));
	OPENSSL_cleanse(hex, sizeof(hex));
}

json_t *agent_keys_json(struct agent *a)
{
	json_t *rows = json_array();

	for (uint32_t cid = 0; cid < a->plane.maps.nconns; cid++) {
		const struct agent_conn *c = a->conns[cid];

		if (!c || !c->core || sec_clear(&c->sec))
			continue;
		append_key(c, c->shared->id.cur_spi, rows);
		if (c->shared->id.prev_spi != c->shared->id.cur_spi)
			append_key(c, c->shared->id.prev_spi, rows);
	}
	return rows;
}
