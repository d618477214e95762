/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ten thousand short threads, and more at once than there are lanes: files and
 * memory are bounded by the threads there are at a time, and what finds no lane
 * is counted, as that and as nothing else.
 */
#include "stress/stress.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "life/life.h"

#define AT_ONCE 4u
#define LANES_MAX 1024u
#define EVENTS 3u

static const char *dir;

void setUp(void)
{
	dir = test_dir_make();
	TEST_ASSERT_EQUAL_INT(0, ttmem_start(NULL));
}

void tearDown(void)
{
	ttmem_stop();
	test_dir_remove();
}

static uint64_t each;

static void *short_life(void *argument)
{
	uint64_t id = (uint64_t)(uintptr_t)argument;

	ttmem_alloc(0, TTMEM_DRAM, id, 0, 100);
	ttmem_alloc(1, TTMEM_L1, id, 0, 100);
	ttmem_free(1, TTMEM_L1, id);
	/* For the next thread but a few to free. */
	if (id > 8 * AT_ONCE)
		ttmem_free(0, TTMEM_DRAM, id - 8 * AT_ONCE);
	return NULL;
}

static void one_after_another(unsigned number)
{
	pthread_t thread;
	uint64_t i;

	for (i = 0; i < each; i++) {
		uintptr_t id = 1 + i * AT_ONCE + number;

		if (pthread_create(&thread, NULL, short_life, (void *)id))
			abort();
		pthread_join(thread, NULL);
	}
}

static void test_short_threads_leave_lanes_and_slots_to_others(void)
{
	struct segment *segment;
	struct stat st;
	uint64_t lives;

	each = test_scale(10000) / AT_ONCE;
	lives = each * AT_ONCE;
	stress_run(AT_ONCE, one_after_another);
	TEST_ASSERT_EQUAL_INT(0, stat(test_segment_path(), &st));
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(4u << 20, st.st_blocks * 512u);
	segment = stress_at_rest(0);
	TEST_ASSERT_EQUAL_UINT64(
		lives, life_allocs(segment, TTMEM_FIGURE_DRAM));
	TEST_ASSERT_EQUAL_UINT64(lives, life_frees(segment, TTMEM_FIGURE_L1));
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(AT_ONCE, segment->lanes_count);
	/* Each that finds no slot at the same moment may add some. */
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(AT_ONCE, segment->extents[2]);
	segment_unref(&segment);
}

/* -- more at once than there are lanes ------------------------------------------- */

static pthread_barrier_t all_are_there;
static pthread_barrier_t all_may_go;

static void *long_life(void *argument)
{
	uint64_t id = (uint64_t)(uintptr_t)argument;
	uint64_t i;

	for (i = 0; i < EVENTS; i++)
		ttmem_alloc(0, TTMEM_DRAM, id * EVENTS + i, 0, 100);
	pthread_barrier_wait(&all_are_there);
	pthread_barrier_wait(&all_may_go);
	return NULL;
}

static bool has_room(uint64_t bytes)
{
	struct statvfs st;

	return statvfs(dir, &st) == 0 &&
		(uint64_t)st.f_bavail * st.f_frsize > bytes;
}

static unsigned threads_start(pthread_t *threads, unsigned wanted)
{
	pthread_attr_t attributes;
	unsigned i;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	for (i = 0; i < wanted; i++)
		if (pthread_create(&threads[i], &attributes, long_life,
			    (void *)(uintptr_t)i))
			break;
	pthread_attr_destroy(&attributes);
	return i;
}

static void only_lanes_were_missing(const struct segment *segment)
{
	uint64_t lost = segment->lost_events[TTMEM_LOSS_NO_LANE];
	unsigned i;

	TEST_ASSERT_EQUAL_UINT64(
		100 * lost, segment->lost_bytes[TTMEM_LOSS_NO_LANE]);
	for (i = 0; i < SEGMENT_REASONS; i++)
		if (i != TTMEM_LOSS_NO_LANE)
			TEST_ASSERT_EQUAL_UINT64(0, segment->lost_events[i]);
}

static void test_threads_beyond_the_lanes_are_counted(void)
{
	enum {
		WANTED = LANES_MAX + 76
	};
	static pthread_t threads[WANTED];
	struct segment *segment;
	pthread_t later;
	uint64_t kept = LANES_MAX * EVENTS;
	unsigned i;

	if (!has_room(300ull << 20))
		TEST_IGNORE_MESSAGE("needs 300 MiB of shared memory");
	pthread_barrier_init(&all_are_there, NULL, WANTED + 1);
	pthread_barrier_init(&all_may_go, NULL, WANTED + 1);
	if (threads_start(threads, WANTED) < WANTED)
		exit(77); /* those that wait cannot be ended */
	pthread_barrier_wait(&all_are_there);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(LANES_MAX, segment->lanes_count);
	TEST_ASSERT_EQUAL_UINT64(kept, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64((uint64_t)(WANTED - LANES_MAX) * EVENTS,
		segment->lost_events[TTMEM_LOSS_NO_LANE]);
	only_lanes_were_missing(segment);
	segment_unref(&segment);
	pthread_barrier_wait(&all_may_go);
	for (i = 0; i < WANTED; i++)
		pthread_join(threads[i], NULL);
	/* Those that ended made room. */
	if (pthread_create(&later, NULL, short_life, (void *)(1ull << 40)))
		abort();
	pthread_join(later, NULL);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(kept + 1, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(1, life_allocs(segment, TTMEM_FIGURE_L1));
	only_lanes_were_missing(segment);
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_short_threads_leave_lanes_and_slots_to_others);
	RUN_TEST(test_threads_beyond_the_lanes_are_counted);
	return UNITY_END();
}
