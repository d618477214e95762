/* SPDX-License-Identifier: Apache-2.0 */
/* Lines come whole, and a line without an end is refused without waiting for it. */
#include "common/line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unity.h>

static struct ttm_input input;
static struct ttm_line line;
static int ends[2];

void setUp(void)
{
	TEST_ASSERT_EQUAL_INT(0, pipe2(ends, O_NONBLOCK | O_CLOEXEC));
	ttm_input_use(ends[0], &input);
}

void tearDown(void)
{
	ttm_input_close(&input);
	close(ends[1]);
	ttm_line_free(&line);
}

static void written(const char *text, size_t size)
{
	TEST_ASSERT_EQUAL_INT(size, write(ends[1], text, size));
}

static void line_is(const char *text)
{
	TEST_ASSERT_EQUAL_INT(1, ttm_line_read(&input, 8, &line));
	TEST_ASSERT_EQUAL_STRING(text, line.text);
	TEST_ASSERT_EQUAL_UINT64(strlen(text), line.length);
}

static void test_lines_up_to_the_limit(void)
{
	written("1234567\n\nab\nlast", 16);
	close(ends[1]);
	line_is("1234567\n");
	line_is("\n");
	line_is("ab\n");
	line_is("last");
	TEST_ASSERT_EQUAL_INT(0, ttm_line_read(&input, 8, &line));
}

/* The pipe stays open: whoever waited for the newline would get -EAGAIN. */
static void test_a_line_too_long_is_refused_before_its_end(void)
{
	written("123456789", 9);
	TEST_ASSERT_EQUAL_INT(-EFBIG, ttm_line_read(&input, 8, &line));
}

static void test_a_zero_byte_is_refused_before_the_end_of_the_line(void)
{
	written("ab\nc\0d", 6);
	line_is("ab\n");
	TEST_ASSERT_EQUAL_INT(-EILSEQ, ttm_line_read(&input, 8, &line));
}

static void test_a_line_longer_than_the_buffer(void)
{
	char text[] = "/dev/shm/ttmem-test.XXXXXX";
	int fd = mkstemp(text), i;

	TEST_ASSERT_TRUE(fd >= 0);
	unlink(text);
	for (i = 0; i < 10000; i++)
		dprintf(fd, "%09d ", i);
	lseek(fd, 0, SEEK_SET);
	ttm_input_close(&input);
	ttm_input_use(fd, &input);
	TEST_ASSERT_EQUAL_INT(1, ttm_line_read(&input, 100000, &line));
	TEST_ASSERT_EQUAL_UINT64(100000, line.length);
	TEST_ASSERT_EQUAL_STRING("000009999 ", line.text + 99990);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_lines_up_to_the_limit);
	RUN_TEST(test_a_line_too_long_is_refused_before_its_end);
	RUN_TEST(test_a_zero_byte_is_refused_before_the_end_of_the_line);
	RUN_TEST(test_a_line_longer_than_the_buffer);
	return UNITY_END();
}
