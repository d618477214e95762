/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal handler calls hooks while its thread is inside a hook, at any of its
 * testpoints: those events are counted as lost, with their bytes, and change nothing else.
 * After a handler left a hook by siglongjmp, every later event of the thread is counted
 * as lost, and a new start records again.
 */
#include "life/life.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include "support/test_segment.h"

#define BYTES 100u

void ttm_testpoint(const char *label);

static bool is_recording;
static unsigned points;  /* testpoints of the outer hook so far */
static unsigned nest_at; /* the one where the signal comes */
static uint64_t nested_calls;
static void (*hook)(uint64_t id);
static sigjmp_buf way_out;

void setUp(void)
{
}

void tearDown(void)
{
	test_tracking_stop();
}

/* Called by the library's test form. */
void ttm_testpoint(const char *label)
{
	(void)label;
	if (is_recording && ++points == nest_at)
		raise(SIGUSR1);
}

static void on_signal(int number)
{
	(void)number;
	is_recording = false;
	for (nested_calls = 0; nested_calls < 3; nested_calls++)
		hook(100 + nested_calls);
}

static void on_signal_jump(int number)
{
	(void)number;
	is_recording = false;
	siglongjmp(way_out, 1);
}

static void handle(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(SIGUSR1, &action, NULL);
}

/* -- the hooks ---------------------------------------------------------------- */

static void alloc(uint64_t id)
{
	ttmem_alloc(0, TTMEM_L1, id, 0, BYTES);
}

static void cb(uint64_t id)
{
	ttmem_cb_alloc(0, id, 1, 0, BYTES, 1, 0);
}

static void kernel(uint64_t id)
{
	ttmem_kernel_load(0, id, TTMEM_KERNEL_FABRIC, BYTES, 1, 0);
}

static void counts_are(uint64_t objects, uint64_t lost)
{
	struct segment *segment = test_segment_read();
	unsigned i;

	TEST_ASSERT_EQUAL_UINT64(objects, segment->objects_len);
	for (i = 0; i < SEGMENT_REASONS; i++) {
		bool nested = i == TTMEM_LOSS_NESTED;

		TEST_ASSERT_EQUAL_UINT64(
			nested ? lost : 0, segment->lost_events[i]);
		TEST_ASSERT_EQUAL_UINT64(
			nested ? lost * BYTES : 0, segment->lost_bytes[i]);
	}
	TEST_ASSERT_EQUAL_UINT64(lost, test_losses(TTMEM_LOSS_NESTED));
	TEST_ASSERT_EQUAL_UINT64(1, segment->lanes_count);
	segment_unref(&segment);
}

/* Runs the hook with a signal at that point; false if it has no such point. */
static bool nested_run(unsigned at)
{
	struct segment *segment;

	test_tracking_start();
	points = 0;
	nest_at = at;
	nested_calls = 0;
	hook(1); /* the seat and the lane */
	is_recording = true;
	hook(2);
	is_recording = false;
	if (points < at)
		return false;
	TEST_ASSERT_EQUAL_UINT64(3, nested_calls);
	hook(3);
	counts_are(3, 3);
	segment = test_segment_at_rest();
	segment_unref(&segment);
	test_tracking_stop();
	return true;
}

static void nested_everywhere(void (*which)(uint64_t id))
{
	unsigned at;

	handle(on_signal);
	hook = which;
	for (at = 1; nested_run(at); at++)
		;
	TEST_ASSERT_TRUE(at > 5);
}

static void test_nested_hooks_are_lost_and_counted(void)
{
	nested_everywhere(alloc);
}

static void test_the_same_for_circular_buffers(void)
{
	nested_everywhere(cb);
}

static void test_the_same_for_kernels(void)
{
	nested_everywhere(kernel);
}

