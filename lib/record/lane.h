/* SPDX-License-Identifier: Apache-2.0 */
/* event -> [lane] -> drain -> apply -> publish -> read -> render */
/*
 * The ring of a thread: the writer never waits, and a reader that was lapped detects it.
 *
 *   writer  intent = t + 1; release fence; slot, counters, record; tail = t + 1
 *   reader  tail (acquire); copy; acquire fence; intent;
 *           keep record i if intent - i <= 2,048
 *
 * If the reader copied any byte of a newer record, the fence makes it see the intent
 * of that record, and it drops the copy. `intent` is raised before the slot changes,
 * so that a kill inside an operation is visible. An operation that replaces an object
 * has two records, and raises `tail` by both at once. Wait-free; one writer at a time
 * (the seat's owner).
 */
#ifndef TTM_RECORD_LANE_H
#define TTM_RECORD_LANE_H

#include "record/process.h"

/* Gives memory to the next records: see ttm_lane_extend() in seat.c. */
void ttm_lane_extend(struct ttm_lane *lane);

static TTM_INLINE void lane_intend(struct ttm_lane *lane, uint64_t records)
{
	if (TTM_UNLIKELY(lane->tail >= lane->limit))
		ttm_lane_extend(lane);
	/* relaxed: ordered by the fence */
	ttm_store(&lane->control->intent, lane->tail + records);
	/* pairs(lane-intent): release, with the drain's fence before it
	 * loads intent: a reader that sees any byte of what follows sees the
	 * intent */
	ttm_fence_release();
	TTM_TESTPOINT("intent raised");
}

static TTM_INLINE void ttm_lane_begin(struct ttm_lane *lane)
{
	lane_intend(lane, 1);
}

/* Begins an operation with two records, or raises one that has begun to two. */
static TTM_INLINE void ttm_lane_begin_two(struct ttm_lane *lane)
{
	lane_intend(lane, 2);
}

/* Returns where the next record goes, or one `ahead` of it. */
static TTM_INLINE struct ttm_words *ttm_lane_record(
	const struct ttm_lane *lane, unsigned ahead)
{
	return &lane->records[(lane->tail + ahead) % TTM_LANE_RECORDS];
}

/* Returns the record after this one. */
static TTM_INLINE struct ttm_words *ttm_lane_record_after(
	const struct ttm_lane *lane, struct ttm_words *record)
{
	record++;
	return TTM_UNLIKELY(record == lane->records + TTM_LANE_RECORDS) ?
		lane->records :
		record;
}

/* Writes a record about an object except w6 and w7; w0, w1 and w3 are arguments. */
static TTM_INLINE void ttm_record_begin(struct ttm_words *record, uint64_t w0,
	uint64_t w1, uint64_t w3, const struct ttm_words *words)
{
	/* relaxed: between the intent and the tail */
	ttm_pair_store(&record->w[0], ttm_pair_of(w0, w1));
	ttm_pair_store(&record->w[2], ttm_pair_of(words->w[2], w3));
	ttm_pair_store(&record->w[4], ttm_pair_of(words->w[4], words->w[5]));
}

static TTM_INLINE void ttm_record_end(
	struct ttm_words *record, const struct ttm_words *words)
{
	/* relaxed: as above */
	ttm_pair_store(&record->w[6], ttm_pair_of(words->w[6], words->w[7]));
	TTM_TESTPOINT("record written");
}

static TTM_INLINE void ttm_record_write(struct ttm_words *record, uint64_t w0,
	uint64_t w1, uint64_t w3, const struct ttm_words *words)
{
	ttm_record_begin(record, w0, w1, w3, words);
	ttm_record_end(record, words);
}

static TTM_INLINE void ttm_lane_end(struct ttm_lane *lane, unsigned records)
{
	uint64_t tail = lane->tail + records;

	/* pairs(lane-tail): release, with the drain's load of tail: records,
	 * slots and counters are complete */
	ttm_store_release(&lane->control->tail, tail);
	lane->tail = tail;
	TTM_TESTPOINT("tail raised");
}

static inline void ttm_lane_commit(
	struct ttm_lane *lane, const struct ttm_words *record)
{
	ttm_record_write(ttm_lane_record(lane, 0), record->w[0], record->w[1],
		record->w[3], record);
	ttm_lane_end(lane, 1);
}

/*
 * Makes the counter block of a lane for a device entry (TTM_BLOCK_LANE_WIDE: its own);
 * returns NULL if the segment cannot grow.
 */
void *ttm_block_make(
	struct ttm_process *process, uint32_t lane, unsigned device);

/* Makes room for a block, so that making one will hardly fail. */
bool ttm_block_has_room(struct ttm_process *process);

bool ttm_lane_blocks_make(
	struct ttm_process *process, struct ttm_lane *lane, uint64_t members);

/*
 * Returns whether the lane has counter blocks of all these devices; makes missing ones.
 */
static TTM_INLINE bool ttm_lane_blocks(
	struct ttm_process *process, struct ttm_lane *lane, uint64_t members)
{
	return TTM_LIKELY((members & ~lane->blocks_made) == 0) ||
		ttm_lane_blocks_make(process, lane, members);
}

#endif
