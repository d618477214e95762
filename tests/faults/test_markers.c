/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that could not be tracked leaves a marker with the reason and its run.
 * There are never many of dead processes; those removed are counted.
 */

#include "faults/leftovers.h"
#include "faults/limits.h"

enum {
	MOST = 256,
	PROCESSES = 600,
};

void setUp(void)
{
	leftovers_set_up();
}

void tearDown(void)
{
	leftovers_tear_down();
	unsetenv("TTMEM_RUN_ID");
}

static void fail_to_start(rlim_t file_size)
{
	struct ttmem_status status = { .size = sizeof(status) };

	limit_set(RLIMIT_FSIZE, file_size);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	ttmem_status(&status);
	if (status.state != TTMEM_STATE_UNTRACKED || status.error != -EFBIG)
		_exit(1);
}

/* Returns its pid, when it is gone. */
static pid_t untracked_make(rlim_t file_size)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		fail_to_start(file_size);
		exit(0);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(0, status);
	return pid;
}

/* One that stays until the pipe is closed. */
static pid_t untracked_keep(int limit, rlim_t value, int *ret_release)
{
	int ready[2], release[2];
	char byte = 0;
	pid_t pid;

	TEST_ASSERT_EQUAL_INT(0, pipe(ready));
	TEST_ASSERT_EQUAL_INT(0, pipe(release));
	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		close(release[1]);
		limit_set(limit, value);
		ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		if (read(release[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(ready[1]);
	close(release[0]);
	TEST_ASSERT_EQUAL_INT(1, (int)read(ready[0], &byte, 1));
	close(ready[0]);
	*ret_release = release[1];
	return pid;
}

static void marker_count_is(pid_t pid, uint64_t expected)
{
	DIR *files = opendir(leftovers_user);
	struct dirent *entry;
	uint64_t found = 0;
	char start[32];

	snprintf(start, sizeof(start), "u.%ld.", (long)pid);
	TEST_ASSERT_NOT_NULL(files);
	while ((entry = readdir(files)))
		found += !strncmp(entry->d_name, start, strlen(start));
	closedir(files);
	TEST_ASSERT_EQUAL_UINT64(expected, found);
}

/* Field 22 of its stat line, of a process that is there. */
static unsigned long long start_time(pid_t pid)
{
	unsigned long long start = 0;
	char path[64], line[1024] = "", *at;
	FILE *file;
	int field;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	file = fopen(path, "re");
	TEST_ASSERT_NOT_NULL(file);
	TEST_ASSERT_NOT_NULL(fgets(line, sizeof(line), file));
	fclose(file);
	at = strrchr(line, ')');
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	TEST_ASSERT_NOT_NULL(at);
	sscanf(at, "%llu", &start);
	return start;
}

static void test_name_tells_who_and_why(void)
{
	char path[256];
	struct stat st;
	int release;
	pid_t pid;

	setenv("TTMEM_RUN_ID", "run/7 and more of it", 1);
	pid = untracked_keep(RLIMIT_FSIZE, 4096, &release);
	snprintf(path, sizeof(path), "%s/u.%ld.%llu.%d.%s", leftovers_user,
		(long)pid, start_time(pid), EFBIG,
		"72756e2f3720616e64206d6f7265206f");
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, lstat(path, &st), path);
	TEST_ASSERT_TRUE(S_ISREG(st.st_mode));
	TEST_ASSERT_EQUAL_INT(0600, st.st_mode & 07777);
	TEST_ASSERT_EQUAL_INT(0, (int)st.st_size);
	close(release);
	waitpid(pid, NULL, 0);
	marker_count_is(pid, 1);
}

static void start_twice(void)
{
	fail_to_start(4096);
	if (leftovers_markers() != 1)
		_exit(2);
	limit_set(RLIMIT_FSIZE, RLIM_INFINITY);
	if (ttmem_start(NULL) != 0)
		_exit(3);
	if (leftovers_markers() != 0)
		_exit(4);
}

/* For two reasons; without a descriptor the marker does not say when it started. */
static void start_thrice(void)
{
	fail_to_start(4096);
	limit_set(RLIMIT_FSIZE, RLIM_INFINITY);
	limit_set(RLIMIT_NOFILE, 0);
	if (ttmem_start(NULL) != -EMFILE)
		_exit(2);
	limit_set(RLIMIT_NOFILE, 1000);
	if (leftovers_markers() != 3)
		_exit(3);
	if (ttmem_start(NULL) != 0)
		_exit(4);
	if (leftovers_markers() != 1) /* another one's */
		_exit(5);
}

static void child_is_off(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (ttmem_enabled())
			_exit(1);
		ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
		_exit(leftovers_size(NULL) == 0 ? 0 : 2);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(6);
}

/* What failed and was then stopped is off, in children, too. */
static void start_and_stop(void)
{
	struct ttmem_status status = { .size = sizeof(status) };

	fail_to_start(4096);
	limit_set(RLIMIT_FSIZE, RLIM_INFINITY);
	ttmem_stop();
	ttmem_status(&status);
	if (status.state != TTMEM_STATE_OFF || status.error != 0)
		_exit(2);
	child_is_off();
	if (leftovers_markers() != 1)
		_exit(3);
	if (ttmem_start(NULL) != 0)
		_exit(4);
	if (leftovers_markers() != 0)
		_exit(5);
}

static void work_in_child(void (*work)(void))
{
	int status;
	pid_t pid = fork();

	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		work();
		exit(0);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(0, status);
}

static void test_goes_when_a_later_start_works(void)
{
	work_in_child(start_twice);
}

static void test_a_stop_after_a_failure(void)
{
	work_in_child(start_and_stop);
}

static void test_all_go_when_a_later_start_works(void)
{
	untracked_make(4096);
	work_in_child(start_thrice);
}

static void test_few_are_kept_and_all_are_counted(void)
{
	uint64_t processes = test_scale(PROCESSES), i;
	int release;
	pid_t live = untracked_keep(RLIMIT_FSIZE, 4096, &release);

	if (processes <= MOST)
		processes = MOST + 50;
	for (i = 0; i < processes; i++) {
		untracked_make(4096);
		TEST_ASSERT_TRUE(leftovers_markers() <= MOST + 1);
		TEST_ASSERT_EQUAL_UINT64(
			i + 2, leftovers_markers() + leftovers_lost().markers);
	}
	TEST_ASSERT_TRUE(leftovers_lost().markers > 0);
	TEST_ASSERT_EQUAL_UINT64(0, leftovers_lost().segments);
	marker_count_is(live, 1);
	close(release);
	waitpid(live, NULL, 0);
}

static void marker_fake(uint64_t pid)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/u.%llu.1.28.", leftovers_user,
		(unsigned long long)pid);
	TEST_ASSERT_EQUAL_INT(0, mknod(path, S_IFREG | 0600, 0));
}

