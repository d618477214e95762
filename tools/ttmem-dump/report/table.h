/* SPDX-License-Identifier: Apache-2.0 */
/* Columns for people: as wide as what is in them. */
#ifndef TTM_DUMP_TABLE_H
#define TTM_DUMP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define DUMP_COLUMNS_MAX 24u

struct dump_table {
	char **cells; /* NULL: "-" */
	size_t len;
	size_t room;
	size_t columns;
	const char *titles[DUMP_COLUMNS_MAX];
	bool right[DUMP_COLUMNS_MAX];
	bool failed; /* no memory: dump_table_print() says so */
};

/* Zeroed to begin with; columns before cells. */
void dump_table_column(struct dump_table *table, const char *title, bool right);

/* The next cell, row by row; copied and escaped. NULL or "": "-". */
void dump_table_add(struct dump_table *table, const char *text);

/* The same as it is: spaces at its start are kept, "" is an empty cell. */
void dump_table_add_plain(struct dump_table *table, const char *text);

/* Prints and empties it. Returns 0 or -ENOMEM. */
int dump_table_print(struct dump_table *table, FILE *file, unsigned indent);

#endif
