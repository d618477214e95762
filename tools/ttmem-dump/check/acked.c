/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/*
 * Writes the files "acknowledged": uuids of dead processes whose leaks count no more,
 * 32 hexadecimal digits in each line; libttmem-reader reads them. A user's processes
 * are in a file of the user's own directory. Root also acknowledges those of all users,
 * in a file beside the aggregate of root's ttmemd, which everybody may read. Processes
 * that ttmemd has dropped are dropped from a file whenever it is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "ttmem-dump/place.h"
#include "check.h"
#include "ttmem-dump/report/report.h"

#define FILE_NAME "acknowledged"
#define NEW_NAME ".new.acknowledged"
#define UUID_DIGITS 32u

/* One file after the other to be written, and who goes there. */
struct target {
	const struct check_verdict *verdict;
	const struct dump_own *own; /* NULL: of all users, by root */
	int directory;
	int lock; /* a descriptor that nobody else can have */
	mode_t mode;
	size_t acknowledged; /* processes, in all files so far */
};

static const char *id_text(
	const uint8_t id[16], char buffer[static UUID_DIGITS + 1])
{
	unsigned byte;

	for (byte = 0; byte < 16; byte++)
		snprintf(buffer + 2 * (size_t)byte, 3, "%02x", id[byte]);
	return buffer;
}

static bool is_acknowledged_now(
	const struct check_verdict *verdict, uint64_t process)
{
	return verdict->marks[process] & CHECK_LEAKS &&
		dump_process_is_dead(
			ttmem_snapshot_process(verdict->snapshot, process));
}

static bool is_of_target(
	const struct target *target, const struct ttmem_process_row *p)
{
	const struct ttmem_directory_row *d = ttmem_snapshot_directory(
		target->verdict->snapshot, p->directory);

	if (!target->own)
		return true;
	return d && d->device == target->own->device &&
		d->inode == target->own->inode;
}

static bool line_is_of_some_process(
	const struct ttmem_snapshot *snapshot, const char *line)
{
	char text[UUID_DIGITS + 1];
	size_t i;

	for (i = 0; i < ttmem_snapshot_processes_len(snapshot); i++)
		if (strncmp(line,
			    id_text(ttmem_snapshot_process(snapshot, i)->uuid,
				    text),
			    UUID_DIGITS) == 0)
			return true;
	return false;
}

/*
 * Whoever does not serve a directory has not dropped anything from it either. Root's
 * file is for all directories.
 */
static bool is_served(const struct target *target)
{
	const struct check_verdict *verdict = target->verdict;
	const struct ttmem_directory_row *d;
	size_t i;

	if (verdict->worth.status != 0)
		return false;
	for (i = 0; i < ttmem_snapshot_directories_len(verdict->snapshot);
		i++) {
		d = ttmem_snapshot_directory(verdict->snapshot, i);
		if (target->own && d->device == target->own->device &&
			d->inode == target->own->inode)
			return d->state == TTMEM_DIRECTORY_SERVED;
		if (!target->own && d->state != TTMEM_DIRECTORY_SERVED)
			return false;
	}
	return !target->own;
}

/* Lines of the old file, but for those of processes that nobody knows any more. */
static void lines_keep(const struct target *target, FILE *file)
{
	int fd = openat(target->directory, FILE_NAME,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	FILE *old = fd < 0 ? NULL : fdopen(fd, "r");
	bool served = is_served(target);
	char line[128];

	if (!old) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (fgets(line, sizeof(line), old))
		if (strspn(line, "0123456789abcdef") == UUID_DIGITS &&
			(!served ||
				line_is_of_some_process(
					target->verdict->snapshot, line)))
			fprintf(file, "%.*s\n", (int)UUID_DIGITS, line);
	fclose(old);
}

static int lines_write(struct target *target, FILE *file)
{
	const struct ttmem_snapshot *snapshot = target->verdict->snapshot;
	const struct ttmem_process_row *p;
	char text[UUID_DIGITS + 1];
	size_t i;

	lines_keep(target, file);
	for (i = 0; i < ttmem_snapshot_processes_len(snapshot); i++) {
		p = ttmem_snapshot_process(snapshot, i);
		if (!is_acknowledged_now(target->verdict, i) ||
			!is_of_target(target, p))
			continue;
		fprintf(file, "%s\n", id_text(p->uuid, text));
		target->acknowledged++;
	}
	return fflush(file) == 0 && !ferror(file) ? 0 : -errno;
}

/* Under the lock; the name appears with all that is in it. */
static int target_write(struct target *target)
{
	int directory = target->directory, fd, r;
	FILE *file = NULL;

	if (flock(target->lock, LOCK_EX) < 0)
		return -errno;
	unlinkat(directory, NEW_NAME, 0);
	fd = openat(directory, NEW_NAME,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && fchmod(fd, target->mode) == 0)
		file = fdopen(fd, "w");
	r = file ? lines_write(target, file) : -errno;
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	if (r == 0 && renameat(directory, NEW_NAME, directory, FILE_NAME) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(directory, NEW_NAME, 0);
	flock(target->lock, LOCK_UN);
	return r;
}

static int own_write(void *context, const struct dump_own *own)
{
	struct target *target = context;

	target->own = own;
	target->directory = target->lock = own->fd;
	target->mode = 0600;
	return target_write(target);
}

/* The directory of the aggregate, if it is that of root's ttmemd; or -ENOENT. */
static int system_directory_open(const struct ttmem_info_row *info)
{
	const char *slash = info->path ? strrchr(info->path, '/') : NULL;
	char path[DUMP_PLACE_SIZE * 2];
	struct stat st;
	int fd;

	if (info->mode != TTMEM_MODE_SYSTEM || !slash ||
		(size_t)(slash - info->path) >= sizeof(path))
		return -ENOENT;
	memcpy(path, info->path, (size_t)(slash - info->path));
	path[slash - info->path] = '\0';
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == 0 &&
		!(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	return -EPERM;
}

/* Everybody can open and so lock that directory, but not ttmemd's lock file. */
static int roots_write(struct target *target)
{
	int r;

	if (geteuid() != 0)
		return 0;
	target->directory = system_directory_open(
		ttmem_snapshot_info(target->verdict->snapshot));
	if (target->directory < 0)
		return target->directory == -ENOENT ? 0 : target->directory;
	target->own = NULL;
	target->mode = 0644;
	target->lock = openat(target->directory, "ttmemd.lock",
		O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	r = target->lock < 0 ? -errno : target_write(target);
	if (target->lock >= 0)
		close(target->lock);
	close(target->directory);
	return r;
}

int check_acked_add(const struct check_verdict *verdict)
{
	struct target target = { .verdict = verdict };
	size_t wanted = 0, i;
	int r = dump_own_each(
		dump_base_choose(verdict->options->where.dir, NULL), own_write,
		&target);

	if (r == 0)
		r = roots_write(&target);
	if (r < 0) {
		ttm_error("cannot acknowledge: %s", strerror(-r));
		return TTM_EXIT_FAILURE;
	}
	for (i = 0; i < ttmem_snapshot_processes_len(verdict->snapshot); i++)
		wanted += is_acknowledged_now(verdict, i);
	if (target.acknowledged >= wanted)
		return 0;
	wanted -= target.acknowledged;
	ttm_error("%zu %s not acknowledged: only the owner and root can",
		wanted, wanted == 1 ? "process is" : "processes are");
	return TTM_EXIT_FAILURE;
}
