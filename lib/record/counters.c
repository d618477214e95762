/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * The counters of rings, the totals and peaks of devices, and the process's own figures,
 * which are read from both.
 */
#include "record/counters.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "record/place.h"
#include "record/ring.h"
#include "record/segment.h"

static const struct ttm_items blocks = {
	.type = TTM_EXTENT_BLOCKS,
	.size = sizeof(struct ttm_block_device),
	.max = TTM_BLOCK_EXTENTS_MAX * TTM_BLOCKS_PER_EXTENT,
	.extents_off = offsetof(struct ttm_process, blocks),
	.len_off = offsetof(struct ttm_header_live, blocks_len),
};

bool ttm_block_has_room(struct ttm_process *process)
{
	/* relaxed: another thread may take the block; then the caller asks
	 * for the next one */
	return ttm_item_at(
		process, &blocks, ttm_load(&process->header->live.blocks_len));
}

void *ttm_block_make(
	struct ttm_process *process, uint32_t ring, unsigned device)
{
	struct ttm_block_device *block;
	uint64_t number;

	block = ttm_item_take(process, &blocks, &number);
	if (!block)
		return NULL;
	/* pairs(block): release, with the aggregator's read of blocks: the
	 * rest of the block is zero or newer */
	ttm_store_release(&block->owner, TTM_BLOCK_OWNER(ring, device));
	TTM_TESTPOINT("block made");
	return block;
}

TTM_COLD bool ttm_ring_blocks_make(struct ttm_ring *ring, uint64_t members)
{
	uint64_t missing = members & ~ring->blocks_made;
	struct ttm_block_device *block;
	unsigned entry;

	while (missing) {
		entry = ttm_mask_take(&missing);
		block = ttm_block_make(ring->process, ring->number, entry);
		if (!block)
			return false;
		ttm_pointer_set_once((void **)&ring->blocks[entry], block);
		ring->blocks_made |= 1ull << entry;
	}
	return true;
}

void ttm_block_new_era(struct ttm_block_device *block, uint64_t era)
{
	bool epoch = TTM_ERA_EPOCH(ttm_load(&block->era)) != TTM_ERA_EPOCH(era);
	struct ttm_counters *counters;
	unsigned figure;

	/* relaxed: before the era */
	for (figure = 0; figure < TTMEM_FIGURES; figure++) {
		counters = &block->figures[figure];
		if (epoch) {
			ttm_store(&counters->live_objects, 0);
			ttm_store(&counters->live_bytes, 0);
			ttm_store(&counters->folded, 0);
		}
		ttm_store(&counters->high, ttm_load(&counters->live_bytes));
	}
	/* pairs(era): release, with ring_add: the figures of this era are
	 * stored */
	ttm_store_release(&block->era, era);
}

/*
 * Adds to a tagged total; returns false if the epoch is over. While the epoch lasts, a
 * word with another tag is of an older epoch and counts as 0.
 */
static bool total_add(struct ttm_device *device, uint64_t *word, uint64_t era,
	int64_t change, int64_t *ret_before)
{
	uint16_t tag = (uint16_t)TTM_ERA_EPOCH(era);
	uint64_t seen;
	int64_t before;

	do {
		/* pairs(total): acquire, with the CAS below: a word of a later
		 * epoch is seen with that epoch */
		seen = ttm_load_acquire(word);
		if (TTM_TAGGED_TAG(seen) != tag &&
			TTM_ERA_EPOCH(ttm_device_era(device)) !=
				TTM_ERA_EPOCH(era))
			return false;
		before = ttm_tagged_bytes(seen, tag);
		/* pairs(total): full, with the load above */
	} while (!ttm_cas(word, seen, TTM_TAGGED(tag, before + change)));
	*ret_before = before;
	return true;
}

