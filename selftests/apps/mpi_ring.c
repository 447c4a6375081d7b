/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranks pass messages round a ring and add vectors up, in sizes that MPI libraries treat
 * differently: in one message, in pieces, and fetched by the receiver; all that arrives is
 * compared. Built by mpi.t.sh.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks;

static void check(int ok, const char *what, size_t size)
{
	if (ok)
		return;
	fprintf(stderr, "rank %d: %s of %zu is wrong\n", rank, what, size);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *get(size_t size)
{
	void *p = malloc(size);

	check(p != NULL, "memory", size);
	return p;
}

static unsigned char pattern(size_t i, int from)
{
	return (unsigned char)(i * 7 + i / 4096 + (size_t)from);
}

static void ring(size_t size)
{
	unsigned char *out = get(size), *in = get(size);
	int left = (rank + ranks - 1) % ranks;
	size_t i;

	for (i = 0; i < size; i++)
		out[i] = pattern(i, rank);
	MPI_Sendrecv(out, (int)size, MPI_BYTE, (rank + 1) % ranks, 0, in, (int)size, MPI_BYTE, left,
		     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (i = 0; i < size; i++)
		check(in[i] == pattern(i, left), "a message", size);
	free(out);
	free(in);
}

static void sum(int count)
{
	long *mine = get((size_t)count * sizeof(*mine)), *all = get((size_t)count * sizeof(*all));
	int i;

	for (i = 0; i < count; i++)
		mine[i] = (long)i * (rank + 1);
	MPI_Allreduce(mine, all, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < count; i++)
		check(all[i] == (long)i * ranks * (ranks + 1) / 2, "a sum", (size_t)count);
	free(mine);
	free(all);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {1, 1000, 20000, 1 << 20};
	size_t i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		ring(sizes[i]);
	sum(1);
	sum(1 << 16);
	printf("rank %d of %d\n", rank, ranks);
	MPI_Finalize();
	return 0;
}
