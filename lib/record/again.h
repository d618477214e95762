/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Objects that are often live when they are allocated: a kernel that is dispatched again,
 * a CB that is replaced. These look up the key before they insert. Inlined into the
 * hooks, as object.h is.
 */
#ifndef TTM_RECORD_AGAIN_H
#define TTM_RECORD_AGAIN_H

#include "record/object.h"

/* A kernel that is the same in all respects: loading it is a dispatch. */
static TTM_INLINE bool kernel_is_same(uint64_t w1, uint64_t w4, uint64_t w7,
	unsigned figure, unsigned flags, uint64_t size, uint32_t cores)
{
	return TTM_W1_FIGURE(w1) == figure && w4 == size &&
		TTM_W7_CORES(w7) == cores &&
		((TTM_W1_FLAGS(w1) ^ flags) & TTM_FLAG_IN_RING) == 0;
}

static TTM_INLINE void dispatch_commit(const struct ttm_hook *hook,
	struct ttm_block_device *block, uint64_t w1, uint64_t id, uint64_t now)
{
	const struct ttm_words words = { {
		[2] = id,
		[7] = TTM_W7(ttm_scope_now(hook->seat).name, 0, 0),
	} };

	ttm_own_add(
		&block->dispatches[TTM_W1_FIGURE(w1) - TTMEM_FIGURE_KERNEL], 1);
	TTM_TESTPOINT("dispatch counted");
	ttm_record_write(ttm_lane_record(hook->lane, 0), 0,
		TTM_W1(TTM_W1_SLOT(w1), TTM_W1_EPOCH(w1), TTM_W1_DEVICE(w1),
			TTM_W1_FIGURE(w1), 0, TTM_RECORD_DISPATCH),
		now, &words);
	ttm_lane_end(hook->lane, 1);
}

/* Whether it was one; false says nothing. `seen` points to its slot. */
static TTM_INLINE bool kernel_dispatched(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_object *object,
	const struct ttm_key *key, struct ttm_seen *seen, uint64_t now)
{
	uint64_t w4, w7;

	if (TTM_UNLIKELY(!spot->block || !key_glance(key, spot->era, seen)))
		return false;
	w4 = ttm_load(&seen->shared->w[4]);
	w7 = ttm_load(&seen->shared->w[7]);
	/* pairs(slot-reuse): acquire, with slot_begin, as in slot_read */
	ttm_fence_acquire();
	if (!kernel_is_same(seen->w1, w4, w7, object->figure, object->flags,
		    object->size, object->cores) ||
		ttm_load(&seen->shared->w[0]) != seen->w0)
		return false;
	ttm_lane_begin(hook->lane);
	dispatch_commit(hook, spot->block, seen->w1, object->id, now);
	return true;
}

/*
 * One that is live already is usual, and so it looks first: behind the clock, where the
 * bucket has arrived meanwhile, but before it if the last one was new, for then this one
 * will be, too. The clock is read again if that was wrong.
 */
static TTM_INLINE void kernel_put(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_object *object,
	const struct ttm_way *way, const uint64_t *at)
{
	bool is_new = hook->lane->kernels_are_new;
	struct ttm_draft draft;
	struct ttm_seen seen;
	uint64_t now = 0;

	if (!is_new) {
		/* Only read: it may stay in the caches of others, too. */
		__builtin_prefetch(way->bucket);
		now = event_time(at);
	}
	if (!key_point(hook->process, way->bucket, &way->key, &seen)) {
		hook->lane->kernels_are_new = true;
		draft_fill(&draft, hook->seat, object);
		put_boldly(hook, spot, object, &draft, way, at);
		return;
	}
	if (is_new) {
		hook->lane->kernels_are_new = false;
		now = event_time(at);
	}
	if (!kernel_dispatched(hook, spot, object, &way->key, &seen, now))
		ttm_put_carefully(
			hook->seat, spot->entry, object_copy(object), now);
}

/*
 * Replaces the CB that `seen` points to: the new slot goes live and gets an index entry,
 * then the old slot is freed. Returns false if the CB that was seen is gone, and nothing
 * has happened.
 */
