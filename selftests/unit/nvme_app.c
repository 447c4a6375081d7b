// SPDX-License-Identifier: BSD-2-Clause
/*
 * Applications of NVMe devices: entries through shared memory, and what an application that writes
 * anything there can do, which is nothing to others.
 */
#include "nvme_env.h"

#include <errno.h>
#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/nvme/app.h"
#include "falcon/wire/nvme.h"
#include "loop/app.h"

enum { MIB = 1 << 20, ARENA = 1 << 20 };

struct world {
	struct env *e;
	struct nvme_apps *apps;
	struct nvme_app *na;	/* NULL: detached */
	struct app app;
	unsigned int broken;
	unsigned int freed;	/* applications of which nothing is left */
};

static void broken(void *arg, struct nvme_app *na, const char *why)
{
	struct world *w = arg;

	assert_non_null(why);
	w->broken++;
	nvme_app_detach(na);
	w->na = NULL;
}

static void step(struct world *w)
{
	nvme_apps_pump(w->apps, w->e->now);
	env_step(w->e);
}

/* w->na: NULL if it may not. */
static int attach(struct world *w)
{
	char err[256];

	w->na = NULL;
	return nvme_app_attach(w->apps, w->e->dev, geteuid(),
			       (int[]){ w->app.memfd, w->app.doorbell, w->app.agent_event }, &w->na, err,
			       sizeof(err));
}

static int set_up_with(void **state, struct env *e)
{
	struct world *w = calloc(1, sizeof(*w));

	w->e = e;
	w->apps = nvme_apps_create(broken, w);
	app_make(&w->app, ARENA, true);
	assert_int_equal(attach(w), 0);
	*state = w;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, env_open(1, MIB, 9, MIB));
}

static int set_up_protected(void **state)
{
	const struct env_format f = { .host = 1 };

	return set_up_with(state, env_open_format(1, MIB, 9, MIB, &f));
}

/* The target pulls all data of writes. */
static int set_up_standard(void **state)
{
	env_standard(NULL);
	set_up(state);
	return env_combined(NULL);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	if (w->na)
		nvme_app_detach(w->na);
	env_close(w->e);
	nvme_apps_destroy(w->apps);
	app_drop(&w->app);
	free(w);
	return 0;
}

static void submit(struct world *w, const struct falcon_nvme_sqe *sqe)
{
	struct falcon_sqe slot;

	memcpy(&slot, sqe, sizeof(slot));
	app_submit(&w->app, &slot);
}

/* Submit |sqe| and run until its completion. Its status. */
static uint16_t run(struct world *w, struct falcon_nvme_sqe sqe, uint32_t *result)
{
	struct falcon_nvme_cqe cqe;
	struct falcon_cqe slot;

	sqe.cid = 0x1234;
	submit(w, &sqe);
	for (int i = 0; i < 100000; i++) {
		step(w);
		if (!app_complete(&w->app, &slot))
			continue;
		memcpy(&cqe, &slot, sizeof(cqe));
		assert_int_equal(cqe.cid, 0x1234);
		assert_int_equal(cqe.sqid, sqe.qid);
		assert_int_equal(cqe.status & 1, 0);
		if (result)
			*result = cqe.result;
		return cqe.status >> 1;
	}
	fail_msg("no completion");
	return 0;
}

static void reach(struct world *w)
{
	for (int i = 0; i < 10000 && !nvme_dev_ready(w->e->dev); i++)
		step(w);
	assert_true(nvme_dev_ready(w->e->dev));
}

/* Metadata are where |mptr| says, in the arena, and nowhere else. */
static void metadata(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1, .prp1 = 4096,
				      .cdw10 = 5, .cdw14 = 5, .mptr = ARENA - 16,
				      .cdw12 = 1 | NVME_PRINFO_CHECK << 26 };
	const struct nvme_pi_tags t = { .type = 1, .reftag = 5 };
	struct world *w = *state;
	struct nvme_pi *md = (struct nvme_pi *)(w->app.arena + ARENA - 16), *back;

	reach(w);
	memset(w->app.arena + 4096, 0x77, 1024);
	for (uint32_t i = 0; i < 2; i++)
		md[i] = nvme_pi_make(&t, i, nvme_pi_crc(0, w->app.arena + 4096, 512));
	assert_int_equal(run(w, io, NULL), 0);
	io.opcode = nvme_cmd_read;
	io.mptr = 0;
	back = (struct nvme_pi *)w->app.arena;
	assert_int_equal(run(w, io, NULL), 0);
	assert_memory_equal(back, md, 2 * sizeof(*md));
	io.mptr = ARENA - 12;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.mptr = UINT64_MAX - 7;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.mptr = 2;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	/* Made by the agent: none in the application. */
	io.cdw12 |= NVME_PRINFO_ACT << 26;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.mptr = 0;
	assert_int_equal(run(w, io, NULL), 0);
}

