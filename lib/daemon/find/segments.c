/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * The segments of a directory. Its owner may put anything there, at any moment: a
 * file is taken for a segment only if it is one of the owner's own, and everything
 * about it is asked of the descriptor.
 */
#include "daemon/find/watch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "shm/atomics.h"
#include "shm/clock.h"

#define FILE_SIZE_MAX                                                          \
	(TTM_EXTENTS_OFF + (uint64_t)TTM_EXTENTS_MAX * TTM_EXTENT_SIZE)
#define ENTRIES_MAX 65536u
#define REFUSALS_LOGGED_MAX 10u
#define TOLD_EVERY_NS (60 * TTM_SECOND_NS)
#define CHANGE_SETTLES_NS 100000000ull

/* -- names -------------------------------------------------------------------- */

static bool name_starts(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* "p.PID.START.RANDOM", as lib/record/segment.c makes it from the header. */
static bool name_is_of(const char *name, const struct ttm_header_const *header)
{
	char wanted[TTM_WATCH_NAME_SIZE];
	uint64_t random;

	memcpy(&random, header->uuid, sizeof(random));
	snprintf(wanted, sizeof(wanted), TTM_SEGMENT_PREFIX "%u.%llu.%016llx",
		header->pid, (unsigned long long)header->start_time,
		(unsigned long long)random);
	return strcmp(name, wanted) == 0;
}

/* -- what may be a segment ---------------------------------------------------- */

/* NULL: it may be one. */
static const char *file_fault(const struct ttm_watch *watch,
	const struct ttm_directory *directory, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "not a regular file";
	if (st->st_uid != directory->uid)
		return "somebody else's";
	if (st->st_dev != watch->base_device)
		return "on another filesystem";
	if (st->st_nlink > 1)
		return "it has other names";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "others may write it";
	if ((uint64_t)st->st_size < TTM_EXTENTS_OFF ||
		(uint64_t)st->st_size > FILE_SIZE_MAX)
		return "no segment is of its size";
	return NULL;
}

static uint64_t stat_changed_ns(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec * TTM_SECOND_NS +
		(uint64_t)st->st_ctim.tv_nsec;
}

static void file_refuse(struct ttm_watch *watch, struct ttm_watched *watched,
	const char *name, const struct stat *st, const char *fault)
{
	char shown[TTM_WATCH_NAME_SIZE];
	size_t i;

	if (!ttm_refused_add(&watched->refused, st->st_ino, stat_changed_ns(st),
		    watch->round, TTM_REFUSAL_BAD))
		return;
	/* relaxed: for display */
	ttm_own_add(&watch->registry->refused, 1);
	watch->changed = true;
	if (watch->refusals_logged++ >= REFUSALS_LOGGED_MAX)
		return;
	snprintf(shown, sizeof(shown), "%s", name);
	for (i = 0; shown[i]; i++)
		if (shown[i] <= ' ' || shown[i] > '~')
			shown[i] = '?';
	ttm_watch_log(watch, LOG_DEBUG, "%s/%s is refused: %s",
		watched->directory->path, shown, fault);
}

static uint64_t attached_of_user(const struct ttm_watch *watch, uint32_t uid)
{
	uint64_t attached = 0;
	size_t i;

	for (i = 0; i < watch->watched_len; i++)
		if (watch->watched[i].directory->uid == uid)
			attached += watch->watched[i].directory->attached_len;
	return attached;
}

/* Once in a while: how many there are is up to the user, the log is everybody's. */
static void over_limit_tell(
	struct ttm_watch *watch, struct ttm_watched *watched)
{
	uint64_t now_ns = ttm_clock_ns(CLOCK_MONOTONIC);

	if (watched->limit_told_ns &&
		now_ns - watched->limit_told_ns < TOLD_EVERY_NS)
		return;
	watched->limit_told_ns = now_ns;
	ttm_watch_log(watch, LOG_WARNING,
		"%s: more than %llu processes of user %u",
		watched->directory->path,
		(unsigned long long)watch->max_processes,
		watched->directory->uid);
}

static bool file_is_over_limit(struct ttm_watch *watch,
	struct ttm_watched *watched, const struct stat *st,
	enum ttm_refusal before)
{
	if (attached_of_user(watch, watched->directory->uid) <
		watch->max_processes)
		return false;
	if (before == TTM_REFUSAL_NONE &&
		ttm_refused_add(&watched->refused, st->st_ino,
			stat_changed_ns(st), watch->round, TTM_REFUSAL_LIMIT)) {
		/* relaxed: for display */
		ttm_own_add(&watch->registry->over_limit, 1);
		over_limit_tell(watch, watched);
		watch->changed = true;
	}
	return true;
}

/* -- attaching ---------------------------------------------------------------- */

static bool read_all(int fd, void *ret_bytes, size_t size, uint64_t off)
{
	size_t length = 0;
	ssize_t n;

	while (length < size) {
		n = pread(fd, (char *)ret_bytes + length, size - length,
			(off_t)(off + length));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		length += (size_t)n;
	}
	return true;
}

static void attached_fill(struct ttm_attached *attached, uint64_t file_size)
{
	if (!read_all(attached->fd, &attached->header, sizeof(attached->header),
		    TTM_HEADER_OFF)) {
		snprintf(attached->reason, sizeof(attached->reason),
			"header cannot be read");
		return;
	}
	if (ttm_header_check(&attached->header, file_size, attached->reason) <
		0)
		return;
	if (!name_is_of(attached->name, &attached->header))
		snprintf(attached->reason, sizeof(attached->reason),
			"name is not the one its header gives");
}

/* Next time, perhaps. */
static void segment_fail(
	struct ttm_watch *watch, struct ttm_watched *watched, int error)
{
	uint64_t now_ns = ttm_clock_ns(CLOCK_MONOTONIC);

	if (!watched->failure_told_ns ||
		now_ns - watched->failure_told_ns >= TOLD_EVERY_NS) {
		watched->failure_told_ns = now_ns;
		ttm_watch_log(watch, LOG_WARNING,
			"%s: a segment cannot be opened: %s",
			watched->directory->path, strerror(error));
	}
	/* relaxed: for display */
	ttm_own_add(&watch->registry->open_errors, 1);
	watch->changed = true;
	watched->unfinished = true;
}

static void segment_attach(struct ttm_watch *watch, struct ttm_watched *watched,
	const char *name, int fd, const struct stat *st)
{
	struct ttm_attached *attached = ttm_attached_new();

	if (!attached) {
		close(fd);
		segment_fail(watch, watched, ENOMEM);
		return;
	}
	attached->directory = watched->directory;
	snprintf(attached->name, sizeof(attached->name), "%s", name);
	attached->fd = fd;
	attached->inode = st->st_ino;
	attached_fill(attached, (uint64_t)st->st_size);
	if (attached->reason[0])
		ttm_watch_log(watch, LOG_DEBUG, "%s: a segment is broken: %s",
			watched->directory->path, attached->reason);
	ttm_liveness_check(watch, attached);
	if (!ttm_registry_add(watch->registry, attached)) {
		ttm_attached_free(&attached);
		return;
	}
	watched->directory->attached_len++;
	watch->changed = true;
}

/* It is read many times a second: without a time stamp where that is allowed. */
static int segment_descriptor(int directory, const char *name)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(directory, name, flags | O_NOATIME);

	if (fd < 0 && errno == EPERM)
		fd = openat(directory, name, flags);
	return fd;
}

