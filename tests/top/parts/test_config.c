/* SPDX-License-Identifier: Apache-2.0 */
/* What is written is read back, and what is not understood does no harm. */
#include "ttmem-top/model/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unity.h>

static char dir[64];
static char path[256];
static struct top_state state;

void setUp(void)
{
	snprintf(dir, sizeof(dir), "/tmp/ttmem-top-test.XXXXXX");
	TEST_ASSERT_NOT_NULL(mkdtemp(dir));
	setenv("XDG_CONFIG_HOME", dir, 1);
	TEST_ASSERT_EQUAL_INT(0, top_config_path(path, sizeof(path)));
	top_state_begin(&state);
}

void tearDown(void)
{
	char part[128];

	unlink(path);
	snprintf(part, sizeof(part), "%s/ttmem", dir);
	rmdir(part);
	TEST_ASSERT_EQUAL_INT(0, rmdir(dir));
}

static void file_is(const char *text)
{
	FILE *file;
	char part[128];

	snprintf(part, sizeof(part), "%s/ttmem", dir);
	TEST_ASSERT_EQUAL_INT(0, top_config_write(path, &state));
	file = fopen(path, "w");
	TEST_ASSERT_NOT_NULL(file);
	fputs(text, file);
	fclose(file);
}

static void test_settings_come_back(void)
{
	struct top_state again;

	state.settings.vi = true;
	state.settings.mouse = false;
	state.sort = TOP_COLUMN_PROCESSES_CB;
	state.reverse = true;
	TEST_ASSERT_EQUAL_INT(0, top_config_write(path, &state));
	top_state_begin(&again);
	TEST_ASSERT_EQUAL_INT(0, top_config_read(path, &again));
	TEST_ASSERT_EQUAL_MEMORY(
		&state.settings, &again.settings, sizeof(state.settings));
	TEST_ASSERT_EQUAL_UINT64(state.sort, again.sort);
	TEST_ASSERT_TRUE(again.reverse);
}

static void test_what_is_not_known_is_skipped(void)
{
	file_is("# vi = on\n\nsort = no such column\nfuture = 7\n"
		"vi\n = \n mouse = off # really\nview = health");
	TEST_ASSERT_EQUAL_INT(0, top_config_read(path, &state));
	TEST_ASSERT_FALSE(state.settings.vi);
	TEST_ASSERT_FALSE(state.settings.mouse);
	TEST_ASSERT_EQUAL_UINT64(TOP_COLUMN_PROCESSES_DRAM, state.sort);
	TEST_ASSERT_EQUAL_INT(TOP_VIEW_HEALTH, state.view);
}

static void test_no_file_is_no_harm(void)
{
	TEST_ASSERT_EQUAL_INT(-ENOENT, top_config_read(path, &state));
	TEST_ASSERT_EQUAL_INT(
		-ENOTDIR, top_config_write("/dev/null/ttmem/top.conf", &state));
}

static void test_the_place_is_where_it_should_be(void)
{
	char small[4];

	setenv("XDG_CONFIG_HOME", "relative", 1);
	setenv("HOME", "/srv/somebody", 1);
	TEST_ASSERT_EQUAL_INT(0, top_config_path(path, sizeof(path)));
	TEST_ASSERT_EQUAL_STRING("/srv/somebody/.config/ttmem/top.conf", path);
	TEST_ASSERT_EQUAL_INT(
		-ENAMETOOLONG, top_config_path(small, sizeof(small)));
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
	TEST_ASSERT_EQUAL_INT(-ENOENT, top_config_path(path, sizeof(path)));
	snprintf(path, sizeof(path), "%s/none", dir);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_settings_come_back);
	RUN_TEST(test_what_is_not_known_is_skipped);
	RUN_TEST(test_no_file_is_no_harm);
	RUN_TEST(test_the_place_is_where_it_should_be);
	return UNITY_END();
}
