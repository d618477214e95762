/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first thread has ended, the others go on: /proc/self is then a zombie, without
 * descriptors and without memory. What they record is there all the same.
 */
#include <pthread.h>
#include <time.h>

#include "life/life.h"

#define OBJECTS 5000u /* more than an extent of slots */

static const char *dir;

void setUp(void)
{
	dir = test_dir_make();
}

void tearDown(void)
{
	test_dir_remove();
}

/* Whether the process's first thread is a zombie by now. */
static bool first_thread_is_gone(void)
{
	char line[512] = "";
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	const char *at;

	expect(fd >= 0);
	expect(read(fd, line, sizeof(line) - 1) > 0);
	close(fd);
	at = strrchr(line, ')');
	expect(at);
	return at[2] == 'Z';
}

static void *record(void *argument)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct ttmem_status status = { .size = sizeof(status) };
	uint64_t i;

	while (!first_thread_is_gone())
		nanosleep(&nap, NULL);
	for (i = 0; i < OBJECTS; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 10);
	expect(ttmem_status(&status) == 0);
	expect(status.state == TTMEM_STATE_ON);
	expect(status.error == 0);
	_exit(0);
	return argument;
}

static void go_on_without(void)
{
	pthread_t thread;

	expect(pthread_create(&thread, NULL, record, NULL) == 0);
	pthread_exit(NULL);
}

static void test_others_are_tracked(void)
{
	struct segment *segment = life_segment(dir, life_run(go_on_without));

	TEST_ASSERT_NOT_NULL(segment);
	TEST_ASSERT_EQUAL_UINT64(OBJECTS, segment->objects_len);
	TEST_ASSERT_TRUE(life_lost_nothing(segment));
	TEST_ASSERT_NOT_EQUAL_MESSAGE(
		0, segment->cmdline[0], "no command line");
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_others_are_tracked);
	return UNITY_END();
}
