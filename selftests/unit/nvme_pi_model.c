// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random commands against an oracle, with all formats of protection information: data, and the host's
 * metadata, are read as they were written, whoever makes them, whatever is lost on the way.
 */
#include "nvme_env.h"

#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

#include <crypto/xts.h>

enum { MIB = 1 << 20, BATCH = 24, ROUNDS = 12, MOST = (128 << 10) / 512 };

struct cipher {
	struct nvme_cipher cipher;
	struct xts *xts;
};

/* What the device should hold. */
struct model {
	uint8_t type, shift;
	bool encrypted;
	uint64_t blocks;
	uint8_t *data;
	struct nvme_pi *md;
};

struct op {
	struct env_cmd cmd;
	struct nvme_icmd icmd;
	uint64_t lba;
	uint32_t n;
	struct nvme_pi md[MOST];
};

static bool crypt_it(const struct nvme_cipher *c, bool encrypt, uint64_t unit, const void *in,
		     void *out, uint32_t len, struct nvme_pi *pi)
{
	return xts_crypt(((const struct cipher *)c)->xts, encrypt, unit, in, out, len, pi);
}

static struct nvme_pi_tags tags(const struct model *m, struct op *op)
{
	const struct falcon_nvme_sqe *sqe = &op->icmd.sqe;

	return (struct nvme_pi_tags){ .type = m->type, .prinfo = sqe->cdw12 >> 26 & 0xf,
				      .reftag = sqe->cdw14, .apptag = (uint16_t)sqe->cdw15,
				      .apptag_mask = (uint16_t)(sqe->cdw15 >> 16) };
}

/* A write's data, and their information: the host's, or what the initiator is to make. */
static void write_it(struct env *e, struct model *m, struct op *op)
{
	const struct nvme_pi_tags t = tags(m, op);
	uint8_t *data = op->icmd.data;

	memset(data, (int)unit_random(&e->seed), (size_t)op->n << m->shift);
	for (uint32_t i = 0; i < op->n; i++) {
		uint8_t *block = data + ((size_t)i << m->shift);

		block[unit_random(&e->seed) % 512] ^= 1;
		op->md[i] = nvme_pi_make(&t, i, nvme_pi_crc(0, block, 1UL << m->shift));
		m->md[op->lba + i] = op->md[i];
	}
	memcpy(m->data + (op->lba << m->shift), data, (size_t)op->n << m->shift);
}

static void zero_it(struct model *m, struct op *op)
{
	memset(m->data + (op->lba << m->shift), 0, (size_t)op->n << m->shift);
	memset(&m->md[op->lba], 0xff, op->n * sizeof(*m->md));
}

/* The fields that follow from what |op| has already. */
static void complete(const struct model *m, struct op *op, uint8_t prinfo)
{
	struct falcon_nvme_sqe *sqe = &op->icmd.sqe;

	sqe->cdw10 = (uint32_t)op->lba;
	sqe->cdw14 = m->type == 1 ? sqe->cdw10 : m->type == 2 ? sqe->cdw10 + 5000 : 0xabcdef;
	sqe->cdw15 = 0xffff0007;
	if (m->type)
		sqe->cdw12 = (uint32_t)(prinfo | NVME_PRINFO_APPTAG |
					(m->type < 3 ? NVME_PRINFO_REFTAG : 0)) << 26;
	sqe->cdw12 |= op->n - 1;
	op->icmd.data = malloc((size_t)op->n << m->shift);
	op->icmd.md = m->type && !(prinfo & NVME_PRINFO_ACT) ? op->md : NULL;
}

/* One that fits what the host sees. */
static void make(struct env *e, struct model *m, struct op *op, unsigned int part)
{
	static const uint8_t ops[] = { nvme_cmd_read, nvme_cmd_read, nvme_cmd_write, nvme_cmd_write,
				       nvme_cmd_verify, nvme_cmd_compare, nvme_cmd_write_zeroes };
	struct falcon_nvme_sqe *sqe = &op->icmd.sqe;
	uint64_t per = m->blocks / BATCH, max = (128 << 10) >> m->shift;
	uint8_t prinfo = (uint8_t)(unit_random(&e->seed) & 8) | NVME_PRINFO_GUARD;

	*op = (struct op){ .lba = part * per + unit_random(&e->seed) % per };
	op->n = (uint32_t)(unit_random(&e->seed) % max + 1);
	if (op->n > (part + 1) * per - op->lba)
		op->n = (uint32_t)((part + 1) * per - op->lba);
	sqe->opcode = ops[unit_random(&e->seed) % (ARRAY_SIZE(ops) - m->encrypted)];
	complete(m, op, prinfo);
}

