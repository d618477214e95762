/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* Tables for spreadsheets, one line per row, each with the time of the figures. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ttmem-dump/cell.h"
#include "csv.h"
#include "render.h"

#define COMMAND_SIZE 1024u

struct sheet {
	const struct dump_report *report;
	struct dump_csv csv;
	char time[DUMP_CELL_SIZE];
};

static void titles_add(
	struct sheet *sheet, const char *const *titles, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		dump_csv_text(&sheet->csv, titles[i]);
}

#define TITLES_ADD(sheet, titles)                                              \
	titles_add(sheet, titles, sizeof(titles) / sizeof((titles)[0]))

/* A column for each kind that is asked for. */
static void figures_titles(struct sheet *sheet, const char *suffix)
{
	char title[DUMP_CELL_SIZE];
	unsigned f;

	for (f = 0; f < TTMEM_FIGURES; f++) {
		if (!dump_filter_has_figure(&sheet->report->options->filter, f))
			continue;
		snprintf(title, sizeof(title), "%s_%s",
			ttmem_name(TTMEM_NAMES_FIGURE, f), suffix);
		dump_csv_text(&sheet->csv, title);
	}
}

/* Once for a table that goes on, with every report where several take turns. */
static bool has_titles(const struct sheet *sheet)
{
	return sheet->report->round == 0 || sheet->report->options->output ||
		sheet->report->options->tables == DUMP_TABLES_ALL;
}

/* -- devices -------------------------------------------------------------------------- */

static void devices_titles(struct sheet *sheet)
{
	static const char *const titles[] = { "time", "device", "logical",
		"asic_id", "pci", "arch", "board", "dram_capacity",
		"l1_capacity", "dram_use", "dram_peak", "l1_use", "l1_peak",
		"cb_footprint", "cb_footprint_exact", "headroom", "processes",
		"events_per_s", "buffers_without_banks" };

	TITLES_ADD(sheet, titles);
	figures_titles(sheet, "bytes");
	figures_titles(sheet, "requested_bytes");
	figures_titles(sheet, "objects");
	figures_titles(sheet, "peak_bytes");
	figures_titles(sheet, "orphaned_bytes");
	figures_titles(sheet, "orphaned_objects");
	dump_csv_end(&sheet->csv);
}

enum sum {
	SUM_BYTES,
	SUM_REQUESTED,
	SUM_OBJECTS,
	SUM_PEAK,
	SUM_ORPHANED_BYTES,
	SUM_ORPHANED_OBJECTS,
	SUMS,
};

static uint64_t sum_of(const struct ttmem_sums *sums, unsigned sum)
{
	switch (sum) {
	case SUM_BYTES:
		return sums->live_bytes;
	case SUM_REQUESTED:
		return sums->requested_bytes;
	case SUM_OBJECTS:
		return sums->live_objects;
	case SUM_PEAK:
		return sums->peak_bytes;
	case SUM_ORPHANED_BYTES:
		return sums->orphaned_bytes;
	default:
		return sums->orphaned_objects;
	}
}

static void device_add(
	struct sheet *sheet, size_t index, const uint64_t *unbanked)
{
	const struct dump_report *report = sheet->report;
	const struct ttmem_device_row *d = ttmem_snapshot_device(
		report->snapshot, index);
	struct dump_csv *csv = &sheet->csv;
	char name[DUMP_NAME_SIZE], pci[DUMP_CELL_SIZE];
	unsigned f, sum;

	dump_csv_text(csv, sheet->time);
	dump_csv_text(csv,
		dump_device_name(report->snapshot, index, name, sizeof(name)));
	dump_csv_number(csv, d->logical);
	dump_csv_hex(csv, d->chip_id);
	dump_csv_text(csv,
		d->pci_address == TTMEM_UNKNOWN ?
			NULL :
			ttm_pci_text(d->pci_address, pci));
	dump_csv_text(csv, d->arch);
	dump_csv_text(csv, d->board);
	dump_csv_number(csv, d->dram_bytes);
	dump_csv_number(csv, d->l1_bytes);
	dump_csv_number(csv, d->dram_use);
	dump_csv_number(csv, d->dram_peak);
	dump_csv_number(csv, d->l1_tensix_use);
	dump_csv_number(csv, d->l1_tensix_peak);
	dump_csv_number(csv, d->cb_footprint);
	dump_csv_flag(csv, d->cb_footprint_exact);
	dump_csv_signed(csv, d->headroom);
	dump_csv_number(csv, d->processes);
	dump_csv_number(csv, d->events_per_s);
	dump_csv_number(csv,
		ttmem_snapshot_info(report->snapshot)->objects_listed == 1 ?
			unbanked[index] :
			TTMEM_UNKNOWN);
	for (sum = 0; sum < SUMS; sum++)
		for (f = 0; f < TTMEM_FIGURES; f++)
			if (dump_filter_has_figure(&report->options->filter, f))
				dump_csv_number(
					csv, sum_of(&d->figures[f], sum));
	dump_csv_end(csv);
}

