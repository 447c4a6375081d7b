// SPDX-License-Identifier: BSD-2-Clause
/*
 * Protection information from the host's buffer to the medium and back (NVMe 6.7): wherever a bit
 * changes, the command that meets it ends with the right status, and nothing wrong is stored.
 */
#include "nvme_env.h"

#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

#include <crypto/xts.h>
#include <falcon/wire/nvme.h>

enum {
	MIB = 1 << 20,
	CODE = 0x7ff,
	GUARD = NVME_SCT_MEDIA << 8 | NVME_SC_GUARD_CHECK,
	APPTAG = NVME_SCT_MEDIA << 8 | NVME_SC_APPTAG_CHECK,
	REFTAG = NVME_SCT_MEDIA << 8 | NVME_SC_REFTAG_CHECK,
	COMPARE = NVME_SCT_MEDIA << 8 | NVME_SC_COMPARE_FAILED,
};

struct cipher {
	struct nvme_cipher cipher;
	struct xts *xts;
};

static bool crypt_it(const struct nvme_cipher *c, bool encrypt, uint64_t unit, const void *in,
		     void *out, uint32_t len, struct nvme_pi *pi)
{
	return xts_crypt(((const struct cipher *)c)->xts, encrypt, unit, in, out, len, pi);
}

static struct cipher new_cipher(uint8_t first)
{
	struct cipher c = { .cipher.crypt = crypt_it };
	uint8_t key[XTS_KEY];

	for (int i = 0; i < XTS_KEY; i++)
		key[i] = (uint8_t)(first + i);
	c.xts = xts_new(key);
	assert_non_null(c.xts);
	return c;
}

static struct nvme_md stored(const struct env *e, unsigned int target, uint64_t lba)
{
	const uint8_t *in = e->metadata[target].bytes + lba * sizeof(struct nvme_md);
	struct nvme_md md;

	for (size_t i = 0; i < sizeof(md); i++)
		((uint8_t *)&md)[i] = (uint8_t)~in[i];
	return md;
}

/* A host that has protection information; |md| is NULL with PRACT. The status. */
static uint16_t host(struct env *e, uint8_t opcode, uint8_t prinfo, uint64_t lba, uint32_t n,
		     void *data, struct nvme_pi *md, uint32_t reftag, uint32_t apptag)
{
	struct nvme_icmd icmd = {
		.sqe = { .opcode = opcode, .cdw10 = (uint32_t)lba, .cdw14 = reftag,
			 .cdw12 = (n - 1) | (uint32_t)prinfo << 26, .cdw15 = apptag },
		.data = data, .md = md,
	};
	struct env_cmd cmd;
	unsigned int done = 0;

	env_start_tagged(e, &cmd, &icmd, &done);
	env_until(e, &done, 1);
	return cmd.status & CODE;
}

/* What a host with 512-byte blocks makes itself. */
static void make(struct nvme_pi *md, const uint8_t *data, uint32_t n, uint32_t reftag)
{
	const struct nvme_pi_tags t = { .type = 1, .reftag = reftag, .apptag = 0x55aa };

	for (uint32_t i = 0; i < n; i++)
		md[i] = nvme_pi_make(&t, i, nvme_pi_crc(0, data + i * 512, 512));
}

/* Flip the bit |wire_at| of the data and metadata of the next packet of a type that has them. */
static void flip(struct env *e, uint8_t *packet, uint32_t len)
{
	struct falcon_nvme_hdr h;

	if (!falcon_nvme_nbth_unpack(packet, len, &h) || !falcon_nvme_has_data(h.type) ||
	    e->wire_at / 8 >= len - falcon_nvme_hdr_len(h.type))
		return;
	packet[falcon_nvme_hdr_len(h.type) + e->wire_at / 8] ^= 1 << e->wire_at % 8;
	e->on_wire = NULL;
}

static void damaged_on_the_wire(const struct env_format *f, uint8_t shift, uint32_t max_len)
{
	struct env *e = env_open_format(1, MIB, shift, MIB, f);
	uint8_t *data = malloc(2 << shift), *back = malloc(2 << shift);

	e->max_len = max_len;
	memset(data, 0x33, 2 << shift);
	assert_int_equal(env_do(e, nvme_cmd_write, 4, 1, data), 0);
	for (e->wire_at = 0; e->wire_at < 1024 * 8; e->wire_at += 41) {
		memset(back, 0x44, 2 << shift);
		e->on_wire = flip;
		assert_int_not_equal(env_do(e, nvme_cmd_write, 4, 1, back) & CODE, 0);
		assert_null(e->on_wire);
		assert_int_equal(env_do(e, nvme_cmd_read, 4, 1, back), 0);
		assert_memory_equal(back, data, 2 << shift);
		e->on_wire = flip;
		assert_int_not_equal(env_do(e, nvme_cmd_read, 4, 1, back) & CODE, 0);
		assert_null(e->on_wire);
		assert_int_equal(env_do(e, nvme_cmd_read, 4, 1, back), 0);
		assert_memory_equal(back, data, 2 << shift);
	}
	free(data);
	free(back);
	env_close(e);
}

