/* SPDX-License-Identifier: Apache-2.0 */
/* What the shares of a chip add up to, and what it was like before. */
#include <hdr/hdr_histogram.h>
#include <stdlib.h>

#include "daemon/chips.h"
#include "daemon/model_check.h"

/* -- sums -------------------------------------------------------------------- */

static struct ttm_share_row share_random(uint64_t *random)
{
	struct ttm_share_row share;
	uint64_t *words = (uint64_t *)&share;
	size_t i;

	for (i = 0; i < sizeof(share) / sizeof(*words); i++)
		words[i] = model_random(random);
	share.open = words[0] & 1;
	return share;
}

static void test_what_was_added_is_taken_back(void)
{
	struct ttm_chip *chip = get(1, 7, 0);
	struct ttm_device_row before = chip->total;
	struct ttm_share_row shares[16];
	uint64_t random = 5;
	unsigned i;

	for (i = 0; i < 16; i++) {
		shares[i] = share_random(&random);
		ttm_chip_count(chip, NULL, &shares[i]);
	}
	for (i = 0; i < 100; i++) {
		struct ttm_share_row now = share_random(&random);

		ttm_chip_count(chip, &shares[i % 16], &now);
		shares[i % 16] = now;
	}
	TEST_ASSERT_TRUE(chip->total.processes <= 16);
	for (i = 0; i < 16; i++)
		ttm_chip_count(chip, &shares[i], NULL);
	/* Peaks stay. */
	chip->total.dram_peak = 0;
	chip->total.l1_tensix_peak = 0;
	for (i = 0; i < TTMEM_FIGURES; i++)
		chip->total.figures[i].peak_bytes = 0;
	TEST_ASSERT_EQUAL_MEMORY(&before, &chip->total, sizeof(before));
}

static void test_a_process_counts_while_it_has_it_open_or_objects(void)
{
	struct ttm_chip *chip = get(1, 7, 0);
	struct ttm_share_row share, other;

	memset(&share, 0, sizeof(share));
	share.figures[0].orphaned_objects = 5;
	ttm_chip_count(chip, NULL, &share);
	TEST_ASSERT_EQUAL_UINT64(0, chip->total.processes);
	other = share;
	other.open = 1;
	ttm_chip_count(chip, &share, &other);
	TEST_ASSERT_EQUAL_UINT64(1, chip->total.processes);
	share.figures[5].live_objects = 1;
	ttm_chip_count(chip, &other, &share);
	TEST_ASSERT_EQUAL_UINT64(1, chip->total.processes);
	ttm_chip_count(chip, &share, NULL);
	TEST_ASSERT_EQUAL_UINT64(0, chip->total.processes);
}

static struct ttm_share_row share_used(void)
{
	struct ttm_share_row share;
	unsigned i;

	memset(&share, 0, sizeof(share));
	for (i = 0; i < TTMEM_FIGURES; i++)
		share.figures[i].live_bytes = 1ull << (4 * i);
	share.ring_bytes[0] = 0x400000;
	share.cb_footprint = 0x5000;
	return share;
}

static const struct ttm_device_row *device_row(const struct ttm_chip *chip)
{
	return ttm_image_row(image, TTM_TABLE_DEVICES, chip->row);
}

static void test_uses_and_peaks(void)
{
	struct ttm_share_row share = share_used(), less = share;
	struct ttm_chip *chip = get(1, 7, 0);
	const struct ttm_device_row *row;

	ttm_chip_count(chip, NULL, &share);
	ttm_chips_publish(&chips);
	row = device_row(chip);
	TEST_ASSERT_EQUAL_HEX64(0x10001, row->dram_use);
	TEST_ASSERT_EQUAL_HEX64(0x10 + 0x1000 + 0x5000 +
			(0x1000000 - 0x400000) + 0x10000000 + 0x100000000,
		row->l1_use);
	TEST_ASSERT_EQUAL_HEX64(row->l1_use - 0x10000000, row->l1_tensix_use);
	TEST_ASSERT_EQUAL_HEX64(row->dram_use, row->dram_peak);
	less.figures[TTMEM_FIGURE_DRAM].live_bytes = 0;
	less.figures[TTMEM_FIGURE_L1].live_bytes = 0;
	ttm_chip_count(chip, &share, &less);
	ttm_chips_publish(&chips);
	row = device_row(chip);
	TEST_ASSERT_EQUAL_HEX64(0x10000, row->dram_use);
	TEST_ASSERT_EQUAL_HEX64(0x10001, row->dram_peak);
	TEST_ASSERT_EQUAL_HEX64(row->l1_tensix_use + 0x10, row->l1_tensix_peak);
	TEST_ASSERT_EQUAL_HEX64(1, row->figures[0].peak_bytes);
}

