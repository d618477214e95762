/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* Failures, marks, anomalies: what happened rather than what is. */
#include "report.h"

static int events_print(const struct dump_report *report, const char *title,
	struct dump_table *table)
{
	if (!table->len && !table->failed)
		return 0;
	dump_title(report, "%s", title);
	return dump_table_print(table, report->file, 2);
}

int dump_text_failures(const struct dump_report *report)
{
	struct dump_table table = { .exact = report->options->exact };
	const struct ttmem_snapshot *snapshot = report->snapshot;
	char name[DUMP_NAME_SIZE], devices[DUMP_LABEL_SIZE];
	const struct ttmem_failure_row *f;
	size_t i;

	dump_table_columns(&table,
		">AGO,>BYTES,>PER BANK,>FREE/BANK,>LARGEST/BANK,KIND,DEVICES,"
		"PROCESS,SCOPE");
	for (i = 0; i < ttmem_snapshot_failures_len(snapshot); i++) {
		f = ttmem_snapshot_failure(snapshot, i);
		if (!dump_has_failure(&report->selection, f))
			continue;
		dump_table_add(&table, "dbbbbspps",
			dump_ago(snapshot, f->time_ns), f->bytes,
			f->bytes_per_bank, f->free_per_bank,
			f->largest_free_per_bank,
			ttmem_name(TTMEM_NAMES_FIGURE, f->figure),
			dump_place_text(snapshot, f->place, f->place, devices),
			dump_process_name(snapshot, f->process, name),
			f->scope);
	}
	return events_print(
		report, "Failed allocations, the last ones", &table);
}

int dump_text_marks(const struct dump_report *report)
{
	const struct ttmem_snapshot *snapshot = report->snapshot;
	struct dump_table table = { .len = 0 };
	const struct ttmem_mark_row *mark;
	char name[DUMP_NAME_SIZE];
	size_t i;

	dump_table_columns(&table, ">AGO,PROCESS,TEXT");
	for (i = 0; i < ttmem_snapshot_marks_len(snapshot); i++) {
		mark = ttmem_snapshot_mark(snapshot, i);
		if (dump_has_process(&report->selection, mark->process))
			dump_table_add(&table, "dps",
				dump_ago(snapshot, mark->time_ns),
				dump_process_name(
					snapshot, mark->process, name),
				mark->text);
	}
	return events_print(report, "Marks", &table);
}

int dump_text_anomalies(const struct dump_report *report)
{
	const struct ttmem_snapshot *snapshot = report->snapshot;
	struct dump_table table = { .len = 0 };
	const struct ttmem_process_row *p;
	char name[DUMP_NAME_SIZE];
	unsigned reason;
	size_t i;

	dump_table_columns(&table, ">COUNT,ANOMALY,PROCESS");
	for (i = 0; i < ttmem_snapshot_processes_len(snapshot); i++) {
		p = ttmem_snapshot_process(snapshot, i);
		if (!dump_has_process(&report->selection, i))
			continue;
		for (reason = 0; reason < TTMEM_REASONS; reason++)
			if (ttm_value_or_0(p->anomalies[reason]))
				dump_table_add(&table, "nsp",
					p->anomalies[reason],
					ttmem_name(TTMEM_NAMES_ANOMALY, reason),
					dump_process_name(snapshot, i, name));
	}
	return events_print(report, "Anomalies", &table);
}
