/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads cancelled asynchronously while they record as fast as they can. That
 * is not for programs that want to be right; even so each spoils at most the one
 * operation it was in, and whoever comes next on its lane is exact.
 */
#include "life/life.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "support/test_segment.h"

static atomic_ulong started;

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void *record(void *argument)
{
	uint64_t base = (uint64_t)(uintptr_t)argument << 32;
	uint64_t i;
	int before;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
	for (i = 0;; i++) {
		ttmem_alloc(0, TTMEM_DRAM, base + i, 0, 100);
		ttmem_cb_alloc(0, base, i, 0, 10, 10, 0);
		ttmem_free(0, TTMEM_DRAM, base + i);
		ttmem_cb_free(0, base, i);
		if (i == 0)
			atomic_fetch_add(&started, 1);
	}
	return NULL;
}

static void *record_exactly(void *argument)
{
	uint64_t i;

	for (i = 0; i < 1000; i++)
		ttmem_alloc(7, TTMEM_L1, i, 0, 100);
	for (i = 0; i < 1000; i++)
		ttmem_free(7, TTMEM_L1, i);
	return argument;
}

/* Takes the seat and records nothing. */
static void *sit_down(void *argument)
{
	ttmem_scope_push("next", 0);
	return argument;
}

static void lane_is_in_order_for_the_next(void)
{
	struct segment *segment;
	pthread_t thread;

	if (pthread_create(&thread, NULL, sit_down, NULL))
		TEST_FAIL_MESSAGE("pthread_create");
	pthread_join(thread, NULL);
	segment = test_segment_read();
	TEST_ASSERT_EQUAL_UINT64(0, segment->lanes_broken);
	segment_unref(&segment);
}

static void test_each_cancelled_thread_spoils_at_most_one_operation(void)
{
	uint64_t rounds = test_scale(500);
	struct segment *segment;
	const struct segment_flow *flow;
	pthread_t thread;
	char why[512] = "";
	uint64_t i;

	for (i = 1; i <= rounds; i++) {
		uint64_t before = atomic_load(&started);
		volatile unsigned spin;

		if (pthread_create(&thread, NULL, record, (void *)(uintptr_t)i))
			TEST_FAIL_MESSAGE("pthread_create");
		while (atomic_load(&started) == before)
			sched_yield();
		for (spin = 0; spin < i * 31 % 997; spin++)
			;
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		if (i % 8 == 0)
			lane_is_in_order_for_the_next();
	}
	for (i = 0; i < 3; i++) {
		if (pthread_create(&thread, NULL, record_exactly, NULL))
			TEST_FAIL_MESSAGE("pthread_create");
		pthread_join(thread, NULL);
	}
	segment = test_segment_read();
	TEST_ASSERT_EQUAL_INT_MESSAGE(0,
		segment_check_half_done(segment, rounds, why, sizeof(why)),
		why);
	TEST_ASSERT_TRUE(segment->objects_len <= 2 * rounds);
	TEST_ASSERT_EQUAL_UINT64(1, segment->lanes_count);
	TEST_ASSERT_EQUAL_UINT64(0, segment->lanes_broken);
	flow = &segment->devices[segment_entry(segment, 7)]
			.figures[TTMEM_FIGURE_L1];
	TEST_ASSERT_EQUAL_UINT64(3000, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(3000, flow->free_objects);
	TEST_ASSERT_EQUAL_UINT64(0, flow->slot_objects);
	TEST_ASSERT_TRUE(life_lost_nothing(segment));
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_each_cancelled_thread_spoils_at_most_one_operation);
	return UNITY_END();
}
