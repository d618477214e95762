/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private directory of a `run`, the guard's own: base/ttmem-run.XXXXXX/RANDOM, which
 * is the base directory of COMMAND. Where root runs it, other users can enter the outer
 * one but not list it, and can make their directories in the inner one: those who were
 * given its name, that is COMMAND's descendants.
 */
#ifndef TTM_DUMP_RUN_DIRECTORY_H
#define TTM_DUMP_RUN_DIRECTORY_H

#include <stddef.h>

#include "ttmem-dump/proc.h"

#define RUN_PREFIX "ttmem-run."

/*
 * Makes both, the outer one locked until the caller ends. Each path has room for `size`
 * bytes. Returns 0 or a negative errno; both paths are "" then.
 */
int run_directory_make(
	const char *base, char *ret_outer, char *ret_inner, size_t size);

/* Removes the outer one with all that is in it, never through a link. */
void run_directory_remove(const char *outer);

/*
 * Whether `name` in a base directory is one of ours that nobody will remove:
 * whoever made it is gone, for a minute, and nobody alive is in it. UNKNOWN: that
 * cannot be told, for the reason *ret_why.
 */
enum dump_answer run_directory_is_dead(
	const char *base, const char *name, const char **ret_why);

#endif
