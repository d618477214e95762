/* SPDX-License-Identifier: Apache-2.0 */
/* Of two live slots with one key, the higher rank stays and the other is freed. */
#include "daemon/model_check.h"

static struct ttm_model model;

void setUp(void)
{
	model_begin(&model);
}

void tearDown(void)
{
	ttm_model_free(&model);
}

static struct ttm_item object(unsigned figure, uint64_t id, uint8_t rank)
{
	struct ttm_item item = model_item(2, true);

	item.figure = (uint8_t)figure;
	item.id = id;
	item.rank = rank;
	item.bytes = 10;
	return item;
}

static void put(uint32_t slot, struct ttm_item item)
{
	TEST_ASSERT_TRUE(ttm_apply(&model, slot, &item, true));
}

static bool stays(uint32_t slot)
{
	return ttm_item_is_live(&ttm_model_mirror(&model, slot)->item);
}

static void settle(int freed)
{
	TEST_ASSERT_EQUAL_INT(freed, ttm_model_settle_twins(&model));
	model_check(&model);
	TEST_ASSERT_EQUAL_INT(0, ttm_model_settle_twins(&model));
}

static void test_nothing_is_freed_of_nothing(void)
{
	settle(0);
}

static void test_the_higher_rank_stays(void)
{
	put(1, object(TTMEM_FIGURE_DRAM, 7, 3));
	put(2, object(TTMEM_FIGURE_DRAM, 7, 2));
	put(3, object(TTMEM_FIGURE_DRAM, 8, 1));
	settle(1);
	TEST_ASSERT_TRUE(stays(1));
	TEST_ASSERT_FALSE(stays(2));
	TEST_ASSERT_TRUE(stays(3));
	TEST_ASSERT_EQUAL_UINT64(
		20, model.shares[0].live[TTMEM_FIGURE_DRAM].bytes);
}

static void test_a_rank_wraps(void)
{
	put(1, object(TTMEM_FIGURE_DRAM, 7, 255));
	put(2, object(TTMEM_FIGURE_DRAM, 7, 0));
	put(3, object(TTMEM_FIGURE_L1, 7, 0));
	put(4, object(TTMEM_FIGURE_L1, 7, 127));
	put(5, object(TTMEM_FIGURE_TRACE, 7, 200));
	put(6, object(TTMEM_FIGURE_TRACE, 7, 73));
	settle(3);
	TEST_ASSERT_TRUE(stays(2));
	TEST_ASSERT_TRUE(stays(4));
	TEST_ASSERT_TRUE(stays(5));
}

static void test_with_equal_ranks_the_higher_slot_stays(void)
{
	put(9, object(TTMEM_FIGURE_L1, 7, 4));
	put(3, object(TTMEM_FIGURE_L1, 7, 4));
	settle(1);
	TEST_ASSERT_TRUE(stays(9));
	TEST_ASSERT_FALSE(stays(3));
}

/* Never with a real process, but a file may say anything. */
static void test_of_many_one_stays(void)
{
	uint32_t slot;

	for (slot = 0; slot < 100; slot++)
		put(slot, object(TTMEM_FIGURE_DRAM, 7, slot == 60 ? 2 : 1));
	settle(99);
	TEST_ASSERT_TRUE(stays(60));
	TEST_ASSERT_EQUAL_UINT64(1, model.live_objects);
}

static void test_kernels_of_different_types_are_one_class(void)
{
	put(1, object(TTMEM_FIGURE_KERNEL, 7, 1));
	put(2, object(TTMEM_FIGURE_KERNEL_FABRIC, 7, 2));
	put(3, object(TTMEM_FIGURE_KERNEL_DISPATCH, 8, 1));
	settle(1);
	TEST_ASSERT_FALSE(stays(1));
	TEST_ASSERT_TRUE(stays(2));
	TEST_ASSERT_TRUE(stays(3));
}

static void test_buffers_of_different_kinds_are_no_twins(void)
{
	unsigned figure;

	for (figure = 0; figure <= TTMEM_FIGURE_CB; figure++)
		put(figure, object(figure, 7, 1));
	settle(0);
}

