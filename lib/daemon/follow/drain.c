/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
#include "daemon/follow/drain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/follow/drain_state.h"
#include "daemon/follow/item.h"
#include "shm/atomics.h"

/* No process needs its slots read anew more often than that. */
#define SCAN_INTERVAL_NS 10000000u
/* What has no record of its own is looked at so often. */
#define REFRESH_INTERVAL_NS 1000000000u
/* While it is silent: little can happen there. */
#define REFRESH_SILENT_NS 3000000000u
#define DEVICES_EVERY 4u /* refreshes of a silent one */
/* Controls read beyond the lanes known, to see new ones appear. */
#define LANES_AHEAD 4u
/* A mirror of so many slots is in the cache as it is. */
#define SLOTS_NEAR 16384u
/* Records whose mirrors, and whose neighbours, are prefetched. */
#define MIRRORS_AHEAD 24u
#define NEIGHBOURS_AHEAD 8u
/* A lane does not move so far between two looks. */
#define JUMP_MAX (1ull << 56)

/* Where the drain thread copies a lane or a chunk of slots to. */
static _Thread_local struct ttm_words words[TTM_LANE_RECORDS];
static_assert(TTM_SLOTS_PER_EXTENT == TTM_LANE_RECORDS, "they share it");

/* -- lanes ------------------------------------------------------------------- */

static int positions_reserve(struct ttm_process *process, uint32_t len)
{
	struct ttm_position *positions;

	if (len <= process->positions_len)
		return 0;
	positions = realloc(process->positions, len * sizeof(*positions));
	if (!positions)
		return -ENOMEM;
	memset(positions + process->positions_len, 0,
		(len - process->positions_len) * sizeof(*positions));
	process->positions = positions;
	process->positions_len = len;
	return 0;
}

static void lane_miss(struct ttm_process *process, uint32_t lane,
	uint64_t up_to, struct ttm_drain_stats *stats)
{
	struct ttm_position *position = &process->positions[lane];
	uint64_t missed = up_to - position->next;

	position->next = up_to;
	position->missed += missed;
	process->missed += missed;
	process->events += missed;
	stats->missed += missed;
	process->scan_wanted = true;
	process->devices_wanted = true;
	process->texts_wanted = true;
}

/*
 * A place is there before anything is recorded about it, and so are its devices.
 * Place 0 is none: only a record about no object may name it.
 */
static int record_check_place(struct ttm_process *process, uint32_t lane,
	uint32_t place, uint64_t *ret_members)
{
	int r = ttm_drain_place(process, place);

	*ret_members = ttm_model_members(&process->model, place);
	if (r == -ENOENT)
		r = ttm_source_fault(&process->source,
			"lane %" PRIu32 " has a record on place %" PRIu32
			", which is not there",
			lane, place);
	return r;
}

/*
 * The devices that a SHRINK record left. Where the mirror had another state of the
 * object before, that of its allocation is the best there is.
 */
static uint64_t shrink_left(const struct ttm_process *process, uint32_t slot,
	const struct ttm_item *item)
{
	const struct ttm_model *model = &process->model;
	const struct ttm_item *known = &ttm_model_mirror(model, slot)->item;
	uint32_t before = TTM_W4_PLACE(item->w4);

	if (known->word + TTM_ITEM_WORD(1, false) == item->word)
		before = known->place;
	return ttm_model_members(model, before) &
		~ttm_model_members(model, item->place);
}

/* ALLOC, FREE, SHRINK. The FREE has the place that the object had. */
static int object_take(struct ttm_process *process, uint32_t lane,
	const struct ttm_words *record, uint64_t *members)
{
	uint32_t slot = TTM_W1_SLOT(record->w[1]);
	struct ttm_item item;
	int r = ttm_item_from_record(&process->source, lane, record, &item);

	if (!r && slot >= ttm_model_slots(&process->model))
		r = ttm_drain_grow(process, slot);
	if (!r && ttm_item_is_live(&item))
		r = ttm_drain_item(process, &item);
	if (r == -ENOENT)
		r = ttm_source_fault(&process->source,
			"lane %" PRIu32 " has an object that cannot be: place "
			"%u of %u, core set %" PRIu32,
			lane, item.place, TTM_W4_PLACE(item.w4),
			TTM_W7_CORE_SET(item.w7));
	if (r)
		return r;
	if (TTM_W1_TYPE(record->w[1]) == TTM_RECORD_SHRINK)
		*members = shrink_left(process, slot, &item);
	ttm_apply(&process->model, slot, &item, false);
	return 0;
}

