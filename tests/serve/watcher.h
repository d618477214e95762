/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that never rests: what it looks for in each snapshot, and from one
 * snapshot to the next.
 */
#ifndef TEST_SERVE_WATCHER_H
#define TEST_SERVE_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include <ttmem/reader.h>

/* Says what is wrong, with the rows, and ends the program: status 1. */
_Noreturn void watcher_fail(const struct ttmem_snapshot *snapshot,
	const char *format, ...) __attribute__((format(printf, 2, 3)));

/* -- watcher_moment.c: one snapshot ------------------------------------------ */

/* References lead somewhere, sums are sums, objects add up if they say so. */
void moment_check(const struct ttmem_snapshot *snapshot);

/* -- watcher_story.c: one snapshot after the other --------------------------- */

struct story;

struct story *story_new(void);
void story_free(struct story *story);
/* Nothing that only grows has shrunk, nobody has come back from the dead. */
void story_check(struct story *story, const struct ttmem_snapshot *snapshot);

#endif
