/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shm/identity.h"
#include "shm/random.h"
#include "shm/text.h"

#define TMPFS_MAGIC_NUMBER 0x01021994
#define RAMFS_MAGIC_NUMBER 0x858458f6
#define OVERFLOW_UID 65534u

const char *ttm_environment(const char *name)
{
	const char *value;

	if (getauxval(AT_SECURE))
		return NULL;
	value = getenv(name);
	return value && *value ? value : NULL;
}

static int directory_open(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* A name that somebody else may have put there. */
static int directory_open_untrusted(int at, const char *path)
{
	int fd = openat(
		at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Whether the uid stands for all whom this user namespace has no number for. The
 * host's root is among them, who owns /dev/shm and /run/ttmem. The uid itself is the
 * kernel's default; in the namespace that has everybody, it is a user like others.
 */
static bool uid_is_unmapped(uid_t uid)
{
	static const char everybody[] = "0 0 4294967295";
	char map[64], packed[64];
	size_t length, i, at = 0;

	if (uid != OVERFLOW_UID)
		return false;
	length = ttm_file_read("/proc/self/uid_map", map, sizeof(map));
	for (i = 0; i < length && at < sizeof(packed); i++)
		if (map[i] > ' ' || (at && packed[at - 1] != ' '))
			packed[at++] = map[i] > ' ' ? map[i] : ' ';
	return length > 0 &&
		(at < sizeof(everybody) - 1 ||
			memcmp(packed, everybody, sizeof(everybody) - 1) != 0);
}

/* Who may rename what is in it, though it is sticky. */
static bool base_owner_is_good(uid_t uid)
{
	return uid == 0 || uid == geteuid() || uid_is_unmapped(uid);
}

static int base_judge(const struct stat *st, const struct statfs *fs)
{
	/* A disk stalls the writer, and NFS hangs its locks. */
	if (fs->f_type != TMPFS_MAGIC_NUMBER &&
		fs->f_type != RAMFS_MAGIC_NUMBER)
		return -EMEDIUMTYPE;
	if (!base_owner_is_good(st->st_uid))
		return -EPERM;
	if ((st->st_mode & (S_IWGRP | S_IWOTH)) && !(st->st_mode & S_ISVTX))
		return -EPERM;
	return 0;
}

static int base_check(int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	return base_judge(&st, &fs);
}

static bool run_directory_is_good(void)
{
	struct stat st;

	return lstat("/run/ttmem", &st) == 0 && S_ISDIR(st.st_mode) &&
		(st.st_uid == 0 || uid_is_unmapped(st.st_uid)) &&
		(st.st_mode & S_ISVTX);
}

static const char *base_choose(const char *wanted)
{
	if (!wanted)
		wanted = ttm_environment("TTMEM_DIR");
	if (wanted)
		return wanted;
	return run_directory_is_good() ? "/run/ttmem" : "/dev/shm";
}

int ttm_base_directory_open(
	const char *wanted, char ret_path[TTM_PATH_SIZE], int *ret_fd)
{
	const char *base = base_choose(wanted);
	int fd, r;

	if (base[0] != '/')
		return -EINVAL; /* it would mean another one after a chdir */
	if (strlen(base) >= TTM_PATH_SIZE)
		return -ENAMETOOLONG;
	fd = directory_open(AT_FDCWD, base);
	if (fd < 0)
		return fd;
	r = base_check(fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	memcpy(ret_path, base, strlen(base) + 1);
	*ret_fd = fd;
	return 0;
}

/* Returns a descriptor if `name` under `base` is a directory of ours. */
static int own_directory_open(int base, const char *name)
{
	struct stat st;
	int fd = directory_open_untrusted(base, name);

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
		!(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	return -EPERM;
}

struct linux_dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

int ttm_directory_each(
	int fd, int (*visit)(void *context, const char *name), void *context)
{
	/* Small: the first event may be in a handler on a small stack. */
	_Alignas(struct linux_dirent64) char buffer[1024];
	long n, at;
	int r;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	while ((n = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0) {
		for (at = 0; at < n;) {
			const struct linux_dirent64
				*entry = (const void *)(buffer + at);

			at += entry->reclen;
			r = visit(context, entry->name);
			if (r != 0)
				return r;
		}
	}
	return n < 0 ? -errno : 0;
}

struct suffix_search {
	int base;
	int fd;
	const char *prefix;
	char *ret_name;
};

static int suffix_visit(void *context, const char *name)
{
	struct suffix_search *search = context;

	if (strncmp(name, search->prefix, strlen(search->prefix)) != 0 ||
		strlen(name) >= TTM_PATH_SIZE)
		return 0;
	search->fd = own_directory_open(search->base, name);
	if (search->fd < 0)
		return 0;
	memcpy(search->ret_name, name, strlen(name) + 1);
	return 1;
}

/* An earlier process of ours may have met the same squatter. */
static int suffixed_directory_find(
	int base, const char *prefix, char ret_name[TTM_PATH_SIZE])
{
	struct suffix_search search = { base, -ENOENT, prefix, ret_name };

	if (ttm_directory_each(base, suffix_visit, &search) != 1)
		return -ENOENT;
	return search.fd;
}

static int named_directory_open(int base, const char *name, mode_t mode)
{
	if (mkdirat(base, name, mode) == 0)
		fchmodat(base, name, mode, 0); /* whatever the umask is */
	else if (errno != EEXIST)
		return -errno;
	return own_directory_open(base, name);
}

/* Whether named_directory_open() failed because somebody else took the name. */
static bool name_is_taken(int error)
{
	return error == -EPERM || error == -ENOTDIR || error == -ELOOP ||
		error == -EACCES;
}

static int suffixed_directory_open(
	int base, const char *prefix, mode_t mode, char ret_name[TTM_PATH_SIZE])
{
	struct ttm_text name;
	int fd = suffixed_directory_find(base, prefix, ret_name);

	if (fd >= 0)
		return fd;
	ttm_text_init(&name, ret_name, TTM_PATH_SIZE);
	ttm_text_add(&name, prefix);
	ttm_text_add_hex(&name, ttm_random64(), 16);
	return named_directory_open(base, ret_name, mode);
}

int ttm_user_directory_open(
	const char *wanted, char ret_path[TTM_PATH_SIZE], int *ret_fd)
{
	char base_path[TTM_PATH_SIZE], name[TTM_PATH_SIZE], plain[64];
	struct ttm_text text, path;
	int base, fd, r;

	r = ttm_base_directory_open(wanted, base_path, &base);
	if (r < 0)
		return r;
	ttm_text_init(&text, plain, sizeof(plain));
	ttm_text_add(&text, TTM_USER_PREFIX);
	ttm_text_add_decimal(&text, geteuid());
	memcpy(name, plain, sizeof(plain));
	fd = named_directory_open(base, name, 0700);
	if (name_is_taken(fd)) {
		ttm_text_add(&text, ".");
		fd = suffixed_directory_open(base, plain, 0700, name);
	}
	close(base);
	if (fd < 0)
		return fd;
	ttm_text_init(&path, ret_path, TTM_PATH_SIZE);
	ttm_text_add(&path, base_path);
	ttm_text_add(&path, "/");
	ttm_text_add(&path, name);
	if (path.truncated) {
		close(fd);
		return -ENAMETOOLONG;
	}
	*ret_fd = fd;
	return 0;
}

int ttm_system_directory_open(
	int base, char ret_name[TTM_PATH_SIZE], int *ret_fd)
{
	static const char plain[] = TTM_SYSTEM_DIRECTORY;
	int fd = suffixed_directory_find(base, TTM_SYSTEM_PREFIX, ret_name);

	if (fd < 0) {
		memcpy(ret_name, plain, sizeof(plain));
		fd = named_directory_open(base, ret_name, 0755);
	}
	if (name_is_taken(fd))
		fd = suffixed_directory_open(
			base, TTM_SYSTEM_PREFIX, 0755, ret_name);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/* Without a descriptor: by path, and only in the directory of the plain name. */
static int plain_directory_mark(const char *wanted, const char *name)
{
	const char *base = base_choose(wanted);
	char path[2 * TTM_PATH_SIZE];
	struct ttm_text text;
	struct statfs fs;
	struct stat st;
	int r;

	if (stat(base, &st) < 0 || statfs(base, &fs) < 0)
		return -errno;
	r = base_judge(&st, &fs);
	if (r < 0)
		return r;
	ttm_text_init(&text, path, sizeof(path));
	ttm_text_add(&text, base);
	ttm_text_add(&text, "/" TTM_USER_PREFIX);
	ttm_text_add_decimal(&text, geteuid());
	if (mkdir(path, 0700) == 0)
		chmod(path, 0700); /* whatever the umask is */
	else if (errno != EEXIST)
		return -errno;
	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	ttm_text_add(&text, "/");
	ttm_text_add(&text, name);
	if (text.truncated)
		return -ENAMETOOLONG;
	return mknod(path, S_IFREG | 0600, 0) < 0 ? -errno : 0;
}

int ttm_user_directory_mark(const char *wanted, const char *name)
{
	char path[TTM_PATH_SIZE];
	int fd, r;

	r = ttm_user_directory_open(wanted, path, &fd);
	if (r == -EMFILE || r == -ENFILE)
		return plain_directory_mark(wanted, name);
	if (r < 0)
		return r;
	r = mknodat(fd, name, S_IFREG | 0600, 0) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static int server_lock_open(int directory_fd)
{
	return openat(directory_fd, TTM_SERVER_LOCK,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool server_lock_is_held(int fd)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	return fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

bool ttm_directory_is_served(int directory_fd)
{
	int fd = server_lock_open(directory_fd);
	bool served;

	if (fd < 0)
		return errno != ENOENT;
	served = server_lock_is_held(fd);
	close(fd);
	return served;
}

static bool uid_is_roots(uid_t uid)
{
	return uid == 0 || uid_is_unmapped(uid);
}

/* Whether `name` under the base is a home of root's ttmemd. */
static bool home_is_roots(int base, const char *name)
{
	struct stat st;

	return fstatat(base, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISDIR(st.st_mode) && uid_is_roots(st.st_uid);
}

/* Others may look at the lock file there, though not open it. */
static bool home_is_awaited(int base, const char *name)
{
	char path[TTM_PATH_SIZE];
	struct ttm_text text;
	struct stat st;

	ttm_text_init(&text, path, sizeof(path));
	ttm_text_add(&text, name);
	ttm_text_add(&text, "/" TTM_SERVER_LOCK);
	return !text.truncated &&
		fstatat(base, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISREG(st.st_mode) && st.st_size != 0 &&
		uid_is_roots(st.st_uid);
}

static int home_visit(void *context, const char *name)
{
	const int *base = context;

	return strncmp(name, TTM_SYSTEM_PREFIX, strlen(TTM_SYSTEM_PREFIX)) ==
		0 &&
		home_is_roots(*base, name) && home_is_awaited(*base, name);
}

/*
 * Root's ttmemd serves a directory once it has seen it, or has seen that another one
 * gave it up: a program that began after that may have ended by then. Its home lies
 * beside the directory: with a note in the lock file there, it runs or was killed.
 */
static bool system_is_awaited(int directory_fd)
{
	int base = directory_open(directory_fd, "..");
	bool awaited;

	if (base < 0)
		return base != -ENOENT;
	if (home_is_roots(base, TTM_SYSTEM_DIRECTORY))
		awaited = home_is_awaited(base, TTM_SYSTEM_DIRECTORY);
	else
		awaited = ttm_directory_each(base, home_visit, &base) == 1;
	close(base);
	return awaited;
}

bool ttm_directory_is_awaited(int directory_fd, uint64_t started_ns)
{
	int fd = server_lock_open(directory_fd);
	struct ttm_server_note note;
	bool awaited;
	ssize_t n;

	if (fd < 0)
		return errno != ENOENT || system_is_awaited(directory_fd);
	awaited = server_lock_is_held(fd);
	if (!awaited) {
		n = pread(fd, &note, sizeof(note), 0);
		awaited = n == (ssize_t)sizeof(note) &&
			note.magic == TTM_SERVER_NOTE_MAGIC &&
			(!note.stopped_ns || note.stopped_ns >= started_ns);
	}
	close(fd);
	return awaited || system_is_awaited(directory_fd);
}
