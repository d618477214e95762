/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * Where the aggregate goes: of a user the user's own directory, else ttmem-system,
 * with a random suffix if another user took that name.
 * Whoever removes it while ttmemd runs does not stop it: it is made anew, under the
 * same descriptor, so that the next publication is there.
 */
#include "daemon/find/watch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "shm/atomics.h"

/* A home that is being opened; on failure what is open of it is closed. */
struct home {
	char path[TTM_PATH_SIZE];
	int fd;
	int lock_fd; /* of ttmem-system; -1 in user mode */
};

/*
 * Its directory is one of those that are served, so its lock is that of the
 * registry's directory.
 */
static int home_open_users(struct ttm_watch *watch, struct home *home,
	struct ttm_watch_failure *failure)
{
	void (*log)(int, const char *) = watch->log;
	struct ttm_watched *watched;
	const char *name;
	int r;

	r = ttm_user_directory_open(watch->base_path, home->path, &home->fd);
	if (r < 0)
		return r;
	snprintf(failure->path, sizeof(failure->path), "%s", home->path);
	name = strrchr(home->path, '/') + 1;
	/* Why it is not served is told once, by who asked for it. */
	watch->log = NULL;
	ttm_directories_consider(watch, name);
	watch->log = log;
	watched = ttm_directories_by_name(watch, name);
	if (!watched)
		return -ENOMEM;
	/* relaxed: our own words */
	switch (ttm_load(&watched->directory->state)) {
	case TTM_DIRECTORY_SERVED:
		ttm_watch_log(watch, LOG_INFO, "serving %s", home->path);
		return 0;
	case TTM_DIRECTORY_HELD:
		failure->holder = (uint32_t)ttm_load(
			&watched->directory->holder);
		return -EBUSY;
	default:
		return -(int)ttm_load(&watched->directory->error);
	}
}

static void system_path_set(struct ttm_watch *watch, const char *name,
	struct home *home, struct ttm_watch_failure *failure)
{
	snprintf(home->path, sizeof(home->path), "%.*s/%.*s",
		(int)(TTM_PATH_SIZE - TTM_WATCH_NAME_SIZE - 1),
		watch->base_path, (int)(TTM_WATCH_NAME_SIZE - 1), name);
	snprintf(failure->path, sizeof(failure->path), "%s", home->path);
}

static int home_open_systems(struct ttm_watch *watch, struct home *home,
	struct ttm_watch_failure *failure)
{
	char name[TTM_PATH_SIZE];
	int r;

	if (geteuid() != 0)
		return -EPERM;
	system_path_set(watch, TTM_SYSTEM_DIRECTORY, home, failure);
	r = ttm_system_directory_open(watch->base_fd, name, &home->fd);
	if (r < 0)
		return r;
	if (strlen(name) >= TTM_WATCH_NAME_SIZE)
		return -ENAMETOOLONG;
	system_path_set(watch, name, home, failure);
	r = ttm_server_lock(home->fd, geteuid(), &failure->holder);
	if (r < 0)
		return r;
	if (strcmp(name, TTM_SYSTEM_DIRECTORY) != 0)
		ttm_watch_log(watch, LOG_WARNING,
			"%s/" TTM_SYSTEM_DIRECTORY
			" is or was another user's; publishing in %s",
			watch->base_path, home->path);
	home->lock_fd = r;
	return 0;
}

static int home_open(struct ttm_watch *watch, struct home *home,
	struct ttm_watch_failure *failure)
{
	int r;

	memset(home, 0, sizeof(*home));
	home->fd = -1;
	home->lock_fd = -1;
	r = watch->mode == TTM_MODE_SYSTEM ?
		home_open_systems(watch, home, failure) :
		home_open_users(watch, home, failure);
	if (r < 0 && home->fd >= 0)
		close(home->fd);
	return r;
}

static void home_name_keep(struct ttm_watch *watch, const struct home *home)
{
	snprintf(watch->home_name, sizeof(watch->home_name), "%.*s",
		(int)sizeof(watch->home_name) - 1,
		strrchr(home->path, '/') + 1);
}

int ttm_home_open(struct ttm_watch *watch, struct ttm_watch_failure *failure)
{
	struct home home;
	int r = home_open(watch, &home, failure);

	if (r < 0)
		return r;
	memcpy(watch->home_path, home.path, sizeof(watch->home_path));
	home_name_keep(watch, &home);
	watch->home_fd = home.fd;
	watch->home_lock_fd = home.lock_fd;
	return 0;
}

static bool home_is_there(const struct ttm_watch *watch)
{
	struct stat home, named;

	return fstat(watch->home_fd, &home) < 0 ||
		(fstatat(watch->base_fd, watch->home_name, &named,
			 AT_SYMLINK_NOFOLLOW) == 0 &&
			named.st_dev == home.st_dev &&
			named.st_ino == home.st_ino);
}

/*
 * Somebody removed the lock file, and another ttmemd was faster than our look: it would
 * take turns with us, and readers would see one that serves nothing.
 */
static void holder_look(struct ttm_watch *watch)
{
	const struct ttm_watched *watched = ttm_directories_by_name(
		watch, watch->home_name);

	/* relaxed: see there, and our own word */
	if (watch->mode == TTM_MODE_USER && watched)
		ttm_store(&watch->registry->home_is_held,
			ttm_load(&watched->directory->state) ==
				TTM_DIRECTORY_HELD);
}

void ttm_home_look(struct ttm_watch *watch)
{
	struct ttm_watch_failure failure = { .path = "" };
	struct home home;
	int r;

	if (home_is_there(watch)) {
		holder_look(watch);
		return;
	}
	r = home_open(watch, &home, &failure);
	if (r < 0) {
		if (r != watch->home_error)
			ttm_watch_log(watch, LOG_ERR,
				"%s is gone, and cannot be made anew: %s",
				watch->home_path, strerror(-r));
		watch->home_error = r;
		return;
	}
	watch->home_error = 0;
	ttm_watch_log(watch, LOG_WARNING,
		"%s was removed; publishing in %s from now on",
		watch->home_path, home.path);
	home_name_keep(watch, &home);
	/* At once for whoever has the number, the drain among them. */
	dup3(home.fd, watch->home_fd, O_CLOEXEC);
	close(home.fd);
	if (home.lock_fd >= 0) {
		close(watch->home_lock_fd);
		watch->home_lock_fd = home.lock_fd;
	}
	watch->changed = true;
}
