/* SPDX-License-Identifier: Apache-2.0 */
/* Events that no correct program produces: counted by reason, never worse. */
#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/calls.h"
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

/* Nothing in slots and flows; returns how many ANOMALY records there are. */
static size_t expect_nothing_recorded(void)
{
	struct segment *segment = test_segment_at_rest();
	size_t records = segment_records(segment, SEGMENT_ANOMALY);
	unsigned entry;
	unsigned figure;

	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	for (entry = 0; entry < SEGMENT_DEVICES; entry++)
		for (figure = 0; figure < SEGMENT_FIGURES; figure++)
			TEST_ASSERT_EQUAL_UINT64(0,
				segment->devices[entry]
					.figures[figure]
					.alloc_objects);
	segment_unref(&segment);
	return records;
}

static void test_free_of_an_unknown_id_is_counted(void)
{
	struct segment *segment;
	const struct segment_words *record;

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_free(0, TTMEM_DRAM, 2);
	segment = test_segment_at_rest();
	record = test_segment_last(segment, 0);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_ANOMALY, record->type);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_ANOMALY_FREE_UNKNOWN, record->w[4]);
	TEST_ASSERT_EQUAL_UINT64(2, record->id);
	TEST_ASSERT_EQUAL_UINT(TTMEM_FIGURE_DRAM, record->figure);
	TEST_ASSERT_EQUAL_HEX64(1, record->members);
	TEST_ASSERT_EQUAL_HEX32(SEGMENT_SLOT_NONE, record->slot);
	TEST_ASSERT_EQUAL_UINT64(0, record->generation);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 10, 10);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 1));
}

static void test_free_with_another_kind_is_of_an_unknown_object(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_free(0, TTMEM_L1, 1);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 10, 10);
	test_usage_is(0, TTMEM_FIGURE_L1, 0, 0, 0);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 1));
}

static void test_double_free_counts_once_as_a_free(void)
{
	struct segment *segment;
	const struct segment_flow *flow;

	ttmem_alloc(0, TTMEM_L1, 1, 0, 10);
	ttmem_free(0, TTMEM_L1, 1);
	ttmem_free(0, TTMEM_L1, 1);
	ttmem_free(0, TTMEM_L1, 1);
	segment = test_segment_at_rest();
	flow = &segment->devices[0].figures[TTMEM_FIGURE_L1];
	TEST_ASSERT_EQUAL_UINT64(1, flow->free_objects);
	TEST_ASSERT_EQUAL_UINT64(10, flow->free_bytes);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_L1, 0, 0, 10);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 2));
}

static void test_allocation_of_a_live_id_replaces_it(void)
{
	struct segment *segment;
	const struct segment_flow *flow;
	const struct segment_words *o;
	size_t i;
	size_t replaced = 0;

	ttmem_alloc(0, TTMEM_L1, 1, 0x100, 10);
	ttmem_alloc(0, TTMEM_L1, 1, 0x200, 25);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	o = &segment->objects[0];
	TEST_ASSERT_EQUAL_UINT64(25, o->bytes);
	TEST_ASSERT_EQUAL_HEX64(0x200, o->w[3]);
	flow = &segment->devices[0].figures[TTMEM_FIGURE_L1];
	TEST_ASSERT_EQUAL_UINT64(2, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(35, flow->alloc_bytes);
	TEST_ASSERT_EQUAL_UINT64(1, flow->free_objects);
	TEST_ASSERT_EQUAL_UINT64(10, flow->free_bytes);
	for (i = 0; i < segment->lanes[0].records_len; i++)
		if (segment->lanes[0].records[i].type == SEGMENT_FREE)
			replaced += !!(segment->lanes[0].records[i].flags &
				SEGMENT_REPLACED);
	TEST_ASSERT_EQUAL_UINT64(1, replaced);
	segment_unref(&segment);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_ALLOC_LIVE, 1));
	ttmem_free(0, TTMEM_L1, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_ALLOC_LIVE, 1));
}

