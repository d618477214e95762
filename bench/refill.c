/* SPDX-License-Identifier: Apache-2.0 */
#include "refill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>

#define DEVICES 4u
#define PROGRAMS_PER_OBJECT 100u /* a kernel for so many objects */
#define CBS_PER_PROGRAM 5u
#define BUFFERS_MIN 16u

struct filler;

struct thread {
	struct filler *filler;
	pthread_t thread;
	uint64_t random;
	uint64_t base; /* of ids, so that threads do not meet */
	size_t buffers_len;
	size_t programs_len;
};

static unsigned mesh_devices; /* 0: no mesh */
static uint32_t mesh;

struct filler {
	struct thread threads[BENCH_REFILL_LANES_MAX];
	unsigned lanes;
	size_t live;
	uint32_t records;
	bool ending;
	pthread_barrier_t begin;
	pthread_barrier_t end;
};

/* -- what a thread does -------------------------------------------------------- */

static uint64_t thread_random(struct thread *thread)
{
	thread->random ^= thread->random << 13;
	thread->random ^= thread->random >> 7;
	thread->random ^= thread->random << 17;
	return thread->random;
}

static enum ttmem_kind buffer_kind(uint64_t id)
{
	uint64_t at = id % 20;

	return at < 14 ? TTMEM_DRAM : at < 19 ? TTMEM_L1 : TTMEM_L1_SMALL;
}

static uint32_t device_of(uint64_t id)
{
	return mesh_devices ? mesh : (uint32_t)(id / 20 % DEVICES);
}

static void buffer_make(struct thread *thread, uint64_t id)
{
	uint64_t random = thread_random(thread);

	ttmem_alloc(device_of(id), buffer_kind(id), id, random & 0xfffffe0,
		(random >> 32 & 0xfffff) + 32);
}

static void buffer_drop(uint64_t id)
{
	ttmem_free(device_of(id), buffer_kind(id), id);
}

static void cb_make(struct thread *thread, uint64_t program, uint64_t cb)
{
	uint64_t random = thread_random(thread);

	ttmem_cb_alloc(device_of(program), program, cb, random & 0xfffe0,
		(random >> 32 & 0x3fff) + 32, 64, 0);
}

/* Of one that is loaded it is a dispatch. */
static void kernel_make(uint64_t program)
{
	ttmem_kernel_load(device_of(program), program, TTMEM_KERNEL_APPLICATION,
		4096 + program % 64 * 512, 64, 0);
}

/* Returns how many records it made. */
static uint32_t thread_step(struct thread *thread)
{
	uint64_t random = thread_random(thread);
	uint64_t id = thread->base + (random >> 8) % thread->buffers_len;
	uint64_t program = thread->base + (random >> 8) % thread->programs_len;

	switch (random % 16) {
	case 0:
	case 1:
		kernel_make(program);
		return 1;
	case 2:
		ttmem_kernel_unload(device_of(program), program);
		kernel_make(program);
		return 2;
	case 3:
	case 4:
	case 5:
		ttmem_cb_free(
			device_of(program), program, random % CBS_PER_PROGRAM);
		cb_make(thread, program, random % CBS_PER_PROGRAM);
		return 2;
	default:
		buffer_drop(id);
		buffer_make(thread, id);
		return 2;
	}
}

static void thread_begin(struct thread *thread)
{
	uint64_t id, cb;

	for (id = 0; id < thread->buffers_len; id++)
		buffer_make(thread, thread->base + id);
	for (id = 0; id < thread->programs_len; id++) {
		kernel_make(thread->base + id);
		for (cb = 0; cb < CBS_PER_PROGRAM; cb++)
			cb_make(thread, thread->base + id, cb);
	}
}

/* A last step of two records where one is wanted makes it one more. */
static void thread_fill(struct thread *thread, uint32_t records)
{
	uint32_t done = 0;

	while (done < records)
		done += thread_step(thread);
}

static void *thread_main(void *argument)
{
	struct thread *thread = argument;
	struct filler *filler = thread->filler;

	thread_begin(thread);
	for (;;) {
		pthread_barrier_wait(&filler->end);
		pthread_barrier_wait(&filler->begin);
		if (filler->ending)
			return NULL;
		thread_fill(thread, filler->records);
	}
}

/* -- the process ---------------------------------------------------------------- */

