/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracking stops while another thread is inside a hook: what it records there is in the
 * segment as a whole, also if its handler forks there. One that does not come back is not
 * waited for without end, and leaves its operation half done.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"
#include "support/test_segment.h"

void ttm_testpoint(const char *label);

static __thread const char *pause_at;
static __thread bool forks_there, is_child;
static sem_t inside, go_on;
static atomic_bool stop_waits, goes_on_at_once, membarrier_fails;
static char path[512];

void setUp(void)
{
	struct ttmem_status status = { .size = sizeof(status) };

	test_tracking_start();
	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	atomic_store(&stop_waits, false);
	atomic_store(&membarrier_fails, false);
	/* Something that stays, so that the segment does, too. */
	ttmem_alloc(0, TTMEM_DRAM, 1, 0x1000, 100);
	TEST_ASSERT_EQUAL_INT(0, ttmem_status(&status));
	snprintf(path, sizeof(path), "%s", status.segment);
}

void tearDown(void)
{
	test_tracking_stop();
}

/* In place of libc's: the library naps only where it waits for hooks. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)time;
	(void)left;
	if (!atomic_exchange(&stop_waits, true) &&
		atomic_load(&goes_on_at_once))
		sem_post(&go_on);
	sched_yield();
	return 0;
}

/* In place of libc's: some sandboxes know nothing of membarrier. */
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long arguments[6];
	va_list list;
	unsigned i;

	va_start(list, number);
	for (i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_membarrier && atomic_load(&membarrier_fails)) {
		errno = ENOSYS;
		return -1;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, arguments[0], arguments[1], arguments[2],
		arguments[3], arguments[4], arguments[5]);
}

/* As a handler that comes there would: the child finishes the hook, too. */
static void fork_here(void)
{
	pid_t pid = fork();

	is_child = pid == 0;
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

void ttm_testpoint(const char *label)
{
	/* It did not wait: what was paused goes on behind its back. */
	if (strcmp(label, "segment ended") == 0 && !atomic_load(&stop_waits) &&
		atomic_load(&goes_on_at_once))
		sem_post(&go_on);
	if (!pause_at || strcmp(label, pause_at) != 0)
		return;
	pause_at = NULL;
	sem_post(&inside);
	sem_wait(&go_on);
	if (forks_there)
		fork_here();
}

static void *allocate_and_pause(void *label)
{
	pause_at = label;
	ttmem_alloc(0, TTMEM_DRAM, 2, 0x2000, 200);
	if (is_child)
		_exit(0);
	ttmem_alloc(0, TTMEM_DRAM, 3, 0x3000, 300); /* too late */
	return NULL;
}

static void *allocate_pause_and_fork(void *label)
{
	forks_there = true;
	return allocate_and_pause(label);
}

static pthread_t thread_pause(void *(*work)(void *label), const char *label)
{
	pthread_t thread;

	TEST_ASSERT_EQUAL_INT(0,
		pthread_create(&thread, NULL, work, (void *)(uintptr_t)label));
	sem_wait(&inside);
	return thread;
}

static struct segment *segment_left(void)
{
	struct segment *segment = NULL;
	char why[512] = "";

	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_read(path, &segment, why, sizeof(why)), why);
	return segment;
}

static void expect_finished_when_paused_at(
	void *(*work)(void *label), const char *label)
{
	struct segment *segment;
	pthread_t thread;
	char why[512] = "";

	atomic_store(&goes_on_at_once, true);
	thread = thread_pause(work, label);
	ttmem_stop();
	pthread_join(thread, NULL);
	TEST_ASSERT_TRUE_MESSAGE(atomic_load(&stop_waits), label);
	segment = segment_left();
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_check_at_rest(segment, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(2, segment->objects_len, label);
	segment_unref(&segment);
}

static void test_a_hook_that_has_begun_is_finished(void)
{
	expect_finished_when_paused_at(allocate_and_pause, "intent raised");
}

static void test_a_hook_that_is_nearly_done_is_finished(void)
{
	expect_finished_when_paused_at(allocate_and_pause, "record written");
}

static void test_a_child_finishes_it_on_a_copy(void)
{
	expect_finished_when_paused_at(
		allocate_pause_and_fork, "intent raised");
}

static void test_a_hook_that_never_returns_is_half_done(void)
{
	struct segment *segment;
	pthread_t thread;
	char why[512] = "";

	atomic_store(&goes_on_at_once, false);
	thread = thread_pause(allocate_and_pause, "intent raised");
	ttmem_stop();
	TEST_ASSERT_TRUE(atomic_load(&stop_waits));
	sem_post(&go_on);
	pthread_join(thread, NULL);
	segment = segment_left();
	TEST_ASSERT_EQUAL_UINT64(1, segment->lanes_broken);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_check_killed(segment, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	segment_unref(&segment);
}

static void *have_been_inside(void *argument)
{
	ttmem_alloc(0, TTMEM_DRAM, 2, 0x2000, 200);
	sem_post(&inside);
	sem_wait(&go_on);
	return argument;
}

/* Another thread has been in a hook, and is in none now. */
static void stop_beside_an_idle_thread(void)
{
	pthread_t thread;

	atomic_store(&goes_on_at_once, false);
	thread = thread_pause(have_been_inside, NULL);
	ttmem_stop();
	sem_post(&go_on);
	pthread_join(thread, NULL);
}

static void test_nobody_inside_is_not_waited_for(void)
{
	stop_beside_an_idle_thread();
	TEST_ASSERT_FALSE(atomic_load(&stop_waits));
}

static void test_without_membarrier_stores_are_waited_for(void)
{
	atomic_store(&membarrier_fails, true);
	stop_beside_an_idle_thread();
	TEST_ASSERT_TRUE(atomic_load(&stop_waits));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_hook_that_has_begun_is_finished);
	RUN_TEST(test_a_hook_that_is_nearly_done_is_finished);
	RUN_TEST(test_a_child_finishes_it_on_a_copy);
	RUN_TEST(test_a_hook_that_never_returns_is_half_done);
	RUN_TEST(test_nobody_inside_is_not_waited_for);
	RUN_TEST(test_without_membarrier_stores_are_waited_for);
	return UNITY_END();
}
