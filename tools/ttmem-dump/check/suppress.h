/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suppressions as LeakSanitizer has them, one per line; # starts a comment:
 *
 *   leak:PATTERN      of the scope; "" if there is none
 *   kind:KIND,..
 *   process:PATTERN   of the process's name
 *
 * A pattern is found anywhere in the text; * is any text, ^ at its start and $ at
 * its end hold it there, \ makes a character itself, \xNN is a byte.
 */
#ifndef TTM_DUMP_SUPPRESS_H
#define TTM_DUMP_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <ttmem/reader.h>

#include "ttmem-dump/part.h"

enum suppression_of {
	SUPPRESS_SCOPE = 1,
	SUPPRESS_KIND = 2,
	SUPPRESS_PROCESS = 3,
};

struct suppression {
	enum suppression_of of;
	char *text;       /* the line */
	char *pattern;    /* for fnmatch(3) */
	uint32_t figures; /* of a kind */
	const char *path;
	unsigned line;
	uint64_t uses; /* objects */
	uint64_t bytes;
};

#define SUPPRESSIONS_FOUND 1024u /* a power of two */

/* Objects of one scope are many, and their texts are the same ones. */
struct suppression_found {
	const char *scope;
	const char *comm;
	uint64_t figure;
	size_t row; /* + 1; 0: not looked for yet */
};

struct suppressions {
	struct suppression *rows;
	size_t len;
	uint64_t unused;
	struct suppression_found found[SUPPRESSIONS_FOUND];
};

/* Adds those of a file. Returns 0, or TTM_EXIT_FAILURE, told on stderr. */
int suppressions_read(struct suppressions *suppressions, const char *path);
void suppressions_free(struct suppressions *suppressions);

/* None has been used; before those of another snapshot are taken. */
void suppressions_reset(struct suppressions *suppressions);

/* Counts a use of the first that fits; false if none does. `comm` may be NULL. */
bool suppressions_take(struct suppressions *suppressions,
	const struct dump_part *part, const char *comm);

/* A line that suppresses exactly this scope. */
void suppression_write(FILE *file, const char *scope);

#endif
