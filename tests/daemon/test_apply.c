/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever order records arrive in, the mirror ends up as the slots are. */
#include "daemon/model_check.h"

#include "support/test_dir.h"

static struct ttm_model model;

void setUp(void)
{
	model_begin(&model);
}

void tearDown(void)
{
	ttm_model_free(&model);
	TEST_ASSERT_EQUAL_UINT32(0, ttm_model_slots(&model));
}

static struct ttm_item buffer(uint64_t generation, uint64_t id, uint64_t bytes)
{
	struct ttm_item item = model_item(generation, true);

	item.id = id;
	item.w4 = TTM_W4(bytes / 2, 1);
	item.bytes = bytes;
	return item;
}

static const struct ttm_tally *dram(void)
{
	return &model.shares[0].live[TTMEM_FIGURE_DRAM];
}

static bool apply(struct ttm_item item, bool scanned)
{
	bool news = ttm_apply(&model, 5, &item, scanned);

	model_check(&model);
	return news;
}

/* -- the rule ---------------------------------------------------------------- */

static void test_a_newer_record_is_applied(void)
{
	TEST_ASSERT_TRUE(apply(buffer(2, 1, 100), false));
	TEST_ASSERT_EQUAL_UINT64(100, dram()->bytes);
	TEST_ASSERT_TRUE(apply(model_item(3, false), false));
	TEST_ASSERT_EQUAL_UINT64(0, dram()->bytes);
	TEST_ASSERT_EQUAL_UINT64(0, dram()->objects);
	TEST_ASSERT_TRUE(apply(buffer(5, 2, 70), false));
	TEST_ASSERT_EQUAL_UINT64(70, dram()->bytes);
}

static void test_an_older_record_is_ignored(void)
{
	apply(model_item(3, false), false);
	TEST_ASSERT_FALSE(apply(buffer(2, 1, 100), false));
	TEST_ASSERT_FALSE(apply(buffer(2, 1, 100), true));
	TEST_ASSERT_EQUAL_UINT64(0, dram()->objects);
}

static void test_an_equal_record_is_ignored_after_a_record(void)
{
	apply(buffer(2, 1, 100), false);
	TEST_ASSERT_FALSE(apply(buffer(2, 1, 50), false));
	TEST_ASSERT_FALSE(apply(buffer(2, 1, 50), true));
	TEST_ASSERT_EQUAL_UINT64(100, dram()->bytes);
}

static void test_an_equal_record_replaces_what_was_scanned(void)
{
	apply(buffer(2, 1, 100), true);
	TEST_ASSERT_TRUE(apply(buffer(2, 7, 50), false));
	TEST_ASSERT_EQUAL_UINT64(50, dram()->bytes);
	TEST_ASSERT_EQUAL_UINT64(1, dram()->objects);
	/* It is from a record now. */
	TEST_ASSERT_FALSE(apply(buffer(2, 7, 60), false));
	TEST_ASSERT_EQUAL_UINT64(50, dram()->bytes);
}

static void test_a_torn_scan_is_put_right_by_the_record(void)
{
	apply(model_item(2, false), true);
	TEST_ASSERT_EQUAL_UINT64(0, dram()->objects);
	TEST_ASSERT_TRUE(apply(buffer(2, 1, 100), false));
	TEST_ASSERT_EQUAL_UINT64(100, dram()->bytes);
}

static void test_applying_replaces_a_live_object(void)
{
	struct ttm_item cb = buffer(5, 9, 8);

	apply(buffer(2, 1, 100), false);
	cb.place = 8;
	cb.figure = TTMEM_FIGURE_CB;
	TEST_ASSERT_TRUE(apply(cb, false));
	TEST_ASSERT_EQUAL_UINT64(0, dram()->objects);
	TEST_ASSERT_EQUAL_UINT64(
		8, model.shares[3].live[TTMEM_FIGURE_CB].bytes);
	TEST_ASSERT_EQUAL_UINT64(1, model.live_objects);
}

