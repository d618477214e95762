/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that come and go without an aggregator never fill the filesystem. What
 * is kept of them is whole, and what was dropped is counted exactly.
 */
#include "faults/leftovers.h"

enum {
	PROCESSES = 2000,
	MANY = 64,
	SLACK = 64,      /* files of one clock tick have no order */
	SMALL = 1 << 20, /* no process here is larger */
};

static struct leftover left[PROCESSES];

void setUp(void)
{
	leftovers_set_up();
}

void tearDown(void)
{
	leftovers_tear_down();
}

/* Leaks, does not, is killed with objects, is killed without. */
static void one_of_many(uint64_t i)
{
	uint64_t objects = i % 4 == 0 || i % 4 == 2 ? 1 + i % 9 : 0;

	leftover_make(
		i % 4 < 2 ? LEFTOVER_EXITS : LEFTOVER_IS_KILLED, 10, objects);
	left[i] = *leftover_shared;
}

/* Adds up what is not there any more. */
static struct leftovers_lost dropped(uint64_t len)
{
	struct leftovers_lost sum = { 0, 0, 0, 0 };
	uint64_t i;

	for (i = 0; i < len; i++) {
		if (leftover_is_there(&left[i])) {
			leftover_is_whole(&left[i]);
			continue;
		}
		sum.segments += left[i].objects > 0;
		sum.objects += left[i].objects;
		sum.bytes += left[i].bytes;
	}
	return sum;
}

static void lost_is(struct leftovers_lost expected)
{
	struct leftovers_lost lost = leftovers_lost();

	TEST_ASSERT_EQUAL_UINT64(expected.segments, lost.segments);
	TEST_ASSERT_EQUAL_UINT64(expected.objects, lost.objects);
	TEST_ASSERT_EQUAL_UINT64(expected.bytes, lost.bytes);
	TEST_ASSERT_EQUAL_UINT64(expected.markers, lost.markers);
}

/* The oldest go first. */
static void order_is_right(uint64_t len)
{
	uint64_t last_dropped = 0, i;

	for (i = 0; i < len; i++)
		if (left[i].objects && !leftover_is_there(&left[i]))
			last_dropped = i;
	for (i = 0; i + SLACK < last_dropped; i++)
		TEST_ASSERT_FALSE(leftover_is_there(&left[i]));
}

static void test_thousands_of_processes_leave_little_and_nothing_untold(void)
{
	uint64_t processes = test_scale(PROCESSES), i;

	for (i = 0; i < processes && i < PROCESSES; i++) {
		one_of_many(i);
		/* A clean end without objects leaves nothing at all. */
		TEST_ASSERT_EQUAL_INT(i % 4 != 1, leftover_is_there(&left[i]));
		TEST_ASSERT_TRUE(
			leftovers_size(NULL) <= LEFTOVERS_MOST + SMALL);
	}
	lost_is(dropped(i));
	order_is_right(i);
	TEST_ASSERT_TRUE(
		processes < PROCESSES || leftovers_lost().segments > 0);
	TEST_ASSERT_EQUAL_UINT64(0, leftovers_markers());
}

static void tidied_size_is_right(void)
{
	uint64_t size = leftovers_size(NULL);

	TEST_ASSERT_TRUE(size <= LEFTOVERS_TIDIED);
	TEST_ASSERT_TRUE(size > LEFTOVERS_TIDIED - 4 * SMALL);
}

/* Each time, and it adds up. */
static void test_tidying_leaves_half(void)
{
	uint64_t len = leftovers_overfill(left, MANY, 0), lost;

	leftover_make(LEFTOVER_EXITS, 0, 0);
	tidied_size_is_right();
	lost = leftovers_lost().segments;
	TEST_ASSERT_TRUE(lost > 0);
	lost_is(dropped(len));
	len += leftovers_overfill(left + len, MANY, 0);
	leftover_make(LEFTOVER_EXITS, 0, 0);
	tidied_size_is_right();
	TEST_ASSERT_TRUE(leftovers_lost().segments > lost);
	lost_is(dropped(len));
}

