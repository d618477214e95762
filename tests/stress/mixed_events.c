/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight threads do everything at once: buffers that pass from thread to thread,
 * frees of one id from two sides, the same kernel loaded and the same CB
 * allocated by several, programs destroyed, devices closed under the hands of
 * others. At rest the live set is the slots is allocated - freed, exactly, and
 * it is what the threads themselves remember.
 */
#include "stress/mixed_actions.h"

static uint64_t calls_wanted; /* per thread */
static struct stress_gate meeting;

void setUp(void)
{
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
}

void tearDown(void)
{
	ttmem_stop();
}

static void work(unsigned number)
{
	struct thread *t = &threads[number];

	ttmem_scope_push(number & 1 ? "odd" : "even", 0);
	while (t->calls < calls_wanted)
		step(t);
	stress_gate_wait(&meeting);
	travellers_receive(t);
	ttmem_scope_pop();
}

/* -- afterwards ----------------------------------------------------------- */

/* What a slot has to hold. */
struct expected {
	unsigned entry;
	unsigned figure;
	uint64_t id;
	uint64_t program;
	uint64_t addr;
	uint64_t bytes;
	bool orphan;
};

static struct expected *expected;
static size_t expected_len;

static void expect(
	const struct segment *segment, uint32_t device, struct expected object)
{
	object.entry = (unsigned)segment_entry(segment, device);
	expected[expected_len++] = object;
}

static void expect_buffer(const struct segment *segment, uint64_t id,
	uint32_t version, bool orphan)
{
	expect(segment, buffer_device(id),
		(struct expected){ .figure = buffer_kind(id),
			.id = id,
			.addr = buffer_addr(id, version),
			.bytes = buffer_size(id, version),
			.orphan = orphan });
}

static void expect_programs(const struct segment *segment, struct thread *t)
{
	unsigned i;
	unsigned j;

	for (i = 0; i < PROGRAMS; i++) {
		for (j = 0; j < CBS; j++)
			if (t->cbs[i][j])
				expect(segment, i % SHARED,
					(struct expected){
						.figure = TTMEM_FIGURE_CB,
						.id = j,
						.program = program_id(t, i),
						.addr = 4096 * j,
						.bytes = 8 *
							program_size(
								t->cbs[i][j]),
					});
		if (t->kernels[i])
			expect(segment, i % SHARED,
				(struct expected){
					.figure = TTMEM_FIGURE_KERNEL,
					.id = program_id(t, i),
					.program = program_id(t, i),
					.bytes = 4 *
						program_size(t->kernels[i]),
				});
	}
}

static void expect_all(const struct segment *segment, struct thread *t)
{
	unsigned i;

	for (i = 0; i < LOCALS; i++)
		if (t->locals[i])
			expect_buffer(segment,
				(uint64_t)LOCAL_ID << 40 |
					(uint64_t)t->number << 32 | i,
				t->locals[i], false);
	for (i = 0; i < t->travellers_len; i++)
		expect_buffer(segment, t->travellers[i], 0, false);
	for (i = 0; i < PRIVATES; i++) {
		if (t->privates[i])
			expect_buffer(
				segment, t->privates[i], 0, t->orphans[i]);
		if (t->closing[i])
			expect_buffer(segment, t->closing[i], 0, false);
	}
	expect_programs(segment, t);
}

static int expected_compare(const void *va, const void *vb)
{
	const struct expected *a = va;
	const struct expected *b = vb;

	if (a->entry != b->entry)
		return a->entry < b->entry ? -1 : 1;
	if (a->figure != b->figure)
		return a->figure < b->figure ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->program != b->program)
		return a->program < b->program ? -1 : 1;
	return 0;
}

/* The slots in the same form, those of the racing device left out. */
static struct expected *slots_found(
	const struct segment *segment, size_t *ret_len)
{
	struct expected *found = calloc(
		segment->objects_len + 1, sizeof(*found));
	int racing = segment_entry(segment, RACING);
	int closing = segment_entry(segment, CLOSING);
	size_t i;

	*ret_len = 0;
	for (i = 0; i < segment->objects_len; i++) {
		const struct segment_words *o = &segment->objects[i];

		if ((int)o->device == racing)
			continue;
		found[(*ret_len)++] = (struct expected){
			.entry = o->device,
			.figure = o->figure,
			.id = o->id,
			.program = o->program,
			.addr = o->w[3],
			.bytes = o->bytes,
			.orphan = (int)o->device != closing && o->orphan,
		};
	}
	return found;
}

