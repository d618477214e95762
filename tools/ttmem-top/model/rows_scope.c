/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* The objects of expanded processes, grouped by scope. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

/* An object below the row that it belongs to. */
struct item {
	size_t row;
	const struct ttmem_object_row *object;
};

struct items {
	struct item *list;
	size_t len;
	size_t size;
};

/* -- which are expanded ------------------------------------------------------- */

static size_t expanded_find(
	const struct top_expanded *expanded, struct top_id id)
{
	size_t i;

	for (i = 0; i < expanded->len; i++)
		if (top_id_equal(expanded->ids[i], id))
			break;
	return i;
}

static bool expanded_has(const struct top_expanded *expanded, struct top_id id)
{
	return (expanded_find(expanded, id) < expanded->len) != expanded->all;
}

int top_expanded_set(struct top_expanded *expanded, struct top_id id, bool on)
{
	size_t at = expanded_find(expanded, id);
	struct top_id *ids;

	if (expanded_has(expanded, id) == on)
		return 0;
	if (at < expanded->len) {
		expanded->ids[at] = expanded->ids[--expanded->len];
		return 0;
	}
	ids = ttm_list_grow(
		expanded->ids, expanded->len, &expanded->size, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	expanded->ids = ids;
	expanded->ids[expanded->len++] = id;
	return 0;
}

void top_expanded_free(struct top_expanded *expanded)
{
	free(expanded->ids);
	memset(expanded, 0, sizeof(*expanded));
}

bool top_expanded_any(const struct top_expanded *expanded)
{
	return expanded->all || expanded->len;
}

/* -- grouping ----------------------------------------------------------------- */

bool top_object_is_on(const struct ttmem_snapshot *snapshot,
	const struct ttmem_object_row *object, uint64_t device)
{
	const struct ttmem_place_row *place = ttmem_snapshot_place(
		snapshot, object->place);
	size_t i;

	if (device == TTMEM_NONE)
		return true;
	for (i = 0; place && i < place->devices_len; i++)
		if (place->devices[i] == device)
			return true;
	return false;
}

uint64_t top_object_bytes(
	const struct ttmem_object_row *object, uint64_t device)
{
	return device == TTMEM_NONE ? object->total_bytes : object->bytes;
}

static int item_add(
	struct items *items, size_t row, const struct ttmem_object_row *object)
{
	struct item *list = ttm_list_grow(
		items->list, items->len, &items->size, sizeof(*list));

	if (!list)
		return -ENOMEM;
	items->list = list;
	items->list[items->len].row = row;
	items->list[items->len++].object = object;
	return 0;
}

/* An object belongs to the rows of its process on each of its devices. */
static int items_collect(const struct ttmem_snapshot *snapshot,
	const struct top_rows *rows, struct items *items)
{
	size_t objects = ttmem_snapshot_objects_len(snapshot), i, r;
	size_t *next, *head, processes = ttmem_snapshot_processes_len(snapshot);
	const struct ttmem_object_row *object;
	int result = 0;

	head = calloc(processes + rows->len + 2, sizeof(*head));
	if (!head)
		return -ENOMEM;
	next = head + processes;
	/* Lists of rows by process, numbers from 1; 0 is the end. */
	for (r = 0; r < rows->len; r++)
		if (rows->list[r].expanded &&
			rows->list[r].process < processes) {
			next[r + 1] = head[rows->list[r].process];
			head[rows->list[r].process] = r + 1;
		}
	for (i = 0; result == 0 && i < objects; i++) {
		object = ttmem_snapshot_object(snapshot, i);
		if (object->process >= processes)
			continue;
		for (r = head[object->process]; result == 0 && r; r = next[r])
			if (top_object_is_on(
				    snapshot, object, rows->list[r - 1].device))
				result = item_add(items, r - 1, object);
	}
	free(head);
	return result;
}

static int scope_compare(const char *a, const char *b)
{
	if (a == b)
		return 0;
	if (!a || !b)
		return a ? -1 : 1; /* those without one last */
	return strcmp(a, b);
}

static int item_compare(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return scope_compare(a->object->scope, b->object->scope);
}

static struct top_id scope_id(struct top_id parent, const char *scope)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	struct top_id id = parent;

	while (scope && *scope)
		hash = (hash ^ (unsigned char)*scope++) * 0x100000001b3ull;
	id.a ^= hash;
	id.b ^= ~0ull;
	return id;
}

