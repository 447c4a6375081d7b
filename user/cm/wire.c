// SPDX-License-Identifier: BSD-2-Clause
/* The bytes of the control protocol: see PROTOCOL.md. */
#include "cm/wire.h"

#include <string.h>

#include "falcon/wire/esp.h"
#include "falcon/wire/wire.h"

enum cm_wire_len {
	LEN_HELLO = CM_WIRE_HELLO_LEN,
	LEN_CIDS = CM_WIRE_HEADER + 8,
	LEN_SECURITY = 20 + CM_KEY_MAX,
	LEN_OPEN = LEN_CIDS + 8 + 36 + LEN_SECURITY,
	LEN_PAIR = LEN_CIDS + 16,
	LEN_CLOSE = LEN_CIDS + 8 + 4,
	LEN_REKEY = LEN_PAIR + LEN_SECURITY,
	LEN_REKEYED = LEN_PAIR + 8,
	LEN_PATH = LEN_PAIR + 8,
	LEN_NOTE = CM_WIRE_HEADER + 4,
};
_Static_assert(LEN_OPEN == 112 && LEN_PAIR == 28 && LEN_CLOSE == 24 && LEN_REKEY == 84 &&
		       LEN_PATH == 36,
	       "as in PROTOCOL.md");
_Static_assert(LEN_CLOSE + CM_WIRE_TEXT_MAX <= CM_WIRE_MAX &&
		       LEN_OPEN + CM_ULP_DATA_MAX <= CM_WIRE_MAX &&
		       LEN_NOTE + CM_NOTE_MAX <= CM_WIRE_MAX,
	       "the longest messages");

/* First bytes of TLS records, which no message begins with. */
enum { TLS_ALERT = 0x15, TLS_HANDSHAKE = 0x16 };

/* Lengths of whole messages by type, bytes. */
static const struct {
	uint16_t min, max;
} lengths[CM_MSG_MAX + 1] = {
	[CM_MSG_HELLO] = {LEN_HELLO, LEN_HELLO},
	[CM_MSG_OPEN] = {LEN_OPEN, LEN_OPEN + CM_ULP_DATA_MAX},
	[CM_MSG_READY] = {LEN_PAIR, LEN_PAIR},
	[CM_MSG_CLOSE] = {LEN_CLOSE, LEN_CLOSE + CM_WIRE_TEXT_MAX},
	[CM_MSG_REJECT] = {LEN_CLOSE, LEN_CLOSE + CM_WIRE_TEXT_MAX},
	[CM_MSG_REKEY] = {LEN_REKEY, LEN_REKEY},
	[CM_MSG_REKEYED] = {LEN_REKEYED, LEN_REKEYED},
	[CM_MSG_RESUME] = {LEN_PAIR, LEN_PAIR},
	[CM_MSG_KEEPALIVE] = {CM_WIRE_HEADER, CM_WIRE_HEADER},
	[CM_MSG_NOTE] = {LEN_NOTE, LEN_NOTE + CM_NOTE_MAX},
	[CM_MSG_PATH] = {LEN_PATH, LEN_PATH},
};

/* A cursor over bytes that are known to be there. */
struct put {
	uint8_t *p;
};

struct get {
	const uint8_t *p;
};

static void put_bits(struct put *c, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = bytes; i-- > 0;)
		*c->p++ = (uint8_t)(v >> (8 * i));
}

static uint64_t get_bits(struct get *c, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v = v << 8 | *c->p++;
	return v;
}

static void put_security(struct put *c, const struct cm_security *sec)
{
	put_bits(c, sec->spi, 4);
	put_bits(c, sec->generation, 4);
	put_bits(c, sec->pcid, 8);
	put_bits(c, sec->version, 1);
	put_bits(c, sec->key_len, 1);
	put_bits(c, 0, 2);
	memset(c->p, 0, CM_KEY_MAX);
	memcpy(c->p, sec->key, sec->key_len);
	c->p += CM_KEY_MAX;
}

