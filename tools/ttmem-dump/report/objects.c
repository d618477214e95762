/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/value.h"
#include "group.h"
#include "report.h"

bool dump_wants_live(void *context, const struct dump_part *part)
{
	(void)context;
	return !part->orphaned;
}

bool dump_wants_orphaned(void *context, const struct dump_part *part)
{
	(void)context;
	return part->orphaned;
}

/* -- the largest ones ------------------------------------------------------------ */

/* What an object is sorted by, close together: there may be a million. */
struct entry {
	uint64_t bytes;
	uint64_t age_ns;
	uint64_t index;
	unsigned number; /* of the part */
};

struct entries {
	struct entry *list;
	size_t len;
};

/* Larger first, then older first, then as listed. */
static bool is_before(const struct entry *a, const struct entry *b)
{
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes;
	if (a->age_ns != b->age_ns)
		return a->age_ns > b->age_ns;
	return a->index != b->index ? a->index < b->index :
				      a->number < b->number;
}

static int entry_compare(const void *a, const void *b)
{
	return is_before(a, b) ? -1 : 1; /* no two are equal */
}

/* The parts that are asked for; without `wants`, the object is one. */
static size_t parts_of(const struct ttmem_object_row *object, uint64_t index,
	dump_group_wants *wants, struct dump_part ret_parts[DUMP_PARTS_MAX])
{
	if (wants)
		return dump_parts_of(object, index, ret_parts);
	dump_part_whole(object, index, &ret_parts[0]);
	return 1;
}

static void object_add(struct entries *entries,
	const struct dump_selection *selection, uint64_t index,
	dump_group_wants *wants, void *context)
{
	const struct ttmem_object_row *object = ttmem_snapshot_object(
		selection->snapshot, index);
	struct dump_part parts[DUMP_PARTS_MAX];
	size_t len = parts_of(object, index, wants, parts), i;

	for (i = 0; i < len; i++) {
		const struct entry entry = { ttm_value_or_0(parts[i].bytes),
			ttm_value_or_0(object->age_ns), index, (unsigned)i };

		if (dump_has_part(selection, &parts[i]) &&
			(!wants || wants(context, &parts[i])))
			entries->list[entries->len++] = entry;
	}
}

int dump_objects_sort(const struct dump_selection *selection,
	dump_group_wants *wants, void *context, size_t most,
	struct dump_part **ret_parts, size_t *ret_len)
{
	const struct ttmem_snapshot *snapshot = selection->snapshot;
	size_t all = ttmem_snapshot_objects_len(snapshot), i;
	struct dump_part parts[DUMP_PARTS_MAX], *sorted = NULL;
	struct entries entries = { NULL, 0 };
	const struct entry *entry;

	entries.list = malloc(
		(DUMP_PARTS_MAX * all + 1) * sizeof(struct entry));
	for (i = 0; entries.list && most && i < all; i++)
		object_add(&entries, selection, i, wants, context);
	if (entries.list) {
		qsort(entries.list, entries.len, sizeof(*entry), entry_compare);
		most = most < entries.len ? most : entries.len;
		sorted = malloc((most + 1) * sizeof(*sorted));
	}
	for (i = 0; sorted && i < most; i++) {
		entry = &entries.list[i];
		parts_of(ttmem_snapshot_object(snapshot, entry->index),
			entry->index, wants, parts);
		sorted[i] = parts[entry->number];
	}
	free(entries.list);
	if (!sorted)
		return -ENOMEM;
	*ret_parts = sorted;
	*ret_len = most;
	return 0;
}

/* Host memory has no banks. */
static bool is_unbanked(const struct dump_part *part)
{
	return !part->orphaned && part->object->figure < TTMEM_FIGURE_CB &&
		part->object->figure != TTMEM_FIGURE_SYSTEM_MEMORY &&
		part->object->banks == TTMEM_UNKNOWN;
}

uint64_t *dump_unbanked_count(const struct dump_report *report)
{
	const struct ttmem_snapshot *snapshot = report->snapshot;
	size_t devices = ttmem_snapshot_devices_len(snapshot), i, n;
	uint64_t *counts = calloc(devices + 1, sizeof(*counts));
	const struct ttmem_place_row *place;
	struct dump_part parts[DUMP_PARTS_MAX];

	for (i = 0; counts && i < ttmem_snapshot_objects_len(snapshot); i++) {
		dump_parts_of(ttmem_snapshot_object(snapshot, i), i, parts);
		place = ttmem_snapshot_place(snapshot, parts[0].place);
		if (!place || !is_unbanked(&parts[0]) ||
			!dump_has_figure(&report->options->filter,
				parts[0].object->figure))
			continue;
		for (n = 0; n < place->devices_len; n++)
			if (place->devices[n] < devices)
				counts[place->devices[n]]++;
	}
	return counts;
}
