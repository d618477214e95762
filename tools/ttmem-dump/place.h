/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base directory and the user's own directories under it, looked at from
 * outside: the rules are those of the library, written down a second time on
 * purpose, for a doctor that asks the patient learns nothing.
 */
#ifndef TTM_DUMP_PLACE_H
#define TTM_DUMP_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc.h"

#define DUMP_PLACE_SIZE 256u

/* Where it is, and who said so: "--dir", "TTMEM_DIR" or "default"; may be NULL. */
const char *dump_base_choose(const char *wanted, const char **ret_by);

/*
 * Opens and checks it. Returns a descriptor, or a negative errno: -EINVAL (not
 * absolute), -ENOENT, -EACCES, -ENOTDIR, -EMEDIUMTYPE (not tmpfs), -EPERM (of
 * somebody else, or open to others and not sticky), ...
 */
int dump_base_open(const char *path);

/* A directory of ours, or of another user. The descriptor is closed after the visit. */
struct dump_own {
	const char *base;
	const char *name;
	int fd;
	dev_t device;
	ino_t inode;
};

typedef int dump_own_visit(void *context, const struct dump_own *own);

/*
 * Visits our directories, by owner, until a visit does not return 0, and returns
 * that, or a negative errno.
 */
int dump_own_each(const char *base, dump_own_visit *visit, void *context);

/* The same; if we are root, those of all users. */
int dump_users_each(const char *base, dump_own_visit *visit, void *context);

/*
 * Makes the directory that the library of this user will use, if it is not there yet.
 * Returns 0 or a negative errno.
 */
int dump_own_make(const char *base);

/*
 * Whether a ttmemd serves the directory, by its lock; *ret_pid is who, 0 if that
 * cannot be told.
 */
enum dump_answer dump_own_is_served(int directory, uint64_t *ret_pid);

typedef int dump_name_visit(void *context, const char *name);

/* Visits the names in a directory. As above. */
int dump_names_each(int directory, dump_name_visit *visit, void *context);

/* Whether nobody holds a lock on the file: YES, NO or UNKNOWN. */
enum dump_answer dump_lock_is_free(int fd, uint64_t *ret_pid);

/*
 * PID and start time in "p.PID.START.RANDOM" and "u.PID.START.ERRNO.RUN". False
 * for other names. *ret_error is the third number of the latter.
 */
bool dump_name_parse(const char *name, uint64_t *ret_pid, uint64_t *ret_start,
	uint64_t *ret_error);

#endif
