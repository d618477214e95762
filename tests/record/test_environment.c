/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switches in the environment. Each case is a new process: the library
 * decides once. The child is this program again, with the argument "child"; it
 * does a little and says what came of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/segment_reader.h"
#include "support/test_dir.h"

static const char *program;
static const char *dir;

void setUp(void)
{
	dir = test_dir_make();
	unsetenv("TTMEM_ENABLED");
}

void tearDown(void)
{
	test_dir_remove();
}

/* What a child is asked to do, and what it found. */
struct child_report {
	int enabled;
	int start;
	uint32_t state_first;
	uint32_t state_last;
	int usage;
	pid_t pid;
};

/* "start" calls ttmem_start() before the event, "free" frees only. */
static int child_main(const char *action)
{
	struct ttmem_status status = { .size = sizeof(status) };
	struct ttmem_usage usage = { .size = sizeof(usage) };
	struct child_report report = { .pid = getpid() };
	ssize_t written;

	if (!strcmp(action, "start"))
		report.start = ttmem_start(NULL);
	report.enabled = ttmem_enabled();
	ttmem_status(&status);
	report.state_first = status.state;
	if (!strcmp(action, "free"))
		ttmem_free(0, TTMEM_DRAM, 1);
	else if (!strcmp(action, "pop"))
		ttmem_scope_pop();
	else
		ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	report.usage = ttmem_usage(0, &usage);
	ttmem_status(&status);
	report.state_last = status.state;
	written = write(3, &report, sizeof(report));
	/* No destructors: what is there stays for the parent to look at. */
	_exit(written != sizeof(report));
}

static struct child_report child_run(const char *action)
{
	struct child_report report;
	int pipe_fds[2];
	pid_t pid;
	int status;

	TEST_ASSERT_EQUAL_INT(0, pipe(pipe_fds));
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		dup2(pipe_fds[1], 3);
		execl(program, program, "child", action, (char *)NULL);
		/* An emulator cannot always. The library is as new here: this
		 * process has not called it yet. */
		child_main(action);
	}
	close(pipe_fds[1]);
	TEST_ASSERT_EQUAL_INT((int)sizeof(report),
		(int)read(pipe_fds[0], &report, sizeof(report)));
	close(pipe_fds[0]);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(0, status);
	return report;
}

static size_t segments(void)
{
	size_t found;

	free(test_dir_segment(dir, 0, &found));
	return found;
}

static void environment_set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void test_table_of_switches(void)
{
	static const struct {
		const char *ttmem;
		const char *seed;
		int on;
	} cases[] = {
		{ NULL, NULL, 0 },
		{ "1", NULL, 1 },
		{ "0", NULL, 0 },
		{ NULL, "1", 1 },
		{ NULL, "0", 0 },
		{ "0", "1", 0 },
		{ "1", "0", 1 },
		{ "1", "1", 1 },
		{ "0", "0", 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct child_report report;
		char what[64];

		snprintf(what, sizeof(what), "TTMEM_ENABLED %s, seed's %s",
			cases[i].ttmem ? cases[i].ttmem : "unset",
			cases[i].seed ? cases[i].seed : "unset");
		environment_set("TTMEM_ENABLED", cases[i].ttmem);
		environment_set("TT_ALLOC_TRACKING_ENABLED", cases[i].seed);
		report = child_run("alloc");
		TEST_ASSERT_EQUAL_INT_MESSAGE(
			cases[i].on, report.enabled, what);
		TEST_ASSERT_EQUAL_UINT32_MESSAGE(
			cases[i].on ? TTMEM_STATE_PENDING : TTMEM_STATE_OFF,
			report.state_first, what);
		TEST_ASSERT_EQUAL_UINT32_MESSAGE(
			cases[i].on ? TTMEM_STATE_ON : TTMEM_STATE_OFF,
			report.state_last, what);
		TEST_ASSERT_EQUAL_INT_MESSAGE(
			cases[i].on ? 0 : -ENODATA, report.usage, what);
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(
			(uint64_t)cases[i].on, segments(), what);
		test_dir_remove();
		dir = test_dir_make();
	}
}

static void test_start_needs_no_variable(void)
{
	struct child_report report = child_run("start");

	TEST_ASSERT_EQUAL_INT(0, report.start);
	TEST_ASSERT_EQUAL_INT(1, report.enabled);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_ON, report.state_first);
	TEST_ASSERT_EQUAL_UINT64(1, segments());
}

