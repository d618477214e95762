/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "ttmem-dump/cell.h"

#define CELL_SIZE 1024u

void dump_table_columns(struct dump_table *table, const char *titles)
{
	size_t length;

	for (; *titles; titles += length + (titles[length] == ',')) {
		table->right[table->columns] = *titles == '>';
		titles += *titles == '>';
		length = strcspn(titles, ",");
		snprintf(table->titles[table->columns++],
			sizeof(table->titles[0]), "%.*s", (int)length, titles);
	}
}

static void cell_add(struct dump_table *table, const char *text)
{
	char **cells = ttm_list_grow(
		table->cells, table->len, &table->room, sizeof(*cells));

	if (cells)
		table->cells = cells;
	if (cells && (cells[table->len] = strdup(text)) != NULL)
		table->len++;
	else
		table->failed = true;
}

static const char *number_text(const struct dump_table *table, char type,
	uint64_t number, char *buffer)
{
	switch (type) {
	case 'b':
		return dump_bytes(number, table->exact, buffer);
	case 'x':
		return dump_hex(number, buffer);
	case 'd':
		return dump_duration(number, buffer);
	default:
		return ttm_count_text(number, buffer);
	}
}

void dump_table_add(struct dump_table *table, const char *types, ...)
{
	char cell[CELL_SIZE];
	const char *text;
	va_list values;

	va_start(values, types);
	for (; *types; types++) {
		if (*types == 's' || *types == 'p')
			text = va_arg(values, const char *);
		else
			text = number_text(
				table, *types, va_arg(values, uint64_t), cell);
		if (*types == 's')
			text = ttm_text_escape(
				text && *text ? text : "-", cell, sizeof(cell));
		cell_add(table, text);
	}
	va_end(values);
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
