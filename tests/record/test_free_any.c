/* SPDX-License-Identifier: Apache-2.0 */
/* Frees that do not say the kind: one buffer of that id goes, whatever it is. */
#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

#define ONLY(reason, n)                                                        \
	(uint64_t[TTMEM_ANOMALIES])                                            \
	{                                                                      \
		[reason] = n                                                   \
	}
#define NONE ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 0)

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void test_a_buffer_of_each_kind_is_found(void)
{
	unsigned kind;

	for (kind = TTMEM_DRAM; kind <= TTMEM_TRACE; kind++) {
		ttmem_alloc(2, (enum ttmem_kind)kind, 5, 0, 10);
		ttmem_free_any(2, 5);
		test_usage_is(2, kind, 0, 0, 10);
	}
	test_anomalies_are(NONE);
}

static void test_of_two_kinds_the_first_goes(void)
{
	ttmem_alloc(0, TTMEM_TRACE, 5, 0, 30);
	ttmem_alloc(0, TTMEM_L1, 5, 0, 20);
	ttmem_free_any(0, 5);
	test_usage_is(0, TTMEM_FIGURE_L1, 0, 0, 20);
	test_usage_is(0, TTMEM_FIGURE_TRACE, 1, 30, 30);
	ttmem_free_any(0, 5);
	test_usage_is(0, TTMEM_FIGURE_TRACE, 0, 0, 30);
	test_anomalies_are(NONE);
}

static void test_an_unknown_id_is_one_anomaly(void)
{
	ttmem_alloc(0, TTMEM_L1, 5, 0, 20);
	ttmem_free_any(0, 6);
	test_usage_is(0, TTMEM_FIGURE_L1, 1, 20, 20);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 1));
}

static void test_cbs_and_kernels_are_no_buffers(void)
{
	ttmem_cb_alloc(0, 0, 5, 0, 10, 1, 0);
	ttmem_kernel_load(0, 5, TTMEM_KERNEL_APPLICATION, 10, 1, 0);
	ttmem_free_any(0, 5);
	test_usage_is(0, TTMEM_FIGURE_CB, 1, 10, 10);
	test_usage_is(0, TTMEM_FIGURE_KERNEL, 1, 10, 10);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 1));
}

static void test_a_live_one_goes_before_an_orphan(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 5, 0, 10);
	ttmem_device_close(0);
	ttmem_alloc(0, TTMEM_TRACE, 5, 0, 20);
	ttmem_free_any(0, 5);
	test_usage_is(0, TTMEM_FIGURE_TRACE, 0, 0, 20);
	test_anomalies_are(NONE);
	ttmem_free_any(0, 5);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_LATE_FREE, 1));
}

static void test_each_member_of_a_mesh_is_looked_at(void)
{
	static const uint32_t members[] = { 3, 4 };
	uint32_t mesh = ttmem_mesh_open(members, 2);

	ttmem_alloc(3, TTMEM_L1, 5, 0, 10);
	ttmem_alloc(4, TTMEM_TRACE, 5, 0, 20);
	ttmem_free_any(mesh, 5);
	test_usage_is(3, TTMEM_FIGURE_L1, 0, 0, 10);
	test_usage_is(4, TTMEM_FIGURE_TRACE, 0, 0, 20);
	test_anomalies_are(NONE);
}

static void test_a_device_that_is_none_is_an_anomaly(void)
{
	ttmem_alloc(0, TTMEM_L1, 5, 0, 20);
	ttmem_free_any(UINT32_MAX, 5);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_BAD_DEVICE, 1));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_buffer_of_each_kind_is_found);
	RUN_TEST(test_of_two_kinds_the_first_goes);
	RUN_TEST(test_an_unknown_id_is_one_anomaly);
	RUN_TEST(test_cbs_and_kernels_are_no_buffers);
	RUN_TEST(test_a_live_one_goes_before_an_orphan);
	RUN_TEST(test_each_member_of_a_mesh_is_looked_at);
	RUN_TEST(test_a_device_that_is_none_is_an_anomaly);
	return UNITY_END();
}
