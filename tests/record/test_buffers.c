/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of all kinds: what an allocation and a free leave, byte by byte. */
#include <string.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/calls.h"
#include "support/test_segment.h"

static const enum ttmem_kind kinds[] = { TTMEM_DRAM, TTMEM_L1,
	TTMEM_SYSTEM_MEMORY, TTMEM_L1_SMALL, TTMEM_TRACE };

#define KINDS_LEN (sizeof(kinds) / sizeof(kinds[0]))

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static uint64_t w0_of(uint64_t generation, uint64_t place, uint64_t state)
{
	return generation << 16 | place << 2 | state;
}

static uint64_t w1_of(uint64_t slot, uint64_t stamp, uint64_t figure,
	uint64_t flags, uint64_t type)
{
	return slot | (stamp & 0xffff) << 24 | figure << 40 | flags << 44 |
		type << 56;
}

static void test_each_kind_is_a_figure_of_its_own(void)
{
	struct segment *segment;
	size_t i;

	for (i = 0; i < KINDS_LEN; i++)
		ttmem_alloc(3, kinds[i], 77, 0x1000 * i, 100 + i);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(KINDS_LEN, segment->objects_len);
	for (i = 0; i < KINDS_LEN; i++) {
		const struct segment_words *o = segment_object(
			segment, segment_entry(segment, 3), (unsigned)i, 77, 0);

		TEST_ASSERT_NOT_NULL(o);
		TEST_ASSERT_EQUAL_UINT64(100 + i, o->bytes);
		TEST_ASSERT_EQUAL_HEX64(0x1000 * i, o->w[3]);
		test_usage_is(3, (unsigned)i, 1, 100 + i, 100 + i);
	}
	segment_unref(&segment);
	for (i = 0; i < KINDS_LEN; i++)
		ttmem_free(3, kinds[i], 77);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
	test_usage_is_nothing(3);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void test_slot_and_record_of_an_allocation_are_byte_exact(void)
{
	struct segment *segment;
	const struct segment_words *slot;
	const struct segment_words *record;
	uint64_t place, w1;

	ttmem_device_close(9);
	ttmem_device_close(9);
	ttmem_alloc(5, TTMEM_L1, 0xdeadbeefcafef00du, 0x7fff123456789abcu,
		0x010203040506u);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	slot = &segment->objects[0];
	record = test_segment_last(segment, 0);

	/* free, writing, live: generation 2 */
	place = segment_place(segment, 1ull << segment_entry(segment, 5));
	TEST_ASSERT_TRUE(place > 0);
	TEST_ASSERT_EQUAL_HEX64(w0_of(2, place, 2), slot->w[0]);
	w1 = w1_of(slot->slot, segment->closes, 1, 0, 0);
	TEST_ASSERT_EQUAL_HEX64(w1, slot->w[1] & 0x00ffffffffffffffu);
	TEST_ASSERT_EQUAL_HEX64(0xdeadbeefcafef00du, slot->w[2]);
	TEST_ASSERT_EQUAL_HEX64(0x7fff123456789abcu, slot->w[3]);
	TEST_ASSERT_EQUAL_HEX64(0x010203040506u | place << 46, slot->w[4]);
	TEST_ASSERT_EQUAL_HEX64(0x010203040506u, slot->w[5]);
	TEST_ASSERT_TRUE(slot->w[6] - segment->clock_base < UINT64_MAX / 2);
	TEST_ASSERT_EQUAL_HEX64(0, slot->w[7]);

	TEST_ASSERT_EQUAL_HEX64(w1 | 1ull << 56, record->w[1]);
	TEST_ASSERT_EQUAL_HEX64(slot->w[0], record->w[0]);
	TEST_ASSERT_EQUAL_MEMORY(&slot->w[2], &record->w[2], 6 * 8);
	segment_unref(&segment);
}

static void test_record_of_a_free_is_byte_exact(void)
{
	struct segment *segment;
	struct segment_words before;
	struct segment_words after;
	const struct segment_words *record;
	uint64_t place;

	call_buffer_alloc(0, TTMEM_DRAM, 9, 0x40, 1000, 4096);
	segment = test_segment_at_rest();
	before = segment->objects[0];
	segment_unref(&segment);
	ttmem_free(0, TTMEM_DRAM, 9);
	segment = test_segment_at_rest();
	record = test_segment_last(segment, 0);

	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	place = segment_place(segment, 1);
	TEST_ASSERT_EQUAL_HEX64(w0_of(3, place, 0), record->w[0]);
	TEST_ASSERT_EQUAL_HEX64(
		(before.w[1] & 0x00ffffffffffffffu) | 2ull << 56, record->w[1]);
	TEST_ASSERT_EQUAL_HEX64(9, record->w[2]);
	TEST_ASSERT_TRUE(record->w[3] - segment->clock_base < UINT64_MAX / 2);
	TEST_ASSERT_EQUAL_HEX64(1000 | place << 46, record->w[4]);
	TEST_ASSERT_EQUAL_HEX64(4096 | 1ull << 46, record->w[5]);
	TEST_ASSERT_EQUAL_HEX64(before.w[6], record->w[6]);
	TEST_ASSERT_EQUAL_HEX64(0, record->w[7]);
	TEST_ASSERT_TRUE(segment_slot(segment, before.slot, &after));
	TEST_ASSERT_EQUAL_HEX64(record->w[0], after.w[0]);
	segment_unref(&segment);
}

static void test_used_bytes_are_counted_and_requested_kept(void)
{
	const struct segment_words *o;
	struct segment *segment;

	call_buffer_alloc(0, TTMEM_DRAM, 1, 0, 1000, 4096);
	call_buffer_alloc(0, TTMEM_DRAM, 2, 0, 10, 0);
	segment = test_segment_at_rest();
	o = segment_object(segment, 0, 0, 1, 0);
	TEST_ASSERT_EQUAL_UINT64(4096, o->bytes);
	TEST_ASSERT_EQUAL_UINT64(1000, o->size);
	o = segment_object(segment, 0, 0, 2, 0);
	TEST_ASSERT_EQUAL_UINT64(0, o->bytes);
	TEST_ASSERT_EQUAL_UINT64(10, o->size);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 2, 4096, 4096);
}

