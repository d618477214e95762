/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is taken for a segment in a directory where its owner may put anything, and
 * what is counted and left alone.
 */
#include "daemon/watching.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "shm/checksum.h"
#include "shm/identity.h"

static char user[64]; /* the directory */

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

/* -- made-up segments --------------------------------------------------------- */

static void header_fill(struct ttm_header *header, uint32_t pid, uint64_t start)
{
	struct ttm_header_const *sealed = &header->sealed;

	memset(header, 0, sizeof(*header));
	sealed->magic = TTM_SEGMENT_MAGIC;
	sealed->version = TTM_SEGMENT_VERSION;
	sealed->header_size = sizeof(*header);
	sealed->signature = TTM_SEGMENT_SIGNATURE;
	sealed->uuid[0] = 0xab;
	ttm_boot_id_read(sealed->boot_id);
	sealed->pid = pid;
	sealed->pid_namespace = ttm_pid_namespace_read();
	sealed->start_time = start;
	sealed->clock_kind = TTM_CLOCK_MONOTONIC_NS;
	sealed->extent_size = TTM_EXTENT_SIZE;
	sealed->extents_max = TTM_EXTENTS_MAX;
	sealed->lanes_max = TTM_LANES_MAX;
	sealed->lane_records = TTM_LANE_RECORDS;
	sealed->devices_max = TTM_DEVICES_MAX;
	sealed->failures_kept = TTM_FAILURES_KEPT;
	sealed->marks_kept = TTM_MARKS_KEPT;
	sealed->directory_off = TTM_DIRECTORY_OFF;
	sealed->lanes_off = TTM_LANES_OFF;
	sealed->devices_off = TTM_DEVICES_OFF;
	sealed->failures_off = TTM_FAILURES_OFF;
	sealed->marks_off = TTM_MARKS_OFF;
	sealed->places_off = TTM_PLACES_OFF;
	sealed->extents_off = TTM_EXTENTS_OFF;
	sealed->checksum = ttm_checksum(
		sealed, offsetof(struct ttm_header_const, checksum));
}

static void name_make(char *ret_path, size_t size, uint32_t pid)
{
	snprintf(ret_path, size, "%s/p.%u.7.00000000000000ab", user, pid);
}

/* A good one, of a process that cannot be. */
static int segment_make(uint32_t pid, char *ret_path, size_t size)
{
	struct ttm_header header;
	int fd;

	name_make(ret_path, size, pid);
	fd = open(ret_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	TEST_ASSERT_TRUE(fd >= 0);
	header_fill(&header, pid, 7);
	TEST_ASSERT_EQUAL_INT(0, fallocate(fd, 0, 0, TTM_EXTENTS_OFF));
	TEST_ASSERT_EQUAL_INT(
		sizeof(header), pwrite(fd, &header, sizeof(header), 0));
	return fd;
}

enum {
	PID = 2000000000
};

static uint64_t refused(void)
{
	return ttm_load(&watching_registry->refused);
}

/* Nothing is attached, and each look finds the same. */
static void refuses(uint64_t files)
{
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(0, watching_attached());
	TEST_ASSERT_EQUAL_UINT64(files, refused());
	watching_round();
	TEST_ASSERT_EQUAL_UINT64(0, watching_attached());
	TEST_ASSERT_EQUAL_UINT64(files, refused());
	TEST_ASSERT_EQUAL_UINT64(0, ttm_load(&watching_registry->open_errors));
}

/* With one segment attached that is broken in this way. */
static void quarantines(const char *reason)
{
	struct ttm_attached *attached;

	watching_start(TTM_MODE_USER);
	attached = watching_find(PID);
	TEST_ASSERT_EQUAL_UINT64(1, watching_attached());
	TEST_ASSERT_NOT_NULL(attached);
	TEST_ASSERT_EQUAL_STRING(reason, attached->reason);
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_UNKNOWN, watching_fate(attached));
}

