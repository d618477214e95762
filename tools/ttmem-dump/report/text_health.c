/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* What is missing, and how ttmemd is doing. */
#include "report.h"

#include "common/text.h"
#include "ttmem-dump/complete.h"

static void gap_print(void *context, const char *text)
{
	fprintf(context, "  %s\n", text);
}

/* Of one process, by reason. */
static void lost_add(const struct dump_report *report, size_t index,
	struct dump_table *table)
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		report->snapshot, index);
	char name[DUMP_NAME_SIZE];
	unsigned reason;

	dump_process_name(report->snapshot, index, name);
	for (reason = 0; reason < TTMEM_REASONS; reason++)
		if (ttm_value_or_0(p->lost_events[reason]))
			dump_table_add(table, "nbsp", p->lost_events[reason],
				p->lost_bytes[reason],
				ttmem_name(TTMEM_NAMES_LOSS, reason), name);
	if (ttm_value_or_0(p->missed))
		dump_table_add(table, "nppp", p->missed, "-",
			"missed (history only)", name);
}

/* Gaps are told whatever is filtered: what is missing could be what is asked for. */
int dump_text_losses(const struct dump_report *report)
{
	size_t len = ttmem_snapshot_processes_len(report->snapshot), i;
	struct dump_table table = { .exact = report->options->exact };

	dump_table_columns(&table, ">EVENTS,>BYTES,LOSS,PROCESS");
	for (i = 0; i < len; i++)
		if (dump_has_process(&report->selection, i))
			lost_add(report, i, &table);
	if (!table.len && !report->gaps)
		return 0;
	dump_title(report, "Losses");
	dump_gaps(report->snapshot, gap_print, report->file);
	return table.len ? dump_table_print(&table, report->file, 2) : 0;
}

static void directories_print(const struct dump_report *report)
{
	size_t len = ttmem_snapshot_directories_len(report->snapshot), i;
	const struct ttmem_directory_row *d;
	char path[256], a[DUMP_CELL_SIZE], b[DUMP_CELL_SIZE];

	for (i = 0; i < len; i++) {
		d = ttmem_snapshot_directory(report->snapshot, i);
		ttm_text_escape(d->path ? d->path : "-", path, sizeof(path));
		fprintf(report->file, "  %s: %s%s, %s attached, %s retired\n",
			path,
			d->state == TTMEM_DIRECTORY_SERVED ? "served" :
							     "not served",
			d->own == 1 ? " (yours)" : "",
			ttm_count_text(d->attached, a),
			ttm_count_text(d->retired, b));
	}
}

int dump_text_health(const struct dump_report *report)
{
	const struct ttmem_health_row *h = ttmem_snapshot_health(
		report->snapshot);
	const struct ttmem_info_row *info = ttmem_snapshot_info(
		report->snapshot);
	char a[DUMP_CELL_SIZE], b[DUMP_CELL_SIZE], c[DUMP_CELL_SIZE];
	FILE *file = report->file;

	dump_title(report, "ttmemd");
	if (!h) {
		fputs("  does not tell how it is doing\n", file);
		return 0;
	}
	fprintf(file, "  up %s, %s restarts, %s processes attached, %s%s\n",
		dump_duration(dump_ago(report->snapshot, info->started_ns), a),
		ttm_count_text(h->restarts, b), ttm_count_text(h->attached, c),
		h->inotify == 0 ? "by scanning only, " : "",
		info->mode == TTMEM_MODE_SYSTEM ? "serves everybody" :
						  "serves one user");
	fprintf(file, "  %s events read, %s missed, %s rescans",
		ttm_count_text(h->events, a), ttm_count_text(h->missed, b),
		ttm_count_text(h->scans, c));
	fprintf(file, ", mirror %s\n",
		dump_bytes(h->mirror_bytes, report->options->exact, a));
	fprintf(file, "  publication %s, last took %s, at most %s\n",
		ttm_count_text(info->publication, a),
		dump_duration(h->publish_ns, b),
		dump_duration(h->publish_max_ns, c));
	if (ttm_value_or_0(h->refused))
		fprintf(file, "  %s files refused that are no segments\n",
			ttm_count_text(h->refused, a));
	directories_print(report);
	return 0;
}
