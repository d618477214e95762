/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/* The directories ttmem-<uid> under the base, and which of them are ours to serve. */
#include "daemon/find/watch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "shm/atomics.h"
#include "shm/clock.h"

/* The library makes no others; ttmem-system is none of them. */
static bool name_is_users(const char *name)
{
	size_t length = strlen(TTM_USER_PREFIX);

	return strncmp(name, TTM_USER_PREFIX, length) == 0 &&
		name[length] >= '0' && name[length] <= '9' &&
		strlen(name) < TTM_WATCH_NAME_SIZE;
}

static bool stat_is_ours(const struct ttm_watch *watch, const struct stat *st)
{
	return S_ISDIR(st->st_mode) &&
		(watch->mode == TTM_MODE_SYSTEM || st->st_uid == geteuid());
}

static bool stat_is_of(
	const struct ttm_directory *directory, const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_ino == directory->inode &&
		st->st_dev == directory->device && st->st_uid == directory->uid;
}

struct ttm_watched *ttm_directories_by_name(
	struct ttm_watch *watch, const char *name)
{
	size_t i;

	for (i = 0; i < watch->watched_len; i++)
		if (!ttm_directory_is_gone(watch->watched[i].directory) &&
			strcmp(watch->watched[i].name, name) == 0)
			return &watch->watched[i];
	return NULL;
}

struct ttm_watched *ttm_directories_by_watch(
	struct ttm_watch *watch, int inotify_watch)
{
	size_t i;

	for (i = 0; i < watch->watched_len; i++)
		if (watch->watched[i].directory->inotify_watch == inotify_watch)
			return &watch->watched[i];
	return NULL;
}

/* -- users who rename their directories ---------------------------------------- */

/* The latest of that user, if its time is not over; else NULL. */
static struct ttm_leaver *leaver_find(struct ttm_watch *watch, uint32_t uid)
{
	uint64_t now_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	size_t i;

	for (i = 0; i < TTM_LEAVERS_MAX; i++)
		if (watch->leavers[i].ends && watch->leavers[i].uid == uid &&
			now_ns - watch->leavers[i].since_ns < TTM_ENDS_TIME_NS)
			return &watch->leavers[i];
	return NULL;
}

/* In the place of the one that is the longest ago. */
static void leaver_note(struct ttm_watch *watch, uint32_t uid)
{
	struct ttm_leaver *leaver = leaver_find(watch, uid);
	size_t i;

	if (!leaver) {
		leaver = &watch->leavers[0];
		for (i = 1; i < TTM_LEAVERS_MAX; i++)
			if (watch->leavers[i].since_ns < leaver->since_ns)
				leaver = &watch->leavers[i];
		*leaver = (struct ttm_leaver){
			.uid = uid,
			.since_ns = ttm_clock_ns(CLOCK_MONOTONIC),
		};
	}
	leaver->ends++;
}

/* A user's own ttmemd is disturbed by nobody else. */
static bool user_must_wait(struct ttm_watch *watch, uint32_t uid)
{
	struct ttm_leaver *leaver = leaver_find(watch, uid);

	if (watch->mode != TTM_MODE_SYSTEM || !leaver ||
		leaver->ends <= TTM_ENDS_MOST)
		return false;
	if (!leaver->told)
		ttm_watch_log(watch, LOG_WARNING,
			"directories of user %u are renamed or removed again and again, and are not served for some seconds",
			uid);
	leaver->told = true;
	return true;
}

/* -- states ------------------------------------------------------------------- */

/* relaxed: each of the three is for display by itself */
static void directory_set(struct ttm_directory *directory,
	enum ttm_directory_state state, uint64_t error, uint64_t holder)
{
	ttm_store(&directory->error, error);
	ttm_store(&directory->holder, holder);
	ttm_store(&directory->state, state);
}

static void directory_say(struct ttm_watch *watch,
	struct ttm_directory *directory, enum ttm_directory_state state,
	int error, uint32_t holder)
{
	/* relaxed: our own words */
	if (ttm_load(&directory->state) == state &&
		ttm_load(&directory->error) == (uint64_t)error &&
		ttm_load(&directory->holder) == holder)
		return;
	directory_set(directory, state, (uint64_t)error, holder);
	watch->changed = true;
	if (state == TTM_DIRECTORY_SERVED)
		ttm_watch_log(watch, LOG_INFO, "serving %s", directory->path);
	else if (state == TTM_DIRECTORY_HELD)
		ttm_watch_log(watch, LOG_NOTICE, "%s is served by process %u",
			directory->path, holder);
	else
		ttm_watch_log(watch, LOG_WARNING, "%s is not served: %s",
			directory->path, strerror(error));
}

