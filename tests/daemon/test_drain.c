/* SPDX-License-Identifier: Apache-2.0 */
/* What the drain knows of a process is what the process did, losses counted. */
#include <pthread.h>
#include <stdatomic.h>

#include "daemon/drained.h"
#include "daemon/model_check.h"
#include "support/test_dir.h"

static struct drained drained;

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	drained_close(&drained);
	test_tracking_stop();
}

static void buffers(uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		ttmem_alloc(0, TTMEM_DRAM, from, 0, 1 + from);
}

static void run(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, function, argument));
	pthread_join(thread, NULL);
}

static uint64_t written(void)
{
	struct segment *segment = test_segment_read();
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < segment->lanes_len; i++)
		sum += segment->lanes[i].tail;
	segment_unref(&segment);
	return sum;
}

/* Whatever happened: nothing is counted twice, and nothing not at all. */
static void balance(void)
{
	struct ttm_process *process = drained.process;
	uint64_t positions = 0, missed = 0;
	uint32_t i;

	for (i = 0; i < process->positions_len; i++) {
		positions += process->positions[i].next;
		missed += process->positions[i].missed;
	}
	TEST_ASSERT_EQUAL_UINT64(written(), process->events);
	TEST_ASSERT_EQUAL_UINT64(positions, process->events);
	TEST_ASSERT_EQUAL_UINT64(missed, process->missed);
	TEST_ASSERT_EQUAL_UINT64(missed, drained.stats.missed);
	TEST_ASSERT_EQUAL_UINT64(
		process->events, drained.stats.events + drained.stats.missed);
	model_check(&process->model);
}

static void everything(uint32_t device)
{
	unsigned kind;

	for (kind = 0; kind < 5; kind++) {
		ttmem_alloc(device, (enum ttmem_kind)kind, 1, 0, 100000);
		ttmem_alloc(device, (enum ttmem_kind)kind, 2, 0, 70);
		ttmem_free(device, (enum ttmem_kind)kind, 1);
	}
	ttmem_cb_alloc(device, 5, 1, 1000, 256, 8, 0);
	ttmem_cb_alloc(device, 5, 2, 1000, 256, 8, TTMEM_CB_BORROWED);
	ttmem_kernel_load(device, 5, TTMEM_KERNEL_APPLICATION, 500, 4, 0);
	ttmem_kernel_load(device, 5, TTMEM_KERNEL_APPLICATION, 500, 4, 0);
	ttmem_kernel_load(device, 6, TTMEM_KERNEL_FABRIC, 500, 4, 0);
	ttmem_kernel_load(
		device, 7, TTMEM_KERNEL_DISPATCH, 50, 2, TTMEM_KERNEL_IN_RING);
}

/* -- at rest ----------------------------------------------------------------- */

static void test_at_rest_it_is_what_the_process_itself_says(void)
{
	drained_open(&drained, (everything(0), test_segment_path()));
	TEST_ASSERT_TRUE(drained_round(&drained) > 0);
	TEST_ASSERT_EQUAL_INT(0, ttm_drain_counters(drained.process));
	drained_is_usage(&drained, 0, 0);
	balance();
	TEST_ASSERT_EQUAL_UINT64(
		1, drained.process->parts[0]->flows.dispatches[0]);
	TEST_ASSERT_EQUAL_UINT64(
		100, drained.process->model.shares[0].ring_bytes[2]);
	TEST_ASSERT_EQUAL_UINT64(0, drained.process->in_flight);
	everything(3);
	TEST_ASSERT_TRUE(drained_round(&drained) > 0);
	TEST_ASSERT_EQUAL_INT(0, ttm_drain_counters(drained.process));
	drained_is_usage(&drained, 0, 0);
	drained_is_usage(&drained, 1, 3);
	TEST_ASSERT_EQUAL_INT(0, drained_round(&drained));
}

static void test_a_new_peak_begins_with_a_reset_and_a_close(void)
{
	drained_open(&drained, (everything(0), test_segment_path()));
	ttmem_peak_reset(0);
	ttmem_alloc(0, TTMEM_DRAM, 9, 0, 5);
	drained_round(&drained);
	TEST_ASSERT_EQUAL_INT(0, ttm_drain_counters(drained.process));
	drained_is_usage(&drained, 0, 0);
	ttmem_device_close(0);
	ttmem_alloc(0, TTMEM_DRAM, 10, 0, 5);
	drained_round(&drained);
	TEST_ASSERT_EQUAL_INT(0, ttm_drain_counters(drained.process));
	drained_is_usage(&drained, 0, 0);
	TEST_ASSERT_EQUAL_UINT64(2,
		drained.process->model.shares[0]
			.orphaned[TTMEM_FIGURE_DRAM]
			.objects);
}

