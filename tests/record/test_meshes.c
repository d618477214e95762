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
	TEST_ASSERT_EQUAL_UINT64(2, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(2, segment_records(segment, SEGMENT_ALLOC));
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
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
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
	TEST_ASSERT_EQUAL_HEX64(0, segment->objects[0].orphans);
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

static void test_handles_outlive_a_stop(void)
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
	test_usage_is(first, TTMEM_FIGURE_DRAM, 2, 20, 20);
	test_usage_is(second, TTMEM_FIGURE_DRAM, 1, 10, 10);
	test_anomalies_are(NONE);
}

static uint64_t mask_of(
	const struct segment *segment, uint32_t first, uint32_t end)
{
	uint64_t mask = 0;

	for (; first < end; first++)
		mask |= 1ull << segment_entry(segment, first);
	return mask;
}

/* The body stays; the slot's first word names the devices that are left. */
static void test_freeing_a_part_makes_the_place_smaller(void)
{
	uint32_t members[] = { 0, 1, 2, 3 };
	uint32_t four = ttmem_mesh_open(members, 4);
	const struct segment_words *record;
	struct segment_words before, after;
	struct segment *segment;

	ttmem_alloc(four, TTMEM_L1, 7, 0x40, 100);
	segment = test_segment_at_rest();
	before = segment->objects[0];
	segment_unref(&segment);
	ttmem_free(1, TTMEM_L1, 7);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	after = segment->objects[0];
	TEST_ASSERT_EQUAL_HEX64(
		mask_of(segment, 0, 1) | mask_of(segment, 2, 4), after.members);
	TEST_ASSERT_EQUAL_UINT64(before.generation + 1, after.generation);
	TEST_ASSERT_EQUAL_MEMORY(&before.w[1], &after.w[1], 7 * 8);
	record = test_segment_last(segment, 0);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_SHRINK, record->type);
	TEST_ASSERT_EQUAL_HEX64(after.w[0], record->w[0]);
	TEST_ASSERT_EQUAL_MEMORY(&after.w[2], &record->w[2], 6 * 8);
	TEST_ASSERT_EQUAL_UINT64(0, segment_records(segment, SEGMENT_FREE));
	segment_unref(&segment);
	test_usage_is(1, TTMEM_FIGURE_L1, 0, 0, 100);
	test_usage_is(four, TTMEM_FIGURE_L1, 3, 300, 400);
	ttmem_free(0, TTMEM_L1, 7);
	ttmem_free(3, TTMEM_L1, 7);
	ttmem_free(2, TTMEM_L1, 7);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(1, segment_records(segment, SEGMENT_FREE));
	segment_unref(&segment);
	test_usage_is_nothing(four);
	test_anomalies_are(NONE);
}

static void test_free_through_another_mesh_takes_the_common_part(void)
{
	uint32_t members[] = { 0, 1, 2, 3 };
	uint32_t left = ttmem_mesh_open(members, 3);
	uint32_t right = ttmem_mesh_open(members + 1, 3);

	ttmem_alloc(left, TTMEM_DRAM, 1, 0, 10);
	ttmem_alloc(right, TTMEM_DRAM, 2, 0, 100);
	ttmem_free(right, TTMEM_DRAM, 1); /* not on the last of them */
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 10, 10);
	test_usage_is(1, TTMEM_FIGURE_DRAM, 1, 100, 110);
	test_usage_is(3, TTMEM_FIGURE_DRAM, 1, 100, 100);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 1));
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_free_any(2, 2);
	ttmem_free(1, TTMEM_DRAM, 2);
	ttmem_free(3, TTMEM_DRAM, 2);
	segment_unref(&(struct segment *){ test_segment_at_rest() });
	test_usage_is_nothing(left);
	test_usage_is_nothing(right);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 1));
}

static void test_one_id_on_two_meshes_is_two_objects(void)
{
	uint32_t members[] = { 0, 1, 2 };
	uint32_t left = ttmem_mesh_open(members, 2);
	uint32_t right = ttmem_mesh_open(members + 1, 2);

	ttmem_alloc(left, TTMEM_DRAM, 1, 0, 10);
	ttmem_alloc(right, TTMEM_DRAM, 1, 0, 100);
	test_live_is(1, TTMEM_FIGURE_DRAM, 2, 110);
	ttmem_free(right, TTMEM_DRAM, 1);
	test_live_is(1, TTMEM_FIGURE_DRAM, 1, 10);
	ttmem_alloc(left, TTMEM_DRAM, 1, 0, 20);
	test_live_is(1, TTMEM_FIGURE_DRAM, 1, 20);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_ALLOC_LIVE, 1));
	ttmem_free(left, TTMEM_DRAM, 1);
	test_usage_is_nothing(left);
}

