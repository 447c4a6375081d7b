// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doctor.h"

enum { REACH_MS = 2000 }; /* for a peer's answer */

static void check_policy(struct doctor *d)
{
	const struct agent_config *cfg = &d->config;

	if (cfg->agent.listen[0] && !cfg->npeers) {
		doctor_say(d, DOCTOR_WARN, "policy",
			   "listen is set, but there is no [peer]: nobody may dial this host");
		doctor_advise(
			d,
			"add a section [peer NAME] for the name in each certificate that may, or [peer any]");
	}
}

static socklen_t address(int family, const struct falcon_addr *addr, uint16_t port,
			 struct sockaddr_storage *out)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
	struct sockaddr_in *in = (struct sockaddr_in *)out;

	memset(out, 0, sizeof(*out));
	out->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, addr->b, 4);
		return sizeof(*in);
	}
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, addr->b, 16);
	return sizeof(*in6);
}

static bool is_ours(const struct conn_config *c)
{
	struct sockaddr_storage a;
	socklen_t len = address(c->family, &c->local, 0, &a);
	int fd = socket(c->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ours = fd >= 0 && (bind(fd, (struct sockaddr *)&a, len) == 0 || errno != EADDRNOTAVAIL);

	if (fd >= 0)
		close(fd);
	return ours;
}

/* What comes of a TCP connection to |c|'s peer: 0, or an errno. */
static int try_tcp(const struct conn_config *c, uint16_t port)
{
	struct sockaddr_storage local, remote;
	socklen_t len = address(c->family, &c->local, 0, &local), size = sizeof(int);
	int fd = socket(c->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0;
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	if (fd < 0)
		return errno;
	address(c->family, &c->remote, port, &remote);
	if (bind(fd, (struct sockaddr *)&local, len) < 0 ||
	    (connect(fd, (struct sockaddr *)&remote, len) < 0 && errno != EINPROGRESS))
		err = errno;
	else if (poll(&pfd, 1, REACH_MS) == 0)
		err = ETIMEDOUT;
	else
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size);
	close(fd);
	return err;
}

static void check_reach(struct doctor *d, const struct conn_config *c)
{
	uint16_t port = d->config.agent.control_port;
	int err = try_tcp(c, port);
	char text[INET6_ADDRSTRLEN];

	doctor_address(c->family, &c->remote, text);
	if (!err) {
		doctor_say(d, DOCTOR_OK, "peer", "%s answers on TCP port %u", text, port);
		return;
	}
	doctor_say(d, DOCTOR_FAIL, "peer", "%s, TCP port %u: %s", text, port, strerror(err));
	if (err == ECONNREFUSED)
		doctor_advise(
			d,
			"start falcond there; it listens on the local addresses of its connections, and on "
			"those of listen");
	else if (err == ETIMEDOUT)
		doctor_advise(d, "let TCP port %u through between the hosts; ping tells whether it is there",
			      port);
	else
		doctor_advise(d, "ip route get %s; ping tells whether it is there", text);
}

/* Whether an earlier connection goes the same way. */
static bool is_first(const struct doctor *d, unsigned int i)
{
	const struct conn_config *c = &d->config.conns[i];

	for (const struct conn_config *e = d->config.conns; e < c; e++)
		if (e->handshake && e->family == c->family && falcon_addr_equal(&e->local, &c->local) &&
		    falcon_addr_equal(&e->remote, &c->remote))
			return false;
	return true;
}

void doctor_peers(struct doctor *d)
{
	check_policy(d);
	for (unsigned int i = 0; i < d->config.nconns; i++) {
		const struct conn_config *c = &d->config.conns[i];
		char text[INET6_ADDRSTRLEN];

		if (!is_ours(c)) {
			doctor_say(d, DOCTOR_FAIL, "connection", "%s: local = %s is no address of this host",
				   c->name, doctor_address(c->family, &c->local, text));
			doctor_advise(d, "ip address shows what there is");
		} else if (c->handshake && is_first(d, i)) {
			check_reach(d, c);
		}
	}
}
