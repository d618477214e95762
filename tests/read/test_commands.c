/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines that the aggregate does not have are read where the caller may. */
#include "read/read.h"
#include "shm/aggregate.h"
#include "shm/identity.h"
#include "shm/retired.h"

static const char *base;
static char own[AGG_PATH_SIZE];
static struct agg agg;

void setUp(void)
{
	struct agg_sample sample;
	struct stat st;

	base = test_dir_make();
	own_directory(base, own, &st);
	agg_make(&agg, NULL, 16, 0);
	agg_sample(&agg, st.st_dev, st.st_ino, &sample);
	agg_put_text(
		&agg, agg_row(&agg, 0, AGG_DIRECTORIES, 0) + 0x78, 256, own);
}

void tearDown(void)
{
	agg_free(&agg);
	test_dir_remove();
}

/* Process 0 has no command line, this start time and this pid namespace. */
static void process_be_us(uint64_t start_time, uint64_t pid_namespace)
{
	uint64_t at = agg_row(&agg, 0, AGG_PROCESSES, 0);

	agg_put32(&agg, at + 0x38, (uint32_t)getpid());
	agg_put64(&agg, at + 0x40, pid_namespace);
	agg_put64(&agg, at + 0x48, start_time);
	memset(agg.bytes + at + 0x238, 0, 512);
}

/* The first argument of a process of the sample, "" without any. */
static void expect_command(unsigned process, const char *expected)
{
	const struct ttmem_process_row *row;
	struct ttmem_snapshot *snapshot = NULL;
	char path[AGG_PATH_SIZE + 16];
	struct ttmem_reader *reader;

	snprintf(path, sizeof(path), "%s/aggregate", own);
	agg_mirror(&agg);
	agg_write(&agg, path);
	reader = reader_of(path);
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_snapshot(reader, 0, &snapshot));
	row = ttmem_snapshot_process(snapshot, process);
	TEST_ASSERT_EQUAL_STRING(
		expected, row->cmdline_len ? row->cmdline[0] : "");
	ttmem_snapshot_free(&snapshot);
	ttmem_reader_close(&reader);
}

static const char *our_command(void)
{
	static char text[512];

	text[ttm_file_read(
		"/proc/self/cmdline", text, sizeof(text) - 1)] = '\0';
	return text;
}

static void test_a_living_process_is_asked_for_in_proc(void)
{
	process_be_us(ttm_start_time_read("/proc/self/stat"),
		ttm_pid_namespace_read());
	expect_command(0, our_command());
}

static void test_another_start_time_is_another_process(void)
{
	process_be_us(ttm_start_time_read("/proc/self/stat") + 1,
		ttm_pid_namespace_read());
	expect_command(0, "");
	process_be_us(0, ttm_pid_namespace_read());
	expect_command(0, "");
}

static void test_a_pid_of_another_namespace_is_another_process(void)
{
	process_be_us(ttm_start_time_read("/proc/self/stat"),
		ttm_pid_namespace_read() + 1);
	expect_command(0, "");
	process_be_us(ttm_start_time_read("/proc/self/stat"), 0);
	expect_command(0, "");
}

/* -- dead ones ----------------------------------------------------------------- */

struct entry {
	struct ttm_retired_head head;
	struct ttm_process_row process;
};

/* Process 1 of the sample, which has died, has no command line. */
static struct entry dead_entry(void)
{
	uint64_t at = agg_row(&agg, 0, AGG_PROCESSES, 1);
	struct entry entry;

	memset(agg.bytes + at + 0x238, 0, 512);
	memset(&entry, 0, sizeof(entry));
	entry.head.magic = TTM_RETIRED_MAGIC;
	entry.head.version = TTM_RETIRED_VERSION;
	entry.head.kind = TTM_RETIRED_PROCESS;
	entry.head.size = sizeof(entry);
	memcpy(entry.process.uuid, agg.bytes + at + 0x10, 16);
	memcpy(entry.process.cmdline, "dead", 5);
	return entry;
}

static void retired_write(const struct entry *entries, size_t size)
{
	char path[AGG_PATH_SIZE + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/" TTM_RETIRED_FILE, own);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	TEST_ASSERT_EQUAL_INT64(size, write(fd, entries, size));
	close(fd);
}

static void test_a_dead_process_is_in_the_file_of_its_owner(void)
{
	struct entry entries[2] = { dead_entry(), dead_entry() };

	expect_command(1, "");
	entries[0].process.uuid[0] ^= 1;
	memcpy(entries[0].process.cmdline, "other", 6);
	retired_write(entries, sizeof(entries));
	expect_command(1, "dead");
	/* Without its magic it is not there. */
	entries[1].head.magic = 0;
	retired_write(entries, sizeof(entries));
	expect_command(1, "");
}

static void test_a_file_that_is_none_is_not_believed(void)
{
	static const uint64_t sizes[] = { 0, 8, sizeof(struct entry) - 1,
		UINT64_MAX, UINT64_MAX - sizeof(struct entry) + 1,
		TTM_RETIRED_SIZE_MAX + 1 };
	struct entry entries[2] = { dead_entry(), dead_entry() };
	size_t i;

	entries[0].process.uuid[0] ^= 1;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		entries[0].head.size = sizes[i];
		retired_write(entries, sizeof(entries));
		expect_command(1, "");
	}
	entries[0].head.size = sizeof(entries[0]);
	entries[1].head.version++;
	retired_write(entries, sizeof(entries));
	expect_command(1, "");
	retired_write(entries, sizeof(entries) - 1);
	expect_command(1, "");
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_living_process_is_asked_for_in_proc);
	RUN_TEST(test_another_start_time_is_another_process);
	RUN_TEST(test_a_pid_of_another_namespace_is_another_process);
	RUN_TEST(test_a_dead_process_is_in_the_file_of_its_owner);
	RUN_TEST(test_a_file_that_is_none_is_not_believed);
	return UNITY_END();
}
