/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "peaks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct top_id top_process_id(const struct ttmem_process_row *process)
{
	struct top_id id;

	memcpy(&id, process->uuid, sizeof(id));
	return id;
}

static int id_compare(struct top_id x, struct top_id y)
{
	if (x.a != y.a)
		return x.a < y.a ? -1 : 1;
	return x.b < y.b ? -1 : x.b > y.b;
}

static int peak_compare(const void *x, const void *y)
{
	const struct top_peak *a = x, *b = y;
	int c = id_compare(a->process, b->process);

	return c ? c : id_compare(a->device, b->device);
}

static const struct top_peak *peak_find(const struct top_peaks *peaks,
	struct top_id process, struct top_id device)
{
	struct top_peak wanted = { .process = process, .device = device };

	if (peaks->len == 0)
		return NULL;
	return bsearch(&wanted, peaks->list, peaks->len, sizeof(*peaks->list),
		peak_compare);
}

static void device_fill(const struct top_device *device, struct top_peak *peak)
{
	unsigned f;

	memset(peak, 0, sizeof(*peak));
	peak->device = device->id;
	for (f = 0; f < TTMEM_FIGURES; f++)
		peak->bytes[f] = device->row->figures[f].live_bytes;
	peak->bytes[TOP_PEAK_DRAM] = device->row->dram_use;
	peak->bytes[TOP_PEAK_L1] = device->row->l1_tensix_use;
}

static void share_fill(const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices, const struct ttmem_share_row *share,
	struct top_peak *peak)
{
	const struct ttmem_process_row *process = ttmem_snapshot_process(
		snapshot, share->process);
	size_t at = top_devices_of_index(devices, share->device);
	unsigned f;

	memset(peak, 0, sizeof(*peak));
	if (process)
		peak->process = top_process_id(process);
	if (at < devices->len)
		peak->device = devices->list[at].id;
	for (f = 0; f < TTMEM_FIGURES; f++)
		peak->bytes[f] = share->figures[f].live_bytes;
	peak->bytes[TOP_PEAK_DRAM] = TTMEM_UNKNOWN;
	peak->bytes[TOP_PEAK_L1] = TTMEM_UNKNOWN;
}

static void peak_raise(struct top_peak *peak, const struct top_peak *before)
{
	unsigned i;

	if (!before)
		return;
	for (i = 0; i < TOP_PEAK_COUNT; i++)
		if (before->bytes[i] != TTMEM_UNKNOWN &&
			(peak->bytes[i] == TTMEM_UNKNOWN ||
				peak->bytes[i] < before->bytes[i]))
			peak->bytes[i] = before->bytes[i];
}

static int peaks_take(struct top_peaks *peaks,
	const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices)
{
	size_t shares = ttmem_snapshot_shares_len(snapshot), i;
	size_t len = devices->len + shares;
	struct top_peak *list = calloc(len ? len : 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (i = 0; i < devices->len; i++)
		device_fill(&devices->list[i], &list[i]);
	for (i = 0; i < shares; i++)
		share_fill(snapshot, devices, ttmem_snapshot_share(snapshot, i),
			&list[devices->len + i]);
	for (i = 0; i < len; i++)
		peak_raise(&list[i],
			peak_find(peaks, list[i].process, list[i].device));
	qsort(list, len, sizeof(*list), peak_compare);
	free(peaks->list);
	peaks->list = list;
	peaks->len = len;
	return 0;
}

int top_peaks_update(struct top_peaks *peaks,
	const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices)
{
	return peaks->since_reset ? peaks_take(peaks, snapshot, devices) : 0;
}

int top_peaks_reset(struct top_peaks *peaks,
	const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices)
{
	peaks->since_reset = true;
	peaks->len = 0;
	return peaks_take(peaks, snapshot, devices);
}

void top_peaks_free(struct top_peaks *peaks)
{
	free(peaks->list);
	memset(peaks, 0, sizeof(*peaks));
}

uint64_t top_peaks_get(const struct top_peaks *peaks, struct top_id process,
	struct top_id device, unsigned which, uint64_t published)
{
	const struct top_peak *peak;

	if (!peaks->since_reset)
		return published;
	peak = peak_find(peaks, process, device);
	return peak ? peak->bytes[which] : TTMEM_UNKNOWN;
}