static void test_after_a_jump_out_of_a_hook_every_event_is_counted_as_lost(void)
{
	test_tracking_start();
	handle(on_signal_jump);
	hook = alloc;
	hook(1);
	points = 0;
	nest_at = 1;
	is_recording = true;
	if (sigsetjmp(way_out, 1) == 0) {
		hook(2);
		TEST_FAIL_MESSAGE("no signal came");
	}
	hook(3);
	hook(4);
	counts_are(1, 2);
	test_tracking_stop();
	test_tracking_start();
	hook(5);
	counts_are(1, 0);
}

/*
 * Leaves a hook at that point; false if it has no such point. Whether its own object is
 * there depends on the point.
 */
static bool jump_run(unsigned at)
{
	struct segment *segment;
	unsigned i;

	test_tracking_start();
	hook(1);
	points = 0;
	nest_at = at;
	is_recording = true;
	if (sigsetjmp(way_out, 1) == 0) {
		hook(2);
		is_recording = false;
		return false;
	}
	hook(3);
	hook(4);
	segment = test_segment_read();
	for (i = 0; i < SEGMENT_REASONS; i++)
		TEST_ASSERT_EQUAL_UINT64(i == TTMEM_LOSS_NESTED ? 2 : 0,
			segment->lost_events[i]);
	TEST_ASSERT_EQUAL_UINT64(
		2 * BYTES, segment->lost_bytes[TTMEM_LOSS_NESTED]);
	segment_unref(&segment);
	test_tracking_stop();
	test_tracking_start();
	hook(5);
	counts_are(1, 0);
	segment = test_segment_at_rest();
	segment_unref(&segment);
	test_tracking_stop();
	return true;
}

static void test_the_same_wherever_the_hook_is_left(void)
{
	void (*const hooks[])(uint64_t id) = { alloc, cb, kernel };
	unsigned i, at;

	handle(on_signal_jump);
	for (i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		hook = hooks[i];
		for (at = 1; jump_run(at); at++)
			;
		TEST_ASSERT_TRUE(at > 5);
		test_tracking_stop();
	}
}

static void *jumper_main(void *argument)
{
	(void)argument;
	hook(1);
	points = 0;
	nest_at = 3;
	is_recording = true;
	if (sigsetjmp(way_out, 1) == 0)
		hook(2);
	hook(3);
	return NULL;
}

static void *successor_main(void *argument)
{
	(void)argument;
	hook(4);
	hook(5);
	return NULL;
}

/* The thread that takes over the ring records everything. */
static void test_a_ring_that_was_left_inside_a_hook_is_used_again(void)
{
	struct segment *segment;
	pthread_t thread;
	uint64_t id;

	test_tracking_start();
	handle(on_signal_jump);
	hook = alloc;
	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, jumper_main, NULL));
	pthread_join(thread, NULL);
	TEST_ASSERT_EQUAL_UINT64(1, test_losses(TTMEM_LOSS_NESTED));
	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, successor_main, NULL));
	pthread_join(thread, NULL);
	segment = test_segment_read();
	TEST_ASSERT_EQUAL_UINT64(1, segment->lanes_count);
	for (id = 4; id <= 5; id++)
		TEST_ASSERT_NOT_NULL(
			segment_object(segment, 0, TTMEM_FIGURE_L1, id, 0));
	TEST_ASSERT_NULL(segment_object(segment, 0, TTMEM_FIGURE_L1, 3, 0));
	segment_unref(&segment);
	TEST_ASSERT_EQUAL_UINT64(1, test_losses(TTMEM_LOSS_NESTED));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_nested_hooks_are_lost_and_counted);
	RUN_TEST(test_the_same_for_circular_buffers);
	RUN_TEST(test_the_same_for_kernels);
	RUN_TEST(
		test_after_a_jump_out_of_a_hook_every_event_is_counted_as_lost);
	RUN_TEST(test_the_same_wherever_the_hook_is_left);
	RUN_TEST(test_a_ring_that_was_left_inside_a_hook_is_used_again);
	return UNITY_END();
}