/* The items of one scope become a row. Returns how many, 0: no memory. */
static size_t scope_add(struct top_rows *into, const struct top_row *parent,
	const struct item *items, size_t len)
{
	struct top_row *row = top_rows_add(into);
	const char *scope = items[0].object->scope;
	size_t i;

	if (!row)
		return 0;
	row->kind = TOP_ROW_SCOPE;
	row->id = scope_id(parent->id, scope);
	row->depth = parent->depth + 1;
	row->process = parent->process;
	row->device = parent->device;
	row->comm = scope;
	row->objects = 0;
	memset(row->bytes, 0, sizeof(row->bytes));
	for (i = 0; i < len && items[i].row == items[0].row &&
		scope_compare(items[i].object->scope, scope) == 0;
		i++) {
		const struct ttmem_object_row *object = items[i].object;

		row->objects++;
		if (object->figure < TTMEM_FIGURES)
			row->bytes[object->figure] = ttm_value_add(
				row->bytes[object->figure],
				top_object_bytes(object, row->device));
	}
	return i;
}

static uint64_t bytes_sum(const struct top_row *row)
{
	uint64_t sum = 0;
	unsigned f;

	for (f = 0; f < TTMEM_FIGURES; f++)
		sum = ttm_value_add(sum, row->bytes[f]);
	return sum;
}

static int scope_row_compare(const void *x, const void *y)
{
	uint64_t a = bytes_sum(x), b = bytes_sum(y);

	if (a != b)
		return a > b ? -1 : 1;
	return scope_compare(((const struct top_row *)x)->comm,
		((const struct top_row *)y)->comm);
}

static int note_add(
	struct top_rows *into, const struct top_row *parent, const char *text)
{
	struct top_row *row = top_rows_add(into);

	if (!row)
		return -ENOMEM;
	row->kind = TOP_ROW_NOTE;
	row->id = scope_id(parent->id, text);
	row->depth = parent->depth + 1;
	row->comm = text;
	return 0;
}

/* Behind its parent, which was copied to `into` already. */
static int scopes_add(struct top_rows *into, const struct top_row *parent,
	const struct item *items, size_t len, bool listed)
{
	size_t first = into->len, i, n;

	for (i = 0; i < len; i += n) {
		n = scope_add(into, parent, items + i, len - i);
		if (!n)
			return -ENOMEM;
	}
	if (into->len == first &&
		note_add(into, parent,
			listed ? "no objects" : "objects are not listed") < 0)
		return -ENOMEM;
	qsort(into->list + first, into->len - first, sizeof(*into->list),
		scope_row_compare);
	into->list[into->len - 1].last = true;
	return 0;
}

static int rows_merge(const struct top_rows *rows, const struct items *items,
	bool listed, struct top_rows *into)
{
	size_t i, at = 0, len;
	struct top_row *row;

	for (i = 0; i < rows->len; i++) {
		row = top_rows_add(into);
		if (!row)
			return -ENOMEM;
		*row = rows->list[i];
		if (!rows->list[i].expanded)
			continue;
		for (len = 0;
			at + len < items->len && items->list[at + len].row == i;
			len++)
			;
		if (scopes_add(into, &rows->list[i], items->list + at, len,
			    listed) < 0)
			return -ENOMEM;
		at += len;
	}
	return 0;
}

int top_rows_expand(const struct ttmem_snapshot *snapshot,
	const struct top_expanded *expanded, struct top_rows *rows)
{
	bool listed = ttmem_snapshot_info(snapshot)->objects_listed == 1;
	struct items items = { NULL, 0, 0 };
	struct top_rows into = *rows;
	int r;
	size_t i;

	if (!top_expanded_any(expanded))
		return 0;
	for (i = 0; i < rows->len; i++)
		rows->list[i].expanded = rows->list[i].kind ==
				TOP_ROW_PROCESS &&
			expanded_has(expanded, rows->list[i].id);
	r = items_collect(snapshot, rows, &items);
	if (r == 0) {
		if (items.len)
			qsort(items.list, items.len, sizeof(*items.list),
				item_compare);
		into.list = NULL;
		into.len = into.size = 0;
		r = rows_merge(rows, &items, listed, &into);
		if (r == 0) {
			free(rows->list);
			*rows = into;
		} else {
			free(into.list);
		}
	}
	free(items.list);
	return r;
}
