/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that ended stay listed, their flows stay counted, each exactly once. */
#include "daemon/retirees_open.h"

static void everything(void)
{
	struct ttmem_failure failure;

	ttmem_scope_push("matmul", 0);
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 1000);
	ttmem_alloc(0, TTMEM_L1, 2, 0, 100);
	ttmem_free(0, TTMEM_L1, 2);
	ttmem_cb_alloc(0, 5, 2, 0x2000, 256, 8, 0);
	ttmem_kernel_load(1, 5, TTMEM_KERNEL_APPLICATION, 50, 2, 0);
	ttmem_kernel_load(1, 5, TTMEM_KERNEL_APPLICATION, 50, 2, 0);
	ttmem_failure_init(&failure, 0, TTMEM_L1);
	failure.bytes = 99;
	failure.largest_free_per_bank = 9;
	ttmem_alloc_failed(&failure);
	ttmem_mark("here");
	ttmem_scope_pop();
}

static void process_open(struct drained *drained)
{
	drained_open_fd(drained, drained_copy(test_segment_path()));
	drained->attached.directory = &directory;
	TEST_ASSERT_TRUE(drained_last(drained) >= 0);
	TEST_ASSERT_EQUAL_INT(0,
		ttm_output_process(
			&output, drained->process, drained->now_ns, true));
}

static void test_a_retired_process_is_listed_with_what_it_left(void)
{
	const struct ttm_process_row *row;
	struct drained drained;
	struct flows flows;
	unsigned again;

	everything();
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	process_open(&drained);
	flows = flows_now();
	TEST_ASSERT_EQUAL_UINT64(1, flows.dispatches[0]);
	TEST_ASSERT_EQUAL_INT(
		0, ttm_retirees_add(retirees, &output, drained.process, 1234));
	TEST_ASSERT_EQUAL_UINT64(0, drained.process->row);
	for (again = 0; again < 2; again++) {
		flows_are(&flows);
		TEST_ASSERT_EQUAL_UINT64(3, orphans());
		TEST_ASSERT_EQUAL_UINT64(3, ttm_objects_used(output.publisher));
		row = process_row();
		TEST_ASSERT_EQUAL_UINT64(TTM_PROCESS_DIED, row->state);
		TEST_ASSERT_EQUAL_UINT64(1234, row->retired_ns);
		TEST_ASSERT_EQUAL_UINT64(3, row->objects);
		TEST_ASSERT_EQUAL_UINT64(0, row->unlisted);
		TEST_ASSERT_EQUAL_UINT64(1, described().retired);
		TEST_ASSERT_TRUE(ttm_retirees_has(
			retirees, drained.attached.header.uuid));
		restart();
	}
	drained_close(&drained);
}

static void test_without_room_nothing_is_retired_and_nothing_lost(void)
{
	struct drained drained;
	struct flows flows;
	uint64_t left;

	everything();
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	process_open(&drained);
	flows = flows_now();
	for (left = 0; left < 3000; left += 500) {
		short_writes_left = left;
		TEST_ASSERT_EQUAL_INT(-ENOSPC,
			ttm_retirees_add(
				retirees, &output, drained.process, 1));
		short_writes_left = UINT64_MAX;
		TEST_ASSERT_TRUE(drained.process->row != 0);
		flows_are(&flows);
		TEST_ASSERT_EQUAL_UINT64(3, ttm_objects_used(output.publisher));
	}
	TEST_ASSERT_EQUAL_INT(
		0, ttm_retirees_add(retirees, &output, drained.process, 1));
	flows_are(&flows);
	drained_close(&drained);
	restart();
	flows_are(&flows);
	TEST_ASSERT_EQUAL_UINT64(1, described().retired);
}

static void test_survivors_beyond_the_cap_are_counted(void)
{
	uint64_t i, more = TTM_SURVIVORS_MAX + 10;
	struct drained drained;

	for (i = 0; i < more; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 1);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	process_open(&drained);
	TEST_ASSERT_EQUAL_INT(
		0, ttm_retirees_add(retirees, &output, drained.process, 1));
	drained_close(&drained);
	TEST_ASSERT_EQUAL_UINT64(TTM_SURVIVORS_MAX, process_row()->objects);
	TEST_ASSERT_EQUAL_UINT64(10, process_row()->unlisted);
	TEST_ASSERT_EQUAL_UINT64(more, orphans());
	TEST_ASSERT_EQUAL_UINT64(
		TTM_SURVIVORS_MAX, ttm_objects_used(output.publisher));
}