void ttm_peak_propose(
	struct ttm_device *device, unsigned figure, uint64_t era, int64_t bytes)
{
	uint64_t *word = &device->totals[figure].peak, seen;
	uint16_t tag = (uint16_t)TTM_ERA_PEAK(era);

	do {
		/* pairs(total): acquire, as in total_add */
		seen = ttm_load_acquire(word);
		if (TTM_TAGGED_TAG(seen) != tag &&
			TTM_ERA_PEAK(ttm_device_era(device)) !=
				TTM_ERA_PEAK(era))
			return;
		if (TTM_TAGGED_TAG(seen) == tag &&
			ttm_tagged_bytes(seen, tag) >= bytes)
			return;
	} while (!ttm_cas(word, seen, TTM_TAGGED(tag, bytes)));
}

void ttm_fold(struct ttm_device *device, struct ttm_counters *counters,
	unsigned figure, uint64_t era)
{
	uint64_t *total = &device->totals[figure].folded;
	/* relaxed: own counters */
	int64_t live = (int64_t)ttm_load(&counters->live_bytes);
	int64_t folded = (int64_t)ttm_load(&counters->folded);
	int64_t high = (int64_t)ttm_load(&counters->high);
	int64_t before;

	if (!total_add(device, total, era, live - folded, &before))
		return;
	TTM_TESTPOINT("total folded");
	ttm_peak_propose(device, figure, era, before + high - folded);
	ttm_store(&counters->folded, (uint64_t)live);
	ttm_store(&counters->high, (uint64_t)live);
}

/* -- usage ------------------------------------------------------------------------ */

struct sums {
	int64_t objects;
	int64_t live;
	int64_t unfolded_high;
};

/*
 * relaxed except the era: exact at rest, otherwise one event per ring may be half
 * counted
 */
static void ring_add(const struct ttm_block_device *block, unsigned figure,
	uint64_t era, struct sums *sums)
{
	const struct ttm_counters *counters = &block->figures[figure];
	/* pairs(era): acquire, with ttm_block_new_era: older figures are
	 * left out */
	uint64_t block_era = ttm_load_acquire(&block->era);
	int64_t live, folded, high;

	if (TTM_ERA_EPOCH(block_era) != TTM_ERA_EPOCH(era))
		return;
	live = (int64_t)ttm_load(&counters->live_bytes);
	folded = (int64_t)ttm_load(&counters->folded);
	high = block_era == era ? (int64_t)ttm_load(&counters->high) : live;
	sums->objects += (int64_t)ttm_load(&counters->live_objects);
	sums->live += live;
	sums->unfolded_high += high - folded;
}

