/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No space, no inodes, or no writing at all: a clean error at the start, counted
 * losses later, and when there is space again the segment grows again. Needs a
 * tmpfs of its own.
 */
#include <time.h>

#include "faults/host.h"
#include "faults/mounts.h"

#include "support/calls.h"

enum {
	PAGE = 4096,
	SLOTS = 2048, /* in an extent */
	FIRST = 24,   /* pages that are enough for the header and a start */
	LAST = 160,   /* and for more than one extent of slots */
	PATIENCE_S = 20,
};

static const char *dir;
static char filler[256];
static const struct host plain = { NULL, NULL, NULL, 0 };

void setUp(void)
{
	dir = test_dir_make();
	snprintf(filler, sizeof(filler), "%s/filler", dir);
	host_set_up();
}

void tearDown(void)
{
	host_tear_down();
	/* Whatever the test mounted; the directory itself has nothing in it. */
	umount2(dir, MNT_DETACH);
	test_dir_remove();
}

/* Takes all but `left` bytes, in the end by single pages. */
static void fill(uint64_t left)
{
	static char page[4096];
	int fd = open(filler, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	off_t size = 0;

	if (fd < 0)
		_exit(97);
	while (pwrite(fd, page, sizeof(page), size) == (ssize_t)sizeof(page))
		size += (off_t)sizeof(page);
	if (errno != ENOSPC || ftruncate(fd, size - (off_t)left))
		_exit(97);
	close(fd);
}

static void fill_all(void)
{
	fill(0);
}

/* -- at the start ------------------------------------------------------------- */

static void test_no_space_for_the_header(void)
{
	/* One page: less than the header and the directory of extents. */
	mounts_tmpfs(dir, "size=4k");
	host_is_untracked(&plain, dir, ENOSPC, true);
}

static void test_no_space_at_all(void)
{
	const struct host full = { fill_all, NULL, NULL, 0 };

	mounts_tmpfs(dir, "size=1m");
	host_is_untracked(&full, dir, ENOSPC, true);
}

static void test_no_inode_for_the_directory(void)
{
	mounts_tmpfs(dir, "nr_inodes=1");
	host_is_untracked(&plain, dir, ENOSPC, false);
}

/* Not for a marker either. */
static void test_no_inode_for_the_segment(void)
{
	mounts_tmpfs(dir, "nr_inodes=2");
	host_is_untracked(&plain, dir, ENOSPC, false);
}

/* Somebody who was killed, and who left 3 of 16 MiB: little enough to stay. */
static void leave_some(void)
{
	uint64_t i;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		setenv("TTMEM_ENABLED", "1", 1);
		for (i = 0; i < 18 * SLOTS; i++)
			ttmem_alloc(0, TTMEM_DRAM, i, 0, 10);
		kill(getpid(), SIGKILL);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, NULL, 0));
}

static void take_all_inodes(void)
{
	char path[300];
	int fd, n = 0;

	do {
		snprintf(path, sizeof(path), "%s/%d", dir, n++);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			close(fd);
	} while (fd >= 0);
	if (errno != ENOSPC)
		_exit(97);
}

/* The first try to make it fails in all ways, the second one does not. */
static void test_inodes_that_the_dead_have(void)
{
	const struct host full = { take_all_inodes, NULL, NULL, 0 };
	char path[300];
	int fd;

	mounts_tmpfs(dir, "size=16m,nr_inodes=16");
	leave_some();
	snprintf(path, sizeof(path), "%s/ttmem-%ld/lost", dir, (long)geteuid());
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	TEST_ASSERT_EQUAL_INT(0, ftruncate(fd, 32));
	close(fd);
	host_is_tracked(&full, dir);
}

/* There is no page left to count what goes. */
static void test_space_that_the_dead_have(void)
{
	const struct host full = { fill_all, NULL, NULL, 0 };
	uint64_t lost[4] = { 0 };
	char path[300];
	int fd;

	mounts_tmpfs(dir, "size=16m");
	leave_some();
	host_is_tracked(&full, dir);
	snprintf(path, sizeof(path), "%s/ttmem-%ld/lost", dir, (long)geteuid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	TEST_ASSERT_EQUAL_INT(sizeof(lost), read(fd, lost, sizeof(lost)));
	close(fd);
	TEST_ASSERT_EQUAL_UINT64(1, lost[0]);
	TEST_ASSERT_EQUAL_UINT64(18 * SLOTS, lost[1]);
}

static void test_read_only(void)
{
	mounts_tmpfs(dir, "");
	if (mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL))
		TEST_IGNORE_MESSAGE("no read-only mount");
	host_is_untracked(&plain, dir, EROFS, false);
}

