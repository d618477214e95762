/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three ways of draining a segment, each with positions and memory of its own, so
 * that all of them can read the same records.
 */
#ifndef BENCH_DRAINS_H
#define BENCH_DRAINS_H

#include <stdint.h>

#define BENCH_DRAINS_LANES_MAX 64u /* and the one of the first thread */

enum bench_drain {
	BENCH_DRAIN_COUNT, /* reads and counts: the floor */
	BENCH_DRAIN_STATE, /* reads, checks, applies */
	BENCH_DRAIN_WHOLE, /* the same, with distributions: as in ttmemd */
	BENCH_DRAINS,
};

extern const char *const bench_drain_names[BENCH_DRAINS];

struct bench_drains;

/* Returns 0 or a negative errno. */
int bench_drains_open(
	const char *segment, unsigned lanes, struct bench_drains **ret_drains);
void bench_drains_close(struct bench_drains **drains);

/* Reads what is there. Returns how many records, or a negative errno. */
int bench_drain(struct bench_drains *drains, enum bench_drain way);

/* What publish does with the list of changed slots: it empties it. */
void bench_drains_settle(struct bench_drains *drains);

/* Records that somebody missed: there should be none. */
uint64_t bench_drains_missed(const struct bench_drains *drains);

#endif
