// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/version.h"
#include "../ctl.h"
#include "doctor.h"
#include "ipc/client.h"

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static void check_version(struct doctor *d, const json_t *rows)
{
	const char *version = text_of(json_array_get(rows, 0), "version");

	if (!strcmp(version, FALCON_VERSION_STRING)) {
		doctor_say(d, DOCTOR_OK, "agent", "version %s runs", version);
		return;
	}
	doctor_say(d, DOCTOR_WARN, "agent", "version %s runs, this falconctl is %s", version,
		   FALCON_VERSION_STRING);
	doctor_advise(d, "systemctl restart falcond, so that the installed version runs");
}

/* A connection that is up and only sends: sessions go by TCP, its packets by UDP. */
static void check_packets(struct doctor *d, const json_t *row)
{
	json_int_t sent = json_integer_value(json_object_get(row, "tx_packets"));
	json_int_t timeouts = json_integer_value(json_object_get(row, "tx_retx_rto"));
	json_int_t acked = json_integer_value(json_object_get(row, "completed"));

	if (!sent || !timeouts || acked || json_integer_value(json_object_get(row, "rx_packets")))
		return;
	doctor_say(d, DOCTOR_FAIL, "connection", "%s: %lld packets sent, none answered", text_of(row, "name"),
		   (long long)sent);
	doctor_advise(d, "let UDP port %s through between the hosts",
		      strncmp(text_of(row, "security"), "esp", 3) ? "1000" : "4500");
}

static void check_conns(struct doctor *d)
{
	unsigned int up = 0;
	json_t *row;
	size_t i;

	json_array_foreach (d->conns, i, row) {
		if (json_is_true(json_object_get(row, "up"))) {
			check_packets(d, row);
			up++;
			continue;
		}
		doctor_say(d, DOCTOR_FAIL, "connection", "%s is %s: %s", text_of(row, "name"),
			   text_of(row, "state"), text_of(row, "reason"));
		doctor_advise(d,
			      "falconctl conn show %s; the peer's log (journalctl -u falcond) says what it "
			      "makes of it",
			      text_of(row, "name"));
	}
	if (up)
		doctor_say(d, DOCTOR_OK, "connection", "%u of %zu up", up, json_array_size(d->conns));
}

void doctor_agent(struct doctor *d)
{
	const char *path = d->socket ? d->socket : d->configured ? d->config.agent.socket : NULL;
	struct ipc_client agent = IPC_CLIENT_CLOSED;
	json_t *version;

	if (ipc_client_connect(&agent, path) < 0) {
		doctor_say(d, DOCTOR_FAIL, "agent", "%s", agent.err);
		doctor_advise(d,
			      "systemctl start falcond; journalctl -u falcond says why it ends, if it does");
		return;
	}
	version = ctl_pages(&agent, "version", NULL);
	d->conns = ctl_pages(&agent, "conn", NULL);
	if (!version || !d->conns)
		doctor_say(d, DOCTOR_FAIL, "agent", "%s", agent.err);
	if (version)
		check_version(d, version);
	if (d->conns)
		check_conns(d);
	json_decref(version);
	ipc_client_close(&agent);
}
