/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a program frees all of its CBs, whatever thread allocated them, however many
 * there are, and whatever else shares their lines of the index.
 */
#include <pthread.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "record/index.h"
#include "support/test_dir.h"
#include "support/test_segment.h"

#define NONE ((uint64_t[TTMEM_ANOMALIES]){ 0 })
#define ONLY(reason, n) ((uint64_t[TTMEM_ANOMALIES]){ [reason] = (n) })

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void cb_alloc(uint64_t program, uint64_t cb)
{
	ttmem_cb_alloc(0, program, cb, 0x1000, 10, 2, 0);
}

static void live_is(uint64_t cbs)
{
	struct segment *segment = test_segment_at_rest();

	TEST_ASSERT_EQUAL_UINT64(cbs, segment->objects_len);
	segment_unref(&segment);
}

/* -- on another thread ---------------------------------------------------------- */

struct call {
	void (*run)(uint64_t program, uint64_t cb);
	uint64_t program, cb;
};

static void *call_run(void *argument)
{
	const struct call *call = argument;

	call->run(call->program, call->cb);
	return NULL;
}

static void elsewhere(
	void (*run)(uint64_t, uint64_t), uint64_t program, uint64_t cb)
{
	struct call call = { run, program, cb };
	pthread_t thread;

	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, call_run, &call));
	pthread_join(thread, NULL);
}

static void cb_free(uint64_t program, uint64_t cb)
{
	ttmem_cb_free(0, program, cb);
}

static void destroy(uint64_t program, uint64_t cb)
{
	(void)cb;
	ttmem_program_destroy(0, program);
}

/* -- tests ------------------------------------------------------------------------- */

static void test_cbs_of_several_threads_go_with_their_program(void)
{
	cb_alloc(1, 0);
	elsewhere(cb_alloc, 1, 1);
	elsewhere(cb_alloc, 1, 2);
	cb_alloc(1, 3);
	cb_alloc(2, 0);
	elsewhere(cb_alloc, 2, 1);
	live_is(6);
	elsewhere(destroy, 1, 0);
	live_is(2);
	ttmem_program_destroy(0, 2);
	live_is(0);
	test_anomalies_are(NONE);
}

static void test_another_thread_replaces_and_frees(void)
{
	cb_alloc(1, 0);
	cb_alloc(1, 1);
	elsewhere(cb_alloc, 1, 0);
	live_is(2);
	cb_alloc(1, 0);
	live_is(2);
	elsewhere(cb_free, 1, 1);
	live_is(1);
	cb_free(1, 0);
	live_is(0);
	test_anomalies_are(NONE);
	cb_free(1, 0);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_FREE_UNKNOWN, 1));
}

/* More programs than the first level of the index has lines. */
static void test_very_many_are_found_again(void)
{
	uint64_t many = test_scale(40000), program;

	for (program = 0; program < many; program++) {
		cb_alloc(program, 0);
		cb_alloc(program, 7);
		cb_alloc(program, 8);
	}
	live_is(3 * many);
	for (program = 0; program < many; program += 2) {
		cb_alloc(program, 0);
		cb_free(program, 7);
	}
	live_is(3 * many - many / 2);
	for (program = 0; program < many; program++)
		ttmem_program_destroy(0, program);
	live_is(0);
	test_anomalies_are(NONE);
}

/* Programs so many apart share a line of the index. */
static void test_others_in_the_same_line_stay(void)
{
	uint64_t i;

	for (i = 0; i < 20; i++) {
		cb_alloc(i << 13, 0);
		ttmem_kernel_load(
			0, i << 13, TTMEM_KERNEL_APPLICATION, 1, 1, 0);
		ttmem_alloc(0, TTMEM_L1, (i << 13) + 1, 0, 1);
	}
	for (i = 0; i < 20; i++) {
		live_is(60 - 2 * i);
		ttmem_program_destroy(0, i << 13);
	}
	live_is(20);
	test_anomalies_are(NONE);
}

static void cbs_on_devices(uint32_t devices, uint64_t programs, uint64_t cbs)
{
	uint64_t program, cb;
	uint32_t device;

	for (device = 0; device < devices; device++)
		for (program = 0; program < programs; program++)
			for (cb = 0; cb < cbs; cb++)
				ttmem_cb_alloc(device, program, cb, 0, 1, 1, 0);
}

