/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* The segment file: making, naming, growing and ending it. */
#ifndef TTM_RECORD_SEGMENT_H
#define TTM_RECORD_SEGMENT_H

#include "record/process.h"

#define TTM_NO_DESCRIPTOR UINT32_MAX

/*
 * Makes the segment of `process`, complete but without a name, in the user's directory
 * under `base` (NULL: the default). Returns 0 or a negative errno as ttmem_start()
 * lists them; nothing is left then.
 */
int ttm_segment_create(
	struct ttm_process *process, const char *base, uint64_t max_bytes);

/*
 * Locks the segment and names it; another thread may do so at the same moment. Returns
 * 0 or a negative errno.
 */
int ttm_segment_name(struct ttm_process *process);

/* Drops a segment that never got a name. */
void ttm_segment_discard(struct ttm_process *process);

/*
 * Marks the segment ended, at the end of a process or of tracking. Where no aggregator
 * serves the directory, removes the file if no object is live and none was lost.
 */
void ttm_segment_end(struct ttm_process *process);

/* Makes the mapping private, in a forked child: the parent sees no later write. */
void ttm_segment_make_private(struct ttm_process *process);

/*
 * Maps private, empty memory over the segment: a hook that still runs does no harm, and
 * the file's memory is freed with its name.
 */
void ttm_segment_let_go(struct ttm_process *process);

/*
 * Returns whether a descriptor is the segment's: the host may have closed and reused
 * it.
 */
bool ttm_segment_owns(const struct ttm_process *process, int fd);

/* Gives up the lock and the file, and stops growth; the memory stays. */
void ttm_segment_close(struct ttm_process *process);

/* Opens the directory of the segment; returns -1 and sets errno on failure. */
int ttm_segment_directory_open(const struct ttm_process *process);

/*
 * Calls that making and growing share. Calls that return int return 0 or a negative
 * errno, unless they say otherwise.
 */
int ttm_range_check(
	uint64_t end); /* checks whether a file may become so large */
int ttm_range_allocate(int fd, uint64_t off, uint64_t size);
void *ttm_range_map(int fd, uint64_t off, uint64_t size);
int ttm_descriptor_raise(
	int fd); /* returns the new number, or a negative errno */
int ttm_segment_lock(int fd);

/*
 * Allocates the pages of a part of the tables. Returns false when the filesystem is
 * full or a limit is in the way.
 */
bool ttm_table_prepare(
	struct ttm_process *process, uint64_t off, uint64_t size);

/*
 * Claims an extent, mapped but without memory. Claiming and publishing are two steps,
 * so that only one of several threads publishes an ordinal. Returns NULL when the cap
 * is reached, the filesystem is full or a limit is in the way; after that, growth
 * pauses for 100 ms. Lock-free, async-signal-safe.
 */
void *ttm_extent_claim(struct ttm_process *process, uint32_t *ret_index);

/*
 * Allocates a part of an extent; the part reads as zeros. The caller raises
 * extent->ready. Returns false as above.
 */
bool ttm_extent_allocate(struct ttm_process *process, struct ttm_extent *extent,
	uint32_t from, uint32_t size);

/* Returns how many items of an extent have memory. */
static inline uint32_t ttm_extent_ready_len(
	const struct ttm_extent *extent, size_t item_size)
{
	/* pairs(ready): acquire, with the thread that raised it */
	return ttm_load32_acquire(&extent->ready) / (uint32_t)item_size;
}

bool ttm_growth_is_blocked(struct ttm_process *process);
void ttm_extent_enter(struct ttm_process *process, uint32_t index,
	enum ttm_extent_type type, uint32_t ordinal);
void ttm_extent_abandon(
	struct ttm_process *process, uint32_t index, void *extent);

/*
 * Between claim and publication: moves the extent to a free address. Returns its
 * address then.
 */
void *ttm_extent_move(
	struct ttm_process *process, uint32_t index, void *extent, void *place);

/*
 * Returns an extent of `type`, which it makes if it is missing, with memory for at
 * least its first `size` bytes; NULL if that is impossible.
 */
void *ttm_extent_make(struct ttm_process *process, struct ttm_extent *extent,
	enum ttm_extent_type type, uint32_t ordinal, uint32_t size);

static inline void *ttm_extent_at(struct ttm_process *process,
	struct ttm_extent *extent, enum ttm_extent_type type, uint32_t ordinal,
	size_t size)
{
	/* pairs(ready): acquire, with ttm_extent_make */
	if (TTM_LIKELY(ttm_load32_acquire(&extent->ready) >= size))
		return ttm_pointer_load(&extent->memory);
	return ttm_extent_make(process, extent, type, ordinal, (uint32_t)size);
}

/*
 * Items of one size that a process takes in order: counter blocks, names, core sets.
 * Item n is entry n % (items of an extent) of the extent with the ordinal n / (these).
 */
struct ttm_items {
	enum ttm_extent_type type;
	uint32_t size;
	uint64_t max;
	size_t extents_off; /* in struct ttm_process */
	size_t len_off;     /* of their count in struct ttm_header_live */
};

/* Returns item `number`, whose memory it makes if needed; NULL if there is no room. */
static TTM_INLINE void *ttm_item_at(struct ttm_process *process,
	const struct ttm_items *items, uint64_t number)
{
	uint32_t per_extent = TTM_EXTENT_SIZE / items->size;
	uint32_t ordinal = (uint32_t)number / per_extent;
	uint32_t at = (uint32_t)number % per_extent * items->size;
	struct ttm_extent *extents = (void *)((char *)process +
		items->extents_off);
	char *memory;

	if (number >= items->max)
		return NULL;
	memory = ttm_extent_at(process, &extents[ordinal], items->type, ordinal,
		at + items->size);
	return memory ? memory + at : NULL;
}

static inline uint64_t *ttm_items_len(
	struct ttm_process *process, const struct ttm_items *items)
{
	return (void *)((char *)&process->header->live + items->len_off);
}

/* Takes the next item, zeroed; returns NULL if there is no room. */
static inline void *ttm_item_take(struct ttm_process *process,
	const struct ttm_items *items, uint64_t *ret_number)
{
	uint64_t *len = ttm_items_len(process, items);
	void *item;

	/* Make the memory first, so that every number taken has an item. */
	do {
		*ret_number = ttm_load(len); /* relaxed: the CAS decides */
		item = ttm_item_at(process, items, *ret_number);
	} while (item && !ttm_cas(len, *ret_number, *ret_number + 1));
	return item;
}

/*
 * -- files of dead processes --------------------------------------------------------
 *
 * What they leave where no aggregator removes it. All of it is cold, allocates nothing
 * from the heap and is async-signal-safe.
 */

/*
 * Tidies a directory that nobody serves; called by a process that starts. If the
 * segments of dead processes take more than 64 MiB, or a quarter of a small filesystem,
 * it removes segments until half of that is left: first those without live objects,
 * then the oldest. Removed segments with live objects are added to the directory's lost
 * file, where a leak check sees them. Dead markers beyond 256 are removed likewise.
 * `pressed`: the filesystem is full, so the limits are half as high.
 */
void ttm_leftover_tidy(int directory, bool pressed);

/* Leaves a marker of a process that could not be tracked; see docs/layout.md. */
void ttm_leftover_mark(const char *base, int error);

/*
 * Removes the markers that ttm_leftover_mark() left for the process, which can be
 * tracked now.
 */
void ttm_leftover_unmark(const char *base);

#endif
