/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody removes the user's directory while a process starts in it, or while it
 * runs. At any step of the start the program is not tracked and nothing is left
 * open; later it goes on writing to a file that has no name any more.
 */

#include "faults/host.h"

void ttm_testpoint(const char *label);

static const char *dir;
static char user[256];
static const char *vanish_at;

void setUp(void)
{
	dir = test_dir_make();
	snprintf(user, sizeof(user), "%s/ttmem-%ld", dir, (long)geteuid());
	host_set_up();
	vanish_at = NULL;
}

void tearDown(void)
{
	host_tear_down();
	test_dir_remove();
}

static void vanish(void)
{
	if (test_dir_remove_tree(user))
		_exit(97);
}

/* Called by the library's test form. */
void ttm_testpoint(const char *label)
{
	if (!vanish_at || strcmp(label, vanish_at) != 0)
		return;
	vanish_at = NULL;
	vanish();
}

static void test_before_the_segment_has_its_name(void)
{
	static const char *const places[] = { "process made",
		"process published", "segment locked" };
	const struct host plain = { NULL, NULL, NULL, 0 };
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		vanish_at = places[i];
		host_is_untracked(&plain, dir, ENOENT, true);
		vanish();
	}
}

static void many(void)
{
	uint64_t i;

	vanish();
	for (i = 0; i < 5000; i++)
		host_alloc(1000 + i, 10);
}

static void test_while_it_runs(void)
{
	const struct host host = { NULL, many, NULL, 0 };

	host_run(&host);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_ON, host_report->status.state);
	host_nothing_is_missing();
	TEST_ASSERT_EQUAL_UINT64(host_report->called,
		host_report->usage.figures[0].live_objects);
	TEST_ASSERT_EQUAL_INT(-1, access(user, F_OK));
}

/* Then there is no way back to the file. */
static void many_without_descriptors(void)
{
	int fd;

	for (fd = 3; fd < 1100; fd++)
		close(fd);
	many();
}

static void test_while_it_runs_without_descriptors(void)
{
	const struct host host = { NULL, many_without_descriptors, NULL, 0 };
	struct host_end end;

	host_once(&host, &end);
	TEST_ASSERT_EQUAL_INT(HOST_EXIT << 8, end.status);
	host_nothing_is_missing();
	TEST_ASSERT_TRUE(
		host_report->status.lost_events[TTMEM_LOSS_NO_SLOT] > 0);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_before_the_segment_has_its_name);
	RUN_TEST(test_while_it_runs);
	RUN_TEST(test_while_it_runs_without_descriptors);
	return UNITY_END();
}
