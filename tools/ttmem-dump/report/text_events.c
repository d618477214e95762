/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* Failures, marks, anomalies: what happened rather than what is. */
#include "render.h"

#include <string.h>

#include "ttmem-dump/cell.h"

int dump_text_failures(const struct dump_report *report)
{
	static const char *const titles[] = { "AGO", "BYTES", "PER BANK",
		"FREE/BANK", "LARGEST/BANK", "KIND", "DEVICES", "PROCESS",
		"SCOPE" };
	size_t len = ttmem_snapshot_failures_len(report->snapshot), i, n = 0;
	char cell[DUMP_CELL_SIZE], name[DUMP_NAME_SIZE];
	char devices[DUMP_LABEL_SIZE];
	const struct ttmem_failure_row *f;
	struct dump_table table;

	memset(&table, 0, sizeof(table));
	for (i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		dump_table_column(&table, titles[i], i < 5);
	for (i = 0; i < len; i++) {
		f = ttmem_snapshot_failure(report->snapshot, i);
		if (!dump_selection_has_failure(&report->selection, f))
			continue;
		if (n++ == 0)
			dump_title(report, "Failed allocations, the last ones");
		dump_table_add_plain(&table,
			dump_duration(
				dump_ago(report->snapshot, f->time_ns), cell));
		dump_add_bytes(report, &table, f->bytes);
		dump_add_bytes(report, &table, f->bytes_per_bank);
		dump_add_bytes(report, &table, f->free_per_bank);
		dump_add_bytes(report, &table, f->largest_free_per_bank);
		dump_table_add(
			&table, ttmem_name(TTMEM_NAMES_FIGURE, f->figure));
		dump_table_add_plain(&table,
			dump_place_text(
				report->snapshot, f->place, f->place, devices));
		dump_table_add_plain(&table,
			dump_process_name(report->snapshot, f->process, name));
		dump_table_add(&table, f->scope);
	}
	if (n)
		return dump_table_print(&table, report->file, 2);
	return 0;
}

int dump_text_marks(const struct dump_report *report)
{
	size_t len = ttmem_snapshot_marks_len(report->snapshot), i, n = 0;
	char cell[DUMP_CELL_SIZE], name[DUMP_NAME_SIZE];
	const struct ttmem_mark_row *mark;
	struct dump_table table;

	memset(&table, 0, sizeof(table));
	dump_table_column(&table, "AGO", true);
	dump_table_column(&table, "PROCESS", false);
	dump_table_column(&table, "TEXT", false);
	for (i = 0; i < len; i++) {
		mark = ttmem_snapshot_mark(report->snapshot, i);
		if (!dump_selection_has_process(
			    &report->selection, mark->process))
			continue;
		if (n++ == 0)
			dump_title(report, "Marks");
		dump_table_add_plain(&table,
			dump_duration(dump_ago(report->snapshot, mark->time_ns),
				cell));
		dump_table_add_plain(&table,
			dump_process_name(
				report->snapshot, mark->process, name));
		dump_table_add(&table, mark->text);
	}
	if (n)
		return dump_table_print(&table, report->file, 2);
	return 0;
}

int dump_text_anomalies(const struct dump_report *report)
{
	size_t len = ttmem_snapshot_processes_len(report->snapshot), i, n = 0;
	const struct ttmem_process_row *p;
	struct dump_table table;
	char name[DUMP_NAME_SIZE];
	unsigned reason;

	memset(&table, 0, sizeof(table));
	dump_table_column(&table, "COUNT", true);
	dump_table_column(&table, "ANOMALY", false);
	dump_table_column(&table, "PROCESS", false);
	for (i = 0; i < len; i++) {
		p = ttmem_snapshot_process(report->snapshot, i);
		for (reason = 0; reason < TTMEM_REASONS; reason++) {
			if (p->anomalies[reason] == 0 ||
				p->anomalies[reason] == TTMEM_UNKNOWN ||
				!dump_selection_has_process(
					&report->selection, i))
				continue;
			if (n++ == 0)
				dump_title(report, "Anomalies");
			dump_add_count(&table, p->anomalies[reason]);
			dump_table_add(&table,
				ttmem_name(TTMEM_NAMES_ANOMALY, reason));
			dump_table_add_plain(&table,
				dump_process_name(report->snapshot, i, name));
		}
	}
	if (n)
		return dump_table_print(&table, report->file, 2);
	return 0;
}