static bool filler_start(struct filler *filler)
{
	size_t live = filler->live / filler->lanes;
	unsigned i;

	pthread_barrier_init(&filler->begin, NULL, filler->lanes + 1);
	pthread_barrier_init(&filler->end, NULL, filler->lanes + 1);
	for (i = 0; i < filler->lanes; i++) {
		struct thread *thread = &filler->threads[i];

		thread->filler = filler;
		thread->random = 0x9e3779b97f4a7c15u * (i + 1);
		thread->base = (uint64_t)(i + 1) << 32;
		thread->programs_len = live / PROGRAMS_PER_OBJECT + 1;
		thread->buffers_len = live -
			thread->programs_len * (CBS_PER_PROGRAM + 1);
		if (thread->buffers_len > live ||
			thread->buffers_len < BUFFERS_MIN)
			thread->buffers_len = BUFFERS_MIN;
		if (pthread_create(
			    &thread->thread, NULL, thread_main, thread) != 0)
			return false;
	}
	pthread_barrier_wait(&filler->end);
	return true;
}

static bool devices_open(void)
{
	unsigned i, len = mesh_devices ? mesh_devices : DEVICES;
	uint32_t members[BENCH_REFILL_MESH_MAX];
	struct ttmem_device_info info;

	if (ttmem_start(NULL) < 0)
		return false;
	for (i = 0; i < len; i++) {
		members[i] = i;
		ttmem_device_info_init(&info, i);
		info.chip_id = 0x1000 + i;
		info.cores = 64;
		info.l1_base = 0;
		info.l1_top = 1 << 20;
		ttmem_device_open(&info);
	}
	if (mesh_devices)
		mesh = ttmem_mesh_open(members, len);
	return mesh != UINT32_MAX;
}

/* Tells its segment, then fills whenever a number comes, and says so. */
static int filler_main(struct filler *filler, int from, int to)
{
	struct ttmem_status status = { .size = sizeof(status) };
	char path[BENCH_REFILL_PATH_SIZE] = "";

	if (!devices_open() || ttmem_status(&status) < 0 ||
		!filler_start(filler))
		return 1;
	memcpy(path, status.segment, sizeof(status.segment));
	if (write(to, path, sizeof(path)) != (ssize_t)sizeof(path))
		return 1;
	while (read(from, &filler->records, sizeof(filler->records)) ==
		(ssize_t)sizeof(filler->records)) {
		pthread_barrier_wait(&filler->begin);
		pthread_barrier_wait(&filler->end);
		if (write(to, "", 1) != 1)
			break;
	}
	return 0;
}

/* -- from outside ---------------------------------------------------------------- */

static _Noreturn void child_main(unsigned lanes, size_t live, int from, int to)
{
	static struct filler filler;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	filler.lanes = lanes;
	filler.live = live;
	/* Not exit(): its threads wait at a barrier for good. */
	_exit(filler_main(&filler, from, to));
}

static bool read_whole(int fd, char *ret_bytes, size_t size)
{
	ssize_t n;

	for (; size; size -= (size_t)n, ret_bytes += n) {
		n = read(fd, ret_bytes, size);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return false;
	}
	return true;
}

int bench_refill_start(unsigned lanes, size_t live, unsigned mesh_len,
	struct bench_refill *ret_refill)
{
	struct bench_refill refill = { .pid = -1 };
	int down[2], up[2];

	if (lanes == 0 || lanes > BENCH_REFILL_LANES_MAX ||
		mesh_len > BENCH_REFILL_MESH_MAX)
		return -EINVAL;
	mesh_devices = mesh_len;
	if (pipe2(down, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(up, O_CLOEXEC) < 0 || (refill.pid = fork()) < 0)
		return -errno; /* the caller gives up */
	if (refill.pid == 0) {
		close(down[1]);
		close(up[0]);
		child_main(lanes, live, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	refill.to = down[1];
	refill.from = up[0];
	if (!read_whole(refill.from, refill.segment, sizeof(refill.segment))) {
		bench_refill_stop(&refill);
		return -EPIPE;
	}
	*ret_refill = refill;
	return 0;
}

int bench_refill_fill(struct bench_refill *refill, uint32_t records)
{
	char said;

	if (write(refill->to, &records, sizeof(records)) !=
			(ssize_t)sizeof(records) ||
		!read_whole(refill->from, &said, 1))
		return -EPIPE;
	return 0;
}

void bench_refill_stop(struct bench_refill *refill)
{
	close(refill->to);
	close(refill->from);
	waitpid(refill->pid, NULL, 0);
}
