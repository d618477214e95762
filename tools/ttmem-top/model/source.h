/* SPDX-License-Identifier: Apache-2.0 */
/* Where snapshots come from: a running ttmemd, or a recording. */
#ifndef TTM_TOP_SOURCE_H
#define TTM_TOP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include <ttmem/reader.h>

struct top_source_config {
	const char *dir;    /* base directory; NULL: the usual ones */
	const char *replay; /* recorded lines instead, - is stdin; NULL: none */
	bool system;        /* root's ttmemd */
	bool every; /* of a recording, each snapshot, and as fast as asked for */
	uint64_t delay_ns; /* between those of a file; 0: as recorded */
};

/* What is shown, and what it is worth. */
struct top_worth {
	int status;     /* enum ttm_exit */
	bool stale;     /* not of now */
	char text[640]; /* for people, one line; "": all is well */
	char hint[160]; /* what to do about it; "": nothing */
};

struct top_source;

/*
 * Returns 0 or an exit status, and has told why on stderr. End it with
 * top_source_close(). Texts of the config are kept, not copied.
 */
int top_source_open(
	const struct top_source_config *config, struct top_source **ret_source);
void top_source_close(struct top_source **source);

/*
 * The next snapshot if there is one by now. `flags` are TTMEM_SNAPSHOT_*; a
 * recording has what it has. Returns 0, -EAGAIN (none yet), -ENODATA (none, or no
 * more; a ttmemd may come, a file may grow), or another negative errno. The snapshot
 * is the caller's to end with ttmem_snapshot_free().
 */
int top_source_take(struct top_source *source, uint32_t flags, uint64_t now_ns,
	struct ttmem_snapshot **ret_snapshot);

/* Of what was taken last. */
void top_source_worth(const struct top_source *source, uint64_t now_ns,
	struct top_worth *ret_worth);

/* To be waited for, or -1. */
int top_source_fd(const struct top_source *source);
/* When to ask again; 0: only when the descriptor says so, or at the usual time. */
uint64_t top_source_due_ns(const struct top_source *source);

/* Why the recording is none, or NULL. */
const char *top_source_failure(const struct top_source *source);

bool top_source_is_replay(const struct top_source *source);

#endif
