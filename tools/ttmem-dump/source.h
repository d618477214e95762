/* SPDX-License-Identifier: Apache-2.0 */
/* Where snapshots come from: a running ttmemd, or a file. */
#ifndef TTM_DUMP_SOURCE_H
#define TTM_DUMP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include <ttmem/reader.h>

#include "common/options.h"

/* As the options say. Texts are kept, not copied. */
struct dump_where {
	const char *dir;  /* base directory; NULL: the usual ones */
	const char *from; /* recorded lines instead, - is stdin; NULL: none */
	bool system;      /* root's ttmemd */
};

/* clang-format off */
#define DUMP_OPTION_WHERE_DIR \
	TTM_OPTION(DIR, where.dir, "dir", "DIR", \
		.help = "base directory (default: $TTMEM_DIR, /run/ttmem or\n/dev/shm)")
#define DUMP_OPTION_WHERE_FROM \
	TTM_OPTION(FILE, where.from, "from", "FILE", \
		.help = "recorded JSON lines instead, the last one; - is stdin")
#define DUMP_OPTION_WHERE_SYSTEM(text) \
	TTM_OPTION(FLAG, where.system, "system", NULL, .help = text)
#define DUMP_OPTIONS_END \
	{ .type = TTM_OPTION_HELP, .name = "help", .letter = 'h', .help = "this text" }, \
	{ .type = TTM_OPTION_VERSION, .name = "version", .letter = 'V' }
/* clang-format on */

/* Ends the program if the options do not go together. */
void dump_where_check(const struct dump_where *where);

/* What a snapshot is worth, whatever is in it. */
struct dump_worth {
	int status;       /* enum ttm_exit: 0, or 3 or 4 with figures or not */
	uint64_t state;   /* enum ttmem_source */
	uint64_t age_ns;  /* of the figures; unknown without any */
	bool recorded;    /* read from a file */
	char reason[800]; /* for people, one line; "" if all is well */
	const char *hint; /* what to do about it, or NULL */
};

struct dump_source;

/*
 * Returns 0 or an exit status, and has told why on stderr. End it with
 * dump_source_close().
 */
int dump_source_open(
	const struct dump_where *where, struct dump_source **ret_source);

/* Sets the pointer to NULL, which is fine to begin with. */
void dump_source_close(struct dump_source **source);

/*
 * The figures of now; of a file, those of its last line. `flags` are
 * TTMEM_SNAPSHOT_*. *ret_worth is always filled. Old figures are given, too, with
 * a status that is not 0; NULL without any. Returns that status; only failures
 * (TTM_EXIT_FAILURE) have been told on stderr, the rest is the caller's to tell.
 * The snapshot is the caller's to end with ttmem_snapshot_free().
 */
int dump_source_take(struct dump_source *source, uint32_t flags,
	struct ttmem_snapshot **ret_snapshot, struct dump_worth *ret_worth);

/*
 * The last snapshot in a file of JSON lines, - is stdin. A line that was cut off
 * at the end of the file is skipped. Returns 0; TTM_EXIT_NO_DATA (an empty file),
 * TTM_EXIT_INCOMPLETE (of another version) or TTM_EXIT_FAILURE, told on stderr.
 */
int dump_file_read(const char *path, struct ttmem_snapshot **ret_snapshot);

#endif
