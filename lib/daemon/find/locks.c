/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/* The lock by which one ttmemd serves a directory. */
#include "daemon/find/watch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "daemon/testpoint.h"
#include "shm/clock.h"

/* Who removes the file all the time is not waited for. */
#define LOCK_TRIES 8u

static int lock_open_existing(int directory_fd)
{
	struct stat st;
	int fd;

	if (fstatat(directory_fd, TTM_SERVER_LOCK, &st, AT_SYMLINK_NOFOLLOW) <
		0)
		return -errno;
	/* It may be that of another directory which we serve: not opened, it
	 * need not be closed, which would drop our lock there. */
	if (st.st_nlink != 1)
		return -EPERM;
	/* Without O_CREAT: in a sticky directory the kernel may refuse to open
	 * others' files with it (fs.protected_regular). */
	fd = openat(directory_fd, TTM_SERVER_LOCK,
		O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* 0600: who can open it can hold it. The owner's own ttmemd may come later. */
static int lock_create(int directory_fd, uint32_t owner)
{
	int fd = openat(directory_fd, TTM_SERVER_LOCK,
		O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0600) < 0 ||
		(geteuid() != owner && fchown(fd, owner, (gid_t)-1) < 0)) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

static int lock_open(int directory_fd, uint32_t owner)
{
	int fd = lock_open_existing(directory_fd);

	if (fd != -ENOENT)
		return fd;
	fd = lock_create(directory_fd, owner);
	return fd == -EEXIST ? lock_open_existing(directory_fd) : fd;
}

static int lock_judge(int fd, uint32_t owner)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 ||
		(st.st_uid != owner && st.st_uid != 0))
		return -EPERM;
	if (!(st.st_mode & (S_IRWXG | S_IRWXO)))
		return 0;
	return fchmod(fd, 0600) < 0 ? -errno : 0;
}

static int lock_take(int fd, uint32_t *ret_holder)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	if (fcntl(fd, F_SETLK, &lock) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return -errno;
	*ret_holder = 0;
	if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK &&
		lock.l_pid > 0)
		*ret_holder = (uint32_t)lock.l_pid;
	return -EBUSY;
}

/*
 * For processes that end while nobody serves. Where there is no room for it they do
 * as if nobody had ever served.
 */
static void note_write(int fd, uint64_t stopped_ns)
{
	struct ttm_server_note note = { .magic = TTM_SERVER_NOTE_MAGIC,
		.stopped_ns = stopped_ns };
	ssize_t n = pwrite(fd, &note, sizeof(note), 0);

	(void)n;
}

/*
 * Its owner may have removed the file before it was locked: then nobody who asks sees
 * the lock, and another ttmemd may have that of a new file.
 */
static bool lock_is_current(int directory_fd, int fd)
{
	struct stat named, st;

	return fstatat(directory_fd, TTM_SERVER_LOCK, &named,
		       AT_SYMLINK_NOFOLLOW) == 0 &&
		fstat(fd, &st) == 0 && named.st_ino == st.st_ino &&
		named.st_dev == st.st_dev;
}

/* As ttm_server_lock(), or -EAGAIN: it is not the directory's file any more. */
static int lock_try(int directory_fd, uint32_t owner, uint32_t *ret_holder)
{
	int fd = lock_open(directory_fd, owner), r;

	if (fd < 0)
		return fd;
	TTM_TESTPOINT("lock opened");
	r = lock_is_current(directory_fd, fd) ? lock_judge(fd, owner) : -EAGAIN;
	TTM_TESTPOINT("lock judged");
	if (r == 0)
		r = lock_take(fd, ret_holder);
	if (r == 0 && !lock_is_current(directory_fd, fd))
		r = -EAGAIN;
	if (r == 0) {
		note_write(fd, 0);
		return fd;
	}
	close(fd);
	return r;
}

int ttm_server_lock(int directory_fd, uint32_t owner, uint32_t *ret_holder)
{
	unsigned tries;
	int r = -EAGAIN;

	*ret_holder = 0;
	for (tries = 0; r == -EAGAIN && tries < LOCK_TRIES; tries++)
		r = lock_try(directory_fd, owner, ret_holder);
	return r == -EAGAIN ? -EBUSY : r;
}

int ttm_server_lock_again(int fd)
{
	uint32_t holder;

	return lock_take(fd, &holder);
}

void ttm_system_unlock(int *fd)
{
	if (*fd < 0)
		return;
	if (ftruncate(*fd, 0) < 0)
		note_write(*fd, 0); /* then somebody waits for us in vain */
	close(*fd);
	*fd = -1;
}

void ttm_server_unlock(int *fd)
{
	if (*fd < 0)
		return;
	note_write(*fd, ttm_clock_ns(CLOCK_MONOTONIC));
	close(*fd);
	*fd = -1;
}