static void segment_open(struct ttm_watch *watch, struct ttm_watched *watched,
	const char *name, uint64_t inode)
{
	const char *fault;
	struct stat st;
	int fd = segment_descriptor(watched->directory->fd, name);

	if (fd < 0 && (errno == ENOENT || errno == ELOOP))
		return; /* another file by now: the next look is for it */
	if (fd < 0 || fstat(fd, &st) < 0) {
		segment_fail(watch, watched, errno);
		if (fd >= 0)
			close(fd);
		return;
	}
	if (st.st_ino != inode || st.st_nlink == 0) {
		close(fd);
		return;
	}
	fault = file_fault(watch, watched->directory, &st);
	if (!fault) {
		segment_attach(watch, watched, name, fd, &st);
		return;
	}
	close(fd);
	file_refuse(watch, watched, name, &st, fault);
}

/* As one of a directory that is gone it may have to be attached again later. */
static bool inode_is_attached(
	struct ttm_watch *watch, struct ttm_watched *watched, uint64_t inode)
{
	const struct ttm_attached *attached;

	rcu_read_lock();
	attached = ttm_registry_find(watch->registry, inode);
	if (attached && attached->directory != watched->directory)
		watched->unfinished = true;
	rcu_read_unlock();
	return attached != NULL;
}

