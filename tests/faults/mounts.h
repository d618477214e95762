/* SPDX-License-Identifier: Apache-2.0 */
/* Filesystems of a test's own, gone with the test. */
#ifndef TEST_FAULTS_MOUNTS_H
#define TEST_FAULTS_MOUNTS_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static inline bool mounts_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 &&
		write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return written;
}

/* Somebody who is not root, but may have a user namespace. */
static inline bool mounts_as_user(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	mounts_write("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%ld %ld 1", (long)uid, (long)uid);
	if (!mounts_write("/proc/self/uid_map", map))
		return false;
	snprintf(map, sizeof(map), "%ld %ld 1", (long)gid, (long)gid);
	return mounts_write("/proc/self/gid_map", map);
}

/*
 * From now on mounts are this process's and its children's alone. Exits with 77
 * (skipped) where that is not allowed.
 */
static inline void mounts_begin(void)
{
	if ((unshare(CLONE_NEWNS) && !mounts_as_user()) ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		fprintf(stderr, "skipped: no mounts: %s\n", strerror(errno));
		exit(77);
	}
}

/* A tmpfs over `dir`; exits with 77 where that is not allowed. */
static inline void mounts_tmpfs(const char *dir, const char *options)
{
	char all[128];

	snprintf(all, sizeof(all), "mode=0755%s%s", *options ? "," : "",
		options);
	if (mount("ttmem-test", dir, "tmpfs", 0, all)) {
		fprintf(stderr, "skipped: no tmpfs: %s\n", strerror(errno));
		exit(77);
	}
}

#endif
