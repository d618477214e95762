/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the tables, see columns.def. */
#ifndef TTM_TOP_COLUMNS_H
#define TTM_TOP_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

enum top_table {
	TOP_TABLE_DEVICES,
	TOP_TABLE_BREAKDOWN,
	TOP_TABLE_PROCESSES,
	TOP_TABLES
};

enum top_side {
	TOP_SIDE_LEFT,
	TOP_SIDE_RIGHT
};

/* Of one list, table after table. */
enum top_column_id {
#define COLUMN(table, id, name, title, least, most, priority, side, text)      \
	TOP_COLUMN_##table##_##id,
#include "columns.def"
#undef COLUMN
	TOP_COLUMNS
};

struct top_column_size {
	int least, most;
	int priority;
};

struct top_column {
	enum top_table table;
	const char *name;
	const char *title;
	struct top_column_size size;
	enum top_side side;
	const char *text;
};

extern const struct top_column top_columns[TOP_COLUMNS];

/* First column of a table, and how many it has. */
size_t top_table_first(enum top_table table);
size_t top_table_len(enum top_table table);

/* The column of that name; TOP_COLUMNS: none. */
size_t top_column_find(enum top_table table, const char *name);

#endif
