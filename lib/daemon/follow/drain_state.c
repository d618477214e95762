/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/* What a segment says besides its lanes and slots: devices and counters. */
#include "daemon/follow/drain_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/follow/drain.h"
#include "shm/atomics.h"

/* -- device entries ---------------------------------------------------------- */

static int part_reserve(struct ttm_process *process, uint32_t entry)
{
	while (process->parts_len <= entry) {
		struct ttm_part *part = calloc(1, sizeof(*part));

		if (!part)
			return -ENOMEM;
		part->l1.cb_footprint_exact = true;
		part->l1.headroom = TTM_HEADROOM_UNKNOWN;
		part->l1.clash_program = TTMEM_UNKNOWN;
		process->parts[process->parts_len++] = part;
	}
	return 0;
}

/*
 * Facts are whole if seq was even; those that are being written, or that a cancelled
 * thread left half written, are looked at again within a second, and the old ones
 * stand. Of a dead process they are what they are: each is a word or two, those that
 * tell the chip are always the same, and what is new in them is known last.
 */
static void part_take(struct ttm_process *process, uint32_t entry,
	const struct ttm_device *found)
{
	struct ttm_part *part = process->parts[entry];
	struct ttm_share *share = &process->model.shares[entry];
	/* relaxed: it is read once more after the watch has said so */
	bool whole = !(found->seq & 1) ||
		ttm_load(&process->attached->fate) == TTM_FATE_DEAD;

	if (memcmp(&part->device, found, sizeof(*found)) != 0) {
		share->changed = true;
		process->changed = true;
	}
	/* Base, top and cores are as much of a measurement as the objects are. */
	if (whole &&
		memcmp(&part->device.facts, &found->facts,
			sizeof(found->facts)) != 0)
		share->l1_moved = true;
	if (!whole) {
		struct ttm_device_facts facts = part->device.facts;

		part->device = *found;
		part->device.facts = facts;
		/* Not seen as read: the next look compares again. */
		part->device.seq = 1;
	} else {
		part->device = *found;
	}
	part->ready |= (found->head & TTM_DEVICE_READY) != 0;
}

/* Facts that are those we know, whole, were not written meanwhile. */
static bool facts_are_known(const struct ttm_process *process, uint32_t entry,
	const struct ttm_device *found)
{
	const struct ttm_device *known;

	if (entry >= process->parts_len)
		return false;
	known = &process->parts[entry]->device;
	return !(found->seq & 1) && found->seq == known->seq &&
		memcmp(&found->facts, &known->facts, sizeof(known->facts)) == 0;
}

/* Facts of an entry whose seq moved while it was read may be of two opens. */
static int devices_read(struct ttm_process *process, uint32_t len,
	struct ttm_device *ret_devices)
{
	struct ttm_device again[TTM_DEVICES_MAX];
	uint32_t i;
	int r = ttm_source_devices(&process->source, len, ret_devices);

	for (i = 0; i < len && !r; i++)
		if (!facts_are_known(process, i, &ret_devices[i]))
			break;
	if (r || i == len)
		return r;
	/* pairs(facts): acquire, with facts_write: facts that moved while they
	 * were copied have another sequence by now. */
	ttm_fence_acquire();
	r = ttm_source_devices(&process->source, len, again);
	for (i = 0; i < len && !r; i++)
		if (again[i].seq != ret_devices[i].seq)
			ret_devices[i].seq |= 1;
	return r;
}

/* Epochs first, then closes: see ttm_stamp_is_orphaned(). */
static int closes_take(struct ttm_process *process)
{
	uint32_t epochs[TTM_DEVICES_MAX] = { 0 }, i;
	int r;

	/* pairs(closes): acquire, with close_finish: a stamp or an epoch that was
	 * read is not ahead of the count that is read now, but for an epoch of a
	 * close that is not complete. */
	ttm_fence_acquire();
	r = ttm_source_live(&process->source, &process->live);
	if (r)
		return r;
	for (i = 0; i < process->parts_len; i++)
		if (process->parts[i]->ready)
			epochs[i] = TTM_ERA_EPOCH(
				process->parts[i]->device.era);
	if (process->model.closes != process->live.closes)
		process->changed = true;
	ttm_apply_closes(&process->model, process->live.closes, epochs);
	return 0;
}

