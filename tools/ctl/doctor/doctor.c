// SPDX-License-Identifier: BSD-2-Clause
/* falconctl doctor: the order of the checks, and their findings as a list or JSON. */
#include "doctor.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../ctl.h"

enum { TEXT_MAX = 1024 };

static const char *const status_names[] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_WARN] = "warn",
	[DOCTOR_FAIL] = "fail",
};

void doctor_say(struct doctor *d, enum doctor_status status, const char *name, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->failures += status == DOCTOR_FAIL;
	json_array_append_new(d->findings, json_pack("{s:s, s:s, s:s, s:s}", "check", name, "status",
						     status_names[status], "finding", text, "advice", ""));
}

void doctor_advise(struct doctor *d, const char *fmt, ...)
{
	json_t *last = json_array_get(d->findings, json_array_size(d->findings) - 1);
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_object_set_new(last, "advice", json_string(text));
}

const char *doctor_address(int family, const struct falcon_addr *addr, char *text)
{
	return inet_ntop(family, addr->b, text, INET6_ADDRSTRLEN) ? text : "?";
}

static void read_config(struct doctor *d)
{
	char err[512];

	if (access(d->config_path, R_OK) < 0) {
		doctor_say(d, DOCTOR_FAIL, "config", "cannot read %s: %m", d->config_path);
		doctor_advise(d, "write it, see falcon.conf(5), or name another with -c FILE");
		return;
	}
	if (config_load(d->config_path, &d->config, err, sizeof(err)) < 0) {
		doctor_say(d, DOCTOR_FAIL, "config", "%s", err);
		doctor_advise(d, "falcon.conf(5) has all keys; falcond -t -c %s checks the file",
			      d->config_path);
		return;
	}
	d->configured = true;
	doctor_say(d, DOCTOR_OK, "config", "%s: %u ports, %u connections, %u peers", d->config_path,
		   d->config.nports, d->config.nconns, d->config.npeers);
}

static void look(struct doctor *d)
{
	if (geteuid() != 0) {
		doctor_say(d, DOCTOR_WARN, "user", "not root: some of what follows cannot be looked at");
		doctor_advise(d, "sudo falconctl doctor");
	}
	read_config(d);
	doctor_host(d);
	doctor_maps(d);
	if (d->configured) {
		doctor_ports(d);
		doctor_certs(d);
	}
	doctor_agent(d);
	if (d->configured)
		doctor_peers(d);
}

static void print(const struct doctor *d)
{
	const json_t *row;
	size_t i;

	json_array_foreach (d->findings, i, row) {
		const char *advice = json_string_value(json_object_get(row, "advice"));

		printf("%-4s  %-12s  %s\n", json_string_value(json_object_get(row, "status")),
		       json_string_value(json_object_get(row, "check")),
		       json_string_value(json_object_get(row, "finding")));
		if (advice[0])
			printf("%-4s  %-12s  -> %s\n", "", "", advice);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct doctor *d = state->input;

	if (key != 'c')
		return ARGP_ERR_UNKNOWN;
	d->config_path = arg;
	return 0;
}

int ctl_doctor(const struct options *o, const struct object *obj, int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "config", 'c', "FILE", 0, "The agent's falcon.conf, if not in /etc/falcon", 0 },
		{},
	};
	static const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Look at host, falcon.conf, agent and peers, and say what keeps Falcon from working.",
	};
	struct doctor d = { .config_path = "/etc/falcon/falcon.conf",
			    .socket = o->socket,
			    .findings = json_array() };

	(void)obj;
	ctl_parse("doctor", &argp, argc, argv, &d);
	look(&d);
	if (o->json)
		ctl_print_json(o, d.findings);
	else
		print(&d);
	json_decref(d.findings);
	json_decref(d.conns);
	if (d.configured)
		config_free(&d.config);
	return d.failures ? CTL_FAILED : CTL_OK;
}
