/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that execs another program: its segment stays with what was live,
 * the lock is released, and the new program makes a segment of its own.
 */
#include "life/life.h"

#include <glob.h>

static const char *dir;
static char self[512];

void setUp(void)
{
	dir = test_dir_make();
}

void tearDown(void)
{
	test_dir_remove();
}

static void second_image(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 20);
	expect(life_segments(dir, getpid()) == 2);
	expect(write(STDOUT_FILENO, "x", 1) == 1);
	life_await(STDIN_FILENO);
}

static int to_second[2];
static int from_second[2];

static void first_image(void)
{
	char *const command[] = { self, (char *)(uintptr_t) "second", NULL };

	ttmem_scope_push("first image", 0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	expect(dup2(to_second[0], STDIN_FILENO) == STDIN_FILENO);
	expect(dup2(from_second[1], STDOUT_FILENO) == STDOUT_FILENO);
	execv(self, command);
	life_fail(__LINE__, "execv");
}

static void test_each_image_has_its_segment_and_only_the_last_a_lock(void)
{
	pid_t holders[3] = { -1, -1, -1 };
	char pattern[256];
	glob_t found;
	pid_t pid;
	size_t i;

	TEST_ASSERT_EQUAL_INT(0, pipe2(to_second, O_CLOEXEC));
	TEST_ASSERT_EQUAL_INT(0, pipe2(from_second, O_CLOEXEC));
	pid = life_start(first_image);
	close(from_second[1]);
	TEST_ASSERT_TRUE_MESSAGE(
		life_hears(from_second[0]), "the process is gone");
	snprintf(pattern, sizeof(pattern), "%s/ttmem-*/p.%d.*", dir, (int)pid);
	TEST_ASSERT_EQUAL_INT(0, glob(pattern, 0, NULL, &found));
	TEST_ASSERT_EQUAL_UINT64(2, found.gl_pathc);
	for (i = 0; i < 2; i++) {
		struct segment *segment = NULL;
		char why[512] = "";

		TEST_ASSERT_EQUAL_INT_MESSAGE(0,
			segment_read(
				found.gl_pathv[i], &segment, why, sizeof(why)),
			why);
		TEST_ASSERT_EQUAL_INT_MESSAGE(0,
			segment_check_at_rest(segment, why, sizeof(why)), why);
		TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
		TEST_ASSERT_EQUAL_UINT64(1, segment->state);
		TEST_ASSERT_TRUE(segment->objects[0].id <= 2);
		holders[segment->objects[0].id] = test_dir_lock_holder(
			found.gl_pathv[i]);
		segment_unref(&segment);
	}
	TEST_ASSERT_EQUAL_INT(0, holders[1]);
	TEST_ASSERT_EQUAL_INT(pid, holders[2]);
	globfree(&found);
	life_tell(to_second[1]);
	TEST_ASSERT_TRUE(life_ended_well(pid));
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		dir = getenv("TTMEM_DIR");
		second_image();
		return 0;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 77;
	UNITY_BEGIN();
	RUN_TEST(test_each_image_has_its_segment_and_only_the_last_a_lock);
	return UNITY_END();
}
