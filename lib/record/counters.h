/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Counters of a ring, and peaks of a device.
 *
 * A ring keeps its live bytes and folds them into the device's total once they have
 * moved by ttm_fold_bytes, so that threads share no cache line for every object: 16 MiB
 * of DRAM (0.1 % of a device), 64 KiB of L1, 4 KiB of L1_SMALL, whose region is small.
 * Each ring keeps its highest value since the last fold: a fold proposes that value as
 * part of a peak, and a reader adds it.
 *
 * The live part belongs to an era of the device. Closing the device starts a new epoch
 * at 0; resetting peaks starts a new peak generation at the live bytes. A ring notices
 * this with its next event; until then the era of its block shows that the block is
 * old.
 */
#ifndef TTM_RECORD_COUNTERS_H
#define TTM_RECORD_COUNTERS_H

#include "record/process.h"

static const int32_t ttm_fold_bytes[TTMEM_FIGURES] = {
	[TTMEM_FIGURE_DRAM] = 16 << 20,
	[TTMEM_FIGURE_L1] = 64 << 10,
	[TTMEM_FIGURE_SYSTEM_MEMORY] = 16 << 20,
	[TTMEM_FIGURE_L1_SMALL] = 4 << 10,
	[TTMEM_FIGURE_TRACE] = 64 << 10,
	[TTMEM_FIGURE_CB] = 64 << 10,
	[TTMEM_FIGURE_KERNEL_APPLICATION] = 64 << 10,
	[TTMEM_FIGURE_KERNEL_FABRIC] = 64 << 10,
	[TTMEM_FIGURE_KERNEL_DISPATCH] = 64 << 10,
};

void ttm_block_new_era(struct ttm_block_device *block, uint64_t era);
void ttm_peak_propose(struct ttm_device *device, unsigned figure, uint64_t era,
	int64_t bytes);
void ttm_fold(struct ttm_device *device, struct ttm_counters *counters,
	unsigned figure, uint64_t era);

static inline uint64_t ttm_device_era(const struct ttm_device *device)
{
	/* relaxed: an event that races with a close may count before or
	 * after it */
	return ttm_load(&device->era);
}

/*
 * Returns the counters of a figure. The barrier keeps the address in a register;
 * otherwise the compiler computes it again for each counter.
 */
static TTM_INLINE struct ttm_counters *counters_of(
	struct ttm_block_device *block, unsigned figure)
{
	struct ttm_counters *counters = &block->figures[figure];

	__asm__("" : "+r"(counters));
	return counters;
}

/* relaxed throughout: one thread writes, and each figure is independent */
static TTM_INLINE void live_add(struct ttm_device *device,
	struct ttm_block_device *block, struct ttm_counters *counters,
	unsigned figure, uint64_t era, int64_t objects, int64_t bytes)
{
	int64_t live, unfolded;

	if (TTM_UNLIKELY(ttm_load(&block->era) != era))
		ttm_block_new_era(block, era);
	live = (int64_t)(ttm_load(&counters->live_bytes) + (uint64_t)bytes);
	if (objects)
		ttm_own_add(&counters->live_objects, (uint64_t)objects);
	ttm_store(&counters->live_bytes, (uint64_t)live);
	/* A free cannot raise the highest value. */
	if (objects >= 0 && live > (int64_t)ttm_load(&counters->high))
		ttm_store(&counters->high, (uint64_t)live);
	unfolded = live - (int64_t)ttm_load(&counters->folded);
	if (TTM_UNLIKELY((unfolded < 0 ? -unfolded : unfolded) >=
		    ttm_fold_bytes[figure]))
		ttm_fold(device, counters, figure, era);
}

/*
 * What an operation adds to the counters of each device of an object: at most one
 * allocation and one free. The objects are constants, so that what is 0 costs nothing.
 */
struct ttm_change {
	unsigned figure;
	int allocs;
	int frees;
	uint64_t bytes_allocated;
	uint64_t bytes_freed;
};

/*
 * Counts a change on one device. An allocation and a free are counted in one step, so
 * that the peak does not contain both. `orphaned`: the device was closed after the
 * allocation, so the object is in no live figure.
 */
static TTM_INLINE void ttm_device_count(struct ttm_device *device,
	struct ttm_block_device *block, const struct ttm_change *change,
	uint64_t era, bool orphaned)
{
	struct ttm_counters *counters = counters_of(block, change->figure);

	if (change->frees) {
		ttm_own_add(&counters->free_objects, 1);
		ttm_own_add(&counters->free_bytes, change->bytes_freed);
	}
	if (change->allocs) {
		ttm_own_add(&counters->alloc_objects, 1);
		ttm_own_add(&counters->alloc_bytes, change->bytes_allocated);
	}
	if (TTM_LIKELY(!orphaned))
		live_add(device, block, counters, change->figure, era,
			change->allocs - change->frees,
			(int64_t)(change->bytes_allocated -
				change->bytes_freed));
}

/* Returns the signed bytes of a tagged word, or 0 if it has another tag. */
static inline int64_t ttm_tagged_bytes(uint64_t word, uint16_t tag)
{
	if (TTM_TAGGED_TAG(word) != tag)
		return 0;
	return (int64_t)(word << 16) >> 16;
}

/* Saves the peaks that the rings know of; called before the device's epoch ends. */
void ttm_peaks_keep(struct ttm_process *process, unsigned entry);

/* What a process lost and found wrong, all rings together. */
struct ttm_losses {
	uint64_t events[TTMEM_LOSSES];
	uint64_t bytes[TTMEM_LOSSES];
	uint64_t anomalies[TTMEM_ANOMALIES];
};

void ttm_losses_sum(
	const struct ttm_process *process, struct ttm_losses *ret_losses);

#endif
