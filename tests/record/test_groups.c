/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer on several devices is entered once, and is still one object on each of
 * them: freed together, in parts, or one by one, replaced, orphaned.
 */
#include <ttmem/ttmem.h>
#include <unity.h>

#include "record/group.h"
#include "record/supply.h"
#include "support/test_dir.h"
#include "support/test_segment.h"

#define ID 77u
#define NONE ((uint64_t[TTMEM_ANOMALIES]){ 0 })
#define ONLY(reason, count) ((uint64_t[TTMEM_ANOMALIES]){ [reason] = (count) })

/*
 * Each test is run twice: the second time every device has had a buffer of its own, so
 * that there is a free slot at hand, and groups have to look for others.
 */
static bool warm;

static uint32_t eight; /* devices 0-7 */
static uint32_t low;   /* 0-3 */
static uint32_t high;  /* 4-7 */
static uint32_t mixed; /* 3-12 and 20: of three eights, one of them alone */

static uint32_t mesh_of(uint32_t first, uint32_t len)
{
	uint32_t members[64];
	uint32_t i;

	for (i = 0; i < len; i++)
		members[i] = first + i;
	return ttmem_mesh_open(members, len);
}

void setUp(void)
{
	static const uint32_t several[] = { 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
		20 };
	uint32_t device;

	test_tracking_start();
	/* In this order the entries are the logical ids. */
	eight = mesh_of(0, 8);
	mesh_of(0, 32);
	low = mesh_of(0, 4);
	high = mesh_of(4, 4);
	mixed = ttmem_mesh_open(several, 11);
	for (device = 0; warm && device < 32; device++) {
		ttmem_alloc(device, TTMEM_L1, ID, 0, 1);
		ttmem_free(device, TTMEM_L1, ID);
	}
}

void tearDown(void)
{
	test_tracking_stop();
}

static void alloc(uint32_t device, uint64_t size)
{
	ttmem_alloc(device, TTMEM_DRAM, ID, 0x1000, size);
}

static void release(uint32_t device)
{
	ttmem_free(device, TTMEM_DRAM, ID);
}

static void live_is(uint32_t device, uint64_t objects, uint64_t bytes)
{
	struct ttmem_usage usage = { .size = sizeof(usage) };

	TEST_ASSERT_EQUAL_INT(0, ttmem_usage(device, &usage));
	TEST_ASSERT_EQUAL_UINT64(
		objects, usage.figures[TTMEM_FIGURE_DRAM].live_objects);
	TEST_ASSERT_EQUAL_UINT64(
		bytes, usage.figures[TTMEM_FIGURE_DRAM].live_bytes);
}

/* Slots, counters and records agree, and so many objects are live. */
static void rest_is(uint64_t objects)
{
	struct segment *segment = test_segment_at_rest();

	TEST_ASSERT_EQUAL_UINT64(objects, segment->objects_len);
	segment_unref(&segment);
}

static void test_members_are_objects_of_their_devices(void)
{
	struct segment *segment;
	uint32_t device;

	alloc(eight, 100);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(8, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(
		warm ? 8 + 32 : 8, segment_records(segment, SEGMENT_ALLOC));
	for (device = 0; device < 8; device++) {
		const struct segment_words *object = segment_object(segment,
			segment_entry(segment, device), TTMEM_FIGURE_DRAM, ID,
			0);

		TEST_ASSERT_NOT_NULL(object);
		TEST_ASSERT_EQUAL_UINT64(100, object->bytes);
		TEST_ASSERT_EQUAL_UINT64(0x1000, object->w[3]);
	}
	segment_unref(&segment);
	release(eight);
	live_is(eight, 0, 0);
	rest_is(0);
	test_anomalies_are(NONE);
}

static void test_members_are_freed_one_by_one(void)
{
	uint32_t device;

	alloc(eight, 100);
	for (device = 0; device < 8; device++) {
		live_is(eight, 8 - device, 100 * (8 - device));
		release(7 - device);
	}
	live_is(eight, 0, 0);
	rest_is(0);
	test_anomalies_are(NONE);
	release(eight);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 8));
}

static void test_parts_are_freed_by_other_meshes(void)
{
	alloc(eight, 100);
	release(high);
	live_is(high, 0, 0);
	live_is(low, 4, 400);
	release(2);
	release(low);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 1));
	rest_is(0);
}

