/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "catch_up.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/value.h"
#include "leftover.h"
#include "place.h"

#define PATIENCE_NS (60 * DUMP_SECOND_NS)
#define POLL_NS 5000000
/* It may have begun to look before, and have said so after. */
#define ROUND_NS 10000000u

/* Files in our directories, as "ttmem-0/p.12.34.ab". */
struct paths {
	char **paths;
	size_t len;
};

/* What ttmemd is to know of. */
struct left {
	struct paths dead; /* segments of theirs */
	struct paths markers;
	const uint8_t *run_id;
	const struct dump_own *own; /* that is being searched */
};

static int path_add(
	struct paths *paths, const struct dump_own *own, const char *name)
{
	char **grown = realloc(paths->paths, (paths->len + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	paths->paths = grown;
	if (asprintf(&grown[paths->len], "%s/%s", own->name, name) < 0)
		return -ENOMEM;
	paths->len++;
	return 0;
}

static void path_drop(struct paths *paths, size_t i)
{
	free(paths->paths[i]);
	paths->paths[i] = paths->paths[--paths->len];
}

static void paths_free(struct paths *paths)
{
	while (paths->len)
		path_drop(paths, 0);
	free(paths->paths);
}

static const char *path_name(const char *path)
{
	return strchr(path, '/') + 1;
}

static bool path_is_gone(int base, const char *path)
{
	struct stat st;

	return fstatat(base, path, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

static int name_visit(void *context, const char *name)
{
	struct left *left = context;

	if (dump_marker_is_of_run(name, left->run_id))
		return path_add(&left->markers, left->own, name);
	if (dump_segment_is_dead(left->own->fd, name, left->run_id))
		return path_add(&left->dead, left->own, name);
	return 0;
}

static int own_visit(void *context, const struct dump_own *own)
{
	struct left *left = context;
	uint64_t pid;

	if (dump_own_is_served(own->fd, &pid) == DUMP_NO)
		return 0; /* nobody will look at them */
	left->own = own;
	return dump_names_each(own->fd, name_visit, left);
}

/* Nobody retires those; they are told as missing. */
static bool is_quarantined(
	const struct ttmem_snapshot *snapshot, const char *path)
{
	size_t i;

	for (i = 0; i < ttmem_snapshot_quarantine_len(snapshot); i++) {
		const char *other = ttmem_snapshot_quarantined(snapshot, i)
					    ->name;

		if (other && strcmp(other, path_name(path)) == 0)
			return true;
	}
	return false;
}

/* Drops what is gone. False: there was nobody left. */
static bool dead_look(
	struct paths *dead, int base, const struct ttmem_snapshot *snapshot)
{
	bool were_left = dead->len > 0;
	size_t i = 0;

	while (i < dead->len) {
		if (path_is_gone(base, dead->paths[i]) ||
			is_quarantined(snapshot, dead->paths[i]))
			path_drop(dead, i);
		else
			i++;
	}
	return were_left;
}

static bool is_untracked(
	const struct ttmem_snapshot *snapshot, const char *path)
{
	const struct ttmem_untracked_row *u;
	uint64_t pid, start_time, error;
	size_t i;

	if (!dump_name_parse(path_name(path), &pid, &start_time, &error))
		return false;
	for (i = 0; i < ttmem_snapshot_untracked_len(snapshot); i++) {
		u = ttmem_snapshot_untracked(snapshot, i);
		if (u->pid == pid && u->error == error &&
			ttm_value_or_0(u->start_time) == start_time)
			return true;
	}
	return false;
}

/* What is there another lists, if anybody; data are incomplete anyway. */
static bool another_serves(const struct ttmem_snapshot *snapshot)
{
	const struct ttmem_directory_row *d;
	size_t i;

	for (i = 0; i < ttmem_snapshot_directories_len(snapshot); i++) {
		d = ttmem_snapshot_directory(snapshot, i);
		if (d->own == 1 && d->state != TTMEM_DIRECTORY_SERVED)
			return true;
	}
	return false;
}

/*
 * One of them is listed, or all are gone. One is enough for the verdict, and of many in
 * a directory ttmemd does not list all.
 */
static bool markers_are_known(
	struct paths *markers, int base, const struct ttmem_snapshot *snapshot)
{
	size_t i = 0;

	if (another_serves(snapshot))
		return true;
	while (i < markers->len) {
		if (is_untracked(snapshot, markers->paths[i]))
			return true;
		if (path_is_gone(base, markers->paths[i]))
			path_drop(markers, i);
		else
			i++;
	}
	return markers->len == 0;
}

static enum dump_caught_up left_wait(struct dump_source *source,
	struct left *left, int base, bool (*is_told_to_end)(void))
{
	uint64_t since_ns = dump_now_ns(), end_ns = since_ns + PATIENCE_NS;
	const struct ttmem_info_row *info;
	struct ttmem_snapshot *snapshot;
	struct dump_worth worth;
	bool done;

	do {
		dump_source_take(source, 0, &snapshot, &worth);
		done = worth.status || !snapshot;
		/* What was just retired is in a publication to come. */
		if (!done && dead_look(&left->dead, base, snapshot))
			since_ns = dump_now_ns();
		if (!done) {
			info = ttmem_snapshot_info(snapshot);
			done = info->taken_ns - info->age_ns >
					since_ns + ROUND_NS &&
				markers_are_known(
					&left->markers, base, snapshot);
		}
		ttmem_snapshot_free(&snapshot);
		if (done)
			return worth.status ? DUMP_GONE : DUMP_CAUGHT_UP;
		dump_pause(POLL_NS);
	} while (dump_now_ns() < end_ns &&
		!(is_told_to_end && is_told_to_end()));
	return DUMP_BEHIND;
}

enum dump_caught_up dump_catch_up(struct dump_source *source, const char *base,
	bool is_run, const uint8_t *run_id, bool (*is_told_to_end)(void))
{
	struct left left = { .run_id = run_id };
	int fd = dump_base_open(base);
	enum dump_caught_up caught_up = DUMP_BEHIND;

	/* Without a directory there is nobody to wait for. */
	if ((is_run ? dump_users_each : dump_own_each)(
		    base, own_visit, &left) != -ENOMEM)
		caught_up = left_wait(source, &left, fd, is_told_to_end);
	paths_free(&left.dead);
	paths_free(&left.markers);
	if (fd >= 0)
		close(fd);
	return caught_up;
}

bool dump_may_come_back(
	const struct ttmem_snapshot *snapshot, const struct dump_worth *worth)
{
	return worth->state == TTMEM_SOURCE_DEAD ||
		(worth->state == TTMEM_SOURCE_NOT_SERVING && snapshot &&
			!another_serves(snapshot));
}
