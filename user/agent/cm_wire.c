// SPDX-License-Identifier: BSD-2-Clause
/* The bytes of the handshake between agents: see PROTOCOL.md. */
#include "agent/cm_wire.h"

#include <string.h>

#include "falcon/wire.h"

/* Lengths of whole messages; CLOSE and REJECT are followed by |text length| bytes. */
enum cm_wire_len {
	LEN_HELLO = CM_WIRE_HEADER + 4,
	LEN_CIDS = CM_WIRE_HEADER + 8,
	LEN_OPEN = LEN_CIDS + 8 + 4 + 20,
	LEN_READY = LEN_CIDS + 16,
	LEN_CLOSE = LEN_CIDS + 8 + 4,
};
_Static_assert(LEN_OPEN == 44 && LEN_READY == 28 && LEN_CLOSE == 24, "as in PROTOCOL.md");
_Static_assert(LEN_CLOSE + CM_WIRE_TEXT_MAX <= CM_WIRE_MAX, "the longest message");

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

static void put_open(struct put *c, const struct cm_msg *m)
{
	put_bits(c, m->incarnation, 8);
	put_bits(c, m->ordering, 1);
	put_bits(c, m->security, 1);
	put_bits(c, 0, 2);
	put_bits(c, m->spi, 4);
	put_bits(c, m->data_psn, 4);
	put_bits(c, m->req_psn, 4);
	put_bits(c, m->rsn, 4);
	put_bits(c, m->mtu, 4);
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

size_t cm_msg_pack(const struct cm_msg *m, uint8_t *out)
{
	struct put c = {out + CM_WIRE_HEADER}, start = {out};

	if (m->type == CM_MSG_HELLO) {
		put_bits(&c, CM_WIRE_MAGIC, 4);
	} else {
		put_bits(&c, m->src_cid, 4);
		put_bits(&c, m->dst_cid, 4);
	}
	switch (m->type) {
	case CM_MSG_HELLO: break;
	case CM_MSG_OPEN: put_open(&c, m); break;
	case CM_MSG_READY:
		put_bits(&c, m->incarnation, 8);
		put_bits(&c, m->peer_incarnation, 8);
		break;
	case CM_MSG_CLOSE:
	case CM_MSG_REJECT: put_close(&c, m); break;
	}
	put_bits(&start, (uint64_t)(c.p - out), 2);
	put_bits(&start, CM_WIRE_VERSION, 1);
	put_bits(&start, m->type, 1);
	return (size_t)(c.p - out);
}

static const char *get_hello(struct get *c)
{
	return get_bits(c, 4) == CM_WIRE_MAGIC ? NULL : "wrong magic number";
}

static const char *get_open(struct get *c, struct cm_msg *m)
{
	uint16_t reserved;

	m->incarnation = get_bits(c, 8);
	m->ordering = (uint8_t)get_bits(c, 1);
	m->security = (uint8_t)get_bits(c, 1);
	reserved = (uint16_t)get_bits(c, 2);
	m->spi = (uint32_t)get_bits(c, 4);
	m->data_psn = (uint32_t)get_bits(c, 4);
	m->req_psn = (uint32_t)get_bits(c, 4);
	m->rsn = (uint32_t)get_bits(c, 4);
	m->mtu = (uint32_t)get_bits(c, 4);
	if (reserved || m->ordering > CM_ORDERED)
		return "reserved bits set in OPEN";
	if (!m->incarnation || !m->spi)
		return "OPEN without incarnation or SPI";
	return NULL;
}

static const char *get_ready(struct get *c, struct cm_msg *m)
{
	m->incarnation = get_bits(c, 8);
	m->peer_incarnation = get_bits(c, 8);
	return m->incarnation && m->peer_incarnation ? NULL : "READY without incarnations";
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

/* The shortest message of |type|; 0 if there is no such type. */
static size_t min_len(uint8_t type)
{
	switch (type) {
	case CM_MSG_HELLO: return LEN_HELLO;
	case CM_MSG_OPEN: return LEN_OPEN;
	case CM_MSG_READY: return LEN_READY;
	case CM_MSG_CLOSE:
	case CM_MSG_REJECT: return LEN_CLOSE;
	default: return 0;
	}
}

/* What is wrong with the header, or NULL; *|len| is set to the length it gives. */
static const char *get_header(struct get *c, size_t *len, struct cm_msg *m)
{
	uint8_t version, type;

	*len = get_bits(c, 2);
	version = (uint8_t)get_bits(c, 1);
	type = (uint8_t)get_bits(c, 1);
	if (version != CM_WIRE_VERSION)
		return "another protocol version";
	if (min_len(type) == 0)
		return "unknown message type";
	if (*len < min_len(type) || *len > CM_WIRE_MAX)
		return "message of a wrong length";
	if (*len > min_len(type) && type != CM_MSG_CLOSE && type != CM_MSG_REJECT)
		return "message of a wrong length";
	m->type = type;
	return NULL;
}

static const char *get_body(struct get *c, size_t len, struct cm_msg *m)
{
	if (m->type == CM_MSG_HELLO)
		return get_hello(c);
	m->src_cid = (uint32_t)get_bits(c, 4);
	m->dst_cid = (uint32_t)get_bits(c, 4);
	if (!m->src_cid || m->src_cid > FALCON_CID_MASK || !m->dst_cid ||
	    m->dst_cid > FALCON_CID_MASK)
		return "CID out of range";
	switch (m->type) {
	case CM_MSG_OPEN: return get_open(c, m);
	case CM_MSG_READY: return get_ready(c, m);
	default: return get_close(c, m, len - LEN_CLOSE);
	}
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
	};

	return code <= CM_CODE_MAX && texts[code] ? texts[code] : "peer gave no known reason";
}
