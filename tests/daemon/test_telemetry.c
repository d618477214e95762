/* SPDX-License-Identifier: Apache-2.0 */
/* A thread per device: what waits for one holds up nobody else. */
#include <errno.h>
#include <inttypes.h>

#include "daemon/sensors/telemetry.h"
#include "daemon/telemetry_tree.h"
#include "shm/clock.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

static struct ttm_telemetry *telemetry;

void setUp(void)
{
	tree_roots(test_dir_make());
}

void tearDown(void)
{
	ttm_telemetry_free(&telemetry);
	test_dir_remove();
}

static uint64_t now(void)
{
	return ttm_clock_ns(CLOCK_MONOTONIC);
}

static void telemetry_start(void)
{
	struct ttm_telemetry_config config = { .sysfs_root = tree_sysfs,
		.proc_root = tree_proc };

	TEST_ASSERT_EQUAL_INT(0, ttm_telemetry_new(&config, &telemetry));
}

/* The row of a device of that number; false: there is none now. */
static bool report_of(uint64_t number, struct ttm_telemetry_row *ret_row)
{
	const struct ttm_report *report;
	bool found = false;
	uint64_t busy_ns;
	size_t i;

	rcu_read_lock();
	for (i = 0; i < TTM_WORKERS_MAX && !found; i++) {
		report = ttm_telemetry_report(telemetry, i, now(), &busy_ns);
		if (!report || report->row.number != number)
			continue;
		*ret_row = report->row;
		ret_row->busy_ns = busy_ns;
		found = true;
	}
	rcu_read_unlock();
	return found;
}

static size_t reports_count(void)
{
	uint64_t busy_ns;
	size_t i, count = 0;

	rcu_read_lock();
	for (i = 0; i < TTM_WORKERS_MAX; i++)
		if (ttm_telemetry_report(telemetry, i, now(), &busy_ns))
			count++;
	rcu_read_unlock();
	return count;
}

