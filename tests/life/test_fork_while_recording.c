/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fork in the middle of what other threads record, and while they start: both
 * sides go on, and each segment is exact and holds nothing of the other's.
 */
#include "life/life.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define THREADS 3u
#define CHILD_EVENTS 500u
#define LEFT 7u /* by each child */
/* Ids say which process they are of. */
#define ID_OF(process) ((uint64_t)(process) << 32)

static const char *dir;
static atomic_bool stop;
static atomic_ulong parents_events;

void setUp(void)
{
	dir = test_dir_make();
}

void tearDown(void)
{
	test_dir_remove();
}

static void *churn(void *argument)
{
	uint64_t base = ID_OF(getpid()) + (uint64_t)(uintptr_t)argument * 1000;
	uint64_t i;

	ttmem_scope_push("churn", 0);
	for (i = 0; !atomic_load(&stop); i = (i + 1) % 50) {
		ttmem_alloc(0, TTMEM_DRAM, base + i, 0, 1000);
		ttmem_cb_alloc(0, base, i, 0, 10, 10, 0);
		ttmem_free(0, TTMEM_DRAM, base + i);
		ttmem_program_destroy(0, base);
		atomic_fetch_add(&parents_events, 4);
	}
	ttmem_alloc(0, TTMEM_TRACE, base, 0, 1);
	return NULL;
}

static void all_ids_are_of(const struct segment *segment, pid_t pid)
{
	size_t i;
	size_t j;

	expect(segment->pid == (uint32_t)pid);
	for (i = 0; i < segment->objects_len; i++)
		expect(segment->objects[i].id >> 32 == (uint64_t)pid ||
			segment->objects[i].program >> 32 == (uint64_t)pid);
	for (i = 0; i < segment->lanes_len; i++)
		for (j = 0; j < segment->lanes[i].records_len; j++) {
			const struct segment_words *r = &segment->lanes[i]
								 .records[j];

			expect(r->id >> 32 == (uint64_t)pid ||
				r->program >> 32 == (uint64_t)pid);
		}
}

static void child_records(void)
{
	uint64_t base = ID_OF(getpid());
	struct segment *segment;
	uint64_t i;

	for (i = 0; i < CHILD_EVENTS; i++) {
		ttmem_alloc(0, TTMEM_DRAM, base + i, 0, 10);
		if (i >= LEFT)
			ttmem_free(0, TTMEM_DRAM, base + i);
	}
	segment = life_segment(dir, getpid());
	expect(segment);
	expect(segment->objects_len == LEFT);
	expect(life_allocs(segment, TTMEM_FIGURE_DRAM) == CHILD_EVENTS);
	expect(life_lost_nothing(segment));
	all_ids_are_of(segment, getpid());
	segment_unref(&segment);
	_exit(0);
}

static pid_t fork_raw(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* A process of its own: its segment ends with it. */
static void parent_records(void)
{
	pthread_t threads[THREADS];
	struct segment *segment;
	uint64_t rounds = test_scale(100);
	bool wipes = life_fork_wipes();
	uint64_t i;
	pid_t pid;

	atomic_store(&stop, false);
	for (i = 0; i < THREADS; i++)
		expect(!pthread_create(
			&threads[i], NULL, churn, (void *)(uintptr_t)(i + 1)));
	for (i = 0; i < rounds; i++) {
		uint64_t seen = atomic_load(&parents_events);

		pid = wipes && i % 4 == 3 ? fork_raw() : fork();
		if (pid == 0)
			child_records();
		expect(pid > 0 && life_ended_well(pid));
		/* Threads go on in between. */
		while (atomic_load(&parents_events) == seen)
			sched_yield();
	}
	atomic_store(&stop, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	segment = life_segment(dir, getpid());
	expect(segment);
	expect(segment->objects_len == THREADS);
	expect(life_allocs(segment, TTMEM_FIGURE_DRAM) == parents_events / 4);
	expect(life_frees(segment, TTMEM_FIGURE_DRAM) == parents_events / 4);
	expect(life_allocs(segment, TTMEM_FIGURE_CB) == parents_events / 4);
	expect(life_frees(segment, TTMEM_FIGURE_CB) == parents_events / 4);
	expect(life_lost_nothing(segment));
	all_ids_are_of(segment, getpid());
	segment_unref(&segment);
}

static void test_both_sides_go_on_and_are_exact(void)
{
	pid_t pid = life_run(parent_records);
	struct segment *segment = life_segment(dir, pid);

	TEST_ASSERT_NOT_NULL(segment);
	segment_unref(&segment);
	TEST_ASSERT_EQUAL_UINT64(test_scale(100) + 1, life_segments(dir, 0));
}

/* -- while another thread starts ------------------------------------------------- */

static atomic_bool go;

static void *first_event(void *argument)
{
	uint64_t i;

	(void)argument;
	while (!atomic_load(&go))
		;
	for (i = 0; i < 20; i++)
		ttmem_alloc(0, TTMEM_DRAM, ID_OF(getpid()) + i, 0, 10);
	return NULL;
}

static void fork_during_start(void)
{
	struct segment *segment;
	pthread_t thread;
	unsigned spins = (unsigned)getpid() * 37 % 2000;
	volatile unsigned i;
	pid_t pid;

	expect(!pthread_create(&thread, NULL, first_event, NULL));
	atomic_store(&go, true);
	for (i = 0; i < spins; i++)
		;
	pid = fork();
	if (pid == 0)
		child_records();
	expect(pid > 0 && life_ended_well(pid));
	pthread_join(thread, NULL);
	segment = life_segment(dir, getpid());
	expect(segment);
	expect(segment->objects_len == 20);
	expect(life_lost_nothing(segment));
	all_ids_are_of(segment, getpid());
	segment_unref(&segment);
}

static void test_fork_while_another_thread_starts(void)
{
	uint64_t rounds = test_scale(200);
	uint64_t i;

	for (i = 0; i < rounds; i++) {
		life_run(fork_during_start);
		TEST_ASSERT_EQUAL_UINT64(2, life_segments(dir, 0));
		test_dir_remove();
		dir = test_dir_make();
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_both_sides_go_on_and_are_exact);
	RUN_TEST(test_fork_while_another_thread_starts);
	return UNITY_END();
}
