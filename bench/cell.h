/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked for and what comes out: one line of the table. */
#ifndef BENCH_CELL_H
#define BENCH_CELL_H

#include "hooks.h"

enum bench_threads {
	BENCH_ONE,    /* one thread has all objects */
	BENCH_TWO,    /* two, each half of them on a device of its own */
	BENCH_SHARED, /* two, each half of them, all on one device */
	BENCH_THREADS
};

/* Nanoseconds per call. The first three over slices, the rest over batches. */
struct bench_figures {
	double median;
	double lower; /* quartiles */
	double upper;
	double p50;
	double p90;
	double p99;
	double p999;
	double max;
};

struct bench_cell {
	const struct bench_hook *hook;
	enum bench_threads threads;
	size_t live;
	bool reader;

	struct bench_figures measured;
	struct bench_figures floor;
	double ratio; /* of a slice and the floor's next to it: median */
	double ratio_lower;
	double ratio_upper;
	double to_one_thread; /* ratio of the medians, 0: not known */
	double floor_to_one_thread;
	unsigned slices; /* pairs that count */
	unsigned broken; /* pairs in which a thread did not run all the time */
	uint64_t read;   /* records that the reader got ... */
	uint64_t missed; /* ... and those that were overwritten before */
};

#endif