void ttm_segments_consider(
	struct ttm_watch *watch, struct ttm_watched *watched, const char *name)
{
	enum ttm_refusal before;
	const char *fault;
	struct stat st;

	if (!name_starts(name, TTM_SEGMENT_PREFIX) ||
		fstatat(watched->directory->fd, name, &st,
			AT_SYMLINK_NOFOLLOW) < 0 ||
		inode_is_attached(watch, watched, st.st_ino))
		return;
	before = ttm_refused_get(&watched->refused, st.st_ino,
		stat_changed_ns(&st), watch->round);
	if (before == TTM_REFUSAL_BAD)
		return;
	fault = file_fault(watch, watched->directory, &st);
	if (!fault && strlen(name) >= TTM_WATCH_NAME_SIZE)
		fault = "its name is too long";
	if (fault)
		file_refuse(watch, watched, name, &st, fault);
	else if (!file_is_over_limit(watch, watched, &st, before))
		segment_open(watch, watched, name, st.st_ino);
}

/* -- looking ------------------------------------------------------------------ */

struct look {
	struct ttm_watch *watch;
	struct ttm_watched *watched;
	unsigned entries;
};

static int entry_visit(void *context, const char *name)
{
	struct look *look = context;

	if (name_starts(name, TTM_SEGMENT_PREFIX))
		ttm_segments_consider(look->watch, look->watched, name);
	else if (name_starts(name, TTM_MARKER_PREFIX))
		ttm_markers_offer(look->watch, look->watched->directory, name);
	return ++look->entries == ENTRIES_MAX;
}

/* relaxed: each word is for display by itself */
static void lost_store(
	struct ttm_directory *directory, const struct ttm_lost *lost)
{
	ttm_store(&directory->lost.segments, lost->segments);
	ttm_store(&directory->lost.objects, lost->objects);
	ttm_store(&directory->lost.bytes, lost->bytes);
	ttm_store(&directory->lost.markers, lost->markers);
}

static void lost_look(struct ttm_watch *watch, struct ttm_directory *directory)
{
	struct ttm_lost lost = { 0, 0, 0, 0 };
	struct stat st;
	int fd;

	fd = openat(directory->fd, TTM_LOST_FILE,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 &&
		(fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
			st.st_uid != directory->uid ||
			!read_all(fd, &lost, sizeof(lost), 0)))
		memset(&lost, 0, sizeof(lost));
	if (fd >= 0)
		close(fd);
	if (memcmp(&lost, &directory->lost, sizeof(lost)) == 0)
		return; /* only we store it */
	lost_store(directory, &lost);
	watch->changed = true;
}

/*
 * Whether it is as it was: no name came or went, and nothing in it was refused that
 * may be put right without that. Times are as coarse as a tick: one that is hardly
 * over may come again.
 */
static bool directory_is_unchanged(
	const struct ttm_watched *watched, const struct stat *st)
{
	return watched->changed_ns != 0 &&
		watched->changed_ns == stat_changed_ns(st) &&
		watched->refused.entries_len == 0 && !watched->unfinished;
}

static void directory_read(struct ttm_watch *watch, struct ttm_watched *watched,
	const struct stat *st)
{
	struct look look = { watch, watched, 0 };
	uint64_t changed_ns = stat_changed_ns(st);
	uint64_t now_ns = ttm_clock_ns(CLOCK_REALTIME);

	watched->unfinished = false;
	ttm_directory_each(watched->directory->fd, entry_visit, &look);
	ttm_refused_tidy(&watched->refused, watch->round);
	watched->changed_ns = now_ns > changed_ns + CHANGE_SETTLES_NS ?
		changed_ns :
		0;
}

void ttm_segments_look(struct ttm_watch *watch, struct ttm_watched *watched)
{
	uint64_t begin_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	struct stat st;

	lost_look(watch, watched->directory);
	if (begin_ns < watched->look_after_ns ||
		fstat(watched->directory->fd, &st) < 0 ||
		directory_is_unchanged(watched, &st)) {
		ttm_markers_keep(watch, watched->directory);
		return;
	}
	directory_read(watch, watched, &st);
	watched->look_after_ns = ttm_watch_pause(begin_ns);
}
