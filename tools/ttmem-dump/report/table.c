/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define CELL_SIZE 1024u

void dump_table_column(struct dump_table *table, const char *title, bool right)
{
	if (table->columns == DUMP_COLUMNS_MAX)
		return;
	table->titles[table->columns] = title;
	table->right[table->columns++] = right;
}

void dump_table_add_plain(struct dump_table *table, const char *text)
{
	size_t room = table->room ? 2 * table->room : 256;
	char **cells;

	if (table->len == table->room) {
		cells = realloc(table->cells, room * sizeof(*cells));
		if (!cells) {
			table->failed = true;
			return;
		}
		table->cells = cells;
		table->room = room;
	}
	table->cells[table->len] = strdup(text);
	if (!table->cells[table->len])
		table->failed = true;
	else
		table->len++;
}

void dump_table_add(struct dump_table *table, const char *text)
{
	char cell[CELL_SIZE];

	ttm_text_escape(text && *text ? text : "-", cell, sizeof(cell));
	dump_table_add_plain(table, cell);
}

/* Characters, as most terminals show them. */
static size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text >> 6) != 2;
	return width;
}

static void cell_print(const struct dump_table *table, FILE *file,
	size_t column, const char *text, const size_t *widths)
{
	int fill = (int)(widths[column] - text_width(text));
	bool last = column + 1 == table->columns;

	if (table->right[column])
		fprintf(file, "%*s%s", fill, "", text);
	else
		fprintf(file, "%s%*s", text, last ? 0 : fill, "");
	fputs(last ? "\n" : "  ", file);
}

int dump_table_print(struct dump_table *table, FILE *file, unsigned indent)
{
	size_t widths[DUMP_COLUMNS_MAX], i, width;
	int r = table->failed ? -ENOMEM : 0;

	for (i = 0; i < table->columns; i++)
		widths[i] = text_width(table->titles[i]);
	for (i = 0; i < table->len; i++) {
		width = text_width(table->cells[i]);
		if (width > widths[i % table->columns])
			widths[i % table->columns] = width;
	}
	for (i = 0; r == 0 && i < table->columns; i++) {
		fprintf(file, "%*s", i ? 0 : (int)indent, "");
		cell_print(table, file, i, table->titles[i], widths);
	}
	for (i = 0; r == 0 && i < table->len; i++) {
		fprintf(file, "%*s", i % table->columns ? 0 : (int)indent, "");
		cell_print(table, file, i % table->columns, table->cells[i],
			widths);
	}
	for (i = 0; i < table->len; i++)
		free(table->cells[i]);
	free(table->cells);
	memset(table, 0, sizeof(*table));
	return r;
}