static void put_open(struct put *c, const struct cm_msg *m)
{
	put_bits(c, m->incarnation, 8);
	put_bits(c, m->ordering, 1);
	put_bits(c, m->kind, 1);
	put_bits(c, m->params.flows, 1);
	put_bits(c, 0, 1);
	put_bits(c, m->params.features, 4);
	put_bits(c, m->data_psn, 4);
	put_bits(c, m->req_psn, 4);
	put_bits(c, m->rsn, 4);
	put_bits(c, m->function, 4);
	put_bits(c, m->params.mtu, 4);
	put_bits(c, m->params.data_window, 2);
	put_bits(c, m->params.req_window, 2);
	put_bits(c, m->ulp.proto, 1);
	put_bits(c, m->ulp.len, 1);
	put_bits(c, 0, 2);
	put_security(c, &m->security);
	memcpy(c->p, m->ulp.data, m->ulp.len);
	c->p += m->ulp.len;
}

static void put_pair(struct put *c, const struct cm_msg *m)
{
	put_bits(c, m->incarnation, 8);
	put_bits(c, m->peer_incarnation, 8);
}

static void put_close(struct put *c, const struct cm_msg *m)
{
	size_t len = strnlen(m->text, CM_WIRE_TEXT_MAX);

	put_bits(c, m->incarnation, 8);
	put_bits(c, m->code, 1);
	put_bits(c, len, 1);
	put_bits(c, 0, 2);
	memcpy(c->p, m->text, len);
	c->p += len;
}

static void put_body(struct put *c, const struct cm_msg *m)
{
	switch (m->type) {
	case CM_MSG_HELLO:
		put_bits(c, CM_WIRE_MAGIC, 4);
		put_bits(c, m->boot, 8);
		put_bits(c, m->alive_ms, 4);
		break;
	case CM_MSG_OPEN: put_open(c, m); break;
	case CM_MSG_READY:
	case CM_MSG_RESUME: put_pair(c, m); break;
	case CM_MSG_CLOSE:
	case CM_MSG_REJECT: put_close(c, m); break;
	case CM_MSG_REKEY:
		put_pair(c, m);
		put_security(c, &m->security);
		break;
	case CM_MSG_REKEYED:
		put_pair(c, m);
		put_bits(c, m->security.spi, 4);
		put_bits(c, m->security.generation, 4);
		break;
	case CM_MSG_KEEPALIVE: break;
	case CM_MSG_NOTE:
		put_bits(c, m->proto, 1);
		put_bits(c, 0, 3);
		memcpy(c->p, m->note, m->note_len);
		c->p += m->note_len;
		break;
	case CM_MSG_PATH:
		put_pair(c, m);
		put_bits(c, m->path.len, 4);
		put_bits(c, m->path.mtu, 4);
		break;
	}
}

static bool has_cids(enum cm_msg_type type)
{
	return type != CM_MSG_HELLO && type != CM_MSG_KEEPALIVE && type != CM_MSG_NOTE;
}

size_t cm_msg_pack(const struct cm_msg *m, uint8_t *out)
{
	struct put c = {out + CM_WIRE_HEADER}, start = {out};

	if (has_cids(m->type)) {
		put_bits(&c, m->src_cid, 4);
		put_bits(&c, m->dst_cid, 4);
	}
	put_body(&c, m);
	put_bits(&start, (uint64_t)(c.p - out), 2);
	put_bits(&start, CM_WIRE_VERSION, 1);
	put_bits(&start, m->type, 1);
	return (size_t)(c.p - out);
}

static const char *get_hello(struct get *c, struct cm_msg *m)
{
	if (get_bits(c, 4) != CM_WIRE_MAGIC)
		return "wrong magic number";
	m->boot = get_bits(c, 8);
	m->alive_ms = (uint32_t)get_bits(c, 4);
	return m->boot && m->alive_ms ? NULL : "HELLO without boot number or time";
}

enum cm_security_kind cm_security_kind(uint8_t version)
{
	if (version == FALCON_PSP_CLEAR)
		return CM_SECURITY_CLEAR;
	return falcon_encap_is_esp(version) ? CM_SECURITY_ESP : CM_SECURITY_PSP;
}

/* Bytes of a key of |version|; -1: not one for a connection. */
static int key_len(uint8_t version)
{
	switch (version) {
	case FALCON_PSP_AES_GCM_128:
	case FALCON_PSP_GMAC_128: return 16;
	case FALCON_PSP_AES_GCM_256:
	case FALCON_PSP_GMAC_256: return 32;
	case FALCON_ESP_AES_GCM_128: return 16 + FALCON_ESP_SALT_LEN;
	case FALCON_ESP_AES_GCM_256: return 32 + FALCON_ESP_SALT_LEN;
	case FALCON_PSP_CLEAR: return 0;
	default: return -1;
	}
}

