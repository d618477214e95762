/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several that are called by one logical id before anybody says which chips they are:
 * the sums of each are its own chip's in the end. What records told before stays with
 * the logical id.
 */
#include "daemon/engines.h"

/* A copy of the segment as it is now, of a process that is another one. */
static struct ttm_attached *another_add(
	struct ttm_directory *directory, uint8_t name)
{
	struct ttm_attached *attached = attached_add(
		directory, drained_copy(test_segment_path()));

	attached->header.uuid[0] = name;
	return attached;
}

/* It says which chip its first device is. */
static void chip_tell(struct ttm_attached *attached, uint64_t chip_id)
{
	struct ttm_device device;

	TEST_ASSERT_EQUAL_INT64(sizeof(device),
		pread(attached->fd, &device, sizeof(device), TTM_DEVICES_OFF));
	device.seq += 2;
	device.facts.known |= TTM_FACT_CHIP_ID;
	device.facts.chip_id = chip_id;
	TEST_ASSERT_EQUAL_INT64(sizeof(device),
		pwrite(attached->fd, &device, sizeof(device), TTM_DEVICES_OFF));
	attached->process->due_ns = 0;
	attached->process->devices_wanted = true;
}

/* Of the chip's DRAM objects, as published: how many records told of. */
static uint64_t told_of(uint64_t chip_id, enum ttm_distribution_kind kind)
{
	const struct ttm_distribution_row *row;
	const struct ttm_device_row *device;
	size_t i;

	for (i = 0; i <
		ttm_image_len(engine->output.image, TTM_TABLE_DISTRIBUTIONS);
		i++) {
		row = ttm_image_at(
			engine->output.image, TTM_TABLE_DISTRIBUTIONS, i);
		if (!row->self || row->figure != TTMEM_FIGURE_DRAM ||
			row->kind != kind)
			continue;
		device = ttm_image_row(
			engine->output.image, TTM_TABLE_DEVICES, row->device);
		TEST_ASSERT_NOT_NULL(device);
		if ((device->facts.known & TTM_FACT_CHIP_ID) ?
				device->facts.chip_id == chip_id :
				chip_id == TTMEM_UNKNOWN)
			return row->total;
	}
	return 0;
}

static void sizes_are(uint64_t one, uint64_t other, uint64_t nobody_knows)
{
	TEST_ASSERT_EQUAL_UINT64(one, told_of(17, TTM_DISTRIBUTION_BYTES));
	TEST_ASSERT_EQUAL_UINT64(other, told_of(18, TTM_DISTRIBUTION_BYTES));
	TEST_ASSERT_EQUAL_UINT64(
		nobody_knows, told_of(TTMEM_UNKNOWN, TTM_DISTRIBUTION_BYTES));
}

static struct ttm_attached *sharers[2];

/* Two whose device 0 nobody knows yet, with one object and with three. */
static void sharers_add(void)
{
	struct ttm_directory *directory = directory_add();

	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 100);
	sharers[0] = another_add(directory, 1);
	ttmem_alloc(0, TTMEM_DRAM, 2, 0, 5000);
	ttmem_alloc(0, TTMEM_DRAM, 3, 0, 70000);
	ttmem_free(0, TTMEM_DRAM, 3);
	sharers[1] = another_add(directory, 2);
	look();
	sizes_are(0, 0, 4);
}

static void test_sizes_stay_with_the_logical_id(void)
{
	const struct ttm_device_row *total;

	sharers_add();
	chip_tell(sharers[0], 17);
	look();
	sizes_are(0, 0, 4);
	chip_tell(sharers[1], 18);
	look();
	sizes_are(0, 0, 0);
	TEST_ASSERT_EQUAL_UINT64(2, rows_shown(TTM_TABLE_DEVICES));
	total = &sharers[0]->process->parts[0]->usage.chip->total;
	TEST_ASSERT_EQUAL_UINT64(
		1, total->figures[TTMEM_FIGURE_DRAM].alloc_objects);
	total = &sharers[1]->process->parts[0]->usage.chip->total;
	TEST_ASSERT_EQUAL_UINT64(
		3, total->figures[TTMEM_FIGURE_DRAM].alloc_objects);
}

/* What comes after that is the chip's. */
static void test_sizes_told_later_are_of_the_chip(void)
{
	int fd;

	sharers_add();
	chip_tell(sharers[1], 18);
	look();
	ttmem_alloc(0, TTMEM_DRAM, 4, 0, 100);
	fd = drained_copy(test_segment_path());
	TEST_ASSERT_TRUE(dup2(fd, sharers[1]->fd) >= 0);
	close(fd);
	chip_tell(sharers[1], 18);
	look();
	sizes_are(0, 1, 4);
}

/* Neither what was sampled of both, nor what they did before, is one chip's. */
static void test_rates_and_history_of_all_are_nobodys(void)
{
	struct ttm_device_facts facts = { .known = TTM_FACT_CHIP_ID,
		.chip_id = 17 };
	const struct ttm_chip *chip;

	/* One of them is there already, and nobody uses it. */
	TEST_ASSERT_NOT_NULL(
		ttm_chip_get(&engine->output.chips, TTM_NOBODY, &facts, 5));
	sharers_add();
	chip_tell(sharers[0], 17);
	ttm_chips_tick(&engine->output.chips, 1);
	look();
	ttm_chips_tick(&engine->output.chips, 2);
	chip = sharers[0]->process->parts[0]->usage.chip;
	TEST_ASSERT_EQUAL_UINT64(0, chip->total.events_per_s);
	TEST_ASSERT_EQUAL_UINT64(0, chip->total.alloc_bytes_per_s);
	chip_tell(sharers[1], 18);
	look();
	ttm_chips_tick(&engine->output.chips, 3);
	chip = sharers[1]->process->parts[0]->usage.chip;
	TEST_ASSERT_EQUAL_UINT64(0, chip->total.events_per_s);
	TEST_ASSERT_EQUAL_UINT64(0, chip->total.alloc_bytes_per_s);
	TEST_ASSERT_EQUAL_UINT64(2, rows_shown(TTM_TABLE_HISTORY_1S));
}

/* A successor reads the files of the first `len`, which are what they are by now. */
static void restart(unsigned len)
{
	struct ttm_directory *directory;
	int fds[2];
	unsigned i;

	for (i = 0; i < len; i++)
		fds[i] = dup(sharers[i]->fd);
	engine_end();
	engine_begin();
	directory = directory_add();
	for (i = 0; i < len; i++) {
		sharers[i] = attached_add(directory, fds[i]);
		sharers[i]->header.uuid[0] = (uint8_t)(i + 1);
	}
	look();
}

static void test_sizes_begin_anew_after_a_restart(void)
{
	sharers_add();
	restart(2);
	sizes_are(0, 0, 0);
	TEST_ASSERT_EQUAL_UINT64(2, rows_shown(TTM_TABLE_PROCESSES));
	TEST_ASSERT_EQUAL_UINT64(1, sharers[0]->process->missed);
	TEST_ASSERT_EQUAL_UINT64(1, sharers[0]->process->model.live_objects);
	TEST_ASSERT_EQUAL_UINT64(2, sharers[1]->process->model.live_objects);
}

int main(void)
{
	int failed;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_sizes_stay_with_the_logical_id);
	RUN_TEST(test_sizes_told_later_are_of_the_chip);
	RUN_TEST(test_rates_and_history_of_all_are_nobodys);
	RUN_TEST(test_sizes_begin_anew_after_a_restart);
	failed = UNITY_END();
	rcu_unregister_thread();
	return failed;
}
