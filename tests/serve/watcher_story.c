/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "watcher.h"

/* Processes that are gone and left nothing are kept up to here. */
#define CLEAN_KEPT 1024u
#define DEVICES_MAX 256u
#define BUCKETS 4096u
#define RESOLUTIONS 3u

struct known_device {
	struct ttmem_device_row row;
	uint64_t distributions[TTMEM_FIGURES][2];
	struct {
		uint64_t interval_ns;
		uint64_t time_ns; /* of the last point */
		uint64_t events;
	} histories[RESOLUTIONS];
};

struct known_process {
	struct known_process *next; /* of its bucket */
	struct ttmem_process_row row;
	uint64_t seen; /* number of the snapshot that had it last */
};

struct story {
	uint64_t snapshots;
	uint64_t restarts;
	struct ttmem_info_row info; /* of the last one */
	struct known_device devices[DEVICES_MAX];
	size_t devices_len;
	struct known_process *buckets[BUCKETS];
	size_t processes_len;
};

struct story *story_new(void)
{
	return calloc(1, sizeof(struct story));
}

/* -- the file ---------------------------------------------------------------- */

static void info_check(struct story *story, const struct ttmem_snapshot *s)
{
	const struct ttmem_info_row *now = ttmem_snapshot_info(s);
	const struct ttmem_info_row *before = &story->info;

	if (now->publication < before->publication)
		watcher_fail(s, "publication %" PRIu64 " after %" PRIu64,
			now->publication, before->publication);
	if (now->monotonic_ns < before->monotonic_ns ||
		now->taken_ns < before->taken_ns)
		watcher_fail(s,
			"publication %" PRIu64 " at %" PRIu64 " after %" PRIu64
			" at %" PRIu64,
			now->publication, now->monotonic_ns,
			before->publication, before->monotonic_ns);
	if (now->publication == before->publication && story->snapshots &&
		(now->monotonic_ns != before->monotonic_ns ||
			memcmp(now->uuid, before->uuid, 16) != 0))
		watcher_fail(s, "two publications %" PRIu64, now->publication);
	story->info = *now;
}

/* -- devices ----------------------------------------------------------------- */

static bool device_is(const struct ttmem_device_row *known,
	const struct ttmem_device_row *row)
{
	if (known->identity != row->identity)
		return false;
	switch (row->identity) {
	case TTMEM_IDENTITY_CHIP:
		return known->chip_id == row->chip_id;
	case TTMEM_IDENTITY_PCI:
		return known->pci_address == row->pci_address;
	default:
		return known->logical == row->logical;
	}
}

static struct known_device *device_find(struct story *story,
	const struct ttmem_snapshot *s, const struct ttmem_device_row *row)
{
	struct known_device *device = story->devices;
	size_t i;

	for (i = 0; i < story->devices_len; i++, device++)
		if (device_is(&device->row, row))
			return device;
	if (story->devices_len++ == DEVICES_MAX)
		watcher_fail(s, "too many devices");
	device->row = *row;
	return device;
}

/* -1: none has shrunk. */
static int words_shrunk(const uint64_t *before, const uint64_t *now, int len)
{
	int i;

	for (i = 0; i < len; i++)
		if (now[i] < before[i])
			return i;
	return -1;
}

