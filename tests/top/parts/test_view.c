/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a snapshot is on the screen, at any size. */
#include "ttmem-top/views/view.h"

#include "sample.h"

static struct top_model model;
static struct top_state state;
static struct top_grid grid;

void setUp(void)
{
	sample_locale();
	memset(&model, 0, sizeof(model));
	top_state_begin(&state);
}

void tearDown(void)
{
	top_model_free(&model);
	top_state_free(&state);
	top_grid_free(&grid);
}

static void show(const char *text)
{
	TEST_ASSERT_EQUAL_INT(
		0, top_model_update(&model, &state, sample_parse(text)));
}

static void paint(int rows, int cols)
{
	TEST_ASSERT_EQUAL_INT(0, top_grid_size(&grid, rows, cols));
	top_view_paint(&model, &state, 0, &grid);
}

static const char *find(const char *text)
{
	int row;

	for (row = 0; row < grid.rows; row++)
		if (strstr(sample_line(&grid, row), text))
			return sample_line(&grid, row);
	return NULL;
}

static void has(const char *text)
{
	TEST_ASSERT_NOT_NULL_MESSAGE(find(text), text);
}

static void test_devices_have_their_bars_and_marks(void)
{
	show(SAMPLE);
	paint(24, 80);
	TEST_ASSERT_NOT_NULL(
		strstr(find("p150"), "100B/1000B [▋     ]  10.0%"));
	/* 95 % and 80 %: with a mark, too. */
	TEST_ASSERT_NOT_NULL(
		strstr(find("n300"), "950B/1000B [█████▊]  95.0%!!"));
	TEST_ASSERT_NOT_NULL(strstr(find("n300"), "80B/100B [████▊ ]  80.0%!"));
	has("2 devices");
}

static void test_unknown_is_a_dash_in_the_breakdown(void)
{
	show(SAMPLE);
	state.devices.selected = 1;
	state.device = model.devices.list[1].id;
	paint(40, 132);
	has("Device 1  n300");
	TEST_ASSERT_NOT_NULL(strstr(find("DRAM buffers"), "950 B"));
	TEST_ASSERT_NOT_NULL(strstr(find("DRAM buffers"), "990 B"));
	TEST_ASSERT_NOT_NULL(strstr(find("L1 buffers"), "  -    100 B"));
	TEST_ASSERT_NOT_NULL(strstr(find("CB headroom"), " -"));
}

static void test_processes_are_listed(void)
{
	show(SAMPLE);
	state.view = TOP_VIEW_PROCESSES;
	paint(24, 132);
	TEST_ASSERT_NOT_NULL(strstr(find("alpha -x"), "reporting   0-1"));
	TEST_ASSERT_NOT_NULL(strstr(find("leaky"), "exited+leak"));
	TEST_ASSERT_NOT_NULL(strstr(find("quiet"), "untracked"));
	TEST_ASSERT_NULL(find("gone"));
}

static void test_hostile_names_stay_in_their_cells(void)
{
	int view;

	show("{" SAMPLE_INFO "," SAMPLE_DEVICES
	     ",\"processes\":[{\"state\":\"reporting\",\"uuid\":"
	     "\"00000000000000000000000000000001\",\"pid\":10,\"uid\":0,"
	     "\"objects\":1,\"comm\":\"\\u001b[2Jevil\\n\\r\\u009b31m\","
	     "\"cmdline\":[\"\\u001b]0;title\\u0007\",\"\\u202etxt\"],"
	     "\"cgroup\":\"/a\\nb\"}],\"places\":[{"
	     "\"process\":0,\"label\":\"\\u001b[31m0\",\"devices\":[0]}],"
	     "\"objects\":[{"
	     "\"process\":0,\"place\":0,\"figure\":\"l1\",\"bytes\":10,"
	     "\"scope\":\"\\u001b[31mscope\"}]}");
	state.expanded.all = true;
	TEST_ASSERT_EQUAL_INT(0, top_model_rows(&model, &state));
	for (view = 0; view < (int)TOP_VIEWS; view++) {
		int mode;
		size_t i;

		for (mode = TOP_MODE_VIEW; mode <= TOP_MODE_FILTER; mode++) {
			state.view = (enum top_view)view;
			state.mode = (enum top_mode)mode;
			paint(30, 200);
			for (i = 0; i < 30 * 200; i++) {
				const char *c = grid.cells[i].text;

				TEST_ASSERT_TRUE(!grid.cells[i].width ||
					((unsigned char)c[0] >= 0x20 &&
						c[0] != 0x7f &&
						strncmp(c, "\xc2\x9b", 2) !=
							0));
			}
		}
	}
	state.view = TOP_VIEW_PROCESSES;
	state.mode = TOP_MODE_VIEW;
	paint(30, 200);
	has("\\x1b]0;title\\x07 \\xe2\\x80\\xaetxt");
	has("\\x1b[31mscope");
}