static void test_the_first_generation_there_is_may_be_live(void)
{
	TEST_ASSERT_FALSE(apply(model_item(0, false), false));
	TEST_ASSERT_TRUE(apply(buffer(1, 1, 10), false));
}

static void test_what_is_scanned_again_unchanged_is_no_news(void)
{
	apply(buffer(2, 1, 100), true);
	TEST_ASSERT_EQUAL_UINT32(1, model.changed_len);
	model.changed_len = 0;
	ttm_model_mirror(&model, 5)->state &= ~(uint32_t)TTM_MIRROR_QUEUED;
	model.round += 9;
	/* Its row stays, and it is no younger than it was. */
	TEST_ASSERT_FALSE(apply(buffer(2, 1, 100), true));
	TEST_ASSERT_EQUAL_UINT32(0, model.changed_len);
	TEST_ASSERT_EQUAL_UINT32(
		0, ttm_model_mirror(&model, 5)->state / TTM_MIRROR_ROUND);
	TEST_ASSERT_FALSE(apply(buffer(2, 1, 100), false));
	TEST_ASSERT_EQUAL_UINT32(0, model.changed_len);
	/* By now a record has told: a scan tells nothing more. */
	TEST_ASSERT_FALSE(apply(buffer(2, 1, 50), true));
	TEST_ASSERT_EQUAL_UINT64(100, dram()->bytes);
}

static void test_the_queue_has_each_slot_once(void)
{
	apply(buffer(2, 1, 100), false);
	apply(model_item(3, false), false);
	apply(buffer(5, 1, 100), false);
	TEST_ASSERT_EQUAL_UINT32(1, model.changed_len);
	TEST_ASSERT_EQUAL_UINT32(5, model.changed[0]);
	TEST_ASSERT_TRUE(model.shares[0].changed);
}

/* -- closes ------------------------------------------------------------------ */

static void test_a_close_orphans_what_was_allocated_before(void)
{
	struct ttm_item item = buffer(2, 1, 100);

	item.figure = TTMEM_FIGURE_L1;
	apply(item, false);
	model.shares[0].l1_moved = false;
	model_close(&model, 0, 1);
	model_check(&model);
	TEST_ASSERT_EQUAL_UINT64(
		0, model.shares[0].live[TTMEM_FIGURE_L1].bytes);
	TEST_ASSERT_EQUAL_UINT64(
		100, model.shares[0].orphaned[TTMEM_FIGURE_L1].bytes);
	TEST_ASSERT_EQUAL_UINT64(0, model.shares[0].requested[TTMEM_FIGURE_L1]);
	TEST_ASSERT_TRUE(model.shares[0].l1_moved);
	TEST_ASSERT_EQUAL_UINT64(1, model.live_objects);
}

/* The era moves first, then the count. */
static void test_a_close_that_is_not_complete_orphans(void)
{
	uint32_t epochs[TTM_MODEL_DEVICES] = { 1 };

	apply(buffer(2, 1, 100), false);
	ttm_apply_closes(&model, 0, epochs);
	model_check(&model);
	TEST_ASSERT_EQUAL_UINT64(0, dram()->objects);
	ttm_apply_closes(&model, 1, epochs);
	model_check(&model);
	TEST_ASSERT_EQUAL_UINT64(0, dram()->objects);
}

static void test_an_orphan_may_be_freed(void)
{
	apply(buffer(2, 1, 100), false);
	model_close(&model, 0, 9);
	TEST_ASSERT_TRUE(apply(model_item(3, false), false));
	TEST_ASSERT_EQUAL_UINT64(
		0, model.shares[0].orphaned[TTMEM_FIGURE_DRAM].objects);
	TEST_ASSERT_EQUAL_UINT64(0, model.live_objects);
}

