/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text.h"
#include "ttmem-dump/cell.h"
#include "ttmem-dump/command.h"
#include "ttmem-dump/leftover.h"
#include "ttmem-dump/place.h"
#include "ttmem-dump/source.h"
#include "ttmem-dump/run/run.h"

struct clean {
	struct dump_where where;
	bool dry_run;
	bool lost;
	bool exact;
	const char *base;
	const struct dump_own *own; /* that is being cleaned; NULL: the base */
	enum dump_answer served;
	uint64_t removed;
	uint64_t kept; /* in doubt */
	uint64_t failed;
	uint64_t objects;
	uint64_t bytes;
};

#define OPTIONS struct clean

/* clang-format off */
static const struct ttm_option options_known[] = {
	TTM_OPTION_HELP_TEXT("usage: ttmem-dump clean [options]\n\n"
		"Removes what dead processes left in your own directories: their segments\n"
		"where no ttmemd serves (one that does removes them itself, and keeps what was\n"
		"in them), marks of processes that could not be tracked, files that were never\n"
		"finished, and directories of runs that were killed. What may belong to\n"
		"somebody alive stays. Objects in what is removed will not be reported by\n"
		"anybody any more.\n\n"),
	TTM_OPTION(FLAG, dry_run, "dry-run", NULL, .help = "only say what would be removed"),
	TTM_OPTION(FLAG, lost, "lost", NULL,
		.help = "forget, too, how much was lost earlier, which makes\n"
			"every report incomplete"),
	TTM_OPTION(FLAG, exact, "bytes", NULL, .help = "exact numbers of bytes"),
	DUMP_OPTION_WHERE_DIR,
	DUMP_OPTIONS_END,
	{ 0 },
};
/* clang-format on */

static const char *kind_name(enum dump_leftover_kind kind)
{
	switch (kind) {
	case DUMP_LEFT_SEGMENT:
		return "segment";
	case DUMP_LEFT_MARKER:
		return "marker";
	case DUMP_LEFT_UNFINISHED:
		return "unfinished file";
	case DUMP_LEFT_LOST:
		return "count of losses";
	case DUMP_LEFT_RUN:
		return "directory of a run that was killed";
	case DUMP_LEFT_NOTHING:
	default:
		return "file";
	}
}

/* "removed ttmem-0/p.12.34.ab: segment of pid 12, 3 objects, 1.00 MiB" */
static void leftover_tell(const struct clean *clean, const char *what,
	const char *name, const struct dump_leftover *leftover)
{
	char safe[DUMP_PLACE_SIZE], a[DUMP_CELL_SIZE], b[DUMP_CELL_SIZE];

	ttm_text_escape(name, safe, sizeof(safe));
	printf("%s %s%s%s: %s", what, clean->own ? clean->own->name : "",
		clean->own ? "/" : "", safe, kind_name(leftover->kind));
	if (leftover->pid)
		printf(" of pid %llu", (unsigned long long)leftover->pid);
	if (leftover->error)
		printf(", untracked: %s", strerror((int)leftover->error));
	if (leftover->objects != TTMEM_UNKNOWN)
		printf(", %s objects, %s", ttm_count_text(leftover->objects, a),
			dump_bytes(leftover->bytes, clean->exact, b));
	if (leftover->why)
		printf(": %s", leftover->why);
	putchar('\n');
}

