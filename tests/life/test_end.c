/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks at the end of a process: in destructors before and after the library's
 * own, in exit handlers, after a stop, and in threads that run while main
 * returns. The process ends as it would without them, and what is left is right.
 */
#include "life/life.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define MANY 20000u
#define LEFT_EACH 3u
#define STATUS 7

static const char *dir;

/* What the destructors of the process that is run do. */
static void (*when_before)(void); /* the library's own */
static void (*when_after)(void);

void setUp(void)
{
	dir = test_dir_make();
}

void tearDown(void)
{
	test_dir_remove();
}

static void by_exit_handler(void)
{
	if (when_before)
		when_before();
}

/* Low numbers come last, and those without a number before them. */
__attribute__((destructor(101))) static void by_last_destructor(void)
{
	if (when_after)
		when_after();
}

static void work_and_exit(void (*work)(void))
{
	expect(atexit(by_exit_handler) == 0);
	work();
	exit(STATUS);
}

static void (*work_now)(void);

static void work_now_and_exit(void)
{
	work_and_exit(work_now);
}

/* Returns the pid of a process that has ended by exit(STATUS). */
static pid_t run_to_the_end(void (*work)(void))
{
	int status = -1;
	pid_t pid;

	work_now = work;
	pid = life_start(work_now_and_exit);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	TEST_ASSERT_EQUAL_INT(STATUS, WEXITSTATUS(status));
	when_before = NULL;
	when_after = NULL;
	return pid;
}

static void alloc_three(void)
{
	uint64_t i;

	for (i = 0; i < LEFT_EACH; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 10);
}

static void free_three(void)
{
	uint64_t i;

	for (i = 0; i < LEFT_EACH; i++)
		ttmem_free(0, TTMEM_DRAM, i);
}

static void free_one(void)
{
	ttmem_free(0, TTMEM_DRAM, 1);
}

