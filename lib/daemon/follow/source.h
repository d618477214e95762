/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * A process segment, read with pread and never mapped: a file that its owner
 * truncates gives a short read, not SIGBUS, and nothing is fetched twice. Every
 * offset is computed from numbers that were checked. The file is sparse: what was
 * not written yet is zeros, also behind the end of the file in its last extent.
 *
 * All calls return 0 or a negative errno; -EPROTO means that the segment is not
 * what it should be, and source->reason says how.
 */
#ifndef TTM_DAEMON_SOURCE_H
#define TTM_DAEMON_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/find/attached.h"
#include "shm/layout.h"

/* Extent number + 1 by ordinal, 0: none. */
struct ttm_extent_map {
	uint32_t *extents;
	uint32_t len;
};

struct ttm_source {
	int fd; /* the caller's */
	uint32_t extents_max;
	uint32_t chunks_checked; /* so many runs of slots can be */
	struct ttm_extent_map maps[TTM_EXTENT_CORE_SETS + 1]; /* by type */
	char reason[TTM_REASON_SIZE];
};

void ttm_source_init(struct ttm_source *source, int fd,
	const struct ttm_header_const *header);
void ttm_source_free(struct ttm_source *source);

/* Notes what is wrong, printf-like; returns -EPROTO. */
int ttm_source_fault(struct ttm_source *source, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The live part of the header, its counts checked. */
int ttm_source_live(
	struct ttm_source *source, struct ttm_header_live *ret_live);

/* Reads the extent directory anew, below extents_high. */
int ttm_source_extents(struct ttm_source *source, uint64_t extents_high);

int ttm_source_controls(struct ttm_source *source, uint32_t first, uint32_t len,
	struct ttm_lane_control *ret_controls);

/* Whether the lane's ring is there; it is not after a clean end. */
bool ttm_source_has_lane(const struct ttm_source *source, uint32_t lane);

/* Records first, first + 1, ... of a lane; at most TTM_LANE_RECORDS. */
int ttm_source_records(struct ttm_source *source, uint32_t lane, uint64_t first,
	uint32_t len, struct ttm_words *ret_records);

/* Slots of chunk `chunk`, TTM_SLOTS_PER_EXTENT of them; -ENOENT: not there. */
int ttm_source_slots(
	struct ttm_source *source, uint32_t chunk, struct ttm_words *ret_slots);
/* Chunks from here on are not there. */
uint32_t ttm_source_chunks(const struct ttm_source *source);

int ttm_source_devices(struct ttm_source *source, uint32_t len,
	struct ttm_device *ret_devices);

/* Blocks of one extent, TTM_BLOCKS_PER_EXTENT; -ENOENT: not there. */
int ttm_source_blocks(struct ttm_source *source, uint32_t extent,
	struct ttm_block_device *ret_blocks, uint32_t len);

/* Places first, first + 1, ...; first + len <= TTM_PLACES_MAX. */
int ttm_source_places(struct ttm_source *source, uint32_t first, uint32_t len,
	uint64_t *ret_members);

/*
 * Core set `number` >= 1, its count of cores checked; -ENOENT: not there, or not
 * ready.
 */
int ttm_source_core_set(struct ttm_source *source, uint32_t number,
	struct ttm_core_set *ret_core_set);

/* Name `id` >= 1, its first word checked; -ENOENT: not there, or not ready. */
int ttm_source_name(
	struct ttm_source *source, uint32_t id, struct ttm_name *ret_name);

int ttm_source_failures(struct ttm_source *source,
	struct ttm_failure ret_failures[TTM_FAILURES_KEPT]);
int ttm_source_marks(
	struct ttm_source *source, struct ttm_mark ret_marks[TTM_MARKS_KEPT]);

#endif
