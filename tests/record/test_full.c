/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filesystem gets full at any page of a segment, while all hooks are called on
 * devices and meshes: what could not be kept is counted, what is there agrees, and the
 * process lives. Needs a tmpfs of its own.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "faults/mounts.h"
#include "support/calls.h"
#include "support/test_dir.h"
#include "support/test_segment.h"

enum {
	FIRST = 8, /* pages: too few to start */
	LAST = 300,
	EVENTS = 2500,
	ENDED_WRONG = 3,
	NO_LOSS = 4,
};

static const char *dir;

void setUp(void)
{
	dir = test_dir_make();
}

void tearDown(void)
{
	umount2(dir, MNT_DETACH);
	test_dir_remove();
}

static void *work(void *argument)
{
	uint64_t first = 100000 * (uint64_t)(uintptr_t)argument, i;
	struct ttmem_core_range range = { 0, 0, 0, 0 };
	uint32_t members[64], wide, half;
	char name[32];

	for (i = 0; i < 64; i++)
		members[i] = (uint32_t)i;
	wide = ttmem_mesh_open(members, 24);
	half = ttmem_mesh_open(members + 12, 24);
	for (i = first; i < first + EVENTS; i++) {
		ttmem_alloc(wide, TTMEM_L1, i, 0, 100);
		ttmem_alloc((uint32_t)(i % 40), TTMEM_DRAM, i, 0, 100);
		if (i % 3)
			ttmem_free(half, TTMEM_L1, i - i % 7);
		range.last_x = (uint32_t)(i % 32);
		range.last_y = (uint32_t)(i % 29);
		ttmem_cb_alloc(half, i % 50, i % 4, 0, 10,
			ttmem_core_set(&range, 1), 0);
		ttmem_kernel_load(i % 2 ? wide : half, i % 60,
			TTMEM_KERNEL_APPLICATION, 10, 1, 0);
		if (i % 9 == 0)
			ttmem_program_destroy(wide, i % 50);
		if (i % 500 == 0)
			ttmem_device_close(half);
		snprintf(name, sizeof(name), "name %u", (unsigned)i);
		ttmem_scope_push(name, 0);
		ttmem_mark(name);
		call_alloc_failed(wide, TTMEM_L1, 10, 5);
		ttmem_scope_pop();
	}
	return NULL;
}

/* In a child: 0 if nothing was lost; by which signal it dies is of interest, too. */
static int child_main(void)
{
	struct ttmem_status status = { .size = sizeof(status) };
	struct segment *segment = NULL;
	char why[300] = "";
	pthread_t thread;
	uint64_t lost = 0;
	unsigned i;

	if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)1))
		return ENDED_WRONG;
	work(NULL);
	pthread_join(thread, NULL);
	ttmem_status(&status);
	for (i = 0; i < TTMEM_LOSSES; i++)
		lost += status.lost_events[i];
	if (status.state == TTMEM_STATE_UNTRACKED)
		return 0;
	if (segment_read(status.segment, &segment, why, sizeof(why)) ||
		segment_check_at_rest(segment, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		return ENDED_WRONG;
	}
	for (i = 0; i < TTMEM_LOSSES; i++)
		if (status.lost_events[i] != segment->lost_events[i])
			return ENDED_WRONG;
	segment_unref(&segment);
	return lost ? 0 : NO_LOSS;
}

/* Returns the child's status. */
static int run_with(unsigned pages)
{
	char options[64];
	int status;
	pid_t pid;

	snprintf(options, sizeof(options), "size=%uk", 4 * pages);
	mounts_tmpfs(dir, options);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(child_main());
	TEST_ASSERT_TRUE(pid > 0);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	umount2(dir, MNT_DETACH);
	return status;
}

static void test_full_at_any_page_is_survived(void)
{
	unsigned step = test_scale(100) < 100 ? 7 : 1, pages;
	char text[100];
	int status;

	for (pages = FIRST; pages < LAST; pages += step) {
		status = run_with(pages);
		snprintf(text, sizeof(text), "%u pages, status %#x", pages,
			(unsigned)status);
		TEST_ASSERT_EQUAL_INT_MESSAGE(0, status, text);
	}
}

static void test_nothing_is_lost_when_there_is_space(void)
{
	int status = run_with(16384);

	TEST_ASSERT_TRUE(WIFEXITED(status));
	TEST_ASSERT_EQUAL_INT(NO_LOSS, WEXITSTATUS(status));
}

int main(void)
{
	mounts_begin();
	UNITY_BEGIN();
	RUN_TEST(test_full_at_any_page_is_survived);
	RUN_TEST(test_nothing_is_lost_when_there_is_space);
	return UNITY_END();
}
