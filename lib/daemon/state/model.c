/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> [apply] -> publish -> read -> render */
#include "daemon/state/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/state/chunk.h"

#define CHUNK_SIZE (TTM_MODEL_CHUNK * sizeof(struct ttm_mirror))

void ttm_model_init(struct ttm_model *model)
{
	memset(model, 0, sizeof(*model));
}

void ttm_model_free(struct ttm_model *model)
{
	uint32_t i;

	for (i = 0; i < model->chunks_len; i++)
		ttm_chunk_free(model->chunks[i], CHUNK_SIZE);
	free(model->chunks);
	free(model->changed);
	free(model->places);
	free(model->core_sets);
	ttm_model_init(model);
}

size_t ttm_model_bytes(const struct ttm_model *model)
{
	return (size_t)ttm_model_slots(model) *
		(sizeof(struct ttm_mirror) + sizeof(uint32_t)) +
		model->chunks_len * sizeof(*model->chunks) +
		model->places_len * sizeof(*model->places) +
		model->core_sets_len * sizeof(*model->core_sets);
}

/* Every slot fits in the list at once: queueing cannot fail. */
static int changed_reserve(struct ttm_model *model, uint32_t slots)
{
	uint32_t *changed;

	if (slots <= model->changed_capacity)
		return 0;
	changed = realloc(model->changed, slots * sizeof(*changed));
	if (!changed)
		return -ENOMEM;
	model->changed = changed;
	model->changed_capacity = slots;
	return 0;
}

int ttm_model_reserve(struct ttm_model *model, uint32_t slots)
{
	uint32_t len = (slots + TTM_MODEL_CHUNK - 1) / TTM_MODEL_CHUNK;
	struct ttm_mirror **chunks;

	if (len <= model->chunks_len)
		return 0;
	if (changed_reserve(model, len * TTM_MODEL_CHUNK) < 0)
		return -ENOMEM;
	chunks = realloc(model->chunks, len * sizeof(*chunks));
	if (!chunks)
		return -ENOMEM;
	model->chunks = chunks;
	for (; model->chunks_len < len; model->chunks_len++) {
		chunks[model->chunks_len] = ttm_chunk_new(CHUNK_SIZE);
		if (!chunks[model->chunks_len])
			return -ENOMEM;
	}
	return 0;
}

static int places_reserve(struct ttm_model *model, uint32_t len)
{
	struct ttm_place *places;

	if (len <= model->places_len)
		return 0;
	len += len / 2;
	places = realloc(model->places, len * sizeof(*places));
	if (!places)
		return -ENOMEM;
	model->places = places;
	for (; model->places_len < len; model->places_len++) {
		struct ttm_place *place = &places[model->places_len];

		place->members = 0;
		place->lists[TTM_LIST_L1] = TTM_MODEL_NONE;
		place->lists[TTM_LIST_CB] = TTM_MODEL_NONE;
	}
	return 0;
}

int ttm_model_place_add(
	struct ttm_model *model, uint32_t number, uint64_t members)
{
	int r = places_reserve(model, number + 1);

	if (!r && !model->places[number].members)
		model->places[number].members = members;
	return r;
}

int ttm_model_core_set_add(struct ttm_model *model, uint32_t number,
	const struct ttm_core_set *core_set)
{
	uint32_t len = number + 1 + number / 2;
	struct ttm_core_set *sets;

	if (number >= model->core_sets_len) {
		sets = realloc(model->core_sets, len * sizeof(*sets));
		if (!sets)
			return -ENOMEM;
		memset(sets + model->core_sets_len, 0,
			(len - model->core_sets_len) * sizeof(*sets));
		model->core_sets = sets;
		model->core_sets_len = len;
	}
	if (!model->core_sets[number].cores)
		model->core_sets[number] = *core_set;
	return 0;
}