static struct ttmem_buffer lockstep(uint64_t id)
{
	struct ttmem_buffer buffer;

	ttmem_buffer_init(&buffer, 0, TTMEM_L1);
	buffer.id = id;
	buffer.bytes = 1000;
	return buffer;
}

static void expect_bytes(uint64_t id, uint64_t used, uint32_t banks)
{
	struct segment *segment = test_segment_at_rest();
	const struct segment_words *o = segment_object(
		segment, 0, TTMEM_FIGURE_L1, id, 0);

	TEST_ASSERT_NOT_NULL(o);
	TEST_ASSERT_EQUAL_UINT64(1000, o->size);
	TEST_ASSERT_EQUAL_UINT64(used, o->bytes);
	TEST_ASSERT_EQUAL_UINT32(banks, o->banks);
	segment_unref(&segment);
}

/* If one of the two bank figures is unknown, the requested bytes are used. */
static void test_banks_and_bytes_per_bank_give_the_used_bytes(void)
{
	struct ttmem_buffer buffer = lockstep(1);

	ttmem_buffer_alloc(&buffer);
	expect_bytes(1, 1000, 0);
	buffer = lockstep(2);
	buffer.banks = 64;
	ttmem_buffer_alloc(&buffer);
	expect_bytes(2, 1000, 0);
	buffer = lockstep(3);
	buffer.bytes_per_bank = 4096;
	ttmem_buffer_alloc(&buffer);
	expect_bytes(3, 1000, 0);
	buffer = lockstep(4);
	buffer.bytes_per_bank = 4096;
	buffer.banks = 64;
	ttmem_buffer_alloc(&buffer);
	expect_bytes(4, 4096 * 64, 64);
	test_live_is(0, TTMEM_FIGURE_L1, 4, 3000 + 4096 * 64);
	buffer = lockstep(5);
	buffer.bytes_per_bank = 16;
	buffer.banks = (1 << 18) - 1;
	ttmem_buffer_alloc(&buffer);
	expect_bytes(5, 16 * ((1 << 18) - 1), (1 << 18) - 1);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void test_bank_figures_that_cannot_be_kept_are_overflows(void)
{
	struct ttmem_buffer buffer = lockstep(1);

	buffer.bytes_per_bank = 1;
	buffer.banks = 1 << 18;
	ttmem_buffer_alloc(&buffer);
	buffer.banks = 2;
	buffer.bytes_per_bank = 1ull << 45;
	ttmem_buffer_alloc(&buffer);
	buffer.bytes_per_bank = UINT64_MAX - 1;
	ttmem_buffer_alloc(&buffer);
	buffer = lockstep(1);
	buffer.cores = 4096;
	ttmem_buffer_alloc(&buffer);
	test_anomalies_are(
		(uint64_t[TTMEM_ANOMALIES]){ [TTMEM_ANOMALY_OVERFLOW] = 4 });
}

static void test_flags_of_a_buffer_are_kept(void)
{
	struct ttmem_buffer buffer = lockstep(1);
	struct segment *segment;

	buffer.flags = TTMEM_BUFFER_PERSISTENT;
	ttmem_buffer_alloc(&buffer);
	buffer.id = 2;
	buffer.flags = TTMEM_BUFFER_TRACE | TTMEM_BUFFER_PER_CORE;
	ttmem_buffer_alloc(&buffer);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT(SEGMENT_PERSISTENT,
		segment_object(segment, 0, TTMEM_FIGURE_L1, 1, 0)->flags);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_TRACE_STORAGE | SEGMENT_PER_CORE,
		segment_object(segment, 0, TTMEM_FIGURE_L1, 2, 0)->flags);
	segment_unref(&segment);
	buffer.flags = 8;
	ttmem_buffer_alloc(&buffer);
	buffer.flags = 0;
	buffer.reserved = 1;
	ttmem_buffer_alloc(&buffer);
	buffer.reserved = 0;
	buffer.size--;
	ttmem_buffer_alloc(&buffer);
	ttmem_buffer_alloc(NULL);
	test_anomalies_are(
		(uint64_t[TTMEM_ANOMALIES]){ [TTMEM_ANOMALY_BAD_KIND] = 4 });
}

