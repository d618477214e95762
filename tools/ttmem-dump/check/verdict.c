/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* The status, the last line, and what a loss record is called. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "common/error.h"
#include "common/text.h"
#include "ttmem-dump/cell.h"
#include "check.h"
#include "ttmem-dump/report/report.h"

#define NAMES_SIZE 256u
#define SCOPE_SIZE 1024u

/* -- the summary ------------------------------------------------------------------------ */

/* Appends a part; several are separated. */
__attribute__((format(printf, 2, 3))) static void part_add(
	struct check_verdict *verdict, const char *format, ...)
{
	char *summary = verdict->summary;
	size_t at = strlen(summary);
	va_list arguments;

	snprintf(summary + at, CHECK_SUMMARY_SIZE - at, "%s",
		at ? "; " : "SUMMARY: ttmem: ");
	at = strlen(summary);
	va_start(arguments, format);
	vsnprintf(summary + at, CHECK_SUMMARY_SIZE - at, format, arguments);
	va_end(arguments);
}

static const char *plural(uint64_t count, const char *one, const char *more)
{
	return count == 1 ? one : more;
}

static void leaks_add(struct check_verdict *verdict)
{
	part_add(verdict,
		"%" PRIu64 " %s leaked in %" PRIu64 " %s (%" PRIu64 " %s, "
		"%" PRIu64 " %s)",
		verdict->leaks.bytes,
		plural(verdict->leaks.bytes, "byte", "bytes"),
		verdict->leaks.objects,
		plural(verdict->leaks.objects, "object", "objects"),
		verdict->leak_processes,
		plural(verdict->leak_processes, "process", "processes"),
		verdict->leak_devices,
		plural(verdict->leak_devices, "device", "devices"));
}

static void clean_add(struct check_verdict *verdict)
{
	part_add(verdict, "no leaks (%" PRIu64 " %s, %" PRIu64 " %s)",
		verdict->processes,
		plural(verdict->processes, "process", "processes"),
		verdict->devices,
		plural(verdict->devices, "device", "devices"));
}

/* What was excused, so that nobody takes it for absent. */
static void excused_add(struct check_verdict *verdict,
	const struct check_sum *sum, const char *by)
{
	if (sum->objects)
		part_add(verdict, "%" PRIu64 " bytes in %" PRIu64 " %s %s",
			sum->bytes, sum->objects,
			plural(sum->objects, "object", "objects"), by);
}

static void lines_summarise(struct check_verdict *verdict,
	const struct check_lines *lines, const char *what)
{
	if (lines->len == 1)
		part_add(verdict, "%s: %s", what, lines->lines[0]);
	else if (lines->len > 1)
		part_add(verdict, "%s: %s, and %zu more", what, lines->lines[0],
			lines->len - 1);
}

static void join(struct check_verdict *verdict, int status)
{
	verdict->status = ttm_exit_join(verdict->status, status);
}

static void status_find(struct check_verdict *verdict)
{
	verdict->status = TTM_EXIT_OK;
	join(verdict, verdict->worth.status);
	if (verdict->missing.len ||
		(!verdict->snapshot && verdict->worth.status == TTM_EXIT_OK))
		join(verdict, TTM_EXIT_NO_DATA);
	if (verdict->leaks.objects)
		join(verdict, TTM_EXIT_LEAKS);
	if (verdict->exceeded.len ||
		(verdict->options->strict &&
			verdict->excuses->suppressions.unused))
		join(verdict, TTM_EXIT_LIMIT);
	if (verdict->gaps.len)
		join(verdict, TTM_EXIT_INCOMPLETE);
}

