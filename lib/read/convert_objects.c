/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include <errno.h>
#include <stdlib.h>

#include "read/convert.h"

static bool process_is_dead(const struct ttm_process_row *process)
{
	return process->state == TTM_PROCESS_EXITED ||
		process->state == TTM_PROCESS_DIED;
}

/* Where the object is orphaned and where it is not, as places. */
static int object_split(const struct ttm_convert *c,
	const struct ttm_object_row *row, uint64_t orphaned,
	struct ttmem_object_row *to)
{
	uint64_t live = row->members & ~orphaned;
	int r = 0;

	to->orphaned_devices = (uint64_t)__builtin_popcountll(orphaned);
	to->orphaned = live == 0;
	to->live_place = orphaned ? TTMEM_NONE : to->place;
	to->orphaned_place = live ? TTMEM_NONE : to->place;
	if (orphaned && live) {
		r = ttm_places_add(c, row->process, live, &to->live_place);
		if (r == 0)
			r = ttm_places_add(
				c, row->process, orphaned, &to->orphaned_place);
	}
	return r;
}

static int object_place(const struct ttm_convert *c,
	const struct ttm_object_row *row, struct ttmem_object_row *to)
{
	const struct ttm_process_row *process = ttm_view_row(
		c->copy, TTM_TABLE_PROCESSES, row->process);
	uint64_t orphaned = row->members;
	int r;

	to->process = ttm_convert_ref(c, TTM_TABLE_PROCESSES, row->process);
	to->devices = (uint64_t)__builtin_popcountll(row->members);
	r = ttm_places_add(c, row->process, row->members, &to->place);
	if (r < 0 || to->place == TTMEM_NONE)
		return r; /* nobody can tell whose it is, or where */
	if (!process_is_dead(process) &&
		!ttm_place_orphaned(
			c, to->place, TTM_W1_STAMP(row->w1), &orphaned))
		return 0;
	return object_split(c, row, orphaned, to);
}

static void object_classify(struct ttmem_object_row *to)
{
	if (to->persistent)
		to->leak_class = TTMEM_CLASS_PERSISTENT;
	else if (to->orphaned_devices == 0)
		to->leak_class = TTMEM_CLASS_LIVE;
	else if (to->orphaned_devices != TTMEM_UNKNOWN)
		to->leak_class = TTMEM_CLASS_ORPHANED;
}

static void buffer_measure(
	const struct ttm_object_row *row, struct ttmem_object_row *to)
{
	uint32_t banks = TTM_W5_BANKS(row->w5);

	to->requested = to->size;
	to->address = row->address;
	if (TTM_W7_CORES(row->w7))
		to->cores = TTM_W7_CORES(row->w7);
	if (banks) {
		to->banks = banks;
		to->bytes_per_bank = to->bytes / banks;
	}
}

static void object_measure(
	const struct ttm_object_row *row, struct ttmem_object_row *to)
{
	struct ttm_words words = { { 0, row->w1, row->id, row->address, row->w4,
		row->w5, 0, row->w7 } };

	to->figure = ttm_named_or_unknown(
		TTMEM_NAMES_FIGURE, TTM_W1_FIGURE(row->w1));
	to->bytes = ttm_words_bytes(&words);
	if (__builtin_mul_overflow(to->bytes, to->devices, &to->total_bytes))
		to->total_bytes = TTMEM_UNKNOWN;
	to->size = TTM_W4_SIZE(row->w4);
	to->id = row->id;
	to->stack = TTM_W7_STACK(row->w7);
	if (to->figure < TTMEM_FIGURE_CB) {
		buffer_measure(row, to);
		return;
	}
	to->requested = to->bytes;
	to->program = row->w5;
	to->cores = TTM_W7_CORES(row->w7);
	if (to->figure == TTMEM_FIGURE_CB)
		to->address = row->address;
}

static void object_flags(unsigned flags, struct ttmem_object_row *to)
{
	to->persistent = (flags & TTM_FLAG_PERSISTENT) != 0;
	to->borrowed = (flags & TTM_FLAG_BORROWED) != 0;
	to->in_ring = (flags & TTM_FLAG_IN_RING) != 0;
	to->dataflow = (flags & TTM_FLAG_DATAFLOW) != 0;
	to->scratchpad = (flags & TTM_FLAG_SCRATCHPAD) != 0;
	to->trace_storage = (flags & TTM_FLAG_TRACE) != 0;
	to->per_core = (flags & TTM_FLAG_PER_CORE) != 0;
}

static int object_convert(const struct ttm_convert *c,
	const struct ttm_object_row *row, struct ttmem_object_row *to)
{
	uint64_t now = c->taken_ns;
	int r;

	object_flags(TTM_W1_FLAGS(row->w1), to);
	r = object_place(c, row, to);
	if (r < 0)
		return r;
	object_classify(to);
	object_measure(row, to);
	if (row->allocated_ns) {
		to->allocated_ns = row->allocated_ns;
		/* Clocks are not causal: a young one may be of the future. */
		to->age_ns = now > row->allocated_ns ? now - row->allocated_ns :
						       0;
	}
	return ttm_scopes_find(c, row->scope, &to->scope, &to->scope_path);
}

int ttm_convert_objects(struct ttm_convert *c,
	const struct ttm_object_row *objects, size_t objects_len)
{
	struct ttmem_object_row *to;
	size_t i;
	int r = ttm_snapshot_make_rows(
		c->snapshot, TTM_RECORD_OBJECTS, objects_len);

	to = c->snapshot->tables[TTM_RECORD_OBJECTS].rows;
	for (i = 0; r == 0 && i < objects_len; i++)
		r = object_convert(c, &objects[i], &to[i]);
	return r;
}
