// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rue --serve: the engine as a process of its own. */
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "rue.h"
#include "rue/serve.h"

/* Several threads do; a line goes out as a whole. */
static void say(const char *text)
{
	fprintf(stderr, "falcon-rue: %s\n", text);
}

int serve(const char *path)
{
	struct rue_server *s;
	sigset_t set;
	char err[256];
	int stop;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	stop = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s = stop < 0 ? NULL : rue_serve(path, say, err, sizeof(err));
	if (!s) {
		fprintf(stderr, "falcon-rue: cannot listen at %s\n", stop < 0 ? path : err);
		return 1;
	}
	sd_notify(0, "READY=1");
	rue_serve_run(s, stop);
	rue_serve_end(s);
	close(stop);
	return 0;
}
