/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Table-driven tests of single verdicts: a case spoils or prepares one thing of a good packet, and
 * is run in every encapsulation. Each run must move exactly the counter of the case's verdict.
 */
#ifndef FALCON_SELFTESTS_VERDICT_H
#define FALCON_SELFTESTS_VERDICT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "env.h"

/* A packet on its way to be sent, as a case may change it. */
struct verdict_packet {
	struct packet_shape shape;
	struct falcon_hdr hdr;
	size_t payload;		/* bytes after the header of a reliable packet */
	uint8_t falcon[2048];	/* the packed packet */
	size_t falcon_len;
	uint8_t frame[PACKET_MAX];
	size_t len;
	uint32_t queue;
	int ifindex;
};

struct verdict_case {
	const char *name;
	enum falcon_verdict want;
	bool ipv4_only;
	bool acks;		/* the frame goes back as an ACK, whatever the verdict */
	/*
	 * Each may be NULL. Called with the connection that the packet is for, in this order: what
	 * several cases start from, what one does to the connection, encapsulation and header, to the
	 * packed packet, to the frame.
	 */
	void (*base)(struct env *e, struct falcon_conn *c, struct verdict_packet *p);
	void (*header)(struct env *e, struct falcon_conn *c, struct verdict_packet *p);
	void (*packed)(struct env *e, struct falcon_conn *c, struct verdict_packet *p);
	void (*framed)(struct env *e, struct falcon_conn *c, struct verdict_packet *p);
	/* What must be true afterwards, beside the verdict. */
	void (*verify)(struct env *e, struct falcon_conn *c, const struct falcon_conn *before,
		       const struct verdict_packet *p, const struct env_result *r);
};

/* For the definitions of these functions. */
#define VERDICT_STEP(name)                                                                         \
	void name(struct env *e, struct falcon_conn *c, struct verdict_packet *p)
#define HEADER(name) static VERDICT_STEP(name)
#define PACKED(name) static VERDICT_STEP(name)
#define FRAMED(name) static VERDICT_STEP(name)
#define VERDICT_VERIFY(name)                                                                       \
	void name(struct env *e, struct falcon_conn *c, const struct falcon_conn *before,          \
		  const struct verdict_packet *p, const struct env_result *r)
#define VERIFY(name) static VERDICT_VERIFY(name)
#define UNUSED ((void)e, (void)c, (void)p)

/* Steps after the base, for any encapsulation: what spoils a packet, or its connection. */
VERDICT_STEP(replayed);
VERDICT_STEP(reflected);
VERDICT_STEP(expired_generation);
VERDICT_STEP(pcid_differs);
VERDICT_STEP(downgraded_to_clear);
VERDICT_STEP(not_alive);
VERDICT_STEP(no_credit);
/* And what does not. */
VERDICT_STEP(offload_off);
/* The connection, or the packet too, has an IP header inside. */
VERDICT_STEP(tunnel_missing);
VERDICT_STEP(tunnel4);
VERDICT_STEP(tunnel6);
/* The agent's credits are as they were. */
VERDICT_VERIFY(at_no_cost);

/* The stage of all cases. */
extern struct env verdict_env;

/*
 * Run the |n| cases as a group named |group|, results in TAP; |more| as in env_main(). For use as
 * "return verdict_main();".
 */
int verdict_main(const char *group, const struct verdict_case *cases, size_t n, int (*more)(void));

#endif /* FALCON_SELFTESTS_VERDICT_H */
