/* SPDX-License-Identifier: Apache-2.0 */
#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

#define NONE ((uint64_t[TTMEM_ANOMALIES]){ 0 })
#define KIB 1024u

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void test_three_types_are_three_figures(void)
{
	struct segment *segment;
	const struct segment_words *o;

	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 3 * KIB, 8, 0);
	ttmem_kernel_load(0, 2, TTMEM_KERNEL_FABRIC, 56 * KIB, 16, 0);
	ttmem_kernel_load(0, 3, TTMEM_KERNEL_DISPATCH, 46 * KIB, 2, 0);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 1, 24576, 24576);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_FABRIC, 1, 917504, 917504);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_DISPATCH, 1, 94208, 94208);
	segment = test_segment_at_rest();
	o = segment_object(segment, 0, SEGMENT_FIGURE_KERNEL, 2, 0);
	TEST_ASSERT_EQUAL_HEX64(2, o->w[2]);
	TEST_ASSERT_EQUAL_HEX64(0, o->w[3]);
	TEST_ASSERT_EQUAL_UINT64(57344, o->size);
	TEST_ASSERT_EQUAL_UINT(segment_place(segment, 1), o->alloc_place);
	TEST_ASSERT_EQUAL_HEX64(2, o->w[5]);
	TEST_ASSERT_EQUAL_HEX64(16ull << 40, o->w[7]);
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

static void test_fabric_and_dispatch_kernels_are_persistent(void)
{
	struct segment *segment;
	unsigned type;

	for (type = 0; type < 3; type++)
		ttmem_kernel_load(
			0, type, (enum ttmem_kernel_type)type, 100, 1, 0);
	segment = test_segment_at_rest();
	for (type = 0; type < 3; type++)
		TEST_ASSERT_EQUAL_UINT(type ? SEGMENT_PERSISTENT : 0,
			segment_object(
				segment, 0, SEGMENT_FIGURE_KERNEL, type, 0)
				->flags);
	segment_unref(&segment);
}

static void test_repeated_load_is_a_dispatch(void)
{
	struct segment *segment;
	struct segment_words before;
	const struct segment_words *record;
	int i;

	ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 100, 4, 0);
	segment = test_segment_at_rest();
	before = segment->objects[0];
	segment_unref(&segment);
	for (i = 0; i < 5; i++)
		ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 100, 4, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	TEST_ASSERT_EQUAL_MEMORY(
		before.w, segment->objects[0].w, sizeof(before.w));
	TEST_ASSERT_EQUAL_UINT64(5, segment->devices[0].dispatches[0]);
	TEST_ASSERT_EQUAL_UINT64(0, segment->devices[0].dispatches[1]);
	TEST_ASSERT_EQUAL_UINT64(1,
		segment->devices[0]
			.figures[TTMEM_FIGURE_KERNEL_APPLICATION]
			.alloc_objects);
	record = test_segment_last(segment, 0);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_DISPATCH, record->type);
	TEST_ASSERT_EQUAL_UINT(TTMEM_FIGURE_KERNEL_APPLICATION, record->figure);
	TEST_ASSERT_EQUAL_UINT32(before.slot, record->slot);
	TEST_ASSERT_EQUAL_UINT64(7, record->id);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 1, 400, 400);
	test_anomalies_are(NONE);
}

static void test_dispatches_are_counted_by_type(void)
{
	struct segment *segment;
	unsigned type;
	unsigned i;

	for (type = 0; type < 3; type++)
		for (i = 0; i < type + 2; i++)
			ttmem_kernel_load(0, type, (enum ttmem_kernel_type)type,
				100, 1, 0);
	segment = test_segment_at_rest();
	for (type = 0; type < 3; type++)
		TEST_ASSERT_EQUAL_UINT64(
			type + 1, segment->devices[0].dispatches[type]);
	segment_unref(&segment);
}

static void test_other_size_or_cores_replaces_without_anomaly(void)
{
	struct segment *segment;

	ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 100, 4, 0);
	ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 200, 4, 0);
	ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 200, 3, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(600, segment->objects[0].bytes);
	TEST_ASSERT_EQUAL_UINT64(0, segment->devices[0].dispatches[0]);
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

static void test_other_type_moves_the_bytes_to_its_figure(void)
{
	struct segment *segment;

	ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 100, 4, 0);
	ttmem_kernel_load(0, 7, TTMEM_KERNEL_FABRIC, 200, 4, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT(
		TTMEM_FIGURE_KERNEL_FABRIC, segment->objects[0].figure);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 0, 0, 400);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_FABRIC, 1, 800, 800);
}

