/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is not what it claims is refused with a text, and costs little. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "daemon/drained.h"
#include "daemon/model_check.h"
#include "support/test_dir.h"

#define LIVE_OFF 0x800u
#define AT(member) (LIVE_OFF + offsetof(struct ttm_header_live, member))

static struct drained drained;
static int copy = -1;

void setUp(void)
{
	test_tracking_start();
	ttmem_scope_push("scope", 0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0x1000, 64);
	ttmem_scope_pop();
	ttmem_cb_alloc(0, 5, 2, 0x2000, 256, 8, 0);
	copy = drained_copy(test_segment_path());
	drained_open_fd(&drained, copy);
}

void tearDown(void)
{
	drained_close(&drained);
	test_tracking_stop();
}

static void is_refused(void)
{
	drained_refuses(&drained, drained_round(&drained));
	drained_refuses(&drained, drained_last(&drained));
}

static void is_fine(void)
{
	TEST_ASSERT_TRUE(drained_round(&drained) >= 0);
	TEST_ASSERT_TRUE(drained_last(&drained) >= 0);
	TEST_ASSERT_EQUAL_UINT64(2, drained.process->model.live_objects);
	model_check(&drained.process->model);
}

/* -- the header ---------------------------------------------------------------- */

static void test_a_state_that_is_none_is_refused(void)
{
	drained_poke(copy, AT(state), 0);
	is_refused();
	drained_poke(copy, AT(state), 3);
	is_refused();
	drained_poke(copy, AT(state), TTM_SEGMENT_ENDED);
	is_fine();
}

static void test_counts_beyond_what_is_possible_are_refused(void)
{
	static const struct {
		uint64_t off;
		uint64_t most;
	} counts[] = {
		{ AT(lanes_len), TTM_LANES_MAX },
		{ AT(devices_len), TTM_DEVICES_MAX },
		{ AT(blocks_len), TTM_EXTENTS_MAX * TTM_BLOCKS_PER_EXTENT },
		{ AT(places_len), TTM_PLACES_MAX },
	};
	size_t i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t was = drained_peek(copy, counts[i].off);

		drained_poke(copy, counts[i].off, counts[i].most + 1);
		is_refused();
		drained_poke(copy, counts[i].off, UINT64_MAX);
		is_refused();
		drained_poke(copy, counts[i].off, was);
	}
	drained_poke(copy, AT(extents_high),
		drained.attached.header.extents_max + 1ull);
	is_refused();
}

static void test_counts_at_what_is_possible_are_harmless(void)
{
	drained_poke(copy, AT(lanes_len), TTM_LANES_MAX);
	drained_poke(copy, AT(devices_len), TTM_DEVICES_MAX);
	drained_poke(
		copy, AT(blocks_len), TTM_EXTENTS_MAX * TTM_BLOCKS_PER_EXTENT);
	drained_poke(
		copy, AT(extents_high), drained.attached.header.extents_max);
	drained_poke(copy, AT(places_len), TTM_PLACES_MAX);
	drained_poke(copy, AT(core_sets_len), UINT64_MAX);
	drained_poke(copy, AT(names_len), UINT64_MAX);
	drained_poke(copy, AT(failures_len), UINT64_MAX);
	drained_poke(copy, AT(marks_len), UINT64_MAX);
	is_fine();
}

static void test_counts_that_shrink_are_harmless(void)
{
	TEST_ASSERT_TRUE(drained_round(&drained) > 0);
	drained_poke(copy, AT(lanes_len), 0);
	drained_poke(copy, AT(names_len), 0);
	drained_poke(copy, AT(extents_high), 0);
	TEST_ASSERT_TRUE(drained_round(&drained) >= 0);
	TEST_ASSERT_TRUE(drained_last(&drained) >= 0);
	TEST_ASSERT_EQUAL_UINT64(0, drained.process->model.live_objects);
}

/* -- extents ------------------------------------------------------------------- */

static uint32_t extent_next(void)
{
	return (uint32_t)drained_peek(copy, AT(extents_high));
}

static void extent_add(uint32_t word)
{
	uint32_t at = extent_next();

	drained_poke32(copy, TTM_DIRECTORY_OFF + 4 * at, word);
	drained_poke(copy, AT(extents_high), at + 1);
	TEST_ASSERT_EQUAL_INT(0,
		ftruncate(
			copy, TTM_EXTENTS_OFF + (at + 1ull) * TTM_EXTENT_SIZE));
}

static void test_extents_of_no_type_are_refused(void)
{
	extent_add(TTM_EXTENT_WORD(TTM_EXTENT_FAILURES, 0));
	is_refused();
}

static void test_two_extents_that_claim_the_same_are_refused(void)
{
	extent_add(TTM_EXTENT_WORD(TTM_EXTENT_SLOTS, 0));
	is_refused();
}