static const char *get_security(struct get *c, struct cm_security *sec)
{
	sec->spi = (uint32_t)get_bits(c, 4);
	sec->generation = (uint32_t)get_bits(c, 4);
	sec->pcid = get_bits(c, 8);
	sec->version = (uint8_t)get_bits(c, 1);
	sec->key_len = (uint8_t)get_bits(c, 1);
	if (get_bits(c, 2) != 0)
		return "reserved bits set in security";
	if (!sec->spi)
		return "security without SPI";
	if (key_len(sec->version) != sec->key_len)
		return "key does not go with the security's version";
	if (sec->pcid && cm_security_kind(sec->version) == CM_SECURITY_ESP)
		return "ESP has no PCID";
	memcpy(sec->key, c->p, sec->key_len);
	for (unsigned int i = sec->key_len; i < CM_KEY_MAX; i++) {
		if (c->p[i])
			return "reserved bits set in security";
	}
	c->p += CM_KEY_MAX;
	return NULL;
}

static const char *get_open(struct get *c, size_t len, struct cm_msg *m)
{
	uint64_t reserved;
	const char *why;

	m->incarnation = get_bits(c, 8);
	m->ordering = (uint8_t)get_bits(c, 1);
	m->kind = (uint8_t)get_bits(c, 1);
	m->params.flows = (uint8_t)get_bits(c, 1);
	reserved = get_bits(c, 1);
	m->params.features = (uint32_t)get_bits(c, 4);
	m->data_psn = (uint32_t)get_bits(c, 4);
	m->req_psn = (uint32_t)get_bits(c, 4);
	m->rsn = (uint32_t)get_bits(c, 4);
	m->function = (uint32_t)get_bits(c, 4);
	m->params.mtu = (uint32_t)get_bits(c, 4);
	m->params.data_window = (uint16_t)get_bits(c, 2);
	m->params.req_window = (uint16_t)get_bits(c, 2);
	m->ulp.proto = (uint8_t)get_bits(c, 1);
	m->ulp.len = (uint8_t)get_bits(c, 1);
	reserved |= get_bits(c, 2);
	if (m->ulp.len != len - LEN_OPEN)
		return "message of a wrong length";
	why = get_security(c, &m->security);
	if (why)
		return why;
	if (reserved || m->ordering > CM_ORDERED || m->function > FALCON_FUNCTION_MASK)
		return "reserved bits set in OPEN";
	if (m->kind != cm_security_kind(m->security.version))
		return "OPEN contradicts itself about its security";
	memcpy(m->ulp.data, c->p, m->ulp.len);
	if (!m->incarnation || !m->params.flows || !m->params.data_window || !m->params.req_window)
		return "OPEN without incarnation, flows or windows";
	if (!m->ulp.proto || m->ulp.proto > FALCON_PROTO_RAW)
		return "OPEN for no upper layer";
	return NULL;
}

static const char *get_pair(struct get *c, struct cm_msg *m)
{
	m->incarnation = get_bits(c, 8);
	m->peer_incarnation = get_bits(c, 8);
	return m->incarnation && m->peer_incarnation ? NULL : "a pair without incarnations";
}

static const char *get_rekey(struct get *c, struct cm_msg *m)
{
	const char *why = get_pair(c, m);

	return why ? why : get_security(c, &m->security);
}

static const char *get_rekeyed(struct get *c, struct cm_msg *m)
{
	const char *why = get_pair(c, m);

	m->security.spi = (uint32_t)get_bits(c, 4);
	m->security.generation = (uint32_t)get_bits(c, 4);
	return why;
}

static const char *get_path(struct get *c, struct cm_msg *m)
{
	const char *why = get_pair(c, m);

	m->path.len = (uint32_t)get_bits(c, 4);
	m->path.mtu = (uint32_t)get_bits(c, 4);
	return why || m->path.len ? why : "PATH that carries nothing";
}

static const char *get_close(struct get *c, struct cm_msg *m, size_t left)
{
	size_t text;

	m->incarnation = get_bits(c, 8);
	m->code = (uint8_t)get_bits(c, 1);
	text = get_bits(c, 1);
	if (get_bits(c, 2) != 0 || text > CM_WIRE_TEXT_MAX || text != left)
		return "text of a wrong length";
	for (size_t i = 0; i < text; i++) {
		if (c->p[i] < ' ' || c->p[i] > '~')
			return "text that is not printable";
	}
	memcpy(m->text, c->p, text);
	return m->incarnation ? NULL : "CLOSE or REJECT without incarnation";
}

