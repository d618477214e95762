/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "watcher.h"

/* No test has so much: something went below zero. */
#define IMPOSSIBLE (1ull << 56)

struct tally {
	uint64_t bytes[2]; /* live, orphaned */
	uint64_t objects[2];
};

static bool is_gone(const struct ttmem_process_row *process)
{
	return process->state == TTMEM_PROCESS_EXITED ||
		process->state == TTMEM_PROCESS_DIED;
}

/* -- references -------------------------------------------------------------- */

static void shares_refer(const struct ttmem_snapshot *s)
{
	size_t len = ttmem_snapshot_shares_len(s), i;

	for (i = 0; i < len; i++) {
		const struct ttmem_share_row *share = ttmem_snapshot_share(
			s, i);

		if (!ttmem_snapshot_process(s, share->process) ||
			!ttmem_snapshot_device(s, share->device))
			watcher_fail(
				s, "share %zu has no process or device", i);
	}
	len = ttmem_snapshot_processes_len(s);
	for (i = 0; i < len; i++)
		if (!ttmem_snapshot_directory(
			    s, ttmem_snapshot_process(s, i)->directory))
			watcher_fail(s, "process %zu has no directory", i);
}

static void texts_refer(const struct ttmem_snapshot *s)
{
	size_t len = ttmem_snapshot_marks_len(s), i;

	for (i = 0; i < len; i++)
		if (!ttmem_snapshot_process(
			    s, ttmem_snapshot_mark(s, i)->process))
			watcher_fail(s, "mark %zu has no process", i);
	len = ttmem_snapshot_failures_len(s);
	for (i = 0; i < len; i++) {
		const struct ttmem_failure_row *row = ttmem_snapshot_failure(
			s, i);
		const struct ttmem_place_row *place = ttmem_snapshot_place(
			s, row->place);

		if (!place || place->process != row->process)
			watcher_fail(s, "failure %zu has no place", i);
	}
}

static void series_refer(const struct ttmem_snapshot *s)
{
	size_t len = ttmem_snapshot_histories_len(s), i;

	for (i = 0; i < len; i++)
		if (!ttmem_snapshot_device(
			    s, ttmem_snapshot_history(s, i)->device))
			watcher_fail(s, "history %zu has no device", i);
	len = ttmem_snapshot_distributions_len(s);
	for (i = 0; i < len; i++)
		if (!ttmem_snapshot_device(
			    s, ttmem_snapshot_distribution(s, i)->device))
			watcher_fail(s, "distribution %zu has no device", i);
}

/* -- sums -------------------------------------------------------------------- */

static void sums_add(struct ttmem_sums *sum, const struct ttmem_sums *part)
{
	sum->live_bytes += part->live_bytes;
	sum->live_objects += part->live_objects;
	sum->orphaned_bytes += part->orphaned_bytes;
	sum->orphaned_objects += part->orphaned_objects;
	sum->alloc_objects += part->alloc_objects;
	sum->alloc_bytes += part->alloc_bytes;
	sum->free_objects += part->free_objects;
	sum->free_bytes += part->free_bytes;
}

static bool sums_are_possible(const struct ttmem_sums *sums)
{
	return sums->live_bytes < IMPOSSIBLE &&
		sums->orphaned_bytes < IMPOSSIBLE &&
		sums->live_objects < IMPOSSIBLE &&
		sums->orphaned_objects < IMPOSSIBLE &&
		sums->free_objects <= sums->alloc_objects + 4096 &&
		(sums->live_objects || !sums->live_bytes) &&
		(sums->orphaned_objects || !sums->orphaned_bytes);
}

/*
 * What flowed may be more than the shares say, by those dropped for room; what is
 * left may not.
 */
static bool sums_agree(
	const struct ttmem_sums *shares, const struct ttmem_sums *device)
{
	return shares->live_bytes == device->live_bytes &&
		shares->live_objects == device->live_objects &&
		shares->orphaned_bytes == device->orphaned_bytes &&
		shares->orphaned_objects == device->orphaned_objects &&
		shares->alloc_objects <= device->alloc_objects &&
		shares->alloc_bytes <= device->alloc_bytes &&
		shares->free_objects <= device->free_objects &&
		shares->free_bytes <= device->free_bytes;
}

/* Of one that is gone nothing moves: what came and did not go is left. */
static void retired_check(const struct ttmem_snapshot *s, size_t index)
{
	const struct ttmem_share_row *share = ttmem_snapshot_share(s, index);
	const struct ttmem_process_row *process = ttmem_snapshot_process(
		s, share->process);
	unsigned i;

	if (!is_gone(process))
		return;
	for (i = 0; i < TTMEM_FIGURES; i++) {
		const struct ttmem_sums *sums = &share->figures[i];
		int64_t odd = (int64_t)(sums->alloc_objects -
			sums->free_objects - sums->orphaned_objects);

		if (sums->live_objects || sums->live_bytes)
			watcher_fail(s, "share %zu of one that is gone: live",
				index);
		if (odd > (int64_t)process->in_flight ||
			-odd > (int64_t)process->in_flight)
			watcher_fail(s,
				"share %zu, %s: %" PRIi64
				" objects of one that "
				"is gone are not accounted for",
				index, ttmem_name(TTMEM_NAMES_FIGURE, i), odd);
	}
}

