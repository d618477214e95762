/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that closes every descriptor, the library's too, and uses the numbers
 * for files of its own: the segment grows nevertheless, has its lock again, and
 * nobody else's file is touched.
 */
#include "life/life.h"

#include <sys/stat.h>

#include "support/test_segment.h"

#define MANY 3000u /* more than an extent has slots */
#define FOREIGN_SIZE 5u

static const char *dir;
static char foreign[128];
static int to_parent[2];
static int to_child[2];

void setUp(void)
{
	dir = test_dir_make();
	snprintf(foreign, sizeof(foreign), "%s/foreign", dir);
	TEST_ASSERT_EQUAL_INT(0, pipe(to_parent));
	TEST_ASSERT_EQUAL_INT(0, pipe(to_child));
}

void tearDown(void)
{
	close(to_parent[0]);
	close(to_parent[1]);
	close(to_child[0]);
	close(to_child[1]);
	test_dir_remove();
}

static int highest_descriptor(void)
{
	int highest = -1;
	int fd;

	for (fd = 0; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			highest = fd;
	return highest;
}

/* The pipes move down; all else goes. */
static void close_all(void)
{
	expect(dup2(to_child[0], 3) == 3);
	expect(dup2(to_parent[1], 4) == 4);
	if (close_range(5, ~0u, 0) < 0) {
		int fd;

		for (fd = 5; fd < 65536; fd++)
			close(fd);
	}
}

static void parent_looks(void)
{
	life_tell(4);
	life_await(3);
}

static void grow(uint64_t from)
{
	uint64_t i;

	for (i = from; i < from + MANY; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 10);
}

/* -- closed ------------------------------------------------------------------- */

static void closes_and_grows(void)
{
	ttmem_alloc(0, TTMEM_L1, 1, 0, 10);
	expect(highest_descriptor() >= 0);
	close_all();
	grow(0);
	parent_looks();
	grow(MANY);
	parent_looks();
}

/* The child alone can tell now: if it dies, nobody waits for it. */
static void child_tells(void)
{
	close(to_parent[1]);
	to_parent[1] = -1;
	TEST_ASSERT_TRUE_MESSAGE(
		life_hears(to_parent[0]), "the process is gone");
}

static void segment_has(pid_t pid, uint64_t objects)
{
	struct segment *segment = life_segment(dir, pid);

	TEST_ASSERT_NOT_NULL(segment);
	TEST_ASSERT_EQUAL_UINT64(objects, segment->objects_len);
	TEST_ASSERT_TRUE(life_lost_nothing(segment));
	segment_unref(&segment);
}

static void test_segment_grows_after_all_descriptors_were_closed(void)
{
	pid_t pid = life_start(closes_and_grows);
	unsigned i;

	for (i = 1; i <= 2; i++) {
		child_tells();
		TEST_ASSERT_EQUAL_INT(pid, life_lock_holder(dir, pid));
		TEST_ASSERT_EQUAL_UINT64(1, life_segments(dir, pid));
		segment_has(pid, i * MANY + 1);
		life_tell(to_child[1]);
	}
	TEST_ASSERT_TRUE(life_ended_well(pid));
	TEST_ASSERT_EQUAL_INT(0, life_lock_holder(dir, pid));
}

/* -- taken by other files -------------------------------------------------------- */

static void foreign_is_untouched(int fd)
{
	char text[FOREIGN_SIZE + 1] = "";
	struct stat st;

	expect(fcntl(fd, F_GETFD) >= 0);
	expect(fstat(fd, &st) == 0);
	expect(st.st_size == FOREIGN_SIZE);
	expect(pread(fd, text, FOREIGN_SIZE, 0) == FOREIGN_SIZE);
	expect(!strcmp(text, "hello"));
}

/* Every number up to the library's becomes a file of the program's. */
static void takes_all_numbers(int highest)
{
	int fd = open(foreign, O_RDWR | O_CREAT, 0600);
	int other;

	expect(fd == 5);
	expect(write(fd, "hello", FOREIGN_SIZE) == FOREIGN_SIZE);
	for (other = 6; other <= highest; other++)
		expect(dup2(fd, other) == other);
}

static void numbers_are_taken(void)
{
	int highest;
	int fd;

	ttmem_alloc(0, TTMEM_L1, 1, 0, 10);
	highest = highest_descriptor();
	close_all();
	takes_all_numbers(highest);
	grow(0);
	for (fd = 5; fd <= highest; fd++)
		foreign_is_untouched(fd);
	parent_looks();
}

static void test_foreign_file_on_the_same_number_is_untouched(void)
{
	pid_t pid = life_start(numbers_are_taken);

	child_tells();
	TEST_ASSERT_EQUAL_INT(pid, life_lock_holder(dir, pid));
	segment_has(pid, MANY + 1);
	life_tell(to_child[1]);
	TEST_ASSERT_TRUE(life_ended_well(pid));
}

static void stops_with_numbers_taken(void)
{
	int highest;
	int fd;

	ttmem_alloc(0, TTMEM_L1, 1, 0, 10);
	highest = highest_descriptor();
	close_all();
	takes_all_numbers(highest);
	ttmem_stop();
	for (fd = 5; fd <= highest; fd++)
		foreign_is_untouched(fd);
}

static void test_stop_closes_nobody_elses_descriptor(void)
{
	segment_has(life_run(stops_with_numbers_taken), 1);
}

static void ends_with_numbers_taken(void)
{
	int highest;

	grow(0);
	grow(MANY);
	highest = highest_descriptor();
	close_all();
	takes_all_numbers(highest);
	while (highest_descriptor() > 100)
		close(highest_descriptor());
	exit(0);
}

static void test_end_gives_back_in_the_right_file(void)
{
	struct stat st;

	segment_has(life_run(ends_with_numbers_taken), 2 * MANY);
	TEST_ASSERT_EQUAL_INT(0, stat(foreign, &st));
	TEST_ASSERT_EQUAL_INT(FOREIGN_SIZE, (int)st.st_size);
}

/* -- a daemon -------------------------------------------------------------------- */

static void daemon_works(void)
{
	int null;

	close_all();
	null = open("/dev/null", O_RDWR);
	expect(null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1);
	ttmem_scope_push("daemon", 0);
	grow(0);
	parent_looks();
	ttmem_free(0, TTMEM_DRAM, 0);
	_exit(0);
}

/* Double fork, a new session, no descriptors: as the books say. */
static void daemonises(void)
{
	pid_t pid;

	ttmem_alloc(0, TTMEM_L1, 1, 0, 10);
	pid = fork();
	expect(pid >= 0);
	if (pid) {
		expect(life_ended_well(pid));
		ttmem_free(0, TTMEM_L1, 1);
		exit(0);
	}
	expect(setsid() >= 0);
	pid = fork();
	expect(pid >= 0);
	if (pid)
		exit(0);
	daemon_works();
}

static void test_daemon_has_a_segment_of_its_own(void)
{
	pid_t first = life_start(daemonises);
	struct segment *segment;

	TEST_ASSERT_TRUE(life_ended_well(first));
	child_tells();
	TEST_ASSERT_EQUAL_UINT64(0, life_segments(dir, first));
	TEST_ASSERT_EQUAL_UINT64(1, life_segments(dir, 0));
	segment = life_segment(dir, 0);
	TEST_ASSERT_NOT_NULL(segment);
	TEST_ASSERT_EQUAL_UINT64(MANY, segment->objects_len);
	TEST_ASSERT_FALSE((pid_t)segment->pid == first);
	TEST_ASSERT_EQUAL_INT(
		(int)segment->pid, life_lock_holder(dir, (pid_t)segment->pid));
	segment_unref(&segment);
	life_tell(to_child[1]);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_segment_grows_after_all_descriptors_were_closed);
	RUN_TEST(test_foreign_file_on_the_same_number_is_untouched);
	RUN_TEST(test_stop_closes_nobody_elses_descriptor);
	RUN_TEST(test_end_gives_back_in_the_right_file);
	RUN_TEST(test_daemon_has_a_segment_of_its_own);
	return UNITY_END();
}
