/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that fill a structure: wrong sizes are refused, outputs untouched. */
#include <errno.h>
#include <string.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void test_status_of_wrong_size_is_refused(void)
{
	static const size_t sizes[] = { 0, 1, sizeof(struct ttmem_status) - 1,
		sizeof(struct ttmem_status) + 1, SIZE_MAX };
	struct ttmem_status status;
	struct ttmem_status before;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(&status, 0x5a, sizeof(status));
		status.size = sizes[i];
		before = status;
		TEST_ASSERT_EQUAL_INT(-EINVAL, ttmem_status(&status));
		TEST_ASSERT_EQUAL_MEMORY(&before, &status, sizeof(status));
	}
	TEST_ASSERT_EQUAL_INT(-EINVAL, ttmem_status(NULL));
}

static void test_usage_of_wrong_size_is_refused(void)
{
	static const size_t sizes[] = { 0, 1, sizeof(struct ttmem_usage) - 1,
		sizeof(struct ttmem_usage) + 1, SIZE_MAX };
	struct ttmem_usage usage;
	struct ttmem_usage before;
	size_t i;

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(&usage, 0x5a, sizeof(usage));
		usage.size = sizes[i];
		before = usage;
		TEST_ASSERT_EQUAL_INT(-EINVAL, ttmem_usage(0, &usage));
		TEST_ASSERT_EQUAL_MEMORY(&before, &usage, sizeof(usage));
	}
	TEST_ASSERT_EQUAL_INT(-EINVAL, ttmem_usage(0, NULL));
}

static void test_usage_of_a_device_never_named_is_enodev(void)
{
	static const uint32_t devices[] = { 1, 64, 0x7fffffff, 0x80000000u,
		0x80000001u, 0xfffffffeu, UINT32_MAX };
	struct ttmem_usage usage;
	struct ttmem_usage before;
	size_t i;

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		memset(&usage, 0x5a, sizeof(usage));
		usage.size = sizeof(usage);
		before = usage;
		TEST_ASSERT_EQUAL_INT(-ENODEV, ttmem_usage(devices[i], &usage));
		TEST_ASSERT_EQUAL_MEMORY(&before, &usage, sizeof(usage));
	}
	/* Asking names no device and is no event. */
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void test_usage_of_a_stopped_process_is_enodata(void)
{
	struct ttmem_usage usage;
	struct ttmem_usage before;

	ttmem_stop();
	memset(&usage, 0x5a, sizeof(usage));
	usage.size = sizeof(usage);
	before = usage;
	TEST_ASSERT_EQUAL_INT(-ENODATA, ttmem_usage(0, &usage));
	TEST_ASSERT_EQUAL_MEMORY(&before, &usage, sizeof(usage));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_status_of_wrong_size_is_refused);
	RUN_TEST(test_usage_of_wrong_size_is_refused);
	RUN_TEST(test_usage_of_a_device_never_named_is_enodev);
	RUN_TEST(test_usage_of_a_stopped_process_is_enodata);
	return UNITY_END();
}
