/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads of a process start at once, and both tidy: what each of them removed is
 * counted.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>

#include "faults/leftovers.h"

enum {
	MANY = 128,
};

static struct leftover left[MANY];
static __thread bool is_slow;
static sem_t inside, go_on;

void setUp(void)
{
	leftovers_set_up();
	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
}

void tearDown(void)
{
	ttmem_stop();
	leftovers_tear_down();
}

/*
 * In the place of the libc's, for the library, too: it has read the file. Long enough for
 * the other thread to do all of it, if that does not wait.
 */
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t off)
{
	const struct timespec nap = { .tv_nsec = 50000000 };

	if (is_slow) {
		is_slow = false;
		sem_post(&inside);
		sem_wait(&go_on);
		nanosleep(&nap, NULL);
	}
	return (ssize_t)syscall(SYS_pwrite64, fd, bytes, size, off);
}

static void *start_slowly(void *argument)
{
	is_slow = true;
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	return argument;
}

static void test_both_count(void)
{
	uint64_t len, i, segments = 0, objects = 0;
	struct leftovers_lost lost;
	pthread_t thread;

	len = leftovers_overfill(left, MANY, 0);
	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, start_slowly, NULL));
	sem_wait(&inside);
	len += leftovers_overfill(left + len, MANY - len, 0);
	sem_post(&go_on);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 10);
	pthread_join(thread, NULL);
	for (i = 0; i < len; i++) {
		if (leftover_is_there(&left[i]))
			continue;
		segments++;
		objects += left[i].objects;
	}
	lost = leftovers_lost();
	TEST_ASSERT_EQUAL_UINT64(segments, lost.segments);
	TEST_ASSERT_EQUAL_UINT64(objects, lost.objects);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_both_count);
	return UNITY_END();
}
