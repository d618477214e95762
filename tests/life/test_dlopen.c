/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library opened late, by a program that has used up much thread-local
 * storage in other libraries and has threads already; and closed again, while
 * threads still have their seats and hooks are still called.
 */
#include "life/life.h"

#include <dlfcn.h>
#include <pthread.h>

#define THREADS 4u

static const char *dir;
static const char *library;
static char **large;
static int large_len;

/* This program is not linked with it. */
static struct {
	void (*alloc)(uint32_t, enum ttmem_kind, uint64_t, uint64_t, uint64_t);
	void (*free)(uint32_t, enum ttmem_kind, uint64_t);
	void (*scope_push)(const char *, uint32_t);
	void (*stop)(void);
} hooks;

void setUp(void)
{
	dir = test_dir_make();
}

void tearDown(void)
{
	test_dir_remove();
}

static void *library_open(void)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		life_fail(__LINE__, dlerror());
	*(void **)&hooks.alloc = dlsym(handle, "ttmem_alloc");
	*(void **)&hooks.free = dlsym(handle, "ttmem_free");
	*(void **)&hooks.scope_push = dlsym(handle, "ttmem_scope_push");
	*(void **)&hooks.stop = dlsym(handle, "ttmem_stop");
	expect(hooks.alloc && hooks.free && hooks.scope_push && hooks.stop);
	return handle;
}

/* -- threads that were there before the library ----------------------------------- */

static pthread_barrier_t step;

static void *early_thread(void *argument)
{
	uint64_t id = 1 + (uint64_t)(uintptr_t)argument;

	pthread_barrier_wait(&step); /* the library is open */
	pthread_barrier_wait(&step);
	hooks.scope_push("early thread", 0);
	hooks.alloc(0, TTMEM_DRAM, id, 0, 10);
	hooks.alloc(0, TTMEM_L1, id, 0, 10);
	pthread_barrier_wait(&step); /* and closed */
	pthread_barrier_wait(&step);
	hooks.free(0, TTMEM_L1, id);
	return NULL; /* the seat is given back by code that must be there */
}

static void large_libraries_open(void)
{
	int (*touch)(int);
	void *handle;
	int i;

	for (i = 0; i < large_len; i++) {
		handle = dlopen(large[i], RTLD_NOW | RTLD_LOCAL);
		if (!handle)
			life_fail(__LINE__, dlerror());
		*(void **)&touch = dlsym(handle, "large_tls_touch");
		expect(touch && touch(i + 1) == i + 1);
	}
}

static void late(void)
{
	pthread_t threads[THREADS];
	struct segment *segment;
	void *handle;
	uintptr_t i;

	large_libraries_open();
	pthread_barrier_init(&step, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		expect(!pthread_create(
			&threads[i], NULL, early_thread, (void *)i));
	pthread_barrier_wait(&step);
	handle = library_open();
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	expect(dlclose(handle) == 0);
	pthread_barrier_wait(&step);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	segment = life_segment(dir, getpid());
	expect(segment);
	expect(segment->objects_len == THREADS);
	expect(life_frees(segment, TTMEM_FIGURE_L1) == THREADS);
	expect(!strcmp(segment_name(segment, segment->objects[0].scope),
		"early thread"));
	expect(life_lost_nothing(segment));
	segment_unref(&segment);
	exit(0);
}

static void test_library_comes_late_and_is_closed_early(void)
{
	pid_t pid;
	struct segment *segment;

	TEST_ASSERT_TRUE(large_len > 0);
	pid = life_run(late);
	segment = life_segment(dir, pid);
	TEST_ASSERT_NOT_NULL(segment);
	TEST_ASSERT_EQUAL_UINT64(2, segment->state);
	segment_unref(&segment);
}

static void again_and_again(void)
{
	struct segment *segment;
	void *first = NULL;
	uint64_t i;

	for (i = 1; i <= 50; i++) {
		void *handle = library_open();

		if (i == 1)
			*(void **)&first = dlsym(handle, "ttmem_alloc");
		expect(dlsym(handle, "ttmem_alloc") == first);
		hooks.alloc(0, TTMEM_DRAM, i, 0, 10);
		expect(dlclose(handle) == 0);
		/* It stays: an address kept somewhere is still good. */
		hooks.alloc(0, TTMEM_TRACE, i, 0, 10);
	}
	segment = life_segment(dir, getpid());
	expect(segment);
	expect(segment->objects_len == 100 && segment->lanes_count == 1);
	segment_unref(&segment);
	exit(0);
}

static void test_open_and_close_again_and_again_is_one_segment(void)
{
	pid_t pid = life_run(again_and_again);

	TEST_ASSERT_EQUAL_UINT64(1, life_segments(dir, 0));
	TEST_ASSERT_EQUAL_UINT64(1, life_segments(dir, pid));
}

/* argv: the library, then others with large thread-local storage. */
int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	library = argv[1];
	large = argv + 2;
	large_len = argc - 2;
	UNITY_BEGIN();
	RUN_TEST(test_library_comes_late_and_is_closed_early);
	RUN_TEST(test_open_and_close_again_and_again_is_one_segment);
	return UNITY_END();
}
