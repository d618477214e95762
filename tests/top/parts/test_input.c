/* SPDX-License-Identifier: Apache-2.0 */
/* Keys do what the help says. */
#include "ttmem-top/terminal/input.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/process.h"
#include "sample.h"
#include "ttmem-top/model/signals.h"
#include "ttmem-top/views/view.h"

static struct top_model model;
static struct top_state state;
static struct top_grid grid;

void setUp(void)
{
	sample_locale();
	memset(&model, 0, sizeof(model));
	top_state_begin(&state);
	TEST_ASSERT_EQUAL_INT(
		0, top_model_update(&model, &state, sample_parse(SAMPLE)));
	TEST_ASSERT_EQUAL_INT(0, top_grid_size(&grid, 24, 100));
}

void tearDown(void)
{
	top_model_free(&model);
	top_state_free(&state);
	top_grid_free(&grid);
}

static void press(int key)
{
	struct top_input input = { key, 0, 0 };

	TEST_ASSERT_EQUAL_INT(0, top_grid_size(&grid, 24, 100));
	top_view_paint(&model, &state, 0, &grid);
	top_input_apply(&model, &state, &grid, &input, 0);
}

static void type(const char *text)
{
	while (*text)
		press(*text++);
}

static uint64_t selected_pid(void)
{
	const struct top_row *row = top_model_row(&model, &state);

	return row ? row->pid : 0;
}

/* The selected row is of a process that runs: ourselves. */
static void select_self(void)
{
	struct top_row *row = &model.rows.list[state.rows.selected];

	row->pid = (uint64_t)getpid();
	row->start_time = ttm_proc_start_time(row->pid);
	row->pid_namespace = ttm_proc_pid_namespace(0);
}

static void test_digits_and_tab_change_the_view(void)
{
	press('3');
	TEST_ASSERT_EQUAL_INT(TOP_VIEW_PROCESSES, state.view);
	press('\t');
	TEST_ASSERT_EQUAL_INT(TOP_VIEW_HEALTH, state.view);
	press('\t');
	TEST_ASSERT_EQUAL_INT(TOP_VIEW_DEVICES, state.view);
	press(TOP_KEY_BACKTAB);
	TEST_ASSERT_EQUAL_INT(TOP_VIEW_HEALTH, state.view);
}

static void test_arrows_select_and_the_selection_follows(void)
{
	press('3');
	TEST_ASSERT_EQUAL_UINT64(10, selected_pid());
	press(TOP_KEY_DOWN);
	TEST_ASSERT_EQUAL_UINT64(7, selected_pid());
	/* The order changes, the process stays selected. */
	press('r');
	TEST_ASSERT_EQUAL_UINT64(7, selected_pid());
	press(TOP_KEY_END);
	TEST_ASSERT_EQUAL_UINT64(20, selected_pid());
	press(TOP_KEY_PAGE_UP);
	TEST_ASSERT_EQUAL_UINT64(0, state.rows.selected);
}

static void test_sorting_goes_round(void)
{
	size_t before = state.sort;
	size_t i;

	press('3');
	press('>');
	TEST_ASSERT_EQUAL_UINT64(before + 1, state.sort);
	press('<');
	TEST_ASSERT_EQUAL_UINT64(before, state.sort);
	for (i = 0; i < top_table_len(TOP_TABLE_PROCESSES); i++)
		press('<');
	TEST_ASSERT_EQUAL_UINT64(before, state.sort);
	press(TOP_KEY_F6);
	press(TOP_KEY_HOME);
	press(TOP_KEY_ENTER);
	TEST_ASSERT_EQUAL_UINT64(TOP_COLUMN_PROCESSES_PID, state.sort);
	TEST_ASSERT_EQUAL_INT(TOP_MODE_VIEW, state.mode);
}