static uint64_t not_negative(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static void figure_get(struct ttm_process *process, unsigned entry,
	unsigned figure, struct ttmem_usage_figure *ret_usage)
{
	const struct ttm_device *device = &process->devices[entry];
	uint64_t era = ttm_load(&device->era), rings, i;
	const struct ttm_block_device *block;
	struct sums sums = { 0, 0, 0 };
	int64_t folded, peak;

	/* pairs(total): acquire, with ttm_fold: read before the rings,
	 * because what they fold later would count twice */
	folded = ttm_tagged_bytes(
		ttm_load_acquire(&device->totals[figure].folded),
		(uint16_t)TTM_ERA_EPOCH(era));
	peak = ttm_tagged_bytes(ttm_load(&device->totals[figure].peak),
		(uint16_t)TTM_ERA_PEAK(era));
	rings = ttm_load(&process->header->live.lanes_len);
	for (i = 0; i < rings && i < TTM_LANES_MAX; i++) {
		block = ttm_pointer_load(
			(void **)&process->rings[i].blocks[entry]);
		if (block)
			ring_add(block, figure, era, &sums);
	}
	if (folded + sums.unfolded_high > peak)
		peak = folded + sums.unfolded_high;
	if (sums.live > peak)
		peak = sums.live;
	ret_usage->live_objects = not_negative(sums.objects);
	ret_usage->live_bytes = not_negative(sums.live);
	ret_usage->peak_bytes = not_negative(peak);
}

static void device_add(
	struct ttm_process *process, unsigned entry, struct ttmem_usage *usage)
{
	struct ttmem_usage_figure *sum, one;
	unsigned figure;

	for (figure = 0; figure < TTMEM_FIGURES; figure++) {
		sum = &usage->figures[figure];
		figure_get(process, entry, figure, &one);
		sum->live_objects += one.live_objects;
		sum->live_bytes += one.live_bytes;
		sum->peak_bytes += one.peak_bytes;
	}
}

void ttm_peaks_keep(struct ttm_process *process, unsigned entry)
{
	struct ttm_device *device = &process->devices[entry];
	uint64_t era = ttm_device_era(device);
	struct ttmem_usage_figure usage;
	unsigned figure;

	for (figure = 0; figure < TTMEM_FIGURES; figure++) {
		figure_get(process, entry, figure, &usage);
		if (usage.peak_bytes)
			ttm_peak_propose(
				device, figure, era, (int64_t)usage.peak_bytes);
	}
}

int ttmem_usage(uint32_t device, struct ttmem_usage *ret_usage)
{
	struct ttm_process *process = ttm_process_now();
	struct ttmem_usage usage;
	enum ttmem_anomaly reason;
	struct ttm_where where;

	if (!ret_usage || ret_usage->size != sizeof(*ret_usage))
		return -EINVAL;
	if (!process)
		return -ENODATA;
	if (!ttm_where_get(process, device, false, &where, &reason))
		return -ENODEV;
	memset(&usage, 0, sizeof(usage));
	usage.size = sizeof(usage);
	while (where.members)
		device_add(process, ttm_mask_take(&where.members), &usage);
	*ret_usage = usage;
	return 0;
}

static void peak_reset(struct ttm_device *device)
{
	uint64_t era;

	/* relaxed: rings notice with their next event, readers at once */
	do
		era = ttm_load(&device->era);
	while (!ttm_cas(&device->era, era,
		TTM_ERA(TTM_ERA_EPOCH(era), TTM_ERA_PEAK(era) + 1)));
}

static TTM_SLOW void peaks_reset(uint32_t device)
{
	struct ttm_process *process = ttm_process_now();
	enum ttmem_anomaly reason;
	struct ttm_where where;

	if (!process || !ttm_where_get(process, device, false, &where, &reason))
		return;
	while (where.members)
		peak_reset(&process->devices[ttm_mask_take(&where.members)]);
}

void ttmem_peak_reset(uint32_t device)
{
	if (!ttm_switch_is_off())
		peaks_reset(device);
}

/* -- losses ----------------------------------------------------------------------- */

static void words_add(uint64_t *sums, const uint64_t *words, size_t len)
{
	size_t i;

	/* relaxed: growing figures, for display */
	for (i = 0; i < len; i++)
		sums[i] += ttm_load(&words[i]);
}

void ttm_losses_sum(
	const struct ttm_process *process, struct ttm_losses *ret_losses)
{
	const struct ttm_header_live *live = &process->header->live;
	struct ttm_losses *sums = ret_losses;
	const struct ttm_block_lane *block;
	size_t i;

	memset(sums, 0, sizeof(*sums));
	words_add(sums->events, live->lost_events, TTMEM_LOSSES);
	words_add(sums->bytes, live->lost_bytes, TTMEM_LOSSES);
	for (i = 0; i < TTM_LANES_MAX; i++) {
		block = ttm_pointer_load(
			(void *const *)&process->rings[i].own_block);
		if (!block)
			continue;
		words_add(sums->events, block->lost_events, TTMEM_LOSSES);
		words_add(sums->bytes, block->lost_bytes, TTMEM_LOSSES);
		words_add(sums->anomalies, block->anomalies, TTMEM_ANOMALIES);
	}
}
