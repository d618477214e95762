/* SPDX-License-Identifier: Apache-2.0 */
/* One line on a terminal while the load runs; nothing elsewhere. */
#ifndef LOAD_PROGRESS_H
#define LOAD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "truth.h"

struct load_progress {
	const struct load_options *options;
	const struct truth *truth;
	bool shown;
	bool on; /* stderr is a terminal, and nobody asked for quiet */
	uint64_t started_ns;
	uint64_t last_ns;
	uint64_t last_events;
};

void load_progress_start(struct load_progress *progress,
	const struct load_options *options, const struct truth *truth);

/* Shows it anew if the last time was 200 ms ago. */
void load_progress_look(struct load_progress *progress);

/* Clears the line. */
void load_progress_end(struct load_progress *progress);

/* All events so far; moving while the load runs. */
uint64_t load_progress_events(const struct truth *truth);

#endif
