/* SPDX-License-Identifier: Apache-2.0 */
/* Destroying a program frees its CBs and its kernel, and nothing else. */
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

static void program_make(uint32_t device, uint64_t program)
{
	uint64_t cb;

	for (cb = 0; cb < 4; cb++)
		ttmem_cb_alloc(device, program, cb, 0, 10, 2, 0);
	ttmem_kernel_load(device, program, TTMEM_KERNEL_APPLICATION, 7, 3, 0);
	ttmem_alloc(device, TTMEM_L1, program, 0, 100);
}

static void test_only_its_cbs_and_kernel_go(void)
{
	struct segment *segment;

	program_make(0, 1);
	program_make(0, 2);
	program_make(1, 1);
	ttmem_program_destroy(0, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_NULL(segment_object(segment, 0, TTMEM_FIGURE_CB, 0, 1));
	TEST_ASSERT_NOT_NULL(segment_object(segment, 0, TTMEM_FIGURE_CB, 0, 2));
	TEST_ASSERT_NULL(
		segment_object(segment, 0, SEGMENT_FIGURE_KERNEL, 1, 0));
	TEST_ASSERT_NOT_NULL(segment_object(segment, 0, TTMEM_FIGURE_L1, 1, 0));
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_CB, 4, 80, 160);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 1, 21, 42);
	test_usage_is(0, TTMEM_FIGURE_L1, 2, 200, 200);
	test_usage_is(1, TTMEM_FIGURE_CB, 4, 80, 80);
	test_usage_is(1, TTMEM_FIGURE_KERNEL_APPLICATION, 1, 21, 21);
	test_anomalies_are(NONE);
}

static void test_on_a_mesh_it_goes_from_each_member(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh = ttmem_mesh_open(members, 2);

	program_make(mesh, 1);
	program_make(0, 2);
	program_make(5, 1);
	ttmem_program_destroy(mesh, 1);
	test_usage_is(0, TTMEM_FIGURE_CB, 4, 80, 160);
	test_usage_is(1, TTMEM_FIGURE_CB, 0, 0, 80);
	test_usage_is(1, TTMEM_FIGURE_KERNEL_APPLICATION, 0, 0, 21);
	test_usage_is(5, TTMEM_FIGURE_CB, 4, 80, 80);
	test_anomalies_are(NONE);
}

static void test_destroying_none_is_fine(void)
{
	ttmem_alloc(0, TTMEM_L1, 1, 0, 1);
	ttmem_program_destroy(0, 1);
	ttmem_program_destroy(0, UINT64_MAX);
	ttmem_program_destroy(44, 1);
	test_usage_is(0, TTMEM_FIGURE_L1, 1, 1, 1);
	test_anomalies_are(NONE);
}

static void test_program_without_kernel_or_without_cbs_goes_too(void)
{
	ttmem_cb_alloc(0, 1, 9, 0, 10, 2, TTMEM_CB_BORROWED);
	ttmem_kernel_load(0, 2, TTMEM_KERNEL_FABRIC, 7, 3, 0);
	ttmem_program_destroy(0, 1);
	test_usage_is(0, TTMEM_FIGURE_CB, 0, 0, 0);
	ttmem_program_destroy(0, 2);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_FABRIC, 0, 0, 21);
	test_anomalies_are(NONE);
}

static void test_cb_ids_need_not_be_dense(void)
{
	struct segment *segment;
	uint64_t i;

	for (i = 0; i < 64; i++)
		ttmem_cb_alloc(0, 1, i * 0x0123456789abcdefu, 0, 1, 1, 0);
	for (i = 0; i < 100; i++)
		ttmem_cb_alloc(0, 2, UINT64_MAX - i, 0, 1, 1, 0);
	ttmem_program_destroy(0, 1);
	test_usage_is(0, TTMEM_FIGURE_CB, 100, 100, 164);
	ttmem_program_destroy(0, 2);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

static void test_program_can_be_made_again(void)
{
	int i;

	for (i = 0; i < 100; i++) {
		program_make(0, 1);
		ttmem_free(0, TTMEM_L1, 1);
		test_usage_is(0, TTMEM_FIGURE_CB, 4, 80, 80);
		ttmem_program_destroy(0, 1);
		test_usage_is_nothing(0);
	}
	test_anomalies_are(NONE);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_only_its_cbs_and_kernel_go);
	RUN_TEST(test_on_a_mesh_it_goes_from_each_member);
	RUN_TEST(test_destroying_none_is_fine);
	RUN_TEST(test_program_without_kernel_or_without_cbs_goes_too);
	RUN_TEST(test_cb_ids_need_not_be_dense);
	RUN_TEST(test_program_can_be_made_again);
	return UNITY_END();
}