/* -- tests -------------------------------------------------------------------- */

static void test_a_good_one_is_attached(void)
{
	struct ttm_attached *attached;
	char path[300];

	close(segment_make(PID, path, sizeof(path)));
	watching_start(TTM_MODE_USER);
	attached = watching_find(PID);
	TEST_ASSERT_NOT_NULL(attached);
	TEST_ASSERT_EQUAL_STRING("", attached->reason);
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_DEAD, watching_fate(attached));
	TEST_ASSERT_EQUAL_UINT64(0, refused());
}

/* Whoever has it in quarantine lets go of it then. */
static void test_a_dead_one_that_is_removed_has_vanished(void)
{
	struct ttm_attached *attached;
	char path[300];

	close(segment_make(PID, path, sizeof(path)));
	watching_start(TTM_MODE_USER);
	attached = watching_find(PID);
	TEST_ASSERT_NOT_NULL(attached);
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_DEAD, watching_fate(attached));
	TEST_ASSERT_EQUAL_UINT64(0, ttm_load(&attached->vanished));
	TEST_ASSERT_EQUAL_INT(0, unlink(path));
	watching_round();
	TEST_ASSERT_EQUAL_UINT64(1, ttm_load(&attached->vanished));
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_DEAD, watching_fate(attached));
}

static void test_one_that_comes_later_is_attached(void)
{
	char path[300], temporary[300];

	watching_start(TTM_MODE_USER);
	snprintf(temporary, sizeof(temporary), "%s/.new", user);
	close(segment_make(PID, path, sizeof(path)));
	await(watching_find(PID));
	close(segment_make(PID + 1, path, sizeof(path)));
	TEST_ASSERT_EQUAL_INT(0, rename(path, temporary));
	TEST_ASSERT_EQUAL_INT(0, rename(temporary, path));
	await(watching_find(PID + 1));
}

static void test_symlinks_are_refused(void)
{
	char path[300], target[300];

	close(segment_make(PID, path, sizeof(path)));
	snprintf(target, sizeof(target), "%s/elsewhere", watching_dir);
	TEST_ASSERT_EQUAL_INT(0, rename(path, target));
	TEST_ASSERT_EQUAL_INT(0, symlink(target, path));
	refuses(1);
}

static void test_fifos_sockets_and_directories_are_refused(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char path[108];

	name_make(path, sizeof(path), PID);
	TEST_ASSERT_EQUAL_INT(0, mkfifo(path, 0600));
	name_make(path, sizeof(path), PID + 1);
	TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
	name_make(path, sizeof(path), PID + 2);
	memcpy(address.sun_path, path, sizeof(path));
	TEST_ASSERT_EQUAL_INT(
		0, bind(fd, (struct sockaddr *)&address, sizeof(address)));
	refuses(3);
	close(fd);
}

static void test_hard_links_are_refused(void)
{
	char path[300], other[300];

	close(segment_make(PID, path, sizeof(path)));
	snprintf(other, sizeof(other), "%s/other", watching_dir);
	TEST_ASSERT_EQUAL_INT(0, link(path, other));
	refuses(1);
	/* It has one name again, and is a segment after all. */
	TEST_ASSERT_EQUAL_INT(0, unlink(other));
	await(watching_find(PID));
}

static void test_what_others_may_write_is_refused(void)
{
	char path[300];

	close(segment_make(PID, path, sizeof(path)));
	TEST_ASSERT_EQUAL_INT(0, chmod(path, 0620));
	close(segment_make(PID + 1, path, sizeof(path)));
	TEST_ASSERT_EQUAL_INT(0, chmod(path, 0602));
	refuses(2);
	TEST_ASSERT_EQUAL_INT(0, chmod(path, 0600));
	await(watching_find(PID + 1));
}

