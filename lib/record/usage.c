/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* The process's own figures, read from what the lanes write. */
#include <errno.h>
#include <string.h>

#include "record/account.h"
#include "record/place.h"
#include "record/process.h"
#include "record/start.h"

struct sums {
	int64_t objects;
	int64_t live;
	int64_t unfolded_high;
};

/*
 * relaxed except the era: exact at rest, otherwise one event per lane may be half
 * counted
 */
static void lane_add(const struct ttm_block_device *block, unsigned figure,
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
	uint64_t era = ttm_load(&device->era), lanes, i;
	const struct ttm_block_device *block;
	struct sums sums = { 0, 0, 0 };
	int64_t folded, peak;

	/* pairs(total): acquire, with ttm_fold: read before the lanes,
	 * because what they fold later would count twice */
	folded = ttm_tagged_bytes(
		ttm_load_acquire(&device->totals[figure].folded),
		(uint16_t)TTM_ERA_EPOCH(era));
	peak = ttm_tagged_bytes(ttm_load(&device->totals[figure].peak),
		(uint16_t)TTM_ERA_PEAK(era));
	lanes = ttm_load(&process->header->live.lanes_len);
	for (i = 0; i < lanes && i < TTM_LANES_MAX; i++) {
		block = ttm_pointer_load(
			(void **)&process->lanes[i].blocks[entry]);
		if (block)
			lane_add(block, figure, era, &sums);
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

	/* relaxed: lanes notice with their next event, readers at once */
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
