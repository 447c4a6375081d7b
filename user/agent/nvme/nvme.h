/* SPDX-License-Identifier: BSD-2-Clause */
/* NVMe over Falcon in the agent: namespaces, devices, and the applications that use them. */
#ifndef FALCON_AGENT_NVME_H
#define FALCON_AGENT_NVME_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct namespace_config;
struct control_client;
struct nvme_config;
struct show_query;	/* agent/conn/rows.h */

/*
 * Open the files of the [namespace] sections: before privileges are given up. 0, or a negative errno,
 * reason logged.
 */
int agent_nvme_prepare(struct agent *a);
/* Namespaces and devices as one upper layer. 0, or a negative errno, reason logged. */
int agent_nvme_open(struct agent *a);
/* Nothing is under way any more. */
void agent_nvme_close(struct agent *a);

/* Requests on the control socket, in the manner of commands.c. */
int agent_nvme_attach(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply);
int agent_nvme_device(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply);
int agent_nvme_connect(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		       json_t **reply);
int agent_nvme_discover(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
			json_t **reply);
int agent_nvme_disconnect(struct agent *a, struct control_client *cl, json_t *req, int *fds,
			  int nfds, json_t **reply);
int agent_namespace_set(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
			json_t **reply);
int agent_namespace_resize(struct agent *a, struct control_client *cl, json_t *req, int *fds,
			   int nfds, json_t **reply);
/*
 * A device of |cfg|, which a section of the file asks for, or a command, with its key read. 0, or a negative
 * errno with |err|. Not in a call.
 */
int agent_nvme_add(struct agent *a, const struct nvme_config *cfg, bool by_file, char *err, size_t errlen);
/* The section |name| has gone, and so does its device, unless a command has made that one. */
void agent_nvme_remove(struct agent *a, const char *name);
/* What a command has made by this name, or NULL; from now on it is as if the file had. */
const struct nvme_config *agent_nvme_by_command(const struct agent *a, const char *name);
void agent_nvme_adopt(struct agent *a, const char *name);
/* Namespace |i| of the configuration has the limits and the ANA state of |fresh| from now on. */
void agent_namespace_change(struct agent *a, unsigned int i, const struct namespace_config *fresh);
int agent_nvme_reset(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		     json_t **reply);
/* The application of |cl| has gone. */
void agent_nvme_gone(struct agent *a, struct control_client *cl);
/* Rows for falconctl: devices; namespaces. */
void agent_show_nvme(struct agent *a, const struct show_query *q, json_t *rows);
void agent_show_namespace(struct agent *a, const struct show_query *q, json_t *rows);
/* The keys of devices that commands have made. */
void agent_nvme_show_config(const struct agent *a, json_t *rows);

#endif /* FALCON_AGENT_NVME_H */