static void commands(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1, .prp1 = 4096,
				      .cdw10 = 5, .cdw12 = 7 };
	const struct falcon_nvme_sqe id = { .opcode = nvme_admin_identify, .nsid = 1 };
	struct world *w = *state;
	struct nvme_id_ns *ns = (struct nvme_id_ns *)w->app.arena;
	uint32_t result;

	assert_int_equal(run(w, io, NULL), NVME_SC_NS_NOT_READY);
	reach(w);
	memset(w->app.arena, 0x77, 8192);
	assert_int_equal(run(w, io, NULL), 0);
	io.opcode = nvme_cmd_read;
	io.prp1 = ARENA - 4096;
	assert_int_equal(run(w, io, NULL), 0);
	assert_memory_equal(w->app.arena + ARENA - 4096, w->app.arena + 4096, 4096);
	assert_int_equal(run(w, id, NULL), 0);
	assert_int_equal(ns->nsze, MIB / 512);
	assert_int_equal(ns->lbaf[0].ds, 9);
	io.prp1 = ARENA - 4095;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.prp1 = UINT64_MAX;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.prp1 = 0;
	io.prp2 = 1;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.prp2 = 0;
	io.nsid = 2;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_NS);
	/* Nothing to abort. */
	assert_int_equal(run(w, (struct falcon_nvme_sqe){ .opcode = nvme_admin_abort_cmd }, &result),
			 0);
	assert_int_equal(result, 1);
}

/* A second namespace of the device's controller, on another of the target's. */
static struct nvme_dev *add_second(struct world *w)
{
	struct nvme_ns_attr ns = { .name = "second", .peers = "any",
				   .store = &w->e->stores[1].store, .nsid = 8, .block_shift = 9 };
	struct nvme_dev_attr attr = *nvme_dev_attr(w->e->dev);
	struct nvme_dev *dev;
	char err[160];

	assert_int_equal(nvme_target_add(w->e->far[0].target, &ns, err, sizeof(err)), 0);
	strcpy(attr.name, "second");
	strcpy(attr.controller, "d");
	assert_int_equal(nvme_initiator_add(w->e->near.initiator, &attr, err, sizeof(err)), -EINVAL);
	attr.nsid = 2;
	attr.targets[0].paths[0].nsid = 8;
	assert_int_equal(nvme_initiator_add(w->e->near.initiator, &attr, err, sizeof(err)), 0);
	dev = nvme_dev_find(w->e->near.initiator, "second");
	for (int i = 0; i < 10000 && !nvme_dev_ready(dev); i++)
		step(w);
	return dev;
}

static void namespaces(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1, .cdw10 = 5 };
	struct falcon_nvme_sqe id = { .opcode = nvme_admin_identify };
	struct world *w = *state;
	struct nvme_id_ctrl *ctrl = (struct nvme_id_ctrl *)w->app.arena;
	uint32_t *list = (uint32_t *)w->app.arena;

	reach(w);
	add_second(w);
	for (io.nsid = 1; io.nsid <= 2; io.nsid++) {
		memset(w->app.arena, (int)io.nsid, 512);
		io.qid = io.nsid;
		assert_int_equal(run(w, io, NULL), 0);
	}
	assert_int_equal(w->e->stores[0].bytes[5 * 512], 1);
	assert_int_equal(w->e->stores[1].bytes[5 * 512], 2);
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_NS);
	io.opcode = nvme_cmd_flush;
	io.nsid = UINT32_MAX;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_NS);
	id.cdw10 = NVME_IDENTIFY_CNS_CTRL;
	assert_int_equal(run(w, id, NULL), 0);
	assert_int_equal(ctrl->nn, 2);
	assert_int_equal(ctrl->vwc, 5);
	id.cdw10 = NVME_IDENTIFY_CNS_NS_ACTIVE_LIST;
	assert_int_equal(run(w, id, NULL), 0);
	assert_int_equal(list[0], 1);
	assert_int_equal(list[1], 2);
	assert_int_equal(list[2], 0);
	id.nsid = 1;
	assert_int_equal(run(w, id, NULL), 0);
	assert_int_equal(list[0], 2);
	id.cdw10 = NVME_IDENTIFY_CNS_NS;
	id.nsid = 3;
	assert_int_equal(run(w, id, NULL) & 0x7ff, NVME_SC_INVALID_NS);
}

