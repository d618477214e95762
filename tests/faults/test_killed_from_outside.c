/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process killed by another one, wherever its two threads happen to be, leaves
 * a segment that reads well and in which at most one operation per lane is half
 * done. What it had finished before is all there.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "faults/killed.h"

#include "support/calls.h"

enum {
	KILLS = 150,
	OLD = 40,    /* objects that nobody touches again */
	BUSY = 3000, /* ids: enough for growth in the middle */
};

/* Shared with the child: the worker's last finished sweep. */
struct progress {
	atomic_bool ready;
	atomic_uint
		finished; /* objects of the quiet kind, allocated in order */
};

static struct progress *progress;
static const char *dir;

void setUp(void)
{
	dir = test_dir_make();
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT_TRUE(progress != MAP_FAILED);
}

void tearDown(void)
{
	munmap(progress, sizeof(*progress));
	test_dir_remove();
}

static void everything_once(uint64_t i)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh = ttmem_mesh_open(members, 2);
	char name[32];

	snprintf(name, sizeof(name), "scope %d", (int)(i % 1500));
	ttmem_scope_push(name, 0);
	ttmem_alloc(mesh, TTMEM_L1, i % BUSY, 0, 100 + i % 100000);
	ttmem_alloc(0, TTMEM_TRACE, i % BUSY, 0, 10);
	ttmem_cb_alloc(0, i % 5, i % 7, 0, 10, 1 + i % 3, 0);
	ttmem_kernel_load(
		0, i % 11, TTMEM_KERNEL_APPLICATION, 8, 1 + i / 11 % 2, 0);
	ttmem_free(mesh, TTMEM_L1, (i + BUSY / 2) % BUSY);
	ttmem_scope_pop();
	if (i % 50 == 0)
		ttmem_program_destroy(0, i % 5);
	if (i % 97 == 0)
		ttmem_cb_free_all(0);
	if (i % 31 == 0)
		call_alloc_failed(1, TTMEM_DRAM, 10, 5);
	if (i % 29 == 0)
		ttmem_mark("a mark");
	ttmem_mesh_close(mesh);
}

static void *other_main(void *argument)
{
	uint64_t i;

	(void)argument;
	for (i = 0;; i++) {
		ttmem_alloc(0, TTMEM_DRAM, OLD + i, 0, 1000);
		atomic_store(&progress->finished, (unsigned)i + 1);
		everything_once(3 * i);
	}
	return NULL;
}

static void child_main(void)
{
	pthread_t thread;
	uint64_t i;

	/* It has no end of its own. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < OLD; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 1000);
	if (pthread_create(&thread, NULL, other_main, NULL))
		_exit(1);
	atomic_store(&progress->ready, true);
	for (i = 0;; i++)
		everything_once(i);
}

/* Anywhere between at once and two milliseconds. */
static void random_instant(uint64_t *seed)
{
	struct timespec pause = { 0, 0 };

	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	pause.tv_nsec = (long)(*seed >> 33) % 2000000;
	nanosleep(&pause, NULL);
}

static void check_left(pid_t pid)
{
	unsigned finished = atomic_load(&progress->finished);
	uint64_t kept = 0;
	char why[600];
	struct segment *segment = killed_take(dir, pid, 2, why, sizeof(why));
	size_t i;

	TEST_ASSERT_TRUE_MESSAGE(segment, why[0] ? why : "no segment");
	for (i = 0; i < segment->objects_len; i++)
		kept += segment->objects[i].figure == TTMEM_FIGURE_DRAM;
	/* The last one may be in before it is called finished. */
	TEST_ASSERT_TRUE(kept == OLD + finished || kept == OLD + finished + 1);
	segment_unref(&segment);
}

static void test_random_instants_leave_one_operation_per_lane_half_done(void)
{
	uint64_t seed = (uint64_t)getpid(), kills = test_scale(KILLS), i;
	int status;
	pid_t pid;

	printf("seed %d\n", (int)seed);
	for (i = 0; i < kills; i++) {
		atomic_store(&progress->ready, false);
		atomic_store(&progress->finished, 0);
		fflush(NULL);
		pid = fork();
		TEST_ASSERT_TRUE(pid >= 0);
		if (!pid)
			child_main();
		while (!atomic_load(&progress->ready))
			if (waitpid(pid, &status, WNOHANG) == pid)
				TEST_FAIL_MESSAGE("it ended by itself");
		random_instant(&seed);
		kill(pid, SIGKILL);
		TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
		TEST_ASSERT_TRUE(WIFSIGNALED(status));
		TEST_ASSERT_EQUAL_INT(SIGKILL, WTERMSIG(status));
		check_left(pid);
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_random_instants_leave_one_operation_per_lane_half_done);
	return UNITY_END();
}
