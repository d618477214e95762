/* SPDX-License-Identifier: Apache-2.0 */
/* A model held against what a simple count over its mirrors gives. */
#ifndef MODEL_CHECK_H
#define MODEL_CHECK_H

#include <stdlib.h>
#include <string.h>

#include <unity.h>

#include "daemon/state/model.h"

static inline uint64_t model_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Place n has the devices of the bits of n: place 1 is device 0, place 3 is 0 and 1. */
#define MODEL_PLACES 16u

static inline void model_begin(struct ttm_model *model)
{
	uint32_t place;

	ttm_model_init(model);
	TEST_ASSERT_EQUAL_INT(0, ttm_model_reserve(model, 1));
	for (place = 1; place < MODEL_PLACES; place++)
		TEST_ASSERT_EQUAL_INT(
			0, ttm_model_place_add(model, place, place));
}

/* Device entry `device` was closed by call `number`, and closes are that many. */
static inline void model_close(
	struct ttm_model *model, unsigned device, uint32_t number)
{
	uint32_t epochs[TTM_MODEL_DEVICES];

	memcpy(epochs, model->epochs, sizeof(epochs));
	epochs[device] = number;
	ttm_apply_closes(model, number, epochs);
}

static inline struct ttm_item model_item(uint64_t generation, bool live)
{
	struct ttm_item item;

	memset(&item, 0, sizeof(item));
	item.word = TTM_ITEM_WORD(generation, live);
	if (live) {
		item.place = 1;
		item.w4 = TTM_W4(0, 1);
	}
	return item;
}

static inline bool model_is_listed(const struct ttm_item *item, unsigned list)
{
	if (list == TTM_LIST_L1)
		return item->figure == TTMEM_FIGURE_L1;
	return item->figure == TTMEM_FIGURE_CB &&
		!(item->flags & TTM_FLAG_BORROWED);
}

static inline bool model_is_on(const struct ttm_model *model,
	const struct ttm_item *item, unsigned device)
{
	return ttm_item_is_live(item) &&
		(ttm_model_members(model, item->place) >> device & 1);
}

static inline void model_expect(const struct ttm_model *model, unsigned device,
	struct ttm_share *ret_share)
{
	const struct ttm_mirror *mirror;
	const struct ttm_item *item;
	struct ttm_tally *tally;
	uint32_t slot;
	bool orphan;

	for (slot = 0; slot < ttm_model_slots(model); slot++) {
		mirror = ttm_model_mirror(model, slot);
		item = &mirror->item;
		if (!model_is_on(model, item, device))
			continue;
		orphan = !(mirror->state & TTM_MIRROR_AHEAD) &&
			ttm_stamp_is_orphaned(model->closes, item->stamp,
				model->epochs[device]);
		tally = orphan ? &ret_share->orphaned[item->figure] :
				 &ret_share->live[item->figure];
		tally->objects++;
		tally->bytes += item->bytes;
		if (orphan)
			continue;
		if (item->figure < TTMEM_FIGURE_CB)
			ret_share->requested[item->figure] += TTM_W4_SIZE(
				item->w4);
		if (item->figure >= TTMEM_FIGURE_KERNEL &&
			(item->flags & TTM_FLAG_IN_RING))
			ret_share->ring_bytes[item->figure -
				TTMEM_FIGURE_KERNEL] += item->bytes;
	}
}

static inline size_t model_listed(
	const struct ttm_model *model, uint32_t place, unsigned list)
{
	const struct ttm_mirror *mirror;
	size_t listed = 0;
	uint32_t slot;

	for (slot = 0; slot < ttm_model_slots(model); slot++) {
		mirror = ttm_model_mirror(model, slot);
		listed += ttm_item_is_live(&mirror->item) &&
			mirror->item.place == place &&
			model_is_listed(&mirror->item, list) &&
			!ttm_model_is_left(model, mirror);
	}
	return listed;
}

/* Each list has what belongs there, and its links fit both ways. */
static inline void model_list_check(
	const struct ttm_model *model, uint32_t place, unsigned list)
{
	size_t listed = model_listed(model, place, list);
	uint32_t slot = model->places[place].lists[list];
	uint32_t previous = TTM_MODEL_NONE;

	while (slot != TTM_MODEL_NONE) {
		const struct ttm_mirror *mirror = ttm_model_mirror(model, slot);

		TEST_ASSERT_TRUE(listed-- > 0);
		TEST_ASSERT_TRUE(ttm_item_is_live(&mirror->item));
		TEST_ASSERT_EQUAL_UINT(place, mirror->item.place);
		TEST_ASSERT_TRUE(model_is_listed(&mirror->item, list));
		TEST_ASSERT_EQUAL_UINT32(previous, mirror->previous);
		previous = slot;
		slot = mirror->next;
	}
	TEST_ASSERT_EQUAL_UINT64(0, listed);
}

static inline void model_queue_check(const struct ttm_model *model)
{
	uint8_t *seen = calloc(1, ttm_model_slots(model) + 1u);
	uint32_t i, queued = 0;

	TEST_ASSERT_NOT_NULL(seen);
	for (i = 0; i < model->changed_len; i++) {
		TEST_ASSERT_TRUE(model->changed[i] < ttm_model_slots(model));
		TEST_ASSERT_EQUAL_UINT8(0, seen[model->changed[i]]);
		seen[model->changed[i]] = 1;
	}
	for (i = 0; i < ttm_model_slots(model); i++)
		queued += (ttm_model_mirror(model, i)->state &
				  TTM_MIRROR_QUEUED) != 0;
	TEST_ASSERT_EQUAL_UINT32(model->changed_len, queued);
	free(seen);
}

static inline void model_check(struct ttm_model *model)
{
	uint64_t objects = 0;
	unsigned device, i;
	uint32_t slot, place;

	ttm_model_tally(model);
	for (device = 0; device < TTM_MODEL_DEVICES; device++) {
		const struct ttm_share *share = &model->shares[device];
		struct ttm_share expected;

		/* Most tests have four. */
		if (device >= 8 && !share->changed)
			continue;
		memset(&expected, 0, sizeof(expected));
		model_expect(model, device, &expected);
		TEST_ASSERT_EQUAL_MEMORY(
			expected.live, share->live, sizeof(expected.live));
		TEST_ASSERT_EQUAL_MEMORY(expected.orphaned, share->orphaned,
			sizeof(expected.orphaned));
		TEST_ASSERT_EQUAL_MEMORY(expected.requested, share->requested,
			sizeof(expected.requested));
		TEST_ASSERT_EQUAL_MEMORY(expected.ring_bytes, share->ring_bytes,
			sizeof(expected.ring_bytes));
	}
	for (place = 0; place < model->places_len; place++)
		for (i = 0; model->places[place].members && i < TTM_LISTS; i++)
			model_list_check(model, place, i);
	for (slot = 0; slot < ttm_model_slots(model); slot++)
		objects += ttm_item_is_live(
			&ttm_model_mirror(model, slot)->item);
	TEST_ASSERT_EQUAL_UINT64(objects, model->live_objects);
	model_queue_check(model);
}

#endif
