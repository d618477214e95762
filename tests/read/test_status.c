/* SPDX-License-Identifier: Apache-2.0 */
/* A reader tells apart why there are no figures, or why they are old. */
#include <signal.h>
#include <sys/wait.h>

#include "read/read.h"

static const char *base;
static struct ttmem_reader *reader;
static pid_t writer;

void setUp(void)
{
	base = test_dir_make();
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(NULL, &reader));
}

void tearDown(void)
{
	agg_writer_end(&writer);
	ttmem_reader_close(&reader);
	test_dir_remove();
}

/* An aggregate in `directory` of the base, which serves st or nobody. */
static void aggregate_put(
	const char *directory, const struct stat *st, char *ret_path)
{
	struct agg_sample sample;
	struct agg agg;

	snprintf(ret_path, AGG_PATH_SIZE, "%s/%s", base, directory);
	mkdir(ret_path, 0755);
	snprintf(ret_path, AGG_PATH_SIZE, "%s/%s/aggregate", base, directory);
	agg_make(&agg, NULL, 16, 0);
	agg_sample(&agg, st ? st->st_dev : 1, st ? st->st_ino : 1, &sample);
	agg_write(&agg, ret_path);
	agg_free(&agg);
}

static void no_figures(uint32_t state, int r)
{
	struct ttmem_snapshot *snapshot = NULL;

	TEST_ASSERT_EQUAL_UINT32(state, state_of(reader));
	TEST_ASSERT_EQUAL_INT(r, ttmem_reader_snapshot(reader, 0, &snapshot));
	TEST_ASSERT_NULL(snapshot);
}

static void figures_of(uint32_t state)
{
	struct ttmem_snapshot *snapshot = NULL;

	TEST_ASSERT_EQUAL_UINT32(state, state_of(reader));
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_snapshot(reader, 0, &snapshot));
	TEST_ASSERT_EQUAL_UINT64(state, ttmem_snapshot_info(snapshot)->source);
	ttmem_snapshot_free(&snapshot);
	TEST_ASSERT_NULL(snapshot);
}

static void test_nothing_there_is_never_started(void)
{
	struct ttmem_reader_status status;

	no_figures(TTMEM_SOURCE_NEVER_STARTED, -ENODATA);
	status = status_of(reader);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, status.age_ns);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, status.pid);
}

static void test_no_base_directory(void)
{
	struct ttmem_reader_config config = { .size = sizeof(config),
		.dir = "/dev/shm/ttmem-test-is-not-there" };

	ttmem_reader_close(&reader);
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(&config, &reader));
	no_figures(TTMEM_SOURCE_NO_BASE, -ENODATA);
	TEST_ASSERT_EQUAL_INT(-ENOENT, status_of(reader).error);
	ttmem_reader_close(&reader);
	config.dir = "/proc";
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(&config, &reader));
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_NO_BASE, state_of(reader));
	TEST_ASSERT_EQUAL_INT(-EMEDIUMTYPE, status_of(reader).error);
}

static void test_locked_and_fresh_is_ok(void)
{
	char path[AGG_PATH_SIZE];
	struct ttmem_reader_status status;

	agg_sample_write(base, path);
	writer = agg_writer_start(path);
	figures_of(TTMEM_SOURCE_OK);
	status = status_of(reader);
	TEST_ASSERT_EQUAL_STRING(path, status.path);
	TEST_ASSERT_EQUAL_UINT64(1, status.directories);
	TEST_ASSERT_EQUAL_UINT64(1, status.served);
	TEST_ASSERT_EQUAL_UINT64(1, status.publication);
	TEST_ASSERT_EQUAL_UINT64(getpid(), status.pid);
	TEST_ASSERT_TRUE(status.age_ns < 5000000000u);
}

static void test_unlocked_is_dead_and_still_readable(void)
{
	char path[AGG_PATH_SIZE];

	agg_sample_write(base, path);
	figures_of(TTMEM_SOURCE_DEAD);
	TEST_ASSERT_TRUE(status_of(reader).age_ns < 60000000000u);
}

static void test_the_lock_of_a_reader_is_no_sign_of_life(void)
{
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1
	};
	char path[AGG_PATH_SIZE], c;
	int ready[2];

	agg_sample_write(base, path);
	TEST_ASSERT_EQUAL_INT(0, pipe(ready));
	writer = fork();
	if (writer == 0) {
		int fd = open(path, O_RDONLY);

		if (fcntl(fd, F_SETLK, &lock) < 0)
			_exit(1);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	TEST_ASSERT_EQUAL_INT(1, read(ready[0], &c, 1));
	close(ready[0]);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_DEAD, state_of(reader));
}

static void test_locked_without_heartbeat_is_stale(void)
{
	struct ttmem_reader_config config = { .size = sizeof(config),
		.stale_ns = 30000000000u };
	char path[AGG_PATH_SIZE];
	struct agg_sample sample;
	struct agg agg;
	struct stat st;

	own_directory(base, path, &st);
	strcat(path, "/aggregate");
	agg_make(&agg, NULL, 16, 0);
	agg_sample(&agg, st.st_dev, st.st_ino, &sample);
	agg_put64(&agg, AGG_LIVE, agg_now() - 20000000000u);
	agg_write(&agg, path);
	agg_free(&agg);
	writer = agg_writer_start(path);
	figures_of(TTMEM_SOURCE_STALE);
	ttmem_reader_close(&reader);
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(&config, &reader));
	figures_of(TTMEM_SOURCE_OK);
}

