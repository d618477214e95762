/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Core sets: which cores a handle stands for, that the same cores have the same handle,
 * that handles outlive a stop and a fork, and what is returned where there is no handle.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

#define NONE ((uint64_t[TTMEM_ANOMALIES]){ 0 })
#define HANDLE 0x80000000u
#define SETS_MAX 4095u

static const struct ttmem_core_range left[] = { { 0, 0, 3, 6 } };
/* They overlap on (2, 2). */
static const struct ttmem_core_range cross[] = { { 0, 2, 4, 2 },
	{ 2, 0, 2, 4 } };

void ttm_testpoint(const char *label);

static bool is_restarting; /* tracking, at the next core set */

static void *restart(void *argument)
{
	(void)argument;
	ttmem_stop();
	ttmem_start(NULL);
	return NULL;
}

/* Called by the library's test form. */
void ttm_testpoint(const char *label)
{
	pthread_t thread;

	if (!is_restarting || strcmp(label, "core set written") != 0)
		return;
	is_restarting = false;
	if (pthread_create(&thread, NULL, restart, NULL) == 0)
		pthread_join(thread, NULL);
}

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void cb_is(uint64_t cb, uint32_t cores, const uint32_t rows[31])
{
	struct segment *segment = test_segment_at_rest();
	const struct segment_words *o = segment_object(
		segment, 0, TTMEM_FIGURE_CB, cb, 1);
	const struct segment_core_set *set;

	TEST_ASSERT_NOT_NULL(o);
	TEST_ASSERT_EQUAL_UINT32(cores, o->cores);
	TEST_ASSERT_EQUAL_UINT64(100ull * cores, o->bytes);
	set = segment_core_set(segment, o->core_set);
	TEST_ASSERT_NOT_NULL(set);
	TEST_ASSERT_EQUAL_UINT32(cores, set->cores);
	TEST_ASSERT_EQUAL_HEX32_ARRAY(rows, set->rows, 31);
	segment_unref(&segment);
}

static void cb_has_no_set(uint64_t cb, uint32_t cores)
{
	struct segment *segment = test_segment_at_rest();
	const struct segment_words *o = segment_object(
		segment, 0, TTMEM_FIGURE_CB, cb, 1);

	TEST_ASSERT_NOT_NULL(o);
	TEST_ASSERT_EQUAL_UINT32(cores, o->cores);
	TEST_ASSERT_EQUAL_UINT32(0, o->core_set);
	segment_unref(&segment);
}

static void test_a_handle_stands_for_its_cores(void)
{
	const uint32_t rows[31] = { 0x4, 0x4, 0x1f, 0x4, 0x4 };
	uint32_t set = ttmem_core_set(cross, 2);

	TEST_ASSERT_TRUE(set & HANDLE);
	ttmem_cb_alloc(0, 1, 1, 0, 100, set, 0);
	cb_is(1, 9, rows);
	test_anomalies_are(NONE);
}

static void test_the_same_cores_have_the_same_handle(void)
{
	const struct ttmem_core_range parts[] = { { 2, 3, 2, 4 },
		{ 3, 2, 4, 2 }, { 0, 2, 2, 2 }, { 2, 0, 2, 1 } };
	uint32_t set = ttmem_core_set(cross, 2);

	TEST_ASSERT_EQUAL_HEX32(set, ttmem_core_set(parts, 4));
	TEST_ASSERT_TRUE(set != ttmem_core_set(left, 1));
	TEST_ASSERT_EQUAL_HEX32(set, ttmem_core_set(cross, 2));
}

static void test_the_corners_of_the_grid_are_cores(void)
{
	const struct ttmem_core_range all = { 0, 0, 31, 30 };
	const struct ttmem_core_range last = { 31, 30, 31, 30 };
	uint32_t rows[31] = { 0 };

	ttmem_cb_alloc(0, 1, 1, 0, 100, ttmem_core_set(&last, 1), 0);
	rows[30] = 1u << 31;
	cb_is(1, 1, rows);
	memset(rows, 0xff, sizeof(rows));
	ttmem_cb_alloc(0, 1, 2, 0, 100, ttmem_core_set(&all, 1), 0);
	cb_is(2, 32 * 31, rows);
}

static void test_cores_outside_of_the_grid_are_a_count(void)
{
	const struct ttmem_core_range wide = { 30, 0, 32, 1 };
	const struct ttmem_core_range tall = { 0, 30, 0, 31 };

	TEST_ASSERT_EQUAL_UINT32(6, ttmem_core_set(&wide, 1));
	TEST_ASSERT_EQUAL_UINT32(2, ttmem_core_set(&tall, 1));
	TEST_ASSERT_EQUAL_UINT32(0, ttmem_core_set(left, 0));
	TEST_ASSERT_EQUAL_UINT32(0, ttmem_core_set(NULL, 1));
}

/* A buffer and a kernel take handles, too. */
static void test_all_calls_with_cores_take_a_handle(void)
{
	uint32_t set = ttmem_core_set(left, 1);
	struct ttmem_buffer buffer;
	struct segment *segment;
	size_t i;

	ttmem_buffer_init(&buffer, 0, TTMEM_L1);
	buffer.id = 1;
	buffer.bytes = 100;
	buffer.cores = set;
	ttmem_buffer_alloc(&buffer);
	ttmem_kernel_load(0, 2, TTMEM_KERNEL_APPLICATION, 10, set, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(2, segment->objects_len);
	for (i = 0; i < 2; i++) {
		TEST_ASSERT_EQUAL_UINT32(28, segment->objects[i].cores);
		TEST_ASSERT_EQUAL_UINT32(1, segment->objects[i].core_set);
	}
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_KERNEL, 1, 280, 280);
	test_anomalies_are(NONE);
}

