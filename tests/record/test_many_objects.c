/* SPDX-License-Identifier: Apache-2.0 */
/* Extents and index grow with the live set, and only with it. */
#include <stdlib.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"
#include "support/test_segment.h"

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

/* Spreads ids over all 64 bits; a bijection. */
static uint64_t id_of(uint64_t n)
{
	n ^= n >> 31;
	n *= 0x9e3779b97f4a7c15u;
	return n ^ n >> 29;
}

static int words_by_address(const void *va, const void *vb)
{
	const struct segment_words *a = va;
	const struct segment_words *b = vb;

	return a->w[3] < b->w[3] ? -1 : a->w[3] > b->w[3];
}

static void test_all_of_many_are_found_again(void)
{
	struct segment *segment;
	uint64_t n = test_scale(100000);
	uint64_t i;

	for (i = 0; i < n; i++)
		ttmem_alloc(0, TTMEM_DRAM, id_of(i), i, 1 + i % 7);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(n, segment->objects_len);
	TEST_ASSERT_TRUE(segment->slots_used <= n + 64);
	qsort(segment->objects, n, sizeof(*segment->objects), words_by_address);
	for (i = 0; i < n; i++) {
		TEST_ASSERT_EQUAL_UINT64(i, segment->objects[i].w[3]);
		TEST_ASSERT_EQUAL_HEX64(id_of(i), segment->objects[i].id);
		TEST_ASSERT_EQUAL_UINT64(1 + i % 7, segment->objects[i].bytes);
	}
	segment_unref(&segment);
	for (i = 0; i < n; i++)
		ttmem_free(0, TTMEM_DRAM, id_of(i));
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void test_slots_do_not_grow_on_repetition(void)
{
	struct segment *segment;
	uint64_t n = test_scale(20000);
	uint64_t slots = 0;
	size_t size = 0;
	uint64_t round;
	uint64_t i;

	for (round = 0; round < 8; round++) {
		for (i = 0; i < n; i++)
			ttmem_alloc(0, TTMEM_L1, id_of(round * n + i), 0, 1);
		for (i = 0; i < n; i++)
			ttmem_free(0, TTMEM_L1, id_of(round * n + i));
		segment = test_segment_at_rest();
		if (!round)
			slots = segment->slots_used;
		/* An extent may have been added ahead of its slots. */
		if (round <= 1)
			size = segment->size;
		TEST_ASSERT_TRUE(segment->slots_used <= slots);
		TEST_ASSERT_EQUAL_UINT64(size, segment->size);
		segment_unref(&segment);
	}
	TEST_ASSERT_TRUE(slots <= n + 64);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void test_many_cbs_of_one_program_are_found_again(void)
{
	struct segment *segment;
	uint64_t n = test_scale(3000);
	uint64_t i;

	for (i = 0; i < n; i++)
		ttmem_cb_alloc(0, 1, i, 0, 1, 1, 0);
	for (i = 0; i < n; i += 2)
		ttmem_cb_free(0, 1, i);
	test_usage_is(0, TTMEM_FIGURE_CB, n / 2, n / 2, n);
	ttmem_program_destroy(0, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void test_many_programs_are_destroyed_one_by_one(void)
{
	struct segment *segment;
	uint64_t n = test_scale(5000);
	uint64_t i;
	uint64_t cb;

	for (i = 0; i < n; i++) {
		for (cb = 0; cb < 8; cb++)
			ttmem_cb_alloc(0, id_of(i), cb, 0, 2, 1, 0);
		ttmem_kernel_load(
			0, id_of(i), TTMEM_KERNEL_APPLICATION, 1, 1, 0);
	}
	for (i = 0; i < n; i++) {
		ttmem_program_destroy(0, id_of(i));
		if (i % 512 == 0)
			test_usage_is(0, TTMEM_FIGURE_CB, 8 * (n - i - 1),
				16 * (n - i - 1), 16 * n);
	}
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_all_of_many_are_found_again);
	RUN_TEST(test_slots_do_not_grow_on_repetition);
	RUN_TEST(test_many_cbs_of_one_program_are_found_again);
	RUN_TEST(test_many_programs_are_destroyed_one_by_one);
	return UNITY_END();
}
