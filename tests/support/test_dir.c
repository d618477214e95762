/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_dir.h"

#include <errno.h>
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

void test_dir_remove(void)
{
	if (dir_path[0])
		nftw(dir_path, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
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

uint64_t test_scale(uint64_t n)
{
	const char *text = getenv("TTMEM_TEST_SCALE");
	uint64_t percent = text && *text ? strtoull(text, NULL, 10) : 100;
	uint64_t scaled = n / 100 * percent + n % 100 * percent / 100;

	return scaled ? scaled : 1;
}
