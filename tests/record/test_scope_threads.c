/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes belong to their thread; names to the process. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"
#include "support/test_threads.h"

enum {
	NAMES = 40,
};

void setUp(void)
{
	test_tracking_start();
	pthread_barrier_init(&barrier, NULL, THREADS);
}

void tearDown(void)
{
	pthread_barrier_destroy(&barrier);
	test_tracking_stop();
}

static void *allocate_in_own_scope(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	char name[16];

	snprintf(name, sizeof(name), "thread %d", (int)number);
	if (number)
		ttmem_scope_push(name, 0);
	/* All are inside their scopes now. */
	pthread_barrier_wait(&barrier);
	ttmem_alloc(0, TTMEM_L1, number, 0, 1);
	pthread_barrier_wait(&barrier);
	if (number)
		ttmem_scope_pop();
	ttmem_alloc(0, TTMEM_L1, 100 + number, 0, 1);
	return NULL;
}

static void test_scopes_are_per_thread(void)
{
	struct segment *segment;
	uint64_t i;

	ttmem_scope_push("main", 0);
	threads_run(allocate_in_own_scope);
	ttmem_scope_pop();
	segment = test_segment_at_rest();
	for (i = 0; i < THREADS; i++) {
		const struct segment_words *in = segment_object(
			segment, 0, TTMEM_FIGURE_L1, i, 0);
		const struct segment_words *after = segment_object(
			segment, 0, TTMEM_FIGURE_L1, 100 + i, 0);
		char name[16] = "";

		if (i)
			snprintf(name, sizeof(name), "thread %d", (int)i);
		TEST_ASSERT_EQUAL_STRING(
			name, segment_name(segment, in->scope));
		TEST_ASSERT_EQUAL_UINT32(0, after->scope);
	}
	segment_unref(&segment);
}

static void *push_all_names(void *argument)
{
	char name[16];
	int i;

	(void)argument;
	pthread_barrier_wait(&barrier);
	for (i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		ttmem_scope_push(name, 0);
		ttmem_alloc(0, TTMEM_L1, (uint64_t)i, 0, 1);
		ttmem_scope_pop();
	}
	return NULL;
}

static void test_names_pushed_at_once_are_interned_once(void)
{
	struct segment *segment;
	size_t i;
	size_t j;

	threads_run(push_all_names);
	segment = test_segment_at_rest();
	TEST_ASSERT_TRUE(segment->names_len >= NAMES);
	for (i = 0; i < segment->objects_len; i++) {
		char name[16];

		snprintf(name, sizeof(name), "name %d",
			(int)segment->objects[i].id);
		TEST_ASSERT_EQUAL_STRING(
			name, segment_name(segment, segment->objects[i].scope));
	}
	/* Ids given up in a race hold no text, or nobody uses them. */
	for (i = 0; i < segment->objects_len; i++)
		for (j = 0; j < i; j++)
			TEST_ASSERT_TRUE(segment->objects[i].id ==
					segment->objects[j].id ||
				segment->objects[i].scope !=
					segment->objects[j].scope);
	segment_unref(&segment);
}

static void *leave_a_scope_open(void *argument)
{
	(void)argument;
	ttmem_scope_push("left open", 0);
	ttmem_alloc(0, TTMEM_L1, 1, 0, 1);
	return NULL;
}

static void *allocate_without_scope(void *argument)
{
	(void)argument;
	ttmem_alloc(0, TTMEM_L1, 2, 0, 1);
	return NULL;
}

static void test_next_owner_of_a_lane_starts_without_scopes(void)
{
	struct segment *segment;
	pthread_t thread;

	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, leave_a_scope_open, NULL));
	pthread_join(thread, NULL);
	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, allocate_without_scope, NULL));
	pthread_join(thread, NULL);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT32(
		0, segment_object(segment, 0, TTMEM_FIGURE_L1, 2, 0)->scope);
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_scopes_are_per_thread);
	RUN_TEST(test_names_pushed_at_once_are_interned_once);
	RUN_TEST(test_next_owner_of_a_lane_starts_without_scopes);
	return UNITY_END();
}
