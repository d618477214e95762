/* SPDX-License-Identifier: Apache-2.0 */
/* Files that tell of processes without a segment. */
#include "daemon/watching.h"

#include "daemon/find/watch_internal.h"

static char user[64];

void setUp(void)
{
	watching_dir = test_dir_make();
	snprintf(user, sizeof(user), "%s/ttmem-%u", watching_dir, geteuid());
	TEST_ASSERT_EQUAL_INT(0, mkdir(user, 0700));
}

void tearDown(void)
{
	watching_stop();
	test_dir_remove();
}

static void marker_make(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", user, name);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, mknod(path, S_IFREG | 0600, 0), path);
}

static size_t markers_len(void)
{
	const struct ttm_markers *markers;
	size_t len;

	rcu_read_lock();
	markers = ttm_registry_markers(watching_registry);
	len = markers ? markers->len : 0;
	rcu_read_unlock();
	return len;
}

static uint64_t markers_number(void)
{
	const struct ttm_markers *markers;
	uint64_t number;

	rcu_read_lock();
	markers = ttm_registry_markers(watching_registry);
	number = markers ? markers->number : 0;
	rcu_read_unlock();
	return number;
}

/* The marker of that process; false: none. */
static bool marker_get(uint32_t pid, struct ttm_marker *ret_marker)
{
	const struct ttm_markers *markers;
	bool found = false;
	size_t i;

	rcu_read_lock();
	markers = ttm_registry_markers(watching_registry);
	for (i = 0; markers && i < markers->len; i++)
		if (markers->markers[i].pid == pid) {
			*ret_marker = markers->markers[i];
			found = true;
		}
	rcu_read_unlock();
	return found;
}

static bool marker_is(uint32_t pid, uint64_t alive)
{
	struct ttm_marker marker;

	return marker_get(pid, &marker) && marker.alive == alive;
}

static void test_a_name_tells_everything(void)
{
	static const uint8_t run[16] = "run/7 and more o";
	struct ttm_marker marker;

	TEST_ASSERT_TRUE(ttm_marker_parse(
		"u.12.345.28.72756e2f3720616e64206d6f7265206f", &marker));
	TEST_ASSERT_EQUAL_UINT64(12, marker.pid);
	TEST_ASSERT_EQUAL_UINT64(345, marker.start_time);
	TEST_ASSERT_EQUAL_UINT64(28, marker.error);
	TEST_ASSERT_EQUAL_MEMORY(run, marker.run_id, 16);
	TEST_ASSERT_TRUE(ttm_marker_parse("u.1.0.1.", &marker));
	TEST_ASSERT_EQUAL_UINT64(0, marker.run_id[0]);
	TEST_ASSERT_TRUE(ttm_marker_parse(
		"u.2147483647.18446744073709551615.4095.00", &marker));
	TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, marker.start_time);
}

static void test_other_names_are_none(void)
{
	static const char *const names[] = { "", "u.", "u.1", "u.1.2",
		"u.1.2.3", "p.1.2.3.", "U.1.2.3.", "u.0.2.3.", "u.-1.2.3.",
		"u.+1.2.3.", "u. 1.2.3.", "u.01.2.3.", "u.1.02.3.", "u.1.2.03.",
		"u.1.2.0.", "u.1.2.4096.", "u.2147483648.2.3.",
		"u.1.18446744073709551616.3.", "u.1.2.3.0", "u.1.2.3.000",
		"u.1.2.3.0g", "u.1.2.3.AA", "u.1.2.3.00 ", "u.1.2.3.00.",
		"u.1.2.3.0000000000000000000000000000000000", "u.x.2.3.",
		"u.1..3.", "u..2.3.", "u.1.2..", "u.1.2.3x", "u.1.2.3.\033" };
	struct ttm_marker marker;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		TEST_ASSERT_FALSE_MESSAGE(
			ttm_marker_parse(names[i], &marker), names[i]);
}

static void test_who_runs_and_who_has_ended(void)
{
	struct client client = client_start();
	struct ttm_marker marker;
	char name[100];

	snprintf(name, sizeof(name), "u.%d.%llu.28.ab", (int)client.pid,
		(unsigned long long)ttm_proc_start_time((uint32_t)client.pid));
	marker_make(name);
	snprintf(name, sizeof(name), "u.%d.1.28.", (int)getpid());
	marker_make(name); /* its pid is ours by now */
	snprintf(name, sizeof(name), "u.%d.0.24.", (int)getppid());
	marker_make(name); /* it did not know when it started */
	marker_make("u.2000000000.5.28.");
	marker_make("u.nothing");
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(4, markers_len());
	TEST_ASSERT_TRUE(marker_get((uint32_t)client.pid, &marker));
	TEST_ASSERT_EQUAL_UINT64(28, marker.error);
	TEST_ASSERT_EQUAL_UINT64(0xab, marker.run_id[0]);
	TEST_ASSERT_EQUAL_STRING(user, marker.directory->path);
	TEST_ASSERT_EQUAL_UINT64(1, marker.alive);
	TEST_ASSERT_TRUE(marker_is((uint32_t)getpid(), 0));
	TEST_ASSERT_TRUE(marker_is((uint32_t)getppid(), TTMEM_UNKNOWN));
	TEST_ASSERT_TRUE(marker_is(2000000000, 0));
	snprintf(name, sizeof(name), "%d", (int)client.pid);
	kill(client.pid, SIGKILL);
	waitpid(client.pid, NULL, 0);
	await(marker_is((uint32_t)client.pid, 0));
	close(client.in);
	close(client.out);
}

static void test_they_come_and_go(void)
{
	uint64_t number;
	char path[200];

	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(0, markers_len());
	marker_make("u.2000000000.5.28.");
	await(markers_len() == 1);
	number = markers_number();
	TEST_ASSERT_TRUE(number > 0);
	snprintf(path, sizeof(path), "%s/u.2000000000.5.28.", user);
	TEST_ASSERT_EQUAL_INT(0, unlink(path));
	await(markers_len() == 0);
	TEST_ASSERT_TRUE(markers_number() > number);
}

static void test_there_are_never_many(void)
{
	char another[64], name[100];
	uint32_t i;

	for (i = 0; i < 3 * TTM_MARKERS_PER_DIRECTORY; i++) {
		snprintf(name, sizeof(name), "u.%u.5.28.", 2000000000 + i);
		marker_make(name);
	}
	/* They do not hide those of another directory. */
	snprintf(another, sizeof(another), "%s/ttmem-%u.1", watching_dir,
		geteuid());
	TEST_ASSERT_EQUAL_INT(0, mkdir(another, 0700));
	snprintf(user, sizeof(user), "%s/ttmem-%u.1", watching_dir, geteuid());
	marker_make("u.1999999999.5.28.");
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(TTM_MARKERS_PER_DIRECTORY + 1, markers_len());
	TEST_ASSERT_TRUE(marker_is(1999999999, 0));
}

int main(void)
{
	int failures;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_a_name_tells_everything);
	RUN_TEST(test_other_names_are_none);
	RUN_TEST(test_who_runs_and_who_has_ended);
	RUN_TEST(test_they_come_and_go);
	RUN_TEST(test_there_are_never_many);
	failures = UNITY_END();
	rcu_unregister_thread();
	return failures;
}