static void slots_are_what_is_remembered(const struct segment *segment)
{
	size_t max = THREADS *
		(LOCALS + TRAVELLERS + 2 * PRIVATES + PROGRAMS * (CBS + 1));
	struct expected *found;
	size_t len;
	size_t i;

	expected = calloc(max, sizeof(*expected));
	expected_len = 0;
	for (i = 0; i < THREADS; i++)
		expect_all(segment, &threads[i]);
	found = slots_found(segment, &len);
	qsort(expected, expected_len, sizeof(*expected), expected_compare);
	qsort(found, len, sizeof(*found), expected_compare);
	TEST_ASSERT_EQUAL_UINT64(expected_len, len);
	for (i = 0; i < len; i++) {
		TEST_ASSERT_EQUAL_INT(
			0, expected_compare(&expected[i], &found[i]));
		TEST_ASSERT_EQUAL_HEX64(expected[i].addr, found[i].addr);
		TEST_ASSERT_EQUAL_UINT64(expected[i].bytes, found[i].bytes);
		TEST_ASSERT_EQUAL_INT(expected[i].orphan, found[i].orphan);
	}
	free(found);
	free(expected);
}

static struct tally tally_sum(uint32_t device, unsigned figure)
{
	struct tally sum = { 0 };
	unsigned i;

	for (i = 0; i < THREADS; i++) {
		const struct tally *tally = &threads[i].tallies[device][figure];

		sum.allocs += tally->allocs;
		sum.alloc_bytes += tally->alloc_bytes;
		sum.frees += tally->frees;
		sum.free_bytes += tally->free_bytes;
	}
	return sum;
}

static void flows_are_what_is_remembered(const struct segment *segment)
{
	unsigned figure;
	uint32_t device;

	for (device = 0; device < DEVICES; device++) {
		const struct segment_device
			*entry = &segment->devices[segment_entry(
				segment, device)];

		for (figure = 0; figure < TTMEM_FIGURES; figure++) {
			const struct segment_flow
				*flow = &entry->figures[figure];
			struct tally sum = tally_sum(device, figure);

			if (device == RACING)
				continue;
			TEST_ASSERT_EQUAL_UINT64(
				sum.allocs, flow->alloc_objects);
			TEST_ASSERT_EQUAL_UINT64(
				sum.alloc_bytes, flow->alloc_bytes);
			TEST_ASSERT_EQUAL_UINT64(sum.frees, flow->free_objects);
			TEST_ASSERT_EQUAL_UINT64(
				sum.free_bytes, flow->free_bytes);
		}
	}
}

static void racing_is_exact(const struct segment *segment)
{
	const struct segment_device
		*entry = &segment->devices[segment_entry(segment, RACING)];
	uint64_t loads = 0;
	uint64_t shared = 0;
	uint64_t dispatches = 0;
	unsigned i;

	for (i = 0; i < THREADS; i++) {
		loads += threads[i].racing_loads;
		shared += threads[i].shared_cbs;
		dispatches += threads[i].dispatches;
	}
	TEST_ASSERT_EQUAL_UINT64(loads,
		entry->figures[TTMEM_FIGURE_KERNEL].alloc_objects +
			entry->dispatches[0]);
	TEST_ASSERT_EQUAL_UINT64(
		shared, entry->figures[TTMEM_FIGURE_CB].alloc_objects);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(
		PROGRAMS, entry->figures[TTMEM_FIGURE_KERNEL].slot_objects);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(
		PROGRAMS * CBS, entry->figures[TTMEM_FIGURE_CB].slot_objects);
	TEST_ASSERT_EQUAL_UINT64(dispatches,
		stress_sum(segment).dispatches - entry->dispatches[0]);
}

