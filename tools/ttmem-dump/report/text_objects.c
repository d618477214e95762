/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* What is on the devices, one by one or in groups. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

struct part {
	const char *title;
	dump_group_wants *wants;
};

/* -- one by one ------------------------------------------------------------------ */

/* What some of the listed parts have; without any, there is no column of it. */
struct columns {
	bool total;     /* on several devices */
	bool requested; /* other than the used bytes */
};

/* The names of its flags; `text` has room for all. */
static const char *flags_text(const struct ttmem_object_row *o, char *text)
{
	const struct {
		uint64_t flag;
		const char *name;
	} flags[] = {
		{ o->persistent, " persistent" },
		{ o->borrowed, " borrowed" },
		{ o->dataflow, " dataflow" },
		{ o->scratchpad, " scratchpad" },
		{ o->trace_storage, " trace" },
		{ o->per_core, " per-core" },
		{ o->in_ring, " ring" },
	};
	size_t i;

	text[0] = text[1] = '\0';
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].flag == 1)
			strcat(text, flags[i].name);
	return text + 1;
}

static void part_add(const struct dump_report *report,
	const struct columns *columns, const struct dump_part *part,
	struct dump_table *table)
{
	const struct ttmem_snapshot *snapshot = report->snapshot;
	const struct ttmem_object_row *o = part->object;
	char name[DUMP_NAME_SIZE], devices[DUMP_LABEL_SIZE], flags[80];

	dump_table_add(table, "b", o->bytes);
	if (columns->requested)
		dump_table_add(table, "b", o->requested);
	if (columns->total)
		dump_table_add(table, "b", part->bytes);
	dump_table_add(table, "sppdxxss",
		ttmem_name(TTMEM_NAMES_FIGURE, o->figure),
		dump_place_text(snapshot, part->place, o->place, devices),
		dump_process_name(snapshot, o->process, name), o->age_ns, o->id,
		o->address, flags_text(o, flags), o->scope);
}

static int objects_print(
	const struct dump_report *report, const struct part *part)
{
	struct columns columns = { false, false };
	struct dump_table table = { .exact = report->options->exact };
	struct dump_part *parts;
	size_t len, i;
	int r = dump_objects_sort(&report->selection, part->wants, NULL,
		report->options->top, &parts, &len);

	if (r < 0)
		return r;
	for (i = 0; i < len; i++) {
		columns.total |= parts[i].devices > 1;
		columns.requested |= parts[i].object->requested !=
			parts[i].object->bytes;
	}
	dump_table_columns(&table, ">BYTES");
	dump_table_columns(&table, columns.requested ? ">REQUESTED" : "");
	dump_table_columns(&table, columns.total ? ">TOTAL" : "");
	dump_table_columns(
		&table, "KIND,DEVICES,PROCESS,>AGE,ID,ADDRESS,FLAGS,SCOPE");
	for (i = 0; i < len; i++)
		part_add(report, &columns, &parts[i], &table);
	free(parts);
	return dump_table_print(&table, report->file, 2);
}

/* -- in groups --------------------------------------------------------------------- */

static void keys_add(const struct dump_report *report,
	const struct dump_group *group, struct dump_table *table)
{
	const struct ttmem_snapshot *snapshot = report->snapshot;
	char name[DUMP_NAME_SIZE], devices[DUMP_LABEL_SIZE];
	unsigned keys = report->options->keys;

	if (keys & DUMP_KEY_DEVICE)
		dump_table_add(table, "p",
			dump_place_text(
				snapshot, group->place, group->whole, devices));
	if (keys & DUMP_KEY_PROCESS)
		dump_table_add(table, "p",
			dump_process_name(snapshot, group->process, name));
	if (keys & DUMP_KEY_KIND)
		dump_table_add(table, "s",
			ttmem_name(TTMEM_NAMES_FIGURE, group->figure));
	if (keys & DUMP_KEY_CLASS)
		dump_table_add(table, "s",
			ttmem_name(TTMEM_NAMES_CLASS, group->leak_class));
	if (keys & DUMP_KEY_SIZE)
		dump_table_add(table, "b", group->size);
	if (keys & DUMP_KEY_SCOPE)
		dump_table_add(table, "s", group->scope);
}

static int groups_print(
	const struct dump_report *report, const struct dump_groups *groups)
{
	static const struct {
		unsigned key;
		const char *title;
	} titles[] = {
		{ DUMP_KEY_DEVICE, "DEVICE" },
		{ DUMP_KEY_PROCESS, "PROCESS" },
		{ DUMP_KEY_KIND, "KIND" },
		{ DUMP_KEY_CLASS, "CLASS" },
		{ DUMP_KEY_SIZE, ">SIZE" },
		{ DUMP_KEY_SCOPE, "SCOPE" },
	};
	struct dump_table table = { .exact = report->options->exact };
	const struct dump_group *g;
	size_t i;

	dump_table_columns(
		&table, ">BYTES,>OBJECTS,>DEVICES,>PROCESSES,>OLDEST");
	for (i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		if (report->options->keys & titles[i].key)
			dump_table_columns(&table, titles[i].title);
	for (i = 0; i < groups->len && i < report->options->top; i++) {
		g = &groups->groups[i];
		dump_table_add(&table, "bnnnd", g->bytes, g->objects,
			g->devices, g->processes, g->age_ns);
		keys_add(report, g, &table);
	}
	return dump_table_print(&table, report->file, 2);
}

/* -- both ---------------------------------------------------------------------------- */

static int part_print(const struct dump_report *report, const struct part *part)
{
	char bytes[DUMP_CELL_SIZE];
	unsigned keys = report->options->keys;
	size_t top = report->options->top, shown;
	struct dump_groups groups;
	int r = dump_groups_make(
		&report->selection, keys, part->wants, NULL, &groups);

	if (r < 0 || groups.objects == 0)
		return r;
	shown = keys ? groups.len : (size_t)groups.objects;
	dump_title(report, "%s: %llu, %s", part->title,
		(unsigned long long)groups.objects,
		dump_bytes(groups.bytes, report->options->exact, bytes));
	if (shown > top)
		fprintf(report->file, "  the %zu largest of %zu%s:\n", top,
			shown, keys ? " groups" : "");
	r = keys ? groups_print(report, &groups) : objects_print(report, part);
	dump_groups_free(&groups);
	return r;
}

int dump_text_objects(const struct dump_report *report)
{
	static const struct part parts[] = {
		{ "Live objects", dump_wants_live },
		{ "Orphaned objects (their owner is gone or closed the device)",
			dump_wants_orphaned },
	};
	size_t i;
	int r = 0;

	if (report->options->top == 0)
		return 0;
	if (ttmem_snapshot_info(report->snapshot)->objects_listed == 0) {
		dump_title(report, "Objects: not in this snapshot");
		return 0;
	}
	for (i = 0; r == 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		r = part_print(report, &parts[i]);
	return r;
}