/* Behind the transport's own checks, both ways, with blocks whole and cut, in the clear and not. */
static void wire(void **state)
{
	struct cipher c = new_cipher(1);
	const struct env_format clear = {}, encrypted = { .cipher = &c.cipher };

	(void)state;
	damaged_on_the_wire(&clear, 9, 1400);
	damaged_on_the_wire(&clear, 12, 1400);
	damaged_on_the_wire(&encrypted, 9, 1400);
	damaged_on_the_wire(&encrypted, 12, 4300);
	xts_free(c.xts);
}

/* The layouts of NVMe 8.4 and 8.7: which status a bit of which field has. */
static void wire_fields(void **state)
{
	const struct env_format f = {};
	struct env *e = env_open_format(1, MIB, 9, MIB, &f);
	uint8_t data[1024] = { 1 };

	(void)state;
	assert_int_equal(env_do(e, nvme_cmd_write, 4, 1, data), 0);
	for (unsigned int bit = 0; bit < 128; bit++) {
		uint16_t want = bit < 80 ? GUARD : bit < 96 ? APPTAG : REFTAG;

		/* DIF: behind the first block; DIX: behind both. */
		e->wire_at = 512 * 8 + bit;
		e->on_wire = flip;
		assert_int_equal(env_do(e, nvme_cmd_read, 4, 1, data) & CODE, want);
		e->wire_at = 1024 * 8 + bit;
		e->on_wire = flip;
		assert_int_equal(env_do(e, nvme_cmd_write, 4, 1, data) & CODE, want);
	}
	assert_int_equal(env_do(e, nvme_cmd_read, 4, 1, data), 0);
	env_close(e);
}

/* Counts packets with Data Invalid in |wire_at|. */
static void count_invalid(struct env *e, uint8_t *packet, uint32_t len)
{
	struct falcon_nvme_hdr h;

	if (falcon_nvme_nbth_unpack(packet, len, &h) && h.inv &&
	    (h.type == FALCON_NVME_WRITE_DATA || h.type == FALCON_NVME_WRITE_WITH_DATA))
		e->wire_at++;
}

/* Between the host's making of it and our reading: found before the target has it. */
static void host_buffer(void **state)
{
	const struct env_format f = { .host = 1 };
	struct env *e = env_open_format(1, MIB, 9, MIB, &f);
	uint8_t data[4 * 512] = { 1 }, back[sizeof(data)];
	struct nvme_pi md[4];
	const uint8_t prchk = NVME_PRINFO_CHECK;

	(void)state;
	e->on_wire = count_invalid;
	for (unsigned int bit = 0; bit < 512 * 8; bit += 37) {
		make(md, data, 4, 8);
		data[512 + bit / 8] ^= 1 << bit % 8;
		assert_int_equal(host(e, nvme_cmd_write, prchk, 8, 4, data, md, 8, 0xffff55aa), GUARD);
		data[512 + bit / 8] ^= 1 << bit % 8;
	}
	assert_true(e->wire_at >= 512 * 8 / 37);
	make(md, data, 4, 8);
	assert_int_equal(host(e, nvme_cmd_write, prchk, 8, 4, data, md, 8, 0xffff55ab), APPTAG);
	assert_int_equal(host(e, nvme_cmd_write, prchk, 8, 4, data, md, 8, 0xfff055ab), 0);
	md[3].reftag = 0;
	assert_int_equal(host(e, nvme_cmd_write, prchk, 8, 4, data, md, 8, 0xffff55aa), REFTAG);
	assert_int_equal(host(e, nvme_cmd_write, prchk, 9, 4, data, md, 8, 0xffff55aa),
			 NVME_SCT_CMD_SPECIFIC << 8 | NVME_SC_INVALID_PI);
	/* Stored are those that were right. */
	assert_int_equal(host(e, nvme_cmd_read, prchk, 8, 4, back, md, 8, 0xffff55aa), 0);
	assert_memory_equal(back, data, sizeof(data));
	make((struct nvme_pi *)back, data, 4, 8);
	assert_memory_equal(md, back, sizeof(md));
	/* Not checked when written, but when read. */
	data[0] ^= 1;
	assert_int_equal(host(e, nvme_cmd_write, 0, 8, 4, data, md, 0, 0), 0);
	assert_int_equal(host(e, nvme_cmd_read, prchk, 8, 4, back, md, 8, 0xffff55aa), GUARD);
	assert_int_equal(host(e, nvme_cmd_read, 0, 8, 4, back, md, 0, 0), 0);
	assert_memory_equal(back, data, sizeof(data));
	env_close(e);
}

