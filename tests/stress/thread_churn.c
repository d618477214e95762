/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads come and go by the thousand. Each takes over what one before it has
 * left, so that lanes are bounded by the threads there are at once, and what
 * all of them did is counted exactly.
 */
#include "stress/stress.h"

#define AT_ONCE 8u
#define DEVICE 0u
#define EVENTS 24u

static uint64_t generations; /* of threads, one after the other */

void setUp(void)
{
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
}

void tearDown(void)
{
	ttmem_stop();
}

struct life {
	uint64_t id;
	unsigned number;
};

/* One object stays, one is for the next thread to free, the rest is churn. */
static void *short_life(void *argument)
{
	const struct life *life = argument;
	uint64_t base = life->id * 100;
	unsigned i;

	ttmem_scope_push("short life", 0);
	if (life->id >> 32 > 1)
		ttmem_free(DEVICE, TTMEM_DRAM, base - (100ull << 32));
	ttmem_alloc(DEVICE, TTMEM_DRAM, base, base, 4096);
	ttmem_alloc(DEVICE, TTMEM_L1, base + 1, base, 100 + life->number);
	for (i = 0; i < EVENTS; i++) {
		ttmem_alloc(DEVICE, TTMEM_L1, base + 2 + i, base, 64);
		ttmem_free(DEVICE, TTMEM_L1, base + 2 + i);
	}
	/* No pop: the next thread on the lane must not inherit the scope. */
	return NULL;
}

/* Threads strictly in turn, with ids generation << 32 | number + 1. */
static void live_in_turn(unsigned number)
{
	struct life life = { .number = number };
	uint64_t generation;
	pthread_t thread;

	for (generation = 1; generation <= generations; generation++) {
		life.id = generation << 32 | (number + 1);
		if (pthread_create(&thread, NULL, short_life, &life))
			abort();
		pthread_join(thread, NULL);
	}
}

static void scopes_did_not_pass_on(const struct segment *segment)
{
	size_t i;
	size_t j;

	/* The first record of a life is a free: it too says its own scope. */
	for (i = 0; i < segment->lanes_len; i++)
		for (j = 0; j < segment->lanes[i].records_len; j++)
			TEST_ASSERT_EQUAL_STRING("short life",
				segment_name(segment,
					segment->lanes[i].records[j].scope));
}

static void test_lanes_are_bounded_by_the_threads_at_once(void)
{
	const struct segment_flow *dram;
	const struct segment_flow *l1;
	struct segment *segment;
	uint64_t lives;

	generations = test_scale(2000) / AT_ONCE + 1;
	lives = generations * AT_ONCE;
	stress_run(AT_ONCE, live_in_turn);
	segment = stress_at_rest(0);
	dram = &segment->devices[segment_entry(segment, DEVICE)]
			.figures[TTMEM_FIGURE_DRAM];
	l1 = &segment->devices[segment_entry(segment, DEVICE)]
		      .figures[TTMEM_FIGURE_L1];
	TEST_ASSERT_EQUAL_UINT64(lives, dram->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(lives - AT_ONCE, dram->free_objects);
	TEST_ASSERT_EQUAL_UINT64(AT_ONCE, dram->slot_objects);
	TEST_ASSERT_EQUAL_UINT64(lives * (EVENTS + 1), l1->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(lives, l1->slot_objects);
	TEST_ASSERT_EQUAL_UINT64(
		lives * 100 + generations * AT_ONCE * (AT_ONCE - 1) / 2,
		l1->slot_bytes);
	TEST_ASSERT_EQUAL_UINT64(0, stress_sum(segment).anomalies);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(AT_ONCE, segment->lanes_count);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(
		lives + 2 * AT_ONCE + STRESS_LANE_SLOTS * segment->lanes_count,
		segment->slots_used);
	scopes_did_not_pass_on(segment);
	segment_unref(&segment);
}

/* All at once, again and again: the seats are taken in a rush. */
static void one_event(unsigned number)
{
	ttmem_alloc(DEVICE, TTMEM_TRACE, number, 0, 32);
	ttmem_free(DEVICE, TTMEM_TRACE, number);
}

static void test_a_rush_of_new_threads_loses_nothing(void)
{
	uint64_t rounds = test_scale(4000);
	struct segment *segment;
	uint64_t i;

	for (i = 0; i < rounds; i++)
		stress_run(AT_ONCE, one_event);
	segment = stress_at_rest(0);
	TEST_ASSERT_EQUAL_UINT64(0, stress_sum(segment).anomalies);
	TEST_ASSERT_EQUAL_UINT64(rounds * AT_ONCE, stress_sum(segment).allocs);
	TEST_ASSERT_EQUAL_UINT64(rounds * AT_ONCE, stress_sum(segment).frees);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(AT_ONCE, segment->lanes_count);
	segment_unref(&segment);
}

/* The same where no seat was ever taken: all of them have to be made. */
static void test_a_rush_of_first_threads_loses_nothing(void)
{
	uint64_t rounds = test_scale(1000);
	struct segment *segment;
	uint64_t i;

	for (i = 0; i < rounds; i++) {
		ttmem_stop();
		TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
		stress_run(AT_ONCE, one_event);
		TEST_ASSERT_EQUAL_UINT64(0, test_losses(TTMEM_LOSS_NO_LANE));
	}
	segment = stress_at_rest(0);
	TEST_ASSERT_EQUAL_UINT64(AT_ONCE, stress_sum(segment).allocs);
	TEST_ASSERT_EQUAL_UINT64(AT_ONCE, stress_sum(segment).frees);
	segment_unref(&segment);
}

int main(void)
{
	test_dir_make();
	UNITY_BEGIN();
	RUN_TEST(test_lanes_are_bounded_by_the_threads_at_once);
	RUN_TEST(test_a_rush_of_new_threads_loses_nothing);
	RUN_TEST(test_a_rush_of_first_threads_loses_nothing);
	test_dir_remove();
	return UNITY_END();
}