static int record_take(struct ttm_process *process, uint32_t lane,
	const struct ttm_words *record, const struct ttm_drain_watcher *watcher)
{
	unsigned type = TTM_W1_TYPE(record->w[1]);
	uint32_t place = TTM_W0_PLACE(record->w[0]);
	uint64_t members = 0;
	int r = 0;

	/* A NOOP may replace the record of a cancelled thread: scan the slots. */
	if (type == TTM_RECORD_NOOP) {
		process->scan_wanted = true;
		return 0;
	}
	if (place || type == TTM_RECORD_ALLOC || type == TTM_RECORD_FREE ||
		type == TTM_RECORD_SHRINK)
		r = record_check_place(process, lane, place, &members);
	if (r)
		return r;
	switch (type) {
	case TTM_RECORD_ALLOC:
	case TTM_RECORD_FREE:
	case TTM_RECORD_SHRINK:
		r = object_take(process, lane, record, &members);
		if (r)
			return r;
		break;
	case TTM_RECORD_DISPATCH:
	case TTM_RECORD_ANOMALY:
	case TTM_RECORD_LOSS:
		break;
	case TTM_RECORD_FAILURE:
	case TTM_RECORD_MARK:
		process->texts_wanted = true;
		break;
	case TTM_RECORD_DEVICE_OPEN:
	case TTM_RECORD_DEVICE_CLOSE:
		process->devices_wanted = true;
		break;
	default:
		return ttm_source_fault(&process->source,
			"lane %" PRIu32 " has a record of type %u", lane, type);
	}
	if (watcher && watcher->record) {
		ttm_model_tally(&process->model);
		watcher->record(watcher->context, process, record, members);
	}
	return 0;
}

TTM_HINT void record_prefetch(
	const struct ttm_model *model, const struct ttm_words *record)
{
	uint32_t slot = TTM_W1_SLOT(record->w[1]);

	if (slot < ttm_model_slots(model))
		ttm_model_prefetch(model, slot,
			TTM_W0_STATE(record->w[0]) == TTM_SLOT_LIVE);
}

TTM_HINT void record_prefetch_neighbours(
	const struct ttm_model *model, const struct ttm_words *record)
{
	uint32_t slot = TTM_W1_SLOT(record->w[1]);

	if (slot < ttm_model_slots(model))
		ttm_model_prefetch_neighbours(model, slot);
}

/*
 * Takes records `from` to `len` of those that were copied. If one fails, those before
 * it were taken: *ret_taken.
 */
static int records_take(struct ttm_process *process, uint32_t lane,
	uint32_t from, uint32_t len, const struct ttm_drain_watcher *watcher,
	uint32_t *ret_taken)
{
	const struct ttm_model *model = &process->model;
	bool far = ttm_model_slots(model) > SLOTS_NEAR;
	uint32_t i;
	int r = 0;

	for (i = from; far && i < len && i < from + MIRRORS_AHEAD; i++)
		record_prefetch(model, &words[i]);
	for (i = from; i < len && !r; i++) {
		if (far && i + MIRRORS_AHEAD < len)
			record_prefetch(model, &words[i + MIRRORS_AHEAD]);
		if (far && i + NEIGHBOURS_AHEAD < len)
			record_prefetch_neighbours(
				model, &words[i + NEIGHBOURS_AHEAD]);
		r = record_take(process, lane, &words[i], watcher);
	}
	*ret_taken = i - from - (r != 0);
	if (watcher && watcher->records)
		watcher->records(
			watcher->context, process, &words[from], *ret_taken);
	return r;
}

/*
 * Reads them once more and takes the lower ones. The kernel copies byte by byte, and if it
 * is interrupted in the middle of a word, the lower bytes are older than the others: too
 * high by what they hold. Of two readings the lower one is not above what there was at
 * the second, and not below what there was when the first began.
 */
static int control_confirm(struct ttm_process *process, uint32_t lane,
	struct ttm_lane_control *control)
{
	struct ttm_lane_control again;
	int r = ttm_source_controls(&process->source, lane, 1, &again);

	if (r)
		return r;
	if (again.tail < control->tail)
		control->tail = again.tail;
	if (again.intent < control->intent)
		control->intent = again.intent;
	return 0;
}

/*
 * Records from the position up to `tail`, which was loaded before. Those that the
 * writer may have begun to overwrite meanwhile are missed.
 */
