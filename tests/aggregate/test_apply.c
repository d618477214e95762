/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever order records arrive in, the mirror ends up as the slots are. */
#include "aggregate/model_check.h"

#include "support/test_dir.h"

static struct ttm_model model;

void setUp(void)
{
	ttm_model_init(&model);
	TEST_ASSERT_EQUAL_INT(0, ttm_model_reserve(&model, 1));
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
	item.size = bytes;
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
	cb.device = 3;
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
	ttm_model_place(&model, 5)->state &= ~(uint32_t)TTM_PLACE_QUEUED;
	model.round += 9;
	/* Its row stays, and it is no younger than it was. */
	TEST_ASSERT_FALSE(apply(buffer(2, 1, 100), true));
	TEST_ASSERT_EQUAL_UINT32(0, model.changed_len);
	TEST_ASSERT_EQUAL_UINT32(
		0, ttm_model_place(&model, 5)->state / TTM_PLACE_ROUND);
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

/* -- epochs ------------------------------------------------------------------ */

static void test_an_epoch_orphans_what_is_of_another(void)
{
	struct ttm_item item = buffer(2, 1, 100);

	item.figure = TTMEM_FIGURE_L1;
	apply(item, false);
	model.shares[0].l1_moved = false;
	ttm_apply_epoch(&model, 0, 1);
	model_check(&model);
	TEST_ASSERT_EQUAL_UINT64(
		0, model.shares[0].live[TTMEM_FIGURE_L1].bytes);
	TEST_ASSERT_EQUAL_UINT64(
		100, model.shares[0].orphaned[TTMEM_FIGURE_L1].bytes);
	TEST_ASSERT_TRUE(model.shares[0].l1_moved);
	TEST_ASSERT_EQUAL_UINT64(1, model.live_objects);
	ttm_apply_epoch(&model, 0, 0);
	model_check(&model);
	TEST_ASSERT_EQUAL_UINT64(
		100, model.shares[0].live[TTMEM_FIGURE_L1].bytes);
}

static void test_an_orphan_may_be_freed(void)
{
	apply(buffer(2, 1, 100), false);
	ttm_apply_epoch(&model, 0, 9);
	TEST_ASSERT_TRUE(apply(model_item(3, false), false));
	TEST_ASSERT_EQUAL_UINT64(
		0, model.shares[0].orphaned[TTMEM_FIGURE_DRAM].objects);
	TEST_ASSERT_EQUAL_UINT64(0, model.live_objects);
}

/* The record of an allocation may come before the device is looked at. */
static void test_an_object_of_a_later_epoch_becomes_live_with_it(void)
{
	struct ttm_item item = buffer(2, 1, 100);

	item.epoch = 1;
	apply(item, false);
	TEST_ASSERT_EQUAL_UINT64(0, dram()->objects);
	ttm_apply_epoch(&model, 0, 1);
	model_check(&model);
	TEST_ASSERT_EQUAL_UINT64(100, dram()->bytes);
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
	item.device = bits >> 8 & 3;
	item.figure = (uint8_t)((bits >> 16 & 0xff) % TTMEM_FIGURES);
	item.flags = bits >> 24 & 7;
	item.epoch = bits >> 32 & 3;
	item.bytes = bits >> 40;
	item.size = item.bytes;
	item.turn = 0;
	return item;
}

/* A transition of a slot, as its owner makes it: the slot first, then a record. */
static void story_write(struct story *story)
{
	uint32_t slot = model_random(&story->random) % SLOTS;
	unsigned lane = model_random(&story->random) % LANES;
	struct ttm_item *item = &story->truth[slot];
	struct told *told = &story->lanes[lane][story->written[lane]];

	if (ttm_item_is_live(item))
		*item = model_item((item->word >> 1) + 1, false);
	else
		*item = item_random(&story->random, (item->word >> 1) + 2);
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
		const struct ttm_item *item = &ttm_model_place(&model, slot)
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
			ttm_apply_epoch(
				&model, i & 3, model_random(&story.random) & 3);
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
		uint64_t generation = ttm_model_place(&model, slot)
					      ->item.word >>
			1;
		struct ttm_item item = bits >> 40 & 1 ?
			item_random(&random, generation + (bits >> 41 & 3)) :
			model_item(generation + (bits >> 41 & 3), false);

		ttm_apply(&model, slot, &item, bits >> 44 & 1);
		if (bits >> 50 == 0)
			ttm_apply_epoch(&model, bits >> 32 & 3, bits >> 34 & 3);
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
	RUN_TEST(test_an_epoch_orphans_what_is_of_another);
	RUN_TEST(test_an_orphan_may_be_freed);
	RUN_TEST(test_an_object_of_a_later_epoch_becomes_live_with_it);
	RUN_TEST(test_the_order_across_lanes_does_not_matter);
	RUN_TEST(test_what_was_lost_comes_back_with_a_scan);
	RUN_TEST(test_every_order_of_a_slots_life_ends_the_same);
	RUN_TEST(test_a_million_operations_leave_no_drift);
	return UNITY_END();
}
