/* SPDX-License-Identifier: Apache-2.0 */
/* A few milliseconds of one thread doing one thing, batch by batch. */
#ifndef BENCH_SLICE_H
#define BENCH_SLICE_H

#include "floor.h"
#include "hooks.h"

#define BENCH_SAMPLES_MAX 8192u

/* One thread's; allocate with bench_slice_init(). */
struct bench_slice {
	struct bench_ring ring;
	uint32_t *samples; /* ticks of each batch */
	uint32_t *sorted;
	unsigned samples_len;
	uint64_t begin; /* the clock */
	double busy;    /* share of the time that the thread was running */
};

/* Ticks of the clock. */
struct bench_time {
	double ns_per_tick;
	uint64_t slice_ticks;
	uint64_t warm_ticks;  /* at the start of a slice: not counted */
	uint32_t empty_ticks; /* of a batch of nothing */
};

void bench_time_calibrate(struct bench_time *ret_time, double slice_ms);

/* Returns 0 or -ENOMEM. */
int bench_slice_init(struct bench_slice *ret_slice);

void bench_slice_run(struct bench_slice *slice, const struct bench_time *time,
	struct bench_side *side, bool floor);

/*
 * Nanoseconds per call: the mean of the batches, those apart that took more than
 * ten times the median. There the thread was not running.
 */
double bench_slice_ns(struct bench_slice *slice, const struct bench_time *time,
	const struct bench_hook *hook);

/* Those of one batch. */
double bench_sample_ns(const struct bench_slice *slice, unsigned sample,
	const struct bench_time *time, const struct bench_hook *hook);

#endif
