/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* Core sets: handles of the program, and what a segment has of them. */
#include <stddef.h>
#include <string.h>

#include "record/index.h"
#include "record/place.h"
#include "record/segment.h"

#define SETS_SIZE ((TTM_CORE_SETS_MAX + 1) * sizeof(struct ttm_core_set))

/* Handles outlive the process state. Handle n is set n; `cores` is stored last. */
static void *sets_memory;
static uint64_t sets_len; /* numbers handed out so far */

static struct ttm_core_set *sets_get(void)
{
	void *sets = ttm_pointer_load(&sets_memory);

	if (sets)
		return sets;
	sets = ttm_private_memory(SETS_SIZE);
	if (sets && !ttm_pointer_set_once(&sets_memory, sets))
		ttm_private_memory_drop(sets, SETS_SIZE);
	return ttm_pointer_load(&sets_memory);
}

/* Returns false if a core is outside of the grid. */
static bool range_add(
	struct ttm_core_set *set, const struct ttmem_core_range *range)
{
	uint32_t y, row;

	if (range->first_x > range->last_x || range->first_y > range->last_y ||
		range->last_x >= TTM_CORE_COLUMNS ||
		range->last_y >= TTM_CORE_ROWS)
		return false;
	row = (uint32_t)((2ull << range->last_x) - (1ull << range->first_x));
	for (y = range->first_y; y <= range->last_y; y++)
		set->rows[y] |= row;
	return true;
}

static uint32_t ranges_count(
	const struct ttmem_core_range *ranges, size_t ranges_len)
{
	uint64_t cores = 0;
	size_t i;

	for (i = 0; i < ranges_len; i++)
		cores += (1ull + ranges[i].last_x - ranges[i].first_x) *
			(1ull + ranges[i].last_y - ranges[i].first_y);
	return cores < TTM_CORE_SET_BIT ? (uint32_t)cores :
					  TTM_CORE_SET_BIT - 1;
}

static bool set_is(
	const struct ttm_core_set *shared, const struct ttm_core_set *set)
{
	unsigned y;

	/* relaxed: `cores` was stored after the rows */
	for (y = 0; y < TTM_CORE_ROWS; y++)
		if (ttm_load32(&shared->rows[y]) != set->rows[y])
			return false;
	return true;
}

static void set_write(
	struct ttm_core_set *shared, const struct ttm_core_set *set)
{
	unsigned y;

	/* relaxed: before `cores` */
	for (y = 0; y < TTM_CORE_ROWS; y++)
		ttm_store32(&shared->rows[y], set->rows[y]);
	/* pairs(core-set): release, with set_find and the aggregator's read */
	ttm_store32_release(&shared->cores, set->cores);
	TTM_TESTPOINT("core set written");
}

static uint32_t set_find(const struct ttm_core_set *sets, uint64_t from,
	uint64_t to, const struct ttm_core_set *set)
{
	uint64_t n;

	for (n = from; n < to; n++)
		/* pairs(core-set): acquire, with set_write */
		if (ttm_load32_acquire(&sets[n].cores) == set->cores &&
			set_is(&sets[n], set))
			return (uint32_t)n;
	return 0;
}

/* Returns the number of an equal set or of a new one, or 0 without room. */
static uint32_t set_intern(const struct ttm_core_set *set)
{
	struct ttm_core_set *sets = sets_get();
	uint64_t len, seen = 1;
	uint32_t n;

	if (!sets)
		return 0;
	do {
		/* relaxed: the CAS decides. Two threads that add the same
		 * set at once may both add it. */
		len = ttm_load(&sets_len);
		n = set_find(sets, seen, len + 1, set);
		if (n || len == TTM_CORE_SETS_MAX)
			return n;
		seen = len + 1;
	} while (!ttm_cas(&sets_len, len, len + 1));
	set_write(&sets[len + 1], set);
	return (uint32_t)len + 1;
}

static TTM_SLOW uint32_t core_set(
	const struct ttmem_core_range *ranges, size_t ranges_len)
{
	struct ttm_core_set set;
	bool inside = true;
	uint32_t n = 0;
	size_t i;

	memset(&set, 0, sizeof(set));
	for (i = 0; i < ranges_len && inside; i++)
		inside = range_add(&set, &ranges[i]);
	for (i = 0; i < TTM_CORE_ROWS; i++)
		set.cores += (uint32_t)__builtin_popcount(set.rows[i]);
	if (inside && set.cores)
		n = set_intern(&set);
	if (n)
		return TTM_CORE_SET_BIT | n;
	return inside ? set.cores : ranges_count(ranges, ranges_len);
}

uint32_t ttmem_core_set(
	const struct ttmem_core_range *ranges, size_t ranges_len)
{
	if (!ranges || !ranges_len)
		return 0;
	if (ttm_switch_is_off())
		return ranges_count(ranges, ranges_len);
	return core_set(ranges, ranges_len);
}

/* -- in a segment ------------------------------------------------------------------- */

static const struct ttm_items shared_sets = {
	.type = TTM_EXTENT_CORE_SETS,
	.size = sizeof(struct ttm_core_set),
	.max = TTM_CORE_SETS_MAX,
	.extents_off = offsetof(struct ttm_process, core_sets),
	.len_off = offsetof(struct ttm_header_live, core_sets_len),
};

/* Adds a set to this segment and returns its id, or 0 without room. */
static uint32_t set_publish(
	struct ttm_process *process, const struct ttm_core_set *set)
{
	struct ttm_core_set *shared;
	uint64_t number;

	shared = ttm_item_take(process, &shared_sets, &number);
	if (!shared)
		return 0;
	set_write(shared, set);
	return (uint32_t)number + 1;
}

TTM_SLOW uint32_t ttm_core_set_count(uint32_t handle)
{
	const struct ttm_core_set *sets = ttm_pointer_load(&sets_memory);
	uint32_t n = handle & ~TTM_CORE_SET_BIT;

	if (!sets || n == 0 || n > TTM_CORE_SETS_MAX)
		return 0;
	/* pairs(core-set): acquire, with set_write */
	return ttm_load32_acquire(&sets[n].cores);
}

TTM_COLD uint32_t ttm_core_set_publish(
	struct ttm_process *process, uint32_t number)
{
	const struct ttm_core_set *sets = ttm_pointer_load(&sets_memory);
	uint32_t id = set_publish(process, &sets[number]);

	/* Two threads may both publish the set: all use the id stored first. */
	if (id && !ttm_cas32(&process->core_set_ids[number], 0, id))
		id = ttm_load32(&process->core_set_ids[number]);
	return id;
}
