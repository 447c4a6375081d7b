// SPDX-License-Identifier: BSD-2-Clause
#include "agent/config/nvme.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

uint32_t config_block_bytes(const struct namespace_config *ns)
{
	return ns->block_size == CONFIG_BLOCK_512 ? 512 : 4096;
}

uint64_t config_nvme_memory(const struct agent_config *cfg)
{
	uint64_t most = 0;

	for (unsigned int i = 0; i < cfg->nnamespaces; i++)
		if (cfg->namespaces[i].memory > most)
			most = cfg->namespaces[i].memory;
	return most;
}

/* log2 of |v| in units of 1 << |unit|; -1: not a power of two. */
static int shift_of(uint64_t v, unsigned int unit)
{
	int shift = 0;

	while (v > 1ULL << (unit + (unsigned int)shift))
		shift++;
	return v == 1ULL << (unit + (unsigned int)shift) ? shift : -1;
}

bool config_nguid(const char *text, uint8_t out[NVME_NGUID_BYTES])
{
	return hex_read(text, strlen(text), "-", out, NVME_NGUID_BYTES) || !*text;
}

/* "ADDRESS/NSID" or "ADDRESS/NSID@LOCAL" of |word|, |len| bytes. */
static bool parse_path(const struct nvme_config *cfg, const char *word, size_t len,
		       struct nvme_path_attr *out)
{
	char text[2 * INET6_ADDRSTRLEN + 8], *slash, *local, *end;
	unsigned long nsid;

	if (len >= sizeof(text))
		return false;
	memcpy(text, word, len);
	text[len] = '\0';
	out->ends.family = cfg->family;
	out->ends.function = cfg->function;
	out->ends.local = cfg->local;
	local = strchr(text, '@');
	if (local)
		*local++ = '\0';
	slash = strchr(text, '/');
	if (!slash || (local && inet_pton(cfg->family, local, out->ends.local.b) != 1))
		return false;
	*slash = '\0';
	nsid = strtoul(slash + 1, &end, 10);
	if (slash[1] < '0' || slash[1] > '9' || *end || nsid < 1 || nsid > 65535 ||
	    inet_pton(cfg->family, text, out->ends.remote.b) != 1)
		return false;
	out->nsid = (uint32_t)nsid;
	snprintf(out->peer, sizeof(out->peer), "%.*s", NVME_NAME_MAX - 1, cfg->peer);
	return true;
}

/* Paths of |word|, |len| bytes, with "|" between them. */
static bool parse_target(const struct nvme_config *cfg, const char *word, size_t len,
			 struct nvme_target_attr *out)
{
	const char *end = word + len;
	size_t n;

	for (out->npaths = 0; out->npaths < NVME_MAX_PATHS; word += n + 1) {
		n = strcspn(word, "|");
		n = n < (size_t)(end - word) ? n : (size_t)(end - word);
		if (!parse_path(cfg, word, n, &out->paths[out->npaths++]))
			return false;
		if (word + n == end)
			return true;
	}
	return false;
}

static int parse_targets(const struct nvme_config *cfg, struct nvme_dev_attr *out, char *err,
			 size_t errlen)
{
	static const char blanks[] = ", \t";
	const char *word = cfg->targets + strspn(cfg->targets, blanks);
	size_t n;

	for (; *word; word += n + strspn(word + n, blanks)) {
		n = strcspn(word, blanks);
		if (out->ntargets == NVME_MAX_TARGETS ||
		    !parse_target(cfg, word, n, &out->targets[out->ntargets])) {
			snprintf(err, errlen, "[nvme %s]: targets are ADDRESS/NSID, addresses of "
				 "the same kind as local, at most %d, with | between up to %d paths to "
				 "one; \"%.*s\" is not", cfg->name, NVME_MAX_TARGETS, NVME_MAX_PATHS,
				 (int)n, word);
			return -EINVAL;
		}
		out->ntargets++;
	}
	if (out->ntargets && !(out->ntargets & (out->ntargets - 1)))
		return 0;
	snprintf(err, errlen, "[nvme %s]: needs 1, 2, 4, 8 or 16 targets, not %u", cfg->name,
		 out->ntargets);
	return -EINVAL;
}

