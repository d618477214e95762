/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* Frees that the usual path in object.h does not cover: other places, parts, programs. */
#include "record/found.h"
#include "record/ring.h"
#include "record/segment.h"

/* -- free -------------------------------------------------------------------------------- */

/*
 * Frees the part on `members` of the object that was allocated on `place` with this
 * key: the part that is not orphaned, or all of it (`late`). Returns the devices that
 * it left, or 0 if there is no such object.
 */
static uint64_t key_leave(struct ttm_ring *ring, const struct ttm_key *key,
	uint64_t members, bool late, uint64_t now)
{
	struct ttm_found found;
	uint64_t part, left;

	while (ttm_key_find(ring->process, key, members, &found)) {
		part = members;
		if (!late)
			part &= ttm_found_current(ring->process, &found);
		if (!part)
			return 0;
		ttm_ring_begin(ring);
		if (ttm_found_leave(ring, &found, part, 0, now, &left))
			return left;
	}
	return 0;
}

/*
 * Frees the object on all places, the caller's first; `key` has no place yet. Returns
 * the devices without an object.
 */
static uint64_t key_leave_places(struct ttm_ring *ring,
	const struct ttm_where *where, const struct ttm_key *key, bool late,
	uint64_t now)
{
	struct ttm_key on_place;
	uint64_t members = where->members;
	struct ttm_overlap overlap;
	unsigned place = where->place;

	ttm_overlap_start(&overlap, members, place);
	if (!place)
		place = ttm_overlap_next(ring->process, &overlap);
	for (; members && place;
		place = ttm_overlap_next(ring->process, &overlap)) {
		on_place = *key;
		ttm_key_on(&on_place, place);
		members &= ~key_leave(ring, &on_place, members, late, now);
	}
	return members;
}

/*
 * Frees the objects with the key on these devices; an orphan only on devices without
 * another object. Returns the devices that have no such object.
 */
static uint64_t key_remove(struct ttm_ring *ring, const struct ttm_where *where,
	unsigned figure, uint64_t program, uint64_t id)
{
	uint64_t now = ttm_clock_now();
	struct ttm_where rest = *where;
	struct ttm_key key;

	ttm_key_begin(&key, figure, program, id);
	rest.members = key_leave_places(ring, &rest, &key, false, now);
	/* Another thread may have closed a device meanwhile. */
	if (rest.members && ttm_closes(ring->process))
		rest.members = key_leave_places(ring, &rest, &key, true, now);
	return rest.members;
}

TTM_COLD void ttm_remove_slow(struct ttm_ring *ring, struct ttm_where where,
	unsigned figure, uint64_t program, uint64_t id)
{
	if (ttm_blocks_or_loss(ring, &where, figure, id, 0) &&
		key_remove(ring, &where, figure, program, id))
		ttm_anomaly(ring, TTMEM_ANOMALY_FREE_UNKNOWN, where.place,
			figure, id);
}

/*
 * Returns the kind of the buffer that has this id on one of the devices; a buffer that
 * is not orphaned comes first. DRAM if there is none. Another thread may free it
 * meanwhile.
 */
static unsigned buffer_kind(
	struct ttm_process *process, uint64_t members, uint64_t id)
{
	unsigned kind, kind_found = TTMEM_DRAM, place;
	struct ttm_overlap overlap;
	bool is_orphan = false;
	struct ttm_found found;
	struct ttm_key key;

	for (kind = TTMEM_DRAM; kind <= TTMEM_TRACE; kind++) {
		ttm_overlap_start(&overlap, members, 0);
		while ((place = ttm_overlap_next(process, &overlap))) {
			ttm_key_set(&key, place, kind, 0, id);
			if (!ttm_key_find(process, &key, members, &found))
				continue;
			if (ttm_found_current(process, &found) & members)
				return kind;
			if (!is_orphan)
				kind_found = kind;
			is_orphan = true;
		}
	}
	return kind_found;
}