static void test_anomalies_and_failures_are_counted(void)
{
	struct ttmem_failure failure;

	drained_open(&drained, (buffers(0, 1), test_segment_path()));
	ttmem_free(0, TTMEM_DRAM, 77);
	ttmem_alloc(0, TTMEM_DRAM, 0, 0, 9);
	ttmem_failure_init(&failure, 0, TTMEM_L1);
	ttmem_alloc_failed(&failure);
	drained_round(&drained);
	TEST_ASSERT_EQUAL_INT(0, ttm_drain_counters(drained.process));
	TEST_ASSERT_EQUAL_UINT64(
		1, drained.process->anomalies[TTMEM_ANOMALY_FREE_UNKNOWN]);
	TEST_ASSERT_EQUAL_UINT64(
		1, drained.process->anomalies[TTMEM_ANOMALY_ALLOC_LIVE]);
	TEST_ASSERT_EQUAL_UINT64(
		1, drained.process->parts[0]->flows.failures[TTMEM_L1]);
	drained_is_usage(&drained, 0, 0);
	balance();
}

/* -- several devices ---------------------------------------------------------- */

#define DEVICES 4u
#define MESHES 6u

static uint32_t meshes[MESHES];
static uint32_t sets[3];

static void meshes_open(void)
{
	static const uint32_t members[MESHES][3] = { { 0, 1, 2 }, { 0, 1, 1 },
		{ 1, 2, 3 }, { 2, 3, 3 }, { 0, 3, 3 }, { 3, 3, 3 } };
	const struct ttmem_core_range ranges[] = { { 0, 0, 3, 1 },
		{ 2, 1, 5, 2 }, { 7, 0, 7, 3 } };
	unsigned i;

	for (i = 0; i < MESHES; i++)
		meshes[i] = ttmem_mesh_open(members[i], 3);
	for (i = 0; i < 3; i++)
		sets[i] = ttmem_core_set(&ranges[i], 1);
}

/* Something a program may do, on one device or on several. */
static void anything(uint64_t *random)
{
	uint64_t bits = model_random(random), id = bits & 15;
	unsigned at = (bits >> 8 & 0xff) % (MESHES + DEVICES);
	uint32_t where = at < MESHES ? meshes[at] : at - MESHES;
	enum ttmem_kind kind = (enum ttmem_kind)((bits >> 16 & 0xff) % 5);
	uint64_t size = bits >> 40 & 0xfffff;
	struct ttmem_buffer buffer;

	switch (bits >> 24 & 15) {
	case 0:
		if ((bits >> 28 & 7) == 0)
			ttmem_device_close(where);
		break;
	case 1:
		ttmem_program_destroy(where, id & 3);
		break;
	case 2:
		ttmem_cb_free_all(where);
		break;
	case 3:
	case 4:
		ttmem_cb_alloc(where, id & 3, id >> 2, size, size & 0xffff,
			sets[id % 3], id == 7 ? TTMEM_CB_BORROWED : 0);
		break;
	case 5:
		ttmem_kernel_load(where, id & 3, TTMEM_KERNEL_APPLICATION,
			size & 0xfff, sets[id % 3], 0);
		break;
	case 6:
	case 7:
	case 8:
		ttmem_free(where, kind, id);
		break;
	case 9:
		ttmem_free_any(where, id);
		break;
	case 10:
		ttmem_peak_reset(where);
		break;
	default:
		ttmem_buffer_init(&buffer, where, kind);
		buffer.id = id;
		buffer.address = size;
		buffer.bytes = size;
		buffer.bytes_per_bank = size / 3;
		buffer.banks = (uint32_t)id;
		ttmem_buffer_alloc(&buffer);
		break;
	}
}

/* The entry of a logical id, which its first event makes; or parts_len. */
static uint32_t entry_of(uint32_t logical)
{
	uint32_t i;

	for (i = 0; i < drained.process->parts_len; i++)
		if (TTM_DEVICE_LOGICAL(
			    drained.process->parts[i]->device.head) == logical)
			break;
	return i;
}