static void test_cbs_of_different_programs_are_no_twins(void)
{
	struct ttm_item one = object(TTMEM_FIGURE_CB, 7, 1), other = one;
	struct ttm_item third = object(TTMEM_FIGURE_CB, 7, 2);

	one.w5 = 100;
	other.w5 = 101;
	third.w5 = 101;
	put(1, one);
	put(2, other);
	put(3, third);
	settle(1);
	TEST_ASSERT_TRUE(stays(1));
	TEST_ASSERT_FALSE(stays(2));
	TEST_ASSERT_TRUE(stays(3));
}

/* What w5 says of others is data: used bytes, the program of a kernel. */
static void test_used_bytes_are_no_part_of_the_key(void)
{
	struct ttm_item one = object(TTMEM_FIGURE_DRAM, 7, 1);

	put(2, object(TTMEM_FIGURE_DRAM, 7, 2));
	one.w5 = 100;
	one.address = 5;
	one.w4 = TTM_W4(6, 1);
	put(1, one);
	settle(1);
	TEST_ASSERT_FALSE(stays(1));
}

/* What was left behind is another object than what is in use. */
static void test_orphans_are_no_twins_of_what_is_in_use(void)
{
	struct ttm_item item = object(TTMEM_FIGURE_DRAM, 7, 1);

	put(1, item);
	model_close(&model, 0, 1);
	item.stamp = 1;
	put(2, item);
	settle(0);
	model_close(&model, 0, 2);
	item.stamp = 2;
	put(3, item);
	/* Two orphans of different closes, and one in use. */
	settle(0);
	item.rank = 9;
	put(4, item);
	settle(1);
	TEST_ASSERT_FALSE(stays(3));
	/* The object was replaced before the close. */
	item.stamp = 1;
	put(5, item);
	settle(1);
	TEST_ASSERT_FALSE(stays(2));
	TEST_ASSERT_TRUE(stays(1));
}

/* Closes of other devices give both another stamp. */
static void test_objects_in_use_are_twins_whatever_their_stamps(void)
{
	struct ttm_item item = object(TTMEM_FIGURE_DRAM, 7, 1);

	put(1, item);
	model_close(&model, 1, 1);
	item.stamp = 1;
	item.rank = 2;
	put(2, item);
	settle(1);
	TEST_ASSERT_FALSE(stays(1));
}

static void test_an_object_that_is_orphaned_in_part_is_in_use(void)
{
	struct ttm_item item = object(TTMEM_FIGURE_DRAM, 7, 1);

	item.place = 3;
	item.w4 = TTM_W4(10, 3);
	put(1, item);
	model_close(&model, 1, 1);
	item.stamp = 1;
	item.rank = 2;
	put(2, item);
	settle(1);
	TEST_ASSERT_FALSE(stays(1));
}

/* The key has the place of the allocation, wherever the object is now. */
static void test_objects_of_other_places_are_no_twins(void)
{
	struct ttm_item item = object(TTMEM_FIGURE_DRAM, 7, 1);

	put(1, item);
	item.place = 2;
	item.w4 = TTM_W4(10, 2);
	put(2, item);
	item.place = 1;
	item.w4 = TTM_W4(10, 3);
	put(3, item);
	settle(0);
	item.place = 2;
	item.rank = 2;
	put(4, item);
	settle(1);
	TEST_ASSERT_FALSE(stays(3));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_nothing_is_freed_of_nothing);
	RUN_TEST(test_the_higher_rank_stays);
	RUN_TEST(test_a_rank_wraps);
	RUN_TEST(test_with_equal_ranks_the_higher_slot_stays);
	RUN_TEST(test_of_many_one_stays);
	RUN_TEST(test_kernels_of_different_types_are_one_class);
	RUN_TEST(test_buffers_of_different_kinds_are_no_twins);
	RUN_TEST(test_cbs_of_different_programs_are_no_twins);
	RUN_TEST(test_used_bytes_are_no_part_of_the_key);
	RUN_TEST(test_orphans_are_no_twins_of_what_is_in_use);
	RUN_TEST(test_objects_in_use_are_twins_whatever_their_stamps);
	RUN_TEST(test_an_object_that_is_orphaned_in_part_is_in_use);
	RUN_TEST(test_objects_of_other_places_are_no_twins);
	return UNITY_END();
}
