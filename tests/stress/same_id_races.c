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

static uint64_t events; /* per thread */
static atomic_ullong alloc_calls;
static atomic_ullong free_calls;

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
	events = test_scale(total) / count + 1;
	stress_run(count, work);
}

/*
 * Rounds, in each of which all who run do the same to the same id. Nobody waits for
 * anybody: whoever has done his part begins the next round, and the others follow him
 * from wherever they are. So two that run at once are in one round all the time, and
 * where others have the processors it takes the processor's time and no more. Threads
 * that met at a gate before each round needed both of them for every single one: a
 * quarter of an hour beside two busy processes of a higher priority.
 */
static uint64_t rounds;
static atomic_ullong round_now;
static atomic_ullong round_claimed;

static void run_rounds(
	unsigned count, uint64_t total, void (*work)(unsigned number))
{
	rounds = test_scale(total);
	round_now = 0;
	round_claimed = 0;
	stress_run(count, work);
}

static bool round_get(uint64_t *ret_round)
{
	*ret_round = atomic_load(&round_now);
	return *ret_round < rounds;
}

static void round_end(uint64_t round)
{
	unsigned long long expected = round;

	atomic_compare_exchange_strong(&round_now, &expected, round + 1);
}

/* Of all who are in the round, true for one: who begins the next one, and has to. */
static bool round_claim(uint64_t round)
{
	unsigned long long expected = round;

	return atomic_compare_exchange_strong(
		&round_claimed, &expected, round + 1);
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

/*
 * In each round one thread allocates, then all free it, and again while there is no
 * other: one of these calls has to find it.
 */
static void double_free_work(unsigned number)
{
	uint64_t frees = 0;
	uint64_t round;

	(void)number;
	while (round_get(&round)) {
		ttmem_free(DEVICE, TTMEM_DRAM, round);
		frees++;
		if (!round_claim(round))
			continue;
		if (round + 1 < rounds)
			ttmem_alloc(DEVICE, TTMEM_DRAM, round + 1, 0, 4096);
		round_end(round);
	}
	atomic_fetch_add(&free_calls, frees);
}

static void double_frees_with(unsigned count, uint64_t total)
{
	struct segment *segment;
	const struct segment_flow *flow;

	ttmem_alloc(DEVICE, TTMEM_DRAM, 0, 0, 4096);
	run_rounds(count, total, double_free_work);
	segment = stress_at_rest_after_races(0);
	flow = flow_of(segment, TTMEM_FIGURE_DRAM);
	no_other_anomalies(segment, true, false);
	TEST_ASSERT_EQUAL_UINT64(rounds, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(rounds, flow->free_objects);
	TEST_ASSERT_EQUAL_UINT64(rounds * 4096, flow->free_bytes);
	TEST_ASSERT_EQUAL_UINT64(free_calls - rounds,
		segment->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN]);
	TEST_ASSERT_EQUAL_UINT64(0, segment->objects_len);
	segment_unref(&segment);
}

static void test_of_two_who_free_at_once_one_does(void)
{
	double_frees_with(2, 1000000);
}

static void test_of_four_who_free_at_once_one_does(void)
{
	double_frees_with(4, 400000);
}

/* In each round all allocate the same id. */
static void double_alloc_work(unsigned number)
{
	uint64_t allocs = 0;
	uint64_t round;

	while (round_get(&round)) {
		ttmem_alloc(
			DEVICE, TTMEM_DRAM, round % IDS, 0x1000, 64 + number);
		allocs++;
		round_end(round);
	}
	atomic_fetch_add(&alloc_calls, allocs);
}

static void test_of_two_allocations_at_once_one_replaces_the_other(void)
{
	struct segment *segment;
	const struct segment_flow *flow;

	run_rounds(2, 1000000, double_alloc_work);
	segment = stress_at_rest_after_races(0);
	flow = flow_of(segment, TTMEM_FIGURE_DRAM);
	no_other_anomalies(segment, false, true);
	TEST_ASSERT_EQUAL_UINT64(alloc_calls, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(
		rounds < IDS ? rounds : IDS, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(alloc_calls - segment->objects_len,
		segment->anomalies[TTMEM_ANOMALY_ALLOC_LIVE]);
	segment_unref(&segment);
}

/* -- kernels -------------------------------------------------------------- */

/*
 * The same new kernel, twice by whoever is first to begin the next round. With more
 * loads in a round there are fewer first ones at once, and only those can go wrong.
 */
static void kernels_loaded(unsigned number)
{
	uint64_t loads = 0;
	uint64_t again = 0; /* the round of the load before */
	uint64_t round;

	(void)number;
	while (round_get(&round)) {
		ttmem_kernel_load(
			DEVICE, round, TTMEM_KERNEL_APPLICATION, 4096, 8, 0);
		loads++;
		if (round == again)
			round_end(round);
		again = round;
	}
	atomic_fetch_add(&alloc_calls, loads);
}

/*
 * Returns how many were loaded twice: where the machine stops a thread between entering
 * its kernel and withdrawing it, others look some microseconds for that, not longer. Then
 * the first counts as replaced.
 */
static uint64_t kernels_loaded_with(unsigned count, uint64_t total)
{
	struct segment *segment;
	const struct segment_flow *flow;
	uint64_t twice;

	run_rounds(count, total, kernels_loaded);
	segment = stress_at_rest_after_races(0);
	flow = flow_of(segment, TTMEM_FIGURE_KERNEL_APPLICATION);
	no_other_anomalies(segment, false, false);
	twice = flow->free_objects;
	TEST_ASSERT_EQUAL_UINT64(rounds, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(rounds + twice, flow->alloc_objects);
	TEST_ASSERT_EQUAL_UINT64(
		alloc_calls - rounds - twice, dispatches_of(segment, 0));
	segment_unref(&segment);
	return twice;
}

/*
 * Each kernel stays loaded: among many it takes longer to look for one, and there is
 * more time for another to come in between. In parts, for they take memory.
 */
static void test_a_kernel_loaded_by_two_at_once_is_loaded_once(void)
{
	uint64_t twice = 0;
	unsigned part;

	for (part = 0; part < 4; part++) {
		twice += kernels_loaded_with(2, 500000);
		tearDown();
		setUp();
	}
	TEST_ASSERT_TRUE_MESSAGE(twice <= 1, "loaded twice, more than once");
}

static void test_a_kernel_loaded_by_eight_at_once_is_loaded_once(void)
{
	TEST_ASSERT_TRUE(kernels_loaded_with(8, 100000) <= 1);
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

static void cbs_allocated(unsigned number)
{
	uint64_t seed = number;
	uint64_t calls = 0;
	uint64_t frees = 0;
	uint64_t i;

	for (i = 0; i < events; i++) {
		uint64_t program = stress_below(&seed, PROGRAMS);
		uint64_t cb = stress_below(&seed, CBS);

		if (stress_below(&seed, 3)) {
			/* Program 0: one size; others: a size per thread. */
			ttmem_cb_alloc(DEVICE, program, cb, 0x10000,
				1024 + (program ? 32 * number : 0), 8, 0);
			calls++;
		} else {
			ttmem_cb_free(DEVICE, program, cb);
			frees++;
		}
	}
	atomic_fetch_add(&alloc_calls, calls);
	atomic_fetch_add(&free_calls, frees);
}

static void cbs_allocated_with(unsigned count)
{
	struct segment *segment;
	const struct segment_flow *flow;
	uint64_t unknown;

	run(count, 2000000, cbs_allocated);
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

static void test_cbs_allocated_by_two_at_once_are_exact(void)
{
	cbs_allocated_with(2);
}

static void test_cbs_allocated_by_eight_at_once_are_exact(void)
{
	cbs_allocated_with(8);
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
	RUN_TEST(test_of_two_who_free_at_once_one_does);
	RUN_TEST(test_of_four_who_free_at_once_one_does);
	RUN_TEST(test_of_two_allocations_at_once_one_replaces_the_other);
	RUN_TEST(test_a_kernel_loaded_by_two_at_once_is_loaded_once);
	RUN_TEST(test_a_kernel_loaded_by_eight_at_once_is_loaded_once);
	RUN_TEST(test_kernels_loaded_and_unloaded_by_two_are_exact);
	RUN_TEST(test_kernels_loaded_and_unloaded_by_eight_are_exact);
	RUN_TEST(test_cbs_allocated_by_two_at_once_are_exact);
	RUN_TEST(test_cbs_allocated_by_eight_at_once_are_exact);
	RUN_TEST(test_programs_destroyed_by_two_at_once_leave_nothing);
	RUN_TEST(test_programs_destroyed_by_eight_at_once_leave_nothing);
	test_dir_remove();
	return UNITY_END();
}
