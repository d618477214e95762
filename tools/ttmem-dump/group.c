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
	unsigned keys;
	struct dump_group *groups;
	uint64_t *hashes; /* of their keys */
	size_t len;
	size_t room;
	struct seen table; /* index of a group + 1 */
	struct seen pairs; /* group and device, group and process */
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

/* The key of an object: what was not asked for is the same for all. */
static void key_of(const struct grouping *grouping,
	const struct ttmem_object_row *object, struct dump_group *ret_key)
{
	unsigned keys = grouping->keys;

	memset(ret_key, 0, sizeof(*ret_key));
	ret_key->device = keys & DUMP_KEY_DEVICE ? object->device : 0;
	ret_key->process = keys & DUMP_KEY_PROCESS ? object->process : 0;
	ret_key->figure = keys & DUMP_KEY_KIND ? object->figure : 0;
	ret_key->leak_class = keys & DUMP_KEY_CLASS ? object->leak_class : 0;
	ret_key->size = keys & DUMP_KEY_SIZE ? object->bytes : 0;
	ret_key->scope = keys & DUMP_KEY_SCOPE ? object->scope : NULL;
}

static bool scope_is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool key_is_same(const struct grouping *grouping,
	const struct dump_group *key, const struct dump_group *group)
{
	unsigned keys = grouping->keys;

	return (!(keys & DUMP_KEY_DEVICE) || key->device == group->device) &&
		(!(keys & DUMP_KEY_PROCESS) ||
			key->process == group->process) &&
		(!(keys & DUMP_KEY_KIND) || key->figure == group->figure) &&
		(!(keys & DUMP_KEY_CLASS) ||
			key->leak_class == group->leak_class) &&
		(!(keys & DUMP_KEY_SIZE) || key->size == group->size) &&
		(!(keys & DUMP_KEY_SCOPE) ||
			scope_is_same(key->scope, group->scope));
}

static uint64_t key_hash(const struct dump_group *key)
{
	uint64_t hash = mix(key->device, key->process);
	const char *at;

	hash = mix(hash, key->figure << 8 | key->leak_class);
	hash = mix(hash, key->size);
	for (at = key->scope; at && *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
	return mix(hash, key->scope != NULL);
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

static int group_append(struct grouping *grouping,
	const struct ttmem_object_row *object, uint64_t index, uint64_t hash)
{
	if (grouping->len == grouping->room && groups_grow(grouping) < 0)
		return -ENOMEM;
	grouping->hashes[grouping->len] = hash;
	grouping->groups[grouping->len++] = (struct dump_group){
		.device = object->device,
		.process = object->process,
		.figure = object->figure,
		.leak_class = object->leak_class,
		.size = object->bytes,
		.scope = object->scope,
		.devices = 1,
		.processes = 1,
		.some_devices = { object->device },
		.some_processes = { object->process },
		.age_ns = TTMEM_UNKNOWN,
		.first = index,
	};
	return 0;
}

/* The group of an object, made if need be; NULL without memory. */
static struct dump_group *group_find(struct grouping *grouping,
	const struct ttmem_object_row *object, uint64_t index)
{
	struct dump_group key;
	uint64_t hash;
	size_t at, i;

	if (2 * grouping->len >= grouping->table.size &&
		table_grow(grouping) < 0)
		return NULL;
	key_of(grouping, object, &key);
	hash = key_hash(&key);
	at = hash & (grouping->table.size - 1);
	for (; grouping->table.entries[at];
		at = (at + 1) & (grouping->table.size - 1)) {
		i = grouping->table.entries[at] - 1;
		if (grouping->hashes[i] == hash &&
			key_is_same(grouping, &key, &grouping->groups[i]))
			return &grouping->groups[i];
	}
	if (group_append(grouping, object, index, hash) < 0)
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

/* 1 if the pair is new, 0 if not, or -ENOMEM. `sort` tells devices from processes. */
static int pair_add(
	struct seen *pairs, size_t group, unsigned sort, uint64_t index)
{
	uint64_t pair = 1ull << 63 | (uint64_t)group << 33 |
		(uint64_t)sort << 32 | (index & 0xffffffff);
	size_t at = mix(0, pair) & (pairs->size - 1);

	for (; pairs->entries[at]; at = (at + 1) & (pairs->size - 1))
		if (pairs->entries[at] == pair)
			return 0;
	if (2 * pairs->len >= pairs->size && pairs_grow(pairs) < 0)
		return -ENOMEM;
	pair_put(pairs, pair);
	return 1;
}

static int object_add(struct grouping *grouping,
	const struct dump_selection *selection,
	const struct ttmem_object_row *object, uint64_t index)
{
	struct dump_group *group = group_find(grouping, object, index);
	const struct ttmem_object_row *first;
	int device = 0, process = 0;
	size_t number;

	if (!group)
		return -ENOMEM;
	/* Those of the first object count already. */
	number = (size_t)(group - grouping->groups);
	if (object->device != group->device)
		device = pair_add(&grouping->pairs, number, 0, object->device);
	if (object->process != group->process)
		process = pair_add(
			&grouping->pairs, number, 1, object->process);
	if (device < 0 || process < 0)
		return -ENOMEM;
	if (device && group->devices < DUMP_GROUP_SOME)
		group->some_devices[group->devices] = object->device;
	if (process && group->processes < DUMP_GROUP_SOME)
		group->some_processes[group->processes] = object->process;
	group->devices += (uint64_t)device;
	group->processes += (uint64_t)process;
	group->objects++;
	if (object->bytes != TTMEM_UNKNOWN)
		group->bytes += object->bytes;
	if (object->age_ns != TTMEM_UNKNOWN &&
		(group->age_ns == TTMEM_UNKNOWN ||
			object->age_ns > group->age_ns))
		group->age_ns = object->age_ns;
	first = ttmem_snapshot_object(selection->snapshot, group->first);
	if (object->bytes > first->bytes)
		group->first = index;
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

static int grouping_fill(struct grouping *grouping,
	const struct dump_selection *selection, dump_group_wants *wants,
	void *context)
{
	size_t len = ttmem_snapshot_objects_len(selection->snapshot), i;
	const struct ttmem_object_row *object;
	int r = 0;

	for (i = 0; r == 0 && i < len; i++) {
		object = ttmem_snapshot_object(selection->snapshot, i);
		if (dump_selection_has_object(selection, object) &&
			(!wants || wants(context, object)))
			r = object_add(grouping, selection, object, i);
	}
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
	for (i = 0; i < groups.len; i++) {
		groups.bytes += groups.groups[i].bytes;
		groups.objects += groups.groups[i].objects;
	}
	*ret_groups = groups;
	return 0;
}

void dump_groups_free(struct dump_groups *groups)
{
	free(groups->groups);
	memset(groups, 0, sizeof(*groups));
}
