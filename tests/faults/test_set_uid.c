/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set-uid program does not let its caller's environment decide: neither whether
 * it is tracked, nor where, nor what it prints. The program is a copy of this one.
 * Needs root, to make it and to call it as somebody else.
 */
#include <grp.h>
#include <sys/auxv.h>
#include <sys/statvfs.h>

#include "faults/host.h"
#include "faults/mounts.h"

enum {
	SOMEBODY = 65534,
};

/* What the copy ends with: these bits. */
enum finding {
	SECURE = 1,  /* the kernel says so */
	ENABLED = 2, /* by the environment */
	STARTED = 4, /* when it asks itself */
	IN_DIR = 8,  /* where the environment wants it */
	RUN_ID = 16,
};

static const char *dir;
static char folder[] = "/tmp/ttmem-test.XXXXXX";
static char copy[sizeof(folder) + 8];

void setUp(void)
{
	dir = test_dir_make();
	TEST_ASSERT_EQUAL_INT(0, chmod(dir, 01777));
}

void tearDown(void)
{
	unsetenv("TTMEM_VERBOSE");
	test_dir_remove();
}

static bool run_id_is_there(const char *path)
{
	struct segment *segment = NULL;
	bool there;
	char why[256];

	if (segment_read(path, &segment, why, sizeof(why)))
		return false;
	there = segment->run_id[0] != 0;
	segment_unref(&segment);
	return there;
}

/* The library is asked before and after a start of the program's own. */
static int copy_main(const char *wanted)
{
	struct ttmem_status status = { .size = sizeof(status) };
	int found = getauxval(AT_SECURE) ? SECURE : 0;

	if (ttmem_enabled())
		found |= ENABLED;
	if (ttmem_start(NULL) == 0)
		found |= STARTED;
	ttmem_status(&status);
	if (status.segment[0] &&
		!strncmp(status.segment, wanted, strlen(wanted)))
		found |= IN_DIR;
	if (status.segment[0] && run_id_is_there(status.segment))
		found |= RUN_ID;
	ttmem_stop();
	return found;
}

static void copy_make(void)
{
	char buffer[65536];
	ssize_t n;
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;

	snprintf(copy, sizeof(copy), "%s/copy", folder);
	to = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	TEST_ASSERT_TRUE(from >= 0 && to >= 0);
	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		TEST_ASSERT_EQUAL_INT(
			(int)n, (int)write(to, buffer, (size_t)n));
	close(from);
	close(to);
}

/* Ends with the findings; what it said on stderr is in ret_err. */
static int copy_run(mode_t mode, char ret_err[HOST_OUTPUT])
{
	int err[2], status;
	pid_t pid;

	TEST_ASSERT_EQUAL_INT(0, chown(copy, 0, 0));
	TEST_ASSERT_EQUAL_INT(0, chmod(copy, mode));
	TEST_ASSERT_EQUAL_INT(0, pipe2(err, O_CLOEXEC));
	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		dup2(err[1], STDERR_FILENO);
		if (!setgroups(0, NULL) &&
			!setresgid(SOMEBODY, SOMEBODY, SOMEBODY) &&
			!setresuid(SOMEBODY, SOMEBODY, SOMEBODY))
			execl(copy, copy, "copy", dir, (char *)NULL);
		_exit(120);
	}
	close(err[1]);
	host_output(err[0], ret_err);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_without_the_bit_the_environment_decides(void)
{
	char err[HOST_OUTPUT];

	setenv("TTMEM_RUN_ID", "run", 1);
	TEST_ASSERT_EQUAL_INT(
		ENABLED | STARTED | IN_DIR | RUN_ID, copy_run(0755, err));
	setenv("TTMEM_ENABLED", "0", 1);
	TEST_ASSERT_EQUAL_INT(0, copy_run(0755, err));
	setenv("TTMEM_ENABLED", "1", 1);
	setenv("TTMEM_VERBOSE", "1", 1);
	setenv("TTMEM_DIR", "/proc/no-such-directory", 1);
	TEST_ASSERT_EQUAL_INT(ENABLED, copy_run(0755, err));
	TEST_ASSERT_NOT_NULL(strstr(err, "ttmem:"));
}

static void test_with_the_bit_it_decides_nothing(void)
{
	char err[HOST_OUTPUT];
	size_t found;

	setenv("TTMEM_RUN_ID", "run", 1);
	setenv("TT_ALLOC_TRACKING_ENABLED", "1", 1);
	TEST_ASSERT_EQUAL_INT(SECURE | STARTED, copy_run(04755, err));
	setenv("TTMEM_ENABLED", "0", 1);
	TEST_ASSERT_EQUAL_INT(SECURE | STARTED, copy_run(04755, err));
	free(test_dir_segment(dir, 0, &found));
	TEST_ASSERT_EQUAL_UINT64(0, found);
}

/* The default directory is no good, either: nothing is said. */
static void test_with_the_bit_nothing_is_printed(void)
{
	char err[HOST_OUTPUT];

	setenv("TTMEM_VERBOSE", "1", 1);
	TEST_ASSERT_EQUAL_INT(0, chmod("/dev/shm", 0777));
	TEST_ASSERT_EQUAL_INT(SECURE, copy_run(04755, err));
	TEST_ASSERT_EQUAL_INT(0, chmod("/dev/shm", 01777));
	TEST_ASSERT_EQUAL_STRING("", err);
}

static void skip(const char *why)
{
	fprintf(stderr, "skipped: %s\n", why);
	exit(77);
}

int main(int argc, char **argv)
{
	struct statvfs fs;
	int result;

	if (argc > 2 && !strcmp(argv[1], "copy"))
		return copy_main(argv[2]);
	if (geteuid() != 0)
		skip("needs root");
	mounts_begin();
	/* Where a set-uid program goes by default: nobody else's. */
	mounts_tmpfs("/dev/shm", "");
	if (access("/run/ttmem", F_OK) == 0)
		mounts_tmpfs("/run/ttmem", "");
	chmod("/dev/shm", 01777);
	if (!mkdtemp(folder) || statvfs(folder, &fs) ||
		fs.f_flag & (ST_NOSUID | ST_NOEXEC))
		skip("no set-uid programs in /tmp");
	chmod(folder, 0755);
	UNITY_BEGIN();
	copy_make();
	RUN_TEST(test_without_the_bit_the_environment_decides);
	RUN_TEST(test_with_the_bit_it_decides_nothing);
	RUN_TEST(test_with_the_bit_nothing_is_printed);
	result = UNITY_END();
	unlink(copy);
	rmdir(folder);
	return result;
}
