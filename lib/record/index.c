/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#include "record/index.h"

#include <errno.h>

#define LEVEL0_LINES 512u
#define LEVEL_GROWTH_SHIFT 3

static uint64_t level_lines(int number)
{
	return (uint64_t)LEVEL0_LINES << (LEVEL_GROWTH_SHIFT * number);
}

/* As many overflow lines again as half the first lines, behind those. */
static size_t level_size(int number)
{
	uint64_t lines = level_lines(number);

	return sizeof(struct ttm_bucket) * (lines + lines / 2) +
		sizeof(struct ttm_level);
}

static bool level_add(struct ttm_process *process, int number)
{
	uint64_t lines = level_lines(number);
	struct ttm_bucket *memory;
	struct ttm_level *level;

	if (number >= (int)TTM_INDEX_LEVELS)
		return false;
	if (ttm_level_at(process, number))
		return true;
	memory = ttm_private_memory(level_size(number));
	if (!memory)
		return false;
	level = (struct ttm_level *)(memory + lines + lines / 2);
	level->mask = lines - 1;
	level->overflow_len = lines / 2;
	level->lines = memory;
	if (!ttm_pointer_publish(&process->levels[number], level))
		ttm_private_memory_drop(memory, level_size(number));
	return true;
}

int ttm_index_init(struct ttm_process *process)
{
	return level_add(process, 0) ? 0 : -ENOMEM;
}

void ttm_index_drop(struct ttm_process *process)
{
	struct ttm_level *level;
	int i;

	for (i = 0; i < (int)TTM_INDEX_LEVELS; i++) {
		level = ttm_level_at(process, i);
		if (level)
			ttm_private_memory_drop(level->lines, level_size(i));
	}
}

static uint64_t *bucket_put(struct ttm_bucket *bucket, uint64_t entry)
{
	unsigned i;

	for (i = 0; i < 7; i++) {
		/* relaxed: the CAS decides */
		if (ttm_load(&bucket->entries[i]) != 0)
			continue;
		/* pairs(index-entry): full, with ttm_probe_next */
		if (ttm_cas(&bucket->entries[i], 0, entry)) {
			/* pairs(index-insert): full, with the same line on
			 * another thread: of two equal keys at least one sees
			 * the other when it looks again */
			ttm_fence_after_cas();
			return &bucket->entries[i];
		}
	}
	return NULL;
}

/* Adds an empty line to the chain; false if the level has none left. */
static bool overflow_append(struct ttm_level *level, struct ttm_bucket *bucket)
{
	uint64_t n;

	/* relaxed: only to not count up without end */
	if (ttm_load(&level->overflow_used) >= level->overflow_len)
		return false;
	n = ttm_fetch_add(&level->overflow_used, 1);
	if (n >= level->overflow_len)
		return false;
	/* pairs(index-line): full, with ttm_probe_next_bucket. If another line
	 * went in first, that one serves and ours stays unused. */
	ttm_cas(&bucket->next, 0, n + 1);
	return true;
}

static uint64_t *level_put(
	struct ttm_level *level, uint64_t hash, uint64_t entry)
{
	struct ttm_bucket *bucket = &level->lines[hash & level->mask];
	uint64_t *place, next;

	for (;;) {
		place = bucket_put(bucket, entry);
		if (place)
			return place;
		/* pairs(index-line): acquire, with overflow_append */
		next = ttm_load_acquire(&bucket->next);
		if (next)
			bucket = &level->lines[level->mask + next];
		else if (!overflow_append(level, bucket))
			return NULL;
	}
}

static bool level_is_crowded(const struct ttm_level *level)
{
	/* relaxed: when to grow is a matter of taste */
	return ttm_load(&level->overflow_used) > level->overflow_len / 2;
}

uint64_t *ttm_index_insert(
	struct ttm_process *process, const struct ttm_key *key, uint32_t slot)
{
	uint64_t entry = ttm_entry(key, slot);
	struct ttm_level *level;
	uint64_t *place;
	int number;

	for (number = ttm_level_newest(process); number < (int)TTM_INDEX_LEVELS;
		number++) {
		level = ttm_level_at(process, number);
		if (!level)
			break;
		if (TTM_UNLIKELY(level_is_crowded(level)) &&
			level_add(process, number + 1))
			continue;
		place = level_put(level, key->bucket_hash, entry);
		if (TTM_LIKELY(place != NULL))
			return place;
		if (!level_add(process, number + 1))
			break;
	}
	return NULL;
}
