/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Objects that a search of the index found, how they end, and the frees that the usual
 * path in object.h does not cover: other places, parts, programs.
 */
#include "record/object.h"
#include "record/segment.h"

/* -- search ------------------------------------------------------------------------- */

bool ttm_slot_copy(const struct ttm_words *shared, struct ttm_words *ret_words)
{
	unsigned i;

	do {
		/* pairs(slot): acquire, with slot_end: the body is whole */
		ret_words->w[0] = ttm_load_acquire(&shared->w[0]);
		if (TTM_W0_STATE(ret_words->w[0]) != TTM_SLOT_LIVE)
			return false;
		/* relaxed: a change in between shows in w0 */
		for (i = 1; i < 8; i++)
			ret_words->w[i] = ttm_load(&shared->w[i]);
		/* pairs(slot-reuse): acquire, with slot_begin's fence: no newer
		 * body without a newer w0 */
		ttm_fence_acquire();
	} while (ttm_load(&shared->w[0]) != ret_words->w[0]);
	return true;
}

static bool words_have_key(
	const struct ttm_words *words, const struct ttm_key *key)
{
	return words->w[2] == key->id &&
		((words->w[5] ^ key->program) & key->program_mask) == 0 &&
		TTM_W4_PLACE(words->w[4]) == key->place &&
		figure_is(TTM_W1_FIGURE(words->w[1]), key);
}

bool ttm_found_next(struct ttm_process *process, struct ttm_search *search,
	const struct ttm_key *key, uint32_t except, struct ttm_found *ret_found)
{
	struct ttm_found *f = ret_found;

	while ((f->entry_at = ttm_search_next(search, &f->entry)) != NULL) {
		f->slot = ttm_entry_slot(f->entry);
		if (f->slot != except &&
			ttm_slot_copy(
				ttm_slot_at(process, f->slot), &f->words) &&
			words_have_key(&f->words, key) &&
			entry_stands(f->entry_at, f->entry))
			return true;
	}
	return false;
}

uint64_t ttm_found_members(
	const struct ttm_process *process, const struct ttm_found *found)
{
	return ttm_place_members(process, TTM_W0_PLACE(found->words.w[0]));
}

uint32_t ttm_words_allocated(
	const struct ttm_process *process, const struct ttm_words *words)
{
	uint32_t closes = (uint32_t)ttm_closes(process);

	return closes - (uint16_t)(closes - TTM_W1_STAMP(words->w[1]));
}

/* Returns those of these devices that were closed since. */
static uint64_t members_orphaned(
	const struct ttm_process *process, uint64_t members, uint32_t allocated)
{
	uint64_t orphaned = 0, rest = members;
	unsigned entry;

	while (rest) {
		entry = ttm_mask_take(&rest);
		if (era_is_newer(ttm_device_era(&process->devices[entry]),
			    allocated))
			orphaned |= 1ull << entry;
	}
	return orphaned;
}

uint64_t ttm_found_current(
	const struct ttm_process *process, const struct ttm_found *found)
{
	uint64_t members = ttm_found_members(process, found);

	return members &
		~members_orphaned(process, members,
			ttm_words_allocated(process, &found->words));
}

bool ttm_found_is_current(
	const struct ttm_process *process, const struct ttm_found *found)
{
	return ttm_found_current(process, found) != 0;
}

bool ttm_key_find(struct ttm_process *process, const struct ttm_key *key,
	uint64_t members, struct ttm_found *ret_found)
{
	struct ttm_search search;
	bool is_orphan = false;
	struct ttm_found found;

	ttm_search_key(&search, process, key);
	while (ttm_found_next(process, &search, key, TTM_SLOT_NONE, &found)) {
		if (!(ttm_found_members(process, &found) & members))
			continue;
		*ret_found = found;
		if (ttm_found_current(process, &found) & members)
			return true;
		is_orphan = true;
	}
	return is_orphan;
}

