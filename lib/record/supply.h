/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Free slots: a few in each ring, the rest in one stack of batches. Batches move in
 * both directions, so that threads that only free feed threads that only allocate.
 * Lock-free; async-signal-safe (a nested hook uses no ring).
 */
#ifndef TTM_RECORD_SUPPLY_H
#define TTM_RECORD_SUPPLY_H

#include "record/process.h"

/* Reserves address space for all slots; returns false if there is none. */
bool ttm_supply_init(struct ttm_process *process);
void ttm_supply_drop(struct ttm_process *process);

/* Adds a batch to the cache, which has room for it; false: the segment cannot grow. */
bool ttm_supply_refill(struct ttm_ring *ring);
void ttm_supply_spill(struct ttm_ring *ring);

/*
 * Fills the ring's cache to at least `slots` slots; returns false if the segment cannot
 * grow.
 */
bool ttm_supply_reserve(struct ttm_ring *ring, uint32_t slots);

/* Returns all slots of the ring, when its thread ends. */
void ttm_supply_return(struct ttm_ring *ring);

/*
 * Returns the slot that ttm_supply_take() would give; false if that would have to
 * refill.
 */
static inline bool ttm_supply_peek(const struct ttm_ring *ring,
	uint32_t *ret_slot, struct ttm_words **ret_at)
{
	if (TTM_UNLIKELY(ring->cache_len == 0))
		return false;
	*ret_slot = ring->cache[ring->cache_len - 1];
	*ret_at = ring->cache_at[ring->cache_len - 1];
	return true;
}

static inline void ttm_supply_take_peeked(struct ttm_ring *ring)
{
	ring->cache_len--;
}

/* Takes a slot; returns false if the segment cannot grow. */
static inline bool ttm_supply_take(struct ttm_ring *ring, uint32_t *ret_slot)
{
	if (TTM_UNLIKELY(ring->cache_len == 0) && !ttm_supply_refill(ring))
		return false;
	*ret_slot = ring->cache[--ring->cache_len];
	return true;
}

static inline void ttm_supply_put(
	struct ttm_ring *ring, uint32_t slot, struct ttm_words *at)
{
	if (TTM_UNLIKELY(ring->cache_len == TTM_CACHE_LEN))
		ttm_supply_spill(ring);
	/* Store the slot before the length: see ttm_supply_spill. */
	ring->cache[ring->cache_len] = slot;
	ring->cache_at[ring->cache_len] = at;
	ttm_fence_signal();
	ring->cache_len++;
}

#endif