int ttm_drain_devices(struct ttm_process *process)
{
	struct ttm_device devices[TTM_DEVICES_MAX];
	uint32_t len, i;
	int r;

	process->devices_wanted = false;
	r = ttm_source_live(&process->source, &process->live);
	if (r)
		return r;
	len = (uint32_t)process->live.devices_len;
	r = devices_read(process, len, devices);
	for (i = 0; i < len && !r; i++) {
		r = part_reserve(process, i);
		if (!r)
			part_take(process, i, &devices[i]);
	}
	if (!r)
		r = closes_take(process);
	if (r)
		process->devices_wanted = true;
	return r;
}

/* -- places and core sets ---------------------------------------------------- */

/* Words of the table that are read at once: places are made one after the other. */
#define PLACES_READ 64u
static_assert(TTM_PLACES_MAX % PLACES_READ == 0, "");

static bool members_are_ready(
	const struct ttm_process *process, uint64_t members)
{
	unsigned entry;

	for (; members; members &= members - 1) {
		entry = (unsigned)__builtin_ctzll(members);
		if (entry >= process->parts_len ||
			!process->parts[entry]->ready)
			return false;
	}
	return true;
}

/* An entry is ready before a place names it, and the place is there before a slot. */
int ttm_drain_place(struct ttm_process *process, uint32_t number)
{
	uint64_t members[PLACES_READ];
	uint32_t first = number / PLACES_READ * PLACES_READ, i;
	int r;

	if (ttm_model_members(&process->model, number))
		return 0;
	if (!number || number >= TTM_PLACES_MAX)
		return -ENOENT;
	/* pairs(place): acquire, with ttm_place_of: what names the place was read
	 * before. */
	ttm_fence_acquire();
	r = ttm_source_places(&process->source, first, PLACES_READ, members);
	if (!r && !members_are_ready(process, members[number - first]))
		r = ttm_drain_devices(process);
	for (i = 0; i < PLACES_READ && !r; i++)
		if (members[i] && first + i &&
			members_are_ready(process, members[i]))
			r = ttm_model_place_add(
				&process->model, first + i, members[i]);
	if (r)
		return r;
	return ttm_model_members(&process->model, number) ? 0 : -ENOENT;
}

int ttm_drain_core_set(struct ttm_process *process, uint32_t number)
{
	struct ttm_core_set core_set;
	int r;

	if (ttm_model_core_set(&process->model, number))
		return 0;
	r = ttm_source_core_set(&process->source, number, &core_set);
	if (r == -ENOENT) {
		r = ttm_drain_refresh_extents(process);
		if (!r)
			r = ttm_source_core_set(
				&process->source, number, &core_set);
	}
	return r ? r :
		   ttm_model_core_set_add(&process->model, number, &core_set);
}

/* -- counters ---------------------------------------------------------------- */

static void block_add(
	struct ttm_part *part, const struct ttm_block_device *block)
{
	struct ttm_flows *flows = &part->flows;
	uint64_t era = part->device.era;
	unsigned i;

	for (i = 0; i < 3; i++)
		flows->dispatches[i] += block->dispatches[i];
	for (i = 0; i < 6; i++)
		flows->failures[i] += block->failures[i];
	for (i = 0; i < TTMEM_FIGURES; i++) {
		const struct ttm_counters *counters = &block->figures[i];
		uint64_t high = block->era == era ? counters->high :
						    counters->live_bytes;

		flows->figures[i].alloc_objects += counters->alloc_objects;
		flows->figures[i].alloc_bytes += counters->alloc_bytes;
		flows->figures[i].free_objects += counters->free_objects;
		flows->figures[i].free_bytes += counters->free_bytes;
		if (TTM_ERA_EPOCH(block->era) != TTM_ERA_EPOCH(era))
			continue;
		flows->figures[i].unfolded_high += (int64_t)(high -
			counters->folded);
		flows->figures[i].live += (int64_t)counters->live_bytes;
	}
}

static void lane_block_add(
	struct ttm_process *process, const struct ttm_block_lane *block)
{
	unsigned i;

	for (i = 0; i < TTM_REASONS_MAX; i++) {
		process->anomalies[i] += block->anomalies[i];
		process->lost_events[i] += block->lost_events[i];
		process->lost_bytes[i] += block->lost_bytes[i];
	}
}

