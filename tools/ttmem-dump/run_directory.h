/* SPDX-License-Identifier: Apache-2.0 */
/* The private directory of a `run`: base/ttmem-run.XXXXXX, the guard's own. */
#ifndef TTM_DUMP_RUN_DIRECTORY_H
#define TTM_DUMP_RUN_DIRECTORY_H

#include <stddef.h>

#include "proc.h"

#define RUN_PREFIX "ttmem-run."

/*
 * Makes one, locked until the caller ends. Returns 0 or a negative errno; *ret_path
 * is "" then.
 */
int run_directory_make(const char *base, char *ret_path, size_t ret_path_size);

/* With all that is in it, never through a link. */
void run_directory_remove(const char *path);

/*
 * Whether `name` in a base directory is one of ours that nobody will remove:
 * whoever made it is gone, for a minute, and nobody alive is in it. UNKNOWN: that
 * cannot be told, for the reason *ret_why.
 */
enum dump_answer run_directory_is_dead(
	const char *base, const char *name, const char **ret_why);

#endif
