// SPDX-License-Identifier: BSD-2-Clause
/* falcon-psp: a capture into memory. */
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "psp.h"

static int add(struct capture *c, const struct pcap_pkthdr *h, const uint8_t *data, char *err)
{
	struct packet *grown;
	uint8_t *copy;

	if (h->caplen != h->len || h->len > FRAME_MAX || c->n == PACKETS_MAX) {
		snprintf(err, ERROR_LEN, "packet %zu: %s", c->n + 1,
			 c->n == PACKETS_MAX ? "too many" : "not all there, or too long");
		return -1;
	}
	copy = malloc(h->len + !h->len);
	grown = realloc(c->packets, (c->n + 1) * sizeof(*grown));
	if (grown)
		c->packets = grown;
	if (!grown || !copy) {
		free(copy);
		snprintf(err, ERROR_LEN, "packet %zu: no memory", c->n + 1);
		return -1;
	}
	memcpy(copy, data, h->len);
	grown[c->n++] = (struct packet){ .data = copy, .len = h->len };
	return 0;
}

static int read_all(pcap_t *p, struct capture *c, char *err)
{
	struct pcap_pkthdr *h;
	const uint8_t *data;
	int rc;

	if (pcap_datalink(p) != DLT_EN10MB) {
		snprintf(err, ERROR_LEN, "not a capture of Ethernet frames");
		return -1;
	}
	while ((rc = pcap_next_ex(p, &h, &data)) == 1)
		if (add(c, h, data, err))
			return -1;
	if (rc != PCAP_ERROR_BREAK) {
		snprintf(err, ERROR_LEN, "packet %zu: %s", c->n + 1, pcap_geterr(p));
		return -1;
	}
	return 0;
}

int capture_read(FILE *in, struct capture *c, char *err)
{
	char why[PCAP_ERRBUF_SIZE] = "";
	pcap_t *p;
	int rc;

	*c = (struct capture){ 0 };
	p = pcap_fopen_offline(in, why);
	if (!p) {
		fclose(in);
		snprintf(err, ERROR_LEN, "%s", why);
		return -1;
	}
	rc = read_all(p, c, err);
	pcap_close(p);
	if (rc)
		capture_free(c);
	return rc;
}

void capture_free(struct capture *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->packets[i].data);
	free(c->packets);
	*c = (struct capture){ 0 };
}
