/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that use the same few ids at the same moment, on meshes that overlap and on
 * their members. Whatever order their events took: a device has at most one object of
 * an id, every call is counted once on each device that it was about, as what it turned
 * out to be, and what meshes have used is used again.
 */
#include "stress/stress.h"

#define DEVICES 12u
#define IDS 3u
#define TARGETS 6u

struct target {
	uint32_t device;
	unsigned len; /* devices that it stands for */
};

static struct target targets[TARGETS];
static uint64_t events; /* per thread */
static atomic_ullong allocs;
static atomic_ullong frees;
static struct stress_gate meeting;

void setUp(void)
{
	uint32_t members[DEVICES] = { 0 }, i;

	allocs = 0;
	frees = 0;
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
	for (i = 0; i < DEVICES; i++)
		members[i] = i;
	targets[0] = (struct target){ ttmem_mesh_open(members, DEVICES), 12 };
	targets[1] = (struct target){ ttmem_mesh_open(members, 8), 8 };
	targets[2] = (struct target){ ttmem_mesh_open(members, 2), 2 };
	targets[3] = (struct target){ ttmem_mesh_open(members + 1, 5), 5 };
	targets[4] = (struct target){ 1, 1 };
	targets[5] = (struct target){ 4, 1 };
}

void tearDown(void)
{
	ttmem_stop();
}

static void run(unsigned count, uint64_t total, void (*work)(unsigned number))
{
	events = test_scale(total) / count + 1;
	meeting.waiting = 0;
	meeting.round = 0;
	meeting.threads = count;
	stress_run(count, work);
}

/* At rest, with that many objects at most, and nothing counted twice. */
static void judge(uint64_t objects_max)
{
	struct segment *segment = stress_at_rest_after_races(0);
	struct stress_sums sums = stress_sum(segment);
	uint64_t unknown = segment->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN];
	uint64_t replaced = segment->anomalies[TTMEM_ANOMALY_ALLOC_LIVE];
	size_t i, k;

	TEST_ASSERT_EQUAL_UINT64(allocs, sums.allocs);
	TEST_ASSERT_EQUAL_UINT64(frees - unknown + replaced, sums.frees);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(objects_max, segment->objects_len);
	for (i = 0; i < segment->objects_len; i++)
		for (k = 0; k < i; k++)
			TEST_ASSERT_FALSE_MESSAGE(segment->objects[i].id ==
						segment->objects[k].id &&
					segment->objects[i].device ==
						segment->objects[k].device,
				"one key twice");
	segment_unref(&segment);
}

static void churn(unsigned number)
{
	uint64_t seed = number, made = 0, dropped = 0, i;

	for (i = 0; i < events; i++) {
		const struct target
			*target = &targets[stress_below(&seed, TARGETS)];
		uint64_t id = stress_below(&seed, IDS);

		if (stress_below(&seed, 2)) {
			ttmem_alloc(target->device, TTMEM_DRAM, id, i << 8,
				64 * (1 + stress_below(&seed, 2000)));
			made += target->len;
		} else {
			ttmem_free(target->device, TTMEM_DRAM, id);
			dropped += target->len;
		}
	}
	atomic_fetch_add(&allocs, made);
	atomic_fetch_add(&frees, dropped);
}

static void churn_with(unsigned count)
{
	struct segment *segment;
	uint64_t slots, i;

	run(count, 400000, churn);
	judge(IDS * DEVICES);
	for (i = 0; i < IDS; i++)
		ttmem_free(targets[0].device, TTMEM_DRAM, i);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	slots = segment->slots_len;
	segment_unref(&segment);
	/* An extent of slots and one of octets for each thread at the most,
	 * however often they were used. */
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(2 * count * 2048, slots);
}

static void test_two_threads_on_meshes_and_members_are_exact(void)
{
	churn_with(2);
}

static void test_eight_threads_on_meshes_and_members_are_exact(void)
{
	churn_with(8);
}

/* All at the same moment, each its own target: the same id comes, and goes. */
static void meet(unsigned number)
{
	const struct target *target = &targets[1 + number % (TARGETS - 1)];
	uint64_t i;

	for (i = 0; i < events; i++) {
		stress_gate_wait(&meeting);
		ttmem_alloc(target->device, TTMEM_DRAM, 7, 0x1000, 64 + number);
		stress_gate_wait(&meeting);
		ttmem_free(target->device, TTMEM_DRAM, 7);
	}
	atomic_fetch_add(&allocs, events * target->len);
	atomic_fetch_add(&frees, events * target->len);
}

static void test_of_two_that_come_at_once_one_is_left_on_each_device(void)
{
	run(2, 200000, meet);
	judge(8);
}

static void test_of_five_that_come_at_once_one_is_left_on_each_device(void)
{
	run(5, 50000, meet);
	judge(8);
}

/* One allocates on the mesh; then each frees its own member, and another all. */
static void part(unsigned number)
{
	uint64_t i, made = 0, dropped = 0;

	for (i = 0; i < events; i++) {
		if (number == 0) {
			ttmem_alloc(
				targets[1].device, TTMEM_DRAM, i % 2, 0, 100);
			made += 8;
		}
		stress_gate_wait(&meeting);
		if (number == 3 && i % 4 == 0) {
			ttmem_free(targets[1].device, TTMEM_DRAM, i % 2);
			dropped += 8;
		}
		if (number == 0 || number == 2) {
			ttmem_free(targets[2].device, TTMEM_DRAM, i % 2);
			dropped += 2;
		}
		if (number == 1) {
			ttmem_free(1, TTMEM_DRAM, i % 2);
			dropped++;
		}
		stress_gate_wait(&meeting);
		if (number == 1) {
			ttmem_free(targets[1].device, TTMEM_DRAM, i % 2);
			dropped += 8;
		}
	}
	atomic_fetch_add(&allocs, made);
	atomic_fetch_add(&frees, dropped);
}

static void test_members_that_go_one_by_one_at_once_go_once(void)
{
	run(4, 100000, part);
	judge(16);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_two_threads_on_meshes_and_members_are_exact);
	RUN_TEST(test_eight_threads_on_meshes_and_members_are_exact);
	RUN_TEST(test_of_two_that_come_at_once_one_is_left_on_each_device);
	RUN_TEST(test_of_five_that_come_at_once_one_is_left_on_each_device);
	RUN_TEST(test_members_that_go_one_by_one_at_once_go_once);
	return UNITY_END();
}
