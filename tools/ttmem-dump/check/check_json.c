/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* The verdict for programs: docs/check.schema.json. */
#include <inttypes.h>
#include <string.h>

#include "common/text.h"
#include "check.h"

/* The texts of snapshots are UTF-8; those of files may be anything. */
static void text_write(FILE *file, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	uint32_t code;
	size_t length;

	if (!text) {
		fputs("null", file);
		return;
	}
	fputc('"', file);
	for (; *at; at += length ? length : 1) {
		length = ttm_utf8_decode((const char *)at, &code);
		if (length == 0)
			fputs("\\ufffd", file);
		else if (*at == '"' || *at == '\\')
			fprintf(file, "\\%c", *at);
		else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
			fprintf(file, "\\u%04x", code);
		else
			fwrite(at, 1, length, file);
	}
	fputc('"', file);
}

static void number_write(FILE *file, uint64_t number)
{
	if (number > INT64_MAX)
		fputs("null", file);
	else
		fprintf(file, "%" PRIu64, number);
}

static void member(FILE *file, const char *key, uint64_t number)
{
	fprintf(file, ",\"%s\":", key);
	number_write(file, number);
}

static void member_text(FILE *file, const char *key, const char *text)
{
	fprintf(file, ",\"%s\":", key);
	text_write(file, text);
}

static void record_devices(const struct check_verdict *verdict,
	const struct dump_group *record, FILE *file)
{
	char name[64];
	size_t i;

	fputs(",\"some_devices\":[", file);
	for (i = 0; i < record->devices && i < DUMP_GROUP_SOME; i++) {
		fputs(i ? "," : "", file);
		text_write(file,
			dump_device_name(verdict->snapshot,
				record->some_devices[i], name, sizeof(name)));
	}
	fputs("]", file);
}

static void record_processes(const struct check_verdict *verdict,
	const struct dump_group *record, FILE *file)
{
	const struct ttmem_process_row *p;
	size_t i;

	fputs(",\"some_processes\":[", file);
	for (i = 0; i < record->processes && i < DUMP_GROUP_SOME; i++) {
		p = ttmem_snapshot_process(
			verdict->snapshot, record->some_processes[i]);
		fputs(i ? ",{\"pid\":" : "{\"pid\":", file);
		number_write(file, p ? p->pid : TTMEM_UNKNOWN);
		member_text(file, "comm", p ? p->comm : NULL);
		fputs("}", file);
	}
	fputs("]", file);
}

static void records_write(const struct check_verdict *verdict, const char *key,
	const struct dump_groups *groups, FILE *file)
{
	const struct dump_group *g;
	size_t i;

	fprintf(file, ",\"%s\":[", key);
	for (i = 0; i < groups->len; i++) {
		g = &groups->groups[i];
		fputs(i ? ",{\"class\":" : "{\"class\":", file);
		text_write(file, ttmem_name(TTMEM_NAMES_CLASS, g->leak_class));
		member_text(file, "kind",
			ttmem_name(TTMEM_NAMES_FIGURE, g->figure));
		member_text(file, "scope", g->scope);
		member(file, "size", g->size);
		member(file, "bytes", g->bytes);
		member(file, "objects", g->objects);
		member_text(file, "place",
			dump_place_label(verdict->snapshot, g->place));
		member_text(file, "part_of",
			g->place == g->whole ?
				NULL :
				dump_place_label(verdict->snapshot, g->whole));
		member(file, "devices", g->devices);
		member(file, "processes", g->processes);
		member(file, "age_ns", g->age_ns);
		record_devices(verdict, g, file);
		record_processes(verdict, g, file);
		fputs("}", file);
	}
	fputs("]", file);
}

static void lines_write(
	FILE *file, const char *key, const struct check_lines *lines)
{
	size_t i;

	fprintf(file, ",\"%s\":[", key);
	for (i = 0; i < lines->len; i++) {
		fputs(i ? "," : "", file);
		text_write(file, lines->lines[i]);
	}
	fputs("]", file);
}

static void sum_write(FILE *file, const char *key, const struct check_sum *sum)
{
	fprintf(file, ",\"%s\":{\"bytes\":", key);
	number_write(file, sum->bytes);
	member(file, "objects", sum->objects);
	fputs("}", file);
}

static void suppressions_write(const struct check_verdict *verdict, FILE *file)
{
	const struct suppression *row;
	size_t i;

	fputs(",\"suppressions\":[", file);
	for (i = 0; i < verdict->excuses->suppressions.len; i++) {
		row = &verdict->excuses->suppressions.rows[i];
		fputs(i ? ",{\"text\":" : "{\"text\":", file);
		text_write(file, row->text);
		member_text(file, "file", row->path);
		member(file, "line", row->line);
		member(file, "objects", row->uses);
		member(file, "bytes", row->bytes);
		fputs("}", file);
	}
	fputs("]", file);
}

void check_write_json(const struct check_verdict *verdict, FILE *file)
{
	fputs("{\"schema_version\":1,\"type\":\"ttmem-check\"", file);
	member(file, "status", (uint64_t)verdict->status);
	member_text(file, "summary", verdict->summary);
	member_text(file, "source",
		ttmem_name(TTMEM_NAMES_SOURCE, verdict->worth.state));
	member(file, "age_ns", verdict->worth.age_ns);
	member_text(file, "reason",
		verdict->worth.reason[0] ? verdict->worth.reason : NULL);
	/* Unknown is not 0: without figures nobody knows of leaks. */
	member(file, "leaked_bytes",
		verdict->snapshot ? verdict->leaks.bytes : TTMEM_UNKNOWN);
	member(file, "leaked_objects",
		verdict->snapshot ? verdict->leaks.objects : TTMEM_UNKNOWN);
	member(file, "processes", verdict->processes);
	member(file, "devices", verdict->devices);
	records_write(verdict, "leaks", &verdict->leaks, file);
	records_write(verdict, "not_counted", &verdict->others, file);
	records_write(verdict, "other_users", &verdict->foreign, file);
	sum_write(file, "suppressed", &verdict->suppressed);
	sum_write(file, "known", &verdict->known);
	sum_write(file, "acknowledged", &verdict->acknowledged);
	suppressions_write(verdict, file);
	lines_write(file, "limits_exceeded", &verdict->exceeded);
	lines_write(file, "incomplete", &verdict->gaps);
	lines_write(file, "no_data", &verdict->missing);
	lines_write(file, "notes", &verdict->notes);
	fputs("}\n", file);
}
