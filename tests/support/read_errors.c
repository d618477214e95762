/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read(2) for tests of files that refuse to be read, as those of a driver do and
 * plain files never would: what a file has as "!errno N" is the error that reading
 * it gives. Linked into a test, or preloaded into a program.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) ssize_t read(
	int fd, void *bytes, size_t size)
{
	static const char mark[] = "!errno ";
	ssize_t n = syscall(SYS_read, fd, bytes, size);
	char number[16] = "";

	if (n < (ssize_t)sizeof(mark) || n >= 24 ||
		memcmp(bytes, mark, sizeof(mark) - 1) != 0)
		return n;
	memcpy(number, (const char *)bytes + sizeof(mark) - 1,
		(size_t)n - (sizeof(mark) - 1));
	errno = atoi(number);
	return -1;
}