void ttm_remove_any(
	struct ttm_ring *ring, const struct ttm_where *where, uint64_t id)
{
	struct ttm_where rest = *where;
	uint64_t members;
	unsigned kind;

	if (!ttm_blocks_or_loss(ring, where, TTM_FIGURE_NONE, id, 0))
		return;
	do {
		members = rest.members;
		kind = buffer_kind(ring->process, members, id);
		rest.members = key_remove(ring, &rest, kind, 0, id);
		rest.place = 0;
	} while (rest.members && rest.members != members);
	if (rest.members)
		ttm_anomaly(ring, TTMEM_ANOMALY_FREE_UNKNOWN, where->place,
			kind, id);
}

/* -- the end of a program --------------------------------------------------------------- */

static bool words_are_cb_of(
	const struct ttm_words *words, unsigned place, uint64_t program)
{
	return TTM_W1_FIGURE(words->w[1]) == TTMEM_FIGURE_CB &&
		words->w[5] == program && TTM_W4_PLACE(words->w[4]) == place;
}

static void part_leave(struct ttm_ring *ring, struct ttm_found *found,
	uint64_t members, uint64_t now)
{
	uint64_t left;

	if (!(ttm_found_members(ring->process, found) & members))
		return;
	ttm_ring_begin(ring);
	if (!ttm_found_leave(ring, found, members, 0, now, &left))
		ttm_noop_commit(ring);
}

/*
 * Ends the usual CB of a program: whole, younger than any close, and leaving all its
 * devices. False is inconclusive.
 */
static TTM_INLINE bool cb_end(struct ttm_ring *ring, unsigned place,
	uint64_t members, uint64_t program, uint64_t closes, uint64_t now,
	struct ttm_seen *seen)
{
	const uint64_t *w;
	uint64_t id;

	seen->shared = ttm_slot_at(ring->process, ttm_entry_slot(seen->entry));
	w = seen->shared->w;
	/* pairs(slot): acquire, with slot_end: the body is whole */
	seen->w0 = ttm_load_acquire(&w[0]);
	/* relaxed: seen_end's CAS shows whether they are of one object */
	seen->w1 = ttm_load(&w[1]);
	id = ttm_load(&w[2]);
	if ((seen->w0 & 0xffff) != TTM_W0(0, place, TTM_SLOT_LIVE) ||
		TTM_W1_STAMP(seen->w1) != (uint16_t)closes ||
		TTM_W1_FIGURE(seen->w1) != TTMEM_FIGURE_CB ||
		ttm_load(&w[5]) != program ||
		!entry_stands(seen->entry_at, seen->entry))
		return false;
	ttm_ring_begin(ring);
	return seen_end(ring, members, TTMEM_FIGURE_CB, closes, id, now, seen);
}

/*
 * Ends the CBs of the program that were allocated on `place`, on the devices `members`.
 */
static void cbs_end(struct ttm_ring *ring, unsigned place, uint64_t members,
	uint64_t program, uint64_t now)
{
	uint64_t has = ttm_place_members(ring->process, place), line;
	uint64_t closes = ttm_closes(ring->process);
	unsigned part = ttm_part(place);
	struct ttm_search search;
	struct ttm_seen seen;
	struct ttm_found found;

	for (line = 0; line < TTM_CB_LINES; line++) {
		ttm_search_start(&search, ring->process,
			ttm_cb_bucket_hash(program, line, part), 0);
		while ((seen.entry_at = ttm_search_next(
				&search, &seen.entry))) {
			if ((has & ~members) == 0 &&
				cb_end(ring, place, has, program, closes, now,
					&seen))
				continue;
			found.entry_at = seen.entry_at;
			found.entry = seen.entry;
			found.slot = ttm_entry_slot(seen.entry);
			if (ttm_slot_copy(
				    ttm_slot_at(ring->process, found.slot),
				    &found.words) &&
				words_are_cb_of(&found.words, place, program) &&
				entry_stands(found.entry_at, found.entry))
				part_leave(ring, &found, members, now);
		}
	}
	/* The last operation began and found its CB gone. */
	if (ttm_load(&ring->control->intent) != ring->tail)
		ttm_noop_commit(ring);
}

