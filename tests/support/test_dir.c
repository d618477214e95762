/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir_path[64];

const char *test_dir_make(void)
{
	snprintf(dir_path, sizeof(dir_path), "/dev/shm/ttmem-test.XXXXXX");
	if (!mkdtemp(dir_path)) {
		fprintf(stderr, "skipped: %s: %s\n", dir_path, strerror(errno));
		exit(77);
	}
	setenv("TTMEM_DIR", dir_path, 1);
	setenv("TTMEM_ENABLED", "1", 1);
	unsetenv("TT_ALLOC_TRACKING_ENABLED");
	unsetenv("TTMEM_RUN_ID");
	return dir_path;
}

static int entry_remove(
	const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

int test_dir_remove_tree(const char *path)
{
	return nftw(path, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

void test_dir_remove(void)
{
	if (dir_path[0])
		test_dir_remove_tree(dir_path);
	dir_path[0] = '\0';
}

char *test_dir_segment(const char *dir, pid_t pid, size_t *ret_found)
{
	char pattern[512];
	char *path = NULL;
	glob_t found;
	size_t len = 0;

	if (pid)
		snprintf(pattern, sizeof(pattern), "%s/ttmem-*/p.%ld.*", dir,
			(long)pid);
	else
		snprintf(pattern, sizeof(pattern), "%s/ttmem-*/p.*", dir);
	if (!glob(pattern, GLOB_NOSORT, NULL, &found)) {
		len = found.gl_pathc;
		if (len == 1)
			path = strdup(found.gl_pathv[0]);
		globfree(&found);
	}
	if (ret_found)
		*ret_found = len;
	return path;
}

pid_t test_dir_lock_holder(const char *path)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	pid_t holder = -1;

	if (fd < 0)
		return -1;
	if (fcntl(fd, F_GETLK, &lock) == 0)
		holder = lock.l_type == F_UNLCK ? 0 : lock.l_pid;
	close(fd);
	return holder;
}

uint64_t test_scale(uint64_t n)
{
	const char *text = getenv("TTMEM_TEST_SCALE");
	uint64_t percent = text && *text ? strtoull(text, NULL, 10) : 100;
	uint64_t scaled = n / 100 * percent + n % 100 * percent / 100;

	return scaled ? scaled : 1;
}
