// SPDX-License-Identifier: BSD-2-Clause
/*
 * The first corpus of fuzz_tenants.c: walks of its actions that reach far. Queue pairs that exchange
 * requests; ids that connect; datagrams; what users may have none too many of; and all of it at random.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "seed_file.h"

enum { RECORD = 32 };
/* First bytes of actions in fuzz_tenants.c, and second ones of a verbs application's. */
enum { FIRST = 0, SECOND = 3, PEERS = 6, RAW = 8, PEERS_RAW = 10, NOTE = 11, OPERATOR = 12, TIME = 13,
       PAUSE = 15, DISK = 16, PEERS_DISK = 19, ROGUE = 21, DISK_OPERATOR = 23 };
enum { CREATE = 1, DESTROY = 3, REPEAT = 4, PAIR = 5, POST = 6, MODIFY = 8, DRAIN = 12, CM = 13, SQUAT = 14,
       LIFE = 15 };
/* Second ones of NVMe: an application's, its host's, the operator's. */
enum { SUBMIT = 0, SHARED = 3, TAKE = 5, RESET, AGAIN };
enum { REQUEST = 0, MANNERS = 6, DIE };
enum { HANG = 0, LIMIT, RESIZE, DEVICE };
/* Which object is created; what is asked about an id. */
enum { PD = 1, AH = 9 };
enum { OPEN = 1, ID = 3, BIND = 5, RESOLVE, ROUTE, LISTEN = 9, CONNECT, ACCEPT, DISCONNECT = 13, EVENT };

static struct {
	uint8_t bytes[4096];
	size_t len;
	uint64_t random;
} walk;

static uint8_t any(void)
{
	walk.random = walk.random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint8_t)(walk.random >> 56);
}

/* An action: the bytes that matter. */
static void say(const uint8_t *bytes, size_t n)
{
	if (n > RECORD || walk.len + RECORD > sizeof(walk.bytes))
		abort();
	memset(walk.bytes + walk.len, 0, RECORD);
	memcpy(walk.bytes + walk.len, bytes, n);
	walk.len += RECORD;
}

#define SAY(...) say((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void say_any(void)
{
	uint8_t bytes[RECORD];

	for (int i = 0; i < RECORD; i++)
		bytes[i] = any();
	say(bytes, RECORD);
}

/* Pair |i| of |who| and the peer, or of |who| and the first application here. */
static void pair(uint8_t who, uint8_t i, bool ud, bool here)
{
	SAY(who, PAIR, i, here ? 0xff : 0, any(), ud ? 0 : 1, any(), 1, 0, 0);
}

/*
 * |n| requests of |opcode|, or receive requests: fields as tenant_post() takes them. Local memory is its
 * own, remote memory that of |whose|: an application's, or of who behaves.
 */
enum { THEIRS = 0xe0 };

static void post(uint8_t who, uint8_t i, bool recv, uint8_t opcode, uint8_t whose, uint8_t n)
{
	uint8_t own = who == FIRST ? 0 : who == SECOND ? 1 : 2;

	SAY(who, POST, i, recv, 7, opcode, 2, whose, whose, 0, 1, 1, 0, own, 64, 0, 40, 0, own, own, 0, 8, 60,
	    0, own, i, n);
}

static void pass(uint8_t rounds)
{
	SAY(TIME, rounds);
}

/* Source addresses: of the host, any, one that nobody has. */
enum { OWN, ANY, ALIEN };

/* About the latest id and channel; to port 1 of the peer, from port 1 of |from|. */
static void cm(uint8_t who, uint8_t what, unsigned int from)
{
	SAY(who, CM, what, 0, 0, 0, 0, from == ANY ? 0x20 : 0, 1, from == ALIEN ? 0x80 : 0, 0, 1, 1, 1);
}

/* All operations between two queue pairs. */
static void requests(bool ud, bool here)
{
	uint8_t other = here ? FIRST : PEERS;

	SAY(SECOND, CREATE, AH, 0, 1);
	pair(SECOND, 1, ud, here);
	pass(31);
	post(other, 1, true, 0, 0, 8);
	for (uint8_t opcode = 0; opcode < 13; opcode++) {
		post(SECOND, 1, false, opcode, here ? 0 : 2, 3);
		pass(20);
		SAY(SECOND, DRAIN);
		SAY(other, DRAIN);
	}
	SAY(SECOND, MODIFY, 6, 0, 1);
	pass(31);
	SAY(SECOND, PAIR, 1);
	pass(31);
}