/* -- the end of an object --------------------------------------------------------------- */

bool ttm_found_renew(struct ttm_process *process, struct ttm_found *found)
{
	struct ttm_words now;

	if (!ttm_slot_copy(ttm_slot_at(process, found->slot), &now) ||
		now.w[1] != found->words.w[1] ||
		now.w[2] != found->words.w[2] ||
		now.w[4] != found->words.w[4] ||
		now.w[5] != found->words.w[5] ||
		now.w[6] != found->words.w[6] ||
		!entry_stands(found->entry_at, found->entry))
		return false;
	found->words = now;
	return true;
}

bool ttm_found_free(struct ttm_process *process, struct ttm_found *found)
{
	while (!slot_free(ttm_slot_at(process, found->slot), found->words.w[0]))
		if (!ttm_found_renew(process, found))
			return false;
	ttm_index_clear(found->entry_at);
	return true;
}

void ttm_found_count(struct ttm_ring *ring, const struct ttm_found *found,
	uint64_t members, unsigned flags)
{
	unsigned figure = TTM_W1_FIGURE(found->words.w[1]);
	uint32_t allocated = ttm_words_allocated(ring->process, &found->words);

	if (members_orphaned(ring->process, members, allocated))
		ttm_anomaly_count(ring, TTMEM_ANOMALY_LATE_FREE);
	if (flags & TTM_FLAG_REPLACED && figure < TTMEM_FIGURE_CB)
		ttm_anomaly_count(ring, TTMEM_ANOMALY_ALLOC_LIVE);
	members_free(ring, members, figure, allocated,
		ttm_words_bytes(&found->words));
}

void ttm_free_write(struct ttm_words *record, unsigned flags, uint64_t now,
	const struct ttm_words *words)
{
	ttm_record_write(record, TTM_W0_FREE(words->w[0]),
		TTM_W1_AS_RECORD(words->w[1], flags, TTM_RECORD_FREE), now,
		words);
}

void ttm_found_recycle(struct ttm_ring *ring, const struct ttm_found *found)
{
	ttm_supply_put(
		ring, found->slot, ttm_slot_at(ring->process, found->slot));
}

void ttm_found_commit(struct ttm_ring *ring, const struct ttm_found *found,
	unsigned flags, uint64_t now)
{
	ttm_free_write(ttm_ring_record(ring, 0), flags, now, &found->words);
	ttm_ring_end(ring, 1);
	ttm_found_recycle(ring, found);
}

bool ttm_found_leave(struct ttm_ring *ring, struct ttm_found *found,
	uint64_t members, unsigned flags, uint64_t now, uint64_t *ret_left)
{
	struct ttm_process *process = ring->process;
	struct ttm_words *shared = ttm_slot_at(process, found->slot);
	uint64_t has, shrunk;
	unsigned place;

	for (;;) {
		has = ttm_found_members(process, found);
		*ret_left = has & members;
		if (!*ret_left || !ttm_ring_blocks(ring, *ret_left))
			return false;
		shrunk = 0;
		if (*ret_left != has) {
			place = ttm_place_of(process, has & ~members, true);
			if (!place) {
				ttm_loss(ring, TTMEM_LOSS_NO_PLACE,
					TTM_W0_PLACE(found->words.w[0]),
					TTM_W1_FIGURE(found->words.w[1]),
					found->words.w[2],
					ttm_words_bytes(&found->words));
				return true;
			}
			shrunk = TTM_W0_SHRUNK(found->words.w[0], place);
		}
		/* pairs(slot): full, with key_glance and the aggregator's scan */
		if (ttm_cas(&shared->w[0], found->words.w[0],
			    shrunk ? shrunk : TTM_W0_FREE(found->words.w[0])))
			break;
		if (!ttm_found_renew(process, found))
			return false;
	}
	TTM_TESTPOINT("slot freed");
	if (!shrunk)
		ttm_index_clear(found->entry_at);
	ttm_found_count(ring, found, *ret_left, flags);
	if (!shrunk) {
		ttm_found_commit(ring, found, flags, now);
		return true;
	}
	ttm_record_write(ttm_ring_record(ring, 0), shrunk,
		TTM_W1_AS_RECORD(found->words.w[1], 0, TTM_RECORD_SHRINK),
		found->words.w[3], &found->words);
	ttm_ring_end(ring, 1);
	return true;
}

