/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some threads only allocate, others only free. The slots that collect with the
 * latter have to find their way back: what is used stays within what is live.
 */
#include "stress/stress.h"

#define PRODUCERS 3u
#define CONSUMERS 3u
#define THREADS (PRODUCERS + CONSUMERS)
#define DEVICE 0u

static struct stress_queue queues[PRODUCERS][CONSUMERS];
static atomic_uint producers_left;
static uint64_t objects; /* per producer */

void setUp(void)
{
	memset(queues, 0, sizeof(queues));
	producers_left = PRODUCERS;
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
}

void tearDown(void)
{
	ttmem_stop();
}

static uint64_t size_of(uint64_t id)
{
	return 32 + 32 * (stress_mix(id) % 64);
}

static void produce(unsigned number)
{
	uint64_t seed = number;
	uint64_t id;
	uint64_t i;

	for (i = 0; i < objects; i++) {
		id = (uint64_t)number << 40 | i;
		ttmem_alloc(DEVICE, TTMEM_L1, id, id << 8, size_of(id));
		while (!stress_queue_push(
			&queues[number][stress_below(&seed, CONSUMERS)], id))
			sched_yield();
	}
	atomic_fetch_sub(&producers_left, 1);
}

/* Returns how many objects there were. */
static unsigned consume_some(unsigned number)
{
	unsigned found = 0;
	unsigned from;
	uint64_t id;

	for (from = 0; from < PRODUCERS; from++)
		while (stress_queue_pop(&queues[from][number], &id)) {
			ttmem_free(DEVICE, TTMEM_L1, id);
			found++;
		}
	return found;
}

static void consume(unsigned number)
{
	bool last;

	do {
		/* Looked at first: nothing is queued after it is 0. */
		last = atomic_load(&producers_left) == 0;
		if (!consume_some(number) && !last)
			sched_yield();
	} while (!last);
}

static void produce_or_consume(unsigned number)
{
	if (number < PRODUCERS)
		produce(number);
	else
		consume(number - PRODUCERS);
}

static void test_slots_freed_by_other_threads_come_back(void)
{
	uint64_t queued = PRODUCERS * CONSUMERS * STRESS_QUEUE_LEN + THREADS;
	struct segment *segment;
	const struct segment_flow *flow;

	objects = test_scale(500000);
	stress_run(THREADS, produce_or_consume);
	segment = stress_at_rest(0);
	flow = &segment->devices[segment_entry(segment, DEVICE)]
			.figures[TTMEM_FIGURE_L1];
	TEST_ASSERT_EQUAL_UINT64(0, stress_sum(segment).anomalies);
	TEST_ASSERT_EQUAL_UINT64(PRODUCERS * objects, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(PRODUCERS * objects, flow->free_objects);
	TEST_ASSERT_EQUAL_UINT64(flow->alloc_bytes, flow->free_bytes);
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(
		queued + STRESS_LANE_SLOTS * segment->lanes_count,
		segment->slots_used);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(queued +
			STRESS_LANE_SLOTS * segment->lanes_count +
			THREADS * STRESS_EXTENT_SLOTS,
		segment->slots_len);
	segment_unref(&segment);
}

/* Each of many threads leaves the slots that it freed when it ends. */
static void free_a_share(unsigned number)
{
	uint64_t i;

	for (i = number; i < 1024; i += THREADS)
		ttmem_free(DEVICE, TTMEM_L1, i);
}

static void test_slots_freed_by_threads_that_ended_come_back(void)
{
	struct segment *segment;
	uint64_t rounds = test_scale(50);
	uint64_t round;
	uint64_t i;

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < 1024; i++)
			ttmem_alloc(DEVICE, TTMEM_L1, i, i, 64);
		stress_run(THREADS, free_a_share);
	}
	segment = stress_at_rest(0);
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(0, stress_sum(segment).anomalies);
	TEST_ASSERT_EQUAL_UINT64(rounds * 1024, stress_sum(segment).frees);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(THREADS + 1, segment->lanes_count);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(
		1024 + STRESS_LANE_SLOTS * segment->lanes_count,
		segment->slots_used);
	segment_unref(&segment);
}

int main(void)
{
	test_dir_make();
	UNITY_BEGIN();
	RUN_TEST(test_slots_freed_by_other_threads_come_back);
	RUN_TEST(test_slots_freed_by_threads_that_ended_come_back);
	test_dir_remove();
	return UNITY_END();
}
