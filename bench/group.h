/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of one hook with the same live objects and threads, measured by one
 * process: a turn gives each cell a few slices of the hook and of its floor,
 * alternately, so that whatever else the machine does meets both.
 */
#ifndef BENCH_GROUP_H
#define BENCH_GROUP_H

#include "cell.h"
#include "turns.h"

struct bench_plan {
	double seconds; /* per cell */
	bool pin;       /* each thread to a processor of its own */
};

/*
 * Measures, turn by turn; for a process of its own that ends afterwards. Returns
 * 0 or a negative errno.
 */
int bench_group_run(struct bench_cell *cells, size_t cells_len,
	const struct bench_plan *plan, struct bench_turn *turn);

#endif
