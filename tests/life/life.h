/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests about the life of a process share. */
#ifndef TEST_LIFE_H
#define TEST_LIFE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/segment_reader.h"
#include "support/test_dir.h"

#if defined(__has_feature)
#define LIFE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define LIFE_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_THREAD__) || LIFE_HAS_FEATURE(thread_sanitizer)
#define LIFE_THREAD_SANITIZED 1
#else
#define LIFE_THREAD_SANITIZED 0
#endif

#if LIFE_THREAD_SANITIZED || defined(__SANITIZE_ADDRESS__) ||                  \
	LIFE_HAS_FEATURE(address_sanitizer)
#define LIFE_SANITIZED 1
#else
#define LIFE_SANITIZED 0
#endif

/* -- processes ---------------------------------------------------------------- */

/* In a child Unity has nobody to tell: it says what is wrong and ends with 1. */
_Noreturn static inline void life_fail(int line, const char *text)
{
	dprintf(STDERR_FILENO, "process %d, line %d: %s\n", (int)getpid(), line,
		text);
	_exit(1);
}

#define expect(condition)                                                      \
	do {                                                                   \
		if (!(condition))                                              \
			life_fail(__LINE__, #condition);                       \
	} while (0)

/* A child that does the work and ends without any destructor. */
static inline pid_t life_start(void (*work)(void))
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		work();
		_exit(0);
	}
	return pid;
}

/* Whether that child has ended with status 0. */
static inline bool life_ended_well(pid_t pid)
{
	int status = -1;
	pid_t r;

	do
		r = waitpid(pid, &status, 0);
	while (r < 0 && errno == EINTR);
	return r == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Runs it as a process of its own, which must end well; returns its pid. */
static inline pid_t life_run(void (*work)(void))
{
	pid_t pid = life_start(work);

	TEST_ASSERT_TRUE(pid > 0);
	TEST_ASSERT_TRUE_MESSAGE(
		life_ended_well(pid), "the process did not end well");
	return pid;
}

/* One byte for whoever waits at the other end. */
static inline void life_tell(int fd)
{
	expect(write(fd, "", 1) == 1);
}

/* False if all who could tell are gone. */
static inline bool life_hears(int fd)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static inline void life_await(int fd)
{
	expect(life_hears(fd));
}

/* Memory that processes share from here on. */
static inline void *life_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	expect(memory != MAP_FAILED);
	return memory;
}

/* Whether the kernel empties such memory in a child; qemu-user does not. */
static inline bool life_fork_wipes(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool wiped = false;
	pid_t pid;

	expect(memory != MAP_FAILED);
	*memory = 1;
	if (madvise(memory, size, MADV_WIPEONFORK) == 0) {
		pid = fork();
		if (pid == 0)
			_exit(*memory);
		wiped = life_ended_well(pid);
	}
	munmap(memory, size);
	return wiped;
}

/* -- segments ----------------------------------------------------------------- */

static inline size_t life_segments(const char *dir, pid_t pid)
{
	size_t found;

	free(test_dir_segment(dir, pid, &found));
	return found;
}

/*
 * The segment of that process, consistent at rest; NULL if there is none, or it
 * is not, which is then said. To read its own segment costs a process its lock.
 */
static inline struct segment *life_segment(const char *dir, pid_t pid)
{
	struct segment *segment = NULL;
	char why[512] = "";
	size_t found;
	char *path = test_dir_segment(dir, pid, &found);

	if (!path)
		snprintf(why, sizeof(why), "%d segments", (int)found);
	else if (!segment_read(path, &segment, why, sizeof(why)) &&
		segment_check_at_rest(segment, why, sizeof(why)))
		segment_unref(&segment);
	if (!segment)
		dprintf(STDERR_FILENO, "segment of %d: %s\n", (int)pid, why);
	free(path);
	return segment;
}

/* Who holds the lock of that process's segment, as another process sees it. */
static inline pid_t life_lock_holder(const char *dir, pid_t pid)
{
	char *path = test_dir_segment(dir, pid, NULL);
	pid_t holder = path ? test_dir_lock_holder(path) : -1;

	free(path);
	return holder;
}

/* No event was lost but those of handlers that interrupted a hook. */
static inline bool life_lost_only_nested(const struct segment *segment)
{
	unsigned i;

	for (i = 0; i < SEGMENT_REASONS; i++)
		if (i != TTMEM_LOSS_NESTED &&
			(segment->lost_events[i] || segment->lost_bytes[i]))
			return false;
	return true;
}

static inline bool life_lost_nothing(const struct segment *segment)
{
	return life_lost_only_nested(segment) &&
		!segment->lost_events[TTMEM_LOSS_NESTED];
}

/* Summed over all device entries. */
static inline uint64_t life_allocs(const struct segment *s, unsigned figure)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < SEGMENT_DEVICES; i++)
		sum += s->devices[i].figures[figure].alloc_objects;
	return sum;
}

static inline uint64_t life_frees(const struct segment *s, unsigned figure)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < SEGMENT_DEVICES; i++)
		sum += s->devices[i].figures[figure].free_objects;
	return sum;
}

/* Whether a live object or a record of the history has this id. */
static inline bool life_has_id(const struct segment *segment, uint64_t id)
{
	size_t i;
	size_t j;

	for (i = 0; i < segment->objects_len; i++)
		if (segment->objects[i].id == id)
			return true;
	for (i = 0; i < segment->lanes_len; i++)
		for (j = 0; j < segment->lanes[i].records_len; j++)
			if (segment->lanes[i].records[j].id == id)
				return true;
	return false;
}

/* The bytes of a file, to be freed. */
static inline uint8_t *life_bytes(const char *path, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	uint8_t *bytes;

	expect(size >= 0);
	bytes = malloc((size_t)size + 1);
	expect(bytes);
	expect(pread(fd, bytes, (size_t)size, 0) == size);
	close(fd);
	*ret_size = (size_t)size;
	return bytes;
}

#endif