/* Its owner removed it: who ended before went with it, who ends now is in a new one. */
static void test_who_ends_after_the_file_was_removed_is_in_the_next_one(void)
{
	uint64_t uuid[2] = { 1, 0 };
	struct drained drained;
	struct flows flows;

	many(1);
	everything();
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	TEST_ASSERT_FALSE(ttm_retirees_are_behind(retirees));
	process_open(&drained);
	TEST_ASSERT_EQUAL_INT(0, unlinkat(directory.fd, TTM_RETIRED_FILE, 0));
	TEST_ASSERT_EQUAL_INT(-ESTALE,
		ttm_retirees_add(retirees, &output, drained.process, 1));
	TEST_ASSERT_TRUE(drained.process->row != 0);
	TEST_ASSERT_TRUE(ttm_retirees_are_behind(retirees));
	ttm_retirees_forget(retirees, &output);
	ttm_retirees_close(&retirees);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_INT(
		0, ttm_retirees_add(retirees, &output, drained.process, 1));
	restart();
	flows_are(&flows);
	TEST_ASSERT_EQUAL_UINT64(1, described().retired);
	TEST_ASSERT_TRUE(
		ttm_retirees_has(retirees, drained.attached.header.uuid));
	TEST_ASSERT_FALSE(ttm_retirees_has(retirees, (const uint8_t *)uuid));
	drained_close(&drained);
}

/* -- broken files ------------------------------------------------------------------ */

static void test_a_file_that_cannot_be_loaded_counts_for_nothing(void)
{
	struct ttm_retired_head head = { .magic = TTM_RETIRED_MAGIC,
		.version = TTM_RETIRED_VERSION,
		.size = 12345 };
	struct flows flows, none;
	unsigned i;
	int fd;

	many(2400);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows = flows_now();
	TEST_ASSERT_EQUAL_INT(0, ttm_retirees_trim(retirees, &output));
	output_end();
	output_begin();
	none = flows_now();
	fd = openat(directory.fd, TTM_RETIRED_FILE,
		O_WRONLY | O_APPEND | O_CLOEXEC);
	TEST_ASSERT_EQUAL_INT64(sizeof(head), write(fd, &head, sizeof(head)));
	close(fd);
	for (i = 0; i < 3; i++) {
		short_writes_left = 0;
		TEST_ASSERT_EQUAL_INT(-ENOSPC, retirees_open());
		short_writes_left = UINT64_MAX;
		TEST_ASSERT_NULL(retirees);
		flows_are(&none);
		TEST_ASSERT_EQUAL_UINT64(0, ttm_objects_used(output.publisher));
	}
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	flows_are(&flows);
	/* That something was behind the break is told. */
	TEST_ASSERT_EQUAL_UINT64(1, described().dropped_processes);
}

/* After an upgrade, or back: leak checks know, and the next one is retired. */
static void test_the_file_of_another_version_is_one_that_was_dropped(void)
{
	uint32_t version = TTM_RETIRED_VERSION + 1;
	struct drained drained;
	unsigned i;
	int fd;

	everything();
	many(20);
	fd = openat(directory.fd, TTM_RETIRED_FILE, O_WRONLY | O_CLOEXEC);
	TEST_ASSERT_EQUAL_INT64(sizeof(version),
		pwrite(fd, &version, sizeof(version),
			offsetof(struct ttm_retired_head, version)));
	close(fd);
	TEST_ASSERT_EQUAL_INT(0, retirees_open());
	process_open(&drained);
	TEST_ASSERT_EQUAL_INT(
		0, ttm_retirees_add(retirees, &output, drained.process, 1));
	drained_close(&drained);
	for (i = 0; i < 2; i++) {
		TEST_ASSERT_EQUAL_UINT64(1, described().retired);
		TEST_ASSERT_EQUAL_UINT64(1, described().dropped_processes);
		restart();
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_retired_process_is_listed_with_what_it_left);
	RUN_TEST(test_without_room_nothing_is_retired_and_nothing_lost);
	RUN_TEST(test_survivors_beyond_the_cap_are_counted);
	RUN_TEST(test_who_ends_after_the_file_was_removed_is_in_the_next_one);
	RUN_TEST(test_a_file_that_cannot_be_loaded_counts_for_nothing);
	RUN_TEST(test_the_file_of_another_version_is_one_that_was_dropped);
	return UNITY_END();
}
