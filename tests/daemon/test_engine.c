/* SPDX-License-Identifier: Apache-2.0 */
/* The engine beside what a watch may bring it: whatever that is, it goes on. */
#include "daemon/engines.h"

#include <pthread.h>
#include <stdio.h>

#include "shm/atomics.h"
#include "shm/clock.h"

static void test_a_directory_that_is_gone_stays_while_anything_is_in_it(void)
{
	struct ttm_directory *directory = directory_add();
	struct ttm_attached *attached;

	look();
	attached = attached_add(directory, -1);
	look();
	TEST_ASSERT_TRUE(attached->process->quarantined);
	/* Removed with what is in it; the watch says so of the one first. */
	directory->gone = 1;
	ttm_engine_directories(engine, ttm_clock_ns(CLOCK_MONOTONIC));
	TEST_ASSERT_EQUAL_UINT64(0, directory->released);
	attached->vanished = 1;
	look();
	look();
	TEST_ASSERT_EQUAL_UINT64(1, directory->released);
	TEST_ASSERT_TRUE(ttm_registry_tidy(directory));
}

/* Its file of retired ones could not be had, and now there is no place for one. */
static void test_a_process_of_a_removed_directory_ends_with_it(void)
{
	struct ttm_directory *directory = directory_add();
	char path[] = "/dev/shm/ttmem-test.removed.XXXXXX";
	struct ttm_attached *attached;

	TEST_ASSERT_NOT_NULL(mkdtemp(path));
	directory->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_TRUE(directory->fd >= 0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	attached = attached_add(directory, drained_copy(test_segment_path()));
	look();
	TEST_ASSERT_NOT_NULL(attached->process);
	TEST_ASSERT_EQUAL_INT(0, rmdir(path));
	directory->gone = 1;
	attached->fate = TTM_FATE_DEAD;
	look();
	look();
	TEST_ASSERT_EQUAL_UINT64(0, engine->attached);
	TEST_ASSERT_EQUAL_UINT64(0, engine->retire_errors);
	ttm_engine_directories(engine, ttm_clock_ns(CLOCK_MONOTONIC));
	TEST_ASSERT_EQUAL_UINT64(1, directory->released);
	TEST_ASSERT_TRUE(ttm_registry_tidy(directory));
}

static uint32_t untracked_shown(void)
{
	const struct ttm_untracked_row *row;

	look();
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_UNTRACKED));
	row = ttm_image_at(engine->output.image, TTM_TABLE_UNTRACKED, 0);
	return row->pid;
}

/* Between two looks the watch may free one set and get its memory for another. */
static void test_markers_at_the_address_of_others_are_shown(void)
{
	struct ttm_markers *markers = calloc(
		1, sizeof(*markers) + sizeof(markers->markers[0]));

	TEST_ASSERT_NOT_NULL(markers);
	markers->number = 1;
	markers->len = 1;
	markers->markers[0].directory = directory_add();
	markers->markers[0].pid = 17;
	ttm_registry_set_markers(registry, markers);
	TEST_ASSERT_EQUAL_UINT32(17, untracked_shown());
	markers->number = 3;
	markers->markers[0].pid = 18;
	TEST_ASSERT_EQUAL_UINT32(18, untracked_shown());
	ttm_registry_set_markers(registry, NULL);
	look();
	TEST_ASSERT_EQUAL_UINT64(0, rows_shown(TTM_TABLE_UNTRACKED));
}

static void test_one_chip_at_two_addresses_is_one_chip(void)
{
	struct ttm_attached *attached;
	const struct ttm_chip *chip;

	chip_use(0, 17, 0x100);
	chip_use(1, 17, 0x200);
	chip_use(2, TTMEM_UNKNOWN, 0x100);
	attached = attached_add(
		directory_add(), drained_copy(test_segment_path()));
	look();
	attached->process->changed = true;
	look();
	chip = attached->process->parts[0]->usage.chip;
	TEST_ASSERT_NOT_NULL(chip);
	TEST_ASSERT_EQUAL_PTR(chip, attached->process->parts[1]->usage.chip);
	TEST_ASSERT_TRUE(
		chip->total.figures[TTMEM_FIGURE_DRAM].live_bytes >= 200);
}

