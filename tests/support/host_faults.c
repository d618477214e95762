/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of a host that nobody wants on the machine that runs the tests, for the
 * program that this is preloaded into: the wall clock is stepped, and allocations
 * fail. The file $HOST_FAULTS says how, in two words of 64 bits that may change at any
 * time: what to add to the wall clock, in ns; and n, where each n-th allocation of the
 * program itself fails, 0: none. Those of its libraries never do.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* glibc's own. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t len, size_t size);
void *__libc_realloc(void *memory, size_t size);

static volatile int64_t *faults; /* the two words; NULL: none */
static uint64_t allocations;

__attribute__((constructor)) static void faults_open(void)
{
	const char *path = getenv("HOST_FAULTS");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *words;

	if (fd < 0)
		return;
	words = mmap(NULL, 2 * sizeof(*faults), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (words == MAP_FAILED)
		return;
	faults = words;
}

static int is_programs(void *caller)
{
	Dl_info info;

	/* The program's name is the one it was called by. */
	return dladdr(caller, &info) && info.dli_fname &&
		!strstr(info.dli_fname, ".so");
}

static int fails(void *caller)
{
	int64_t n = faults ? faults[1] : 0;

	if (n <= 0 || !is_programs(caller) ||
		__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED) %
			(uint64_t)n)
		return 0;
	errno = ENOMEM;
	return 1;
}

EXPORT void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t len, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL :
						    __libc_calloc(len, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
	return fails(__builtin_return_address(0)) ?
		NULL :
		__libc_realloc(memory, size);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *time)
{
	int r = (int)syscall(SYS_clock_gettime, clock, time);
	int64_t ns;

	if (r || clock != CLOCK_REALTIME || !faults)
		return r;
	ns = time->tv_sec * 1000000000ll + time->tv_nsec + faults[0];
	time->tv_sec = ns / 1000000000;
	time->tv_nsec = ns % 1000000000;
	return 0;
}
