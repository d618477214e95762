/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/value.h"
#include "group.h"

bool dump_wants_live(void *context, const struct ttmem_object_row *object)
{
	(void)context;
	return object->orphaned != 1;
}

bool dump_wants_orphaned(void *context, const struct ttmem_object_row *object)
{
	(void)context;
	return object->orphaned == 1;
}

static unsigned key_parse(const char *name, size_t length)
{
	static const struct {
		const char *name;
		unsigned key;
	} known[] = {
		{ "device", DUMP_KEY_DEVICE },
		{ "process", DUMP_KEY_PROCESS },
		{ "kind", DUMP_KEY_KIND },
		{ "scope", DUMP_KEY_SCOPE },
		{ "class", DUMP_KEY_CLASS },
		{ "size", DUMP_KEY_SIZE },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == length &&
			strncmp(known[i].name, name, length) == 0)
			return known[i].key;
	return 0;
}

unsigned dump_keys_parse(const char *option, const char *value)
{
	const char *at = value;
	unsigned keys = 0, key;
	size_t length;

	for (;; at += length + 1) {
		length = strcspn(at, ",");
		key = key_parse(at, length);
		if (!key)
			ttm_error_usage("--%s: not of device, process, kind, "
					"scope, class, size: %s",
				option, value);
		keys |= key;
		if (!at[length])
			return keys;
	}
}

/* -- the largest ones ------------------------------------------------------------ */

/* What an object is sorted by, close together: there may be a million. */
struct entry {
	uint64_t bytes;
	uint64_t age_ns;
	uint64_t index;
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
	return a->index < b->index;
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

int dump_objects_sort(const struct dump_selection *selection,
	dump_group_wants *wants, void *context, size_t most,
	uint64_t **ret_indices, size_t *ret_len)
{
	const struct ttmem_snapshot *snapshot = selection->snapshot;
	size_t all = ttmem_snapshot_objects_len(snapshot), i;
	struct largest largest = { NULL, 0 };
	uint64_t *indices;

	if (most > all)
		most = all;
	largest.heap = malloc((most + 1) * sizeof(*largest.heap));
	indices = malloc((most + 1) * sizeof(*indices));
	if (!largest.heap || !indices) {
		free(largest.heap);
		free(indices);
		return -ENOMEM;
	}
	for (i = 0; most && i < all; i++) {
		const struct ttmem_object_row *o = ttmem_snapshot_object(
			snapshot, i);
		const struct entry entry = { ttm_value_or_0(o->bytes),
			ttm_value_or_0(o->age_ns), i };

		if (dump_selection_has_object(selection, o) &&
			(!wants || wants(context, o)))
			heap_add(&largest, most, &entry);
	}
	qsort(largest.heap, largest.len, sizeof(*largest.heap), entry_compare);
	for (i = 0; i < largest.len; i++)
		indices[i] = largest.heap[i].index;
	free(largest.heap);
	*ret_indices = indices;
	*ret_len = largest.len;
	return 0;
}