/* The index grew after the first CB: its entry is where only a search looks. */
static void test_a_cb_in_an_older_level_of_the_index_is_replaced(void)
{
	uint64_t buffers = 0;

	cb_alloc(1, 0);
	while (!ttm_level_newest(ttm_process_now())->older)
		ttmem_alloc(0, TTMEM_DRAM, ++buffers, 0x1000, 10);
	elsewhere(cb_alloc, 1, 1);
	elsewhere(cb_alloc, 1, 0);
	live_is(buffers + 2);
	cb_alloc(1, 0);
	live_is(buffers + 2);
	elsewhere(cb_alloc, 1, 0);
	live_is(buffers + 2);
	cb_alloc(1, 1);
	elsewhere(cb_alloc, 1, 1);
	live_is(buffers + 2);
	ttmem_program_destroy(0, 1);
	live_is(buffers);
	test_anomalies_are(NONE);
}

/* More CBs than their lines have room for: those of other devices are there, too. */
static void test_many_cbs_on_many_devices_are_replaced(void)
{
	cbs_on_devices(32, 20, 32);
	cbs_on_devices(32, 20, 32);
	cbs_on_devices(32, 20, 32);
	live_is(32 * 20 * 32);
	ttmem_program_destroy(31, 19);
	ttmem_program_destroy(7, 0);
	live_is(32 * 20 * 32 - 64);
	test_anomalies_are(NONE);
}

/* As the compatibility header reports CBs. */
static void test_addresses_serve_as_ids(void)
{
	uint64_t cb;

	for (cb = 0; cb < 64; cb++)
		ttmem_cb_alloc(0, 1, 0x19000 + 2048 * cb, 0, 1, 1, 0);
	live_is(64);
	ttmem_program_destroy(0, 1);
	live_is(0);
	test_anomalies_are(NONE);
}

static void test_orphans_stay_beside_new_ones_and_go_with_the_program(void)
{
	struct segment *segment;
	size_t i, orphans = 0;

	cb_alloc(1, 0);
	cb_alloc(1, 1);
	ttmem_device_close(0);
	cb_alloc(1, 0);
	cb_alloc(1, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(3, segment->objects_len);
	for (i = 0; i < segment->objects_len; i++)
		orphans += segment->objects[i].orphan;
	TEST_ASSERT_EQUAL_UINT64(2, orphans);
	segment_unref(&segment);
	cb_free(1, 0);
	live_is(2);
	test_anomalies_are(NONE);
	cb_free(1, 0);
	live_is(1);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_LATE_FREE, 1));
	ttmem_program_destroy(0, 1);
	live_is(0);
	test_anomalies_are(ONLY(TTMEM_ANOMALY_LATE_FREE, 2));
}

/* Replaced many times, by one thread and by two: the rank wraps around. */
static void test_the_last_one_stands(void)
{
	const struct segment_words *cb;
	struct segment *segment;
	uint64_t i;

	for (i = 1; i <= 700; i++) {
		ttmem_cb_alloc(0, 1, 3, i, 1, 1, 0);
		if (i % 100 == 0)
			elsewhere(cb_alloc, 1, 3);
	}
	ttmem_cb_alloc(0, 1, 3, 0xabc, 1, 1, 0);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	cb = segment_object(segment, 0, TTMEM_FIGURE_CB, 3, 1);
	TEST_ASSERT_NOT_NULL(cb);
	TEST_ASSERT_EQUAL_UINT64(0xabc, cb->w[3]);
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_cbs_of_several_threads_go_with_their_program);
	RUN_TEST(test_another_thread_replaces_and_frees);
	RUN_TEST(test_very_many_are_found_again);
	RUN_TEST(test_others_in_the_same_line_stay);
	RUN_TEST(test_a_cb_in_an_older_level_of_the_index_is_replaced);
	RUN_TEST(test_many_cbs_on_many_devices_are_replaced);
	RUN_TEST(test_orphans_stay_beside_new_ones_and_go_with_the_program);
	RUN_TEST(test_addresses_serve_as_ids);
	RUN_TEST(test_the_last_one_stands);
	return UNITY_END();
}
