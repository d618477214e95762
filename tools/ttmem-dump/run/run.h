/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `run`: a guard that tidies up whatever happens to us, and the command.
 *
 *   ttmem-dump run ─┬─ guard ── ttmemd, in a private directory (if nobody serves)
 *                   └─ COMMAND ── its descendants, which come back to us
 *
 * The guard waits for the end of a pipe that only we hold. It ends ttmemd and removes
 * the directory; if we were killed, it ends COMMAND and its descendants as well.
 */
#ifndef TTM_DUMP_RUN_H
#define TTM_DUMP_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ttmem-dump/complete.h"
#include "ttmem-dump/proc.h"

#define RUN_ID_SIZE 16u
#define RUN_PATH_SIZE 1024u

struct run_guard {
	pid_t pid; /* 0: none */
	int hold;  /* its end tells the guard that we are gone */
	int told;  /* from the guard; its end is that of ttmemd */
	char outer[RUN_PATH_SIZE];     /* has it, and is removed with it */
	char directory[RUN_PATH_SIZE]; /* "": the common one */
};

/*
 * Starts the guard; with `base`, a directory is made under it and a ttmemd started
 * in there. `ttmemd` is its program or NULL: found. Returns 0, or -1, told.
 */
int run_guard_start(struct run_guard *guard, const char *base,
	const char *ttmemd, const char run_id[RUN_ID_SIZE + 1]);

/* Whether ttmemd runs; why not is told. */
bool run_guard_is_well(const struct run_guard *guard);

/* Ends ttmemd and removes the directory. Fine to call without a guard. */
void run_guard_end(struct run_guard *guard);

/* In the guard: ends all processes that have the run id in their environment. */
void run_descendants_end(const char run_id[RUN_ID_SIZE + 1]);

struct run_command {
	char *const *argv;
	const char *directory; /* TTMEM_DIR; NULL: as it is */
	const char *run_id;
	uint64_t settle_ns;
	void (*pipe)(int); /* what it does on SIGPIPE */
	struct run_watch *watch;
};

/*
 * Runs it, passes signals on, and waits for its descendants. Returns its exit
 * status: 126 or 127 if it could not be started, told, and 128 + N for signal N.
 * *ret_left is whether descendants are left.
 */
int run_command(const struct run_command *command, bool *ret_left);

/*
 * The private directory of a `run`, the guard's own: base/ttmem-run.XXXXXX/RANDOM, which
 * is the base directory of COMMAND. Where root runs it, other users can enter the outer
 * one but not list it, and can make their directories in the inner one: those who were
 * given its name, that is COMMAND's descendants.
 */

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

/*
 * Descendants of COMMAND that record elsewhere or nowhere: they have libttmem mapped, but
 * not this run's environment, or cannot reach its directory. They are found by looking
 * at /proc again and again, so one that ends between two looks is not found.
 */

struct run_watch;

/*
 * `base` is the base directory of the run and `directory` the TTMEM_DIR that COMMAND
 * gets, NULL if none; both are kept, not copied. `system`: ttmemd serves all users.
 * Returns 0 or -ENOMEM. End it with run_watch_free().
 */
int run_watch_make(const char *base, const char *directory, bool system,
	struct run_watch **ret_watch);
void run_watch_free(struct run_watch **watch);

/* Looks at all descendants of this process; says once of each on stderr. */
void run_watch_look(struct run_watch *watch);

/*
 * Calls `tell` for each that was found and is not in the snapshot: a process may have
 * set its environment itself. `watch` may be NULL.
 */
void run_watch_tell(const struct run_watch *watch,
	const struct ttmem_snapshot *snapshot, dump_gap_tell *tell,
	void *context);

#endif