static void test_the_filter_is_typed_and_taken_back(void)
{
	press('/');
	TEST_ASSERT_EQUAL_INT(TOP_VIEW_PROCESSES, state.view);
	type("alphq");
	press(TOP_KEY_BACKSPACE);
	TEST_ASSERT_EQUAL_UINT64(1, model.rows.len);
	press(TOP_KEY_ENTER);
	TEST_ASSERT_EQUAL_STRING("alph", state.filter);
	press('/');
	press(0x20ac);
	TEST_ASSERT_EQUAL_STRING("alph\xe2\x82\xac", state.filter);
	press(TOP_KEY_BACKSPACE);
	TEST_ASSERT_EQUAL_STRING("alph", state.filter);
	type("x");
	press(TOP_KEY_ESCAPE);
	TEST_ASSERT_EQUAL_STRING("alph", state.filter);
	press('/');
	press(TOP_KEY_CTRL('u'));
	press(TOP_KEY_ENTER);
	TEST_ASSERT_EQUAL_UINT64(4, model.rows.len);
}

static void test_a_filter_has_an_end(void)
{
	int i;

	press('/');
	for (i = 0; i < 300; i++)
		press('x');
	TEST_ASSERT_TRUE(strlen(state.filter) < TOP_FILTER_SIZE);
}

static void test_devices_go_round_and_processes_have_all(void)
{
	press('d');
	TEST_ASSERT_EQUAL_UINT64(1, state.devices.selected);
	press('d');
	TEST_ASSERT_EQUAL_UINT64(0, state.devices.selected);
	press('3');
	press('d');
	TEST_ASSERT_TRUE(state.device_only);
	TEST_ASSERT_EQUAL_UINT64(0, state.devices.selected);
	press('d');
	TEST_ASSERT_EQUAL_UINT64(1, state.devices.selected);
	TEST_ASSERT_EQUAL_UINT64(2, model.rows.len);
	press('d');
	TEST_ASSERT_FALSE(state.device_only);
	TEST_ASSERT_EQUAL_UINT64(4, model.rows.len);
}

static void test_expanding_and_collapsing(void)
{
	press('3');
	press(TOP_KEY_RIGHT);
	TEST_ASSERT_EQUAL_UINT64(6, model.rows.len);
	TEST_ASSERT_EQUAL_UINT32(
		TTMEM_SNAPSHOT_OBJECTS, top_state_flags(&state));
	press(TOP_KEY_DOWN);
	/* From a scope, its process is collapsed. */
	press(TOP_KEY_LEFT);
	TEST_ASSERT_EQUAL_UINT64(4, model.rows.len);
	TEST_ASSERT_EQUAL_UINT64(10, selected_pid());
	press('*');
	TEST_ASSERT_TRUE(model.rows.len > 6);
	press('*');
	TEST_ASSERT_EQUAL_UINT64(4, model.rows.len);
	TEST_ASSERT_EQUAL_UINT32(0, top_state_flags(&state));
}

static void test_windows_of_charts(void)
{
	int i;

	press('2');
	TEST_ASSERT_EQUAL_UINT32(
		TTMEM_SNAPSHOT_HISTORIES, top_state_flags(&state));
	for (i = 0; i < 20; i++)
		press('-');
	TEST_ASSERT_EQUAL_UINT(TOP_WINDOWS - 1, state.window);
	for (i = 0; i < 20; i++)
		press('[');
	TEST_ASSERT_TRUE(state.pan_ns <= top_windows[TOP_WINDOWS - 1]);
	press(']');
	press('0');
	TEST_ASSERT_EQUAL_UINT64(0, state.pan_ns);
	for (i = 0; i < 20; i++)
		press('+');
	TEST_ASSERT_EQUAL_UINT(0, state.window);
	press(TOP_KEY_ENTER);
	TEST_ASSERT_TRUE(state.zoomed);
}

static void test_vi_movement_is_a_setting(void)
{
	press('3');
	select_self();
	press('k');
	TEST_ASSERT_EQUAL_INT(TOP_MODE_SIGNAL, state.mode);
	press(TOP_KEY_ESCAPE);
	press(TOP_KEY_F2);
	press(' '); /* the first one */
	TEST_ASSERT_TRUE(state.settings.vi);
	TEST_ASSERT_TRUE(state.settings_changed);
	press(TOP_KEY_ESCAPE);
	press('j');
	TEST_ASSERT_EQUAL_UINT64(1, state.rows.selected);
	press('k');
	TEST_ASSERT_EQUAL_UINT64(0, state.rows.selected);
	press('G');
	TEST_ASSERT_EQUAL_UINT64(3, state.rows.selected);
	TEST_ASSERT_EQUAL_INT(TOP_MODE_VIEW, state.mode);
}

