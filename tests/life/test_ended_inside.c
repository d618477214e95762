/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread ends inside a hook and leaves that one operation half done. The next thread
 * on its lane, and all others, record the remaining CBs of the same program exactly.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

#define CBS 8u

void ttm_testpoint(const char *label);

static __thread const char *stop_at;
static sem_t stopped, go_on;

void setUp(void)
{
	test_tracking_start();
	sem_init(&stopped, 0, 0);
	sem_init(&go_on, 0, 0);
}

void tearDown(void)
{
	test_tracking_stop();
}

static void cb_alloc(uint64_t cb)
{
	ttmem_cb_alloc(0, 1, cb, 0x1000, 10, 1, 0);
}

/* Waits before the index entry is written, and ends after it. */
void ttm_testpoint(const char *label)
{
	if (!stop_at || strcmp(label, stop_at) != 0)
		return;
	if (strcmp(label, "index entered") == 0)
		pthread_exit(NULL);
	sem_post(&stopped);
	sem_wait(&go_on);
	stop_at = "index entered";
}

static void *end_inside(void *argument)
{
	stop_at = "slot live";
	cb_alloc(1);
	return argument;
}

static void *cbs_alloc_others(void *argument)
{
	uint64_t cb;

	for (cb = 2; cb < CBS; cb++)
		cb_alloc(cb);
	return argument;
}

/* Makes seat, lane and slots. */
static void *warm(void *argument)
{
	ttmem_cb_alloc(0, 2, 1, 0, 1, 1, 0);
	ttmem_program_destroy(0, 2);
	return argument;
}

static void on_thread(void *(*run)(void *))
{
	pthread_t thread;

	TEST_ASSERT_EQUAL_INT(0, pthread_create(&thread, NULL, run, NULL));
	pthread_join(thread, NULL);
}

/* Of the CBs that the thread that ended had nothing to do with. */
static uint64_t others_live(void)
{
	struct segment *segment = test_segment_read();
	uint64_t live = 0;
	size_t i;

	for (i = 0; i < segment->objects_len; i++)
		live += segment->objects[i].id >= 2;
	segment_unref(&segment);
	return live;
}

static void test_its_lane_and_its_program_stay_usable(void)
{
	pthread_t thread;
	uint64_t cb;

	warm(NULL);
	on_thread(warm);
	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, end_inside, NULL));
	sem_wait(&stopped);
	cb_alloc(0);
	sem_post(&go_on);
	pthread_join(thread, NULL);
	on_thread(cbs_alloc_others);
	cbs_alloc_others(NULL);
	TEST_ASSERT_EQUAL_UINT64(CBS - 2, others_live());
	for (cb = 2; cb < CBS; cb++)
		ttmem_cb_free(0, 1, cb);
	TEST_ASSERT_EQUAL_UINT64(0, others_live());
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_its_lane_and_its_program_stay_usable);
	return UNITY_END();
}
