/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot becomes the rows that were asked for, in their order. */
#include "sample.h"

#include "ttmem-top/model/columns.h"

static struct ttmem_snapshot *snapshot;
static struct top_devices devices;
static struct top_rows rows;
static struct top_expanded expanded;
static struct top_peaks peaks;
static struct top_query query;

void setUp(void)
{
	snapshot = sample_parse(SAMPLE);
	TEST_ASSERT_EQUAL_INT(0, top_devices_make(snapshot, &devices));
	memset(&query, 0, sizeof(query));
	query.filter = "";
	query.sort = TOP_COLUMN_PROCESSES_DRAM;
	query.expanded = &expanded;
	query.peaks = &peaks;
}

void tearDown(void)
{
	top_rows_free(&rows);
	top_devices_free(&devices);
	top_expanded_free(&expanded);
	top_peaks_free(&peaks);
	ttmem_snapshot_free(&snapshot);
}

static void make(void)
{
	TEST_ASSERT_EQUAL_INT(
		0, top_rows_make(snapshot, &devices, &query, &rows));
}

/* Their pids, one after the other; of others their names. */
static void order_is(const char *wanted)
{
	char text[512] = "";
	size_t i, length = 0;

	for (i = 0; i < rows.len; i++) {
		const struct top_row *row = &rows.list[i];

		if (row->kind <= TOP_ROW_UNTRACKED)
			length += (size_t)snprintf(text + length,
				sizeof(text) - length, "%s%llu", i ? " " : "",
				(unsigned long long)row->pid);
		else
			length += (size_t)snprintf(text + length,
				sizeof(text) - length, "%s(%s)", i ? " " : "",
				row->comm ? row->comm : "none");
	}
	TEST_ASSERT_EQUAL_STRING(wanted, text);
}

static const struct top_row *row_of(uint64_t pid)
{
	size_t i;

	for (i = 0; i + 1 < rows.len && rows.list[i].pid != pid; i++)
		;
	TEST_ASSERT_TRUE(i < rows.len && rows.list[i].pid == pid);
	return &rows.list[i];
}

static void test_devices_go_by_their_number(void)
{
	TEST_ASSERT_EQUAL_UINT64(2, devices.len);
	TEST_ASSERT_EQUAL_STRING("0", devices.list[0].name);
	TEST_ASSERT_EQUAL_STRING("p150", top_device_board(&devices.list[0]));
	TEST_ASSERT_EQUAL_UINT64(1, devices.list[0].index);
	TEST_ASSERT_EQUAL_UINT64(1, devices.list[0].untracked);
	TEST_ASSERT_EQUAL_STRING("1", devices.list[1].name);
}

static void test_processes_are_sorted_and_unknown_is_last(void)
{
	make();
	order_is("10 7 9 20");
	query.reverse = true;
	make();
	order_is("9 7 10 20");
	query.reverse = false;
	query.sort = TOP_COLUMN_PROCESSES_PID;
	make();
	order_is("7 9 10 20");
	query.sort = TOP_COLUMN_PROCESSES_COMMAND;
	make();
	order_is("10 9 7 20");
}

static void test_bytes_are_the_sum_over_devices(void)
{
	make();
	TEST_ASSERT_EQUAL_UINT64(940, row_of(10)->bytes[TTMEM_FIGURE_DRAM]);
	/* l1 is not told: unknown, not 0. */
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, row_of(10)->bytes[TTMEM_FIGURE_L1]);
	/* Of those that are gone, what they left. */
	TEST_ASSERT_EQUAL_UINT64(70, row_of(7)->bytes[TTMEM_FIGURE_DRAM]);
}

static void test_states_are_told_apart(void)
{
	make();
	TEST_ASSERT_EQUAL_INT(TOP_STATE_REPORTING, row_of(10)->state);
	TEST_ASSERT_EQUAL_INT(TOP_STATE_SILENT, row_of(9)->state);
	TEST_ASSERT_EQUAL_INT(TOP_STATE_EXITED_LEAK, row_of(7)->state);
	TEST_ASSERT_EQUAL_INT(TOP_STATE_UNTRACKED, row_of(20)->state);
	TEST_ASSERT_EQUAL_UINT64(2, rows.processes);
	TEST_ASSERT_EQUAL_UINT64(1, rows.untracked);
	query.retired = true;
	make();
	TEST_ASSERT_EQUAL_INT(TOP_STATE_DIED, row_of(8)->state);
}

