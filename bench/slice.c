/* SPDX-License-Identifier: Apache-2.0 */
#include "slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define WARM_MS 0.1
#define STALL_TIMES 10u
#define EMPTY_BATCHES 1000

static int by_ticks(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double ns_per_tick(void)
{
	uint64_t ns = ttm_clock_ns(CLOCK_MONOTONIC), ticks = ttm_clock_now();
	struct timespec nap = { .tv_nsec = 20000000 };

	nanosleep(&nap, NULL);
	ticks = ttm_clock_now() - ticks;
	ns = ttm_clock_ns(CLOCK_MONOTONIC) - ns;
	return ticks ? (double)ns / (double)ticks : 1.0;
}

static uint32_t empty_ticks(void)
{
	uint32_t ticks[EMPTY_BATCHES];
	uint64_t begin;
	size_t i;

	for (i = 0; i < EMPTY_BATCHES; i++) {
		begin = ttm_clock_now();
		ttm_fence_signal();
		ticks[i] = (uint32_t)(ttm_clock_now() - begin);
	}
	qsort(ticks, EMPTY_BATCHES, sizeof(ticks[0]), by_ticks);
	return ticks[EMPTY_BATCHES / 2];
}

void bench_time_calibrate(struct bench_time *ret_time, double slice_ms)
{
	double ticks_per_ms;

	ret_time->ns_per_tick = ns_per_tick();
	ticks_per_ms = 1e6 / ret_time->ns_per_tick;
	ret_time->slice_ticks = (uint64_t)(slice_ms * ticks_per_ms);
	ret_time->warm_ticks = (uint64_t)(WARM_MS * ticks_per_ms);
	ret_time->empty_ticks = empty_ticks();
}

int bench_slice_init(struct bench_slice *ret_slice)
{
	size_t ring_size = TTM_LANE_RECORDS * sizeof(struct ttm_words);
	size_t samples_size = BENCH_SAMPLES_MAX * sizeof(uint32_t);
	char *memory = mmap(NULL, ring_size + 2 * samples_size,
		PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		return -ENOMEM;
	memset(ret_slice, 0, sizeof(*ret_slice));
	ret_slice->ring.records = (struct ttm_words *)(void *)memory;
	ret_slice->samples = (uint32_t *)(void *)(memory + ring_size);
	ret_slice->sorted = ret_slice->samples + BENCH_SAMPLES_MAX;
	return 0;
}

/* The clock before and after; `end` is the one after. */
static inline uint64_t batch_run(struct bench_slice *slice,
	struct bench_side *side, bool floor, uint64_t *ret_end)
{
	uint64_t begin;

	if (floor) {
		begin = ttm_clock_now();
		bench_floor_run(&slice->ring, side->hook);
		*ret_end = ttm_clock_now();
	} else {
		bench_before(side);
		begin = ttm_clock_now();
		side->hook->run(side);
		*ret_end = ttm_clock_now();
		bench_after(side);
	}
	return *ret_end - begin;
}

void bench_slice_run(struct bench_slice *slice, const struct bench_time *time,
	struct bench_side *side, bool floor)
{
	uint64_t cpu_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t wall_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	uint64_t begin = ttm_clock_now(), end, ticks;

	slice->begin = begin;
	slice->samples_len = 0;
	do {
		ticks = batch_run(slice, side, floor, &end);
		if (end - begin < time->warm_ticks)
			continue;
		if (slice->samples_len == BENCH_SAMPLES_MAX)
			break;
		if (ticks > UINT32_MAX)
			ticks = UINT32_MAX;
		slice->samples[slice->samples_len++] = (uint32_t)ticks;
	} while (end - begin < time->slice_ticks);
	cpu_ns = ttm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	wall_ns = ttm_clock_ns(CLOCK_MONOTONIC) - wall_ns;
	slice->busy = (double)cpu_ns / (double)(wall_ns + 1);
}

static double ticks_ns(double ticks, const struct bench_time *time,
	const struct bench_hook *hook)
{
	double rest = ticks - time->empty_ticks;

	return (rest > 0 ? rest : 0) * time->ns_per_tick /
		(hook->batch_len * hook->calls);
}

double bench_slice_ns(struct bench_slice *slice, const struct bench_time *time,
	const struct bench_hook *hook)
{
	unsigned len = slice->samples_len, i;
	uint64_t limit, sum = 0;

	if (len == 0)
		return 0;
	memcpy(slice->sorted, slice->samples, len * sizeof(uint32_t));
	qsort(slice->sorted, len, sizeof(uint32_t), by_ticks);
	limit = (uint64_t)slice->sorted[len / 2] * STALL_TIMES;
	for (i = 0; i < len && slice->sorted[i] <= limit; i++)
		sum += slice->sorted[i];
	return ticks_ns((double)sum / i, time, hook);
}

double bench_sample_ns(const struct bench_slice *slice, unsigned sample,
	const struct bench_time *time, const struct bench_hook *hook)
{
	return ticks_ns(slice->samples[sample], time, hook);
}
