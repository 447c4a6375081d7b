// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rifl --soak --pcap: frames as they arrive, in the file format of libpcap. */
#include "capture.h"
#include "line.h"

#include <string.h>

enum {
	MAGIC_NS = (int)0xa1b23c4d,	/* times in ns */
	VERSION = 2 | 4 << 16,
	LINK_USER0 = 147,
	HEADER_VERSION = 1,
	HEADER_LEN = 4,
	SCRAMBLED = 0x80,
	SLOT_NS = 1000,			/* a slot in the capture's times */
};

static void put(struct capture *c, const void *data, size_t len)
{
	fwrite(data, len, 1, c->file);
}

bool capture_open(struct capture *c, const char *path)
{
	const uint32_t head[6] = {
		(uint32_t)MAGIC_NS, VERSION, 0, 0, HEADER_LEN + RIFL_FRAME_BITS_MAX / 8, LINK_USER0,
	};

	c->path = path;
	c->file = fopen(path, "wb");
	if (!c->file) {
		perror(path);
		return false;
	}
	put(c, head, sizeof(head));
	return true;
}

void capture_frame(struct capture *c, uint64_t now, uint32_t from, uint32_t lane, uint32_t id_bits,
		   const struct rifl_frame *f, uint32_t bits)
{
	uint8_t bytes[HEADER_LEN + RIFL_FRAME_BITS_MAX / 8] = {
		HEADER_VERSION, (uint8_t)from, (uint8_t)lane, (uint8_t)(SCRAMBLED | id_bits),
	};
	uint64_t ns = now / (LINE_SLOT / SLOT_NS);
	uint32_t len = HEADER_LEN + bits / 8;
	const uint32_t record[4] = {
		(uint32_t)(ns / 1000000000), (uint32_t)(ns % 1000000000), len, len,
	};

	rifl_to_bytes(f, bits, bytes + HEADER_LEN);
	put(c, record, sizeof(record));
	put(c, bytes, len);
}

bool capture_close(struct capture *c)
{
	bool written = !ferror(c->file);

	if (!fclose(c->file) && written)
		return true;
	perror(c->path);
	return false;
}