static void test_who_holds_devices_and_does_not_report_is_one_row(void)
{
	char text[TOP_DEVICES_TEXT_SIZE];

	make();
	TEST_ASSERT_EQUAL_STRING(
		"0-1", top_row_devices(row_of(20), &devices, text));
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, row_of(20)->bytes[TTMEM_FIGURE_DRAM]);
	TEST_ASSERT_EQUAL_STRING(
		"0", top_row_devices(row_of(9), &devices, text));
}

static void test_the_filter_looks_at_command_state_and_pid(void)
{
	query.filter = "ALPHA";
	make();
	order_is("10");
	TEST_ASSERT_EQUAL_UINT64(3, rows.hidden);
	query.filter = "untracked";
	make();
	order_is("20");
	query.filter = "7";
	make();
	order_is("7");
	query.filter = "nobody has this";
	make();
	order_is("");
}

static void test_one_device_has_its_processes_and_bytes(void)
{
	query.device = devices.list[1].id;
	make();
	order_is("10 20");
	TEST_ASSERT_EQUAL_UINT64(900, row_of(10)->bytes[TTMEM_FIGURE_DRAM]);
	query.device.a = 12345; /* gone: all */
	make();
	order_is("10 7 9 20");
}

static void test_a_tree_has_devices_and_their_processes(void)
{
	query.tree = true;
	make();
	order_is("(p150) 7 9 10 20 (n300) 10 20");
	TEST_ASSERT_EQUAL_UINT64(40, rows.list[3].bytes[TTMEM_FIGURE_DRAM]);
	TEST_ASSERT_FALSE(top_id_equal(rows.list[3].id, rows.list[6].id));
	TEST_ASSERT_TRUE(rows.list[4].last);
	TEST_ASSERT_EQUAL_UINT(1, rows.list[4].depth);
}

static void test_a_process_expands_to_its_scopes(void)
{
	make();
	top_expanded_set(&expanded, row_of(10)->id, true);
	make();
	order_is("10 (op b) (op a) 7 9 20");
	TEST_ASSERT_EQUAL_UINT64(1, rows.list[1].objects);
	TEST_ASSERT_EQUAL_UINT64(2, rows.list[2].objects);
	TEST_ASSERT_EQUAL_UINT64(30, rows.list[2].bytes[TTMEM_FIGURE_DRAM]);
	TEST_ASSERT_EQUAL_UINT64(10, rows.list[2].bytes[TTMEM_FIGURE_L1]);
	TEST_ASSERT_TRUE(rows.list[2].last);
	top_expanded_set(&expanded, row_of(10)->id, false);
	make();
	order_is("10 7 9 20");
}

static void test_all_expand_but_those_that_were_collapsed(void)
{
	expanded.all = true;
	make();
	order_is("10 (op b) (op a) 7 (no objects) 9 (none) 20");
	top_expanded_set(&expanded, row_of(10)->id, false);
	make();
	order_is("10 7 (no objects) 9 (none) 20");
}

static void test_in_a_tree_scopes_are_those_of_the_device(void)
{
	query.tree = true;
	expanded.all = true;
	make();
	order_is("(p150) 7 (no objects) 9 (none) 10 (op a) 20 "
		 "(n300) 10 (op b) 20");
}