/* Returns 1 if its device entry was made after the entries were read. */
static int block_take(struct ttm_process *process,
	const struct ttm_block_device *block, uint32_t *ret_entries)
{
	unsigned device = TTM_BLOCK_DEVICE(block->owner);
	struct ttm_block_lane lane;

	if (!(block->owner & TTM_BLOCK_VALID))
		return 0; /* in the making */
	if (device == TTM_BLOCK_LANE_WIDE) {
		memcpy(&lane, block, sizeof(lane));
		lane_block_add(process, &lane);
		return 0;
	}
	if (device >= process->parts_len) {
		*ret_entries = device + 1;
		return 1;
	}
	block_add(process->parts[device], block);
	return 0;
}

static int64_t tagged(uint64_t word, uint32_t tag)
{
	if (TTM_TAGGED_TAG(word) != (uint16_t)tag)
		return 0;
	return (int64_t)(word << 16) >> 16;
}

static void peaks_set(struct ttm_part *part)
{
	uint64_t era = part->device.era;
	unsigned i;

	for (i = 0; i < TTMEM_FIGURES; i++) {
		const struct ttm_device_total *total = &part->device.totals[i];
		int64_t peak = tagged(total->peak, TTM_ERA_PEAK(era));
		int64_t now = tagged(total->folded, TTM_ERA_EPOCH(era)) +
			part->flows.figures[i].unfolded_high;

		if (now > peak)
			peak = now;
		if (part->flows.figures[i].live > peak)
			peak = part->flows.figures[i].live;
		part->flows.figures[i].peak_bytes = peak > 0 ? (uint64_t)peak :
							       0;
	}
}

static void counters_clear(struct ttm_process *process)
{
	uint32_t i;

	for (i = 0; i < process->parts_len; i++)
		memset(&process->parts[i]->flows, 0,
			sizeof(process->parts[i]->flows));
	memset(process->anomalies, 0, sizeof(process->anomalies));
	memcpy(process->lost_events, process->live.lost_events,
		sizeof(process->lost_events));
	memcpy(process->lost_bytes, process->live.lost_bytes,
		sizeof(process->lost_bytes));
}

/* Returns 1 as block_take() does. */
static int blocks_add(struct ttm_process *process, uint32_t *ret_entries)
{
	struct ttm_block_device blocks[TTM_BLOCKS_PER_EXTENT];
	uint64_t left = process->live.blocks_len;
	uint32_t extent, len, i;
	int r = 0;

	for (extent = 0; left && !r; extent++, left -= len) {
		len = left < TTM_BLOCKS_PER_EXTENT ? (uint32_t)left :
						     TTM_BLOCKS_PER_EXTENT;
		r = ttm_source_blocks(&process->source, extent, blocks, len);
		if (r == -ENOENT) {
			r = 0; /* numbers handed out, no extent to be had */
			continue;
		}
		/* pairs(block): acquire, with ttm_block_make: one read with a
		 * valid owner may have zeros where counts are to come. */
		ttm_fence_acquire();
		for (i = 0; i < len && !r; i++)
			r = block_take(process, &blocks[i], ret_entries);
	}
	return r;
}

/*
 * Reads entries and then blocks. A process that uses a new device in between has a block
 * of an entry that was not read: both are read again. The entry is older than the block,
 * so that it has to be there then.
 */
static int counters_read(struct ttm_process *process)
{
	uint32_t entries = 0; /* that have to be there */
	int r = 1;

	while (r == 1) {
		r = ttm_drain_devices(process);
		if (!r && process->parts_len < entries)
			r = ttm_source_fault(&process->source,
				"a counter block is of device entry %" PRIu32
				", which is not there",
				entries - 1);
		if (r)
			return r;
		counters_clear(process);
		/* pairs(total): acquire, with ttm_fold: totals first, for what
		 * lanes fold after that would be there twice */
		ttm_fence_acquire();
		r = blocks_add(process, &entries);
	}
	return r;
}

int ttm_drain_counters(struct ttm_process *process)
{
	struct ttm_flows before[TTM_DEVICES_MAX];
	uint32_t i;
	int r;

	process->counters_wanted = false;
	memset(before, 0, sizeof(before));
	for (i = 0; i < process->parts_len; i++)
		before[i] = process->parts[i]->flows;
	r = ttm_drain_refresh_extents(process);
	if (!r)
		r = counters_read(process);
	for (i = 0; i < process->parts_len; i++) {
		peaks_set(process->parts[i]);
		if (memcmp(&before[i], &process->parts[i]->flows,
			    sizeof(before[i])) != 0)
			process->model.shares[i].changed = true;
	}
	process->changed = true;
	return r;
}
