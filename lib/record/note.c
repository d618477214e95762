/* SPDX-License-Identifier: Apache-2.0 */
/* event -> [lane] -> drain -> apply -> publish -> read -> render */
#include "record/note.h"

#include "record/lane.h"
#include "record/scope.h"

void ttm_note_commit(const struct ttm_hook *hook, const struct ttm_note *note)
{
	struct ttm_words record = { {
		TTM_W0(0, note->place, 0),
		TTM_W1(note->slot, 0, note->figure, 0, note->type),
		note->w2,
		ttm_clock_now(),
		note->w4,
		note->w5,
		0,
		TTM_W7(ttm_scope_now(hook->seat).name, 0, 0, 0),
	} };

	ttm_lane_commit(hook->lane, &record);
}

TTM_COLD void ttm_noops_write(
	const struct ttm_lane *lane, unsigned from, unsigned to)
{
	const struct ttm_words nothing = { {
		[1] = TTM_W1(
			TTM_SLOT_NONE, 0, TTM_FIGURE_NONE, 0, TTM_RECORD_NOOP),
		[3] = ttm_clock_now(),
	} };

	for (; from < to; from++)
		ttm_record_write(ttm_lane_record(lane, from), 0, nothing.w[1],
			nothing.w[3], &nothing);
}

TTM_COLD void ttm_noop_commit(const struct ttm_hook *hook)
{
	ttm_noops_write(hook->lane, 0, 1);
	ttm_lane_end(hook->lane, 1);
}

void ttm_anomaly_commit(const struct ttm_hook *hook, enum ttmem_anomaly reason,
	unsigned place, unsigned figure, uint64_t id)
{
	struct ttm_note note = {
		.type = TTM_RECORD_ANOMALY,
		.place = place,
		.figure = figure,
		.slot = TTM_SLOT_NONE,
		.w2 = id,
		.w4 = reason,
	};

	ttm_anomaly_count(hook, reason);
	ttm_note_commit(hook, &note);
}

void ttm_anomaly(const struct ttm_hook *hook, enum ttmem_anomaly reason,
	unsigned place, unsigned figure, uint64_t id)
{
	ttm_lane_begin(hook->lane);
	ttm_anomaly_commit(hook, reason, place, figure, id);
}

void ttm_loss(const struct ttm_hook *hook, enum ttmem_loss reason,
	unsigned place, unsigned figure, uint64_t id, uint64_t bytes)
{
	struct ttm_note note = {
		.type = TTM_RECORD_LOSS,
		.place = place,
		.figure = figure,
		.slot = TTM_SLOT_NONE,
		.w2 = id,
		.w4 = reason,
		.w5 = bytes,
	};

	ttm_lane_begin(hook->lane);
	ttm_own_add(&hook->lane->own_block->lost_events[reason], 1);
	ttm_own_add(&hook->lane->own_block->lost_bytes[reason], bytes);
	ttm_note_commit(hook, &note);
}

void ttm_device_missing(const struct ttm_hook *hook, enum ttmem_anomaly reason,
	unsigned figure, uint64_t id, uint64_t bytes)
{
	/* relaxed: an upper bound of the entries that are taken */
	uint64_t len = ttm_load(&hook->process->header->live.devices_len);

	if (reason == TTMEM_ANOMALY_TOO_MANY_DEVICES && len < TTM_DEVICES_MAX)
		ttm_loss(hook, TTMEM_LOSS_NO_SLOT, 0, figure, id, bytes);
	else
		ttm_anomaly(hook, reason, 0, figure, id);
}