static TTM_INLINE bool cb_replace(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_draft *draft,
	const struct ttm_way *way, struct ttm_seen *seen, const uint64_t *at)
{
	struct ttm_lane *lane = hook->lane;
	struct ttm_words *record = ttm_lane_record(lane, 0), *second, *shared;
	uint32_t slot, old_slot = ttm_entry_slot(seen->entry);
	struct ttm_words words = draft->words;
	uint64_t *place, entry;
	struct ttm_rest old;

	if (TTM_UNLIKELY(!spot->block ||
		    !ttm_supply_peek(lane, &slot, &shared) ||
		    !key_glance(&way->key, spot->era, seen)))
		return false;
	ttm_prefetch_write(shared);
	entry = ttm_entry(&way->key, slot);
	words.w[1] = draft_w1(
		draft, spot, slot, (uint8_t)(TTM_W1_TURN(seen->w1) + 1));
	ttm_supply_take_peeked(lane);
	ttm_lane_begin(lane);
	slot_begin(shared, &words);
	words.w[6] = event_time(at);
	slot_end(shared, &words);
	place = ttm_bucket_put(way->bucket, entry);
	TTM_TESTPOINT("index entered");
	slot_rest(&old, seen, TTMEM_FIGURE_CB);
	if (TTM_UNLIKELY(!place || !seen_free(seen))) {
		ttm_put_settle(hook->seat, spot->era, place, words_copy(&words),
			seen->w0, old_slot);
		return true;
	}
	ttm_lane_begin_several(lane, 2);
	ttm_account_replace(spot->device, spot->block, TTMEM_FIGURE_CB,
		spot->era, old.bytes, draft->bytes);
	TTM_TESTPOINT("replacement counted");
	rest_write(record, TTM_FLAG_REPLACED, draft->key.id, words.w[6], seen,
		&old);
	second = ttm_lane_record_after(lane, record);
	alloc_begin(second, 0, &words);
	ttm_record_end(second, &words);
	ttm_lane_end(lane, 2);
	ttm_supply_put(hook->process, lane, old_slot, seen->shared);
	if (TTM_UNLIKELY(ttm_index_may_have_other(hook->process, way->level,
		    way->bucket, &way->key, place, entry)))
		ttm_put_met(hook->seat, spot->era, place, words_copy(&words));
	return true;
}

/* Whether an entry that may be the CB's is in an overflow line or in an older level. */
static TTM_INLINE bool cb_is_elsewhere(
	const struct ttm_hook *hook, const struct ttm_way *way)
{
	/* relaxed: a CB that another thread inserts now is found after ours */
	return TTM_UNLIKELY(way->level->older ||
		       ttm_load(&way->bucket->next) != 0) &&
		ttm_index_has_other(
			hook->process, way->key.bucket_hash, way->key.tag, 0);
}

static TTM_INLINE void cb_put(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_object *object,
	const struct ttm_draft *draft, const struct ttm_way *way,
	const uint64_t *at)
{
	struct ttm_seen seen;

	bool found = key_point(hook->process, way->bucket, &way->key, &seen);

	if (!found && !cb_is_elsewhere(hook, way))
		put_boldly(hook, spot, object, draft, way, at);
	else if (TTM_UNLIKELY(!found ||
			 !cb_replace(hook, spot, draft, way, &seen, at)))
		ttm_put_carefully(hook->seat, spot->entry, object_copy(object),
			event_time(at));
}

static TTM_INLINE void ttm_object_put(const struct ttm_hook *hook,
	unsigned device, const struct ttm_object *object,
	const struct ttm_draft *draft, const uint64_t *now)
{
	struct ttm_spot spot;
	struct ttm_way way;

	spot_set(&spot, hook, device);
	way_set(&way, hook, &draft->key, device);
	if (object->figure < TTMEM_FIGURE_CB)
		put_boldly(hook, &spot, object, draft, &way, now);
	else if (object->figure == TTMEM_FIGURE_CB)
		cb_put(hook, &spot, object, draft, &way, now);
	else
		kernel_put(hook, &spot, object, &way, now);
}

#endif
