// SPDX-License-Identifier: BSD-2-Clause
/* What a target has for a host, and devices that come and go: nothing of them stays. */
#include "nvme_env.h"

#include <errno.h>
#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/wire/nvme.h>

enum { MIB = 1 << 20, MANY = 5000 };

static void add(struct env *e, const struct nvme_ns_attr *ns)
{
	char err[160];

	assert_int_equal(nvme_target_add(e->far[0].target, ns, err, sizeof(err)), 0);
}

static void add_namespace(struct env *e, uint32_t nsid, const char *peers, uint8_t shift, bool read_only)
{
	const struct nvme_ns_attr ns = { .name = "n", .peers = peers, .store = &e->stores[1].store,
					 .nsid = nsid, .block_shift = shift, .read_only = read_only };

	add(e, &ns);
}

/* Of target |target|, until it is known. */
static int discover(struct env *e, uint8_t target, struct nvme_dev **dev, const struct nvme_found **found,
		    unsigned int *n)
{
	const struct nvme_dev_attr attr = { .name = "d", .nsid = 1, .ntargets = 1,
					    .timeout_ns = 30000000000ULL,
					    .targets[0] = { .npaths = 1,
							    .paths[0].ends.remote.b[3] = target } };
	char err[160];
	int rc = -EAGAIN;

	assert_int_equal(nvme_initiator_discover(e->near.initiator, &attr, dev, err, sizeof(err)), 0);
	for (int i = 0; i < 100000 && rc == -EAGAIN; i++) {
		env_step(e);
		rc = nvme_dev_discovered(*dev, found, n);
	}
	return rc;
}

