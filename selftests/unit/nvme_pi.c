// SPDX-License-Identifier: BSD-2-Clause
/* Namespaces with protection information (NVMe 6.7): damage is found, and says what it is. */
#include "nvme_env.h"

#include <errno.h>
#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/wire/nvme.h>
#include <base/pi.h>

enum {
	MIB = 1 << 20,
	BATCH = 24,
	CODE = 0x7ff,
	GUARD = NVME_SCT_MEDIA << 8 | NVME_SC_GUARD_CHECK,
	APPTAG = NVME_SCT_MEDIA << 8 | NVME_SC_APPTAG_CHECK,
	REFTAG = NVME_SCT_MEDIA << 8 | NVME_SC_REFTAG_CHECK,
};

/* T10-DIF's polynomial bit by bit: the definition. */
static uint16_t crc(const uint8_t *p, size_t n)
{
	uint16_t r = 0;

	for (size_t i = 0; i < n * 8; i++) {
		uint16_t bit = p[i / 8] >> (7 - i % 8) & 1;

		r = (uint16_t)(r << 1 ^ ((r >> 15 ^ bit) ? 0x8bb7 : 0));
	}
	return r;
}

static void crc_is_t10dif(void **state)
{
	uint8_t data[5000];
	uint64_t seed = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)unit_random(&seed);
	assert_int_equal(nvme_pi_crc(0, data, 512), crc(data, 512));
	assert_int_equal(nvme_pi_crc(crc(data, 100), data + 100, 400), crc(data, 500));
	/* Put together from its parts, each where it belongs. */
	assert_int_equal(nvme_pi_move(crc(data, 512), 4488) ^
			 nvme_pi_move(crc(data + 512, 1024), 3464) ^ crc(data + 1536, 3464),
			 crc(data, 5000));
	memset(data, 0, sizeof(data));
	assert_int_equal(nvme_pi_crc(0, data, 4096), 0);
}

/* Each bit of the information of one block of four, and each check alone. */
static void made_and_checked(void **state)
{
	(void)state;
	for (uint8_t type = 1; type <= 3; type++) {
		struct nvme_pi_tags t = { .type = type, .prinfo = NVME_PRINFO_CHECK,
					  .reftag = UINT32_MAX - 1, .apptag = 0x1234,
					  .apptag_mask = 0xff };
		struct nvme_pi good = nvme_pi_make(&t, 3, 0xabcd), pi;

		assert_int_equal(falcon_ntoh16(good.guard), 0xabcd);
		assert_int_equal(falcon_ntoh16(good.apptag), 0x1234);
		assert_int_equal(falcon_ntoh32(good.reftag), type == 3 ? UINT32_MAX - 1 : 1);
		assert_int_equal(nvme_pi_check(&t, 3, 0xabcd, &good), 0);
		assert_int_equal(nvme_pi_check(&t, 3, 0xabce, &good), GUARD);
		for (unsigned int bit = 0; bit < 64; bit++) {
			int want = bit < 16 ? GUARD : bit < 24 ? 0 : bit < 32 ? APPTAG :
				   type == 3 ? 0 : REFTAG;

			pi = good;
			((uint8_t *)&pi)[bit / 8] ^= 1 << bit % 8;
			assert_int_equal(nvme_pi_check(&t, 3, 0xabcd, &pi), want);
			t.prinfo = want == GUARD ? 3 : want == APPTAG ? 5 : 6;
			assert_int_equal(nvme_pi_check(&t, 3, 0xabcd, &pi), 0);
			t.prinfo = NVME_PRINFO_CHECK;
		}
	}
}

