/* SPDX-License-Identifier: Apache-2.0 */
/* Processes whose directory is renamed: let go, and taken up again where they were. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/engines.h"
#include "shm/clock.h"
#include "support/test_dir.h"

/* A directory with a file of retired ones, as after each renaming. */
static struct ttm_directory *directory_serve(const char *path)
{
	struct ttm_directory *directory = directory_add();
	struct stat st;

	directory->state = TTM_DIRECTORY_SERVED;
	directory->uid = geteuid();
	directory->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_TRUE(directory->fd >= 0);
	TEST_ASSERT_EQUAL_INT(0, fstat(directory->fd, &st));
	directory->device = st.st_dev;
	directory->inode = st.st_ino;
	return directory;
}

/* The watch misses its name; it is still somewhere. */
static void directory_lose(struct ttm_directory *directory)
{
	directory->gone = 1;
	look();
	TEST_ASSERT_EQUAL_UINT64(0, rows_shown(TTM_TABLE_PROCESSES));
	ttm_engine_directories(engine, ttm_clock_ns(CLOCK_MONOTONIC));
	TEST_ASSERT_EQUAL_UINT64(1, directory->released);
	TEST_ASSERT_TRUE(ttm_registry_tidy(directory));
}

static void test_who_was_let_go_goes_on_where_he_was(void)
{
	const char *path = getenv("TTMEM_DIR");
	struct ttm_attached *attached;
	unsigned turn;

	chip_open(0, 17, 0x100);
	for (turn = 1; turn <= 3; turn++) {
		struct ttm_directory *directory = directory_serve(path);

		ttmem_alloc(0, TTMEM_DRAM, turn, 0, 100);
		attached = attached_add(
			directory, drained_copy(test_segment_path()));
		look();
		TEST_ASSERT_EQUAL_UINT64(
			turn, distribution_total(TTMEM_FIGURE_DRAM));
		TEST_ASSERT_EQUAL_UINT64(
			turn, attached->process->model.live_objects);
		directory_lose(directory);
		TEST_ASSERT_TRUE(rows_shown(TTM_TABLE_POSITIONS) > 0);
	}
}

static void goes_on_with_a_successor(void)
{
	const char *path = getenv("TTMEM_DIR");
	struct ttm_directory *directory = directory_serve(path);
	unsigned turn;

	attached_add(directory, drained_copy(test_segment_path()));
	look();
	directory_lose(directory);
	look();
	for (turn = 0; turn < 2; turn++) {
		ttm_engine_free(&engine);
		ttm_registry_free(&registry);
		engine_start(path);
		look();
		TEST_ASSERT_EQUAL_UINT64(
			1, distribution_total(TTMEM_FIGURE_DRAM));
	}
	ttmem_alloc(0, TTMEM_DRAM, 7, 0, 100);
	attached_add(directory_serve(path), drained_copy(test_segment_path()));
	look();
	TEST_ASSERT_EQUAL_UINT64(2, distribution_total(TTMEM_FIGURE_DRAM));
}

/* So does who comes back to another ttmemd, whoever of them let him go. */
static void test_who_was_let_go_goes_on_with_a_successor(void)
{
	chip_use(0, 17, 0x100);
	goes_on_with_a_successor();
}

/* And so does his device, of which only the number is known. */
static void test_the_device_of_who_was_let_go_stays_for_a_successor(void)
{
	ttmem_alloc(0, TTMEM_DRAM, 0, 0, 100);
	goes_on_with_a_successor();
}

/* A successor puts him there again, but not what his records told. */
static void test_records_of_who_is_in_quarantine_are_not_counted_again(void)
{
	const char *path = getenv("TTMEM_DIR");
	struct ttm_attached *attached;
	unsigned turn;

	chip_use(0, 17, 0x100);
	for (turn = 0; turn < 3; turn++) {
		attached = attached_add(directory_serve(path),
			drained_copy(test_segment_path()));
		look();
		TEST_ASSERT_EQUAL_UINT64(
			1, distribution_total(TTMEM_FIGURE_DRAM));
		ttm_engine_quarantine(engine, attached->process);
		look();
		TEST_ASSERT_TRUE(rows_shown(TTM_TABLE_POSITIONS) > 0);
		ttm_engine_free(&engine);
		ttm_registry_free(&registry);
		engine_start(path);
	}
}

static void test_who_ended_elsewhere_is_not_waited_for(void)
{
	const char *path = getenv("TTMEM_DIR");
	char elsewhere[] = "/dev/shm/ttmem-test.elsewhere.XXXXXX";
	struct ttm_directory *directory = directory_serve(path);
	struct ttm_registry *registry_here = registry;
	struct ttm_engine *engine_here = engine;

	TEST_ASSERT_NOT_NULL(mkdtemp(elsewhere));
	chip_use(0, 17, 0x100);
	attached_add(directory, drained_copy(test_segment_path()));
	look();
	directory_lose(directory);
	engine_start(elsewhere);
	attached_add(directory_serve(path), drained_copy(test_segment_path()))
		->fate = TTM_FATE_DEAD;
	look();
	look();
	TEST_ASSERT_EQUAL_UINT64(0, engine->attached);
	ttm_engine_free(&engine);
	ttm_registry_free(&registry);
	TEST_ASSERT_EQUAL_INT(0, test_dir_remove_tree(elsewhere));
	registry = registry_here;
	engine = engine_here;
	TEST_ASSERT_TRUE(rows_shown(TTM_TABLE_POSITIONS) > 0);
	directory_serve(path);
	look();
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_PROCESSES));
	TEST_ASSERT_EQUAL_UINT64(0, rows_shown(TTM_TABLE_POSITIONS));
}

/* Its directory has another name, and somebody in it is still to be let go. */
static void test_who_ended_is_shown_once_under_another_name(void)
{
	const char *path = getenv("TTMEM_DIR");
	struct ttm_directory *directory = directory_serve(path);
	struct ttm_attached *attached;

	chip_use(0, 17, 0x100);
	attached_add(directory, drained_copy(test_segment_path()))
		->fate = TTM_FATE_DEAD;
	look();
	look();
	attached = attached_add(directory, drained_copy(test_segment_path()));
	attached->header.uuid[0] ^= 1;
	look();
	TEST_ASSERT_EQUAL_UINT64(2, rows_shown(TTM_TABLE_PROCESSES));
	directory->gone = 1;
	directory_serve(path);
	look();
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_PROCESSES));
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_SHARES));
	look();
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_PROCESSES));
	TEST_ASSERT_EQUAL_UINT64(1, directory->released);
}

int main(void)
{
	int failed;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_who_was_let_go_goes_on_where_he_was);
	RUN_TEST(test_who_was_let_go_goes_on_with_a_successor);
	RUN_TEST(test_the_device_of_who_was_let_go_stays_for_a_successor);
	RUN_TEST(test_records_of_who_is_in_quarantine_are_not_counted_again);
	RUN_TEST(test_who_ended_elsewhere_is_not_waited_for);
	RUN_TEST(test_who_ended_is_shown_once_under_another_name);
	failed = UNITY_END();
	rcu_unregister_thread();
	return failed;
}
