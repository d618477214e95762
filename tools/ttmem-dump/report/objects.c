/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/value.h"
#include "group.h"
#include "render.h"

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

/* The wanted objects found so far: a heap with the least of them on top. */
struct largest {
	struct entry *heap;
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

static void heap_sink(struct largest *largest)
{
	struct entry *heap = largest->heap;
	struct entry item = heap[0];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < largest->len) {
		if (child + 1 < largest->len &&
			is_before(&heap[child], &heap[child + 1]))
			child++;
		if (!is_before(&item, &heap[child]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = item;
}

static void heap_add(
	struct largest *largest, size_t most, const struct entry *entry)
{
	size_t at, parent;
	struct entry *heap = largest->heap;

	if (largest->len == most) {
		if (is_before(entry, &heap[0])) {
			heap[0] = *entry;
			heap_sink(largest);
		}
		return;
	}
	for (at = largest->len++; at; at = parent) {
		parent = (at - 1) / 2;
		if (!is_before(&heap[parent], entry))
			break;
		heap[at] = heap[parent];
	}
	heap[at] = *entry;
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

static void object_add(struct largest *largest,
	const struct dump_selection *selection, uint64_t index,
	dump_group_wants *wants, void *context, size_t most)
{
	const struct ttmem_object_row *object = ttmem_snapshot_object(
		selection->snapshot, index);
	struct dump_part parts[DUMP_PARTS_MAX];
	size_t len = parts_of(object, index, wants, parts), i;

	for (i = 0; i < len; i++) {
		const struct entry entry = { ttm_value_or_0(parts[i].bytes),
			ttm_value_or_0(object->age_ns), index, (unsigned)i };

		if (dump_selection_has_part(selection, &parts[i]) &&
			(!wants || wants(context, &parts[i])))
			heap_add(largest, most, &entry);
	}
}

int dump_objects_sort(const struct dump_selection *selection,
	dump_group_wants *wants, void *context, size_t most,
	struct dump_part **ret_parts, size_t *ret_len)
{
	const struct ttmem_snapshot *snapshot = selection->snapshot;
	size_t all = ttmem_snapshot_objects_len(snapshot), i;
	struct dump_part parts[DUMP_PARTS_MAX], *sorted;
	struct largest largest = { NULL, 0 };

	if (most > DUMP_PARTS_MAX * all)
		most = DUMP_PARTS_MAX * all;
	largest.heap = malloc((most + 1) * sizeof(*largest.heap));
	if (!largest.heap)
		return -ENOMEM;
	for (i = 0; most && i < all; i++)
		object_add(&largest, selection, i, wants, context, most);
	sorted = malloc((largest.len + 1) * sizeof(*sorted));
	if (!sorted) {
		free(largest.heap);
		return -ENOMEM;
	}
	qsort(largest.heap, largest.len, sizeof(*largest.heap), entry_compare);
	for (i = 0; i < largest.len; i++) {
		parts_of(ttmem_snapshot_object(snapshot, largest.heap[i].index),
			largest.heap[i].index, wants, parts);
		sorted[i] = parts[largest.heap[i].number];
	}
	free(largest.heap);
	*ret_parts = sorted;
	*ret_len = largest.len;
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
			!dump_filter_has_figure(&report->options->filter,
				parts[0].object->figure))
			continue;
		for (n = 0; n < place->devices_len; n++)
			if (place->devices[n] < devices)
				counts[place->devices[n]]++;
	}
	return counts;
}