/* PRACT: the initiator makes, checks and takes off. */
static void host_without_metadata(void **state)
{
	const struct env_format f = { .host = 2 };
	struct env *e = env_open_format(1, MIB, 9, MIB, &f);
	uint8_t data[1024] = { 1 }, back[sizeof(data)];
	const uint8_t act = NVME_PRINFO_ACT | NVME_PRINFO_CHECK;
	struct nvme_pi md[2];

	(void)state;
	assert_int_equal(host(e, nvme_cmd_write, act, 8, 2, data, NULL, 77, 0xffff1234), 0);
	assert_int_equal(host(e, nvme_cmd_read, 0, 8, 2, back, md, 0, 0), 0);
	assert_int_equal(falcon_ntoh32(md[1].reftag), 78);
	assert_int_equal(falcon_ntoh16(md[1].apptag), 0x1234);
	assert_int_equal(falcon_ntoh16(md[1].guard), nvme_pi_crc(0, data + 512, 512));
	assert_int_equal(host(e, nvme_cmd_read, act, 8, 2, back, NULL, 77, 0xffff1234), 0);
	assert_int_equal(host(e, nvme_cmd_read, act, 9, 1, back, NULL, 78, 0xffff1234), 0);
	assert_int_equal(host(e, nvme_cmd_read, act, 8, 2, back, NULL, 76, 0xffff1234), REFTAG);
	assert_int_equal(host(e, nvme_cmd_read, act, 8, 2, back, NULL, 77, 0xffff1235), APPTAG);
	/* No metadata, and nobody to make them. */
	assert_int_equal(host(e, nvme_cmd_write, 0, 8, 2, data, NULL, 0, 0), NVME_SC_INVALID_FIELD);
	assert_int_equal(host(e, nvme_cmd_read, 7, 8, 2, data, NULL, 0, 0), NVME_SC_INVALID_FIELD);
	env_close(e);
}

static void types(void **state)
{
	const struct env_format three = { .host = 3 }, none = {};
	struct env *e = env_open_format(1, MIB, 9, MIB, &three);
	uint8_t data[1024] = { 1 };
	struct nvme_pi md[2];

	(void)state;
	/* Type 3: the reference tag is the host's own. */
	assert_int_equal(host(e, nvme_cmd_write, 8, 8, 2, data, NULL, 77, 0), 0);
	assert_int_equal(host(e, nvme_cmd_read, 6, 8, 2, data, md, 0, 0), 0);
	assert_int_equal(falcon_ntoh32(md[1].reftag), 77);
	assert_int_equal(host(e, nvme_cmd_read, 1, 8, 2, data, md, 77, 0),
			 NVME_SCT_CMD_SPECIFIC << 8 | NVME_SC_INVALID_PI);
	memset(md, 0xff, sizeof(md));
	assert_int_equal(host(e, nvme_cmd_write, 6, 8, 2, data, md, 0, 0), 0);
	md[1].reftag = 0;
	assert_int_equal(host(e, nvme_cmd_write, 6, 8, 2, data, md, 0, 0), GUARD);
	env_close(e);
	/* A host that has none may not speak of it. */
	e = env_open_format(1, MIB, 9, MIB, &none);
	assert_int_equal(host(e, nvme_cmd_write, 8, 8, 2, data, NULL, 8, 0), NVME_SC_INVALID_FIELD);
	env_close(e);
}

