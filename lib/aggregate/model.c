/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> [apply] -> publish -> read -> render */
#include "aggregate/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ttm_model_init(struct ttm_model *model)
{
	unsigned device, list;

	memset(model, 0, sizeof(*model));
	for (device = 0; device < TTM_MODEL_DEVICES; device++)
		for (list = 0; list < TTM_LISTS; list++)
			model->shares[device].lists[list] = TTM_MODEL_NONE;
}

void ttm_model_free(struct ttm_model *model)
{
	uint32_t i;

	for (i = 0; i < model->chunks_len; i++)
		free(model->chunks[i]);
	free(model->chunks);
	free(model->changed);
	ttm_model_init(model);
}

size_t ttm_model_bytes(const struct ttm_model *model)
{
	return (size_t)ttm_model_slots(model) *
		(sizeof(struct ttm_place) + sizeof(uint32_t)) +
		model->chunks_len * sizeof(*model->chunks);
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
	struct ttm_place **chunks;

	if (len <= model->chunks_len)
		return 0;
	if (changed_reserve(model, len * TTM_MODEL_CHUNK) < 0)
		return -ENOMEM;
	chunks = realloc(model->chunks, len * sizeof(*chunks));
	if (!chunks)
		return -ENOMEM;
	model->chunks = chunks;
	while (model->chunks_len < len) {
		chunks[model->chunks_len] = calloc(
			TTM_MODEL_CHUNK, sizeof(**chunks));
		if (!chunks[model->chunks_len])
			return -ENOMEM;
		model->chunks_len++;
	}
	return 0;
}

void ttm_model_queue(struct ttm_model *model, uint32_t slot)
{
	struct ttm_place *place = ttm_model_place(model, slot);

	if (place->state & TTM_PLACE_QUEUED)
		return;
	place->state |= TTM_PLACE_QUEUED;
	model->changed[model->changed_len++] = slot;
}

/* -- twins ------------------------------------------------------------------- */

struct twin {
	const struct ttm_item *item;
	uint32_t slot;
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
	return item->figure == TTMEM_FIGURE_CB ? item->extra : 0;
}

static int key_compare(const struct ttm_item *a, const struct ttm_item *b)
{
	int order = compare(a->device, b->device);

	if (!order)
		order = compare(item_class(a), item_class(b));
	if (!order)
		order = compare(a->epoch, b->epoch);
	if (!order)
		order = compare(a->id, b->id);
	if (!order)
		order = compare(item_program(a), item_program(b));
	return order;
}

static int twin_compare(const void *one, const void *other)
{
	const struct twin *a = one, *b = other;
	int order = key_compare(a->item, b->item);

	return order ? order : compare(a->slot, b->slot);
}

static bool twin_is_later(const struct twin *a, const struct twin *b)
{
	int8_t turns = (int8_t)(a->item->turn - b->item->turn);

	return turns ? turns > 0 : a->slot > b->slot;
}

static void twin_free(struct ttm_model *model, const struct twin *twin)
{
	struct ttm_item item = *twin->item;

	item.word = TTM_ITEM_WORD((item.word >> 1) + 1, false);
	ttm_apply(model, twin->slot, &item, true);
}

static size_t twins_collect(const struct ttm_model *model, struct twin *twins)
{
	const struct ttm_place *place;
	size_t len = 0;
	uint32_t slot;

	for (slot = 0; slot < ttm_model_slots(model); slot++) {
		place = ttm_model_place(model, slot);
		if (ttm_item_is_live(&place->item)) {
			twins[len].item = &place->item;
			twins[len].slot = slot;
			len++;
		}
	}
	return len;
}

int ttm_model_settle_twins(struct ttm_model *model)
{
	struct twin *twins = malloc((model->live_objects + 1) * sizeof(*twins));
	size_t len, i, stands = 0;
	int freed = 0;

	if (!twins)
		return -ENOMEM;
	len = twins_collect(model, twins);
	qsort(twins, len, sizeof(*twins), twin_compare);
	for (i = 1; i < len; i++) {
		if (key_compare(twins[stands].item, twins[i].item) != 0) {
			stands = i;
			continue;
		}
		if (twin_is_later(&twins[i], &twins[stands])) {
			struct twin earlier = twins[stands];

			twins[stands] = twins[i];
			twins[i] = earlier;
		}
		twin_free(model, &twins[i]);
		freed++;
	}
	free(twins);
	return freed;
}
