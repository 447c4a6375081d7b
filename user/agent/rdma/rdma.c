// SPDX-License-Identifier: BSD-2-Clause
/* What the RDMA layer needs of its host: memory of processes, sockets, accounts. */
#include "agent/rdma/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/config/config.h"
#include "agent/conn/heard.h"
#include "agent/shard/shard.h"
#include "agent/tenant/quota.h"
#include "base/log.h"
#include "io/memory.h"
#include "ulp/client.h"

static ssize_t host_read(void *arg, void *proc, const struct iovec *local, unsigned int nlocal,
			 const struct iovec *remote, unsigned int nremote)
{
	struct agent_rdma *v = arg;
	struct rdma_app *app = proc;
	struct rdma_rest_call call;
	ssize_t n;

	rdma_rest_begin(&app->user->rest, &call);
	stall_begin(v->shard->stall, &app->call);
	n = rdma_proc_read(app->proc, local, nlocal, remote, nremote);
	stall_end(v->shard->stall, &app->call, n);
	rdma_rest_end(&app->user->rest, &call);
	return n;
}

static ssize_t host_write(void *arg, void *proc, const struct iovec *local, unsigned int nlocal,
			  const struct iovec *remote, unsigned int nremote)
{
	struct agent_rdma *v = arg;
	struct rdma_app *app = proc;
	struct rdma_rest_call call;
	ssize_t n;

	rdma_rest_begin(&app->user->rest, &call);
	stall_begin(v->shard->stall, &app->call);
	n = rdma_proc_write(app->proc, local, nlocal, remote, nremote);
	stall_end(v->shard->stall, &app->call, n);
	rdma_rest_end(&app->user->rest, &call);
	return n;
}

static uint64_t host_rest(void *arg, void *proc)
{
	(void)arg;
	return ((const struct rdma_app *)proc)->user->rest.until;
}

static int host_memory(void *arg, void *proc, int fd, char *err, size_t errlen)
{
	const struct rdma_app *app = proc;

	(void)arg;
	return rdma_proc_memory(app->proc, fd, err, errlen);
}

/* What is sent is smaller than what the kernel would cut. */
static int host_send(void *arg, int fd, const void *data, size_t len)
{
	(void)arg;
	return send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void *host_map(void *arg, int fd, uint64_t *size, char *err, size_t errlen)
{
	return agent_rdma_take_map(arg, fd, size, err, errlen);
}

static void host_unmap(void *arg, void *base, uint64_t size)
{
	agent_rdma_let_go(arg, &(struct rdma_let_go){ .fd = -1, .base = base, .size = size });
}

static void host_wake(void *arg, uint32_t *word)
{
	(void)arg;
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void host_close(void *arg, uint32_t uid, int fd)
{
	agent_rdma_let_go(arg, &(struct rdma_let_go){ .fd = fd, .uid = uid });
}

static int host_file_id(void *arg, int fd, struct rdma_file_id *out)
{
	struct statx st;

	(void)arg;
	/* Who has only seen its path has not opened it. */
	if (fcntl(fd, F_GETFL) & O_PATH)
		return -EBADF;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) < 0)
		return -errno;
	*out = (struct rdma_file_id){ .device = makedev(st.stx_dev_major, st.stx_dev_minor),
				      .inode = st.stx_ino };
	return 0;
}

static bool host_is_socket(void *arg, int fd)
{
	(void)arg;
	return client_is_socket(fd, SOCK_STREAM);
}

static int host_memory_new(void *arg, uint64_t size, void **base, int *fd, char *err, size_t errlen)
{
	(void)size;
	return agent_rdma_take_memory(arg, base, fd, err, errlen);
}

static void host_memory_free(void *arg, uint32_t index, void *base, uint64_t size)
{
	agent_rdma_let_go(arg, &(struct rdma_let_go){ .fd = -1, .offload = true, .index = index,
						      .base = base, .size = size });
}

static int host_region_add(void *arg, uint32_t key, const struct falcon_region *region)
{
	const struct agent_rdma *v = arg;

	return memory_region_add(&v->agent->plane.maps, key, region);
}

static void host_region_del(void *arg, uint32_t key)
{
	const struct agent_rdma *v = arg;

	memory_region_del(&v->agent->plane.maps, key);
}

static const enum quota_kind quota_kinds[RDMA_CHARGES] = {
	[RDMA_CHARGE_QPS] = QUOTA_QPS,
	[RDMA_CHARGE_MRS] = QUOTA_MRS,
	[RDMA_CHARGE_MEMORY] = QUOTA_MEMORY,
	[RDMA_CHARGE_LINKS] = QUOTA_LINKS,
	[RDMA_CHARGE_CM_IDS] = QUOTA_CM_IDS,
	[RDMA_CHARGE_CHANNELS] = QUOTA_CHANNELS,
	[RDMA_CHARGE_OBJECTS] = QUOTA_OBJECTS,
};

