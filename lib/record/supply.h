/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Free slots: a few in each lane, the rest in one stack of batches. Batches move in
 * both directions, so that threads that only free feed threads that only allocate.
 * Lock-free; async-signal-safe (a nested hook uses no lane).
 */
#ifndef TTM_RECORD_SUPPLY_H
#define TTM_RECORD_SUPPLY_H

#include "record/process.h"

/* Reserves address space for the first slots; without it they are anywhere. */
void ttm_supply_init(struct ttm_process *process);
void ttm_supply_drop(struct ttm_process *process);

bool ttm_supply_refill(struct ttm_process *process, struct ttm_lane *lane);
void ttm_supply_spill(struct ttm_process *process, struct ttm_lane *lane);

/*
 * Fills the lane's cache to at least `slots` slots; returns false if the segment cannot
 * grow.
 */
bool ttm_supply_reserve(
	struct ttm_process *process, struct ttm_lane *lane, uint32_t slots);

/* Returns all slots of the lane, when its thread ends. */
void ttm_supply_return(struct ttm_process *process, struct ttm_lane *lane);

/*
 * Returns the slot that ttm_supply_take() would give; false if that would have to
 * refill.
 */
static inline bool ttm_supply_peek(const struct ttm_lane *lane,
	uint32_t *ret_slot, struct ttm_words **ret_at)
{
	if (TTM_UNLIKELY(lane->cache_len == 0))
		return false;
	*ret_slot = lane->cache[lane->cache_len - 1];
	*ret_at = lane->cache_at[lane->cache_len - 1];
	return true;
}

static inline void ttm_supply_take_peeked(struct ttm_lane *lane)
{
	lane->cache_len--;
}

/* Takes a slot; returns false if the segment cannot grow. */
static inline bool ttm_supply_take(
	struct ttm_process *process, struct ttm_lane *lane, uint32_t *ret_slot)
{
	if (TTM_UNLIKELY(lane->cache_len == 0) &&
		!ttm_supply_refill(process, lane))
		return false;
	*ret_slot = lane->cache[--lane->cache_len];
	return true;
}

static inline void ttm_supply_put(struct ttm_process *process,
	struct ttm_lane *lane, uint32_t slot, struct ttm_words *at)
{
	if (TTM_UNLIKELY(lane->cache_len == TTM_CACHE_LEN))
		ttm_supply_spill(process, lane);
	/* Store the slot before the length: see ttm_supply_spill. */
	lane->cache[lane->cache_len] = slot;
	lane->cache_at[lane->cache_len] = at;
	ttm_fence_signal();
	lane->cache_len++;
}

#endif
