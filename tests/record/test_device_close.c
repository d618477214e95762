/* SPDX-License-Identifier: Apache-2.0 */
/* What survives the closing of its device is orphaned: listed, in no total. */
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

static void open_chip(uint32_t device, uint64_t chip_id)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	info.chip_id = chip_id;
	ttmem_device_open(&info);
}

static size_t orphans(const struct segment *segment)
{
	size_t found = 0;
	size_t i;

	for (i = 0; i < segment->objects_len; i++)
		found += segment->objects[i].orphan;
	return found;
}

static void one_of_each(uint32_t device, uint64_t id)
{
	unsigned kind;

	for (kind = 0; kind < 5; kind++)
		ttmem_alloc(device, (enum ttmem_kind)kind, id, 0, 100);
	ttmem_cb_alloc(device, id, 1, 0, 10, 10, 0);
	ttmem_kernel_load(device, id, TTMEM_KERNEL_APPLICATION, 50, 2, 0);
}

static void test_survivors_are_orphans_and_in_no_total(void)
{
	struct segment *segment;
	const struct segment_words *record;
	unsigned figure;

	open_chip(0, 100);
	one_of_each(0, 1);
	one_of_each(1, 1);
	ttmem_device_close(0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(14, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(7, orphans(segment));
	for (figure = 0; figure < 7; figure++) {
		const struct segment_flow *flow = &segment->devices[0]
							   .figures[figure];

		TEST_ASSERT_EQUAL_UINT64(1, flow->orphan_objects);
		TEST_ASSERT_EQUAL_UINT64(100, flow->orphan_bytes);
		TEST_ASSERT_EQUAL_UINT64(0, flow->slot_objects);
		TEST_ASSERT_EQUAL_UINT64(1, flow->alloc_objects);
		TEST_ASSERT_EQUAL_UINT64(0, flow->free_objects);
		test_live_is(1, figure, 1, 100);
	}
	TEST_ASSERT_FALSE(segment->devices[0].open);
	TEST_ASSERT_TRUE(segment->devices[0].closed != 0);
	record = test_segment_last(segment, 0);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_DEVICE_CLOSE, record->type);
	TEST_ASSERT_EQUAL_UINT64(segment->devices[0].epoch, record->w[4]);
	TEST_ASSERT_EQUAL_UINT64(segment->closes, record->w[4]);
	segment_unref(&segment);
	test_usage_is_nothing(0);
	test_anomalies_are(NONE);
}

static void test_late_free_ends_an_orphan(void)
{
	struct segment *segment;
	const struct segment_flow *flow;

	open_chip(0, 100);
	one_of_each(0, 1);
	ttmem_device_close(0);
	ttmem_free(0, TTMEM_L1, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(6, orphans(segment));
	flow = &segment->devices[0].figures[TTMEM_FIGURE_L1];
	TEST_ASSERT_EQUAL_UINT64(0, flow->orphan_objects);
	TEST_ASSERT_EQUAL_UINT64(1, flow->free_objects);
	TEST_ASSERT_EQUAL_UINT64(100, flow->free_bytes);
	TEST_ASSERT_EQUAL_INT64(0, flow->live_objects);
	segment_unref(&segment);
	test_usage_is_nothing(0);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_LATE_FREE, 1));
	ttmem_free(0, TTMEM_L1, 1);
	TEST_ASSERT_EQUAL_UINT64(1, test_anomalies(TTMEM_ANOMALY_FREE_UNKNOWN));
	TEST_ASSERT_EQUAL_UINT64(1, test_anomalies(TTMEM_ANOMALY_LATE_FREE));
}

static void test_late_frees_of_all_classes_end_them(void)
{
	struct segment *segment;

	open_chip(0, 100);
	one_of_each(0, 1);
	ttmem_cb_alloc(0, 2, 1, 0, 10, 1, 0);
	ttmem_device_close(0);
	ttmem_cb_free(0, 1, 1);
	ttmem_kernel_unload(0, 1);
	ttmem_program_destroy(0, 2);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(5, segment->objects_len);
	segment_unref(&segment);
	test_usage_is_nothing(0);
	TEST_ASSERT_EQUAL_UINT64(0, test_anomalies(TTMEM_ANOMALY_FREE_UNKNOWN));
}

static void test_late_free_after_reopening_touches_no_total(void)
{
	open_chip(0, 100);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	ttmem_device_close(0);
	open_chip(0, 100);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 7);
	ttmem_free(0, TTMEM_DRAM, 1);
	test_live_is(0, TTMEM_FIGURE_DRAM, 1, 7);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_LATE_FREE, 1));
}

/* Closed, used all the same, and then opened as another chip. */
static void test_what_a_closed_device_got_is_orphaned_by_another_chip(void)
{
	struct segment *segment;

	open_chip(0, 100);
	ttmem_device_close(0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	open_chip(0, 200);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	TEST_ASSERT_TRUE(segment->objects[0].orphan);
	segment_unref(&segment);
	test_usage_is_nothing(0);
}

static void test_same_chip_keeps_its_entry_and_grows_the_epoch(void)
{
	struct segment *segment;
	uint32_t epoch;

	open_chip(0, 100);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	segment = test_segment_at_rest();
	epoch = segment->devices[0].epoch;
	segment_unref(&segment);
	ttmem_device_close(0);
	open_chip(0, 100);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 7);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->devices_count);
	TEST_ASSERT_EQUAL_UINT32(epoch + 1, segment->devices[0].epoch);
	TEST_ASSERT_TRUE(
		segment_object(segment, 0, TTMEM_FIGURE_DRAM, 1, 0)->orphan);
	TEST_ASSERT_FALSE(
		segment_object(segment, 0, TTMEM_FIGURE_DRAM, 2, 0)->orphan);
	segment_unref(&segment);
	test_live_is(0, TTMEM_FIGURE_DRAM, 1, 7);
	test_anomalies_are(NONE);
}

