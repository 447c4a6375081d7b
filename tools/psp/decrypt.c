// SPDX-License-Identifier: BSD-2-Clause
/*
 * falcon-psp: a capture of encrypted Falcon packets made readable. What can be opened is written as
 * the clear packet that it would have been (PSP version 15), which the dissector understands.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <pcap/pcap.h>

#include <falcon/receive/parse.h>

#include "base/hex.h"
#include "psp.h"

/* A key of either host's; several hosts may use the same SPI. */
struct known_key {
	struct sa *sa;
	struct known_key *next;
};

struct decryption {
	struct known_key *keys;
	unsigned long packets, opened, locked;	/* all; opened; encrypted, but by no key that we have */
	uint8_t scratch[FRAME_MAX];
	uint8_t out[FRAME_MAX];
};

/* One row of falconctl key export. */
static bool add_key(struct decryption *d, const json_t *row)
{
	const char *hex = json_string_value(json_object_get(row, "key"));
	json_int_t spi = json_integer_value(json_object_get(row, "spi"));
	json_int_t version = json_integer_value(json_object_get(row, "version"));
	struct known_key *k = calloc(1, sizeof(*k));
	uint8_t key[SA_KEY_MAX];
	unsigned int len = version >= 0 && version < 256 ? sa_key_len((uint8_t)version) : 0;

	if (!k || !hex || !len || !hex_read(hex, strlen(hex), "", key, len)) {
		free(k);
		return false;
	}
	k->sa = sa_new(SA_OPEN, (uint8_t)version, (uint32_t)spi, key);
	k->next = d->keys;
	d->keys = k;
	return k->sa != NULL;
}

/* The file has the exports of any number of hosts, one after the other. */
static int read_keys(struct decryption *d, const char *path)
{
	FILE *f = fopen(path, "r");
	json_error_t why = { .line = 1 };
	json_t *rows, *row;
	size_t i;
	int rc = f ? 0 : -1;

	while (rc == 0 && (rows = json_loadf(f, JSON_DISABLE_EOF_CHECK, &why))) {
		json_array_foreach(rows, i, row)
			rc |= add_key(d, row) ? 0 : -1;
		json_decref(rows);
	}
	if (f)
		fclose(f);
	if (rc == 0 && d->keys)
		return 0;
	fprintf(stderr, "falcon-psp: %s: not what falconctl key export prints\n", path);
	return -1;
}

