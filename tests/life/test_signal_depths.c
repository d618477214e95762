/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks nested in one another by signal handlers, level by level: four levels are
 * kept, each on a lane of its own, and each event below is counted as lost. The
 * handlers are raised inside a hook, at any of its testpoints.
 */
#include "life/life.h"

#include <signal.h>

#include "support/test_segment.h"

#define LEVELS_KEPT 4u
#define LEVELS_MAX 5u
#define BYTES 100u

void ttm_testpoint(const char *label);

static unsigned levels; /* hooks to be inside of one another */
static unsigned level;  /* hooks that are */
static unsigned points[LEVELS_MAX + 1];
static unsigned nest_at; /* which point of the outermost; 0: none */
static uint64_t calls[LEVELS_MAX + 1];
static void (*hook)(uint64_t id);

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
	if (level && ++points[level] == (level > 1 ? 1 : nest_at) &&
		level < levels)
		raise(SIGUSR1);
}

static void hook_call(void)
{
	static uint64_t id;

	level++;
	points[level] = 0;
	calls[level]++;
	hook(++id);
	level--;
}

static void on_signal(int number)
{
	unsigned i;

	(void)number;
	for (i = 0; i < level; i++)
		hook_call();
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

static void lanes_are_as_called(const struct segment *segment)
{
	const struct segment_lane *lane;
	unsigned i;

	for (i = 0; i < LEVELS_KEPT; i++) {
		lane = segment_lane(segment, (uint32_t)gettid(), i);
		TEST_ASSERT_EQUAL(calls[i + 1] != 0, lane != NULL);
		if (lane)
			TEST_ASSERT_EQUAL_UINT64(calls[i + 1], lane->tail);
	}
}

static void counts_are_as_called(void)
{
	struct segment *segment = test_segment_at_rest();
	uint64_t kept = calls[1] + calls[2] + calls[3] + calls[4];
	unsigned i;

	TEST_ASSERT_EQUAL_UINT64(kept, segment->objects_len);
	for (i = 0; i < SEGMENT_REASONS; i++) {
		uint64_t lost = i == TTMEM_LOSS_TOO_DEEP ? calls[5] : 0;

		TEST_ASSERT_EQUAL_UINT64(lost, segment->lost_events[i]);
		TEST_ASSERT_EQUAL_UINT64(lost * BYTES, segment->lost_bytes[i]);
	}
	TEST_ASSERT_EQUAL_UINT64(calls[5], test_losses(TTMEM_LOSS_TOO_DEEP));
	TEST_ASSERT_EQUAL_UINT64(levels < LEVELS_KEPT ? levels : LEVELS_KEPT,
		segment->lanes_count);
	lanes_are_as_called(segment);
	segment_unref(&segment);
}

/* Runs the hook with a handler at that point; false if it has no such point. */
static bool nested_run(unsigned at)
{
	memset(calls, 0, sizeof(calls));
	test_tracking_start();
	nest_at = at;
	hook_call();
	if (points[1] < at)
		return false;
	TEST_ASSERT_TRUE(calls[levels] > 0);
	counts_are_as_called();
	test_tracking_stop();
	return true;
}

static void depths_run(void (*which)(uint64_t id))
{
	struct sigaction action = { .sa_handler = on_signal,
		.sa_flags = SA_NODEFER };
	unsigned at;

	sigaction(SIGUSR1, &action, NULL);
	hook = which;
	for (levels = 2; levels <= LEVELS_MAX; levels++) {
		for (at = 1; nested_run(at); at++)
			;
		TEST_ASSERT_TRUE(at > 5);
		if (levels < LEVELS_MAX)
			test_tracking_stop();
	}
}

static void test_each_depth_has_its_lane_and_a_fifth_is_lost(void)
{
	depths_run(alloc);
}

static void test_the_same_for_circular_buffers(void)
{
	depths_run(cb);
}

static void test_the_same_for_kernels(void)
{
	depths_run(kernel);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_each_depth_has_its_lane_and_a_fifth_is_lost);
	RUN_TEST(test_the_same_for_circular_buffers);
	RUN_TEST(test_the_same_for_kernels);
	return UNITY_END();
}
