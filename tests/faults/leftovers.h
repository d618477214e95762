/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that leave segments behind, and what becomes of those. */
#ifndef TEST_FAULTS_LEFTOVERS_H
#define TEST_FAULTS_LEFTOVERS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/segment_reader.h"
#include "support/test_dir.h"

#define LEFTOVERS_MOST (64ull << 20)
#define LEFTOVERS_TIDIED (32ull << 20)

/* The four words of the file `lost`. */
struct leftovers_lost {
	uint64_t segments;
	uint64_t objects;
	uint64_t bytes;
	uint64_t markers;
};

struct leftover {
	char path[256];
	uint64_t objects;
	uint64_t bytes;
};

/* Shared with the child of the moment. */
static struct leftover *leftover_shared;
static const char *leftovers_dir;
static char leftovers_user[128]; /* the user's directory in it */

static inline void leftovers_set_up(void)
{
	leftovers_dir = test_dir_make();
	snprintf(leftovers_user, sizeof(leftovers_user), "%s/ttmem-%ld",
		leftovers_dir, (long)geteuid());
	TEST_ASSERT_EQUAL_INT(0, mkdir(leftovers_user, 0700));
	leftover_shared = mmap(NULL, sizeof(*leftover_shared),
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT_TRUE(leftover_shared != MAP_FAILED);
}

static inline void leftovers_tear_down(void)
{
	munmap(leftover_shared, sizeof(*leftover_shared));
	test_dir_remove();
}

/* Below those where the library's own is. */
static inline int leftover_descriptors(void)
{
	int fd, open_now = 0;

	for (fd = 0; fd < 128; fd++)
		open_now += fcntl(fd, F_GETFD) >= 0;
	return open_now;
}

/*
 * `ballast` objects come and go, `objects` stay. 2,048 of the first are 128 KiB of
 * file, which a process that is killed does not give back.
 */
static inline void leftover_fill(uint64_t ballast, uint64_t objects)
{
	struct ttmem_status status = { .size = sizeof(status) };
	int descriptors = leftover_descriptors();
	uint64_t i;

	ttmem_mark("a process");
	for (i = 0; i < ballast; i++)
		ttmem_alloc(0, TTMEM_L1, i, 0, 1);
	for (i = 0; i < ballast; i++)
		ttmem_free(0, TTMEM_L1, i);
	for (i = 0; i < objects; i++)
		ttmem_alloc(0, TTMEM_DRAM, i, 0, 100 + i);
	ttmem_status(&status);
	memcpy(leftover_shared->path, status.segment, sizeof(status.segment));
	leftover_shared->objects = objects;
	leftover_shared->bytes = objects * 100 + objects * (objects - 1) / 2;
	if (status.state != TTMEM_STATE_ON)
		_exit(1);
	if (leftover_descriptors() != descriptors)
		_exit(2);
}

enum leftover_end {
	LEFTOVER_EXITS,
	LEFTOVER_IS_KILLED,
};

/* A whole process. What it left, or would have, is in *leftover_shared. */
static inline void leftover_make(
	enum leftover_end end, uint64_t ballast, uint64_t objects)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		leftover_fill(ballast, objects);
		if (end == LEFTOVER_IS_KILLED)
			kill(getpid(), SIGKILL);
		exit(0);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(end == LEFTOVER_EXITS ? 0 : SIGKILL, status);
}

/* A process that is still there, until leftover_release(). */
struct leftover_live {
	struct leftover left;
	pid_t pid;
	int release;
};

