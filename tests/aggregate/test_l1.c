/* SPDX-License-Identifier: Apache-2.0 */
/* What CBs take over the address line, and how far they are from the buffers. */
#include "aggregate/model_check.h"

#include "support/test_dir.h"

static struct ttm_model model;
static uint32_t slots;

void setUp(void)
{
	ttm_model_init(&model);
	TEST_ASSERT_EQUAL_INT(0, ttm_model_reserve(&model, 1));
	slots = 0;
}

void tearDown(void)
{
	ttm_model_free(&model);
}

static void add(struct ttm_item item)
{
	ttm_apply(&model, slots++, &item, false);
}

static void cb(uint64_t program, uint64_t address, uint64_t size,
	uint32_t cores, uint8_t flags)
{
	struct ttm_item item = model_item(2, true);

	item.figure = TTMEM_FIGURE_CB;
	item.id = slots;
	item.extra = program;
	item.address = address;
	item.size = size;
	item.cores = cores;
	item.flags = flags;
	item.bytes = flags & TTM_ITEM_BORROWED ? 0 : size * cores;
	add(item);
}

static void l1_buffer(uint64_t address, uint64_t size)
{
	struct ttm_item item = model_item(2, true);

	item.figure = TTMEM_FIGURE_L1;
	item.id = slots;
	item.address = address;
	item.size = size;
	item.bytes = size;
	add(item);
}

static struct ttm_l1_result measure(uint64_t cores, uint64_t base, uint64_t top)
{
	struct ttm_l1_facts facts = { cores, base, top };
	struct ttm_l1_result result;

	TEST_ASSERT_EQUAL_INT(0, ttm_model_l1(&model, 0, &facts, &result));
	return result;
}

static uint64_t footprint(uint64_t cores)
{
	return measure(cores, TTMEM_UNKNOWN, TTMEM_UNKNOWN).cb_footprint;
}

/* -- footprint --------------------------------------------------------------- */

static void test_no_cb_takes_nothing(void)
{
	TEST_ASSERT_EQUAL_UINT64(0, footprint(64));
}

static void test_one_cb_takes_its_bytes(void)
{
	cb(1, 1000, 256, 8, 0);
	TEST_ASSERT_EQUAL_UINT64(256 * 8, footprint(64));
	TEST_ASSERT_EQUAL_UINT64(256 * 8, footprint(TTMEM_UNKNOWN));
}

static void test_cores_are_at_most_the_devices(void)
{
	cb(1, 1000, 10, 8, 0);
	TEST_ASSERT_EQUAL_UINT64(10 * 4, footprint(4));
	cb(1, 1000, 10, 8, 0);
	TEST_ASSERT_EQUAL_UINT64(10 * 16, footprint(64));
	TEST_ASSERT_EQUAL_UINT64(10 * 12, footprint(12));
	TEST_ASSERT_EQUAL_UINT64(0, footprint(0));
}

static void test_overlapping_cbs_of_a_program_add_up_where_they_overlap(void)
{
	cb(1, 0, 100, 2, 0);
	cb(1, 50, 100, 3, 0);
	TEST_ASSERT_EQUAL_UINT64(50 * 2 + 50 * 5 + 50 * 3, footprint(64));
	TEST_ASSERT_EQUAL_UINT64(50 * 2 + 50 * 4 + 50 * 3, footprint(4));
}

static void test_of_several_programs_the_largest_counts(void)
{
	cb(1, 0, 100, 2, 0);
	cb(2, 0, 100, 5, 0);
	cb(3, 50, 100, 3, 0);
	TEST_ASSERT_EQUAL_UINT64(100 * 5 + 50 * 3, footprint(64));
}

static void test_a_borrowed_cb_takes_nothing(void)
{
	cb(1, 0, 100, 2, TTM_ITEM_BORROWED);
	TEST_ASSERT_EQUAL_UINT64(0, footprint(64));
	cb(1, 0, 100, 2, 0);
	TEST_ASSERT_EQUAL_UINT64(200, footprint(64));
}

static void test_adjacent_cbs_do_not_overlap(void)
{
	cb(1, 0, 100, 2, 0);
	cb(1, 100, 100, 3, 0);
	TEST_ASSERT_EQUAL_UINT64(500, footprint(3));
}

static void test_a_cb_of_no_size_or_no_cores_takes_nothing(void)
{
	cb(1, 100, 0, 8, 0);
	TEST_ASSERT_EQUAL_UINT64(0, footprint(64));
	cb(1, 50, 100, 1, 0);
	TEST_ASSERT_EQUAL_UINT64(100, footprint(64));
	cb(1, 0, 100, 0, 0);
	TEST_ASSERT_EQUAL_UINT64(100, footprint(64));
}

