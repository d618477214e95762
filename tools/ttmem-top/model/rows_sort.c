/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* In which order rows stand, which of them are shown, and their texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/process.h"
#include "common/text.h"
#include "columns.h"
#include "rows.h"

#define COMMAND_SIZE 4096u

/* -- order -------------------------------------------------------------------- */

/* What a column sorts by: a text, or a number. */
struct key {
	const char *text;
	uint64_t number;
};

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static uint64_t devices_key(const struct top_row *row)
{
	uint64_t i;

	for (i = 0; i < TOP_ROW_DEVICES; i++)
		if (row->devices[i / 64] >> (i % 64) & 1)
			break;
	return i;
}

unsigned top_column_figure(size_t column)
{
	switch (column) {
	case TOP_COLUMN_PROCESSES_DRAM:
		return TTMEM_FIGURE_DRAM;
	case TOP_COLUMN_PROCESSES_L1:
		return TTMEM_FIGURE_L1;
	case TOP_COLUMN_PROCESSES_CB:
		return TTMEM_FIGURE_CB;
	case TOP_COLUMN_PROCESSES_KERNEL_APP:
		return TTMEM_FIGURE_KERNEL_APPLICATION;
	case TOP_COLUMN_PROCESSES_KERNEL_FABRIC:
		return TTMEM_FIGURE_KERNEL_FABRIC;
	case TOP_COLUMN_PROCESSES_KERNEL_DISPATCH:
		return TTMEM_FIGURE_KERNEL_DISPATCH;
	case TOP_COLUMN_PROCESSES_L1_SMALL:
		return TTMEM_FIGURE_L1_SMALL;
	case TOP_COLUMN_PROCESSES_TRACE:
		return TTMEM_FIGURE_TRACE;
	case TOP_COLUMN_PROCESSES_SYSTEM:
		return TTMEM_FIGURE_SYSTEM_MEMORY;
	default:
		return TTMEM_FIGURES;
	}
}

static struct key key_of(const struct top_row *row, size_t column)
{
	unsigned figure = top_column_figure(column);
	struct key key = { NULL, 0 };

	if (figure < TTMEM_FIGURES) {
		key.number = row->bytes[figure];
		return key;
	}
	switch (column) {
	case TOP_COLUMN_PROCESSES_PID:
		key.number = row->pid;
		break;
	case TOP_COLUMN_PROCESSES_USER:
		key.number = row->uid;
		break;
	case TOP_COLUMN_PROCESSES_STATE:
		key.number = row->state;
		break;
	case TOP_COLUMN_PROCESSES_DEVICES:
		key.number = devices_key(row);
		break;
	case TOP_COLUMN_PROCESSES_PEAK:
		key.number = row->peak;
		break;
	case TOP_COLUMN_PROCESSES_OBJECTS:
		key.number = row->objects;
		break;
	case TOP_COLUMN_PROCESSES_EVENTS:
		key.number = row->events_per_s;
		break;
	case TOP_COLUMN_PROCESSES_CONTAINER:
		key.text = text_or_empty(row->cgroup);
		break;
	default:
		key.text = text_or_empty(
			row->cmdline_len ? row->cmdline[0] : row->comm);
	}
	return key;
}

struct order {
	size_t column;
	bool descending;
};

/* Unknown is last, whatever the order; equals go by pid and id, so that rows stay. */
static int row_compare(const void *x, const void *y, void *context)
{
	const struct top_row *a = x, *b = y;
	const struct order *order = context;
	struct key ka = key_of(a, order->column);
	struct key kb = key_of(b, order->column);
	int c;

	if (ka.text)
		c = strcmp(ka.text, kb.text);
	else if (ka.number == TTMEM_UNKNOWN || kb.number == TTMEM_UNKNOWN)
		c = (ka.number == TTMEM_UNKNOWN) - (kb.number == TTMEM_UNKNOWN);
	else
		c = ka.number < kb.number ? -1 : ka.number > kb.number;
	if (c && order->descending &&
		(ka.text ||
			(ka.number != TTMEM_UNKNOWN &&
				kb.number != TTMEM_UNKNOWN)))
		c = -c;
	if (c)
		return c;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->id.a < b->id.a ? -1 : a->id.a > b->id.a;
}

void top_rows_sort(
	struct top_row *rows, size_t len, size_t column, bool reverse)
{
	struct order order = { column, false };

	order.descending = (top_columns[column].side == TOP_SIDE_RIGHT &&
				   column != TOP_COLUMN_PROCESSES_PID) !=
		reverse;
	if (len > 1)
		qsort_r(rows, len, sizeof(*rows), row_compare, &order);
}

/* -- texts -------------------------------------------------------------------- */

const char *top_row_command(
	const struct top_row *row, bool path, char *buffer, size_t buffer_size)
{
	const char *first, *slash;
	size_t length;

	if (row->cmdline_len == 0 || path)
		return ttm_command_text(row->cmdline, row->cmdline_len,
			row->comm, buffer, buffer_size);
	first = text_or_empty(row->cmdline[0]);
	slash = strrchr(first, '/');
	ttm_text_escape(slash ? slash + 1 : first, buffer, buffer_size);
	length = strlen(buffer);
	if (row->cmdline_len > 1 && length + 2 < buffer_size) {
		buffer[length++] = ' ';
		ttm_command_text(row->cmdline + 1, row->cmdline_len - 1, NULL,
			buffer + length, buffer_size - length);
	}
	return buffer;
}

static bool bit_is_set(const struct top_row *row, size_t i)
{
	return i < TOP_ROW_DEVICES && (row->devices[i / 64] >> (i % 64) & 1);
}

/* Whether the next one in the list is displayed with the next number. */
static bool goes_on(
	const struct top_row *row, const struct top_devices *devices, size_t i)
{
	return i + 1 < devices->len && bit_is_set(row, i + 1) &&
		devices->list[i].number != TTMEM_UNKNOWN &&
		devices->list[i + 1].number == devices->list[i].number + 1;
}

const char *top_row_devices(const struct top_row *row,
	const struct top_devices *devices,
	char buffer[static TOP_DEVICES_TEXT_SIZE])
{
	size_t length = 0, i, first;

	buffer[0] = '\0';
	for (i = 0; i < devices->len &&
		length + 2 * TOP_TEXT_SIZE < TOP_DEVICES_TEXT_SIZE;
		i++) {
		if (!bit_is_set(row, i))
			continue;
		first = i;
		while (goes_on(row, devices, i))
			i++;
		length += (size_t)snprintf(buffer + length,
			TOP_DEVICES_TEXT_SIZE - length, "%s%s",
			length ? "," : "", devices->list[first].name);
		if (i > first)
			length += (size_t)snprintf(buffer + length,
				TOP_DEVICES_TEXT_SIZE - length, "-%s",
				devices->list[i].name);
	}
	if (!length)
		memcpy(buffer, "-", 2);
	return buffer;
}

/* -- filter ------------------------------------------------------------------- */

bool top_row_matches(const struct top_row *row, const char *filter)
{
	char text[COMMAND_SIZE];

	if (strcasestr(top_row_command(row, true, text, sizeof(text)), filter))
		return true;
	if (strcasestr(ttm_user_text(row->uid, text), filter) ||
		strcasestr(top_state_name(row->state), filter) ||
		strstr(ttm_count_text(row->pid, text), filter))
		return true;
	return row->cgroup && strcasestr(row->cgroup, filter);
}
