/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * CBs come, are planned anew and go: the usual ways, inlined into the hooks, as object.h
 * is. Where they are found is in plan.h.
 */
#ifndef TTM_RECORD_CB_H
#define TTM_RECORD_CB_H

#include "record/object.h"
#include "record/plan.h"

/* The whole of it, where the usual way below does not go. */
void ttm_cb_put_rarely(struct ttm_ticket ticket, unsigned device,
	struct ttm_object object, uint64_t now);

/*
 * It is live, and came into no plan: it is given up, and ends the operation, for which so
 * many records were promised.
 */
void ttm_cb_withdraw(
	struct ttm_ticket ticket, struct ttm_words words, unsigned records);

/*
 * All CBs of a program, and its kernel; all CBs of a device. `at`: see event_time;
 * returns the time.
 */
uint64_t ttm_cb_remove_program(const struct ttm_hook *hook, unsigned device,
	uint64_t program, const uint64_t *at);
void ttm_cb_remove_all(
	const struct ttm_hook *hook, unsigned device, uint64_t now);

/* -- it comes ------------------------------------------------------------------------- */

/* Where a CB goes: into a plan of the lane's own, a new one where `planned` says none. */
static TTM_INLINE bool cb_enter(const struct ttm_way *way,
	struct ttm_planned *planned, bool is_new, unsigned at,
	struct ttm_words *slot)
{
	if (is_new)
		/* NULL if the bucket is full, or contended. */
		planned->place = ttm_bucket_put(way->bucket, planned->entry);
	else if (TTM_UNLIKELY(!ttm_plan_add(
			 planned->plan, planned->word, at, slot, 0)))
		return false;
	TTM_TESTPOINT("index entered");
	return true;
}

/*
 * One that was not there. As put_boldly() in object.h: all that can be written before the
 * clock is read is written then. False if nothing has happened.
 */
static TTM_INLINE bool cb_put_new(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_draft *draft,
	const struct ttm_way *way, struct ttm_planned *planned, bool is_new,
	const uint64_t *now)
{
	struct ttm_words *record = ttm_lane_record(hook->lane, 0), *shared;
	unsigned at = draft->key.id % TTM_PLAN_LEN;
	struct ttm_words words = draft->words;
	struct ttm_lane *lane = hook->lane;
	uint32_t slot;

	if (TTM_UNLIKELY(
		    !spot->block || !ttm_supply_peek(lane, &slot, &shared)))
		return false;
	if (is_new) {
		ttm_prefetch_write(way->bucket);
		if (TTM_UNLIKELY(lane->plans == 0))
			return false;
		ttm_plan_take(hook->process, lane, &planned->plan);
		planned->entry = ttm_entry(&way->key, planned->plan->number);
	}
	ttm_prefetch_write(shared);
	words.w[1] = draft_w1(draft, spot, slot, 0);
	ttm_supply_take_peeked(lane);
	ttm_lane_begin(lane);
	slot_begin(shared, &words);
	alloc_begin(record, 0, &words);
	if (is_new)
		planned->word = ttm_plan_fill(planned->plan,
			TTM_PLAN_HOME(lane->number, spot->w1),
			draft->key.program, draft->key.id, shared, 0);
	words.w[6] = event_time(now);
	ttm_record_end(record, &words);
	slot_end(shared, &words);
	if (is_new)
		ttm_plan_show(planned->plan, planned->word);
	if (TTM_UNLIKELY(!cb_enter(way, planned, is_new, at, shared))) {
		ttm_cb_withdraw(ttm_ticket(hook), words_copy(&words), 1);
		return false;
	}
	if (TTM_UNLIKELY(!planned->place ||
		    ((is_new || plan_may_meet(hook->process)) &&
			    plan_may_have_other(hook->process, way->level,
				    way->bucket, &way->key, planned)))) {
		ttm_put_meets(ttm_ticket(hook), spot->era, planned->place,
			planned->plan);
		return true;
	}
	ttm_account_alloc(spot->device, spot->block, TTMEM_FIGURE_CB, spot->era,
		draft->bytes);
	TTM_TESTPOINT("alloc counted");
	ttm_lane_end(lane, 1);
	return true;
}

/* What was taken out of its plan: nobody else has it. */
static TTM_INLINE void cb_see(struct ttm_words *slot, struct ttm_seen *ret_seen,
	struct ttm_rest *ret_rest)
{
	ret_seen->shared = slot;
	/* relaxed: nobody writes them */
	ret_seen->w0 = ttm_load(&slot->w[0]);
	ret_seen->w1 = ttm_load(&slot->w[1]);
	slot_rest(ret_rest, ret_seen, TTMEM_FIGURE_CB);
}

