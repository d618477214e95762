/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that start together, for tests whose setUp makes the barrier. */
#ifndef TEST_THREADS_H
#define TEST_THREADS_H

#include <pthread.h>
#include <stdint.h>

#include <unity.h>

enum {
	THREADS = 6,
};

static pthread_barrier_t barrier;

/* Runs THREADS of them, each with its number, to their ends. */
static inline void threads_run(void *(*run)(void *))
{
	pthread_t threads[THREADS];
	uintptr_t i;

	for (i = 0; i < THREADS; i++)
		TEST_ASSERT_EQUAL_INT(
			0, pthread_create(&threads[i], NULL, run, (void *)i));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

#endif
