/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* --max and --max-peak: of each device by itself. */
#include <errno.h>
#include <stdlib.h>

#include "common/text.h"
#include "ttmem-dump/cell.h"
#include "check.h"

#define NAME_SIZE 64u

/* Bytes of a limit's kinds; unknown if one is. */
static uint64_t peak_of(
	const struct ttmem_sums *figures, const struct check_limit *limit)
{
	uint64_t bytes = 0;
	unsigned i;

	for (i = 0; i < TTMEM_FIGURES; i++)
		if (limit->figures >> i & 1)
			bytes = ttm_value_add(bytes, figures[i].peak_bytes);
	return bytes;
}

/*
 * A device's own peak is that of all processes together; where others' are in it,
 * the highest of a single process is all that can be told.
 */
static uint64_t device_peak(const struct check_verdict *verdict,
	const struct dump_selection *selection, uint64_t device,
	const struct check_limit *limit)
{
	const struct ttmem_snapshot *snapshot = verdict->snapshot;
	bool all = !selection->filter->pids_len && !verdict->scope.run_id;
	uint64_t peak = all ?
		peak_of(ttmem_snapshot_device(snapshot, device)->figures,
			limit) :
		0;
	const struct ttmem_share_row *share;
	uint64_t one;
	size_t i;

	for (i = 0; i < ttmem_snapshot_shares_len(snapshot); i++) {
		share = ttmem_snapshot_share(snapshot, i);
		if (share->device != device ||
			!dump_has_share(selection, share) ||
			!check_is_of_run(
				&verdict->scope, snapshot, share->process))
			continue;
		one = peak_of(share->figures, limit);
		if (one > peak) /* unknown is most */
			peak = one;
	}
	return peak;
}

/* Adds an object's bytes to each of its devices. */
static void object_add(const struct ttmem_snapshot *snapshot,
	const struct ttmem_object_row *object, uint64_t *there)
{
	const struct ttmem_place_row *place = ttmem_snapshot_place(
		snapshot, object->place);
	size_t i;

	for (i = 0; place && i < place->devices_len; i++)
		if (ttmem_snapshot_device(snapshot, place->devices[i]))
			there[place->devices[i] * TTMEM_FIGURES +
				object->figure] += object->bytes;
}

/* By device and figure. */
static uint64_t *there_sum(const struct check_verdict *verdict,
	const struct dump_selection *selection)
{
	const struct ttmem_snapshot *snapshot = verdict->snapshot;
	size_t devices = ttmem_snapshot_devices_len(snapshot), i;
	uint64_t *there = calloc(devices * TTMEM_FIGURES + 1, sizeof(*there));
	const struct ttmem_object_row *object;

	for (i = 0; there && i < ttmem_snapshot_objects_len(snapshot); i++) {
		object = ttmem_snapshot_object(snapshot, i);
		if (object->figure < TTMEM_FIGURES &&
			object->bytes != TTMEM_UNKNOWN &&
			dump_has_object(selection, object) &&
			check_is_of_run(
				&verdict->scope, snapshot, object->process))
			object_add(snapshot, object, there);
	}
	return there;
}

static uint64_t there_of(
	const uint64_t *there, uint64_t device, const struct check_limit *limit)
{
	uint64_t bytes = 0;
	unsigned i;

	for (i = 0; i < TTMEM_FIGURES; i++)
		if (limit->figures >> i & 1)
			bytes += there[device * TTMEM_FIGURES + i];
	return bytes;
}

static void limit_judge(struct check_verdict *verdict,
	const struct check_limit *limit, uint64_t device, uint64_t bytes)
{
	char name[NAME_SIZE], cell[DUMP_CELL_SIZE], text[NAME_SIZE];
	const char *option = limit->peak ? "max-peak" : "max";

	dump_device_name(verdict->snapshot, device, name, sizeof(name));
	ttm_text_escape(limit->text, text, sizeof(text));
	if (bytes == TTMEM_UNKNOWN)
		check_add(&verdict->gaps, "--%s %s: device %s: not known",
			option, text, name);
	else if (bytes > limit->bytes)
		check_add(&verdict->exceeded, "--%s %s: device %s %s %s",
			option, text, name, limit->peak ? "had" : "has",
			dump_bytes(bytes, verdict->options->exact, cell));
}

int check_limits(
	struct check_verdict *verdict, const struct dump_selection *selection)
{
	const struct check_options *options = verdict->options;
	size_t devices = ttmem_snapshot_devices_len(verdict->snapshot), i;
	uint64_t *there, device, bytes;

	if (options->limits_len == 0)
		return 0;
	there = there_sum(verdict, selection);
	if (!there)
		return -ENOMEM;
	for (i = 0; i < options->limits_len; i++)
		for (device = 0; device < devices; device++) {
			if (!dump_has_device(selection, device))
				continue;
			bytes = options->limits[i].peak ?
				device_peak(verdict, selection, device,
					&options->limits[i]) :
				there_of(there, device, &options->limits[i]);
			limit_judge(
				verdict, &options->limits[i], device, bytes);
		}
	free(there);
	return 0;
}