/* The kernel is dispatched where it is, and loaded where it is not. */
static void test_kernel_of_another_mesh_is_loaded_once_per_device(void)
{
	uint32_t members[] = { 0, 1, 2 };
	uint32_t left = ttmem_mesh_open(members, 2);
	uint32_t right = ttmem_mesh_open(members + 1, 2);
	struct segment *segment;
	uint32_t i;

	ttmem_kernel_load(left, 1, TTMEM_KERNEL_APPLICATION, 5, 10, 0);
	ttmem_kernel_load(right, 1, TTMEM_KERNEL_APPLICATION, 5, 10, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(2, segment->objects_len);
	for (i = 0; i < 3; i++) {
		TEST_ASSERT_EQUAL_UINT64(i == 1,
			segment->devices[segment_entry(segment, i)]
				.dispatches[0]);
		test_live_is(i, TTMEM_FIGURE_KERNEL, 1, 50);
	}
	segment_unref(&segment);
	/* Another kernel of that id takes the place of both. */
	ttmem_kernel_load(right, 1, TTMEM_KERNEL_APPLICATION, 6, 10, 0);
	test_live_is(0, TTMEM_FIGURE_KERNEL, 1, 50);
	test_live_is(1, TTMEM_FIGURE_KERNEL, 1, 60);
	test_live_is(2, TTMEM_FIGURE_KERNEL, 1, 60);
	ttmem_program_destroy(1, 1);
	test_live_is(0, TTMEM_FIGURE_KERNEL, 1, 50);
	test_live_is(1, TTMEM_FIGURE_KERNEL, 0, 0);
	test_live_is(2, TTMEM_FIGURE_KERNEL, 1, 60);
	ttmem_program_destroy(2, 1);
	ttmem_kernel_unload(0, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

static void test_kernel_is_loaded_again_where_it_is_orphaned(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t pair = ttmem_mesh_open(members, 2);
	struct segment *segment;

	ttmem_kernel_load(pair, 1, TTMEM_KERNEL_APPLICATION, 5, 10, 0);
	ttmem_device_close(0);
	ttmem_kernel_load(pair, 1, TTMEM_KERNEL_APPLICATION, 5, 10, 0);
	test_live_is(0, TTMEM_FIGURE_KERNEL, 1, 50);
	test_live_is(1, TTMEM_FIGURE_KERNEL, 1, 50);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(
		0, segment->devices[segment_entry(segment, 0)].dispatches[0]);
	TEST_ASSERT_EQUAL_UINT64(
		1, segment->devices[segment_entry(segment, 1)].dispatches[0]);
	segment_unref(&segment);
	ttmem_program_destroy(pair, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
	test_usage_is_nothing(pair);
}

static void test_closing_one_member_orphans_the_part_on_it(void)
{
	uint32_t members[] = { 0, 1, 2 };
	uint32_t mesh = ttmem_mesh_open(members, 3);
	struct segment *segment;

	ttmem_alloc(mesh, TTMEM_DRAM, 1, 0, 10);
	ttmem_device_close(1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	TEST_ASSERT_EQUAL_HEX64(
		mask_of(segment, 1, 2), segment->objects[0].orphans);
	TEST_ASSERT_FALSE(segment->objects[0].orphan);
	segment_unref(&segment);
	test_live_is(mesh, TTMEM_FIGURE_DRAM, 2, 20);
	ttmem_free(mesh, TTMEM_DRAM, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
	test_usage_is_nothing(mesh);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_LATE_FREE, 1));
}

static void test_close_of_a_mesh_is_one_number_and_one_record(void)
{
	uint32_t members[] = { 0, 1, 2 };
	uint32_t mesh = ttmem_mesh_open(members, 3);
	const struct segment_words *record;
	struct segment *segment;
	int i;

	ttmem_device_close(0);
	ttmem_alloc(mesh, TTMEM_DRAM, 1, 0, 10);
	ttmem_device_close(mesh);
	segment = test_segment_at_rest();
	record = test_segment_last(segment, 0);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_DEVICE_CLOSE, record->type);
	TEST_ASSERT_EQUAL_UINT64(segment->closes, record->w[4]);
	TEST_ASSERT_EQUAL_HEX64(mask_of(segment, 0, 3), record->members);
	for (i = 0; i < 3; i++)
		TEST_ASSERT_EQUAL_UINT32(segment->closes,
			segment->devices[segment_entry(segment, (uint32_t)i)]
				.epoch);
	TEST_ASSERT_TRUE(segment->objects[0].orphan);
	segment_unref(&segment);
	test_usage_is_nothing(mesh);
}

/* When no place is left for what stays of it. */
static void kernel_is_whole_or_gone(uint32_t mesh)
{
	uint32_t members[] = { 1, 3, 5, 7, 9, 11, 12, 13 };
	uint32_t part = ttmem_mesh_open(members, 8);

	ttmem_kernel_load(mesh, 1, TTMEM_KERNEL_APPLICATION, 1, 1, 0);
	ttmem_program_destroy(part, 1);
	ttmem_kernel_unload(part, 1);
	test_live_is(mesh, TTMEM_FIGURE_KERNEL, 16, 16);
	ttmem_program_destroy(mesh, 1);
	test_live_is(mesh, TTMEM_FIGURE_KERNEL, 0, 0);
}

/* 16,383 places: shrinks may use half of them, then the part stays and is a loss. */
static void test_parts_that_find_no_place_stay(void)
{
	uint32_t members[16];
	struct segment *segment;
	uint32_t mesh, i, j;
	uint64_t losses;

	for (i = 0; i < 16; i++)
		members[i] = i;
	mesh = ttmem_mesh_open(members, 16);
	for (i = 0; i < 1 << 14; i++) {
		ttmem_alloc(mesh, TTMEM_DRAM, i, 0, 1);
		for (j = 0; j < 16; j++)
			if (i >> j & 1)
				ttmem_free(j, TTMEM_DRAM, i);
	}
	losses = test_losses(TTMEM_LOSS_NO_PLACE);
	TEST_ASSERT_TRUE(losses > 0);
	kernel_is_whole_or_gone(mesh);
	losses += 2;
	segment = test_segment_at_rest();
	TEST_ASSERT_TRUE(segment->places_count <= 16384 / 2 + 64);
	TEST_ASSERT_EQUAL_UINT64(1 << 14, segment->objects_len);
	segment_unref(&segment);
	for (i = 0; i < 1 << 14; i++)
		ttmem_free(mesh, TTMEM_DRAM, i);
	test_usage_is_nothing(mesh);
	/* Through a mesh that finds no place of its own. */
	TEST_ASSERT_EQUAL_UINT64(losses, test_losses(TTMEM_LOSS_NO_PLACE));
}

/* Meshes without a place of their own have an object for each device. */
static void test_meshes_beyond_the_table_are_recorded_on_each_device(void)
{
	uint32_t members[16], mesh = 0, i, j, len;
	struct segment *segment;
	size_t objects;

	for (i = 1; i < 1 << 15; i++) {
		for (j = 0, len = 0; j < 16; j++)
			if (i >> j & 1)
				members[len++] = j;
		mesh = ttmem_mesh_open(members, len);
		ttmem_alloc(mesh, TTMEM_DRAM, i, 0, 1);
	}
	segment = test_segment_at_rest();
	TEST_ASSERT_TRUE(segment->places_count <= 16384);
	objects = segment->objects_len;
	segment_unref(&segment);
	TEST_ASSERT_TRUE(objects > (1 << 15) - 1);
	test_live_is(mesh, TTMEM_FIGURE_DRAM, 15u << 14, 15u << 14);
	ttmem_free(mesh, TTMEM_DRAM, (1 << 15) - 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(objects - 15, segment->objects_len);
	segment_unref(&segment);
	test_live_is(
		mesh, TTMEM_FIGURE_DRAM, (15u << 14) - 15, (15u << 14) - 15);
	test_anomalies_are(NONE);
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
	RUN_TEST(test_handles_outlive_a_stop);
	RUN_TEST(test_freeing_a_part_makes_the_place_smaller);
	RUN_TEST(test_free_through_another_mesh_takes_the_common_part);
	RUN_TEST(test_one_id_on_two_meshes_is_two_objects);
	RUN_TEST(test_kernel_of_another_mesh_is_loaded_once_per_device);
	RUN_TEST(test_kernel_is_loaded_again_where_it_is_orphaned);
	RUN_TEST(test_closing_one_member_orphans_the_part_on_it);
	RUN_TEST(test_close_of_a_mesh_is_one_number_and_one_record);
	RUN_TEST(test_parts_that_find_no_place_stay);
	RUN_TEST(test_meshes_beyond_the_table_are_recorded_on_each_device);
	RUN_TEST(test_mesh_of_64_devices_works_whole);
	RUN_TEST(test_member_beyond_64_devices_is_counted);
	RUN_TEST(test_handle_follows_the_logical_id_to_another_chip);
	RUN_TEST(test_null_list_is_no_mesh);
	return UNITY_END();
}