static int lane_drain(struct ttm_process *process, uint32_t lane, uint64_t tail,
	const struct ttm_drain_watcher *watcher, struct ttm_drain_stats *stats)
{
	struct ttm_position *position = &process->positions[lane];
	struct ttm_lane_control control;
	uint64_t first, from;
	uint32_t len, taken;
	int r;

	if (tail - position->next > TTM_LANE_RECORDS)
		lane_miss(process, lane, tail - TTM_LANE_RECORDS, stats);
	first = position->next;
	len = (uint32_t)(tail - first);
	r = ttm_source_records(&process->source, lane, first, len, words);
	if (r == -ENOENT) {
		lane_miss(process, lane, tail, stats);
		return 0;
	}
	if (r)
		return r;
	/* pairs(lane-intent): acquire, with ttm_ring_begin: a record that was
	 * copied half overwritten has an intent that says so by now. */
	ttm_fence_acquire();
	r = ttm_source_controls(&process->source, lane, 1, &control);
	if (!r && control.intent - first > TTM_LANE_RECORDS)
		r = control_confirm(process, lane, &control);
	if (r)
		return r;
	if (control.intent - tail >= JUMP_MAX)
		return ttm_source_fault(&process->source,
			"lane %" PRIu32 " has tail %" PRIu64
			" and intent %" PRIu64,
			lane, tail, control.intent);
	from = first;
	if (control.intent > TTM_LANE_RECORDS &&
		control.intent - TTM_LANE_RECORDS > first)
		from = control.intent - TTM_LANE_RECORDS;
	if (from > tail)
		from = tail;
	if (from > first)
		lane_miss(process, lane, from, stats);
	r = records_take(
		process, lane, (uint32_t)(from - first), len, watcher, &taken);
	position->next = from + taken;
	process->events += taken;
	stats->events += taken;
	return r;
}

static int lane_look(struct ttm_process *process, uint32_t lane,
	struct ttm_lane_control *control,
	const struct ttm_drain_watcher *watcher, struct ttm_drain_stats *stats,
	uint64_t *most)
{
	struct ttm_position *position = &process->positions[lane];
	uint64_t len;
	int r;

	if (control->tail == position->next)
		return 0;
	r = control_confirm(process, lane, control);
	if (r)
		return r;
	/* pairs(lane-tail): acquire, with ttm_ring_end: as in lanes_drain */
	ttm_fence_acquire();
	len = control->tail - position->next;
	if (!len)
		return 0;
	if (len >= JUMP_MAX)
		return ttm_source_fault(&process->source,
			"the tail of lane %" PRIu32 " went from %" PRIu64
			" to %" PRIu64,
			lane, position->next, control->tail);
	if (!ttm_source_has_lane(&process->source, lane)) {
		r = ttm_drain_refresh_extents(process);
		if (r)
			return r;
	}
	process->counters_wanted = true;
	process->changed = true;
	if (process->skip_wanted) {
		lane_miss(process, lane, control->tail, stats);
		return 0;
	}
	if (len > *most)
		*most = len;
	return lane_drain(process, lane, control->tail, watcher, stats);
}

/*
 * The tails of all lanes in one pread. A lane shows by its owner or its intent that
 * it was handed out, so those ahead tell when there are more.
 */
static int lanes_drain(struct ttm_process *process,
	const struct ttm_drain_watcher *watcher, struct ttm_drain_stats *stats,
	bool last, uint64_t *most)
{
	struct ttm_lane_control controls[TTM_LANES_MAX];
	uint32_t len = (uint32_t)process->live.lanes_len, ahead, i;
	int r;

	for (;;) {
		ahead = len + LANES_AHEAD < TTM_LANES_MAX ? len + LANES_AHEAD :
							    TTM_LANES_MAX;
		r = ttm_source_controls(&process->source, 0, ahead, controls);
		if (r)
			return r;
		/* pairs(lane-tail): acquire, with ttm_ring_end: records below the
		 * tail are complete, and so are the slots they tell of. */
		ttm_fence_acquire();
		for (i = len; i < ahead; i++)
			if (controls[i].owner || controls[i].intent)
				break;
		if (i == ahead)
			break;
		r = ttm_source_live(&process->source, &process->live);
		if (r)
			return r;
		if (process->live.lanes_len <= len)
			break; /* in the making: the next round sees it */
		len = (uint32_t)process->live.lanes_len;
	}
	r = positions_reserve(process, len);
	for (i = 0; i < len && !r; i++)
		r = lane_look(process, i, &controls[i], watcher, stats, most);
	process->skip_wanted &= r != 0;
	process->in_flight = 0;
	for (i = 0; i < len; i++)
		process->in_flight += controls[i].intent != controls[i].tail;
	/* A running process may have moved on between the two words. */
	for (i = 0; i < len && last && !r; i++)
		if (controls[i].intent - controls[i].tail >
			TTM_OPERATION_RECORDS_MAX)
			r = ttm_source_fault(&process->source,
				"lane %" PRIu32 " ended with tail %" PRIu64
				" and intent %" PRIu64,
				i, controls[i].tail, controls[i].intent);
	return r;
}

