/* SPDX-License-Identifier: Apache-2.0 */
/* Records and slots that cannot be are refused with a text, or taken for free. */
#include <stdio.h>

#include "daemon/drained.h"
#include "daemon/follow/item.h"
#include "daemon/model_check.h"
#include "support/test_dir.h"

static struct drained drained;
static int copy = -1;

void setUp(void)
{
	test_tracking_start();
	ttmem_alloc(0, TTMEM_DRAM, 1, 0x1000, 64);
	ttmem_cb_alloc(0, 5, 2, 0x2000, 256, 8, 0);
	copy = drained_copy(test_segment_path());
}

void tearDown(void)
{
	if (drained.process)
		drained_close(&drained);
	else
		close(copy);
	test_tracking_stop();
}

static uint64_t w1_of(unsigned figure, unsigned flags, unsigned type)
{
	return TTM_W1(7, 3, figure, flags, type);
}

static int from_record(uint64_t w0, uint64_t w1, uint64_t size, uint32_t cores,
	struct ttm_item *ret_item)
{
	struct ttm_words words = { { w0, w1, 11, 12, TTM_W4(size, 4),
		TTM_W5(13, 6), 14, TTM_W7(15, 16, (uint64_t)cores, 5ull) } };
	struct ttm_source source;
	int r;

	memset(&source, 0, sizeof(source));
	r = ttm_item_from_record(&source, 3, &words, ret_item);
	TEST_ASSERT_EQUAL(r == -EPROTO, source.reason[0] != '\0');
	return r;
}

static int from_slot(uint64_t w0, uint64_t w1, uint64_t size, uint32_t cores,
	bool strict, struct ttm_item *ret_item)
{
	struct ttm_words words = { { w0, w1, 11, 12, TTM_W4(size, 4),
		TTM_W5(13, 6), 14, TTM_W7(15, 16, (uint64_t)cores, 5ull) } };
	struct ttm_source source;
	int r;

	memset(&source, 0, sizeof(source));
	r = ttm_item_from_slot(&source, 7, &words, strict, ret_item);
	TEST_ASSERT_EQUAL(r == -EPROTO, source.reason[0] != '\0');
	return r;
}

/* -- words ------------------------------------------------------------------- */

static void item_is_whole(const struct ttm_item *item)
{
	TEST_ASSERT_EQUAL_HEX64(TTM_ITEM_WORD(9, true), item->word);
	TEST_ASSERT_EQUAL_UINT64(11, item->id);
	TEST_ASSERT_EQUAL_UINT64(12, item->address);
	TEST_ASSERT_EQUAL_UINT64(100, TTM_W4_SIZE(item->w4));
	TEST_ASSERT_EQUAL_UINT(4, TTM_W4_PLACE(item->w4));
	TEST_ASSERT_EQUAL_HEX64(TTM_W5(13, 6), item->w5);
	TEST_ASSERT_EQUAL_UINT64(14, item->time);
	TEST_ASSERT_EQUAL_UINT64(400, item->bytes);
	TEST_ASSERT_EQUAL_UINT(3, item->stamp);
	TEST_ASSERT_EQUAL_UINT(2, item->place);
	TEST_ASSERT_EQUAL_UINT(TTMEM_FIGURE_CB, item->figure);
	TEST_ASSERT_EQUAL_HEX64(TTM_W7(15, 16, 4ull, 5ull), item->w7);
	TEST_ASSERT_EQUAL_UINT(TTM_FLAG_PERSISTENT, item->flags);
}

static void test_every_field_is_taken(void)
{
	struct ttm_item item;

	TEST_ASSERT_EQUAL_INT(0,
		from_record(TTM_W0(9, 2, TTM_SLOT_LIVE),
			w1_of(TTMEM_FIGURE_CB,
				TTM_FLAG_PERSISTENT | TTM_FLAG_UNCOUNTED,
				TTM_RECORD_ALLOC),
			100, 4, &item));
	item_is_whole(&item);
	TEST_ASSERT_EQUAL_UINT(0, item.rank);
	TEST_ASSERT_EQUAL_INT(0,
		from_slot(TTM_W0(9, 2, TTM_SLOT_LIVE),
			w1_of(TTMEM_FIGURE_CB, TTM_FLAG_PERSISTENT, 200), 100,
			4, true, &item));
	item_is_whole(&item);
	TEST_ASSERT_EQUAL_UINT(200, item.rank);
}

static void test_bytes_by_class(void)
{
	struct ttm_item item;

	from_slot(TTM_W0(9, 2, TTM_SLOT_LIVE), w1_of(TTMEM_FIGURE_L1, 0, 0),
		100, 4, true, &item);
	TEST_ASSERT_EQUAL_UINT64(13, item.bytes);
	from_slot(TTM_W0(9, 2, TTM_SLOT_LIVE),
		w1_of(TTMEM_FIGURE_CB, TTM_FLAG_BORROWED, 0), 100, 4, true,
		&item);
	TEST_ASSERT_EQUAL_UINT64(0, item.bytes);
	from_slot(TTM_W0(9, 2, TTM_SLOT_LIVE),
		w1_of(TTMEM_FIGURE_KERNEL_FABRIC, TTM_FLAG_IN_RING, 0), 100, 4,
		true, &item);
	TEST_ASSERT_EQUAL_UINT64(400, item.bytes);
}

