/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* The segment file: made, named, grown by extents, ended. */
#ifndef TTM_RECORD_SEGMENT_H
#define TTM_RECORD_SEGMENT_H

#include "record/process.h"

#define TTM_NO_DESCRIPTOR UINT32_MAX

/*
 * Makes the segment of `process`, whole but without a name, in the user's
 * directory under `base` (NULL: the default). Returns 0 or a negative errno as
 * ttmem_start() lists them; then nothing is left.
 */
int ttm_segment_create(
	struct ttm_process *process, const char *base, uint64_t max_bytes);

/*
 * Locks it and gives it its name, which another thread may do at the same moment.
 * Returns 0 or a negative errno.
 */
int ttm_segment_name(struct ttm_process *process);

/* Drops a segment that never got a name. */
void ttm_segment_discard(struct ttm_process *process);

/*
 * The end of a process, or of tracking (`stopped`: no more hooks): marks it ended.
 * Where no aggregator serves the directory, removes the file if no object is live and
 * none was lost, and otherwise gives back what is not needed.
 */
void ttm_segment_end(struct ttm_process *process, bool stopped);

/* In a forked child: whatever is written from now on, the parent does not see. */
void ttm_segment_make_private(struct ttm_process *process);

/*
 * Private and empty memory takes the place of the mapping: a hook that still runs
 * does no harm, and the file's memory goes with its name.
 */
void ttm_segment_let_go(struct ttm_process *process);

/* Whether a descriptor is the segment's: the host may have closed and reused it. */
bool ttm_segment_owns(const struct ttm_process *process, int fd);

/* Gives up the lock and the file; the memory stays. No more growth. */
void ttm_segment_close(struct ttm_process *process);

/* The directory it is in; -1 and errno on failure. */
int ttm_segment_directory_open(const struct ttm_process *process);

/* What both the making and the growing need; 0 or a negative errno. */
int ttm_range_check(uint64_t end); /* whether a file may become so large */
int ttm_range_allocate(int fd, uint64_t off, uint64_t size);
void ttm_range_populate(void *memory, uint64_t size);
void *ttm_range_map(int fd, uint64_t off, uint64_t size);
int ttm_descriptor_raise(int fd); /* the new number, or a negative errno */
int ttm_segment_lock(int fd);

/*
 * Memory for a part of the tables before the extents: pages are allocated when they are
 * needed. False when the filesystem is full or a limit is in the way.
 */
bool ttm_table_prepare(struct ttm_process *process, uint64_t off, uint64_t size);

/*
 * Claims an extent, mapped but without memory, in two steps, so that of several threads
 * that want the same ordinal only one publishes. Returns NULL when the cap is
 * reached, the filesystem is full or a limit is in the way; after that, no growth
 * is tried for 100 ms. Lock-free, async-signal-safe.
 */
void *ttm_extent_claim(struct ttm_process *process, uint32_t *ret_index);

/*
 * Allocates a part of an extent, zeros. The caller moves extent->ready. False as above.
 */
bool ttm_extent_allocate(struct ttm_process *process, struct ttm_extent *extent,
	uint32_t from, uint32_t size);

/* How many items of an extent have memory. */
static inline uint32_t ttm_extent_ready_len(
	const struct ttm_extent *extent, size_t item_size)
{
	/* pairs(ready): acquire, with the thread that moved it */
	return ttm_load32_acquire(&extent->ready) / (uint32_t)item_size;
}

bool ttm_growth_is_blocked(struct ttm_process *process);
void ttm_extent_enter(struct ttm_process *process, uint32_t index,
	enum ttm_extent_type type, uint32_t ordinal);
void ttm_extent_abandon(
	struct ttm_process *process, uint32_t index, void *extent);

/* In between: to a place that is free for it. Returns where it is then. */
void *ttm_extent_move(
	struct ttm_process *process, uint32_t index, void *extent, void *place);

/*
 * Returns the memory of an extent to the filesystem when tracking ends. A hook that
 * still runs finds private memory in its place: writing to the hole could kill the
 * program if the filesystem is full by then.
 */
void ttm_extent_give_back(struct ttm_process *process, uint32_t index);

/*
 * The memory of an extent of `type`, made if it is missing, of which the first `size`
 * bytes may be used; NULL if they cannot be had.
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
	return ttm_extent_make(
		process, extent, type, ordinal, (uint32_t)size);
}

#endif
