/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/publish/publish_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <ttmem/version.h>

#include "daemon/testpoint.h"
#include "shm/checksum.h"
#include "shm/clock.h"
#include "shm/directory.h"
#include "shm/identity.h"
#include "shm/random.h"
#include "shm/text.h"

#define VERSION_TEXT_(a, b, c) #a "." #b "." #c
#define VERSION_TEXT(a, b, c) VERSION_TEXT_(a, b, c)
#define ALIGNMENT 4096u

static uint64_t round_up(uint64_t size)
{
	return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void temporary_name(struct ttm_publish_file *file)
{
	struct ttm_text name;

	ttm_text_init(&name, file->temporary, sizeof(file->temporary));
	ttm_text_add(&name, TTM_TEMPORARY_PREFIX);
	ttm_text_add_hex(&name, ttm_random64(), 16);
}

/*
 * Without a name until it is complete. Where O_TMPFILE or /proc is missing it has a
 * hidden one.
 */
static int file_open(int directory, struct ttm_publish_file *file)
{
	file->fd = -1;
	if (access("/proc/self/fd", X_OK) == 0)
		file->fd = openat(
			directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file->fd < 0) {
		temporary_name(file);
		file->fd = openat(directory, file->temporary,
			O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
		if (file->fd < 0)
			file->temporary[0] = '\0';
	}
	return file->fd < 0 ? -errno : 0;
}

/*
 * All of it: a first touch of a hole on a full filesystem would be SIGBUS. Beyond
 * RLIMIT_FSIZE the kernel sends SIGXFSZ, so that is asked first; and what cannot fit
 * is not tried, for that would take the last bytes from everybody else meanwhile.
 */
static int file_allocate(int fd, uint64_t size)
{
	struct rlimit limit;
	struct statvfs fs;
	int tries;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return -errno;
	if (limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur)
		return -EFBIG;
	if (fstatvfs(fd, &fs) == 0 && fs.f_blocks &&
		size / fs.f_frsize > fs.f_bfree)
		return -ENOSPC;
	for (tries = 0; fallocate(fd, 0, 0, (off_t)size) < 0; tries++)
		if (errno != EINTR || tries == 100)
			return -errno;
	return 0;
}

static void file_seal(const struct ttm_publisher_config *config,
	const struct ttm_publish_file *file, uint64_t copy_size)
{
	struct ttm_aggregate_const *sealed = &file->header->sealed;

	sealed->magic = TTM_AGGREGATE_MAGIC;
	sealed->version = TTM_AGGREGATE_VERSION;
	sealed->header_size = TTM_AGGREGATE_HEADER_SIZE;
	sealed->signature = TTM_AGGREGATE_SIGNATURE;
	ttm_random_bytes(sealed->uuid, sizeof(sealed->uuid));
	sealed->uuid[6] = (uint8_t)((sealed->uuid[6] & 0x0f) | 0x40);
	sealed->uuid[8] = (uint8_t)((sealed->uuid[8] & 0x3f) | 0x80);
	ttm_boot_id_read(sealed->boot_id);
	sealed->pid = (uint32_t)getpid();
	sealed->uid = geteuid();
	sealed->pid_namespace = ttm_pid_namespace_read();
	sealed->start_time = ttm_start_time_read("/proc/self/stat");
	sealed->mode = config->mode;
	sealed->started_ns = config->started_ns;
	sealed->created_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	sealed->file_size = file->size;
	sealed->copy_off[0] = TTM_AGGREGATE_HEADER_SIZE;
	sealed->copy_off[1] = TTM_AGGREGATE_HEADER_SIZE + copy_size;
	sealed->copy_size = copy_size;
	sealed->objects_off = TTM_AGGREGATE_HEADER_SIZE + 2 * copy_size;
	sealed->objects_capacity = file->objects_capacity;
	sealed->object_stride = sizeof(struct ttm_object_row);
	strcpy(sealed->version_text,
		VERSION_TEXT(TTMEM_VERSION_MAJOR, TTMEM_VERSION_MINOR,
			TTMEM_VERSION_PATCH));
	sealed->checksum = ttm_checksum(
		sealed, offsetof(struct ttm_aggregate_const, checksum));
}

static int file_map(struct ttm_publish_file *file, uint64_t copy_size)
{
	char *base = mmap(NULL, file->size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_POPULATE, file->fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	file->header = (void *)base;
	base += TTM_AGGREGATE_HEADER_SIZE;
	file->copies[0] = (void *)base;
	file->copies[1] = (void *)(base + copy_size);
	file->rows = (void *)(base + 2 * copy_size);
	return 0;
}

int ttm_publish_file_make(const struct ttm_publisher_config *config,
	uint64_t copy_size, uint64_t objects_capacity,
	struct ttm_publish_file *ret_file)
{
	struct ttm_publish_file file = {
		.objects_capacity = objects_capacity,
		.size = TTM_AGGREGATE_HEADER_SIZE + 2 * copy_size +
			round_up(objects_capacity *
				sizeof(struct ttm_object_row)),
		.active = 1, /* so that copy 0 is the first */
	};
	int r = file_open(config->directory_fd, &file);

	if (r < 0)
		return r;
	TTM_TESTPOINT("file opened");
	r = file_allocate(file.fd, file.size);
	if (r == 0)
		r = file_map(&file, copy_size);
	if (r < 0) {
		ttm_publish_file_close(config, &file);
		return r;
	}
	file_seal(config, &file, copy_size);
	TTM_TESTPOINT("file sealed");
	*ret_file = file;
	return 0;
}

/*
 * The kernel drops the lock whatever way the process ends. It would also drop it if
 * this process closed any other descriptor of the file: nobody here opens it again.
 */
static int file_lock(int fd)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	return fcntl(fd, F_SETLK, &lock) < 0 ? -errno : 0;
}

static int file_admit(const struct ttm_publisher_config *config, int fd)
{
	if (config->group != (uint32_t)-1 &&
		fchown(fd, (uid_t)-1, (gid_t)config->group) < 0)
		return -errno;
	/* Not left to the umask. */
	return fchmod(fd, (mode_t)config->file_mode) < 0 ? -errno : 0;
}

/* A link cannot replace, so it gets another name first. */
static int file_link(int directory, struct ttm_publish_file *file)
{
	struct ttm_text text;
	char path[40];

	if (file->temporary[0])
		return 0;
	temporary_name(file);
	ttm_text_init(&text, path, sizeof(path));
	ttm_text_add(&text, "/proc/self/fd/");
	ttm_text_add_decimal(&text, (uint64_t)file->fd);
	if (linkat(AT_FDCWD, path, directory, file->temporary,
		    AT_SYMLINK_FOLLOW) == 0)
		return 0;
	file->temporary[0] = '\0';
	return -errno;
}

int ttm_publish_file_show(const struct ttm_publisher_config *config,
	struct ttm_publish_file *file)
{
	int directory = config->directory_fd, r;

	r = file_admit(config, file->fd);
	if (r == 0)
		r = file_lock(file->fd);
	TTM_TESTPOINT("file locked");
	if (r == 0)
		r = file_link(directory, file);
	if (r < 0)
		return r;
	TTM_TESTPOINT("file linked");
	if (renameat(directory, file->temporary, directory,
		    TTM_AGGREGATE_FILE) < 0)
		return -errno;
	TTM_TESTPOINT("file shown");
	file->temporary[0] = '\0';
	return 0;
}

void ttm_publish_file_close(const struct ttm_publisher_config *config,
	struct ttm_publish_file *file)
{
	if (file->temporary[0])
		unlinkat(config->directory_fd, file->temporary, 0);
	if (file->header)
		munmap(file->header, file->size);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct ttm_publish_file){ .fd = -1 };
}

static int leftover_remove(void *context, const char *name)
{
	const int *directory_fd = context;
	size_t length = strlen(TTM_TEMPORARY_PREFIX);

	if (strncmp(name, TTM_TEMPORARY_PREFIX, length) == 0)
		unlinkat(*directory_fd, name, 0);
	return 0;
}

void ttm_publish_file_tidy(const struct ttm_publisher_config *config)
{
	int directory_fd = config->directory_fd;

	ttm_directory_each(directory_fd, leftover_remove, &directory_fd);
}
