/* SPDX-License-Identifier: Apache-2.0 */
/* The table that watch and drain share. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <unity.h>

#include "daemon/find/registry.h"
#include "shm/atomics.h"
#include "support/test_dir.h"

static struct ttm_registry *registry;

void setUp(void)
{
	TEST_ASSERT_EQUAL_INT(0, ttm_registry_new(&registry));
}

void tearDown(void)
{
	ttm_registry_free(&registry);
	TEST_ASSERT_NULL(registry);
}

static struct ttm_attached *attached_add(uint64_t inode)
{
	struct ttm_attached *attached = ttm_attached_new();

	TEST_ASSERT_NOT_NULL(attached);
	attached->inode = inode;
	TEST_ASSERT_TRUE(ttm_registry_add(registry, attached));
	return attached;
}

static bool attached_has(uint64_t inode)
{
	bool found;

	rcu_read_lock();
	found = ttm_registry_find(registry, inode) != NULL;
	rcu_read_unlock();
	return found;
}

static size_t attached_len(void)
{
	struct ttm_attached *attached;
	struct ttm_cursor cursor;
	size_t len = 0;

	rcu_read_lock();
	ttm_registry_for_each(registry, &cursor, attached) len++;
	rcu_read_unlock();
	return len;
}

static void test_empty(void)
{
	TEST_ASSERT_FALSE(attached_has(1));
	TEST_ASSERT_EQUAL_UINT64(0, attached_len());
	rcu_read_lock();
	TEST_ASSERT_NULL(ttm_registry_first_directory(registry));
	TEST_ASSERT_NULL(ttm_registry_markers(registry));
	rcu_read_unlock();
}

static void test_nothing_to_free_is_fine(void)
{
	struct ttm_registry *none = NULL;
	struct ttm_attached *attached = NULL;
	struct ttm_directory *directory = NULL;

	ttm_registry_free(&none);
	ttm_attached_free(&attached);
	ttm_directory_free(&directory);
}

static void test_many_are_found_and_removed(void)
{
	enum {
		MANY = 2000
	};
	struct ttm_attached **all = calloc(MANY, sizeof(*all));
	uint64_t i;

	TEST_ASSERT_NOT_NULL(all);
	for (i = 0; i < MANY; i++)
		all[i] = attached_add(i * 64);
	TEST_ASSERT_EQUAL_UINT64(MANY, attached_len());
	for (i = 0; i < MANY; i++) {
		rcu_read_lock();
		TEST_ASSERT_TRUE(ttm_registry_find(registry, i * 64) == all[i]);
		rcu_read_unlock();
	}
	for (i = 0; i < MANY; i += 2)
		ttm_registry_remove(registry, all[i]);
	TEST_ASSERT_EQUAL_UINT64(MANY / 2, attached_len());
	TEST_ASSERT_FALSE(attached_has(0));
	TEST_ASSERT_TRUE(attached_has(64));
	free(all);
}

static void test_an_inode_is_there_once(void)
{
	struct ttm_attached *again = ttm_attached_new();

	attached_add(7);
	TEST_ASSERT_NOT_NULL(again);
	again->inode = 7;
	TEST_ASSERT_FALSE(ttm_registry_add(registry, again));
	ttm_attached_free(&again);
	TEST_ASSERT_EQUAL_UINT64(1, attached_len());
}

static void test_all_can_be_removed_while_going_through_them(void)
{
	struct ttm_attached *attached;
	struct ttm_cursor cursor;
	uint64_t i;

	for (i = 1; i <= 100; i++)
		attached_add(i);
	rcu_read_lock();
	ttm_registry_for_each(registry, &cursor, attached)
		ttm_registry_remove(registry, attached);
	rcu_read_unlock();
	TEST_ASSERT_EQUAL_UINT64(0, attached_len());
}

static bool descriptor_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void test_descriptors_are_closed_when_nobody_looks_any_more(void)
{
	struct ttm_attached *attached = ttm_attached_new();
	int fd, pidfd;

	TEST_ASSERT_NOT_NULL(attached);
	fd = attached->fd = eventfd(0, EFD_CLOEXEC);
	pidfd = attached->pidfd = eventfd(0, EFD_CLOEXEC);
	attached->inode = 9;
	TEST_ASSERT_TRUE(ttm_registry_add(registry, attached));
	rcu_read_lock();
	ttm_registry_remove(registry, attached);
	TEST_ASSERT_TRUE(descriptor_is_open(fd));
	TEST_ASSERT_EQUAL_UINT64(9, attached->inode);
	rcu_read_unlock();
	rcu_barrier();
	TEST_ASSERT_FALSE(descriptor_is_open(fd));
	TEST_ASSERT_FALSE(descriptor_is_open(pidfd));
}

static void test_directories_keep_their_order_and_go_when_released(void)
{
	struct ttm_directory *directories[3], *directory;
	size_t i;

	for (i = 0; i < 3; i++) {
		directories[i] = ttm_directory_new();
		TEST_ASSERT_NOT_NULL(directories[i]);
		ttm_registry_add_directory(registry, directories[i]);
	}
	TEST_ASSERT_FALSE(ttm_registry_tidy(directories[1]));
	ttm_registry_release_directory(directories[1]);
	TEST_ASSERT_TRUE(ttm_registry_tidy(directories[1]));
	i = 0;
	rcu_read_lock();
	ttm_registry_for_each_directory(registry, directory)
	{
		TEST_ASSERT_TRUE(directory == directories[i]);
		i += 2;
	}
	rcu_read_unlock();
	TEST_ASSERT_EQUAL_UINT64(4, i);
}

static struct ttm_markers *markers_make(size_t len)
{
	struct ttm_markers *markers = calloc(
		1, sizeof(*markers) + len * sizeof(markers->markers[0]));

	TEST_ASSERT_NOT_NULL(markers);
	markers->len = len;
	return markers;
}

static void test_markers_are_replaced_as_a_whole(void)
{
	const struct ttm_markers *seen;

	ttm_registry_set_markers(registry, markers_make(3));
	rcu_read_lock();
	seen = ttm_registry_markers(registry);
	ttm_registry_set_markers(registry, markers_make(5));
	TEST_ASSERT_EQUAL_UINT64(3, seen->len);
	TEST_ASSERT_EQUAL_UINT64(5, ttm_registry_markers(registry)->len);
	rcu_read_unlock();
}

static void test_wakes_are_one_until_they_are_read(void)
{
	struct pollfd poll_fd = { registry->wake_fd, POLLIN, 0 };
	uint64_t wakes;

	TEST_ASSERT_EQUAL_INT(0, poll(&poll_fd, 1, 0));
	ttm_registry_wake(registry);
	ttm_registry_wake(registry);
	TEST_ASSERT_EQUAL_INT(1, poll(&poll_fd, 1, 0));
	TEST_ASSERT_EQUAL_INT(
		sizeof(wakes), read(registry->wake_fd, &wakes, sizeof(wakes)));
	TEST_ASSERT_EQUAL_INT(0, poll(&poll_fd, 1, 0));
}

/* -- both threads ------------------------------------------------------------- */

