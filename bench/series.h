/* SPDX-License-Identifier: Apache-2.0 */
/* The slices of a cell, and what they come to. */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#include "cell.h"

struct hdr_histogram;

struct bench_series {
	struct hdr_histogram *batches[2]; /* hook, floor */
	double *ns[2];
	double *ratios;
	size_t len; /* pairs that count */
	unsigned broken;
	double seconds; /* spent on it */
};

/* Returns 0 or -ENOMEM. */
int bench_series_init(struct bench_series *ret_series);

void bench_series_sample(struct bench_series *series, bool floor, double ns);
void bench_series_pair(
	struct bench_series *series, bool whole, double measured, double floor);

/* Fills in the results of the cell. */
void bench_series_sum_up(struct bench_series *series, struct bench_cell *cell);

#endif