/* The values that switch checks off, and when they do not. */
static void escapes(void **state)
{
	struct nvme_pi_tags t = { .prinfo = NVME_PRINFO_CHECK, .apptag_mask = UINT16_MAX };
	struct nvme_pi pi = { .apptag = UINT16_MAX, .reftag = 5 };
	struct nvme_md md;

	(void)state;
	for (t.type = 1; t.type <= 2; t.type++)
		assert_int_equal(nvme_pi_check(&t, 0, 1, &pi), 0);
	assert_int_equal(nvme_pi_check(&t, 0, 1, &pi), GUARD);
	pi.reftag = UINT32_MAX;
	assert_int_equal(nvme_pi_check(&t, 0, 1, &pi), 0);
	/* Tags that count reach 0xffff: block 3's is nothing but its tag. */
	t = (struct nvme_pi_tags){ .type = 1, .prinfo = NVME_PRINFO_CHECK, .reftag = 0xfffc,
				   .apptag = 0xfffc, .apptag_mask = UINT16_MAX,
				   .apptag_counts = true };
	pi = nvme_pi_make(&t, 3, 7);
	assert_int_equal(pi.apptag, UINT16_MAX);
	assert_int_equal(nvme_pi_check(&t, 3, 7, &pi), 0);
	assert_int_equal(nvme_pi_check(&t, 3, 8, &pi), GUARD);
	assert_int_equal(nvme_pi_check(&t, 2, 8, &pi), 0);
	pi = nvme_pi_make(&t, 4, 7);
	assert_int_equal(pi.apptag, 0);
	/* Unwritten: only zeros. */
	memset(&md, 0xff, sizeof(md));
	assert_int_equal(nvme_md_check(&t, 3, 0, &md), 0);
	assert_int_equal(nvme_md_check(&t, 3, 1, &md), GUARD);
	t.prinfo = 0;
	assert_int_equal(nvme_md_check(&t, 3, 1, &md), 0);
}

/* NVMe 8.4 and 8.7: which metadata an nCMD has, and where, for both sizes of blocks. */
static void layouts(void **state)
{
	static uint8_t data[8 * (512 + 16)];
	struct nvme_md md[8];

	(void)state;
	assert_int_equal(nvme_md_count(0, 4096, 9) * sizeof(*md), FALCON_NVME_NCMD_MD);
	assert_int_equal(nvme_md_count(4096, 4096, 12), 1);
	/* A block of 4 KiB in nCMDs of 3 KiB: with the one that it ends in. */
	assert_int_equal(nvme_md_count(0, 3072, 12), 0);
	assert_int_equal(nvme_md_first(3072, 12), 0);
	assert_int_equal(nvme_md_count(3072, 3072, 12), 1);
	assert_int_equal(nvme_md_first(6144, 12), 1);
	assert_int_equal(nvme_md_count(6144, 2048, 12), 1);
	for (unsigned int i = 0; i < 8; i++) {
		memset(data + i * 512, (int)i + 1, 512);
		memset(&md[i], (int)i + 0x81, sizeof(md[i]));
	}
	nvme_md_interleave(data, 8, 9, md);
	for (size_t i = 0; i < sizeof(data); i++)
		assert_int_equal(data[i], i / 528 + (i % 528 < 512 ? 1 : 0x81));
}

/* Many commands on few blocks, connections lost: never a block without its own information. */
static void same_blocks(bool cut, uint8_t shift, uint32_t max_len)
{
	static const uint8_t ops[] = { nvme_cmd_read, nvme_cmd_write, nvme_cmd_write,
				       nvme_cmd_write_zeroes, nvme_cmd_verify, nvme_cmd_flush };
	struct env *e = env_open_protected(2, MIB, shift, 256 << 10);
	struct env_cmd *cmds = calloc(BATCH, sizeof(*cmds));
	uint8_t *data[BATCH];

	e->max_len = max_len;
	for (unsigned int i = 0; i < BATCH; i++)
		data[i] = malloc(16 << shift);
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	for (int round = 0; round < 40; round++) {
		unsigned int done = 0;

		for (unsigned int i = 0; i < BATCH; i++) {
			memset(data[i], (int)unit_random(&e->seed), 16 << shift);
			env_start(e, &cmds[i], ops[unit_random(&e->seed) % ARRAY_SIZE(ops)],
				  unit_random(&e->seed) % 8, unit_random(&e->seed) % 16, data[i],
				  &done);
		}
		for (uint64_t s = cut ? unit_random(&e->seed) % 300 : 0; s; s--)
			env_step(e);
		if (cut)
			env_cut(e, (unsigned int)(unit_random(&e->seed) % ENV_TARGETS));
		env_until(e, &done, BATCH);
		for (unsigned int i = 0; i < BATCH; i++)
			assert_int_equal(cmds[i].status, 0);
	}
	assert_int_equal(env_do(e, nvme_cmd_verify, 0, 31, NULL), 0);
	assert_true(e->metadata[0].flushes > 0);
	for (unsigned int i = 0; i < BATCH; i++)
		free(data[i]);
	free(cmds);
	env_close(e);
}