static void test_peaks_are_not_below_those_of_a_process(void)
{
	struct ttm_chip *chip = get(1, 7, 0);
	const struct ttm_device_row *row;
	struct ttm_share_row share;

	memset(&share, 0, sizeof(share));
	share.figures[TTMEM_FIGURE_DRAM].peak_bytes = 100;
	share.figures[TTMEM_FIGURE_DRAM].alloc_bytes = 100;
	share.figures[TTMEM_FIGURE_L1].peak_bytes = 200;
	share.figures[TTMEM_FIGURE_L1].alloc_bytes = 300;
	share.figures[TTMEM_FIGURE_TRACE].peak_bytes = 400;
	share.figures[TTMEM_FIGURE_TRACE].alloc_bytes = 399;
	ttm_chip_count(chip, NULL, &share);
	ttm_chips_publish(&chips);
	row = device_row(chip);
	TEST_ASSERT_EQUAL_UINT64(0, row->dram_use);
	TEST_ASSERT_EQUAL_UINT64(100, row->figures[0].peak_bytes);
	TEST_ASSERT_EQUAL_UINT64(100, row->dram_peak);
	TEST_ASSERT_EQUAL_UINT64(200, row->l1_tensix_peak);
	/* More than was ever allocated. */
	TEST_ASSERT_EQUAL_UINT64(
		0, row->figures[TTMEM_FIGURE_TRACE].peak_bytes);
}

static void test_peaks_are_resumed(void)
{
	struct ttm_chip *chip = get(1, 7, 0);
	struct ttm_device_row row;

	memset(&row, 0, sizeof(row));
	row.dram_peak = 100;
	row.l1_tensix_peak = 200;
	row.figures[3].peak_bytes = 300;
	ttm_chip_resume_peaks(chip, &row);
	row.dram_peak = 1;
	ttm_chip_resume_peaks(chip, &row);
	TEST_ASSERT_EQUAL_UINT64(100, chip->total.dram_peak);
	TEST_ASSERT_EQUAL_UINT64(200, chip->total.l1_tensix_peak);
	TEST_ASSERT_EQUAL_UINT64(300, chip->total.figures[3].peak_bytes);
}

/* -- histories --------------------------------------------------------------- */

static void use(struct ttm_chip *chip, uint64_t bytes)
{
	static struct ttm_share_row before, now;

	before = now;
	now.figures[TTMEM_FIGURE_DRAM].live_bytes = bytes;
	now.figures[TTMEM_FIGURE_DRAM].alloc_objects++;
	now.figures[TTMEM_FIGURE_DRAM].alloc_bytes += bytes;
	ttm_chip_count(chip, &before, &now);
	ttm_chips_publish(&chips);
}

static const struct ttm_history_row *history(
	const struct ttm_chip *chip, unsigned at)
{
	return ttm_image_row(
		image, TTM_TABLE_HISTORY_1S + at, chip->history_rows[at]);
}

static void test_histories_go_round_at_three_resolutions(void)
{
	struct ttm_chip *chip = get(1, 7, 0);
	const struct ttm_history_row *row;
	uint64_t second;

	for (second = 1; second <= 700; second++) {
		use(chip, second * 2);
		use(chip, second);
		ttm_chips_tick(&chips, second * 1000000000u);
	}
	row = history(chip, 0);
	TEST_ASSERT_EQUAL_UINT64(700, row->points_len);
	TEST_ASSERT_EQUAL_UINT64(300, row->capacity);
	TEST_ASSERT_EQUAL_UINT64(1000000000u, row->interval_ns);
	TEST_ASSERT_EQUAL_UINT64(chip->row, row->device);
	for (second = 401; second <= 700; second++) {
		const struct ttm_point
			*point = &row->points[(second - 1) % 300];

		TEST_ASSERT_EQUAL_UINT64(second * 1000000000u, point->time_ns);
		TEST_ASSERT_EQUAL_UINT64(second, point->dram_use);
		TEST_ASSERT_EQUAL_UINT64(second * 2, point->dram_use_max);
		TEST_ASSERT_EQUAL_UINT64(second, point->live_bytes[0]);
	}
	row = history(chip, 1);
	TEST_ASSERT_EQUAL_UINT64(70, row->points_len);
	TEST_ASSERT_EQUAL_UINT64(20, row->points[1].dram_use);
	TEST_ASSERT_EQUAL_UINT64(40, row->points[1].dram_use_max);
	row = history(chip, 2);
	TEST_ASSERT_EQUAL_UINT64(11, row->points_len);
	TEST_ASSERT_EQUAL_UINT64(660, row->points[10].dram_use);
	TEST_ASSERT_EQUAL_UINT64(1320, row->points[10].dram_use_max);
}