/* -- between two looks ------------------------------------------------------------- */

/* Part of the segment as it is now, into the copy that the engine reads. */
static void copy_refresh(
	const struct ttm_attached *attached, uint64_t off, uint64_t size)
{
	int fd = open(test_segment_path(), O_RDONLY | O_CLOEXEC);
	char *bytes = malloc(size);
	ssize_t n;

	TEST_ASSERT_NOT_NULL(bytes);
	n = pread(fd, bytes, size, (off_t)off);
	TEST_ASSERT_TRUE(n > 0);
	TEST_ASSERT_EQUAL_INT64(
		n, pwrite(attached->fd, bytes, (size_t)n, (off_t)off));
	free(bytes);
	close(fd);
}

static void look_at_all(const struct ttm_attached *attached)
{
	copy_refresh(attached, 0, 1u << 24);
	attached->process->due_ns = 0;
	attached->process->devices_wanted = true;
	look();
}

/* An entry is taken, and its thread is held up before it says for what. */
static struct ttm_attached *entry_only_taken(void)
{
	struct ttm_device taken = { .head = TTM_DEVICE_HEAD(0,
					    TTM_DEVICE_READY |
						    TTM_DEVICE_CURRENT) };
	struct ttm_attached *attached;

	chip_open(0, 17, 0x100);
	attached = attached_add(
		directory_add(), drained_copy(test_segment_path()));
	TEST_ASSERT_EQUAL_INT64(sizeof(taken),
		pwrite(attached->fd, &taken, sizeof(taken), TTM_DEVICES_OFF));
	look();
	TEST_ASSERT_TRUE(attached->process->parts[0]->ready);
	TEST_ASSERT_EQUAL_UINT64(0, rows_shown(TTM_TABLE_DEVICES));
	TEST_ASSERT_EQUAL_UINT64(0, rows_shown(TTM_TABLE_SHARES));
	return attached;
}

static void test_a_device_is_shown_once_it_is_told(void)
{
	struct ttm_attached *attached = entry_only_taken();

	look_at_all(attached);
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_DEVICES));
	TEST_ASSERT_EQUAL_UINT64(17,
		attached->process->parts[0]->usage.chip->total.facts.chip_id);
}

/* What is told of a record goes to the device, not to one that nobody knows. */
static void test_the_first_record_finds_what_was_told_before_it(void)
{
	struct ttm_attached *attached = entry_only_taken();

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	look_at_all(attached);
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_DEVICES));
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_DISTRIBUTIONS));
}

static void test_a_failure_is_shown_with_its_device(void)
{
	struct ttmem_failure failure;
	struct ttm_attached *attached;

	chip_use(0, 17, 0x100);
	attached = attached_add(
		directory_add(), drained_copy(test_segment_path()));
	look();
	chip_open(1, 18, 0x200);
	ttmem_failure_init(&failure, 1, TTMEM_DRAM);
	ttmem_alloc_failed(&failure);
	look_at_all(attached);
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_FAILURES));
	TEST_ASSERT_EQUAL_HEX64(2,
		((const struct ttm_failure_row *)ttm_image_at(
			 engine->output.image, TTM_TABLE_FAILURES, 0))
			->members);
}

/* A process whose counters take long to read has names before they are read again. */
static void test_an_object_is_shown_with_its_scope(void)
{
	struct ttm_attached *attached;

	chip_use(0, 17, 0x100);
	attached = attached_add(
		directory_add(), drained_copy(test_segment_path()));
	look();
	attached->process->counters_cost_ns = 1ull << 56;
	ttmem_scope_push("the first name", 0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	ttmem_scope_pop();
	look_at_all(attached);
	TEST_ASSERT_EQUAL_UINT64(2, attached->process->model.live_objects);
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_NAMES));
}