static void test_other_chip_of_the_same_id_mixes_nothing(void)
{
	struct segment *segment;

	open_chip(0, 100);
	one_of_each(0, 1);
	ttmem_device_close(0);
	open_chip(0, 200);
	one_of_each(0, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(2, segment->devices_count);
	TEST_ASSERT_EQUAL_UINT64(14, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(7, orphans(segment));
	TEST_ASSERT_EQUAL_INT(1, segment_entry(segment, 0));
	TEST_ASSERT_EQUAL_UINT32(0, segment->devices[0].logical);
	TEST_ASSERT_FALSE(segment->devices[0].current);
	TEST_ASSERT_EQUAL_UINT64(0, segment->devices[1].dispatches[0]);
	segment_unref(&segment);
	test_live_is(0, TTMEM_FIGURE_DRAM, 1, 100);
	test_live_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 1, 100);
	test_anomalies_are(NONE);
	ttmem_free(0, TTMEM_DRAM, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_NOT_NULL(
		segment_object(segment, 0, TTMEM_FIGURE_DRAM, 1, 0));
	TEST_ASSERT_NULL(segment_object(segment, 1, TTMEM_FIGURE_DRAM, 1, 0));
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

static void test_going_back_to_the_first_chip_finds_its_entry(void)
{
	struct segment *segment;

	open_chip(0, 100);
	ttmem_device_close(0);
	open_chip(0, 200);
	ttmem_device_close(0);
	open_chip(0, 100);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(2, segment->devices_count);
	TEST_ASSERT_EQUAL_INT(0, segment_entry(segment, 0));
	segment_unref(&segment);
	test_live_is(0, TTMEM_FIGURE_DRAM, 1, 10);
}

/* An orphan is not live: the new epoch's object is a new one. */
static void test_kernel_loaded_after_reopening_is_no_dispatch(void)
{
	struct segment *segment;

	open_chip(0, 100);
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 50, 2, 0);
	ttmem_device_close(0);
	open_chip(0, 100);
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 50, 2, 0);
	test_live_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 1, 100);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->devices[0].dispatches[0]);
	segment_unref(&segment);
}

static void test_id_of_an_orphan_can_be_allocated_again(void)
{
	struct segment *segment;

	open_chip(0, 100);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	ttmem_device_close(0);
	open_chip(0, 100);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 7);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(2, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(1, orphans(segment));
	segment_unref(&segment);
	test_live_is(0, TTMEM_FIGURE_DRAM, 1, 7);
	test_anomalies_are(NONE);
	ttmem_free(0, TTMEM_DRAM, 1);
	test_live_is(0, TTMEM_FIGURE_DRAM, 0, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(1, orphans(segment));
	segment_unref(&segment);
	test_anomalies_are(NONE);
	ttmem_free(0, TTMEM_DRAM, 1);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_LATE_FREE, 1));
}

static void test_closing_a_mesh_closes_each_member(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh = ttmem_mesh_open(members, 2);
	struct segment *segment;

	one_of_each(mesh, 1);
	one_of_each(2, 1);
	ttmem_device_close(mesh);
	test_usage_is_nothing(0);
	test_usage_is_nothing(1);
	test_usage_is_nothing(mesh);
	test_live_is(2, TTMEM_FIGURE_DRAM, 1, 100);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(7, orphans(segment));
	segment_unref(&segment);
}

static void test_device_never_opened_can_be_closed(void)
{
	struct segment *segment;

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	ttmem_device_close(0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, orphans(segment));
	segment_unref(&segment);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 10);
	test_live_is(0, TTMEM_FIGURE_DRAM, 1, 10);
}

static void test_epoch_wraps_without_reviving_orphans_of_the_last_one(void)
{
	struct segment *segment;
	uint32_t i;

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	for (i = 0; i < 65535; i++)
		ttmem_device_close(0);
	test_usage_is_nothing(0);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 10);
	ttmem_device_close(0);
	test_usage_is_nothing(0);
	segment = test_segment_read();
	TEST_ASSERT_TRUE(
		segment_object(segment, 0, TTMEM_FIGURE_DRAM, 2, 0)->orphan);
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_survivors_are_orphans_and_in_no_total);
	RUN_TEST(test_late_free_ends_an_orphan);
	RUN_TEST(test_late_frees_of_all_classes_end_them);
	RUN_TEST(test_late_free_after_reopening_touches_no_total);
	RUN_TEST(test_what_a_closed_device_got_is_orphaned_by_another_chip);
	RUN_TEST(test_same_chip_keeps_its_entry_and_grows_the_epoch);
	RUN_TEST(test_other_chip_of_the_same_id_mixes_nothing);
	RUN_TEST(test_going_back_to_the_first_chip_finds_its_entry);
	RUN_TEST(test_kernel_loaded_after_reopening_is_no_dispatch);
	RUN_TEST(test_id_of_an_orphan_can_be_allocated_again);
	RUN_TEST(test_closing_a_mesh_closes_each_member);
	RUN_TEST(test_device_never_opened_can_be_closed);
	RUN_TEST(test_epoch_wraps_without_reviving_orphans_of_the_last_one);
	return UNITY_END();
}