/* Without data, "no leaks" is never said. */
void check_summarise(struct check_verdict *verdict)
{
	bool doubt = verdict->worth.status || verdict->missing.len ||
		verdict->gaps.len || !verdict->snapshot;
	struct check_sum foreign;

	status_find(verdict);
	verdict->summary[0] = '\0';
	if (verdict->worth.status)
		part_add(verdict, "%s: %s",
			verdict->worth.status == TTM_EXIT_INCOMPLETE ?
				"data incomplete" :
				"no current data",
			verdict->worth.reason[0] ? verdict->worth.reason :
						   "unreadable");
	lines_summarise(verdict, &verdict->missing, "no data");
	if (verdict->leaks.objects)
		leaks_add(verdict);
	else if (!doubt)
		clean_add(verdict);
	lines_summarise(verdict, &verdict->exceeded, "limit exceeded");
	if (verdict->options->strict && verdict->excuses->suppressions.unused)
		part_add(verdict, "%" PRIu64 " unused %s",
			verdict->excuses->suppressions.unused,
			plural(verdict->excuses->suppressions.unused,
				"suppression", "suppressions"));
	lines_summarise(verdict, &verdict->gaps, "data incomplete");
	if (verdict->unknown_frees)
		part_add(verdict, "%" PRIu64 " %s no object (%" PRIu64 " %s)",
			verdict->unknown_frees,
			plural(verdict->unknown_frees, "free matches",
				"frees match"),
			verdict->unknown_freers,
			plural(verdict->unknown_freers, "process",
				"processes"));
	excused_add(verdict, &verdict->suppressed, "suppressed");
	excused_add(verdict, &verdict->known, "in the baseline");
	excused_add(verdict, &verdict->acknowledged, "acknowledged");
	foreign.bytes = verdict->foreign.bytes;
	foreign.objects = verdict->foreign.objects;
	excused_add(verdict, &foreign, "of other users");
}

/* -- records ------------------------------------------------------------------------------ */

static void name_append(char *buffer, size_t size, const char *name)
{
	size_t at = strlen(buffer);

	snprintf(buffer + at, size - at, "%s%s", at ? "," : "", name);
}

static void more_append(char *buffer, size_t size, uint64_t count)
{
	size_t at = strlen(buffer);

	if (count > DUMP_GROUP_SOME)
		snprintf(buffer + at, size - at, " and %" PRIu64 " more",
			count - DUMP_GROUP_SOME);
}

/* "0 and 3 more" */
static const char *processes_text(const struct check_verdict *verdict,
	const struct dump_group *record, char *buffer, size_t size)
{
	char name[DUMP_NAME_SIZE];
	size_t i;

	buffer[0] = '\0';
	for (i = 0; i < record->processes && i < DUMP_GROUP_SOME; i++)
		name_append(buffer, size,
			dump_process_name(verdict->snapshot,
				record->some_processes[i], name));
	more_append(buffer, size, record->processes);
	return buffer;
}

const char *check_record_text(const struct check_verdict *verdict,
	const struct dump_group *record, char buffer[static CHECK_RECORD_SIZE])
{
	char bytes[DUMP_CELL_SIZE], size[DUMP_CELL_SIZE], age[DUMP_CELL_SIZE];
	char devices[DUMP_LABEL_SIZE], processes[NAMES_SIZE], scope[SCOPE_SIZE];
	const char *class_name = ttmem_name(
		TTMEM_NAMES_CLASS, record->leak_class);
	const char *kind = ttmem_name(TTMEM_NAMES_FIGURE, record->figure);
	bool exact = verdict->options->exact;
	char each[64] = "";

	if (record->on > 1)
		snprintf(each, sizeof(each), " on each of %" PRIu64 " devices",
			record->on);
	snprintf(buffer, CHECK_RECORD_SIZE,
		"%s%s in %" PRIu64 " %s of %s%s%s: %s %s, scope %s%s%s, "
		"%s %s, %s %s, age %s",
		dump_bytes(record->bytes, exact, bytes), exact ? " bytes" : "",
		record->objects, plural(record->objects, "object", "objects"),
		dump_bytes(record->size, exact, size), exact ? " bytes" : "",
		each, class_name ? class_name : "unknown",
		kind ? kind : "unknown", record->scope ? "\"" : "",
		record->scope ?
			ttm_text_escape(record->scope, scope, sizeof(scope)) :
			"none",
		record->scope ? "\"" : "",
		plural(record->on, "device", "devices"),
		dump_place_text(verdict->snapshot, record->place, record->whole,
			devices),
		plural(record->processes, "process", "processes"),
		processes_text(verdict, record, processes, sizeof(processes)),
		dump_duration(record->age_ns, age));
	return buffer;
}