static int directory_judge(
	const struct ttm_watch *watch, const struct ttm_directory *directory)
{
	struct stat st;

	if (directory->fd < 0)
		return -EACCES;
	if (fstat(directory->fd, &st) < 0)
		return -errno;
	if (st.st_dev != watch->base_device)
		return -EXDEV;
	/* The library uses no such directory: others could remove what is in
	 * it, and the lock. */
	return st.st_mode & (S_IWGRP | S_IWOTH) ? -EPERM : 0;
}

static void directory_end(struct ttm_watch *watch, struct ttm_watched *watched)
{
	struct ttm_directory *directory = watched->directory;

	leaver_note(watch, directory->uid);
	ttm_watch_log(watch, LOG_INFO, "%s is gone", directory->path);
	ttm_notice_remove(watch, directory);
	ttm_refused_drop(&watched->refused);
	ttm_server_unlock(&directory->lock_fd);
	/* pairs(directory-gone): release, with ttm_directory_is_gone: nothing is
	 * attached in it after this */
	ttm_store_release(&directory->gone, 1);
	watch->changed = true;
}

static void directory_served(
	struct ttm_watch *watch, struct ttm_watched *watched, int lock_fd)
{
	struct ttm_directory *directory = watched->directory;
	struct stat st;

	directory->lock_fd = lock_fd;
	watched->lock_inode = fstat(lock_fd, &st) == 0 ? st.st_ino : 0;
	/* Listen, then look: what comes in between is seen twice, not never. */
	ttm_notice_add(watch, directory);
	directory_say(watch, directory, TTM_DIRECTORY_SERVED, 0, 0);
}

static void directory_try(struct ttm_watch *watch, struct ttm_watched *watched)
{
	struct ttm_directory *directory = watched->directory;
	uint32_t holder = 0;
	int r = directory_judge(watch, directory);

	if (r == 0)
		r = ttm_server_lock(directory->fd, directory->uid, &holder);
	if (r >= 0)
		directory_served(watch, watched, r);
	else if (r == -EBUSY)
		directory_say(watch, directory, TTM_DIRECTORY_HELD, 0, holder);
	else
		directory_say(watch, directory, TTM_DIRECTORY_REFUSED, -r, 0);
}

/*
 * Somebody may have removed or replaced the lock file: then nobody who asks sees our lock.
 * It is taken again, or another ttmemd was faster and the directory is not ours any more.
 * Also where it is the same: the kernel drops a lock with the close of any descriptor of
 * its file, and the file may have been under the name of another directory's.
 */
static void lock_verify(struct ttm_watch *watch, struct ttm_watched *watched)
{
	struct ttm_directory *directory = watched->directory;
	uint32_t holder;
	struct stat st;
	int fd;

	if (fstatat(directory->fd, TTM_SERVER_LOCK, &st, AT_SYMLINK_NOFOLLOW) ==
			0 &&
		st.st_ino == watched->lock_inode &&
		ttm_server_lock_again(directory->lock_fd) == 0)
		return;
	fd = ttm_server_lock(directory->fd, directory->uid, &holder);
	if (fd < 0) {
		directory_end(watch, watched);
		return;
	}
	close(directory->lock_fd);
	directory->lock_fd = fd;
	/* If it is the same file, which has its name again, that has dropped our
	 * lock. Somebody else who was faster keeps his note. */
	if (ttm_server_lock_again(fd) < 0) {
		close(fd);
		directory->lock_fd = -1;
		directory_end(watch, watched);
		return;
	}
	watched->lock_inode = fstat(fd, &st) == 0 ? st.st_ino : 0;
	ttm_watch_log(watch, LOG_WARNING, "%s: its lock file was replaced",
		directory->path);
}

/* -- known ones --------------------------------------------------------------- */

