/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the tools write, wherever the caller wants them. */
#ifndef TTM_COMMON_OUTPUT_H
#define TTM_COMMON_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

/* Beyond every errno: see ttm_output_open. */
#define TTM_OUTPUT_REFUSED (-4096)

struct ttm_output {
	FILE *file;
	int directory; /* -1: neither name is needed */
	char name[NAME_MAX + 1];
	char temporary[NAME_MAX + 1]; /* "": written directly */
};

/*
 * Opens a file for writing. With `whole` it appears complete at the end or not at all;
 * else it is there from now on, and empty. What is no regular file is written directly.
 * A link stays a link: what it points to is written. "/dev/stdout", "/dev/stderr" and
 * "/dev/fd/N" are the descriptors of that number.
 *
 * Where somebody besides the caller and root may write in a directory, links, FIFOs and
 * devices of others in it are refused, on the way to the file, too.
 *
 * Returns 0, a negative errno, or TTM_OUTPUT_REFUSED.
 */
int ttm_output_open(
	const char *path, bool whole, struct ttm_output *ret_output);

/*
 * Ends it, once; with `keep` a whole file gets its name now, else the file stays what it
 * was. Returns 0 or a negative errno: nothing may be taken as written then.
 */
int ttm_output_close(struct ttm_output *output, bool keep);

/* What either of them returned, for people. */
const char *ttm_output_error(int error);

#endif