static void test_peaks_are_reset(void)
{
	press('p');
	TEST_ASSERT_TRUE(model.peaks.since_reset);
	TEST_ASSERT_NOT_NULL(strstr(state.message, "Peaks"));
}

static void test_no_signal_without_a_yes(void)
{
	press('3');
	select_self();
	press('k');
	press(TOP_KEY_ENTER);
	TEST_ASSERT_EQUAL_INT(TOP_MODE_CONFIRM, state.mode);
	press('n');
	TEST_ASSERT_EQUAL_INT(TOP_MODE_VIEW, state.mode);
	TEST_ASSERT_NOT_NULL(strstr(state.message, "Nothing was sent"));
}

static void test_no_signal_to_another_process_of_that_pid(void)
{
	press('3');
	select_self();
	press('k');
	state.victim.start_time++;
	press(TOP_KEY_ENTER);
	press('y');
	TEST_ASSERT_NOT_NULL(strstr(state.message, "Not sent"));
	/* Nor is anything asked about one that is not there. */
	model.rows.list[state.rows.selected].start_time++;
	press('k');
	TEST_ASSERT_EQUAL_INT(TOP_MODE_VIEW, state.mode);
	TEST_ASSERT_NOT_NULL(strstr(state.message, "another process"));
}

static void test_no_signal_to_a_pid_that_is_not_confirmed(void)
{
	press('3');
	select_self();
	model.rows.list[state.rows.selected].start_time = TTMEM_UNKNOWN;
	press('k');
	TEST_ASSERT_EQUAL_INT(TOP_MODE_VIEW, state.mode);
	TEST_ASSERT_NOT_NULL(strstr(state.message, "not confirmed"));
	/* Anybody can make the file that such a row comes from. */
	select_self();
	model.rows.list[state.rows.selected].kind = TOP_ROW_UNTRACKED;
	press('k');
	TEST_ASSERT_EQUAL_INT(TOP_MODE_VIEW, state.mode);
	TEST_ASSERT_NOT_NULL(strstr(state.message, "could not be tracked"));
}

static void test_no_signal_when_readonly_or_recorded(void)
{
	press('3');
	state.readonly = true;
	press('k');
	TEST_ASSERT_EQUAL_INT(TOP_MODE_VIEW, state.mode);
	state.readonly = false;
	model.replay = true;
	press('k');
	TEST_ASSERT_EQUAL_INT(TOP_MODE_VIEW, state.mode);
	TEST_ASSERT_NOT_NULL(strstr(state.message, "recording"));
}

static void test_a_signal_reaches_its_process(void)
{
	struct top_victim victim;
	int status;
	pid_t child = fork();

	if (child == 0) {
		for (;;)
			pause();
	}
	memset(&victim, 0, sizeof(victim));
	victim.pid = (uint64_t)child;
	victim.start_time = ttm_proc_start_time(victim.pid);
	victim.pid_namespace = ttm_proc_pid_namespace(0) + 1;
	TEST_ASSERT_EQUAL_INT(-EXDEV, top_signal_send(&victim, SIGKILL));
	victim.pid_namespace = TTMEM_UNKNOWN;
	TEST_ASSERT_EQUAL_INT(0, top_victim_look(&victim));
	TEST_ASSERT_EQUAL_UINT64(geteuid(), victim.facts.uid);
	/* As after an exec, or another user: not what the question named. */
	victim.facts.uid++;
	TEST_ASSERT_EQUAL_INT(-ESTALE, top_signal_send(&victim, SIGKILL));
	victim.facts.uid--;
	victim.facts.comm[0]++;
	TEST_ASSERT_EQUAL_INT(-ESTALE, top_signal_send(&victim, SIGKILL));
	victim.facts.comm[0]--;
	TEST_ASSERT_EQUAL_INT(0, top_signal_send(&victim, SIGKILL));
	TEST_ASSERT_EQUAL_INT(child, waitpid(child, &status, 0));
	TEST_ASSERT_TRUE(WIFSIGNALED(status));
	TEST_ASSERT_EQUAL_INT(-ESRCH, top_signal_send(&victim, SIGKILL));
	victim.start_time = TTMEM_UNKNOWN;
	TEST_ASSERT_EQUAL_INT(-EINVAL, top_signal_send(&victim, SIGKILL));
}

