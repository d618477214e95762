/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* The rare ways of CBs, and programs that end: see cb.h, plan.h. */
#include "record/cb.h"

#include "record/found.h"

/* -- it comes ------------------------------------------------------------------------- */

TTM_COLD void ttm_cb_withdraw(
	struct ttm_ticket ticket, struct ttm_words words, unsigned records)
{
	const struct ttm_hook hook = ttm_hook_of(ticket);
	uint32_t slot = TTM_W1_SLOT(words.w[1]);
	struct ttm_words *shared = ttm_slot_at(hook.process, slot);

	slot_free_claimed(shared, words.w[0]);
	free_write(ttm_lane_record(hook.lane, 0), TTM_FLAG_UNCOUNTED,
		ttm_clock_now(), &words);
	ttm_noops_write(hook.lane, 1, records);
	ttm_lane_end(hook.lane, records);
	ttm_supply_put(hook.process, hook.lane, slot, shared);
}

/* What the usual way does without: false if it cannot be had. */
static bool lane_prepare(const struct ttm_hook *hook, struct ttm_spot *spot)
{
	struct ttm_lane *lane = hook->lane;

	spot->block = ttm_lane_block(hook->process, lane, spot->entry);
	if (!lane->plans)
		ttm_plan_refill(hook->process, lane); /* only if it is new */
	return spot->block &&
		(lane->cache_len || ttm_supply_refill(hook->process, lane));
}

/* Into the plan of the lane's own that has it, else one that has not; or the first one. */
static bool cb_put_anywhere(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_draft *draft,
	const struct ttm_way *way, const uint64_t *now)
{
	uint64_t home = TTM_PLAN_HOME(hook->lane->number, spot->w1);
	const struct ttm_key *key = &way->key;
	struct ttm_planned planned;

	if (!ttm_index_has_other(
		    hook->process, key->bucket_hash, ttm_key_of_any(key), 0))
		return cb_put_new(hook, spot, draft, way, &planned, true, now);
	return (ttm_plan_find_own(hook, key, home, true, &planned) ||
		       (ttm_plan_find_own(hook, key, home, false, &planned) &&
			       ttm_plan_open(&planned, key))) &&
		cb_put_planned(hook, spot, draft, way, &planned, now);
}

/* If others are at it, or have a plan of the program, it goes the way of all objects. */
TTM_COLD void ttm_cb_put_rarely(struct ttm_ticket ticket, unsigned device,
	struct ttm_object object, uint64_t now)
{
	const struct ttm_hook hook = ttm_hook_of(ticket);
	struct ttm_draft draft;
	struct ttm_spot spot;
	struct ttm_way way;

	spot_set(&spot, &hook, device);
	draft_set(&draft, hook.seat, &object);
	way_set(&way, &hook, &draft.key, device);
	if (!lane_prepare(&hook, &spot) ||
		!cb_put_anywhere(&hook, &spot, &draft, &way, &now))
		ttm_put_carefully(ticket, device, object, now);
}

/* -- a program ends -------------------------------------------------------------------- */

/* One of a plan's CBs, which was taken out; returns its bytes. */
static TTM_INLINE uint64_t planned_remove(struct ttm_words *slot,
	struct ttm_words *record, uint64_t now, uint32_t *ret_slot)
{
	/* relaxed: nobody else writes them */
	uint64_t w0 = ttm_load(&slot->w[0]), w1 = ttm_load(&slot->w[1]);
	uint64_t bytes = object_bytes(TTMEM_FIGURE_CB, TTM_W1_FLAGS(w1),
		ttm_load(&slot->w[4]), TTM_W7_CORES(ttm_load(&slot->w[7])));
	ttm_pair w4 = ttm_pair_load(&slot->w[4]);
	ttm_pair w6 = ttm_pair_load(&slot->w[6]);

	*ret_slot = TTM_W1_SLOT(w1);
	/* relaxed: between the intent and the tail */
	ttm_pair_store(&record->w[0],
		ttm_pair_of(TTM_W0_FREE(w0),
			TTM_W1_AS_RECORD(w1, 0, TTM_RECORD_FREE)));
	ttm_pair_store(&record->w[2], ttm_pair_of(ttm_load(&slot->w[2]), now));
	ttm_pair_store(&record->w[4], w4);
	ttm_pair_store(&record->w[6], w6);
	slot_free_claimed(slot, w0);
	return bytes;
}

/* Room for the slots of a plan where the lane keeps free ones. */
static TTM_INLINE void lane_make_room(const struct ttm_hook *hook)
{
	while (TTM_UNLIKELY(
		hook->lane->cache_len + TTM_PLAN_LEN > TTM_CACHE_LEN))
		ttm_supply_spill(hook->process, hook->lane);
}

