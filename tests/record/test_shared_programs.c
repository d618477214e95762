/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that allocate, free and destroy CBs of the same programs, one call at a time in
 * a random order: after each call, what is live is what a table says. Threads also free
 * and replace CBs that another thread allocated.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"
#include "support/test_segment.h"

enum {
	THREADS = 3,
	PROGRAMS = 4,
	CBS = 12,
	CALLS = 60000,
	CALLS_PER_LOOK = 500,
};

enum verb {
	ALLOC,
	FREE,
	DESTROY,
	FREE_ALL,
};

static struct call {
	enum verb verb;
	uint64_t program, cb, size;
} call;

static struct worker {
	pthread_t thread;
	sem_t go, done;
	bool ends;
} workers[THREADS];

/* What should be live: its size, 0 if it is not. */
static uint64_t table[PROGRAMS][CBS];
static uint64_t unknown;
static uint64_t seed;

static void call_run(void)
{
	switch (call.verb) {
	case ALLOC:
		ttmem_cb_alloc(
			0, call.program, call.cb, call.size, call.size, 1, 0);
		break;
	case FREE:
		ttmem_cb_free(0, call.program, call.cb);
		break;
	case DESTROY:
		ttmem_program_destroy(0, call.program);
		break;
	case FREE_ALL:
		ttmem_cb_free_all(0);
		break;
	}
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;

	for (;;) {
		sem_wait(&worker->go);
		if (worker->ends)
			return NULL;
		call_run();
		sem_post(&worker->done);
	}
}

void setUp(void)
{
	unsigned i;

	test_tracking_start();
	memset(table, 0, sizeof(table));
	unknown = 0;
	seed = 88172645463325252u;
	for (i = 0; i < THREADS; i++) {
		sem_init(&workers[i].go, 0, 0);
		sem_init(&workers[i].done, 0, 0);
		workers[i].ends = false;
		TEST_ASSERT_EQUAL_INT(0,
			pthread_create(&workers[i].thread, NULL, worker_main,
				&workers[i]));
	}
}

void tearDown(void)
{
	unsigned i;

	for (i = 0; i < THREADS; i++) {
		workers[i].ends = true;
		sem_post(&workers[i].go);
		pthread_join(workers[i].thread, NULL);
	}
	test_tracking_stop();
}

static uint64_t random_below(uint64_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 16) % limit;
}

/* Mostly allocations, so that programs fill up, become empty, and fill up again. */
static void call_choose(void)
{
	uint64_t n = random_below(1000);

	call.verb = n < 600 ? ALLOC : n < 950 ? FREE : DESTROY;
	if (n == 999)
		call.verb = FREE_ALL;
	call.program = random_below(PROGRAMS);
	call.cb = random_below(CBS);
	call.size = 1 + random_below(100);
}

static void table_apply(void)
{
	uint64_t *row = table[call.program];

	switch (call.verb) {
	case ALLOC:
		row[call.cb] = call.size;
		break;
	case FREE:
		unknown += row[call.cb] == 0;
		row[call.cb] = 0;
		break;
	case DESTROY:
		memset(row, 0, sizeof(table[0]));
		break;
	case FREE_ALL:
		memset(table, 0, sizeof(table));
		break;
	}
}

static void live_is_as_in_the_table(void)
{
	uint64_t objects = 0, bytes = 0;
	unsigned program, cb;

	for (program = 0; program < PROGRAMS; program++)
		for (cb = 0; cb < CBS; cb++) {
			objects += table[program][cb] != 0;
			bytes += table[program][cb];
		}
	test_live_is(0, TTMEM_FIGURE_CB, objects, bytes);
}

static void segment_is_as_in_the_table(void)
{
	struct segment *segment = test_segment_at_rest();
	const struct segment_words *cb;
	size_t i;

	for (i = 0; i < segment->objects_len; i++) {
		cb = &segment->objects[i];
		TEST_ASSERT_TRUE(cb->w[5] < PROGRAMS && cb->id < CBS);
		TEST_ASSERT_EQUAL_UINT64(table[cb->w[5]][cb->id], cb->size);
	}
	segment_unref(&segment);
	TEST_ASSERT_EQUAL_UINT64(
		unknown, test_anomalies(TTMEM_ANOMALY_FREE_UNKNOWN));
}

/* `stays`: of 100 calls so many are about CBs that this thread has had before. */
static void calls_run(unsigned stays)
{
	uint64_t i, calls = test_scale(CALLS);
	struct worker *worker;

	for (i = 0; i < calls; i++) {
		call_choose();
		worker = &workers[random_below(100) < stays ?
				call.cb % THREADS :
				random_below(THREADS)];
		sem_post(&worker->go);
		sem_wait(&worker->done);
		table_apply();
		live_is_as_in_the_table();
		if (i % CALLS_PER_LOOK == 0)
			segment_is_as_in_the_table();
	}
	segment_is_as_in_the_table();
}

static void test_cbs_that_go_from_hand_to_hand(void)
{
	calls_run(0);
}

static void test_cbs_that_stay_with_their_thread(void)
{
	calls_run(100);
}

static void test_cbs_that_mostly_stay(void)
{
	calls_run(95);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_cbs_that_go_from_hand_to_hand);
	RUN_TEST(test_cbs_that_stay_with_their_thread);
	RUN_TEST(test_cbs_that_mostly_stay);
	return UNITY_END();
}
