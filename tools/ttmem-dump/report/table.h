/* SPDX-License-Identifier: Apache-2.0 */
/* Columns for people: as wide as what is in them. */
#ifndef TTM_DUMP_TABLE_H
#define TTM_DUMP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define DUMP_COLUMNS_MAX 24u

/* Zeroed to begin with. */
struct dump_table {
	bool exact;   /* bytes as numbers */
	char **cells; /* NULL: "-" */
	size_t len;
	size_t room;
	size_t columns;
	char titles[DUMP_COLUMNS_MAX][24];
	bool right[DUMP_COLUMNS_MAX];
	bool failed; /* no memory: dump_table_print() says so */
};

/* Adds columns, before any cell: "PID,>BYTES", those behind > aligned to the right. */
void dump_table_columns(struct dump_table *table, const char *titles);

/*
 * Adds the next cells, row by row; a letter of `types` for each:
 *   s  const char *: copied and escaped; NULL or "" is "-"
 *   p  const char *: as it is, spaces at its start too
 *   b  uint64_t: bytes
 *   n  uint64_t: a number
 *   x  uint64_t: in hexadecimal
 *   d  uint64_t: a duration in ns
 */
void dump_table_add(struct dump_table *table, const char *types, ...);

/* Prints and empties it. Returns 0 or -ENOMEM. */
int dump_table_print(struct dump_table *table, FILE *file, unsigned indent);

#endif
