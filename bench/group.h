/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of one hook with one number of live objects, measured in turn by one
 * process: a round gives each cell a few slices of the hook and of its floor,
 * alternately, so that whatever else the machine does meets all of them.
 */
#ifndef BENCH_GROUP_H
#define BENCH_GROUP_H

#include "cell.h"

struct bench_plan {
	double seconds; /* per cell */
	bool pin;       /* each thread to a processor of its own */
};

/*
 * Measures; for a process of its own that ends afterwards. The cells have the
 * same hook and `live`. Returns 0 or a negative errno.
 */
int bench_group_run(struct bench_cell *cells, size_t cells_len,
	const struct bench_plan *plan);

#endif