static void other_commands(void **state)
{
	const struct env_format f = { .host = 1 };
	struct env *e = env_open_format(1, MIB, 9, MIB, &f);
	uint8_t data[1024] = { 1 }, ones[16], back[1024];
	struct nvme_pi md[2];

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	make(md, data, 2, 8);
	assert_int_equal(host(e, nvme_cmd_write, 7, 8, 2, data, md, 8, 0xffff55aa), 0);
	assert_int_equal(host(e, nvme_cmd_compare, 7, 8, 2, data, md, 8, 0xffff55aa), 0);
	/* Protection information is not compared, but checked. */
	assert_int_equal(host(e, nvme_cmd_compare, 8, 8, 2, data, NULL, 8, 0), 0);
	md[0].guard ^= 1;
	assert_int_equal(host(e, nvme_cmd_compare, 7, 8, 2, data, md, 8, 0xffff55aa), GUARD);
	data[700] = 9;
	make(md, data, 2, 8);
	assert_int_equal(host(e, nvme_cmd_compare, 7, 8, 2, data, md, 8, 0xffff55aa), COMPARE);
	assert_int_equal(host(e, nvme_cmd_verify, 7, 8, 2, NULL, NULL, 8, 0), 0);
	e->stores[0].bytes[9 * 512] ^= 1;
	assert_int_equal(host(e, nvme_cmd_verify, 7, 8, 2, NULL, NULL, 8, 0), GUARD);
	assert_int_equal(host(e, nvme_cmd_compare, 7, 9, 1, data, md, 9, 0), REFTAG);
	/* Zeros have no information, which says so. */
	assert_int_equal(host(e, nvme_cmd_write_zeroes, 8, 8, 2, NULL, NULL, 8, 0), 0);
	assert_int_equal(host(e, nvme_cmd_read, 7, 8, 2, back, md, 8, 0xffff55aa), 0);
	assert_int_equal(back[0] | back[1023], 0);
	assert_memory_equal(md, ones, sizeof(md));
	assert_int_equal(host(e, nvme_cmd_verify, 7, 8, 2, NULL, NULL, 8, 0), 0);
	env_close(e);
}

/* Inner tags are of the device's blocks, outer ones of the target's; a command cut between both. */
static void striped(void **state)
{
	const struct env_format f = { .host = 1 };
	struct env *e = env_open_format(2, MIB, 12, 4 * MIB, &f);
	uint8_t *data = calloc(8, 4096);

	(void)state;
	/* Stripes of 64 blocks: device 188..191 are target 0's 124..127, 192..195 target 1's 64..67. */
	assert_int_equal(host(e, nvme_cmd_write, 8 | 7, 188 - 64, 8, data, NULL, 188 - 64, 0), 0);
	for (unsigned int i = 0; i < 8; i++) {
		unsigned int target = i < 4, lba = i < 4 ? 60 + i : 64 + i - 4;
		struct nvme_md md = stored(e, target, lba);

		assert_int_equal(falcon_ntoh32(md.inner.reftag), 124 + i);
		assert_int_equal(falcon_ntoh32(md.outer.reftag), lba);
		assert_int_equal(falcon_ntoh16(md.outer.apptag), lba);
	}
	assert_int_equal(host(e, nvme_cmd_read, 8 | 7, 124, 8, data, NULL, 124, 0), 0);
	assert_int_equal(host(e, nvme_cmd_read, 8 | 7, 129, 1, data, NULL, 129, 0), 0);
	free(data);
	env_close(e);
}

/* The target looks at nothing: the initiator does. */
static void unchecked_target(void **state)
{
	const struct env_format f = { .unchecked = true };
	struct env *e = env_open_format(1, MIB, 9, MIB, &f);
	uint8_t data[1024] = { 1 };
	struct nvme_dev_info info;

	(void)state;
	assert_int_equal(env_do(e, nvme_cmd_write, 8, 1, data), 0);
	assert_int_equal(env_do(e, nvme_cmd_read, 8, 1, data), 0);
	e->stores[0].bytes[9 * 512 + 3] ^= 1;
	assert_int_equal(env_do(e, nvme_cmd_read, 8, 1, data) & CODE, GUARD);
	assert_int_equal(env_do(e, nvme_cmd_verify, 8, 1, NULL), 0);
	nvme_dev_info(e->dev, &info);
	assert_true(info.protected);
	assert_int_equal(info.damaged, 1);
	env_close(e);
}

/* Another initiator's PRACT: the target makes the outer information, whatever has come. */
static void act_on_the_wire(struct env *e, uint8_t *packet, uint32_t len)
{
	struct falcon_nvme_request *r = (struct falcon_nvme_request *)packet;
	struct falcon_nvme_hdr h;

	(void)e;
	assert_true(falcon_nvme_nbth_unpack(packet, len, &h));
	if (h.type == FALCON_NVME_WRITE_REQUEST)
		r->control |= falcon_hton16(NVME_PRINFO_ACT << 2);
	else if (h.type == FALCON_NVME_WRITE_DATA)
		memset(packet + len - 8, 0x99, 8);
}