static void test_histories_are_resumed(void)
{
	struct ttm_chip *chip = get(1, 7, 0);
	size_t size = sizeof(struct ttm_history_row) +
		TTM_HISTORY_1S * sizeof(struct ttm_point);
	struct ttm_history_row *saved = malloc(size);
	uint64_t second;

	for (second = 1; second <= 310; second++)
		ttm_chips_tick(&chips, second);
	memcpy(saved, history(chip, 0), size);
	tearDown();
	setUp();
	chip = get(1, 7, 0);
	/* Of another capacity, or cut: not taken. */
	ttm_chip_resume_history(&chips, chip, 1, saved, size);
	ttm_chip_resume_history(&chips, chip, 0, saved, size - 1);
	TEST_ASSERT_EQUAL_UINT64(0, chip->history_rows[0]);
	TEST_ASSERT_EQUAL_UINT64(0, chip->history_rows[1]);
	ttm_chip_resume_history(&chips, chip, 0, saved, size);
	TEST_ASSERT_EQUAL_UINT64(310, history(chip, 0)->points_len);
	ttm_chips_tick(&chips, 1000);
	TEST_ASSERT_EQUAL_UINT64(311, history(chip, 0)->points_len);
	TEST_ASSERT_EQUAL_UINT64(1000, history(chip, 0)->points[10].time_ns);
	TEST_ASSERT_EQUAL_UINT64(310, history(chip, 0)->points[9].time_ns);
	TEST_ASSERT_EQUAL_UINT64(12, history(chip, 0)->points[11].time_ns);
	TEST_ASSERT_EQUAL_UINT64(chip->row, history(chip, 0)->device);
	free(saved);
}

static void test_rates_are_of_the_last_second(void)
{
	struct ttm_chip *chip = get(1, 7, 0);
	struct ttm_share_row now, gone;

	memset(&now, 0, sizeof(now));
	gone = now;
	/* What was before the first look is no rate. */
	now.figures[0].alloc_objects = 1000000;
	now.figures[0].alloc_bytes = 1ull << 40;
	ttm_chip_count(chip, NULL, &now);
	ttm_chips_tick(&chips, 1);
	TEST_ASSERT_EQUAL_UINT64(0, chip->total.events_per_s);
	TEST_ASSERT_EQUAL_UINT64(0, chip->total.alloc_bytes_per_s);
	gone = now;
	now.figures[0].alloc_objects += 10;
	now.figures[0].alloc_bytes += 100;
	now.figures[1].free_bytes += 7;
	now.dispatches[1] += 5;
	ttm_chip_count(chip, &gone, &now);
	ttm_chips_tick(&chips, 2);
	TEST_ASSERT_EQUAL_UINT64(15, chip->total.events_per_s);
	TEST_ASSERT_EQUAL_UINT64(100, chip->total.alloc_bytes_per_s);
	TEST_ASSERT_EQUAL_UINT64(7, chip->total.free_bytes_per_s);
	ttm_chip_count(chip, &now, NULL);
	ttm_chips_tick(&chips, 3);
	TEST_ASSERT_EQUAL_UINT64(0, chip->total.events_per_s);
}

/* -- distributions ----------------------------------------------------------- */

static const struct ttm_distribution_row *distribution(
	const struct ttm_chip *chip, unsigned figure, unsigned kind)
{
	const struct ttm_distribution_row *row;

	ttm_chips_describe(&chips);
	row = ttm_image_row(image, TTM_TABLE_DISTRIBUTIONS,
		chip->distributions[figure][kind].row);
	TEST_ASSERT_NOT_NULL(row);
	return row;
}

static void within_a_percent(uint64_t expected, uint64_t found)
{
	TEST_ASSERT_UINT64_WITHIN(expected / 100 + 1, expected, found);
}