/*
 * All CBs of a plan, in one operation; false if others are at it. Their slots are written
 * where the lane keeps free ones, and are the lane's when the length says so.
 */
static TTM_INLINE bool plan_remove(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_planned *planned,
	uint64_t now)
{
	unsigned there = TTM_PLAN_THERE(planned->word), bits;
	struct ttm_lane *lane = hook->lane;
	struct ttm_words *record = ttm_lane_record(lane, 0), *slot;
	const struct ttm_words *end = lane->records + TTM_LANE_RECORDS;
	unsigned len = ttm_byte_bits(there);
	uint32_t kept = lane->cache_len;
	uint64_t bytes = 0;

	ttm_lane_begin_several(lane, len);
	if (!plan_take_out(planned->plan, planned->word, there)) {
		ttm_noops_write(lane, 0, len);
		ttm_lane_end(lane, len);
		return false;
	}
	TTM_TESTPOINT("taken out");
	for (bits = there; bits; bits &= bits - 1, kept++) {
		slot = plan_slot(planned->plan, planned->word,
			(unsigned)__builtin_ctz(bits));
		bytes += planned_remove(slot, record, now, &lane->cache[kept]);
		lane->cache_at[kept] = slot;
		if (TTM_UNLIKELY(++record == end))
			record = lane->records;
	}
	TTM_TESTPOINT("record written");
	ttm_account_free(spot->device, spot->block, TTMEM_FIGURE_CB, spot->era,
		len, bytes, false);
	TTM_TESTPOINT("free counted");
	ttm_lane_end(lane, len);
	ttm_fence_signal();
	lane->cache_len = kept;
	ttm_plan_end(hook->process, lane, planned->plan, planned->place);
	return true;
}

/* Whether it has CBs of the program on the device, of whatever epoch. */
static TTM_INLINE bool plan_is_of(
	const struct ttm_planned *planned, unsigned device, uint64_t program)
{
	/* relaxed: the word shows whether they are of one moment */
	return TTM_PLAN_THERE(planned->word) != 0 &&
		ttm_load(&planned->plan->program) == program &&
		TTM_W1_DEVICE(ttm_load(&planned->plan->home)) == device &&
		plan_entry_stands(planned->place, planned->entry);
}

/* One by one: they may be of an epoch that is over. */
static void plan_remove_each(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_planned *planned,
	uint64_t program, uint64_t now)
{
	struct ttm_found found;
	struct ttm_key key;
	uint64_t id;
	unsigned at;

	for (at = 0; at < TTM_PLAN_LEN; at++) {
		/* relaxed: compared again when it was found */
		id = ttm_load(&planned->plan->ids) * TTM_PLAN_LEN + at;
		ttm_key_set(&key, spot->entry, TTMEM_FIGURE_CB, program, id);
		while (ttm_plan_leads_to(hook->process, planned->place,
			planned->entry, &key, &found))
			ttm_found_end(hook, spot->block, &found, 0, now);
	}
}

/* A program with several plans, or whose bucket has others, too. */
static TTM_COLD void plans_remove_rarely(const struct ttm_hook *hook,
	unsigned device, uint64_t hash, uint64_t program, uint64_t now)
{
	struct ttm_planned planned;
	struct ttm_search search;
	struct ttm_spot spot;

	ttm_search_start(&search, hook->process, hash, 0);
	while ((planned.place = ttm_search_next(&search, &planned.entry))) {
		if (!(planned.entry & TTM_TAG_PLAN))
			continue;
		plan_read(hook->process, &planned);
		if (!plan_is_of(&planned, device, program))
			continue;
		/* The last one may have counted in a later era: never in an
		 * older one then. */
		spot_set(&spot, hook, device);
		lane_make_room(hook);
		if (!plan_is_on(&planned, spot.w1) ||
			!plan_remove(hook, &spot, &planned, now))
			plan_remove_each(hook, &spot, &planned, program, now);
	}
}

/* The only entry of its bucket; false says nothing. */
static TTM_INLINE bool plan_of_program(const struct ttm_process *process,
	const struct ttm_level *level, struct ttm_bucket *bucket,
	struct ttm_planned *ret_planned)
{
	ret_planned->place = &bucket->entries[0];
	/* pairs(index-entry): acquire, with ttm_bucket_put */
	ret_planned->entry = ttm_load_acquire(ret_planned->place);
	if (TTM_UNLIKELY(level->older || !(ret_planned->entry & TTM_TAG_PLAN) ||
		    !ttm_line_is_zero_from(bucket->entries, 1)))
		return false;
	plan_read(process, ret_planned);
	return true;
}

/* Whether the program has one plan, of the current epoch, and in the usual place. */
static TTM_INLINE bool program_find(const struct ttm_hook *hook,
	const struct ttm_spot *spot, uint64_t hash, uint64_t program,
	struct ttm_planned *ret_planned)
{
	const struct ttm_level *level = ttm_level_newest(hook->process);

