/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any word of a segment may be anything: its process is refused with a text, or
 * its own numbers are other ones. Whatever is known of others stays as it was.
 */
#include <stdio.h>

#include "daemon/drained.h"
#include "daemon/model_check.h"
#include "daemon/publish/output.h"
#include "support/test_dir.h"

static struct ttm_output output;
static struct drained good;
static int bad = -1;

static void record(void)
{
	const struct ttmem_core_range range = { 0, 0, 3, 1 };
	const uint32_t devices[] = { 0, 1 };
	struct ttmem_failure failure;
	struct ttmem_device_info info;
	unsigned kind;
	uint32_t mesh;

	ttmem_device_info_init(&info, 0);
	info.chip_id = 17;
	info.cores = 64;
	ttmem_device_open(&info);
	ttmem_scope_push("scope", 0);
	for (kind = 0; kind < 5; kind++)
		ttmem_alloc(0, (enum ttmem_kind)kind, kind, 4096 * kind, 100);
	ttmem_free(0, TTMEM_DRAM, 0);
	ttmem_free(0, TTMEM_DRAM, 0);
	ttmem_cb_alloc(0, 5, 1, 1000, 256, 8, 0);
	ttmem_kernel_load(0, 5, TTMEM_KERNEL_FABRIC, 500, 4, 0);
	ttmem_alloc(1, TTMEM_L1, 8, 0, 100);
	mesh = ttmem_mesh_open(devices, 2);
	ttmem_alloc(mesh, TTMEM_DRAM, 20, 0, 100);
	ttmem_alloc(mesh, TTMEM_DRAM, 21, 0, 100);
	ttmem_free(1, TTMEM_DRAM, 21);
	ttmem_cb_alloc(mesh, 6, 1, 1000, 256, ttmem_core_set(&range, 1), 0);
	ttmem_device_close(1);
	ttmem_failure_init(&failure, 0, TTMEM_L1);
	ttmem_alloc_failed(&failure);
	ttmem_mark("mark");
	ttmem_scope_pop();
}

void setUp(void)
{
	struct ttm_publisher_config config = {
		.directory_fd = -1, .group = (uint32_t)-1, .mode = TTM_MODE_USER
	};

	test_tracking_start();
	record();
	memset(&output, 0, sizeof(output));
	TEST_ASSERT_EQUAL_INT(0, ttm_image_new(&output.image));
	output.chips.image = output.image;
	TEST_ASSERT_EQUAL_INT(0, ttm_publisher_new(&config, &output.publisher));
	bad = drained_copy(test_segment_path());
	drained_open_fd(&good, drained_copy(test_segment_path()));
	TEST_ASSERT_TRUE(drained_last(&good) >= 0);
	TEST_ASSERT_EQUAL_INT(0,
		ttm_output_process(&output, good.process, good.now_ns, true));
}

void tearDown(void)
{
	drained_close(&good);
	close(bad);
	ttm_publisher_free(&output.publisher);
	ttm_chips_free(&output.chips);
	ttm_image_free(&output.image);
	test_tracking_stop();
}

static int step(struct drained *drained, int r)
{
	if (r < 0)
		drained_refuses(drained, r);
	else
		model_check(&drained->process->model);
	return r < 0 ? r : 0;
}

/* The life of a process, until it is refused. */
static void live(struct drained *drained)
{
	struct ttm_process *process = drained->process;
	int r = step(drained, drained_round(drained));

	if (!r)
		r = step(drained,
			ttm_output_process(
				&output, process, drained->now_ns, true));
	if (!r)
		r = step(drained, drained_round(drained));
	if (!r)
		r = step(drained, drained_last(drained));
	if (!r)
		step(drained,
			ttm_output_process(
				&output, process, drained->now_ns, true));
}

/* Every share of the good one as it was, and every sum without the bad one's. */
static void others_are_unharmed(const struct ttm_device_row *totals)
{
	struct ttm_device_row *total;
	struct ttm_chip *chip;
	unsigned i, figure;

	for (i = 0; i < good.process->parts_len; i++) {
		const struct ttm_part *part = good.process->parts[i];
		const struct ttm_share_row *row = ttm_image_row(
			output.image, TTM_TABLE_SHARES, part->usage.row);

		TEST_ASSERT_EQUAL_MEMORY(
			&part->usage.published, row, sizeof(*row));
	}
	for (i = 0, chip = output.chips.first; i < 2; i++, chip = chip->next) {
		total = &chip->total;
		/* A peak that a process claimed stays. */
		for (figure = 0; figure < TTMEM_FIGURES; figure++)
			total->figures[figure]
				.peak_bytes = totals[i]
						      .figures[figure]
						      .peak_bytes;
		TEST_ASSERT_EQUAL_MEMORY(totals[i].figures, total->figures,
			sizeof(totals[i].figures));
		TEST_ASSERT_EQUAL_UINT64(
			totals[i].cb_footprint, total->cb_footprint);
		TEST_ASSERT_EQUAL_UINT64(totals[i].processes, total->processes);
	}
	TEST_ASSERT_EQUAL_UINT64(good.process->model.live_objects,
		ttm_objects_used(output.publisher));
}

