/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * inotify: hears of new names at once. Nothing depends on it: what it does not
 * tell, or cannot because instances or watches have run out, the next look finds.
 */
#include "daemon/find/watch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "shm/atomics.h"
#include "shm/clock.h"

/* A segment appears complete: by linkat, or by a rename. */
#define NOTICED                                                                \
	(IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

/* Each round of reading is followed by a pause of so many times its length. */
#define PAUSE_TIMES 8u
#define PAUSE_MIN_NS 1000000ull

static int notice_watch(struct ttm_watch *watch, int fd)
{
	char path[48];

	/* By descriptor: the name may mean another directory by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return inotify_add_watch(watch->inotify_fd, path, NOTICED);
}

static void notice_arm(struct ttm_watch *watch, int operation)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT };

	event.data.u64 = TTM_EVENT_NOTICE;
	epoll_ctl(watch->epoll_fd, operation, watch->inotify_fd, &event);
	watch->inotify_after_ns = 0;
}

void ttm_notice_open(struct ttm_watch *watch)
{
	watch->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	watch->base_watch = -1;
	if (watch->inotify_fd < 0)
		return;
	notice_arm(watch, EPOLL_CTL_ADD);
	watch->base_watch = notice_watch(watch, watch->base_fd);
}

void ttm_notice_close(struct ttm_watch *watch)
{
	if (watch->inotify_fd >= 0)
		close(watch->inotify_fd);
	watch->inotify_fd = -1;
}

void ttm_notice_add(struct ttm_watch *watch, struct ttm_directory *directory)
{
	if (watch->inotify_fd >= 0)
		directory->inotify_watch = notice_watch(watch, directory->fd);
}

void ttm_notice_remove(struct ttm_watch *watch, struct ttm_directory *directory)
{
	if (directory->inotify_watch >= 0)
		inotify_rm_watch(watch->inotify_fd, directory->inotify_watch);
	directory->inotify_watch = -1;
}

void ttm_notice_round(struct ttm_watch *watch)
{
	struct ttm_directory *directory;
	bool works;
	size_t i;

	if (watch->inotify_fd < 0)
		ttm_notice_open(watch);
	else if (watch->base_watch < 0)
		watch->base_watch = notice_watch(watch, watch->base_fd);
	works = watch->inotify_fd >= 0 && watch->base_watch >= 0;
	for (i = 0; i < watch->watched_len; i++) {
		directory = watch->watched[i].directory;
		if (directory->lock_fd < 0)
			continue;
		if (directory->inotify_watch < 0)
			ttm_notice_add(watch, directory);
		works = works && directory->inotify_watch >= 0;
	}
	watch->inotify_failed = !works;
	/* relaxed: for display */
	ttm_store(&watch->registry->inotify, works);
}

/* -- hearing ------------------------------------------------------------------ */

static void event_of_base(
	struct ttm_watch *watch, const struct inotify_event *event)
{
	struct ttm_watched *watched;

	if (!event->len)
		return;
	ttm_directories_consider(watch, event->name);
	watched = ttm_directories_by_name(watch, event->name);
	/* It was served before it was listened to, or it was known: look. */
	if (watched && watched->directory->lock_fd >= 0)
		watch->look_early = true;
}

static void event_take(
	struct ttm_watch *watch, const struct inotify_event *event)
{
	struct ttm_watched *watched;

	if (event->mask & (IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF))
		watch->look_early = true;
	if (event->mask & IN_IGNORED || event->wd < 0)
		return;
	if (event->wd == watch->base_watch) {
		event_of_base(watch, event);
		return;
	}
	watched = ttm_directories_by_watch(watch, event->wd);
	if (!watched || !event->len)
		return;
	if (strncmp(event->name, TTM_MARKER_PREFIX,
		    strlen(TTM_MARKER_PREFIX)) == 0)
		watch->look_early = true;
	else
		ttm_segments_consider(watch, watched, event->name);
}

void ttm_notice_read(struct ttm_watch *watch)
{
	uint64_t begin_ns = ttm_clock_ns(CLOCK_MONOTONIC), spent_ns;
	_Alignas(struct inotify_event) char buffer[8192];
	const struct inotify_event *event;
	ssize_t n, at;

	n = read(watch->inotify_fd, buffer, sizeof(buffer));
	for (at = 0; at < n; at += (ssize_t)(sizeof(*event) + event->len)) {
		event = (const void *)(buffer + at);
		event_take(watch, event);
	}
	/* Who makes names all day gets a share of this thread, not all of it. */
	spent_ns = ttm_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	watch->inotify_after_ns = begin_ns + PAUSE_MIN_NS +
		PAUSE_TIMES * spent_ns;
}

void ttm_notice_rearm(struct ttm_watch *watch)
{
	notice_arm(watch, EPOLL_CTL_MOD);
}