void ttm_found_end(struct ttm_ring *ring, struct ttm_found *found,
	unsigned flags, uint64_t now)
{
	uint64_t left;

	ttm_ring_begin(ring, 1);
	if (!ttm_found_leave(ring, found, UINT64_MAX, flags, now, &left))
		ttm_noop_commit(ring);
}

bool ttm_blocks_or_loss(struct ttm_ring *ring, const struct ttm_where *where,
	unsigned figure, uint64_t id, uint64_t bytes)
{
	if (ttm_ring_blocks(ring, where->members))
		return true;
	ttm_loss(ring, TTMEM_LOSS_NO_SLOT, where->place, figure, id, bytes);
	return false;
}

bool ttm_words_are_same_kernel(
	const struct ttm_words *one, const struct ttm_words *other)
{
	const uint64_t *a = one->w, *b = other->w;

	return TTM_W1_FIGURE(b[1]) >= TTMEM_FIGURE_KERNEL &&
		kernel_is_same(a[1], a[4], a[7], TTM_W1_FIGURE(b[1]),
			TTM_W1_FLAGS(b[1]), TTM_W4_SIZE(b[4]),
			(uint32_t)(b[7] >> 40));
}

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
		ttm_ring_begin(ring, 1);
		if (ttm_found_leave(ring, &found, part, 0, now, &left))
			return left;
	}
	return 0;
}

/*
 * Frees the object on all places, the caller's first, whatever place `key` has. Returns
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
		ttm_key_set(
			&on_place, place, key->figure, key->program, key->id);
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

	ttm_key_set(&key, 0, figure, program, id);
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

static void part_leave(struct ttm_ring *ring, struct ttm_found *found,
	uint64_t members, uint64_t now)
{
	uint64_t left;

	if (!(ttm_found_members(ring->process, found) & members))
		return;
	ttm_ring_begin(ring, 1);
	if (!ttm_found_leave(ring, found, members, 0, now, &left))
		ttm_noop_commit(ring);
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
	struct ttm_key key;

	ttm_key_set(&key, place, TTMEM_FIGURE_CB, program, 0);
	for (line = 0; line < TTM_CB_LINES; line++) {
		ttm_search_start(&search, ring->process,
			ttm_cb_bucket_hash(program, line, part), 0);
		while ((seen.entry_at = ttm_search_next(
				&search, &seen.entry))) {
			/* The usual CB is whole, and leaves all its devices. */
			seen.shared = ttm_slot_at(
				ring->process, ttm_entry_slot(seen.entry));
			/* relaxed: compared again with the rest */
			key.id = ttm_load(&seen.shared->w[2]);
			if ((has & ~members) == 0 &&
				key_glance(&key, closes, &seen)) {
				ttm_ring_begin(ring, 1);
				if (seen_end(ring, has, TTMEM_FIGURE_CB, closes,
					    key.id, now, &seen))
					continue;
			}
			found.entry_at = seen.entry_at;
			found.entry = seen.entry;
			found.slot = ttm_entry_slot(seen.entry);
			if (ttm_slot_copy(
				    ttm_slot_at(ring->process, found.slot),
				    &found.words) &&
				words_have_key(&found.words, &key) &&
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
		ttm_ring_begin(ring, 1);
		if (!seen_end(ring, has, TTMEM_FIGURE_KERNEL, closes, kernel,
			    now, &seen))
			ttm_noop_commit(ring);
	}
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