static inline void leftover_keep(uint64_t ballast, uint64_t objects,
	bool without_descriptors, struct leftover_live *ret_live)
{
	int ready[2], release[2], fd;
	char byte = 0;

	TEST_ASSERT_EQUAL_INT(0, pipe(ready));
	TEST_ASSERT_EQUAL_INT(0, pipe(release));
	fflush(NULL);
	ret_live->pid = fork();
	TEST_ASSERT_TRUE(ret_live->pid >= 0);
	if (!ret_live->pid) {
		close(release[1]);
		leftover_fill(ballast, objects);
		for (fd = 3; without_descriptors && fd < 1100; fd++)
			if (fd != ready[1] && fd != release[0])
				close(fd);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		if (read(release[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(ready[1]);
	close(release[0]);
	TEST_ASSERT_EQUAL_INT(1, (int)read(ready[0], &byte, 1));
	close(ready[0]);
	ret_live->release = release[1];
	ret_live->left = *leftover_shared;
}

static inline void leftover_release(struct leftover_live *live)
{
	int status;

	close(live->release);
	TEST_ASSERT_EQUAL_INT(live->pid, waitpid(live->pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(0, status);
}

/* The bytes of all segments, and how many there are. */
static inline uint64_t leftovers_size(uint64_t *ret_segments)
{
	DIR *files = opendir(leftovers_user);
	uint64_t bytes = 0, segments = 0;
	struct dirent *entry;
	struct stat st;

	TEST_ASSERT_NOT_NULL(files);
	while ((entry = readdir(files)))
		if (!strncmp(entry->d_name, "p.", 2) &&
			!fstatat(dirfd(files), entry->d_name, &st, 0)) {
			bytes += (uint64_t)st.st_blocks * 512;
			segments++;
		}
	closedir(files);
	if (ret_segments)
		*ret_segments = segments;
	return bytes;
}

static inline uint64_t leftovers_markers(void)
{
	DIR *files = opendir(leftovers_user);
	uint64_t markers = 0;
	struct dirent *entry;

	TEST_ASSERT_NOT_NULL(files);
	while ((entry = readdir(files)))
		markers += !strncmp(entry->d_name, "u.", 2);
	closedir(files);
	return markers;
}

static inline bool leftover_is_there(const struct leftover *left)
{
	return access(left->path, F_OK) == 0;
}

/* Zeros if the file is not there. */
static inline struct leftovers_lost leftovers_lost(void)
{
	struct leftovers_lost lost = { 0, 0, 0, 0 };
	char path[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/lost", leftovers_user);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		TEST_ASSERT_EQUAL_INT(ENOENT, errno);
		return lost;
	}
	n = read(fd, &lost, sizeof(lost));
	TEST_ASSERT_TRUE(n == 0 || n == (ssize_t)sizeof(lost));
	close(fd);
	return lost;
}

/* Reads a segment that is still there: it must hold what it was left with. */
static inline void leftover_is_whole(const struct leftover *left)
{
	struct segment *segment = NULL;
	uint64_t bytes = 0;
	char why[512] = "";
	size_t i;

	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_read(left->path, &segment, why, sizeof(why)), why);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, segment_check_at_rest(segment, why, sizeof(why)), why);
	for (i = 0; i < segment->objects_len; i++)
		bytes += segment->objects[i].bytes;
	TEST_ASSERT_EQUAL_UINT64(left->objects, segment->objects_len);
	TEST_ASSERT_EQUAL_UINT64(left->bytes, bytes);
	segment_unref(&segment);
}

/* A write lock on byte 0 of a file in the user's directory, until it is closed. */
static inline int leftovers_lock(const char *name)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", leftovers_user, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	TEST_ASSERT_TRUE(fd >= 0);
	TEST_ASSERT_EQUAL_INT(0, fcntl(fd, F_SETLK, &lock));
	return fd;
}

/* Dead segments of somewhat more than 64 MiB beside live ones; how many. */
static inline uint64_t leftovers_overfill(
	struct leftover *left, uint64_t max, uint64_t live)
{
	uint64_t n = 0;

	while (leftovers_size(NULL) - live <= LEFTOVERS_MOST) {
		TEST_ASSERT_TRUE(n < max);
		leftover_make(LEFTOVER_IS_KILLED, 40000, 5);
		left[n++] = *leftover_shared;
	}
	return n;
}

#endif