static void test_what_is_somebody_elses_is_refused(void)
{
	char path[300];

	if (geteuid() != 0)
		TEST_IGNORE_MESSAGE("needs root");
	close(segment_make(PID, path, sizeof(path)));
	TEST_ASSERT_EQUAL_INT(0, chown(path, 65534, (gid_t)-1));
	refuses(1);
}

static void test_sizes_that_no_segment_has_are_refused(void)
{
	char path[300];
	int fd;

	fd = segment_make(PID, path, sizeof(path));
	TEST_ASSERT_EQUAL_INT(0, ftruncate(fd, TTM_EXTENTS_OFF - 1));
	close(fd);
	fd = segment_make(PID + 1, path, sizeof(path));
	TEST_ASSERT_EQUAL_INT(0, ftruncate(fd, 0));
	close(fd);
	fd = segment_make(PID + 2, path, sizeof(path));
	TEST_ASSERT_EQUAL_INT(0, ftruncate(fd, (off_t)1 << 40));
	close(fd);
	refuses(3);
}

static void test_long_names_are_refused(void)
{
	char path[300], longer[400];

	close(segment_make(PID, path, sizeof(path)));
	snprintf(longer, sizeof(longer), "%s%060d", path, 0);
	TEST_ASSERT_EQUAL_INT(0, rename(path, longer));
	refuses(1);
}

/* Pages are allocated as they are needed: a page without any is zeros. */
static void test_a_sparse_segment_is_attached(void)
{
	uint32_t word = TTM_EXTENT_WORD(TTM_EXTENT_SLOTS, 0);
	char path[300];
	int fd = segment_make(PID, path, sizeof(path));

	TEST_ASSERT_EQUAL_INT(
		0, ftruncate(fd, TTM_EXTENTS_OFF + 2 * TTM_EXTENT_SIZE));
	TEST_ASSERT_EQUAL_INT(
		4, pwrite(fd, &word, sizeof(word), TTM_DIRECTORY_OFF + 4));
	TEST_ASSERT_EQUAL_INT(0,
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			TTM_LANES_OFF, TTM_EXTENTS_OFF - TTM_LANES_OFF));
	close(fd);
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_NOT_NULL(watching_find(PID));
	TEST_ASSERT_EQUAL_STRING("", watching_find(PID)->reason);
}

static void test_a_copy_under_another_name_is_quarantined(void)
{
	char path[300], other[300];

	close(segment_make(PID, path, sizeof(path)));
	name_make(other, sizeof(other), PID + 1);
	TEST_ASSERT_EQUAL_INT(0, rename(path, other));
	quarantines("name is not the one its header gives");
}

static void test_a_broken_header_is_quarantined_until_it_has_no_name(void)
{
	char path[300], byte = 1;
	struct ttm_attached *attached;
	int fd = segment_make(PID, path, sizeof(path));

	TEST_ASSERT_EQUAL_INT(1, pwrite(fd, &byte, 1, 0x100));
	close(fd);
	quarantines("checksum is wrong");
	attached = watching_find(PID);
	watching_round();
	TEST_ASSERT_EQUAL_UINT64(TTM_FATE_UNKNOWN, watching_fate(attached));
	TEST_ASSERT_EQUAL_INT(0, unlink(path));
	await(watching_fate(attached) == TTM_FATE_DEAD);
}

static void test_another_boot_is_dead(void)
{
	struct ttm_header header;
	char path[300];
	int fd = segment_make(PID, path, sizeof(path));

	header_fill(&header, PID, 7);
	header.sealed.boot_id[3] ^= 1;
	header.sealed.pid_namespace = 1;
	header.sealed.checksum = ttm_checksum(
		&header.sealed, offsetof(struct ttm_header_const, checksum));
	TEST_ASSERT_EQUAL_INT(
		sizeof(header), pwrite(fd, &header, sizeof(header), 0));
	close(fd);
	watching_start(TTM_MODE_USER);
	TEST_ASSERT_EQUAL_UINT64(
		TTM_FATE_DEAD, watching_fate(watching_find(PID)));
}

