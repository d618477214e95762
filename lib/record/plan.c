/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#include "record/plan.h"

#define PLANS_PER_REFILL 32u
#define REGION_SIZE (TTM_PLANS_PER_REGION * sizeof(struct ttm_plan))

/* -- free ones ------------------------------------------------------------------------ */

static bool region_make(struct ttm_process *process, uint32_t number)
{
	void **place = &process->plans[number / TTM_PLANS_PER_REGION];
	void *region;

	if (ttm_pointer_load(place))
		return true;
	region = ttm_private_memory(REGION_SIZE);
	if (region && !ttm_pointer_set_once(place, region))
		ttm_private_memory_drop(region, REGION_SIZE);
	return region != NULL;
}

/* What others gave back, all of it at once. */
static bool lane_take_back(struct ttm_lane *lane)
{
	uint64_t head;

	do
		/* pairs(plan-back): acquire, with ttm_plan_give_back */
		head = ttm_load_acquire(&lane->plans_back);
	while (head && !ttm_cas(&lane->plans_back, head, 0));
	lane->plans = (uint32_t)head;
	return head != 0;
}

TTM_COLD bool ttm_plan_refill(
	struct ttm_process *process, struct ttm_lane *lane)
{
	struct ttm_plan *plan;
	uint64_t number, end;

	if (lane_take_back(lane))
		return true;
	do {
		number = ttm_load(&process->plans_len); /* relaxed: the CAS */
		/* First the memory: numbers are not to be had again. */
		if (number >= TTM_PLANS_MAX ||
			!region_make(process, (uint32_t)number))
			return false;
		end = number + PLANS_PER_REFILL;
		/* pairs(plan-number): full, with the same line of others */
	} while (!ttm_cas(&process->plans_len, number, end));
	/* The lowest first. */
	while (end-- > number) {
		plan = ttm_plan_at(process, (uint32_t)end);
		plan->number = (uint32_t)end;
		plan->next = lane->plans;
		ttm_store(&plan->home, TTM_PLAN_HOME(lane->number, 0));
		ttm_fence_signal();
		lane->plans = (uint32_t)end + 1;
	}
	return true;
}

TTM_COLD void ttm_plan_give_back(
	struct ttm_process *process, struct ttm_plan *plan)
{
	struct ttm_lane
		*lane = &process->lanes[TTM_PLAN_LANE(ttm_load(&plan->home))];
	uint64_t head;

	do {
		head = ttm_load(&lane->plans_back); /* relaxed: the CAS */
		plan->next = (uint32_t)head;
		/* pairs(plan-back): full, with lane_take_back. It takes all,
		 * so that a head that came back means the same. */
	} while (!ttm_cas(&lane->plans_back, head, plan->number + 1));
}

/* -- found by a search ------------------------------------------------------------------ */

bool ttm_plan_leads_to(const struct ttm_process *process, uint64_t *place,
	uint64_t entry, const struct ttm_key *key, struct ttm_found *ret_found)
{
	struct ttm_planned planned = { .place = place, .entry = entry };
	unsigned at = key->id % TTM_PLAN_LEN;
	const struct ttm_words *slot;

	plan_read(process, &planned);
	if (!TTM_PLAN_HAS(planned.word, at) ||
		!plan_has_key(&planned, key->program, key->id))
		return false;
	ret_found->place = place;
	ret_found->plan = planned.plan;
	ret_found->octet = 0;
	slot = plan_slot(planned.plan, planned.word, at);
	if (!slot_copy(slot, &ret_found->words) ||
		!words_have_key(&ret_found->words, key))
		return false;
	ret_found->slot = TTM_W1_SLOT(ret_found->words.w[1]);
	return plan_entry_stands(place, entry);
}

bool ttm_plan_has(struct ttm_process *process, const struct ttm_found *found,
	uint64_t *ret_word)
{
	const struct ttm_words *slot = ttm_slot_at(process, found->slot);
	unsigned at = found->words.w[2] % TTM_PLAN_LEN;

	/* pairs(plan): acquire, with whoever takes it out: that comes before
	 * the slot is freed, and used again */
	*ret_word = ttm_load_acquire(&found->plan->word);
	/* relaxed: after the word, before the CAS of whoever takes it out */
	return TTM_PLAN_HAS(*ret_word, at) &&
		plan_slot(found->plan, *ret_word, at) == slot &&
		ttm_load(&slot->w[0]) == found->words.w[0];
}

