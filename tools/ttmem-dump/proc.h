/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells about processes. Unreadable is never taken for an answer. */
#ifndef TTM_DUMP_PROC_H
#define TTM_DUMP_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum dump_answer {
	DUMP_NO = 0,
	DUMP_YES = 1,
	DUMP_UNKNOWN = 2,
};

/*
 * Whether the process that had this pid and this start time (0: unknown) is gone,
 * as seen from our pid namespace.
 */
enum dump_answer dump_proc_is_gone(uint64_t pid, uint64_t start_time);

/* The same, but one that only waits to be asked for its status has ended. */
enum dump_answer dump_proc_has_ended(uint64_t pid, uint64_t start_time);

/* Visits all processes that are seen. */
void dump_procs_each(void (*visit)(void *context, uint64_t pid), void *context);

/* Whether it has the file mapped. An empty answer of the kernel is none. */
enum dump_answer dump_proc_has_mapped(uint64_t pid, dev_t device, ino_t inode);

/* Whether it has a file mapped whose path has `part` in it. */
enum dump_answer dump_proc_has_library(uint64_t pid, const char *part);

/* The value of a variable in its environment as it was started. YES: it is set. */
enum dump_answer dump_proc_environment(
	uint64_t pid, const char *name, char *ret_value, size_t ret_value_size);

/* False: not to be read. */
bool dump_boot_id(uint8_t ret_id[16]);

/* A number in a file of /proc/sys; unknown if not to be read. */
uint64_t dump_proc_number(const char *path);

#endif
