// SPDX-License-Identifier: BSD-2-Clause
/* Requests on the control socket about the filters that drop transactions (core/xlr.h, Falcon 11). */
#include "agent/commands/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/filter.h"
#include "agent/conn/rows.h"
#include "agent/control/control.h"
#include "agent/stats/stat.h"
#include "base/log.h"
#include "core/xlr.h"

/* A word of requests, and what stands for it in a rule. */
struct word {
	const char *text;	/* NULL ends the list */
	uint8_t value;
};

static const struct word wheres[] = { { "initiator", FCORE_XLR_INITIATOR },
				      { "target", FCORE_XLR_TARGET },
				      { NULL, 0 } };
static const struct word protocols[] = { { "rdma", FALCON_PROTO_RDMA },
					 { "nvme", FALCON_PROTO_NVME },
					 { "raw", FALCON_PROTO_RAW },
					 { NULL, 0 } };
static const struct word types[] = { { "push", FALCON_PUSH_DATA },
				     { "pull", FALCON_PULL_REQUEST },
				     { NULL, 0 } };

static const char *text_of(const struct word *words, uint8_t value)
{
	while (words->text && words->value != value)
		words++;
	return words->text;
}

static int take_word(const struct word *words, const char *key, const char *text, uint8_t *value, char *err,
		     size_t errlen)
{
	for (const struct word *w = words; w->text; w++) {
		if (strcmp(w->text, text))
			continue;
		*value = w->value;
		return 0;
	}
	snprintf(err, errlen, "%s cannot be \"%s\"; %s can, for instance", key, text, words->text);
	return -EINVAL;
}

static int take_function(const char *text, uint32_t *function, char *err, size_t errlen)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 0);
	if (text[0] < '0' || text[0] > '9' || *end || errno || v > FALCON_FUNCTION_MASK) {
		snprintf(err, errlen, "function must be a number from 0 to %u, not \"%s\"",
			 (unsigned int)FALCON_FUNCTION_MASK, text);
		return -EINVAL;
	}
	*function = (uint32_t)v;
	return 0;
}

static int take_connection(struct agent *a, const char *name, uint32_t *cid, char *err, size_t errlen)
{
	const struct agent_conn *c = agent_conn_find(a, name);

	if (!c) {
		snprintf(err, errlen, "no connection named \"%s\"; falconctl conn show lists them", name);
		return -ENOENT;
	}
	*cid = c->cfg.local_cid;
	return 0;
}

/* The member |key| of a request, |text|, as what it is in |rule|. */
static int take_key(struct agent *a, const char *key, const char *text, struct fcore_xlr_rule *rule,
		    char *err, size_t errlen)
{
	if (!strcmp(key, "where"))
		return take_word(wheres, key, text, &rule->where, err, errlen);
	if (!strcmp(key, "connection")) {
		rule->fields |= FCORE_XLR_CID;
		return take_connection(a, text, &rule->cid, err, errlen);
	}
	if (!strcmp(key, "function")) {
		rule->fields |= FCORE_XLR_FUNCTION;
		return take_function(text, &rule->function, err, errlen);
	}
	if (!strcmp(key, "protocol")) {
		rule->fields |= FCORE_XLR_PROTO;
		return take_word(protocols, key, text, &rule->proto, err, errlen);
	}
	if (!strcmp(key, "type")) {
		rule->fields |= FCORE_XLR_TYPE;
		return take_word(types, key, text, &rule->type, err, errlen);
	}
	snprintf(err, errlen, "filters do not compare %s", key);
	return -EINVAL;
}

static int take_rule(struct agent *a, const json_t *req, struct fcore_xlr_rule *rule, char *err,
		     size_t errlen)
{
	const char *key;
	json_t *value;

	*rule = (struct fcore_xlr_rule){};
	if (!json_object_get(req, "where")) {
		snprintf(err, errlen, "where is a filter: at the initiator or the target?");
		return -EINVAL;
	}
	json_object_foreach((json_t *)req, key, value) {
		const char *text = json_string_value(value);
		int rc = 0;

		if (!text) {
			snprintf(err, errlen, "%s must be a string", key);
			rc = -EINVAL;
		} else if (strcmp(key, "op")) {
			rc = take_key(a, key, text, rule, err, errlen);
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

int agent_xlr_add(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply)
{
	struct fcore_xlr_rule rule;
	char err[256];
	int rc = take_rule(a, req, &rule, err, sizeof(err));

	(void)cl, (void)fds, (void)nfds;
	if (rc < 0)
		return control_error(reply, rc, "%s", err);
	rc = filter_add(a, &rule);
	if (rc < 0)
		return control_error(reply, rc, "there are %d filters, which is all there can be",
				     FCORE_XLR_RULES);
	log_info("xlr filter added number=%d where=%s", rc, text_of(wheres, rule.where));
	*reply = json_pack("{s:i}", "number", rc);
	return 0;
}

int agent_xlr_del(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply)
{
	const json_t *number = json_object_get(req, "number");
	json_int_t n = json_is_integer(number) ? json_integer_value(number) : -1;

	(void)cl, (void)fds, (void)nfds;
	if (n < 0 || n >= FCORE_XLR_RULES || filter_remove(a, (uint32_t)n) < 0)
		return control_error(reply, -ENOENT,
				     "there is no such filter; falconctl xlr show lists them");
	log_info("xlr filter deleted number=%d", (int)n);
	return 0;
}

static void put_text(json_t *row, const char *key, bool compared, const struct word *words, uint8_t value)
{
	if (compared)
		json_object_set_new(row, key, json_string(text_of(words, value)));
}

void agent_show_xlr(struct agent *a, const struct show_query *q, json_t *rows)
{
	struct fcore_xlr_rule r;
	struct filter_now sum;

	for (uint32_t i = 0; i < FCORE_XLR_RULES; i++) {
		const struct agent_conn *c;
		json_t *row;

		if (!filter_get(a, i, &r, &sum))
			continue;
		c = r.fields & FCORE_XLR_CID ? agent_conn_at(a, r.cid) : NULL;
		if (q->only ? c != q->only : c && !show_wants(q, c))
			continue;
		row = json_pack("{s:i, s:s}", "number", (int)i, "where", text_of(wheres, r.where));
		STAT_PUT(row, FILTER_NOW, &sum);
		if (c)
			json_object_set_new(row, "name", json_string(c->cfg.name));
		if (r.fields & FCORE_XLR_FUNCTION)
			json_object_set_new(row, "function", json_integer(r.function));
		put_text(row, "protocol", r.fields & FCORE_XLR_PROTO, protocols, r.proto);
		put_text(row, "type", r.fields & FCORE_XLR_TYPE, types, r.type);
		json_array_append_new(rows, row);
	}
}
