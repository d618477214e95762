/* SPDX-License-Identifier: Apache-2.0 */
/* Processes are told as people know them, and found again by their start. */
#include "common/process.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <unity.h>

static char buffer[64];

void setUp(void)
{
}

void tearDown(void)
{
}

static void container_is(const char *cgroup, const char *wanted)
{
	TEST_ASSERT_EQUAL_STRING(
		wanted, ttm_container_text(cgroup, buffer, sizeof(buffer)));
}

static void test_a_container_goes_by_its_short_id(void)
{
	container_is(
		"/docker/0123456789abcdef0123456789abcdef0123", "0123456789ab");
	container_is("/kubepods/pod1/cri-containerd-"
		     "fedcba9876543210fedcba9876543210.scope",
		"fedcba987654");
	container_is(
		"/user.slice/user-0.slice/session-1.scope", "session-1.scope");
	container_is("/0123456789abcdef", "0123456789abcdef"); /* too short */
	container_is("/", "/");
	container_is(NULL, "-");
	container_is("/a\nb", "a\\x0ab");
}

static void test_commands_are_one_line(void)
{
	static const char *const arguments[] = { "python3", "-c", "a\nb" };
	static const char *const broken[] = { NULL, "x" };

	TEST_ASSERT_EQUAL_STRING("python3 -c a\\x0ab",
		ttm_command_text(
			arguments, 3, "python3", buffer, sizeof(buffer)));
	TEST_ASSERT_EQUAL_STRING("a\\x1bb",
		ttm_command_text(NULL, 0,
			"a\x1b"
			"b",
			buffer, sizeof(buffer)));
	TEST_ASSERT_EQUAL_STRING(
		"-", ttm_command_text(NULL, 0, NULL, buffer, sizeof(buffer)));
	TEST_ASSERT_EQUAL_STRING(
		" x", ttm_command_text(broken, 2, "", buffer, sizeof(buffer)));
	TEST_ASSERT_EQUAL_STRING(
		"pyth", ttm_command_text(arguments, 3, "", buffer, 5));
}

static void test_the_start_of_a_process_is_known(void)
{
	uint64_t self = (uint64_t)getpid();

	TEST_ASSERT_TRUE(ttm_proc_start_time(self) > 0);
	TEST_ASSERT_TRUE(
		ttm_proc_start_time(self) == ttm_proc_start_time(self));
	TEST_ASSERT_TRUE(ttm_proc_start_time(self) >=
		ttm_proc_start_time((uint64_t)getppid()));
	/* Beyond what a pid can be. */
	TEST_ASSERT_EQUAL_UINT64(0, ttm_proc_start_time(1ull << 40));
}

static void test_fields_are_counted_behind_any_name(void)
{
	uint64_t self = (uint64_t)getpid();
	uint64_t start = ttm_proc_start_time(self);
	char stat[TTM_PROC_STAT_SIZE], before[16];

	prctl(PR_GET_NAME, before);
	prctl(PR_SET_NAME, ") Z 1 (a) ");
	TEST_ASSERT_EQUAL_INT('R', *ttm_proc_stat_field(self, 3, stat));
	TEST_ASSERT_EQUAL_INT(
		getppid(), atoi(ttm_proc_stat_field(self, 4, stat)));
	TEST_ASSERT_EQUAL_UINT64(start, ttm_proc_start_time(self));
	prctl(PR_SET_NAME, before);
	TEST_ASSERT_NULL(ttm_proc_stat_field(self, 1000, stat));
	TEST_ASSERT_NULL(ttm_proc_stat_field(1ull << 40, 3, stat));
}

static void test_we_are_in_our_own_namespace(void)
{
	TEST_ASSERT_EQUAL_UINT64(ttm_proc_pid_namespace(0),
		ttm_proc_pid_namespace((uint64_t)getpid()));
	TEST_ASSERT_EQUAL_UINT64(0, ttm_proc_pid_namespace(1ull << 40));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_container_goes_by_its_short_id);
	RUN_TEST(test_commands_are_one_line);
	RUN_TEST(test_the_start_of_a_process_is_known);
	RUN_TEST(test_fields_are_counted_behind_any_name);
	RUN_TEST(test_we_are_in_our_own_namespace);
	return UNITY_END();
}
