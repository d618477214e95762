/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * What is rare in the life of an object: see object.h. First the search for live objects,
 * then how they end, then how they are inserted.
 */
#include <string.h>

#include "record/note.h"
#include "record/object.h"
#include "record/segment.h"

/* Some microseconds, for a thread that runs; a thread that does not is not waited for. */
#define WITHDRAWAL_LOOKS 10000u

/* -- search ------------------------------------------------------------------------- */

/* A live slot as it was at one moment, and where the index has it. */
struct found {
	uint64_t *entry_at;
	uint64_t entry;
	uint32_t slot;
	struct ttm_words words;
};

/*
 * Copies a slot that is live; false if it is not. An object that shrinks meanwhile is still
 * there, so the copy is repeated: each time another thread has got on.
 */
static bool slot_copy(
	const struct ttm_words *shared, struct ttm_words *ret_words)
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

/* The next live object with this key, orphaned or not, in another slot than `except`. */
static bool found_next(struct ttm_process *process, struct ttm_search *search,
	const struct ttm_key *key, uint32_t except, struct found *ret_found)
{
	struct found *f = ret_found;

	while ((f->entry_at = ttm_search_next(search, &f->entry)) != NULL) {
		f->slot = ttm_entry_slot(f->entry);
		if (f->slot != except &&
			slot_copy(ttm_slot_at(process, f->slot), &f->words) &&
			words_have_key(&f->words, key) &&
			entry_stands(f->entry_at, f->entry))
			return true;
	}
	return false;
}

static uint64_t found_members(
	const struct ttm_process *process, const struct found *found)
{
	return ttm_place_members(process, TTM_W0_PLACE(found->words.w[0]));
}

/* The count of closes when the object was allocated. */
static uint32_t words_allocated(
	const struct ttm_process *process, const struct ttm_words *words)
{
	uint32_t closes = (uint32_t)ttm_closes(process);

	return closes - (uint16_t)(closes - TTM_W1_STAMP(words->w[1]));
}

/* Of these devices, those that were closed since. */
static uint64_t members_orphaned(const struct ttm_process *process,
	uint64_t members, uint32_t allocated)
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

/* The devices on which it is live and not orphaned. */
static uint64_t found_current(
	const struct ttm_process *process, const struct found *found)
{
	uint64_t members = found_members(process, found);

	return members &
		~members_orphaned(process, members,
			words_allocated(process, &found->words));
}

/* Whether it is live on one of its devices, and not orphaned on all of them. */
static bool found_is_current(
	const struct ttm_process *process, const struct found *found)
{
	return found_current(process, found) != 0;
}

/*
 * The object with this key that has a part on `members`: one that is not orphaned there
 * if there is one. Current objects with one key are the same object to the caller.
 */
static bool key_find(struct ttm_process *process, const struct ttm_key *key,
	uint64_t members, struct found *ret_found)
{
	struct ttm_search search;
	bool is_orphan = false;
	struct found found;

	ttm_search_key(&search, process, key);
	while (found_next(process, &search, key, TTM_SLOT_NONE, &found)) {
		if (!(found_members(process, &found) & members))
			continue;
		*ret_found = found;
		if (found_current(process, &found) & members)
			return true;
		is_orphan = true;
	}
	return is_orphan;
}

/* -- the end of an object --------------------------------------------------------------- */

/*
 * After a CAS that failed: reads the slot again. True if it still holds the same object,
 * on fewer devices.
 */
