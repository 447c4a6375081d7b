// SPDX-License-Identifier: BSD-2-Clause
/* Data that are encrypted before they leave the initiator (NVMe 6.7). */
#include "nvme_env.h"

#include <errno.h>
#include <nvme/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <crypto/xts.h>

enum { MIB = 1 << 20 };

struct cipher {
	struct nvme_cipher cipher;
	struct xts *xts;
	bool fail;
	unsigned int released;
};

static bool crypt_it(const struct nvme_cipher *c, bool encrypt, uint64_t unit, const void *in,
		     void *out, uint32_t len, struct nvme_pi *pi)
{
	const struct cipher *x = (const struct cipher *)c;

	return !x->fail && xts_crypt(x->xts, encrypt, unit, in, out, len, pi);
}

static void release_it(struct nvme_cipher *c)
{
	((struct cipher *)c)->released++;
}

static void key_of(uint8_t *key, uint8_t first)
{
	for (int i = 0; i < XTS_KEY; i++)
		key[i] = (uint8_t)(first + i);
}

/* IEEE 1619-2007, vector 10: 512 bytes 00 to ff twice, data unit 0xff. */
static void standard_vector(void **state)
{
	static const uint8_t key1[] = {
		0x27, 0x18, 0x28, 0x18, 0x28, 0x45, 0x90, 0x45, 0x23, 0x53, 0x60,
		0x28, 0x74, 0x71, 0x35, 0x26, 0x62, 0x49, 0x77, 0x57, 0x24, 0x70,
		0x93, 0x69, 0x99, 0x59, 0x57, 0x49, 0x66, 0x96, 0x76, 0x27,
	};
	static const uint8_t key2[] = {
		0x31, 0x41, 0x59, 0x26, 0x53, 0x58, 0x97, 0x93, 0x23, 0x84, 0x62,
		0x64, 0x33, 0x83, 0x27, 0x95, 0x02, 0x88, 0x41, 0x97, 0x16, 0x93,
		0x99, 0x37, 0x51, 0x05, 0x82, 0x09, 0x74, 0x94, 0x45, 0x92,
	};
	static const uint8_t begins[] = { 0x1c, 0x3b, 0x3a, 0x10, 0x2f, 0x77, 0x03, 0x86,
					  0xe4, 0x83, 0x6c, 0x99, 0xe3, 0x70, 0xcf, 0x9b };
	uint8_t key[XTS_KEY], plain[XTS_UNIT], out[XTS_UNIT];
	struct xts *x;

	(void)state;
	memcpy(key, key1, 32);
	memcpy(key + 32, key2, 32);
	for (int i = 0; i < XTS_UNIT; i++)
		plain[i] = (uint8_t)i;
	x = xts_new(key);
	assert_non_null(x);
	assert_true(xts_crypt(x, true, 0xff, plain, out, XTS_UNIT, NULL));
	assert_memory_equal(out, begins, sizeof(begins));
	assert_true(xts_crypt(x, false, 0xff, out, out, XTS_UNIT, NULL));
	assert_memory_equal(out, plain, XTS_UNIT);
	xts_free(x);
	memcpy(key + 32, key, 32);
	assert_null(xts_new(key));
}

/* Sizes and places of all kinds; the stores never see a plain block, and no block twice the same. */
static void end_to_end(void **state)
{
	struct cipher c = { .cipher = { .crypt = crypt_it, .release = release_it } }, other = c;
	uint8_t key[XTS_KEY], *plain = malloc(128 << 10), *back = malloc(128 << 10);
	struct env *e;

	(void)state;
	key_of(key, 1);
	c.xts = xts_new(key);
	key_of(key, 2);
	other.xts = xts_new(key);
	e = env_open_with(2, MIB, 12, MIB, &c.cipher);
	memset(plain, 0x5a, 128 << 10);
	/* nCMDs of 1 KiB cut blocks of 4 KiB. */
	assert_int_equal(env_do(e, nvme_cmd_write, 48, 31, plain), 0);
	assert_int_equal(env_do(e, nvme_cmd_write, 10, 0, plain), 0);
	assert_int_equal(env_do(e, nvme_cmd_read, 48, 31, back), 0);
	assert_memory_equal(back, plain, 128 << 10);
	assert_int_equal(env_do(e, nvme_cmd_read, 79, 0, back), 0);
	assert_memory_equal(back, plain, 4096);
	assert_int_equal(env_do(e, nvme_cmd_compare, 60, 7, plain), 0);
	for (int t = 0; t < 2; t++)
		for (size_t i = 0; i < MIB; i += 512)
			assert_true(memcmp(e->stores[t].bytes + i, plain, 512));
	assert_true(memcmp(e->stores[0].bytes + 48 * 4096, e->stores[0].bytes + 48 * 4096 + 512, 512));
	assert_int_equal(env_do(e, nvme_cmd_write_zeroes, 0, 0, NULL) & 0x7ff,
			 NVME_SC_INVALID_OPCODE);
	/* Another key reads noise. */
	c.cipher = other.cipher;
	struct xts *right = c.xts;
	c.xts = other.xts;
	assert_int_equal(env_do(e, nvme_cmd_read, 10, 0, back), 0);
	assert_true(memcmp(back, plain, 512));
	/* What cannot be encrypted is not sent, and not stored. */
	c.xts = right;
	c.fail = true;
	memcpy(back, e->stores[0].bytes + 40960, 4096);
	assert_true(env_do(e, nvme_cmd_write, 10, 0, plain));
	assert_memory_equal(back, e->stores[0].bytes + 40960, 4096);
	assert_true(env_do(e, nvme_cmd_read, 10, 0, plain));
	assert_int_equal(c.released, 0);
	env_close(e);
	assert_int_equal(c.released, 1);
	xts_free(right);
	xts_free(other.xts);
	free(plain);
	free(back);
}

static int try_file(const char *text, mode_t mode, uint8_t *key)
{
	char path[UNIT_PATH], err[256];
	int fd = mkstemp(unit_template(path, "falcon-xts")), rc;

	assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	fchmod(fd, mode);
	close(fd);
	rc = xts_read_key(path, key, err, sizeof(err));
	unlink(path);
	return rc;
}

static void key_files(void **state)
{
	uint8_t key[XTS_KEY];
	char text[200];

	(void)state;
	for (int i = 0; i < XTS_KEY; i++)
		snprintf(text + 2 * i, 3, "%02X", i);
	assert_int_equal(try_file(text, 0600, key), 0);
	assert_int_equal(key[63], 63);
	assert_int_equal(try_file(text, 0640, key), -EPERM);
	strcat(text, "\n");
	assert_int_equal(try_file(text, 0400, key), 0);
	strcat(text, "0");
	assert_int_equal(try_file(text, 0600, key), -EINVAL);
	text[127] = '\0';
	assert_int_equal(try_file(text, 0600, key), -EINVAL);
	text[5] = 'g';
	assert_int_equal(try_file(text, 0600, key), -EINVAL);
	memset(text, '0', 128);
	text[128] = '\0';
	assert_int_equal(try_file(text, 0600, key), -EINVAL);
	assert_int_equal(xts_read_key("/nonexistent", key, text, sizeof(text)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENV_BOTH(standard_vector),
		ENV_BOTH(end_to_end),
		ENV_BOTH(key_files),
	};

	return unit_run(tests);
}