	return TTM_LIKELY(plan_of_program(hook->process, level,
				  ttm_level_bucket(level, hash), ret_planned) &&
		plan_is_of(ret_planned, spot->entry, program) &&
		plan_is_on(ret_planned, spot->w1));
}

/* Where the kernel of that id is, if the index has it in the usual place; else NULL. */
static TTM_INLINE void kernel_point(const struct ttm_hook *hook,
	unsigned device, uint64_t kernel, struct ttm_way *ret_way,
	struct ttm_seen *ret_seen)
{
	struct ttm_key key;

	ttm_key_begin(&key, TTMEM_FIGURE_KERNEL, 0, kernel);
	way_set(ret_way, hook, &key, device);
	if (key_point(hook->process, ret_way->bucket, &ret_way->key, ret_seen))
		ttm_prefetch_write(ret_seen->shared);
	else
		ret_seen->shared = NULL;
}

/* It goes if it is there, and with it what an earlier epoch left of it. */
static TTM_INLINE void kernel_remove(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_way *way,
	struct ttm_seen *seen, uint64_t now)
{
	if (seen->shared && key_glance(&way->key, spot->era, seen)) {
		ttm_lane_begin(hook->lane);
		if (TTM_UNLIKELY(!seen_end(hook, spot, TTMEM_FIGURE_KERNEL,
			    way->key.id, now, seen)))
			ttm_noop_commit(hook);
	}
	if (TTM_UNLIKELY(
		    ttm_index_may_have(way->level, way->bucket, &way->key)))
		ttm_kernel_remove_rest(hook, spot, &way->key, now);
}

/* All is on its way before the clock is read, which holds up everything behind it. */
uint64_t ttm_cb_remove_program(const struct ttm_hook *hook, unsigned device,
	uint64_t program, const uint64_t *at)
{
	uint64_t hash = ttm_bucket_hash(program, TTMEM_FIGURE_CB, device), now;
	struct ttm_lane *lane = hook->lane;
	struct ttm_planned planned;
	struct ttm_seen kernel = { 0 };
	struct ttm_spot spot;
	struct ttm_way way;
	bool usual;

	spot_set(&spot, hook, device);
	spot.block = ttm_lane_block(hook->process, lane, device);
	if (!spot.block) {
		ttm_loss(hook, TTMEM_LOSS_NO_SLOT, device, TTM_FIGURE_NONE,
			program, 0);
		return event_time(at);
	}
	lane_make_room(hook);
	usual = program_find(hook, &spot, hash, program, &planned);
	kernel_point(hook, device, program, &way, &kernel);
	now = event_time(at);
	if (TTM_UNLIKELY(!usual || !plan_remove(hook, &spot, &planned, now))) {
		plans_remove_rarely(hook, device, hash, program, now);
		spot_set(&spot, hook, device); /* as there */
	}
	kernel_remove(hook, &spot, &way, &kernel, now);
	return now;
}

/* -- all of a device -------------------------------------------------------------------- */

/* A slot met in a scan: where it is found. */
static bool found_locate(struct ttm_process *process, struct ttm_found *found)
{
	struct ttm_words words = found->words;
	struct ttm_search search;
	struct ttm_key key;

	ttm_key_set_of(&key, &words);
	ttm_search_key(&search, process, &key);
	while (ttm_found_next(process, &search, &key, TTM_SLOT_NONE, found))
		if (found->words.w[0] == words.w[0] &&
			found->slot == TTM_W1_SLOT(words.w[1]))
			return true;
	return false; /* freed meanwhile, or not entered yet */
}

void ttm_cb_remove_all(
	const struct ttm_hook *hook, unsigned device, uint64_t now)
{
	struct ttm_block_device *block = ttm_lane_block(
		hook->process, hook->lane, device);
	uint32_t extent, i, slot;
	struct ttm_found found;

	if (!block) {
		ttm_loss(hook, TTMEM_LOSS_NO_SLOT, device, TTMEM_FIGURE_CB, 0,
			0);
		return;
	}
	for (extent = 0; extent < TTM_SLOT_EXTENTS_MAX; extent++) {
		if (!ttm_pointer_load(&hook->process->slots[extent]))
			continue;
		for (i = 0; i < TTM_SLOTS_PER_EXTENT; i++) {
			slot = extent * TTM_SLOTS_PER_EXTENT + i;
			if (slot_read(hook->process, slot, &found.words) &&
				TTM_W1_KEY(found.words.w[1]) ==
					(TTMEM_FIGURE_CB << 6 | device) &&
				found_locate(hook->process, &found))
				ttm_found_end(hook, block, &found, 0, now);
		}
	}
}