/* -- rounds ------------------------------------------------------------------ */

static int slots_scan_if_wanted(struct ttm_process *process, uint64_t now_ns,
	struct ttm_drain_stats *stats)
{
	int r;

	if (!process->scan_wanted ||
		(process->scanned_ns &&
			now_ns - process->scanned_ns < SCAN_INTERVAL_NS))
		return 0;
	process->scan_wanted = false;
	process->scanned_ns = now_ns;
	/* Theirs must be there, too. */
	process->devices_wanted = true;
	process->changed = true;
	stats->scans++;
	r = ttm_drain_slots(process, false, words);
	if (r)
		process->scan_wanted = true;
	return r;
}

static bool devices_are_wanted(const struct ttm_process *process)
{
	return process->devices_wanted || process->model.ahead;
}

static int refresh_if_due(struct ttm_process *process, uint64_t now_ns)
{
	struct ttm_header_live live;
	int r;

	if (process->refreshed_ns &&
		now_ns - process->refreshed_ns <
			(process->silent ? REFRESH_SILENT_NS :
					   REFRESH_INTERVAL_NS))
		return 0;
	process->refreshed_ns = now_ns;
	/* Of a silent one only its peaks can be reset. */
	if (!process->silent || process->refreshes++ % DEVICES_EVERY == 0)
		process->devices_wanted = true;
	ttm_process_timescale(process);
	r = ttm_source_live(&process->source, &live);
	if (r)
		return r;
	/* It stopped, or lost events that had no lane to tell of them. */
	if (live.state != process->live.state ||
		memcmp(live.lost_events, process->live.lost_events,
			sizeof(live.lost_events)) != 0) {
		process->counters_wanted = true;
		process->changed = true;
	}
	process->live = live;
	return 0;
}

int ttm_drain(struct ttm_process *process, uint64_t now_ns,
	const struct ttm_drain_watcher *watcher, struct ttm_drain_stats *stats)
{
	uint64_t most = 0;
	int r;

	process->model.round++;
	r = refresh_if_due(process, now_ns);
	if (!r)
		r = lanes_drain(process, watcher, stats, false, &most);
	if (!r)
		r = slots_scan_if_wanted(process, now_ns, stats);
	if (!r && devices_are_wanted(process))
		r = ttm_drain_devices(process);
	ttm_model_tally(&process->model);
	if (r)
		return r;
	if (most)
		process->last_event_ns = now_ns;
	return most > INT32_MAX ? INT32_MAX : (int)most;
}

int ttm_drain_owed(struct ttm_process *process, uint64_t now_ns,
	struct ttm_drain_stats *stats)
{
	int r;

	if (!process->scan_wanted)
		return 0;
	process->scanned_ns = 0;
	r = slots_scan_if_wanted(process, now_ns, stats);
	if (!r && devices_are_wanted(process))
		r = ttm_drain_devices(process);
	ttm_model_tally(&process->model);
	return r;
}

int ttm_drain_last(struct ttm_process *process, uint64_t now_ns,
	const struct ttm_drain_watcher *watcher, struct ttm_drain_stats *stats)
{
	uint64_t most = 0;
	int r;

	process->model.round++;
	r = ttm_drain_refresh_extents(process);
	/* pairs(segment-end): acquire, with the end of the segment: what is read
	 * after an ended state is all there will be. */
	ttm_fence_acquire();
	if (!r)
		r = lanes_drain(process, watcher, stats, true, &most);
	if (!r)
		r = ttm_drain_slots(process, true, words);
	if (!r)
		r = ttm_drain_devices(process);
	if (!r && process->in_flight)
		r = ttm_model_settle_twins(&process->model);
	ttm_model_tally(&process->model);
	if (r >= 0)
		r = ttm_drain_counters(process);
	process->scan_wanted = false;
	process->texts_wanted = true;
	process->changed = true;
	if (most)
		process->last_event_ns = now_ns;
	return r;
}
