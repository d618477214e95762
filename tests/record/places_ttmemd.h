/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds the models against what a real ttmemd publishes: a part of test_places_model.c,
 * when it is built as serve/places.
 */
#ifndef RECORD_PLACES_TTMEMD_H
#define RECORD_PLACES_TTMEMD_H

#include "serve/with_ttmemd.h"

/* -- one snapshot ------------------------------------------------------------------ */

/* What a snapshot has of this process; `why` is what differs from the models. */
struct view {
	const struct ttmem_snapshot *snapshot;
	uint64_t process;
	char why[400];
};

__attribute__((format(printf, 2, 3))) static bool view_differs(
	struct view *view, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(view->why, sizeof(view->why), format, ap);
	va_end(ap);
	return true;
}

/* The entry of the models that a device of the snapshot is; ENTRIES: of none. */
static unsigned view_entry(const struct view *view, uint64_t device)
{
	const struct ttmem_device_row *row = ttmem_snapshot_device(
		view->snapshot, (size_t)device);
	unsigned e = 0;

	while (row && e < ENTRIES && row->chip_id != chip_of(e))
		e++;
	return row ? e : ENTRIES;
}

static uint64_t view_members(const struct view *view, uint64_t place)
{
	const struct ttmem_place_row *row;
	uint64_t members = 0, i;

	if (place == TTMEM_NONE)
		return 0;
	row = ttmem_snapshot_place(view->snapshot, (size_t)place);
	for (i = 0; row && i < row->devices_len; i++)
		members |= 1ull << view_entry(view, row->devices[i]);
	return members;
}

/* Bytes of the models on one entry that a ttmem_usage_figure has not. */
struct model_rest {
	uint64_t orphaned_objects, orphaned_bytes, requested_bytes;
};

static struct model_rest models_rest(unsigned entry, unsigned figure)
{
	struct model_rest rest = { 0 };
	const struct model_object *o;
	uint64_t bit = 1ull << entry;
	unsigned i;

	for (i = 0; i < actors_len; i++)
		for (o = actors[i].model.objects;
			o < actors[i].model.objects + actors[i].model.len;
			o++) {
			if (!o->used || o->figure != figure)
				continue;
			if (o->orphans & bit) {
				rest.orphaned_objects++;
				rest.orphaned_bytes += o->bytes;
			} else if (o->members & bit) {
				rest.requested_bytes += figure <
						TTMEM_FIGURE_CB ?
					o->size :
					o->bytes;
			}
		}
	return rest;
}

static bool view_figure_differs(struct view *view, unsigned entry,
	unsigned figure, const struct ttmem_sums *found)
{
	struct ttmem_usage_figure wanted = models_figure(1ull << entry, figure);
	struct model_rest rest = models_rest(entry, figure);
	const uint64_t pairs[][2] = {
		{ found->live_objects, wanted.live_objects },
		{ found->live_bytes, wanted.live_bytes },
		{ found->orphaned_objects, rest.orphaned_objects },
		{ found->orphaned_bytes, rest.orphaned_bytes },
		{ found->requested_bytes, rest.requested_bytes },
		{ found->alloc_objects - found->free_objects,
			wanted.live_objects + rest.orphaned_objects },
		{ found->alloc_bytes - found->free_bytes,
			wanted.live_bytes + rest.orphaned_bytes },
	};
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (pairs[i][0] != pairs[i][1])
			return view_differs(view,
				"entry %u, figure %u, value %zu: %" PRIu64
				", not %" PRIu64,
				entry, figure, i, pairs[i][0], pairs[i][1]);
	return false;
}

static bool view_figures_differ(struct view *view)
{
	const struct ttmem_share_row *share;
	uint64_t seen = 0;
	unsigned e, figure;
	size_t i;

	for (i = 0; (share = ttmem_snapshot_share(view->snapshot, i)); i++) {
		if (share->process != view->process)
			continue;
		e = view_entry(view, share->device);
		if (e == ENTRIES || seen >> e & 1)
			return view_differs(
				view, "a device of no entry, or twice");
		seen |= 1ull << e;
		for (figure = 0; figure < TTMEM_FIGURES; figure++)
			if (view_figure_differs(
				    view, e, figure, &share->figures[figure]))
				return true;
	}
	if (seen != (1ull << ENTRIES) - 1)
		return view_differs(view, "entries %" PRIx64 " only", seen);
	return false;
}

