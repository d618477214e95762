/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that use the same few ids at the same moment. Whatever order their
 * events took: a key has at most one object, every call is counted once, as
 * what it turned out to be, and nothing goes below zero.
 */
#include "stress/stress.h"

#define DEVICE 3u
#define IDS 4u
#define PROGRAMS 3u
#define CBS 2u

static uint64_t events;  /* per thread */
static unsigned threads; /* of the running test */
static atomic_ullong alloc_calls;
static atomic_ullong free_calls;
static struct stress_gate meeting;
static atomic_ullong meeting_id;

void setUp(void)
{
	alloc_calls = 0;
	free_calls = 0;
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
}

void tearDown(void)
{
	ttmem_stop();
}

/* Runs with that many threads, about the same number of events in all. */
static void run(unsigned count, uint64_t total, void (*work)(unsigned number))
{
	threads = count;
	events = test_scale(total) / count + 1;
	meeting.waiting = 0;
	meeting.round = 0;
	meeting.threads = count;
	stress_run(count, work);
}

static const struct segment_flow *flow_of(
	const struct segment *segment, unsigned figure)
{
	int entry = segment_entry(segment, DEVICE);

	TEST_ASSERT_TRUE(entry >= 0);
	return &segment->devices[entry].figures[figure];
}

static uint64_t dispatches_of(const struct segment *segment, unsigned type)
{
	return segment->devices[segment_entry(segment, DEVICE)]
		.dispatches[type];
}

static void no_other_anomalies(
	const struct segment *segment, bool free_unknown, bool alloc_live)
{
	unsigned i;

	for (i = 0; i < SEGMENT_REASONS; i++)
		if (!(free_unknown && i == TTMEM_ANOMALY_FREE_UNKNOWN) &&
			!(alloc_live && i == TTMEM_ANOMALY_ALLOC_LIVE))
			TEST_ASSERT_EQUAL_UINT64(0, segment->anomalies[i]);
}

/* -- buffers -------------------------------------------------------------- */

static void buffers_work(unsigned number)
{
	uint64_t seed = number;
	uint64_t allocs = 0;
	uint64_t frees = 0;
	uint64_t i;

	for (i = 0; i < events; i++) {
		uint64_t id = stress_below(&seed, IDS);

		if (stress_below(&seed, 2)) {
			ttmem_alloc(DEVICE, TTMEM_L1, id, i << 8,
				64 * (1 + stress_below(&seed, 100)));
			allocs++;
		} else {
			ttmem_free(DEVICE, TTMEM_L1, id);
			frees++;
		}
	}
	atomic_fetch_add(&alloc_calls, allocs);
	atomic_fetch_add(&free_calls, frees);
}

static void buffers_with(unsigned count)
{
	struct segment *segment;
	const struct segment_flow *flow;
	uint64_t unknown;
	uint64_t replaced;

	run(count, 2000000, buffers_work);
	segment = stress_at_rest_after_races(0);
	flow = flow_of(segment, TTMEM_FIGURE_L1);
	unknown = segment->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN];
	replaced = segment->anomalies[TTMEM_ANOMALY_ALLOC_LIVE];
	no_other_anomalies(segment, true, true);
	TEST_ASSERT_EQUAL_UINT64(alloc_calls, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(
		free_calls - unknown + replaced, flow->free_objects);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(IDS, segment->objects_len);
	segment_unref(&segment);
}

static void test_two_threads_on_the_same_buffers_are_exact(void)
{
	buffers_with(2);
}

static void test_eight_threads_on_the_same_buffers_are_exact(void)
{
	buffers_with(8);
}

/* -- double frees --------------------------------------------------------- */

/* In each round one thread allocates, then all free it at the same moment. */
static void double_free_work(unsigned number)
{
	uint64_t i;

	for (i = 0; i < events; i++) {
		if (number == i % threads) {
			atomic_store(&meeting_id, 1000 + i);
			ttmem_alloc(DEVICE, TTMEM_DRAM, 1000 + i, 0x1000, 4096);
		}
		stress_gate_wait(&meeting);
		ttmem_free(DEVICE, TTMEM_DRAM, atomic_load(&meeting_id));
		stress_gate_wait(&meeting);
	}
}

static void double_frees_with(unsigned count, uint64_t total)
{
	struct segment *segment;
	const struct segment_flow *flow;

	run(count, total, double_free_work);
	segment = stress_at_rest_after_races(0);
	flow = flow_of(segment, TTMEM_FIGURE_DRAM);
	no_other_anomalies(segment, true, false);
	TEST_ASSERT_EQUAL_UINT64(events, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(events, flow->free_objects);
	TEST_ASSERT_EQUAL_UINT64(events * 4096, flow->free_bytes);
	TEST_ASSERT_EQUAL_UINT64(events * (count - 1),
		segment->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN]);
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
}

