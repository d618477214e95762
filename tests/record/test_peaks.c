/* SPDX-License-Identifier: Apache-2.0 */
/* Peaks: the most that was live since the start or the last reset. */
#include <pthread.h>
#include <stdint.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

#define MIB (1ull << 20)

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void test_peak_stays_after_a_free(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 5 * MIB);
	ttmem_free(0, TTMEM_DRAM, 2);
	ttmem_alloc(0, TTMEM_DRAM, 3, 0, 20);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 2, 30, 5 * MIB + 10);
}

static void test_each_figure_has_its_own_peak(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_alloc(0, TTMEM_L1, 1, 0, 50);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 0, 0, 100);
	test_usage_is(0, TTMEM_FIGURE_L1, 1, 50, 50);
	test_usage_is(0, TTMEM_FIGURE_TRACE, 0, 0, 0);
}

static void test_reset_starts_from_what_is_live(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 3 * MIB);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 10);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_peak_reset(0);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 10, 10);
	ttmem_free(0, TTMEM_DRAM, 2);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 0, 0, 10);
	ttmem_alloc(0, TTMEM_DRAM, 3, 0, 7);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 7, 10);
	ttmem_peak_reset(0);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 7, 7);
}

static void test_reset_touches_one_device_only(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_alloc(1, TTMEM_DRAM, 1, 0, 20);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_free(1, TTMEM_DRAM, 1);
	ttmem_peak_reset(0);
	ttmem_peak_reset(99);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 0, 0, 0);
	test_usage_is(1, TTMEM_FIGURE_DRAM, 0, 0, 20);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void test_peaks_of_a_mesh_are_summed(void)
{
	uint32_t members[] = { 0, 1 };
	uint32_t mesh = ttmem_mesh_open(members, 2);

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_alloc(1, TTMEM_DRAM, 1, 0, 50);
	ttmem_free(1, TTMEM_DRAM, 1);
	test_usage_is(mesh, TTMEM_FIGURE_DRAM, 0, 0, 150);
	ttmem_peak_reset(mesh);
	test_usage_is(mesh, TTMEM_FIGURE_DRAM, 0, 0, 0);
}

static void test_peak_outlives_the_closing_of_the_device(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	ttmem_alloc(0, TTMEM_L1, 1, 0, MIB);
	ttmem_device_close(0);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 0, 0, 100);
	test_usage_is(0, TTMEM_FIGURE_L1, 0, 0, MIB);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 30);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 30, 100);
	ttmem_peak_reset(0);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 30, 30);
	test_usage_is(0, TTMEM_FIGURE_L1, 0, 0, 0);
}

/* Old and new never were on the device at the same time. */
static void test_replacing_does_not_count_both(void)
{
	ttmem_cb_alloc(0, 1, 1, 0, 100, 1, 0);
	ttmem_cb_alloc(0, 1, 1, 0, 120, 1, 0);
	test_usage_is(0, TTMEM_FIGURE_CB, 1, 120, 120);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, MIB);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 2 * MIB);
	test_usage_is(0, TTMEM_FIGURE_DRAM, 1, 2 * MIB, 2 * MIB);
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 10, 10, 0);
	ttmem_kernel_load(0, 1, TTMEM_KERNEL_APPLICATION, 20, 10, 0);
	test_usage_is(0, TTMEM_FIGURE_KERNEL_APPLICATION, 1, 200, 200);
}

static void test_peak_is_exact_around_the_fold(void)
{
	static const uint64_t sizes[] = { 1, 65535, 65536, 65537, 4096, 131072,
		3 };
	uint64_t live = 0;
	uint64_t peak = 0;
	uint64_t round;
	uint64_t i;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < 7; i++) {
			ttmem_alloc(0, TTMEM_L1_SMALL, i, 0, sizes[i] + round);
			ttmem_alloc(0, TTMEM_L1, i, 0, sizes[i] + round);
			live += sizes[i] + round;
			peak = live > peak ? live : peak;
			test_usage_is(0, TTMEM_FIGURE_L1, i + 1, live, peak);
			test_usage_is(
				0, TTMEM_FIGURE_L1_SMALL, i + 1, live, peak);
		}
		for (i = 7; i-- > 0;) {
			ttmem_free(0, TTMEM_L1_SMALL, i);
			ttmem_free(0, TTMEM_L1, i);
			live -= sizes[i] + round;
			test_usage_is(0, TTMEM_FIGURE_L1, i, live, peak);
			test_usage_is(0, TTMEM_FIGURE_L1_SMALL, i, live, peak);
		}
	}
}

static void *one_comes_and_goes(void *size)
{
	ttmem_alloc(0, TTMEM_L1_SMALL, 1, 0, (uintptr_t)size);
	ttmem_free(0, TTMEM_L1_SMALL, 1);
	return NULL;
}

/* Two threads, and never more than one object at a time. */
static void test_peak_of_l1_small_is_within_4_kib_per_thread(void)
{
	static const uintptr_t sizes[] = { 3000, 4096, 40000, 65535 };
	struct ttmem_usage usage = { .size = sizeof(usage) };
	pthread_t other;
	uint64_t peak;
	size_t i;

	for (i = 0; i < 4; i++) {
		one_comes_and_goes((void *)sizes[i]);
		TEST_ASSERT_EQUAL_INT(0,
			pthread_create(&other, NULL, one_comes_and_goes,
				(void *)sizes[i]));
		pthread_join(other, NULL);
		TEST_ASSERT_EQUAL_INT(0, ttmem_usage(0, &usage));
		peak = usage.figures[TTMEM_FIGURE_L1_SMALL].peak_bytes;
		TEST_ASSERT_TRUE(peak >= sizes[i]);
		TEST_ASSERT_TRUE(peak <= sizes[i] + 2 * 4096);
	}
}

static void test_segment_says_the_same_peak(void)
{
	struct segment *segment;

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 40000);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 50000);
	ttmem_free(0, TTMEM_DRAM, 1);
	ttmem_alloc(0, TTMEM_L1, 1, 0, 10);
	ttmem_free(0, TTMEM_L1, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_INT64(90000,
		segment->devices[0].figures[TTMEM_FIGURE_DRAM].peak_bytes);
	TEST_ASSERT_EQUAL_INT64(
		10, segment->devices[0].figures[TTMEM_FIGURE_L1].peak_bytes);
	segment_unref(&segment);
	ttmem_peak_reset(0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_INT64(50000,
		segment->devices[0].figures[TTMEM_FIGURE_DRAM].peak_bytes);
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_peak_stays_after_a_free);
	RUN_TEST(test_each_figure_has_its_own_peak);
	RUN_TEST(test_reset_starts_from_what_is_live);
	RUN_TEST(test_reset_touches_one_device_only);
	RUN_TEST(test_peaks_of_a_mesh_are_summed);
	RUN_TEST(test_peak_outlives_the_closing_of_the_device);
	RUN_TEST(test_replacing_does_not_count_both);
	RUN_TEST(test_peak_is_exact_around_the_fold);
	RUN_TEST(test_peak_of_l1_small_is_within_4_kib_per_thread);
	RUN_TEST(test_segment_says_the_same_peak);
	return UNITY_END();
}