/* An id of the first application connects to one of the peer's, which accepts, and it disconnects. */
static void connects(void)
{
	cm(PEERS, OPEN, OWN);
	cm(PEERS, ID, OWN);
	cm(PEERS, BIND, ANY);
	cm(PEERS, LISTEN, OWN);
	cm(FIRST, OPEN, OWN);
	cm(FIRST, ID, OWN);
	cm(FIRST, RESOLVE, ANY);
	cm(FIRST, ROUTE, OWN);
	cm(FIRST, CONNECT, OWN);
	pass(31);
	cm(PEERS, EVENT, OWN);
	cm(PEERS, ACCEPT, OWN);
	pass(31);
	for (int i = 0; i < 4; i++)
		cm(FIRST, EVENT, OWN);
	cm(FIRST, ACCEPT, OWN);
	pass(31);
	cm(FIRST, DISCONNECT, OWN);
	pass(31);
	cm(PEERS, EVENT, OWN);
}

/* Operations of the raw layer, of each kind, both ways. */
static void raw(void)
{
	for (uint8_t op = 1; op < 4; op++) {
		for (uint8_t cid = 0; cid < 2; cid++) {
			SAY(RAW, 0, cid, op, 0, 0, 1, 0, 2, 200, 3, 40);
			SAY(PEERS_RAW, 0, cid, op, 0, 0, 1, 0, 2, 200, 3, 40);
			pass(31);
			SAY(RAW, 5);
			SAY(PEERS_RAW, 5);
		}
	}
	SAY(RAW, 0, 0, 1, 0, 0, 1, 0, 2, 200, 3, 40);
	SAY(RAW, 7);
	SAY(OPERATOR, 0, 0);
	SAY(OPERATOR, 2);
	pass(31);
}

/* A failing resolve_addr whose events nobody fetches, as often as an input can have it. */
static void events(void)
{
	cm(FIRST, OPEN, OWN);
	cm(FIRST, ID, OWN);
	cm(FIRST, RESOLVE, ALIEN);
	for (int i = 0; i < 60; i++)
		SAY(FIRST, REPEAT, 255);
	pass(31);
}

/* Ids in ports that would be chosen next; addresses that nobody has; ends in the middle. */
static void many(void)
{
	for (uint8_t i = 0; i < 4; i++) {
		SAY(FIRST, SQUAT, 0, (uint8_t)(i << 4), 255);
		SAY(SECOND, SQUAT, 0, (uint8_t)((4 + i) << 4), 255);
		pass(4);
	}
	SAY(SECOND, LIFE, 0);
	pass(31);
}

static void nowhere(void)
{
	SAY(FIRST, CREATE, PD);
	for (uint8_t i = 0; i < 70; i++)
		SAY(FIRST, CREATE, AH, 0, 128 + i);
	SAY(PAUSE, 255);
	pass(31);
	SAY(FIRST, LIFE, 0);
	pass(31);
}

/* It writes to the memory of who behaves, and reads it. */
static void intrudes(void)
{
	for (uint8_t opcode = 0; opcode < 7; opcode++) {
		pair(SECOND, 1, false, false);
		pass(31);
		post(SECOND, 1, false, opcode, THEIRS, 3);
		pass(31);
		SAY(SECOND, PAIR, 1);
	}
}

/* |n| times four commands: |what| of disk_tenant_act()'s, of |blocks| from |lba| on. */
static void disk(uint8_t who, uint8_t what, uint8_t lba, uint8_t blocks, uint8_t n)
{
	SAY(who, SUBMIT, 0x10 | what, n, 7, 0, lba, 0, (uint8_t)(blocks - 1));
}

/* Commands of all kinds, large ones, and those for the controller. */
static void disks(void)
{
	for (uint8_t what = 0; what < 16; what++) {
		for (unsigned int blocks = 1; blocks < 200; blocks += 90) {
			disk(what & 1 ? DISK : PEERS_DISK, what, what, (uint8_t)blocks, 2);
			pass(25);
		}
		SAY(DISK, TAKE);
		SAY(PEERS_DISK, TAKE);
	}
}

