// SPDX-License-Identifier: BSD-2-Clause
/*
 * Write to an NVMe device without an end, and say whether its medium has what it must have:
 *
 *	durable DEVICE FILE
 *
 * Every block has its address and the number of the write it is of, over and over. Writes of 1 to 32
 * blocks, some with FUA, and a Flush now and then, keep going until there is a line on standard input:
 *
 *	check	look at FILE, which the target has the device's blocks in, and which nobody changes now
 *	stop	let all writes end, flush, check
 *
 * answered by a line "ok" with what was looked at, or one that says what is wrong, which ends it.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <nvme/types.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <falcon/falcon.h>
#include <falcon/nvme_api.h>

enum { DEPTH = 16, MOST = 32, BLOCKS = 2048, FLUSH_EVERY = 64, FLUSH_CID = DEPTH };

struct record {
	uint64_t lba;
	uint32_t version, inverse;
};

struct block {
	uint32_t issued, ended, flushing, durable;	/* versions; 0: none */
	bool busy;
};

struct write {
	uint32_t lba, n, version;
	bool busy, fua;
};

static struct block blocks[BLOCKS];
static struct write writes[DEPTH];
static struct falcon *f;
static struct falcon_nvme_info info;
static uint32_t version, since_flush, nblocks;
static unsigned long ended, flushes;
static bool flushing, stopping;
static uint64_t seed = 0x9e3779b97f4a7c15;
static const char *path;

static uint64_t chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static void fail(const char *what, uint32_t lba, uint32_t v)
{
	const struct block *b = &blocks[lba % BLOCKS];

	printf("%s: block %u has version %u; issued %u, ended %u, durable %u\n", what, lba, v,
	       b->issued, b->ended, b->durable);
	exit(1);
}

static void check_block(const struct record *r, uint32_t lba)
{
	uint32_t v = r->version;

	for (uint32_t i = 1; i < info.block_size / sizeof(*r); i++)
		if (memcmp(&r[i], r, sizeof(*r)))
			fail("torn", lba, r[i].version);
	if (v && (r->lba != lba || r->inverse != ~v))
		fail("strange", lba, v);
	if (v < blocks[lba].durable)
		fail("lost", lba, v);
	if (v > blocks[lba].issued)
		fail("never written", lba, v);
}

