/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal comes while the segment grows, and its handler records and ends the program:
 * what the handler recorded is there as a whole.
 */
#include <signal.h>

#include "life/life.h"

#define NOT_THERE 2

void ttm_testpoint(const char *label);

static const char *dir;
static bool is_counting;
static unsigned places_left;

void setUp(void)
{
	dir = test_dir_make();
}

void tearDown(void)
{
	test_dir_remove();
}

static void on_signal(int number)
{
	(void)number;
	ttmem_scope_push("handler", 0);
	ttmem_alloc(0, TTMEM_L1, 1, 0, 10);
	ttmem_alloc(1, TTMEM_L1, 2, 0, 10);
	_exit(0);
}

/* A new extent is where hooks find it. */
void ttm_testpoint(const char *label)
{
	if (is_counting && strcmp(label, "extent placed") == 0 &&
		places_left-- == 0)
		raise(SIGUSR1);
}

static void record(void)
{
	const struct sigaction action = { .sa_handler = on_signal };

	expect(sigaction(SIGUSR1, &action, NULL) == 0);
	is_counting = true;
	ttmem_scope_push("main", 0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	_exit(NOT_THERE);
}

static void segment_is_whole(pid_t pid)
{
	char *path = test_dir_segment(dir, pid, NULL), why[512] = "";
	struct segment *segment = NULL;
	uint64_t objects = 0;
	size_t i;

	TEST_ASSERT_NOT_NULL(path);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_read(path, &segment, why, sizeof(why)), why);
	for (i = 0; i < segment->objects_len; i++)
		objects += segment->objects[i].figure == TTMEM_L1;
	TEST_ASSERT_EQUAL_UINT64(2, objects);
	TEST_ASSERT_EQUAL_UINT64(2, life_allocs(segment, TTMEM_L1));
	segment_unref(&segment);
	free(path);
}

/* Blocks of counters, and names. */
static void test_what_the_handler_did_is_there(void)
{
	int status = 0;
	unsigned n;
	pid_t pid;

	for (n = 0;; n++) {
		places_left = n;
		pid = life_start(record);
		TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
		if (status == NOT_THERE << 8)
			break;
		TEST_ASSERT_EQUAL_INT(0, status);
		segment_is_whole(pid);
	}
	TEST_ASSERT_EQUAL_UINT(2, n);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_what_the_handler_did_is_there);
	return UNITY_END();
}
