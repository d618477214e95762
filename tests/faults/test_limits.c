/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource limits of the program: on the size of files, on descriptors, on memory.
 * Too low for a start they leave it untracked, too low for growth they cost events,
 * which are counted. No signal comes of it.
 */

#include "faults/host.h"
#include "faults/limits.h"

enum {
	HEADER = 0x50000,
	EXTENT = 0x20000,
	SLOTS = 2048,
	PAGE = 4096,
	MEMORY_MOST = 0x1800000, /* enough for all events */
};

static const char *dir;
static rlim_t amount; /* what the next child's limit is about */

void setUp(void)
{
	dir = test_dir_make();
	host_set_up();
}

void tearDown(void)
{
	host_tear_down();
	test_dir_remove();
}

static void many(void)
{
	uint64_t i;

	for (i = 0; i < 3 * SLOTS; i++)
		host_alloc(100 + i, 10 + i % 7);
}

/* -- RLIMIT_FSIZE ------------------------------------------------------------- */

static void file_size(void)
{
	limit_set(RLIMIT_FSIZE, amount);
}

static void test_no_file_large_enough_for_the_header(void)
{
	const struct host limited = { file_size, NULL, NULL, 0 };

	for (amount = 0; amount < HEADER; amount += HEADER - 1)
		host_is_untracked(&limited, dir, EFBIG, true);
}

static void test_no_file_large_enough_for_growth(void)
{
	const struct host limited = { file_size, many, NULL, 0 };
	struct segment *segment;
	unsigned reason;

	for (amount = HEADER; amount < HEADER + 6 * EXTENT;
		amount += EXTENT - (amount == HEADER)) {
		host_run(&limited);
		TEST_ASSERT_EQUAL_UINT32(
			TTMEM_STATE_ON, host_report->status.state);
		host_nothing_is_missing();
		reason = amount < HEADER + 2 * EXTENT ? TTMEM_LOSS_NO_LANE :
							TTMEM_LOSS_NO_SLOT;
		TEST_ASSERT_TRUE(host_report->status.lost_events[reason] > 0);
		if (host_report->usage.figures[0].live_objects == 0)
			continue;
		segment = host_segment(dir);
		TEST_ASSERT_TRUE(segment->size <= amount);
		TEST_ASSERT_EQUAL_UINT64(
			host_report->status.lost_events[reason],
			segment->lost_events[reason]);
		segment_unref(&segment);
	}
}

static void limited_and_not(void)
{
	uint64_t id = 10000, lost;

	limit_set(RLIMIT_FSIZE, HEADER);
	many();
	host_look();
	if (!host_report->status.lost_events[TTMEM_LOSS_NO_SLOT])
		_exit(97);
	limit_set(RLIMIT_FSIZE, RLIM_INFINITY);
	do {
		lost = host_report->status.lost_events[TTMEM_LOSS_NO_SLOT];
		host_alloc(id++, 10);
		host_look();
	} while (host_report->status.lost_events[TTMEM_LOSS_NO_SLOT] != lost);
	many();
}

static void test_growth_goes_on_when_files_may_be_larger(void)
{
	const struct host host = { NULL, limited_and_not, NULL, 0 };
	struct segment *segment;

	host_run(&host);
	/* The second time, ids are replaced. */
	TEST_ASSERT_TRUE(
		host_report->usage.figures[0].live_objects >= 3 * SLOTS);
	segment = host_segment(dir);
	segment_unref(&segment);
}

/* -- RLIMIT_NOFILE ------------------------------------------------------------ */

/* So many descriptors are free, below the limit. */
static void descriptors(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	limit_set(RLIMIT_NOFILE, (rlim_t)fd + amount);
}

static void no_number_at_all(void)
{
	limit_set(RLIMIT_NOFILE, 0);
}

static void test_no_descriptor_left(void)
{
	const struct host limited = { descriptors, NULL, NULL, 0 };
	const struct host zero = { no_number_at_all, NULL, NULL, 0 };

	for (amount = 0; amount < 2; amount++)
		host_is_untracked(&limited, dir, EMFILE, true);
	host_is_untracked(&zero, dir, EMFILE, true);
}

/* The segment needs one for good and, at the start, one more. */
static void test_two_descriptors_are_enough(void)
{
	const struct host limited = { descriptors, NULL, NULL, 0 };
	struct host_end end;
	struct segment *segment;

	for (amount = 2; amount < 5; amount++) {
		host_once(&limited, &end);
		TEST_ASSERT_EQUAL_INT(HOST_EXIT << 8, end.status);
		TEST_ASSERT_EQUAL_UINT32(
			TTMEM_STATE_ON, host_report->status.state);
		TEST_ASSERT_EQUAL_INT(1, host_report->descriptors);
		host_nothing_is_missing();
		segment = host_segment(dir);
		segment_unref(&segment);
	}
}

