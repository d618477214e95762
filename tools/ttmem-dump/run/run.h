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
#include <stdint.h>
#include <sys/types.h>

#include "run_watch.h"

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

#endif
