/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* What is on the devices, one by one or in groups. */
#include "render.h"

#include <stdlib.h>
#include <string.h>

#include "ttmem-dump/cell.h"

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

static void flag_add(
	char text[static DUMP_CELL_SIZE], uint64_t flag, const char *name)
{
	size_t at = strlen(text);

	if (flag == 1)
		snprintf(text + at, DUMP_CELL_SIZE - at, "%s%s", at ? " " : "",
			name);
}

static void flags_add(
	struct dump_table *table, const struct ttmem_object_row *object)
{
	char text[DUMP_CELL_SIZE] = "";

	flag_add(text, object->persistent, "persistent");
	flag_add(text, object->borrowed, "borrowed");
	flag_add(text, object->dataflow, "dataflow");
	flag_add(text, object->scratchpad, "scratchpad");
	flag_add(text, object->trace_storage, "trace");
	flag_add(text, object->per_core, "per-core");
	flag_add(text, object->in_ring, "ring");
	dump_table_add(table, text);
}

static void part_add(const struct dump_report *report,
	const struct columns *columns, const struct dump_part *part,
	struct dump_table *table)
{
	const struct ttmem_object_row *o = part->object;
	char cell[DUMP_CELL_SIZE], name[DUMP_NAME_SIZE];
	char devices[DUMP_LABEL_SIZE];

	dump_add_bytes(report, table, o->bytes);
	if (columns->requested)
		dump_add_bytes(report, table, o->requested);
	if (columns->total)
		dump_add_bytes(report, table, part->bytes);
	dump_table_add(table, ttmem_name(TTMEM_NAMES_FIGURE, o->figure));
	dump_table_add_plain(table,
		dump_place_text(
			report->snapshot, part->place, o->place, devices));
	dump_table_add_plain(
		table, dump_process_name(report->snapshot, o->process, name));
	dump_table_add_plain(table, dump_duration(o->age_ns, cell));
	dump_table_add_plain(table, dump_hex(o->id, cell));
	dump_table_add_plain(table, dump_hex(o->address, cell));
	flags_add(table, o);
	dump_table_add(table, o->scope);
}

static void columns_add(const struct columns *columns, struct dump_table *table)
{
	static const char *const titles[] = { "KIND", "DEVICES", "PROCESS",
		"AGE", "ID", "ADDRESS", "FLAGS", "SCOPE" };
	size_t i;

	dump_table_column(table, "BYTES", true);
	if (columns->requested)
		dump_table_column(table, "REQUESTED", true);
	if (columns->total)
		dump_table_column(table, "TOTAL", true);
	for (i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		dump_table_column(table, titles[i], i == 3);
}

static int objects_print(
	const struct dump_report *report, const struct part *part)
{
	struct columns columns = { false, false };
	struct dump_table table;
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
	memset(&table, 0, sizeof(table));
	columns_add(&columns, &table);
	for (i = 0; i < len; i++)
		part_add(report, &columns, &parts[i], &table);
	free(parts);
	return dump_table_print(&table, report->file, 2);
}

/* -- in groups --------------------------------------------------------------------- */

static void keys_columns(unsigned keys, struct dump_table *table)
{
	if (keys & DUMP_KEY_DEVICE)
		dump_table_column(table, "DEVICE", false);
	if (keys & DUMP_KEY_PROCESS)
		dump_table_column(table, "PROCESS", false);
	if (keys & DUMP_KEY_KIND)
		dump_table_column(table, "KIND", false);
	if (keys & DUMP_KEY_CLASS)
		dump_table_column(table, "CLASS", false);
	if (keys & DUMP_KEY_SIZE)
		dump_table_column(table, "SIZE", true);
	if (keys & DUMP_KEY_SCOPE)
		dump_table_column(table, "SCOPE", false);
}

static void keys_add(const struct dump_report *report, unsigned keys,
	const struct dump_group *group, struct dump_table *table)
{
	const struct ttmem_snapshot *snapshot = report->snapshot;
	char name[DUMP_NAME_SIZE], devices[DUMP_LABEL_SIZE];

	if (keys & DUMP_KEY_DEVICE)
		dump_table_add_plain(table,
			dump_place_text(
				snapshot, group->place, group->whole, devices));
	if (keys & DUMP_KEY_PROCESS)
		dump_table_add_plain(table,
			dump_process_name(snapshot, group->process, name));
	if (keys & DUMP_KEY_KIND)
		dump_table_add(
			table, ttmem_name(TTMEM_NAMES_FIGURE, group->figure));
	if (keys & DUMP_KEY_CLASS)
		dump_table_add(table,
			ttmem_name(TTMEM_NAMES_CLASS, group->leak_class));
	if (keys & DUMP_KEY_SIZE)
		dump_add_bytes(report, table, group->size);
	if (keys & DUMP_KEY_SCOPE)
		dump_table_add(table, group->scope);
}

static void group_add(const struct dump_report *report,
	const struct dump_group *group, struct dump_table *table)
{
	char cell[DUMP_CELL_SIZE];

	dump_add_bytes(report, table, group->bytes);
	dump_add_count(table, group->objects);
	dump_add_count(table, group->devices);
	dump_add_count(table, group->processes);
	dump_table_add_plain(table, dump_duration(group->age_ns, cell));
	keys_add(report, report->options->keys, group, table);
}

static int groups_print(
	const struct dump_report *report, const struct dump_groups *groups)
{
	static const char *const titles[] = { "BYTES", "OBJECTS", "DEVICES",
		"PROCESSES", "OLDEST" };
	struct dump_table table;
	size_t i;

	memset(&table, 0, sizeof(table));
	for (i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		dump_table_column(&table, titles[i], true);
	keys_columns(report->options->keys, &table);
	for (i = 0; i < groups->len && i < report->options->top; i++)
		group_add(report, &groups->groups[i], &table);
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