static void test_a_handle_that_was_never_returned_is_counted(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_cb_alloc(0, 1, 1, 0, 100, HANDLE | 77, 0);
	ttmem_cb_alloc(0, 1, 2, 0, 100, HANDLE, 0);
	ttmem_cb_alloc(0, 1, 3, 0, 100, UINT32_MAX, 0);
	test_live_is(0, TTMEM_FIGURE_CB, 0, 0);
	test_anomalies_are(
		(uint64_t[TTMEM_ANOMALIES]){ [TTMEM_ANOMALY_OVERFLOW] = 3 });
}

static void test_handles_outlive_a_stop(void)
{
	const uint32_t rows[31] = { 0x4, 0x4, 0x1f, 0x4, 0x4 };
	uint32_t other = ttmem_core_set(left, 1);
	uint32_t set = ttmem_core_set(cross, 2);

	ttmem_cb_alloc(0, 1, 1, 0, 100, other, 0);
	ttmem_stop();
	/* Off, the number of cores is all that there is. */
	TEST_ASSERT_EQUAL_UINT32(10, ttmem_core_set(cross, 2));
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	ttmem_cb_alloc(0, 1, 1, 0, 100, set, 0);
	cb_is(1, 9, rows);
	TEST_ASSERT_EQUAL_HEX32(set, ttmem_core_set(cross, 2));
	test_anomalies_are(NONE);
}

/*
 * Another thread stops and starts tracking while this one publishes a set: the object
 * is in the segment that the set is in, and not in the next one.
 */
static void test_a_set_is_in_the_segment_of_its_object(void)
{
	const uint32_t rows[31] = { 0x4, 0x4, 0x1f, 0x4, 0x4 };
	uint32_t set = ttmem_core_set(cross, 2);
	struct segment *segment;

	ttmem_cb_alloc(0, 1, 7, 0, 100, ttmem_core_set(left, 1), 0);
	is_restarting = true;
	ttmem_cb_alloc(0, 1, 1, 0, 100, set, 0);
	TEST_ASSERT_FALSE(is_restarting);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
	ttmem_cb_alloc(0, 1, 1, 0, 100, set, 0);
	cb_is(1, 9, rows);
}

/* The child's first event is one with a handle that its parent got. */
static void test_handles_outlive_a_fork(void)
{
	const uint32_t rows[31] = { 0x4, 0x4, 0x1f, 0x4, 0x4 };
	uint32_t set = ttmem_core_set(cross, 2);
	int status;
	pid_t pid;

	ttmem_cb_alloc(0, 1, 1, 0, 100, set, 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		ttmem_cb_alloc(0, 1, 2, 0, 100, set, 0);
		cb_is(2, 9, rows);
		TEST_ASSERT_EQUAL_HEX32(set, ttmem_core_set(cross, 2));
		ttmem_cb_free(0, 1, 2);
		ttmem_stop();
		fflush(NULL);
		_exit(Unity.CurrentTestFailed ? 1 : 0);
	}
	TEST_ASSERT_TRUE(pid > 0);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(0, status);
	cb_is(1, 9, rows);
}

/* They belong to the process, so this is the last test. */
static void test_after_4095_sets_there_are_counts(void)
{
	struct ttmem_core_range range = { 0 };
	uint32_t cores = 0, set = HANDLE, sets = 0;

	for (range.last_x = 0; range.last_x < 32 && set & HANDLE;
		range.last_x += set & HANDLE ? 1 : 0)
		for (range.last_y = 0; range.last_y < 31 && set & HANDLE;
			range.last_y++)
			for (range.first_x = 0;
				range.first_x <= range.last_x && set & HANDLE;
				range.first_x++) {
				cores = (range.last_y + 1) *
					(range.last_x - range.first_x + 1);
				set = ttmem_core_set(&range, 1);
				sets += set >> 31;
				if (set & HANDLE)
					ttmem_cb_alloc(0, 1, 1, 0, 100, set, 0);
			}
	TEST_ASSERT_FALSE(set & HANDLE);
	TEST_ASSERT_EQUAL_UINT32(cores, set);
	TEST_ASSERT_TRUE(sets <= SETS_MAX && sets > SETS_MAX - 20);
	/* Existing sets can still be used. */
	TEST_ASSERT_TRUE(ttmem_core_set(cross, 2) & HANDLE);
	ttmem_cb_alloc(0, 1, 2, 0, 100, set, 0);
	cb_has_no_set(2, cores);
	test_anomalies_are(NONE);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_handle_stands_for_its_cores);
	RUN_TEST(test_the_same_cores_have_the_same_handle);
	RUN_TEST(test_the_corners_of_the_grid_are_cores);
	RUN_TEST(test_cores_outside_of_the_grid_are_a_count);
	RUN_TEST(test_all_calls_with_cores_take_a_handle);
	RUN_TEST(test_a_handle_that_was_never_returned_is_counted);
	RUN_TEST(test_handles_outlive_a_stop);
	RUN_TEST(test_a_set_is_in_the_segment_of_its_object);
	RUN_TEST(test_handles_outlive_a_fork);
	RUN_TEST(test_after_4095_sets_there_are_counts);
	return UNITY_END();
}