static void usages_are(void)
{
	uint32_t device, entry;

	TEST_ASSERT_EQUAL_INT(0, ttm_drain_counters(drained.process));
	for (device = 0; device < DEVICES; device++) {
		entry = entry_of(device);
		if (entry < drained.process->parts_len)
			drained_is_usage(&drained, entry, device);
	}
	model_check(&drained.process->model);
}

/* Objects with the last events not read, read in parts, and from the slots alone. */
static void test_objects_on_several_devices_are_what_the_process_says(void)
{
	uint64_t random = 4242, rounds = test_scale(400), i;
	struct drained late;
	unsigned device, n;

	meshes_open();
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 1);
	drained_open(&drained, test_segment_path());
	for (i = 0; i < rounds; i++) {
		for (n = model_random(&random) % 40; n; n--)
			anything(&random);
		TEST_ASSERT_TRUE_MESSAGE(drained_round(&drained) >= 0,
			drained.process->source.reason);
		usages_are();
		if (i % 16)
			continue;
		drained_open_fd(&late, drained_copy(test_segment_path()));
		TEST_ASSERT_TRUE_MESSAGE(
			drained_last(&late) >= 0, late.process->source.reason);
		for (device = 0; device < DEVICES; device++)
			TEST_ASSERT_EQUAL_MEMORY(
				drained.process->model.shares[device].live,
				late.process->model.shares[device].live,
				sizeof(late.process->model.shares[0].live));
		TEST_ASSERT_EQUAL_UINT64(drained.process->model.live_objects,
			late.process->model.live_objects);
		drained_close(&late);
	}
	TEST_ASSERT_EQUAL_UINT64(0, drained.stats.missed);
}

/* -- overruns ---------------------------------------------------------------- */

static void test_a_full_lane_is_read_whole(void)
{
	drained_open(&drained, (buffers(0, 2048), test_segment_path()));
	TEST_ASSERT_EQUAL_INT(2048, drained_round(&drained));
	TEST_ASSERT_EQUAL_UINT64(0, drained.stats.missed);
	balance();
}

static void test_what_was_overwritten_is_missed_and_scanned(void)
{
	drained_open(&drained, (buffers(0, 5000), test_segment_path()));
	TEST_ASSERT_EQUAL_INT(5000, drained_round(&drained));
	TEST_ASSERT_EQUAL_UINT64(5000 - 2048, drained.stats.missed);
	TEST_ASSERT_EQUAL_UINT64(1, drained.stats.scans);
	balance();
	TEST_ASSERT_EQUAL_INT(0, ttm_drain_counters(drained.process));
	drained_is_usage(&drained, 0, 0);
	buffers(5000, 9000);
	drained_round(&drained);
	TEST_ASSERT_EQUAL_UINT64(5000 + 4000 - 2 * 2048, drained.stats.missed);
	balance();
	TEST_ASSERT_EQUAL_INT(0, ttm_drain_counters(drained.process));
	drained_is_usage(&drained, 0, 0);
}

/* On a copy the writer can be as far as wanted. */
static void overrun_while_read(uint64_t intent, uint64_t missed)
{
	int fd = drained_copy(test_segment_path());

	drained_poke(fd, TTM_LANES_OFF, intent);
	drained_open_fd(&drained, fd);
	TEST_ASSERT_EQUAL_INT(2048, drained_round(&drained));
	TEST_ASSERT_EQUAL_UINT64(missed, drained.stats.missed);
	TEST_ASSERT_EQUAL_UINT64(2048 - missed, drained.stats.events);
	TEST_ASSERT_EQUAL_UINT64(2048, drained.process->events);
	TEST_ASSERT_EQUAL_UINT64(2048, drained.process->positions[0].next);
	TEST_ASSERT_EQUAL_UINT64(1, drained.process->in_flight);
	TEST_ASSERT_EQUAL_UINT64(2048, drained.process->model.live_objects);
}

static void test_what_is_overwritten_while_it_is_read_is_missed(void)
{
	static const uint64_t ahead[] = { 1, 2, 100, 2047, 2048, 2049, 9999 };
	size_t i;

	buffers(0, 2048);
	for (i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		overrun_while_read(
			2048 + ahead[i], ahead[i] < 2048 ? ahead[i] : 2048);
		drained_close(&drained);
	}
	drained_open(&drained, test_segment_path());
}