static void test_the_system_one_that_does_not_know_us(void)
{
	struct ttmem_reader_config config = { .size = sizeof(config),
		.flags = TTMEM_READER_SYSTEM };
	char path[AGG_PATH_SIZE];
	struct stat st;

	aggregate_put("ttmem-system", NULL, path);
	writer = agg_writer_start(path);
	/* Nothing of ours is there to be served; this is nobody's. */
	snprintf(path, sizeof(path), "%s/ttmem-test.1", base);
	TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
	figures_of(TTMEM_SOURCE_OK);
	own_directory(base, path, &st);
	figures_of(TTMEM_SOURCE_NOT_SERVING);
	ttmem_reader_close(&reader);
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(&config, &reader));
	figures_of(TTMEM_SOURCE_OK);
}

static void test_the_one_that_lives_wins(void)
{
	char path[AGG_PATH_SIZE], own[AGG_PATH_SIZE];
	struct stat st;

	own_directory(base, own, &st);
	aggregate_put("ttmem-system", &st, path);
	agg_sample_write(base, own);
	writer = agg_writer_start(own);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_OK, state_of(reader));
	TEST_ASSERT_EQUAL_STRING(own, status_of(reader).path);
	agg_writer_end(&writer);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_DEAD, state_of(reader));
	writer = agg_writer_start(path);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_OK, state_of(reader));
	TEST_ASSERT_EQUAL_STRING(path, status_of(reader).path);
}

static void test_another_version(void)
{
	char path[AGG_PATH_SIZE];
	struct agg agg;
	struct stat st;

	own_directory(base, path, &st);
	strcat(path, "/aggregate");
	agg_make(&agg, NULL, 16, 0);
	agg_put32(&agg, 0x08, 4);
	agg_write(&agg, path);
	no_figures(TTMEM_SOURCE_VERSION, -ENODATA);
	agg_put32(&agg, 0x08, 3);
	agg_put64(&agg, 0x10, 12345); /* another layout of the same version */
	agg_seal(&agg);
	agg_write(&agg, path);
	no_figures(TTMEM_SOURCE_VERSION, -ENODATA);
	agg_free(&agg);
}

static void test_broken(void)
{
	char path[AGG_PATH_SIZE];
	struct agg agg;
	struct stat st;

	own_directory(base, path, &st);
	strcat(path, "/aggregate");
	agg_make(&agg, NULL, 16, 0);
	agg.bytes[0x30] ^= 1; /* and the checksum stays */
	agg_write(&agg, path);
	no_figures(TTMEM_SOURCE_BROKEN, -ENODATA);
	agg_seal(&agg);
	agg.size = 5000;
	agg_write(&agg, path);
	no_figures(TTMEM_SOURCE_BROKEN, -ENODATA);
	agg.size = 100;
	agg_write(&agg, path);
	no_figures(TTMEM_SOURCE_BROKEN, -ENODATA);
	agg.size = 0;
	agg_write(&agg, path);
	no_figures(TTMEM_SOURCE_BROKEN, -ENODATA);
	agg_free(&agg);
}

static void test_what_is_no_file_is_broken_and_does_not_block(void)
{
	char path[AGG_PATH_SIZE];
	struct stat st;

	own_directory(base, path, &st);
	strcat(path, "/aggregate");
	TEST_ASSERT_EQUAL_INT(0, mkfifo(path, 0600));
	no_figures(TTMEM_SOURCE_BROKEN, -ENODATA);
	unlink(path);
	TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
	no_figures(TTMEM_SOURCE_BROKEN, -ENODATA);
	rmdir(path);
	TEST_ASSERT_EQUAL_INT(0, symlink("/etc/passwd", path));
	no_figures(TTMEM_SOURCE_BROKEN, -ENODATA);
}

static void test_writable_by_others_is_not_trusted(void)
{
	char path[AGG_PATH_SIZE];

	agg_sample_write(base, path);
	TEST_ASSERT_EQUAL_INT(0, chmod(path, 0664));
	no_figures(TTMEM_SOURCE_NO_PERMISSION, -ENODATA);
	TEST_ASSERT_EQUAL_INT(-EPERM, status_of(reader).error);
	chmod(path, 0600);
	figures_of(TTMEM_SOURCE_DEAD);
}

/* As another user, in a process of its own. */
static void as_nobody(void (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(2);
		ttmem_reader_close(&reader);
		TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(NULL, &reader));
		run();
		_exit(Unity.CurrentTestFailed ? 1 : 0);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	TEST_ASSERT_EQUAL_INT(0, WEXITSTATUS(status));
}

static void sees_no_permission(void)
{
	no_figures(TTMEM_SOURCE_NO_PERMISSION, -ENODATA);
	TEST_ASSERT_EQUAL_INT(-EACCES, status_of(reader).error);
}

