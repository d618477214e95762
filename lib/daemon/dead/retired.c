/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/dead/retired.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/checksum.h"

#define NEW_FILE TTM_RETIRED_FILE ".new"
#define BROKEN_FILE TTM_RETIRED_FILE ".broken"
/* Whoever has the file may replace it at any moment, but not all the time. */
#define OPEN_TRIES 8u

struct ttm_retired {
	int directory_fd; /* the caller's */
	uint32_t uid;
	int fd;
	uint64_t end; /* entries below are whole */
	bool broken;  /* what follows is none */
};

/* -- entries ------------------------------------------------------------------- */

/*
 * A process has what ttm_retiree_entry() can write of one. The base has a share for
 * each chip that dropped ones were on: the size of the file is their only limit.
 */
static bool lens_are_sane(const struct ttm_retired_head *head)
{
	switch (head->kind) {
	case TTM_RETIRED_PROCESS:
		return head->shares_len <= TTM_DEVICES_MAX &&
			head->names_len <= TTM_NAMES_MAX &&
			head->marks_len <= TTM_MARKS_KEPT &&
			head->failures_len <= TTM_FAILURES_KEPT &&
			head->objects_len <= TTM_SURVIVORS_MAX;
	case TTM_RETIRED_BASE:
		return !head->names_len && !head->marks_len &&
			!head->failures_len && !head->objects_len;
	}
	return false;
}

static uint64_t entry_size(const struct ttm_retired_head *head)
{
	return sizeof(struct ttm_retired_head) +
		sizeof(struct ttm_process_row) +
		(uint64_t)head->shares_len * sizeof(struct ttm_retired_share) +
		(uint64_t)head->names_len * sizeof(struct ttm_name_row) +
		(uint64_t)head->marks_len * sizeof(struct ttm_mark_row) +
		(uint64_t)head->failures_len * sizeof(struct ttm_failure_row) +
		head->objects_len * sizeof(struct ttm_object_row);
}

static void entry_divide(void *block, struct ttm_retired_entry *entry)
{
	char *at = block;

	entry->head = block;
	at += sizeof(*entry->head);
	entry->process = (void *)at;
	at += sizeof(*entry->process);
	entry->shares = (void *)at;
	at += entry->head->shares_len * sizeof(*entry->shares);
	entry->names = (void *)at;
	at += entry->head->names_len * sizeof(*entry->names);
	entry->marks = (void *)at;
	at += entry->head->marks_len * sizeof(*entry->marks);
	entry->failures = (void *)at;
	at += entry->head->failures_len * sizeof(*entry->failures);
	entry->objects = (void *)at;
}

static uint64_t entry_checksum(const struct ttm_retired_head *head)
{
	size_t from = offsetof(struct ttm_retired_head, version);

	return ttm_checksum((const char *)head + from, head->size - from);
}

int ttm_retired_entry_new(const struct ttm_retired_head *lens,
	struct ttm_retired_entry *ret_entry)
{
	struct ttm_retired_head *head = calloc(1, entry_size(lens));

	if (!head)
		return -ENOMEM;
	*head = *lens;
	head->magic = TTM_RETIRED_MAGIC;
	head->version = TTM_RETIRED_VERSION;
	head->size = entry_size(lens);
	entry_divide(head, ret_entry);
	return 0;
}

void ttm_retired_entry_free(struct ttm_retired_entry *entry)
{
	free(entry->head);
	memset(entry, 0, sizeof(*entry));
}

/* -- the file ------------------------------------------------------------------ */

