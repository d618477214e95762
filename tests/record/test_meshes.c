/* SPDX-License-Identifier: Apache-2.0 */
#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

#define NONE ((uint64_t[TTMEM_ANOMALIES]){ 0 })
#define ONLY(reason, count) ((uint64_t[TTMEM_ANOMALIES]){ [reason] = (count) })

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void test_handle_has_bit_31_and_is_not_all_ones(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh = ttmem_mesh_open(members, 2);

	TEST_ASSERT_TRUE(mesh >> 31);
	TEST_ASSERT_TRUE(mesh != UINT32_MAX);
}

static void test_event_is_recorded_on_each_member(void)
{
	uint32_t members[] = { 3, 9, 70000 };
	uint32_t mesh = ttmem_mesh_open(members, 3);
	struct segment *segment;
	size_t i;

	ttmem_alloc(mesh, TTMEM_DRAM, 1, 0x40, 100);
	ttmem_cb_alloc(mesh, 5, 6, 0, 10, 4, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(6, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(6, segment_records(segment, SEGMENT_ALLOC));
	for (i = 0; i < 3; i++) {
		int entry = segment_entry(segment, members[i]);

		TEST_ASSERT_NOT_NULL(segment_object(
			segment, entry, TTMEM_FIGURE_DRAM, 1, 0));
		test_usage_is(members[i], TTMEM_FIGURE_DRAM, 1, 100, 100);
		test_usage_is(members[i], TTMEM_FIGURE_CB, 1, 40, 40);
	}
	segment_unref(&segment);
	test_usage_is(mesh, TTMEM_FIGURE_DRAM, 3, 300, 300);
	ttmem_free(mesh, TTMEM_DRAM, 1);
	ttmem_cb_free(mesh, 5, 6);
	test_usage_is_nothing(mesh);
	test_anomalies_are(NONE);
}

static void test_mesh_and_member_name_the_same_objects(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh = ttmem_mesh_open(members, 2);

	ttmem_alloc(mesh, TTMEM_DRAM, 1, 0, 100);
	ttmem_free(0, TTMEM_DRAM, 1);
	test_usage_is(mesh, TTMEM_FIGURE_DRAM, 1, 100, 200);
	test_anomalies_are(NONE);
	ttmem_free(mesh, TTMEM_DRAM, 1);
	test_usage_is_nothing(mesh);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 1));
}

static void test_duplicate_members_count_once(void)
{
	uint32_t members[] = { 2, 2, 1, 2, 1 };
	uint32_t mesh = ttmem_mesh_open(members, 5);
	struct segment *segment;

	ttmem_alloc(mesh, TTMEM_DRAM, 1, 0, 100);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(2, segment->objects_len);
	segment_unref(&segment);
	test_usage_is(mesh, TTMEM_FIGURE_DRAM, 2, 200, 200);
	test_anomalies_are(NONE);
}

static void test_empty_list_is_no_mesh(void)
{
	uint32_t members[] = { 0 };

	TEST_ASSERT_EQUAL_HEX32(UINT32_MAX, ttmem_mesh_open(members, 0));
	TEST_ASSERT_EQUAL_HEX32(UINT32_MAX, ttmem_mesh_open(NULL, 0));
}

static void test_bad_member_is_no_mesh(void)
{
	uint32_t good[] = { 0, 1 };
	uint32_t bad[] = { 0, UINT32_MAX };
	uint32_t nested[] = { 0, 0 };

	nested[1] = ttmem_mesh_open(good, 2);
	TEST_ASSERT_EQUAL_HEX32(UINT32_MAX, ttmem_mesh_open(bad, 2));
	TEST_ASSERT_EQUAL_HEX32(UINT32_MAX, ttmem_mesh_open(nested, 2));
	TEST_ASSERT_EQUAL_UINT64(2, test_anomalies(TTMEM_ANOMALY_BAD_DEVICE));
}

static void test_closed_handle_is_a_bad_device(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh = ttmem_mesh_open(members, 2);
	struct ttmem_usage usage = { .size = sizeof(usage) };

	ttmem_alloc(mesh, TTMEM_DRAM, 1, 0, 100);
	ttmem_mesh_close(mesh);
	test_anomalies_are(NONE);
	ttmem_alloc(mesh, TTMEM_DRAM, 2, 0, 100);
	ttmem_free(mesh, TTMEM_DRAM, 1);
	ttmem_mesh_close(mesh);
	TEST_ASSERT_TRUE(ttmem_usage(mesh, &usage) < 0);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 100, 100);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_BAD_DEVICE, 3));
}