static void test_device_of_all_ones_is_counted_in_every_hook(void)
{
	uint32_t bad = UINT32_MAX;
	struct ttmem_device_info info;

	ttmem_alloc(bad, TTMEM_DRAM, 1, 0, 10);
	call_buffer_alloc(bad, TTMEM_DRAM, 1, 0, 10, 20);
	ttmem_free(bad, TTMEM_DRAM, 1);
	ttmem_cb_alloc(bad, 1, 2, 0, 10, 4, 0);
	ttmem_cb_free(bad, 1, 2);
	ttmem_cb_free_all(bad);
	ttmem_kernel_load(bad, 1, TTMEM_KERNEL_APPLICATION, 10, 4, 0);
	ttmem_kernel_unload(bad, 1);
	ttmem_program_destroy(bad, 1);
	call_alloc_failed(bad, TTMEM_DRAM, 10, 0);
	ttmem_device_close(bad);
	ttmem_mesh_close(bad);
	ttmem_device_info_init(&info, bad);
	ttmem_device_open(&info);
	TEST_ASSERT_EQUAL_UINT64(13, expect_nothing_recorded());
	test_anomalies_are(ONLY(TTMEM_ANOMALY_BAD_DEVICE, 13));
}

static void test_record_of_a_bad_device_names_none(void)
{
	struct segment *segment;
	const struct segment_words *record;

	ttmem_alloc(0x80000000u, TTMEM_DRAM, 42, 0, 10);
	segment = test_segment_at_rest();
	record = test_segment_last(segment, 0);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_ANOMALY, record->type);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_ANOMALY_BAD_DEVICE, record->w[4]);
	TEST_ASSERT_EQUAL_UINT64(42, record->id);
	TEST_ASSERT_EQUAL_HEX64(0, record->members);
	segment_unref(&segment);
}

static void test_bad_kinds_are_counted(void)
{
	static const uint32_t kinds[] = { 5, 200, 255, 256, 65536, 0x7fffffff,
		0x80000000u, 0xffffffffu };
	size_t len = sizeof(kinds) / sizeof(kinds[0]);
	size_t i;

	for (i = 0; i < len; i++) {
		enum ttmem_kind kind = (enum ttmem_kind)kinds[i];

		ttmem_alloc(0, kind, 1, 0, 10);
		call_buffer_alloc(0, kind, 1, 0, 10, 10);
		ttmem_free(0, kind, 1);
		/* CBs may not fit, too. */
		if (kinds[i] != TTMEM_FIGURE_CB)
			call_alloc_failed(0, kinds[i], 10, 5);
	}
	expect_nothing_recorded();
	test_anomalies_are(ONLY(TTMEM_ANOMALY_BAD_KIND, 4 * len - 1));
}

static void test_bad_kernel_types_are_counted(void)
{
	static const uint32_t types[] = { 3, 200, 0x7fffffff, 0x80000000u,
		0xffffffffu };
	size_t i;

	for (i = 0; i < 5; i++)
		ttmem_kernel_load(
			0, i, (enum ttmem_kernel_type)types[i], 10, 1, 0);
	expect_nothing_recorded();
	test_anomalies_are(ONLY(TTMEM_ANOMALY_BAD_KIND, 5));
}

static void test_unknown_flags_are_counted(void)
{
	ttmem_cb_alloc(0, 1, 1, 0, 10, 2, 0x80000000u);
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 10, 2, 6);
	ttmem_scope_push("x", 0x10);
	ttmem_scope_pop();
	test_anomalies_are(ONLY(TTMEM_ANOMALY_BAD_KIND, 3));
}

static void test_size_times_cores_that_overflows_is_counted(void)
{
	ttmem_cb_alloc(0, 1, 1, 0, UINT64_MAX, 2, 0);
	ttmem_cb_alloc(0, 1, 2, 0, 1ull << 36, 1 << 11, 0);
	ttmem_cb_alloc(0, 1, 3, 0, 1, 4096, 0);
	ttmem_cb_alloc(0, 1, 4, 0, 1, UINT32_MAX, 0);
	ttmem_cb_alloc(0, 1, 5, 0, UINT64_MAX, UINT32_MAX, TTMEM_CB_BORROWED);
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 1ull << 60, 16, 0);
	ttmem_kernel_load(0, 2, TTMEM_KERNEL_FABRIC, 1, UINT32_MAX, 0);
	ttmem_kernel_load(0, 3, TTMEM_KERNEL_DISPATCH, UINT64_MAX, UINT32_MAX,
		TTMEM_KERNEL_IN_RING);
	expect_nothing_recorded();
	test_anomalies_are(ONLY(TTMEM_ANOMALY_OVERFLOW, 8));
}