/*
 * Everything under way ends when the controller is reset, in both namespaces, also what has reached the
 * stores; what is written then is not overwritten by what was before.
 */
static void reset(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1 };
	struct world *w = *state;
	struct falcon_nvme_cqe cqe;
	struct falcon_cqe slot;
	unsigned int ended = 0;

	reach(w);
	add_second(w);
	w->e->stores[0].frozen = w->e->stores[1].frozen = true;
	memset(w->app.arena, 1, 4096);
	for (unsigned int i = 0; i < 40; i++) {
		io.cid = (uint16_t)i;
		io.nsid = i % 2 + 1;
		io.cdw10 = i / 2;
		submit(w, &io);
	}
	for (int i = 0; i < 300; i++)
		step(w);
	nvme_ctrl_reset(w->e->dev);
	for (int i = 0; i < 10000 && ended < 40; i++) {
		step(w);
		for (; app_complete(&w->app, &slot); ended++) {
			memcpy(&cqe, &slot, sizeof(cqe));
			assert_int_equal(cqe.status >> 1, 0x371);
		}
	}
	assert_int_equal(ended, 40);
	memset(w->app.arena, 2, 4096);
	for (io.nsid = 1; io.nsid <= 2; io.nsid++) {
		io.cdw10 = 3;
		submit(w, &io);
	}
	w->e->now += 2000000000;
	for (int i = 0; i < 5000; i++)
		step(w);
	assert_false(app_complete(&w->app, &slot));
	w->e->stores[0].frozen = w->e->stores[1].frozen = false;
	for (int i = 0; i < 100000 && ended < 42; i++) {
		step(w);
		for (; app_complete(&w->app, &slot); ended++) {
			memcpy(&cqe, &slot, sizeof(cqe));
			assert_int_equal(cqe.status >> 1, 0);
		}
	}
	assert_int_equal(ended, 42);
	for (int i = 0; i < 2000; i++)
		step(w);
	assert_int_equal(w->e->stores[0].bytes[3 * 512], 2);
	assert_int_equal(w->e->stores[1].bytes[3 * 512], 2);
}

/* It goes while its commands are under way: they end, and its memory after them. */
static void gone(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1, .cdw12 = 200 };
	struct world *w = *state;

	reach(w);
	for (int i = 0; i < 20; i++, io.cdw10 += 50)
		submit(w, &io);
	for (int i = 0; i < 5; i++)
		step(w);
	nvme_app_detach(w->na);
	w->na = NULL;
	for (int i = 0; i < 20000; i++)
		step(w);
}

static void freed(void *arg, uid_t uid, uint64_t bytes)
{
	struct world *w = arg;

	assert_true(uid == geteuid() && bytes > ARENA);
	w->freed++;
}

static unsigned int ndata;	/* packets with data of writes that have been on the wire */

static void count_data(struct env *e, uint8_t *packet, uint32_t len)
{
	struct falcon_nvme_hdr h;

	(void)e;
	ndata += len > sizeof(struct falcon_nvme_response) && falcon_nvme_nbth_unpack(packet, len, &h) &&
		 h.type == FALCON_NVME_WRITE_DATA;
}

/* It goes while its data are on their way: no more of them are sent, and nothing is written. */
static void gone_in_a_write(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1, .cdw12 = 255 };
	struct world *w = *state;
	unsigned int sent;

	reach(w);
	memset(w->app.arena, 0x77, 256 * 512);
	w->e->on_wire = count_data;
	ndata = 0;
	submit(w, &io);
	for (int i = 0; i < 10000 && ndata < 3; i++)
		step(w);
	assert_in_range(ndata, 3, 31);
	sent = ndata;
	nvme_app_on_free(w->na, freed, w);
	nvme_app_detach(w->na);
	w->na = NULL;
	for (int i = 0; i < 20000; i++)
		step(w);
	assert_int_equal(w->freed, 1);
	assert_int_equal(ndata, sent);
	for (unsigned int i = 0; i < 256 * 512; i++)
		assert_int_equal(w->e->stores[0].bytes[i], 0);
}

