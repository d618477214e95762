/* SPDX-License-Identifier: Apache-2.0 */
/* event -> [lane] -> drain -> apply -> publish -> read -> render */
#include "record/note.h"

#include "record/lane.h"
#include "record/scope.h"

void ttm_note_commit(struct ttm_hook *hook, const struct ttm_note *note)
{
	bool named = note->device < TTM_DEVICES_MAX;
	struct ttm_words record = { {
		0,
		TTM_W1(note->slot, note->epoch, named ? note->device : 0,
			note->figure, named ? 0 : TTM_FLAG_NO_DEVICE,
			note->type),
		note->w2,
		ttm_clock_now(),
		note->w4,
		note->w5,
		0,
		TTM_W7(ttm_scope_now(hook->seat).name, 0, 0),
	} };

	ttm_lane_commit(hook->lane, &record);
}

void ttm_anomaly_commit(struct ttm_hook *hook, enum ttmem_anomaly reason,
	unsigned device, unsigned figure, uint64_t id)
{
	struct ttm_note note = {
		.type = TTM_RECORD_ANOMALY,
		.device = device,
		.figure = figure,
		.slot = TTM_SLOT_NONE,
		.w2 = id,
		.w4 = reason,
	};

	ttm_anomaly_count(hook, reason);
	ttm_note_commit(hook, &note);
}

void ttm_anomaly(struct ttm_hook *hook, enum ttmem_anomaly reason,
	unsigned device, unsigned figure, uint64_t id)
{
	ttm_lane_begin(hook->lane);
	ttm_anomaly_commit(hook, reason, device, figure, id);
}

void ttm_loss(struct ttm_hook *hook, enum ttmem_loss reason, unsigned device,
	unsigned figure, uint64_t id, uint64_t bytes)
{
	struct ttm_note note = {
		.type = TTM_RECORD_LOSS,
		.device = device,
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
