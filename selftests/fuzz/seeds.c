// SPDX-License-Identifier: BSD-2-Clause
/*
 * The fuzzers' first corpus, made from the tests' random traffic: seeds DIR writes DIR/fuzz_frame/
 * and DIR/fuzz_wire/.
 */
#include <stdio.h>
#include <string.h>

#include "conn.h"
#include "packet.h"
#include "seed_file.h"
#include "traffic.h"

enum {
	SEEDS = 200,
	FRAMES_A_SEED = 6,
	INPUT_ESP = 0x20,	/* of fuzz_frame.c */
};

static struct traffic traffic = { .rng = 42 };

/* A packet for |c| in ESP. Returns its length. */
static size_t esp_frame(const struct falcon_conn *c, uint8_t *frame)
{
	uint8_t falcon[256];
	struct falcon_hdr h = { .cid = c->id.cid, .type = FALCON_PUSH_DATA, .psn = (uint32_t)-100 };
	struct packet_shape s;

	packet_shape_of(&c->id, 1000000, &s);
	s.encap = FALCON_ESP_AES_GCM_128;
	return packet_build(&s, falcon, packet_reliable(&h, traffic_random(&traffic, 99), falcon),
			    frame);
}

/* A sequence of frames for fuzz_frame, and the last frame's Falcon packet for fuzz_wire. */
static void one_seed(const char *dir, unsigned int n)
{
	static uint8_t out[FRAMES_A_SEED * (PACKET_MAX + 3)];
	uint8_t frame[PACKET_MAX];
	struct falcon_frame f;
	size_t len = 0, size = 0;

	for (unsigned int i = 0; i < FRAMES_A_SEED; i++) {
		uint32_t cid = traffic_random(&traffic, 2);
		bool esp = traffic_random(&traffic, 4) == 0;
		struct falcon_conn c;

		conn_fresh(&c, cid, (uint32_t)-100);
		len = esp ? esp_frame(&c, frame) : traffic_frame(&traffic, &c, frame);
		out[size] = (uint8_t)(cid << 7 | 1 | traffic_random(&traffic, 16) |
				      (esp ? INPUT_ESP : 0));
		out[size + 1] = (uint8_t)len;
		out[size + 2] = (uint8_t)(len >> 8);
		memcpy(out + size + 3, frame, len);
		size += len + 3;
	}
	seed_write(dir, "fuzz_frame", n, out, size);
	if (falcon_parse_frame(frame, frame + len, &f) == FALCON_V_rx_data &&
	    f.encap == FALCON_PSP_CLEAR)
		seed_write(dir, "fuzz_wire", n, frame + f.falcon_off, f.falcon_len);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: seeds DIR\n");
		return 2;
	}
	for (unsigned int n = 0; n < SEEDS; n++)
		one_seed(argv[1], n);
	return 0;
}
