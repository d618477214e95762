/* SPDX-License-Identifier: Apache-2.0 */
/* Each member of a header that has one right value, or a range, with a wrong one. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <unity.h>

#include "daemon/find/attached.h"
#include "shm/checksum.h"

static struct ttm_header_const header;
static uint64_t file_size;
static char reason[TTM_REASON_SIZE];

static void header_seal(void)
{
	header.checksum = ttm_checksum(
		&header, offsetof(struct ttm_header_const, checksum));
}

void setUp(void)
{
	memset(&header, 0, sizeof(header));
	header.magic = TTM_SEGMENT_MAGIC;
	header.version = TTM_SEGMENT_VERSION;
	header.header_size = sizeof(struct ttm_header);
	header.signature = TTM_SEGMENT_SIGNATURE;
	header.uuid[15] = 1;
	header.pid = 1;
	header.clock_kind = TTM_CLOCK_X86_TSC;
	header.extent_size = TTM_EXTENT_SIZE;
	header.extents_max = 4;
	header.lanes_max = TTM_LANES_MAX;
	header.lane_records = TTM_LANE_RECORDS;
	header.devices_max = TTM_DEVICES_MAX;
	header.failures_kept = TTM_FAILURES_KEPT;
	header.marks_kept = TTM_MARKS_KEPT;
	header.directory_off = TTM_DIRECTORY_OFF;
	header.lanes_off = TTM_LANES_OFF;
	header.devices_off = TTM_DEVICES_OFF;
	header.failures_off = TTM_FAILURES_OFF;
	header.marks_off = TTM_MARKS_OFF;
	header.places_off = TTM_PLACES_OFF;
	header.extents_off = TTM_EXTENTS_OFF;
	file_size = TTM_EXTENTS_OFF + 4 * TTM_EXTENT_SIZE;
	header_seal();
	memset(reason, '#', sizeof(reason));
}

void tearDown(void)
{
}

static int checked(void)
{
	return ttm_header_check(&header, file_size, reason);
}

static void accepts(void)
{
	header_seal();
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, checked(), reason);
}

/* Sealed, so that it is not the checksum that tells. */
static void refuses(const char *text)
{
	header_seal();
	TEST_ASSERT_EQUAL_INT_MESSAGE(-EPROTO, checked(), text);
	TEST_ASSERT_EQUAL_STRING(text, reason);
	setUp();
}

static void test_a_good_header_is_accepted_and_the_reason_untouched(void)
{
	accepts();
	TEST_ASSERT_EQUAL_INT('#', reason[0]);
}

static void test_bounds_are_accepted(void)
{
	file_size = TTM_EXTENTS_OFF;
	accepts();
	header.extents_max = 0;
	accepts();
	header.extents_max = TTM_EXTENTS_MAX;
	file_size = TTM_EXTENTS_OFF +
		(uint64_t)TTM_EXTENTS_MAX * TTM_EXTENT_SIZE;
	accepts();
	header.clock_kind = TTM_CLOCK_MONOTONIC_NS;
	header.clock_hz = 1000;
	accepts();
	header.clock_hz = 100000000000ull;
	accepts();
	header.pid = INT32_MAX;
	accepts();
}

static void test_texts_may_fill_their_fields(void)
{
	memset(header.comm, 'x', sizeof(header.comm));
	memset(header.cmdline, 'x', sizeof(header.cmdline));
	memset(header.cgroup, 'x', sizeof(header.cgroup));
	accepts();
}

static void test_every_byte_counts(void)
{
	uint8_t *bytes = (uint8_t *)&header;
	size_t i;

	for (i = 0; i < sizeof(header); i++) {
		bytes[i] ^= 0x40;
		TEST_ASSERT_EQUAL_INT(-EPROTO, checked());
		TEST_ASSERT_NOT_NULL(memchr(reason, '\0', sizeof(reason)));
		bytes[i] ^= 0x40;
	}
	accepts();
}

static void test_wrong_format(void)
{
	header.magic++;
	refuses("it is no segment (magic)");
	header.version = 1;
	refuses("version is 1");
	header.header_size = 8;
	refuses("header size is 8");
	header.signature++;
	refuses("layout is another one (signature)");
	header.checksum++;
	TEST_ASSERT_EQUAL_INT(-EPROTO, checked());
	TEST_ASSERT_EQUAL_STRING("checksum is wrong", reason);
}

static void test_wrong_counts(void)
{
	header.extent_size = 1;
	refuses("extent size is 1");
	header.lanes_max = 1025;
	refuses("number of lanes is 1025");
	header.lane_records = 0;
	refuses("records of a lane is 0");
	header.devices_max = 65;
	refuses("number of devices is 65");
	header.failures_kept = 17;
	refuses("failures kept is 17");
	header.marks_kept = UINT32_MAX;
	refuses("marks kept is 4294967295");
	header.extents_max = TTM_EXTENTS_MAX + 1;
	refuses("most extents it may have is 8193");
}

static void test_wrong_offsets(void)
{
	header.directory_off = 0;
	refuses("directory offset is 0");
	header.lanes_off = 1;
	refuses("lanes offset is 1");
	header.devices_off = UINT64_MAX;
	refuses("devices offset is 18446744073709551615");
	header.failures_off = 2;
	refuses("failures offset is 2");
	header.marks_off = 3;
	refuses("marks offset is 3");
	header.places_off = 5;
	refuses("places offset is 5");
	header.extents_off = 4;
	refuses("extents offset is 4");
}

static void test_wrong_sizes(void)
{
	file_size = TTM_EXTENTS_OFF - 1;
	refuses("file size is 327679");
	file_size++;
	file_size = TTM_EXTENTS_OFF + 4 * TTM_EXTENT_SIZE + 1;
	refuses("file size is 851969");
	file_size = UINT64_MAX;
	refuses("file size is 18446744073709551615");
}

static void test_wrong_clocks(void)
{
	header.clock_kind = 0;
	refuses("clock kind is 0");
	header.clock_kind = 4;
	refuses("clock kind is 4");
	header.clock_hz = 999;
	refuses("clock rate is 999");
	header.clock_hz = 100000000001ull;
	refuses("clock rate is 100000000001");
}

static void test_wrong_identity(void)
{
	header.pid = 0;
	refuses("pid is 0");
	header.pid = 0x80000000u;
	refuses("pid is 2147483648");
	header.uuid[15] = 0;
	refuses("uuid is empty");
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_good_header_is_accepted_and_the_reason_untouched);
	RUN_TEST(test_bounds_are_accepted);
	RUN_TEST(test_texts_may_fill_their_fields);
	RUN_TEST(test_every_byte_counts);
	RUN_TEST(test_wrong_format);
	RUN_TEST(test_wrong_counts);
	RUN_TEST(test_wrong_offsets);
	RUN_TEST(test_wrong_sizes);
	RUN_TEST(test_wrong_clocks);
	RUN_TEST(test_wrong_identity);
	return UNITY_END();
}
