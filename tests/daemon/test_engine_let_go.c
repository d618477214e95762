/* SPDX-License-Identifier: Apache-2.0 */
/* Processes whose directory is renamed: let go, and taken up again. */
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

/* Its live objects are read again, and none of its records is counted twice. */
static void test_records_of_who_was_let_go_are_not_counted_again(void)
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
			1, distribution_total(TTMEM_FIGURE_DRAM));
		TEST_ASSERT_EQUAL_UINT64(
			turn, attached->process->model.live_objects);
		/* The opening of the device, and the allocations. */
		TEST_ASSERT_EQUAL_UINT64(1 + turn, attached->process->events);
		TEST_ASSERT_EQUAL_UINT64(
			turn > 1 ? 1 + turn : 0, attached->process->missed);
		directory_lose(directory);
	}
}

/* Nor are those of one that a predecessor may have read. */
static void test_records_from_before_a_restart_are_missed(void)
{
	const char *path = getenv("TTMEM_DIR");
	struct ttm_attached *attached;
	int fd;

	chip_use(0, 17, 0x100);
	attached_add(directory_serve(path), drained_copy(test_segment_path()));
	look();
	TEST_ASSERT_EQUAL_UINT64(1, distribution_total(TTMEM_FIGURE_DRAM));
	ttmem_alloc(0, TTMEM_DRAM, 7, 0, 100);
	engine_end();
	engine_begin();
	attached = attached_add(
		directory_serve(path), drained_copy(test_segment_path()));
	look();
	TEST_ASSERT_EQUAL_UINT64(0, distribution_total(TTMEM_FIGURE_DRAM));
	TEST_ASSERT_EQUAL_UINT64(2, attached->process->model.live_objects);
	TEST_ASSERT_EQUAL_UINT64(3, attached->process->missed);
	TEST_ASSERT_EQUAL_UINT64(3, engine->stats.missed);
	/* Later records are read. */
	ttmem_alloc(0, TTMEM_DRAM, 8, 0, 100);
	fd = drained_copy(test_segment_path());
	TEST_ASSERT_TRUE(dup2(fd, attached->fd) >= 0);
	close(fd);
	attached->process->due_ns = 0;
	look();
	TEST_ASSERT_EQUAL_UINT64(1, distribution_total(TTMEM_FIGURE_DRAM));
	TEST_ASSERT_EQUAL_UINT64(3, attached->process->model.live_objects);
	TEST_ASSERT_EQUAL_UINT64(3, attached->process->missed);
}

/* Who begins after the start has no past that anybody could have read. */
static void test_records_of_who_began_since_are_read(void)
{
	struct ttm_attached *attached;

	engine_end();
	engine_begin();
	look();
	engine_end();
	engine_begin();
	TEST_ASSERT_EQUAL_UINT64(engine->started_ns, engine->read_before_ns);
	chip_use(0, 17, 0x100);
	attached = attached_add(directory_serve(getenv("TTMEM_DIR")),
		drained_copy(test_segment_path()));
	TEST_ASSERT_TRUE(attached->header.monotonic_base_ns > 0);
	attached->header.monotonic_base_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	look();
	TEST_ASSERT_EQUAL_UINT64(1, distribution_total(TTMEM_FIGURE_DRAM));
	TEST_ASSERT_EQUAL_UINT64(0, attached->process->missed);
}

/* Its file may come back under its name. */
static void test_records_of_who_was_in_quarantine_are_not_counted_again(void)
{
	const char *path = getenv("TTMEM_DIR");
	struct ttm_directory *directory = directory_serve(path);
	struct ttm_attached *attached;
	unsigned turn;

	chip_use(0, 17, 0x100);
	for (turn = 0; turn < 3; turn++) {
		attached = attached_add(
			directory, drained_copy(test_segment_path()));
		look();
		TEST_ASSERT_EQUAL_UINT64(
			1, distribution_total(TTMEM_FIGURE_DRAM));
		ttm_engine_quarantine(engine, attached->process);
		attached->vanished = 1;
		look();
	}
}

/* A process of this user is read, and let go when its broken file is removed. */
static void process_let_go(struct ttm_directory *directory)
{
	struct ttm_attached *attached = attached_add(
		directory, drained_copy(test_segment_path()));

	attached->header.uuid[0] ^= 1;
	look();
	ttm_engine_quarantine(engine, attached->process);
	attached->vanished = 1;
	look();
}

/* Attaches a process that began before; returns how many of its records are missed. */
static uint64_t process_missed(struct ttm_directory *directory)
{
	struct ttm_attached *attached = attached_add(
		directory, drained_copy(test_segment_path()));

	look();
	return attached->process->missed;
}

static void test_a_user_makes_no_other_users_records_missed(void)
{
	struct ttm_directory *mine = directory_add(), *theirs = directory_add();

	mine->uid = geteuid();
	theirs->uid = geteuid() + 1;
	chip_use(0, 17, 0x100);
	process_let_go(theirs);
	TEST_ASSERT_EQUAL_UINT64(0, process_missed(mine));
	TEST_ASSERT_EQUAL_UINT64(2, process_missed(theirs));
}

/* With more users than there is room for, none is forgotten. */
static void test_processes_of_many_users_are_not_counted_again(void)
{
	struct ttm_directory *directories[TTM_LET_GO_USERS + 1];
	unsigned i;

	chip_use(0, 17, 0x100);
	for (i = 0; i <= TTM_LET_GO_USERS; i++) {
		directories[i] = directory_add();
		directories[i]->uid = i;
		process_let_go(directories[i]);
	}
	for (i = 0; i <= TTM_LET_GO_USERS; i++)
		TEST_ASSERT_EQUAL_UINT64(2, process_missed(directories[i]));
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
	RUN_TEST(test_records_of_who_was_let_go_are_not_counted_again);
	RUN_TEST(test_records_from_before_a_restart_are_missed);
	RUN_TEST(test_records_of_who_began_since_are_read);
	RUN_TEST(test_records_of_who_was_in_quarantine_are_not_counted_again);
	RUN_TEST(test_a_user_makes_no_other_users_records_missed);
	RUN_TEST(test_processes_of_many_users_are_not_counted_again);
	RUN_TEST(test_who_ended_is_shown_once_under_another_name);
	failed = UNITY_END();
	rcu_unregister_thread();
	return failed;
}
