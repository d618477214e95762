/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that reads the segment every millisecond as an aggregator does: with
 * pread, the lanes' controls first, then what is new in each lane.
 */
#ifndef BENCH_READER_H
#define BENCH_READER_H

#include <stdbool.h>
#include <stdint.h>

struct bench_reader;

/*
 * Starts it, at rest. To be called before tracking starts. Returns NULL without
 * memory or processes.
 */
struct bench_reader *bench_reader_start(void);

/* From now on, or no longer; the path of the segment is told the first time. */
void bench_reader_poll(
	struct bench_reader *reader, bool on, const char *segment);

/* What it has read since it started, and what was overwritten before. */
void bench_reader_counts(const struct bench_reader *reader, uint64_t *ret_read,
	uint64_t *ret_missed);

/* Ends the process. */
void bench_reader_stop(struct bench_reader *reader);

#endif