static void flows_check(const struct ttmem_snapshot *s, size_t index,
	const struct ttmem_device_row *before,
	const struct ttmem_device_row *now)
{
	unsigned i;

	if (words_shrunk(before->dispatches, now->dispatches,
		    TTMEM_KERNEL_TYPES) >= 0 ||
		words_shrunk(before->failures, now->failures, TTMEM_KINDS) >= 0)
		watcher_fail(
			s, "device %zu: fewer dispatches or failures", index);
	for (i = 0; i < TTMEM_FIGURES; i++) {
		const struct ttmem_sums *a = &before->figures[i];
		const struct ttmem_sums *b = &now->figures[i];

		if (b->alloc_objects < a->alloc_objects ||
			b->alloc_bytes < a->alloc_bytes ||
			b->free_objects < a->free_objects ||
			b->free_bytes < a->free_bytes)
			watcher_fail(s,
				"device %zu, %s: flows went from %" PRIu64
				" %" PRIu64 " %" PRIu64 " %" PRIu64
				" to %" PRIu64 " %" PRIu64 " %" PRIu64
				" %" PRIu64,
				index, ttmem_name(TTMEM_NAMES_FIGURE, i),
				a->alloc_objects, a->alloc_bytes,
				a->free_objects, a->free_bytes,
				b->alloc_objects, b->alloc_bytes,
				b->free_objects, b->free_bytes);
		if (b->peak_bytes < a->peak_bytes ||
			b->peak_bytes < b->live_bytes)
			watcher_fail(s, "device %zu, %s: peak shrank", index,
				ttmem_name(TTMEM_NAMES_FIGURE, i));
	}
}

static void devices_check(struct story *story, const struct ttmem_snapshot *s)
{
	size_t len = ttmem_snapshot_devices_len(s), i;

	for (i = 0; i < len; i++) {
		const struct ttmem_device_row *row = ttmem_snapshot_device(
			s, i);
		struct known_device *known = device_find(story, s, row);

		flows_check(s, i, &known->row, row);
		known->row = *row;
	}
	/* What nobody ever used may be forgotten with its history. */
	if (len < story->devices_len)
		watcher_fail(
			s, "%zu devices after %zu", len, story->devices_len);
}

/* -- processes --------------------------------------------------------------- */

static bool is_gone(const struct ttmem_process_row *process)
{
	return process->state == TTMEM_PROCESS_EXITED ||
		process->state == TTMEM_PROCESS_DIED;
}

static struct known_process *process_find(
	struct story *story, const struct ttmem_process_row *row)
{
	struct known_process **at, *known;
	uint32_t hash;

	memcpy(&hash, row->uuid, sizeof(hash));
	at = &story->buckets[hash % BUCKETS];
	for (known = *at; known; known = known->next)
		if (memcmp(known->row.uuid, row->uuid, 16) == 0)
			return known;
	known = calloc(1, sizeof(*known));
	known->next = *at;
	known->row = *row;
	*at = known;
	story->processes_len++;
	return known;
}

static void process_check(const struct ttmem_snapshot *s,
	const struct ttmem_process_row *a, const struct ttmem_process_row *b)
{
	if (is_gone(a) && !is_gone(b))
		watcher_fail(s, "process %" PRIu64 " is back", b->pid);
	if (is_gone(a) &&
		(a->retired_ns != b->retired_ns || a->events != b->events ||
			a->missed != b->missed || a->objects != b->objects ||
			a->state != b->state))
		watcher_fail(s,
			"process %" PRIu64 " was retired at %" PRIu64
			", with %" PRIu64 " records, and again at %" PRIu64
			", with %" PRIu64,
			b->pid, a->retired_ns, a->events, b->retired_ns,
			b->events);
	if (b->events < a->events || b->missed < a->missed ||
		b->missed > b->events)
		watcher_fail(s,
			"process %" PRIu64 ": %" PRIu64 " records, %" PRIu64
			" missed; then %" PRIu64 ", %" PRIu64,
			b->pid, a->events, a->missed, b->events, b->missed);
}

static void all_are_there(struct story *story, const struct ttmem_snapshot *s)
{
	const struct known_process *known;
	size_t i;

	if (story->processes_len > CLEAN_KEPT)
		return;
	for (i = 0; i < BUCKETS; i++)
		for (known = story->buckets[i]; known; known = known->next)
			if (known->seen != story->snapshots)
				watcher_fail(s,
					"process %" PRIu64 " (%s) is not there "
					"any more",
					known->row.pid,
					ttmem_name(TTMEM_NAMES_PROCESS,
						known->row.state));
}