static void *allocates(void *unused)
{
	ttmem_alloc(0, TTMEM_DRAM, 9, 0, 100);
	return unused;
}

/* A thread allocates after another has closed the device, whose tail was read before. */
static void test_an_object_is_no_orphan_because_its_device_was_closed(void)
{
	struct ttm_lane_control before;
	const struct ttm_share_row *share;
	struct ttm_attached *attached;
	pthread_t thread;

	chip_open(0, 17, 0x100);
	attached = attached_add(
		directory_add(), drained_copy(test_segment_path()));
	look();
	attached->process->counters_cost_ns = 1ull << 56;
	TEST_ASSERT_EQUAL_INT64(sizeof(before),
		pread(attached->fd, &before, sizeof(before), TTM_LANES_OFF));
	ttmem_device_close(0);
	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, allocates, NULL));
	TEST_ASSERT_EQUAL_INT(0, pthread_join(thread, NULL));
	copy_refresh(attached, 0, 1u << 24);
	TEST_ASSERT_EQUAL_INT64(sizeof(before),
		pwrite(attached->fd, &before, sizeof(before), TTM_LANES_OFF));
	attached->process->due_ns = 0;
	look();
	share = ttm_image_row(engine->output.image, TTM_TABLE_SHARES,
		attached->process->parts[0]->usage.row);
	TEST_ASSERT_NOT_NULL(share);
	TEST_ASSERT_EQUAL_UINT64(
		0, share->figures[TTMEM_FIGURE_DRAM].orphaned_objects);
	TEST_ASSERT_EQUAL_UINT64(
		1, share->figures[TTMEM_FIGURE_DRAM].live_objects);
}

/* It was killed while it opened its device once more: what it told stands. */
static void test_a_device_stays_told_where_its_process_died_telling(void)
{
	uint64_t seq_off = TTM_DEVICES_OFF + offsetof(struct ttm_device, seq);
	struct ttm_attached *attached;
	uint64_t odd = 3;

	chip_use(0, 17, 0x100);
	attached = attached_add(
		directory_add(), drained_copy(test_segment_path()));
	TEST_ASSERT_EQUAL_INT64(sizeof(odd),
		pwrite(attached->fd, &odd, sizeof(odd), (off_t)seq_off));
	attached->fate = TTM_FATE_DEAD;
	look();
	TEST_ASSERT_NOT_NULL(attached->process->parts[0]->usage.chip);
	TEST_ASSERT_EQUAL_UINT64(TTM_IDENTITY_CHIP,
		attached->process->parts[0]->usage.chip->total.identity);
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_DEVICES));
}

/* So soon after the last scan none is due; but what is shown has to be. */
static void test_nothing_is_shown_that_misses_what_was_missed(void)
{
	const struct ttm_share_row *share;
	struct ttm_attached *attached;
	unsigned i;

	chip_open(0, 17, 0x100);
	for (i = 0; i < 100; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 100);
	attached = attached_add(
		directory_add(), drained_copy(test_segment_path()));
	look();
	for (i = 0; i < 100; i++)
		ttmem_free(0, TTMEM_DRAM, i);
	for (i = 0; i < TTM_LANE_RECORDS; i++) {
		ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
		ttmem_free(0, TTMEM_DRAM, 1);
	}
	copy_refresh(attached, 0, 1u << 24);
	attached->process->due_ns = 0;
	attached->process->scanned_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	look();
	TEST_ASSERT_TRUE(attached->process->missed > 0);
	share = ttm_image_row(engine->output.image, TTM_TABLE_SHARES,
		attached->process->parts[0]->usage.row);
	TEST_ASSERT_NOT_NULL(share);
	TEST_ASSERT_EQUAL_UINT64(
		0, share->figures[TTMEM_FIGURE_DRAM].live_objects);
}

/* -- who is known better by now --------------------------------------------------- */

