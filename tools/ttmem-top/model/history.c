/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000ull

static const struct {
	uint64_t interval_ns;
	size_t points;
} resolutions[TOP_RESOLUTIONS] = { { SECOND_NS, 300 }, { 10 * SECOND_NS, 360 },
	{ 60 * SECOND_NS, 1440 } };

/* -- rings -------------------------------------------------------------------- */

static struct top_point *ring_at(const struct top_ring *ring, size_t i)
{
	return &ring->points[(ring->begin + i) % ring->size];
}

static int ring_push(
	struct top_ring *ring, size_t most, const struct top_point *point)
{
	if (!ring->points) {
		ring->points = calloc(most, sizeof(*ring->points));
		if (!ring->points)
			return -ENOMEM;
		ring->size = most;
	}
	if (ring->len == ring->size)
		ring->begin = (ring->begin + 1) % ring->size;
	else
		ring->len++;
	*ring_at(ring, ring->len - 1) = *point;
	return 0;
}

/* Of the newest point; 0 without any. */
static uint64_t ring_newest(const struct top_ring *ring)
{
	return ring->len ? ring_at(ring, ring->len - 1)->time_ns : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	if (a == TTMEM_UNKNOWN || b == TTMEM_UNKNOWN)
		return a == TTMEM_UNKNOWN ? b : a;
	return a > b ? a : b;
}

/* -- devices ------------------------------------------------------------------ */

static void past_free(struct top_past *past)
{
	unsigned r;

	for (r = 0; r < TOP_RESOLUTIONS; r++)
		free(past->rings[r].points);
}

static void pasts_clear(struct top_history *history)
{
	size_t i;

	for (i = 0; i < history->len; i++)
		past_free(&history->pasts[i]);
	history->len = 0;
}

void top_history_free(struct top_history *history)
{
	pasts_clear(history);
	free(history->pasts);
	memset(history, 0, sizeof(*history));
}

static struct top_past *past_find(
	const struct top_history *history, struct top_id device)
{
	size_t i;

	for (i = 0; i < history->len; i++)
		if (top_id_equal(history->pasts[i].device, device))
			return &history->pasts[i];
	return NULL;
}

const struct top_past *top_history_find(
	const struct top_history *history, struct top_id device)
{
	return past_find(history, device);
}

static struct top_past *past_get(
	struct top_history *history, struct top_id device)
{
	struct top_past *past = past_find(history, device), *pasts;
	unsigned r;

	if (past)
		return past;
	pasts = ttm_list_grow(
		history->pasts, history->len, &history->size, sizeof(*pasts));
	if (!pasts)
		return NULL;
	history->pasts = pasts;
	past = &history->pasts[history->len++];
	memset(past, 0, sizeof(*past));
	past->device = device;
	for (r = 0; r < TOP_RESOLUTIONS; r++)
		past->rings[r].interval_ns = resolutions[r].interval_ns;
	return past;
}

/* Those of devices that no snapshot has any more. */
static void pasts_forget(struct top_history *history)
{
	size_t from, to = 0;

	for (from = 0; from < history->len; from++) {
		if (!history->pasts[from].seen) {
			past_free(&history->pasts[from]);
			continue;
		}
		history->pasts[to++] = history->pasts[from];
	}
	history->len = to;
}

/* -- from ttmemd's histories -------------------------------------------------- */

/* Without fabric kernels, which are on other cores: as l1_tensix_use. */
static uint64_t tensix_of(uint64_t l1_use, const struct ttmem_point *point)
{
	uint64_t fabric = point->live_bytes[TTMEM_FIGURE_KERNEL_FABRIC];

	if (l1_use == TTMEM_UNKNOWN || fabric == TTMEM_UNKNOWN ||
		fabric > l1_use)
		return l1_use;
	return l1_use - fabric;
}

/* What we sampled gives way to what ttmemd has of the same time. */
static void samples_drop(
	struct top_ring *ring, const struct ttmem_history_row *row)
{
	while (ring->len && row->points_len &&
		ring_at(ring, ring->len - 1)->sampled &&
		ring_newest(ring) > row->points[0].time_ns)
		ring->len--;
}

static int history_merge(
	struct top_ring *ring, size_t most, const struct ttmem_history_row *row)
{
	uint64_t newest, i = row->points_len;
	struct top_point point;