static void begin(struct env *e, struct model *m, struct op *op, unsigned int *done)
{
	const struct nvme_pi_tags t = tags(m, op);

	switch (op->icmd.sqe.opcode) {
	case nvme_cmd_write: write_it(e, m, op); break;
	case nvme_cmd_write_zeroes: zero_it(m, op); break;
	case nvme_cmd_compare:
		memcpy(op->icmd.data, m->data + (op->lba << m->shift), (size_t)op->n << m->shift);
		for (uint32_t i = 0; i < op->n; i++)
			op->md[i] = nvme_pi_make(&t, i, nvme_pi_crc(0, (uint8_t *)op->icmd.data +
							((size_t)i << m->shift), 1UL << m->shift));
		break;
	}
	env_start_tagged(e, &op->cmd, &op->icmd, done);
}

/* What was never written is zeros to who reads it, but not to who compares ciphertext. */
static void write_all(struct env *e, struct model *m)
{
	struct op *op = calloc(1, sizeof(*op));

	for (uint64_t lba = 0; lba < m->blocks; lba += op->n) {
		unsigned int done = 0;

		*op = (struct op){ .lba = lba, .n = (128 << 10) >> m->shift,
				   .icmd.sqe.opcode = nvme_cmd_write };
		complete(m, op, NVME_PRINFO_GUARD);
		begin(e, m, op, &done);
		env_until(e, &done, 1);
		assert_int_equal(op->cmd.status, 0);
		free(op->icmd.data);
	}
	free(op);
}

static void batch(struct env *e, struct model *m, bool cut)
{
	struct op *ops = calloc(BATCH, sizeof(*ops));
	unsigned int done = 0;

	for (unsigned int i = 0; i < BATCH; i++) {
		make(e, m, &ops[i], i);
		begin(e, m, &ops[i], &done);
	}
	for (int k = 0; cut && k < 3; k++) {
		for (uint64_t s = unit_random(&e->seed) % 300; s; s--)
			env_step(e);
		env_cut(e, (unsigned int)(unit_random(&e->seed) % ENV_TARGETS));
	}
	env_until(e, &done, BATCH);
	for (unsigned int i = 0; i < BATCH; i++) {
		struct op *op = &ops[i];

		assert_int_equal(op->cmd.status, 0);
		if (op->icmd.sqe.opcode == nvme_cmd_read) {
			assert_memory_equal(op->icmd.data, m->data + (op->lba << m->shift),
					    (size_t)op->n << m->shift);
			if (op->icmd.md)
				assert_memory_equal(op->md, &m->md[op->lba],
						    op->n * sizeof(*op->md));
		}
		free(op->icmd.data);
	}
	free(ops);
}

static void random_commands(const struct env_format *f, unsigned int targets, uint8_t shift,
			    uint32_t max_len, bool cut)
{
	struct env *e = env_open_format(targets, MIB, shift, 512 << 10, f);
	struct model m = { .type = f->host, .shift = shift, .encrypted = f->cipher,
			   .blocks = (uint64_t)targets * MIB >> shift };
	struct nvme_dev_info info;

	m.data = calloc(targets, MIB);
	m.md = malloc(m.blocks * sizeof(*m.md));
	memset(m.md, 0xff, m.blocks * sizeof(*m.md));
	e->max_len = max_len;
	if (f->cipher)
		write_all(e, &m);
	for (int i = 0; i < ROUNDS; i++)
		batch(e, &m, cut);
	nvme_dev_info(e->dev, &info);
	assert_true(info.ready && info.protected);
	assert_int_equal(info.blocks, m.blocks);
	assert_int_equal(info.retried > 0, cut);
	assert_int_equal(info.errors + info.resets + info.malformed + info.damaged, 0);
	free(m.data);
	free(m.md);
	env_close(e);
}

/* Hosts that see nothing of it, and those that see each of the types. */
static void hosts(void **state)
{
	struct env_format f = {};

	(void)state;
	for (f.host = 0; f.host <= 3; f.host++) {
		random_commands(&f, 1, 9, 1400, false);
		random_commands(&f, 1, 12, 4300, false);
	}
	f = (struct env_format){ .host = 1, .unchecked = true };
	random_commands(&f, 1, 12, 3300, false);
}

/* Over several targets, with blocks in several packets, and connections that are lost. */
static void cut_and_lost(void **state)
{
	struct env_format f = { .host = 1 };

	(void)state;
	random_commands(&f, 4, 12, 1400, true);
	random_commands(&f, 2, 12, 3300, true);
	f.host = 0;
	random_commands(&f, 4, 9, 1400, true);
}

static void encrypted(void **state)
{
	struct cipher c = { .cipher.crypt = crypt_it };
	struct env_format f = { .cipher = &c.cipher };
	uint8_t key[XTS_KEY];

	(void)state;
	for (int i = 0; i < XTS_KEY; i++)
		key[i] = (uint8_t)i;
	c.xts = xts_new(key);
	random_commands(&f, 1, 9, 1400, false);
	random_commands(&f, 2, 12, 3300, true);
	f.host = 2;
	random_commands(&f, 4, 12, 1400, false);
	random_commands(&f, 1, 12, 4300, true);
	xts_free(c.xts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENV_BOTH(hosts),
		ENV_BOTH(cut_and_lost),
		ENV_BOTH(encrypted),
	};

	return unit_run(tests);
}