int config_nvme_dev(const struct nvme_config *cfg, struct nvme_dev_attr *out, char *err,
		    size_t errlen)
{
	int stripe = shift_of(cfg->stripe, NVME_STRIPE_UNIT_SHIFT);
	int chunk = shift_of(cfg->chunk, NVME_CHUNK_UNIT_SHIFT);

	*out = (struct nvme_dev_attr){ .nsid = cfg->nsid, .read_only = cfg->read_only,
				       .standard = !cfg->combined,
				       .protection = (uint8_t)cfg->protection,
				       .timeout_ns = cfg->timeout_ns };
	memcpy(out->name, cfg->name, sizeof(out->name));
	snprintf(out->controller, sizeof(out->controller), "%s", cfg->controller);
	if (!cfg->family) {
		snprintf(err, errlen, "[nvme %s]: local is missing", cfg->name);
		return -EINVAL;
	}
	if (stripe < 0 || chunk < 0 || cfg->stripe > cfg->chunk) {
		snprintf(err, errlen, "[nvme %s]: stripe and chunk must be powers of two, a stripe "
			 "no larger than a chunk", cfg->name);
		return -EINVAL;
	}
	out->stripe_shift = (uint8_t)stripe;
	out->chunk_shift = (uint8_t)chunk;
	return parse_targets(cfg, out, err, errlen);
}

/* Of one agent's namespaces, each has its own NSID and NGUID. */
static int check_identity(const struct agent_config *cfg, unsigned int i, char *err, size_t errlen)
{
	const struct namespace_config *ns = &cfg->namespaces[i], *other;
	uint8_t nguid[NVME_NGUID_BYTES], theirs[NVME_NGUID_BYTES];

	if (!config_nguid(ns->nguid, nguid)) {
		snprintf(err, errlen, "[namespace %s]: nguid is 32 hexadecimal digits, \"%s\" is not",
			 ns->name, ns->nguid);
		return -EINVAL;
	}
	for (other = cfg->namespaces; other < ns; other++) {
		config_nguid(other->nguid, theirs);
		if (other->nsid == ns->nsid)
			snprintf(err, errlen, "[namespace %s]: nsid %u is that of [namespace %s]", ns->name,
				 ns->nsid, other->name);
		else if (ns->nguid[0] && !memcmp(nguid, theirs, sizeof(nguid)))
			snprintf(err, errlen, "[namespace %s]: nguid is that of [namespace %s]", ns->name,
				 other->name);
		else
			continue;
		return -EINVAL;
	}
	return 0;
}

static int check_namespace(const struct agent_config *cfg, unsigned int i, char *err,
			   size_t errlen)
{
	const struct namespace_config *ns = &cfg->namespaces[i];

	if (!ns->path[0] || !ns->peers[0]) {
		snprintf(err, errlen, "[namespace %s]: %s is missing", ns->name,
			 ns->path[0] ? "peers" : "path");
		return -EINVAL;
	}
	for (unsigned int k = 0; k < cfg->nnamespaces && ns->protection[0]; k++) {
		const struct namespace_config *other = &cfg->namespaces[k];

		if (strcmp(ns->protection, other->path) &&
		    (k >= i || strcmp(ns->protection, other->protection)))
			continue;
		snprintf(err, errlen, "[namespace %s]: protection %s is a file of [namespace %s] "
			 "already", ns->name, ns->protection, other->name);
		return -EINVAL;
	}
	return check_identity(cfg, i, err, errlen);
}

int config_nvme_finish(const struct agent_config *cfg, unsigned int *line, char *err,
		       size_t errlen)
{
	struct nvme_dev_attr attr;

	for (unsigned int i = 0; i < cfg->nnamespaces; i++) {
		*line = cfg->namespaces[i].line;
		if (check_namespace(cfg, i, err, errlen))
			return -EINVAL;
	}
	for (unsigned int i = 0; i < cfg->nnvmes; i++) {
		*line = cfg->nvmes[i].line;
		if (config_nvme_dev(&cfg->nvmes[i], &attr, err, errlen))
			return -EINVAL;
	}
	return 0;
}
