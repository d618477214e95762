/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked at after a process was killed. */
#ifndef TEST_FAULTS_KILLED_H
#define TEST_FAULTS_KILLED_H

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/segment_reader.h"
#include "support/test_dir.h"

/* Everything in the user's directories under `dir`, hidden files too. */
static inline size_t killed_files(const char *dir)
{
	char pattern[512];
	size_t files = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/ttmem-*/{.[!.]*,*}", dir);
	if (!glob(pattern, GLOB_NOSORT | GLOB_BRACE, NULL, &found)) {
		files = found.gl_pathc;
		globfree(&found);
	}
	return files;
}

/*
 * Reads the segment that the dead process `pid` left under `dir` and removes it.
 * Returns NULL and why[0] == 0 if there is none; NULL and why if something is
 * wrong with it. `threads` is how many were in a hook at most.
 */
static inline struct segment *killed_take(const char *dir, pid_t pid,
	uint64_t threads, char *why, size_t why_size)
{
	struct segment *segment = NULL;
	size_t found;
	char *path = test_dir_segment(dir, pid, &found);

	why[0] = '\0';
	if (found > 1)
		snprintf(why, why_size, "%zu segments of one process", found);
	else if (killed_files(dir) != found)
		snprintf(why, why_size, "other files beside the segment");
	else if (path && test_dir_lock_holder(path) != 0)
		snprintf(why, why_size, "the lock is held by somebody");
	else if (path && !segment_read(path, &segment, why, why_size)) {
		if (segment->lanes_broken > threads)
			snprintf(why, why_size, "%d lanes with intent != tail",
				(int)segment->lanes_broken);
		else
			segment_check_killed(segment, why, why_size);
	}
	if (why[0])
		segment_unref(&segment);
	else if (path)
		unlink(path);
	free(path);
	return segment;
}

#endif
