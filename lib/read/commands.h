/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines of processes whose rows have none. Root's ttmemd publishes names
 * alone, because everybody may read its aggregate. What the caller may know all the
 * same is read from where the kernel checks the permission: /proc, the process's
 * segment, and the file `retired`. The last two are in a directory that only its
 * owner and root may enter.
 */
#ifndef TTM_READ_COMMANDS_H
#define TTM_READ_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/view.h"

struct ttm_command {
	uint8_t uuid[16];
	uint64_t self;      /* of the process's row */
	uint64_t directory; /* reference */
	bool is_dead;
	bool is_final; /* not to be looked for again */
	size_t size;
	char *bytes; /* NUL between arguments; NULL: not known */
};

/* What is known from one snapshot to the next, sorted; all zero: nothing. */
struct ttm_commands {
	struct ttm_command *items;
	size_t len;
};

/* Brings them up to date with the processes of a copy. Returns 0 or -ENOMEM. */
int ttm_commands_update(
	struct ttm_commands *commands, const struct ttm_view_copy *copy);
void ttm_commands_free(struct ttm_commands *commands);

/* NULL: not known. */
const struct ttm_command *ttm_commands_find(
	const struct ttm_commands *commands, const struct ttm_process_row *row);

/*
 * The command line in /proc of the process that has this pid and start time in our
 * pid namespace, up to `size` bytes. Returns its length; 0: none to be seen.
 */
size_t ttm_command_of_pid(
	uint32_t pid, uint64_t start_time, char *ret_bytes, size_t size);

#endif
