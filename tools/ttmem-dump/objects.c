/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
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

/* The wanted objects found so far: a heap with the least of them on top. */
struct largest {
	const struct ttmem_snapshot *snapshot;
	uint64_t *heap;
	size_t len;
};

static uint64_t known_or_0(uint64_t value)
{
	return value == TTMEM_UNKNOWN ? 0 : value;
}

/* Larger first, then older first, then as listed. */
static bool is_before(
	const struct ttmem_snapshot *snapshot, uint64_t a, uint64_t b)
{
	const struct ttmem_object_row *one = ttmem_snapshot_object(snapshot, a);
	const struct ttmem_object_row *other = ttmem_snapshot_object(
		snapshot, b);

	if (one->bytes != other->bytes)
		return known_or_0(one->bytes) > known_or_0(other->bytes);
	if (one->age_ns != other->age_ns)
		return known_or_0(one->age_ns) > known_or_0(other->age_ns);
	return a < b;
}

static void heap_sink(struct largest *largest, size_t at, size_t len)
{
	uint64_t *heap = largest->heap;
	uint64_t item = heap[at];
	size_t child;

	while ((child = 2 * at + 1) < len) {
		if (child + 1 < len &&
			is_before(largest->snapshot, heap[child],
				heap[child + 1]))
			child++;
		if (!is_before(largest->snapshot, item, heap[child]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = item;
}

static void heap_add(struct largest *largest, size_t most, uint64_t index)
{
	size_t at, parent;
	uint64_t *heap = largest->heap;

	if (largest->len == most) {
		if (is_before(largest->snapshot, index, heap[0])) {
			heap[0] = index;
			heap_sink(largest, 0, largest->len);
		}
		return;
	}
	for (at = largest->len++; at; at = parent) {
		parent = (at - 1) / 2;
		if (!is_before(largest->snapshot, heap[parent], index))
			break;
		heap[at] = heap[parent];
	}
	heap[at] = index;
}

/* Takes the least away from the end on. */
static void heap_sort(struct largest *largest)
{
	size_t len;

	for (len = largest->len; len > 1; len--) {
		uint64_t least = largest->heap[0];

		largest->heap[0] = largest->heap[len - 1];
		heap_sink(largest, 0, len - 1);
		largest->heap[len - 1] = least;
	}
}

int dump_objects_sort(const struct dump_selection *selection,
	dump_group_wants *wants, void *context, size_t most,
	uint64_t **ret_indices, size_t *ret_len)
{
	const struct ttmem_snapshot *snapshot = selection->snapshot;
	size_t all = ttmem_snapshot_objects_len(snapshot), i;
	struct largest largest = { snapshot, NULL, 0 };

	if (most > all)
		most = all;
	largest.heap = malloc((most + 1) * sizeof(*largest.heap));
	if (!largest.heap)
		return -ENOMEM;
	for (i = 0; most && i < all; i++) {
		const struct ttmem_object_row *object = ttmem_snapshot_object(
			snapshot, i);

		if (dump_selection_has_object(selection, object) &&
			(!wants || wants(context, object)))
			heap_add(&largest, most, i);
	}
	heap_sort(&largest);
	*ret_indices = largest.heap;
	*ret_len = largest.len;
	return 0;
}
