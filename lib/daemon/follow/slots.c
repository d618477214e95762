/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/* The slots of a segment: the truth about what is live. */
#include "daemon/follow/drain_state.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/follow/item.h"

/*
 * Slots that name what is not there, in one scan: more threads than that are not caught
 * in the middle of a change, and to look for it takes time.
 */
#define SLOTS_TORN_MOST 256u

int ttm_drain_item(struct ttm_process *process, const struct ttm_item *item)
{
	const struct ttm_model *model = &process->model;
	uint32_t core_set = TTM_W7_CORE_SET(item->w7);
	uint32_t allocated = TTM_W4_PLACE(item->w4);
	const struct ttm_core_set *set;
	int r = ttm_drain_place(process, item->place);

	if (!r)
		r = ttm_drain_place(process, allocated);
	if (!r && core_set)
		r = ttm_drain_core_set(process, core_set);
	if (r)
		return r;
	if (ttm_model_members(model, item->place) &
		~ttm_model_members(model, allocated))
		return -ENOENT;
	set = core_set ? ttm_model_core_set(model, core_set) : NULL;
	if (set && set->cores != TTM_W7_CORES(item->w7))
		return -ENOENT;
	return 0;
}

int ttm_drain_refresh_extents(struct ttm_process *process)
{
	int r = ttm_source_live(&process->source, &process->live);
	uint64_t slots;

	if (!r)
		r = ttm_source_extents(
			&process->source, process->live.extents_high);
	if (r)
		return r;
	slots = (uint64_t)ttm_source_chunks(&process->source) *
		TTM_SLOTS_PER_EXTENT;
	if (slots > ttm_model_slots(&process->model) &&
		slots * sizeof(struct ttm_mirror) > process->bytes_max)
		return ttm_source_fault(&process->source,
			"%" PRIu64 " slots would take more memory than "
			"--max-bytes leaves",
			slots);
	return ttm_model_reserve(&process->model, (uint32_t)slots);
}

int ttm_drain_grow(struct ttm_process *process, uint32_t slot)
{
	int r = ttm_drain_refresh_extents(process);

	if (!r && slot >= ttm_model_slots(&process->model))
		r = ttm_source_fault(&process->source,
			"a record names slot %" PRIu32 ", which is not there",
			slot);
	return r;
}

/*
 * The slot of a running process may be caught in the middle of a change, and what it
 * names may be of two objects: it is taken for free then, as in ttm_item_from_slot().
 */
static int slot_item(struct ttm_process *process, uint32_t slot,
	const struct ttm_words *found, bool last, struct ttm_item *ret_item)
{
	int r = ttm_item_from_slot(
		&process->source, slot, found, last, ret_item);

	if (!r && ttm_item_is_live(ret_item))
		r = ttm_drain_item(process, ret_item);
	if (r != -ENOENT)
		return r;
	if (last || ++process->torn > SLOTS_TORN_MOST)
		return ttm_source_fault(&process->source,
			"slot %" PRIu32 " cannot be: place %u of %u, core set "
			"%" PRIu32,
			slot, ret_item->place, TTM_W4_PLACE(ret_item->w4),
			TTM_W7_CORE_SET(ret_item->w7));
	ret_item->word &= ~1ull;
	return 0;
}

static int slot_take(struct ttm_process *process, uint32_t slot,
	const struct ttm_words *found, bool last)
{
	struct ttm_mirror *mirror;
	struct ttm_item item;
	int r = slot_item(process, slot, found, last, &item);

	if (r)
		return r;
	/* The slots of a dead process are the truth, whatever was read before. */
	if (last) {
		mirror = ttm_model_mirror(&process->model, slot);
		mirror->state |= TTM_MIRROR_SCANNED;
		mirror->item.word &= 1;
	}
	ttm_apply(&process->model, slot, &item, true);
	return 0;
}

int ttm_drain_slots(struct ttm_process *process, bool last,
	struct ttm_words words[TTM_SLOTS_PER_EXTENT])
{
	uint32_t chunk, i, chunks, slot;
	int r = ttm_drain_refresh_extents(process);

	if (r)
		return r;
	process->torn = 0;
	chunks = ttm_source_chunks(&process->source);
	/* Empty runs of slots may have been given back at the end. */
	if (last && chunks < process->model.chunks_len)
		chunks = process->model.chunks_len;
	for (chunk = 0; chunk < chunks; chunk++) {
		r = ttm_source_slots(&process->source, chunk, words);
		if (r == -ENOENT)
			memset(words, 0,
				TTM_SLOTS_PER_EXTENT * sizeof(words[0]));
		else if (r)
			return r;
		for (i = 0; i < TTM_SLOTS_PER_EXTENT; i++) {
			slot = chunk * TTM_SLOTS_PER_EXTENT + i;
			/* Never used: not even its mirror is touched. */
			if (!words[i].w[0] &&
				(!last ||
					!ttm_model_mirror(&process->model, slot)
						 ->item.word))
				continue;
			r = slot_take(process, slot, &words[i], last);
			if (r)
				return r;
		}
	}
	return 0;
}