/* One object on both devices of process 10: on each of them its bytes there. */
static void test_an_object_is_in_the_rows_of_all_its_devices(void)
{
	size_t i, seen = 0;

	ttmem_snapshot_free(&snapshot);
	top_devices_free(&devices);
	snapshot = sample_parse(
		"{" SAMPLE_INFO "," SAMPLE_DEVICES "," SAMPLE_PROCESSES
		",\"places\":[{\"process\":0,\"label\":\"0-1\","
		"\"devices\":[1,0],\"usages\":[1,0]}],\"objects\":["
		"{\"process\":0,\"place\":0,\"devices\":2,\"figure\":"
		"\"dram\",\"bytes\":20,\"total_bytes\":40,\"scope\":"
		"\"op m\"}]}");
	TEST_ASSERT_EQUAL_INT(0, top_devices_make(snapshot, &devices));
	expanded.all = true;
	make();
	order_is("10 (op m) 7 (no objects) 9 (no objects)");
	TEST_ASSERT_EQUAL_UINT64(40, rows.list[1].bytes[TTMEM_FIGURE_DRAM]);
	query.tree = true;
	make();
	for (i = 0; i < rows.len; i++) {
		if (rows.list[i].kind != TOP_ROW_SCOPE)
			continue;
		seen++;
		TEST_ASSERT_EQUAL_UINT64(1, rows.list[i].objects);
		TEST_ASSERT_EQUAL_UINT64(
			20, rows.list[i].bytes[TTMEM_FIGURE_DRAM]);
	}
	TEST_ASSERT_EQUAL_UINT64(2, seen);
}

static void test_without_objects_a_row_says_so(void)
{
	ttmem_snapshot_free(&snapshot);
	top_devices_free(&devices);
	snapshot = sample_parse(
		"{\"schema_version\":2,\"info\":{\"source\":"
		"\"ok\"}," SAMPLE_DEVICES "," SAMPLE_PROCESSES "}");
	TEST_ASSERT_EQUAL_INT(0, top_devices_make(snapshot, &devices));
	expanded.all = true;
	make();
	order_is("10 (objects are not listed) 7 (objects are not listed) 9 "
		 "(objects are not listed)");
}

static void test_peaks_are_ttmemds_until_they_are_reset(void)
{
	make();
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, row_of(10)->peak);
	/* Only dram is told: the others of the sum are not known. */
	TEST_ASSERT_EQUAL_UINT64(950,
		top_peaks_get(&peaks, row_of(10)->id, devices.list[1].id,
			TTMEM_FIGURE_DRAM, 950));
	TEST_ASSERT_EQUAL_INT(0, top_peaks_reset(&peaks, snapshot, &devices));
	TEST_ASSERT_EQUAL_UINT64(900,
		top_peaks_get(&peaks,
			top_process_id(ttmem_snapshot_process(snapshot, 0)),
			devices.list[1].id, TTMEM_FIGURE_DRAM, 950));
	TEST_ASSERT_EQUAL_INT(0, top_peaks_update(&peaks, snapshot, &devices));
	TEST_ASSERT_EQUAL_UINT64(900,
		top_peaks_get(&peaks,
			top_process_id(ttmem_snapshot_process(snapshot, 0)),
			devices.list[1].id, TTMEM_FIGURE_DRAM, 950));
}

static void test_an_empty_snapshot_has_no_rows(void)
{
	ttmem_snapshot_free(&snapshot);
	top_devices_free(&devices);
	snapshot = sample_parse("{\"schema_version\":2}");
	TEST_ASSERT_EQUAL_INT(0, top_devices_make(snapshot, &devices));
	query.tree = true;
	expanded.all = true;
	make();
	order_is("");
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_devices_go_by_their_number);
	RUN_TEST(test_processes_are_sorted_and_unknown_is_last);
	RUN_TEST(test_bytes_are_the_sum_over_devices);
	RUN_TEST(test_states_are_told_apart);
	RUN_TEST(test_who_holds_devices_and_does_not_report_is_one_row);
	RUN_TEST(test_the_filter_looks_at_command_state_and_pid);
	RUN_TEST(test_one_device_has_its_processes_and_bytes);
	RUN_TEST(test_a_tree_has_devices_and_their_processes);
	RUN_TEST(test_a_process_expands_to_its_scopes);
	RUN_TEST(test_all_expand_but_those_that_were_collapsed);
	RUN_TEST(test_in_a_tree_scopes_are_those_of_the_device);
	RUN_TEST(test_an_object_is_in_the_rows_of_all_its_devices);
	RUN_TEST(test_without_objects_a_row_says_so);
	RUN_TEST(test_peaks_are_ttmemds_until_they_are_reset);
	RUN_TEST(test_an_empty_snapshot_has_no_rows);
	return UNITY_END();
}