static void test_ids_may_be_any_number(void)
{
	static const uint64_t ids[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1,
		1ull << 63, 0xffffffff, 0x100000000 };
	struct segment *segment;
	size_t i;

	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		ttmem_alloc(0, TTMEM_L1, ids[i], ids[i], 1);
	segment = test_segment_at_rest();
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		const struct segment_words *o = segment_object(
			segment, 0, 1, ids[i], 0);

		TEST_ASSERT_NOT_NULL(o);
		TEST_ASSERT_EQUAL_HEX64(ids[i], o->w[3]);
	}
	segment_unref(&segment);
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		ttmem_free(0, TTMEM_L1, ids[i]);
	test_usage_is(0, TTMEM_FIGURE_L1, 0, 0, 7);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void test_same_id_on_two_devices_is_two_objects(void)
{
	struct segment *segment;

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_alloc(1, TTMEM_DRAM, 1, 0, 20);
	ttmem_free(0, TTMEM_DRAM, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_NULL(segment_object(
		segment, segment_entry(segment, 0), TTMEM_FIGURE_DRAM, 1, 0));
	TEST_ASSERT_NOT_NULL(segment_object(
		segment, segment_entry(segment, 1), TTMEM_FIGURE_DRAM, 1, 0));
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 0, 0, 10);
	test_usage_is(1, TTMEM_FIGURE_DRAM, 1, 20, 20);
}

static void test_zero_sized_buffer_is_an_object(void)
{
	struct segment *segment;

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	segment_unref(&segment);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 0, 0);
	ttmem_free(0, TTMEM_DRAM, 1);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 0, 0, 0);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void test_generation_grows_by_three_with_each_use_of_a_slot(void)
{
	struct segment *segment;
	const struct segment_lane *lane;
	uint64_t generations[2048] = { 0 };
	size_t i;

	for (i = 0; i < 100; i++) {
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 1);
		ttmem_free(0, TTMEM_DRAM, i);
	}
	segment = test_segment_at_rest();
	lane = &segment->lanes[0];
	for (i = 0; i < lane->records_len; i++) {
		const struct segment_words *r = &lane->records[i];
		uint64_t *generation = &generations[r->slot];

		*generation += r->type == SEGMENT_ALLOC ? 2 : 1;
		TEST_ASSERT_EQUAL_UINT64(*generation, r->generation);
	}
	TEST_ASSERT_EQUAL_UINT64(200, i);
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_each_kind_is_a_figure_of_its_own);
	RUN_TEST(test_slot_and_record_of_an_allocation_are_byte_exact);
	RUN_TEST(test_record_of_a_free_is_byte_exact);
	RUN_TEST(test_used_bytes_are_counted_and_requested_kept);
	RUN_TEST(test_banks_and_bytes_per_bank_give_the_used_bytes);
	RUN_TEST(test_bank_figures_that_cannot_be_kept_are_overflows);
	RUN_TEST(test_flags_of_a_buffer_are_kept);
	RUN_TEST(test_ids_may_be_any_number);
	RUN_TEST(test_same_id_on_two_devices_is_two_objects);
	RUN_TEST(test_zero_sized_buffer_is_an_object);
	RUN_TEST(test_generation_grows_by_three_with_each_use_of_a_slot);
	return UNITY_END();
}
