/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/*
 * Tables for spreadsheets, one line per row, each with the time of the figures: quoted as
 * RFC 4180 has it, and safe to open.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/process.h"
#include "common/text.h"
#include "report.h"

#define COMMAND_SIZE 1024u
#define TEXT_SIZE 4096u

struct sheet {
	const struct dump_report *report;
	FILE *file;
	char time[DUMP_CELL_SIZE]; /* the first cell of each row */
};

/* -- cells ---------------------------------------------------------------------------- */

/* Their wide forms, too, which some take for the same. */
static bool is_formula(const char *text)
{
	static const char *const wide[] = { "\xef\xbc\x9d", "\xef\xbc\x8b",
		"\xef\xbc\x8d", "\xef\xbc\xa0" };
	size_t i;

	for (i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		if (strncmp(text, wide[i], 3) == 0)
			return true;
	return text[0] && strchr("=+-@", text[0]);
}

/* Quoted, and with an apostrophe before what a spreadsheet would take for a formula. */
static void text_write(FILE *file, const char *text)
{
	const char *quote;

	putc_unlocked('"', file);
	if (is_formula(text))
		putc_unlocked('\'', file);
	for (; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
		fwrite_unlocked(text, 1, (size_t)(quote - text), file);
		fputs_unlocked("\"\"", file);
	}
	fputs_unlocked(text, file);
	putc_unlocked('"', file);
}

static void number_write(FILE *file, char type, uint64_t number)
{
	if (type == 'f' && number <= 1)
		fputs(number ? "true" : "false", file);
	else if (type == 'x' && number != TTMEM_UNKNOWN)
		fprintf(file, "0x%llx", (unsigned long long)number);
	else if (type == 'n' && number != TTMEM_UNKNOWN)
		fprintf(file, "%llu", (unsigned long long)number);
}

/*
 * The next cells of a row, whose first was the time; a letter of `types` for each, and
 * what is unknown is empty:
 *   s  const char *, escaped here; NULL: empty
 *   p  the same, escaped already
 *   n  uint64_t, exact
 *   x  the same in hexadecimal
 *   f  the same, 0 or 1: false or true
 */
static void cells_add(struct sheet *sheet, const char *types, ...)
{
	char safe[TEXT_SIZE];
	const char *text;
	va_list values;

	va_start(values, types);
	for (; *types; types++) {
		putc_unlocked(',', sheet->file);
		if (*types != 's' && *types != 'p') {
			number_write(
				sheet->file, *types, va_arg(values, uint64_t));
			continue;
		}
		text = va_arg(values, const char *);
		if (text && *types == 's')
			text = ttm_text_escape(text, safe, sizeof(safe));
		if (text)
			text_write(sheet->file, text);
	}
	va_end(values);
}

static void row_begin(struct sheet *sheet)
{
	text_write(sheet->file, sheet->time);
}

static void row_end(struct sheet *sheet)
{
	putc_unlocked('\n', sheet->file);
}

/* -- titles --------------------------------------------------------------------------- */

/*
 * Once for a table that goes on, with every report where several take turns. "a,b" are
 * the titles behind the time.
 */
static bool titles_begin(struct sheet *sheet)
{
	const struct dump_report *report = sheet->report;

	if (report->round != 0 && !report->options->output &&
		report->options->tables != DUMP_TABLES_ALL)
		return false;
	text_write(sheet->file, "time");
	return true;
}

static void titles_add(struct sheet *sheet, const char *titles)
{
	char title[DUMP_CELL_SIZE];
	size_t length;

	for (; *titles; titles += length + (titles[length] == ',')) {
		length = strcspn(titles, ",");
		snprintf(title, sizeof(title), "%.*s", (int)length, titles);
		cells_add(sheet, "p", title);
	}
}

/* -- figures -------------------------------------------------------------------------- */

/* Columns of a kind of memory. */
static const struct figure_column {
	const char *suffix;
	size_t offset; /* in struct ttmem_sums */
	bool of_processes;
} figure_columns[] = {
	{ "bytes", offsetof(struct ttmem_sums, live_bytes), true },
	{ "requested_bytes", offsetof(struct ttmem_sums, requested_bytes),
		true },
	{ "objects", offsetof(struct ttmem_sums, live_objects), false },
	{ "peak_bytes", offsetof(struct ttmem_sums, peak_bytes), false },
	{ "orphaned_bytes", offsetof(struct ttmem_sums, orphaned_bytes), true },
	{ "orphaned_objects", offsetof(struct ttmem_sums, orphaned_objects),
		false },
};

/*
 * A cell for each kind that is asked for, of each column: its title without `figures`, the
 * TTMEM_FIGURES of a device or a process.
 */
static void figures_add(
	struct sheet *sheet, bool of_process, const struct ttmem_sums *figures)
{
	size_t len = sizeof(figure_columns) / sizeof(figure_columns[0]), i;
	const struct figure_column *column;
	char title[DUMP_CELL_SIZE];
	unsigned f;

	for (i = 0; i < len * TTMEM_FIGURES; i++) {
		column = &figure_columns[i / TTMEM_FIGURES];
		f = (unsigned)(i % TTMEM_FIGURES);
		if (!dump_has_figure(&sheet->report->options->filter, f) ||
			(of_process && !column->of_processes))
			continue;
		snprintf(title, sizeof(title), "%s_%s",
			ttmem_name(TTMEM_NAMES_FIGURE, f), column->suffix);
		if (figures)
			cells_add(sheet, "n",
				*(const uint64_t *)((const char *)&figures[f] +
					column->offset));
		else
			cells_add(sheet, "p", title);
	}
}

/* -- devices and processes ------------------------------------------------------------ */

static void device_add(struct sheet *sheet, size_t index, uint64_t unbanked)
{
	const struct ttmem_snapshot *snapshot = sheet->report->snapshot;
	const struct ttmem_device_row *d = ttmem_snapshot_device(
		snapshot, index);
	char name[DUMP_NAME_SIZE], pci[DUMP_CELL_SIZE], headroom[32] = "";

	if (d->headroom != TTMEM_HEADROOM_UNKNOWN)
		snprintf(headroom, sizeof(headroom), "%lld",
			(long long)d->headroom);
	row_begin(sheet);
	cells_add(sheet, "snxsss",
		dump_device_name(snapshot, index, name, sizeof(name)),
		d->logical, d->chip_id,
		d->pci_address == TTMEM_UNKNOWN ?
			NULL :
			ttm_pci_text(d->pci_address, pci),
		d->arch, d->board);
	cells_add(sheet, "nnnnnnnf", d->dram_bytes, d->l1_bytes, d->dram_use,
		d->dram_peak, d->l1_tensix_use, d->l1_tensix_peak,
		d->cb_footprint, d->cb_footprint_exact);
	fprintf(sheet->file, ",%s", headroom);
	cells_add(sheet, "nnn", d->processes, d->events_per_s, unbanked);
	figures_add(sheet, false, d->figures);
	row_end(sheet);
}

static int devices_write(struct sheet *sheet)
{
	const struct dump_report *report = sheet->report;
	const struct ttmem_snapshot *snapshot = report->snapshot;
	uint64_t *unbanked = dump_unbanked_count(report);
	bool listed = ttmem_snapshot_info(snapshot)->objects_listed == 1;
	size_t i;

	if (!unbanked)
		return -ENOMEM;
	if (titles_begin(sheet)) {
		titles_add(sheet,
			"device,logical,asic_id,pci,arch,board,dram_capacity,"
			"l1_capacity,dram_use,dram_peak,l1_use,l1_peak,"
			"cb_footprint,cb_footprint_exact,headroom,processes,"
			"events_per_s,buffers_without_banks");
		figures_add(sheet, false, NULL);
		row_end(sheet);
	}
	for (i = 0; i < ttmem_snapshot_devices_len(snapshot); i++)
		if (dump_has_device(&report->selection, i))
			device_add(
				sheet, i, listed ? unbanked[i] : TTMEM_UNKNOWN);
	free(unbanked);
	return 0;
}

static void process_add(struct sheet *sheet, size_t index)
{
	const struct dump_report *report = sheet->report;
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		report->snapshot, index);
	char text[COMMAND_SIZE], name[DUMP_NAME_SIZE], user[DUMP_CELL_SIZE];

	row_begin(sheet);
	cells_add(sheet, "nnsssnnnnnn", p->pid, p->uid,
		ttm_user_text(p->uid, user),
		ttmem_name(TTMEM_NAMES_PROCESS, p->state),
		dump_process_devices(report->snapshot, index, name), p->objects,
		p->events, p->events_per_s, dump_reasons_sum(p->anomalies),
		dump_reasons_sum(p->lost_events), p->missed);
	figures_add(
		sheet, true, dump_selection_sums(&report->selection, index, 0));
	cells_add(sheet, "ssp", p->comm, p->cgroup,
		ttm_command_text(p->cmdline, p->cmdline_len, p->comm, text,
			sizeof(text)));
	row_end(sheet);
}

