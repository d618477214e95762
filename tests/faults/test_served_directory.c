/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an aggregator serves the directory, and where another process tidies it at
 * the moment, a process removes nothing, its own segment included, and waits for
 * nobody.
 */
#include <time.h>

#include "faults/leftovers.h"

enum {
	MANY = 64,
};

static struct leftover left[MANY];

void setUp(void)
{
	leftovers_set_up();
}

void tearDown(void)
{
	leftovers_tear_down();
}

static void all_are_there(uint64_t len)
{
	uint64_t i;

	for (i = 0; i < len; i++)
		leftover_is_whole(&left[i]);
	TEST_ASSERT_EQUAL_UINT64(0, leftovers_lost().segments);
}

static void test_own_segment_stays(void)
{
	int server = leftovers_lock("ttmemd.lock");

	leftover_make(LEFTOVER_EXITS, 10, 0);
	leftover_is_whole(leftover_shared);
	close(server);
	leftover_make(LEFTOVER_EXITS, 10, 0);
	TEST_ASSERT_FALSE(leftover_is_there(leftover_shared));
}

/* The aggregator may not have read it yet. */
static void test_large_segment_is_not_given_back(void)
{
	int server = leftovers_lock("ttmemd.lock");
	struct segment *segment = NULL;
	struct stat st;
	char why[512];

	leftover_make(LEFTOVER_EXITS, 40000, 3);
	leftover_is_whole(leftover_shared);
	TEST_ASSERT_EQUAL_INT(0,
		segment_read(
			leftover_shared->path, &segment, why, sizeof(why)));
	TEST_ASSERT_EQUAL_INT(0, stat(leftover_shared->path, &st));
	/* Its slots and its ring. */
	TEST_ASSERT_TRUE((uint64_t)st.st_blocks * 512 >= (40000 + 2048) * 64);
	TEST_ASSERT_EQUAL_UINT64(0, segment->extents_claimed);
	TEST_ASSERT_EQUAL_UINT64(2, segment->state);
	segment_unref(&segment);
	close(server);
}

static void test_dead_segments_stay(void)
{
	int server = leftovers_lock("ttmemd.lock");
	uint64_t len = leftovers_overfill(left, MANY, 0);

	leftover_make(LEFTOVER_EXITS, 10, 2);
	leftover_is_whole(leftover_shared);
	all_are_there(len);
	TEST_ASSERT_TRUE(leftovers_size(NULL) > LEFTOVERS_MOST);
	/* And when the aggregator is gone they go. */
	close(server);
	leftover_make(LEFTOVER_EXITS, 10, 0);
	TEST_ASSERT_TRUE(leftovers_size(NULL) <= LEFTOVERS_TIDIED);
	TEST_ASSERT_TRUE(leftovers_lost().segments > 0);
}

/* A file without a lock is what a dead aggregator left. */
static void test_lock_file_alone_serves_nobody(void)
{
	close(leftovers_lock("ttmemd.lock"));
	leftover_make(LEFTOVER_EXITS, 10, 0);
	TEST_ASSERT_FALSE(leftover_is_there(leftover_shared));
}

/* What an aggregator writes into its lock file: see lib/shm/directory.h. */
static void note_leave(uint64_t stopped_ns)
{
	uint64_t note[2] = { 0x45544f4e4d454d54u, stopped_ns };
	int fd = leftovers_lock("ttmemd.lock");

	TEST_ASSERT_EQUAL_INT(sizeof(note), pwrite(fd, note, sizeof(note), 0));
	close(fd);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Another one is on its way. */
static void test_killed_aggregator_is_waited_for(void)
{
	note_leave(0);
	leftover_make(LEFTOVER_EXITS, 10, 0);
	leftover_is_whole(leftover_shared);
	leftover_make(LEFTOVER_EXITS, 40000, 3);
	leftover_is_whole(leftover_shared);
}

static void test_stopped_aggregator_is_not_waited_for(void)
{
	note_leave(now_ns());
	leftover_make(LEFTOVER_EXITS, 10, 0);
	TEST_ASSERT_FALSE(leftover_is_there(leftover_shared));
}

/* It showed this process: without the segment its figures would go back. */
static void test_aggregator_stopped_meanwhile_is_waited_for(void)
{
	note_leave(now_ns() + 3600000000000u);
	leftover_make(LEFTOVER_EXITS, 10, 0);
	leftover_is_whole(leftover_shared);
}

static void test_lock_elsewhere_in_the_file_serves_nobody(void)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1
	};
	int fd = leftovers_lock("ttmemd.lock");

	TEST_ASSERT_EQUAL_INT(0, fcntl(fd, F_SETLK, &lock));
	lock = (struct flock){
		.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_len = 1
	};
	TEST_ASSERT_EQUAL_INT(0, fcntl(fd, F_SETLK, &lock));
	leftover_make(LEFTOVER_EXITS, 10, 0);
	TEST_ASSERT_FALSE(leftover_is_there(leftover_shared));
	close(fd);
}

static void test_another_who_tidies_is_left_alone(void)
{
	int other = leftovers_lock("lost");
	uint64_t len = leftovers_overfill(left, MANY, 0);

	leftover_make(LEFTOVER_EXITS, 10, 2);
	leftover_is_whole(leftover_shared);
	all_are_there(len);
	close(other);
	leftover_make(LEFTOVER_EXITS, 10, 0);
	TEST_ASSERT_TRUE(leftovers_size(NULL) <= LEFTOVERS_TIDIED);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_own_segment_stays);
	RUN_TEST(test_large_segment_is_not_given_back);
	RUN_TEST(test_dead_segments_stay);
	RUN_TEST(test_lock_file_alone_serves_nobody);
	RUN_TEST(test_killed_aggregator_is_waited_for);
	RUN_TEST(test_stopped_aggregator_is_not_waited_for);
	RUN_TEST(test_aggregator_stopped_meanwhile_is_waited_for);
	RUN_TEST(test_lock_elsewhere_in_the_file_serves_nobody);
	RUN_TEST(test_another_who_tidies_is_left_alone);
	return UNITY_END();
}
