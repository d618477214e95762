/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* Who uses the devices, and who did. */
#include "render.h"

#include <string.h>

#include "ttmem-dump/cell.h"
#include "common/text.h"

#define COMMAND_SIZE 200u

static const char *const figure_titles[TTMEM_FIGURES] = { "DRAM", "L1",
	"SYSTEM", "L1_SMALL", "TRACE", "CB", "KERNEL_APP", "KERNEL_FABRIC",
	"KERNEL_DISP" };

/* Dead processes are listed if they left something that is not acknowledged. */
static bool process_is_listed(
	const struct dump_report *report, size_t index, bool retired)
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		report->snapshot, index);

	if (!dump_selection_has_process(&report->selection, index) ||
		dump_process_is_retired(p) != retired)
		return false;
	if (!retired || p->in_flight)
		return true;
	return (p->objects || p->unlisted) && p->acknowledged != 1;
}

/* Columns of zeros only would push the command off the screen. */
static uint32_t figures_used(const struct dump_report *report, bool retired)
{
	size_t len = ttmem_snapshot_processes_len(report->snapshot), i;
	const struct ttmem_sums *sums;
	uint32_t used = 0;
	unsigned f;

	for (i = 0; i < len; i++) {
		if (!process_is_listed(report, i, retired))
			continue;
		for (f = 0; f < TTMEM_FIGURES; f++) {
			sums = dump_selection_sums(&report->selection, i, f);
			if (dump_filter_has_figure(
				    &report->options->filter, f) &&
				(retired ? sums->orphaned_bytes :
					   sums->live_bytes))
				used |= 1u << f;
		}
	}
	return used;
}

static void figures_add(const struct dump_report *report, uint32_t used,
	size_t index, bool retired, struct dump_table *table)
{
	const struct ttmem_sums *sums;
	unsigned f;

	for (f = 0; f < TTMEM_FIGURES; f++) {
		if (!(used >> f & 1))
			continue;
		sums = dump_selection_sums(&report->selection, index, f);
		dump_add_bytes(report, table,
			retired ? sums->orphaned_bytes : sums->live_bytes);
	}
}

static void identity_add(const struct dump_report *report, size_t index,
	struct dump_table *table)
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		report->snapshot, index);
	char cell[DUMP_CELL_SIZE], name[DUMP_NAME_SIZE];

	dump_add_count(table, p->pid);
	dump_table_add_plain(table, ttm_user_text(p->uid, cell));
	dump_table_add(table, ttmem_name(TTMEM_NAMES_PROCESS, p->state));
	dump_table_add_plain(
		table, dump_process_devices(report->snapshot, index, name));
}

static void process_add(const struct dump_report *report, uint32_t used,
	size_t index, struct dump_table *table)
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		report->snapshot, index);
	char command[COMMAND_SIZE], name[DUMP_NAME_SIZE];

	identity_add(report, index, table);
	figures_add(report, used, index, false, table);
	dump_add_count(table, p->objects);
	dump_add_count(table, p->events_per_s);
	dump_add_count(table, dump_reasons_sum(p->anomalies));
	dump_add_count(table, dump_reasons_sum(p->lost_events));
	dump_add_count(table, p->missed);
	dump_table_add_plain(table, dump_container(p->cgroup, name));
	dump_table_add_plain(
		table, dump_command_line(p, command, sizeof(command)));
}

static void identity_columns(struct dump_table *table)
{
	dump_table_column(table, "PID", true);
	dump_table_column(table, "USER", false);
	dump_table_column(table, "STATE", false);
	dump_table_column(table, "DEVICES", false);
}

static void figures_columns(struct dump_table *table, uint32_t used)
{
	unsigned f;

	for (f = 0; f < TTMEM_FIGURES; f++)
		if (used >> f & 1)
			dump_table_column(table, figure_titles[f], true);
}

static size_t processes_count(const struct dump_report *report, bool retired)
{
	size_t len = ttmem_snapshot_processes_len(report->snapshot), i, n = 0;

	for (i = 0; i < len; i++)
		n += process_is_listed(report, i, retired);
	return n;
}

int dump_text_processes(const struct dump_report *report)
{
	static const char *const titles[] = { "OBJECTS", "EVENTS/S",
		"ANOMALIES", "LOST", "MISSED" };
	size_t len = processes_count(report, false), i;
	struct dump_table table;
	uint32_t used;

	dump_title(report, "Processes: %zu", len);
	if (len == 0)
		return 0;
	memset(&table, 0, sizeof(table));
	used = figures_used(report, false);
	identity_columns(&table);
	figures_columns(&table, used);
	for (i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		dump_table_column(&table, titles[i], true);
	dump_table_column(&table, "CONTAINER", false);
	dump_table_column(&table, "COMMAND", false);
	for (i = 0; i < ttmem_snapshot_processes_len(report->snapshot); i++)
		if (process_is_listed(report, i, false))
			process_add(report, used, i, &table);
	return dump_table_print(&table, report->file, 2);
}

/* -- those that are gone ------------------------------------------------------------ */

static void retired_add(const struct dump_report *report, uint32_t used,
	size_t index, struct dump_table *table)
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		report->snapshot, index);
	char command[COMMAND_SIZE], cell[DUMP_CELL_SIZE];

	identity_add(report, index, table);
	dump_table_add_plain(table,
		dump_duration(dump_ago(report->snapshot, p->retired_ns), cell));
	dump_add_count(table, ttm_value_add(p->objects, p->unlisted));
	figures_add(report, used, index, true, table);
	dump_add_count(table, p->in_flight);
	dump_table_add_plain(
		table, dump_command_line(p, command, sizeof(command)));
}

int dump_text_retired(const struct dump_report *report)
{
	size_t len = processes_count(report, true), all = 0, acked = 0, i;
	const struct ttmem_process_row *p;
	struct dump_table table;
	char note[64] = "";
	uint32_t used;

	for (i = 0; i < ttmem_snapshot_processes_len(report->snapshot); i++) {
		p = ttmem_snapshot_process(report->snapshot, i);
		if (!dump_selection_has_process(&report->selection, i) ||
			!dump_process_is_retired(p))
			continue;
		all++;
		acked += p->acknowledged == 1;
	}
	if (all == 0)
		return 0;
	if (acked)
		snprintf(note, sizeof(note), ", %zu acknowledged", acked);
	dump_title(report, "Retired processes: %zu, %zu left something%s", all,
		len, note);
	if (len == 0)
		return 0;
	memset(&table, 0, sizeof(table));
	used = figures_used(report, true);
	identity_columns(&table);
	dump_table_column(&table, "AGO", true);
	dump_table_column(&table, "LEFT", true);
	figures_columns(&table, used);
	dump_table_column(&table, "IN FLIGHT", true);
	dump_table_column(&table, "COMMAND", false);
	for (i = 0; i < ttmem_snapshot_processes_len(report->snapshot); i++)
		if (process_is_listed(report, i, true))
			retired_add(report, used, i, &table);
	return dump_table_print(&table, report->file, 2);
}
