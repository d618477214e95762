/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* Who uses the devices, and who did. */
#include "report.h"

#include "common/process.h"

#define COMMAND_SIZE 200u

/* Dead processes are listed if they left something that is not acknowledged. */
static bool process_is_listed(
	const struct dump_report *report, size_t index, bool retired)
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		report->snapshot, index);

	if (!dump_has_process(&report->selection, index) ||
		dump_process_is_dead(p) != retired)
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
			if (dump_has_figure(&report->options->filter, f) &&
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
		sums = dump_selection_sums(&report->selection, index, f);
		if (used >> f & 1)
			dump_table_add(table, "b",
				retired ? sums->orphaned_bytes :
					  sums->live_bytes);
	}
}

static void figures_columns(struct dump_table *table, uint32_t used)
{
	static const char *const titles[TTMEM_FIGURES] = { ">DRAM", ">L1",
		">SYSTEM", ">L1_SMALL", ">TRACE", ">CB", ">KERNEL_APP",
		">KERNEL_FABRIC", ">KERNEL_DISP" };
	unsigned f;

	for (f = 0; f < TTMEM_FIGURES; f++)
		if (used >> f & 1)
			dump_table_columns(table, titles[f]);
}

static void process_add(const struct dump_report *report, uint32_t used,
	size_t index, bool retired, struct dump_table *table)
{
	const struct ttmem_snapshot *snapshot = report->snapshot;
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		snapshot, index);
	char command[COMMAND_SIZE], name[DUMP_NAME_SIZE], user[DUMP_CELL_SIZE];

	dump_table_add(table, "npsp", p->pid, ttm_user_text(p->uid, user),
		ttmem_name(TTMEM_NAMES_PROCESS, p->state),
		dump_process_devices(snapshot, index, name));
	if (retired)
		dump_table_add(table, "dn", dump_ago(snapshot, p->retired_ns),
			ttm_value_add(p->objects, p->unlisted));
	figures_add(report, used, index, retired, table);
	if (retired)
		dump_table_add(table, "n", p->in_flight);
	else
		dump_table_add(table, "nnnnnp", p->objects, p->events_per_s,
			dump_reasons_sum(p->anomalies),
			dump_reasons_sum(p->lost_events), p->missed,
			ttm_container_text(p->cgroup, name, sizeof(name)));
	dump_table_add(table, "p",
		ttm_command_text(p->cmdline, p->cmdline_len, p->comm, command,
			sizeof(command)));
}

static int processes_print(const struct dump_report *report, bool retired)
{
	struct dump_table table = { .exact = report->options->exact };
	uint32_t used = figures_used(report, retired);
	size_t i;

	dump_table_columns(&table, ">PID,USER,STATE,DEVICES");
	dump_table_columns(&table, retired ? ">AGO,>LEFT" : "");
	figures_columns(&table, used);
	dump_table_columns(&table,
		retired ? ">IN FLIGHT,COMMAND" :
			  ">OBJECTS,>EVENTS/S,>ANOMALIES,>LOST,>MISSED,"
			  "CONTAINER,COMMAND");
	for (i = 0; i < ttmem_snapshot_processes_len(report->snapshot); i++)
		if (process_is_listed(report, i, retired))
			process_add(report, used, i, retired, &table);
	return dump_table_print(&table, report->file, 2);
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
	size_t len = processes_count(report, false);

	dump_title(report, "Processes: %zu", len);
	return len ? processes_print(report, false) : 0;
}

int dump_text_retired(const struct dump_report *report)
{
	size_t len = processes_count(report, true), all = 0, acked = 0, i;
	const struct ttmem_process_row *p;
	char note[64] = "";

	for (i = 0; i < ttmem_snapshot_processes_len(report->snapshot); i++) {
		p = ttmem_snapshot_process(report->snapshot, i);
		if (!dump_has_process(&report->selection, i) ||
			!dump_process_is_dead(p))
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
	return len ? processes_print(report, true) : 0;
}
