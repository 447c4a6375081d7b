/* SPDX-License-Identifier: BSD-2-Clause */
/* falcon-perf: what its parts share, and the messages between client and server. */
#ifndef FALCON_TOOLS_PERF_H
#define FALCON_TOOLS_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "../common/app.h"
#include "../common/histogram.h"

enum perf_op {
	PERF_PUSH = FALCON_RAW_PUT,
	PERF_PULL = FALCON_RAW_GET,
	PERF_SEND = FALCON_RAW_SEND,
};

/* What to do, from the command line. */
struct perf_config {
	bool serve;
	bool json;
	bool verify;
	uint16_t service;	/* served, or at the far end */
	const char *conn;	/* client: the connection's name */
	enum perf_op op;
	uint64_t size;		/* bytes of an operation */
	uint64_t depth;		/* operations at a time */
	uint64_t count;		/* operations; 0: until the time is over */
	uint64_t seconds;	/* 0: until the count is reached; server: for ever */
	uint64_t timeout;	/* seconds without any completion that are too many */
	uint64_t arena;		/* server: bytes for all clients together */
};

/* What a run gave. */
struct perf_result {
	struct falcon_conn_info info;
	uint64_t elapsed;	/* ns, first submission to last completion */
	uint64_t done;		/* operations completed well (and compared, if asked for) */
	uint64_t mismatches;	/* operations whose data was not what it should be */
	struct histogram latency;	/* ns, submission to completion as seen by the client */
};

/* Messages, network byte order. A SEND's tag says which kind it is. */
enum perf_tag {
	PERF_TAG_DATA = 0,	/* measured traffic: dropped */
	PERF_TAG_CONTROL = 1,	/* a struct perf_msg */
	PERF_TAG_ECHO = 2,	/* measured traffic, answered by PERF_ECHO; slot from bit 8 */
};

enum perf_msg_type {
	PERF_HELLO = 1,		/* client: |size| bytes please, or keep what I have */
	PERF_WELCOME = 2,	/* server: they begin at |offset|; to be renewed by HELLO */
	PERF_REFUSE = 3,	/* server: not so many */
	PERF_BYE = 4,		/* client: I am done with them */
	PERF_ECHO = 5,		/* server: |digest| of the message of slot |offset| */
};

enum perf_const {
	PERF_MAGIC = 0x46505246,
	PERF_VERSION = 1,
	PERF_MAX_DEPTH = 1000,	/* the submission ring holds that and some messages */
	PERF_LEASE_S = 10,	/* memory whose client is silent for so long is free again */
	PERF_RENEW_S = 2,
};

struct perf_msg {
	__be32 magic;
	__u8 version;
	__u8 type;
	__be16 reserved;
	__be64 size;
	__be64 offset;
	__be64 digest;
} FALCON_PACKED;
_Static_assert(sizeof(struct perf_msg) == 32, "perf message");

/* A message of |type| with numbers in network order. */
struct perf_msg perf_msg_make(enum perf_msg_type type, uint64_t size, uint64_t offset,
			      uint64_t digest);
/* Whether |len| bytes at |data| are a message of ours; *|out| then is a copy. */
bool perf_msg_parse(const void *data, uint32_t len, struct perf_msg *out);

/* Fill |len| bytes with what operation |seq| carries; never zeros for long. */
void perf_pattern_fill(void *data, uint64_t len, uint64_t seq);
/* Whether |len| bytes are what perf_pattern_fill() writes for |seq|. */
bool perf_pattern_check(const void *data, uint64_t len, uint64_t seq);

/* Run the measurement. 0, or a negative errno value after a warning. */
int perf_client(const struct perf_config *cfg, struct perf_result *res);
/* Serve until told to stop. 0, or a negative errno value after a warning. */
int perf_serve(const struct perf_config *cfg);
/* Print the result, as a table or as a JSON object. */
void perf_report(const struct perf_config *cfg, const struct perf_result *res);

#endif /* FALCON_TOOLS_PERF_H */