static void test_growth_needs_no_descriptor(void)
{
	const struct host limited = { NULL, many, NULL, 0 };

	host_is_tracked(&limited, dir);
	TEST_ASSERT_EQUAL_INT(1, host_report->descriptors);
}

/* Standard output closed and few descriptors: print goes nowhere, not to us. */
static void low_and_closed(void)
{
	limit_set(RLIMIT_NOFILE, 256);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
}

static void print_a_lot(void)
{
	static const char text[] = "this is not for the segment\n";
	int fd;

	for (fd = 0; fd < 3; fd++)
		if (write(fd, text, strlen(text)) >= 0)
			_exit(97);
}

static void test_standard_descriptors_stay_closed(void)
{
	const struct host host = { low_and_closed, print_a_lot, NULL, 0 };
	struct segment *segment;
	struct host_end end;

	host_once(&host, &end);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		HOST_EXIT << 8, end.status, "it could print to the segment");
	segment = host_segment(dir);
	segment_unref(&segment);
}

/* -- RLIMIT_AS ---------------------------------------------------------------- */

static rlim_t address_space(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%llu", &pages) != 1)
		_exit(98);
	fclose(file);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void memory(void)
{
	printf("now, for later there may be no buffer\n");
	limit_set(RLIMIT_AS, address_space() + amount);
}

static void test_no_memory_to_start(void)
{
	const struct host limited = { memory, NULL, NULL, 0 };

	if (HOST_SANITIZED)
		TEST_IGNORE_MESSAGE("a sanitizer needs more memory");
	for (amount = 0; amount <= 0x80000; amount += 0x40000)
		host_is_untracked(&limited, dir, ENOMEM, true);
}

/* However much there is: nothing goes wrong, and nothing goes missing. */
static void test_any_amount_of_memory(void)
{
	const struct host limited = { memory, many, NULL, 0 };
	uint64_t states[TTMEM_STATE_UNTRACKED + 1] = { 0 };
	const rlim_t step = MEMORY_MOST / test_scale(192) / PAGE * PAGE;

	if (HOST_SANITIZED)
		TEST_IGNORE_MESSAGE("a sanitizer needs more memory");
	for (amount = 0; amount <= MEMORY_MOST; amount += step) {
		host_run(&limited);
		states[host_report->status.state]++;
		if (host_report->status.state == TTMEM_STATE_UNTRACKED)
			TEST_ASSERT_EQUAL_INT(
				-ENOMEM, host_report->status.error);
		else
			host_nothing_is_missing();
		free(test_dir_segment(dir, host_report->pid, NULL));
	}
	TEST_ASSERT_TRUE(states[TTMEM_STATE_ON] > 0);
	TEST_ASSERT_TRUE(states[TTMEM_STATE_UNTRACKED] > 0);
	TEST_ASSERT_EQUAL_UINT64(3 * SLOTS + HOST_EVENTS,
		host_report->usage.figures[0].live_objects);
}

static void no_memory_any_more(void)
{
	limit_set(RLIMIT_AS, address_space());
	many();
}

static void test_no_memory_to_grow(void)
{
	const struct host limited = { NULL, no_memory_any_more, NULL, 0 };
	const uint64_t *lost = host_report->status.lost_events;

	if (HOST_SANITIZED)
		TEST_IGNORE_MESSAGE("a sanitizer needs more memory");
	host_run(&limited);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_STATE_ON, host_report->status.state);
	host_nothing_is_missing();
	TEST_ASSERT_EQUAL_UINT64(HOST_EVENTS + 3 * SLOTS - SLOTS,
		lost[TTMEM_LOSS_NO_SLOT] + lost[TTMEM_LOSS_NO_INDEX]);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_no_file_large_enough_for_the_header);
	RUN_TEST(test_no_file_large_enough_for_growth);
	RUN_TEST(test_growth_goes_on_when_files_may_be_larger);
	RUN_TEST(test_no_descriptor_left);
	RUN_TEST(test_two_descriptors_are_enough);
	RUN_TEST(test_growth_needs_no_descriptor);
	RUN_TEST(test_standard_descriptors_stay_closed);
	RUN_TEST(test_no_memory_to_start);
	RUN_TEST(test_any_amount_of_memory);
	RUN_TEST(test_no_memory_to_grow);
	return UNITY_END();
}
