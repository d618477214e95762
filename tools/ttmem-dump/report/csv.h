/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values as RFC 4180 quotes them, safe to open in a spreadsheet. */
#ifndef TTM_DUMP_CSV_H
#define TTM_DUMP_CSV_H

#include <stdint.h>
#include <stdio.h>

struct dump_csv {
	FILE *file;
	unsigned cells; /* in the line so far */
};

/*
 * What others wrote: escaped, quoted where need be, and with an apostrophe before
 * what a spreadsheet would take for a formula. NULL: empty.
 */
void dump_csv_text(struct dump_csv *csv, const char *text);
/* The same of a text that is escaped already. */
void dump_csv_safe(struct dump_csv *csv, const char *text);
/* Exact; unknown is empty. */
void dump_csv_number(struct dump_csv *csv, uint64_t number);
void dump_csv_signed(struct dump_csv *csv, int64_t number);
void dump_csv_hex(struct dump_csv *csv, uint64_t number);
void dump_csv_flag(struct dump_csv *csv, uint64_t flag);
void dump_csv_end(struct dump_csv *csv);

#endif
