/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> [apply] -> publish -> read -> render */
#include "daemon/state/model.h"

#include <assert.h>
#include <string.h>

static bool list_of(const struct ttm_item *item, enum ttm_list *ret_list)
{
	if (item->figure == TTMEM_FIGURE_L1)
		*ret_list = TTM_LIST_L1;
	else if (item->figure == TTMEM_FIGURE_CB &&
		!(item->flags & TTM_FLAG_BORROWED))
		*ret_list = TTM_LIST_CB;
	else
		return false;
	return true;
}

static void mirror_link(
	struct ttm_model *model, uint32_t slot, struct ttm_mirror *mirror)
{
	enum ttm_list list;
	uint32_t *head;

	if (!list_of(&mirror->item, &list))
		return;
	head = &model->places[mirror->item.place].lists[list];
	mirror->next = *head;
	mirror->previous = TTM_MODEL_NONE;
	if (*head != TTM_MODEL_NONE)
		ttm_model_mirror(model, *head)->previous = slot;
	*head = slot;
	mirror->state |= TTM_MIRROR_LINKED;
}

static void mirror_unlink(struct ttm_model *model, struct ttm_mirror *mirror)
{
	enum ttm_list list;

	if (!(mirror->state & TTM_MIRROR_LINKED) ||
		!list_of(&mirror->item, &list))
		return;
	if (mirror->next != TTM_MODEL_NONE)
		ttm_model_mirror(model, mirror->next)
			->previous = mirror->previous;
	if (mirror->previous != TTM_MODEL_NONE)
		ttm_model_mirror(model, mirror->previous)->next = mirror->next;
	else
		model->places[mirror->item.place].lists[list] = mirror->next;
	mirror->state &= ~(uint32_t)TTM_MIRROR_LINKED;
}

/* sign: 1 or all ones. Unsigned arithmetic: what was added is subtracted again. */
static void share_count(struct ttm_share *share, const struct ttm_item *item,
	bool orphaned, uint64_t sign)
{
	struct ttm_tally *tally = &share->live[item->figure];
	enum ttm_list list;

	if (orphaned) {
		tally = &share->orphaned[item->figure];
	} else {
		if (item->figure < TTMEM_FIGURE_CB)
			share->requested[item->figure] += sign *
				TTM_W4_SIZE(item->w4);
		if (item->figure >= TTMEM_FIGURE_KERNEL &&
			(item->flags & TTM_FLAG_IN_RING))
			share->ring_bytes[item->figure -
				TTMEM_FIGURE_KERNEL] += sign * item->bytes;
		if (list_of(item, &list))
			share->l1_moved = true;
	}
	tally->bytes += sign * item->bytes;
	tally->objects += sign;
	share->changed = true;
}

static void share_add(struct ttm_share *share, const struct ttm_share *sum)
{
	unsigned i;

	for (i = 0; i < TTMEM_FIGURES; i++) {
		share->live[i].bytes += sum->live[i].bytes;
		share->live[i].objects += sum->live[i].objects;
	}
	for (i = 0; i < TTMEM_FIGURE_CB; i++)
		share->requested[i] += sum->requested[i];
	for (i = 0; i < 3; i++)
		share->ring_bytes[i] += sum->ring_bytes[i];
	share->l1_moved |= sum->l1_moved;
	share->changed = true;
}

static void pending_settle(struct ttm_model *model, struct ttm_pending *pending)
{
	uint64_t left = pending->sum.changed ? pending->members : 0;

	for (; left; left &= left - 1)
		share_add(&model->shares[__builtin_ctzll(left)], &pending->sum);
	memset(&pending->sum, 0, sizeof(pending->sum));
}

void ttm_model_tally(struct ttm_model *model)
{
	unsigned i;

	for (i = 0; i < TTM_MODEL_PENDING; i++)
		pending_settle(model, &model->pending[i]);
}

/*
 * Takes over another place. Of the members, the one that was closed last decides which
 * objects are in use on all of them; an epoch that cannot be leaves none.
 */
static void pending_begin(struct ttm_model *model, struct ttm_pending *pending,
	uint32_t place, uint64_t members)
{
	uint32_t age;
	uint64_t left;

	pending_settle(model, pending);
	pending->place = place;
	pending->members = members;
	pending->age_max = INT32_MAX;
	for (left = members; left; left &= left - 1) {
		age = (uint32_t)model->closes -
			model->epochs[__builtin_ctzll(left)];
		if (age > INT32_MAX)
			pending->members = 0;
		else if (age < pending->age_max)
			pending->age_max = age;
	}
}

/*
 * The sum for an object that is in use on all its devices, for as long as closes and
 * epochs stay as they are; NULL: count it on each of them.
 */
static struct ttm_share *pending_of(struct ttm_model *model,
	const struct ttm_mirror *mirror, uint64_t members)
{
	uint32_t place = mirror->item.place;
	struct ttm_pending
		*pending = &model->pending[place % TTM_MODEL_PENDING];
	uint16_t age = (uint16_t)((uint16_t)model->closes - mirror->item.stamp);

	if (!(members & (members - 1)))
		return NULL;
	if (pending->place != place || pending->members != members)
		pending_begin(model, pending, place, members);
	if (!pending->members ||
		(age > pending->age_max && !(mirror->state & TTM_MIRROR_AHEAD)))
		return NULL;
	return &pending->sum;
}