static void test_a_dead_ttmemd_is_a_banner(void)
{
	size_t i;
	bool stale = false;

	show(SAMPLE);
	model.worth.stale = true;
	snprintf(model.worth.text, sizeof(model.worth.text),
		"ttmemd is gone: figures are 5s old");
	paint(24, 80);
	has("!! ttmemd is gone: figures are 5s old");
	has("STALE");
	for (i = 0; i < 24 * 80; i++)
		stale = stale || (grid.cells[i].flags & TOP_STALE);
	TEST_ASSERT_TRUE(stale);
	memset(&model.worth, 0, sizeof(model.worth));
	paint(24, 80);
	TEST_ASSERT_NULL(find("ttmemd is gone"));
}

static void test_without_data_it_says_so(void)
{
	snprintf(model.worth.text, sizeof(model.worth.text),
		"no data: no ttmemd");
	paint(24, 80);
	has("no data: no ttmemd");
	paint(5, 20);
	has("no data");
}

static void test_each_view_at_each_size(void)
{
	int view, rows, cols, compact;

	show(SAMPLE);
	for (view = 0; view < (int)TOP_VIEWS; view++)
		for (compact = 0; compact < 2; compact++)
			for (rows = 1; rows < 60; rows += rows < 12 ? 1 : 7)
				for (cols = 1; cols < 220;
					cols += cols < 24 ? 1 : 19) {
					state.view = (enum top_view)view;
					state.settings.compact = compact;
					state.mode = (enum top_mode)(
						(rows + cols) %
						(TOP_MODE_FILTER + 1));
					paint(rows, cols);
				}
}

static void test_the_smallest_screen_has_the_figures(void)
{
	show(SAMPLE);
	paint(5, 20);
	has("10.0%");
	has("95.0%!!");
	state.view = TOP_VIEW_PROCESSES;
	paint(5, 20);
	has("940B");
}

static void test_help_names_each_key_and_column(void)
{
	size_t i;

	state.mode = TOP_MODE_HELP;
	show(SAMPLE);
	paint(200, 100);
	has("h ? F1");
	for (i = 0; i < TOP_COLUMNS; i++)
		has(top_columns[i].title);
}

static void test_all_rows_are_in_plain_text(void)
{
	show(SAMPLE);
	state.view = TOP_VIEW_PROCESSES;
	TEST_ASSERT_EQUAL_INT(
		0, top_view_paint_plain(&model, &state, 132, &grid));
	has("ttmem-top processes:");
	has("quiet");
	state.view = TOP_VIEW_DEVICES;
	TEST_ASSERT_EQUAL_INT(
		0, top_view_paint_plain(&model, &state, 132, &grid));
	has("CB headroom");
}

static void test_ascii_screens_have_nothing_else(void)
{
	int view;
	size_t i;

	show(SAMPLE);
	grid.ascii = true;
	for (view = 0; view < (int)TOP_VIEWS; view++) {
		state.view = (enum top_view)view;
		paint(43, 132);
		for (i = 0; i < 43 * 132; i++)
			TEST_ASSERT_TRUE(
				(unsigned char)grid.cells[i].text[0] < 0x7f);
	}
	grid.ascii = false;
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_devices_have_their_bars_and_marks);
	RUN_TEST(test_unknown_is_a_dash_in_the_breakdown);
	RUN_TEST(test_processes_are_listed);
	RUN_TEST(test_hostile_names_stay_in_their_cells);
	RUN_TEST(test_a_dead_ttmemd_is_a_banner);
	RUN_TEST(test_without_data_it_says_so);
	RUN_TEST(test_each_view_at_each_size);
	RUN_TEST(test_the_smallest_screen_has_the_figures);
	RUN_TEST(test_help_names_each_key_and_column);
	RUN_TEST(test_all_rows_are_in_plain_text);
	RUN_TEST(test_ascii_screens_have_nothing_else);
	return UNITY_END();
}
