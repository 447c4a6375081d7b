// SPDX-License-Identifier: BSD-2-Clause
/* The host and the applications of rdma_obj_env.h. */
#include "rdma_obj_env.h"

struct env env;
struct env_app app;

/* ---- the host ------------------------------------------------------------------------------ */

static bool there(const struct env_proc *p, uint64_t at)
{
	if (at < ENV_PROC_BASE || at >= ENV_PROC_BASE + ENV_PROC_SIZE)
		return false;
	for (int i = 0; i < ENV_HOLES; i++)
		if (at >= p->holes[i].from && at < p->holes[i].to)
			return false;
	return true;
}

/* Byte by byte, so that every kind of stop is seen; -EFAULT only if nothing was copied. */
static ssize_t copy(struct env_proc *p, const struct iovec *local, unsigned int nlocal,
		    const struct iovec *remote, unsigned int nremote, bool write)
{
	unsigned int l = 0;
	size_t off = 0;
	ssize_t n = 0;

	if (p->gone)
		return -ESRCH;
	env.pieces += nremote;
	for (unsigned int i = 0; i < nremote; i++) {
		for (size_t b = 0; b < remote[i].iov_len; b++, n++) {
			uint64_t at = (uintptr_t)remote[i].iov_base + b;
			uint8_t *mine;

			if (!there(p, at))
				return n ? n : -EFAULT;
			while (off == local[l].iov_len) {
				assert_true(++l < nlocal);
				off = 0;
			}
			mine = (uint8_t *)local[l].iov_base + off++;
			if (write)
				p->memory[at - ENV_PROC_BASE] = *mine;
			else
				*mine = p->memory[at - ENV_PROC_BASE];
		}
	}
	assert_true(l == nlocal - 1 && off == local[l].iov_len);
	return n;
}

/* The thread that calls is held up: another goes on from where the test has said. */
static void be_late(void)
{
	jmp_buf *to = env.late;

	env.late = NULL;
	if (to)
		longjmp(*to, 1);
}

static ssize_t host_read(void *arg, void *proc, const struct iovec *local, unsigned int nlocal,
			 const struct iovec *remote, unsigned int nremote)
{
	(void)arg;
	env.reads++;
	be_late();
	return copy(proc, local, nlocal, remote, nremote, false);
}

static ssize_t host_write(void *arg, void *proc, const struct iovec *local, unsigned int nlocal,
			  const struct iovec *remote, unsigned int nremote)
{
	(void)arg;
	env.writes++;
	be_late();
	return copy(proc, local, nlocal, remote, nremote, true);
}

static uint64_t host_rest(void *arg, void *proc)
{
	uint64_t *until = &env.rest[(struct env_proc *)proc - env.procs];

	(void)arg;
	if (env.tires_after && !--env.tires_after)
		*until = env.r->now + env.rest_for;
	return *until;
}

static void host_close(void *arg, uint32_t uid, int fd)
{
	(void)arg, (void)uid;
	assert_true(fd >= 0 && fd < ENV_FDS && env.fds[fd].kind != ENV_CLOSED);
	env.fds[fd].kind = ENV_CLOSED;
}

static int host_memory(void *arg, void *proc, int fd, char *err, size_t errlen)
{
	const struct env_proc *p = proc;

	if (p->memory_refused) {
		snprintf(err, errlen, "not this one's");
		return -EACCES;
	}
	if (fd >= 0)
		host_close(arg, 0, fd);
	return 0;
}

static unsigned int host_devices(void *arg, struct fverbs_device *out)
{
	(void)arg;
	memcpy(out, env.devices, sizeof(env.devices));
	return env.ndevices;
}

static int host_send(void *arg, int fd, const void *data, size_t len)
{
	struct env_fd *f = &env.fds[fd];

	(void)arg;
	assert_true(f->kind == ENV_SOCKET);
	if (f->nsent + len > f->room)
		return -EAGAIN;
	memcpy(f->sent + f->nsent, data, len);
	f->nsent += len;
	return 0;
}

static void *host_map(void *arg, int fd, uint64_t *size, char *err, size_t errlen)
{
	(void)arg;
	if (env.fds[fd].kind != ENV_MEMFD) {
		snprintf(err, errlen, "not a memfd");
		return NULL;
	}
	env.fds[fd].kind = ENV_CLOSED;
	env.maps++;
	*size = ENV_AREA_SIZE;
	return aligned_alloc(4096, ENV_AREA_SIZE);
}

void env_close_answer(int fd)
{
	if (fd >= 0)
		host_close(NULL, 0, fd);
}

static int host_memory_new(void *arg, uint64_t size, void **base, int *fd, char *err, size_t errlen)
{
	(void)arg;
	if (env.memory_refused) {
		snprintf(err, errlen, "there is none left");
		return -ENOSPC;
	}
	*base = calloc(1, size);
	assert_non_null(*base);
	*fd = env_fd(ENV_MEMFD, 0);
	return (int)env.memories++ + ENV_MEMORY;
}

