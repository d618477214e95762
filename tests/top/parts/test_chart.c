/* SPDX-License-Identifier: Apache-2.0 */
/* The past is kept within bounds, and charts show its peaks. */
#include "sample.h"

#include "ttmem-top/views/chart.h"
#include "ttmem-top/model/history.h"

#define SECOND 1000000000ull
#define BEGIN 1000000ull /* seconds */

static struct top_history history;

void setUp(void)
{
	sample_locale();
}

void tearDown(void)
{
	top_history_free(&history);
}

/* One device with so much in DRAM then; `histories` as in a document, or "". */
static void update_with(uint64_t second, unsigned dram, const char *histories)
{
	struct top_devices devices;
	struct ttmem_snapshot *snapshot;
	char text[2048];

	snprintf(text, sizeof(text),
		"{\"schema_version\":2,\"info\":{\"source\":\"ok\","
		"\"monotonic_ns\":%llu},\"devices\":[{\"identity\":\"chip\","
		"\"chip_id\":\"0x1\",\"logical\":0,\"dram_bytes\":1000,"
		"\"dram_use\":%u,\"l1_tensix_use\":7}]%s}",
		(unsigned long long)(second * SECOND), dram, histories);
	snapshot = sample_parse(text);
	TEST_ASSERT_EQUAL_INT(0, top_devices_make(snapshot, &devices));
	TEST_ASSERT_EQUAL_INT(
		0, top_history_update(&history, snapshot, &devices));
	top_devices_free(&devices);
	ttmem_snapshot_free(&snapshot);
}

static void update(uint64_t second, unsigned dram)
{
	update_with(second, dram, "");
}

static uint64_t most(uint64_t from, uint64_t to)
{
	TEST_ASSERT_EQUAL_UINT64(1, history.len);
	return top_past_max(
		&history.pasts[0], TOP_SERIES_DRAM, from * SECOND, to * SECOND);
}

static void test_snapshots_become_points(void)
{
	update(BEGIN, 10);
	update(BEGIN + 1, 30);
	update(BEGIN + 2, 20);
	TEST_ASSERT_EQUAL_UINT64(10, most(BEGIN, BEGIN + 1));
	TEST_ASSERT_EQUAL_UINT64(30, most(BEGIN, BEGIN + 3));
	TEST_ASSERT_EQUAL_UINT64(20, most(BEGIN + 2, BEGIN + 3));
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, most(BEGIN - 50, BEGIN - 40));
}

/* The minute in which it began was not used from its beginning on. */
static void test_nothing_is_known_before_the_first_point(void)
{
	uint64_t i;

	for (i = 0; i < 130; i++)
		update(BEGIN + i, 500);
	for (i = 2; i < 100; i++)
		TEST_ASSERT_EQUAL_UINT64(
			TTMEM_UNKNOWN, most(BEGIN - i, BEGIN - i + 1));
	TEST_ASSERT_EQUAL_UINT64(500, most(BEGIN - 10, BEGIN + 1));
}

static void test_an_endless_stream_takes_no_more_memory(void)
{
	uint64_t i;
	unsigned r;

	for (i = 0; i < 3000; i++)
		update(BEGIN + i, (unsigned)(i % 100));
	for (r = 0; r < TOP_RESOLUTIONS; r++)
		TEST_ASSERT_TRUE(history.pasts[0].rings[r].len <=
			history.pasts[0].rings[r].size);
	TEST_ASSERT_EQUAL_UINT64(300, history.pasts[0].rings[0].len);
	/* Long ago only coarser points are left. */
	TEST_ASSERT_EQUAL_UINT64(99, most(BEGIN + 100, BEGIN + 400));
	/* Of yesterday and on, nothing but minutes. */
	TEST_ASSERT_TRUE(history.pasts[0].rings[2].len >= 50);
}

static void test_a_spike_is_seen_at_all_scales(void)
{
	uint64_t i;

	for (i = 0; i < 2000; i++)
		update(BEGIN + i, i == 100 ? 900 : 10);
	TEST_ASSERT_EQUAL_UINT64(900, most(BEGIN, BEGIN + 2000));
	TEST_ASSERT_EQUAL_UINT64(10, most(BEGIN + 1800, BEGIN + 2000));
}

