/* SPDX-License-Identifier: Apache-2.0 */
/* More events than a lane holds: history goes, the state stays exact. */
#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void allocate(uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		ttmem_alloc(0, TTMEM_DRAM, from, 0, 1 + from);
}

static void test_full_lane_keeps_everything(void)
{
	struct segment *segment;

	allocate(0, 2048);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(2048, segment->lanes[0].tail);
	TEST_ASSERT_EQUAL_UINT64(2048, segment->lanes[0].intent);
	TEST_ASSERT_FALSE(segment->lanes[0].overrun);
	TEST_ASSERT_EQUAL_UINT64(2048, segment->lanes[0].records_len);
	TEST_ASSERT_EQUAL_UINT64(0, segment->lanes[0].records[0].id);
	segment_unref(&segment);
}

static void test_mesh_of_32_has_one_record_and_one_slot_per_buffer(void)
{
	uint32_t members[32], mesh, i;
	struct segment *segment;

	for (i = 0; i < 32; i++)
		members[i] = i;
	mesh = ttmem_mesh_open(members, 32);
	for (i = 0; i < 2048; i++)
		ttmem_alloc(mesh, TTMEM_DRAM, i, 0, 1 + i);
	segment = test_segment_at_rest();
	TEST_ASSERT_FALSE(segment->lanes[0].overrun);
	TEST_ASSERT_EQUAL_UINT64(2048, segment->lanes[0].records_len);
	TEST_ASSERT_EQUAL_UINT64(2048, segment->objects_len);
	for (i = 0; i < 2048; i++) {
		TEST_ASSERT_EQUAL_UINT64(i, segment->lanes[0].records[i].id);
		TEST_ASSERT_EQUAL_INT(
			32, __builtin_popcountll(segment->objects[i].members));
	}
	segment_unref(&segment);
}

static void test_one_more_overwrites_the_oldest(void)
{
	struct segment *segment;

	allocate(0, 2049);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(2049, segment->lanes[0].tail);
	TEST_ASSERT_TRUE(segment->lanes[0].overrun);
	TEST_ASSERT_EQUAL_UINT64(1, segment->lanes[0].first);
	TEST_ASSERT_EQUAL_UINT64(1, segment->lanes[0].records[0].id);
	TEST_ASSERT_EQUAL_UINT64(2048, segment->lanes[0].records[2047].id);
	TEST_ASSERT_EQUAL_UINT64(2049, segment->objects_len);
	segment_unref(&segment);
}

static void test_tail_and_slots_stay_exact_over_many_laps(void)
{
	struct segment *segment;
	const struct segment_lane *lane;
	uint64_t i;

	allocate(0, 5000);
	for (i = 0; i < 5000; i += 2)
		ttmem_free(0, TTMEM_DRAM, i);
	for (i = 0; i < 20000; i++) {
		ttmem_alloc(0, TTMEM_L1, i, 0, 3);
		ttmem_free(0, TTMEM_L1, i);
	}
	segment = test_segment_at_rest();
	lane = &segment->lanes[0];
	TEST_ASSERT_EQUAL_UINT64(5000 + 2500 + 40000, lane->tail);
	TEST_ASSERT_EQUAL_UINT64(2048, lane->records_len);
	for (i = 0; i < 2048; i++) {
		uint64_t number = lane->first + i - 7500;

		TEST_ASSERT_EQUAL_UINT(
			number % 2 ? SEGMENT_FREE : SEGMENT_ALLOC,
			lane->records[i].type);
		TEST_ASSERT_EQUAL_UINT64(number / 2, lane->records[i].id);
	}
	TEST_ASSERT_EQUAL_UINT64(2500, segment->objects_len);
	for (i = 0; i < segment->objects_len; i++) {
		TEST_ASSERT_EQUAL_UINT64(1, segment->objects[i].id % 2);
		TEST_ASSERT_EQUAL_UINT64(
			segment->objects[i].id + 1, segment->objects[i].bytes);
	}
	segment_unref(&segment);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_full_lane_keeps_everything);
	RUN_TEST(test_mesh_of_32_has_one_record_and_one_slot_per_buffer);
	RUN_TEST(test_one_more_overwrites_the_oldest);
	RUN_TEST(test_tail_and_slots_stay_exact_over_many_laps);
	return UNITY_END();
}
