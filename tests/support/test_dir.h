/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_DIR_H
#define TEST_DIR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Makes a base directory of this test alone, on tmpfs, and points the library to
 * it: sets TTMEM_DIR and TTMEM_ENABLED=1, unsets what else the library reads. To
 * be called before the first hook. Returns its path, which lives until
 * test_dir_remove(). Exits with 77 (skipped) where there is no tmpfs.
 */
const char *test_dir_make(void);

/* Removes it with all that is in it. For the process that made it. */
void test_dir_remove(void);

/*
 * The path of the segment of a process (of any if pid is 0) under `dir`, to be
 * freed, or NULL: none, or more than one. *ret_found, which may be NULL, is how
 * many there are.
 */
char *test_dir_segment(const char *dir, pid_t pid, size_t *ret_found);

/* The pid that has a lock on any byte of a file, 0 if nobody has, -1: no file. */
pid_t test_dir_lock_holder(const char *path);

/* Removes a directory with all that is in it; 0 or -1. */
int test_dir_remove_tree(const char *path);

/* n in percent of TTMEM_TEST_SCALE (100), at least 1. */
uint64_t test_scale(uint64_t n);

#endif
