/* SPDX-License-Identifier: Apache-2.0 */
/* A model held against what a simple count over its places gives. */
#ifndef MODEL_CHECK_H
#define MODEL_CHECK_H

#include <stdlib.h>
#include <string.h>

#include <unity.h>

#include "aggregate/model.h"

static inline uint64_t model_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline struct ttm_item model_item(uint64_t generation, bool live)
{
	struct ttm_item item;

	memset(&item, 0, sizeof(item));
	item.word = TTM_ITEM_WORD(generation, live);
	return item;
}

static inline bool model_is_listed(const struct ttm_item *item, unsigned list)
{
	if (list == TTM_LIST_L1)
		return item->figure == TTMEM_FIGURE_L1;
	return item->figure == TTMEM_FIGURE_CB &&
		!(item->flags & TTM_ITEM_BORROWED);
}

static inline void model_expect(const struct ttm_model *model, unsigned device,
	struct ttm_share *ret_share, size_t ret_listed[TTM_LISTS])
{
	uint32_t slot;

	for (slot = 0; slot < ttm_model_slots(model); slot++) {
		const struct ttm_item *item = &ttm_model_place(model, slot)
						       ->item;
		bool orphan = item->epoch != model->shares[device].epoch;
		struct ttm_tally *tally;

		if (!ttm_item_is_live(item) || item->device != device)
			continue;
		tally = orphan ? &ret_share->orphaned[item->figure] :
				 &ret_share->live[item->figure];
		tally->objects++;
		tally->bytes += item->bytes;
		if (orphan)
			continue;
		if (item->figure >= TTMEM_FIGURE_KERNEL &&
			(item->flags & TTM_ITEM_IN_RING))
			ret_share->ring_bytes[item->figure -
				TTMEM_FIGURE_KERNEL] += item->bytes;
		ret_listed[TTM_LIST_L1] += model_is_listed(item, TTM_LIST_L1);
		ret_listed[TTM_LIST_CB] += model_is_listed(item, TTM_LIST_CB);
	}
}

/* Each list has what belongs there, and its links fit both ways. */
static inline void model_list_check(const struct ttm_model *model,
	unsigned device, unsigned list, size_t listed)
{
	uint32_t slot = model->shares[device].lists[list];
	uint32_t previous = TTM_MODEL_NONE;

	while (slot != TTM_MODEL_NONE) {
		const struct ttm_place *place = ttm_model_place(model, slot);

		TEST_ASSERT_TRUE(listed-- > 0);
		TEST_ASSERT_TRUE(ttm_item_is_live(&place->item));
		TEST_ASSERT_EQUAL_UINT(device, place->item.device);
		TEST_ASSERT_TRUE(model_is_listed(&place->item, list));
		TEST_ASSERT_EQUAL_UINT32(previous, place->previous);
		previous = slot;
		slot = place->next;
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
		queued += (ttm_model_place(model, i)->state &
				  TTM_PLACE_QUEUED) != 0;
	TEST_ASSERT_EQUAL_UINT32(model->changed_len, queued);
	free(seen);
}

static inline void model_check(const struct ttm_model *model)
{
	uint64_t objects = 0;
	unsigned device, i;

	for (device = 0; device < TTM_MODEL_DEVICES; device++) {
		const struct ttm_share *share = &model->shares[device];
		size_t listed[TTM_LISTS] = { 0 };
		struct ttm_share expected;

		if (!share->known)
			continue;
		memset(&expected, 0, sizeof(expected));
		model_expect(model, device, &expected, listed);
		TEST_ASSERT_EQUAL_MEMORY(
			expected.live, share->live, sizeof(expected.live));
		TEST_ASSERT_EQUAL_MEMORY(expected.orphaned, share->orphaned,
			sizeof(expected.orphaned));
		TEST_ASSERT_EQUAL_MEMORY(expected.ring_bytes, share->ring_bytes,
			sizeof(expected.ring_bytes));
		for (i = 0; i < TTM_LISTS; i++)
			model_list_check(model, device, i, listed[i]);
		for (i = 0; i < TTMEM_FIGURES; i++)
			objects += share->live[i].objects +
				share->orphaned[i].objects;
	}
	TEST_ASSERT_EQUAL_UINT64(objects, model->live_objects);
	model_queue_check(model);
}

#endif