static void host_memory_free(void *arg, uint32_t index, void *base, uint64_t size)
{
	(void)arg, (void)size;
	assert_true(index >= ENV_MEMORY);
	env.memories_freed++;
	free(base);
}

/* Of the latest region all is kept. */
static int host_region_add(void *arg, uint32_t key, const struct falcon_region *region)
{
	(void)arg;
	if (env.regions_refused)
		return -E2BIG;
	env.region_key = key;
	env.region = *region;
	env.regions++;
	return 0;
}

static void host_region_del(void *arg, uint32_t key)
{
	(void)arg;
	assert_true(env.regions > 0);
	if (key == env.region_key)
		env.region_key = 0;
	env.regions--;
}

static void host_unmap(void *arg, void *base, uint64_t size)
{
	(void)arg;
	assert_int_equal(size, ENV_AREA_SIZE);
	env.maps--;
	free(base);
}

static void host_wake(void *arg, uint32_t *word)
{
	(void)arg, (void)word;
	env.wakes++;
}

static int host_file_id(void *arg, int fd, struct rdma_file_id *out)
{
	(void)arg;
	if (env.fds[fd].kind != ENV_FILE)
		return -EBADF;
	*out = (struct rdma_file_id){ .device = 1, .inode = env.fds[fd].inode };
	return 0;
}

static bool host_is_socket(void *arg, int fd)
{
	(void)arg;
	return env.fds[fd].kind == ENV_SOCKET;
}

static int host_charge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount, char *err,
		       size_t errlen)
{
	(void)arg, (void)uid;
	if (env.limit[what] && amount > env.limit[what] - env.charged[what]) {
		snprintf(err, errlen, "limit");
		return -EDQUOT;
	}
	env.charged[what] += amount;
	return 0;
}

static void host_uncharge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount)
{
	(void)arg, (void)uid;
	assert_true(env.charged[what] >= amount);
	env.charged[what] -= amount;
}

/* ---- applications ---------------------------------------------------------------------------- */

void env_open(void)
{
	const struct rdma_host host = {
		.read = host_read,
		.write = host_write,
		.rest = host_rest,
		.memory = host_memory,
		.devices = host_devices,
		.send = host_send,
		.map = host_map,
		.unmap = host_unmap,
		.wake = host_wake,
		.close = host_close,
		.file_id = host_file_id,
		.is_socket = host_is_socket,
		.charge = host_charge,
		.uncharge = host_uncharge,
		.memory_new = host_memory_new,
		.memory_free = host_memory_free,
		.region_add = host_region_add,
		.region_del = host_region_del,
		.boot = 0x1234567887654321,
	};

	memset(&env, 0, sizeof(env));
	env.ndevices = 1;
	env.devices[0] = (struct fverbs_device){ .name = "falcon0", .ngids = 1, .port_state = 4 };
	env.devices[0].gids[0].raw[15] = 1;
	env.r = rdma_create(&host);
	assert_non_null(env.r);
}

void env_close(void)
{
	rdma_destroy(env.r);
	assert_int_equal(env.maps, 0);
	assert_int_equal(env.links, 0);
	for (int i = 0; i < RDMA_CHARGES; i++)
		assert_int_equal(env.charged[i], 0);
	for (int i = 0; i < ENV_QPS; i++)
		assert_null(env.qps[i]);
	for (int i = 0; i < ENV_FDS; i++)
		assert_int_equal(env.fds[i].kind, ENV_CLOSED);
}

int env_fd(int kind, size_t room)
{
	int fd = 0;

	while (env.fds[fd].kind != ENV_CLOSED)
		assert_true(++fd < ENV_FDS);
	env.fds[fd] = (struct env_fd){ .kind = kind, .room = room };
	return fd;
}

bool env_take(int fd, void *out, size_t len)
{
	struct env_fd *f = &env.fds[fd];

	if (f->nsent < len)
		return false;
	memcpy(out, f->sent, len);
	f->nsent -= len;
	memmove(f->sent, f->sent + len, f->nsent);
	return true;
}

void env_attach(struct env_app *app, unsigned int proc)
{
	const struct fverbs_hello hello = { .version = FVERBS_ABI_VERSION };
	const struct rdma_owner owner = { .proc = &env.procs[proc], .uid = 1000, .pid = 7 };
	struct fverbs_ctx_shm *shm = aligned_alloc(4096, ENV_AREA_SIZE);
	char err[256];

	memset(shm, 0, ENV_AREA_SIZE);
	shm->magic = FVERBS_SHM_MAGIC;
	shm->version = FVERBS_SHM_VERSION;
	*app = (struct env_app){ .proc = owner.proc, .area = (uint8_t *)shm, .error = "" };
	app->async = env_fd(ENV_SOCKET, ENV_SENT_MAX);
	app->next_offset = 4096;
	app->ctx = rdma_ctx_open(env.r, &owner, shm, ENV_AREA_SIZE, app->async, err, sizeof(err));
	assert_non_null(app->ctx);
	env.maps++;
	assert_int_equal(env_call(app, FVERBS_HELLO, &hello, sizeof(hello), -1), 0);
}

