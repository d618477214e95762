/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files for writing without following what another user has put in the way.
 *
 * The path is walked one name at a time, from descriptor to descriptor, so that what was
 * checked is what is used. The kernel refuses some of this too, but only in sticky
 * directories, and only if it is told to (fs.protected_symlinks, fs.protected_fifos).
 */
#include "common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40
#define TRIES_MAX 16

struct walk {
	int directory;       /* where it is */
	char rest[PATH_MAX]; /* from there */
	char name[NAME_MAX + 1];
	int links;      /* followed so far */
	bool by_kernel; /* the last name is a link of /proc */
};

/* -- whom to trust ------------------------------------------------------------ */

/* Root is somebody else in a user namespace: the owner of "/" is root. */
static bool user_is_trusted(uid_t uid)
{
	struct stat root;

	return uid == geteuid() || uid == 0 ||
		(stat("/", &root) == 0 && uid == root.st_uid);
}

/* Only the caller and root can put anything in it. */
static bool directory_is_trusted(int directory)
{
	struct stat st;

	return fstat(directory, &st) == 0 && user_is_trusted(st.st_uid) &&
		!(st.st_mode & (S_IWGRP | S_IWOTH));
}

static bool entry_is_trusted(int directory, const struct stat *st)
{
	return user_is_trusted(st->st_uid) || directory_is_trusted(directory);
}

/* -- the way to it ------------------------------------------------------------ */

static int descriptor_replace(int *fd, int by)
{
	if (by < 0)
		return -errno;
	close(*fd);
	*fd = by;
	return 0;
}

/* Takes the next name off the rest; false: there is none. */
static bool name_take(struct walk *walk, int *ret_error)
{
	const char *at = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(at, "/");

	*ret_error = length > NAME_MAX ? -ENAMETOOLONG : 0;
	if (length == 0 || *ret_error)
		return false;
	memcpy(walk->name, at, length);
	walk->name[length] = '\0';
	memmove(walk->rest, at + length, strlen(at + length) + 1);
	return true;
}

static bool name_is_last(const struct walk *walk)
{
	return walk->rest[0] == '\0';
}