static uint64_t rounds;
static uint64_t done;

/* As the watch: adds and judges. */
static void *watch_run(void *context)
{
	struct ttm_attached *attached;
	struct ttm_cursor cursor;
	uint64_t i;

	(void)context;
	rcu_register_thread();
	for (i = 1; i <= rounds; i++) {
		attached = ttm_attached_new();
		if (!attached)
			break;
		attached->inode = i;
		attached->fd = eventfd(0, EFD_CLOEXEC);
		ttm_registry_add(registry, attached);
		rcu_read_lock();
		ttm_registry_for_each(registry, &cursor, attached)
		{
			attached->checked_ns++;
			ttm_store_release(&attached->fate, TTM_FATE_DEAD);
		}
		rcu_read_unlock();
		if (i % 64 == 0)
			ttm_registry_set_markers(registry, markers_make(i % 7));
	}
	ttm_store_release(&done, 1);
	rcu_unregister_thread();
	return NULL;
}

/* As the drain: removes the dead, each once. */
static uint64_t drain_round(void)
{
	struct ttm_attached *attached;
	struct ttm_cursor cursor;
	uint64_t removed = 0;

	rcu_read_lock();
	ttm_registry_for_each(registry, &cursor, attached)
	{
		if (ttm_load_acquire(&attached->fate) != TTM_FATE_DEAD)
			continue;
		ttm_registry_remove(registry, attached);
		removed++;
	}
	rcu_read_unlock();
	return removed;
}

static void test_adding_and_removing_at_once_loses_nothing(void)
{
	uint64_t removed = 0;
	pthread_t thread;
	bool last;

	rounds = test_scale(20000);
	done = 0;
	TEST_ASSERT_EQUAL_INT(
		0, pthread_create(&thread, NULL, watch_run, NULL));
	do {
		last = ttm_load_acquire(&done) != 0;
		removed += drain_round();
	} while (!last);
	pthread_join(thread, NULL);
	TEST_ASSERT_EQUAL_UINT64(rounds, removed);
	TEST_ASSERT_EQUAL_UINT64(0, attached_len());
}

int main(void)
{
	int failures;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_empty);
	RUN_TEST(test_nothing_to_free_is_fine);
	RUN_TEST(test_many_are_found_and_removed);
	RUN_TEST(test_an_inode_is_there_once);
	RUN_TEST(test_all_can_be_removed_while_going_through_them);
	RUN_TEST(test_descriptors_are_closed_when_nobody_looks_any_more);
	RUN_TEST(test_directories_keep_their_order_and_go_when_released);
	RUN_TEST(test_markers_are_replaced_as_a_whole);
	RUN_TEST(test_wakes_are_one_until_they_are_read);
	RUN_TEST(test_adding_and_removing_at_once_loses_nothing);
	failures = UNITY_END();
	rcu_unregister_thread();
	return failures;
}