bool ttm_plan_take_found(
	const struct ttm_hook *hook, const struct ttm_found *found)
{
	unsigned bit = 1u << found->words.w[2] % TTM_PLAN_LEN;
	uint64_t word;

	do
		if (!ttm_plan_has(hook->process, found, &word))
			return false;
	while (!plan_take_out(found->plan, word, bit));
	TTM_TESTPOINT("taken out");
	if (TTM_PLAN_THERE(word) == bit)
		ttm_plan_end(
			hook->process, hook->lane, found->plan, found->place);
	return true;
}

/* -- CBs come in ---------------------------------------------------------------------- */

bool ttm_plan_find_own(const struct ttm_hook *hook, const struct ttm_key *key,
	uint64_t home, bool has, struct ttm_planned *ret_planned)
{
	uint64_t tag = has ? ttm_key_wanted(key) : ttm_key_of_any(key);
	unsigned at = key->id % TTM_PLAN_LEN;
	struct ttm_planned planned;
	struct ttm_search search;

	ttm_search_start(&search, hook->process, key->bucket_hash, tag);
	while ((planned.place = ttm_search_next(&search, &planned.entry))) {
		plan_read(hook->process, &planned);
		if (plan_is_own(&planned, home, key->program, key->id) &&
			TTM_PLAN_HAS(planned.word, at) == has) {
			*ret_planned = planned;
			return true;
		}
	}
	return false;
}

bool ttm_plan_open(struct ttm_planned *planned, const struct ttm_key *key)
{
	uint64_t open = planned->entry |
		TTM_TAG_MAY_HAVE(key->id % TTM_PLAN_LEN);

	/* pairs(index-entry): full, with whoever looks for that CB: before it is
	 * in. Nobody but us enters the plan again once it was cleared. */
	if (open != planned->entry &&
		!ttm_cas(planned->place, planned->entry, open))
		return false;
	planned->entry = open;
	return true;
}

void ttm_plan_narrow(
	const struct ttm_plan *plan, uint64_t *place, const struct ttm_key *key)
{
	uint64_t all = ttm_entry(key, plan->number);
	/* relaxed: nobody but us puts further ones in */
	uint64_t there = TTM_PLAN_THERE(ttm_load(&plan->word));

	/* pairs(index-entry): full, with whoever looks for what is in. It fails
	 * if the plan has ended, as above. */
	if (ttm_load(place) == all) /* relaxed: the CAS */
		ttm_cas(place, all, (all & ~TTM_TAG_MAY) | there << 24);
}

/* Into a plan of the lane's own that is there, and has not that CB. */
static bool own_plan_add(const struct ttm_hook *hook, const struct ttm_key *key,
	uint64_t home, struct ttm_found *found)
{
	unsigned at = key->id % TTM_PLAN_LEN;
	struct ttm_planned planned;

	do
		if (!ttm_plan_find_own(hook, key, home, false, &planned))
			return false;
	while (!ttm_plan_open(&planned, key) ||
		!ttm_plan_add(planned.plan, planned.word, at,
			ttm_slot_at(hook->process, found->slot),
			TTM_W1_TURN(found->words.w[1])));
	found->plan = planned.plan;
	found->place = planned.place;
	return true;
}

void ttm_plan_announce(struct ttm_process *process)
{
	/* pairs(plan-meet): full, with plan_may_meet: before it looks */
	ttm_cas(&process->plans_meet, 0, 1);
	ttm_fence_after_cas();
}

TTM_COLD void ttm_plan_entered(const struct ttm_hook *hook,
	const struct ttm_key *key, const struct ttm_plan *plan)
{
	if (!ttm_index_has_other(hook->process, key->bucket_hash,
		    ttm_key_of_any(key), ttm_entry(key, plan->number)))
		return;
	ttm_plan_announce(hook->process);
}

bool ttm_plan_enter(const struct ttm_hook *hook, const struct ttm_key *key,
	struct ttm_found *found)
{
	uint64_t w1 = found->words.w[1], word;
	uint64_t home = TTM_PLAN_HOME(hook->lane->number, w1 & TTM_W1_OWNER);
	struct ttm_plan *fresh = found->plan;

	if (own_plan_add(hook, key, home, found)) {
		ttm_plan_put(hook->lane, fresh);
		return true;
	}
	word = ttm_plan_fill(fresh, home, key->program, key->id,
		ttm_slot_at(hook->process, found->slot), TTM_W1_TURN(w1));
	ttm_plan_show(fresh, word);
	found->place = ttm_index_insert(hook->process, key->bucket_hash,
		ttm_key_wanted(key) | fresh->number);
	if (found->place)
		ttm_plan_entered(hook, key, fresh);
	return found->place != NULL;
}
