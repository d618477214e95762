/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> [apply] -> publish -> read -> render */
/*
 * The L1 of a device over its addresses. CBs are stacked upwards from the base,
 * buffers grow downwards from the top.
 *
 * Footprint: within one program, CBs that share an address are on different cores,
 * so their cores add up, to at most the device's; programs take turns, so of
 * several the largest counts. Which cores is not known: it is a lower bound.
 */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/model.h"

struct extent {
	uint64_t begin;
	uint64_t end;
	uint64_t program;
	uint64_t cores;
};

struct line {
	struct extent *extents; /* by program */
	size_t extents_len;
	uint64_t *points; /* sorted addresses where something begins or ends */
	size_t points_len;
	uint64_t *change; /* of the cores of one program at a point */
	uint64_t *most;   /* cores from a point to the next, of any program */
};

static uint64_t end_of(const struct ttm_item *item)
{
	uint64_t end = item->address + item->size;

	/* All ones would mean unknown. */
	return end < item->address || end == UINT64_MAX ? UINT64_MAX - 1 : end;
}

static int extent_compare(const void *one, const void *other)
{
	const struct extent *a = one, *b = other;

	return a->program < b->program ? -1 : a->program > b->program;
}

static int point_compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

static size_t point_index(const struct line *line, uint64_t address)
{
	const uint64_t *at = bsearch(&address, line->points, line->points_len,
		sizeof(address), point_compare);

	return (size_t)(at - line->points);
}

static void points_sort(struct line *line)
{
	size_t i, kept = 0;

	qsort(line->points, line->points_len, sizeof(*line->points),
		point_compare);
	for (i = 0; i < line->points_len; i++)
		if (!i || line->points[i] != line->points[kept - 1])
			line->points[kept++] = line->points[i];
	line->points_len = kept;
}

/* Extents from `first` on are of one program; returns the first of the next. */
static size_t program_add(struct line *line, size_t first, uint64_t cap)
{
	size_t from = SIZE_MAX, to = 0, begin, end, i;
	uint64_t cores = 0;

	for (i = first; i < line->extents_len &&
		line->extents[i].program == line->extents[first].program;
		i++) {
		begin = point_index(line, line->extents[i].begin);
		end = point_index(line, line->extents[i].end);
		line->change[begin] += line->extents[i].cores;
		line->change[end] -= line->extents[i].cores;
		from = begin < from ? begin : from;
		to = end > to ? end : to;
	}
	first = i;
	for (i = from; i <= to && i < line->points_len; i++) {
		uint64_t here;

		cores += line->change[i];
		line->change[i] = 0;
		here = cores < cap ? cores : cap;
		if (here > line->most[i])
			line->most[i] = here;
	}
	return first;
}

static uint64_t line_area(const struct line *line)
{
	uint64_t area = 0, part;
	size_t i;

	for (i = 0; i + 1 < line->points_len; i++) {
		part = line->points[i + 1] - line->points[i];
		if (__builtin_mul_overflow(part, line->most[i], &part) ||
			__builtin_add_overflow(area, part, &area))
			return UINT64_MAX - 1; /* all ones means unknown */
	}
	return area;
}

static size_t list_len(const struct ttm_model *model, uint32_t slot)
{
	size_t len = 0;

	for (; slot != TTM_MODEL_NONE;
		slot = ttm_model_place(model, slot)->next)
		len++;
	return len;
}

static void line_collect(
	const struct ttm_model *model, uint32_t slot, struct line *line)
{
	const struct ttm_item *item;
	struct extent *extent;

	for (; slot != TTM_MODEL_NONE;
		slot = ttm_model_place(model, slot)->next) {
		item = &ttm_model_place(model, slot)->item;
		extent = &line->extents[line->extents_len++];
		extent->begin = item->address;
		extent->end = end_of(item);
		extent->program = item->extra;
		extent->cores = item->cores;
		line->points[line->points_len++] = extent->begin;
		line->points[line->points_len++] = extent->end;
	}
}

static int footprint_get(const struct ttm_model *model, uint32_t first,
	uint64_t cap, uint64_t *ret_bytes)
{
	size_t len = list_len(model, first), i;
	struct line line = { 0 };
	int r = -ENOMEM;

	*ret_bytes = 0;
	if (!len)
		return 0;
	line.extents = malloc(len * sizeof(*line.extents));
	line.points = malloc(2 * len * sizeof(*line.points));
	line.change = calloc(2 * len, sizeof(*line.change));
	line.most = calloc(2 * len, sizeof(*line.most));
	if (line.extents && line.points && line.change && line.most) {
		line_collect(model, first, &line);
		points_sort(&line);
		qsort(line.extents, len, sizeof(*line.extents), extent_compare);
		for (i = 0; i < len;)
			i = program_add(&line, i, cap);
		*ret_bytes = line_area(&line);
		r = 0;
	}
	free(line.extents);
	free(line.points);
	free(line.change);
	free(line.most);
	return r;
}

static bool place_is_new(
	const struct ttm_model *model, const struct ttm_place *place)
{
	uint32_t age = model->round - place->state / TTM_PLACE_ROUND;

	return (age & (UINT32_MAX / TTM_PLACE_ROUND)) < 2;
}

static uint64_t lowest_buffer(
	const struct ttm_model *model, uint32_t slot, bool *ret_settled)
{
	uint64_t lowest = TTMEM_UNKNOWN;
	const struct ttm_place *place;

	for (; slot != TTM_MODEL_NONE; slot = place->next) {
		place = ttm_model_place(model, slot);
		if (place_is_new(model, place))
			*ret_settled = false;
		else if (place->item.address < lowest)
			lowest = place->item.address;
	}
	return lowest;
}

static uint64_t highest_cb(const struct ttm_model *model, uint32_t slot,
	uint64_t *ret_program, bool *ret_settled)
{
	uint64_t highest = TTMEM_UNKNOWN, end;
	const struct ttm_place *place;

	for (; slot != TTM_MODEL_NONE; slot = place->next) {
		place = ttm_model_place(model, slot);
		end = end_of(&place->item);
		if (place_is_new(model, place)) {
			*ret_settled = false;
		} else if (highest == TTMEM_UNKNOWN || end > highest) {
			highest = end;
			*ret_program = place->item.extra;
		}
	}
	return highest;
}

static int64_t headroom_of(uint64_t above, uint64_t below)
{
	uint64_t apart = above > below ? above - below : below - above;

	if (above == TTMEM_UNKNOWN || below == TTMEM_UNKNOWN)
		return INT64_MIN;
	/* Addresses may be anything; the least number means unknown. */
	if (apart > INT64_MAX)
		apart = INT64_MAX;
	return above > below ? (int64_t)apart : -(int64_t)apart;
}

int ttm_model_l1(const struct ttm_model *model, unsigned device,
	const struct ttm_l1_facts *facts, struct ttm_l1_result *ret_result)
{
	const uint32_t *lists = model->shares[device].lists;
	struct ttm_l1_result result = { .settled = true };
	uint64_t above, below;
	int r;

	r = footprint_get(
		model, lists[TTM_LIST_CB], facts->cores, &result.cb_footprint);
	if (r < 0)
		return r;
	above = lowest_buffer(model, lists[TTM_LIST_L1], &result.settled);
	below = highest_cb(model, lists[TTM_LIST_CB], &result.clash_program,
		&result.settled);
	if (above == TTMEM_UNKNOWN)
		above = facts->top;
	if (below == TTMEM_UNKNOWN)
		below = facts->base;
	result.headroom = headroom_of(above, below);
	*ret_result = result;
	return 0;
}