static void test_more_than_the_limit_are_counted_and_come_in_later(void)
{
	struct ttm_attached *attached;
	char path[300];
	uint32_t i;

	for (i = 0; i < 5; i++)
		close(segment_make(PID + i, path, sizeof(path)));
	TEST_ASSERT_EQUAL_INT(0, watching_open(TTM_MODE_USER, 3, NULL));
	TEST_ASSERT_EQUAL_INT(0, ttm_watch_start(watching_watch));
	TEST_ASSERT_EQUAL_UINT64(3, watching_attached());
	TEST_ASSERT_EQUAL_UINT64(2, ttm_load(&watching_registry->over_limit));
	watching_round();
	TEST_ASSERT_EQUAL_UINT64(3, watching_attached());
	TEST_ASSERT_EQUAL_UINT64(2, ttm_load(&watching_registry->over_limit));
	/* As the drain does with the dead. */
	for (i = 0; i < 5 && !watching_find(PID + i); i++)
		;
	attached = watching_find(PID + i);
	TEST_ASSERT_NOT_NULL(attached);
	name_make(path, sizeof(path), PID + i);
	TEST_ASSERT_EQUAL_INT(0, unlink(path));
	ttm_registry_remove(watching_registry, attached);
	await(watching_attached() == 3);
	TEST_ASSERT_EQUAL_UINT64(2, ttm_load(&watching_registry->over_limit));
}

static void test_lost_ones_are_read(void)
{
	struct ttm_lost lost = { 1, 2, 3, 4 };
	struct ttm_directory *directory;
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/lost", user);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	TEST_ASSERT_EQUAL_INT(sizeof(lost), pwrite(fd, &lost, sizeof(lost), 0));
	watching_start(TTM_MODE_USER);
	directory = watching_directory(strrchr(user, '/') + 1);
	TEST_ASSERT_NOT_NULL(directory);
	TEST_ASSERT_EQUAL_UINT64(1, ttm_load(&directory->lost.segments));
	TEST_ASSERT_EQUAL_UINT64(2, ttm_load(&directory->lost.objects));
	TEST_ASSERT_EQUAL_UINT64(3, ttm_load(&directory->lost.bytes));
	TEST_ASSERT_EQUAL_UINT64(4, ttm_load(&directory->lost.markers));
	lost.objects = 9;
	TEST_ASSERT_EQUAL_INT(sizeof(lost), pwrite(fd, &lost, sizeof(lost), 0));
	await(ttm_load(&directory->lost.objects) == 9);
	close(fd);
}

int main(void)
{
	int failures;

	rcu_register_thread();
	UNITY_BEGIN();
	RUN_TEST(test_a_good_one_is_attached);
	RUN_TEST(test_a_dead_one_that_is_removed_has_vanished);
	RUN_TEST(test_one_that_comes_later_is_attached);
	RUN_TEST(test_symlinks_are_refused);
	RUN_TEST(test_fifos_sockets_and_directories_are_refused);
	RUN_TEST(test_hard_links_are_refused);
	RUN_TEST(test_what_others_may_write_is_refused);
	RUN_TEST(test_what_is_somebody_elses_is_refused);
	RUN_TEST(test_sizes_that_no_segment_has_are_refused);
	RUN_TEST(test_long_names_are_refused);
	RUN_TEST(test_a_sparse_segment_is_attached);
	RUN_TEST(test_a_copy_under_another_name_is_quarantined);
	RUN_TEST(test_a_broken_header_is_quarantined_until_it_has_no_name);
	RUN_TEST(test_another_boot_is_dead);
	RUN_TEST(test_more_than_the_limit_are_counted_and_come_in_later);
	RUN_TEST(test_lost_ones_are_read);
	failures = UNITY_END();
	rcu_unregister_thread();
	return failures;
}