static void test_an_address_beyond_the_end_ends_there(void)
{
	cb(1, UINT64_MAX - 10, 100, 2, 0);
	TEST_ASSERT_EQUAL_UINT64(18, footprint(64));
}

static void test_a_footprint_saturates_below_unknown(void)
{
	cb(1, 0, UINT64_MAX, 0xffffff, 0);
	TEST_ASSERT_EQUAL_UINT64(UINT64_MAX - 1, footprint(TTMEM_UNKNOWN));
}

static void test_orphaned_and_other_devices_cbs_take_nothing(void)
{
	struct ttm_item item = model_item(2, true);

	cb(1, 0, 100, 2, 0);
	item.figure = TTMEM_FIGURE_CB;
	item.size = 500;
	item.cores = 9;
	item.device = 1;
	add(item);
	item.device = 0;
	item.epoch = 3;
	add(item);
	TEST_ASSERT_EQUAL_UINT64(200, footprint(64));
}

/* Cell by cell. */
static uint64_t footprint_slowly(uint64_t cap)
{
	uint64_t area = 0, address, program;
	uint32_t slot;

	for (address = 0; address < 64; address++) {
		uint64_t most = 0;

		for (program = 0; program < 4; program++) {
			uint64_t cores = 0;

			for (slot = 0; slot < slots; slot++) {
				const struct ttm_item *item = &ttm_model_place(
					&model, slot)
								       ->item;

				if (ttm_item_is_live(item) &&
					!(item->flags & TTM_ITEM_BORROWED) &&
					item->extra == program &&
					address >= item->address &&
					address - item->address < item->size)
					cores += item->cores;
			}
			cores = cores < cap ? cores : cap;
			most = cores > most ? cores : most;
		}
		area += most;
	}
	return area;
}

static void test_a_footprint_is_what_counting_cells_gives(void)
{
	uint64_t random = 4711, runs = test_scale(3000), i;
	unsigned n;

	for (i = 0; i < runs; i++) {
		for (n = model_random(&random) % 12; n; n--) {
			uint64_t bits = model_random(&random);

			cb(bits & 3, bits >> 2 & 31, bits >> 8 & 31,
				bits >> 16 & 15,
				(bits >> 24 & 7) == 0 ? TTM_ITEM_BORROWED : 0);
		}
		n = model_random(&random) % 40;
		TEST_ASSERT_EQUAL_UINT64(footprint_slowly(n), footprint(n));
		tearDown();
		setUp();
	}
}

/* -- headroom ---------------------------------------------------------------- */

static int64_t headroom(uint64_t base, uint64_t top)
{
	return measure(64, base, top).headroom;
}

static void test_headroom_is_between_highest_cb_and_lowest_buffer(void)
{
	struct ttm_l1_result result;

	cb(7, 1000, 256, 8, 0);
	cb(8, 500, 100, 8, 0);
	l1_buffer(9000, 50);
	l1_buffer(5000, 50);
	model.round += 2;
	result = measure(64, 0, 10000);
	TEST_ASSERT_EQUAL_INT64(5000 - 1256, result.headroom);
	TEST_ASSERT_EQUAL_UINT64(7, result.clash_program);
	TEST_ASSERT_TRUE(result.settled);
}

static void test_without_buffers_or_cbs_the_bounds_count(void)
{
	TEST_ASSERT_EQUAL_INT64(900, headroom(100, 1000));
	TEST_ASSERT_EQUAL_INT64(INT64_MIN, headroom(TTMEM_UNKNOWN, 1000));
	TEST_ASSERT_EQUAL_INT64(INT64_MIN, headroom(100, TTMEM_UNKNOWN));
	l1_buffer(600, 10);
	model.round += 2;
	TEST_ASSERT_EQUAL_INT64(500, headroom(100, 1000));
	TEST_ASSERT_EQUAL_INT64(500, headroom(100, TTMEM_UNKNOWN));
	TEST_ASSERT_EQUAL_INT64(INT64_MIN, headroom(TTMEM_UNKNOWN, 1000));
	cb(1, 100, 50, 1, 0);
	model.round += 2;
	TEST_ASSERT_EQUAL_INT64(450, headroom(TTMEM_UNKNOWN, TTMEM_UNKNOWN));
}

static void test_without_buffers_the_top_counts(void)
{
	cb(1, 100, 50, 1, 0);
	model.round += 2;
	TEST_ASSERT_EQUAL_INT64(850, headroom(TTMEM_UNKNOWN, 1000));
	TEST_ASSERT_EQUAL_INT64(INT64_MIN, headroom(100, TTMEM_UNKNOWN));
}

