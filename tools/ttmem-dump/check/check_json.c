/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* The verdict for programs: docs/check.schema.json. */
#include <inttypes.h>
#include <stdarg.h>
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

/*
 * Members of an object, each with a comma before it unless it is the first: keys and, as
 * the next arguments, their values. A key that ends in = has a text (const char *), the
 * others a number (uint64_t).
 */
static void members(FILE *file, bool first, const char *keys, ...)
{
	size_t length, name;
	va_list values;

	va_start(values, keys);
	for (; *keys; keys += length + strspn(keys + length, " ")) {
		length = strcspn(keys, " ");
		name = strcspn(keys, "= ");
		fprintf(file, "%s\"%.*s\":", first ? "" : ",", (int)name, keys);
		if (name < length)
			text_write(file, va_arg(values, const char *));
		else
			number_write(file, va_arg(values, uint64_t));
		first = false;
	}
	va_end(values);
}

static void some_write(const struct check_verdict *verdict,
	const struct dump_group *record, FILE *file)
{
	const struct ttmem_process_row *p;
	char name[64];
	size_t i;

	fputs(",\"some_devices\":[", file);
	for (i = 0; i < record->devices && i < DUMP_GROUP_SOME; i++) {
		fputs(i ? "," : "", file);
		text_write(file,
			dump_device_name(verdict->snapshot,
				record->some_devices[i], name, sizeof(name)));
	}
	fputs("],\"some_processes\":[", file);
	for (i = 0; i < record->processes && i < DUMP_GROUP_SOME; i++) {
		p = ttmem_snapshot_process(
			verdict->snapshot, record->some_processes[i]);
		fputs(i ? ",{" : "{", file);
		members(file, true, "pid comm=", p ? p->pid : TTMEM_UNKNOWN,
			p ? p->comm : NULL);
		fputs("}", file);
	}
	fputs("]", file);
}

static void records_write(const struct check_verdict *verdict, const char *key,
	const struct dump_groups *groups, FILE *file)
{
	const struct ttmem_snapshot *snapshot = verdict->snapshot;
	const struct dump_group *g;
	size_t i;

	fprintf(file, ",\"%s\":[", key);
	for (i = 0; i < groups->len; i++) {
		g = &groups->groups[i];
		fputs(i ? ",{" : "{", file);
		members(file, true,
			"class= kind= scope= size bytes objects place= part_of= "
			"devices processes age_ns",
			ttmem_name(TTMEM_NAMES_CLASS, g->leak_class),
			ttmem_name(TTMEM_NAMES_FIGURE, g->figure), g->scope,
			g->size, g->bytes, g->objects,
			dump_place_label(snapshot, g->place),
			g->place == g->whole ?
				NULL :
				dump_place_label(snapshot, g->whole),
			g->devices, g->processes, g->age_ns);
		some_write(verdict, g, file);
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
	fprintf(file, ",\"%s\":{", key);
	members(file, true, "bytes objects", sum->bytes, sum->objects);
	fputs("}", file);
}

static void suppressions_write(const struct check_verdict *verdict, FILE *file)
{
	const struct suppressions *all = &verdict->excuses->suppressions;
	const struct suppression *row;

	fputs(",\"suppressions\":[", file);
	for (row = all->rows; row < all->rows + all->len; row++) {
		fputs(row == all->rows ? "{" : ",{", file);
		members(file, true, "text= file= line objects bytes", row->text,
			row->path, (uint64_t)row->line, row->uses, row->bytes);
		fputs("}", file);
	}
	fputs("]", file);
}

void check_write_json(const struct check_verdict *verdict, FILE *file)
{
	/* Unknown is not 0: without figures nobody knows of leaks. */
	fputs("{\"schema_version\":1,\"type\":\"ttmem-check\"", file);
	members(file, false,
		"status summary= source= age_ns reason= leaked_bytes "
		"leaked_objects processes devices",
		(uint64_t)verdict->status, verdict->summary,
		ttmem_name(TTMEM_NAMES_SOURCE, verdict->worth.state),
		verdict->worth.age_ns,
		verdict->worth.reason[0] ? verdict->worth.reason : NULL,
		verdict->snapshot ? verdict->leaks.bytes : TTMEM_UNKNOWN,
		verdict->snapshot ? verdict->leaks.objects : TTMEM_UNKNOWN,
		verdict->processes, verdict->devices);
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
