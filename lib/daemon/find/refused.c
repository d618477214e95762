/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
#include "daemon/find/refused.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 64u
#define CAPACITY_MAX (1u << 17)

/* Its entry, or the free one where it would be; there is always a free one. */
static struct ttm_refused_entry *entry_at(
	struct ttm_refused *refused, uint64_t inode)
{
	size_t mask = refused->capacity - 1;
	size_t i = (size_t)(inode * 0x9e3779b97f4a7c15ull >> 32) & mask;

	while (refused->entries[i].inode && refused->entries[i].inode != inode)
		i = (i + 1) & mask;
	return &refused->entries[i];
}

/* Moves what is of round `from` or later into a table of that capacity. */
static bool entries_move(
	struct ttm_refused *refused, size_t capacity, uint64_t from)
{
	struct ttm_refused fresh = { NULL, 0, capacity };
	size_t i;

	fresh.entries = calloc(capacity, sizeof(*fresh.entries));
	if (!fresh.entries)
		return false;
	for (i = 0; i < refused->capacity; i++) {
		const struct ttm_refused_entry *entry = &refused->entries[i];

		if (!entry->inode || entry->round < from)
			continue;
		*entry_at(&fresh, entry->inode) = *entry;
		fresh.entries_len++;
	}
	free(refused->entries);
	*refused = fresh;
	return true;
}

enum ttm_refusal ttm_refused_get(struct ttm_refused *refused, uint64_t inode,
	uint64_t changed_ns, uint64_t round)
{
	struct ttm_refused_entry *entry;

	if (refused->capacity == 0)
		return TTM_REFUSAL_NONE;
	entry = entry_at(refused, inode);
	if (!entry->inode)
		return TTM_REFUSAL_NONE;
	entry->round = round;
	if (entry->refusal == TTM_REFUSAL_BAD &&
		entry->changed_ns != changed_ns)
		return TTM_REFUSAL_NONE;
	return (enum ttm_refusal)entry->refusal;
}

bool ttm_refused_add(struct ttm_refused *refused, uint64_t inode,
	uint64_t changed_ns, uint64_t round, enum ttm_refusal refusal)
{
	struct ttm_refused_entry *entry;
	size_t capacity = refused->capacity;

	if (capacity == 0 || refused->entries_len >= capacity / 2) {
		capacity = capacity ? 2 * capacity : CAPACITY_MIN;
		if (capacity > CAPACITY_MAX ||
			!entries_move(refused, capacity, 0))
			return false;
	}
	entry = entry_at(refused, inode);
	if (!entry->inode)
		refused->entries_len++;
	*entry = (struct ttm_refused_entry){ inode, changed_ns, round,
		refusal };
	return true;
}

void ttm_refused_tidy(struct ttm_refused *refused, uint64_t round)
{
	size_t capacity = CAPACITY_MIN, kept = 0, i;

	for (i = 0; i < refused->capacity; i++)
		kept += refused->entries[i].inode &&
			refused->entries[i].round >= round;
	if (kept == refused->entries_len)
		return;
	if (kept == 0) {
		ttm_refused_drop(refused);
		return;
	}
	while (capacity / 2 <= kept)
		capacity *= 2;
	entries_move(refused, capacity, round); /* or next time */
}

void ttm_refused_drop(struct ttm_refused *refused)
{
	free(refused->entries);
	memset(refused, 0, sizeof(*refused));
}