/* Looks until it is so; a test that waits for long has failed. */
#define UNTIL(condition)                                                       \
	do {                                                                   \
		uint64_t until = now() + 20 * SECOND;                          \
                                                                               \
		while (!(condition)) {                                         \
			TEST_ASSERT_TRUE_MESSAGE(now() < until, #condition);   \
			usleep(2000);                                          \
		}                                                              \
	} while (0)

static struct ttm_telemetry_row row;

static void fifo_make(unsigned number, const char *name)
{
	unlink(tree_path(number, name));
	TEST_ASSERT_EQUAL_INT(0, mkfifo(tree_path(number, name), 0644));
}

/* Whoever waits for it reads this, and goes on. */
static void fifo_answer(unsigned number, const char *name, const char *content)
{
	int fd = open(tree_path(number, name), O_WRONLY);

	TEST_ASSERT_TRUE(fd >= 0);
	unlink(tree_path(number, name)); /* from now on it is another one */
	TEST_ASSERT_EQUAL_INT64(
		(int64_t)strlen(content), write(fd, content, strlen(content)));
	close(fd);
}

static void test_no_driver_no_devices(void)
{
	telemetry_start();
	TEST_ASSERT_EQUAL_UINT64(0, reports_count());
	/* It goes on looking: one that comes is the first, and the only one. */
	tree_device(3);
	UNTIL(reports_count() != 0);
	TEST_ASSERT_EQUAL_UINT64(1, reports_count());
}

static void test_every_device_is_read_every_second(void)
{
	uint64_t rounds;

	tree_device(0);
	tree_device(5);
	telemetry_start();
	UNTIL(report_of(0, &row) && row.rounds > 0);
	TEST_ASSERT_EQUAL_UINT64(1350, row.aiclk_mhz);
	rounds = row.rounds;
	tree_put(0, "tt_aiclk", "900\n");
	UNTIL(report_of(0, &row) && row.rounds > rounds);
	UNTIL(report_of(0, &row) && row.aiclk_mhz == 900);
	UNTIL(report_of(5, &row) && row.rounds > 0);
	TEST_ASSERT_EQUAL_HEX64(TTMEM_PCI_ADDRESS(0, 5, 0, 0), row.pci_address);
	TEST_ASSERT_EQUAL_UINT64(0, row.busy_ns);
	TEST_ASSERT_EQUAL_UINT64(2, reports_count());
}

static void test_other_names_are_no_devices(void)
{
	char path[TREE_PATH_SIZE];

	tree_device(0);
	snprintf(path, sizeof(path), "%s/class/tenstorrent/tenstorrent!x",
		tree_sysfs);
	tree_directory(path);
	snprintf(
		path, sizeof(path), "%s/class/tenstorrent/other!1", tree_sysfs);
	tree_directory(path);
	snprintf(path, sizeof(path), "%s/class/tenstorrent/tenstorrent!9x",
		tree_sysfs);
	tree_directory(path);
	telemetry_start();
	UNTIL(report_of(0, &row) && row.rounds > 1);
	TEST_ASSERT_EQUAL_UINT64(1, reports_count());
}

static void test_a_device_comes_and_goes(void)
{
	char path[TREE_PATH_SIZE], away[TREE_PATH_SIZE];

	tree_device(0);
	telemetry_start();
	UNTIL(report_of(0, &row));
	tree_device(1);
	UNTIL(report_of(1, &row) && row.chip_id != TTMEM_UNKNOWN);
	snprintf(path, sizeof(path), "%s", tree_path(1, ""));
	path[strlen(path) - 1] = '\0';
	snprintf(away, sizeof(away), "%s/away", tree_sysfs);
	TEST_ASSERT_EQUAL_INT(0, rename(path, away));
	UNTIL(!report_of(1, &row));
	TEST_ASSERT_TRUE(report_of(0, &row));
	TEST_ASSERT_EQUAL_INT(0, rename(away, path));
	UNTIL(report_of(1, &row) && row.rounds > 0);
}

/* The device shows all it had said before, with their times; the other goes on. */
static void test_a_read_that_blocks_delays_no_other_device(void)
{
	uint64_t time_ns, rounds;

	tree_device(0);
	tree_device(1);
	telemetry_start();
	UNTIL(report_of(1, &row) && row.rounds > 0);
	fifo_make(1, "tt_heartbeat");
	UNTIL(report_of(1, &row) && row.busy_ns);
	time_ns = row.times_ns[TTM_READING_HEARTBEAT];
	rounds = row.rounds;
	TEST_ASSERT_EQUAL_UINT64(4711, row.heartbeat);
	TEST_ASSERT_TRUE(time_ns < row.busy_ns);
	tree_put(0, "tt_heartbeat", "1\n");
	UNTIL(report_of(0, &row) && row.heartbeat == 1);
	TEST_ASSERT_EQUAL_UINT64(0, row.busy_ns);
	TEST_ASSERT_TRUE(report_of(1, &row));
	TEST_ASSERT_EQUAL_UINT64(rounds, row.rounds);
	TEST_ASSERT_EQUAL_UINT64(time_ns, row.times_ns[TTM_READING_HEARTBEAT]);
	fifo_answer(1, "tt_heartbeat", "4712\n");
	UNTIL(report_of(1, &row) && row.heartbeat == 4712);
	UNTIL(report_of(1, &row) && !row.busy_ns && row.rounds > rounds);
}

/* The very first read blocks: what comes before it is shown all the same. */
static void test_a_device_that_never_answers_is_there(void)
{
	tree_device(0);
	fifo_make(0, "tt_asic_id");
	telemetry_start();
	UNTIL(report_of(0, &row) && row.busy_ns);
	TEST_ASSERT_EQUAL_HEX64(TTMEM_PCI_ADDRESS(0, 0, 0, 0), row.pci_address);
	TEST_ASSERT_EQUAL_STRING("blackhole", row.arch);
	TEST_ASSERT_EQUAL_UINT64(0, row.holders);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, row.chip_id);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, row.aiclk_mhz);
	TEST_ASSERT_EQUAL_INT64(TTM_TEMPERATURE_UNKNOWN, row.temperature_mc);
	TEST_ASSERT_EQUAL_UINT64(0, row.times_ns[TTM_READING_AICLK]);
	fifo_answer(0, "tt_asic_id", "1\n");
	UNTIL(report_of(0, &row) && row.rounds > 0);
}