/* The record of an allocation may come before the close is looked at. */
static void test_an_object_that_is_ahead_of_the_closes_is_live(void)
{
	struct ttm_item item = buffer(2, 1, 100);

	item.stamp = 1;
	apply(item, false);
	TEST_ASSERT_EQUAL_UINT64(100, dram()->bytes);
	TEST_ASSERT_TRUE(model.ahead);
	model_close(&model, 0, 1);
	model_check(&model);
	TEST_ASSERT_FALSE(model.ahead);
	TEST_ASSERT_EQUAL_UINT64(100, dram()->bytes);
	model_close(&model, 0, 2);
	model_check(&model);
	TEST_ASSERT_EQUAL_UINT64(0, dram()->bytes);
}

/* An object of 40,000 closes ago looks as if it were ahead: it is not. */
static void test_a_very_old_object_is_told_from_one_that_is_ahead(void)
{
	struct ttm_item item = buffer(2, 1, 100);

	model_close(&model, 0, 39000);
	model_close(&model, 1, 40000);
	apply(item, true);
	TEST_ASSERT_TRUE(model.ahead);
	TEST_ASSERT_EQUAL_UINT64(100, dram()->bytes);
	ttm_apply_closes(&model, model.closes, model.epochs);
	model_check(&model);
	TEST_ASSERT_EQUAL_UINT64(0, dram()->bytes);
	TEST_ASSERT_FALSE(model.ahead);
}

/* -- places ------------------------------------------------------------------- */

static const struct ttm_tally *dram_of(unsigned device)
{
	return &model.shares[device].live[TTMEM_FIGURE_DRAM];
}

static struct ttm_item mesh_buffer(uint64_t generation, uint16_t place)
{
	struct ttm_item item = buffer(generation, 1, 100);

	item.place = place;
	item.w4 = TTM_W4(60, 7);
	return item;
}

static void test_an_object_is_counted_on_each_of_its_devices(void)
{
	unsigned device;

	apply(mesh_buffer(2, 7), false);
	for (device = 0; device < 3; device++) {
		TEST_ASSERT_EQUAL_UINT64(100, dram_of(device)->bytes);
		TEST_ASSERT_EQUAL_UINT64(1, dram_of(device)->objects);
		TEST_ASSERT_EQUAL_UINT64(
			60, model.shares[device].requested[TTMEM_FIGURE_DRAM]);
		TEST_ASSERT_TRUE(model.shares[device].changed);
	}
	TEST_ASSERT_EQUAL_UINT64(0, dram_of(3)->objects);
	TEST_ASSERT_FALSE(model.shares[3].changed);
	TEST_ASSERT_EQUAL_UINT64(1, model.live_objects);
	apply(model_item(3, false), false);
	for (device = 0; device < 3; device++)
		TEST_ASSERT_EQUAL_UINT64(0, dram_of(device)->objects);
}

static void test_closing_a_device_orphans_the_part_there(void)
{
	const struct ttm_tally
		*orphaned = &model.shares[1].orphaned[TTMEM_FIGURE_DRAM];

	apply(mesh_buffer(2, 7), false);
	model_close(&model, 1, 1);
	model_check(&model);
	TEST_ASSERT_EQUAL_UINT64(100, dram_of(0)->bytes);
	TEST_ASSERT_EQUAL_UINT64(0, dram_of(1)->bytes);
	TEST_ASSERT_EQUAL_UINT64(100, orphaned->bytes);
	TEST_ASSERT_EQUAL_UINT64(100, dram_of(2)->bytes);
	TEST_ASSERT_FALSE(
		ttm_model_is_left(&model, ttm_model_mirror(&model, 5)));
	model_close(&model, 0, 2);
	model_close(&model, 2, 3);
	TEST_ASSERT_TRUE(
		ttm_model_is_left(&model, ttm_model_mirror(&model, 5)));
	model_check(&model);
	apply(model_item(3, false), false);
	TEST_ASSERT_EQUAL_UINT64(0, orphaned->objects);
}

