/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Counters of a lane, and peaks of a device.
 *
 * Live bytes are kept per lane and folded into the device's total once they have
 * moved by 64 KiB, so that small objects share no cache line between threads; L1_SMALL
 * by 4 KiB, for the region is small, too. Each lane keeps its highest value since the
 * last fold: a fold proposes it as part of a peak, and a reader adds it.
 *
 * The live part belongs to an era of the device: closing it starts a new epoch at
 * 0, resetting peaks starts a new peak generation at what is live. A lane notices
 * with its next event; until then its block says by its era that it is old.
 */
#ifndef TTM_RECORD_ACCOUNT_H
#define TTM_RECORD_ACCOUNT_H

#include "record/process.h"

#define TTM_FOLD_BYTES 65536
#define TTM_FOLD_L1_SMALL_BYTES 4096

void ttm_block_new_era(struct ttm_block_device *block, uint64_t era);
void ttm_peak_propose(struct ttm_device *device, unsigned figure, uint64_t era,
	int64_t bytes);
void ttm_fold(struct ttm_device *device, struct ttm_counters *counters,
	unsigned figure, uint64_t era);

static inline uint64_t ttm_device_era(const struct ttm_device *device)
{
	/* relaxed: an event that races with a close falls on either side */
	return ttm_load(&device->era);
}

/*
 * The counters of a figure. Worked out once: a compiler would do so again for each of
 * them.
 */
static TTM_INLINE struct ttm_counters *counters_of(
	struct ttm_block_device *block, unsigned figure)
{
	struct ttm_counters *counters = &block->figures[figure];

	__asm__("" : "+r"(counters));
	return counters;
}

/* Two limits that are constants: one that is chosen costs 5 instructions more. */
static TTM_INLINE bool fold_is_due(unsigned figure, int64_t unfolded)
{
	if (unfolded >= TTM_FOLD_BYTES || unfolded <= -TTM_FOLD_BYTES)
		return true;
	return figure == TTMEM_FIGURE_L1_SMALL &&
		(unfolded >= TTM_FOLD_L1_SMALL_BYTES ||
			unfolded <= -TTM_FOLD_L1_SMALL_BYTES);
}

/* All relaxed: one thread writes, and each figure stands for itself. */
static TTM_INLINE void live_add(struct ttm_device *device,
	struct ttm_block_device *block, struct ttm_counters *counters,
	unsigned figure, uint64_t era, int64_t objects, int64_t bytes)
{
	int64_t live;

	if (TTM_UNLIKELY(ttm_load(&block->era) != era))
		ttm_block_new_era(block, era);
	live = (int64_t)(ttm_load(&counters->live_bytes) + (uint64_t)bytes);
	if (objects)
		ttm_own_add(&counters->live_objects, (uint64_t)objects);
	ttm_store(&counters->live_bytes, (uint64_t)live);
	/* What only goes was as high before. */
	if (objects >= 0 && live > (int64_t)ttm_load(&counters->high))
		ttm_store(&counters->high, (uint64_t)live);
	if (TTM_UNLIKELY(fold_is_due(
		    figure, live - (int64_t)ttm_load(&counters->folded))))
		ttm_fold(device, counters, figure, era);
}

static TTM_INLINE void ttm_account_alloc(struct ttm_device *device,
	struct ttm_block_device *block, unsigned figure, uint64_t era,
	uint64_t bytes)
{
	struct ttm_counters *counters = counters_of(block, figure);

	ttm_own_add(&counters->alloc_objects, 1);
	ttm_own_add(&counters->alloc_bytes, bytes);
	live_add(device, block, counters, figure, era, 1, (int64_t)bytes);
}

/*
 * One, or several at once. `orphaned`: their epoch is over, and so they are in no live
 * figure any more.
 */
static TTM_INLINE void ttm_account_free(struct ttm_device *device,
	struct ttm_block_device *block, unsigned figure, uint64_t era,
	uint64_t objects, uint64_t bytes, bool orphaned)
{
	struct ttm_counters *counters = counters_of(block, figure);

	ttm_own_add(&counters->free_objects, objects);
	ttm_own_add(&counters->free_bytes, bytes);
	if (TTM_LIKELY(!orphaned))
		live_add(device, block, counters, figure, era,
			-(int64_t)objects, -(int64_t)bytes);
}

/* Both in one step: the peak does not hold the two together. */
static TTM_INLINE void ttm_account_replace(struct ttm_device *device,
	struct ttm_block_device *block, unsigned figure, uint64_t era,
	uint64_t bytes_freed, uint64_t bytes)
{
	struct ttm_counters *counters = counters_of(block, figure);

	ttm_own_add(&counters->free_objects, 1);
	ttm_own_add(&counters->free_bytes, bytes_freed);
	ttm_own_add(&counters->alloc_objects, 1);
	ttm_own_add(&counters->alloc_bytes, bytes);
	live_add(device, block, counters, figure, era, 0,
		(int64_t)(bytes - bytes_freed));
}

#endif