static void test_percentiles_are_within_a_percent(void)
{
	struct ttm_chip *chip = get(1, 7, 0);
	const struct ttm_distribution_row *row;
	uint64_t value;

	for (value = 1; value <= 20000; value++)
		ttm_chip_record(
			chip, 1, TTM_DISTRIBUTION_LIFETIME_NS, value * 1000003);
	row = distribution(chip, 1, TTM_DISTRIBUTION_LIFETIME_NS);
	TEST_ASSERT_EQUAL_UINT64(20000, row->total);
	TEST_ASSERT_EQUAL_UINT64(1, row->figure);
	TEST_ASSERT_EQUAL_UINT64(chip->row, row->device);
	within_a_percent(1000003, row->min);
	within_a_percent(20000ull * 1000003, row->max);
	within_a_percent(10000ull * 1000003, row->mean);
	within_a_percent(10000ull * 1000003, row->p50);
	within_a_percent(18000ull * 1000003, row->p90);
	within_a_percent(19800ull * 1000003, row->p99);
	within_a_percent(19980ull * 1000003, row->p999);
}

static void test_values_out_of_range_count_as_its_ends(void)
{
	struct ttm_chip *chip = get(1, 7, 0);
	const struct ttm_distribution_row *row;

	ttm_chip_record(chip, 0, TTM_DISTRIBUTION_BYTES, 0);
	ttm_chip_record(chip, 0, TTM_DISTRIBUTION_BYTES, UINT64_MAX);
	ttm_chip_record(chip, 0, TTM_DISTRIBUTION_BYTES, 1ull << 63);
	ttm_chip_record(chip, 0, TTM_DISTRIBUTION_LIFETIME_NS, UINT64_MAX);
	row = distribution(chip, 0, TTM_DISTRIBUTION_BYTES);
	TEST_ASSERT_EQUAL_UINT64(3, row->total);
	TEST_ASSERT_EQUAL_UINT64(0, row->min);
	within_a_percent(1ull << 46, row->max);
	row = distribution(chip, 0, TTM_DISTRIBUTION_LIFETIME_NS);
	TEST_ASSERT_EQUAL_UINT64(1, row->total);
	within_a_percent(1ull << 50, row->max);
}

static void counts_are(
	const struct hdr_histogram *wanted, const struct hdr_histogram *found)
{
	TEST_ASSERT_EQUAL_INT32(wanted->counts_len, found->counts_len);
	TEST_ASSERT_EQUAL_MEMORY(wanted->counts, found->counts,
		(size_t)wanted->counts_len * sizeof(wanted->counts[0]));
}

/* Values of each size, and those around each power of two. */
static void test_values_together_count_as_one_by_one(void)
{
	static struct ttm_values values;
	struct ttm_chip *one = get(1, 7, 0), *other = get(2, 8, 0);
	struct ttm_distribution_row *row = malloc(sizeof(*row));
	const struct ttm_distribution_row *found;
	uint64_t random = 4242, value;
	unsigned i, figure, kind;

	TEST_ASSERT_NOT_NULL(row);
	for (i = 0; i < 40000; i++) {
		value = model_random(&random) >> (i & 63);
		if (i % 3 == 0)
			value = (1ull << (i / 3 & 63)) - 1 + i % 2;
		figure = i / 7 % TTMEM_FIGURES;
		ttm_chip_record(one, figure, i & 1, value);
		while (!ttm_values_add(&values, figure, i & 1, value)) {
			ttm_chip_record_values(other, &values);
			ttm_values_clear(&values);
		}
	}
	ttm_chip_record_values(other, &values);
	ttm_values_clear(&values);
	TEST_ASSERT_EQUAL_UINT32(0, values.len);
	for (figure = 0; figure < TTMEM_FIGURES; figure++)
		for (kind = 0; kind < 2; kind++) {
			found = distribution(other, figure, kind);
			*row = *distribution(one, figure, kind);
			row->self = found->self;
			row->device = other->row;
			TEST_ASSERT_TRUE(row->total > 1000);
			TEST_ASSERT_EQUAL_MEMORY(row, found, sizeof(*row));
			counts_are(one->distributions[figure][kind].histogram,
				other->distributions[figure][kind].histogram);
		}
	free(row);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_what_was_added_is_taken_back);
	RUN_TEST(test_a_process_counts_while_it_has_it_open_or_objects);
	RUN_TEST(test_uses_and_peaks);
	RUN_TEST(test_peaks_are_not_below_those_of_a_process);
	RUN_TEST(test_peaks_are_resumed);
	RUN_TEST(test_histories_go_round_at_three_resolutions);
	RUN_TEST(test_histories_are_resumed);
	RUN_TEST(test_rates_are_of_the_last_second);
	RUN_TEST(test_percentiles_are_within_a_percent);
	RUN_TEST(test_values_out_of_range_count_as_its_ends);
	RUN_TEST(test_values_together_count_as_one_by_one);
	return UNITY_END();
}
