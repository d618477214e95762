/* SPDX-License-Identifier: Apache-2.0 */
/* Device entries when several threads name and open devices at once. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"
#include "support/test_segment.h"
#include "support/test_threads.h"

void setUp(void)
{
	test_tracking_start();
	pthread_barrier_init(&barrier, NULL, THREADS);
}

void tearDown(void)
{
	pthread_barrier_destroy(&barrier);
	test_tracking_stop();
}

/* Each writes facts that belong together: all its sizes are one number. */
static void *open_with_own_facts(void *argument)
{
	uint64_t number = (uintptr_t)argument + 1;
	struct ttmem_device_info info;
	uint64_t i;

	ttmem_device_info_init(&info, 0);
	info.chip_id = 77;
	info.dram_bytes = number;
	info.l1_bytes_per_core = number;
	info.cores = number;
	info.l1_small_bytes = number;
	info.trace_bytes = number;
	info.l1_base = number;
	info.l1_top = number;
	memset(info.arch, 'a' + (int)number, 15);
	memset(info.board, 'a' + (int)number, 15);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < test_scale(2000); i++)
		ttmem_device_open(&info);
	return NULL;
}

static void test_facts_of_two_opens_do_not_mix(void)
{
	struct segment *segment;
	const struct segment_device *d;

	threads_run(open_with_own_facts);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->devices_count);
	d = &segment->devices[0];
	TEST_ASSERT_EQUAL_UINT64(77, d->chip_id);
	TEST_ASSERT_TRUE(d->cores >= 1 && d->cores <= THREADS);
	TEST_ASSERT_EQUAL_UINT64(d->cores, d->dram_bytes);
	TEST_ASSERT_EQUAL_UINT64(d->cores, d->l1_bytes_per_core);
	TEST_ASSERT_EQUAL_UINT64(d->cores, d->l1_small_bytes);
	TEST_ASSERT_EQUAL_UINT64(d->cores, d->trace_bytes);
	TEST_ASSERT_EQUAL_UINT64(d->cores, d->l1_base);
	TEST_ASSERT_EQUAL_UINT64(d->cores, d->l1_top);
	TEST_ASSERT_EQUAL_INT('a' + (int)d->cores, d->arch[0]);
	TEST_ASSERT_EQUAL_STRING(d->arch, d->board);
	TEST_ASSERT_EQUAL_UINT64(0, d->seq % 2);
	segment_unref(&segment);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void *name_the_same_ids(void *argument)
{
	uint64_t number = (uintptr_t)argument;
	uint32_t device;

	pthread_barrier_wait(&barrier);
	for (device = 0; device < 60; device++)
		ttmem_alloc(7 * device, TTMEM_DRAM, number, 0, 10);
	return NULL;
}

static void test_id_named_by_all_at_once_gets_one_entry(void)
{
	struct segment *segment;
	uint32_t device;

	threads_run(name_the_same_ids);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(60, segment->devices_count);
	segment_unref(&segment);
	for (device = 0; device < 60; device++)
		test_live_is(
			7 * device, TTMEM_FIGURE_DRAM, THREADS, 10 * THREADS);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){ 0 });
}

static void *name_different_ids(void *argument)
{
	uint32_t number = (uint32_t)(uintptr_t)argument;
	uint32_t i;

	pthread_barrier_wait(&barrier);
	for (i = 0; i < 20; i++)
		ttmem_alloc(1000 * number + i, TTMEM_DRAM, i, 0, 10);
	return NULL;
}

static void test_64_of_many_get_an_entry(void)
{
	struct segment *segment;

	threads_run(name_different_ids);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(64, segment->devices_count);
	TEST_ASSERT_EQUAL_UINT64(64, segment->objects_len);
	segment_unref(&segment);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){
		[TTMEM_ANOMALY_TOO_MANY_DEVICES] = 20 * THREADS - 64 });
}

static uint32_t handles[THREADS][200];

static void *open_meshes(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	uint32_t members[] = { 1, 2, 3 };
	size_t i;

	pthread_barrier_wait(&barrier);
	for (i = 0; i < 200; i++)
		handles[number][i] = ttmem_mesh_open(members, 1 + i % 3);
	return NULL;
}

static void test_mesh_handles_of_all_threads_differ(void)
{
	static uint32_t seen[THREADS * 200];
	size_t len = 0;
	size_t i;
	size_t j;

	threads_run(open_meshes);
	for (i = 0; i < THREADS; i++)
		for (j = 0; j < 200; j++)
			seen[len++] = handles[i][j];
	for (i = 0; i < len; i++) {
		TEST_ASSERT_TRUE(seen[i] >> 31 && seen[i] != UINT32_MAX);
		for (j = 0; j < i; j++)
			TEST_ASSERT_TRUE(seen[i] != seen[j]);
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_facts_of_two_opens_do_not_mix);
	RUN_TEST(test_id_named_by_all_at_once_gets_one_entry);
	RUN_TEST(test_64_of_many_get_an_entry);
	RUN_TEST(test_mesh_handles_of_all_threads_differ);
	return UNITY_END();
}