static void test_largest_number_of_cores_is_fine(void)
{
	struct segment *segment;

	ttmem_cb_alloc(0, 1, 1, 0, 3, 4095, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(3 * 4095, segment->objects[0].bytes);
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

static void test_buffer_beyond_any_memory_is_an_overflow(void)
{
	uint64_t largest = (1ull << 46) - 1;

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, UINT64_MAX);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 1ull << 63);
	ttmem_alloc(0, TTMEM_DRAM, 3, 0, largest + 1);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_OVERFLOW, 3));
	ttmem_alloc(0, TTMEM_DRAM, 4, 0, largest);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, largest, largest);
	ttmem_free(0, TTMEM_DRAM, 4);
	ttmem_alloc(0, TTMEM_DRAM, 5, 0, 7);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 7, largest);
	segment_unref(&(struct segment *){ test_segment_at_rest() });
}

static void test_devices_beyond_64_are_counted(void)
{
	struct segment *segment;
	uint32_t i;

	for (i = 0; i < 70; i++)
		ttmem_alloc(1000 * i, TTMEM_DRAM, i, 0, 10);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(64, segment->devices_count);
	TEST_ASSERT_EQUAL_UINT64(64, segment->objects_len);
	segment_unref(&segment);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_TOO_MANY_DEVICES, 6));
	for (i = 0; i < 64; i++) {
		test_usage_is(1000 * i, TTMEM_FIGURE_DRAM, 1, 10, 10);
		ttmem_free(1000 * i, TTMEM_DRAM, i);
	}
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
}

/* A free names no new device: nothing can be live there. */
static void test_free_on_a_device_never_named_makes_no_entry(void)
{
	struct segment *segment;

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_free(9, TTMEM_DRAM, 1);
	ttmem_cb_free(9, 1, 1);
	ttmem_kernel_unload(9, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_INT(-1, segment_entry(segment, 9));
	segment_unref(&segment);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 3));
}

static void test_pops_without_a_push_are_counted(void)
{
	ttmem_scope_pop();
	ttmem_scope_push("a", 0);
	ttmem_scope_pop();
	ttmem_scope_pop();
	test_anomalies_are(ONLY(TTMEM_ANOMALY_SCOPE_UNDERFLOW, 2));
}

static void test_scopes_too_deep_are_counted_and_stay_balanced(void)
{
	uint64_t expected[TTMEM_ANOMALIES] = { 0 };
	int i;

	for (i = 0; i < 40; i++)
		ttmem_scope_push("deep", 0);
	expected[TTMEM_ANOMALY_SCOPE_TOO_DEEP] = 8;
	test_anomalies_are(expected);
	for (i = 0; i < 40; i++)
		ttmem_scope_pop();
	test_anomalies_are(expected);
	ttmem_scope_pop();
	expected[TTMEM_ANOMALY_SCOPE_UNDERFLOW] = 1;
	test_anomalies_are(expected);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_free_of_an_unknown_id_is_counted);
	RUN_TEST(test_free_with_another_kind_is_of_an_unknown_object);
	RUN_TEST(test_double_free_counts_once_as_a_free);
	RUN_TEST(test_allocation_of_a_live_id_replaces_it);
	RUN_TEST(test_device_of_all_ones_is_counted_in_every_hook);
	RUN_TEST(test_record_of_a_bad_device_names_none);
	RUN_TEST(test_bad_kinds_are_counted);
	RUN_TEST(test_bad_kernel_types_are_counted);
	RUN_TEST(test_unknown_flags_are_counted);
	RUN_TEST(test_size_times_cores_that_overflows_is_counted);
	RUN_TEST(test_largest_number_of_cores_is_fine);
	RUN_TEST(test_buffer_beyond_any_memory_is_an_overflow);
	RUN_TEST(test_devices_beyond_64_are_counted);
	RUN_TEST(test_free_on_a_device_never_named_makes_no_entry);
	RUN_TEST(test_pops_without_a_push_are_counted);
	RUN_TEST(test_scopes_too_deep_are_counted_and_stay_balanced);
	return UNITY_END();
}
