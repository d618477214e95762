/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TMPFS_MAGIC_NUMBER 0x01021994
#define RAMFS_MAGIC_NUMBER 0x858458f6

#define LOCK_FILE "ttmemd.lock"
#define USER_PREFIX "ttmem-"

static bool run_directory_is_good(void)
{
	struct stat st;

	return lstat("/run/ttmem", &st) == 0 && S_ISDIR(st.st_mode) &&
		st.st_uid == 0 && (st.st_mode & S_ISVTX);
}

const char *dump_base_choose(const char *wanted, const char **ret_by)
{
	const char *variable = getenv("TTMEM_DIR");

	if (ret_by)
		*ret_by = wanted              ? "--dir" :
			variable && *variable ? "TTMEM_DIR" :
						"default";
	if (wanted)
		return wanted;
	if (variable && *variable)
		return variable;
	return run_directory_is_good() ? "/run/ttmem" : "/dev/shm";
}

static int base_check(int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type != TMPFS_MAGIC_NUMBER && fs.f_type != RAMFS_MAGIC_NUMBER)
		return -EMEDIUMTYPE;
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return -EPERM;
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX))
		return -EPERM;
	return 0;
}

int dump_base_open(const char *path)
{
	int fd, r;

	if (path[0] != '/')
		return -EINVAL;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = base_check(fd);
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

/* -- names -------------------------------------------------------------------------- */

int dump_names_each(int directory, dump_name_visit *visit, void *context)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!names) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(names)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 &&
			strcmp(entry->d_name, "..") != 0)
			r = visit(context, entry->d_name);
	closedir(names);
	return r;
}

/* Digits and a dot, or the end. */
static bool number_take(const char **at, uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *digits = *at;

	for (; **at >= '0' && **at <= '9'; (*at)++)
		if (__builtin_mul_overflow(number, 10u, &number) ||
			__builtin_add_overflow(
				number, (uint64_t)(**at - '0'), &number))
			return false;
	if (*at == digits || (**at && **at != '.'))
		return false;
	*at += **at == '.';
	*ret_number = number;
	return true;
}

bool dump_name_parse(const char *name, uint64_t *ret_pid, uint64_t *ret_start,
	uint64_t *ret_error)
{
	const char *at = name + 2;
	bool marker = strncmp(name, "u.", 2) == 0;

	*ret_error = 0;
	if (!marker && strncmp(name, "p.", 2) != 0)
		return false;
	return number_take(&at, ret_pid) && *ret_pid > 0 &&
		*ret_pid <= INT32_MAX && number_take(&at, ret_start) &&
		(!marker || number_take(&at, ret_error));
}

/* -- our directories ------------------------------------------------------------------ */

struct own_search {
	const char *base;
	int base_fd;
	dump_own_visit *visit;
	void *context;
	bool everybody;
};

static int own_visit(void *context, const char *name)
{
	const struct own_search *search = context;
	struct dump_own own = { .base = search->base, .name = name };
	size_t prefix = strlen(USER_PREFIX);
	struct stat st;
	int r = 0;

	if (strncmp(name, USER_PREFIX, prefix) != 0 || name[prefix] < '0' ||
		name[prefix] > '9')
		return 0;
	own.fd = openat(search->base_fd, name,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (own.fd < 0)
		return 0; /* of somebody else, or gone */
	if (fstat(own.fd, &st) == 0 &&
		(search->everybody || st.st_uid == geteuid()) &&
		!(st.st_mode & (S_IWGRP | S_IWOTH))) {
		own.device = st.st_dev;
		own.inode = st.st_ino;
		r = search->visit(search->context, &own);
	}
	close(own.fd);
	return r;
}

static int directories_each(
	const char *base, bool everybody, dump_own_visit *visit, void *context)
{
	struct own_search search = { base, dump_base_open(base), visit, context,
		everybody };
	int r;

	if (search.base_fd < 0)
		return search.base_fd;
	r = dump_names_each(search.base_fd, own_visit, &search);
	close(search.base_fd);
	return r;
}

int dump_own_each(const char *base, dump_own_visit *visit, void *context)
{
	return directories_each(base, false, visit, context);
}

int dump_users_each(const char *base, dump_own_visit *visit, void *context)
{
	return directories_each(base, geteuid() == 0, visit, context);
}

/* False: of somebody else, or not there. */
static bool own_is(int base, const char *name)
{
	struct stat st;

	return fstatat(base, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
		!(st.st_mode & (S_IWGRP | S_IWOTH));
}

struct suffix_search {
	int base;
	const char *prefix;
};

static int suffix_visit(void *context, const char *name)
{
	const struct suffix_search *search = context;

	return strncmp(name, search->prefix, strlen(search->prefix)) == 0 &&
		own_is(search->base, name);
}

static int own_make(int base)
{
	char name[64], suffixed[96];
	struct suffix_search search = { base, suffixed };
	unsigned long long number;

	snprintf(name, sizeof(name), USER_PREFIX "%u", geteuid());
	if (mkdirat(base, name, 0700) == 0)
		return fchmodat(base, name, 0700, 0) < 0 ? -errno : 0;
	if (errno != EEXIST)
		return -errno;
	if (own_is(base, name))
		return 0;
	/* Somebody else has the name: the library takes one with a suffix. */
	snprintf(suffixed, sizeof(suffixed), "%s.", name);
	if (dump_names_each(base, suffix_visit, &search) != 0)
		return 0;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(suffixed, sizeof(suffixed), "%s.%016llx", name, number);
	if (mkdirat(base, suffixed, 0700) < 0 ||
		fchmodat(base, suffixed, 0700, 0) < 0)
		return -errno;
	return 0;
}

int dump_own_make(const char *base)
{
	int fd = dump_base_open(base), r;

	if (fd < 0)
		return fd;
	r = own_make(fd);
	close(fd);
	return r;
}

/* -- locks ------------------------------------------------------------------------------ */

enum dump_answer dump_lock_is_free(int fd, uint64_t *ret_pid)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	*ret_pid = 0;
	if (fcntl(fd, F_GETLK, &lock) < 0)
		return DUMP_UNKNOWN;
	if (lock.l_type == F_UNLCK)
		return DUMP_YES;
	*ret_pid = lock.l_pid > 0 ? (uint64_t)lock.l_pid : 0;
	return DUMP_NO;
}

enum dump_answer dump_own_is_served(int directory, uint64_t *ret_pid)
{
	int fd = openat(directory, LOCK_FILE,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	enum dump_answer is_free;

	*ret_pid = 0;
	if (fd < 0)
		return errno == ENOENT ? DUMP_NO : DUMP_UNKNOWN;
	is_free = dump_lock_is_free(fd, ret_pid);
	close(fd);
	if (is_free == DUMP_UNKNOWN)
		return DUMP_UNKNOWN;
	return is_free == DUMP_YES ? DUMP_NO : DUMP_YES;
}