static void test_a_record_of_no_figure_is_refused(void)
{
	struct ttm_item item;
	unsigned figure;

	for (figure = TTMEM_FIGURES; figure < 16; figure++) {
		TEST_ASSERT_EQUAL_INT(-EPROTO,
			from_record(TTM_W0(9, 2, TTM_SLOT_LIVE),
				w1_of(figure, 0, TTM_RECORD_ALLOC), 1, 1,
				&item));
		TEST_ASSERT_EQUAL_INT(-EPROTO,
			from_record(TTM_W0(9, 2, TTM_SLOT_FREE),
				w1_of(figure, 0, TTM_RECORD_FREE), 1, 1,
				&item));
	}
}

static void test_a_record_of_another_state_is_refused(void)
{
	struct ttm_item item;
	unsigned state;

	for (state = 0; state < 4; state++) {
		TEST_ASSERT_EQUAL_INT(state == TTM_SLOT_LIVE ? 0 : -EPROTO,
			from_record(TTM_W0(9, 2, state),
				w1_of(0, 0, TTM_RECORD_ALLOC), 1, 1, &item));
		TEST_ASSERT_EQUAL_INT(state == TTM_SLOT_FREE ? 0 : -EPROTO,
			from_record(TTM_W0(9, 2, state),
				w1_of(0, 0, TTM_RECORD_FREE), 1, 1, &item));
		TEST_ASSERT_EQUAL_INT(state == TTM_SLOT_LIVE ? 0 : -EPROTO,
			from_record(TTM_W0(9, 2, state),
				w1_of(0, 0, TTM_RECORD_SHRINK), 1, 1, &item));
	}
}

static void test_bytes_that_cannot_be_are_refused(void)
{
	static const struct {
		unsigned figure;
		uint64_t size;
		uint32_t cores;
		int r;
	} cases[] = {
		{ TTMEM_FIGURE_DRAM, TTM_OBJECT_BYTES_MAX, 0, 0 },
		{ TTMEM_FIGURE_CB, TTM_OBJECT_BYTES_MAX, 0, 0 },
		{ TTMEM_FIGURE_CB, TTM_OBJECT_BYTES_MAX, 1, 0 },
		{ TTMEM_FIGURE_CB, TTM_OBJECT_BYTES_MAX, 2, -EPROTO },
		{ TTMEM_FIGURE_KERNEL, 1ull << 34, TTM_CORES_MAX, 0 },
		{ TTMEM_FIGURE_KERNEL, 1ull << 40, TTM_CORES_MAX, -EPROTO },
	};
	struct ttm_item item;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		TEST_ASSERT_EQUAL_INT(cases[i].r,
			from_record(TTM_W0(9, 2, TTM_SLOT_LIVE),
				w1_of(cases[i].figure, 0, TTM_RECORD_ALLOC),
				cases[i].size, cases[i].cores, &item));
		TEST_ASSERT_EQUAL_INT(cases[i].r,
			from_slot(TTM_W0(9, 2, TTM_SLOT_LIVE),
				w1_of(cases[i].figure, 0, 0), cases[i].size,
				cases[i].cores, true, &item));
	}
}

static void test_a_slot_that_cannot_be_is_free_while_its_process_runs(void)
{
	struct ttm_item item;

	TEST_ASSERT_EQUAL_INT(0,
		from_slot(TTM_W0(9, 2, TTM_SLOT_LIVE), w1_of(12, 0, 0), 1, 1,
			false, &item));
	TEST_ASSERT_EQUAL_HEX64(TTM_ITEM_WORD(9, false), item.word);
	TEST_ASSERT_EQUAL_INT(-EPROTO,
		from_slot(TTM_W0(9, 2, TTM_SLOT_LIVE), w1_of(12, 0, 0), 1, 1,
			true, &item));
	/* Of another slot. */
	TEST_ASSERT_EQUAL_INT(-EPROTO,
		from_slot(TTM_W0(9, 2, TTM_SLOT_LIVE), w1_of(0, 0, 0) + 1, 1, 1,
			true, &item));
}

static void test_a_slot_that_is_not_live_may_have_anything_in_it(void)
{
	struct ttm_item item;
	unsigned state;

	for (state = 0; state < 4; state++) {
		if (state == TTM_SLOT_LIVE)
			continue;
		TEST_ASSERT_EQUAL_INT(0,
			from_slot(TTM_W0(UINT64_MAX >> 16, 2, state),
				UINT64_MAX, UINT64_MAX, TTM_CORES_MAX, true,
				&item));
		TEST_ASSERT_FALSE(ttm_item_is_live(&item));
		TEST_ASSERT_EQUAL_UINT(0, item.figure);
	}
}

