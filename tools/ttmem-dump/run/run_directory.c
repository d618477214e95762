/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ttmem-dump/leftover.h"
#include "ttmem-dump/place.h"

#define REMOVE_TRIES 200
#define DEPTH_MAX 4
/* It is locked as soon as it is made. */
#define FRESH_S 60

/* -- removing ------------------------------------------------------------------------ */

static bool name_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void directory_remove(int parent, const char *path, int depth)
{
	int fd = openat(
		parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *names = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!names) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(names)) != NULL) {
		if (name_is_dots(entry->d_name))
			continue;
		if (unlinkat(fd, entry->d_name, 0) < 0 && depth < DEPTH_MAX)
			directory_remove(fd, entry->d_name, depth + 1);
	}
	closedir(names);
	unlinkat(parent, path, AT_REMOVEDIR);
}

/* A process that still runs may put something in between. */
void run_directory_remove(const char *outer)
{
	int tries;

	for (tries = 0; tries < REMOVE_TRIES && access(outer, F_OK) == 0;
		tries++)
		directory_remove(AT_FDCWD, outer, 0);
}

/* -- making --------------------------------------------------------------------------- */

static int outer_make(const char *base, char *ret_path, size_t ret_path_size)
{
	int length = snprintf(
		ret_path, ret_path_size, "%s/" RUN_PREFIX "XXXXXX", base);
	int fd;

	errno = ENAMETOOLONG;
	if (length >= (int)ret_path_size || !mkdtemp(ret_path))
		return -errno;
	/* Left open: the lock goes with us. */
	fd = open(ret_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		flock(fd, LOCK_EX);
	return 0;
}

static int inner_make(const char *outer, char *ret_path, size_t ret_path_size)
{
	bool shared = geteuid() == 0;
	unsigned long long number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	if (snprintf(ret_path, ret_path_size, "%s/%016llx", outer, number) >=
		(int)ret_path_size)
		return -ENAMETOOLONG;
	if (mkdir(ret_path, 0700) < 0 ||
		chmod(ret_path, shared ? 01777 : 0700) < 0 ||
		chmod(outer, shared ? 0711 : 0700) < 0)
		return -errno;
	return 0;
}

int run_directory_make(
	const char *base, char *ret_outer, char *ret_inner, size_t size)
{
	int r = outer_make(base, ret_outer, size);

	if (r == 0) {
		r = inner_make(ret_outer, ret_inner, size);
		if (r < 0)
			run_directory_remove(ret_outer);
	}
	if (r < 0)
		ret_outer[0] = ret_inner[0] = '\0';
	return r;
}

/* -- looking --------------------------------------------------------------------------- */

/* 1: a segment whose process may be alive. */
static int name_look(void *context, const char *name)
{
	const struct dump_own *own = context;

	return strncmp(name, "p.", 2) == 0 &&
		!dump_segment_is_dead(own->fd, name, NULL);
}

static int own_look(void *context, const struct dump_own *own)
{
	struct dump_own copy = *own;

	(void)context;
	return dump_names_each(own->fd, name_look, &copy);
}

struct inner_search {
	const char *outer;
	bool found; /* a segment whose process may be alive */
};

static int inner_look(void *context, const char *name)
{
	struct inner_search *search = context;
	char path[PATH_MAX];
	int r;

	if (snprintf(path, sizeof(path), "%s/%s", search->outer, name) >=
		(int)sizeof(path))
		return -ENAMETOOLONG;
	r = dump_users_each(path, own_look, NULL);
	/* The log of ttmemd is not a directory. */
	search->found = search->found || (r != 0 && r != -ENOTDIR);
	return 0;
}

static enum dump_answer directory_judge(
	int fd, const char *path, const char **ret_why)
{
	struct inner_search search = { path, false };
	struct timespec now;
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return DUMP_NO; /* not ours to judge */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return DUMP_NO;
	clock_gettime(CLOCK_REALTIME, &now);
	*ret_why = "it is less than a minute old";
	if (now.tv_sec - st.st_mtim.tv_sec < FRESH_S)
		return DUMP_UNKNOWN;
	*ret_why = "a process in it may be alive";
	if (dump_names_each(fd, inner_look, &search) != 0 || search.found)
		return DUMP_UNKNOWN;
	*ret_why = NULL;
	return DUMP_YES;
}

enum dump_answer run_directory_is_dead(
	const char *base, const char *name, const char **ret_why)
{
	enum dump_answer answer;
	char path[PATH_MAX];
	int fd;

	*ret_why = NULL;
	if (strncmp(name, RUN_PREFIX, strlen(RUN_PREFIX)) != 0 ||
		snprintf(path, sizeof(path), "%s/%s", base, name) >=
			(int)sizeof(path))
		return DUMP_NO;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return DUMP_NO;
	answer = directory_judge(fd, path, ret_why);
	close(fd);
	return answer;
}
