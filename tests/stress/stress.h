/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests with many threads share. */
#ifndef TEST_STRESS_H
#define TEST_STRESS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"
#include "support/test_segment.h"

#define STRESS_THREADS_MAX 16u
/* What a lane may keep of slots, and what growing rounds up to. */
#define STRESS_LANE_SLOTS 192
#define STRESS_EXTENT_SLOTS 2048u

/* splitmix64: also a checksum of 64 bits. */
static inline uint64_t stress_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static inline uint64_t stress_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	return stress_mix(*state);
}

/* Below n, without the cost of a division. */
static inline uint32_t stress_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((stress_random(state) >> 32) * n >> 32);
}

/*
 * Threads that begin at the same moment. One that has nothing but the hooks to
 * do spins: asleep behind a futex they would come one after the other.
 */
struct stress_gate {
	atomic_uint waiting;
	atomic_uint round;
	unsigned threads;
};

static inline void stress_gate_wait(struct stress_gate *gate)
{
	unsigned round = atomic_load(&gate->round);
	unsigned spins = 0;

	if (atomic_fetch_add(&gate->waiting, 1) + 1 == gate->threads) {
		atomic_store(&gate->waiting, 0);
		atomic_fetch_add(&gate->round, 1);
		return;
	}
	while (atomic_load(&gate->round) == round)
		if (++spins % 256 == 0)
			sched_yield();
}

/* Runs work(0) ... work(threads - 1) at once and waits for all. */
struct stress_thread {
	pthread_t thread;
	void (*work)(unsigned number);
	unsigned number;
	struct stress_gate *gate;
};

static inline void *stress_thread_main(void *argument)
{
	struct stress_thread *self = argument;

	stress_gate_wait(self->gate);
	self->work(self->number);
	return NULL;
}

static inline void stress_run(unsigned threads, void (*work)(unsigned number))
{
	struct stress_thread all[STRESS_THREADS_MAX];
	struct stress_gate gate = { .threads = threads };
	unsigned i;

	for (i = 0; i < threads; i++) {
		all[i].work = work;
		all[i].number = i;
		all[i].gate = &gate;
		if (pthread_create(
			    &all[i].thread, NULL, stress_thread_main, &all[i]))
			abort();
	}
	for (i = 0; i < threads; i++)
		pthread_join(all[i].thread, NULL);
}

/* A handful of words from one thread to another; neither waits. */
#define STRESS_QUEUE_LEN 32u

struct stress_queue {
	_Alignas(64) atomic_uint head;
	_Alignas(64) atomic_uint tail;
	uint64_t entries[STRESS_QUEUE_LEN];
};

static inline bool stress_queue_push(struct stress_queue *queue, uint64_t value)
{
	unsigned tail = atomic_load_explicit(
		&queue->tail, memory_order_relaxed);

	if (tail - atomic_load_explicit(&queue->head, memory_order_acquire) ==
		STRESS_QUEUE_LEN)
		return false;
	queue->entries[tail % STRESS_QUEUE_LEN] = value;
	atomic_store_explicit(&queue->tail, tail + 1, memory_order_release);
	return true;
}

static inline bool stress_queue_pop(
	struct stress_queue *queue, uint64_t *ret_value)
{
	unsigned head = atomic_load_explicit(
		&queue->head, memory_order_relaxed);

	if (atomic_load_explicit(&queue->tail, memory_order_acquire) == head)
		return false;
	*ret_value = queue->entries[head % STRESS_QUEUE_LEN];
	atomic_store_explicit(&queue->head, head + 1, memory_order_release);
	return true;
}

/* Nothing was lost, for whatever reason. */
static inline void stress_no_losses(const struct segment *segment)
{
	char text[64];
	unsigned i;

	for (i = 0; i < SEGMENT_REASONS; i++) {
		snprintf(text, sizeof(text), "losses for reason %u", i);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(
			0, segment->lost_events[i], text);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(
			0, segment->lost_bytes[i], text);
	}
}

