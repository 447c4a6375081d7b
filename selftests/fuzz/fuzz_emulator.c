// SPDX-License-Identifier: BSD-2-Clause
/*
 * falcon-wire under commands and frames of any content. An input is a sequence of steps, each a byte
 * that says what (bits 0 and 1) and how much (the rest): a command line, a frame, or time. At the
 * end everything is let arrive: no frame may be missing, and the sums must add up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/wire/emulator.h"
#include "check.h"

enum { FRAMES = 512, PORTS = 3, PATHS = 4, MAX_EVENTS = 100000 };

static struct emulator em;
static struct wire wire;
static uint64_t now;

/* Ports without interfaces: nothing to count, nothing to begin anew. */
void port_count(struct port *p)
{
	(void)p;
}

void port_reset_stats(struct port *p)
{
	(void)p;
}

const char *port_io_name(enum port_io io)
{
	(void)io;
	return "none";
}

static void deliver(void *arg, uint32_t frame)
{
	(void)arg;
	pool_give(&em.pool, frame);
}

static void open_emulator(void)
{
	struct wire_conf conf = { .ports = PORTS, .paths = PATHS, .seed = 1, .deliver = deliver };

	for (unsigned int i = 0; i < PATHS; i++)
		settings_init(&conf.path[i]);
	em.ports = PORTS;
	for (unsigned int i = 0; i < PORTS; i++)
		snprintf(em.port[i].name, sizeof(em.port[i].name), "to-%c", 'a' + (int)i);
	em.wire = &wire;
	CHECK(pool_init(&em.pool, FRAMES, PORT_MAX_FRAME) == 0);
	CHECK(wire_init(em.wire, &em.pool, &conf) == 0);
	now = 0;
}

static void close_emulator(void)
{
	wire_close(em.wire);
	pool_close(&em.pool);
	/* It is large; only what was used has to be cleared. */
	memset(&wire, 0, offsetof(struct wire, link));
	for (unsigned int i = 0; i < PORTS; i++)
		memset(wire.link[i], 0, PATHS * sizeof(wire.link[i][0]));
}

static void command(const uint8_t *data, size_t len)
{
	char line[65];
	json_t *reply;

	memcpy(line, data, len);
	line[len] = '\0';
	reply = command_run(&em, line);
	CHECK(json_is_object(reply));
	json_decref(reply);
}

static void frame(const uint8_t *data, size_t len, unsigned int port)
{
	uint32_t f = pool_take(&em.pool);

	if (f == POOL_NONE)
		return;
	em.pool.frame[f].offset = POOL_HEADROOM;
	em.pool.frame[f].len = (uint32_t)len;
	memcpy(pool_data(&em.pool, f), data, len);
	wire_advance(em.wire, now);
	wire_input(em.wire, port, 0, f, now);
}

/* The statistics can be reset in between; frames cannot. */
static void drain(void)
{
	for (int i = 0; wire_next(em.wire) != UINT64_MAX; i++) {
		CHECK(i < MAX_EVENTS);
		wire_advance(em.wire, wire_next(em.wire));
	}
	CHECK(em.pool.frees == FRAMES);
	for (unsigned int i = 0; i < PORTS * PATHS; i++) {
		const struct link *l = &em.wire->link[i / PATHS][i % PATHS];

		CHECK(l->under_way == 0 && l->packets == 0 && l->bytes == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	open_emulator();
	while (size) {
		uint8_t what = *data & 3;
		size_t len = *data >> 2;

		data++, size--;
		if (len > size)
			len = size;
		if (what == 0)
			command(data, len);
		else if (what < 3)
			frame(data, len, (what + len) % PORTS);
		else
			now += 1ULL << len;
		if (what < 3)
			data += len, size -= len;
	}
	drain();
	close_emulator();
	return 0;
}
