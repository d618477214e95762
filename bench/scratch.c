/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[PATH_MAX];

static int entry_remove(
	const char *entry, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(entry);
}

void bench_scratch_remove(void)
{
	nftw(path, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

void bench_scratch_make(const char *program)
{
	const char *base = getenv("TTMEM_DIR");

	if (!base || !*base)
		base = "/dev/shm";
	if (snprintf(path, sizeof(path), "%s/ttmem-bench.XXXXXX", base) >=
			(int)sizeof(path) ||
		!mkdtemp(path)) {
		fprintf(stderr, "%s: %s: %s\n", program, path, strerror(errno));
		exit(77);
	}
	setenv("TTMEM_DIR", path, 1);
	setenv("TTMEM_ENABLED", "1", 1);
	unsetenv("TT_ALLOC_TRACKING_ENABLED");
	unsetenv("TTMEM_RUN_ID");
}