static void anomalies_are_those_provoked(const struct segment *segment)
{
	uint64_t provoked[SEGMENT_REASONS] = { 0 };
	uint64_t late_at_most;
	unsigned i;

	for (i = 0; i < THREADS; i++) {
		provoked[TTMEM_ANOMALY_FREE_UNKNOWN] += threads[i].double_frees;
		provoked[TTMEM_ANOMALY_ALLOC_LIVE] += threads[i].live_allocs;
		provoked[TTMEM_ANOMALY_LATE_FREE] += threads[i].late_frees;
	}
	late_at_most = provoked[TTMEM_ANOMALY_LATE_FREE];
	for (i = 0; i < THREADS; i++)
		late_at_most += threads[i].closing_frees;
	for (i = 0; i < SEGMENT_REASONS; i++)
		if (i != TTMEM_ANOMALY_LATE_FREE)
			TEST_ASSERT_EQUAL_UINT64(
				provoked[i], segment->anomalies[i]);
	TEST_ASSERT_TRUE(segment->anomalies[TTMEM_ANOMALY_LATE_FREE] >=
		provoked[TTMEM_ANOMALY_LATE_FREE]);
	TEST_ASSERT_TRUE(
		segment->anomalies[TTMEM_ANOMALY_LATE_FREE] <= late_at_most);
}

static void slots_are_bounded(const struct segment *segment)
{
	/* Queued, racing, and one per thread on its way to replace another. */
	uint64_t most = THREADS * THREADS * STRESS_QUEUE_LEN +
		PROGRAMS * (CBS + 1) + THREADS +
		STRESS_LANE_SLOTS * segment->lanes_count;
	unsigned i;

	for (i = 0; i < THREADS; i++)
		most += threads[i].live_peak;
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(most, segment->slots_used);
	/* Of several that find no slot each may add an extent. */
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(
		most + THREADS * STRESS_EXTENT_SLOTS, segment->slots_len);
	TEST_ASSERT_EQUAL_UINT64(THREADS + 1, segment->lanes_count);
}

static void usage_is_the_slots(const struct segment *segment)
{
	struct ttmem_usage usage = { .size = sizeof(usage) };
	uint32_t device;
	unsigned i;

	for (device = 0; device < DEVICES; device++) {
		const struct segment_flow *
			flows = segment->devices[segment_entry(segment, device)]
					.figures;

		TEST_ASSERT_EQUAL_INT(0, ttmem_usage(device, &usage));
		for (i = 0; i < TTMEM_FIGURES; i++) {
			TEST_ASSERT_EQUAL_UINT64(flows[i].slot_objects,
				usage.figures[i].live_objects);
			TEST_ASSERT_EQUAL_UINT64(flows[i].slot_bytes,
				usage.figures[i].live_bytes);
		}
	}
}

static void test_mixed_events_of_eight_threads_are_exact_at_rest(void)
{
	struct segment *segment;
	uint64_t notes = 0;
	uint64_t failures = 0;
	unsigned i;

	calls_wanted = test_scale(10000000) / THREADS + 1;
	meeting.threads = THREADS;
	for (i = 0; i < THREADS; i++) {
		threads[i].number = i;
		threads[i].seed = i;
	}
	for (i = 0; i < DEVICES; i++)
		device_open(&threads[0], i);
	stress_run(THREADS, work);
	for (i = 0; i < THREADS; i++) {
		notes += threads[i].opens_and_closes + threads[i].failures;
		failures += threads[i].failures;
	}
	segment = stress_at_rest_after_races(notes);
	TEST_ASSERT_EQUAL_UINT64(failures, segment->failures_count);
	TEST_ASSERT_EQUAL_UINT64(DEVICES, segment->devices_count);
	slots_are_what_is_remembered(segment);
	flows_are_what_is_remembered(segment);
	racing_is_exact(segment);
	anomalies_are_those_provoked(segment);
	slots_are_bounded(segment);
	usage_is_the_slots(segment);
	segment_unref(&segment);
}

int main(void)
{
	test_dir_make();
	UNITY_BEGIN();
	RUN_TEST(test_mixed_events_of_eight_threads_are_exact_at_rest);
	test_dir_remove();
	return UNITY_END();
}