static void check(void)
{
	void *data = malloc((size_t)nblocks * info.block_size);
	int fd = open(path, O_RDONLY);
	size_t bytes = (size_t)nblocks * info.block_size;

	if (!data || fd < 0 || pread(fd, data, bytes, 0) != (ssize_t)bytes) {
		printf("%s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
	for (uint32_t i = 0; i < nblocks; i++)
		check_block((struct record *)((char *)data + (size_t)i * info.block_size), i);
	free(data);
	printf("ok: %lu writes, %lu flushes have ended\n", ended, flushes);
	fflush(stdout);
}

static void submit(const struct falcon_nvme_sqe *sqe)
{
	int rc = falcon_nvme_submit(f, sqe);

	if (rc) {
		printf("submit: %s\n", strerror(-rc));
		exit(1);
	}
}

static void start_flush(void)
{
	for (uint32_t i = 0; i < nblocks; i++)
		blocks[i].flushing = blocks[i].ended;
	flushing = true;
	since_flush = 0;
	submit(&(struct falcon_nvme_sqe){ .opcode = nvme_cmd_flush, .cid = htole16(FLUSH_CID),
					  .qid = htole32(1), .nsid = htole32(info.nsid) });
}

static void start_write(uint16_t cid)
{
	struct write *w = &writes[cid];
	char *data = (char *)falcon_arena(f) + (size_t)cid * FALCON_NVME_MDTS;

	*w = (struct write){ .lba = (uint32_t)(chance() % nblocks), .n = (uint32_t)(chance() % MOST) + 1,
			     .version = ++version, .fua = chance() % 8 == 0 };
	for (uint32_t i = 0; i < w->n; i++)
		if (w->lba + i >= nblocks || blocks[w->lba + i].busy)
			w->n = i;
	if (!w->n)
		return;
	w->busy = true;
	for (uint32_t i = 0; i < w->n; i++) {
		struct record *r = (struct record *)(data + (size_t)i * info.block_size);

		blocks[w->lba + i].busy = true;
		blocks[w->lba + i].issued = w->version;
		for (uint32_t k = 0; k < info.block_size / sizeof(*r); k++)
			r[k] = (struct record){ w->lba + i, w->version, ~w->version };
	}
	submit(&(struct falcon_nvme_sqe){
		.opcode = nvme_cmd_write, .cid = htole16(cid), .qid = htole32(1),
		.nsid = htole32(info.nsid), .prp1 = htole64((uint64_t)cid * FALCON_NVME_MDTS),
		.cdw10 = htole32(w->lba), .cdw12 = htole32((w->n - 1) | (uint32_t)w->fua << 30) });
}

static void end(const struct falcon_nvme_cqe *cqe)
{
	uint16_t cid = le16toh(cqe->cid);
	struct write *w = &writes[cid % DEPTH];

	if (cqe->status) {
		printf("command %u has ended with status 0x%x\n", cid, le16toh(cqe->status) >> 1);
		exit(1);
	}
	if (cid == FLUSH_CID) {
		for (uint32_t i = 0; i < nblocks; i++)
			if (blocks[i].durable < blocks[i].flushing)
				blocks[i].durable = blocks[i].flushing;
		flushing = false;
		flushes++;
		return;
	}
	for (uint32_t i = w->lba; i < w->lba + w->n; i++) {
		blocks[i].busy = false;
		blocks[i].ended = w->version;
		if (w->fua)
			blocks[i].durable = w->version;
	}
	w->busy = false;
	ended++;
	since_flush++;
}

static bool idle(void)
{
	for (int i = 0; i < DEPTH; i++)
		if (writes[i].busy)
			return false;
	return !flushing;
}

static void run(void)
{
	struct falcon_nvme_cqe cqes[DEPTH + 1];
	int n = falcon_nvme_poll(f, cqes, DEPTH + 1);

	if (n < 0) {
		printf("the agent is gone\n");
		exit(1);
	}
	for (int i = 0; i < n; i++)
		end(&cqes[i]);
	for (uint16_t i = 0; i < DEPTH && !stopping; i++)
		if (!writes[i].busy)
			start_write(i);
	if (!flushing && since_flush >= FLUSH_EVERY && !stopping)
		start_flush();
	falcon_flush(f);
}

static void obey(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		exit(1);
	if (!strcmp(line, "check\n"))
		return check();
	stopping = true;
	while (!idle()) {
		falcon_wait(f, 100);
		run();
	}
	start_flush();
	while (flushing) {
		falcon_wait(f, 100);
		run();
	}
	check();
	exit(0);
}

int main(int argc, char **argv)
{
	const struct falcon_attr attr = { .arena_size = (DEPTH + 1) * FALCON_NVME_MDTS };
	struct pollfd fds[2] = { { .fd = 0, .events = POLLIN } };

	if (argc != 3 || falcon_nvme_open(&attr, argv[1], &f)) {
		fprintf(stderr, "durable DEVICE FILE: %s\n", falcon_error(NULL));
		return 2;
	}
	path = argv[2];
	while (!falcon_nvme_info(f, argv[1], &info) && !info.ready)
		poll(NULL, 0, 20);
	nblocks = info.bytes / info.block_size < BLOCKS ? (uint32_t)(info.bytes / info.block_size) :
							  BLOCKS;
	setvbuf(stdin, NULL, _IONBF, 0);
	fds[1] = (struct pollfd){ .fd = falcon_fd(f), .events = POLLIN };
	for (;;) {
		run();
		if (!falcon_arm(f))
			poll(fds, 2, 1000);
		else
			poll(fds, 1, 0);
		if (fds[0].revents)
			obey();
	}
}