/* Dropping them loses nothing, so nothing is counted. */
static void test_segments_without_objects_go_first(void)
{
	struct leftovers_lost nothing = { 0, 0, 0, 0 };
	uint64_t len = 0;

	leftover_make(LEFTOVER_IS_KILLED, 10, 3); /* the oldest */
	left[len++] = *leftover_shared;
	while (leftovers_size(NULL) <= LEFTOVERS_MOST) {
		leftover_make(LEFTOVER_IS_KILLED, 40000, 0);
		left[len] = *leftover_shared;
		TEST_ASSERT_TRUE(++len < MANY);
	}
	leftover_make(LEFTOVER_IS_KILLED, 10, 2);
	TEST_ASSERT_TRUE(leftovers_size(NULL) <= LEFTOVERS_TIDIED + SMALL);
	leftover_is_whole(leftover_shared);
	leftover_is_whole(&left[0]);
	lost_is(nothing);
}

static void test_below_the_limit_nothing_goes(void)
{
	struct leftovers_lost nothing = { 0, 0, 0, 0 };
	uint64_t i;

	for (i = 0; i < 20; i++) {
		leftover_make(LEFTOVER_IS_KILLED, 40000, i % 2);
		left[i] = *leftover_shared;
	}
	leftover_make(LEFTOVER_EXITS, 0, 0);
	for (i = 0; i < 20; i++)
		leftover_is_whole(&left[i]);
	lost_is(nothing);
}

/* The oldest of all, one of them without its lock: it closed every descriptor. */
static void test_segments_of_live_processes_stay(void)
{
	struct leftover_live live[2];
	uint64_t len;

	leftover_keep(40000, 4, false, &live[0]);
	leftover_keep(40000, 4, true, &live[1]);
	len = leftovers_overfill(left, MANY, leftovers_size(NULL));
	leftover_make(LEFTOVER_EXITS, 0, 0);
	TEST_ASSERT_TRUE(leftovers_lost().segments > 0);
	leftover_is_whole(&live[0].left);
	leftover_is_whole(&live[1].left);
	lost_is(dropped(len));
	leftover_release(&live[0]);
	leftover_release(&live[1]);
}

/* The limit is for what the dead leave: a large live one costs nobody's leaks. */
static void test_live_processes_may_be_larger_than_the_limit(void)
{
	struct leftovers_lost nothing = { 0, 0, 0, 0 };
	struct leftover_live live;

	leftover_keep(1100000, 4, false, &live);
	TEST_ASSERT_TRUE(leftovers_size(NULL) > LEFTOVERS_MOST);
	leftover_make(LEFTOVER_IS_KILLED, 10, 3);
	left[0] = *leftover_shared;
	leftover_make(LEFTOVER_EXITS, 0, 0);
	lost_is(nothing);
	leftover_is_whole(&left[0]);
	leftover_is_whole(&live.left);
	leftover_release(&live);
}

static void test_other_files_are_left_alone(void)
{
	static const char *const names[] = { "notes", "p.", "p.1", "p.x.y.z",
		"q.1.2.3", "u" };
	char path[256];
	size_t i;
	int fd;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", leftovers_user, names[i]);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		TEST_ASSERT_TRUE(fd >= 0);
		TEST_ASSERT_EQUAL_INT(0, ftruncate(fd, 4096));
		close(fd);
	}
	leftovers_overfill(left, MANY, 0);
	leftover_make(LEFTOVER_EXITS, 0, 0);
	TEST_ASSERT_TRUE(leftovers_lost().segments > 0);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", leftovers_user, names[i]);
		TEST_ASSERT_EQUAL_INT_MESSAGE(0, access(path, F_OK), names[i]);
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_tidying_leaves_half);
	RUN_TEST(test_segments_without_objects_go_first);
	RUN_TEST(test_below_the_limit_nothing_goes);
	RUN_TEST(test_segments_of_live_processes_stay);
	RUN_TEST(test_live_processes_may_be_larger_than_the_limit);
	RUN_TEST(test_other_files_are_left_alone);
	RUN_TEST(test_thousands_of_processes_leave_little_and_nothing_untold);
	return UNITY_END();
}
