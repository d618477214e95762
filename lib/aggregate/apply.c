/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> [apply] -> publish -> read -> render */
#include "aggregate/model.h"

#include <assert.h>
#include <string.h>

static bool list_of(const struct ttm_item *item, enum ttm_list *ret_list)
{
	if (item->figure == TTMEM_FIGURE_L1)
		*ret_list = TTM_LIST_L1;
	else if (item->figure == TTMEM_FIGURE_CB &&
		!(item->flags & TTM_ITEM_BORROWED))
		*ret_list = TTM_LIST_CB;
	else
		return false;
	return true;
}

static void place_link(struct ttm_model *model, struct ttm_share *share,
	uint32_t slot, struct ttm_place *place)
{
	enum ttm_list list;
	uint32_t *head;

	if (!list_of(&place->item, &list))
		return;
	head = &share->lists[list];
	place->next = *head;
	place->previous = TTM_MODEL_NONE;
	if (*head != TTM_MODEL_NONE)
		ttm_model_place(model, *head)->previous = slot;
	*head = slot;
	place->state |= TTM_PLACE_LINKED;
	share->l1_moved = true;
}

static void place_unlink(struct ttm_model *model, struct ttm_share *share,
	struct ttm_place *place)
{
	enum ttm_list list;

	if (!(place->state & TTM_PLACE_LINKED) || !list_of(&place->item, &list))
		return;
	if (place->next != TTM_MODEL_NONE)
		ttm_model_place(model, place->next)->previous = place->previous;
	if (place->previous != TTM_MODEL_NONE)
		ttm_model_place(model, place->previous)->next = place->next;
	else
		share->lists[list] = place->next;
	place->state &= ~(uint32_t)TTM_PLACE_LINKED;
	share->l1_moved = true;
}

/* sign: 1 or all ones. Unsigned arithmetic: what was added is subtracted again. */
static void share_count(
	struct ttm_share *share, const struct ttm_place *place, uint64_t sign)
{
	const struct ttm_item *item = &place->item;
	struct ttm_tally *tally;

	if (place->state & TTM_PLACE_ORPHANED) {
		tally = &share->orphaned[item->figure];
	} else {
		tally = &share->live[item->figure];
		if (item->figure >= TTMEM_FIGURE_KERNEL &&
			(item->flags & TTM_ITEM_IN_RING))
			share->ring_bytes[item->figure -
				TTMEM_FIGURE_KERNEL] += sign * item->bytes;
	}
	tally->bytes += sign * item->bytes;
	tally->objects += sign;
	share->changed = true;
}

static void place_enter(
	struct ttm_model *model, uint32_t slot, struct ttm_place *place)
{
	struct ttm_share *share = &model->shares[place->item.device];

	share->known = true;
	place->state &= ~(uint32_t)TTM_PLACE_ORPHANED;
	if (place->item.epoch != share->epoch)
		place->state |= TTM_PLACE_ORPHANED;
	else
		place_link(model, share, slot, place);
	share_count(share, place, 1);
	model->live_objects++;
}

static void place_leave(struct ttm_model *model, struct ttm_place *place)
{
	struct ttm_share *share = &model->shares[place->item.device];

	share_count(share, place, UINT64_MAX);
	place_unlink(model, share, place);
	model->live_objects--;
}

/* Records do not tell the turn. */
static bool item_is_known(
	const struct ttm_item *known, const struct ttm_item *told)
{
	struct ttm_item same = *told;

	static_assert(sizeof(same) == 72, "no padding: it is compared");
	same.turn = known->turn;
	return memcmp(known, &same, sizeof(same)) == 0;
}

bool ttm_apply(struct ttm_model *model, uint32_t slot,
	const struct ttm_item *item, bool scanned)
{
	struct ttm_place *place = ttm_model_place(model, slot);
	uint64_t known = place->item.word >> 1, told = item->word >> 1;

	if (told < known ||
		(told == known && !(place->state & TTM_PLACE_SCANNED)))
		return false;
	/* Read again, it keeps its row and its age. */
	if (item_is_known(&place->item, item)) {
		if (!scanned)
			place->state &= ~(uint32_t)TTM_PLACE_SCANNED;
		return false;
	}
	if (ttm_item_is_live(&place->item))
		place_leave(model, place);
	place->state &= TTM_PLACE_QUEUED;
	place->state |= model->round * TTM_PLACE_ROUND;
	if (scanned)
		place->state |= TTM_PLACE_SCANNED;
	if (ttm_item_is_live(item)) {
		place->item = *item;
		place_enter(model, slot, place);
	} else {
		place->item.word = item->word;
	}
	ttm_model_queue(model, slot);
	return true;
}

static bool share_is_empty(const struct ttm_share *share)
{
	uint64_t objects = 0;
	unsigned i;

	for (i = 0; i < TTMEM_FIGURES; i++)
		objects |= share->live[i].objects | share->orphaned[i].objects;
	return !objects;
}

void ttm_apply_epoch(struct ttm_model *model, unsigned device, uint16_t epoch)
{
	struct ttm_share *share = &model->shares[device];
	struct ttm_place *place;
	uint32_t slot;

	if (share->epoch == epoch)
		return;
	share->epoch = epoch;
	share->changed = true;
	if (share_is_empty(share))
		return;
	for (slot = 0; slot < ttm_model_slots(model); slot++) {
		place = ttm_model_place(model, slot);
		if (!ttm_item_is_live(&place->item) ||
			place->item.device != device)
			continue;
		place_leave(model, place);
		place_enter(model, slot, place);
	}
}
