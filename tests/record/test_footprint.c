/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory a segment takes: little for a process with one event, and later a few
 * pages at a time, so that no hook has to wait for many.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/calls.h"
#include "support/test_segment.h"

#define KIB 1024u
#define OBJECTS 20000u

static atomic_ullong largest; /* range that was allocated at once */
static atomic_ullong ranges;

/* In the C library's place: the library under test is linked statically. */
int fallocate(int fd, int mode, off_t off, off_t len)
{
	if (!mode && (unsigned long long)len > largest)
		largest = (unsigned long long)len;
	ranges += !mode;
	return (int)syscall(SYS_fallocate, fd, mode, off, len);
}

void setUp(void)
{
	test_tracking_start();
	largest = 0;
	ranges = 0;
}

void tearDown(void)
{
	test_tracking_stop();
}

static uint64_t allocated(void)
{
	struct stat st;

	TEST_ASSERT_EQUAL_INT(0, stat(test_segment_path(), &st));
	return (uint64_t)st.st_blocks * 512;
}

static void test_one_event_takes_little(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(192 * KIB, allocated());
}

static void test_one_event_on_a_mesh_takes_little(void)
{
	uint32_t members[8], i;

	for (i = 0; i < 8; i++)
		members[i] = i;
	ttmem_alloc(ttmem_mesh_open(members, 8), TTMEM_DRAM, 1, 0, 100);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(192 * KIB, allocated());
}

static void *one_event(void *argument)
{
	ttmem_alloc(1, TTMEM_L1, (uint64_t)(uintptr_t)argument, 0, 10);
	return NULL;
}

static void rare_things_happen(uint32_t mesh)
{
	struct ttmem_core_range range = { 0, 0, 0, 0 };
	char name[32];
	pthread_t thread;
	unsigned i;

	for (i = 0; i < 1500; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		ttmem_scope_push(name, 0);
		ttmem_scope_pop();
		ttmem_mark(name);
		call_alloc_failed(mesh, TTMEM_L1, 10, 5);
		range.last_x = i % 32;
		range.last_y = i % 31;
		ttmem_cb_alloc(mesh, i, 1, 0, 10, ttmem_core_set(&range, 1), 0);
		ttmem_kernel_load(mesh, i, TTMEM_KERNEL_APPLICATION, 10, 1, 0);
		ttmem_program_destroy(i % 12, i);
	}
	for (i = 0; i < 8; i++) {
		TEST_ASSERT_EQUAL_INT(0,
			pthread_create(&thread, NULL, one_event,
				(void *)(uintptr_t)i));
		pthread_join(thread, NULL);
	}
}

static void test_growth_comes_in_small_steps(void)
{
	uint32_t members[12], mesh, i;
	uint64_t before, now, most = 0;

	ttmem_alloc(0, TTMEM_DRAM, OBJECTS, 0, 100);
	largest = 0;
	for (before = allocated(), i = 0; i < OBJECTS; i++) {
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 100);
		now = allocated();
		most = now - before > most ? now - before : most;
		before = now;
	}
	for (i = 0; i < 12; i++)
		members[i] = i;
	mesh = ttmem_mesh_open(members, 12);
	rare_things_happen(mesh);
	TEST_ASSERT_TRUE(ranges > 100);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(16 * KIB, largest);
	printf("largest step of a hook: %u KiB\n", (unsigned)(most / KIB));
	/* The steps of the ring and of the slots may fall together. */
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(32 * KIB, most);
	segment_unref(&(struct segment *){ test_segment_at_rest() });
}

/* A slot of 64 bytes for each object, and no more than a step beside it. */
static void test_objects_take_their_slots(void)
{
	uint64_t before, i;

	for (i = 0; i < 4096; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 100);
	before = allocated();
	for (; i < OBJECTS; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 100);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(
		64 * (OBJECTS - 4096) + 32 * KIB, allocated() - before);
}

/* An extent and the memory of its first slots are for two hooks to pay. */
static void test_a_hook_allocates_memory_once(void)
{
	unsigned long long before, most = 0;
	uint64_t i;

	/* The ring has all its memory after a lap. */
	for (i = 0; i < 4096; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 100);
	for (; i < OBJECTS; i++) {
		before = ranges;
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 100);
		most = ranges - before > most ? ranges - before : most;
	}
	TEST_ASSERT_EQUAL_UINT64(1, most);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_hook_allocates_memory_once);
	RUN_TEST(test_one_event_takes_little);
	RUN_TEST(test_one_event_on_a_mesh_takes_little);
	RUN_TEST(test_growth_comes_in_small_steps);
	RUN_TEST(test_objects_take_their_slots);
	return UNITY_END();
}
