// SPDX-License-Identifier: BSD-2-Clause
/*
 * falcon-psp --vectors: every clear packet sealed must be the encrypted one, bit for bit, and that
 * opened the clear one. With a forced error the two differ in one bit, and opening must fail.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include <falcon/wire/psp.h>

#include "psp.h"

static const char *const case_files[] = {
	"case.json", "encrypt.cfg", "decrypt.cfg", "cleartext.pcap", "encrypted.pcap",
};

enum { FILE_CASE, FILE_ENCRYPT, FILE_DECRYPT, FILE_CLEAR, FILE_SEALED, N_FILES };

/* The work on one case, and what all came to. */
struct run {
	const struct vector_options *options;
	const char *path;	/* of the case */
	struct psp_case what;
	struct psp_config encrypt, decrypt;
	struct capture clear, sealed;
	struct sa *open;	/* for the packet opened last */
	unsigned long skipped;	/* of this case */
	unsigned long cases, packets, mismatches;
};

static void __attribute__((format(printf, 2, 3))) differs(struct run *r, const char *fmt, ...)
{
	va_list ap;

	if (r->mismatches++ >= r->options->show)
		return;
	fprintf(stderr, "%s", r->path);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	putc('\n', stderr);
}

static int read_file(struct run *r, unsigned int file, FILE *in, char *err)
{
	int rc;

	switch (file) {
	case FILE_CLEAR: return capture_read(in, &r->clear, err);
	case FILE_SEALED: return capture_read(in, &r->sealed, err);
	case FILE_CASE: rc = case_read(in, &r->what, err); break;
	case FILE_ENCRYPT: rc = config_read(in, true, &r->encrypt, err); break;
	default: rc = config_read(in, false, &r->decrypt, err); break;
	}
	fclose(in);
	return rc;
}

static int read_case(struct run *r)
{
	char path[4096], err[ERROR_LEN];
	FILE *in;

	for (unsigned int i = 0; i < N_FILES; i++) {
		snprintf(path, sizeof(path), "%s/%s", r->path, case_files[i]);
		in = fopen(path, "rb");
		if (!in)
			snprintf(err, sizeof(err), "%s", strerror(errno));
		if (!in || read_file(r, i, in, err)) {
			differs(r, "/%s: %s", case_files[i], err);
			return -1;
		}
	}
	return 0;
}

/* A packet that the reference does not encapsulate, and leaves out. */
static bool is_skipped(int err)
{
	return err == SA_ERR_NOT_IP || err == SA_ERR_PROTOCOL || err == SA_ERR_OFFSET;
}

static unsigned long bits_between(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	unsigned long n = 0;

	for (uint32_t i = 0; i < len; i++)
		n += (unsigned long)__builtin_popcount(a[i] ^ b[i]);
	return n;
}

/* What we sealed against what the other implementation did. */
static bool check_sealed(struct run *r, size_t i, const uint8_t *ours, uint32_t len,
			 const struct packet *theirs)
{
	unsigned long want = r->what.forced_bit_error, bits;

	if (len != theirs->len) {
		differs(r, "/cleartext.pcap: packet %zu: sealed, %u bytes and not %u", i + 1, len,
			theirs->len);
		return false;
	}
	bits = bits_between(ours, theirs->data, len);
	if (bits != want)
		differs(r, "/cleartext.pcap: packet %zu: sealed, %lu bits differ and not %lu",
			i + 1, bits, want);
	return bits == want;
}

/* The association of the packet at |psp|, derived from the packet and the master keys alone. */
static struct sa *association(struct run *r, const uint8_t *psp)
{
	uint8_t key[PSP_KEY_MAX];
	struct falcon_psp_hdr h;
	uint32_t spi;
	uint8_t version;

	memcpy(&h, psp, sizeof(h));
	spi = falcon_ntoh32(h.spi);
	version = falcon_psp_version(&h);
	if (r->open && sa_spi(r->open) == spi && sa_encap(r->open) == version)
		return r->open;
	sa_free(r->open);
	r->open = NULL;
	if (!psp_kdf(r->decrypt.masters.key[psp_master_index(spi)], spi, version, key))
		r->open = sa_new(SA_OPEN, version, spi, key);
	OPENSSL_cleanse(key, sizeof(key));
	return r->open;
}

/* Returns the clear frame's length, in |out|, or an enum sa_error. */
static int open_packet(struct run *r, const struct packet *sealed, uint8_t *out)
{
	static uint8_t work[FRAME_MAX];
	struct psp_frame f;
	struct sa *sa;
	int err;

	memcpy(work, sealed->data, sealed->len);
	err = psp_frame_find(work, sealed->len, &f);
	if (err)
		return err;
	sa = association(r, work + f.psp_off);
	return sa ? psp_decap(sa, work, &f, out, FRAME_MAX) : SA_ERR_VERSION;
}

/* The length of a frame that was encapsulated, without padding. */
static uint32_t ip_frame_len(const uint8_t *frame)
{
	bool ipv6 = frame[12] == 0x86;
	const uint8_t *len = frame + 14 + (ipv6 ? 4 : 2);

	return 14 + (ipv6 ? 40u : 0u) + (uint32_t)(len[0] << 8 | len[1]);
}

