/* SPDX-License-Identifier: Apache-2.0 */
/* event -> [lane] -> drain -> apply -> publish -> read -> render */
/* Records that change no slot: other events, anomalies and losses. */
#ifndef TTM_RECORD_NOTE_H
#define TTM_RECORD_NOTE_H

#include "record/process.h"

struct ttm_note {
	enum ttm_record_type type;
	unsigned place;  /* 0: the event names no device */
	unsigned figure; /* or TTM_FIGURE_NONE */
	uint32_t slot;   /* or TTM_SLOT_NONE */
	uint64_t w2, w4, w5;
};

/* Ends an operation that has begun with this record. */
void ttm_note_commit(const struct ttm_hook *hook, const struct ttm_note *note);

/* Ends an operation that turned out to change nothing. */
void ttm_noop_commit(const struct ttm_hook *hook);

/* Writes the same to records `from` to `to` of an operation, which were promised. */
void ttm_noops_write(const struct ttm_lane *lane, unsigned from, unsigned to);

/* Counts, and writes a record; the first ends an operation that has begun. */
void ttm_anomaly_commit(const struct ttm_hook *hook, enum ttmem_anomaly reason,
	unsigned place, unsigned figure, uint64_t id);
void ttm_anomaly(const struct ttm_hook *hook, enum ttmem_anomaly reason,
	unsigned place, unsigned figure, uint64_t id);
void ttm_loss(const struct ttm_hook *hook, enum ttmem_loss reason,
	unsigned place, unsigned figure, uint64_t id, uint64_t bytes);

/*
 * Counts an event whose device argument stands for no device. A device that got no entry
 * although entries are left had no memory for it: then the event is lost.
 */
void ttm_device_missing(const struct ttm_hook *hook, enum ttmem_anomaly reason,
	unsigned figure, uint64_t id, uint64_t bytes);

/* Counts only, because another record reports the event. */
static inline void ttm_anomaly_count(
	const struct ttm_hook *hook, enum ttmem_anomaly reason)
{
	ttm_own_add(&hook->lane->own_block->anomalies[reason], 1);
}

#endif
