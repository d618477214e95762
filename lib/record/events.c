/* SPDX-License-Identifier: Apache-2.0 */
/* [event] -> lane -> drain -> apply -> publish -> read -> render */
/* The hooks that record single events: failed allocations and marks. */
#include <string.h>

#include "record/place.h"
#include "record/ring.h"
#include "record/segment.h"

static uint64_t thread_id(struct ttm_ring *ring)
{
	return (uint32_t)ttm_load(&ring->owner); /* relaxed: own ring */
}

/*
 * Claims an entry for number n. Several threads may write at once, each its own number.
 * A thread that is a whole round behind leaves the entry to the newer number.
 */
static bool kept_claim(uint64_t *seq, uint64_t n)
{
	uint64_t seen = ttm_load(seq); /* relaxed: the CAS decides */

	if (seen > 2 * n || (seen & 1) || !ttm_cas(seq, seen, 2 * n + 1))
		return false;
	/* pairs(kept): release, with the aggregator's read: nothing of this
	 * number is seen with the old seq */
	ttm_fence_release();
	return true;
}

static void kept_done(uint64_t *seq, uint64_t n)
{
	/* pairs(kept): release, with the aggregator's read: the entry is
	 * whole */
	ttm_store_release(seq, 2 * n + 2);
}

/* -- failures ------------------------------------------------------------------------ */

static uint64_t failure_keep(struct ttm_ring *ring,
	const struct ttm_where *where, const struct ttmem_failure *failure)
{
	struct ttm_process *process = ring->process;
	uint64_t n = ttm_fetch_add(&process->header->live.failures_len, 1);
	struct ttm_failure *kept = &process->failures[n % TTM_FAILURES_KEPT];

	if (!ttm_table_prepare(process, TTM_FAILURES_OFF,
		    TTM_FAILURES_KEPT * sizeof(*kept)) ||
		!kept_claim(&kept->seq, n))
		return n;
	ttm_store(&kept->place, where->place);
	ttm_store(&kept->figure, failure->kind);
	ttm_store(&kept->time, ttm_clock_now());
	ttm_store(&kept->tid, thread_id(ring));
	ttm_store(&kept->scope, ttm_scope_now(ring).name);
	ttm_store(&kept->stack, 0);
	ttm_store(&kept->bytes, failure->bytes);
	ttm_store(&kept->bytes_per_bank, failure->bytes_per_bank);
	ttm_store(&kept->free_per_bank, failure->free_per_bank);
	ttm_store(&kept->largest_free_per_bank, failure->largest_free_per_bank);
	ttm_store(&kept->program, failure->program);
	ttm_store(&kept->stamp, ttm_closes(process));
	kept_done(&kept->seq, n);
	TTM_TESTPOINT("failure kept");
	return n;
}

static void failure_record(struct ttm_ring *ring, const struct ttm_where *where,
	const struct ttmem_failure *failure)
{
	struct ttm_note note = {
		.type = TTM_RECORD_FAILURE,
		.place = where->place,
		.figure = failure->kind,
		.slot = TTM_SLOT_NONE,
		.w4 = failure->bytes,
	};
	uint64_t members = where->members;

	if (!ttm_ring_blocks(ring, members)) {
		ttm_loss(ring, TTMEM_LOSS_NO_SLOT, where->place, failure->kind,
			0, 0);
		return;
	}
	ttm_ring_begin(ring, 1);
	note.w5 = failure_keep(ring, where, failure);
	while (members)
		ttm_own_add(&ring->blocks[ttm_mask_take(&members)]
				     ->failures[failure->kind],
			1);
	ttm_note_commit(ring, &note);
}

static TTM_SLOW void alloc_failed(const struct ttmem_failure *failure)
{
	bool good = failure && failure->size == sizeof(*failure) &&
		failure->kind <= TTMEM_FIGURE_CB;
	enum ttmem_anomaly reason = TTMEM_ANOMALY_BAD_KIND;
	struct ttm_where where;
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_STARTS, 0);

	if (!ring)
		return;
	if (good &&
		ttm_where_get(
			ring->process, failure->device, true, &where, &reason))
		failure_record(ring, &where, failure);
	else
		ttm_device_missing(ring, reason,
			good ? failure->kind : TTM_FIGURE_NONE, 0, 0);
	ttm_hook_leave(ring);
}

void ttmem_alloc_failed(const struct ttmem_failure *failure)
{
	if (!ttm_switch_is_off())
		alloc_failed(failure);
}

/* -- marks ----------------------------------------------------------------------------- */

static uint64_t mark_keep(struct ttm_ring *ring, const char *text)
{
	struct ttm_header_live *live = &ring->process->header->live;
	uint64_t words[TTM_MARK_SIZE / 8] = { 0 }, n;
	size_t length = strnlen(text, TTM_MARK_SIZE), i;
	struct ttm_mark *mark;

	memcpy(words, text, length);
	n = ttm_fetch_add(&live->marks_len, 1);
	mark = &ring->process->marks[n % TTM_MARKS_KEPT];
	if (!ttm_table_prepare(ring->process, TTM_MARKS_OFF,
		    TTM_MARKS_KEPT * sizeof(*mark)) ||
		!kept_claim(&mark->seq, n))
		return n;
	ttm_store(&mark->time, ttm_clock_now());
	ttm_store(&mark->tid, thread_id(ring));
	ttm_store(&mark->length, length);
	for (i = 0; i < TTM_MARK_SIZE / 8; i++)
		ttm_store(&mark->text[i], words[i]);
	kept_done(&mark->seq, n);
	TTM_TESTPOINT("mark kept");
	return n;
}

static TTM_SLOW void mark(const char *text)
{
	struct ttm_note note = {
		.type = TTM_RECORD_MARK,
		.figure = TTM_FIGURE_NONE,
		.slot = TTM_SLOT_NONE,
	};
	struct ttm_ring *ring = ttm_hook_enter(TTM_ENTRY_STARTS, 0);

	if (!ring)
		return;
	ttm_ring_begin(ring, 1);
	note.w2 = mark_keep(ring, text ? text : "");
	ttm_note_commit(ring, &note);
	ttm_hook_leave(ring);
}

void ttmem_mark(const char *text)
{
	if (!ttm_switch_is_off())
		mark(text);
}