/*
 * A device for each attribute, which does not answer: what was read before is
 * shown, the one beside them goes on, and so do they when they are answered.
 */
static void test_each_attribute_may_block(void)
{
	uint64_t rounds;
	unsigned i;

	for (i = 0; i < TREE_FILES; i++) {
		tree_device(i);
		fifo_make(i, tree_files[i].name);
	}
	tree_device(TREE_FILES);
	telemetry_start();
	for (i = 0; i < TREE_FILES; i++)
		UNTIL(report_of(i, &row) && row.busy_ns && !row.rounds);
	UNTIL(report_of(TREE_FILES, &row) && row.rounds > 0);
	rounds = row.rounds;
	UNTIL(report_of(TREE_FILES, &row) && row.rounds > rounds);
	for (i = 0; i < TREE_FILES; i++) {
		TEST_ASSERT_TRUE(report_of(i, &row));
		TEST_ASSERT_EQUAL_UINT64(0, row.rounds);
		fifo_answer(i, tree_files[i].name, tree_files[i].content);
		tree_put(i, tree_files[i].name, tree_files[i].content);
	}
	for (i = 0; i < TREE_FILES; i++)
		UNTIL(report_of(i, &row) && row.rounds > 0 && !row.busy_ns);
}

/* Its old worker may wait for ever: the device that came back has another. */
static void test_a_blocked_device_comes_back_as_another(void)
{
	char path[TREE_PATH_SIZE], away[TREE_PATH_SIZE];

	tree_device(0);
	fifo_make(0, "tt_asic_id");
	telemetry_start();
	UNTIL(report_of(0, &row));
	snprintf(path, sizeof(path), "%s", tree_path(0, ""));
	path[strlen(path) - 1] = '\0';
	snprintf(away, sizeof(away), "%s/away", tree_sysfs);
	TEST_ASSERT_EQUAL_INT(0, rename(path, away));
	UNTIL(!report_of(0, &row));
	tree_device(0);
	UNTIL(report_of(0, &row) && row.rounds > 0);
	TEST_ASSERT_EQUAL_HEX64(0x00c0ffee0000beefu, row.chip_id);
	TEST_ASSERT_EQUAL_UINT64(1, reports_count());
}

static void test_the_end_does_not_wait_for_a_device(void)
{
	uint64_t begin;

	tree_device(0);
	tree_device(1);
	fifo_make(0, "tt_aiclk");
	telemetry_start();
	UNTIL(report_of(1, &row) && row.rounds > 0);
	begin = now();
	ttm_telemetry_free(&telemetry);
	TEST_ASSERT_TRUE(now() - begin < 5 * SECOND);
	TEST_ASSERT_NULL(telemetry);
}

static void test_many_devices(void)
{
	unsigned i;

	for (i = 0; i < 32; i++)
		tree_device(i);
	telemetry_start();
	UNTIL(reports_count() == 32);
	for (i = 0; i < 32; i++)
		UNTIL(report_of(i, &row) && row.rounds > 1);
}

int main(void)
{
	int status;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_no_driver_no_devices);
	RUN_TEST(test_every_device_is_read_every_second);
	RUN_TEST(test_other_names_are_no_devices);
	RUN_TEST(test_a_device_comes_and_goes);
	RUN_TEST(test_a_read_that_blocks_delays_no_other_device);
	RUN_TEST(test_a_device_that_never_answers_is_there);
	RUN_TEST(test_each_attribute_may_block);
	RUN_TEST(test_a_blocked_device_comes_back_as_another);
	RUN_TEST(test_the_end_does_not_wait_for_a_device);
	RUN_TEST(test_many_devices);
	status = UNITY_END();
	rcu_unregister_thread();
	return status;
}