static void target_acts(void **state)
{
	const struct env_format f = {};
	struct env *e = env_open_format(1, MIB, 12, MIB, &f);
	uint8_t data[4096] = { 1 };

	(void)state;
	e->max_len = 4300;
	e->on_wire = act_on_the_wire;
	assert_int_equal(env_do(e, nvme_cmd_write, 8, 0, data), 0);
	e->on_wire = NULL;
	assert_int_equal(env_do(e, nvme_cmd_read, 8, 0, data), 0);
	env_close(e);
}

/* Neither data nor inner information are on the medium, and a wrong key's noise is not taken for data. */
static void encrypted(void **state)
{
	struct cipher c = new_cipher(1), other = new_cipher(2);
	const struct env_format f = { .cipher = &c.cipher, .host = 1 };
	struct env *e = env_open_format(1, MIB, 9, MIB, &f);
	struct nvme_dsm_range range = { .slba = 8, .nlb = 4 };
	struct nvme_icmd trim = { .sqe = { .opcode = nvme_cmd_dsm, .cdw11 = 4 }, .data = &range };
	uint8_t data[4 * 512], back[sizeof(data)];
	struct nvme_pi md[4], got[4];
	struct xts *right = c.xts;
	struct env_cmd cmd;
	unsigned int done = 0;

	(void)state;
	memset(data, 0x61, sizeof(data));
	make(md, data, 4, 8);
	assert_int_equal(host(e, nvme_cmd_write, 7, 8, 4, data, md, 8, 0xffff55aa), 0);
	assert_int_equal(host(e, nvme_cmd_read, 7, 8, 4, back, got, 8, 0xffff55aa), 0);
	assert_memory_equal(back, data, sizeof(data));
	assert_memory_equal(got, md, sizeof(md));
	for (unsigned int i = 0; i < 4; i++) {
		struct nvme_md at = stored(e, 0, 8 + i);

		assert_true(memcmp(&at.inner, &md[i], sizeof(md[i])));
		assert_true(memcmp(e->stores[0].bytes + (8 + i) * 512, data, 16));
		assert_true(memcmp(e->stores[0].bytes + (8 + i) * 512 + 496, data, 16));
		assert_int_equal(falcon_ntoh32(at.outer.reftag), 8 + i);
	}
	assert_int_equal(host(e, nvme_cmd_compare, 7, 8, 4, data, md, 8, 0xffff55aa), 0);
	assert_int_equal(host(e, nvme_cmd_verify, 7, 8, 4, NULL, NULL, 8, 0), 0);
	c.xts = other.xts;
	assert_int_equal(host(e, nvme_cmd_read, 7, 8, 4, back, got, 8, 0xffff55aa), GUARD);
	assert_true(memcmp(back, data, 512));
	c.xts = right;
	/* Trimmed: zeros, which were never encrypted. */
	env_start_tagged(e, &cmd, &trim, &done);
	env_until(e, &done, 1);
	assert_int_equal(cmd.status, 0);
	assert_int_equal(host(e, nvme_cmd_read, 7, 8, 4, back, got, 8, 0xffff55aa), 0);
	assert_int_equal(back[0] | back[511] | back[2047], 0);
	assert_int_equal(got[0].apptag, UINT16_MAX);
	env_close(e);
	xts_free(right);
	xts_free(other.xts);
}

static void identify(void **state)
{
	const struct env_format f = { .host = 2 };
	struct env *e = env_open_format(1, MIB, 9, MIB, &f);
	struct env_cmd cmd = { .icmd.sqe = { .opcode = nvme_admin_identify, .nsid = 1 } };
	struct nvme_id_ns *id = cmd.icmd.data = malloc(4096);

	(void)state;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	env_submit(e, &cmd);
	assert_int_equal(cmd.status, 0);
	assert_int_equal(id->dps, NVME_NS_DPS_PI_TYPE2);
	assert_int_equal(id->mc, NVME_NS_MC_SEPARATE);
	assert_int_equal(id->lbaf[0].ms, 8);
	assert_int_equal(id->lbaf[0].ds, 9);
	assert_int_equal(id->flbas, 0);
	assert_int_equal(id->dpc & 0x1f, 0x17);
	free(id);
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENV_BOTH(wire),
		ENV_BOTH(wire_fields),
		ENV_BOTH(host_buffer),
		ENV_BOTH(host_without_metadata),
		ENV_BOTH(types),
		ENV_BOTH(other_commands),
		ENV_BOTH(striped),
		ENV_BOTH(unchecked_target),
		ENV_BOTH(target_acts),
		ENV_BOTH(encrypted),
		ENV_BOTH(identify),
	};

	return unit_run(tests);
}