static void processes_check(struct story *story, const struct ttmem_snapshot *s)
{
	size_t len = ttmem_snapshot_processes_len(s), i;

	for (i = 0; i < len; i++) {
		const struct ttmem_process_row *row = ttmem_snapshot_process(
			s, i);
		struct known_process *known = process_find(story, row);

		if (known->seen == story->snapshots)
			watcher_fail(s, "process %" PRIu64 " is there twice",
				row->pid);
		process_check(s, &known->row, row);
		known->row = *row;
		known->seen = story->snapshots;
	}
	if (len < story->processes_len)
		all_are_there(story, s);
}

/* -- series ------------------------------------------------------------------ */

static void points_check(const struct ttmem_snapshot *s, size_t index,
	const struct ttmem_history_row *row)
{
	uint64_t i;

	for (i = 1; i < row->points_len; i++)
		if (row->points[i].time_ns <= row->points[i - 1].time_ns ||
			row->points[i].events < row->points[i - 1].events)
			watcher_fail(s,
				"history %zu: %" PRIu64 " events at %" PRIu64
				", then %" PRIu64 " at %" PRIu64,
				index, row->points[i - 1].events,
				row->points[i - 1].time_ns,
				row->points[i].events, row->points[i].time_ns);
}

static void histories_check(struct story *story, const struct ttmem_snapshot *s)
{
	size_t len = ttmem_snapshot_histories_len(s), i;

	for (i = 0; i < len; i++) {
		const struct ttmem_history_row *row = ttmem_snapshot_history(
			s, i);
		struct known_device *known = device_find(
			story, s, ttmem_snapshot_device(s, row->device));
		const struct ttmem_point *last;
		unsigned at = 0;

		points_check(s, i, row);
		while (at < RESOLUTIONS - 1 &&
			known->histories[at].interval_ns &&
			known->histories[at].interval_ns != row->interval_ns)
			at++;
		known->histories[at].interval_ns = row->interval_ns;
		if (!row->points_len) {
			if (known->histories[at].time_ns)
				watcher_fail(s, "history %zu is gone", i);
			continue;
		}
		last = &row->points[row->points_len - 1];
		if (last->time_ns < known->histories[at].time_ns ||
			last->events < known->histories[at].events)
			watcher_fail(s, "history %zu went back", i);
		known->histories[at].time_ns = last->time_ns;
		known->histories[at].events = last->events;
	}
}

/* They begin anew with each ttmemd. */
static void distributions_forget(
	struct story *story, const struct ttmem_snapshot *s)
{
	const struct ttmem_health_row *health = ttmem_snapshot_health(s);
	size_t i;

	if (!health || health->restarts == story->restarts)
		return;
	story->restarts = health->restarts;
	for (i = 0; i < story->devices_len; i++)
		memset(story->devices[i].distributions, 0,
			sizeof(story->devices[i].distributions));
}

static void distributions_check(
	struct story *story, const struct ttmem_snapshot *s)
{
	size_t len = ttmem_snapshot_distributions_len(s), i;

	distributions_forget(story, s);
	for (i = 0; i < len; i++) {
		const struct ttmem_distribution_row
			*row = ttmem_snapshot_distribution(s, i);
		struct known_device *known = device_find(
			story, s, ttmem_snapshot_device(s, row->device));
		uint64_t *total;

		if (row->figure >= TTMEM_FIGURES || row->kind > 1)
			watcher_fail(s, "distribution %zu of nothing", i);
		total = &known->distributions[row->figure][row->kind];
		if (row->total < *total)
			watcher_fail(s,
				"distribution %zu: %" PRIu64
				" values after %" PRIu64,
				i, row->total, *total);
		*total = row->total;
	}
}

void story_free(struct story *story)
{
	struct known_process *known;
	size_t i;

	for (i = 0; i < BUCKETS; i++) {
		while ((known = story->buckets[i])) {
			story->buckets[i] = known->next;
			free(known);
		}
	}
	free(story);
}

void story_check(struct story *story, const struct ttmem_snapshot *snapshot)
{
	info_check(story, snapshot);
	story->snapshots++;
	devices_check(story, snapshot);
	processes_check(story, snapshot);
	histories_check(story, snapshot);
	distributions_check(story, snapshot);
}
