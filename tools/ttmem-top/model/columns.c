/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "columns.h"

#include <string.h>

const struct top_column top_columns[TOP_COLUMNS] = {
#define COLUMN(table, id, name, title, least, most, priority, side, text)      \
	{ TOP_TABLE_##table, name, title, { least, most, priority },           \
		TOP_SIDE_##side, text },
#include "columns.def"
#undef COLUMN
};

size_t top_table_first(enum top_table table)
{
	size_t i;

	for (i = 0; i < TOP_COLUMNS && top_columns[i].table != table; i++)
		;
	return i;
}

size_t top_table_len(enum top_table table)
{
	size_t i, len = 0;

	for (i = 0; i < TOP_COLUMNS; i++)
		len += top_columns[i].table == table;
	return len;
}

size_t top_column_find(enum top_table table, const char *name)
{
	size_t i;

	for (i = 0; i < TOP_COLUMNS; i++)
		if (top_columns[i].table == table &&
			strcmp(top_columns[i].name, name) == 0)
			break;
	return i;
}