static const char *get_note(struct get *c, struct cm_msg *m, size_t len)
{
	m->proto = (uint8_t)get_bits(c, 1);
	if (get_bits(c, 3) || !m->proto || m->proto > FALCON_PROTO_RAW)
		return "NOTE for no upper layer";
	m->note_len = (uint16_t)len;
	memcpy(m->note, c->p, len);
	return NULL;
}

/* What is wrong with the header, or NULL; *|len| is set to the length it gives. */
static const char *get_header(struct get *c, size_t *len, struct cm_msg *m)
{
	uint8_t version, type;

	*len = get_bits(c, 2);
	version = (uint8_t)get_bits(c, 1);
	type = (uint8_t)get_bits(c, 1);
	if (*len >> 8 == TLS_ALERT || *len >> 8 == TLS_HANDSHAKE)
		return "peer's agent uses TLS, and control = plain here";
	if (version != CM_WIRE_VERSION)
		return "another protocol version";
	if (type == 0 || type > CM_MSG_MAX)
		return "unknown message type";
	if (*len < lengths[type].min || *len > lengths[type].max)
		return "message of a wrong length";
	m->type = type;
	return NULL;
}

static const char *get_cids(struct get *c, struct cm_msg *m)
{
	m->src_cid = (uint32_t)get_bits(c, 4);
	m->dst_cid = (uint32_t)get_bits(c, 4);
	if (m->src_cid > FALCON_CID_MASK || m->dst_cid > FALCON_CID_MASK ||
	    (!m->src_cid && m->type != CM_MSG_REJECT) || (!m->dst_cid && m->type != CM_MSG_OPEN))
		return "CID out of range";
	return NULL;
}

static const char *get_body(struct get *c, size_t len, struct cm_msg *m)
{
	const char *why = has_cids(m->type) ? get_cids(c, m) : NULL;

	if (why)
		return why;
	switch (m->type) {
	case CM_MSG_HELLO: return get_hello(c, m);
	case CM_MSG_OPEN: return get_open(c, len, m);
	case CM_MSG_READY:
	case CM_MSG_RESUME: return get_pair(c, m);
	case CM_MSG_CLOSE:
	case CM_MSG_REJECT: return get_close(c, m, len - LEN_CLOSE);
	case CM_MSG_REKEY: return get_rekey(c, m);
	case CM_MSG_REKEYED: return get_rekeyed(c, m);
	case CM_MSG_KEEPALIVE: return NULL;
	case CM_MSG_NOTE: return get_note(c, m, len - LEN_NOTE);
	case CM_MSG_PATH: return get_path(c, m);
	}
	return "unknown message type";
}

int cm_msg_unpack(const uint8_t *in, size_t len, struct cm_msg *m, const char **why)
{
	struct get c = {in};
	size_t want;

	*m = (struct cm_msg){0};
	if (len < CM_WIRE_HEADER)
		return 0;
	*why = get_header(&c, &want, m);
	if (*why)
		return -1;
	if (len < want)
		return 0;
	*why = get_body(&c, want, m);
	return *why ? -1 : (int)want;
}

const char *cm_code_text(uint8_t code)
{
	static const char *const texts[CM_CODE_MAX + 1] = {
		[CM_CODE_REMOVED] = "peer removed the connection",
		[CM_CODE_RESET] = "peer reset the connection",
		[CM_CODE_UNKNOWN_CID] = "peer has no such connection",
		[CM_CODE_CID_MISMATCH] = "peer's connection has another remote_cid",
		[CM_CODE_ORDERING] = "peer's connection has another ordering",
		[CM_CODE_SECURITY] = "peer's connection has another security",
		[CM_CODE_FAILED] = "peer could not set the connection up",
		[CM_CODE_STALE] = "peer has lost the connection",
		[CM_CODE_POLICY] = "peer does not allow it",
		[CM_CODE_ULP] = "peer's connection is another upper layer's",
		[CM_CODE_PEER] = "peer's connection is for another name than our certificate has",
	};

	return code <= CM_CODE_MAX && texts[code] ? texts[code] : "peer gave no known reason";
}