static void overlapping(void **state)
{
	(void)state;
	same_blocks(false, 9, 1400);
	same_blocks(true, 9, 1400);
	same_blocks(true, 12, 4300);
}

/* Everything that reads |lba| ends with |want|, and of its neighbours nothing. */
static void expect(struct env *e, uint64_t lba, uint16_t want)
{
	uint8_t *data = malloc(8 * 512);

	assert_int_equal(env_do(e, nvme_cmd_read, lba, 0, data) & CODE, want);
	assert_int_equal(env_do(e, nvme_cmd_read, lba - 2, 7, data) & CODE, want);
	assert_int_equal(env_do(e, nvme_cmd_verify, lba, 0, NULL) & CODE, want);
	assert_int_equal(env_do(e, nvme_cmd_compare, lba, 0, data) & CODE,
			 want ? want : NVME_SCT_MEDIA << 8 | NVME_SC_COMPARE_FAILED);
	assert_int_equal(env_do(e, nvme_cmd_read, lba - 1, 0, data), 0);
	assert_int_equal(env_do(e, nvme_cmd_read, lba + 1, 0, data), 0);
	free(data);
}

static void damaged_medium(void **state)
{
	struct env *e = env_open_protected(1, MIB, 9, MIB);
	uint8_t *blocks = e->stores[0].bytes, *md = e->metadata[0].bytes;
	uint8_t *data = malloc(16 * 512);

	(void)state;
	for (int i = 0; i < 16 * 512; i++)
		data[i] = (uint8_t)(i / 512 + i + 1);
	assert_int_equal(env_do(e, nvme_cmd_write, 8, 15, data), 0);
	expect(e, 12, 0);
	blocks[12 * 512 + 77] ^= 0x10;
	expect(e, 12, GUARD);
	assert_int_equal(env_do(e, nvme_cmd_write, 12, 0, data), 0);
	expect(e, 12, 0);
	/* The information of a block that was written is lost: it was not for zeros. */
	memset(md + 12 * 16, 0, 16);
	expect(e, 12, GUARD);
	/* A block in another's place, with all that belongs to it. */
	memcpy(blocks + 12 * 512, blocks + 15 * 512, 512);
	memcpy(md + 12 * 16, md + 15 * 16, 16);
	expect(e, 12, APPTAG);
	/* Each bit of inner and outer information. */
	assert_int_equal(env_do(e, nvme_cmd_write, 12, 0, data), 0);
	for (unsigned int bit = 0; bit < 128; bit++) {
		md[12 * 16 + bit / 8] ^= 1 << bit % 8;
		expect(e, 12, bit < 80 ? GUARD : bit < 96 ? APPTAG : REFTAG);
		md[12 * 16 + bit / 8] ^= 1 << bit % 8;
	}
	/* Deallocated: zeros, which are guarded as well. */
	assert_int_equal(env_do(e, nvme_cmd_write_zeroes, 12, 0, NULL), 0);
	assert_int_equal(env_do(e, nvme_cmd_read, 12, 0, data), 0);
	assert_int_equal(data[0] | data[511], 0);
	blocks[12 * 512 + 511] ^= 1;
	expect(e, 12, GUARD);
	free(data);
	env_close(e);
}

