/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> [apply] -> publish -> read -> render */
/*
 * The L1 of a device over its addresses. CBs are stacked upwards from the base,
 * buffers grow downwards from the top.
 *
 * Footprint: the bytes of all cores that a CB of any program occupies; programs take
 * turns, so what several of them occupy counts once. This is exact if the cores of
 * all CBs are known. Else it is a lower bound: within one program, CBs that share an
 * address are on different cores, so their cores add up, to at most the device's; of
 * several programs the largest counts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/state/model.h"

struct extent {
	uint64_t begin;
	uint64_t end;
	uint64_t program;
	uint32_t cores;
	uint32_t core_set; /* 0: not told */
};

/* Where a CB begins or ends. */
struct edge {
	uint64_t address;
	uint32_t core_set;
	bool begins;
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
	uint64_t end = item->address + TTM_W4_SIZE(item->w4);

	/* All ones would mean unknown. */
	return end < item->address || end == UINT64_MAX ? UINT64_MAX - 1 : end;
}

static int program_compare(const void *one, const void *other)
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

/* Adds to the area, which stays below all ones: unknown. */
static void area_add(uint64_t *area, uint64_t bytes, uint64_t cores)
{
	if (__builtin_mul_overflow(bytes, cores, &bytes) ||
		__builtin_add_overflow(*area, bytes, area) ||
		*area == UINT64_MAX)
		*area = UINT64_MAX - 1;
}

static uint64_t line_area(const struct line *line)
{
	uint64_t area = 0;
	size_t i;

	for (i = 0; i + 1 < line->points_len; i++)
		area_add(&area, line->points[i + 1] - line->points[i],
			line->most[i]);
	return area;
}

/* A lower bound, from counts of cores. */
static int footprint_estimate(
	struct extent *extents, size_t len, uint64_t cap, uint64_t *ret_bytes)
{
	struct line line = { .extents = extents, .extents_len = len };
	int r = -ENOMEM;
	size_t i;

	line.points = malloc(2 * len * sizeof(*line.points));
	line.change = calloc(2 * len, sizeof(*line.change));
	line.most = calloc(2 * len, sizeof(*line.most));
	if (line.points && line.change && line.most) {
		for (i = 0; i < len; i++) {
			line.points[line.points_len++] = extents[i].begin;
			line.points[line.points_len++] = extents[i].end;
		}
		points_sort(&line);
		qsort(extents, len, sizeof(*extents), program_compare);
		for (i = 0; i < len;)
			i = program_add(&line, i, cap);
		*ret_bytes = line_area(&line);
		r = 0;
	}
	free(line.points);
	free(line.change);
	free(line.most);
	return r;
}

/* -- exact footprint ----------------------------------------------------------- */

static int number_compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int shape_compare(const void *one, const void *other)
{
	const struct extent *a = one, *b = other;
	int order = number_compare(a->begin, b->begin);

	if (!order)
		order = number_compare(a->end, b->end);
	if (!order)
		order = number_compare(a->core_set, b->core_set);
	return order;
}

static int edge_compare(const void *one, const void *other)
{
	const struct edge *a = one, *b = other;

	return number_compare(a->address, b->address);
}

/* Programs are much alike: each shape counts once. */
static size_t edges_make(
	struct extent *extents, size_t len, struct edge *ret_edges)
{
	size_t edges_len = 0, i;

	qsort(extents, len, sizeof(*extents), shape_compare);
	for (i = 0; i < len; i++) {
		const struct extent *extent = &extents[i];

		if (extent->begin == extent->end ||
			(i && shape_compare(extent - 1, extent) == 0))
			continue;
		ret_edges[edges_len].address = extent->begin;
		ret_edges[edges_len].core_set = extent->core_set;
		ret_edges[edges_len++].begins = true;
		ret_edges[edges_len].address = extent->end;
		ret_edges[edges_len].core_set = extent->core_set;
		ret_edges[edges_len++].begins = false;
	}
	qsort(ret_edges, edges_len, sizeof(*ret_edges), edge_compare);
	return edges_len;
}

/* How many CBs each core has at an address, and how many cores have any. */
struct cover {
	uint32_t cbs[TTM_CORE_ROWS][TTM_CORE_COLUMNS];
	uint64_t cores;
};

static void cover_change(
	struct cover *cover, const struct ttm_core_set *core_set, bool begins)
{
	uint32_t *cbs, row, left;

	for (row = 0; row < TTM_CORE_ROWS; row++)
		for (left = core_set->rows[row]; left; left &= left - 1) {
			cbs = &cover->cbs[row][__builtin_ctz(left)];
			if (begins)
				cover->cores += (*cbs)++ == 0;
			else
				cover->cores -= --*cbs == 0;
		}
}

static int footprint_exact(const struct ttm_model *model,
	struct extent *extents, size_t len, uint64_t *ret_bytes)
{
	struct edge *edges = malloc(2 * len * sizeof(*edges));
	size_t edges_len, i;
	struct cover cover;

	if (!edges)
		return -ENOMEM;
	memset(&cover, 0, sizeof(cover));
	*ret_bytes = 0;
	edges_len = edges_make(extents, len, edges);
	for (i = 0; i < edges_len; i++) {
		if (i)
			area_add(ret_bytes,
				edges[i].address - edges[i - 1].address,
				cover.cores);
		cover_change(&cover, &model->core_sets[edges[i].core_set],
			edges[i].begins);
	}
	free(edges);
	return 0;
}

/* -- objects of a device ------------------------------------------------------- */

/* Goes through the objects of a list that are in use on a device. */
struct walk {
	const struct ttm_model *model;
	unsigned device;
	enum ttm_list list;
	uint32_t place; /* the next one */
	uint32_t slot;
};