static void test_closing_a_handle_leaves_its_members(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh = ttmem_mesh_open(members, 2);
	struct segment *segment;

	ttmem_alloc(mesh, TTMEM_DRAM, 1, 0, 100);
	ttmem_mesh_close(mesh);
	segment = test_segment_at_rest();
	TEST_ASSERT_FALSE(segment->objects[0].orphan);
	TEST_ASSERT_FALSE(segment->objects[1].orphan);
	segment_unref(&segment);
	test_usage_is(1, TTMEM_FIGURE_DRAM, 1, 100, 100);
}

static void test_handles_are_never_reused(void)
{
	static uint32_t handles[10000];
	uint32_t member = 0;
	size_t i;
	uint32_t last = 0;

	for (i = 0; i < 10000; i++) {
		handles[i] = ttmem_mesh_open(&member, 1);
		TEST_ASSERT_TRUE(handles[i] != UINT32_MAX);
		TEST_ASSERT_TRUE(handles[i] > last);
		last = handles[i];
		if (i % 2)
			ttmem_mesh_close(handles[i]);
	}
	ttmem_alloc(handles[0], TTMEM_DRAM, 1, 0, 10);
	ttmem_alloc(handles[9998], TTMEM_DRAM, 2, 0, 10);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 2, 20, 20);
	test_anomalies_are(NONE);
}

static void test_handles_are_not_reused_after_a_stop(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t first = ttmem_mesh_open(members, 2);
	uint32_t second;

	ttmem_stop();
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	second = ttmem_mesh_open(members, 1);
	TEST_ASSERT_TRUE(second != UINT32_MAX);
	TEST_ASSERT_TRUE(first != second);
	ttmem_alloc(first, TTMEM_DRAM, 1, 0, 10);
	test_usage_is(second, TTMEM_FIGURE_DRAM, 0, 0, 0);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_BAD_DEVICE, 1));
}

static void test_mesh_of_64_devices_works_whole(void)
{
	uint32_t members[64];
	uint32_t mesh;
	uint32_t i;

	for (i = 0; i < 64; i++)
		members[i] = 63 - i;
	mesh = ttmem_mesh_open(members, 64);
	ttmem_alloc(mesh, TTMEM_L1, 1, 0, 3);
	test_usage_is(mesh, TTMEM_FIGURE_L1, 64, 192, 192);
	ttmem_peak_reset(mesh);
	ttmem_free(mesh, TTMEM_L1, 1);
	ttmem_peak_reset(mesh);
	test_usage_is(mesh, TTMEM_FIGURE_L1, 0, 0, 0);
	test_anomalies_are(NONE);
}

static void test_member_beyond_64_devices_is_counted(void)
{
	uint32_t members[70];
	uint32_t i;

	for (i = 0; i < 70; i++)
		members[i] = i;
	TEST_ASSERT_EQUAL_HEX32(UINT32_MAX, ttmem_mesh_open(members, 70));
	TEST_ASSERT_TRUE(test_anomalies(TTMEM_ANOMALY_TOO_MANY_DEVICES) >= 1);
}

static void test_handle_follows_the_logical_id_to_another_chip(void)
{
	uint32_t members[] = { 0 };
	uint32_t mesh;
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, 0);
	info.chip_id = 1;
	ttmem_device_open(&info);
	mesh = ttmem_mesh_open(members, 1);
	ttmem_alloc(mesh, TTMEM_DRAM, 1, 0, 10);
	ttmem_device_close(0);
	info.chip_id = 2;
	ttmem_device_open(&info);
	ttmem_alloc(mesh, TTMEM_DRAM, 2, 0, 20);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 20, 20);
	test_usage_is(mesh, TTMEM_FIGURE_DRAM, 1, 20, 20);
}

static void test_null_list_is_no_mesh(void)
{
	TEST_ASSERT_EQUAL_HEX32(UINT32_MAX, ttmem_mesh_open(NULL, 3));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_handle_has_bit_31_and_is_not_all_ones);
	RUN_TEST(test_event_is_recorded_on_each_member);
	RUN_TEST(test_mesh_and_member_name_the_same_objects);
	RUN_TEST(test_duplicate_members_count_once);
	RUN_TEST(test_empty_list_is_no_mesh);
	RUN_TEST(test_bad_member_is_no_mesh);
	RUN_TEST(test_closed_handle_is_a_bad_device);
	RUN_TEST(test_closing_a_handle_leaves_its_members);
	RUN_TEST(test_handles_are_never_reused);
	RUN_TEST(test_handles_are_not_reused_after_a_stop);
	RUN_TEST(test_mesh_of_64_devices_works_whole);
	RUN_TEST(test_member_beyond_64_devices_is_counted);
	RUN_TEST(test_handle_follows_the_logical_id_to_another_chip);
	RUN_TEST(test_null_list_is_no_mesh);
	return UNITY_END();
}
