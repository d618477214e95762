/* SPDX-License-Identifier: Apache-2.0 */
/* `ttmem-dump report`: what its options say, and the forms it has. */
#ifndef TTM_DUMP_REPORT_H
#define TTM_DUMP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ttmem-dump/filter.h"
#include "ttmem-dump/out.h"
#include "ttmem-dump/source.h"

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

#endif
