/* SPDX-License-Identifier: Apache-2.0 */
/* ttmemd looks again and again; whoever judges must not be told of earlier. */
#ifndef TTM_DUMP_CATCH_UP_H
#define TTM_DUMP_CATCH_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "source.h"

/* A ttmemd that restarts, or has yet to serve a new directory, is waited for so long. */
#define DUMP_RESTART_NS (5 * DUMP_SECOND_NS)

enum dump_caught_up {
	DUMP_CAUGHT_UP,
	DUMP_BEHIND, /* ttmemd runs, and did not get that far in a minute */
	DUMP_GONE,   /* there is nobody to wait for */
};

/*
 * Waits until ttmemd tells what holds now: it has looked since, and those that are
 * dead now in our directories under `base` are retired; and if some could not be
 * tracked, it lists one of them. With `run_id` (16 bytes) only those of that run; of
 * a run by root, which may have become other users, in their directories, too.
 * `is_told_to_end` (NULL: never) ends the wait.
 */
enum dump_caught_up dump_catch_up(struct dump_source *source, const char *base,
	bool is_run, const uint8_t *run_id, bool (*is_told_to_end)(void));

/*
 * Whether waiting may help: ttmemd has ended, or does not serve a directory of ours
 * that nobody else serves. `snapshot` may be NULL.
 */
bool dump_may_come_back(
	const struct ttmem_snapshot *snapshot, const struct dump_worth *worth);

#endif
