/* SPDX-License-Identifier: BSD-2-Clause */
/* falcon-cp's client: a copy under way, and what its two directions do differently. */
#ifndef FALCON_TOOLS_CP_CLIENT_H
#define FALCON_TOOLS_CP_CLIENT_H

#include "cp.h"

/* A slot: ours and, as READY told, the server's of the same number. */
struct cp_slot {
	bool busy;		/* holds a chunk, or is being filled */
	bool arrived;		/* download: the chunk is here and waits for its turn */
	uint64_t offset;
	uint32_t len;
};

struct cp_copy;

/* A direction. Both are called with the copy's fields valid from READY on. */
struct cp_direction {
	/* READY has come. */
	void (*start)(struct cp_copy *c, const struct cp_msg *ready);
	/* Another message of the session has come, neither READY nor ABORT. */
	void (*message)(struct cp_copy *c, const struct cp_msg *m);
	/* The PUT or GET of slot |i| has ended well. */
	void (*moved)(struct cp_copy *c, uint32_t i);
};

extern const struct cp_direction cp_upload, cp_download;

struct cp_copy {
	const struct cp_config *cfg;
	const struct cp_direction *dir;
	struct falcon *f;
	struct falcon_conn_info info;
	struct mailbox mb;
	uint64_t session;
	uint64_t remote;	/* bytes into the server's arena: its slots */
	uint32_t slots;		/* of them; 0: not READY yet */
	uint64_t size;		/* bytes of the file */
	uint64_t copied;	/* bytes written at the sink */
	uint64_t begin, progress;	/* ns: start, last sign of life */
	uint64_t pinged;		/* ns: last PING */
	bool done, failed;
	bool ended;		/* END was sent, or has come */
	bool file_open;
	union {
		struct cp_source source;
		struct cp_sink sink;
	};
	uint8_t digest[CP_DIGEST];
	struct cp_slot slot[CP_SLOTS];
};

/* End the copy without success; the first call says why. */
void cp_fail(struct cp_copy *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Send a message of the session. */
void cp_say(struct cp_copy *c, struct cp_msg *m);
/* Start the PUT or GET of slot |i|. */
void cp_move(struct cp_copy *c, uint32_t i);
/* Our memory of slot |i|. */
void *cp_slot_data(struct cp_copy *c, uint32_t i);

#endif /* FALCON_TOOLS_CP_CLIENT_H */
