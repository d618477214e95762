/* SPDX-License-Identifier: Apache-2.0 */
/* Who lives, who is dead, and who cannot be told: with real processes. */
#include "daemon/watching.h"

void setUp(void)
{
	watching_dir = test_dir_make();
}

void tearDown(void)
{
	watching_stop();
	test_dir_remove();
}

static void test_a_killed_process_is_dead_at_once(void)
{
	struct ttm_attached *attached;
	struct client client;
	uint64_t begin_ms;

	watching_start(TTM_MODE_USER);
	client = client_tracked();
	attached = client_attached(&client);
	TEST_ASSERT_EQUAL_STRING("", attached->reason);
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_ALIVE, watching_fate(attached));
	begin_ms = watching_now_ms();
	kill(client.pid, SIGKILL);
	await(watching_fate(attached) == TTM_FATE_DEAD);
	printf("dead after %d ms\n", (int)(watching_now_ms() - begin_ms));
	client_end(&client);
}

/* Nobody waits for it: it has a pid and a start time still. */
static void test_a_zombie_is_dead(void)
{
	struct ttm_attached *attached;
	struct client client;

	watching_start(TTM_MODE_USER);
	client = client_tracked();
	attached = client_attached(&client);
	client_tell(&client, "exit");
	await(watching_fate(attached) == TTM_FATE_DEAD);
	TEST_ASSERT_EQUAL_INT(0, kill(client.pid, 0));
	client_end(&client);
}

static void test_a_zombie_that_was_one_before_is_dead(void)
{
	struct client client = client_tracked();
	siginfo_t info;

	client_tell(&client, "exit");
	TEST_ASSERT_EQUAL_INT(
		0, waitid(P_PID, (id_t)client.pid, &info, WEXITED | WNOWAIT));
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_DEAD,
		watching_fate(watching_find((uint32_t)client.pid)));
	client_end(&client);
}

static void test_who_ended_before_is_dead_at_the_first_look(void)
{
	struct client client = client_tracked();
	uint32_t pid = (uint32_t)client.pid;

	client_end(&client);
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_NOT_NULL(watching_find(pid));
	TEST_ASSERT_EQUAL_UINT64(
		TTM_FATE_DEAD, watching_fate(watching_find(pid)));
}

static void test_a_process_that_execs_is_dead_though_its_pid_lives(void)
{
	struct ttm_attached *attached;
	struct client client;

	watching_start(TTM_MODE_USER);
	client = client_tracked();
	attached = client_attached(&client);
	client_do(&client, "exec");
	await(watching_fate(attached) == TTM_FATE_DEAD);
	client_end(&client);
}

static void test_stop_ends_it_though_the_process_lives(void)
{
	struct ttm_attached *attached;
	struct client client;

	watching_start(TTM_MODE_USER);
	client = client_tracked();
	attached = client_attached(&client);
	client_do(&client, "stop");
	await(watching_fate(attached) == TTM_FATE_DEAD);
	client_end(&client);
}

static void test_threads_outlive_their_leader(void)
{
	struct ttm_attached *attached;
	struct client client;

	watching_start(TTM_MODE_USER);
	client = client_tracked();
	attached = client_attached(&client);
	client_do(&client, "leave");
	watching_round();
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_ALIVE, watching_fate(attached));
	client_do(&client, "alloc");
	client_tell(&client, "exit");
	await(watching_fate(attached) == TTM_FATE_DEAD);
	client_end(&client);
}

/* Some programs close everything: no lock, but the segment is mapped. */
static void test_a_lost_lock_is_not_death(void)
{
	struct client client = client_tracked();
	struct ttm_attached *attached;

	client_do(&client, "close");
	watching_start(TTM_MODE_USER);
	attached = watching_find((uint32_t)client.pid);
	TEST_ASSERT_NOT_NULL(attached);
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_ALIVE, watching_fate(attached));
	watching_round();
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_ALIVE, watching_fate(attached));
	kill(client.pid, SIGKILL);
	await(watching_fate(attached) == TTM_FATE_DEAD);
	client_end(&client);
}

/* Neither its lock nor its mappings: a zombie leader without descriptors. */
static void test_what_cannot_be_read_is_unknown(void)
{
	struct client client = client_tracked();
	struct ttm_attached *attached;

	client_do(&client, "close");
	client_do(&client, "leave");
	watching_start(TTM_MODE_USER);
	attached = watching_find((uint32_t)client.pid);
	TEST_ASSERT_NOT_NULL(attached);
	await(watching_fate(attached) == TTM_FATE_UNKNOWN);
	watching_round();
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_UNKNOWN, watching_fate(attached));
	client_tell(&client, "exit");
	await(watching_fate(attached) == TTM_FATE_DEAD);
	client_end(&client);
}