static void test_a_shrink_frees_the_parts_that_left(void)
{
	apply(mesh_buffer(2, 7), false);
	TEST_ASSERT_TRUE(apply(mesh_buffer(3, 5), false));
	TEST_ASSERT_EQUAL_UINT64(100, dram_of(0)->bytes);
	TEST_ASSERT_EQUAL_UINT64(0, dram_of(1)->bytes);
	TEST_ASSERT_EQUAL_UINT64(100, dram_of(2)->bytes);
	TEST_ASSERT_EQUAL_UINT64(1, model.live_objects);
	/* The record of the allocation comes late. */
	TEST_ASSERT_FALSE(apply(mesh_buffer(2, 7), false));
	TEST_ASSERT_TRUE(apply(mesh_buffer(4, 1), true));
	TEST_ASSERT_EQUAL_UINT64(0, dram_of(2)->bytes);
	TEST_ASSERT_TRUE(apply(model_item(5, false), false));
	TEST_ASSERT_EQUAL_UINT64(0, dram_of(0)->objects);
}

static void test_an_object_that_shrinks_gets_no_younger(void)
{
	model.round = 4;
	apply(mesh_buffer(2, 7), false);
	model.round = 9;
	apply(mesh_buffer(3, 5), false);
	TEST_ASSERT_EQUAL_UINT32(
		4, ttm_model_mirror(&model, 5)->state / TTM_MIRROR_ROUND);
	apply(model_item(4, false), false);
	apply(mesh_buffer(6, 7), false);
	TEST_ASSERT_EQUAL_UINT32(
		9, ttm_model_mirror(&model, 5)->state / TTM_MIRROR_ROUND);
}

static void test_a_place_is_taken_once(void)
{
	TEST_ASSERT_EQUAL_INT(0, ttm_model_place_add(&model, 7, 1));
	TEST_ASSERT_EQUAL_HEX64(7, ttm_model_members(&model, 7));
	TEST_ASSERT_EQUAL_HEX64(0, ttm_model_members(&model, 0));
	TEST_ASSERT_EQUAL_HEX64(
		0, ttm_model_members(&model, TTM_PLACES_MAX - 1));
	TEST_ASSERT_EQUAL_INT(
		0, ttm_model_place_add(&model, TTM_PLACES_MAX - 1, 1ull << 63));
	TEST_ASSERT_EQUAL_HEX64(
		1ull << 63, ttm_model_members(&model, TTM_PLACES_MAX - 1));
	model_check(&model);
}

/* -- any order --------------------------------------------------------------- */

#define SLOTS 12u
#define LANES 4u
#define OPERATIONS 160u

struct told {
	uint32_t slot;
	struct ttm_item item;
};

struct story {
	uint64_t random;
	struct ttm_item truth[SLOTS];
	struct told lanes[LANES][2 * OPERATIONS];
	size_t written[LANES];
	size_t read[LANES];
	bool lost; /* something since the last scan */
};

static struct ttm_item item_random(uint64_t *random, uint64_t generation)
{
	struct ttm_item item = model_item(generation, true);
	uint64_t bits = model_random(random);

	item.id = bits & 0xff;
	item.place = (uint16_t)(1 + (bits >> 8 & 0xff) % (MODEL_PLACES - 1));
	item.figure = (uint8_t)((bits >> 16 & 0xff) % TTMEM_FIGURES);
	item.flags = bits >> 24 & 7;
	item.stamp = bits >> 32 & 7;
	item.bytes = bits >> 40;
	item.w4 = TTM_W4(item.bytes / 3, item.place);
	return item;
}

