/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread with a cancellation pending goes through hooks that start, grow and
 * record, and ends only where it comes to a cancellation point of its own.
 */
#include "stress/stress.h"

#include <unistd.h>

#include "life/life.h"

#include "support/calls.h"

#define MANY 5000u

static const char *dir;

void setUp(void)
{
	dir = test_dir_make();
}

void tearDown(void)
{
	ttmem_stop();
	test_dir_remove();
}

struct progress {
	uint64_t events;
	bool was_stopped;
	void (*work)(struct progress *self);
};

static void *cancelled(void *argument)
{
	struct progress *self = argument;

	pthread_cancel(pthread_self()); /* pending from here on */
	self->work(self);
	self->was_stopped = true;
	pthread_testcancel();
	self->was_stopped = false;
	return NULL;
}

static struct progress run_cancelled(void (*work)(struct progress *self))
{
	struct progress progress = { .work = work };
	void *result = NULL;
	pthread_t thread;

	if (pthread_create(&thread, NULL, cancelled, &progress))
		abort();
	pthread_join(thread, &result);
	TEST_ASSERT_TRUE(result == PTHREAD_CANCELED);
	TEST_ASSERT_TRUE_MESSAGE(
		progress.was_stopped, "it ended inside a hook");
	return progress;
}

/* Slots, index, names, lanes and blocks all have to be made. */
static void grow(struct progress *self)
{
	uint32_t members[2] = { 1, 2 };
	char name[32];
	uint32_t mesh;
	uint64_t i;

	for (i = 0; i < MANY; i++) {
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 100);
		self->events++;
	}
	for (i = 0; i < 1100; i++) {
		snprintf(name, sizeof(name), "name %d", (int)i);
		ttmem_scope_push(name, 0);
		ttmem_scope_pop();
	}
	mesh = ttmem_mesh_open(members, 2);
	ttmem_alloc(mesh, TTMEM_L1, 1, 0, 10);
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_FABRIC, 10, 10, 0);
	ttmem_cb_alloc(0, 1, 1, 0, 10, 10, 0);
	ttmem_mark("mark");
	call_alloc_failed(0, TTMEM_L1, 10, 10);
	ttmem_program_destroy(0, 1);
	ttmem_device_close(1);
	for (i = 0; i < MANY; i += 2)
		ttmem_free(0, TTMEM_DRAM, i);
}

static void is_exact(void)
{
	struct segment *segment = life_segment(dir, getpid());

	TEST_ASSERT_NOT_NULL(segment);
	TEST_ASSERT_EQUAL_UINT64(MANY / 2 + 1, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(MANY, life_allocs(segment, TTMEM_FIGURE_DRAM));
	TEST_ASSERT_EQUAL_UINT64(
		MANY / 2, life_frees(segment, TTMEM_FIGURE_DRAM));
	TEST_ASSERT_EQUAL_UINT64(1100, segment->names_count);
	TEST_ASSERT_EQUAL_UINT64(1, segment->marks_count);
	TEST_ASSERT_TRUE(life_lost_nothing(segment));
	segment_unref(&segment);
}

static void start_and_grow(struct progress *self)
{
	int before = -1;

	grow(self);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	TEST_ASSERT_EQUAL_INT(PTHREAD_CANCEL_ENABLE, before);
	pthread_setcancelstate(before, NULL);
}

/* First of all in this program: the hook makes the segment. */
static void test_hook_that_starts_is_no_cancellation_point(void)
{
	TEST_ASSERT_EQUAL_UINT64(MANY, run_cancelled(start_and_grow).events);
	is_exact();
}

static void test_hooks_that_grow_are_no_cancellation_points(void)
{
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	TEST_ASSERT_EQUAL_UINT64(MANY, run_cancelled(grow).events);
	is_exact();
}

static void start_stop(struct progress *self)
{
	struct ttmem_status status = { .size = sizeof(status) };
	struct ttmem_usage usage = { .size = sizeof(usage) };

	self->events = (uint64_t)ttmem_start(NULL);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_status(&status);
	ttmem_usage(0, &usage);
	ttmem_stop();
}

static void test_start_and_stop_are_no_cancellation_points(void)
{
	TEST_ASSERT_EQUAL_UINT64(0, run_cancelled(start_stop).events);
	TEST_ASSERT_EQUAL_UINT64(1, life_segments(dir, 0));
}

/* Threads that are cancelled leave their lanes to others. */
static void record_until_cancelled(struct progress *self)
{
	ttmem_scope_push("cancelled", 0);
	ttmem_alloc(0, TTMEM_DRAM, self->events, 0, 10);
	ttmem_free(0, TTMEM_DRAM, self->events);
}

static void test_cancelled_threads_leave_their_lanes(void)
{
	struct segment *segment;
	uint64_t i;

	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	for (i = 0; i < 100; i++)
		run_cancelled(record_until_cancelled);
	segment = life_segment(dir, getpid());
	TEST_ASSERT_NOT_NULL(segment);
	TEST_ASSERT_EQUAL_UINT64(1, segment->lanes_count);
	TEST_ASSERT_EQUAL_UINT64(100, life_frees(segment, TTMEM_FIGURE_DRAM));
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_hook_that_starts_is_no_cancellation_point);
	RUN_TEST(test_hooks_that_grow_are_no_cancellation_points);
	RUN_TEST(test_start_and_stop_are_no_cancellation_points);
	RUN_TEST(test_cancelled_threads_leave_their_lanes);
	return UNITY_END();
}