static int bytes_read(int fd, uint64_t off, void *ret_bytes, size_t size)
{
	char *at = ret_bytes;
	ssize_t n;

	while (size) {
		n = pread(fd, at, size, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		at += n;
		off += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static int bytes_write(int fd, uint64_t off, const void *bytes, size_t size)
{
	const char *at = bytes;
	ssize_t n;

	while (size) {
		n = pwrite(fd, at, size, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		off += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

/*
 * What a killed ttmemd had begun: all but its magic may be there, and nothing behind
 * it. Else it is one of which the magic was lost.
 */
static bool entry_is_unfinished(
	int fd, uint64_t off, const struct ttm_retired_head *head)
{
	struct stat st;

	return head->magic == 0 && fstat(fd, &st) == 0 &&
		((uint64_t)st.st_size <= off ||
			(uint64_t)st.st_size - off <= head->size);
}

/* -ENODATA: there is no whole entry at this place, and none behind it. */
static int entry_read(int fd, uint64_t off, struct ttm_retired_entry *ret_entry)
{
	struct ttm_retired_head head, *block;
	int r = bytes_read(fd, off, &head, sizeof(head));

	if (r)
		return r;
	if (head.magic != TTM_RETIRED_MAGIC)
		return entry_is_unfinished(fd, off, &head) ? -ENODATA : -EPROTO;
	/* What another version wrote is none: it is kept aside, and counted. */
	if (head.version != TTM_RETIRED_VERSION || !lens_are_sane(&head) ||
		head.size != entry_size(&head) ||
		head.size > TTM_RETIRED_SIZE_MAX)
		return -EPROTO;
	block = malloc(head.size);
	if (!block)
		return -ENOMEM;
	r = bytes_read(fd, off, block, head.size);
	/* Once more: the file is its owner's, who may write to it at any time. */
	if (!r &&
		(memcmp(block, &head, sizeof(head)) != 0 ||
			entry_checksum(block) != block->checksum))
		r = -EPROTO;
	if (r) {
		free(block);
		return r;
	}
	entry_divide(block, ret_entry);
	return 0;
}

static int entry_append(int fd, uint64_t off, struct ttm_retired_entry *entry)
{
	struct ttm_retired_head *head = entry->head;
	int r;

	/* One word last: a longer write may end between two pages when its
	 * writer is killed. */
	head->checksum = entry_checksum(head);
	r = bytes_write(fd, off + sizeof(head->magic),
		(const char *)head + sizeof(head->magic),
		head->size - sizeof(head->magic));
	if (!r)
		r = bytes_write(fd, off, &head->magic, sizeof(head->magic));
	return r;
}

/* Root makes it for the user, whose own ttmemd may be next. */
static int file_make(int directory_fd, const char *name, uint32_t uid)
{
	int fd = openat(directory_fd, name,
		O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (uid != geteuid() && fchown(fd, uid, (gid_t)-1) < 0) {
		int r = -errno;

		close(fd);
		unlinkat(directory_fd, name, 0);
		return r;
	}
	return fd;
}

static int file_check(int fd, uint32_t uid)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (st.st_uid != uid && st.st_uid != 0) ||
		st.st_nlink != 1 || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return -EPERM;
	return (uint64_t)st.st_size > TTM_RETIRED_SIZE_MAX ? -EFBIG : 0;
}

/*
 * Who has the directory's lock may have lost it without knowing: its owner can remove
 * that file, and then another ttmemd serves the directory, too, for up to a second.
 * Two who append write over each other. So the file itself belongs to one of them, as
 * long as it is open: also within a process, where the directory may have been renamed.
 */
static int file_lock(int fd)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

/* Not one that its last owner has replaced between our open and our lock. */
static bool file_is_current(int directory_fd, int fd)
{
	struct stat named, st;

	return fstatat(directory_fd, TTM_RETIRED_FILE, &named,
		       AT_SYMLINK_NOFOLLOW) == 0 &&
		fstat(fd, &st) == 0 && named.st_ino == st.st_ino &&
		named.st_dev == st.st_dev;
}

static int file_open_or_make(int directory_fd, uint32_t uid)
{
	int fd = openat(directory_fd, TTM_RETIRED_FILE,
		O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return file_make(directory_fd, TTM_RETIRED_FILE, uid);
	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EPERM : -errno;
	return fd;
}

/*
 * Its owner may remove the file while it is open, and another ttmemd may have made the
 * next one: whatever goes into this one is found by nobody. Where the directory itself
 * was removed there is no other place.
 */
static bool file_is_lost(const struct ttm_retired *retired)
{
	struct stat st;

	return !file_is_current(retired->directory_fd, retired->fd) &&
		fstat(retired->directory_fd, &st) == 0 && st.st_nlink != 0;
}

/*
 * Judged before it is locked: behind the name may be a link to anybody's file. -EAGAIN:
 * it is not the one of that name any more, and whatever was found is of no interest.
 */
static int file_claim(int directory_fd, int fd, uint32_t uid)
{
	int r = file_check(fd, uid);

	if (!file_is_current(directory_fd, fd))
		return -EAGAIN;
	if (!r)
		r = file_lock(fd);
	if (!r && !file_is_current(directory_fd, fd))
		r = -EAGAIN;
	return r;
}

static int file_open(int directory_fd, uint32_t uid)
{
	unsigned tries;
	int fd, r;

	for (tries = 0; tries < OPEN_TRIES; tries++) {
		fd = file_open_or_make(directory_fd, uid);
		if (fd == -EEXIST)
			continue; /* another one made it at that moment */
		if (fd < 0)
			return fd;
		r = file_claim(directory_fd, fd, uid);
		if (!r)
			return fd;
		close(fd);
		if (r != -EAGAIN)
			return r;
	}
	return -EBUSY;
}

static int file_load(struct ttm_retired *retired,
	void (*loaded)(void *context, const struct ttm_retired_entry *entry),
	void *context)
{
	struct ttm_retired_entry entry;
	int r;

	while ((r = entry_read(retired->fd, retired->end, &entry)) == 0) {
		loaded(context, &entry);
		retired->end += entry.head->size;
		ttm_retired_entry_free(&entry);
	}
	if (r != -ENODATA)
		return r;
	/* What a killed ttmemd had begun. */
	return ftruncate(retired->fd, (off_t)retired->end) < 0 ? -errno : 0;
}

int ttm_retired_open(int directory_fd, uint32_t uid,
	void (*loaded)(void *context, const struct ttm_retired_entry *entry),
	void *context, struct ttm_retired **ret_retired, bool *ret_broken)
{
	struct ttm_retired *retired = calloc(1, sizeof(*retired));
	int r;

	if (!retired)
		return -ENOMEM;
	retired->directory_fd = directory_fd;
	retired->uid = uid;
	retired->fd = file_open(directory_fd, uid);
	if (retired->fd >= 0) /* of one who was killed */
		unlinkat(directory_fd, NEW_FILE, 0);
	r = retired->fd < 0 ? retired->fd : file_load(retired, loaded, context);
	if (r < 0 && r != -EPROTO) {
		ttm_retired_close(&retired);
		return r;
	}
	retired->broken = r == -EPROTO;
	*ret_broken = retired->broken;
	*ret_retired = retired;
	return 0;
}

void ttm_retired_close(struct ttm_retired **retired)
{
	if (!*retired)
		return;
	if ((*retired)->fd >= 0)
		close((*retired)->fd);
	free(*retired);
	*retired = NULL;
}

uint64_t ttm_retired_bytes(const struct ttm_retired *retired)
{
	return retired->end;
}

int ttm_retired_commit(
	struct ttm_retired *retired, struct ttm_retired_entry *entry)
{
	int r, cut;

	if (file_is_lost(retired))
		return -ESTALE;
	r = entry_append(retired->fd, retired->end, entry);
	if (!r) {
		retired->end += entry->head->size;
		return 0;
	}
	/* Give back what it took: the filesystem may be full. What stays all the
	 * same is written over by the next one. */
	cut = ftruncate(retired->fd, (off_t)retired->end);
	(void)cut;
	return r;
}

static int entries_copy(struct ttm_retired *retired, int to, uint64_t at,
	bool (*keep)(void *context, const uint8_t uuid[16]), void *context,
	uint64_t *ret_end)
{
	struct ttm_retired_entry entry;
	uint64_t off = 0;
	int r = 0;

	while (off < retired->end && !r) {
		r = entry_read(retired->fd, off, &entry);
		if (r)
			break;
		off += entry.head->size;
		if (entry.head->kind == TTM_RETIRED_PROCESS &&
			keep(context, entry.process->uuid)) {
			r = entry_append(to, at, &entry);
			at += entry.head->size;
		}
		ttm_retired_entry_free(&entry);
	}
	*ret_end = at;
	return r;
}

/*
 * A broken file stays beside the new one, for whoever wants to know what happened
 * to it; but it has the name until there is a new one.
 */
static int file_replace(const struct ttm_retired *retired)
{
	int directory = retired->directory_fd;

	if (retired->broken &&
		renameat2(directory, NEW_FILE, directory, TTM_RETIRED_FILE,
			RENAME_EXCHANGE) == 0) {
		if (renameat(directory, NEW_FILE, directory, BROKEN_FILE) < 0)
			unlinkat(directory, NEW_FILE, 0);
		return 0;
	}
	if (renameat(directory, NEW_FILE, directory, TTM_RETIRED_FILE) < 0)
		return -errno;
	return 0;
}

int ttm_retired_compact(struct ttm_retired *retired,
	struct ttm_retired_entry *base,
	bool (*keep)(void *context, const uint8_t uuid[16]), void *context)
{
	int directory = retired->directory_fd, fd, r;
	uint64_t end = 0;

	if (file_is_lost(retired))
		return -ESTALE;
	fd = file_make(directory, NEW_FILE, retired->uid);
	if (fd < 0)
		return fd;
	r = file_lock(fd); /* before anybody can open it by its name */
	if (!r)
		r = entry_append(fd, 0, base);
	if (!r)
		r = entries_copy(
			retired, fd, base->head->size, keep, context, &end);
	/* That took a while, and what another made is not ours to replace. */
	if (!r)
		r = file_is_lost(retired) ? -ESTALE : file_replace(retired);
	if (r) {
		close(fd);
		unlinkat(directory, NEW_FILE, 0);
		return r;
	}
	close(retired->fd);
	retired->fd = fd;
	retired->end = end;
	retired->broken = false;
	return 0;
}
