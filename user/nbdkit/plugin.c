// SPDX-License-Identifier: BSD-2-Clause
/*
 * nbdkit's plugin falcon-nvme: NVMe devices of the agent's for whatever speaks NBD. Without a device's
 * name, one is made of an address and a namespace's number; without either, all are exports by their names.
 */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/version.h"
#include "ipc/client.h"
#include "nbdkit/device.h"

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

enum { NAME_SIZE = 64, TIMEOUT_S = 10 };

static char *device, *host, *socket_path;
static char targets[INET6_ADDRSTRLEN + 8];	/* with |host| */
static bool protect;
static unsigned int nsid = 1, timeout_s = TIMEOUT_S;

static int set_text(char **to, const char *value)
{
	free(*to);
	*to = strdup(value);
	return *to ? 0 : -1;
}

static int set_protection(const char *value)
{
	protect = !strcmp(value, "plugin");
	if (protect || !strcmp(value, "agent"))
		return 0;
	nbdkit_error("protection is agent or plugin");
	return -1;
}

static int config(const char *key, const char *value)
{
	if (!strcmp(key, "device"))
		return set_text(&device, value);
	if (!strcmp(key, "host"))
		return set_text(&host, value);
	if (!strcmp(key, "socket"))
		return set_text(&socket_path, value);
	if (!strcmp(key, "nsid"))
		return nbdkit_parse_unsigned("nsid", value, &nsid);
	if (!strcmp(key, "timeout"))
		return nbdkit_parse_unsigned("timeout", value, &timeout_s);
	if (!strcmp(key, "protection"))
		return set_protection(value);
	nbdkit_error("unknown parameter \"%s\"", key);
	return -1;
}

static int config_complete(void)
{
	if (device && host) {
		nbdkit_error("device=NAME and host=ADDRESS are both given, of which one makes the disk");
		return -1;
	}
	if (nsid < 1 || nsid > 65535) {
		nbdkit_error("nsid is 1 to 65535");
		return -1;
	}
	return 0;
}

/* Ask the agent for the device of |host| and |nsid|, unless it has it already. 0 or an errno value. */
static int make_device(void *arg, char *err, size_t errlen)
{
	struct ipc_client agent;
	int rc = ipc_client_connect(&agent, socket_path);

	(void)arg;
	if (!rc)
		rc = ipc_client_call(&agent,
				     json_pack("{s:s, s:s, s:s, s:s}", "op", "nvme-connect", "name", device,
					       "targets", targets, "protection",
					       protect ? "type1" : "off"), NULL, 0, NULL);
	ipc_client_close(&agent);
	if (!rc || rc == -EEXIST)
		return 0;
	snprintf(err, errlen, "%s", agent.err);
	return -rc;
}

/* The name of the device for |host| and |nsid|, and its |targets|. */
static int name_device(const struct addrinfo *to)
{
	char remote[INET6_ADDRSTRLEN], name[NAME_SIZE];
	int rc = getnameinfo(to->ai_addr, to->ai_addrlen, remote, sizeof(remote), NULL, 0, NI_NUMERICHOST);

	if (rc) {
		nbdkit_error("%s: %s", host, gai_strerror(rc));
		return -1;
	}
	snprintf(targets, sizeof(targets), "%s/%u", remote, nsid);
	snprintf(name, sizeof(name), "%s-%u%s", remote, nsid, protect ? "-pi" : "");
	for (char *c = name; *c; c++)
		*c = *c == ':' ? '_' : *c;
	return set_text(&device, name);
}

static int get_ready(void)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
	struct addrinfo *to;
	char err[256];
	int rc;

	if (!host)
		return 0;
	rc = getaddrinfo(host, "1000", &hints, &to);
	if (rc) {
		nbdkit_error("%s: %s", host, gai_strerror(rc));
		return -1;
	}
	rc = name_device(to);
	freeaddrinfo(to);
	if (rc)
		return rc;
	rc = make_device(NULL, err, sizeof(err));
	if (rc)
		nbdkit_error("%s", err);
	return rc ? -1 : 0;
}

/* Each device of the agent, |found| being called with its name. 0, or -1 after a sentence. */
static int each_device(int (*found)(void *arg, const char *name), void *arg)
{
	struct ipc_client agent;
	json_t *reply = NULL, *row;
	int rc = ipc_client_connect(&agent, socket_path);
	size_t i;

	if (!rc)
		rc = ipc_client_call(&agent, json_pack("{s:s, s:s}", "op", "show", "object", "nvme"), NULL, 0,
				     &reply);
	if (rc)
		nbdkit_error("%s", agent.err);
	json_array_foreach(json_object_get(reply, "rows"), i, row)
		if (!rc)
			rc = found(arg, json_string_value(json_object_get(row, "name")));
	json_decref(reply);
	ipc_client_close(&agent);
	return rc ? -1 : 0;
}

static int add_export(void *exports, const char *name)
{
	return nbdkit_add_export(exports, name, NULL);
}

static int list_exports(int readonly, int is_tls, struct nbdkit_exports *exports)
{
	(void)readonly, (void)is_tls;
	return device ? nbdkit_use_default_export(exports) : each_device(add_export, exports);
}

struct only {
	const char *name;	/* of the device; NULL: there is not just one */
	unsigned int n;		/* devices */
};

static int count_device(void *arg, const char *name)
{
	struct only *only = arg;

	only->name = only->n++ ? NULL : nbdkit_strdup_intern(name);
	return 0;
}