static void test_other_type_of_the_same_size_replaces(void)
{
	struct segment *segment;

	ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 100, 4, 0);
	ttmem_kernel_load(0, 7, TTMEM_KERNEL_DISPATCH, 100, 4, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 0, 0, 400);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_DISPATCH, 1, 400, 400);
}

static void test_kernel_in_the_ring_is_flagged(void)
{
	struct segment *segment;

	ttmem_kernel_load(
		0, 7, TTMEM_KERNEL_APPLICATION, 100, 4, TTMEM_KERNEL_IN_RING);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT(SEGMENT_IN_RING, segment->objects[0].flags);
	TEST_ASSERT_EQUAL_UINT64(400, segment->objects[0].bytes);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 1, 400, 400);
}

static void test_kernel_moved_to_the_ring_replaces(void)
{
	struct segment *segment;

	ttmem_kernel_load(0, 7, TTMEM_KERNEL_APPLICATION, 100, 4, 0);
	ttmem_kernel_load(
		0, 7, TTMEM_KERNEL_APPLICATION, 100, 4, TTMEM_KERNEL_IN_RING);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_IN_RING, segment->objects[0].flags);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 1, 400, 400);
}

static void test_unload_frees_it_whatever_its_type(void)
{
	struct segment *segment;
	unsigned type;

	for (type = 0; type < 3; type++)
		ttmem_kernel_load(
			0, type, (enum ttmem_kernel_type)type, 100, 2, 0);
	for (type = 0; type < 3; type++)
		ttmem_kernel_unload(0, type);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	for (type = 0; type < 3; type++)
		TEST_ASSERT_EQUAL_UINT64(200,
			segment->devices[0]
				.figures[SEGMENT_FIGURE_KERNEL + type]
				.free_bytes);
	segment_unref(&segment);
	test_usage_is_nothing(0);
	test_anomalies_are(NONE);
}

static void test_unload_of_an_unknown_kernel_is_counted(void)
{
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 100, 2, 0);
	ttmem_kernel_unload(0, 2);
	ttmem_kernel_unload(0, 1);
	ttmem_kernel_unload(0, 1);
	test_usage_is_nothing(0);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){
		[TTMEM_ANOMALY_FREE_UNKNOWN] = 2 });
}

static void test_load_after_unload_is_no_dispatch(void)
{
	struct segment *segment;

	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 100, 2, 0);
	ttmem_kernel_unload(0, 1);
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 100, 2, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->devices[0].dispatches[0]);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 1, 200, 200);
}

static void test_guess_knows_the_two_sizes_and_nothing_else(void)
{
	TEST_ASSERT_EQUAL_INT(
		TTMEM_KERNEL_FABRIC, ttmem_kernel_type_guess(56 * KIB));
	TEST_ASSERT_EQUAL_INT(
		TTMEM_KERNEL_DISPATCH, ttmem_kernel_type_guess(46 * KIB));
	TEST_ASSERT_EQUAL_INT(
		TTMEM_KERNEL_APPLICATION, ttmem_kernel_type_guess(0));
	TEST_ASSERT_EQUAL_INT(TTMEM_KERNEL_APPLICATION,
		ttmem_kernel_type_guess(56 * KIB + 1));
	TEST_ASSERT_EQUAL_INT(
		TTMEM_KERNEL_APPLICATION, ttmem_kernel_type_guess(UINT64_MAX));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_three_types_are_three_figures);
	RUN_TEST(test_fabric_and_dispatch_kernels_are_persistent);
	RUN_TEST(test_repeated_load_is_a_dispatch);
	RUN_TEST(test_dispatches_are_counted_by_type);
	RUN_TEST(test_other_size_or_cores_replaces_without_anomaly);
	RUN_TEST(test_other_type_moves_the_bytes_to_its_figure);
	RUN_TEST(test_other_type_of_the_same_size_replaces);
	RUN_TEST(test_kernel_in_the_ring_is_flagged);
	RUN_TEST(test_kernel_moved_to_the_ring_replaces);
	RUN_TEST(test_unload_frees_it_whatever_its_type);
	RUN_TEST(test_unload_of_an_unknown_kernel_is_counted);
	RUN_TEST(test_load_after_unload_is_no_dispatch);
	RUN_TEST(test_guess_knows_the_two_sizes_and_nothing_else);
	return UNITY_END();
}