/* Of processes that cannot be: their numbers are too high. */
static void markers_fake(uint64_t len)
{
	uint64_t i;

	for (i = 0; i < len; i++)
		marker_fake(4000000 * 500 + i);
}

static void test_up_to_256_stay(void)
{
	markers_fake(MOST);
	leftover_make(LEFTOVER_EXITS, 0, 0);
	TEST_ASSERT_EQUAL_UINT64(MOST, leftovers_markers());
	marker_fake(4000000 * 500 + MOST);
	leftover_make(LEFTOVER_EXITS, 0, 0);
	TEST_ASSERT_TRUE(leftovers_markers() <= MOST);
	TEST_ASSERT_EQUAL_UINT64(
		MOST + 1, leftovers_markers() + leftovers_lost().markers);
}

static void test_stay_where_an_aggregator_serves(void)
{
	int server = leftovers_lock("ttmemd.lock");

	markers_fake(MOST + 20);
	leftover_make(LEFTOVER_EXITS, 0, 0);
	TEST_ASSERT_EQUAL_UINT64(MOST + 20, leftovers_markers());
	close(server);
}

/* Without a descriptor its start time could not be read: it lives all the same. */
static void test_of_a_live_process_without_descriptors_stays(void)
{
	int release;
	pid_t live = untracked_keep(RLIMIT_NOFILE, 0, &release);

	marker_count_is(live, 1);
	markers_fake(MOST + 20);
	leftover_make(LEFTOVER_EXITS, 0, 0);
	TEST_ASSERT_TRUE(leftovers_markers() <= MOST);
	marker_count_is(live, 1);
	close(release);
	waitpid(live, NULL, 0);
}

/* Who may not write a byte into any file must not be killed for counting. */
static void test_tidying_respects_the_limit_for_files(void)
{
	markers_fake(MOST + 20);
	untracked_make(0);
	TEST_ASSERT_EQUAL_UINT64(
		MOST + 21, leftovers_markers() + leftovers_lost().markers);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_name_tells_who_and_why);
	RUN_TEST(test_goes_when_a_later_start_works);
	RUN_TEST(test_all_go_when_a_later_start_works);
	RUN_TEST(test_a_stop_after_a_failure);
	RUN_TEST(test_few_are_kept_and_all_are_counted);
	RUN_TEST(test_up_to_256_stay);
	RUN_TEST(test_stay_where_an_aggregator_serves);
	RUN_TEST(test_of_a_live_process_without_descriptors_stays);
	RUN_TEST(test_tidying_respects_the_limit_for_files);
	return UNITY_END();
}