static int devices_write(struct sheet *sheet)
{
	const struct dump_report *report = sheet->report;
	uint64_t *unbanked = dump_unbanked_count(report);
	size_t i;

	if (!unbanked)
		return -ENOMEM;
	if (has_titles(sheet))
		devices_titles(sheet);
	for (i = 0; i < ttmem_snapshot_devices_len(report->snapshot); i++)
		if (dump_selection_has_device(&report->selection, i))
			device_add(sheet, i, unbanked);
	free(unbanked);
	return 0;
}

/* -- processes ------------------------------------------------------------------------ */

static const enum sum process_sums[] = { SUM_BYTES, SUM_REQUESTED,
	SUM_ORPHANED_BYTES };

static void process_add(struct sheet *sheet, size_t index)
{
	const struct dump_report *report = sheet->report;
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		report->snapshot, index);
	struct dump_csv *csv = &sheet->csv;
	char text[COMMAND_SIZE], name[DUMP_NAME_SIZE], user[DUMP_CELL_SIZE];
	const struct ttmem_sums *sums;
	unsigned f, sum;

	dump_csv_text(csv, sheet->time);
	dump_csv_number(csv, p->pid);
	dump_csv_number(csv, p->uid);
	dump_csv_text(csv, ttm_user_text(p->uid, user));
	dump_csv_text(csv, ttmem_name(TTMEM_NAMES_PROCESS, p->state));
	dump_csv_text(csv, dump_process_devices(report->snapshot, index, name));
	dump_csv_number(csv, p->objects);
	dump_csv_number(csv, p->events);
	dump_csv_number(csv, p->events_per_s);
	dump_csv_number(csv, dump_reasons_sum(p->anomalies));
	dump_csv_number(csv, dump_reasons_sum(p->lost_events));
	dump_csv_number(csv, p->missed);
	for (sum = 0; sum < sizeof(process_sums) / sizeof(process_sums[0]);
		sum++)
		for (f = 0; f < TTMEM_FIGURES; f++) {
			if (!dump_filter_has_figure(
				    &report->options->filter, f))
				continue;
			sums = dump_selection_sums(
				&report->selection, index, f);
			dump_csv_number(csv, sum_of(sums, process_sums[sum]));
		}
	dump_csv_text(csv, p->comm);
	dump_csv_text(csv, p->cgroup);
	dump_csv_safe(csv, dump_command_line(p, text, sizeof(text)));
	dump_csv_end(csv);
}

static void processes_write(struct sheet *sheet)
{
	static const char *const titles[] = { "time", "pid", "uid", "user",
		"state", "devices", "objects", "events", "events_per_s",
		"anomalies", "lost_events", "missed" };
	static const char *const last[] = { "comm", "cgroup", "command" };
	const struct dump_report *report = sheet->report;
	size_t i;

	if (has_titles(sheet)) {
		TITLES_ADD(sheet, titles);
		figures_titles(sheet, "bytes");
		figures_titles(sheet, "requested_bytes");
		figures_titles(sheet, "orphaned_bytes");
		TITLES_ADD(sheet, last);
		dump_csv_end(&sheet->csv);
	}
	for (i = 0; i < ttmem_snapshot_processes_len(report->snapshot); i++)
		if (dump_selection_has_process(&report->selection, i))
			process_add(sheet, i);
}

/* -- objects -------------------------------------------------------------------------- */

static const char *label_of(
	const struct ttmem_snapshot *snapshot, uint64_t place)
{
	const struct ttmem_place_row *row = ttmem_snapshot_place(
		snapshot, place);

	return row ? row->label : NULL;
}

static void object_add(struct sheet *sheet, const struct ttmem_object_row *o)
{
	const struct ttmem_snapshot *snapshot = sheet->report->snapshot;
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		snapshot, o->process);
	struct dump_csv *csv = &sheet->csv;

	dump_csv_text(csv, sheet->time);
	dump_csv_text(csv, label_of(snapshot, o->place));
	dump_csv_number(csv, o->devices);
	dump_csv_number(csv, p ? p->pid : TTMEM_UNKNOWN);
	dump_csv_text(csv, p ? p->comm : NULL);
	dump_csv_text(csv, ttmem_name(TTMEM_NAMES_FIGURE, o->figure));
	dump_csv_text(csv, ttmem_name(TTMEM_NAMES_CLASS, o->leak_class));
	dump_csv_flag(csv, o->orphaned);
	dump_csv_text(csv, label_of(snapshot, o->orphaned_place));
	dump_csv_number(csv, o->bytes);
	dump_csv_number(csv, o->total_bytes);
	dump_csv_number(csv, o->requested);
	dump_csv_number(csv, o->size);
	dump_csv_number(csv, o->banks);
	dump_csv_number(csv, o->bytes_per_bank);
	dump_csv_number(csv, o->cores);
	dump_csv_hex(csv, o->id);
	dump_csv_hex(csv, o->address);
	dump_csv_hex(csv, o->program);
	dump_csv_number(csv, o->age_ns);
	dump_csv_text(csv, o->scope);
	dump_csv_text(csv, o->scope_path);
	dump_csv_end(csv);
}

