/* SPDX-License-Identifier: Apache-2.0 */
/* Where segments are: one answer for the library and all tools. */
#ifndef TTM_SHM_DIRECTORY_H
#define TTM_SHM_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TTM_PATH_SIZE 256u

/* Whoever holds a write lock on byte 0 of this file serves the directory. */
#define TTM_SERVER_LOCK "ttmemd.lock"
/*
 * The content of that file: whether somebody will come back. A process that ends
 * in the meantime leaves its segment to him. Empty: nobody ever served.
 */
#define TTM_SERVER_NOTE_MAGIC 0x45544f4e4d454d54ull /* "TMEMNOTE" */
struct ttm_server_note {
	uint64_t magic;
	/* CLOCK_MONOTONIC of the orderly end of who served last; 0: he serves,
	 * or was killed. */
	uint64_t stopped_ns;
};

#define TTM_USER_PREFIX "ttmem-"
/*
 * The home of root's ttmemd, beside the directories it serves. The file whose lock it
 * holds there is empty before it starts and after it has ended in order.
 */
#define TTM_SYSTEM_DIRECTORY "ttmem-system"
/* Where somebody else took that name: this and 16 random hexadecimal digits. */
#define TTM_SYSTEM_PREFIX TTM_SYSTEM_DIRECTORY "."
#define TTM_SEGMENT_PREFIX "p."
#define TTM_MARKER_PREFIX "u."

/*
 * What was removed without having been read by an aggregator; the whole content
 * of the file of this name. A lock on its byte 0 lets one process tidy at a time.
 */
#define TTM_LOST_FILE "lost"
struct ttm_lost {
	uint64_t segments; /* that had live objects */
	uint64_t objects;
	uint64_t bytes;
	uint64_t markers; /* of processes that were not tracked */
};

/* An environment variable, or NULL when unset, empty, or in a set-uid program. */
const char *ttm_environment(const char *name);

/*
 * The base directory: `wanted` if not NULL, else $TTMEM_DIR, else /run/ttmem if
 * it is there, root's and sticky, else /dev/shm. Checks that it is tmpfs, owned
 * by root or the caller, and sticky if others may write. On success *ret_fd is
 * the caller's to close and ret_path holds its path. Returns 0 or -EINVAL (not an
 * absolute path), -ENOENT, -EACCES, -EPERM (foreign owner, or open to others), -EMEDIUMTYPE (not tmpfs),
 * -ENAMETOOLONG, -EMFILE, -ENFILE, -ENOTDIR, -ELOOP. Async-signal-safe.
 */
int ttm_base_directory_open(
	const char *wanted, char ret_path[TTM_PATH_SIZE], int *ret_fd);

/*
 * The caller's own directory under the base, made if need be; with a random
 * suffix where somebody else took the name. Results and errors as above, and
 * those of mkdir(2).
 */
int ttm_user_directory_open(
	const char *wanted, char ret_path[TTM_PATH_SIZE], int *ret_fd);

/*
 * The home of root's ttmemd under the base, made if need be; with a random suffix
 * where somebody else took the name. A home with a suffix is used again as long as it
 * is there, also when the plain name is free again: two ttmemd of root meet at one
 * lock. For root alone. Results and errors as above; ret_name is the name under the
 * base.
 */
int ttm_system_directory_open(
	int base, char ret_name[TTM_PATH_SIZE], int *ret_fd);

/*
 * Leaves an empty file `name` in the caller's own directory, without a block and if
 * need be without a descriptor: what can still be done when there is nothing left.
 * Returns 0 or a negative errno.
 */
int ttm_user_directory_mark(const char *wanted, const char *name);

/*
 * Calls `visit` with each name in the directory, from the start; a value other
 * than 0 ends it and is returned. readdir would allocate.
 */
int ttm_directory_each(
	int fd, int (*visit)(void *context, const char *name), void *context);

/*
 * Whether an aggregator serves the directory. A lock file that cannot be asked
 * counts as served: what is kept in doubt can still be removed later.
 */
bool ttm_directory_is_served(int directory_fd);

/*
 * Whether what a process leaves that started at `started_ns` (CLOCK_MONOTONIC) is
 * somebody's to read: served; or who served was killed, for then another one is on
 * his way; or served in the process's time, so that its figures were seen, and are
 * missed if it takes them along. Also where root's ttmemd has yet to see that the
 * directory is there, or that nobody else serves it any more.
 */
bool ttm_directory_is_awaited(int directory_fd, uint64_t started_ns);

#endif
