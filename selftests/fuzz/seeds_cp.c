// SPDX-License-Identifier: BSD-2-Clause
/* The first corpus of fuzz_cp.c: transfers that go well, in odd orders, and names that lead out. */
#include <string.h>

#include "../../tools/cp/proto.h"
#include "seed_file.h"

enum {
	STEPS = 8,
	HEAD = 5,		/* what fuzz_cp.c puts in front */
	SAME = 0x08,		/* the latest session's number */
	DIGEST = 0x18,		/* and its digest */
	LOST = 0x20,		/* its answers do not arrive */
	WAIT = 0x80,		/* no message: 30 s and more pass */
};

/* A message and what goes with it; type 0: the end, unless |how| is WAIT. */
struct step {
	unsigned char how;
	struct cp_msg m;
};

#define PUT(name, bytes) { 0, { .type = CP_OPEN_PUT, .text = name, .size = (bytes), .mode = 0644 } }
#define GET(name) { 0, { .type = CP_OPEN_GET, .text = name } }
#define WRITE(n, at, bytes)                                                                        \
	{ SAME, { .type = CP_WRITE, .slot = (n), .offset = (at), .len = (bytes) } }
#define FILL(n) { SAME, { .type = CP_FILL, .slot = (n) } }
#define OTHER(how, t) { how, { .type = (t) } }

static const struct step seeds[][STEPS] = {
	{ PUT("n", 0), OTHER(DIGEST, CP_END) },
	{ PUT("d/n", 100), WRITE(0, 0, 100), OTHER(DIGEST, CP_END) },
	{ PUT("l", 300), WRITE(1, 100, 100), WRITE(2, 200, 100), WRITE(0, 0, 100),
	  OTHER(DIGEST, CP_END) },
	{ PUT("n", CP_SLOT_SIZE + 1), WRITE(0, 0, CP_SLOT_SIZE), WRITE(0, CP_SLOT_SIZE, 1),
	  OTHER(DIGEST, CP_END) },
	{ PUT("n", 5), WRITE(0, 0, 5), OTHER(SAME, CP_END) },
	{ PUT("n", 5), OTHER(SAME, CP_ABORT), PUT("n", 5), WRITE(0, 0, 6) },
	{ GET("f"), FILL(0), FILL(1), FILL(2), OTHER(SAME, CP_DONE) },
	{ GET("d/f"), FILL(3), OTHER(SAME, CP_PING), OTHER(WAIT, 0), FILL(0) },
	{ PUT("n", 5), OTHER(SAME | LOST, CP_PING), OTHER(SAME | LOST, CP_READY), FILL(0) },
	{ PUT("../x", 0), PUT("out/x", 0), PUT("/tmp/x", 0), PUT("d/../../x", 0), PUT("d", 0),
	  OTHER(DIGEST, CP_END) },
	{ GET("../secret"), GET("l"), GET("out/secret"), GET("p"), GET("d"), GET("/etc/passwd") },
};

static size_t append(unsigned char *out, const struct step *s)
{
	unsigned char buf[CP_MSG_MAX];
	size_t len = cp_pack(&s->m, buf) - HEAD;

	out[0] = s->how;
	out[1] = (unsigned char)(s->how == WAIT ? 127 : len);
	if (s->how == WAIT)
		return 2;
	memcpy(out + 2, buf + HEAD, len);
	return len + 2;
}

void cp_seeds(const char *dir)
{
	unsigned char out[STEPS * (CP_MSG_MAX + 2)];

	for (unsigned int i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		size_t len = 0;

		for (int k = 0; k < STEPS && (seeds[i][k].m.type || seeds[i][k].how); k++)
			len += append(out + len, &seeds[i][k]);
		seed_write(dir, "fuzz_cp", i, out, len);
	}
}