/* Those of /proc are not text: the kernel knows where they lead. */
static bool directory_is_of_proc(int directory)
{
	struct statfs fs;

	return fstatfs(directory, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

static int link_follow(struct walk *walk, int link, const struct stat *st)
{
	char target[PATH_MAX];
	ssize_t length;

	if (directory_is_of_proc(walk->directory)) {
		walk->by_kernel = name_is_last(walk);
		return walk->by_kernel ?
			0 :
			descriptor_replace(&walk->directory,
				openat(walk->directory, walk->name,
					O_PATH | O_DIRECTORY | O_CLOEXEC));
	}
	if (!entry_is_trusted(walk->directory, st))
		return TTM_OUTPUT_REFUSED;
	length = readlinkat(link, "", target, sizeof(target));
	if (length < 0)
		return -errno;
	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	if ((size_t)length + strlen(walk->rest) >= sizeof(walk->rest))
		return -ENAMETOOLONG;
	memmove(walk->rest + length, walk->rest, strlen(walk->rest) + 1);
	memcpy(walk->rest, target, (size_t)length);
	if (walk->rest[0] != '/')
		return 0;
	return descriptor_replace(
		&walk->directory, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Returns 1 when the name is the file's own, 0 when there is more to walk. */
static int name_enter(struct walk *walk)
{
	struct stat st;
	int fd, r;

	fd = openat(
		walk->directory, walk->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT && name_is_last(walk) ? 1 : -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (S_ISLNK(st.st_mode))
		r = link_follow(walk, fd, &st);
	else if (name_is_last(walk))
		r = S_ISDIR(st.st_mode) ? -EISDIR : 1;
	else if (S_ISDIR(st.st_mode))
		return descriptor_replace(&walk->directory, fd);
	else
		r = -ENOTDIR;
	close(fd);
	return r == 0 && walk->by_kernel ? 1 : r;
}

/* Leaves the directory open, and the file's name in it. */
static int path_walk(const char *path, struct walk *walk)
{
	int r = 0, error;

	memset(walk, 0, sizeof(*walk));
	walk->directory = -1;
	if (strlen(path) >= sizeof(walk->rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, path, strlen(path) + 1);
	walk->directory = open(
		path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (walk->directory < 0)
		return -errno;
	while (r == 0 && name_take(walk, &error))
		r = name_enter(walk);
	if (r == 1)
		return 0;
	close(walk->directory);
	walk->directory = -1;
	if (r == 0)
		r = error ? error : path[0] ? -EISDIR : -ENOENT;
	return r;
}

/* -- opening ------------------------------------------------------------------ */

/* Beside it, hidden, and with an ending that nobody collects files by. */
static int temporary_open(struct ttm_output *output)
{
	int fd = -1, tries;
	unsigned random;

	for (tries = 0; fd < 0 && tries < TRIES_MAX; tries++) {
		if (getrandom(&random, sizeof(random), 0) < 0)
			return -errno;
		snprintf(output->temporary, sizeof(output->temporary),
			".%.200s.%08x", output->name, random);
		fd = openat(output->directory, output->temporary,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd < 0 ? -errno : fd;
}

static int new_open(struct ttm_output *output)
{
	int fd = openat(output->directory, output->name,
		O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	return fd < 0 ? -errno : fd;
}

/*
 * A regular file that others could have put there is made anew: it may have other
 * names, and others may have it open.
 */
static int regular_open(struct ttm_output *output)
{
	int fd;

	if (!directory_is_trusted(output->directory)) {
		if (unlinkat(output->directory, output->name, 0) < 0)
			return -errno;
		return new_open(output);
	}
	fd = openat(output->directory, output->name,
		O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Whoever may replace it meanwhile gains nothing: what is open is compared. */
static int other_open(struct ttm_output *output, const struct stat *st)
{
	struct stat opened;
	int fd;

	if (!entry_is_trusted(output->directory, st))
		return TTM_OUTPUT_REFUSED;
	fd = openat(output->directory, output->name,
		O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &opened) == 0 && opened.st_dev == st->st_dev &&
		opened.st_ino == st->st_ino)
		return fd;
	close(fd);
	return TTM_OUTPUT_REFUSED;
}

static int entry_open(struct ttm_output *output, bool whole)
{
	struct stat st;
	bool is_new = fstatat(output->directory, output->name, &st,
			      AT_SYMLINK_NOFOLLOW) < 0;

	if (is_new && errno != ENOENT)
		return -errno;
	if (!is_new && S_ISLNK(st.st_mode))
		return TTM_OUTPUT_REFUSED; /* it was none a moment ago */
	if (!is_new && !S_ISREG(st.st_mode))
		return other_open(output, &st);
	if (whole)
		return temporary_open(output);
	return is_new ? new_open(output) : regular_open(output);
}

static int path_open(const char *path, bool whole, struct ttm_output *output)
{
	struct walk walk;
	int r = path_walk(path, &walk);

	if (r < 0)
		return r;
	output->directory = walk.directory;
	memcpy(output->name, walk.name, sizeof(output->name));
	if (!walk.by_kernel)
		return entry_open(output, whole);
	r = openat(walk.directory, walk.name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

/* -1: the path is none of a descriptor. */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	const char *digits;
	size_t i;

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		digits = path + strlen(folders[i]);
		if (strncmp(path, folders[i], strlen(folders[i])) == 0 &&
			digits[0] && strlen(digits) < 8 &&
			digits[strspn(digits, "0123456789")] == '\0')
			return atoi(digits);
	}
	return -1;
}

static void directory_close(struct ttm_output *output)
{
	if (output->directory >= 0)
		close(output->directory);
	output->directory = -1;
}

int ttm_output_open(const char *path, bool whole, struct ttm_output *ret_output)
{
	int fd = descriptor_of(path);

	memset(ret_output, 0, sizeof(*ret_output));
	ret_output->directory = -1;
	if (fd >= 0) {
		fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		fd = fd < 0 ? -errno : fd;
	} else {
		fd = path_open(path, whole, ret_output);
	}
	if (fd >= 0) {
		ret_output->file = fdopen(fd, "w");
		if (ret_output->file)
			return 0;
		close(fd);
		fd = -ENOMEM;
	}
	directory_close(ret_output);
	return fd;
}

/* -- closing ------------------------------------------------------------------ */

int ttm_output_close(struct ttm_output *output, bool keep)
{
	int r = 0;

	errno = EIO; /* unless somebody knows better */
	if (fflush(output->file) != 0 || ferror(output->file))
		r = -errno;
	errno = EIO;
	if (fclose(output->file) != 0 && r == 0)
		r = -errno;
	output->file = NULL;
	if (output->temporary[0] && r == 0 && keep &&
		renameat(output->directory, output->temporary,
			output->directory, output->name) < 0)
		r = -errno;
	if (output->temporary[0] && (r < 0 || !keep))
		unlinkat(output->directory, output->temporary, 0);
	directory_close(output);
	return r;
}

const char *ttm_output_error(int error)
{
	if (error == TTM_OUTPUT_REFUSED)
		return "a link, FIFO or device of another user, in a directory "
		       "that others can write";
	return strerror(-error);
}