static int host_charge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount, char *err,
		       size_t errlen)
{
	const struct agent_rdma *v = arg;
	int rc = quota_charge(v->agent->quota, uid, quota_kinds[what], amount);

	if (rc < 0)
		quota_explain(v->agent->quota, uid, quota_kinds[what], err, errlen);
	return rc;
}

static void host_uncharge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount)
{
	const struct agent_rdma *v = arg;

	quota_uncharge(v->agent->quota, uid, quota_kinds[what], amount);
}

static unsigned int host_devices(void *arg, struct fverbs_device *out)
{
	const struct agent_rdma *v = arg;

	memcpy(out, v->devices, sizeof(v->devices));
	return v->ndevices;
}

static int make_layer(struct agent_rdma *v)
{
	struct rdma_host host = {
		.ulp = &shard_ulp_host,
		.agent = v->shard,
		.read = host_read,
		.write = host_write,
		.rest = host_rest,
		.memory = host_memory,
		.devices = host_devices,
		.source = agent_rdma_source,
		.send = host_send,
		.map = host_map,
		.unmap = host_unmap,
		.wake = host_wake,
		.close = host_close,
		.file_id = host_file_id,
		.is_socket = host_is_socket,
		.charge = host_charge,
		.uncharge = host_uncharge,
		.memory_new = host_memory_new,
		.memory_free = host_memory_free,
		.region_add = host_region_add,
		.region_del = host_region_del,
		.boot = v->agent->boot,
		.group = v->agent->rdma_group,
		.arg = v,
	};

	for (unsigned int i = 0; i < v->agent->plane.nports; i++)
		host.tight |= v->agent->plane.ports[i].tight;
	v->layer = rdma_create(&host);
	return v->layer ? 0 : -ENOMEM;
}

/* What the layers have in common, made with the first. */
static int share(struct agent *a)
{
	_Static_assert((int)CONFIG_THREADS_MAX <= (int)RDMA_GROUP_MAX, "each thread has a layer");

	if (!a->boot && getrandom(&a->boot, sizeof(a->boot), 0) != (ssize_t)sizeof(a->boot))
		return -EIO;
	if (a->plane.nshards > 1 && !a->rdma_group)
		a->rdma_group = calloc(1, sizeof(*a->rdma_group));
	return a->plane.nshards > 1 && !a->rdma_group ? -ENOMEM : 0;
}

static void set_cpu_pressure(struct shard *s, bool pressure)
{
	rdma_set_cpu_pressure(s->rdma->layer, pressure);
}

static const struct shard_memory_ops memory_ops = {
	.stalled = agent_rdma_stalled,
	.late = agent_rdma_late,
	.keeps = agent_rdma_keeps,
	.cpu_pressure = set_cpu_pressure,
};

int agent_rdma_open(struct shard *s)
{
	struct agent_rdma *v = calloc(1, sizeof(*v));
	int rc = v ? 0 : -ENOMEM;

	if (v) {
		v->agent = s->agent;
		v->shard = s;
		STAILQ_INIT(&v->let_go);
		v->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		v->ndevices = agent_rdma_look(s->agent, v->devices);
		rc = v->epoll_fd < 0 ? -errno : share(s->agent);
		rc = rc == 0 ? make_layer(v) : rc;
	}
	if (rc < 0) {
		if (v && v->epoll_fd >= 0)
			close(v->epoll_fd);
		free(v);
		return rc;
	}
	s->rdma = v;
	s->memory = &memory_ops;
	shard_ulp_add(s, &rdma_ulp_ops, v->layer);
	return 0;
}

void agent_rdma_close(struct shard *s)
{
	static struct agent_rdma *held;	/* threads that are held up may still come back to it */
	struct agent_rdma *v = s->rdma;

	if (!v)
		return;
	s->rdma = NULL;
	s->memory = NULL;
	(void)held;
	while (v->apps)
		agent_rdma_detach(v->apps);
	close(v->epoll_fd);
	if (v->gone) {
		held = v;
		return;
	}
	rdma_destroy(v->layer);
	agent_rdma_give_back(v, &v->let_go);
	free(v);
}

/* What control has found of the ports. */
struct found {
	struct agent_rdma *rdma;
	struct fverbs_device devices[FVERBS_DEVICES_MAX];
	unsigned int n;
};

/* In a call. */
static void refresh(void *arg)
{
	const struct found *f = arg;

	memcpy(f->rdma->devices, f->devices, sizeof(f->devices));
	f->rdma->ndevices = f->n;
	rdma_devices_refresh(f->rdma->layer);
}

void agent_rdma_refresh(struct shard *s)
{
	struct found f = { .rdma = s->rdma };

	if (!s->rdma)
		return;
	f.n = agent_rdma_look(s->agent, f.devices);
	call_run(&s->call, refresh, &f);
}

int agent_rdma_fd(const struct shard *s)
{
	return s->rdma->epoll_fd;
}