/* All that the rings take, of which nothing ends; then resets, ends and other devices. */
static void disks_hang(void)
{
	SAY(DISK_OPERATOR, HANG, 1);
	disk(DISK, 1, 0, 255, 60);
	disk(PEERS_DISK, 0, 0, 8, 60);
	pass(31);
	SAY(DISK, RESET);
	pass(31);
	SAY(PAUSE, 120);
	pass(31);
	disk(DISK, 0, 0, 1, 60);
	pass(31);
	SAY(PEERS_DISK, AGAIN);
	for (uint8_t i = 0; i < 8; i++) {
		disk(DISK, i & 1, i, 16, 1);
		pass(8);
		SAY(DISK, AGAIN);
	}
	SAY(DISK_OPERATOR, DEVICE, 0);
	SAY(DISK_OPERATOR, DEVICE, 1);
	SAY(DISK, AGAIN);
	SAY(PAUSE, 120);
	SAY(DISK_OPERATOR, DEVICE, 0);
	SAY(DISK_OPERATOR, DEVICE, 1);
	SAY(DISK_OPERATOR, HANG, 0);
	pass(31);
	SAY(DISK, AGAIN);
	disk(DISK, 0, 0, 8, 2);
	pass(31);
}

/*
 * |n| and one requests of a |type|, whose nCMDs have |unit| times 512 bytes: those of one command, or so many
 * commands.
 */
static void rogue(uint8_t type, uint16_t blocks, uint8_t unit, uint8_t n, bool commands, uint8_t data)
{
	SAY(ROGUE, REQUEST, type, (uint8_t)((blocks + unit - 1) / unit - 1), 0, 1, 1, 0, 0,
	    (uint8_t)(blocks - 1), unit, 2, n, commands, data);
}

/* A host hoards memory and commands, in all manners of answering, and dies. */
static void rogues(void)
{
	for (uint8_t manners = 0; manners < 4; manners++) {
		SAY(ROGUE, MANNERS, manners, manners);
		rogue(0, 255, 1, 254, false, 0);
		pass(31);
		rogue(0, 1, 2, 100, true, 0);
		rogue(4, 8, 1, 7, false, 0);
		rogue(9, 64, 2, 20, true, 0);
		pass(31);
		rogue(7, 2, 2, 100, true, 255);
		rogue(6, 1, 1, 3, true, 0);
		pass(31);
		SAY(DISK_OPERATOR, HANG, manners & 1);
		disk(PEERS_DISK, 1, 0, 128, 2);
		pass(31);
		SAY(ROGUE, DIE);
		pass(31);
	}
	SAY(DISK_OPERATOR, LIMIT, 1, 1);
	SAY(DISK_OPERATOR, RESIZE, 1);
	rogue(0, 8, 2, 3, false, 0);
	disk(DISK, 1, 0, 8, 2);
	pass(31);
}

static void chaos(void)
{
	for (uint8_t i = 0; i < 4; i++)
		pair(i & 1 ? SECOND : FIRST, i, i == 2, i == 3);
	SAY(OPERATOR, 3, 4, 4, 19, 19);
	while (walk.len < 3800) {
		if (any() & 1)
			post(any() % 8, any(), any() & 1, any() % 13, any() % 3, any() % 16);
		else
			say_any();
		pass(any() % 32);
	}
}

static void finish(const char *dir, unsigned int n)
{
	seed_write(dir, "fuzz_tenants", n, walk.bytes, walk.len);
	walk.len = 0;
}

void tenants_seeds(const char *dir)
{
	static void (*const walks[])(void) = { connects, raw, events, many, nowhere, intrudes, disks,
					      disks_hang, rogues };
	unsigned int n = 0;

	for (unsigned int i = 0; i < 4; i++) {
		requests(i & 1, i & 2);
		finish(dir, n++);
	}
	for (unsigned int i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
		walks[i]();
		finish(dir, n++);
	}
	for (unsigned int i = 0; i < 8; i++) {
		walk.random = i;
		chaos();
		finish(dir, n++);
	}
	for (unsigned int i = 0; i < 4; i++) {
		for (int k = 0; k < 120; k++)
			say_any();
		finish(dir, n++);
	}
}
