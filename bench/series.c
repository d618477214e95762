/* SPDX-License-Identifier: Apache-2.0 */
#include "series.h"

#include <errno.h>
#include <hdr/hdr_histogram.h>
#include <stdlib.h>
#include <string.h>

/* Histograms count picoseconds, up to a second. */
#define PS_PER_NS 1e3
#define PS_MAX 1000000000000

#define PAIRS_MAX 100000u

int bench_series_init(struct bench_series *ret_series)
{
	unsigned i;

	memset(ret_series, 0, sizeof(*ret_series));
	ret_series->ratios = calloc(3 * PAIRS_MAX, sizeof(double));
	if (!ret_series->ratios)
		return -ENOMEM;
	for (i = 0; i < 2; i++) {
		ret_series->ns[i] = ret_series->ratios + (i + 1) * PAIRS_MAX;
		if (hdr_init(1, PS_MAX, 3, &ret_series->batches[i]))
			return -ENOMEM;
	}
	return 0;
}

void bench_series_sample(struct bench_series *series, bool floor, double ns)
{
	double ps = ns * PS_PER_NS;

	hdr_record_value(series->batches[floor],
		ps < 1              ? 1 :
			ps > PS_MAX ? PS_MAX :
				      (int64_t)ps);
}

void bench_series_pair(
	struct bench_series *series, bool whole, double measured, double floor)
{
	size_t at = series->len;

	/* If none is whole, a broken one has to do. */
	if (!whole) {
		series->broken++;
		if (at > 0)
			return;
	}
	if (at == PAIRS_MAX)
		return;
	series->ns[0][at] = measured;
	series->ns[1][at] = floor;
	series->ratios[at] = floor > 0 ? measured / floor : 0;
	if (whole)
		series->len++;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double percentile(const struct hdr_histogram *histogram, double percent)
{
	return (double)hdr_value_at_percentile(histogram, percent) / PS_PER_NS;
}

static void figures_set(struct bench_figures *ret_figures, double *values,
	size_t len, const struct hdr_histogram *histogram)
{
	qsort(values, len, sizeof(double), by_value);
	ret_figures->median = values[len / 2];
	ret_figures->lower = values[len / 4];
	ret_figures->upper = values[len * 3 / 4];
	ret_figures->p50 = percentile(histogram, 50);
	ret_figures->p90 = percentile(histogram, 90);
	ret_figures->p99 = percentile(histogram, 99);
	ret_figures->p999 = percentile(histogram, 99.9);
	ret_figures->max = (double)hdr_max(histogram) / PS_PER_NS;
}

void bench_series_sum_up(struct bench_series *series, struct bench_cell *cell)
{
	size_t len = series->len ? series->len : 1;

	figures_set(&cell->measured, series->ns[0], len, series->batches[0]);
	figures_set(&cell->floor, series->ns[1], len, series->batches[1]);
	qsort(series->ratios, len, sizeof(double), by_value);
	cell->ratio = series->ratios[len / 2];
	cell->ratio_lower = series->ratios[len / 4];
	cell->ratio_upper = series->ratios[len * 3 / 4];
	cell->slices = (unsigned)series->len;
	cell->broken = series->broken;
	hdr_close(series->batches[0]);
	hdr_close(series->batches[1]);
	free(series->ratios);
}