static void failing_metadata(void **state)
{
	struct env *e = env_open_protected(1, MIB, 9, MIB);
	struct nvme_ns_attr ns = { .name = "m", .peers = "any", .store = &e->stores[0].store,
				   .metadata = &e->metadata[0].store, .nsid = 8,
				   .block_shift = 9 };
	uint8_t data[512] = { 1 };
	char err[160];

	(void)state;
	e->metadata[0].fail = -EIO;
	assert_int_equal(env_do(e, nvme_cmd_write, 5, 0, data) & CODE,
			 NVME_SCT_MEDIA << 8 | NVME_SC_WRITE_FAULT);
	assert_int_equal(env_do(e, nvme_cmd_read, 5, 0, data) & CODE,
			 NVME_SCT_MEDIA << 8 | NVME_SC_READ_ERROR);
	e->metadata[0].fail = 0;
	expect(e, 5, GUARD);
	e->metadata[0].store.bytes--;
	assert_int_equal(nvme_target_add(e->far[0].target, &ns, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "no room for the protection information"));
	env_close(e);
}

/* What block |lba| of a target with 512-byte blocks is by the information that is stored with it. */
static uint16_t stored_status(struct env *e, uint32_t lba)
{
	const struct nvme_pi_tags t = { .type = 1, .prinfo = NVME_PRINFO_CHECK, .reftag = lba,
					.apptag = (uint16_t)lba, .apptag_mask = UINT16_MAX,
					.apptag_counts = true };
	const uint8_t *stored = e->metadata[0].bytes + lba * sizeof(struct nvme_md);
	struct nvme_md md;

	for (size_t i = 0; i < sizeof(md); i++)
		((uint8_t *)&md)[i] = (uint8_t)~stored[i];
	return nvme_md_check(&t, 0, crc(e->stores[0].bytes + lba * 512, 512), &md);
}

/* The initiator goes for ever between a write's data and their information: it is stored. */
static void lost_between(void **state)
{
	struct env *e = env_open_protected(1, MIB, 9, MIB);
	uint8_t data[512] = { 1 }, *stored = e->stores[0].bytes + 512;
	unsigned int done = 0;
	struct env_cmd cmd;

	(void)state;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	e->metadata[0].full = true;
	env_start(e, &cmd, nvme_cmd_write, 1, 0, data, &done);
	for (int i = 0; i < 100000 && !stored[0]; i++)
		env_step(e);
	assert_int_equal(stored_status(e, 1), GUARD);
	e->refuse = true;
	env_cut(e, 0);
	for (int i = 0; i < 100; i++)
		env_step(e);
	e->metadata[0].full = false;
	for (int i = 0; i < 100; i++)
		env_step(e);
	assert_int_equal(stored_status(e, 1), 0);
	env_close(e);
	assert_int_equal(done, 1);
}

/* A command that waits for the blocks of another holds up neither other blocks nor other namespaces. */
static void waits_alone(void **state)
{
	struct env *e = env_open_protected(1, MIB, 9, MIB);
	struct nvme_ns_attr ns = { .name = "plain", .peers = "any", .store = &e->stores[1].store,
				   .nsid = 8, .block_shift = 9 };
	struct nvme_dev_attr attr = *nvme_dev_attr(e->dev);
	struct nvme_dev *protected = e->dev;
	struct env_cmd cmds[4];
	unsigned int done = 0, plain = 0;
	uint8_t data[4][1024] = { { 1 }, { 2 } };
	char err[160];

	(void)state;
	strcpy(attr.name, "plain");
	attr.targets[0].paths[0].nsid = 8;
	assert_int_equal(nvme_target_add(e->far[0].target, &ns, err, sizeof(err)), 0);
	assert_int_equal(nvme_initiator_add(e->near.initiator, &attr, err, sizeof(err)), 0);
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	e->metadata[0].frozen = true;
	env_start(e, &cmds[0], nvme_cmd_write, 4, 0, data[0], &done);
	for (int i = 0; i < 100000 && !e->stores[0].bytes[4 * 512]; i++)
		env_step(e);
	env_start(e, &cmds[1], nvme_cmd_write, 4, 1, data[1], &done);
	for (int i = 0; i < 1000; i++)
		env_step(e);
	/* Behind the one that waits: its blocks are another's turn first. */
	env_start(e, &cmds[2], nvme_cmd_read, 5, 0, data[2], &done);
	e->dev = nvme_dev_find(e->near.initiator, "plain");
	env_start(e, &cmds[3], nvme_cmd_read, 0, 0, data[3], &plain);
	env_until(e, &plain, 1);
	assert_int_equal(cmds[3].status, 0);
	assert_int_equal(done, 0);
	e->metadata[0].frozen = false;
	env_until(e, &done, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cmds[i].status, 0);
	assert_int_equal(data[2][0], data[1][512]);
	assert_int_equal(e->stores[0].bytes[4 * 512], 2);
	e->dev = protected;
	env_close(e);
}