void env_detach(struct env_app *app)
{
	rdma_ctx_close(app->ctx);
	host_close(NULL, 0, app->async);
}

int env_set_up(void **state)
{
	(void)state;
	env_open();
	env_attach(&app, 0);
	return 0;
}

int env_tear_down(void **state)
{
	(void)state;
	if (app.ctx)
		env_detach(&app);
	env_close();
	return 0;
}

int env_call(struct env_app *app, uint16_t op, const void *req, size_t len, int fd)
{
	const struct fverbs_reply *reply = &app->answer.reply;
	uint8_t msg[FVERBS_MSG_MAX];
	struct fverbs_cmd cmd = { .op = op, .tag = 99 };
	int n, out_fd;

	memcpy(msg, &cmd, sizeof(cmd));
	if (len)
		memcpy(msg + sizeof(cmd), req, len);
	n = rdma_command(app->ctx, msg, sizeof(cmd) + len, fd, &app->answer, &out_fd);
	env_close_answer(out_fd);
	assert_true(n >= (int)sizeof(*reply) && n < FVERBS_MSG_MAX);
	assert_int_equal(reply->tag, 99);
	app->answer.bytes[n] = 0;
	app->error = reply->error ? env_answer(app) : "";
	/* An error is explained. */
	assert_true(!reply->error || n > (int)sizeof(*reply));
	return reply->error;
}

const void *env_answer(const struct env_app *app)
{
	return app->answer.bytes + sizeof(struct fverbs_reply);
}

uint32_t env_handle(struct env_app *app, uint16_t op, uint32_t arg)
{
	const struct fverbs_handle req = { .handle = arg };

	assert_int_equal(env_call(app, op, &req, sizeof(req), -1), 0);
	return ((const struct fverbs_handle *)env_answer(app))->handle;
}

int env_drop(struct env_app *app, uint16_t op, uint32_t handle)
{
	const struct fverbs_handle req = { .handle = handle };

	return env_call(app, op, &req, sizeof(req), -1);
}

struct fverbs_place env_place(struct env_app *app, uint32_t entries, uint32_t stride)
{
	struct fverbs_place place = { .entries = entries, .stride = stride,
				      .offset = app->next_offset };

	app->next_offset += RDMA_RING_HDR + entries * stride;
	assert_true(app->next_offset <= ENV_AREA_SIZE);
	return place;
}

uint32_t env_pd(struct env_app *app)
{
	return env_handle(app, FVERBS_ALLOC_PD, 0);
}

struct fverbs_mr env_reg(struct env_app *app, uint32_t pd, uint64_t addr, uint64_t len,
			 uint32_t access)
{
	const struct fverbs_reg_mr req = { .pd = pd, .addr = addr, .iova = addr, .length = len,
					   .access = access };

	assert_int_equal(env_call(app, FVERBS_REG_MR, &req, sizeof(req), -1), 0);
	return *(const struct fverbs_mr *)env_answer(app);
}

uint32_t env_cq(struct env_app *app, uint32_t entries, uint32_t channel_plus_1,
		struct fverbs_place *place)
{
	struct fverbs_create_cq req = { .place = env_place(app, entries, 64), .cookie = 0xc0,
					.channel_plus_1 = channel_plus_1 };

	if (place)
		*place = req.place;
	assert_int_equal(env_call(app, FVERBS_CREATE_CQ, &req, sizeof(req), -1), 0);
	return ((const struct fverbs_handle *)env_answer(app))->handle;
}

uint32_t env_qp(struct env_app *app, uint32_t pd, uint32_t cq, uint32_t slot)
{
	const struct fverbs_create_qp req = { .sq = env_place(app, 4, 128), .pd = pd, .send_cq = cq,
					      .recv_cq = cq, .slot = slot, .type = IBV_QPT_RC,
					      .cookie = 0x9f };

	assert_int_equal(env_call(app, FVERBS_CREATE_QP, &req, sizeof(req), -1), 0);
	return ((const struct fverbs_handle_num *)env_answer(app))->handle;
}

struct rdma_qp *env_qp_of(struct env_app *app, uint32_t handle)
{
	return rdma_qp_of_handle(app->ctx, handle);
}

void *env_at(const struct env_app *app, const struct fverbs_place *place)
{
	return app->area + place->offset;
}
