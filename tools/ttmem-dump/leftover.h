/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes leave in a directory: segments, markers, and files that never got
 * their name. docs/layout.md describes them; only what is dead for sure is called
 * so.
 */
#ifndef TTM_DUMP_LEFTOVER_H
#define TTM_DUMP_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "proc.h"

enum dump_leftover_kind {
	DUMP_LEFT_NOTHING = 0, /* some other file */
	DUMP_LEFT_SEGMENT = 1,
	DUMP_LEFT_MARKER = 2,
	DUMP_LEFT_UNFINISHED = 3, /* ".new.*" */
	DUMP_LEFT_LOST = 4,       /* the count "lost" */
	DUMP_LEFT_RUN = 5,        /* a directory: run_directory.h */
};

struct dump_leftover {
	enum dump_leftover_kind kind;
	enum dump_answer dead;
	const char *why; /* it is not known to be dead; NULL else */
	uint64_t pid;    /* 0: not told */
	uint64_t start_time;
	uint64_t error; /* marker: errno */
	uint64_t inode;
	uint64_t file_bytes;
	uint64_t objects; /* live in it; unknown if not to be understood */
	uint64_t bytes;   /* on all their devices */
};

/* What `name` in a directory of ours is. */
void dump_leftover_look(
	int directory, const char *name, struct dump_leftover *ret_leftover);

/*
 * Whether it is the segment of a dead process of that run, 16 bytes; NULL: of any.
 * Does not look at what is in it.
 */
bool dump_segment_is_dead(
	int directory, const char *name, const uint8_t *run_id);

/*
 * Whether it is the name of a marker of that run, as above, strictly as the library
 * makes them: ttmemd takes no others.
 */
bool dump_marker_is_of_run(const char *name, const uint8_t *run_id);

#endif
