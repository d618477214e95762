/* SPDX-License-Identifier: Apache-2.0 */
/* What CBs take over the address line, and how far they are from the buffers. */
#include "daemon/model_check.h"

#include "support/test_dir.h"

static struct ttm_model model;
static uint32_t slots;

void setUp(void)
{
	model_begin(&model);
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

static struct ttm_item cb_item(uint64_t program, uint64_t address,
	uint64_t size, uint32_t cores, uint8_t flags)
{
	struct ttm_item item = model_item(2, true);

	item.figure = TTMEM_FIGURE_CB;
	item.id = slots;
	item.w5 = program;
	item.address = address;
	item.w4 = TTM_W4(size, 1);
	item.w7 = TTM_W7(0, 0, cores, 0);
	item.flags = flags;
	item.bytes = flags & TTM_FLAG_BORROWED ? 0 : size * cores;
	return item;
}

static void cb(uint64_t program, uint64_t address, uint64_t size,
	uint32_t cores, uint8_t flags)
{
	add(cb_item(program, address, size, cores, flags));
}

static void l1_buffer(uint64_t address, uint64_t size)
{
	struct ttm_item item = model_item(2, true);

	item.figure = TTMEM_FIGURE_L1;
	item.id = slots;
	item.address = address;
	item.w4 = TTM_W4(size, 1);
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
	cb(1, 0, 100, 2, TTM_FLAG_BORROWED);
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
	unsigned i;

	for (i = 0; i < 100; i++)
		cb(1, i * TTM_OBJECT_BYTES_MAX, TTM_OBJECT_BYTES_MAX,
			TTM_CORES_MAX, 0);
	TEST_ASSERT_EQUAL_UINT64(UINT64_MAX - 1, footprint(TTMEM_UNKNOWN));
}

static void test_orphaned_and_other_devices_cbs_take_nothing(void)
{
	struct ttm_item item = cb_item(1, 0, 500, 9, 0);

	add(item);
	model_close(&model, 0, 1);
	item = cb_item(1, 0, 100, 2, 0);
	item.stamp = 1;
	add(item);
	item = cb_item(1, 0, 500, 9, 0);
	item.place = 2;
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
				const struct ttm_item *item = &ttm_model_mirror(
					&model, slot)
								       ->item;

				if (ttm_item_is_live(item) &&
					!(item->flags & TTM_FLAG_BORROWED) &&
					item->w5 == program &&
					address >= item->address &&
					address - item->address <
						TTM_W4_SIZE(item->w4))
					cores += TTM_W7_CORES(item->w7);
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
				(bits >> 24 & 7) == 0 ? TTM_FLAG_BORROWED : 0);
		}
		n = model_random(&random) % 40;
		TEST_ASSERT_EQUAL_UINT64(footprint_slowly(n), footprint(n));
		tearDown();
		setUp();
	}
}

/* -- footprint from core sets -------------------------------------------------- */

#define SETS 6u
#define PROGRAMS 4u
#define BYTES 48u

static void core_set_add(uint32_t number, const struct ttm_core_set *core_set)
{
	struct ttm_core_set set = *core_set;
	unsigned row;

	set.cores = 0;
	for (row = 0; row < TTM_CORE_ROWS; row++)
		set.cores += (uint32_t)__builtin_popcount(set.rows[row]);
	TEST_ASSERT_EQUAL_INT(0, ttm_model_core_set_add(&model, number, &set));
}

/* Cores (first, y) to (last, y) of the rows below `rows`. */
static void rectangle_add(
	uint32_t number, unsigned first, unsigned last, unsigned rows)
{
	struct ttm_core_set set = { .cores = 0 };
	unsigned row, x;

	for (row = 0; row < rows; row++)
		for (x = first; x <= last; x++)
			set.rows[row] |= 1u << x;
	core_set_add(number, &set);
}

static void set_cb(uint64_t program, uint64_t address, uint64_t size,
	uint32_t number, uint16_t place)
{
	uint32_t cores = model.core_sets[number].cores;
	struct ttm_item item = cb_item(program, address, size, cores, 0);

	item.w7 = TTM_W7(0, 0, cores, number);
	item.place = place;
	add(item);
}

static struct ttm_l1_result measure_of(unsigned device)
{
	struct ttm_l1_facts facts = { 8, TTMEM_UNKNOWN, TTMEM_UNKNOWN };
	struct ttm_l1_result result;