static void test_extents_that_are_being_made_are_skipped(void)
{
	extent_add(TTM_EXTENT_WORD(TTM_EXTENT_CLAIMED, 0xffffff));
	extent_add(TTM_EXTENT_WORD(TTM_EXTENT_UNUSED, 77));
	extent_add(TTM_EXTENT_WORD(TTM_EXTENT_CLAIMED, 1));
	is_fine();
}

static void test_ordinals_beyond_what_is_possible_are_refused(void)
{
	static const struct {
		unsigned type;
		uint32_t most;
	} types[] = {
		{ TTM_EXTENT_LANE, TTM_LANES_MAX },
		{ TTM_EXTENT_SLOTS, TTM_EXTENTS_MAX },
		{ TTM_EXTENT_BLOCKS, TTM_EXTENTS_MAX },
		{ TTM_EXTENT_NAMES, 64 },
		{ TTM_EXTENT_CORE_SETS, 4 },
	};
	uint32_t at = extent_next();
	size_t i;

	extent_add(0);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		drained_poke32(copy, TTM_DIRECTORY_OFF + 4 * at,
			TTM_EXTENT_WORD(types[i].type, types[i].most));
		is_refused();
		drained_poke32(copy, TTM_DIRECTORY_OFF + 4 * at,
			TTM_EXTENT_WORD(types[i].type, 0xffffff));
		is_refused();
	}
}

/* What it takes must not follow from a number that costs its writer nothing. */
static void test_one_word_does_not_cost_a_gigabyte(void)
{
	struct mallinfo2 before = mallinfo2(), after;
	uint32_t i;

	extent_add(TTM_EXTENT_WORD(TTM_EXTENT_SLOTS, TTM_EXTENTS_MAX - 1));
	is_refused();
	after = mallinfo2();
	TEST_ASSERT_TRUE(after.hblkhd + after.uordblks <
		before.hblkhd + before.uordblks + (16u << 20));
	/* Nor a directory full of words without extents. */
	for (i = extent_next(); i < TTM_EXTENTS_MAX; i++)
		drained_poke32(copy, TTM_DIRECTORY_OFF + 4 * i,
			TTM_EXTENT_WORD(TTM_EXTENT_CLAIMED, 0));
	drained_poke(copy, AT(extents_high), TTM_EXTENTS_MAX);
	is_refused();
}

static void test_extents_behind_the_end_of_the_file_are_refused(void)
{
	uint32_t at = extent_next();

	drained_poke32(copy, TTM_DIRECTORY_OFF + 4 * at,
		TTM_EXTENT_WORD(TTM_EXTENT_SLOTS, 1));
	drained_poke(copy, AT(extents_high), at + 1);
	is_refused();
}

/* -- lanes ---------------------------------------------------------------------- */

static void test_a_tail_that_goes_back_or_jumps_is_refused(void)
{
	uint64_t tail = drained_peek(copy, TTM_LANES_OFF + 8);

	TEST_ASSERT_TRUE(drained_round(&drained) > 0);
	drained_poke(copy, TTM_LANES_OFF + 8, tail - 1);
	drained_refuses(&drained, drained_round(&drained));
	drained_poke(copy, TTM_LANES_OFF + 8, tail + (1ull << 56));
	drained_refuses(&drained, drained_round(&drained));
	drained_poke(copy, TTM_LANES_OFF + 8, UINT64_MAX);
	drained_refuses(&drained, drained_round(&drained));
}

static void test_an_intent_behind_the_tail_is_refused(void)
{
	drained_poke(copy, TTM_LANES_OFF, 0);
	is_refused();
	drained_poke(copy, TTM_LANES_OFF, 1ull << 60);
	is_refused();
}

/* A tail may say much more than there ever was: it is missed. */
static void test_a_long_way_of_a_tail_costs_no_more(void)
{
	drained_poke(copy, TTM_LANES_OFF + 8, 1ull << 40);
	drained_poke(copy, TTM_LANES_OFF, 1ull << 40);
	TEST_ASSERT_EQUAL_INT(INT32_MAX, drained_round(&drained));
	TEST_ASSERT_EQUAL_UINT64((1ull << 40) - 2048, drained.stats.missed);
	TEST_ASSERT_EQUAL_UINT64(2, drained.process->model.live_objects);
}

/* -- short files ---------------------------------------------------------------- */

/* Within its last extent it is as if the rest had never been written. */
static void test_a_file_cut_before_its_last_extent_is_refused(void)
{
	off_t size, last;
	struct stat st;
	int r;

	TEST_ASSERT_EQUAL_INT(0, fstat(copy, &st));
	last = TTM_EXTENTS_OFF + (extent_next() - 1) * (off_t)TTM_EXTENT_SIZE;
	for (size = st.st_size - 1; size > 0; size -= 4099) {
		struct drained cut;

		TEST_ASSERT_EQUAL_INT(0, ftruncate(copy, size));
		if (size < (off_t)sizeof(cut.attached.header))
			break;
		drained_open_fd(&cut, dup(copy));
		/* What is not read is not missed. */
		drained_round(&cut);
		TEST_ASSERT_TRUE(cut.process->model.live_objects <= 2);
		r = drained_last(&cut);
		if (size <= last || r < 0)
			drained_refuses(&cut, r);
		TEST_ASSERT_TRUE(cut.process->model.live_objects <= 2);
		drained_close(&cut);
	}
}