static void test_read_only_from_now_on(void)
{
	mounts_tmpfs(dir, "");
	host_is_tracked(&plain, dir);
	unlink(host_report->status.segment);
	if (mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL))
		TEST_IGNORE_MESSAGE("no read-only mount");
	host_is_untracked(&plain, dir, EROFS, false);
}

/* -- later -------------------------------------------------------------------- */

/* Room for so many pages, and many more events. */
static uint64_t pages_left;

static void fill_but_some(void)
{
	fill(pages_left * PAGE);
}

static void many(void)
{
	uint64_t i;

	for (i = 0; i < 2 * SLOTS; i++)
		host_alloc(100 + i, 10 + i % 7);
}

static void losses_are(unsigned reason)
{
	unsigned i;

	for (i = 0; i < TTMEM_LOSSES; i++)
		if (i != reason && i != TTMEM_LOSS_NO_NAME)
			TEST_ASSERT_EQUAL_UINT64(
				0, host_report->status.lost_events[i]);
	TEST_ASSERT_TRUE(host_report->status.lost_events[reason] > 0);
	host_nothing_is_missing();
}

/*
 * The segment grows by a few pages at a time. Wherever that ends, each event is kept or
 * counted as lost, and more room never keeps less.
 */
static void test_full_at_each_page(void)
{
	const struct host filled = { fill_but_some, many, NULL, 0 };
	uint64_t live, most = 0;
	struct segment *segment;

	for (pages_left = FIRST; pages_left < LAST; pages_left++) {
		mounts_tmpfs(dir, "size=4m");
		host_run(&filled);
		TEST_ASSERT_EQUAL_UINT32(
			TTMEM_STATE_ON, host_report->status.state);
		host_nothing_is_missing();
		live = host_report->usage.figures[0].live_objects;
		TEST_ASSERT_TRUE(live + SLOTS / 4 >= most);
		most = live > most ? live : most;
		if (live) {
			segment = host_segment(dir);
			TEST_ASSERT_EQUAL_UINT64(
				host_report->status.lost_events[0],
				segment->lost_events[0]);
			segment_unref(&segment);
		}
		umount2(dir, MNT_DETACH);
	}
	TEST_ASSERT_TRUE(most > SLOTS);
}

static uint64_t lost_now(void)
{
	host_look();
	return host_report->status.lost_events[TTMEM_LOSS_NO_SLOT];
}

/* Full, then not, then full again, and so on. */
static void full_and_not(void)
{
	uint64_t id = 1000, lost, round, last;

	for (round = 0; round < 3; round++) {
		fill(0);
		for (lost = lost_now(); lost_now() < lost + 100;)
			host_alloc(id++, 10);
		if (unlink(filler))
			_exit(97);
		/* It tries again a little later, by itself. */
		do {
			lost = lost_now();
			host_alloc(id++, 10);
		} while (lost_now() != lost);
		for (last = id + SLOTS; id < last; id++)
			host_alloc(id, 10);
	}
}

static void test_growth_goes_on_when_there_is_space(void)
{
	const struct host host = { NULL, full_and_not, NULL, 0 };
	struct segment *segment;

	mounts_tmpfs(dir, "size=8m");
	host_run(&host);
	losses_are(TTMEM_LOSS_NO_SLOT);
	TEST_ASSERT_TRUE(host_report->status.lost_events[0] >= 300);
	TEST_ASSERT_TRUE(host_report->usage.figures[0].live_objects > SLOTS);
	segment = host_segment(dir);
	TEST_ASSERT_EQUAL_UINT64(
		host_report->status.lost_events[0], segment->lost_events[0]);
	TEST_ASSERT_EQUAL_UINT64(
		host_report->status.lost_bytes[0], segment->lost_bytes[0]);
	segment_unref(&segment);
}