static void totals_get(struct ttm_device_row *totals)
{
	const struct ttm_chip *chip;
	unsigned i;

	for (i = 0, chip = output.chips.first; i < 2; i++, chip = chip->next) {
		TEST_ASSERT_NOT_NULL(chip);
		totals[i] = chip->total;
	}
}

static void word_try(uint64_t off, uint64_t value)
{
	uint64_t was = drained_peek(bad, off);
	struct ttm_device_row totals[2];
	struct drained drained;

	if (was == value)
		return;
	totals_get(totals);
	drained_poke(bad, off, value);
	drained_open_fd(&drained, dup(bad));
	live(&drained);
	ttm_output_forget(&output, drained.process);
	drained_close(&drained);
	drained_poke(bad, off, was);
	others_are_unharmed(totals);
}

/* Some values for each word, more of them where bits mean something. */
static void words_try(uint64_t off, uint64_t size)
{
	static uint64_t random = 20261116;
	uint64_t end = off + size;

	for (; off < end; off += 8) {
		uint64_t was = drained_peek(bad, off);
		uint64_t bits = model_random(&random);

		word_try(off, was ^ 1ull << (bits & 63));
		word_try(off, was ^ 0xffull << (bits >> 8 & 63));
		word_try(off, was + 1);
		word_try(off, was - 1);
		word_try(off, was << 32 | was >> 32);
		word_try(off, bits >> 32 & 1 ? UINT64_MAX : bits);
		if (was)
			word_try(off, 0);
	}
}

static void test_the_live_part_of_the_header(void)
{
	words_try(0x800, 0x140);
}

static void test_the_extent_directory(void)
{
	words_try(TTM_DIRECTORY_OFF, 40);
}

static void test_lane_controls(void)
{
	words_try(TTM_LANES_OFF, 0x18);
	words_try(TTM_LANES_OFF + 64, 0x18);
}

static void test_device_entries(void)
{
	words_try(TTM_DEVICES_OFF, 0x28);
	words_try(TTM_DEVICES_OFF + 0x28, 0x70);
	words_try(TTM_DEVICES_OFF + 0x100, 0x240);
	words_try(TTM_DEVICES_OFF + 1024, 0x30);
}

static void test_failures_and_marks(void)
{
	words_try(TTM_FAILURES_OFF, 0x70);
	words_try(TTM_MARKS_OFF, 0x100);
}

static void test_records(void)
{
	words_try(drained_extent(bad, TTM_EXTENT_LANE, 0), 16 * 64);
}

static void test_slots(void)
{
	uint64_t slots = drained_extent(bad, TTM_EXTENT_SLOTS, 0);
	unsigned slot, tried = 0;

	for (slot = 0; slot < TTM_SLOTS_PER_EXTENT && tried < 16; slot++)
		if (drained_peek(bad, slots + slot * 64)) {
			words_try(slots + slot * 64, 64);
			tried++;
		}
}

static void test_counter_blocks(void)
{
	uint64_t blocks = drained_extent(bad, TTM_EXTENT_BLOCKS, 0);

	words_try(blocks, 0x2c0);
	words_try(blocks + 1024, 0x2c0);
	words_try(blocks + 2048, 0x40);
}

static void test_places(void)
{
	words_try(TTM_PLACES_OFF, 5 * 8);
}

static void test_core_sets(void)
{
	words_try(drained_extent(bad, TTM_EXTENT_CORE_SETS, 0), 0x80);
}

static void test_names(void)
{
	words_try(drained_extent(bad, TTM_EXTENT_NAMES, 0), 0x18);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_the_live_part_of_the_header);
	RUN_TEST(test_the_extent_directory);
	RUN_TEST(test_lane_controls);
	RUN_TEST(test_device_entries);
	RUN_TEST(test_failures_and_marks);
	RUN_TEST(test_records);
	RUN_TEST(test_slots);
	RUN_TEST(test_counter_blocks);
	RUN_TEST(test_places);
	RUN_TEST(test_core_sets);
	RUN_TEST(test_names);
	return UNITY_END();
}
