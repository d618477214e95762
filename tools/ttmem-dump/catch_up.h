/* SPDX-License-Identifier: Apache-2.0 */
/* ttmemd looks again and again; whoever judges must not be told of earlier. */
#ifndef TTM_DUMP_CATCH_UP_H
#define TTM_DUMP_CATCH_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "source.h"

/*
 * Waits until ttmemd tells what holds now: it has looked since, and those that are
 * dead now in our directories under `base` are retired; and if some could not be
 * tracked, it lists one of them. With `run_id` (16 bytes) only those of that run.
 * `is_told_to_end` (NULL: never) ends the wait. Returns false if that did not come; at
 * once if there is nobody to wait for.
 */
bool dump_catch_up(struct dump_source *source, const char *base,
	const uint8_t *run_id, bool (*is_told_to_end)(void));

#endif