/* Clients that name no export get the only one there is. */
static const char *default_export(int readonly, int is_tls)
{
	struct only only = { 0 };

	(void)readonly, (void)is_tls;
	if (device || each_device(count_device, &only))
		return "";
	return only.name ? only.name : "";
}

static void unload(void)
{
	free(device);
	free(host);
	free(socket_path);
}

static void complain(const char *name, const char *sentence)
{
	nbdkit_error("%s: the agent has gone; %s", name, sentence);
}

static void *open_handle(int readonly)
{
	const char *name = device ? device : nbdkit_strdup_intern(nbdkit_export_name());
	const struct device_attr attr = { .socket = socket_path, .name = name, .timeout_s = timeout_s,
					  .protect = protect, .make = host ? make_device : NULL,
					  .complain = complain };
	struct device *d = NULL;
	char err[256];

	(void)readonly;
	if (!name || !name[0]) {
		nbdkit_error("the client names no export, and there is not just one device");
		return NULL;
	}
	errno = device_open(&attr, &d, err, sizeof(err));
	if (errno)
		nbdkit_error("%s: %s", name, err);
	return d;
}

static void close_handle(void *handle)
{
	device_close(handle);
}

static int64_t get_size(void *handle)
{
	return (int64_t)device_bytes(handle);
}

static int block_size(void *handle, uint32_t *minimum, uint32_t *preferred, uint32_t *maximum)
{
	*minimum = device_block(handle);
	*preferred = 4096;
	*maximum = 32 << 20;
	return 0;
}

static int can_write(void *handle)
{
	return !device_read_only(handle);
}

static int yes(void *handle)
{
	(void)handle;
	return 1;
}

static int can_fua(void *handle)
{
	(void)handle;
	return NBDKIT_FUA_NATIVE;
}

/* nbdkit's way: -1, and errno said with a sentence. */
static int result(const char *what, int rc)
{
	if (!rc)
		return 0;
	if (rc == EINVAL)
		nbdkit_error("%s: not aligned to blocks, or beyond the end; see "
			     "nbdkit-blocksize-filter(1)", what);
	else
		nbdkit_error("%s: %s", what, strerror(rc));
	nbdkit_set_error(rc);
	return -1;
}

static int do_pread(void *handle, void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
	(void)flags;
	return result("read", device_read(handle, buf, count, offset));
}

static int do_pwrite(void *handle, const void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
	return result("write", device_write(handle, buf, count, offset, flags & NBDKIT_FLAG_FUA));
}

static int do_flush(void *handle, uint32_t flags)
{
	(void)flags;
	return result("flush", device_flush(handle));
}

static int do_trim(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	return result("trim", device_trim(handle, count, offset, flags & NBDKIT_FLAG_FUA));
}

/* nbdkit writes zeros itself where that is not supported, and says so where zeros have to be fast. */
static int do_zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	int rc = device_zero(handle, count, offset, flags & NBDKIT_FLAG_MAY_TRIM,
			     flags & NBDKIT_FLAG_FUA);

	if (rc == EOPNOTSUPP) {
		nbdkit_set_error(rc);
		return -1;
	}
	return result("write zeroes", rc);
}

static int tell(void *arg, uint64_t offset, uint64_t len, bool allocated)
{
	uint32_t type = allocated ? 0 : NBDKIT_EXTENT_HOLE | NBDKIT_EXTENT_ZERO;

	return nbdkit_add_extent(arg, offset, len, type) ? errno : 0;
}

static int do_extents(void *handle, uint32_t count, uint64_t offset, uint32_t flags,
		      struct nbdkit_extents *extents)
{
	int rc = device_extents(handle, count, offset, tell, extents);

	(void)flags;
	/* An old target, or one whose data are encrypted here: all of it is data. */
	if (rc == EOPNOTSUPP)
		rc = tell(extents, offset, count, true);
	return result("extents", rc);
}

static struct nbdkit_plugin plugin = {
	.name = "falcon-nvme",
	.longname = "NVMe over Falcon",
	.version = FALCON_VERSION_STRING,
	.description = "NVMe namespaces of other hosts, through the Falcon agent",
	.config_help = "device=NAME       a [nvme] section of falcon.conf, or\n"
		       "host=ADDRESS      a target, and\n"
		       "nsid=N            its namespace (1); without both all devices are exports\n"
		       "socket=PATH       the agent's ($FALCON_SOCKET)\n"
		       "timeout=SECONDS   for reaching the targets (10)\n"
		       "protection=WHO    makes and checks it: agent or plugin (agent)",
	.config = config,
	.config_complete = config_complete,
	.get_ready = get_ready,
	.unload = unload,
	.list_exports = list_exports,
	.default_export = default_export,
	.open = open_handle,
	.close = close_handle,
	.get_size = get_size,
	.block_size = block_size,
	.can_write = can_write,
	.can_flush = yes,
	.can_trim = yes,
	.can_zero = yes,
	.can_fast_zero = yes,
	.can_extents = yes,
	.can_fua = can_fua,
	.can_multi_conn = yes,
	.pread = do_pread,
	.pwrite = do_pwrite,
	.flush = do_flush,
	.trim = do_trim,
	.zero = do_zero,
	.extents = do_extents,
	.errno_is_preserved = 0,
};

NBDKIT_REGISTER_PLUGIN(plugin)