static void processes_write(struct sheet *sheet)
{
	const struct dump_report *report = sheet->report;
	size_t i;

	if (titles_begin(sheet)) {
		titles_add(sheet,
			"pid,uid,user,state,devices,objects,events,"
			"events_per_s,anomalies,lost_events,missed");
		figures_add(sheet, true, NULL);
		titles_add(sheet, "comm,cgroup,command");
		row_end(sheet);
	}
	for (i = 0; i < ttmem_snapshot_processes_len(report->snapshot); i++)
		if (dump_has_process(&report->selection, i))
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

	row_begin(sheet);
	cells_add(sheet, "snnsssfs", label_of(snapshot, o->place), o->devices,
		p ? p->pid : TTMEM_UNKNOWN, p ? p->comm : NULL,
		ttmem_name(TTMEM_NAMES_FIGURE, o->figure),
		ttmem_name(TTMEM_NAMES_CLASS, o->leak_class), o->orphaned,
		label_of(snapshot, o->orphaned_place));
	cells_add(sheet, "nnnnnnnxxxnss", o->bytes, o->total_bytes,
		o->requested, o->size, o->banks, o->bytes_per_bank, o->cores,
		o->id, o->address, o->program, o->age_ns, o->scope,
		o->scope_path);
	row_end(sheet);
}