static uint64_t lost_in_all(void)
{
	host_look();
	return host_lost();
}

/* Events that come often do not prolong the time in which nothing grows. */
static void full_and_busy(void)
{
	uint64_t begin_s = (uint64_t)time(NULL), id = 0, lost;
	uint32_t device = 0;

	fill(0);
	do {
		lost = lost_in_all();
		ttmem_alloc(++device, TTMEM_DRAM, id++, 0, 1000);
	} while (lost_in_all() == lost && device < 63);
	if (lost_in_all() == lost || unlink(filler))
		_exit(97);
	do {
		lost = lost_in_all();
		ttmem_alloc(device, TTMEM_DRAM, id++, 0, 1000);
		if ((uint64_t)time(NULL) - begin_s > PATIENCE_S)
			_exit(96);
	} while (lost_in_all() != lost);
}

static void test_growth_goes_on_beside_events_that_need_it(void)
{
	const struct host host = { NULL, full_and_busy, NULL, 0 };

	mounts_tmpfs(dir, "size=2m");
	host_run(&host);
	TEST_ASSERT_TRUE(host_lost() > 0);
}

/* Whatever is touched must not be a hole: that would be SIGBUS. */
static void fill_then_touch(void)
{
	uint64_t i;

	fill(0);
	/* Every record of the ring, every mark and failure, the slots. */
	for (i = 0; i < 2100; i++) {
		ttmem_alloc(0, TTMEM_L1, i % SLOTS, 0, 10);
		ttmem_mark("a mark");
		call_alloc_failed(0, TTMEM_L1, 1, 1);
		ttmem_free(0, TTMEM_L1, i % SLOTS);
	}
	for (i = 0; i < 64; i++)
		ttmem_alloc((uint32_t)i, TTMEM_L1, i, 0, 10);
	for (i = 0; i < 900; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", (int)i);
		ttmem_scope_push(name, 0);
		ttmem_scope_pop();
	}
}

static void test_no_hole_is_touched(void)
{
	const struct host host = { NULL, fill_then_touch, NULL, 0 };

	mounts_tmpfs(dir, "size=2m");
	host_run(&host);
	TEST_ASSERT_EQUAL_UINT64(host_report->called,
		host_report->usage.figures[0].live_objects);
}

/* Entries of the first four devices share a page; those after them get none. */
static void fill_then_new_devices(void)
{
	uint32_t device;

	fill(0);
	for (device = 1; device < 12; device++)
		ttmem_alloc(device, TTMEM_DRAM, 1, 0, 1000);
}

static void test_devices_without_memory_are_losses(void)
{
	const struct host host = { NULL, fill_then_new_devices, NULL, 0 };
	const struct ttmem_status *status = &host_report->status;

	mounts_tmpfs(dir, "size=2m");
	host_run(&host);
	TEST_ASSERT_EQUAL_UINT64(
		0, status->anomalies[TTMEM_ANOMALY_TOO_MANY_DEVICES]);
	/* Whether the first three found room is up to the pages. */
	TEST_ASSERT_TRUE(status->lost_events[TTMEM_LOSS_NO_SLOT] >= 8);
	TEST_ASSERT_EQUAL_UINT64(status->lost_events[TTMEM_LOSS_NO_SLOT] * 1000,
		status->lost_bytes[TTMEM_LOSS_NO_SLOT]);
}

int main(void)
{
	mounts_begin();
	mounts_tmpfs("/dev/shm", "");
	UNITY_BEGIN();
	RUN_TEST(test_no_space_for_the_header);
	RUN_TEST(test_no_space_at_all);
	RUN_TEST(test_no_inode_for_the_directory);
	RUN_TEST(test_no_inode_for_the_segment);
	RUN_TEST(test_inodes_that_the_dead_have);
	RUN_TEST(test_space_that_the_dead_have);
	RUN_TEST(test_read_only);
	RUN_TEST(test_read_only_from_now_on);
	RUN_TEST(test_full_at_each_page);
	RUN_TEST(test_growth_goes_on_when_there_is_space);
	RUN_TEST(test_growth_goes_on_beside_events_that_need_it);
	RUN_TEST(test_no_hole_is_touched);
	RUN_TEST(test_devices_without_memory_are_losses);
	return UNITY_END();
}
