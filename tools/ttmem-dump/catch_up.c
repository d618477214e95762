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

#include "clock.h"
#include "leftover.h"
#include "place.h"

#define PATIENCE_NS (60 * DUMP_SECOND_NS)
#define POLL_NS 5000000
/* It may have begun to look before, and have said so after. */
#define ROUND_NS 10000000u

/* Segments of the dead, as "ttmem-0/p.12.34.ab". */
struct dead {
	char **paths;
	size_t len;
	const uint8_t *run_id;
	const struct dump_own *own; /* that is being searched */
};

static int segment_visit(void *context, const char *name)
{
	struct dead *dead = context;
	char **grown;

	if (!dump_segment_is_dead(dead->own->fd, name, dead->run_id))
		return 0;
	grown = realloc(dead->paths, (dead->len + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	dead->paths = grown;
	if (asprintf(&grown[dead->len], "%s/%s", dead->own->name, name) < 0)
		return -ENOMEM;
	dead->len++;
	return 0;
}

static int own_visit(void *context, const struct dump_own *own)
{
	struct dead *dead = context;
	uint64_t pid;

	if (dump_own_is_served(own->fd, &pid) == DUMP_NO)
		return 0; /* nobody will retire them */
	dead->own = own;
	return dump_names_each(own->fd, segment_visit, dead);
}

static void path_drop(struct dead *dead, size_t i)
{
	free(dead->paths[i]);
	dead->paths[i] = dead->paths[--dead->len];
}

/* Nobody retires those; they are told as missing. */
static bool is_quarantined(
	const struct ttmem_snapshot *snapshot, const char *path)
{
	const char *name = strchr(path, '/') + 1;
	size_t i;

	for (i = 0; i < ttmem_snapshot_quarantine_len(snapshot); i++) {
		const char *other = ttmem_snapshot_quarantined(snapshot, i)
					    ->name;

		if (other && strcmp(other, name) == 0)
			return true;
	}
	return false;
}

/* Drops what is gone. False: there was nobody left. */
static bool dead_look(
	struct dead *dead, int base, const struct ttmem_snapshot *snapshot)
{
	bool were_left = dead->len > 0;
	struct stat st;
	size_t i = 0;

	while (i < dead->len) {
		if (fstatat(base, dead->paths[i], &st, AT_SYMLINK_NOFOLLOW) <
				0 ||
			is_quarantined(snapshot, dead->paths[i]))
			path_drop(dead, i);
		else
			i++;
	}
	return were_left;
}

static bool dead_wait(struct dump_source *source, struct dead *dead, int base,
	bool (*is_told_to_end)(void))
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
		if (!done && dead_look(dead, base, snapshot))
			since_ns = dump_now_ns();
		if (!done) {
			info = ttmem_snapshot_info(snapshot);
			done = info->taken_ns - info->age_ns >
				since_ns + ROUND_NS;
		}
		ttmem_snapshot_free(&snapshot);
		if (done)
			return worth.status == 0;
		dump_pause(POLL_NS);
	} while (dump_now_ns() < end_ns &&
		!(is_told_to_end && is_told_to_end()));
	return false;
}

bool dump_catch_up(struct dump_source *source, const char *base,
	const uint8_t *run_id, bool (*is_told_to_end)(void))
{
	struct dead dead = { NULL, 0, run_id, NULL };
	int fd = dump_base_open(base);
	/* Without a directory there is nobody to wait for. */
	bool caught_up = dump_own_each(base, own_visit, &dead) != -ENOMEM;

	if (caught_up)
		caught_up = dead_wait(source, &dead, fd, is_told_to_end);
	while (dead.len)
		path_drop(&dead, 0);
	free(dead.paths);
	if (fd >= 0)
		close(fd);
	return caught_up;
}
