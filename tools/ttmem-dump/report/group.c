/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define FIRST_LEN 64u

/* Numbers that were seen; open addressing, 0 is empty. */
struct seen {
	uint64_t *entries;
	size_t size; /* a power of two, at least twice `len` */
	size_t len;
};

struct grouping {
	const struct ttmem_snapshot *snapshot;
	unsigned keys;
	struct dump_group *groups;
	uint64_t *hashes; /* of their keys */
	size_t len;
	size_t room;
	uint64_t objects;  /* that a part of counts */
	struct seen table; /* index of a group + 1 */
	struct seen pairs; /* group and device, place or process */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static int seen_make(struct seen *seen, size_t size)
{
	seen->entries = calloc(size, sizeof(*seen->entries));
	seen->size = size;
	seen->len = 0;
	return seen->entries ? 0 : -ENOMEM;
}

/* -- groups by key --------------------------------------------------------------- */

/* The key of a part: what was not asked for is the same for all. */
static void key_of(const struct grouping *grouping,
	const struct dump_part *part, struct dump_group *ret_key)
{
	const struct ttmem_object_row *object = part->object;
	unsigned keys = grouping->keys;

	memset(ret_key, 0, sizeof(*ret_key));
	ret_key->place = keys & DUMP_KEY_DEVICE ? part->place : 0;
	ret_key->whole = keys & DUMP_KEY_DEVICE ? object->place : 0;
	ret_key->process = keys & DUMP_KEY_PROCESS ? object->process : 0;
	ret_key->figure = keys & DUMP_KEY_KIND ? object->figure : 0;
	ret_key->leak_class = keys & DUMP_KEY_CLASS ? part->leak_class : 0;
	ret_key->size = keys & DUMP_KEY_SIZE ? object->bytes : 0;
	ret_key->scope = keys & DUMP_KEY_SCOPE ? object->scope : NULL;
}

static bool scope_is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Places of several processes are the same if their labels are. */
static bool place_is_same(
	const struct grouping *grouping, uint64_t a, uint64_t b)
{
	return a == b ||
		strcmp(dump_place_label(grouping->snapshot, a),
			dump_place_label(grouping->snapshot, b)) == 0;
}

static bool key_is_same(const struct grouping *grouping,
	const struct dump_group *key, const struct dump_group *group)
{
	unsigned keys = grouping->keys;

	return (!(keys & DUMP_KEY_DEVICE) ||
		       (place_is_same(grouping, key->place, group->place) &&
			       place_is_same(
				       grouping, key->whole, group->whole))) &&
		(!(keys & DUMP_KEY_PROCESS) ||
			key->process == group->process) &&
		(!(keys & DUMP_KEY_KIND) || key->figure == group->figure) &&
		(!(keys & DUMP_KEY_CLASS) ||
			key->leak_class == group->leak_class) &&
		(!(keys & DUMP_KEY_SIZE) || key->size == group->size) &&
		(!(keys & DUMP_KEY_SCOPE) ||
			scope_is_same(key->scope, group->scope));
}

static uint64_t text_hash(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return mix(hash, text != NULL);
}

static uint64_t key_hash(
	const struct grouping *grouping, const struct dump_group *key)
{
	uint64_t hash = mix(key->process, key->figure << 8 | key->leak_class);

	hash = mix(hash, key->size);
	if (grouping->keys & DUMP_KEY_DEVICE)
		hash = text_hash(
			hash, dump_place_label(grouping->snapshot, key->place));
	return text_hash(hash, key->scope);
}

static int table_grow(struct grouping *grouping)
{
	struct seen fresh;
	size_t i, at;

	if (seen_make(&fresh, grouping->table.size * 2) < 0)
		return -ENOMEM;
	for (i = 0; i < grouping->len; i++) {
		at = grouping->hashes[i] & (fresh.size - 1);
		while (fresh.entries[at])
			at = (at + 1) & (fresh.size - 1);
		fresh.entries[at] = i + 1;
	}
	free(grouping->table.entries);
	grouping->table = fresh;
	return 0;
}

static int groups_grow(struct grouping *grouping)
{
	size_t room = grouping->room ? 2 * grouping->room : FIRST_LEN;
	struct dump_group *groups;
	uint64_t *hashes;

	groups = realloc(grouping->groups, room * sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	grouping->groups = groups;
	hashes = realloc(grouping->hashes, room * sizeof(*hashes));
	if (!hashes)
		return -ENOMEM;
	grouping->hashes = hashes;
	grouping->room = room;
	return 0;
}

static int group_append(
	struct grouping *grouping, const struct dump_part *part, uint64_t hash)
{
	const struct ttmem_object_row *object = part->object;

	if (grouping->len == grouping->room && groups_grow(grouping) < 0)
		return -ENOMEM;
	grouping->hashes[grouping->len] = hash;
	grouping->groups[grouping->len++] = (struct dump_group){
		.place = part->place,
		.whole = object->place,
		.on = part->devices,
		.process = object->process,
		.figure = object->figure,
		.leak_class = part->leak_class,
		.size = object->bytes,
		.scope = object->scope,
		.age_ns = TTMEM_UNKNOWN,
		.first = part->index,
		.last = TTMEM_NONE,
	};
	return 0;
}

/* The group of a part, made if need be; NULL without memory. */
static struct dump_group *group_find(
	struct grouping *grouping, const struct dump_part *part)
{
	struct dump_group key;
	uint64_t hash;
	size_t at, i;

	if (2 * grouping->len >= grouping->table.size &&
		table_grow(grouping) < 0)
		return NULL;
	key_of(grouping, part, &key);
	hash = key_hash(grouping, &key);
	at = hash & (grouping->table.size - 1);
	for (; grouping->table.entries[at];
		at = (at + 1) & (grouping->table.size - 1)) {
		i = grouping->table.entries[at] - 1;
		if (grouping->hashes[i] == hash &&
			key_is_same(grouping, &key, &grouping->groups[i]))
			return &grouping->groups[i];
	}
	if (group_append(grouping, part, hash) < 0)
		return NULL;
	grouping->table.entries[at] = grouping->len;
	return &grouping->groups[grouping->len - 1];
}

/* -- how many different ------------------------------------------------------------ */

static void pair_put(struct seen *pairs, uint64_t pair)
{
	size_t at = mix(0, pair) & (pairs->size - 1);

	while (pairs->entries[at])
		at = (at + 1) & (pairs->size - 1);
	pairs->entries[at] = pair;
	pairs->len++;
}

static int pairs_grow(struct seen *pairs)
{
	struct seen fresh;
	size_t i;

	if (seen_make(&fresh, pairs->size * 2) < 0)
		return -ENOMEM;
	for (i = 0; i < pairs->size; i++)
		if (pairs->entries[i])
			pair_put(&fresh, pairs->entries[i]);
	free(pairs->entries);
	*pairs = fresh;
	return 0;
}

/* 1 if the pair is new, 0 if not, or -ENOMEM. `sort` is enum sort. */
static int pair_add(
	struct seen *pairs, size_t group, unsigned sort, uint64_t index)
{
	uint64_t pair = 1ull << 63 | (uint64_t)group << 33 |
		(uint64_t)sort << 31 | (index & 0x7fffffff);
	size_t at = mix(0, pair) & (pairs->size - 1);

	for (; pairs->entries[at]; at = (at + 1) & (pairs->size - 1))
		if (pairs->entries[at] == pair)
			return 0;
	if (2 * pairs->len >= pairs->size && pairs_grow(pairs) < 0)
		return -ENOMEM;
	pair_put(pairs, pair);
	return 1;
}

enum sort {
	SORT_DEVICE,
	SORT_PLACE,
	SORT_PROCESS,
};

static int devices_add(struct grouping *grouping, struct dump_group *group,
	const struct dump_part *part)
{
	const struct ttmem_place_row *place = ttmem_snapshot_place(
		grouping->snapshot, part->place);
	size_t number = (size_t)(group - grouping->groups), i;
	int r;

	if (group->last != TTMEM_NONE && part->place == group->place)
		return 0; /* as nearly always */
	r = pair_add(&grouping->pairs, number, SORT_PLACE, part->place);

	for (i = 0; r > 0 && place && i < place->devices_len; i++) {
		int fresh = pair_add(&grouping->pairs, number, SORT_DEVICE,
			place->devices[i]);

		if (fresh < 0)
			return fresh;
		if (fresh && group->devices < DUMP_GROUP_SOME)
			group->some_devices[group->devices] = place->devices[i];
		group->devices += (uint64_t)fresh;
	}
	return r < 0 ? r : 0;
}

static int process_add(struct grouping *grouping, struct dump_group *group,
	const struct dump_part *part)
{
	size_t number = (size_t)(group - grouping->groups);
	int r;

	if (group->last != TTMEM_NONE &&
		part->object->process == group->process)
		return 0;
	r = pair_add(
		&grouping->pairs, number, SORT_PROCESS, part->object->process);
	if (r < 0)
		return r;
	if (r && group->processes < DUMP_GROUP_SOME)
		group->some_processes[group->processes] = part->object->process;
	group->processes += (uint64_t)r;
	return 0;
}

static int part_add(struct grouping *grouping, const struct dump_part *part)
{
	struct dump_group *group = group_find(grouping, part);
	const struct ttmem_object_row *object = part->object;
	const struct ttmem_object_row *first;

	if (!group || devices_add(grouping, group, part) < 0 ||
		process_add(grouping, group, part) < 0)
		return -ENOMEM;
	group->objects += group->last != part->index;
	group->last = part->index;
	if (part->bytes != TTMEM_UNKNOWN)
		group->bytes += part->bytes;
	if (object->age_ns != TTMEM_UNKNOWN &&
		(group->age_ns == TTMEM_UNKNOWN ||
			object->age_ns > group->age_ns))
		group->age_ns = object->age_ns;
	first = ttmem_snapshot_object(grouping->snapshot, group->first);
	if (object->bytes > first->bytes)
		group->first = part->index;
	return 0;
}

/* -- all ---------------------------------------------------------------------------- */

static int group_compare(const void *a, const void *b)
{
	const struct dump_group *one = a, *other = b;

	if (one->bytes != other->bytes)
		return one->bytes < other->bytes ? 1 : -1;
	if (one->objects != other->objects)
		return one->objects < other->objects ? 1 : -1;
	if (one->first != other->first)
		return one->first < other->first ? -1 : 1;
	return 0;
}

static int object_add(struct grouping *grouping,
	const struct dump_selection *selection, uint64_t index,
	dump_group_wants *wants, void *context)
{
	struct dump_part parts[DUMP_PARTS_MAX];
	const struct ttmem_object_row *object = ttmem_snapshot_object(
		selection->snapshot, index);
	size_t len = 1, i;
	bool some = false;

	if (grouping->keys & DUMP_KEY_WHOLE)
		dump_part_whole(object, index, &parts[0]);
	else
		len = dump_parts_of(object, index, parts);
	for (i = 0; i < len; i++) {
		if (!dump_has_part(selection, &parts[i]) ||
			(wants && !wants(context, &parts[i])))
			continue;
		if (part_add(grouping, &parts[i]) < 0)
			return -ENOMEM;
		some = true;
	}
	grouping->objects += some;
	return 0;
}

static int grouping_fill(struct grouping *grouping,
	const struct dump_selection *selection, dump_group_wants *wants,
	void *context)
{
	size_t len = ttmem_snapshot_objects_len(selection->snapshot), i;
	int r = 0;

	for (i = 0; r == 0 && i < len; i++)
		r = object_add(grouping, selection, i, wants, context);
	return r;
}

int dump_groups_make(const struct dump_selection *selection, unsigned keys,
	dump_group_wants *wants, void *context, struct dump_groups *ret_groups)
{
	struct dump_groups groups = { NULL, 0, 0, 0 };
	struct grouping grouping;
	size_t i;
	int r;

	memset(&grouping, 0, sizeof(grouping));
	grouping.snapshot = selection->snapshot;
	grouping.keys = keys;
	r = seen_make(&grouping.table, FIRST_LEN);
	if (r == 0)
		r = seen_make(&grouping.pairs, FIRST_LEN);
	if (r == 0)
		r = grouping_fill(&grouping, selection, wants, context);
	free(grouping.hashes);
	free(grouping.table.entries);
	free(grouping.pairs.entries);
	if (r < 0) {
		free(grouping.groups);
		return r;
	}
	if (grouping.len)
		qsort(grouping.groups, grouping.len, sizeof(*grouping.groups),
			group_compare);
	groups.groups = grouping.groups;
	groups.len = grouping.len;
	groups.objects = grouping.objects;
	for (i = 0; i < groups.len; i++)
		groups.bytes += groups.groups[i].bytes;
	*ret_groups = groups;
	return 0;
}

void dump_groups_free(struct dump_groups *groups)
{
	free(groups->groups);
	memset(groups, 0, sizeof(*groups));
}
