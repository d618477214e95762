/* SPDX-License-Identifier: Apache-2.0 */
/* A process as people know it, and as /proc does. */
#ifndef TTM_COMMON_PROCESS_H
#define TTM_COMMON_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include <ttmem/reader.h>

/*
 * The container's short id if the cgroup has a long one in its path, else the last
 * part of the path; "-" for NULL. Escaped. Returns `buffer`.
 */
const char *ttm_container_text(
	const char *cgroup, char *buffer, size_t buffer_size);

/* The arguments, or `comm` without any, escaped. Returns `buffer`. */
const char *ttm_command_text(const char *const *cmdline, uint64_t cmdline_len,
	const char *comm, char *buffer, size_t buffer_size);

#define TTM_PROCESS_NAME_SIZE 96u

/* "python3[1234]", escaped; "?[-]" for NULL. Returns `buffer`. */
const char *ttm_process_name(const struct ttmem_process_row *process,
	char buffer[static TTM_PROCESS_NAME_SIZE]);

#define TTM_PROC_STAT_SIZE 1024u

/*
 * Where in `buffer` a field of /proc/PID/stat starts, from the third on, numbered as
 * in proc(5). NULL: not to be read.
 */
const char *ttm_proc_stat_field(
	uint64_t pid, int number, char buffer[static TTM_PROC_STAT_SIZE]);

/* Field 22 of it; 0: not to be read. */
uint64_t ttm_proc_start_time(uint64_t pid);

/* What the kernel says of a process now. */
struct ttm_proc_facts {
	uint64_t start_time;
	uint64_t uid;      /* its effective user */
	char comm[64];     /* escaped */
	char command[256]; /* all arguments, or `comm` without any; escaped */
};

/* Returns 0, or -ESRCH: not to be read. */
int ttm_proc_facts_read(uint64_t pid, struct ttm_proc_facts *ret_facts);

/* Inode of its pid namespace; pid 0 is ourselves. 0: unknown. */
uint64_t ttm_proc_pid_namespace(uint64_t pid);

#endif
