/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that fills its lanes when told to, through the library: what a runtime
 * does, with buffers that come and go at random among many, circular buffers,
 * kernels and dispatches.
 */
#ifndef BENCH_REFILL_H
#define BENCH_REFILL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_REFILL_LANES_MAX 64u
#define BENCH_REFILL_MESH_MAX 64u
#define BENCH_REFILL_PATH_SIZE 512u

struct bench_refill {
	pid_t pid;
	int to;
	int from;
	char segment[BENCH_REFILL_PATH_SIZE]; /* its path */
};

/*
 * Starts it, with so many live objects in all: on four devices by turns, or all of them
 * on one mesh of `mesh` devices, up to 64; 0: none. Call it while there is one thread.
 * Returns 0 or a negative errno; end it with bench_refill_stop().
 */
int bench_refill_start(unsigned lanes, size_t live, unsigned mesh,
	struct bench_refill *ret_refill);

/* So many records into each lane. Returns 0 or -EPIPE. */
int bench_refill_fill(struct bench_refill *refill, uint32_t records);

void bench_refill_stop(struct bench_refill *refill);

#endif