static void test_headroom_may_be_negative(void)
{
	cb(3, 100, 500, 1, 0);
	l1_buffer(400, 10);
	model.round += 2;
	TEST_ASSERT_EQUAL_INT64(-200, headroom(0, 1000));
	TEST_ASSERT_EQUAL_UINT64(3, measure(64, 0, 1000).clash_program);
}

static void test_a_borrowed_cb_clashes_with_nothing(void)
{
	cb(3, 100, 500, 1, TTM_ITEM_BORROWED);
	l1_buffer(400, 10);
	model.round += 2;
	TEST_ASSERT_EQUAL_INT64(400, headroom(0, 1000));
	TEST_ASSERT_EQUAL_UINT64(0, measure(64, 0, 1000).clash_program);
}

static void test_an_address_of_zero_is_an_address(void)
{
	l1_buffer(0, 10);
	model.round += 2;
	TEST_ASSERT_EQUAL_INT64(-100, headroom(100, 1000));
}

static void test_what_is_younger_than_two_rounds_is_left_out(void)
{
	struct ttm_l1_result result;

	model.round = 10;
	l1_buffer(400, 10);
	model.round = 12;
	cb(3, 100, 500, 1, 0);
	result = measure(64, 0, 1000);
	TEST_ASSERT_EQUAL_INT64(400, result.headroom);
	TEST_ASSERT_FALSE(result.settled);
	/* The footprint is a sum, and has it. */
	TEST_ASSERT_EQUAL_UINT64(500, result.cb_footprint);
	model.round = 13;
	TEST_ASSERT_FALSE(measure(64, 0, 1000).settled);
	TEST_ASSERT_EQUAL_INT64(400, headroom(0, 1000));
	model.round = 14;
	TEST_ASSERT_TRUE(measure(64, 0, 1000).settled);
	TEST_ASSERT_EQUAL_INT64(-200, headroom(0, 1000));
}

/* Where slots are read anew again and again, what is there is settled still. */
static void test_a_scan_makes_nothing_younger(void)
{
	struct ttm_item item = model_item(2, true);
	unsigned i;

	item.figure = TTMEM_FIGURE_L1;
	item.address = 400;
	for (i = 0; i < 8; i++) {
		model.round++;
		ttm_apply(&model, 0, &item, true);
	}
	TEST_ASSERT_TRUE(measure(64, 0, 1000).settled);
	TEST_ASSERT_EQUAL_INT64(400, headroom(0, 1000));
}

static void test_the_round_may_wrap(void)
{
	model.round = UINT32_MAX;
	l1_buffer(400, 10);
	TEST_ASSERT_FALSE(measure(64, 0, 1000).settled);
	model.round++;
	TEST_ASSERT_FALSE(measure(64, 0, 1000).settled);
	model.round++;
	TEST_ASSERT_TRUE(measure(64, 0, 1000).settled);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_no_cb_takes_nothing);
	RUN_TEST(test_one_cb_takes_its_bytes);
	RUN_TEST(test_cores_are_at_most_the_devices);
	RUN_TEST(test_overlapping_cbs_of_a_program_add_up_where_they_overlap);
	RUN_TEST(test_of_several_programs_the_largest_counts);
	RUN_TEST(test_a_borrowed_cb_takes_nothing);
	RUN_TEST(test_adjacent_cbs_do_not_overlap);
	RUN_TEST(test_a_cb_of_no_size_or_no_cores_takes_nothing);
	RUN_TEST(test_an_address_beyond_the_end_ends_there);
	RUN_TEST(test_a_footprint_saturates_below_unknown);
	RUN_TEST(test_orphaned_and_other_devices_cbs_take_nothing);
	RUN_TEST(test_a_footprint_is_what_counting_cells_gives);
	RUN_TEST(test_headroom_is_between_highest_cb_and_lowest_buffer);
	RUN_TEST(test_without_buffers_or_cbs_the_bounds_count);
	RUN_TEST(test_without_buffers_the_top_counts);
	RUN_TEST(test_headroom_may_be_negative);
	RUN_TEST(test_a_borrowed_cb_clashes_with_nothing);
	RUN_TEST(test_an_address_of_zero_is_an_address);
	RUN_TEST(test_what_is_younger_than_two_rounds_is_left_out);
	RUN_TEST(test_a_scan_makes_nothing_younger);
	RUN_TEST(test_the_round_may_wrap);
	return UNITY_END();
}
