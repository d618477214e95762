/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process uses a new device while its counters are read: between the look at its
 * devices and the look at its counter blocks, or at any other read. Nobody is put in
 * quarantine for it, and what was read is right.
 */
#include <string.h>
#include <sys/syscall.h>

#include "daemon/drained.h"
#include "support/test_dir.h"

static struct drained drained;
static unsigned reads;   /* since the counters were asked for */
static unsigned event;   /* before which of them; 0: none */
static uint32_t devices; /* that the process has used */

ssize_t timed_pread(int fd, void *bytes, size_t size, off_t off) __asm__(
	"pread64");

ssize_t timed_pread(int fd, void *bytes, size_t size, off_t off)
{
	if (event && ++reads == event) {
		ttmem_alloc(devices, TTMEM_DRAM, 1, 0, 100);
		devices++;
	}
	return syscall(SYS_pread64, fd, bytes, size, off);
}

void setUp(void)
{
	test_tracking_start();
	devices = 0;
}

void tearDown(void)
{
	event = 0;
	drained_close(&drained);
	test_tracking_stop();
}

/* Returns whether the process used a device while the counters were read. */
static bool counters_at(unsigned which)
{
	uint32_t before = devices, i;

	reads = 0;
	event = which;
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, ttm_drain_counters(drained.process),
		drained.process->source.reason);
	event = 0;
	TEST_ASSERT_TRUE(drained_round(&drained) >= 0);
	TEST_ASSERT_EQUAL_INT(0, ttm_drain_counters(drained.process));
	TEST_ASSERT_EQUAL_UINT32(devices, drained.process->parts_len);
	for (i = 0; i < devices; i++)
		drained_is_usage(&drained, i, i);
	return devices > before;
}

static void test_a_new_device_at_each_read(void)
{
	unsigned which = 1;

	ttmem_alloc(devices++, TTMEM_DRAM, 1, 0, 100);
	drained_open(&drained, test_segment_path());
	while (counters_at(which))
		which++;
	TEST_ASSERT_TRUE(which > 4);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_new_device_at_each_read);
	return UNITY_END();
}
