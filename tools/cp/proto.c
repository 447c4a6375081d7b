// SPDX-License-Identifier: BSD-2-Clause
#include "proto.h"

#include <errno.h>
#include <string.h>

uint32_t cp_pack(const struct cp_msg *m, void *buf)
{
	size_t text_len = strnlen(m->text, CP_TEXT_MAX);
	struct cp_wire w = {
		.magic = falcon_hton32(CP_MAGIC),
		.version = CP_VERSION,
		.type = (__u8)m->type,
		.text_len = falcon_hton16((uint16_t)text_len),
		.session = falcon_hton64(m->session),
		.offset = falcon_hton64(m->offset),
		.size = falcon_hton64(m->size),
		.slot = falcon_hton32(m->slot),
		.slots = falcon_hton32(m->slots),
		.len = falcon_hton32(m->len),
		.mode = falcon_hton32(m->mode),
	};

	memcpy(w.digest, m->digest, CP_DIGEST);
	memcpy(buf, &w, sizeof(w));
	memcpy((uint8_t *)buf + sizeof(w), m->text, text_len);
	return (uint32_t)(sizeof(w) + text_len);
}

int cp_unpack(const void *buf, uint32_t len, struct cp_msg *m)
{
	struct cp_wire w;
	uint32_t text_len;

	memset(m, 0, sizeof(*m));
	if (len < sizeof(w))
		return -EBADMSG;
	memcpy(&w, buf, sizeof(w));
	text_len = falcon_ntoh16(w.text_len);
	if (falcon_ntoh32(w.magic) != CP_MAGIC)
		return -EBADMSG;
	if (w.version != CP_VERSION)
		return -EPROTONOSUPPORT;
	if (w.type < CP_OPEN_PUT || w.type > CP_TYPE_MAX || text_len > CP_TEXT_MAX ||
	    len != sizeof(w) + text_len)
		return -EBADMSG;
	memcpy(m->text, (const uint8_t *)buf + sizeof(w), text_len);
	if (strlen(m->text) != text_len)
		return -EBADMSG;
	m->type = w.type;
	m->session = falcon_ntoh64(w.session);
	m->offset = falcon_ntoh64(w.offset);
	m->size = falcon_ntoh64(w.size);
	m->slot = falcon_ntoh32(w.slot);
	m->slots = falcon_ntoh32(w.slots);
	m->len = falcon_ntoh32(w.len);
	m->mode = falcon_ntoh32(w.mode);
	memcpy(m->digest, w.digest, CP_DIGEST);
	return 0;
}