static atomic_bool enough;

static void *churn(void *argument)
{
	uint64_t i;

	(void)argument;
	for (i = 0; !atomic_load(&enough); i++) {
		ttmem_alloc(0, TTMEM_L1, i, i, 10);
		if (i >= 10)
			ttmem_free(0, TTMEM_L1, i - 10);
	}
	return NULL;
}

static void test_under_way_nothing_is_lost_or_doubled(void)
{
	uint64_t rounds = test_scale(1000), i;
	pthread_t threads[2];

	buffers(0, 100);
	drained_open(&drained, test_segment_path());
	atomic_store(&enough, false);
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (i = 0; i < rounds; i++)
		TEST_ASSERT_TRUE(drained_round(&drained) >= 0);
	atomic_store(&enough, true);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	TEST_ASSERT_TRUE(drained_round(&drained) >= 0);
	balance();
	TEST_ASSERT_EQUAL_INT(0, ttm_drain_counters(drained.process));
	for (i = 0; i < 2; i++) {
		struct ttmem_usage usage = { .size = sizeof(usage) };
		unsigned figure = i ? TTMEM_FIGURE_L1 : TTMEM_FIGURE_DRAM;

		TEST_ASSERT_EQUAL_INT(0, ttmem_usage(0, &usage));
		TEST_ASSERT_EQUAL_UINT64(usage.figures[figure].live_bytes,
			drained.process->model.shares[0].live[figure].bytes);
	}
}

/* -- lanes ------------------------------------------------------------------- */

static void *ten_buffers(void *argument)
{
	uint64_t from = (uintptr_t)argument;

	buffers(from, from + 10);
	return NULL;
}

static void test_new_lanes_appear(void)
{
	drained_open(&drained, (buffers(0, 10), test_segment_path()));
	drained_round(&drained);
	TEST_ASSERT_EQUAL_UINT64(10, drained.process->model.live_objects);
	run(ten_buffers, (void *)100);
	drained_round(&drained);
	TEST_ASSERT_EQUAL_UINT64(2, drained.process->live.lanes_len);
	TEST_ASSERT_EQUAL_UINT64(20, drained.process->model.live_objects);
	balance();
	/* The lane of the one that ended. */
	run(ten_buffers, (void *)200);
	drained_round(&drained);
	TEST_ASSERT_EQUAL_UINT64(2, drained.process->live.lanes_len);
	TEST_ASSERT_EQUAL_UINT64(30, drained.process->model.live_objects);
	balance();
}

enum {
	CROWD = 12,
};

static pthread_barrier_t barrier;