static bool found_renew(struct ttm_process *process, struct found *found)
{
	struct ttm_words now;

	if (!slot_copy(ttm_slot_at(process, found->slot), &now) ||
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

/* As seen_free(), whatever devices the object is still on. */
static bool found_free(struct ttm_process *process, struct found *found)
{
	while (!slot_free(ttm_slot_at(process, found->slot),
		found->words.w[0]))
		if (!found_renew(process, found))
			return false;
	ttm_index_clear(found->entry_at);
	return true;
}

static void found_count(const struct ttm_hook *hook, const struct found *found,
	uint64_t members, unsigned flags)
{
	unsigned figure = TTM_W1_FIGURE(found->words.w[1]);
	uint32_t allocated = words_allocated(hook->process, &found->words);

	if (members_orphaned(hook->process, members, allocated))
		ttm_anomaly_count(hook, TTMEM_ANOMALY_LATE_FREE);
	if (flags & TTM_FLAG_REPLACED && figure < TTMEM_FIGURE_CB)
		ttm_anomaly_count(hook, TTMEM_ANOMALY_ALLOC_LIVE);
	members_free(hook, members, figure, allocated,
		ttm_words_bytes(&found->words));
}

static void free_write(struct ttm_words *record, unsigned flags, uint64_t now,
	const struct ttm_words *words)
{
	ttm_record_write(record, TTM_W0_FREE(words->w[0]),
		TTM_W1_AS_RECORD(words->w[1], flags, TTM_RECORD_FREE), now,
		words);
}

static void found_recycle(
	const struct ttm_hook *hook, const struct found *found)
{
	ttm_supply_put(hook->process, hook->lane, found->slot,
		ttm_slot_at(hook->process, found->slot));
}

/* The record of a free that was won and counted; then the slot may be used again. */
static void found_commit(const struct ttm_hook *hook,
	const struct found *found, unsigned flags, uint64_t now)
{
	free_write(ttm_lane_record(hook->lane, 0), flags, now, &found->words);
	ttm_lane_end(hook->lane, 1);
	found_recycle(hook, found);
}

/*
 * The object leaves these devices, on some of which it is: it ends, or stays on the others.
 * In an operation that has begun; false if another thread was faster, and nothing has
 * happened yet. *ret_left: the devices that it left.
 */
static bool found_leave(const struct ttm_hook *hook, struct found *found,
	uint64_t members, unsigned flags, uint64_t now, uint64_t *ret_left)
{
	struct ttm_process *process = hook->process;
	struct ttm_words *shared = ttm_slot_at(process, found->slot);
	uint64_t has, shrunk;
	unsigned place;

	for (;;) {
		has = found_members(process, found);
		*ret_left = has & members;
		if (!*ret_left ||
			!ttm_lane_blocks(process, hook->lane, *ret_left))
			return false;
		shrunk = 0;
		if (*ret_left != has) {
			place = ttm_place_of(process, has & ~members, true);
			if (!place) {
				ttm_loss(hook, TTMEM_LOSS_NO_PLACE,
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
		if (!found_renew(process, found))
			return false;
	}
	TTM_TESTPOINT("slot freed");
	if (!shrunk)
		ttm_index_clear(found->entry_at);
	found_count(hook, found, *ret_left, flags);
	if (!shrunk) {
		found_commit(hook, found, flags, now);
		return true;
	}
	ttm_record_write(ttm_lane_record(hook->lane, 0), shrunk,
		TTM_W1_AS_RECORD(found->words.w[1], 0, TTM_RECORD_SHRINK),
		found->words.w[3], &found->words);
	ttm_lane_end(hook->lane, 1);
	return true;
}

/* The whole object, as an operation of its own; another thread may be faster. */
static void found_end(const struct ttm_hook *hook, struct found *found,
	unsigned flags, uint64_t now)
{
	uint64_t left;

	ttm_lane_begin(hook->lane);
	if (!found_leave(hook, found, UINT64_MAX, flags, now, &left))
		ttm_noop_commit(hook);
}

/* -- free -------------------------------------------------------------------------------- */

static bool blocks_or_loss(const struct ttm_hook *hook,
	const struct ttm_where *where, unsigned figure, uint64_t id,
	uint64_t bytes)
{
	if (ttm_lane_blocks(hook->process, hook->lane, where->members))
		return true;
	ttm_loss(hook, TTMEM_LOSS_NO_SLOT, where->place, figure, id, bytes);
	return false;
}

/*
 * Frees the part on `members` of the object that was allocated on `place` with this key:
 * the part that is not orphaned, or all of it (`late`). Returns the devices it left; 0:
 * there is none.
 */
static uint64_t key_leave(const struct ttm_hook *hook,
	const struct ttm_key *key, uint64_t members, bool late, uint64_t now)
{
	struct found found;
	uint64_t part, left;

	while (key_find(hook->process, key, members, &found)) {
		part = members;
		if (!late)
			part &= found_current(hook->process, &found);
		if (!part)
			return 0;
		ttm_lane_begin(hook->lane);
		if (found_leave(hook, &found, part, 0, now, &left))
			return left;
	}
	return 0;
}

/*
 * The same for all places, the caller's first; the key is on none. Returns the devices
 * without such an object.
 */
static uint64_t key_leave_places(const struct ttm_hook *hook,
	const struct ttm_where *where, const struct ttm_key *key, bool late,
	uint64_t now)
{
	struct ttm_key on_place;
	uint64_t members = where->members;
	struct ttm_overlap overlap;
	unsigned place = where->place;

	ttm_overlap_start(&overlap, members, place);
	if (!place)
		place = ttm_overlap_next(hook->process, &overlap);
	for (; members && place;
		place = ttm_overlap_next(hook->process, &overlap)) {
		on_place = *key;
		ttm_key_on(&on_place, place);
		members &= ~key_leave(hook, &on_place, members, late, now);
	}
	return members;
}

/*
 * Frees what has the key on these devices, on each of them an orphan only if nothing else
 * is there; returns those that have no such object.
 */
static uint64_t key_remove(const struct ttm_hook *hook,
	const struct ttm_where *where, unsigned figure, uint64_t program,
	uint64_t id)
{
	uint64_t now = ttm_clock_now();
	struct ttm_where rest = *where;
	struct ttm_key key;

	ttm_key_begin(&key, figure, program, id);
	rest.members = key_leave_places(hook, &rest, &key, false, now);
	/* Another thread may have closed a device meanwhile. */
	if (rest.members && ttm_closes(hook->process))
		rest.members = key_leave_places(hook, &rest, &key, true, now);
	return rest.members;
}

TTM_COLD void ttm_remove_slow(struct ttm_seat *seat, struct ttm_where where,
	unsigned figure, uint64_t program, uint64_t id)
{
	const struct ttm_hook hook = ttm_hook_of(seat);

	if (blocks_or_loss(&hook, &where, figure, id, 0) &&
		key_remove(&hook, &where, figure, program, id))
		ttm_anomaly(&hook, TTMEM_ANOMALY_FREE_UNKNOWN, where.place,
			figure, id);
}

/*
 * The kind of buffer that has this id on one of the devices, first of those that are not
 * orphaned; DRAM if there is none. By the time it is used another thread may have freed it.
 */
static unsigned buffer_kind(
	struct ttm_process *process, uint64_t members, uint64_t id)
{
	unsigned kind, kind_found = TTMEM_DRAM, place;
	struct ttm_overlap overlap;
	bool is_orphan = false;
	struct found found;
	struct ttm_key key;

	for (kind = TTMEM_DRAM; kind <= TTMEM_TRACE; kind++) {
		ttm_overlap_start(&overlap, members, 0);
		while ((place = ttm_overlap_next(process, &overlap))) {
			ttm_key_set(&key, place, kind, 0, id);
			if (!key_find(process, &key, members, &found))
				continue;
			if (found_current(process, &found) & members)
				return kind;
			if (!is_orphan)
				kind_found = kind;
			is_orphan = true;
		}
	}
	return kind_found;
}

void ttm_remove_any(
	const struct ttm_hook *hook, const struct ttm_where *where, uint64_t id)
{
	struct ttm_where rest = *where;
	uint64_t members;
	unsigned kind;

	if (!blocks_or_loss(hook, where, TTM_FIGURE_NONE, id, 0))
		return;
	do {
		members = rest.members;
		kind = buffer_kind(hook->process, members, id);
		rest.members = key_remove(hook, &rest, kind, 0, id);
		rest.place = 0;
	} while (rest.members && rest.members != members);
	if (rest.members)
		ttm_anomaly(hook, TTMEM_ANOMALY_FREE_UNKNOWN, where->place,
			kind, id);
}

/* -- the end of a program --------------------------------------------------------------- */

static bool words_are_cb_of(
	const struct ttm_words *words, unsigned place, uint64_t program)
{
	return TTM_W1_FIGURE(words->w[1]) == TTMEM_FIGURE_CB &&
		words->w[5] == program && TTM_W4_PLACE(words->w[4]) == place;
}

static void part_leave(const struct ttm_hook *hook, struct found *found,
	uint64_t members, uint64_t now)
{
	uint64_t left;

	if (!(found_members(hook->process, found) & members))
		return;
	ttm_lane_begin(hook->lane);
	if (!found_leave(hook, found, members, 0, now, &left))
		ttm_noop_commit(hook);
}

/*
 * The usual CB of a program that ends: whole, younger than any close, and with all its
 * devices to go. False is inconclusive.
 */
static TTM_INLINE bool cb_end(const struct ttm_hook *hook, unsigned place,
	uint64_t members, uint64_t program, uint64_t closes, uint64_t now,
	struct ttm_seen *seen)
{
	const uint64_t *w;
	uint64_t id;

	seen->shared = ttm_slot_at(hook->process, ttm_entry_slot(seen->entry));
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
	ttm_lane_begin(hook->lane);
	return seen_end(hook, members, TTMEM_FIGURE_CB, closes, id, now, seen);
}

/* Those that were allocated on `place`, from the devices `members`. */
static void cbs_end(const struct ttm_hook *hook, unsigned place,
	uint64_t members, uint64_t program, uint64_t now)
{
	uint64_t has = ttm_place_members(hook->process, place), line;
	uint64_t closes = ttm_closes(hook->process);
	unsigned part = ttm_part(place);
	struct ttm_search search;
	struct ttm_seen seen;
	struct found found;

	for (line = 0; line < TTM_CB_LINES; line++) {
		ttm_search_start(&search, hook->process,
			ttm_cb_bucket_hash(program, line, part), 0);
		while ((seen.entry_at = ttm_search_next(
				&search, &seen.entry))) {
			if ((has & ~members) == 0 &&
				cb_end(hook, place, has, program, closes, now,
					&seen))
				continue;
			found.entry_at = seen.entry_at;
			found.entry = seen.entry;
			found.slot = ttm_entry_slot(seen.entry);
			if (slot_copy(ttm_slot_at(hook->process, found.slot),
				    &found.words) &&
				words_are_cb_of(
					&found.words, place, program) &&
				entry_stands(found.entry_at, found.entry))
				part_leave(hook, &found, members, now);
		}
	}
	/* An operation that began and found its CB gone. */
	if (ttm_load(&hook->lane->control->intent) != hook->lane->tail)
		ttm_noop_commit(hook);
}

static void kernel_end(const struct ttm_hook *hook, unsigned place,
	uint64_t members, uint64_t kernel, uint64_t now)
{
	uint64_t has = ttm_place_members(hook->process, place);
	uint64_t closes = ttm_closes(hook->process);
	struct ttm_search search;
	struct ttm_seen seen;
	struct found found;
	struct ttm_way way;

	way_set(&way, hook->process, place, TTMEM_FIGURE_KERNEL, 0, kernel);
	/* The usual kernel: whole, and with all its devices to go. */
	if ((has & ~members) == 0 &&
		key_point(hook->process, way.bucket, &way.key, &seen) &&
		key_glance(&way.key, closes, &seen)) {
		ttm_lane_begin(hook->lane);
		if (!seen_end(hook, has, TTMEM_FIGURE_KERNEL, closes, kernel,
			    now, &seen))
			ttm_noop_commit(hook);
	}
	if (!ttm_index_may_have(way.level, way.bucket, &way.key))
		return;
	/* Each once: without a place for what stays, a part cannot leave. */
	ttm_search_key(&search, hook->process, &way.key);
	while (found_next(hook->process, &search, &way.key, TTM_SLOT_NONE,
		&found))
		part_leave(hook, &found, members, now);
}

void ttm_program_remove(const struct ttm_hook *hook,
	const struct ttm_where *where, uint64_t program)
{
	uint64_t now = ttm_clock_now();
	struct ttm_overlap overlap;
	unsigned place;

	if (!blocks_or_loss(hook, where, TTM_FIGURE_NONE, program, 0))
		return;
	ttm_overlap_start(&overlap, where->members, 0);
	while ((place = ttm_overlap_next(hook->process, &overlap))) {
		cbs_end(hook, place, where->members, program, now);
		kernel_end(hook, place, where->members, program, now);
	}
}

/* -- all CBs of a device ------------------------------------------------------------------ */

/* Looks up the index entry of a slot that a scan met. */
static bool found_locate(struct ttm_process *process, struct found *found)
{
	struct ttm_words words = found->words;
	uint32_t slot = found->slot;
	struct ttm_search search;
	struct ttm_key key;

	ttm_key_set(&key, TTM_W4_PLACE(words.w[4]), TTMEM_FIGURE_CB,
		words.w[5], words.w[2]);
	ttm_search_key(&search, process, &key);
	while (found_next(process, &search, &key, TTM_SLOT_NONE, found))
		if (found->words.w[0] == words.w[0] && found->slot == slot)
			return true;
	return false; /* freed meanwhile, or not inserted yet */
}

void ttm_cbs_remove(const struct ttm_hook *hook, const struct ttm_where *where)
{
	struct ttm_process *process = hook->process;
	uint64_t now = ttm_clock_now();
	uint32_t extent, i, len;
	struct found found;

	if (!blocks_or_loss(hook, where, TTMEM_FIGURE_CB, 0, 0))
		return;
	for (extent = 0; extent < TTM_SLOT_EXTENTS_MAX; extent++) {
		len = ttm_extent_ready_len(
			&process->slots[extent], sizeof(struct ttm_words));
		for (i = 0; i < len; i++) {
			found.slot = extent * TTM_SLOTS_PER_EXTENT + i;
			if (slot_copy(ttm_slot_at(process, found.slot),
				    &found.words) &&
				TTM_W1_FIGURE(found.words.w[1]) ==
					TTMEM_FIGURE_CB &&
				found_locate(process, &found))
				part_leave(hook, &found, where->members, now);
		}
	}
}

/* -- the beginning of an object ------------------------------------------------------------ */

/*
 * An insertion on its way. `mine` is the new object; its words are set first of all. The
 * object `before`, the latest that it saw before it was inserted, it may end even if its
 * own is gone by then: see may_end().
 */
struct insertion {
	struct ttm_hook hook;
	struct ttm_where where;
	struct ttm_before before;
	struct ttm_key key;
	struct found mine;
};

static void insertion_lost(struct insertion *in, enum ttmem_loss reason)
{
	const uint64_t *w = in->mine.words.w;

	ttm_loss(&in->hook, reason, in->where.place, TTM_W1_FIGURE(w[1]), w[2],
		ttm_words_bytes(&in->mine.words));
}

static void alloc_count(struct insertion *in)
{
	members_alloc(&in->hook, in->where.members,
		TTM_W1_FIGURE(in->mine.words.w[1]),
		words_allocated(in->hook.process, &in->mine.words),
		ttm_words_bytes(&in->mine.words));
}

static void alloc_write(
	struct ttm_words *record, unsigned flags, const struct ttm_words *words)
{
	alloc_begin(record, flags, words);
	ttm_record_end(record, words);
}

static void alloc_count_commit(struct insertion *in)
{
	alloc_count(in);
	alloc_write(ttm_lane_record(in->hook.lane, 0), 0, &in->mine.words);
	ttm_lane_end(in->hook.lane, 1);
}

static bool is_later(const struct found *a, const struct found *b)
{
	int8_t ranks = (int8_t)(TTM_W1_RANK(a->words.w[1]) -
		TTM_W1_RANK(b->words.w[1]));

	/* Half-way round, each would be earlier than the other. */
	if (ranks == 0 || ranks == INT8_MIN)
		return a->slot > b->slot;
	return ranks > 0;
}

static bool words_are_same_kernel(
	const struct ttm_words *one, const struct ttm_words *other)
{
	const uint64_t *a = one->w, *b = other->w;

	return TTM_W1_FIGURE(b[1]) >= TTMEM_FIGURE_KERNEL &&
		kernel_is_same(a[1], a[4], a[7], TTM_W1_FIGURE(b[1]),
			TTM_W1_FLAGS(b[1]), TTM_W4_SIZE(b[4]),
			(uint32_t)(b[7] >> 40));
}

static bool is_same_kernel(
	const struct found *found, const struct insertion *in)
{
	return words_are_same_kernel(&found->words, &in->mine.words);
}

static void dispatch_count(struct insertion *in, const struct found *found)
{
	ttm_lane_begin(in->hook.lane);
	dispatch_commit(&in->hook, in->where.place, in->where.members,
		found->words.w[1], found->words.w[2], ttm_clock_now());
}

/* What is live under the key now: a dispatch, or the rank of the new object. */
static bool insertion_is_dispatch(struct insertion *in, uint8_t *ret_rank)
{
	struct ttm_process *process = in->hook.process;
	struct ttm_search search;
	uint8_t rank = 0, next;
	struct found found;

	in->before = (struct ttm_before){ .slot = TTM_SLOT_NONE };
	ttm_search_key(&search, process, &in->key);
	while (found_next(process, &search, &in->key, TTM_SLOT_NONE, &found)) {
		if (!found_is_current(process, &found))
			continue;
		/* A kernel that was unloaded from some of the devices is
		 * loaded anew. */
		if (is_same_kernel(&found, in) &&
			found_members(process, &found) == in->where.members) {
			dispatch_count(in, &found);
			return true;
		}
		next = (uint8_t)(TTM_W1_RANK(found.words.w[1]) + 1);
		if (in->before.slot != TTM_SLOT_NONE &&
			(int8_t)(next - rank) <= 0)
			continue;
		rank = next;
		in->before = (struct ttm_before){ found.slot, found.words.w[1],
			found.words.w[6] };
	}
	*ret_rank = rank;
	return false;
}

/* Another object with our key, current like ours. */
static bool rival_next(struct insertion *in, struct ttm_search *search,
	struct found *ret_found)
{
	struct ttm_process *process = in->hook.process;

	while (found_next(
		process, search, &in->key, in->mine.slot, ret_found))
		if (found_is_current(process, &in->mine) &&
			found_is_current(process, ret_found))
			return true;
	return false;
}

/*
 * Whether an earlier rival is ours to end: if our object is still there now that the rival
 * has been seen, for then there was a pair, or if we meant to replace it. Otherwise ours
 * was ended meanwhile, and the rival may be of a later time: so late that its rank has
 * come round, or of a key that was freed and allocated again.
 */
static bool may_end(const struct insertion *in, const struct found *rival)
{
	struct found mine = in->mine;

	/* pairs(slot-reuse): acquire, with slot_begin: after the rival. Not w0,
	 * which changes when a part of the object is freed. */
	ttm_fence_acquire();
	if (found_renew(in->hook.process, &mine))
		return true;
	return in->before.slot == rival->slot &&
		in->before.w1 == rival->words.w[1] &&
		in->before.w6 == rival->words.w[6];
}

/*
 * The slot goes back as if nothing had been; false if another thread freed the object, or
 * a part of it: that was counted, and so the allocation must be.
 */
static bool insertion_withdraw(struct insertion *in)
{
	if (!slot_free(ttm_slot_at(in->hook.process, in->mine.slot),
		    in->mine.words.w[0]))
		return false;
	ttm_index_clear(in->mine.entry_at);
	found_commit(&in->hook, &in->mine, TTM_FLAG_UNCOUNTED,
		ttm_clock_now());
	return true;
}

/* A later object of our key is live: ours was replaced before it was counted. */
static void insertion_superseded(
	struct insertion *in, const struct found *later)
{
	if (!is_same_kernel(later, in)) {
		alloc_count_commit(in);
		found_end(&in->hook, &in->mine, TTM_FLAG_REPLACED,
			ttm_clock_now());
		return;
	}
	if (insertion_withdraw(in)) {
		dispatch_count(in, later);
		return;
	}
	/* The later one took ours over, or a part of ours was freed. */
	alloc_count_commit(in);
	if (found_renew(in->hook.process, &in->mine))
		found_end(&in->hook, &in->mine, TTM_FLAG_REPLACED,
			ttm_clock_now());
}

/* One operation with two records: an object goes, ours comes. */
static void insert_instead_of(struct insertion *in, const struct found *earlier,
	unsigned free_flags, unsigned alloc_flags)
{
	struct ttm_lane *lane = in->hook.lane;

	ttm_lane_begin_two(lane);
	free_write(ttm_lane_record(lane, 0), free_flags, in->mine.words.w[6],
		&earlier->words);
	alloc_write(ttm_lane_record(lane, 1), alloc_flags, &in->mine.words);
	ttm_lane_end(lane, 2);
	found_recycle(&in->hook, earlier);
}

/*
 * The earlier one goes first: the peak does not hold the two together. If it is a kernel
 * that another thread loaded a moment ago, its load stays and ours is a dispatch.
 * False if the earlier one is gone already.
 */
static bool insertion_replaces(struct insertion *in, struct found *earlier)
{
	uint64_t members;

	if (!found_free(in->hook.process, earlier))
		return false;
	members = found_members(in->hook.process, earlier);
	if (is_same_kernel(earlier, in) && members == in->where.members) {
		insert_instead_of(
			in, earlier, TTM_FLAG_UNCOUNTED, TTM_FLAG_UNCOUNTED);
		dispatch_count(in, &in->mine);
	} else {
		found_count(&in->hook, earlier, members, TTM_FLAG_REPLACED);
		alloc_count(in);
		insert_instead_of(in, earlier, TTM_FLAG_REPLACED, 0);
	}
	return true;
}

/*
 * The same kernel once more: its thread inserted it without a look, sees ours, and is
 * about to withdraw it. Ended here it would have been loaded twice.
 */
static bool rival_withdraws(
	const struct insertion *in, const struct found *rival)
{
	const struct ttm_words *slot = ttm_slot_at(
		in->hook.process, rival->slot);
	unsigned looks;

	for (looks = 0; is_same_kernel(rival, in) && looks < WITHDRAWAL_LOOKS;
		looks++)
		/* relaxed: only whether it is another */
		if (ttm_load(&slot->w[0]) != rival->words.w[0])
			return true;
	return false;
}

/*
 * The rivals that were seen are not of one moment: the same thread may have withdrawn one
 * and inserted another. So the first that is still there is replaced.
 */
static bool insertion_replaces_any(struct insertion *in)
{
	struct ttm_search search;
	bool replaced = false;
	struct found rival;

	ttm_search_key(&search, in->hook.process, &in->key);
	while (rival_next(in, &search, &rival)) {
		if (is_later(&rival, &in->mine) || !may_end(in, &rival))
			continue;
		if (!replaced)
			replaced = insertion_replaces(in, &rival);
		else if (!rival_withdraws(in, &rival))
			found_end(&in->hook, &rival, TTM_FLAG_REPLACED,
				ttm_clock_now());
	}
	return replaced;
}

/* There may be other live objects with our key: see object.h. */
static void insertion_settle(struct insertion *in)
{
	struct ttm_search search;
	struct found rival;
	bool alone = true;

	ttm_search_key(&search, in->hook.process, &in->key);
	while (rival_next(in, &search, &rival)) {
		if (is_later(&rival, &in->mine)) {
			insertion_superseded(in, &rival);
			return;
		}
		alone = false;
	}
	if (alone || !insertion_replaces_any(in))
		alloc_count_commit(in);
}

/* The slot is not in the index, so nobody else can have freed it. */
static void insertion_without_index(struct insertion *in)
{
	uint64_t nowhere = 0;

	in->mine.entry_at = &nowhere;
	insertion_withdraw(in);
	insertion_lost(in, TTMEM_LOSS_NO_INDEX);
}

static bool insertion_index(struct insertion *in)
{
	in->mine.entry = ttm_entry(&in->key, in->mine.slot);
	in->mine.entry_at = ttm_index_insert(
		in->hook.process, in->key.bucket_hash, in->mine.entry);
	return in->mine.entry_at != NULL;
}

/* Slot and index entry; nothing is counted yet. False if that failed. */
static bool insertion_begin(struct insertion *in, uint8_t rank)
{
	const struct ttm_hook *hook = &in->hook;
	uint64_t *w1 = &in->mine.words.w[1];
	struct ttm_words *shared;
	bool done;

	if (!ttm_supply_take(hook->process, hook->lane, &in->mine.slot)) {
		insertion_lost(in, TTMEM_LOSS_NO_SLOT);
		return false;
	}
	*w1 = TTM_W1_WITH(*w1, in->mine.slot, rank);
	ttm_place_use(hook->process, in->where.place);
	ttm_lane_begin(hook->lane);
	shared = ttm_slot_at(hook->process, in->mine.slot);
	slot_begin(shared, &in->mine.words, in->where.place);
	slot_end(shared, &in->mine.words);
	done = insertion_index(in);
	TTM_TESTPOINT("index entered");
	if (!done)
		insertion_without_index(in);
	return done;
}

static void insert_careful(struct insertion *in)
{
	uint8_t rank = 0;

	if (!insertion_is_dispatch(in, &rank) && insertion_begin(in, rank))
		insertion_settle(in);
}

/* After it was inserted without a look. */
static void insertion_check(struct insertion *in)
{
	struct ttm_search search;
	struct found rival;

	ttm_search_key(&search, in->hook.process, &in->key);
	if (!rival_next(in, &search, &rival))
		alloc_count_commit(in);
	else if (insertion_withdraw(in))
		insert_careful(in);
	else
		insertion_settle(in);
}

/* False if there is no room to count it. */
static bool insertion_prepare(struct insertion *in, struct ttm_seat *seat,
	const struct ttm_where *where, const struct ttm_object *object,
	uint64_t now)
{
	in->hook = ttm_hook_of(seat);
	in->where = *where;
	in->before.slot = TTM_SLOT_NONE;
	ttm_key_set(&in->key, where->place, object->figure,
		object->w5, object->id);
	words_fill(&in->mine.words, seat, object, where->place,
		ttm_closes(in->hook.process));
	in->mine.words.w[6] = now;
	return blocks_or_loss(
		&in->hook, where, object->figure, object->id, object->bytes);
}

static void insert_on(struct ttm_seat *seat, const struct ttm_where *where,
	const struct ttm_object *object, bool careful)
{
	struct insertion in; /* not zeroed: it is large */

	if (!insertion_prepare(&in, seat, where, object, ttm_clock_now()))
		return;
	if (careful)
		insert_careful(&in);
	else if (insertion_begin(&in, 0))
		insertion_check(&in);
}

/*
 * The table of places is full: one object for each device. All slots and counter blocks
 * are there before the first one, so that the event is recorded as a whole or lost.
 */
static void insert_on_each(struct ttm_seat *seat, struct ttm_where where,
	const struct ttm_object *object, bool careful)
{
	const struct ttm_hook hook = ttm_hook_of(seat);
	uint64_t members = where.members;
	struct ttm_where one;

	if (!blocks_or_loss(&hook, &where, object->figure, object->id,
		    object->bytes))
		return;
	if (!ttm_supply_reserve(hook.process, hook.lane,
		    (uint32_t)__builtin_popcountll(members))) {
		ttm_loss(&hook, TTMEM_LOSS_NO_SLOT, 0, object->figure,
			object->id, object->bytes);
		return;
	}
	while (members) {
		one.members = members & -members;
		one.place = ttm_place_of(hook.process, one.members, false);
		members &= members - 1;
		insert_on(seat, &one, object, careful);
	}
}

TTM_COLD void ttm_insert_slow(
	struct ttm_seat *seat, struct ttm_where where, struct ttm_object object)
{
	bool careful = object.figure >= TTMEM_FIGURE_CB;

	if (!where.place)
		insert_on_each(seat, where, &object, careful);
	else
		insert_on(seat, &where, &object, careful);
}

TTM_SLOW void ttm_insert_careful(struct ttm_seat *seat, struct ttm_where where,
	struct ttm_object object, uint64_t now)
{
	struct insertion in; /* not zeroed: it is large */

	if (insertion_prepare(&in, seat, &where, &object, now))
		insert_careful(&in);
}

/* False if there is no room for it in the index, and it is given up. */
static bool insertion_resume(struct insertion *in, struct ttm_seat *seat,
	const struct ttm_where *where, uint64_t *entry_at,
	const struct ttm_words *words)
{
	in->hook = ttm_hook_of(seat);
	in->where = *where;
	in->before.slot = TTM_SLOT_NONE;
	ttm_key_set(&in->key, where->place,
		TTM_W1_FIGURE(words->w[1]), words->w[5], words->w[2]);
	in->mine.entry_at = entry_at;
	in->mine.slot = TTM_W1_SLOT(words->w[1]);
	in->mine.entry = ttm_entry(&in->key, in->mine.slot);
	in->mine.words = *words;
	if (entry_at || insertion_index(in))
		return true;
	insertion_without_index(in);
	return false;
}

TTM_COLD void ttm_insert_check(
	struct ttm_seat *seat, struct ttm_where where, uint64_t *entry_at)
{
	struct ttm_hook hook = ttm_hook_of(seat);
	struct ttm_words words = *ttm_lane_record(hook.lane, 0);
	struct insertion in; /* not zeroed: it is large */

	/* In a record it is the type; the object's rank is its first. */
	words.w[1] = TTM_W1_WITH(words.w[1], TTM_W1_SLOT(words.w[1]), 0);
	if (insertion_resume(&in, seat, &where, entry_at, &words))
		insertion_check(&in);
}

TTM_COLD void ttm_replace_finish(struct ttm_seat *seat, struct ttm_where where,
	uint64_t *entry_at, struct ttm_words words, struct ttm_before before)
{
	struct insertion in; /* not zeroed: it is large */

	if (!insertion_resume(&in, seat, &where, entry_at, &words))
		return;
	in.before = before;
	insertion_settle(&in);
}

TTM_COLD void ttm_replace_check(struct ttm_seat *seat, struct ttm_where where,
	uint64_t *entry_at, struct ttm_words words)
{
	struct ttm_search search;
	struct found rival;
	struct insertion in; /* not zeroed: it is large */

	insertion_resume(&in, seat, &where, entry_at, &words);
	ttm_search_key(&search, in.hook.process, &in.key);
	while (rival_next(&in, &search, &rival)) {
		if (is_later(&rival, &in.mine)) {
			found_end(&in.hook, &in.mine, TTM_FLAG_REPLACED,
				ttm_clock_now());
			return;
		}
		if (may_end(&in, &rival))
			found_end(&in.hook, &rival, TTM_FLAG_REPLACED,
				ttm_clock_now());
	}
}

/* -- kernels on places that overlap ---------------------------------------------------------- */

/*
 * The kernel of this key on another place, as far as it is on `where`: the same one is
 * dispatched there, another one leaves. Returns the devices that have been dispatched to.
 */
static uint64_t kernel_elsewhere(const struct ttm_hook *hook,
	const struct ttm_where *where, unsigned place,
	const struct ttm_object *object, uint64_t now)
{
	uint64_t members, left;
	struct ttm_words words;
	struct found found;
	struct ttm_key key;

	ttm_key_set(&key, place, object->figure, 0, object->id);
	words_fill(&words, hook->seat, object, place, 0);
	while (key_find(hook->process, &key, where->members, &found)) {
		members = found_current(hook->process, &found) & where->members;
		if (!members)
			return 0;
		ttm_lane_begin(hook->lane);
		if (words_are_same_kernel(&found.words, &words)) {
			dispatch_commit(hook,
				ttm_place_of(hook->process, members, true),
				members, found.words.w[1], object->id, now);
			return members;
		}
		if (found_leave(hook, &found, members, TTM_FLAG_REPLACED, now,
			    &left))
			return 0;
	}
	return 0;
}

/*
 * Other threads may have loaded the kernel at the same time, on places that overlap. Each
 * inserts its own and then looks for others: of two, the one in the higher slot stays on
 * the devices that they share.
 */
TTM_COLD void ttm_kernel_settle(
	struct ttm_seat *seat, struct ttm_where where, uint64_t kernel)
{
	const struct ttm_hook hook = ttm_hook_of(seat);
	struct ttm_process *process = hook.process;
	uint64_t members, left, now = ttm_clock_now();
	struct ttm_key own_key, key;
	struct ttm_overlap overlap;
	struct found own, other;
	unsigned place;

	ttm_key_set(&own_key, where.place, TTMEM_FIGURE_KERNEL, 0,
		kernel);
	ttm_overlap_start(&overlap, where.members, where.place);
	while ((place = ttm_overlap_next(process, &overlap))) {
		if (!key_find(process, &own_key, where.members, &own))
			return;
		members = found_current(process, &own);
		ttm_key_set(&key, place, TTMEM_FIGURE_KERNEL, 0,
			kernel);
		if (!members || !key_find(process, &key, members, &other))
			continue;
		members &= found_current(process, &other);
		if (!members)
			continue;
		ttm_lane_begin(hook.lane);
		if (!found_leave(&hook, own.slot < other.slot ? &own : &other,
			    members, TTM_FLAG_REPLACED, now, &left))
			ttm_noop_commit(&hook);
	}
}

TTM_SLOW void ttm_kernel_load_slow(
	struct ttm_seat *seat, struct ttm_where where, struct ttm_object object)
{
	const struct ttm_hook hook = ttm_hook_of(seat);
	uint64_t now = ttm_clock_now();
	struct ttm_overlap overlap;
	uint64_t members = where.members;
	unsigned place;

	if (!blocks_or_loss(
		    &hook, &where, object.figure, object.id, object.bytes))
		return;
	ttm_overlap_start(&overlap, where.members, 0);
	while (members && (place = ttm_overlap_next(hook.process, &overlap)))
		members &= ~kernel_elsewhere(
			&hook, &where, place, &object, now);
	if (ttm_load(&hook.lane->control->intent) != hook.lane->tail)
		ttm_noop_commit(&hook);
	if (!members)
		return;
	if (members != where.members) {
		where.members = members;
		where.place = ttm_place_of(hook.process, members, false);
	}
	ttm_insert_slow(seat, where, object);
	if (where.place)
		ttm_kernel_settle(seat, where, object.id);
}