static void kernel_end(struct ttm_ring *ring, unsigned place, uint64_t members,
	uint64_t kernel, uint64_t now)
{
	uint64_t has = ttm_place_members(ring->process, place);
	uint64_t closes = ttm_closes(ring->process);
	struct ttm_search search;
	struct ttm_seen seen;
	struct ttm_found found;
	struct ttm_way way;

	way_set(&way, ring->process, place, TTMEM_FIGURE_KERNEL, 0, kernel);
	/* Ends the usual kernel of a program: whole, and leaving all its
	 * devices. False is inconclusive. */
	if ((has & ~members) == 0 &&
		key_point(ring->process, way.bucket, &way.key, &seen) &&
		key_glance(&way.key, closes, &seen)) {
		ttm_ring_begin(ring);
		if (!seen_end(ring, has, TTMEM_FIGURE_KERNEL, closes, kernel,
			    now, &seen))
			ttm_noop_commit(ring);
	}
	if (!ttm_index_may_have(way.level, way.bucket, &way.key))
		return;
	/* Visit each object once: a part cannot leave without a place for
	 * the rest. */
	ttm_search_key(&search, ring->process, &way.key);
	while (ttm_found_next(
		ring->process, &search, &way.key, TTM_SLOT_NONE, &found))
		part_leave(ring, &found, members, now);
}

void ttm_program_remove(
	struct ttm_ring *ring, const struct ttm_where *where, uint64_t program)
{
	uint64_t now = ttm_clock_now();
	struct ttm_overlap overlap;
	unsigned place;

	if (!ttm_blocks_or_loss(ring, where, TTM_FIGURE_NONE, program, 0))
		return;
	ttm_overlap_start(&overlap, where->members, 0);
	while ((place = ttm_overlap_next(ring->process, &overlap))) {
		cbs_end(ring, place, where->members, program, now);
		kernel_end(ring, place, where->members, program, now);
	}
}

/* -- all CBs of a device ------------------------------------------------------------------ */

/* Finds the index entry of a slot that a scan found. */
static bool found_locate(struct ttm_process *process, struct ttm_found *found)
{
	struct ttm_words words = found->words;
	uint32_t slot = found->slot;
	struct ttm_search search;
	struct ttm_key key;

	ttm_key_set(&key, TTM_W4_PLACE(words.w[4]), TTMEM_FIGURE_CB, words.w[5],
		words.w[2]);
	ttm_search_key(&search, process, &key);
	while (ttm_found_next(process, &search, &key, TTM_SLOT_NONE, found))
		if (found->words.w[0] == words.w[0] && found->slot == slot)
			return true;
	return false; /* freed meanwhile, or not inserted yet */
}

void ttm_cbs_remove(
	struct ttm_ring *ring, const struct ttm_where *where, uint64_t unused)
{
	struct ttm_process *process = ring->process;
	uint64_t now = ttm_clock_now();
	uint32_t extent, i, len;
	struct ttm_found found;

	(void)unused;
	if (!ttm_blocks_or_loss(ring, where, TTMEM_FIGURE_CB, 0, 0))
		return;
	for (extent = 0; extent < TTM_SLOT_EXTENTS_MAX; extent++) {
		len = ttm_extent_ready_len(
			&process->slots[extent], sizeof(struct ttm_words));
		for (i = 0; i < len; i++) {
			found.slot = extent * TTM_SLOTS_PER_EXTENT + i;
			if (ttm_slot_copy(ttm_slot_at(process, found.slot),
				    &found.words) &&
				TTM_W1_FIGURE(found.words.w[1]) ==
					TTMEM_FIGURE_CB &&
				found_locate(process, &found))
				part_leave(ring, &found, where->members, now);
		}
	}
}