static void *beside_others(void *argument)
{
	ten_buffers(argument);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void test_many_lanes_appear_at_once(void)
{
	pthread_t threads[CROWD];
	uintptr_t i;

	drained_open(&drained, (buffers(0, 10), test_segment_path()));
	drained_round(&drained);
	pthread_barrier_init(&barrier, NULL, CROWD);
	for (i = 0; i < CROWD; i++)
		pthread_create(&threads[i], NULL, beside_others,
			(void *)(100 * (i + 1)));
	for (i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	drained_round(&drained);
	TEST_ASSERT_EQUAL_UINT64(CROWD + 1, drained.process->live.lanes_len);
	TEST_ASSERT_EQUAL_UINT64(
		10 + 10 * CROWD, drained.process->model.live_objects);
	balance();
}

/* What is on a copy but no record told of, as after a cancelled thread. */
static void slot_free_silently(int fd, uint32_t slot)
{
	uint64_t off = drained_extent(fd, TTM_EXTENT_SLOTS, 0) + slot * 64ull;
	uint64_t w0 = drained_peek(fd, off);

	TEST_ASSERT_EQUAL_UINT(TTM_SLOT_LIVE, TTM_W0_STATE(w0));
	drained_poke(fd, off, TTM_W0_FREE(w0));
}

static uint32_t slot_of(int fd, uint64_t id)
{
	uint64_t off = drained_extent(fd, TTM_EXTENT_SLOTS, 0);
	uint32_t slot;

	for (slot = 0; slot < TTM_SLOTS_PER_EXTENT; slot++)
		if (TTM_W0_STATE(drained_peek(fd, off + slot * 64ull)) ==
				TTM_SLOT_LIVE &&
			drained_peek(fd, off + slot * 64ull + 16) == id)
			return slot;
	TEST_FAIL_MESSAGE("no such object");
	return 0;
}

static void test_a_noop_makes_it_look_at_the_slots(void)
{
	int fd = (buffers(0, 10), drained_copy(test_segment_path()));
	uint64_t lane = drained_extent(fd, TTM_EXTENT_LANE, 0), tail;

	drained_open_fd(&drained, fd);
	drained_round(&drained);
	slot_free_silently(fd, slot_of(fd, 4));
	drained_round(&drained);
	TEST_ASSERT_EQUAL_UINT64(10, drained.process->model.live_objects);
	tail = drained_peek(fd, TTM_LANES_OFF + 8);
	drained_poke(fd, lane + tail * 64 + 8,
		TTM_W1(TTM_SLOT_NONE, 0, TTM_FIGURE_NONE, 0, TTM_RECORD_NOOP));
	drained_poke(fd, TTM_LANES_OFF, tail + 1);
	drained_poke(fd, TTM_LANES_OFF + 8, tail + 1);
	TEST_ASSERT_EQUAL_INT(1, drained_round(&drained));
	TEST_ASSERT_EQUAL_UINT64(9, drained.process->model.live_objects);
	model_check(&drained.process->model);
}

/* -- the end ----------------------------------------------------------------- */

static void test_the_last_round_takes_the_slots_as_they_are(void)
{
	int fd = (buffers(0, 10), drained_copy(test_segment_path()));
	uint32_t slot = slot_of(fd, 4);
	uint64_t off = drained_extent(fd, TTM_EXTENT_SLOTS, 0) + slot * 64ull;

	drained_open_fd(&drained, fd);
	drained_round(&drained);
	/* An older generation, and still what is there. */
	drained_poke(fd, off, TTM_W0(1, 1, TTM_SLOT_WRITING));
	TEST_ASSERT_TRUE(drained_last(&drained) >= 0);
	TEST_ASSERT_EQUAL_UINT64(9, drained.process->model.live_objects);
	model_check(&drained.process->model);
}

static void test_lanes_that_were_given_back_are_missed(void)
{
	int fd = (everything(0), drained_copy(test_segment_path()));
	uint64_t lane = drained_extent(fd, TTM_EXTENT_LANE, 0);
	uint32_t extent = (lane - TTM_EXTENTS_OFF) / TTM_EXTENT_SIZE;

	drained_poke32(fd, TTM_DIRECTORY_OFF + 4 * extent,
		TTM_EXTENT_WORD(TTM_EXTENT_CLAIMED, 0));
	drained_open_fd(&drained, fd);
	TEST_ASSERT_EQUAL_INT(0, drained_last(&drained));
	TEST_ASSERT_EQUAL_UINT64(written(), drained.stats.missed);
	TEST_ASSERT_EQUAL_UINT64(0, drained.stats.events);
	drained_is_usage(&drained, 0, 0);
}

/* It ended beside an aggregator that came at that moment: the run was empty. */
static void test_slots_that_were_given_back_are_free(void)
{
	int fd = (buffers(0, 3000), drained_copy(test_segment_path()));
	uint64_t slots = drained_extent(fd, TTM_EXTENT_SLOTS, 1);
	uint32_t extent = (slots - TTM_EXTENTS_OFF) / TTM_EXTENT_SIZE, i;

	drained_open_fd(&drained, fd);
	drained_round(&drained);
	TEST_ASSERT_EQUAL_UINT64(3000, drained.process->model.live_objects);
	drained_poke32(fd, TTM_DIRECTORY_OFF + 4 * extent,
		TTM_EXTENT_WORD(TTM_EXTENT_CLAIMED, 0));
	TEST_ASSERT_EQUAL_INT(0, drained_last(&drained));
	model_check(&drained.process->model);
	for (i = TTM_SLOTS_PER_EXTENT; i < 2 * TTM_SLOTS_PER_EXTENT; i++)
		TEST_ASSERT_FALSE(ttm_item_is_live(
			&ttm_model_mirror(&drained.process->model, i)->item));
}

/* Killed between the new object and the end of the old one. */
static void twins(uint64_t intent, uint64_t expected)
{
	int fd = drained_copy(test_segment_path());
	uint64_t slots = drained_extent(fd, TTM_EXTENT_SLOTS, 0);
	uint64_t tail = drained_peek(fd, TTM_LANES_OFF + 8);
	uint32_t slot = slot_of(fd, 4), other = slot_of(fd, 5), i;

	for (i = 2; i < 8; i++)
		drained_poke(fd, slots + other * 64ull + i * 8,
			drained_peek(fd, slots + slot * 64ull + i * 8));
	drained_poke(fd, TTM_LANES_OFF, tail + intent);
	drained_open_fd(&drained, fd);
	TEST_ASSERT_TRUE(drained_last(&drained) >= 0);
	TEST_ASSERT_EQUAL_UINT64(intent != 0, drained.process->in_flight);
	TEST_ASSERT_EQUAL_UINT64(expected, drained.process->model.live_objects);
	model_check(&drained.process->model);
}

static void test_one_of_two_stands_where_death_came_in_between(void)
{
	buffers(0, 10);
	twins(2, 9);
	drained_close(&drained);
	twins(0, 10);
}

static void records_count(void *context, struct ttm_process *process,
	const struct ttm_words *records, uint32_t len)
{
	uint64_t *count = context;

	(void)process;
	(void)records;
	*count += len;
}

/* As for lack of memory: what was taken before it is not taken again. */
static void test_a_record_that_fails_is_the_next_one_to_be_taken(void)
{
	uint64_t count = 0, off, w1;
	struct ttm_drain_watcher watcher = { .records = records_count,
		.context = &count };

	buffers(0, 20);
	drained_close(&drained);
	drained_open_fd(&drained, drained_copy(test_segment_path()));
	off = drained_extent(drained.attached.fd, TTM_EXTENT_LANE, 0) +
		10 * sizeof(struct ttm_words) + sizeof(uint64_t);
	w1 = drained_peek(drained.attached.fd, off);
	drained_poke(drained.attached.fd, off, w1 | (0xfull << 40));
	drained_refuses(&drained,
		ttm_drain(drained.process, 1, &watcher, &drained.stats));
	TEST_ASSERT_EQUAL_UINT64(10, count);
	TEST_ASSERT_EQUAL_UINT64(10, drained.process->events);
	drained_poke(drained.attached.fd, off, w1);
	TEST_ASSERT_TRUE(
		ttm_drain(drained.process, 2, &watcher, &drained.stats) > 0);
	TEST_ASSERT_EQUAL_UINT64(20, count);
	TEST_ASSERT_EQUAL_UINT64(20, drained.process->events);
	TEST_ASSERT_EQUAL_UINT64(20, drained.stats.events);
}

static void test_a_limit_on_memory_is_kept(void)
{
	drained_open(&drained, (buffers(0, 10), test_segment_path()));
	drained.process->bytes_max = 100;
	drained_refuses(&drained, drained_round(&drained));
	TEST_ASSERT_EQUAL_UINT32(0, ttm_model_slots(&drained.process->model));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_at_rest_it_is_what_the_process_itself_says);
	RUN_TEST(test_a_new_peak_begins_with_a_reset_and_a_close);
	RUN_TEST(test_anomalies_and_failures_are_counted);
	RUN_TEST(test_objects_on_several_devices_are_what_the_process_says);
	RUN_TEST(test_a_full_lane_is_read_whole);
	RUN_TEST(test_what_was_overwritten_is_missed_and_scanned);
	RUN_TEST(test_what_is_overwritten_while_it_is_read_is_missed);
	RUN_TEST(test_under_way_nothing_is_lost_or_doubled);
	RUN_TEST(test_new_lanes_appear);
	RUN_TEST(test_many_lanes_appear_at_once);
	RUN_TEST(test_a_noop_makes_it_look_at_the_slots);
	RUN_TEST(test_the_last_round_takes_the_slots_as_they_are);
	RUN_TEST(test_lanes_that_were_given_back_are_missed);
	RUN_TEST(test_slots_that_were_given_back_are_free);
	RUN_TEST(test_one_of_two_stands_where_death_came_in_between);
	RUN_TEST(test_a_record_that_fails_is_the_next_one_to_be_taken);
	RUN_TEST(test_a_limit_on_memory_is_kept);
	return UNITY_END();
}