/* A ring keeps its last 2,048 records, and says how many it had. */
static inline void stress_histories_are_whole(const struct segment *segment)
{
	size_t i;

	for (i = 0; i < segment->lanes_len; i++) {
		const struct segment_lane *lane = &segment->lanes[i];
		uint64_t kept = lane->tail < SEGMENT_LANE_RECORDS ?
			lane->tail :
			SEGMENT_LANE_RECORDS;

		TEST_ASSERT_TRUE(lane->has_ring);
		TEST_ASSERT_EQUAL_UINT64(lane->tail, lane->intent);
		TEST_ASSERT_EQUAL_UINT64(kept, lane->records_len);
		TEST_ASSERT_EQUAL_UINT64(lane->tail - kept, lane->first);
	}
}

static inline uint64_t stress_records_ever(const struct segment *segment)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < segment->lanes_len; i++)
		sum += segment->lanes[i].tail;
	return sum;
}

/* Over all device entries and figures. */
struct stress_sums {
	uint64_t allocs;
	uint64_t frees;
	uint64_t dispatches;
	uint64_t anomalies;
};

static inline struct stress_sums stress_sum(const struct segment *segment)
{
	struct stress_sums sums = { 0 };
	unsigned i;
	unsigned j;

	for (i = 0; i < SEGMENT_DEVICES; i++) {
		for (j = 0; j < SEGMENT_FIGURES; j++) {
			const struct segment_flow *flow = &segment->devices[i]
								   .figures[j];

			sums.allocs += flow->alloc_objects;
			sums.frees += flow->free_objects;
		}
		for (j = 0; j < 3; j++)
			sums.dispatches += segment->devices[i].dispatches[j];
	}
	for (i = 0; i < SEGMENT_REASONS; i++)
		sums.anomalies += segment->anomalies[i];
	return sums;
}

/*
 * Every change of a slot and every note has a record, the anomalies that come
 * with a free excepted. Where threads race for a key there are more: of those
 * who gave way.
 */
static inline uint64_t stress_records_due(
	const struct segment *segment, uint64_t notes)
{
	struct stress_sums sums = stress_sum(segment);

	return sums.allocs + sums.frees + sums.dispatches + sums.anomalies -
		segment->anomalies[TTMEM_ANOMALY_ALLOC_LIVE] -
		segment->anomalies[TTMEM_ANOMALY_LATE_FREE] + notes;
}

/* Live objects, each once on each of its devices. */
static inline uint64_t stress_parts(const struct segment *segment)
{
	uint64_t parts = 0;
	size_t i;

	for (i = 0; i < segment->objects_len; i++)
		parts += (uint64_t)__builtin_popcountll(
			segment->objects[i].members);
	return parts;
}

/* Counters are of each device; records are not. */
static inline bool stress_has_meshes(const struct segment *segment)
{
	uint64_t i;

	for (i = 1; i < segment->places_count; i++)
		if (segment->places[i] & (segment->places[i] - 1))
			return true;
	return false;
}

/*
 * All that must hold of any segment at rest: live set == slots == allocated -
 * freed (which test_segment_at_rest() has seen per figure), and nothing lost.
 */
static inline struct segment *stress_at_rest_after_races(uint64_t notes)
{
	struct segment *segment = test_segment_at_rest();
	struct stress_sums sums = stress_sum(segment);

	stress_no_losses(segment);
	stress_histories_are_whole(segment);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(stress_parts(segment),
		sums.allocs - sums.frees, "live parts, allocated - freed");
	TEST_ASSERT_TRUE_MESSAGE(stress_has_meshes(segment) ||
			stress_records_ever(segment) >=
				stress_records_due(segment, notes),
		"events without a record");
	return segment;
}

/* The same where no two threads used one key at once. */
static inline struct segment *stress_at_rest(uint64_t notes)
{
	struct segment *segment = stress_at_rest_after_races(notes);

	TEST_ASSERT_EQUAL_UINT64_MESSAGE(stress_records_due(segment, notes),
		stress_records_ever(segment), "records due, records");
	return segment;
}

#endif
