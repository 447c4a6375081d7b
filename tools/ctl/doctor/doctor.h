/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * falconctl doctor: what of a host keeps Falcon from working, and what to do about it.
 *
 * Each check looks at one thing and says what it has found; it changes nothing, and goes on where another
 * has failed. What falcon.conf says is looked at with the agent's own code, so that the doctor and the agent
 * agree.
 */
#ifndef FALCON_TOOLS_DOCTOR_H
#define FALCON_TOOLS_DOCTOR_H

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "agent/config/config.h"
#include "base/addr.h"

enum doctor_status {
	DOCTOR_OK,
	DOCTOR_WARN, /* it works, but not as well or as long as it could */
	DOCTOR_FAIL, /* something does not work */
};

struct doctor {
	const char *config_path;
	const char *socket; /* of the agent; NULL: where ipc_client_path() says */
	struct agent_config config;
	bool configured;  /* |config| is what the file says */
	json_t *findings; /* array of {"check", "status", "finding", "advice"} */
	unsigned int failures;
	json_t *conns; /* the agent's connections, as "conn show" has them; NULL: no agent */
};

/* Add a finding of the check |name|; the sentence is |fmt|'s. */
void doctor_say(struct doctor *d, enum doctor_status status, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* What to do about the finding that was added last. */
void doctor_advise(struct doctor *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* host.c: kernel, BPF file system, CPUs, clocks. */
void doctor_host(struct doctor *d);
/* maps.c: what the XDP object has pinned. */
void doctor_maps(struct doctor *d);
/* ports.c: interfaces of the [port] sections: link, MTU, XDP program, queues, what merges packets. */
void doctor_ports(struct doctor *d);
/* certs.c: what the agent proves itself with, and whether peers will believe it. */
void doctor_certs(struct doctor *d);
/* agent.c: whether there is an agent, of which version, and what keeps its connections down. */
void doctor_agent(struct doctor *d);
/* peers.c: policy, and whether peers' agents can be reached. */
void doctor_peers(struct doctor *d);

/* The text of an IPv4 or IPv6 address, in |text| of INET6_ADDRSTRLEN bytes, which it returns. */
const char *doctor_address(int family, const struct falcon_addr *addr, char *text);

#endif /* FALCON_TOOLS_DOCTOR_H */
