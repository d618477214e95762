/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inotify instances have run out: everything is found all the same, and heard of
 * again once there are some. In a user namespace of its own, whose limits are
 * nobody else's.
 */
#include "daemon/watching.h"

#include <sched.h>

void setUp(void)
{
	watching_dir = test_dir_make();
}

void tearDown(void)
{
	watching_stop();
	test_dir_remove();
}

static bool file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 &&
		write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

static bool instances_allow(const char *number)
{
	return file_write("/proc/sys/user/max_inotify_instances", number);
}

static bool namespace_enter(void)
{
	char map[64];

	snprintf(map, sizeof(map), "%u %u 1", geteuid(), geteuid());
	return unshare(CLONE_NEWUSER) == 0 &&
		file_write("/proc/self/uid_map", map) && instances_allow("0");
}

static void test_everything_is_found_by_looking(void)
{
	struct ttm_attached *attached;
	struct client client;
	char name[64];

	TEST_ASSERT_TRUE(instances_allow("0"));
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(0, ttm_load(&watching_registry->inotify));
	client = client_tracked();
	attached = client_attached(&client);
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_ALIVE, watching_fate(attached));
	kill(client.pid, SIGKILL);
	await(watching_fate(attached) == TTM_FATE_DEAD);
	client_end(&client);
	snprintf(name, sizeof(name), "%s/ttmem-%u.1", watching_dir, geteuid());
	TEST_ASSERT_EQUAL_INT(0, mkdir(name, 0700));
	await(watching_state(strrchr(name, '/') + 1) == TTM_DIRECTORY_SERVED);
}

static void test_it_is_heard_of_again_when_there_are_instances(void)
{
	struct client client;

	TEST_ASSERT_TRUE(instances_allow("0"));
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(0, ttm_load(&watching_registry->inotify));
	TEST_ASSERT_TRUE(instances_allow("16"));
	await(ttm_load(&watching_registry->inotify));
	client = client_tracked();
	client_attached(&client);
	client_end(&client);
}

int main(void)
{
	int failures;

	if (!namespace_enter())
		return 77;
	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_everything_is_found_by_looking);
	RUN_TEST(test_it_is_heard_of_again_when_there_are_instances);
	failures = UNITY_END();
	rcu_unregister_thread();
	return failures;
}
