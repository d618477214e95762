/* SPDX-License-Identifier: Apache-2.0 */
#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

#define NONE ((uint64_t[TTMEM_ANOMALIES]){ 0 })

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void test_bytes_are_size_per_core_times_cores(void)
{
	struct segment *segment;
	const struct segment_words *o;

	ttmem_cb_alloc(0, 0x123456789abcdef0u, 31, 0x19000, 4096, 64, 0);
	segment = test_segment_at_rest();
	o = segment_object(
		segment, 0, TTMEM_FIGURE_CB, 31, 0x123456789abcdef0u);
	TEST_ASSERT_NOT_NULL(o);
	TEST_ASSERT_EQUAL_UINT64(262144, o->bytes);
	TEST_ASSERT_EQUAL_HEX64(
		2 << 16 | (uint64_t)segment_place(segment, 1) << 2 | 2,
		o->w[0]);
	TEST_ASSERT_EQUAL_HEX64(31, o->w[2]);
	TEST_ASSERT_EQUAL_HEX64(0x19000, o->w[3]);
	TEST_ASSERT_EQUAL_HEX64(
		4096 | (uint64_t)segment_place(segment, 1) << 46, o->w[4]);
	TEST_ASSERT_EQUAL_HEX64(0x123456789abcdef0u, o->w[5]);
	TEST_ASSERT_EQUAL_HEX64(64ull << 40, o->w[7]);
	TEST_ASSERT_EQUAL_UINT(0, o->flags);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_CB, 1, 262144, 262144);
	ttmem_cb_free(0, 0x123456789abcdef0u, 31);
	test_usage_is(0, TTMEM_FIGURE_CB, 0, 0, 262144);
	test_anomalies_are(NONE);
}

static void test_borrowed_cb_is_an_object_without_bytes(void)
{
	struct segment *segment;
	const struct segment_flow *flow;

	ttmem_cb_alloc(0, 1, 2, 0x5000, 4096, 64, TTMEM_CB_BORROWED);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_BORROWED, segment->objects[0].flags);
	TEST_ASSERT_EQUAL_UINT64(4096, segment->objects[0].size);
	TEST_ASSERT_EQUAL_UINT64(64, segment->objects[0].cores);
	flow = &segment->devices[0].figures[TTMEM_FIGURE_CB];
	TEST_ASSERT_EQUAL_UINT64(1, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(0, flow->alloc_bytes);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_CB, 1, 0, 0);
	ttmem_cb_free(0, 1, 2);
	test_usage_is(0, TTMEM_FIGURE_CB, 0, 0, 0);
}

static void test_planning_anew_replaces_and_is_no_anomaly(void)
{
	struct segment *segment;
	const struct segment_flow *flow;

	ttmem_cb_alloc(0, 1, 2, 0x5000, 100, 2, 0);
	ttmem_cb_alloc(0, 1, 2, 0x6000, 300, 4, 0);
	ttmem_cb_alloc(0, 1, 2, 0x7000, 500, 8, TTMEM_CB_BORROWED);
	ttmem_cb_alloc(0, 1, 2, 0x7000, 50, 8, 0);
	ttmem_cb_alloc(0, 1, 2, 0x7000, 50, 8, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(400, segment->objects[0].bytes);
	flow = &segment->devices[0].figures[TTMEM_FIGURE_CB];
	TEST_ASSERT_EQUAL_UINT64(5, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(200 + 1200 + 400 + 400, flow->alloc_bytes);
	TEST_ASSERT_EQUAL_UINT64(4, flow->free_objects);
	TEST_ASSERT_EQUAL_UINT64(200 + 1200 + 400, flow->free_bytes);
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

static void test_same_cb_of_two_programs_does_not_mix(void)
{
	struct segment *segment;

	ttmem_cb_alloc(0, 1, 7, 0, 10, 1, 0);
	ttmem_cb_alloc(0, 2, 7, 0, 20, 1, 0);
	test_usage_is(0, TTMEM_FIGURE_CB, 2, 30, 30);
	ttmem_cb_free(0, 1, 7);
	segment = test_segment_at_rest();
	TEST_ASSERT_NULL(segment_object(segment, 0, TTMEM_FIGURE_CB, 7, 1));
	TEST_ASSERT_NOT_NULL(segment_object(segment, 0, TTMEM_FIGURE_CB, 7, 2));
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_CB, 1, 20, 30);
	test_anomalies_are(NONE);
}

static void test_cb_program_and_id_are_not_interchangeable(void)
{
	ttmem_cb_alloc(0, 3, 4, 0, 10, 1, 0);
	ttmem_cb_free(0, 4, 3);
	test_usage_is(0, TTMEM_FIGURE_CB, 1, 10, 10);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){
		[TTMEM_ANOMALY_FREE_UNKNOWN] = 1 });
}

static void test_free_all_frees_the_cbs_of_one_device_only(void)
{
	struct segment *segment;
	uint64_t i;

	for (i = 0; i < 300; i++) {
		ttmem_cb_alloc(0, i / 8, i % 8, 0, 10, 2, 0);
		ttmem_cb_alloc(1, i / 8, i % 8, 0, 10, 3, 0);
		ttmem_alloc(0, TTMEM_L1, i, 0, 1);
	}
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 5, 1, 0);
	ttmem_cb_free_all(0);
	segment = test_segment_at_rest();
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_CB, 0, 0, 6000);
	test_usage_is(0, TTMEM_FIGURE_L1, 300, 300, 300);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 1, 5, 5);
	test_usage_is(1, TTMEM_FIGURE_CB, 300, 9000, 9000);
	ttmem_cb_free_all(0);
	test_anomalies_are(NONE);
}

static void test_cb_can_be_allocated_again_after_free_all(void)
{
	ttmem_cb_alloc(0, 1, 1, 0, 10, 1, 0);
	ttmem_cb_free_all(0);
	ttmem_cb_alloc(0, 1, 1, 0, 20, 1, 0);
	test_usage_is(0, TTMEM_FIGURE_CB, 1, 20, 20);
	ttmem_program_destroy(0, 1);
	test_usage_is(0, TTMEM_FIGURE_CB, 0, 0, 20);
	test_anomalies_are(NONE);
}

static void test_zero_cores_take_no_bytes(void)
{
	ttmem_cb_alloc(0, 1, 1, 0, 4096, 0, 0);
	test_usage_is(0, TTMEM_FIGURE_CB, 1, 0, 0);
	test_anomalies_are(NONE);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_bytes_are_size_per_core_times_cores);
	RUN_TEST(test_borrowed_cb_is_an_object_without_bytes);
	RUN_TEST(test_planning_anew_replaces_and_is_no_anomaly);
	RUN_TEST(test_same_cb_of_two_programs_does_not_mix);
	RUN_TEST(test_cb_program_and_id_are_not_interchangeable);
	RUN_TEST(test_free_all_frees_the_cbs_of_one_device_only);
	RUN_TEST(test_cb_can_be_allocated_again_after_free_all);
	RUN_TEST(test_zero_cores_take_no_bytes);
	return UNITY_END();
}