static void test_of_two_frees_at_once_one_is_unknown(void)
{
	double_frees_with(2, 1000000);
}

static void test_of_four_frees_at_once_three_are_unknown(void)
{
	double_frees_with(4, 100000);
}

/* In each round all allocate the same id at the same moment. */
static void double_alloc_work(unsigned number)
{
	uint64_t i;

	for (i = 0; i < events; i++) {
		stress_gate_wait(&meeting);
		ttmem_alloc(DEVICE, TTMEM_DRAM, i % IDS, 0x1000, 64 + number);
	}
}

static void test_of_two_allocations_at_once_one_replaces_the_other(void)
{
	struct segment *segment;
	const struct segment_flow *flow;

	run(2, 1000000, double_alloc_work);
	segment = stress_at_rest_after_races(0);
	flow = flow_of(segment, TTMEM_FIGURE_DRAM);
	no_other_anomalies(segment, false, true);
	TEST_ASSERT_EQUAL_UINT64(2 * events, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(
		events < IDS ? events : IDS, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(2 * events - segment->objects_len,
		segment->anomalies[TTMEM_ANOMALY_ALLOC_LIVE]);
	segment_unref(&segment);
}

/* -- kernels -------------------------------------------------------------- */

static void kernels_loaded(unsigned number)
{
	uint64_t i;

	(void)number;
	for (i = 0; i < events; i++) {
		/* The same new kernel in each round of 16. */
		if (i % 16 == 0)
			stress_gate_wait(&meeting);
		ttmem_kernel_load(
			DEVICE, i / 16, TTMEM_KERNEL_APPLICATION, 4096, 8, 0);
	}
}

static void kernels_loaded_with(unsigned count, uint64_t total)
{
	struct segment *segment;
	const struct segment_flow *flow;
	uint64_t kernels;

	run(count, total, kernels_loaded);
	kernels = (events + 15) / 16;
	segment = stress_at_rest_after_races(0);
	flow = flow_of(segment, TTMEM_FIGURE_KERNEL_APPLICATION);
	no_other_anomalies(segment, false, false);
	TEST_ASSERT_EQUAL_UINT64(kernels, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(0, flow->free_objects);
	TEST_ASSERT_EQUAL_UINT64(
		count * events - kernels, dispatches_of(segment, 0));
	segment_unref(&segment);
}

static void test_a_kernel_loaded_by_two_at_once_is_loaded_once(void)
{
	kernels_loaded_with(2, 2000000);
}

static void test_a_kernel_loaded_by_eight_at_once_is_loaded_once(void)
{
	kernels_loaded_with(8, 400000);
}

static void kernels_churned(unsigned number)
{
	uint64_t seed = number;
	uint64_t loads = 0;
	uint64_t unloads = 0;
	uint64_t i;

	for (i = 0; i < events; i++) {
		uint64_t id = stress_below(&seed, IDS);

		if (stress_below(&seed, 3)) {
			/* Even ids have one size, odd ones two. */
			ttmem_kernel_load(DEVICE, id, TTMEM_KERNEL_FABRIC,
				2048 + (id & 1) * 512 * (number & 1), 4, 0);
			loads++;
		} else {
			ttmem_kernel_unload(DEVICE, id);
			unloads++;
		}
	}
	atomic_fetch_add(&alloc_calls, loads);
	atomic_fetch_add(&free_calls, unloads);
}

static void kernels_churned_with(unsigned count)
{
	struct segment *segment;
	const struct segment_flow *flow;
	uint64_t unknown;

	run(count, 2000000, kernels_churned);
	segment = stress_at_rest_after_races(0);
	flow = flow_of(segment, TTMEM_FIGURE_KERNEL_FABRIC);
	unknown = segment->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN];
	no_other_anomalies(segment, true, false);
	TEST_ASSERT_EQUAL_UINT64(
		alloc_calls, flow->alloc_objects + dispatches_of(segment, 1));
	/* Unloaded, or replaced by another size. */
	TEST_ASSERT_GREATER_OR_EQUAL_UINT64(
		free_calls - unknown, flow->free_objects);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(IDS, segment->objects_len);
	segment_unref(&segment);
}

static void test_kernels_loaded_and_unloaded_by_two_are_exact(void)
{
	kernels_churned_with(2);
}

static void test_kernels_loaded_and_unloaded_by_eight_are_exact(void)
{
	kernels_churned_with(8);
}

/* -- circular buffers and programs ---------------------------------------- */

static void cbs_planned(unsigned number)
{
	uint64_t seed = number;
	uint64_t plans = 0;
	uint64_t frees = 0;
	uint64_t i;

	for (i = 0; i < events; i++) {
		uint64_t program = stress_below(&seed, PROGRAMS);
		uint64_t cb = stress_below(&seed, CBS);

		if (stress_below(&seed, 3)) {
			/* Program 0: one size; others: a size per thread. */
			ttmem_cb_alloc(DEVICE, program, cb, 0x10000,
				1024 + (program ? 32 * number : 0), 8, 0);
			plans++;
		} else {
			ttmem_cb_free(DEVICE, program, cb);
			frees++;
		}
	}
	atomic_fetch_add(&alloc_calls, plans);
	atomic_fetch_add(&free_calls, frees);
}

static void cbs_planned_with(unsigned count)
{
	struct segment *segment;
	const struct segment_flow *flow;
	uint64_t unknown;

	run(count, 2000000, cbs_planned);
	segment = stress_at_rest_after_races(0);
	flow = flow_of(segment, TTMEM_FIGURE_CB);
	unknown = segment->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN];
	no_other_anomalies(segment, true, false);
	TEST_ASSERT_EQUAL_UINT64(alloc_calls, flow->alloc_objects);
	TEST_ASSERT_GREATER_OR_EQUAL_UINT64(
		free_calls - unknown, flow->free_objects);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(PROGRAMS * CBS, segment->objects_len);
	segment_unref(&segment);
}

static void test_cbs_planned_by_two_at_once_are_exact(void)
{
	cbs_planned_with(2);
}

static void test_cbs_planned_by_eight_at_once_are_exact(void)
{
	cbs_planned_with(8);
}

static void programs_destroyed(unsigned number)
{
	uint64_t seed = number;
	uint64_t made = 0;
	uint64_t i;

	for (i = 0; i < events; i++) {
		uint64_t program = stress_below(&seed, PROGRAMS);

		switch (stress_below(&seed, 8)) {
		case 0:
			ttmem_program_destroy(DEVICE, program);
			break;
		case 1:
		case 2:
			ttmem_kernel_load(DEVICE, program,
				TTMEM_KERNEL_APPLICATION, 4096, 2, 0);
			made++;
			break;
		default:
			ttmem_cb_alloc(DEVICE, program, stress_below(&seed, 16),
				0x20000, 256, 4, 0);
			made++;
		}
	}
	atomic_fetch_add(&alloc_calls, made);
}

static void programs_destroyed_with(unsigned count)
{
	struct segment *segment;
	uint64_t program;

	run(count, 1000000, programs_destroyed);
	segment = stress_at_rest_after_races(0);
	no_other_anomalies(segment, false, false);
	TEST_ASSERT_EQUAL_UINT64(alloc_calls,
		flow_of(segment, TTMEM_FIGURE_CB)->alloc_objects +
			flow_of(segment, TTMEM_FIGURE_KERNEL_APPLICATION)
				->alloc_objects +
			dispatches_of(segment, 0));
	segment_unref(&segment);
	for (program = 0; program < PROGRAMS; program++)
		ttmem_program_destroy(DEVICE, program);
	segment = stress_at_rest_after_races(0);
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
}

static void test_programs_destroyed_by_two_at_once_leave_nothing(void)
{
	programs_destroyed_with(2);
}

static void test_programs_destroyed_by_eight_at_once_leave_nothing(void)
{
	programs_destroyed_with(8);
}

int main(void)
{
	test_dir_make();
	UNITY_BEGIN();
	RUN_TEST(test_two_threads_on_the_same_buffers_are_exact);
	RUN_TEST(test_eight_threads_on_the_same_buffers_are_exact);
	RUN_TEST(test_of_two_frees_at_once_one_is_unknown);
	RUN_TEST(test_of_four_frees_at_once_three_are_unknown);
	RUN_TEST(test_of_two_allocations_at_once_one_replaces_the_other);
	RUN_TEST(test_a_kernel_loaded_by_two_at_once_is_loaded_once);
	RUN_TEST(test_a_kernel_loaded_by_eight_at_once_is_loaded_once);
	RUN_TEST(test_kernels_loaded_and_unloaded_by_two_are_exact);
	RUN_TEST(test_kernels_loaded_and_unloaded_by_eight_are_exact);
	RUN_TEST(test_cbs_planned_by_two_at_once_are_exact);
	RUN_TEST(test_cbs_planned_by_eight_at_once_are_exact);
	RUN_TEST(test_programs_destroyed_by_two_at_once_leave_nothing);
	RUN_TEST(test_programs_destroyed_by_eight_at_once_leave_nothing);
	test_dir_remove();
	return UNITY_END();
}