	TEST_ASSERT_EQUAL_INT(0, ttm_model_l1(&model, device, &facts, &result));
	return result;
}

static void exact_is(uint64_t bytes)
{
	struct ttm_l1_result result = measure_of(0);

	TEST_ASSERT_TRUE(result.cb_footprint_exact);
	TEST_ASSERT_EQUAL_UINT64(bytes, result.cb_footprint);
}

static void test_cbs_on_different_cores_add_up(void)
{
	rectangle_add(1, 0, 3, 8);
	rectangle_add(2, 4, 7, 8);
	set_cb(1, 1000, 100000, 1, 1);
	set_cb(2, 1000, 100000, 2, 1);
	exact_is(100000 * 64);
}

static void test_programs_that_take_turns_on_a_core_count_once(void)
{
	rectangle_add(1, 0, 3, 1);
	rectangle_add(2, 2, 5, 1);
	set_cb(1, 0, 100, 1, 1);
	set_cb(2, 50, 100, 2, 1);
	/* 4 cores x 50, 6 x 50, 4 x 50; twice the same is no more. */
	exact_is(200 + 300 + 200);
	set_cb(3, 50, 100, 2, 1);
	exact_is(700);
}

static void test_a_set_of_all_cores_is_one_like_others(void)
{
	rectangle_add(TTM_CORE_SETS_MAX, 0, 31, 31);
	set_cb(1, 0, 10, TTM_CORE_SETS_MAX, 1);
	exact_is(9920);
}

static void test_one_cb_without_a_set_makes_it_a_lower_bound(void)
{
	rectangle_add(1, 0, 3, 1);
	rectangle_add(2, 4, 7, 1);
	set_cb(1, 0, 100, 1, 1);
	set_cb(2, 0, 100, 2, 1);
	exact_is(800);
	cb(3, 0, 100, 2, 0);
	TEST_ASSERT_FALSE(measure_of(0).cb_footprint_exact);
	TEST_ASSERT_EQUAL_UINT64(400, measure_of(0).cb_footprint);
	/* A borrowed one takes nothing, wherever it is. */
	tearDown();
	setUp();
	rectangle_add(1, 0, 3, 1);
	set_cb(1, 0, 100, 1, 1);
	cb(3, 0, 100, 2, TTM_FLAG_BORROWED);
	exact_is(400);
}

/* Whether a CB of the slot occupies the byte of the core on the device. */
static bool is_occupied(uint32_t slot, unsigned device, unsigned row,
	unsigned column, uint64_t address)
{
	const struct ttm_mirror *mirror = ttm_model_mirror(&model, slot);
	const struct ttm_item *item = &mirror->item;
	const struct ttm_core_set *set = ttm_model_core_set(
		&model, TTM_W7_CORE_SET(item->w7));

	return model_is_on(&model, item, device) &&
		!ttm_model_is_orphaned(&model, mirror, device) &&
		!(item->flags & TTM_FLAG_BORROWED) &&
		(set->rows[row] >> column & 1) && address >= item->address &&
		address - item->address < TTM_W4_SIZE(item->w4);
}

/* Core by core and byte by byte: what any program has there. */
static uint64_t cores_slowly(unsigned device)
{
	unsigned row, column;
	uint64_t bytes = 0, address;
	uint32_t slot;

	for (row = 0; row < 2; row++)
		for (column = 0; column < 6; column++)
			for (address = 0; address < BYTES; address++)
				for (slot = 0; slot < slots; slot++)
					if (is_occupied(slot, device, row,
						    column, address)) {
						bytes++;
						break;
					}
	return bytes;
}

static void cb_random(uint64_t *random)
{
	uint64_t bits = model_random(random);
	uint32_t number = 1 + (uint32_t)(bits >> 16 & 0xff) % SETS;
	uint32_t cores = model.core_sets[number].cores;
	struct ttm_item item = cb_item(bits & (PROGRAMS - 1), bits >> 2 & 31,
		bits >> 8 & 15, cores,
		(bits >> 24 & 7) == 0 ? TTM_FLAG_BORROWED : 0);

	item.w7 = TTM_W7(0, 0, cores, number);
	item.place = (uint16_t)(1 + (bits >> 32 & 0xff) % 15);
	item.stamp = bits >> 40 & 1;
	add(item);
}

