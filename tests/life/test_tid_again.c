/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread asks whether another one, whose seat it would like, is gone. Until it takes
 * the seat, somebody else was faster, and a new thread sits there, which the kernel gave
 * the number of the old one. It stays there. Needs to choose numbers of threads.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "life/life.h"
#include "support/test_segment.h"

#define GONE 15u /* with the first thread as many as make them look */
#define NAMED 4711u

static long (*kernel)(long, ...);
static __thread bool is_slow;
static pid_t old_tid, new_tid;
static sem_t seated, go_on;
static pthread_t again;

void setUp(void)
{
	test_tracking_start();
	sem_init(&seated, 0, 0);
	sem_init(&go_on, 0, 0);
}

void tearDown(void)
{
	test_tracking_stop();
}

static void *record(void *argument)
{
	ttmem_alloc(0, TTMEM_L1, (uintptr_t)argument, 0, 10);
	ttmem_free(0, TTMEM_L1, (uintptr_t)argument);
	return NULL;
}

/* Without a word to anybody but the kernel. */
static void *record_and_vanish(void *argument)
{
	record(argument);
	if (!old_tid)
		old_tid = (pid_t)kernel(SYS_gettid);
	kernel(SYS_exit, 0);
	return NULL;
}

static void on_thread(void *(*run)(void *), uintptr_t argument)
{
	pthread_t thread;

	expect(pthread_create(&thread, NULL, run, (void *)argument) == 0);
	pthread_join(thread, NULL);
}

static void *sit_under_a_name(void *argument)
{
	new_tid = (pid_t)kernel(SYS_gettid);
	ttmem_scope_push("new", 0);
	sem_post(&seated);
	sem_wait(&go_on);
	ttmem_alloc(0, TTMEM_DRAM, NAMED, 0, 10);
	ttmem_scope_pop();
	return argument;
}

static void number_next(pid_t tid)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "%d", (int)tid - 1);
	close(fd);
}

/* In the place of the libc's: all this happens before the answer is heard. */
long syscall(long number, ...)
{
	va_list arguments;
	long a[6], r;
	int i, error;

	va_start(arguments, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	r = kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (!is_slow || number != SYS_tgkill || (pid_t)a[1] != old_tid)
		return r;
	error = errno;
	is_slow = false;
	on_thread(record, 1); /* looks, too, and finds all of them gone */
	number_next(old_tid);
	expect(!pthread_create(&again, NULL, sit_under_a_name, NULL));
	sem_wait(&seated);
	errno = error;
	return r;
}

static void *look_slowly(void *argument)
{
	is_slow = true;
	return record(argument);
}

static void test_its_seat_is_not_taken(void)
{
	struct segment *segment;
	const struct segment_words *object;
	unsigned i;

	ttmem_mark("the first thread sits down");
	for (i = 0; i < GONE; i++)
		on_thread(record_and_vanish, i);
	on_thread(look_slowly, 2);
	TEST_ASSERT_NOT_EQUAL_MESSAGE(0, new_tid, "nobody asked the kernel");
	sem_post(&go_on);
	pthread_join(again, NULL);
	if (new_tid != old_tid)
		TEST_IGNORE_MESSAGE("no say in numbers of threads");
	segment = test_segment_at_rest();
	object = segment_object(segment, 0, TTMEM_DRAM, NAMED, 0);
	TEST_ASSERT_NOT_NULL(object);
	TEST_ASSERT_NOT_EQUAL_MESSAGE(0, object->scope, "its scope is gone");
	segment_unref(&segment);
}

/* AddressSanitizer wants to hear of the end of each thread, as others do. */
static bool threads_may_vanish(void)
{
#ifdef __SANITIZE_ADDRESS__
	return false;
#else
	return true;
#endif
}

int main(void)
{
	kernel = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (!kernel || !threads_may_vanish())
		return 77;
	UNITY_BEGIN();
	RUN_TEST(test_its_seat_is_not_taken);
	return UNITY_END();
}
