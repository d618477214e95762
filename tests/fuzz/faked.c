/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/faked.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <urcu.h>
#include <urcu/rculfhash.h>

struct faked faked;

/* Names that the linker makes; _FILE_OFFSET_BITS decides which pread is meant. */
ssize_t __real_pread(int fd, void *to, size_t size, off_t off);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t off);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t off);
int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat64(int fd, struct stat *st);
int __real_fstatat(int at, const char *name, struct stat *st, int flags);
int __wrap_fstatat(int at, const char *name, struct stat *st, int flags);
int __wrap_fstatat64(int at, const char *name, struct stat *st, int flags);
int __real_openat(int at, const char *name, int flags, mode_t mode);
int __wrap_openat(int at, const char *name, int flags, ...);
int __wrap_openat64(int at, const char *name, int flags, ...);
int __real_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __real_ppoll(struct pollfd *fds, nfds_t len, const struct timespec *timeout,
	const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t len, const struct timespec *timeout,
	const sigset_t *mask);
int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __real_close(int fd);
int __wrap_close(int fd);
void __real_urcu_memb_call_rcu(
	struct rcu_head *head, void (*f)(struct rcu_head *));
void __wrap_urcu_memb_call_rcu(
	struct rcu_head *head, void (*f)(struct rcu_head *));
struct cds_lfht *__real__cds_lfht_new(unsigned long init, unsigned long min,
	unsigned long max, int flags, const struct cds_lfht_mm_type *mm,
	const struct rcu_flavor_struct *flavor, pthread_attr_t *attr);
struct cds_lfht *__wrap__cds_lfht_new(unsigned long init, unsigned long min,
	unsigned long max, int flags, const struct cds_lfht_mm_type *mm,
	const struct rcu_flavor_struct *flavor, pthread_attr_t *attr);

static struct faked_file *file_of(int fd)
{
	if (!faked.on || fd < FAKED_FD || fd >= FAKED_FD + (int)FAKED_FILES)
		return NULL;
	return &faked.files[fd - FAKED_FD];
}

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t off)
{
	struct faked_file *file = file_of(fd);

	if (!file)
		return __real_pread(fd, to, size, off);
	file->reads++;
	if (file->before)
		file->before();
	if (file->error) {
		errno = file->error;
		file->error = 0;
		return -1;
	}
	if (off < 0 || (uint64_t)off >= file->size)
		return 0;
	if (size > file->size - (uint64_t)off)
		size = file->size - (uint64_t)off;
	if (file->most && size > file->most)
		size = file->most;
	file->most = 0;
	file->bytes_read += size;
	memcpy(to, file->bytes + off, size);
	return (ssize_t)size;
}

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t off)
{
	return __wrap_pread(fd, to, size, off);
}

int __wrap_fstat(int fd, struct stat *st)
{
	struct faked_file *file = file_of(fd);

	if (!file)
		return __real_fstat(fd, st);
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFREG | 0600;
	st->st_nlink = 1;
	st->st_uid = geteuid();
	st->st_size = (off_t)file->size;
	st->st_blocks = (blkcnt_t)(file->size / 512);
	return 0;
}

int __wrap_fstat64(int fd, struct stat *st)
{
	return __wrap_fstat(fd, st);
}

/* -- by name ------------------------------------------------------------------------ */

static int named(const char *name)
{
	int i;

	for (i = 0; faked.on && i < (int)FAKED_FILES; i++)
		if (faked.files[i].name && !strcmp(faked.files[i].name, name))
			return FAKED_FD + i;
	return -1;
}

int __wrap_fstatat(int at, const char *name, struct stat *st, int flags)
{
	int fd = named(name), r;

	if (fd < 0)
		return __real_fstatat(at, name, st, flags);
	r = __wrap_fstat(fd, st);
	st->st_ino = faked.files[fd - FAKED_FD].replaced;
	return r;
}

int __wrap_fstatat64(int at, const char *name, struct stat *st, int flags)
{
	return __wrap_fstatat(at, name, st, flags);
}

static mode_t mode_of(int flags, va_list *arguments)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(*arguments, mode_t) : 0;
}

int __wrap_openat(int at, const char *name, int flags, ...)
{
	int fd = named(name);
	va_list arguments;
	mode_t mode;

	if (fd >= 0)
		return fd;
	va_start(arguments, flags);
	mode = mode_of(flags, &arguments);
	va_end(arguments);
	return __real_openat(at, name, flags, mode);
}

int __wrap_openat64(int at, const char *name, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = mode_of(flags, &arguments);
	va_end(arguments);
	return __wrap_openat(at, name, flags, mode);
}

static int fcntl_do(int fd, int command, void *argument)
{
	struct faked_file *file = file_of(fd);

	if (!file || command != F_GETLK)
		return __real_fcntl(fd, command, argument);
	((struct flock *)argument)->l_type = file->locked ? F_WRLCK : F_UNLCK;
	return 0;
}

int __wrap_fcntl(int fd, int command, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, command);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	return fcntl_do(fd, command, argument);
}

int __wrap_fcntl64(int fd, int command, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, command);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	return fcntl_do(fd, command, argument);
}

/* -- time --------------------------------------------------------------------------- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	static uint64_t cpu_ns;
	uint64_t now = faked.now_ns;

	if (!faked.on)
		return __real_clock_gettime(clock, time);
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		now = cpu_ns += 1000;
	time->tv_sec = (time_t)(now / 1000000000u);
	time->tv_nsec = (long)(now % 1000000000u);
	return 0;
}

int __wrap_ppoll(struct pollfd *fds, nfds_t len, const struct timespec *timeout,
	const sigset_t *mask)
{
	if (!faked.on || !faked.wait)
		return __real_ppoll(fds, len, timeout, mask);
	faked.wait();
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	if (!faked.on)
		return __real_nanosleep(time, left);
	return 0;
}

int __wrap_close(int fd)
{
	if (fd >= FAKED_FD && fd < FAKED_FD + (int)FAKED_FILES)
		return 0;
	return __real_close(fd);
}

/* -- liburcu ------------------------------------------------------------------------ */

static struct {
	struct rcu_head *head;
	void (*reclaim)(struct rcu_head *head);
} reclaims[64];
static size_t reclaims_len;

void __wrap_urcu_memb_call_rcu(
	struct rcu_head *head, void (*f)(struct rcu_head *))
{
	if (!faked.on ||
		reclaims_len == sizeof(reclaims) / sizeof(reclaims[0])) {
		__real_urcu_memb_call_rcu(head, f);
		return;
	}
	reclaims[reclaims_len].head = head;
	reclaims[reclaims_len].reclaim = f;
	reclaims_len++;
}

/*
 * It counts roughly, to the thousand, and grows with that: many come and go here,
 * and all its buckets are gone through each time.
 */
struct cds_lfht *__wrap__cds_lfht_new(unsigned long init, unsigned long min,
	unsigned long max, int flags, const struct cds_lfht_mm_type *mm,
	const struct rcu_flavor_struct *flavor, pthread_attr_t *attr)
{
	if (faked.on) {
		init = min = 4;
		flags = 0;
	}
	return __real__cds_lfht_new(init, min, max, flags, mm, flavor, attr);
}

void faked_reclaim(void)
{
	size_t i;

	for (i = 0; i < reclaims_len; i++)
		reclaims[i].reclaim(reclaims[i].head);
	reclaims_len = 0;
}