static void walk_begin(struct walk *walk, const struct ttm_model *model,
	unsigned device, enum ttm_list list)
{
	walk->model = model;
	walk->device = device;
	walk->list = list;
	walk->place = 0;
	walk->slot = TTM_MODEL_NONE;
}

/* Returns NULL at the end. */
static const struct ttm_mirror *walk_next(struct walk *walk)
{
	const struct ttm_model *model = walk->model;
	const struct ttm_mirror *mirror;
	const struct ttm_place *place;

	for (;;) {
		while (walk->slot == TTM_MODEL_NONE) {
			if (walk->place == model->places_len)
				return NULL;
			place = &model->places[walk->place++];
			if (place->members >> walk->device & 1)
				walk->slot = place->lists[walk->list];
		}
		mirror = ttm_model_mirror(model, walk->slot);
		walk->slot = mirror->next;
		if (!ttm_model_is_orphaned(model, mirror, walk->device))
			return mirror;
	}
}

static size_t walk_len(const struct ttm_model *model, unsigned device)
{
	struct walk walk;
	size_t len = 0;

	walk_begin(&walk, model, device, TTM_LIST_CB);
	while (walk_next(&walk))
		len++;
	return len;
}

/* Returns whether the cores of all CBs are known. */
static bool extents_collect(
	const struct ttm_model *model, unsigned device, struct extent *extent)
{
	const struct ttm_mirror *mirror;
	struct walk walk;
	bool exact = true;

	walk_begin(&walk, model, device, TTM_LIST_CB);
	while ((mirror = walk_next(&walk))) {
		extent->begin = mirror->item.address;
		extent->end = end_of(&mirror->item);
		extent->program = mirror->item.w5;
		extent->cores = TTM_W7_CORES(mirror->item.w7);
		extent->core_set = TTM_W7_CORE_SET(mirror->item.w7);
		exact &= extent->core_set != 0;
		extent++;
	}
	return exact;
}

static int footprint_get(const struct ttm_model *model, unsigned device,
	uint64_t cap, struct ttm_l1_result *result)
{
	size_t len = walk_len(model, device);
	struct extent *extents;
	int r;

	result->cb_footprint = 0;
	result->cb_footprint_exact = true;
	if (!len)
		return 0;
	extents = malloc(len * sizeof(*extents));
	if (!extents)
		return -ENOMEM;
	result->cb_footprint_exact = extents_collect(model, device, extents);
	if (result->cb_footprint_exact)
		r = footprint_exact(model, extents, len, &result->cb_footprint);
	else
		r = footprint_estimate(
			extents, len, cap, &result->cb_footprint);
	free(extents);
	return r;
}

/* -- headroom ------------------------------------------------------------------ */

static bool mirror_is_new(
	const struct ttm_model *model, const struct ttm_mirror *mirror)
{
	uint32_t age = model->round - mirror->state / TTM_MIRROR_ROUND;

	return (age & (UINT32_MAX / TTM_MIRROR_ROUND)) < 2;
}

/* False: a buffer has other addresses than the one that is known. */
static bool lowest_buffer(const struct ttm_model *model, unsigned device,
	uint64_t *ret_lowest, bool *ret_settled)
{
	const struct ttm_mirror *mirror;
	struct walk walk;

	*ret_lowest = TTMEM_UNKNOWN;
	walk_begin(&walk, model, device, TTM_LIST_L1);
	while ((mirror = walk_next(&walk))) {
		if (mirror_is_new(model, mirror))
			*ret_settled = false;
		else if (mirror->item.flags & TTM_FLAG_PER_CORE)
			return false;
		else if (mirror->item.address < *ret_lowest)
			*ret_lowest = mirror->item.address;
	}
	return true;
}

static uint64_t highest_cb(const struct ttm_model *model, unsigned device,
	uint64_t *ret_program, bool *ret_settled)
{
	uint64_t highest = TTMEM_UNKNOWN, end;
	const struct ttm_mirror *mirror;
	struct walk walk;

	walk_begin(&walk, model, device, TTM_LIST_CB);
	while ((mirror = walk_next(&walk))) {
		end = end_of(&mirror->item);
		if (mirror_is_new(model, mirror)) {
			*ret_settled = false;
		} else if (highest == TTMEM_UNKNOWN || end > highest) {
			highest = end;
			*ret_program = mirror->item.w5;
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
	struct ttm_l1_result result = { .clash_program = TTMEM_UNKNOWN,
		.settled = true };
	uint64_t above, below;
	bool known;
	int r;

	r = footprint_get(model, device, facts->cores, &result);
	if (r < 0)
		return r;
	known = lowest_buffer(model, device, &above, &result.settled);
	below = highest_cb(
		model, device, &result.clash_program, &result.settled);
	if (above == TTMEM_UNKNOWN)
		above = facts->top;
	if (below == TTMEM_UNKNOWN)
		below = facts->base;
	result.headroom = known ? headroom_of(above, below) : INT64_MIN;
	*ret_result = result;
	return 0;
}

bool ttm_model_l1_is_same(
	const struct ttm_model *model, unsigned device, unsigned other)
{
	const struct ttm_place *place;
	uint32_t i;

	if (model->epochs[device] != model->epochs[other])
		return false;
	for (i = 0; i < model->places_len; i++) {
		place = &model->places[i];
		if (((place->members >> device ^ place->members >> other) &
			    1) &&
			(place->lists[TTM_LIST_L1] != TTM_MODEL_NONE ||
				place->lists[TTM_LIST_CB] != TTM_MODEL_NONE))
			return false;
	}
	return true;
}
