// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rdma_cm device that the library stands in for, used by several threads; the agent is here. It
 * orders nothing: what the sanitizer sees is the library's own state.
 */
#include "verbs/threads.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "verbs/cm.h"
#include "verbs/fv.h"

enum {
	MAKERS = 2,
	TAKERS = 2,
	IDS = 500,		/* of a maker */
	LIFE = 10,		/* calls that an agent lives for, if agents die */
	ROUNDS = 200,
};

static unsigned int ids;		/* made */
static unsigned int told;		/* of these, in events */
static unsigned int seen[MAKERS * IDS + 1];
static unsigned int calls;
static unsigned int agents;		/* attached to */
static bool mortal;
static int agent_end;			/* of a channel's socket; -1: nobody listens */

int fv_agent_open(struct fv_agent *agent, void (*lost)(struct fv_agent *agent))
{
	(void)lost;
	memset(agent, 0, sizeof(*agent));
	add(&agents, 1);
	return 0;
}

/* |devices| counts the calls under way. */
void fv_agent_close(struct fv_agent *agent)
{
	REQUIRE(get(&agent->devices) == 0);
	memset(agent, 0xff, sizeof(*agent));
}

void *fv_real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static int create_id(struct fverbs_cm_answer *a)
{
	a->id = add(&ids, 1);
	REQUIRE(agent_end < 0 || send(agent_end, "", 1, MSG_NOSIGNAL) == 1);
	return 0;
}

static int serve(const struct fverbs_cm_req *q, int fd, void *out)
{
	switch (q->what) {
	case FVERBS_CM_OPEN_CHANNEL:
		if (!mortal)
			agent_end = dup(fd);
		((struct fverbs_cm_answer *)out)->id = 1;
		return 0;
	case FVERBS_CM_CREATE_ID:
		return create_id(out);
	case FVERBS_CM_GET_EVENT:
		((struct fverbs_cm_event *)out)->id = add(&told, 1);
		return 0;
	default:
		return 0;
	}
}

int fv_call(struct fv_agent *agent, enum fverbs_op op, const void *req, size_t len, int fd,
	    void *out, size_t out_len)
{
	int rc = EIO;

	REQUIRE(op == FVERBS_CM && len == sizeof(struct fverbs_cm_req));
	add(&agent->devices, 1);
	/* Others are to find it dead meanwhile. */
	for (int i = 0; mortal && i < 4; i++)
		sched_yield();
	if (mortal && add(&calls, 1) % LIFE == 0)
		falcon_store(&agent->state, (uint32_t)FV_DEAD);
	if (fv_live(agent)) {
		if (out_len)
			memset(out, 0, out_len);
		rc = serve(req, fd, out);
	}
	add(&agent->devices, -1);
	errno = rc;
	return rc;
}

/* Commands as librdmacm writes them. */
struct create {
	struct rdma_ucm_cmd_hdr hdr;
	struct rdma_ucm_create_id body;
};

struct get {
	struct rdma_ucm_cmd_hdr hdr;
	struct rdma_ucm_get_event body;
};

static ssize_t create(int chan, uint32_t *id)
{
	struct rdma_ucm_create_id_resp resp = { 0 };
	struct create c = {
		.hdr = { RDMA_USER_CM_CMD_CREATE_ID, sizeof(c.body), sizeof(resp) },
		.body = { .response = (uintptr_t)&resp },
	};
	ssize_t n = write(chan, &c, sizeof(c));

	*id = resp.id;
	return n;
}

static void *make(void *arg)
{
	uint32_t id;

	for (int i = 0; i < IDS; i++)
		REQUIRE(create(*(int *)arg, &id) == sizeof(struct create) && id);
	return NULL;
}

/* Every event is somebody's. */
static void *take(void *arg)
{
	for (int i = 0; i < MAKERS * IDS / TAKERS; i++) {
		struct rdma_ucm_event_resp resp = { 0 };
		struct get c = {
			.hdr = { RDMA_USER_CM_CMD_GET_EVENT, sizeof(c.body), sizeof(resp) },
			.body = { .response = (uintptr_t)&resp },
		};

		REQUIRE(write(*(int *)arg, &c, sizeof(c)) == sizeof(c));
		REQUIRE(resp.id <= MAKERS * IDS && add(&seen[resp.id], 1) == 1);
	}
	return NULL;
}

static void one_channel_for_all(void **state)
{
	pthread_t threads[MAKERS + TAKERS];
	int chan = fv_cm_open(O_RDWR);

	(void)state;
	assert_true(chan >= 0);
	for (int i = 0; i < MAKERS + TAKERS; i++)
		threads[i] = start(i < MAKERS ? make : take, &chan);
	join(threads, MAKERS + TAKERS);
	assert_int_equal(close(chan), 0);
	close(agent_end);
	for (int i = 1; i <= MAKERS * IDS; i++)
		assert_int_equal(seen[i], 1);
	assert_int_equal(agents, 1);
}

/* Open a channel, use it as long as there is an agent, and close it. */
static void *use_channels(void *arg)
{
	struct stat st;
	uint32_t id;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		int chan = fv_cm_open(O_RDWR);

		/* The agent may die at any time, and the next attempt finds another. */
		if (chan < 0) {
			REQUIRE(errno == EIO);
			continue;
		}
		REQUIRE(fstat(chan, &st) == 0 && S_ISCHR(st.st_mode));
		for (int n = 0; n < 4; n++)
			REQUIRE(create(chan, &id) == sizeof(struct create) || errno == EIO);
		REQUIRE(close(chan) == 0);
	}
	return NULL;
}

static void channels_of_their_own_and_agents_that_die(void **state)
{
	pthread_t threads[MAKERS + TAKERS];

	(void)state;
	mortal = true;
	agent_end = -1;
	for (int i = 0; i < MAKERS + TAKERS; i++)
		threads[i] = start(use_channels, NULL);
	join(threads, MAKERS + TAKERS);
	assert_true(agents > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_channel_for_all),
		cmocka_unit_test(channels_of_their_own_and_agents_that_die),
	};

	return unit_run(tests);
}