static int objects_write(struct sheet *sheet)
{
	const struct dump_report *report = sheet->report;
	struct dump_part *parts;
	size_t len, i;
	int r = dump_objects_sort(&report->selection, NULL, NULL,
		report->options->top, &parts, &len);

	if (r < 0)
		return r;
	if (titles_begin(sheet)) {
		titles_add(sheet,
			"devices,device_count,pid,comm,kind,class,orphaned,"
			"orphaned_on,bytes,total_bytes,requested_bytes,size,"
			"banks,bytes_per_bank,cores,id,address,program,age_ns,"
			"scope,scope_path");
		row_end(sheet);
	}
	for (i = 0; i < len; i++)
		object_add(sheet, parts[i].object);
	free(parts);
	return 0;
}

/* What was not asked for is the same for nobody: empty. */
static void group_add(struct sheet *sheet, const struct dump_group *g)
{
	const struct ttmem_snapshot *snapshot = sheet->report->snapshot;
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		snapshot, g->process);
	unsigned keys = sheet->report->options->keys;
	char devices[DUMP_LABEL_SIZE];
	bool by_process = p && keys & DUMP_KEY_PROCESS;

	dump_place_text(snapshot, g->place, g->whole, devices);
	row_begin(sheet);
	cells_add(sheet, "snsssns", keys & DUMP_KEY_DEVICE ? devices : NULL,
		by_process ? p->pid : TTMEM_UNKNOWN,
		by_process ? p->comm : NULL,
		keys & DUMP_KEY_KIND ?
			ttmem_name(TTMEM_NAMES_FIGURE, g->figure) :
			NULL,
		keys & DUMP_KEY_CLASS ?
			ttmem_name(TTMEM_NAMES_CLASS, g->leak_class) :
			NULL,
		keys & DUMP_KEY_SIZE ? g->size : TTMEM_UNKNOWN,
		keys & DUMP_KEY_SCOPE ? g->scope : NULL);
	cells_add(sheet, "nnnnn", g->bytes, g->objects, g->devices,
		g->processes, g->age_ns);
	row_end(sheet);
}

static int groups_write(struct sheet *sheet)
{
	const struct dump_report *report = sheet->report;
	struct dump_groups groups;
	size_t i;
	int r = dump_groups_make(
		&report->selection, report->options->keys, NULL, NULL, &groups);

	if (r < 0)
		return r;
	if (titles_begin(sheet)) {
		titles_add(sheet,
			"device,pid,comm,kind,class,size,scope,bytes,objects,"
			"devices,processes,oldest_ns");
		row_end(sheet);
	}
	for (i = 0; i < groups.len && i < report->options->top; i++)
		group_add(sheet, &groups.groups[i]);
	dump_groups_free(&groups);
	return 0;
}

/* Several tables have an empty line between them. */
int dump_render_csv(const struct dump_report *report)
{
	struct sheet sheet = { .report = report, .file = report->file };
	unsigned tables = report->options->tables;
	bool several = tables == DUMP_TABLES_ALL;

	dump_time(
		ttmem_snapshot_info(report->snapshot)->realtime_ns, sheet.time);
	if (tables & DUMP_TABLE_DEVICES && devices_write(&sheet) < 0)
		return -ENOMEM;
	if (several)
		row_end(&sheet);
	if (tables & DUMP_TABLE_PROCESSES)
		processes_write(&sheet);
	if (several)
		row_end(&sheet);
	if (!(tables & DUMP_TABLE_OBJECTS))
		return 0;
	return report->options->keys ? groups_write(&sheet) :
				       objects_write(&sheet);
}
