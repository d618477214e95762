/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that did not succeed: counted, and the last 16 kept in full. */
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/calls.h"
#include "support/test_segment.h"

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void test_failure_is_kept_in_full(void)
{
	struct segment *segment;
	const struct segment_failure *f;
	const struct segment_words *record;

	ttmem_scope_push("matmul", 0);
	call_alloc_failed(7, TTMEM_L1_SMALL, 123456, 789);
	ttmem_scope_pop();
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->failures_count);
	TEST_ASSERT_EQUAL_UINT64(1, segment->failures_len);
	f = &segment->failures[0];
	TEST_ASSERT_EQUAL_INT(
		segment_entry(segment, 7), (int)__builtin_ctzll(f->members));
	TEST_ASSERT_EQUAL_UINT(TTMEM_FIGURE_L1_SMALL, f->figure);
	TEST_ASSERT_EQUAL_UINT64(123456, f->bytes);
	TEST_ASSERT_EQUAL_UINT64(789, f->largest_free_per_bank);
	TEST_ASSERT_EQUAL_HEX64(TTMEM_UNKNOWN, f->program);
	TEST_ASSERT_EQUAL_STRING("matmul", segment_name(segment, f->scope));
	TEST_ASSERT_EQUAL_UINT64((uint64_t)gettid(), f->tid);
	TEST_ASSERT_TRUE(f->time - segment->clock_base < UINT64_MAX / 2);
	TEST_ASSERT_EQUAL_UINT64(
		1, segment->devices[0].failures[TTMEM_L1_SMALL]);
	record = test_segment_last(segment, 0);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_FAILURE, record->type);
	TEST_ASSERT_EQUAL_UINT64(123456, record->w[4]);
	TEST_ASSERT_EQUAL_UINT64(0, record->w[5]);
	TEST_ASSERT_EQUAL_UINT32(f->scope, record->scope);
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
	test_usage_is_nothing(7);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void test_last_16_of_20_are_kept(void)
{
	struct segment *segment;
	uint64_t i;

	for (i = 0; i < 20; i++)
		call_alloc_failed(0, (enum ttmem_kind)(i % 5), 1000 + i,
			i % 2 ? TTMEM_UNKNOWN : i);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(20, segment->failures_count);
	TEST_ASSERT_EQUAL_UINT64(16, segment->failures_len);
	for (i = 0; i < 16; i++) {
		const struct segment_failure *f = &segment->failures[i];

		TEST_ASSERT_EQUAL_UINT64(4 + i, f->number);
		TEST_ASSERT_EQUAL_UINT64(1004 + i, f->bytes);
		TEST_ASSERT_EQUAL_UINT((4 + i) % 5, f->figure);
		TEST_ASSERT_EQUAL_HEX64(i % 2 ? TTMEM_UNKNOWN : 4 + i,
			f->largest_free_per_bank);
	}
	for (i = 0; i < 5; i++)
		TEST_ASSERT_EQUAL_UINT64(4, segment->devices[0].failures[i]);
	TEST_ASSERT_EQUAL_UINT64(20, segment_records(segment, SEGMENT_FAILURE));
	segment_unref(&segment);
}

static void test_failure_on_a_mesh_is_one(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh = ttmem_mesh_open(members, 2);
	struct segment *segment;

	call_alloc_failed(mesh, TTMEM_DRAM, 10, 5);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->devices[0].failures[0]);
	TEST_ASSERT_EQUAL_UINT64(1, segment->devices[1].failures[0]);
	TEST_ASSERT_EQUAL_UINT64(1, segment->failures_count);
	TEST_ASSERT_EQUAL_HEX64(3, segment->failures[0].members);
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_failure_is_kept_in_full);
	RUN_TEST(test_last_16_of_20_are_kept);
	RUN_TEST(test_failure_on_a_mesh_is_one);
	return UNITY_END();
}
