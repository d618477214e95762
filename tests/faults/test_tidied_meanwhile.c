/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes start at once where there is too much: together they drop as
 * much as one would, and count it once. In the worst case one has measured, and
 * another tidies before it comes to do so itself: this program steps in there.
 */
#include <stdarg.h>
#include <sys/syscall.h>

#include "faults/leftovers.h"

enum {
	MANY = 64,
	AT_ONCE = 12,
	MARGIN = 4 << 20,
};

static struct leftover left[MANY];
static bool step_in;

void setUp(void)
{
	leftovers_set_up();
}

void tearDown(void)
{
	leftovers_tear_down();
}

/* Instead of the C library's, for the library under test, too. */
int openat(int directory, const char *path, int flags, ...)
{
	va_list ap;
	int mode;
	pid_t pid;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
	va_end(ap);
	if (step_in && !strcmp(path, "lost")) {
		step_in = false;
		pid = fork();
		if (!pid) {
			leftover_fill(0, 0);
			exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			abort();
	}
	return (int)syscall(SYS_openat, directory, path, flags, mode);
}

static void counted_once_and_no_more_than_needed(uint64_t len)
{
	struct leftovers_lost lost = leftovers_lost(), sum = { 0, 0, 0, 0 };
	uint64_t size = leftovers_size(NULL), i;

	for (i = 0; i < len; i++)
		if (!leftover_is_there(&left[i])) {
			sum.segments++;
			sum.objects += left[i].objects;
			sum.bytes += left[i].bytes;
		}
	TEST_ASSERT_EQUAL_UINT64(sum.segments, lost.segments);
	TEST_ASSERT_EQUAL_UINT64(sum.objects, lost.objects);
	TEST_ASSERT_EQUAL_UINT64(sum.bytes, lost.bytes);
	TEST_ASSERT_TRUE(size <= LEFTOVERS_TIDIED + MARGIN);
	TEST_ASSERT_TRUE_MESSAGE(
		size > LEFTOVERS_TIDIED - MARGIN, "more than needed was lost");
}

static void test_measured_before_another_tidied(void)
{
	uint64_t len = leftovers_overfill(left, MANY, 0);

	step_in = true;
	leftover_make(LEFTOVER_EXITS, 0, 0);
	counted_once_and_no_more_than_needed(len);
}

static void test_many_at_once(void)
{
	uint64_t len = leftovers_overfill(left, MANY, 0);
	pid_t pids[AT_ONCE];
	int gate[2], status, i;
	char byte;

	TEST_ASSERT_EQUAL_INT(0, pipe(gate));
	fflush(NULL);
	for (i = 0; i < AT_ONCE; i++) {
		pids[i] = fork();
		TEST_ASSERT_TRUE(pids[i] >= 0);
		if (!pids[i]) {
			close(gate[1]);
			if (read(gate[0], &byte, 1) != 0)
				_exit(1);
			leftover_fill(0, 0);
			exit(0);
		}
	}
	close(gate[0]);
	close(gate[1]);
	for (i = 0; i < AT_ONCE; i++) {
		TEST_ASSERT_EQUAL_INT(pids[i], waitpid(pids[i], &status, 0));
		TEST_ASSERT_EQUAL_INT(0, status);
	}
	counted_once_and_no_more_than_needed(len);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_many_at_once);
	RUN_TEST(test_measured_before_another_tidied);
	return UNITY_END();
}
