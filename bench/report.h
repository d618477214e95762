/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "cell.h"

void bench_table_head(void);
void bench_table_lines(const struct bench_cell *cells, size_t cells_len);

void bench_json(
	const struct bench_cell *cells, size_t cells_len, double seconds);

#endif