static void finds_what_is_its_own(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	const struct nvme_found *found;
	struct nvme_dev *dev;
	unsigned int n;

	(void)state;
	add_namespace(e, 900, "near", 12, true);
	add_namespace(e, 8, "other", 9, false);
	add_namespace(e, 3, "any", 12, false);
	assert_int_equal(discover(e, 0, &dev, &found, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(found[0].nsid, 3);
	assert_int_equal(found[1].nsid, 7);
	assert_int_equal(found[2].nsid, 900);
	assert_int_equal(found[1].block_shift, 9);
	assert_int_equal(found[1].blocks, MIB / 512);
	assert_false(found[1].read_only || found[1].protected);
	assert_int_equal(found[2].block_shift, 12);
	assert_int_equal(found[2].blocks, MIB / 4096);
	assert_true(found[2].read_only);
	/* It is no device. */
	assert_ptr_equal(nvme_dev_find(e->near.initiator, "d"), e->dev);
	assert_null(nvme_dev_at(e->near.initiator, 1));
	nvme_initiator_remove(dev);
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	env_close(e);
}

static uint32_t dial_for(struct env *e, uint32_t nsid, uint8_t len)
{
	const struct falcon_nvme_offer offer = { .magic = falcon_hton32(FALCON_NVME_MAGIC),
						 .version = FALCON_NVME_VERSION,
						 .nsid = falcon_hton32(nsid) };
	struct ulp_data data = { .len = len };

	memcpy(data.bytes, &offer, sizeof(offer));
	return nvme_ulp_ops.dial_for(&e->far[0], &data);
}

/* Each namespace is one shard's: whoever dials for it gets to that one, and all of them know of all. */
static void knows_of_other_shards(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	const struct nvme_ns_attr ns = { .name = "o", .peers = "any", .store = &e->stores[1].store,
					 .nsid = 8, .shard = 3, .block_shift = 9 };
	struct nvme_dev_attr attr = *nvme_dev_attr(e->dev);
	struct nvme_dev *dev, *own = e->dev;
	struct nvme_dev_info info = {};
	const struct nvme_found *found;
	char err[160];
	unsigned int n;

	(void)state;
	add(e, &ns);
	assert_int_equal(dial_for(e, 8, sizeof(struct falcon_nvme_offer)), 3);
	assert_int_equal(dial_for(e, 7, sizeof(struct falcon_nvme_offer)), 0);
	assert_int_equal(dial_for(e, 9, sizeof(struct falcon_nvme_offer)), 0);
	/* Of an initiator that does not say, and of one that is none. */
	assert_int_equal(dial_for(e, 8, FALCON_NVME_OFFER_MIN), 0);
	assert_int_equal(dial_for(e, 8, FALCON_NVME_OFFER_MIN - 1), 0);
	/* The other shard has made it larger. */
	nvme_store_set_bytes(&e->stores[1].store, MIB / 2);
	assert_int_equal(discover(e, 0, &dev, &found, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(found[1].nsid, 8);
	assert_int_equal(found[1].blocks, MIB / 2 / 512);
	nvme_initiator_remove(dev);
	strcpy(attr.name, "elsewhere");
	attr.targets[0].paths[0].nsid = 8;
	assert_int_equal(nvme_initiator_add(e->near.initiator, &attr, err, sizeof(err)), 0);
	dev = nvme_dev_find(e->near.initiator, "elsewhere");
	for (int i = 0; i < 100000 && !info.ready; i++) {
		env_step(e);
		nvme_dev_info(dev, &info);
	}
	/* It is told of, but not carried out. */
	assert_true(info.ready);
	e->dev = dev;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), NVME_SC_INVALID_NS | NVME_SC_DNR);
	e->dev = own;
	nvme_initiator_remove(dev);
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	env_close(e);
}

static void finds_protection(void **state)
{
	struct env *e = env_open_protected(1, MIB, 12, MIB);
	const struct nvme_found *found;
	struct nvme_dev *dev;
	unsigned int n;

	(void)state;
	assert_int_equal(discover(e, 0, &dev, &found, &n), 0);
	assert_int_equal(n, 1);
	assert_true(found[0].protected);
	env_close(e);
}

/* A target that says that its blocks are of |wire_at| bits. */
static void lie(struct env *e, uint8_t *packet, uint32_t len)
{
	struct falcon_nvme_response *r = (void *)packet;
	struct nvme_id_ns *id = (void *)(r + 1);
	struct falcon_nvme_hdr h;

	/* The first part of a namespace's; a list of one has nothing there. */
	if (falcon_nvme_nbth_unpack(packet, len, &h) && h.type == FALCON_NVME_READ_RESPONSE && !h.offset &&
	    len > 1024 && id->lbaf[0].ds)
		id->lbaf[0].ds = (uint8_t)e->wire_at;
}

static void attack_formats(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	const struct nvme_found *found;
	struct nvme_dev *dev;
	unsigned int n;

	(void)state;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	e->on_wire = lie;
	for (e->wire_at = 0; e->wire_at < 256; e->wire_at++) {
		assert_int_equal(discover(e, 0, &dev, &found, &n), 0);
		assert_int_equal(n, e->wire_at >= 9 && e->wire_at <= 12);
		nvme_initiator_remove(dev);
	}
	e->on_wire = NULL;
	env_close(e);
}

/* A target that is not there: it is being dialled, until the caller gives up. */
static void finds_nobody(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	const struct nvme_found *found;
	struct nvme_dev *dev;
	unsigned int n;

	(void)state;
	e->refuse = true;
	assert_int_equal(discover(e, 0, &dev, &found, &n), -EAGAIN);
	nvme_initiator_remove(dev);
	e->refuse = false;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	env_close(e);
}

/* More devices, one after the other, than there may be at once; some go while commands are under way. */
static void come_and_go(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	struct nvme_dev_attr attr = *nvme_dev_attr(e->dev);
	struct nvme_dev *own = e->dev;
	uint8_t *data = calloc(1, 65536);
	char err[160];

	(void)state;
	strcpy(attr.name, "passing");
	for (int i = 0; i < MANY; i++) {
		struct env_cmd cmd;
		unsigned int done = 0;

		assert_int_equal(nvme_initiator_add(e->near.initiator, &attr, err, sizeof(err)), 0);
		e->dev = nvme_dev_find(e->near.initiator, "passing");
		assert_non_null(e->dev);
		if (i % 100 == 0) {
			nvme_dev_hold(e->dev);
			env_start(e, &cmd, i % 200 ? nvme_cmd_write : nvme_cmd_read, 0, 127, data, &done);
			for (uint64_t k = unit_random(&e->seed) % 600; k; k--)
				env_step(e);
		}
		nvme_initiator_remove(e->dev);
		assert_null(nvme_dev_find(e->near.initiator, "passing"));
		if (i % 100 == 0) {
			env_until(e, &done, 1);
			nvme_dev_release(e->dev);
		}
		env_step(e);
	}
	e->dev = own;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	free(data);
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_is_its_own),
		cmocka_unit_test(knows_of_other_shards),
		cmocka_unit_test(finds_protection),
		cmocka_unit_test(finds_nobody),
		cmocka_unit_test(attack_formats),
		ENV_BOTH(come_and_go),
	};

	return unit_run(tests);
}