static bool view_is_object(const struct view *view,
	const struct ttmem_object_row *row, const struct model_object *o)
{
	bool is_buffer = o->figure < TTMEM_FIGURE_CB;
	uint64_t devices = (uint64_t)__builtin_popcountll(o->members);

	return o->used && o->figure == row->figure && o->id == row->id &&
		(o->figure != TTMEM_FIGURE_CB || o->program == row->program) &&
		o->size == row->size && o->bytes == row->bytes &&
		row->requested == (is_buffer ? o->size : o->bytes) &&
		row->total_bytes == o->bytes * devices &&
		row->devices == devices &&
		row->cores ==
		(is_buffer && !o->cores ? TTMEM_UNKNOWN : o->cores) &&
		(o->figure > TTMEM_FIGURE_CB || row->address == o->address) &&
		view_members(view, row->place) == o->members &&
		view_members(view, row->orphaned_place) == o->orphans &&
		view_members(view, row->live_place) ==
		(o->members & ~o->orphans);
}

static bool view_objects_differ(struct view *view)
{
	const struct ttmem_object_row *row;
	const struct model *model;
	uint64_t objects = 0, found = 0;
	size_t i, j;

	for (i = 0; i < actors_len; i++)
		for (j = 0; j < actors[i].model.len; j++)
			objects += actors[i].model.objects[j].used;
	for (i = 0; (row = ttmem_snapshot_object(view->snapshot, i)); i++) {
		if (row->process != view->process)
			continue;
		found++;
		model = &actors[(row->figure == TTMEM_FIGURE_CB ? row->program :
								  row->id) /
			ID_STEP]
				 .model;
		for (j = 0; j < model->len; j++)
			if (view_is_object(view, row, &model->objects[j]))
				break;
		if (j == model->len)
			return view_differs(view,
				"object %" PRIu64 " of figure %" PRIu64
				" on %" PRIx64 ", orphaned on %" PRIx64
				", live on %" PRIx64 ", size %" PRIu64
				", bytes %" PRIu64 ", requested %" PRIu64
				", address %" PRIx64 ", cores %" PRIu64,
				row->id, row->figure,
				view_members(view, row->place),
				view_members(view, row->orphaned_place),
				view_members(view, row->live_place), row->size,
				row->bytes, row->requested, row->address,
				row->cores);
	}
	if (found != objects)
		return view_differs(view, "%" PRIu64 " objects, not %" PRIu64,
			found, objects);
	return false;
}

static bool view_differs_from_models(struct view *view)
{
	const struct ttmem_process_row *row;

	for (view->process = 0; (row = ttmem_snapshot_process(view->snapshot,
					 (size_t)view->process));
		view->process++)
		if (row->pid == (uint64_t)getpid())
			break;
	if (!row)
		return view_differs(view, "no such process");
	return view_figures_differ(view) || view_objects_differ(view);
}

/* Asks until the snapshot is as it should be, and fails the test if it never is. */
static void compare_ttmemd(void)
{
	struct view view = { .why = "no snapshot" };
	struct ttmem_snapshot *snapshot = NULL;
	const struct timespec pause = { .tv_nsec = 2000000 };
	struct timespec begin, now;
	char text[700];
	bool differs;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		differs = true;
		if (!ttmem_reader_snapshot(
			    reader, TTMEM_SNAPSHOT_OBJECTS, &snapshot)) {
			view.snapshot = snapshot;
			differs = view_differs_from_models(&view);
			ttmem_snapshot_free(&snapshot);
		}
		if (!differs)
			return;
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < PATIENCE_S);
	snprintf(text, sizeof(text),
		"ttmemd, seed %" PRIu64 ", step %" PRIu64 ", after %s: %s",
		seed, actors[0].steps, actors[0].last_event, view.why);
	TEST_FAIL_MESSAGE(text);
}

#endif
