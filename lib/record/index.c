/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#include "record/index.h"

#include <errno.h>
#include <sys/mman.h>

/*
 * First lines of a part: enough that each of a few thousand consecutive ids has its
 * line, and few enough for a second-level cache. With twice as many lines an allocation
 * took 10 ns more. The parts of devices that do not exist take address space only.
 */
#define FIRST_LINES 4096u
#define GROWTH_SHIFT 3
#define LINES_MAX (FIRST_LINES << (3 * GROWTH_SHIFT))

/* Overflow lines: half as many as a part's first lines, stored behind those. */
static uint64_t overflow_lines(uint64_t lines)
{
	return lines / 2;
}

static size_t level_size(uint64_t lines)
{
	return sizeof(struct ttm_bucket) *
		(TTM_INDEX_PARTS * lines + overflow_lines(lines)) +
		sizeof(struct ttm_level);
}

static struct ttm_level *level_make(uint64_t lines, struct ttm_level *older)
{
	struct ttm_bucket *memory = ttm_private_memory(level_size(lines));
	struct ttm_bucket *overflow;
	struct ttm_level *level;
	unsigned part;

	if (!memory)
		return NULL;
	/* Accesses are random: large pages keep most of them in the TLB. The
	 * first level stays small for small processes. */
	if (older) {
		int error = errno;

		madvise(memory, level_size(lines), MADV_HUGEPAGE);
		errno = error; /* a hook preserves errno */
	}
	overflow = memory + TTM_INDEX_PARTS * lines;
	level = (struct ttm_level *)(overflow + overflow_lines(lines));
	level->older = older;
	level->mask = (lines / 2 - 1) * sizeof(struct ttm_bucket);
	for (part = 0; part < TTM_INDEX_PARTS; part++) {
		level->halves[part] = (char *)(memory + part * lines);
		level->halves[TTM_INDEX_PARTS + part] = (char *)(memory +
			part * lines + lines / 2);
	}
	level->overflow = overflow;
	level->overflow_len = overflow_lines(lines);
	return level;
}

/* Returns the number of first lines of a part. */
static uint64_t level_lines(const struct ttm_level *level)
{
	return 2 * (level->mask / sizeof(struct ttm_bucket) + 1);
}

static void level_drop(struct ttm_level *level)
{
	ttm_private_memory_drop(
		level->halves[0], level_size(level_lines(level)));
}

/* Returns true if there is a newer level than `level` now, whichever thread made it. */
static bool level_add(struct ttm_process *process, struct ttm_level *level)
{
	uint64_t lines = level_lines(level) << GROWTH_SHIFT;
	struct ttm_level *newer;

	if (ttm_level_newest(process) != level)
		return true;
	if (lines > LINES_MAX)
		return false;
	newer = level_make(lines, level);
	if (!newer)
		return false;
	if (!ttm_pointer_replace(&process->newest_level, level, newer))
		level_drop(newer);
	return true;
}

int ttm_index_init(struct ttm_process *process)
{
	struct ttm_level *level = level_make(FIRST_LINES, NULL);

	if (!level)
		return -ENOMEM;
	ttm_pointer_set_once(&process->newest_level, level);
	return 0;
}

void ttm_index_drop(struct ttm_process *process)
{
	struct ttm_level *level = ttm_level_newest(process), *older;

	for (; level; level = older) {
		older = level->older;
		level_drop(level);
	}
}

/* Adds an empty line to the chain; returns false if the level has none left. */
static bool overflow_append(struct ttm_level *level, struct ttm_bucket *bucket)
{
	uint64_t n;

	/* relaxed: only keeps the count from growing without end */
	if (ttm_load(&level->overflow_used) >= level->overflow_len)
		return false;
	n = ttm_fetch_add(&level->overflow_used, 1);
	if (n >= level->overflow_len)
		return false;
	/* pairs(index-line): full, with search_next_bucket. If another
	 * thread's line went in first, ours stays unused. */
	ttm_cas(&bucket->next, 0, n + 1);
	return true;
}

/*
 * Returns whether the level is crowded: a chain that needs a further line then goes to
 * a new level.
 */
static bool level_is_crowded(const struct ttm_level *level)
{
	/* relaxed: the moment of growth does not matter */
	return ttm_load(&level->overflow_used) > level->overflow_len / 2;
}

static uint64_t *level_put(struct ttm_process *process, struct ttm_level *level,
	uint64_t hash, uint64_t entry)
{
	struct ttm_bucket *bucket = ttm_level_bucket(level, hash);
	uint64_t *place, next;

	for (;;) {
		place = ttm_bucket_put(bucket, entry);
		if (place)
			return place;
		/* pairs(index-line): acquire, with overflow_append */
		next = ttm_load_acquire(&bucket->next);
		if (next)
			bucket = &level->overflow[next - 1];
		else if ((level_is_crowded(level) &&
				 level_add(process, level)) ||
			!overflow_append(level, bucket))
			return NULL;
	}
}

TTM_COLD uint64_t *ttm_index_insert_slow(
	struct ttm_process *process, uint64_t bucket_hash, uint64_t entry)
{
	struct ttm_level *level;
	uint64_t *place;

	do {
		level = ttm_level_newest(process);
		place = level_put(process, level, bucket_hash, entry);
	} while (!place && level_add(process, level));
	return place;
}

bool ttm_index_has_other(const struct ttm_process *process,
	uint64_t bucket_hash, uint64_t tag, uint64_t mine)
{
	struct ttm_search search;
	uint64_t entry = 0;

	ttm_search_start(&search, process, bucket_hash, tag);
	while (ttm_search_next(&search, &entry))
		if (entry != mine)
			return true;
	return false;
}