/* -- through the drain -------------------------------------------------------- */

static uint64_t record_off(uint32_t number)
{
	return drained_extent(copy, TTM_EXTENT_LANE, 0) + number * 64ull;
}

static void record_append(const struct ttm_words *words)
{
	uint64_t tail = drained_peek(copy, TTM_LANES_OFF + 8);
	unsigned i;

	for (i = 0; i < 8; i++)
		drained_poke(copy, record_off(tail) + i * 8, words->w[i]);
	drained_poke(copy, TTM_LANES_OFF, tail + 1);
	drained_poke(copy, TTM_LANES_OFF + 8, tail + 1);
}

static void appended_is_refused(uint64_t w0, uint64_t w1)
{
	struct ttm_words words = { { w0, w1, 1, 2, 3, 4, 5, 0 } };

	record_append(&words);
	drained_open_fd(&drained, copy);
	drained_refuses(&drained, drained_round(&drained));
}

static void test_a_record_of_an_unknown_type_is_refused(void)
{
	appended_is_refused(0, TTM_W1(TTM_SLOT_NONE, 0, 0, 0, 11));
}

static void test_a_record_of_a_slot_that_is_not_there_is_refused(void)
{
	appended_is_refused(TTM_W0(5, 1, TTM_SLOT_LIVE),
		TTM_W1(2048, 0, 0, 0, TTM_RECORD_ALLOC));
}

static void test_a_record_of_the_slot_that_is_none_is_refused(void)
{
	appended_is_refused(TTM_W0(5, 1, TTM_SLOT_FREE),
		TTM_W1(TTM_SLOT_NONE, 0, 0, 0, TTM_RECORD_FREE));
}

static void test_an_allocation_on_a_place_that_is_not_there_is_refused(void)
{
	appended_is_refused(TTM_W0(5, 2, TTM_SLOT_LIVE),
		TTM_W1(9, 0, 0, 0, TTM_RECORD_ALLOC));
}

static void test_a_free_on_a_place_that_is_not_there_is_refused(void)
{
	appended_is_refused(TTM_W0(5, 2, TTM_SLOT_FREE),
		TTM_W1(9, 0, 0, 0, TTM_RECORD_FREE));
}

static void test_a_slot_that_cannot_be_is_refused_at_the_end(void)
{
	uint64_t slots = drained_extent(copy, TTM_EXTENT_SLOTS, 0);

	drained_poke(copy, slots + 100 * 64 + 8, TTM_W1(101, 0, 0, 0, 0));
	drained_poke(copy, slots + 100 * 64, TTM_W0(2, 2, TTM_SLOT_LIVE));
	drained_open_fd(&drained, copy);
	TEST_ASSERT_TRUE(drained_round(&drained) > 0);
	TEST_ASSERT_EQUAL_UINT64(2, drained.process->model.live_objects);
	drained_refuses(&drained, drained_last(&drained));
}

static void test_the_highest_generation_is_one_like_others(void)
{
	struct ttm_words words = { { TTM_W0(UINT64_MAX >> 16, 1, TTM_SLOT_LIVE),
		TTM_W1(50, 0, 0, 0, TTM_RECORD_ALLOC), 1, 2, TTM_W4(3, 1), 4, 5,
		0 } };

	record_append(&words);
	drained_open_fd(&drained, copy);
	TEST_ASSERT_TRUE(drained_round(&drained) > 0);
	TEST_ASSERT_EQUAL_UINT64(3, drained.process->model.live_objects);
	TEST_ASSERT_TRUE(drained_last(&drained) >= 0);
	TEST_ASSERT_EQUAL_UINT64(2, drained.process->model.live_objects);
	model_check(&drained.process->model);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_every_field_is_taken);
	RUN_TEST(test_bytes_by_class);
	RUN_TEST(test_a_record_of_no_figure_is_refused);
	RUN_TEST(test_a_record_of_another_state_is_refused);
	RUN_TEST(test_bytes_that_cannot_be_are_refused);
	RUN_TEST(test_a_slot_that_cannot_be_is_free_while_its_process_runs);
	RUN_TEST(test_a_slot_that_is_not_live_may_have_anything_in_it);
	RUN_TEST(test_a_record_of_an_unknown_type_is_refused);
	RUN_TEST(test_a_record_of_a_slot_that_is_not_there_is_refused);
	RUN_TEST(test_a_record_of_the_slot_that_is_none_is_refused);
	RUN_TEST(test_an_allocation_on_a_place_that_is_not_there_is_refused);
	RUN_TEST(test_a_free_on_a_place_that_is_not_there_is_refused);
	RUN_TEST(test_a_slot_that_cannot_be_is_refused_at_the_end);
	RUN_TEST(test_the_highest_generation_is_one_like_others);
	return UNITY_END();
}