/* The status with which the target answers a request of one block that no initiator here sends. */
static uint16_t asked(struct env *e, uint8_t prinfo, uint32_t reftag, uint16_t apptag)
{
	static uint32_t icmd = 0x800000;
	struct falcon_nvme_hdr h = { .type = FALCON_NVME_READ_REQUEST, .icmd = icmd++ };
	struct falcon_nvme_cmd c = { .initiator_nsid = 1, .target_nsid = 7, .slba = 9, .unit = 2,
				     .prinfo = prinfo, .reftag = reftag, .apptag = apptag,
				     .apptag_mask = UINT16_MAX };
	struct fcore_conn *far = &e->links[0].far;
	struct falcon_nvme_request w;

	falcon_nvme_request_pack(&h, &c, &w);
	nvme_ulp_ops.on_push(far->ulp, far, 0, &w, sizeof(w), e->now);
	assert_int_equal(far->outcome, FCORE_PUSH_ACK);
	for (int step = 0; step < 10000; step++) {
		for (unsigned int i = 0; i < e->limit; i++) {
			const struct falcon_nvme_response *r = (void *)far->txns[i].hdr;
			struct falcon_nvme_hdr got;

			if (far->txns[i].used && falcon_nvme_nbth_unpack(r, sizeof(*r), &got) &&
			    got.icmd == h.icmd)
				return falcon_nvme_status(r) & CODE;
		}
		env_step(e);
	}
	fail_msg("no answer");
	return 0;
}

static void requests(void **state)
{
	const struct env_format unchecked = { .unchecked = true };
	struct env *e = env_open_protected(1, MIB, 9, MIB);
	uint8_t data[512] = { 1 };

	(void)state;
	assert_int_equal(env_do(e, nvme_cmd_write, 9, 0, data), 0);
	for (uint8_t act = 0; act <= NVME_PRINFO_ACT; act += NVME_PRINFO_ACT) {
		assert_int_equal(asked(e, act | 7, 9, 9), 0);
		assert_int_equal(asked(e, act | 7, 9, 4), APPTAG);
		assert_int_equal(asked(e, act | 5, 9, 4), 0);
		assert_int_equal(asked(e, act | 7, 8, 9), NVME_SCT_CMD_SPECIFIC << 8 | NVME_SC_INVALID_PI);
		assert_int_equal(asked(e, act, UINT32_MAX, UINT16_MAX), 0);
	}
	e->stores[0].bytes[9 * 512] ^= 1;
	assert_int_equal(asked(e, 7, 9, 9), GUARD);
	assert_int_equal(asked(e, 3, 9, 9), 0);
	env_close(e);
	e = env_open_format(1, MIB, 9, MIB, &unchecked);
	assert_int_equal(env_do(e, nvme_cmd_write, 9, 0, data), 0);
	assert_int_equal(asked(e, 0, UINT32_MAX, UINT16_MAX), 0);
	assert_int_equal(asked(e, 7, 9, 9), NVME_SC_INVALID_FIELD);
	env_close(e);
	e = env_open(1, MIB, 9, MIB);
	assert_int_equal(env_do(e, nvme_cmd_write, 9, 0, data), 0);
	assert_int_equal(asked(e, 7, 9, 9), NVME_SC_INVALID_FIELD);
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc_is_t10dif),
		cmocka_unit_test(made_and_checked),
		cmocka_unit_test(escapes),
		cmocka_unit_test(layouts),
		cmocka_unit_test(overlapping),
		cmocka_unit_test(damaged_medium),
		cmocka_unit_test(failing_metadata),
		cmocka_unit_test(lost_between),
		cmocka_unit_test(waits_alone),
		cmocka_unit_test(requests),
	};

	return unit_run(tests);
}