static atomic_bool enough;

static void *cut_and_grow(void *argument)
{
	int fd = *(int *)argument;
	struct stat st;

	fstat(fd, &st);
	while (!atomic_load(&enough)) {
		if (ftruncate(fd, 0x800) < 0 || ftruncate(fd, st.st_size) < 0)
			break;
	}
	return NULL;
}

static void test_a_file_that_shrinks_while_it_is_read_is_no_harm(void)
{
	uint64_t rounds = test_scale(300);
	pthread_t thread;
	int fd = dup(copy);

	atomic_store(&enough, false);
	pthread_create(&thread, NULL, cut_and_grow, &fd);
	for (; rounds; rounds--) {
		struct drained cut;
		int r;

		drained_open_fd(&cut, dup(copy));
		r = drained_round(&cut);
		TEST_ASSERT_TRUE(r >= 0 || r == -EPROTO);
		r = drained_last(&cut);
		TEST_ASSERT_TRUE(r >= 0 || r == -EPROTO);
		drained_close(&cut);
	}
	atomic_store(&enough, true);
	pthread_join(thread, NULL);
	close(fd);
}

/* -- the rest ------------------------------------------------------------------- */

static void test_a_block_of_a_device_that_is_not_there_is_refused(void)
{
	uint64_t blocks = drained_extent(copy, TTM_EXTENT_BLOCKS, 0);
	unsigned i;

	for (i = 0; i < 2; i++)
		if (TTM_BLOCK_DEVICE(drained_peek(copy, blocks + i * 1024)) !=
			TTM_BLOCK_LANE_WIDE)
			drained_poke(copy, blocks + i * 1024,
				TTM_BLOCK_OWNER(0, 40));
	TEST_ASSERT_TRUE(drained_round(&drained) > 0);
	drained_refuses(&drained, ttm_drain_counters(drained.process));
}

static void test_a_name_that_is_too_long_is_refused(void)
{
	uint64_t names = drained_extent(copy, TTM_EXTENT_NAMES, 0);
	struct ttm_source *source = &drained.process->source;
	struct ttm_name name;

	TEST_ASSERT_TRUE(drained_round(&drained) > 0);
	TEST_ASSERT_EQUAL_INT(0, ttm_source_name(source, 1, &name));
	TEST_ASSERT_EQUAL_MEMORY("scope", name.text, 5);
	TEST_ASSERT_EQUAL_INT(-ENOENT, ttm_source_name(source, 0, &name));
	TEST_ASSERT_EQUAL_INT(-ENOENT, ttm_source_name(source, 2, &name));
	TEST_ASSERT_EQUAL_INT(-ENOENT, ttm_source_name(source, 65535, &name));
	drained_poke(copy, names, TTM_NAME_SIZE + 1);
	drained_refuses(&drained, ttm_source_name(source, 1, &name));
	drained_poke(copy, names, TTM_NAME_SIZE | TTM_NAME_TRUNCATED);
	TEST_ASSERT_EQUAL_INT(0, ttm_source_name(source, 1, &name));
	drained_poke(copy, names, 5 | 1ull << 40);
	drained_refuses(&drained, ttm_source_name(source, 1, &name));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_state_that_is_none_is_refused);
	RUN_TEST(test_counts_beyond_what_is_possible_are_refused);
	RUN_TEST(test_counts_at_what_is_possible_are_harmless);
	RUN_TEST(test_counts_that_shrink_are_harmless);
	RUN_TEST(test_extents_of_no_type_are_refused);
	RUN_TEST(test_two_extents_that_claim_the_same_are_refused);
	RUN_TEST(test_extents_that_are_being_made_are_skipped);
	RUN_TEST(test_ordinals_beyond_what_is_possible_are_refused);
	RUN_TEST(test_one_word_does_not_cost_a_gigabyte);
	RUN_TEST(test_extents_behind_the_end_of_the_file_are_refused);
	RUN_TEST(test_a_tail_that_goes_back_or_jumps_is_refused);
	RUN_TEST(test_an_intent_behind_the_tail_is_refused);
	RUN_TEST(test_a_long_way_of_a_tail_costs_no_more);
	RUN_TEST(test_a_file_cut_before_its_last_extent_is_refused);
	RUN_TEST(test_a_file_that_shrinks_while_it_is_read_is_no_harm);
	RUN_TEST(test_a_block_of_a_device_that_is_not_there_is_refused);
	RUN_TEST(test_a_name_that_is_too_long_is_refused);
	return UNITY_END();
}
