/* SPDX-License-Identifier: Apache-2.0 */
/* This process's own segment, as the independent reader sees it. */
#ifndef TEST_SEGMENT_H
#define TEST_SEGMENT_H

#include <stdint.h>

#include <ttmem/ttmem.h>

#include "support/segment_reader.h"

/*
 * For setUp() and tearDown(): tracking is on, with a new segment in a directory
 * of its own, until it is stopped and all is removed.
 */
void test_tracking_start(void);
void test_tracking_stop(void);

/*
 * Each fails the running Unity test if there is no segment or if it is not as
 * the layout page says. Release with segment_unref().
 */
struct segment *test_segment_read(void);

/* The same, and slots, counters and records must agree. */
struct segment *test_segment_at_rest(void);

/* The path of the segment; static. Fails the test if there is none. */
const char *test_segment_path(void);

/* How often a reason was counted, by ttmem_status(). */
uint64_t test_anomalies(unsigned reason);
uint64_t test_losses(unsigned reason);

/* The last record of this thread's lane, counted from its end: 0 is the last. */
const struct segment_words *test_segment_last(
	const struct segment *segment, size_t from_end);

/* What ttmem_usage() says of one figure; fails the test if it does not. */
void test_usage_is(uint32_t device, unsigned figure, uint64_t objects,
	uint64_t bytes, uint64_t peak);

/* The same without the peak. */
void test_live_is(
	uint32_t device, unsigned figure, uint64_t objects, uint64_t bytes);

/* Nothing is live in any figure of the device. */
void test_usage_is_nothing(uint32_t device);

/* Status and segment count exactly these anomalies, and no losses. */
void test_anomalies_are(const uint64_t expected[TTMEM_ANOMALIES]);

#endif