static void sets_random(uint64_t *random)
{
	uint32_t number;

	for (number = 1; number <= SETS; number++) {
		uint64_t bits = model_random(random);
		struct ttm_core_set set = { .cores = 0 };

		set.rows[0] = (bits & 0x3f) | (number == 1);
		set.rows[1] = bits >> 8 & 0x3f;
		if (!set.rows[0] && !set.rows[1])
			set.rows[1] = 1;
		core_set_add(number, &set);
	}
}

static void test_a_footprint_is_what_each_core_has(void)
{
	uint64_t random = 815, runs = test_scale(4000), i;
	struct ttm_l1_result result;
	unsigned n, device;

	for (i = 0; i < runs; i++) {
		sets_random(&random);
		model_close(&model, 1, 1);
		for (n = model_random(&random) % 16; n; n--)
			cb_random(&random);
		for (device = 0; device < 4; device++) {
			result = measure_of(device);
			TEST_ASSERT_TRUE(result.cb_footprint_exact);
			TEST_ASSERT_EQUAL_UINT64(
				cores_slowly(device), result.cb_footprint);
		}
		model_check(&model);
		tearDown();
		setUp();
	}
}

/* -- several devices ------------------------------------------------------------ */

static void test_devices_with_the_same_places_have_the_same_l1(void)
{
	rectangle_add(1, 0, 3, 1);
	TEST_ASSERT_TRUE(ttm_model_l1_is_same(&model, 0, 1));
	set_cb(1, 0, 100, 1, 3);
	TEST_ASSERT_TRUE(ttm_model_l1_is_same(&model, 0, 1));
	TEST_ASSERT_FALSE(ttm_model_l1_is_same(&model, 0, 2));
	TEST_ASSERT_TRUE(ttm_model_l1_is_same(&model, 2, 3));
	TEST_ASSERT_EQUAL_UINT64(400, measure_of(0).cb_footprint);
	TEST_ASSERT_EQUAL_UINT64(400, measure_of(1).cb_footprint);
	TEST_ASSERT_EQUAL_UINT64(0, measure_of(2).cb_footprint);
	model_close(&model, 1, 1);
	TEST_ASSERT_FALSE(ttm_model_l1_is_same(&model, 0, 1));
	TEST_ASSERT_EQUAL_UINT64(400, measure_of(0).cb_footprint);
	TEST_ASSERT_EQUAL_UINT64(0, measure_of(1).cb_footprint);
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
	cb(3, 100, 500, 1, TTM_FLAG_BORROWED);
	l1_buffer(400, 10);
	model.round += 2;
	TEST_ASSERT_EQUAL_INT64(400, headroom(0, 1000));
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, measure(64, 0, 1000).clash_program);
}

/* Its address is one of many. */
static void test_a_buffer_with_an_address_per_core_hides_the_headroom(void)
{
	struct ttm_item item = model_item(2, true);

	cb(3, 100, 500, 1, 0);
	l1_buffer(800, 10);
	item.figure = TTMEM_FIGURE_L1;
	item.flags = TTM_FLAG_PER_CORE;
	item.address = 700;
	add(item);
	model.round += 2;
	TEST_ASSERT_EQUAL_INT64(INT64_MIN, headroom(0, 1000));
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
	RUN_TEST(test_cbs_on_different_cores_add_up);
	RUN_TEST(test_programs_that_take_turns_on_a_core_count_once);
	RUN_TEST(test_a_set_of_all_cores_is_one_like_others);
	RUN_TEST(test_one_cb_without_a_set_makes_it_a_lower_bound);
	RUN_TEST(test_a_footprint_is_what_each_core_has);
	RUN_TEST(test_devices_with_the_same_places_have_the_same_l1);
	RUN_TEST(test_headroom_is_between_highest_cb_and_lowest_buffer);
	RUN_TEST(test_without_buffers_or_cbs_the_bounds_count);
	RUN_TEST(test_without_buffers_the_top_counts);
	RUN_TEST(test_headroom_may_be_negative);
	RUN_TEST(test_a_borrowed_cb_clashes_with_nothing);
	RUN_TEST(test_a_buffer_with_an_address_per_core_hides_the_headroom);
	RUN_TEST(test_an_address_of_zero_is_an_address);
	RUN_TEST(test_what_is_younger_than_two_rounds_is_left_out);
	RUN_TEST(test_a_scan_makes_nothing_younger);
	RUN_TEST(test_the_round_may_wrap);
	return UNITY_END();
}