/* A transition of a slot, as its owner makes it: the slot first, then a record. */
static void story_write(struct story *story)
{
	uint32_t slot = model_random(&story->random) % SLOTS;
	unsigned lane = model_random(&story->random) % LANES;
	struct ttm_item *item = &story->truth[slot];
	struct told *told = &story->lanes[lane][story->written[lane]];

	uint64_t what = model_random(&story->random);
	unsigned less = item->place & (unsigned)(what >> 8 & 15);

	if (ttm_item_is_live(item) && less && less != item->place && what & 1) {
		item->word += TTM_ITEM_WORD(1, false);
		item->place = (uint16_t)less;
	} else if (ttm_item_is_live(item)) {
		*item = model_item((item->word >> 1) + 1, false);
	} else {
		*item = item_random(&story->random, (item->word >> 1) + 2);
	}
	told->slot = slot;
	told->item = *item;
	story->written[lane]++;
}

static void story_read(struct story *story, bool may_lose)
{
	unsigned lane = model_random(&story->random) % LANES;
	const struct told *told = &story->lanes[lane][story->read[lane]];

	if (story->read[lane] == story->written[lane])
		return;
	story->read[lane]++;
	if (may_lose && model_random(&story->random) % 4 == 0)
		story->lost = true;
	else
		ttm_apply(&model, told->slot, &told->item, false);
}

static bool is_told(const struct story *story, uint32_t slot)
{
	unsigned lane;
	size_t i;

	for (lane = 0; lane < LANES; lane++)
		for (i = story->read[lane]; i < story->written[lane]; i++)
			if (story->lanes[lane][i].slot == slot)
				return true;
	return false;
}

/* A slot whose record is yet to come may be read torn: then it counts as free. */
static void story_scan(struct story *story)
{
	uint32_t slot;

	for (slot = 0; slot < SLOTS; slot++) {
		struct ttm_item item = story->truth[slot];

		if (!item.word)
			continue;
		if (ttm_item_is_live(&item) && is_told(story, slot) &&
			model_random(&story->random) % 2)
			item = model_item(item.word >> 1, false);
		ttm_apply(&model, slot, &item, true);
	}
	story->lost = false;
}

static void story_end_check(const struct story *story)
{
	uint32_t slot;

	model_check(&model);
	for (slot = 0; slot < SLOTS; slot++) {
		const struct ttm_item *item = &ttm_model_mirror(&model, slot)
						       ->item;

		TEST_ASSERT_EQUAL_HEX64(story->truth[slot].word, item->word);
		if (ttm_item_is_live(item))
			TEST_ASSERT_EQUAL_MEMORY(
				&story->truth[slot], item, sizeof(*item));
	}
}

static void story_run(uint64_t seed, bool scans, bool losses)
{
	static struct story story;
	unsigned i, lane;

	memset(&story, 0, sizeof(story));
	story.random = seed * 0x9e3779b97f4a7c15ull + 1;
	for (i = 0; i < OPERATIONS; i++) {
		uint64_t what = model_random(&story.random) % 16;

		story_write(&story);
		if (what < 6)
			story_read(&story, losses);
		if (scans && what == 6)
			story_scan(&story);
		if (what == 7)
			model_close(&model, i & 3, (uint32_t)model.closes + 1);
		model.round += what == 8;
	}
	for (lane = 0; lane < LANES; lane++)
		while (story.read[lane] < story.written[lane])
			story_read(&story, losses);
	if (story.lost)
		story_scan(&story);
	story_end_check(&story);
}

static void test_the_order_across_lanes_does_not_matter(void)
{
	uint64_t seed, runs = test_scale(1500);

	for (seed = 1; seed <= runs; seed++) {
		story_run(seed, false, false);
		tearDown();
		setUp();
		story_run(seed, true, false);
		tearDown();
		setUp();
	}
}

static void test_what_was_lost_comes_back_with_a_scan(void)
{
	uint64_t seed, runs = test_scale(1500);

	for (seed = 1; seed <= runs; seed++) {
		story_run(seed, false, true);
		tearDown();
		setUp();
		story_run(seed, true, true);
		tearDown();
		setUp();
	}
}