static void test_zero_wins_over_everything(void)
{
	struct child_report report;

	setenv("TTMEM_ENABLED", "0", 1);
	setenv("TT_ALLOC_TRACKING_ENABLED", "1", 1);
	report = child_run("start");
	TEST_ASSERT_EQUAL_INT(-ECANCELED, report.start);
	TEST_ASSERT_EQUAL_INT(0, report.enabled);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_OFF, report.state_last);
	TEST_ASSERT_EQUAL_UINT64(0, segments());
}

static void test_free_alone_makes_no_segment(void)
{
	struct child_report report;

	setenv("TTMEM_ENABLED", "1", 1);
	report = child_run("free");
	TEST_ASSERT_EQUAL_INT(1, report.enabled);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_PENDING, report.state_last);
	TEST_ASSERT_EQUAL_INT(-ENODATA, report.usage);
	report = child_run("pop");
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_PENDING, report.state_last);
	TEST_ASSERT_EQUAL_UINT64(0, segments());
}

static void run_id_is(const char *value, const char *expected)
{
	struct segment *segment = NULL;
	char why[512] = "";
	char padded[17] = "";
	char *path;
	struct child_report report;

	setenv("TTMEM_ENABLED", "1", 1);
	environment_set("TTMEM_RUN_ID", value);
	report = child_run("alloc");
	path = test_dir_segment(dir, report.pid, NULL);
	TEST_ASSERT_NOT_NULL(path);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_read(path, &segment, why, sizeof(why)), why);
	snprintf(padded, sizeof(padded), "%s", expected);
	TEST_ASSERT_EQUAL_MEMORY(padded, segment->run_id, 16);
	segment_unref(&segment);
	free(path);
}

static void test_run_id_is_copied(void)
{
	run_id_is(NULL, "");
	run_id_is("short", "short");
	run_id_is("0123456789abcdef", "0123456789abcdef");
	run_id_is("0123456789abcdef-and-more", "0123456789abcdef");
}

static void test_segment_of_a_dead_process_reads_well(void)
{
	struct segment *segment = NULL;
	char why[512] = "";
	char *path;

	setenv("TTMEM_ENABLED", "1", 1);
	child_run("alloc");
	path = test_dir_segment(dir, 0, NULL);
	TEST_ASSERT_NOT_NULL(path);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_read(path, &segment, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_check_at_rest(segment, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_UINT64(1, segment->state);
	TEST_ASSERT_EQUAL_UINT64(1, segment->objects_len);
	segment_unref(&segment);
	free(path);
}

static void test_missing_directory_leaves_the_program_alone(void)
{
	struct child_report report;

	setenv("TTMEM_ENABLED", "1", 1);
	setenv("TTMEM_DIR", "/proc/no-such-directory", 1);
	report = child_run("alloc");
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_UNTRACKED, report.state_last);
	TEST_ASSERT_EQUAL_INT(-ENODATA, report.usage);
}

int main(int argc, char **argv)
{
	program = argv[0];
	if (argc > 2 && !strcmp(argv[1], "child"))
		return child_main(argv[2]);
	UNITY_BEGIN();
	RUN_TEST(test_table_of_switches);
	RUN_TEST(test_start_needs_no_variable);
	RUN_TEST(test_zero_wins_over_everything);
	RUN_TEST(test_free_alone_makes_no_segment);
	RUN_TEST(test_run_id_is_copied);
	RUN_TEST(test_segment_of_a_dead_process_reads_well);
	RUN_TEST(test_missing_directory_leaves_the_program_alone);
	return UNITY_END();
}
