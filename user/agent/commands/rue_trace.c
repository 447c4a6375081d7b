// SPDX-License-Identifier: BSD-2-Clause
/* Requests on the control socket that change connections' congestion control, and trace it. */
#include "agent/commands/commands.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/config/keys.h"
#include "agent/conn/conn.h"
#include "agent/control/control.h"
#include "agent/rue/rue.h"
#include "base/log.h"
#include "ulp/client.h"

/* The keys of |req| over those of |cfg|; only such as may change while a connection lives. */
static int take_keys(const json_t *req, struct conn_config *cfg, char *err, size_t errlen)
{
	static const char *const allowed[] = { "cc", "cc_profile", "delay_select" };
	const struct config_section *s = &config_sections[CONFIG_CONNECTION];
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)req, key, value) {
		const char *text = json_string_value(value);
		bool known = false;

		if (!strcmp(key, "op") || !strcmp(key, "name"))
			continue;
		for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
			known |= !strcmp(key, allowed[i]);
		if (!known || !text) {
			snprintf(err, errlen, "%s cannot be set while a connection lives; cc, "
				 "cc_profile and delay_select can", key);
			return -EINVAL;
		}
		if (config_key_set(s, (unsigned int)config_key_find(s, key), cfg, text, err,
				   errlen))
			return -EINVAL;
	}
	return 0;
}

int agent_conn_set(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		   json_t **reply)
{
	const char *name = json_string_value(json_object_get(req, "name"));
	struct agent_conn *c = name ? agent_conn_find(a, name) : NULL;
	struct conn_config cfg;
	char err[512];
	int rc;

	(void)cl, (void)fds, (void)nfds;
	if (!c)
		return control_error(reply, -ENOENT,
				     "no connection named \"%s\"; falconctl conn show lists them",
				     name ? name : "");
	cfg = c->cfg;
	rc = take_keys(req, &cfg, err, sizeof(err));
	if (rc == 0)
		rc = agent_rue_select(c, &cfg.cc, err, sizeof(err));
	if (rc < 0)
		return control_error(reply, rc, "%s", err);
	log_info("congestion control conn=%s cc=%s profile=%s delay=%u", c->cfg.name,
		 c->cfg.cc.algorithm, c->cfg.cc.profile, c->cfg.cc.delay_select);
	return 0;
}

/* The trace that is being recorded. There is one agent a process. */
static struct {
	struct rue_trace *memory;	/* NULL: none */
	size_t bytes;
	struct shard *shard;		/* whose engines are traced */
	const struct control_client *owner;
} trace;

void agent_rue_trace_end(const struct control_client *cl)
{
	if (!trace.memory || (cl && cl != trace.owner))
		return;
	agent_rue_trace_set(trace.shard, NULL, -1, 0, -1);
	munmap(trace.memory, trace.bytes);
	memset(&trace, 0, sizeof(trace));
}

/* Map what the client has prepared. 0, or a negative errno with why in |err|. */
static int map_trace(int fd, char *err, size_t errlen)
{
	uint64_t bytes;
	struct rue_trace *t;

	if (client_check_memfd(fd, &bytes, err, errlen))
		return -EINVAL;
	t = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (t == MAP_FAILED) {
		snprintf(err, errlen, "cannot map the trace: %s", strerror(errno));
		return -errno;
	}
	if (bytes < sizeof(*t) || t->magic != RUE_TRACE_MAGIC ||
	    t->record_size != sizeof(struct rue_trace_record)) {
		munmap(t, bytes);
		snprintf(err, errlen, "falconctl and falcond are of different builds");
		return -EPROTO;
	}
	trace.memory = t;
	trace.bytes = bytes;
	return 0;
}

/* Records that the memory has room for, whatever its head says. */
static uint32_t room(void)
{
	uint32_t wish = trace.memory->capacity;
	size_t fit = (trace.bytes - sizeof(struct rue_trace)) / sizeof(struct rue_trace_record);

	return wish < fit ? wish : (uint32_t)fit;
}

int agent_rue_trace(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		    json_t **reply)
{
	const char *name = json_string_value(json_object_get(req, "name"));
	const struct agent_conn *c = name ? agent_conn_find(a, name) : NULL;
	struct shard *shard = c ? c->shard : &a->plane.shards[0];
	char err[256];
	int rc;

	if (nfds != 1)
		return control_error(reply, -EINVAL, "rue-trace wants one descriptor");
	if (name && !c)
		return control_error(reply, -ENOENT,
				     "no connection named \"%s\"; falconctl conn show lists them",
				     name);
	if (trace.memory)
		return control_error(reply, -EBUSY, "somebody else records a trace");
	rc = map_trace(fds[0], err, sizeof(err));
	if (rc < 0)
		return control_error(reply, rc, "%s", err);
	trace.owner = cl;
	trace.shard = shard;
	if (agent_rue_trace_set(shard, trace.memory, fds[0], room(),
				c ? (int64_t)c->cfg.local_cid : -1))
		return 0;
	agent_rue_trace_end(cl);
	return control_error(reply, -EAGAIN, "the engine's process does not answer");
}
