/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "report.h"

#include <stdarg.h>
#include <string.h>

#include "common/text.h"

void dump_title(const struct dump_report *report, const char *format, ...)
{
	va_list arguments;

	fputc('\n', report->file);
	va_start(arguments, format);
	vfprintf(report->file, format, arguments);
	va_end(arguments);
	fputc('\n', report->file);
}

/* What the figures are worth comes first: nobody scrolls up for it. */
static void worth_print(const struct dump_report *report)
{
	const struct dump_worth *worth = report->worth;
	const struct ttmem_info_row *info = ttmem_snapshot_info(
		report->snapshot);
	const char *state = ttmem_name(TTMEM_NAMES_SOURCE, worth->state);

	if (worth->reason[0])
		fprintf(report->file, "WARNING (%s): %s\n",
			state ? state : "unknown", worth->reason);
	if (worth->reason[0] && worth->hint && !worth->recorded)
		fprintf(report->file, "  %s\n", worth->hint);
	if (report->gaps)
		fprintf(report->file,
			"WARNING (incomplete): %llu reason%s, see Losses\n",
			(unsigned long long)report->gaps,
			report->gaps == 1 ? "" : "s");
	if (info->objects_consistent == 0)
		fputs("NOTE: ttmemd was changing objects meanwhile: they may "
		      "not add up to the totals\n",
			report->file);
}

static void head_print(const struct dump_report *report)
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(
		report->snapshot);
	char time[DUMP_CELL_SIZE], age[DUMP_CELL_SIZE], pid[DUMP_CELL_SIZE];
	char version[DUMP_CELL_SIZE], user[DUMP_CELL_SIZE];

	if (report->round)
		fputc('\n', report->file);
	worth_print(report);
	ttm_text_escape(
		info->version ? info->version : "-", version, sizeof(version));
	fprintf(report->file, "ttmem at %s",
		dump_time(info->realtime_ns, time));
	if (report->worth->recorded)
		fputs(", recorded", report->file);
	else
		fprintf(report->file, ", %s old",
			dump_duration(info->age_ns, age));
	fprintf(report->file, "; ttmemd %s, pid %s, user %s%s%s\n", version,
		ttm_count_text(info->pid, pid), ttm_user_text(info->uid, user),
		info->mode == TTMEM_MODE_SYSTEM ? ", for everybody" : "",
		dump_filter_is_set(&report->options->filter) ? "; filtered" :
							       "");
}

int dump_render_text(const struct dump_report *report)
{
	static int (*const parts[])(const struct dump_report *) = {
		dump_text_devices,
		dump_text_processes,
		dump_text_objects,
		dump_text_failures,
		dump_text_retired,
		dump_text_marks,
		dump_text_anomalies,
		dump_text_losses,
		dump_text_health,
	};
	size_t i;
	int r = 0;

	head_print(report);
	for (i = 0; r == 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		r = parts[i](report);
	return r;
}
