/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_segment.h"

#include <stdio.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"

static struct ttmem_status *status_now(void)
{
	static struct ttmem_status status;

	status.size = sizeof(status);
	TEST_ASSERT_EQUAL_INT(0, ttmem_status(&status));
	return &status;
}

const char *test_segment_path(void)
{
	const char *path = status_now()->segment;

	TEST_ASSERT_NOT_EQUAL_MESSAGE('\0', path[0], "there is no segment");
	return path;
}

struct segment *test_segment_read(void)
{
	struct segment *segment = NULL;
	char why[512] = "";
	int err;

	err = segment_read(test_segment_path(), &segment, why, sizeof(why));
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, err, why);
	return segment;
}

struct segment *test_segment_at_rest(void)
{
	struct segment *segment = test_segment_read();
	char why[512] = "";
	int err;

	err = segment_check_at_rest(segment, why, sizeof(why));
	if (err)
		segment_unref(&segment);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, err, why);
	return segment;
}

uint64_t test_anomalies(unsigned reason)
{
	return status_now()->anomalies[reason];
}

uint64_t test_losses(unsigned reason)
{
	return status_now()->lost_events[reason];
}

const struct segment_words *test_segment_last(
	const struct segment *segment, size_t from_end)
{
	const struct segment_lane *lane = segment_lane(
		segment, (uint32_t)gettid());

	TEST_ASSERT_NOT_NULL_MESSAGE(lane, "this thread has no lane");
	TEST_ASSERT_TRUE_MESSAGE(
		from_end < lane->records_len, "no such record");
	return &lane->records[lane->records_len - 1 - from_end];
}

void test_tracking_start(void)
{
	test_dir_make();
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, ttmem_start(NULL), "ttmem_start");
}

void test_tracking_stop(void)
{
	ttmem_stop();
	test_dir_remove();
}

static struct ttmem_usage_figure usage_of(
	uint32_t device, unsigned figure, const char *what)
{
	struct ttmem_usage usage = { .size = sizeof(usage) };

	TEST_ASSERT_EQUAL_INT_MESSAGE(0, ttmem_usage(device, &usage), what);
	return usage.figures[figure];
}

void test_live_is(
	uint32_t device, unsigned figure, uint64_t objects, uint64_t bytes)
{
	struct ttmem_usage_figure found;
	char what[64];

	snprintf(what, sizeof(what), "live, device %u, figure %u", device,
		figure);
	found = usage_of(device, figure, what);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(objects, found.live_objects, what);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(bytes, found.live_bytes, what);
}

void test_usage_is(uint32_t device, unsigned figure, uint64_t objects,
	uint64_t bytes, uint64_t peak)
{
	struct ttmem_usage_figure found;
	char what[64];

	test_live_is(device, figure, objects, bytes);
	snprintf(what, sizeof(what), "peak, device %u, figure %u", device,
		figure);
	found = usage_of(device, figure, what);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(peak, found.peak_bytes, what);
}

void test_usage_is_nothing(uint32_t device)
{
	struct ttmem_usage usage = { .size = sizeof(usage) };
	unsigned i;

	TEST_ASSERT_EQUAL_INT(0, ttmem_usage(device, &usage));
	for (i = 0; i < TTMEM_FIGURES; i++) {
		TEST_ASSERT_EQUAL_UINT64(0, usage.figures[i].live_objects);
		TEST_ASSERT_EQUAL_UINT64(0, usage.figures[i].live_bytes);
	}
}

void test_anomalies_are(const uint64_t expected[TTMEM_ANOMALIES])
{
	struct segment *segment = test_segment_read();
	const struct ttmem_status *status = status_now();
	unsigned i;

	for (i = 0; i < TTMEM_ANOMALIES; i++) {
		char what[64];

		snprintf(what, sizeof(what), "anomaly %u, ttmem_status", i);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(
			expected[i], status->anomalies[i], what);
		snprintf(what, sizeof(what), "anomaly %u, segment", i);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(
			expected[i], segment->anomalies[i], what);
	}
	for (i = 0; i < TTMEM_LOSSES; i++)
		TEST_ASSERT_EQUAL_UINT64(0, status->lost_events[i]);
	segment_unref(&segment);
}
