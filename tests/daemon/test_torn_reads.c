/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel was interrupted while it copied the counts of a lane: their lower bytes are
 * older than the others, and so they seem to be ahead. Nothing is taken that is not
 * there, nothing is missed, and nobody is put in quarantine for it.
 */
#include <string.h>
#include <sys/syscall.h>

#include "daemon/drained.h"
#include "support/test_dir.h"

#define AHEAD 200u /* what a byte may be off by */
#define READS_MOST 5u

static struct drained drained;
static unsigned reads; /* of the first lane's counts, since the round began */
static unsigned torn;  /* which of them; 0: none */

static void control_tear(char *bytes, size_t size, off_t off)
{
	off_t at = (off_t)TTM_LANES_OFF - off;
	struct ttm_lane_control control;

	if (at < 0 || (size_t)at + sizeof(control) > size || ++reads != torn)
		return;
	memcpy(&control, bytes + at, sizeof(control));
	control.intent += AHEAD;
	control.tail += AHEAD;
	memcpy(bytes + at, &control, sizeof(control));
}

ssize_t torn_pread(int fd, void *bytes, size_t size, off_t off) __asm__(
	"pread64");

ssize_t torn_pread(int fd, void *bytes, size_t size, off_t off)
{
	ssize_t n = syscall(SYS_pread64, fd, bytes, size, off);

	if (n > 0 && torn)
		control_tear(bytes, (size_t)n, off);
	return n;
}

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	drained_close(&drained);
	test_tracking_stop();
}

/* The next round sees what this one did not take. */
static void rounds(unsigned which, uint64_t *written, uint64_t more)
{
	uint64_t id;

	for (id = *written; id < *written + more; id++)
		ttmem_alloc(0, TTMEM_DRAM, id, 0, 1);
	*written += more;
	reads = 0;
	torn = which;
	TEST_ASSERT_TRUE(drained_round(&drained) >= 0);
	torn = 0;
	TEST_ASSERT_TRUE(drained_round(&drained) >= 0);
	TEST_ASSERT_EQUAL_UINT64(*written, drained.process->events);
	TEST_ASSERT_EQUAL_UINT64(0, drained.process->missed);
}

static void each_of_them(uint64_t more)
{
	uint64_t written = 0;
	unsigned which;

	ttmem_start(NULL);
	drained_open(&drained, test_segment_path());
	for (which = 1; which <= READS_MOST; which++)
		rounds(which, &written, more);
	TEST_ASSERT_TRUE(reads >= 2);
}

static void test_nothing_is_taken_beyond_the_tail(void)
{
	each_of_them(10);
}

static void test_nothing_of_a_full_lane_is_missed(void)
{
	each_of_them(TTM_LANE_RECORDS);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_nothing_is_taken_beyond_the_tail);
	RUN_TEST(test_nothing_of_a_full_lane_is_missed);
	return UNITY_END();
}