static void test_clicks(void)
{
	struct top_input input = { TOP_KEY_CLICK, 0, 13 };

	press(TOP_KEY_NONE);
	top_input_apply(&model, &state, &grid, &input, 0); /* " 2 Charts " */
	TEST_ASSERT_EQUAL_INT(TOP_VIEW_CHARTS, state.view);
	press('3');
	press(TOP_KEY_NONE);
	input.row = 4;
	top_input_apply(&model, &state, &grid, &input, 0);
	TEST_ASSERT_EQUAL_UINT64(1, state.rows.selected);
	input.row = 2;
	input.col = 1;
	top_input_apply(&model, &state, &grid, &input, 0);
	TEST_ASSERT_EQUAL_UINT64(TOP_COLUMN_PROCESSES_PID, state.sort);
	top_input_apply(&model, &state, &grid, &input, 0);
	TEST_ASSERT_TRUE(state.reverse);
	input.key = TOP_KEY_WHEEL_DOWN;
	top_input_apply(&model, &state, &grid, &input, 0);
	TEST_ASSERT_EQUAL_UINT64(3, state.rows.selected);
}

static void test_each_key_in_each_view_without_data(void)
{
	int view, key;

	top_model_free(&model);
	memset(&model, 0, sizeof(model));
	for (view = '1'; view <= '4'; view++)
		for (key = 1; key < 0x80; key++) {
			press(TOP_KEY_ESCAPE);
			press(TOP_KEY_ESCAPE);
			press(view);
			press(key);
			press(TOP_KEY_ENTER);
		}
	for (key = TOP_KEY_NONE; key <= TOP_KEY_WHEEL_DOWN; key++)
		press(key);
}

static void test_each_key_in_each_view(void)
{
	int view, key;

	model.replay = true; /* no signals */
	for (view = '1'; view <= '4'; view++)
		for (key = 1; key < 0x80; key++) {
			press(TOP_KEY_ESCAPE);
			press(TOP_KEY_ESCAPE);
			press(view);
			press(key);
			press(TOP_KEY_DOWN);
			press(TOP_KEY_ENTER);
		}
	for (key = TOP_KEY_NONE; key <= TOP_KEY_WHEEL_DOWN; key++)
		press(key);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_digits_and_tab_change_the_view);
	RUN_TEST(test_arrows_select_and_the_selection_follows);
	RUN_TEST(test_sorting_goes_round);
	RUN_TEST(test_the_filter_is_typed_and_taken_back);
	RUN_TEST(test_a_filter_has_an_end);
	RUN_TEST(test_devices_go_round_and_processes_have_all);
	RUN_TEST(test_expanding_and_collapsing);
	RUN_TEST(test_windows_of_charts);
	RUN_TEST(test_vi_movement_is_a_setting);
	RUN_TEST(test_peaks_are_reset);
	RUN_TEST(test_no_signal_without_a_yes);
	RUN_TEST(test_no_signal_to_another_process_of_that_pid);
	RUN_TEST(test_no_signal_to_a_pid_that_is_not_confirmed);
	RUN_TEST(test_no_signal_when_readonly_or_recorded);
	RUN_TEST(test_a_signal_reaches_its_process);
	RUN_TEST(test_clicks);
	RUN_TEST(test_each_key_in_each_view_without_data);
	RUN_TEST(test_each_key_in_each_view);
	return UNITY_END();
}