/* All orders of a slot's life of seven transitions, each on a lane of its own. */
static void permutations(struct ttm_item *items, unsigned len, unsigned at)
{
	unsigned i;

	if (at == len) {
		setUp();
		for (i = 0; i < len; i++)
			ttm_apply(&model, 5, &items[i], false);
		TEST_ASSERT_EQUAL_UINT64(17, dram()->bytes);
		TEST_ASSERT_EQUAL_UINT64(1, dram()->objects);
		TEST_ASSERT_EQUAL_UINT64(1, model.live_objects);
		tearDown();
		return;
	}
	for (i = at; i < len; i++) {
		struct ttm_item item = items[at];

		items[at] = items[i];
		items[i] = item;
		permutations(items, len, at + 1);
		items[i] = items[at];
		items[at] = item;
	}
}

static void test_every_order_of_a_slots_life_ends_the_same(void)
{
	struct ttm_item items[] = { buffer(2, 1, 11), model_item(3, false),
		buffer(5, 2, 13), model_item(6, false), buffer(8, 3, 17) };

	tearDown();
	permutations(items, 5, 0);
	setUp();
}

static void test_a_million_operations_leave_no_drift(void)
{
	uint64_t random = 88172645463325252ull, i, n = test_scale(1000000);
	uint32_t slots = 2 * TTM_MODEL_CHUNK;

	TEST_ASSERT_EQUAL_INT(0, ttm_model_reserve(&model, slots));
	for (i = 0; i < n; i++) {
		uint64_t bits = model_random(&random);
		uint32_t slot = bits % slots;
		uint64_t generation = ttm_model_mirror(&model, slot)
					      ->item.word >>
			1;
		struct ttm_item item = bits >> 40 & 1 ?
			item_random(&random, generation + (bits >> 41 & 3)) :
			model_item(generation + (bits >> 41 & 3), false);

		ttm_apply(&model, slot, &item, bits >> 44 & 1);
		if (bits >> 50 == 0)
			model_close(&model, bits >> 32 & 3,
				(uint32_t)model.closes + (bits >> 34 & 1));
		if (i % (n / 8 + 1) == 0)
			model_check(&model);
	}
	model_check(&model);
	for (i = 0; i < slots; i++) {
		struct ttm_item item = model_item(n * 4, false);

		ttm_apply(&model, i, &item, false);
	}
	model_check(&model);
	TEST_ASSERT_EQUAL_UINT64(0, model.live_objects);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_newer_record_is_applied);
	RUN_TEST(test_an_older_record_is_ignored);
	RUN_TEST(test_an_equal_record_is_ignored_after_a_record);
	RUN_TEST(test_an_equal_record_replaces_what_was_scanned);
	RUN_TEST(test_a_torn_scan_is_put_right_by_the_record);
	RUN_TEST(test_applying_replaces_a_live_object);
	RUN_TEST(test_the_first_generation_there_is_may_be_live);
	RUN_TEST(test_what_is_scanned_again_unchanged_is_no_news);
	RUN_TEST(test_the_queue_has_each_slot_once);
	RUN_TEST(test_a_close_orphans_what_was_allocated_before);
	RUN_TEST(test_a_close_that_is_not_complete_orphans);
	RUN_TEST(test_an_orphan_may_be_freed);
	RUN_TEST(test_an_object_that_is_ahead_of_the_closes_is_live);
	RUN_TEST(test_a_very_old_object_is_told_from_one_that_is_ahead);
	RUN_TEST(test_an_object_is_counted_on_each_of_its_devices);
	RUN_TEST(test_closing_a_device_orphans_the_part_there);
	RUN_TEST(test_a_shrink_frees_the_parts_that_left);
	RUN_TEST(test_an_object_that_shrinks_gets_no_younger);
	RUN_TEST(test_a_place_is_taken_once);
	RUN_TEST(test_the_order_across_lanes_does_not_matter);
	RUN_TEST(test_what_was_lost_comes_back_with_a_scan);
	RUN_TEST(test_every_order_of_a_slots_life_ends_the_same);
	RUN_TEST(test_a_million_operations_leave_no_drift);
	return UNITY_END();
}