static void left_is(pid_t pid, uint64_t objects)
{
	struct segment *segment = life_segment(dir, pid);

	TEST_ASSERT_NOT_NULL(segment);
	TEST_ASSERT_EQUAL_UINT64(objects, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(2, segment->state);
	TEST_ASSERT_EQUAL_INT(0, life_lock_holder(dir, pid));
	segment_unref(&segment);
}

static void test_frees_before_the_end_count(void)
{
	pid_t pid;

	when_before = free_three;
	pid = run_to_the_end(alloc_three);
	TEST_ASSERT_EQUAL_UINT64(0, life_segments(dir, pid));
	when_before = free_one;
	left_is(run_to_the_end(alloc_three), LEFT_EACH - 1);
}

static void test_frees_after_the_end_count(void)
{
	when_after = free_one;
	left_is(run_to_the_end(alloc_three), LEFT_EACH - 1);
	when_before = free_one;
	when_after = free_three; /* one of them is not there any more */
	left_is(run_to_the_end(alloc_three), 0);
}

/* Survivors on a few of many extents. */
static void alloc_many(void)
{
	uint64_t i;

	for (i = 0; i < MANY; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 10);
	for (i = LEFT_EACH; i < MANY; i++)
		ttmem_free(0, TTMEM_DRAM, i);
}

static void test_frees_after_a_large_segment_ended_count(void)
{
	when_after = free_one;
	left_is(run_to_the_end(alloc_many), LEFT_EACH - 1);
}

static void alloc_some_more(void)
{
	uint64_t i;

	for (i = 0; i < 100; i++)
		ttmem_alloc(0, TTMEM_DRAM, MANY + i, 0, 10);
}

static void alloc_and_free_more(void)
{
	uint64_t i;

	alloc_some_more();
	for (i = 0; i < 100; i++)
		ttmem_free(0, TTMEM_DRAM, MANY + i);
}

static void test_allocations_after_the_end_are_kept_or_not_counted(void)
{
	when_after = alloc_and_free_more;
	left_is(run_to_the_end(alloc_three), LEFT_EACH);
	when_after = alloc_some_more;
	left_is(run_to_the_end(alloc_three), LEFT_EACH + 100);
}

static void test_the_same_after_a_large_segment_ended(void)
{
	struct segment *segment;
	pid_t pid;

	when_after = alloc_and_free_more;
	left_is(run_to_the_end(alloc_many), LEFT_EACH);
	when_after = alloc_some_more;
	pid = run_to_the_end(alloc_many);
	segment = life_segment(dir, pid);
	TEST_ASSERT_NOT_NULL(segment);
	segment_unref(&segment);
}

static void stop_early(void)
{
	alloc_three();
	ttmem_stop();
	ttmem_free(0, TTMEM_DRAM, 0);
	ttmem_alloc(0, TTMEM_DRAM, 10, 0, 10);
	ttmem_scope_push("late", 0);
	ttmem_device_close(0);
}

static void test_hooks_after_a_stop_change_nothing(void)
{
	when_before = free_one;
	when_after = free_three;
	left_is(run_to_the_end(stop_early), LEFT_EACH);
}

static void only_free(void)
{
	free_three();
}

static void test_process_that_only_frees_leaves_nothing(void)
{
	when_before = free_one;
	when_after = free_three;
	run_to_the_end(only_free);
	TEST_ASSERT_EQUAL_UINT64(0, life_segments(dir, 0));
}

/* -- threads that do not end ------------------------------------------------------ */

static atomic_uint threads_running;

static void *record_forever(void *argument)
{
	uint64_t base = (uint64_t)(uintptr_t)argument << 32;
	uint64_t i;

	for (i = 0;; i = (i + 1) % 100) {
		ttmem_alloc(1, TTMEM_L1, base + i, 0, 10);
		ttmem_free(1, TTMEM_L1, base + i);
		if (i == 50)
			atomic_fetch_or(
				&threads_running, 1u << (uintptr_t)argument);
	}
	return NULL;
}

static void exit_with_threads(void)
{
	pthread_t thread;
	uintptr_t i;

	alloc_three();
	for (i = 0; i < 3; i++)
		expect(!pthread_create(
			&thread, NULL, record_forever, (void *)i));
	while (atomic_load(&threads_running) != 7)
		sched_yield();
}

static void test_exit_while_threads_record(void)
{
	uint64_t rounds = test_scale(100);
	struct segment *segment;
	char why[512] = "";
	uint64_t i;
	char *path;
	pid_t pid;

	for (i = 0; i < rounds; i++) {
		pid = run_to_the_end(exit_with_threads);
		path = test_dir_segment(dir, pid, NULL);
		TEST_ASSERT_NOT_NULL(path);
		TEST_ASSERT_EQUAL_INT_MESSAGE(
			0, segment_read(path, &segment, why, sizeof(why)), why);
		/* Three threads were killed in whatever they did. */
		TEST_ASSERT_EQUAL_INT_MESSAGE(0,
			segment_check_half_done(segment, 6, why, sizeof(why)),
			why);
		TEST_ASSERT_TRUE(segment->objects_len >= LEFT_EACH);
		TEST_ASSERT_TRUE(segment->objects_len <= LEFT_EACH + 3);
		segment_unref(&segment);
		unlink(path);
		free(path);
	}
}

int main(void)
{
	int result;

	UNITY_BEGIN();
	RUN_TEST(test_frees_before_the_end_count);
	RUN_TEST(test_frees_after_the_end_count);
	RUN_TEST(test_frees_after_a_large_segment_ended_count);
	RUN_TEST(test_allocations_after_the_end_are_kept_or_not_counted);
	RUN_TEST(test_the_same_after_a_large_segment_ended);
	RUN_TEST(test_hooks_after_a_stop_change_nothing);
	RUN_TEST(test_process_that_only_frees_leaves_nothing);
	RUN_TEST(test_exit_while_threads_record);
	result = UNITY_END();
	return result;
}