static void test_parts_of_one_id_make_a_whole(void)
{
	alloc(low, 100);
	alloc(high, 200);
	live_is(eight, 8, 1200);
	test_anomalies_are(NONE);
	release(eight);
	rest_is(0);
	test_anomalies_are(NONE);
}

static void test_members_by_themselves_are_freed_by_the_mesh(void)
{
	uint32_t device;

	for (device = 0; device < 8; device++)
		alloc(device, 10 + device);
	release(eight);
	rest_is(0);
	test_anomalies_are(NONE);
}

static void test_mesh_of_several_eights_is_whole(void)
{
	alloc(mixed, 100);
	live_is(mixed, 11, 1100);
	rest_is(11);
	release(mixed);
	rest_is(0);
	test_anomalies_are(NONE);
}

static void test_mesh_replaces_what_members_have(void)
{
	alloc(3, 10);
	alloc(5, 20);
	alloc(eight, 100);
	live_is(eight, 8, 800);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_ALLOC_LIVE, 2));
	rest_is(8);
	release(eight);
	rest_is(0);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_ALLOC_LIVE, 2));
}

static void test_member_replaces_what_the_mesh_has(void)
{
	alloc(eight, 100);
	alloc(6, 30);
	live_is(eight, 8, 730);
	live_is(6, 1, 30);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_ALLOC_LIVE, 1));
	rest_is(8);
	release(eight);
	rest_is(0);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_ALLOC_LIVE, 1));
}

static void test_mesh_replaces_itself_and_parts_of_it(void)
{
	alloc(eight, 100);
	alloc(eight, 200);
	live_is(eight, 8, 1600);
	alloc(low, 10);
	live_is(eight, 8, 840);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_ALLOC_LIVE, 12));
	rest_is(8);
	release(eight);
	rest_is(0);
}

static void test_other_kinds_and_ids_are_other_buffers(void)
{
	alloc(eight, 100);
	ttmem_alloc(eight, TTMEM_L1, ID, 0, 1);
	ttmem_alloc(4, TTMEM_TRACE, ID, 0, 2);
	ttmem_alloc(eight, TTMEM_DRAM, ID + 1, 0, 3);
	test_anomalies_are(NONE);
	rest_is(25);
	ttmem_free(eight, TTMEM_L1, ID);
	ttmem_free(4, TTMEM_TRACE, ID);
	live_is(eight, 16, 824);
	release(eight);
	live_is(eight, 8, 24);
	ttmem_free(eight, TTMEM_DRAM, ID + 1);
	rest_is(0);
	test_anomalies_are(NONE);
}

static void test_kind_of_a_member_is_found(void)
{
	ttmem_alloc(eight, TTMEM_L1_SMALL, ID, 0, 5);
	ttmem_free_any(2, ID);
	ttmem_free_any(eight, ID);
	rest_is(0);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 1));
}

static void test_members_of_a_closed_device_are_orphaned(void)
{
	alloc(eight, 100);
	ttmem_device_close(1);
	live_is(eight, 7, 700);
	rest_is(8);
	release(eight);
	rest_is(0);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_LATE_FREE, 1));
}

static void test_an_orphan_stays_beside_a_new_one(void)
{
	alloc(eight, 100);
	ttmem_device_close(eight);
	alloc(eight, 200);
	live_is(eight, 8, 1600);
	rest_is(16);
	test_anomalies_are(NONE);
	release(eight);
	live_is(eight, 0, 0);
	rest_is(8);
	release(eight);
	rest_is(0);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_LATE_FREE, 8));
}

static void test_peaks_of_members_are_their_own(void)
{
	alloc(eight, 100);
	ttmem_alloc(2, TTMEM_DRAM, 1, 0, 1000);
	release(eight);
	test_usage_is(2, TTMEM_FIGURE_DRAM, 1, 1000, 1100);
	test_usage_is(3, TTMEM_FIGURE_DRAM, 0, 0, 100);
}

/*
 * Ids that differ in their highest bits have the same line and nearly the same tag. One by
 * itself is not taken for a group, whatever is in the slots behind it.
 */
static void test_ids_that_look_alike_are_others(void)
{
	const uint64_t alike = ID ^ 1ull << 63;
	uint32_t seven = mesh_of(1, 7), device, i;
	struct segment *segment;
	uint64_t used = 0;

	for (i = 0; i < 10; i++) {
		/* In slots that follow each other, the first time. */
		ttmem_alloc(0, TTMEM_DRAM, alike, 0, 1);
		for (device = 1; device < 8; device++)
			alloc(device, 2);
		segment = test_segment_at_rest();
		if (i == 0)
			used = segment->slots_used;
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(
			used, segment->slots_used, "slots are lost");
		segment_unref(&segment);
		release(seven);
		live_is(eight, 1, 1);
		ttmem_free(0, TTMEM_DRAM, alike);
	}
	rest_is(0);
	test_anomalies_are(NONE);
}

