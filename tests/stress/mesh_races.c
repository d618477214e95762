/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that use the same few ids at the same moment, on meshes that overlap and on
 * their members, and close them meanwhile. Whatever order their events took: a mesh has at
 * most one object of an id, a device at most one kernel, every allocation is counted once
 * on each device, slots and counters agree, and what meshes have used is used again.
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
static struct stress_gate meeting;

void setUp(void)
{
	uint32_t members[DEVICES] = { 0 }, i;

	allocs = 0;
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

	TEST_ASSERT_EQUAL_UINT64(allocs, stress_sum(segment).allocs);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(objects_max, segment->objects_len);
	segment_unref(&segment);
}

static void churn(unsigned number)
{
	uint64_t seed = number, made = 0, i;

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
		}
	}
	atomic_fetch_add(&allocs, made);
}

static void churn_with(unsigned count)
{
	struct segment *segment;
	uint64_t slots, i;

	run(count, 400000, churn);
	judge(IDS * TARGETS);
	for (i = 0; i < IDS * TARGETS; i++)
		ttmem_free(targets[i / IDS].device, TTMEM_DRAM, i % IDS);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	slots = segment->slots_len;
	segment_unref(&segment);
	/* An extent of slots for each thread at the most, however often they were
	 * used. */
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(count * 2048, slots);
}

static void test_two_threads_on_meshes_and_members_are_exact(void)
{
	churn_with(2);
}

static void test_eight_threads_on_meshes_and_members_are_exact(void)
{
	churn_with(8);
}

/* All at the same moment on the same target: the same id comes, and goes. */
static void meet(unsigned number)
{
	const struct target *target;
	uint64_t i, made = 0;

	for (i = 0; i < events; i++) {
		target = &targets[i % TARGETS];
		stress_gate_wait(&meeting);
		ttmem_alloc(target->device, TTMEM_DRAM, 7, 0x1000, 64 + number);
		stress_gate_wait(&meeting);
		ttmem_free(target->device, TTMEM_DRAM, 7);
		made += target->len;
	}
	atomic_fetch_add(&allocs, made);
}

/* One is left each time, and one thread frees it. */
static void meet_with(unsigned count, uint64_t total)
{
	struct segment *segment;

	run(count, total, meet);
	judge(0);
	segment = test_segment_read();
	TEST_ASSERT_EQUAL_UINT64(events * (count - 1),
		segment->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN]);
	TEST_ASSERT_EQUAL_UINT64(events * (count - 1),
		segment->anomalies[TTMEM_ANOMALY_ALLOC_LIVE]);
	segment_unref(&segment);
}

static void test_of_two_that_come_at_once_one_is_left(void)
{
	meet_with(2, 200000);
}

static void test_of_five_that_come_at_once_one_is_left(void)
{
	meet_with(5, 50000);
}

/* One allocates on the mesh; then each frees its own member, and another all. */
static void part(unsigned number)
{
	uint64_t i;

	for (i = 0; i < events; i++) {
		if (number == 0)
			ttmem_alloc(
				targets[1].device, TTMEM_DRAM, i % 2, 0, 100);
		stress_gate_wait(&meeting);
		if (number == 3 && i % 4 == 0)
			ttmem_free(targets[1].device, TTMEM_DRAM, i % 2);
		if (number == 0 || number == 2)
			ttmem_free(targets[2].device, TTMEM_DRAM, i % 2);
		if (number == 1)
			ttmem_free(1, TTMEM_DRAM, i % 2);
		stress_gate_wait(&meeting);
		if (number == 1)
			ttmem_free(targets[1].device, TTMEM_DRAM, i % 2);
	}
	if (number == 0)
		atomic_fetch_add(&allocs, 8 * events);
}

static void test_members_that_go_one_by_one_at_once_go_once(void)
{
	run(4, 100000, part);
	judge(0);
}

/* The same kernels, through meshes that overlap: each device has one at most. */
static void load(unsigned number)
{
	uint64_t seed = number, i, kernel;
	uint32_t device;

	for (i = 0; i < events; i++) {
		device = targets[stress_below(&seed, TARGETS)].device;
		kernel = stress_below(&seed, 2);
		switch (stress_below(&seed, 8)) {
		case 0:
			ttmem_kernel_unload(device, kernel);
			break;
		case 1:
			ttmem_program_destroy(device, kernel);
			break;
		case 2:
			ttmem_kernel_load(
				device, kernel, TTMEM_KERNEL_FABRIC, 20, 20, 0);
			break;
		default:
			ttmem_kernel_load(device, kernel,
				TTMEM_KERNEL_APPLICATION, 10, 10, 0);
			break;
		}
	}
}

static void load_with(unsigned count)
{
	struct segment *segment;

	run(count, 200000, load);
	segment_unref(&(struct segment *){ stress_at_rest_after_races(0) });
	ttmem_program_destroy(targets[0].device, 0);
	ttmem_program_destroy(targets[0].device, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
}

static void test_kernels_are_loaded_once_on_a_device(void)
{
	load_with(2);
	load_with(6);
}

/* Two close meshes that overlap, two allocate and free there. */
static void close_or_churn(unsigned number)
{
	uint64_t seed = number, i, id;
	uint32_t device;

	for (i = 0; i < events; i++) {
		if (number < 2) {
			if (i % 16 == 0)
				ttmem_device_close(
					targets[2 * number + 1].device);
			continue;
		}
		device = targets[stress_below(&seed, TARGETS)].device;
		id = number * IDS + stress_below(&seed, IDS);
		switch (stress_below(&seed, 6)) {
		case 0:
			ttmem_alloc(device, TTMEM_L1, id, 0,
				1 + stress_below(&seed, 70000));
			break;
		case 1:
			ttmem_cb_alloc(device, id, 1, 0, 100, 10, 0);
			break;
		case 2:
			ttmem_kernel_load(device, id, TTMEM_KERNEL_APPLICATION,
				100, 10, 0);
			break;
		case 3:
			ttmem_program_destroy(device, id);
			break;
		default:
			ttmem_free(device, TTMEM_L1, id);
			break;
		}
	}
}

/* At rest slots and live counters agree on each device; then all of it can end. */
static void test_closes_at_the_same_time_are_exact(void)
{
	struct segment *segment;
	uint64_t i, last;
	unsigned round;

	for (round = 0; round < 8; round++) {
		run(4, 50000, close_or_churn);
		segment = stress_at_rest_after_races(0);
		TEST_ASSERT_EQUAL_UINT64(2 * (round + 1) * ((events + 15) / 16),
			segment->closes);
		segment_unref(&segment);
	}
	ttmem_device_close(targets[0].device);
	for (i = 0; i < DEVICES; i++)
		test_usage_is_nothing((uint32_t)i);
	/* A late free takes one of each place. */
	do {
		for (i = 0; i < 4 * IDS; i++) {
			ttmem_program_destroy(targets[0].device, i);
			ttmem_free(targets[0].device, TTMEM_L1, i);
		}
		segment = test_segment_at_rest();
		last = segment->objects_len;
		segment_unref(&segment);
	} while (last);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_two_threads_on_meshes_and_members_are_exact);
	RUN_TEST(test_eight_threads_on_meshes_and_members_are_exact);
	RUN_TEST(test_of_two_that_come_at_once_one_is_left);
	RUN_TEST(test_of_five_that_come_at_once_one_is_left);
	RUN_TEST(test_members_that_go_one_by_one_at_once_go_once);
	RUN_TEST(test_kernels_are_loaded_once_on_a_device);
	RUN_TEST(test_closes_at_the_same_time_are_exact);
	return UNITY_END();
}
