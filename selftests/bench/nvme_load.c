// SPDX-License-Identifier: BSD-2-Clause
/*
 * A disk without a front end: reads or writes through the C API of NVMe over Falcon, or through
 * io_uring on a local file, by the same loop. Prints JSON as nvme.sh has it of fio.
 *
 *	nvme_load [-w] [-b BYTES] [-q DEPTH] [-t SECONDS] [-s MIB] falcon:DEVICE|direct:FILE|cached:FILE
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <nvme/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "falcon/falcon.h"
#include "falcon/nvme_api.h"
#include "base/spin.h"
#include "../../tools/common/histogram.h"

enum { DEPTH_MAX = 256, READY_TRIES = 500, READY_PAUSE_US = 20000 };

struct load {
	bool write;		/* else reads */
	uint32_t bytes;		/* of a command */
	unsigned int depth;
	double seconds;
	uint64_t span;		/* bytes of the disk that are used */
	uint64_t at, random;	/* where the next write goes; state of the generator */
	uint64_t begun[DEPTH_MAX];	/* ns, by command */
	uint64_t done;		/* commands that have ended well */
	struct histogram latency;	/* ns */

	/* One of the two. */
	struct falcon *falcon;
	struct falcon_nvme_info info;
	struct io_uring ring;
	uint8_t *buf;		/* |depth| times |bytes|, registered */
};

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "nvme_load: %s: %s\n", what, why);
	exit(1);
}

static uint64_t next_offset(struct load *l)
{
	uint64_t slots = l->span / l->bytes;

	if (l->write)
		return l->at++ % slots * l->bytes;
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return l->random % slots * l->bytes;
}

static void open_falcon(struct load *l, const char *device)
{
	const struct falcon_attr attr = { .arena_size = (uint64_t)l->depth * l->bytes };

	if (falcon_nvme_open(&attr, device, &l->falcon) < 0)
		die(device, falcon_error(NULL));
	for (int i = 0; !l->info.ready; i++) {
		if (falcon_nvme_info(l->falcon, device, &l->info) < 0 || i == READY_TRIES)
			die(device, falcon_error(l->falcon));
		if (!l->info.ready)
			usleep(READY_PAUSE_US);
	}
	if (l->span > l->info.bytes)
		l->span = l->info.bytes;
}

static void open_file(struct load *l, const char *path, int flags)
{
	struct iovec iov = { .iov_len = (size_t)l->depth * l->bytes };
	int fd = open(path, (l->write ? O_RDWR : O_RDONLY) | flags | O_CLOEXEC), rc;

	if (fd < 0)
		die(path, strerror(errno));
	iov.iov_base = l->buf = aligned_alloc(4096, iov.iov_len);
	if (!l->buf)
		die(path, "out of memory");
	memset(l->buf, 0xa5, iov.iov_len);
	rc = io_uring_queue_init(DEPTH_MAX, &l->ring, IORING_SETUP_SINGLE_ISSUER |
						      IORING_SETUP_COOP_TASKRUN);
	if (rc == 0)
		rc = io_uring_register_buffers(&l->ring, &iov, 1);
	if (rc == 0)
		rc = io_uring_register_files(&l->ring, &fd, 1);
	if (rc < 0)
		die("io_uring", strerror(-rc));
}

static void start_falcon(struct load *l, uint16_t id, uint64_t offset)
{
	uint64_t lba = offset / l->info.block_size;
	const struct falcon_nvme_sqe sqe = {
		.opcode = l->write ? nvme_cmd_write : nvme_cmd_read, .cid = htole16(id),
		.nsid = htole32(l->info.nsid), .qid = htole32(1),
		.prp1 = htole64((uint64_t)id * l->bytes), .cdw10 = htole32((uint32_t)lba),
		.cdw11 = htole32((uint32_t)(lba >> 32)),
		.cdw12 = htole32(l->bytes / l->info.block_size - 1),
	};

	if (falcon_nvme_submit(l->falcon, &sqe) < 0)
		die("submit", falcon_error(l->falcon));
}

static void start_file(struct load *l, uint16_t id, uint64_t offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&l->ring);
	uint8_t *buf = l->buf + (size_t)id * l->bytes;

	if (l->write)
		io_uring_prep_write_fixed(sqe, 0, buf, l->bytes, offset, 0);
	else
		io_uring_prep_read_fixed(sqe, 0, buf, l->bytes, offset, 0);
	io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
	io_uring_sqe_set_data64(sqe, id);
}

