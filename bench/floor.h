/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hook cannot do without, and nothing else: it reads the clock, and writes
 * as many bytes into a ring as large as a lane. No hook can be faster, so a hook's
 * cost is told as a multiple of this.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "hooks.h"
#include "shm/atomics.h"
#include "shm/clock.h"
#include "shm/layout.h"

struct bench_ring {
	uint64_t tail;
	struct ttm_words *records; /* TTM_LANE_RECORDS */
};

static inline void bench_floor_record(
	struct bench_ring *ring, uint64_t id, uint64_t now)
{
	struct ttm_words *place = &ring->records[ring->tail % TTM_LANE_RECORDS];

	ttm_store(&place->w[0], ring->tail);
	ttm_store(&place->w[1], TTM_RECORD_ALLOC);
	ttm_store(&place->w[2], id);
	ttm_store(&place->w[3], id << 12);
	ttm_store(&place->w[4], 512);
	ttm_store(&place->w[5], TTMEM_UNKNOWN);
	ttm_store(&place->w[6], now);
	ttm_store(&place->w[7], 0);
	ttm_store(&ring->tail, ring->tail + 1);
}

/* As many calls and records as a batch of the hook. */
static inline void bench_floor_run(
	struct bench_ring *ring, const struct bench_hook *hook)
{
	unsigned calls = hook->batch_len * hook->calls;
	unsigned records = hook->records / hook->calls, i, k;
	uint64_t now;

	for (i = 0; i < calls; i++) {
		now = ttm_clock_now();
		for (k = 0; k < records; k++)
			bench_floor_record(ring, i, now);
	}
}

#endif
