/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pwrite as on a filesystem that fills up, or in a process that is killed, after
 * so many bytes. For one test program: it takes the libc's place.
 */
#ifndef SHORT_WRITES_H
#define SHORT_WRITES_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t short_writes_left = UINT64_MAX;
static bool short_writes_kill;

ssize_t short_writes_pwrite(
	int fd, const void *bytes, size_t size, off_t off) __asm__("pwrite64");

ssize_t short_writes_pwrite(int fd, const void *bytes, size_t size, off_t off)
{
	size_t part = size < short_writes_left ? size : short_writes_left;
	ssize_t n = part ? syscall(SYS_pwrite64, fd, bytes, part, off) : 0;

	if (part < size && short_writes_kill)
		_exit(9);
	if (!part && size) {
		errno = ENOSPC;
		return -1;
	}
	if (n > 0 && short_writes_left != UINT64_MAX)
		short_writes_left -= (uint64_t)n;
	return n;
}

#endif