static int objects_write(struct sheet *sheet)
{
	static const char *const titles[] = { "time", "devices", "device_count",
		"pid", "comm", "kind", "class", "orphaned", "orphaned_on",
		"bytes", "total_bytes", "requested_bytes", "size", "banks",
		"bytes_per_bank", "cores", "id", "address", "program", "age_ns",
		"scope", "scope_path" };
	const struct dump_report *report = sheet->report;
	struct dump_part *parts;
	size_t len, i;
	int r = dump_objects_sort(&report->selection, NULL, NULL,
		report->options->top, &parts, &len);

	if (r < 0)
		return r;
	if (has_titles(sheet)) {
		TITLES_ADD(sheet, titles);
		dump_csv_end(&sheet->csv);
	}
	for (i = 0; i < len; i++)
		object_add(sheet, parts[i].object);
	free(parts);
	return 0;
}

/* What was not asked for is the same for nobody: empty. */
static void group_add(struct sheet *sheet, const struct dump_group *group)
{
	const struct ttmem_snapshot *snapshot = sheet->report->snapshot;
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		snapshot, group->process);
	unsigned keys = sheet->report->options->keys;
	struct dump_csv *csv = &sheet->csv;
	char devices[DUMP_LABEL_SIZE];
	bool by_process = p && keys & DUMP_KEY_PROCESS;

	dump_csv_text(csv, sheet->time);
	dump_place_text(snapshot, group->place, group->whole, devices);
	dump_csv_text(csv, keys & DUMP_KEY_DEVICE ? devices : NULL);
	dump_csv_number(csv, by_process ? p->pid : TTMEM_UNKNOWN);
	dump_csv_text(csv, by_process ? p->comm : NULL);
	dump_csv_text(csv,
		keys & DUMP_KEY_KIND ?
			ttmem_name(TTMEM_NAMES_FIGURE, group->figure) :
			NULL);
	dump_csv_text(csv,
		keys & DUMP_KEY_CLASS ?
			ttmem_name(TTMEM_NAMES_CLASS, group->leak_class) :
			NULL);
	dump_csv_number(
		csv, keys & DUMP_KEY_SIZE ? group->size : TTMEM_UNKNOWN);
	dump_csv_text(csv, keys & DUMP_KEY_SCOPE ? group->scope : NULL);
	dump_csv_number(csv, group->bytes);
	dump_csv_number(csv, group->objects);
	dump_csv_number(csv, group->devices);
	dump_csv_number(csv, group->processes);
	dump_csv_number(csv, group->age_ns);
	dump_csv_end(csv);
}

static int groups_write(struct sheet *sheet)
{
	static const char *const titles[] = { "time", "device", "pid", "comm",
		"kind", "class", "size", "scope", "bytes", "objects", "devices",
		"processes", "oldest_ns" };
	const struct dump_report *report = sheet->report;
	struct dump_groups groups;
	size_t i;
	int r = dump_groups_make(
		&report->selection, report->options->keys, NULL, NULL, &groups);

	if (r < 0)
		return r;
	if (has_titles(sheet)) {
		TITLES_ADD(sheet, titles);
		dump_csv_end(&sheet->csv);
	}
	for (i = 0; i < groups.len && i < report->options->top; i++)
		group_add(sheet, &groups.groups[i]);
	dump_groups_free(&groups);
	return 0;
}

/* Several tables have an empty line between them. */
int dump_render_csv(const struct dump_report *report)
{
	struct sheet sheet = { .report = report, .csv = { report->file, 0 } };
	unsigned tables = report->options->tables;
	bool several = tables == DUMP_TABLES_ALL;

	dump_time(
		ttmem_snapshot_info(report->snapshot)->realtime_ns, sheet.time);
	if (tables & DUMP_TABLE_DEVICES && devices_write(&sheet) < 0)
		return -ENOMEM;
	if (several)
		dump_csv_end(&sheet.csv);
	if (tables & DUMP_TABLE_PROCESSES)
		processes_write(&sheet);
	if (several)
		dump_csv_end(&sheet.csv);
	if (!(tables & DUMP_TABLE_OBJECTS))
		return 0;
	return report->options->keys ? groups_write(&sheet) :
				       objects_write(&sheet);
}