static bool check_opened(struct run *r, size_t i, const struct packet *sealed,
			 const struct packet *clear)
{
	static uint8_t out[FRAME_MAX];
	int len = open_packet(r, sealed, out);
	const char *why = NULL;

	if (r->what.forced_bit_error)
		why = len >= 0 ? "opened, in spite of the forced error" : NULL;
	else if (len < 0)
		why = sa_strerror(len);
	else if ((uint32_t)len != ip_frame_len(clear->data) || memcmp(out, clear->data, (size_t)len))
		why = "opened, not the clear packet";
	if (why)
		differs(r, "/encrypted.pcap: packet %zu: %s", i + 1, why);
	return !why;
}

/* Both ways count as one mismatch at most. */
static void check_packet(struct run *r, size_t clear, size_t sealed, const uint8_t *ours,
			 uint32_t len)
{
	const struct packet *theirs = &r->sealed.packets[sealed];
	unsigned long before = r->mismatches;

	check_sealed(r, clear, ours, len, theirs);
	check_opened(r, sealed, theirs, &r->clear.packets[clear]);
	if (r->mismatches > before)
		r->mismatches = before + 1;
}

static void check_packets(struct run *r, struct sa *sa)
{
	static uint8_t out[FRAME_MAX];
	size_t sealed = 0;

	for (size_t i = 0; i < r->clear.n; i++) {
		const struct packet *p = &r->clear.packets[i];
		int len = psp_encap(sa, &r->encrypt.encap, r->what.first_iv, p->data, p->len, out,
				    sizeof(out));

		r->packets++;
		if (is_skipped(len))
			r->skipped++;
		else if (len < 0)
			differs(r, "/cleartext.pcap: packet %zu: %s", i + 1, sa_strerror(len));
		else if (sealed == r->sealed.n)
			differs(r, "/cleartext.pcap: packet %zu: not in encrypted.pcap", i + 1);
		else
			check_packet(r, i, sealed++, out, (uint32_t)len);
	}
	for (; sealed < r->sealed.n; sealed++) {
		r->packets++;
		differs(r, "/encrypted.pcap: packet %zu: not in cleartext.pcap", sealed + 1);
	}
}

static void check_count(struct run *r, const char *name, long want, size_t got)
{
	if (want >= 0 && (size_t)want != got)
		differs(r, "/case.json: \"%s\" is %ld and not %zu", name, want, got);
}

static void check_case(struct run *r)
{
	const struct psp_config *c = &r->encrypt;
	uint8_t key[PSP_KEY_MAX];
	struct sa *sa;

	psp_kdf(c->masters.key[psp_master_index(c->spi)], c->spi, c->version, key);
	if (r->what.derived_key_len && (r->what.derived_key_len != psp_key_len(c->version) ||
					memcmp(key, r->what.derived_key, psp_key_len(c->version))))
		differs(r, "/case.json: \"derived_key\" is not the key derived");
	sa = sa_new(SA_SEAL, c->version, c->spi, key);
	OPENSSL_cleanse(key, sizeof(key));
	if (!sa) {
		differs(r, ": %s", sa_strerror(SA_ERR_CRYPTO));
		return;
	}
	check_packets(r, sa);
	sa_free(sa);
	check_count(r, "cleartext_packets", r->what.cleartext_packets, r->clear.n);
	check_count(r, "encrypted_packets", r->what.encrypted_packets, r->sealed.n);
	check_count(r, "skipped_packets", r->what.skipped_packets, r->skipped);
}

static void one_case(struct run *r, const char *path)
{
	r->path = path;
	r->cases++;
	r->skipped = 0;
	if (!read_case(r))
		check_case(r);
	sa_free(r->open);
	r->open = NULL;
	capture_free(&r->clear);
	capture_free(&r->sealed);
	OPENSSL_cleanse(&r->encrypt, sizeof(r->encrypt));
	OPENSSL_cleanse(&r->decrypt, sizeof(r->decrypt));
}

/* A folder with any file of a case in it is meant as one. */
static bool is_case(const char *path)
{
	char file[4096];

	for (unsigned int i = 0; i < N_FILES; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, case_files[i]);
		if (!access(file, F_OK))
			return true;
	}
	return false;
}

static int all_cases(struct run *r, const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);
	char sub[2048];

	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		snprintf(sub, sizeof(sub), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.' && is_case(sub))
			one_case(r, sub);
		free(names[i]);
	}
	free(names);
	return 0;
}

int vectors(const char *path, const struct vector_options *o)
{
	struct run r = { .options = o };

	if (is_case(path))
		one_case(&r, path);
	else if (all_cases(&r, path))
		fprintf(stderr, "falcon-psp: %s: %s\n", path, strerror(errno));
	else if (!r.cases)
		fprintf(stderr, "falcon-psp: %s: no case in it\n", path);
	if (!r.cases)
		return 2;
	if (o->json)
		print_json(json_pack("{s:I, s:I, s:I}", "cases", (json_int_t)r.cases, "packets",
				     (json_int_t)r.packets, "mismatches", (json_int_t)r.mismatches));
	else
		printf("%lu packets, %lu mismatches\n", r.packets, r.mismatches);
	return r.mismatches != 0;
}
