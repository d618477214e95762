/* SPDX-License-Identifier: Apache-2.0 */
/* Of two live slots with one key, the later turn stands and the other is freed. */
#include "aggregate/model_check.h"

static struct ttm_model model;

void setUp(void)
{
	ttm_model_init(&model);
	TEST_ASSERT_EQUAL_INT(0, ttm_model_reserve(&model, 1));
}

void tearDown(void)
{
	ttm_model_free(&model);
}

static struct ttm_item object(unsigned figure, uint64_t id, uint8_t turn)
{
	struct ttm_item item = model_item(2, true);

	item.figure = (uint8_t)figure;
	item.id = id;
	item.turn = turn;
	item.bytes = 10;
	return item;
}

static void put(uint32_t slot, struct ttm_item item)
{
	TEST_ASSERT_TRUE(ttm_apply(&model, slot, &item, true));
}

static bool stands(uint32_t slot)
{
	return ttm_item_is_live(&ttm_model_place(&model, slot)->item);
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

static void test_the_later_turn_stands(void)
{
	put(1, object(TTMEM_FIGURE_DRAM, 7, 3));
	put(2, object(TTMEM_FIGURE_DRAM, 7, 2));
	put(3, object(TTMEM_FIGURE_DRAM, 8, 1));
	settle(1);
	TEST_ASSERT_TRUE(stands(1));
	TEST_ASSERT_FALSE(stands(2));
	TEST_ASSERT_TRUE(stands(3));
	TEST_ASSERT_EQUAL_UINT64(
		20, model.shares[0].live[TTMEM_FIGURE_DRAM].bytes);
}

static void test_a_turn_wraps(void)
{
	put(1, object(TTMEM_FIGURE_DRAM, 7, 255));
	put(2, object(TTMEM_FIGURE_DRAM, 7, 0));
	put(3, object(TTMEM_FIGURE_L1, 7, 0));
	put(4, object(TTMEM_FIGURE_L1, 7, 127));
	put(5, object(TTMEM_FIGURE_TRACE, 7, 200));
	put(6, object(TTMEM_FIGURE_TRACE, 7, 73));
	settle(3);
	TEST_ASSERT_TRUE(stands(2));
	TEST_ASSERT_TRUE(stands(4));
	TEST_ASSERT_TRUE(stands(5));
}

static void test_with_equal_turns_the_higher_slot_stands(void)
{
	put(9, object(TTMEM_FIGURE_L1, 7, 4));
	put(3, object(TTMEM_FIGURE_L1, 7, 4));
	settle(1);
	TEST_ASSERT_TRUE(stands(9));
	TEST_ASSERT_FALSE(stands(3));
}

/* Never with a real process, but a file may say anything. */
static void test_of_many_one_stands(void)
{
	uint32_t slot;

	for (slot = 0; slot < 100; slot++)
		put(slot, object(TTMEM_FIGURE_DRAM, 7, slot == 60 ? 2 : 1));
	settle(99);
	TEST_ASSERT_TRUE(stands(60));
	TEST_ASSERT_EQUAL_UINT64(1, model.live_objects);
}

static void test_kernels_of_different_types_are_one_class(void)
{
	put(1, object(TTMEM_FIGURE_KERNEL, 7, 1));
	put(2, object(TTMEM_FIGURE_KERNEL_FABRIC, 7, 2));
	put(3, object(TTMEM_FIGURE_KERNEL_DISPATCH, 8, 1));
	settle(1);
	TEST_ASSERT_FALSE(stands(1));
	TEST_ASSERT_TRUE(stands(2));
	TEST_ASSERT_TRUE(stands(3));
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

	one.extra = 100;
	other.extra = 101;
	third.extra = 101;
	put(1, one);
	put(2, other);
	put(3, third);
	settle(1);
	TEST_ASSERT_TRUE(stands(1));
	TEST_ASSERT_FALSE(stands(2));
	TEST_ASSERT_TRUE(stands(3));
}

/* What w5 says of others is data: charged bytes, the program of a kernel. */
static void test_charged_bytes_are_no_part_of_the_key(void)
{
	struct ttm_item one = object(TTMEM_FIGURE_DRAM, 7, 1);

	put(2, object(TTMEM_FIGURE_DRAM, 7, 2));
	one.extra = 100;
	one.address = 5;
	one.size = 6;
	put(1, one);
	settle(1);
	TEST_ASSERT_FALSE(stands(1));
}

static void test_orphans_of_another_epoch_are_no_twins(void)
{
	struct ttm_item orphan = object(TTMEM_FIGURE_DRAM, 7, 1);

	ttm_apply_epoch(&model, 0, 2);
	orphan.epoch = 1;
	put(1, orphan);
	orphan.epoch = 0;
	put(2, orphan);
	orphan.epoch = 2;
	put(3, orphan);
	settle(0);
	orphan.turn = 9;
	put(4, orphan);
	settle(1);
	TEST_ASSERT_FALSE(stands(3));
}

static void test_other_devices_have_no_twins(void)
{
	struct ttm_item item = object(TTMEM_FIGURE_DRAM, 7, 1);

	put(1, item);
	item.device = 1;
	put(2, item);
	settle(0);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_nothing_is_freed_of_nothing);
	RUN_TEST(test_the_later_turn_stands);
	RUN_TEST(test_a_turn_wraps);
	RUN_TEST(test_with_equal_turns_the_higher_slot_stands);
	RUN_TEST(test_of_many_one_stands);
	RUN_TEST(test_kernels_of_different_types_are_one_class);
	RUN_TEST(test_buffers_of_different_kinds_are_no_twins);
	RUN_TEST(test_cbs_of_different_programs_are_no_twins);
	RUN_TEST(test_charged_bytes_are_no_part_of_the_key);
	RUN_TEST(test_orphans_of_another_epoch_are_no_twins);
	RUN_TEST(test_other_devices_have_no_twins);
	return UNITY_END();
}