/* One that is there is planned anew. False if nothing has happened. */
static TTM_INLINE bool cb_replace(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_draft *draft,
	const struct ttm_way *way, struct ttm_planned *planned,
	const uint64_t *at_time)
{
	struct ttm_lane *lane = hook->lane;
	struct ttm_words *record = ttm_lane_record(lane, 0), *second;
	unsigned at = draft->key.id % TTM_PLAN_LEN;
	struct ttm_words words = draft->words, *shared, *before;
	struct ttm_seen seen;
	struct ttm_rest old;
	uint32_t slot;
	uint64_t now;
	uint8_t turn;

	if (TTM_UNLIKELY(
		    !spot->block || !ttm_supply_peek(lane, &slot, &shared)))
		return false;
	before = plan_slot(planned->plan, planned->word, at);
	turn = plan_turn(planned->plan, planned->word, at) + 1;
	ttm_prefetch_write(before);
	ttm_prefetch_write(shared);
	words.w[1] = draft_w1(draft, spot, slot, turn);
	ttm_supply_take_peeked(lane);
	ttm_lane_begin_several(lane, 2);
	now = event_time(at_time);
	slot_begin(shared, &words);
	words.w[6] = now;
	slot_end(shared, &words);
	if (TTM_UNLIKELY(!ttm_plan_turn(
		    planned->plan, planned->word, at, shared, turn))) {
		ttm_cb_withdraw(ttm_ticket(hook), words_copy(&words), 2);
		return false;
	}
	TTM_TESTPOINT("plan turned");
	/* While the old one's slot is on its way. */
	second = ttm_lane_record_after(lane, record);
	alloc_begin(second, 0, &words);
	ttm_record_end(second, &words);
	cb_see(before, &seen, &old);
	slot_free_claimed(seen.shared, seen.w0);
	ttm_account_replace(spot->device, spot->block, TTMEM_FIGURE_CB,
		spot->era, old.bytes, draft->bytes);
	TTM_TESTPOINT("replacement counted");
	rest_write(record, TTM_FLAG_REPLACED, draft->key.id, now, &seen, &old);
	ttm_lane_end(lane, 2);
	ttm_supply_put(hook->process, lane, TTM_W1_SLOT(seen.w1), seen.shared);
	if (plan_may_meet(hook->process) &&
		plan_may_have_other(hook->process, way->level, way->bucket,
			&way->key, planned))
		ttm_put_met(ttm_ticket(hook), spot->era, planned->place,
			planned->plan, words_copy(&words));
	return true;
}

/* Into a plan of the lane's own. */
static TTM_INLINE bool cb_put_planned(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_draft *draft,
	const struct ttm_way *way, struct ttm_planned *planned,
	const uint64_t *now)
{
	if (TTM_PLAN_HAS(planned->word, draft->key.id % TTM_PLAN_LEN))
		return cb_replace(hook, spot, draft, way, planned, now);
	return cb_put_new(hook, spot, draft, way, planned, false, now);
}

static TTM_INLINE bool cb_put_usual(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_draft *draft,
	const struct ttm_way *way, const uint64_t *now)
{
	struct ttm_planned planned;
	bool others;

	if (!plan_point(
		    hook->process, way->bucket, &way->key, &planned, &others))
		/* relaxed: where it may be elsewhere it is looked for, and who
		 * comes at once is found after */
		return TTM_LIKELY(!others && !way->level->older &&
			       ttm_load(&way->bucket->next) == 0) &&
			cb_put_new(hook, spot, draft, way, &planned, true, now);
	return plan_is_own(&planned,
		       TTM_PLAN_HOME(hook->lane->number, spot->w1),
		       draft->key.program, draft->key.id) &&
		cb_put_planned(hook, spot, draft, way, &planned, now);
}

static TTM_INLINE void cb_put(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_object *object,
	const struct ttm_draft *draft, const struct ttm_way *way,
	const uint64_t *now)
{
	if (TTM_UNLIKELY(!cb_put_usual(hook, spot, draft, way, now)))
		ttm_cb_put_rarely(ttm_ticket(hook), spot->entry,
			object_copy(object), event_time(now));
}

/* -- it goes -------------------------------------------------------------------------- */

/* In an operation that has begun; false if nothing has happened. */
static TTM_INLINE bool cb_remove_usual(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_way *way,
	const uint64_t *at)
{
	const struct ttm_key *key = &way->key;
	unsigned bit = 1u << key->id % TTM_PLAN_LEN;
	struct ttm_planned planned;
	struct ttm_seen seen;
	struct ttm_rest rest;
	struct ttm_words *slot;
	uint64_t now;
	bool others;

	if (TTM_UNLIKELY(!spot->block ||
		    !plan_point(hook->process, way->bucket, key, &planned,
			    &others) ||
		    !(planned.word & bit) ||
		    !plan_has_key(&planned, key->program, key->id) ||
		    !plan_is_on(&planned, spot->w1) ||
		    !plan_entry_stands(planned.place, planned.entry)))
		return false;
	slot = plan_slot(planned.plan, planned.word, key->id % TTM_PLAN_LEN);
	ttm_prefetch_write(slot);
	now = event_time(at);
	if (TTM_UNLIKELY(!plan_take_out(planned.plan, planned.word, bit)))
		return false;
	TTM_TESTPOINT("taken out");
	cb_see(slot, &seen, &rest);
	slot_free_claimed(seen.shared, seen.w0);
	ttm_account_free(spot->device, spot->block, TTMEM_FIGURE_CB, spot->era,
		1, rest.bytes, false);
	TTM_TESTPOINT("free counted");
	rest_write(
		ttm_lane_record(hook->lane, 0), 0, key->id, now, &seen, &rest);
	ttm_lane_end(hook->lane, 1);
	ttm_supply_put(
		hook->process, hook->lane, TTM_W1_SLOT(seen.w1), seen.shared);
	if (TTM_PLAN_THERE(planned.word) == bit)
		ttm_plan_end(
			hook->process, hook->lane, planned.plan, planned.place);
	return true;
}

/* `key` is on no device yet. */
static TTM_INLINE void ttm_cb_remove(const struct ttm_hook *hook,
	unsigned device, const struct ttm_key *key, const uint64_t *at)
{
	struct ttm_spot spot;
	struct ttm_way way;

	spot_set(&spot, hook, device);
	way_set(&way, hook, key, device);
	__builtin_prefetch(way.bucket);
	ttm_lane_begin(hook->lane);
	if (TTM_UNLIKELY(!cb_remove_usual(hook, &spot, &way, at)))
		ttm_remove_rarely(ttm_ticket(hook), device, TTMEM_FIGURE_CB,
			key->program, key->id);
}

#endif