/* Whatever part goes first, what an octet has is used again. */
static void test_slots_are_used_again(void)
{
	struct segment *segment;
	uint64_t used = 0, i;

	for (i = 0; i < 20000; i++) {
		alloc(eight, 100);
		if (i % 3 == 0)
			release((uint32_t)(i % 8));
		if (i % 5 == 0)
			alloc((uint32_t)(i % 7), 50);
		release(i % 2 ? low : high);
		release(i % 2 ? high : low);
		if (i == 100) {
			segment = test_segment_at_rest();
			used = segment->slots_len;
			segment_unref(&segment);
		}
	}
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(used, segment->slots_len);
	segment_unref(&segment);
}

/* More than a lane keeps to itself, and more than one level of the index. */
/*
 * At the cap of a segment an octet is broken up, and its word becomes the link of a free
 * slot. Who saw the octet before, and was stopped, must not take that for what he saw.
 */
static void test_a_link_of_a_free_slot_is_no_octet(void)
{
	struct ttm_process *process = ttm_process_now();
	uint64_t *word, seen, link;
	struct segment *segment;
	uint32_t slot;

	ttmem_alloc(eight, TTMEM_DRAM, 1, 0, 10);
	segment = test_segment_at_rest();
	slot = segment->objects[0].slot;
	segment_unref(&segment);
	seen = ttm_octet_with(process, slot);
	TEST_ASSERT_TRUE(seen != 0);
	ttmem_free(eight, TTMEM_DRAM, 1);
	word = ttm_octet_word(process, ttm_octet_of(slot));
	for (link = 1; link <= TTM_SLOTS_MAX; link += 0xff) {
		*word = link;
		TEST_ASSERT_FALSE(ttm_octet_claim(process, slot, seen));
		*word = link << 32 | link;
		TEST_ASSERT_FALSE(ttm_octet_claim(process, slot, seen));
	}
	*word = (uint32_t)seen & ~TTM_OCTET_MARK;
	TEST_ASSERT_FALSE(ttm_octet_claim(process, slot, seen));
	*word = TTM_OCTET_GONE(seen);
}

static void test_very_many_are_found_again(void)
{
	uint64_t many = test_scale(20000), id;

	for (id = 0; id < many; id++)
		ttmem_alloc(eight, TTMEM_DRAM, id, 0, 16);
	live_is(eight, 8 * many, 128 * many);
	for (id = 0; id < many; id += 2)
		ttmem_free((uint32_t)(id / 2 % 8), TTMEM_DRAM, id);
	for (id = 0; id < many; id++)
		ttmem_free(eight, TTMEM_DRAM, id);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, many / 2));
	rest_is(0);
}

static void run_all(void)
{
	RUN_TEST(test_members_are_objects_of_their_devices);
	RUN_TEST(test_members_are_freed_one_by_one);
	RUN_TEST(test_parts_are_freed_by_other_meshes);
	RUN_TEST(test_parts_of_one_id_make_a_whole);
	RUN_TEST(test_members_by_themselves_are_freed_by_the_mesh);
	RUN_TEST(test_mesh_of_several_eights_is_whole);
	RUN_TEST(test_mesh_replaces_what_members_have);
	RUN_TEST(test_member_replaces_what_the_mesh_has);
	RUN_TEST(test_mesh_replaces_itself_and_parts_of_it);
	RUN_TEST(test_other_kinds_and_ids_are_other_buffers);
	RUN_TEST(test_kind_of_a_member_is_found);
	RUN_TEST(test_members_of_a_closed_device_are_orphaned);
	RUN_TEST(test_an_orphan_stays_beside_a_new_one);
	RUN_TEST(test_peaks_of_members_are_their_own);
	RUN_TEST(test_ids_that_look_alike_are_others);
	RUN_TEST(test_slots_are_used_again);
	RUN_TEST(test_a_link_of_a_free_slot_is_no_octet);
	RUN_TEST(test_very_many_are_found_again);
}

int main(void)
{
	UNITY_BEGIN();
	run_all();
	warm = true;
	run_all();
	return UNITY_END();
}