static void shares_add_up(const struct ttmem_snapshot *s)
{
	size_t devices = ttmem_snapshot_devices_len(s), i;
	struct ttmem_sums(*sums)[TTMEM_FIGURES];
	unsigned figure;

	sums = calloc(devices + 1, sizeof(*sums));
	for (i = 0; i < ttmem_snapshot_shares_len(s); i++) {
		const struct ttmem_share_row *share = ttmem_snapshot_share(
			s, i);

		for (figure = 0; figure < TTMEM_FIGURES; figure++) {
			if (!sums_are_possible(&share->figures[figure]))
				watcher_fail(s, "share %zu, %s: impossible", i,
					ttmem_name(TTMEM_NAMES_FIGURE, figure));
			sums_add(&sums[share->device][figure],
				&share->figures[figure]);
		}
		retired_check(s, i);
	}
	for (i = 0; i < devices; i++)
		for (figure = 0; figure < TTMEM_FIGURES; figure++)
			if (!sums_agree(&sums[i][figure],
				    &ttmem_snapshot_device(s, i)
					     ->figures[figure]))
				watcher_fail(s,
					"device %zu, %s: not what its shares "
					"have",
					i,
					ttmem_name(TTMEM_NAMES_FIGURE, figure));
	free(sums);
}

/* -- objects ----------------------------------------------------------------- */

/* Each device of a place is that of a share of the same process. */
static void places_refer(const struct ttmem_snapshot *s)
{
	size_t len = ttmem_snapshot_places_len(s), i, k;

	for (i = 0; i < len; i++) {
		const struct ttmem_place_row *place = ttmem_snapshot_place(
			s, i);

		if (place->usages_len != place->devices_len)
			watcher_fail(s, "place %zu lacks devices", i);
		for (k = 0; k < place->usages_len; k++) {
			const struct ttmem_share_row
				*share = ttmem_snapshot_share(
					s, place->usages[k]);

			if (!share || share->process != place->process ||
				share->device != place->devices[k])
				watcher_fail(s,
					"place %zu is elsewhere than its "
					"share %zu",
					i, k);
		}
	}
}

static void object_refers(const struct ttmem_snapshot *s, size_t index,
	const struct ttmem_object_row *object)
{
	const struct ttmem_place_row *place = ttmem_snapshot_place(
		s, object->place);

	if (object->figure >= TTMEM_FIGURES)
		watcher_fail(s, "object %zu has no figure", index);
	if (place && place->process != object->process)
		watcher_fail(
			s, "object %zu has a place of another process", index);
	if (!place && object->place != TTMEM_NONE)
		watcher_fail(
			s, "object %zu has a place that is not there", index);
}

/* Adds an object to what its devices have, live (0) or orphaned (1). */
static void tallies_add(const struct ttmem_snapshot *s,
	struct tally (*tallies)[TTMEM_FIGURES], uint64_t index, int orphaned,
	const struct ttmem_object_row *object)
{
	const struct ttmem_place_row *place = ttmem_snapshot_place(s, index);
	uint64_t k;

	for (k = 0; place && k < place->usages_len; k++) {
		struct tally
			*tally = &tallies[place->usages[k]][object->figure];

		tally->bytes[orphaned] += object->bytes;
		tally->objects[orphaned]++;
	}
}

static void tallies_compare(const struct ttmem_snapshot *s, size_t index,
	const struct tally *tallies)
{
	const struct ttmem_share_row *share = ttmem_snapshot_share(s, index);
	unsigned i;

	if (ttmem_snapshot_process(s, share->process)->unlisted)
		return;
	for (i = 0; i < TTMEM_FIGURES; i++) {
		const struct ttmem_sums *sums = &share->figures[i];
		const struct tally *tally = &tallies[i];

		if (tally->bytes[0] == sums->live_bytes &&
			tally->objects[0] == sums->live_objects &&
			tally->bytes[1] == sums->orphaned_bytes &&
			tally->objects[1] == sums->orphaned_objects)
			continue;
		watcher_fail(s,
			"share %zu, %s: its objects are %" PRIu64
			" live with %" PRIu64 " bytes, %" PRIu64
			" orphaned with %" PRIu64 "; it says %" PRIu64
			", %" PRIu64 ", %" PRIu64 ", %" PRIu64,
			index, ttmem_name(TTMEM_NAMES_FIGURE, i),
			tally->objects[0], tally->bytes[0], tally->objects[1],
			tally->bytes[1], sums->live_objects, sums->live_bytes,
			sums->orphaned_objects, sums->orphaned_bytes);
	}
}

static void objects_add_up(const struct ttmem_snapshot *s)
{
	size_t shares = ttmem_snapshot_shares_len(s), i;
	size_t len = ttmem_snapshot_objects_len(s);
	struct tally(*tallies)[TTMEM_FIGURES];

	if (ttmem_snapshot_info(s)->objects_used != len)
		watcher_fail(s, "%zu objects of %" PRIu64, len,
			ttmem_snapshot_info(s)->objects_used);
	tallies = calloc(shares + 1, sizeof(*tallies));
	for (i = 0; i < len; i++) {
		const struct ttmem_object_row *object = ttmem_snapshot_object(
			s, i);

		if (object->place == TTMEM_NONE || object->orphaned > 1)
			watcher_fail(s, "object %zu is nobody's", i);
		tallies_add(s, tallies, object->live_place, 0, object);
		tallies_add(s, tallies, object->orphaned_place, 1, object);
	}
	for (i = 0; i < shares; i++)
		tallies_compare(s, i, tallies[i]);
	free(tallies);
}

static void objects_check(const struct ttmem_snapshot *s)
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(s);
	size_t len = ttmem_snapshot_objects_len(s), i;

	if (info->objects_listed != 1)
		return;
	places_refer(s);
	for (i = 0; i < len; i++)
		object_refers(s, i, ttmem_snapshot_object(s, i));
	if (info->objects_consistent == 1)
		objects_add_up(s);
}

void moment_check(const struct ttmem_snapshot *snapshot)
{
	shares_refer(snapshot);
	texts_refer(snapshot);
	series_refer(snapshot);
	shares_add_up(snapshot);
	objects_check(snapshot);
}
