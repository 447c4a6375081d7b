// SPDX-License-Identifier: BSD-2-Clause
/* The list of devices: ours, then those of the real library. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/fv.h"
#include "verbs/tree.h"

enum {
	LIST_MAGIC = 0x46564c31,
};

/* What lies before the array that the application gets. */
struct list {
	uint64_t magic;
	struct ibv_device **real;	/* the real library's; NULL: none */
	struct ibv_device *devices[];	/* ends with NULL */
};

/* Its address tells our devices from others; the slot in the structure is not used by anybody. */
static struct ibv_context *tag(struct ibv_device *device, int fd)
{
	(void)device;
	(void)fd;
	return NULL;
}

bool fv_device_mine(const struct ibv_device *device)
{
	return device && device->_ops._dummy1 == tag;
}

static struct fv_device *our(struct ibv_device *device)
{
	return FV_CAST(struct fv_device, dev, device);
}

void fv_device_put(struct fv_device *device)
{
	if (!__atomic_sub_fetch(&device->refs, 1, __ATOMIC_ACQ_REL))
		free(device);
}

static struct fv_device *make_device(const struct fverbs_device *attr, uint32_t index)
{
	struct fv_device *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->refs = 1;
	d->index = index;
	d->attr = *attr;
	d->attr.name[FVERBS_NAME_MAX - 1] = 0;
	d->attr.netdev[sizeof(d->attr.netdev) - 1] = 0;
	d->dev._ops._dummy1 = tag;
	d->dev.node_type = IBV_NODE_CA;
	d->dev.transport_type = IBV_TRANSPORT_IB;
	memcpy(d->dev.name, d->attr.name, sizeof(d->dev.name));
	memcpy(d->dev.dev_name, d->attr.name, sizeof(d->dev.dev_name));
	snprintf(d->dev.dev_path, sizeof(d->dev.dev_path), "/sys/class/infiniband_verbs/%s",
		 d->dev.dev_name);
	snprintf(d->dev.ibdev_path, sizeof(d->dev.ibdev_path), "/sys/class/infiniband/%s",
		 d->dev.name);
	fv_tree_write(&d->attr);
	return d;
}

/* The same device is the same pointer in each list: librdmacm compares them. By the agent's index. */
static struct fv_device *known[FVERBS_DEVICES_MAX];
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

static bool same_device(const struct fv_device *d, const struct fverbs_device *attr)
{
	return d && d->attr.guid == attr->guid && d->attr.ifindex == attr->ifindex &&
	       !strncmp(d->attr.name, attr->name, sizeof(attr->name));
}

static struct fv_device *get_device(const struct fverbs_device *attr, uint32_t index)
{
	struct fv_device *d;

	pthread_mutex_lock(&known_lock);
	if (!same_device(known[index], attr)) {
		d = make_device(attr, index);
		if (d && known[index])
			fv_device_put(known[index]);
		if (d)
			known[index] = d;
	}
	d = same_device(known[index], attr) ? known[index] : NULL;
	if (d)
		__atomic_add_fetch(&d->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&known_lock);
	return d;
}

/* The devices that the agent has now; at most |max|. Returns how many, or a negative errno. */
static int list_ours(struct fv_device **out, int max)
{
	struct fverbs_device attr;
	struct fv_agent agent;
	int n = 0, rc;

	rc = fv_agent_open(&agent, NULL);
	if (rc)
		return -rc;
	for (uint32_t i = 0; i < agent.devices && n < max; i++) {
		const struct fverbs_handle req = { .handle = i };

		/* One that has just been taken away is not listed. */
		if (fv_call(&agent, FVERBS_QUERY_DEVICE, &req, sizeof(req), -1, &attr, sizeof(attr)))
			continue;
		out[n] = get_device(&attr, i);
		if (out[n])
			n++;
	}
	fv_agent_close(&agent);
	return n;
}

static struct ibv_device **real_list(int *n)
{
	static void *seen;
	struct ibv_device **(*real)(int *);

	*n = 0;
	real = (__typeof__(real))fv_real_once(&seen, "ibv_get_device_list");
	return real ? real(n) : NULL;
}

static void real_free(struct ibv_device **list)
{
	static void *seen;
	void (*real)(struct ibv_device **);

	real = (__typeof__(real))fv_real_once(&seen, "ibv_free_device_list");
	if (real && list)
		real(list);
}

FV_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct fv_device *ours[FVERBS_DEVICES_MAX];
	struct ibv_device **theirs;
	struct list *list;
	int n, m, i;

	theirs = real_list(&m);
	n = list_ours(ours, FVERBS_DEVICES_MAX);
	if (n < 0 && !theirs) {
		if (num_devices)
			*num_devices = 0;
		errno = -n;
		return NULL;
	}
	n = n < 0 ? 0 : n;
	list = calloc(1, sizeof(*list) + (size_t)(n + m + 1) * sizeof(list->devices[0]));
	if (!list) {
		for (i = 0; i < n; i++)
			fv_device_put(ours[i]);
		real_free(theirs);
		errno = ENOMEM;
		return NULL;
	}
	list->magic = LIST_MAGIC;
	list->real = theirs;
	for (i = 0; i < n; i++)
		list->devices[i] = &ours[i]->dev;
	for (i = 0; i < m; i++)
		list->devices[n + i] = theirs[i];
	if (num_devices)
		*num_devices = n + m;
	return list->devices;
}

FV_EXPORT void ibv_free_device_list(struct ibv_device **devices)
{
	struct list *list;

	if (!devices)
		return;
	list = FV_CAST(struct list, devices, devices);
	if (list->magic != LIST_MAGIC) {
		real_free(devices);
		return;
	}
	for (int i = 0; list->devices[i] && fv_device_mine(list->devices[i]); i++)
		fv_device_put(our(list->devices[i]));
	real_free(list->real);
	list->magic = 0;
	free(list);
}

FV_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

FV_EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	if (!fv_device_mine(device))
		FV_FORWARD(ibv_get_device_guid, 0, device);
	return our(device)->attr.guid;
}

FV_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	if (!fv_device_mine(device))
		FV_FORWARD(ibv_get_device_index, -1, device);
	/* The kernel numbers its devices from 0; ours are none of its. */
	return -1;
}
