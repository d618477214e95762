/* SPDX-License-Identifier: Apache-2.0 */
/* `ttmem-dump report`: what its options say, and the forms it has. */
#ifndef TTM_DUMP_REPORT_H
#define TTM_DUMP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/process.h"
#include "ttmem-dump/cell.h"
#include "ttmem-dump/filter.h"
#include "ttmem-dump/out.h"
#include "ttmem-dump/source.h"
#include "group.h"

enum dump_tables {
	DUMP_TABLE_DEVICES = 1,
	DUMP_TABLE_PROCESSES = 2,
	DUMP_TABLE_OBJECTS = 4,
	DUMP_TABLES_ALL = 7,
};

struct dump_report_options {
	struct dump_where where;
	struct dump_filter filter;
	enum dump_format format;
	const char *output; /* NULL: stdout */
	unsigned tables;    /* enum dump_tables, for CSV; 0: not given */
	unsigned keys;      /* enum dump_key; 0: not grouped */
	size_t top;         /* how many objects or groups */
	bool exact;         /* --bytes */
	uint64_t watch_ns;  /* 0: once */
	uint64_t count;     /* 0: without end */
};

/* One snapshot on its way out. */
struct dump_report {
	const struct dump_report_options *options;
	const struct ttmem_snapshot *snapshot;
	const struct dump_worth *worth;
	struct dump_selection selection;
	uint64_t gaps;  /* dump_gaps() */
	uint64_t round; /* from 0 */
	FILE *file;
};

/* Returns 0 or a negative errno; what could not be written shows in ferror(). */
int dump_render_text(const struct dump_report *report);
int dump_render_json(const struct dump_report *report);
int dump_render_csv(const struct dump_report *report);

/* -- columns ------------------------------------------------------- */

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

/* -- parts of a text report ------------------------------------------------------- */

#define DUMP_NAME_SIZE TTM_PROCESS_NAME_SIZE

/* Each prints nothing if there is nothing to tell. Return 0 or -ENOMEM. */
int dump_text_devices(const struct dump_report *report);
int dump_text_processes(const struct dump_report *report);
int dump_text_retired(const struct dump_report *report);
int dump_text_objects(const struct dump_report *report);
int dump_text_failures(const struct dump_report *report);
int dump_text_marks(const struct dump_report *report);
int dump_text_anomalies(const struct dump_report *report);
int dump_text_losses(const struct dump_report *report);
int dump_text_health(const struct dump_report *report);

/*
 * By device: how many of its live buffers have no bank figures, as far as objects are
 * listed. NULL: no memory. free() it.
 */
uint64_t *dump_unbanked_count(const struct dump_report *report);

/* A title with a blank line before it. */
__attribute__((format(printf, 2, 3))) void dump_title(
	const struct dump_report *report, const char *format, ...);

/* "python3[1234]", escaped; "-" for no process. */
const char *dump_process_name(const struct ttmem_snapshot *snapshot,
	uint64_t index, char buffer[static DUMP_NAME_SIZE]);

/* Whether it is gone: exited or died. */
bool dump_process_is_dead(const struct ttmem_process_row *process);

/* Logical ids of the devices that a process has to do with: "0,2". */
const char *dump_process_devices(const struct ttmem_snapshot *snapshot,
	uint64_t process, char buffer[static DUMP_NAME_SIZE]);

#endif
