/* SPDX-License-Identifier: Apache-2.0 */
/* A base directory of its own for a benchmark, with tracking on in it. */
#ifndef BENCH_SCRATCH_H
#define BENCH_SCRATCH_H

/* Sets the environment. Exits with 77 (skipped) if there is none to be had. */
void bench_scratch_make(const char *program);

void bench_scratch_remove(void);

#endif