/* A refused one that can be opened by now starts again as another. */
static bool directory_opens_now(
	const struct ttm_watch *watch, const struct ttm_watched *watched)
{
	return watched->directory->fd < 0 &&
		faccessat(watch->base_fd, watched->name, R_OK | X_OK,
			AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
}

static void watched_verify(struct ttm_watch *watch, struct ttm_watched *watched)
{
	struct stat st;

	if (fstatat(watch->base_fd, watched->name, &st, AT_SYMLINK_NOFOLLOW) <
			0 ||
		!stat_is_of(watched->directory, &st) ||
		directory_opens_now(watch, watched)) {
		directory_end(watch, watched);
		return;
	}
	/* relaxed: our own word */
	if (ttm_load(&watched->directory->state) == TTM_DIRECTORY_SERVED)
		lock_verify(watch, watched);
	else
		directory_try(watch, watched);
}

static void watched_tidy(struct ttm_watch *watch)
{
	size_t i = 0;

	while (i < watch->watched_len)
		if (ttm_registry_tidy(watch->watched[i].directory))
			watch->watched[i] = watch->watched
						    [--watch->watched_len];
		else
			i++;
}

/* -- new ones ----------------------------------------------------------------- */

static struct ttm_directory *directory_make(
	struct ttm_watch *watch, const char *name, const struct stat *st)
{
	struct ttm_directory *directory = ttm_directory_new();
	struct stat opened;

	if (!directory)
		return NULL;
	directory->uid = st->st_uid;
	directory->device = st->st_dev;
	directory->inode = st->st_ino;
	snprintf(directory->path, sizeof(directory->path), "%.*s/%s",
		(int)(TTM_PATH_SIZE - TTM_WATCH_NAME_SIZE - 1),
		watch->base_path, name);
	directory->fd = openat(watch->base_fd, name,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory->fd < 0 ? errno != EACCES && errno != EPERM :
				(fstat(directory->fd, &opened) < 0 ||
					!stat_is_of(directory, &opened)))
		ttm_directory_free(
			&directory); /* the next look may do better */
	return directory;
}

static struct ttm_watched *watched_room(struct ttm_watch *watch, uint32_t uid)
{
	size_t capacity = watch->watched_capacity, i, of_user = 0;
	struct ttm_watched *watched = watch->watched;

	for (i = 0; i < watch->watched_len; i++)
		of_user += watched[i].directory->uid == uid;
	if (of_user >= TTM_DIRECTORIES_PER_USER ||
		watch->watched_len >= TTM_DIRECTORIES_MAX)
		return NULL;
	if (watch->watched_len == capacity) {
		capacity = capacity ? 2 * capacity : 8;
		watched = realloc(watched, capacity * sizeof(*watched));
		if (!watched)
			return NULL;
		watch->watched = watched;
		watch->watched_capacity = capacity;
	}
	return &watched[watch->watched_len];
}

/*
 * One that was renamed is heard of by its new name before its old one is missed. What
 * it was ends first: the kernel knows one lock of ours on its lock file, and one watch,
 * and both go with the first descriptor that is given up. False: it still has its
 * other name, by a mount, and is served there.
 */
static bool others_end(struct ttm_watch *watch, const struct stat *st)
{
	struct ttm_directory *directory;
	size_t i;

	for (i = 0; i < watch->watched_len; i++) {
		directory = watch->watched[i].directory;
		if (ttm_directory_is_gone(directory) ||
			st->st_ino != directory->inode ||
			st->st_dev != directory->device)
			continue;
		watched_verify(watch, &watch->watched[i]);
		if (!ttm_directory_is_gone(directory))
			return false;
	}
	return true;
}

void ttm_directories_consider(struct ttm_watch *watch, const char *name)
{
	struct ttm_directory *directory;
	struct ttm_watched *watched;
	struct stat st;

	if (!name_is_users(name) || ttm_directories_by_name(watch, name) ||
		fstatat(watch->base_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		!stat_is_ours(watch, &st) || !others_end(watch, &st) ||
		user_must_wait(watch, st.st_uid))
		return;
	/* What does not fit is not in the list: its readers see it unserved. */
	watched = watched_room(watch, st.st_uid);
	directory = watched ? directory_make(watch, name, &st) : NULL;
	if (!directory)
		return;
	memset(watched, 0, sizeof(*watched));
	watched->directory = directory;
	snprintf(watched->name, sizeof(watched->name), "%s", name);
	watch->watched_len++;
	/* Before anybody can see it: it has a state from the start. */
	directory_try(watch, watched);
	ttm_registry_add_directory(watch->registry, directory);
	watch->changed = true;
}

static int directory_visit(void *context, const char *name)
{
	ttm_directories_consider(context, name);
	return 0;
}

void ttm_directories_look(struct ttm_watch *watch)
{
	uint64_t begin_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	size_t i;

	for (i = 0; i < watch->watched_len; i++)
		if (!ttm_directory_is_gone(watch->watched[i].directory))
			watched_verify(watch, &watch->watched[i]);
	watched_tidy(watch);
	if (begin_ns < watch->base_after_ns)
		return;
	ttm_directory_each(watch->base_fd, directory_visit, watch);
	watch->base_after_ns = ttm_watch_pause(begin_ns);
}