static uint32_t sum16(const uint8_t *p, uint32_t len, uint32_t sum)
{
	for (uint32_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void put16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

/* IP and UDP lengths and checksums of a clear frame whose UDP datagram has |udp_len| bytes. */
static void set_lengths(uint8_t *frame, const struct falcon_frame *f, uint32_t udp_len)
{
	uint8_t *l3 = frame + f->l3_off, *udp = frame + f->udp_off;
	uint32_t addrs = f->ipv6 ? 32 : 8, sum;

	if (f->ipv6) {
		put16(l3 + offsetof(struct ipv6hdr, payload_len), udp_len);
	} else {
		put16(l3 + offsetof(struct iphdr, tot_len), udp_len + sizeof(struct iphdr));
		put16(l3 + offsetof(struct iphdr, check), 0);
		put16(l3 + offsetof(struct iphdr, check),
		      ~sum16(l3, sizeof(struct iphdr), 0) & 0xffff);
	}
	put16(udp + offsetof(struct udphdr, len), udp_len);
	put16(udp + offsetof(struct udphdr, check), 0);
	sum = sum16(udp - addrs, addrs, udp_len + IPPROTO_UDP);
	sum = ~sum16(udp, udp_len, sum) & 0xffff;
	put16(udp + offsetof(struct udphdr, check), sum ? sum : 0xffff);
}

/* ESP's header is as long as PSP's. */
_Static_assert((int)FALCON_ESP_HDR_LEN == (int)FALCON_PSP_HDR_LEN, "headers change places");

/* The opened packet in |frame| as a clear one in d->out. Returns its length. */
static uint32_t make_clear(struct decryption *d, const uint8_t *frame, const struct falcon_frame *f)
{
	uint32_t head = f->sec_off + falcon_sec_len(f);
	struct falcon_psp_hdr *psp = (void *)(d->out + f->sec_off);

	memcpy(d->out, frame, head);
	memcpy(d->out + head, frame + f->falcon_off, f->falcon_len);
	falcon_psp_fill(psp, FALCON_PSP_CLEAR, f->vc, f->spi, f->iv);
	put16(d->out + f->udp_off + offsetof(struct udphdr, dest), FALCON_PSP_UDP_PORT);
	set_lengths(d->out, f, head - f->udp_off + f->falcon_len);
	return head + f->falcon_len;
}

/* Open the copy of a frame, and find in |f| what ESP has hidden. */
static bool open_with(struct sa *sa, uint8_t *frame, struct falcon_frame *f)
{
	uint8_t *packet = frame + f->sec_off, next;
	uint32_t hdr = falcon_sec_len(f);
	int n = sa_open(sa, packet, f->udp_len - (uint32_t)sizeof(struct udphdr), &next);

	if (n < 0 || !falcon_parse_inner(next, packet + hdr, packet + n, f) ||
	    (uint32_t)n < hdr + f->inner_len)
		return false;
	f->falcon_off = (uint16_t)(f->sec_off + hdr + f->inner_len);
	f->falcon_len = (uint16_t)((uint32_t)n - hdr - f->inner_len);
	return true;
}

/* Returns the length of the clear frame in d->out, 0 if |frame| is to stay as it is. */
static uint32_t open_frame(struct decryption *d, const uint8_t *frame, uint32_t len)
{
	struct falcon_frame f;

	if (falcon_parse_frame(frame, frame + len, &f) != FALCON_V_rx_data ||
	    f.encap == FALCON_PSP_CLEAR)
		return 0;
	for (const struct known_key *k = d->keys; k; k = k->next) {
		if (sa_spi(k->sa) != f.spi || falcon_encap_seen(sa_encap(k->sa)) != f.encap)
			continue;
		memcpy(d->scratch, frame, len);
		if (!open_with(k->sa, d->scratch, &f))
			continue;
		d->opened++;
		return make_clear(d, d->scratch, &f);
	}
	d->locked++;
	return 0;
}

static int convert(struct decryption *d, pcap_t *in, pcap_dumper_t *out)
{
	struct pcap_pkthdr *h, clear;
	const uint8_t *data;
	uint32_t len;
	int rc;

	while ((rc = pcap_next_ex(in, &h, &data)) == 1) {
		d->packets++;
		len = h->caplen == h->len && h->len <= FRAME_MAX ? open_frame(d, data, h->len) : 0;
		clear = *h;
		if (len)
			clear.caplen = clear.len = len;
		pcap_dump((uint8_t *)out, &clear, len ? d->out : data);
	}
	if (rc == PCAP_ERROR_BREAK && pcap_dump_flush(out) == 0)
		return 0;
	fprintf(stderr, "falcon-psp: %s\n", pcap_geterr(in));
	return -1;
}

static int convert_files(struct decryption *d, const char *in_path, const char *out_path)
{
	char why[PCAP_ERRBUF_SIZE] = "";
	pcap_t *in = pcap_open_offline(in_path, why);
	pcap_dumper_t *out;
	int rc = -1;

	if (!in) {
		fprintf(stderr, "falcon-psp: %s\n", why);
		return -1;
	}
	out = pcap_datalink(in) == DLT_EN10MB ? pcap_dump_open(in, out_path) : NULL;
	if (out) {
		rc = convert(d, in, out);
		pcap_dump_close(out);
	} else {
		fprintf(stderr, "falcon-psp: %s: %s\n", out_path,
			pcap_datalink(in) == DLT_EN10MB ? pcap_geterr(in)
							: "not a capture of Ethernet frames");
	}
	pcap_close(in);
	return rc;
}

static void free_keys(struct decryption *d)
{
	while (d->keys) {
		struct known_key *k = d->keys;

		d->keys = k->next;
		sa_free(k->sa);
		free(k);
	}
}

int decrypt(const char *in_path, const char *out_path, const char *keys_path)
{
	struct decryption *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return 2;
	rc = read_keys(d, keys_path);
	if (rc == 0)
		rc = convert_files(d, in_path, out_path);
	if (rc == 0)
		printf("%lu packets, %lu decrypted, %lu without a key\n", d->packets, d->opened,
		       d->locked);
	free_keys(d);
	free(d);
	return rc ? 2 : 0;
}