static void start(struct load *l, uint16_t id, uint64_t now)
{
	l->begun[id] = now;
	if (l->falcon)
		start_falcon(l, id, next_offset(l));
	else
		start_file(l, id, next_offset(l));
}

/* The commands that have ended, at least one, in |ids|. Returns how many. */
static unsigned int wait_falcon(struct load *l, uint16_t *ids)
{
	struct falcon_nvme_cqe cqes[DEPTH_MAX];
	int n;

	while ((n = falcon_nvme_poll(l->falcon, cqes, DEPTH_MAX)) == 0)
		falcon_wait(l->falcon, -1);
	if (n < 0)
		die("falcon", falcon_error(l->falcon));
	for (int i = 0; i < n; i++) {
		if (cqes[i].status)
			die("falcon", "a command has failed");
		ids[i] = le16toh(cqes[i].cid);
	}
	return (unsigned int)n;
}

static unsigned int wait_file(struct load *l, uint16_t *ids)
{
	struct io_uring_cqe *cqes[DEPTH_MAX];
	unsigned int n;

	io_uring_submit_and_wait(&l->ring, 1);
	n = io_uring_peek_batch_cqe(&l->ring, cqes, DEPTH_MAX);
	for (unsigned int i = 0; i < n; i++) {
		if (cqes[i]->res != (int)l->bytes)
			die("io_uring", strerror(cqes[i]->res < 0 ? -cqes[i]->res : EIO));
		ids[i] = (uint16_t)io_uring_cqe_get_data64(cqes[i]);
	}
	io_uring_cq_advance(&l->ring, n);
	return n;
}

static double run(struct load *l)
{
	uint64_t begin = spin_clock(), end = begin + (uint64_t)(l->seconds * 1e9), now = begin;
	unsigned int open = 0;
	uint16_t ids[DEPTH_MAX];

	for (; open < l->depth; open++)
		start(l, (uint16_t)open, begin);
	while (open) {
		unsigned int n = l->falcon ? wait_falcon(l, ids) : wait_file(l, ids);

		now = spin_clock();
		for (unsigned int i = 0; i < n; i++) {
			histogram_add(&l->latency, now - l->begun[ids[i]]);
			if (now < end)
				start(l, ids[i], now);
			else
				open--;
		}
		l->done += n;
	}
	return (double)(now - begin) / 1e9;
}

int main(int argc, char **argv)
{
	static struct load l = { .bytes = 4096, .depth = 32, .seconds = 2, .span = 256ULL << 20,
				 .random = 88172645463325252ULL };
	double took;
	int opt;

	while ((opt = getopt(argc, argv, "wb:q:t:s:")) != -1) {
		switch (opt) {
		case 'w': l.write = true; break;
		case 'b': l.bytes = (uint32_t)atoi(optarg); break;
		case 'q': l.depth = (unsigned int)atoi(optarg); break;
		case 't': l.seconds = atof(optarg); break;
		case 's': l.span = (uint64_t)atoi(optarg) << 20; break;
		default: return 2;
		}
	}
	if (optind != argc - 1 || !l.bytes || !l.depth || l.depth > DEPTH_MAX)
		die("usage", "[-w] [-b BYTES] [-q DEPTH] [-t SECONDS] [-s MIB] "
			     "falcon:DEVICE|direct:FILE|cached:FILE");
	if (!strncmp(argv[optind], "falcon:", 7))
		open_falcon(&l, argv[optind] + 7);
	else
		open_file(&l, argv[optind] + 7, argv[optind][0] == 'd' ? O_DIRECT : 0);
	if (l.span < l.bytes)
		die("the disk", "too small");
	took = run(&l);
	printf("{\"iops\": %.0f, \"mbytes_per_s\": %.1f, \"lat_us\": {\"p50\": %.1f, \"p99\": %.1f}}\n",
	       (double)l.done / took, (double)l.done * l.bytes / took / 1e6,
	       (double)histogram_quantile(&l.latency, 0.5) / 1e3,
	       (double)histogram_quantile(&l.latency, 0.99) / 1e3);
	falcon_close(l.falcon);
	return 0;
}