/* Counts the object on each of its devices. Returns whether it is in use on any. */
static bool mirror_count(
	struct ttm_model *model, const struct ttm_mirror *mirror, uint64_t sign)
{
	uint64_t left = ttm_model_members(model, mirror->item.place);
	struct ttm_share *whole = pending_of(model, mirror, left);
	bool in_use = false, orphaned;
	unsigned device;

	if (whole) {
		share_count(whole, &mirror->item, false, sign);
		return true;
	}

	for (; left; left &= left - 1) {
		device = (unsigned)__builtin_ctzll(left);
		orphaned = ttm_model_is_orphaned(model, mirror, device);
		in_use |= !orphaned;
		share_count(
			&model->shares[device], &mirror->item, orphaned, sign);
	}
	return in_use;
}

static void mirror_enter(
	struct ttm_model *model, uint32_t slot, struct ttm_mirror *mirror)
{
	/* An orphan has no place on the address line. */
	if (mirror_count(model, mirror, 1))
		mirror_link(model, slot, mirror);
}

static void mirror_leave(struct ttm_model *model, struct ttm_mirror *mirror)
{
	mirror_count(model, mirror, UINT64_MAX);
	mirror_unlink(model, mirror);
	model->live_objects--;
}

/* Whether both are the same; records do not tell the rank. */
static bool item_is_known(
	const struct ttm_item *known, const struct ttm_item *told)
{
	struct ttm_item same = *told;

	static_assert(sizeof(same) == 72, "no padding: it is compared");
	same.rank = known->rank;
	return memcmp(known, &same, sizeof(same)) == 0;
}

/* Whether `told` is the known object, freed on some of its devices. */
static bool item_is_shrunk(
	const struct ttm_item *known, const struct ttm_item *told)
{
	struct ttm_item same = *told;

	same.word = known->word;
	same.place = known->place;
	return ttm_item_is_live(known) && ttm_item_is_live(told) &&
		item_is_known(known, &same);
}

/* Whether a close happened that is not known yet. See ttm_apply_closes(). */
static bool item_is_ahead(
	const struct ttm_model *model, const struct ttm_item *item)
{
	return (int16_t)(uint16_t)(item->stamp - (uint16_t)model->closes) > 0;
}

bool ttm_apply(struct ttm_model *model, uint32_t slot,
	const struct ttm_item *item, bool scanned)
{
	struct ttm_mirror *mirror = ttm_model_mirror(model, slot);
	uint64_t known = mirror->item.word >> 1, told = item->word >> 1;
	uint32_t round = model->round * TTM_MIRROR_ROUND;

	if (told < known ||
		(told == known && !(mirror->state & TTM_MIRROR_SCANNED)))
		return false;
	/* Read again, it keeps its row and its age. */
	if (item_is_known(&mirror->item, item)) {
		if (!scanned)
			mirror->state &= ~(uint32_t)TTM_MIRROR_SCANNED;
		return false;
	}
	if (item_is_shrunk(&mirror->item, item))
		round = mirror->state & ~(TTM_MIRROR_ROUND - 1u);
	if (ttm_item_is_live(&mirror->item))
		mirror_leave(model, mirror);
	mirror->state &= TTM_MIRROR_QUEUED;
	mirror->state |= round;
	if (scanned)
		mirror->state |= TTM_MIRROR_SCANNED;
	if (ttm_item_is_live(item)) {
		mirror->item = *item;
		if (item_is_ahead(model, item)) {
			mirror->state |= TTM_MIRROR_AHEAD;
			model->ahead = true;
		}
		mirror_enter(model, slot, mirror);
		model->live_objects++;
	} else {
		mirror->item.word = item->word;
	}
	ttm_model_queue(model, slot);
	return true;
}

static void tallies_clear(struct ttm_model *model)
{
	struct ttm_share *share;
	unsigned device;
	uint32_t place;

	memset(model->pending, 0, sizeof(model->pending));
	for (device = 0; device < TTM_MODEL_DEVICES; device++) {
		share = &model->shares[device];
		memset(share, 0, sizeof(*share));
		share->changed = true;
		share->l1_moved = true;
	}
	for (place = 0; place < model->places_len; place++) {
		model->places[place].lists[TTM_LIST_L1] = TTM_MODEL_NONE;
		model->places[place].lists[TTM_LIST_CB] = TTM_MODEL_NONE;
	}
}

/*
 * Stamps are compared exactly here, objects that seemed to be ahead included: either
 * they are not any more, or they are so old that they only seemed to be.
 */
void ttm_apply_closes(struct ttm_model *model, uint64_t closes,
	const uint32_t epochs[TTM_MODEL_DEVICES])
{
	struct ttm_mirror *mirror;
	uint32_t slot;

	if (closes == model->closes && !model->ahead &&
		memcmp(epochs, model->epochs, sizeof(model->epochs)) == 0)
		return;
	model->closes = closes;
	model->ahead = false;
	memcpy(model->epochs, epochs, sizeof(model->epochs));
	tallies_clear(model);
	for (slot = 0; model->live_objects && slot < ttm_model_slots(model);
		slot++) {
		mirror = ttm_model_mirror(model, slot);
		if (!ttm_item_is_live(&mirror->item))
			continue;
		mirror->state &= ~(
			uint32_t)(TTM_MIRROR_AHEAD | TTM_MIRROR_LINKED);
		mirror_enter(model, slot, mirror);
	}
	/* Publications read the shares right after this, through ttm_drain_counters(). */
	ttm_model_tally(model);
}