static void test_histories_of_ttmemd_replace_samples(void)
{
	char histories[512];

	update(BEGIN, 10);
	update(BEGIN + 1, 10);
	/* The peak between two snapshots was not sampled. */
	snprintf(histories, sizeof(histories),
		",\"histories\":[{\"device\":0,\"interval_ns\":1000000000,"
		"\"points\":{\"columns\":[\"time_ns\",\"dram_use\",\"l1_use\","
		"\"dram_use_max\",\"l1_use_max\"],\"rows\":[[%llu,10,7,10,7],"
		"[%llu,10,7,800,7],[%llu,10,7,10,7]]}}]",
		(unsigned long long)(BEGIN * SECOND),
		(unsigned long long)((BEGIN + 1) * SECOND),
		(unsigned long long)((BEGIN + 2) * SECOND));
	update_with(BEGIN + 2, 10, histories);
	TEST_ASSERT_EQUAL_UINT64(800, most(BEGIN, BEGIN + 2));
	TEST_ASSERT_EQUAL_UINT64(3, history.pasts[0].rings[0].len);
	/* The same ones again add nothing. */
	update_with(BEGIN + 2, 10, histories);
	TEST_ASSERT_EQUAL_UINT64(3, history.pasts[0].rings[0].len);
}

static void test_another_boot_begins_anew(void)
{
	update(BEGIN, 500);
	update(10, 5);
	TEST_ASSERT_EQUAL_UINT64(5, most(0, BEGIN + 10));
}

static void test_the_scale_holds_the_peak(void)
{
	TEST_ASSERT_EQUAL_UINT64(10, top_chart_scale(5, 1000));
	TEST_ASSERT_EQUAL_UINT64(20, top_chart_scale(11, 1000));
	TEST_ASSERT_EQUAL_UINT64(1000, top_chart_scale(501, 1000));
	TEST_ASSERT_EQUAL_UINT64(1200, top_chart_scale(1200, 1000));
	TEST_ASSERT_EQUAL_UINT64(7, top_chart_scale(7, TTMEM_UNKNOWN));
	TEST_ASSERT_EQUAL_UINT64(1, top_chart_scale(TTMEM_UNKNOWN, 0));
}

static void chart_paint(struct top_grid *grid, bool ascii, bool braille)
{
	struct top_chart chart = { .past = &history.pasts[0],
		.series = TOP_SERIES_DRAM,
		.capacity = 1000,
		.from_ns = BEGIN * SECOND,
		.to_ns = (BEGIN + 4) * SECOND,
		.braille = braille,
		.look = TOP_LOOK_DRAM };
	struct top_area area;

	grid->ascii = ascii;
	TEST_ASSERT_EQUAL_INT(0, top_grid_size(grid, 2, TOP_CHART_AXIS + 4));
	area = top_grid_area(grid);
	top_chart_paint(&area, &chart);
}

static void test_columns_have_the_height_of_values(void)
{
	struct top_grid grid = { 0 };

	update(BEGIN, 250);
	update(BEGIN + 1, 500);
	update(BEGIN + 2, 1000);
	update(BEGIN + 3, 0);
	chart_paint(&grid, false, false);
	TEST_ASSERT_EQUAL_STRING(" 100%│╌╌█╌", sample_line(&grid, 0));
	TEST_ASSERT_EQUAL_STRING("   0%│▄██", sample_line(&grid, 1));
	TEST_ASSERT_EQUAL_INT(
		TOP_LOOK_CRITICAL, grid.cells[TOP_CHART_AXIS + 2].look);
	chart_paint(&grid, true, true);
	TEST_ASSERT_EQUAL_STRING(" 100%|--#-", sample_line(&grid, 0));
	TEST_ASSERT_EQUAL_STRING("   0%|:##", sample_line(&grid, 1));
	chart_paint(&grid, false, true);
	TEST_ASSERT_EQUAL_STRING("   0%│⣤⣿⣿", sample_line(&grid, 1));
	top_grid_free(&grid);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_snapshots_become_points);
	RUN_TEST(test_nothing_is_known_before_the_first_point);
	RUN_TEST(test_an_endless_stream_takes_no_more_memory);
	RUN_TEST(test_a_spike_is_seen_at_all_scales);
	RUN_TEST(test_histories_of_ttmemd_replace_samples);
	RUN_TEST(test_another_boot_begins_anew);
	RUN_TEST(test_the_scale_holds_the_peak);
	RUN_TEST(test_columns_have_the_height_of_values);
	return UNITY_END();
}
