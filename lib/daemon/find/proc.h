/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/* What /proc says about other processes. Used by the watch alone. */
#ifndef TTM_DAEMON_PROC_H
#define TTM_DAEMON_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An answer; when it cannot be told, it is neither. */
enum ttm_answer {
	TTM_NO = 0,
	TTM_YES = 1,
	TTM_CANNOT_TELL = 2,
};

/* Start time of a process of our pid namespace; 0: not to be seen. */
uint64_t ttm_proc_start_time(uint32_t pid);

/* Whether there is no such process; false also when it is merely hidden. */
bool ttm_proc_is_gone(uint32_t pid);

/*
 * Whether the process has this file mapped, shared and for writing, as the library
 * does. A process without any mapping (one that is exiting, or a zombie leader of
 * running threads) cannot tell.
 */
enum ttm_answer ttm_proc_maps(uint32_t pid, uint64_t device, uint64_t inode);

/* Lines of /proc/PID/status. */
struct ttm_proc_status {
	uint32_t real_uid;
	uint32_t saved_uid;
	uint32_t own_pid; /* in its own pid namespace */
	bool nested;      /* that namespace is below ours */
};

/* False: not to be read. */
bool ttm_proc_status(uint32_t pid, struct ttm_proc_status *ret_status);

/* Inode of the pid namespace that a process is in; 0: not to be read. */
uint64_t ttm_proc_pid_namespace(uint32_t pid);

/* The pid namespaces that can be seen, as of one look at all of /proc. */
struct ttm_namespaces {
	bool known; /* else it could not be looked */
	uint64_t *inodes;
	size_t inodes_len;
	size_t inodes_capacity;
	/* Users who have processes that would not tell. */
	uint32_t *hidden;
	size_t hidden_len;
	size_t hidden_capacity;
};

/* Looks anew. Costs a few microseconds per process of the machine. */
void ttm_namespaces_look(struct ttm_namespaces *namespaces);
void ttm_namespaces_drop(struct ttm_namespaces *namespaces);

/* Whether a process of user `uid` may be in that namespace. */
enum ttm_answer ttm_namespaces_have(
	const struct ttm_namespaces *namespaces, uint64_t inode, uint32_t uid);

#endif
