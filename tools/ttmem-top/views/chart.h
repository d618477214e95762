/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of values over time. */
#ifndef TTM_TOP_CHART_H
#define TTM_TOP_CHART_H

#include "ttmem-top/model/history.h"
#include "glyphs.h"

/* What a chart has on its left: "100%" and a line. */
#define TOP_CHART_AXIS 6

struct top_chart {
	const struct top_past *past; /* NULL: nothing is known */
	enum top_series series;
	uint64_t capacity; /* unknown: the scale is that of the values */
	uint64_t from_ns, to_ns;
	bool braille;
	enum top_look look;
};

/* The most in it; unknown without any value. */
uint64_t top_chart_peak(const struct top_chart *chart);

/*
 * The least of 1, 2, 5, 10, 25, 50 and 100 % of the capacity that the peak does not
 * exceed; without a capacity, the peak.
 */
uint64_t top_chart_scale(uint64_t peak, uint64_t capacity);

/* The axis, the columns, and a line at the peak. */
void top_chart_paint(
	const struct top_area *area, const struct top_chart *chart);

#endif