static void tells_more(uint64_t pci_first)
{
	struct ttm_attached *attached;

	if (pci_first != TTMEM_UNKNOWN)
		chip_open(0, TTMEM_UNKNOWN, pci_first);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	attached = attached_add(
		directory_add(), drained_copy(test_segment_path()));
	look();
	ttm_chips_tick(&engine->output.chips, 1);
	TEST_ASSERT_EQUAL_UINT64(1, distribution_total(TTMEM_FIGURE_DRAM));
	chip_open(0, 17, 0x100);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 100);
	look_at_all(attached);
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_DEVICES));
	/* Distributions stay with the old identity of the device; live objects move. */
	TEST_ASSERT_EQUAL_UINT64(0, distribution_total(TTMEM_FIGURE_DRAM));
	TEST_ASSERT_EQUAL_UINT64(2,
		attached->process->parts[0]
			->usage.chip->total.figures[TTMEM_FIGURE_DRAM]
			.live_objects);
	TEST_ASSERT_EQUAL_UINT64(17,
		attached->process->parts[0]->usage.chip->total.facts.chip_id);
}

static void test_what_a_logical_id_did_is_the_chips(void)
{
	tells_more(TTMEM_UNKNOWN);
}

static void test_what_an_address_did_is_the_chips(void)
{
	tells_more(0x100);
	TEST_ASSERT_EQUAL_UINT64(1, rows_shown(TTM_TABLE_HISTORY_1S));
}

/* -- another's home ---------------------------------------------------------------- */

static void test_nothing_is_published_where_another_serves(void)
{
	struct stat before, after;
	int fd;

	look();
	fd = openat(engine->config.directory_fd, "another",
		O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	TEST_ASSERT_EQUAL_INT(0, fstat(fd, &before));
	close(fd);
	TEST_ASSERT_EQUAL_INT(0,
		renameat(engine->config.directory_fd, "another",
			engine->config.directory_fd, TTM_AGGREGATE_FILE));
	ttm_store(&registry->home_is_held, 1);
	TEST_ASSERT_EQUAL_INT(-EBUSY, ttm_engine_first(engine));
	TEST_ASSERT_EQUAL_INT(0,
		fstatat(engine->config.directory_fd, TTM_AGGREGATE_FILE, &after,
			0));
	TEST_ASSERT_EQUAL_UINT64(before.st_ino, after.st_ino);
	/* The other has ended. */
	ttm_store(&registry->home_is_held, 0);
	look();
	TEST_ASSERT_EQUAL_INT(0,
		fstatat(engine->config.directory_fd, TTM_AGGREGATE_FILE, &after,
			0));
	TEST_ASSERT_NOT_EQUAL(before.st_ino, after.st_ino);
}

int main(void)
{
	int failed;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_a_directory_that_is_gone_stays_while_anything_is_in_it);
	RUN_TEST(test_markers_at_the_address_of_others_are_shown);
	RUN_TEST(test_one_chip_at_two_addresses_is_one_chip);
	RUN_TEST(test_a_device_is_shown_once_it_is_told);
	RUN_TEST(test_the_first_record_finds_what_was_told_before_it);
	RUN_TEST(test_a_failure_is_shown_with_its_device);
	RUN_TEST(test_a_process_of_a_removed_directory_ends_with_it);
	RUN_TEST(test_an_object_is_shown_with_its_scope);
	RUN_TEST(test_an_object_is_no_orphan_because_its_device_was_closed);
	RUN_TEST(test_a_device_stays_told_where_its_process_died_telling);
	RUN_TEST(test_nothing_is_shown_that_misses_what_was_missed);
	RUN_TEST(test_what_a_logical_id_did_is_the_chips);
	RUN_TEST(test_what_an_address_did_is_the_chips);
	RUN_TEST(test_nothing_is_published_where_another_serves);
	failed = UNITY_END();
	rcu_unregister_thread();
	return failed;
}
