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
int ttm_range_allocate(int fd, uint64_t off, uint64_t size);
void *ttm_range_map(int fd, uint64_t off, uint64_t size);
int ttm_descriptor_raise(int fd); /* the new number, or a negative errno */
int ttm_segment_lock(int fd);

/*
 * Claims an extent, allocated and zero, in two steps, so that of several threads
 * that want the same ordinal only one publishes. Returns NULL when the cap is
 * reached, the filesystem is full or a limit is in the way; after that, no growth
 * is tried for 100 ms. Lock-free, async-signal-safe.
 */
void *ttm_extent_claim(struct ttm_process *process, uint32_t *ret_index);
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
 * The extent of `type` that `*place` stands for, made and put there if it is
 * missing; NULL if it cannot be had.
 */
void *ttm_extent_at(struct ttm_process *process, void **place,
	enum ttm_extent_type type, uint32_t ordinal);

#endif