static void test_a_segment_without_its_name_lives_on(void)
{
	struct client client = client_tracked();
	struct ttm_attached *attached;
	char *path;

	watching_start(TTM_MODE_USER);
	attached = watching_find((uint32_t)client.pid);
	path = test_dir_segment(watching_dir, client.pid, NULL);
	TEST_ASSERT_NOT_NULL(path);
	TEST_ASSERT_EQUAL_INT(0, unlink(path));
	free(path);
	await(ttm_load(&attached->vanished));
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_ALIVE, watching_fate(attached));
	kill(client.pid, SIGKILL);
	await(watching_fate(attached) == TTM_FATE_DEAD);
	client_end(&client);
}

/* -- other pid namespaces ----------------------------------------------------- */

/* Its header says pid 1, and its lock says who that is here. */
static void test_in_another_namespace_death_is_heard_of_at_once(void)
{
	struct ttm_attached *attached;
	struct client client;

	watching_start(TTM_MODE_USER);
	client = client_start_with("--new-pid-namespace", NULL);
	client_do(&client, "start");
	await(watching_find(1));
	attached = watching_find(1);
	TEST_ASSERT_NOT_NULL(attached);
	TEST_ASSERT_TRUE(attached->pid > 1);
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_ALIVE, watching_fate(attached));
	kill((pid_t)attached->pid, SIGKILL);
	await(watching_fate(attached) == TTM_FATE_DEAD);
	client_end(&client);
}

static void test_in_another_namespace_without_lock_it_is_unknown(void)
{
	struct client client = client_start_with("--new-pid-namespace", NULL);
	struct ttm_attached *attached;

	client_do(&client, "start");
	client_do(&client, "close");
	watching_start(TTM_MODE_USER);
	attached = watching_find(1);
	TEST_ASSERT_NOT_NULL(attached);
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_UNKNOWN, watching_fate(attached));
	watching_round();
	watching_round();
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_UNKNOWN, watching_fate(attached));
	/* Then nobody is in that namespace. */
	client_tell(&client, "exit");
	await(watching_fate(attached) == TTM_FATE_DEAD);
	client_end(&client);
}

static void test_of_a_namespace_that_is_gone_it_is_dead(void)
{
	struct client client = client_start_with("--new-pid-namespace", NULL);

	client_do(&client, "start");
	client_do(&client, "alloc");
	client_tell(&client, "exit");
	waitpid(client.pid, NULL, 0);
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_NOT_NULL(watching_find(1));
	TEST_ASSERT_EQUAL_UINT64(
		TTM_FATE_DEAD, watching_fate(watching_find(1)));
	client.pid = 0;
	close(client.in);
	close(client.out);
}

/* -- who is there, many of them ------------------------------------------------ */

static void test_all_of_many_deaths_are_seen(void)
{
	enum {
		CLIENTS = 40
	};
	struct ttm_attached *attached[CLIENTS];
	struct client clients[CLIENTS];
	size_t i;

	watching_start(TTM_MODE_USER);
	for (i = 0; i < CLIENTS; i++)
		clients[i] = client_tracked();
	for (i = 0; i < CLIENTS; i++)
		attached[i] = client_attached(&clients[i]);
	for (i = 0; i < CLIENTS; i += 2)
		kill(clients[i].pid, SIGKILL);
	for (i = 0; i < CLIENTS; i += 2)
		await(watching_fate(attached[i]) == TTM_FATE_DEAD);
	for (i = 1; i < CLIENTS; i += 2)
		TEST_ASSERT_EQUAL_UINT64(
			TTM_FATE_ALIVE, watching_fate(attached[i]));
	for (i = 0; i < CLIENTS; i++)
		client_end(&clients[i]);
}

int main(void)
{
	int failures;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_a_killed_process_is_dead_at_once);
	RUN_TEST(test_a_zombie_is_dead);
	RUN_TEST(test_a_zombie_that_was_one_before_is_dead);
	RUN_TEST(test_who_ended_before_is_dead_at_the_first_look);
	RUN_TEST(test_a_process_that_execs_is_dead_though_its_pid_lives);
	RUN_TEST(test_stop_ends_it_though_the_process_lives);
	RUN_TEST(test_threads_outlive_their_leader);
	RUN_TEST(test_a_lost_lock_is_not_death);
	RUN_TEST(test_what_cannot_be_read_is_unknown);
	RUN_TEST(test_a_segment_without_its_name_lives_on);
	RUN_TEST(test_in_another_namespace_death_is_heard_of_at_once);
	RUN_TEST(test_in_another_namespace_without_lock_it_is_unknown);
	RUN_TEST(test_of_a_namespace_that_is_gone_it_is_dead);
	RUN_TEST(test_all_of_many_deaths_are_seen);
	failures = UNITY_END();
	rcu_unregister_thread();
	return failures;
}