bool ttm_model_is_left(
	const struct ttm_model *model, const struct ttm_mirror *mirror)
{
	uint64_t left = ttm_model_members(model, mirror->item.place);

	for (; left; left &= left - 1)
		if (!ttm_model_is_orphaned(
			    model, mirror, (unsigned)__builtin_ctzll(left)))
			return false;
	return true;
}

void ttm_model_queue(struct ttm_model *model, uint32_t slot)
{
	struct ttm_mirror *mirror = ttm_model_mirror(model, slot);

	if (mirror->state & TTM_MIRROR_QUEUED)
		return;
	mirror->state |= TTM_MIRROR_QUEUED;
	model->changed[model->changed_len++] = slot;
}

/* -- twins ------------------------------------------------------------------- */

struct twin {
	const struct ttm_item *item;
	uint32_t slot;
	bool left; /* orphaned on all of its devices */
};

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* The three kinds of kernels are one class: docs/layout.md, "Key". */
static unsigned item_class(const struct ttm_item *item)
{
	return item->figure >= TTMEM_FIGURE_KERNEL ? TTMEM_FIGURE_KERNEL :
						     item->figure;
}

static uint64_t item_program(const struct ttm_item *item)
{
	return item->figure == TTMEM_FIGURE_CB ? item->w5 : 0;
}

/*
 * An object that was left behind stays when its key is allocated again: it is another
 * object than one that is in use. Two that were left behind are the same object only
 * if they were allocated between the same closes.
 */
static int key_compare(const struct twin *one, const struct twin *other)
{
	const struct ttm_item *a = one->item, *b = other->item;
	int order = compare(TTM_W4_PLACE(a->w4), TTM_W4_PLACE(b->w4));

	if (!order)
		order = compare(item_class(a), item_class(b));
	if (!order)
		order = compare(a->id, b->id);
	if (!order)
		order = compare(item_program(a), item_program(b));
	if (!order)
		order = compare(one->left, other->left);
	if (!order && one->left)
		order = compare(a->stamp, b->stamp);
	return order;
}

static int twin_compare(const void *one, const void *other)
{
	const struct twin *a = one, *b = other;
	int order = key_compare(a, b);

	return order ? order : compare(a->slot, b->slot);
}

static bool twin_ranks_higher(const struct twin *a, const struct twin *b)
{
	int8_t ranks = (int8_t)(a->item->rank - b->item->rank);

	return ranks ? ranks > 0 : a->slot > b->slot;
}

static void twin_free(struct ttm_model *model, const struct twin *twin)
{
	struct ttm_item item = *twin->item;

	item.word = TTM_ITEM_WORD((item.word >> 1) + 1, false);
	ttm_apply(model, twin->slot, &item, true);
}

static size_t twins_collect(const struct ttm_model *model, struct twin *twins)
{
	const struct ttm_mirror *mirror;
	size_t len = 0;
	uint32_t slot;

	for (slot = 0; slot < ttm_model_slots(model); slot++) {
		mirror = ttm_model_mirror(model, slot);
		if (ttm_item_is_live(&mirror->item)) {
			twins[len].item = &mirror->item;
			twins[len].slot = slot;
			twins[len].left = ttm_model_is_left(model, mirror);
			len++;
		}
	}
	return len;
}

int ttm_model_settle_twins(struct ttm_model *model)
{
	struct twin *twins = malloc((model->live_objects + 1) * sizeof(*twins));
	size_t len, i, kept = 0;
	int freed = 0;

	if (!twins)
		return -ENOMEM;
	len = twins_collect(model, twins);
	qsort(twins, len, sizeof(*twins), twin_compare);
	for (i = 1; i < len; i++) {
		if (key_compare(&twins[kept], &twins[i]) != 0) {
			kept = i;
			continue;
		}
		if (twin_ranks_higher(&twins[i], &twins[kept])) {
			struct twin lower = twins[kept];

			twins[kept] = twins[i];
			twins[i] = lower;
		}
		twin_free(model, &twins[i]);
		freed++;
	}
	free(twins);
	return freed;
}
