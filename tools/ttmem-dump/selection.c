/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "filter.h"

static bool device_is_asked(const struct dump_filter *filter,
	const struct ttmem_snapshot *snapshot, uint64_t index)
{
	size_t i;

	for (i = 0; i < filter->devices_len; i++)
		if (ttm_device_fits(&filter->devices[i], snapshot, index))
			return true;
	return filter->devices_len == 0;
}

static bool process_is_asked(const struct dump_filter *filter,
	const struct ttmem_process_row *process)
{
	size_t i;

	for (i = 0; i < filter->pids_len; i++)
		if (filter->pids[i] == process->pid)
			return true;
	return filter->pids_len == 0;
}

/*
 * Asked for, and with a share of what is asked for on the other side. `asked` are the
 * devices by index.
 */
static void selection_fill(struct dump_selection *selection, const bool *asked)
{
	const struct ttmem_snapshot *snapshot = selection->snapshot;
	const struct dump_filter *filter = selection->filter;
	size_t shares = ttmem_snapshot_shares_len(snapshot), i;
	size_t devices = ttmem_snapshot_devices_len(snapshot);
	const struct ttmem_share_row *share;
	const struct ttmem_process_row *process;

	for (i = 0; i < shares; i++) {
		share = ttmem_snapshot_share(snapshot, i);
		process = ttmem_snapshot_process(snapshot, share->process);
		if (share->device >= devices || !process ||
			!asked[share->device] ||
			!process_is_asked(filter, process))
			continue;
		selection->devices[share->device] = true;
		selection->processes[share->process] = true;
	}
	for (i = 0; !filter->pids_len && i < devices; i++)
		selection->devices[i] = asked[i];
	for (i = 0; !filter->devices_len &&
		i < ttmem_snapshot_processes_len(snapshot);
		i++)
		selection->processes[i] = process_is_asked(
			filter, ttmem_snapshot_process(snapshot, i));
}

/* After the devices. */
static void places_fill(struct dump_selection *selection)
{
	const struct ttmem_snapshot *snapshot = selection->snapshot;
	const struct ttmem_place_row *place;
	size_t i, n;

	for (i = 0; i < ttmem_snapshot_places_len(snapshot); i++) {
		place = ttmem_snapshot_place(snapshot, i);
		for (n = 0; n < place->devices_len; n++)
			if (dump_has_device(selection, place->devices[n]))
				selection->places[i] = true;
	}
}

void dump_sums_add(struct ttmem_sums *sums, const struct ttmem_sums *more)
{
	static const size_t offsets[] = {
		offsetof(struct ttmem_sums, live_bytes),
		offsetof(struct ttmem_sums, live_objects),
		offsetof(struct ttmem_sums, orphaned_bytes),
		offsetof(struct ttmem_sums, orphaned_objects),
		offsetof(struct ttmem_sums, requested_bytes),
	};
	size_t i;

	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		uint64_t *sum = (uint64_t *)((char *)sums + offsets[i]);

		*sum = ttm_value_add(*sum,
			*(const uint64_t *)((const char *)more + offsets[i]));
	}
	sums->peak_bytes = TTMEM_UNKNOWN;
}

static void sums_fill(struct dump_selection *selection)
{
	const struct ttmem_snapshot *snapshot = selection->snapshot;
	size_t processes = ttmem_snapshot_processes_len(snapshot), i;
	const struct ttmem_share_row *share;
	unsigned f;

	for (i = 0; i < ttmem_snapshot_shares_len(snapshot); i++) {
		share = ttmem_snapshot_share(snapshot, i);
		if (share->process >= processes ||
			!dump_has_share(selection, share))
			continue;
		for (f = 0; f < TTMEM_FIGURES; f++)
			dump_sums_add(
				&selection
					 ->sums[share->process * TTMEM_FIGURES +
						 f],
				&share->figures[f]);
	}
}

const struct ttmem_sums *dump_selection_sums(
	const struct dump_selection *selection, uint64_t process,
	unsigned figure)
{
	return &selection->sums[process * TTMEM_FIGURES + figure];
}