static void sees_ok(void)
{
	figures_of(TTMEM_SOURCE_OK);
}

static void sees_never_started(void)
{
	no_figures(TTMEM_SOURCE_NEVER_STARTED, -ENODATA);
}

static void test_root_s_aggregate_as_another_user(void)
{
	char path[AGG_PATH_SIZE], own[AGG_PATH_SIZE];

	if (geteuid() != 0)
		TEST_IGNORE_MESSAGE("needs root");
	chmod(base, 01777);
	/* Root's own is not another user's. */
	agg_sample_write(base, own);
	as_nobody(sees_never_started);
	aggregate_put("ttmem-system", NULL, path);
	writer = agg_writer_start(path);
	as_nobody(sees_ok);
	chmod(path, 0600);
	as_nobody(sees_no_permission);
}

static void sees_not_trusted(void)
{
	no_figures(TTMEM_SOURCE_NO_PERMISSION, -ENODATA);
	TEST_ASSERT_EQUAL_INT(-EPERM, status_of(reader).error);
}

static void test_a_squatted_system_directory_is_not_trusted(void)
{
	char path[AGG_PATH_SIZE], directory[AGG_PATH_SIZE];

	if (geteuid() != 0)
		TEST_IGNORE_MESSAGE("needs root");
	chmod(base, 01777);
	aggregate_put("ttmem-system", NULL, path);
	snprintf(directory, sizeof(directory), "%s/ttmem-system", base);
	TEST_ASSERT_EQUAL_INT(0, chown(directory, 1234, 1234));
	as_nobody(sees_not_trusted);
	TEST_ASSERT_EQUAL_INT(0, chown(directory, 0, 0));
	TEST_ASSERT_EQUAL_INT(0, chown(path, 1234, 1234));
	as_nobody(sees_not_trusted);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_NO_PERMISSION, state_of(reader));
}

static void test_arguments(void)
{
	struct ttmem_reader_config config = { .size = 1 };
	struct ttmem_reader_status status = { .size = 1 };
	struct ttmem_snapshot *snapshot = NULL;
	struct ttmem_reader *other = NULL;
	char longer[1000];

	TEST_ASSERT_EQUAL_INT(-EINVAL, ttmem_reader_open(&config, &other));
	config.size = sizeof(config);
	config.flags = 0x80;
	TEST_ASSERT_EQUAL_INT(-EINVAL, ttmem_reader_open(&config, &other));
	config.flags = 0;
	config.dir = "relative";
	TEST_ASSERT_EQUAL_INT(-EINVAL, ttmem_reader_open(&config, &other));
	memset(longer, '/', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	config.dir = longer;
	TEST_ASSERT_EQUAL_INT(
		-ENAMETOOLONG, ttmem_reader_open(&config, &other));
	TEST_ASSERT_NULL(other);
	TEST_ASSERT_EQUAL_INT(-EINVAL, ttmem_reader_status(reader, &status));
	TEST_ASSERT_EQUAL_INT(-EINVAL, ttmem_reader_status(reader, NULL));
	TEST_ASSERT_EQUAL_INT(
		-EINVAL, ttmem_reader_snapshot(reader, 8, &snapshot));
	ttmem_reader_close(&other);
	ttmem_reader_close(NULL);
	ttmem_snapshot_free(&snapshot);
	ttmem_snapshot_free(NULL);
}

static void test_an_explicit_file_is_not_asked_whom_it_serves(void)
{
	char path[AGG_PATH_SIZE];
	struct stat st;

	own_directory(base, path, &st);
	aggregate_put("elsewhere", NULL, path);
	ttmem_reader_close(&reader);
	reader = reader_of(path);
	writer = agg_writer_start(path);
	figures_of(TTMEM_SOURCE_OK);
	agg_writer_end(&writer);
	figures_of(TTMEM_SOURCE_DEAD);
	unlink(path);
	no_figures(TTMEM_SOURCE_NEVER_STARTED, -ENODATA);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_nothing_there_is_never_started);
	RUN_TEST(test_no_base_directory);
	RUN_TEST(test_locked_and_fresh_is_ok);
	RUN_TEST(test_unlocked_is_dead_and_still_readable);
	RUN_TEST(test_the_lock_of_a_reader_is_no_sign_of_life);
	RUN_TEST(test_locked_without_heartbeat_is_stale);
	RUN_TEST(test_the_system_one_that_does_not_know_us);
	RUN_TEST(test_the_one_that_lives_wins);
	RUN_TEST(test_another_version);
	RUN_TEST(test_broken);
	RUN_TEST(test_what_is_no_file_is_broken_and_does_not_block);
	RUN_TEST(test_writable_by_others_is_not_trusted);
	RUN_TEST(test_root_s_aggregate_as_another_user);
	RUN_TEST(test_a_squatted_system_directory_is_not_trusted);
	RUN_TEST(test_arguments);
	RUN_TEST(test_an_explicit_file_is_not_asked_whom_it_serves);
	return UNITY_END();
}