/* The name must still be the file that was looked at. */
static bool name_is_same(
	const struct clean *clean, const char *name, uint64_t inode)
{
	struct stat st;

	if (inode == 0)
		return true; /* a marker: the name is all there is */
	return fstatat(clean->own->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		st.st_ino == inode;
}

static void leftover_remove(struct clean *clean, const char *name,
	const struct dump_leftover *leftover)
{
	char safe[DUMP_PLACE_SIZE];
	int error;

	if (!clean->dry_run &&
		(!name_is_same(clean, name, leftover->inode) ||
			unlinkat(clean->own->fd, name, 0) < 0)) {
		error = errno;
		ttm_text_escape(name, safe, sizeof(safe));
		ttm_error("%s/%s: %s", clean->own->name, safe, strerror(error));
		clean->failed++;
		return;
	}
	leftover_tell(clean, clean->dry_run ? "would remove" : "removed", name,
		leftover);
	clean->removed++;
	if (leftover->objects != TTMEM_UNKNOWN) {
		clean->objects += leftover->objects;
		clean->bytes += leftover->bytes;
	}
}

static int leftover_visit(void *context, const char *name)
{
	struct clean *clean = context;
	struct dump_leftover leftover;

	dump_leftover_look(clean->own->fd, name, &leftover);
	if (leftover.kind == DUMP_LEFT_NOTHING || leftover.dead == DUMP_NO)
		return 0;
	if (leftover.kind == DUMP_LEFT_LOST) {
		if (clean->lost)
			leftover_remove(clean, name, &leftover);
		return 0;
	}
	if (leftover.kind == DUMP_LEFT_SEGMENT && clean->served != DUMP_NO)
		return 0; /* ttmemd's to retire */
	if (leftover.dead == DUMP_YES) {
		leftover_remove(clean, name, &leftover);
		return 0;
	}
	leftover_tell(clean, "kept", name, &leftover);
	clean->kept++;
	return 0;
}

static int run_visit(void *context, const char *name)
{
	struct clean *clean = context;
	struct dump_leftover leftover = {
		.kind = DUMP_LEFT_RUN,
		.objects = TTMEM_UNKNOWN,
	};
	char path[PATH_MAX];

	leftover.dead = run_directory_is_dead(clean->base, name, &leftover.why);
	if (leftover.dead == DUMP_NO)
		return 0;
	if (leftover.dead == DUMP_UNKNOWN) {
		leftover_tell(clean, "kept", name, &leftover);
		clean->kept++;
		return 0;
	}
	snprintf(path, sizeof(path), "%s/%s", clean->base, name);
	if (!clean->dry_run)
		run_directory_remove(path);
	leftover_tell(clean, clean->dry_run ? "would remove" : "removed", name,
		&leftover);
	clean->removed++;
	return 0;
}

/* What a run left that was killed together with its guard. */
static int runs_clean(struct clean *clean)
{
	int fd = dump_base_open(clean->base), r;

	if (fd < 0)
		return fd;
	clean->own = NULL;
	r = dump_names_each(fd, run_visit, clean);
	close(fd);
	return r;
}

/* One at a time, with the library's own tidying: a lock on "lost". */
static int tidy_lock(int directory)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};
	int fd = openat(directory, "lost",
		O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -ENOENT : -errno;
	if (fcntl(fd, F_SETLK, &lock) == 0)
		return fd;
	close(fd);
	return -EBUSY;
}

static int own_clean(void *context, const struct dump_own *own)
{
	struct clean *clean = context;
	uint64_t pid;
	int lock, r;

	clean->own = own;
	clean->served = dump_own_is_served(own->fd, &pid);
	if (clean->served != DUMP_NO)
		printf("%s/%s: served by ttmemd (pid %llu): its segments are left to it\n",
			own->base, own->name, (unsigned long long)pid);
	lock = tidy_lock(own->fd);
	if (lock < 0 && lock != -ENOENT) {
		ttm_error("%s/%s: somebody else is cleaning: %s", own->base,
			own->name, strerror(-lock));
		clean->failed++;
		return 0;
	}
	r = dump_names_each(own->fd, leftover_visit, clean);
	if (lock >= 0)
		close(lock);
	return r;
}

static void summary_print(const struct clean *clean)
{
	char bytes[DUMP_CELL_SIZE];

	printf("%llu %s, with %llu objects of %s; %llu kept in doubt\n",
		(unsigned long long)clean->removed,
		clean->dry_run ? "to remove" : "removed",
		(unsigned long long)clean->objects,
		dump_bytes(clean->bytes, clean->exact, bytes),
		(unsigned long long)clean->kept);
}

int dump_clean_main(int argc, char **argv)
{
	struct ttm_command command = { .name = "ttmem-dump clean",
		.options = options_known };
	struct clean clean = { .own = NULL };
	int r;

	ttm_options_parse(&command, argc, argv, &clean);
	clean.base = dump_base_choose(clean.where.dir, NULL);
	r = dump_own_each(clean.base, own_clean, &clean);
	if (r == 0)
		r = runs_clean(&clean);
	if (r < 0) {
		ttm_error("%s: %s", clean.base, strerror(-r));
		return TTM_EXIT_FAILURE;
	}
	summary_print(&clean);
	if (fflush(stdout) != 0) {
		ttm_error("stdout: %s", strerror(errno));
		return TTM_EXIT_FAILURE;
	}
	return clean.failed ? TTM_EXIT_FAILURE : TTM_EXIT_OK;
}