	samples_drop(ring, row);
	newest = ring_newest(ring);
	memset(&point, 0, sizeof(point));
	while (i > 0 && row->points[i - 1].time_ns > newest)
		i--;
	for (; i < row->points_len; i++) {
		const struct ttmem_point *from = &row->points[i];

		point.time_ns = from->time_ns;
		point.bytes[TOP_SERIES_DRAM] = from->dram_use;
		point.bytes_max[TOP_SERIES_DRAM] = from->dram_use_max;
		point.bytes[TOP_SERIES_L1] = tensix_of(from->l1_use, from);
		point.bytes_max[TOP_SERIES_L1] = tensix_of(
			from->l1_use_max, from);
		if (ring_push(ring, most, &point) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int histories_merge(struct top_history *history,
	const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices)
{
	const struct ttmem_history_row *row;
	struct top_past *past;
	size_t i, place;
	unsigned r;

	for (i = 0; i < ttmem_snapshot_histories_len(snapshot); i++) {
		row = ttmem_snapshot_history(snapshot, i);
		place = top_devices_of_index(devices, row->device);
		for (r = 0; r < TOP_RESOLUTIONS; r++)
			if (resolutions[r].interval_ns == row->interval_ns)
				break;
		if (place == devices->len || r == TOP_RESOLUTIONS)
			continue;
		past = past_get(history, devices->list[place].id);
		if (past)
			past->merged = true;
		if (!past ||
			history_merge(&past->rings[r], resolutions[r].points,
				row) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* -- from the snapshots themselves -------------------------------------------- */

/*
 * A point for each interval that has begun since the last one; within one, it is
 * raised.
 */
static int sample_push(
	struct top_ring *ring, size_t most, const struct top_point *sample)
{
	uint64_t end = (sample->time_ns / ring->interval_ns + 1) *
		ring->interval_ns;
	struct top_point *last, point = *sample;
	unsigned s;

	if (ring_newest(ring) + ring->interval_ns <= end || ring->len == 0) {
		point.time_ns = end;
		return ring_push(ring, most, &point);
	}
	last = ring_at(ring, ring->len - 1);
	for (s = 0; s < TOP_SERIES_COUNT; s++) {
		last->bytes[s] = sample->bytes[s];
		last->bytes_max[s] = larger(
			last->bytes_max[s], sample->bytes[s]);
	}
	return 0;
}

static int samples_take(struct top_history *history,
	const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices)
{
	struct top_point sample;
	struct top_past *past;
	unsigned r;
	size_t i;

	memset(&sample, 0, sizeof(sample));
	sample.sampled = true;
	sample.time_ns = ttmem_snapshot_info(snapshot)->monotonic_ns;
	for (i = 0; i < devices->len; i++) {
		past = past_get(history, devices->list[i].id);
		if (!past)
			return -ENOMEM;
		past->seen = true;
		if (past->merged)
			continue;
		sample.bytes[TOP_SERIES_DRAM] = devices->list[i].row->dram_use;
		sample.bytes[TOP_SERIES_L1] = devices->list[i]
						      .row->l1_tensix_use;
		memcpy(sample.bytes_max, sample.bytes, sizeof(sample.bytes));
		for (r = 0; r < TOP_RESOLUTIONS; r++)
			if (sample_push(&past->rings[r], resolutions[r].points,
				    &sample) < 0)
				return -ENOMEM;
	}
	return 0;
}

int top_history_update(struct top_history *history,
	const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices)
{
	uint64_t time_ns = ttmem_snapshot_info(snapshot)->monotonic_ns;
	size_t i;
	int r;

	if (time_ns == TTMEM_UNKNOWN)
		return 0;
	if (time_ns < history->time_ns)
		pasts_clear(history);
	history->time_ns = time_ns;
	for (i = 0; i < history->len; i++)
		history->pasts[i].seen = history->pasts[i].merged = false;
	r = histories_merge(history, snapshot, devices);
	if (r == 0)
		r = samples_take(history, snapshot, devices);
	if (r == 0)
		pasts_forget(history);
	return r;
}

/* -- reading ------------------------------------------------------------------ */

static bool ring_reaches(const struct top_ring *ring, uint64_t time_ns)
{
	uint64_t oldest;

	if (!ring->len)
		return false;
	oldest = ring_at(ring, 0)->time_ns;
	return oldest <= ring->interval_ns ||
		oldest - ring->interval_ns <= time_ns;
}

/* The first point that ends behind `time_ns`. */
static size_t ring_search(const struct top_ring *ring, uint64_t time_ns)
{
	size_t low = 0, high = ring->len, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (ring_at(ring, middle)->time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Without points that end behind `limit_ns`. */
static uint64_t ring_max(const struct top_ring *ring, enum top_series series,
	uint64_t from_ns, uint64_t to_ns, uint64_t limit_ns)
{
	uint64_t most = TTMEM_UNKNOWN;
	size_t i;

	for (i = ring_search(ring, from_ns); i < ring->len; i++) {
		const struct top_point *point = ring_at(ring, i);

		if (point->time_ns >= to_ns + ring->interval_ns ||
			point->time_ns > limit_ns)
			break;
		most = larger(most, point->bytes_max[series]);
	}
	return most;
}

/*
 * Where resolution `r` ends and a finer one begins, which is not full and so has all
 * since then: a point across it would show before what came after.
 */
static uint64_t past_limit(const struct top_past *past, unsigned r)
{
	uint64_t limit = UINT64_MAX, oldest;
	unsigned finer;

	for (finer = 0; finer < r; finer++) {
		const struct top_ring *ring = &past->rings[finer];

		if (!ring->len || ring->len == ring->size)
			continue;
		oldest = ring_at(ring, 0)->time_ns;
		limit = oldest < limit ? oldest : limit;
	}
	return limit;
}

uint64_t top_past_max(const struct top_past *past, enum top_series series,
	uint64_t from_ns, uint64_t to_ns)
{
	uint64_t most = TTMEM_UNKNOWN, newest, limit;
	unsigned r, finer;

	for (r = 0; r < TOP_RESOLUTIONS; r++) {
		if (!ring_reaches(&past->rings[r], from_ns) &&
			r + 1 < TOP_RESOLUTIONS)
			continue;
		limit = past_limit(past, r);
		most = ring_max(&past->rings[r], series, from_ns, to_ns, limit);
		newest = ring_newest(&past->rings[r]);
		if (newest < from_ns || limit != UINT64_MAX)
			newest = from_ns;
		/* Intervals that have not ended yet, or were left out. */
		for (finer = 0; finer < r && newest < to_ns; finer++)
			most = larger(most,
				ring_max(&past->rings[finer], series, newest,
					to_ns, past_limit(past, finer)));
		if (most != TTMEM_UNKNOWN)
			break;
	}
	return most;
}