int dump_selection_make(const struct ttmem_snapshot *snapshot,
	const struct dump_filter *filter, struct dump_selection *ret_selection)
{
	struct dump_selection selection = { snapshot, filter, NULL, NULL, NULL,
		NULL };
	size_t devices = ttmem_snapshot_devices_len(snapshot), i;
	bool *asked = calloc(devices + 1, sizeof(*asked));

	selection.devices = calloc(devices + 1, sizeof(*selection.devices));
	selection.processes = calloc(ttmem_snapshot_processes_len(snapshot) + 1,
		sizeof(*selection.processes));
	selection.places = calloc(ttmem_snapshot_places_len(snapshot) + 1,
		sizeof(*selection.places));
	selection.sums = calloc(
		(ttmem_snapshot_processes_len(snapshot) + 1) * TTMEM_FIGURES,
		sizeof(*selection.sums));
	if (!asked || !selection.devices || !selection.processes ||
		!selection.places || !selection.sums) {
		free(asked);
		dump_selection_free(&selection);
		return -ENOMEM;
	}
	for (i = 0; i < devices; i++)
		asked[i] = device_is_asked(filter, snapshot, i);
	selection_fill(&selection, asked);
	free(asked);
	places_fill(&selection);
	sums_fill(&selection);
	*ret_selection = selection;
	return 0;
}

void dump_selection_free(struct dump_selection *selection)
{
	free(selection->devices);
	free(selection->processes);
	free(selection->places);
	free(selection->sums);
	selection->devices = NULL;
	selection->processes = NULL;
	selection->places = NULL;
	selection->sums = NULL;
}

bool dump_has_device(const struct dump_selection *selection, uint64_t index)
{
	if (index >= ttmem_snapshot_devices_len(selection->snapshot))
		return selection->filter->devices_len == 0;
	return selection->devices[index];
}

bool dump_has_process(const struct dump_selection *selection, uint64_t index)
{
	if (index >= ttmem_snapshot_processes_len(selection->snapshot))
		return selection->filter->pids_len == 0;
	return selection->processes[index];
}

bool dump_has_share(const struct dump_selection *selection,
	const struct ttmem_share_row *share)
{
	return dump_has_device(selection, share->device) &&
		dump_has_process(selection, share->process);
}

bool dump_has_place(const struct dump_selection *selection, uint64_t index)
{
	if (index >= ttmem_snapshot_places_len(selection->snapshot))
		return selection->filter->devices_len == 0;
	return selection->places[index];
}

bool dump_has_object(const struct dump_selection *selection,
	const struct ttmem_object_row *object)
{
	return dump_has_place(selection, object->place) &&
		dump_has_process(selection, object->process) &&
		dump_has_figure(selection->filter, object->figure) &&
		dump_has_scope(selection->filter, object->scope);
}

bool dump_has_part(
	const struct dump_selection *selection, const struct dump_part *part)
{
	return dump_has_place(selection, part->place) &&
		dump_has_object(selection, part->object);
}

bool dump_has_failure(const struct dump_selection *selection,
	const struct ttmem_failure_row *failure)
{
	return dump_has_place(selection, failure->place) &&
		dump_has_process(selection, failure->process) &&
		dump_has_figure(selection->filter, failure->figure) &&
		dump_has_scope(selection->filter, failure->scope);
}

/* -- names ------------------------------------------------------------------------ */

const char *dump_device_name(const struct ttmem_snapshot *snapshot,
	uint64_t index, char *buffer, size_t buffer_size)
{
	char name[TTM_DEVICE_NAME_SIZE];

	snprintf(buffer, buffer_size, "%s",
		ttm_device_name(snapshot, index, name));
	return buffer;
}

static int device_compare(
	const struct ttmem_snapshot *snapshot, uint64_t a, uint64_t b)
{
	return ttm_device_compare(ttm_device_number(snapshot, a),
		ttmem_snapshot_device(snapshot, a),
		ttm_device_number(snapshot, b),
		ttmem_snapshot_device(snapshot, b));
}

uint64_t *dump_devices_sorted(const struct ttmem_snapshot *snapshot)
{
	size_t len = ttmem_snapshot_devices_len(snapshot), i, at;
	uint64_t *sorted = calloc(len + 1, sizeof(*sorted));

	/* There are few, and mostly in order. */
	for (i = 0; sorted && i < len; i++) {
		for (at = i; at > 0 &&
			device_compare(snapshot, sorted[at - 1], i) > 0;
			at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = i;
	}
	return sorted;
}
