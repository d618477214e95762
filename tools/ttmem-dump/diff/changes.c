/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void change_free(struct dump_change *change)
{
	size_t i;

	free(change->key);
	for (i = 0; i < DUMP_LABELS; i++)
		free(change->labels[i]);
	memset(change, 0, sizeof(*change));
}

static int change_fill(struct dump_change *change, const char *key,
	const char *const labels[DUMP_LABELS])
{
	size_t i;

	memset(change, 0, sizeof(*change));
	change->key = strdup(key);
	if (!change->key)
		return -ENOMEM;
	for (i = 0; i < DUMP_LABELS; i++) {
		if (!labels[i])
			continue;
		change->labels[i] = strdup(labels[i]);
		if (!change->labels[i])
			return -ENOMEM;
	}
	return 0;
}

int dump_changes_add(struct dump_changes *changes, enum dump_side side,
	const char *key, const char *const labels[DUMP_LABELS], uint64_t bytes,
	uint64_t objects)
{
	size_t room = changes->room ? 2 * changes->room : 64;
	struct dump_change *change;

	if (changes->len == changes->room) {
		change = realloc(changes->changes, room * sizeof(*change));
		if (!change)
			return -ENOMEM;
		changes->changes = change;
		changes->room = room;
	}
	change = &changes->changes[changes->len];
	if (change_fill(change, key, labels) < 0) {
		change_free(change);
		return -ENOMEM;
	}
	change->side[side] = (struct dump_amount){ true, bytes, objects };
	changes->len++;
	return 0;
}

static int key_compare(const void *a, const void *b)
{
	const struct dump_change *one = a, *other = b;

	return strcmp(one->key, other->key);
}

static uint64_t change_size(const struct dump_change *change)
{
	uint64_t old = change->side[DUMP_OLD].bytes;
	uint64_t new = change->side[DUMP_NEW].bytes;

	return old < new ? new - old : old - new;
}

static int size_compare(const void *a, const void *b)
{
	const struct dump_change *one = a, *other = b;
	uint64_t first = change_size(one), second = change_size(other);

	if (first != second)
		return first < second ? 1 : -1;
	return strcmp(one->key, other->key);
}

static void change_join(struct dump_change *into, struct dump_change *from)
{
	unsigned side;

	for (side = 0; side < 2; side++) {
		into->side[side].there |= from->side[side].there;
		into->side[side].bytes += from->side[side].bytes;
		into->side[side].objects += from->side[side].objects;
	}
	change_free(from);
}

static bool is_same(const struct dump_change *change)
{
	const struct dump_amount *old = &change->side[DUMP_OLD];
	const struct dump_amount *new = &change->side[DUMP_NEW];

	return old->there == new->there && old->bytes == new->bytes &&
		old->objects == new->objects;
}

void dump_changes_join(struct dump_changes *changes)
{
	struct dump_change *all = changes->changes;
	size_t i, len = 0;

	if (changes->len == 0)
		return;
	qsort(all, changes->len, sizeof(*all), key_compare);
	for (i = 0; i < changes->len; i++) {
		if (len && strcmp(all[len - 1].key, all[i].key) == 0)
			change_join(&all[len - 1], &all[i]);
		else
			all[len++] = all[i];
	}
	changes->len = len;
	for (i = 0, len = 0; i < changes->len; i++) {
		if (is_same(&all[i]))
			change_free(&all[i]);
		else
			all[len++] = all[i];
	}
	changes->len = len;
	if (len)
		qsort(all, len, sizeof(*all), size_compare);
}

void dump_changes_free(struct dump_changes *changes)
{
	size_t i;

	for (i = 0; i < changes->len; i++)
		change_free(&changes->changes[i]);
	free(changes->changes);
	memset(changes, 0, sizeof(*changes));
}