/* It goes, and then the connection: its commands are not sent again. */
static void gone_before_the_connection(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1 };
	struct nvme_dev_info info;
	struct world *w = *state;

	reach(w);
	w->e->stores[0].frozen = true;
	submit(w, &io);
	for (int i = 0; i < 1000; i++)
		step(w);
	nvme_app_on_free(w->na, freed, w);
	nvme_app_detach(w->na);
	w->na = NULL;
	env_cut(w->e, 0);
	for (int i = 0; i < 100; i++)
		step(w);
	assert_int_equal(w->freed, 1);
	nvme_dev_info(w->e->dev, &info);
	assert_int_equal(info.retried, 0);
}

static int come_again(struct world *w)
{
	app_make(&w->app, ARENA, true);
	return attach(w);
}

/* It submits |io|, which is on its way or waits when it goes; and comes again, if it may: attach(). */
static int leave(struct world *w, struct falcon_nvme_sqe *io)
{
	submit(w, io);
	for (int i = 0; i < 200; i++)
		step(w);
	nvme_app_on_free(w->na, freed, w);
	nvme_app_detach(w->na);
	app_drop(&w->app);
	return come_again(w);
}

/* Applications go while their target does not answer: those of a user whose memory stays are few. */
static void lingers(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1 };
	struct world *w = *state;
	unsigned int n = 0;
	int rc = 0;

	reach(w);
	w->e->stores[0].frozen = true;
	while (n < NVME_APPS_LINGER && (rc = leave(w, &io)) == 0)
		n++;
	assert_int_equal(n, NVME_APPS_LINGER - 1);
	assert_int_equal(rc, -EBUSY);
	assert_int_equal(nvme_apps_lingering(w->apps, geteuid()), NVME_APPS_LINGER);
	assert_int_equal(nvme_apps_lingering(w->apps, geteuid() + 1), 0);
	assert_true(!w->na && !w->freed);
	w->e->stores[0].frozen = false;
	for (int i = 0; i < 20000; i++)
		step(w);
	assert_int_equal(w->freed, NVME_APPS_LINGER);
	assert_int_equal(nvme_apps_lingering(w->apps, geteuid()), 0);
	app_drop_all(&w->app);
	assert_int_equal(come_again(w), 0);
}

/* They go while their target is not there: nothing of them stays. */
static void waits(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1 };
	struct world *w = *state;

	reach(w);
	w->e->refuse = true;
	env_cut(w->e, 0);
	for (unsigned int i = 1; i < 100; i++) {
		assert_int_equal(leave(w, &io), 0);
		assert_int_equal(w->freed, i);
	}
}

/* Random entries and indexes. */
static void hostile(void **state)
{
	struct world *w = *state;
	struct falcon_cqe cqe;
	uint64_t seed = 0x2545f4914f6cdd1d;

	reach(w);
	for (int i = 0; i < 3000; i++) {
		struct falcon_nvme_sqe sqe;
		uint64_t *words = (uint64_t *)&sqe;

		for (size_t k = 0; k < sizeof(sqe) / 8; k++)
			words[k] = unit_random(&seed);
		sqe.opcode = unit_random(&seed) % 16;
		sqe.qid = unit_random(&seed) % 2;
		sqe.nsid = 1;
		sqe.flags = 0;
		sqe.prp2 = sqe.mptr = sqe.cdw3 = 0;
		sqe.prp1 = unit_random(&seed) % (2 * ARENA);
		sqe.cdw10 %= 4096;
		sqe.cdw11 %= 8;
		sqe.cdw12 &= 0x400003ff;
		submit(w, &sqe);
		for (int k = 0; k < 4; k++)
			step(w);
		/* Data change under way. */
		w->app.arena[unit_random(&seed) % ARENA] ^= 0xff;
		while (app_complete(&w->app, &cqe))
			;
	}
	assert_int_equal(w->broken, 0);
	w->app.rings->sq.tail += FALCON_SQ_ENTRIES + 1;
	for (int i = 0; i < 20000; i++)
		step(w);
	assert_int_equal(w->broken, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(commands, set_up, tear_down),
		cmocka_unit_test_setup_teardown(namespaces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reset, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gone_in_a_write, set_up_standard, tear_down),
		cmocka_unit_test_setup_teardown(gone_before_the_connection, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lingers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hostile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(metadata, set_up_protected, tear_down),
	};

	return unit_run(tests);
}
