/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Free slots: a few in each lane, the rest in one stack of batches, and octets in another
 * one. Batches go both ways, so that threads which only free feed threads which only
 * allocate. Octets become slots where the segment cannot grow, and slots never octets.
 * Lock-free; async-signal-safe (a nested hook uses no lane).
 */
#ifndef TTM_RECORD_SUPPLY_H
#define TTM_RECORD_SUPPLY_H

#include "record/process.h"

/* Sets address space apart for the first slots; without it they are anywhere. */
void ttm_supply_init(struct ttm_process *process);
void ttm_supply_drop(struct ttm_process *process);

bool ttm_supply_refill(struct ttm_process *process, struct ttm_lane *lane);
void ttm_supply_spill(struct ttm_process *process, struct ttm_lane *lane);

/* Octets, eight slots next to each other, come and go one by one: see group.h. */
bool ttm_octet_refill(struct ttm_process *process, struct ttm_lane *lane);
void ttm_octet_spill(struct ttm_process *process, struct ttm_lane *lane);

/* All that the lane has goes back: its thread ends. */
void ttm_supply_return(struct ttm_process *process, struct ttm_lane *lane);

/* The slot that ttm_supply_take() would give; false if it would have to refill. */
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

/* False if the segment cannot grow. */
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
	/* The slot before the length: see ttm_supply_spill. */
	lane->cache[lane->cache_len] = slot;
	lane->cache_at[lane->cache_len] = at;
	ttm_fence_signal();
	lane->cache_len++;
}

/* The first slot of one; false if the segment cannot grow. */
static inline bool ttm_octet_take(
	struct ttm_process *process, struct ttm_lane *lane, uint32_t *ret_base)
{
	if (TTM_UNLIKELY(lane->octets_len == 0) &&
		!ttm_octet_refill(process, lane))
		return false;
	*ret_base = lane->octets[--lane->octets_len];
	return true;
}

static inline void ttm_octet_put(
	struct ttm_process *process, struct ttm_lane *lane, uint32_t base)
{
	if (TTM_UNLIKELY(lane->octets_len == TTM_OCTETS_LEN))
		ttm_octet_spill(process, lane);
	lane->octets[lane->octets_len] = base;
	ttm_fence_signal();
	lane->octets_len++;
}

/*
 * The word of an octet: see group.h. It is kept where the links of its second slot would
 * be: an octet is linked by its first.
 */
static inline uint64_t *ttm_octet_word(
	struct ttm_process *process, uint32_t base)
{
	struct ttm_link *links = ttm_pointer_load(
		&process->links[base / TTM_SLOTS_PER_EXTENT]);

	return (uint64_t *)(void *)&links[base % TTM_SLOTS_PER_EXTENT + 1];
}

#endif
