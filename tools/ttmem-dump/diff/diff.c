/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "ttmem-dump/cell.h"
#include "ttmem-dump/command.h"
#include "ttmem-dump/source.h"
#include "ttmem-dump/report/report.h"

#define TOP_DEFAULT 20u
#define KEY_SIZE 512u

#define DUMP_LABELS 4u

enum dump_side {
	DUMP_OLD = 0,
	DUMP_NEW = 1,
};

struct dump_amount {
	bool there;
	uint64_t bytes;
	uint64_t objects;
};

/* One thing that may be in both. Texts are its own. */
struct dump_change {
	char *key; /* the same in both snapshots */
	char *labels[DUMP_LABELS];
	struct dump_amount side[2];
};

struct dump_changes {
	struct dump_change *changes;
	size_t len;
	size_t room;
};

struct diff {
	struct dump_filter filter;
	bool exact;
	size_t top;
	const char *paths[2];
	struct ttmem_snapshot *snapshots[2];
	struct dump_selection selections[2];
	size_t found;
};

#define OPTIONS struct diff

/* clang-format off */
static const struct ttm_option options_known[] = {
	TTM_OPTION_HELP_TEXT("usage: ttmem-dump diff [options] OLD.json NEW.json\n\n"
		"What came, went, grew and shrank between two files of report --format json;\n"
		"of several lines, the last ones. - is stdin.\n\n"),
	TTM_OPTION(FLAG, exact, "bytes", NULL, .help = "exact numbers of bytes"),
	TTM_OPTION(COUNT, top, "top", "N", .most = UINT32_MAX,
		.help = "of each list, the largest changes (default: 20);\nall for all"),
	DUMP_OPTIONS_FILTER,
	DUMP_OPTIONS_END,
	{ 0 },
};
/* clang-format on */

/* -- changes ----------------------------------------------------------------------------- */

static void change_free(struct dump_change *change)
{
	size_t i;

	free(change->key);
	for (i = 0; i < DUMP_LABELS; i++)
		free(change->labels[i]);
	memset(change, 0, sizeof(*change));
}

static int change_fill(struct dump_change *change, const char *key,
	const char *const labels[DUMP_LABELS])
{
	size_t i;

	memset(change, 0, sizeof(*change));
	change->key = strdup(key);
	if (!change->key)
		return -ENOMEM;
	for (i = 0; i < DUMP_LABELS; i++) {
		if (!labels[i])
			continue;
		change->labels[i] = strdup(labels[i]);
		if (!change->labels[i])
			return -ENOMEM;
	}
	return 0;
}

/*
 * Adds one side of a thing; equal keys of a side add up. Texts are copied; a label
 * may be NULL. Returns 0 or -ENOMEM.
 */
static int changes_add(struct dump_changes *changes, enum dump_side side,
	const char *key, const char *const labels[DUMP_LABELS], uint64_t bytes,
	uint64_t objects)
{
	struct dump_change *change = ttm_list_grow(changes->changes,
		changes->len, &changes->room, sizeof(*change));

	if (!change)
		return -ENOMEM;
	changes->changes = change;
	change += changes->len;
	if (change_fill(change, key, labels) < 0) {
		change_free(change);
		return -ENOMEM;
	}
	change->side[side] = (struct dump_amount){ true, bytes, objects };
	changes->len++;
	return 0;
}

static int key_compare(const void *a, const void *b)
{
	const struct dump_change *one = a, *other = b;

	return strcmp(one->key, other->key);
}

static uint64_t change_size(const struct dump_change *change)
{
	uint64_t old = change->side[DUMP_OLD].bytes;
	uint64_t new = change->side[DUMP_NEW].bytes;

	return old < new ? new - old : old - new;
}

static int size_compare(const void *a, const void *b)
{
	const struct dump_change *one = a, *other = b;
	uint64_t first = change_size(one), second = change_size(other);

	if (first != second)
		return first < second ? 1 : -1;
	return strcmp(one->key, other->key);
}

static void change_join(struct dump_change *into, struct dump_change *from)
{
	unsigned side;

	for (side = 0; side < 2; side++) {
		into->side[side].there |= from->side[side].there;
		into->side[side].bytes += from->side[side].bytes;
		into->side[side].objects += from->side[side].objects;
	}
	change_free(from);
}

static bool is_same(const struct dump_change *change)
{
	const struct dump_amount *old = &change->side[DUMP_OLD];
	const struct dump_amount *new = &change->side[DUMP_NEW];

	return old->there == new->there && old->bytes == new->bytes &&
		old->objects == new->objects;
}

/* Puts the sides together and leaves what differs, largest change first. */
static void changes_join(struct dump_changes *changes)
{
	struct dump_change *all = changes->changes;
	size_t i, len = 0;

	if (changes->len == 0)
		return;
	qsort(all, changes->len, sizeof(*all), key_compare);
	for (i = 0; i < changes->len; i++) {
		if (len && strcmp(all[len - 1].key, all[i].key) == 0)
			change_join(&all[len - 1], &all[i]);
		else
			all[len++] = all[i];
	}
	changes->len = len;
	for (i = 0, len = 0; i < changes->len; i++) {
		if (is_same(&all[i]))
			change_free(&all[i]);
		else
			all[len++] = all[i];
	}
	changes->len = len;
	if (len)
		qsort(all, len, sizeof(*all), size_compare);
}

static void changes_free(struct dump_changes *changes)
{
	size_t i;

	for (i = 0; i < changes->len; i++)
		change_free(&changes->changes[i]);
	free(changes->changes);
	memset(changes, 0, sizeof(*changes));
}

/* -- who is who in both ---------------------------------------------------------------- */

static void device_key(const struct ttmem_snapshot *snapshot, uint64_t index,
	char ret_key[static DUMP_CELL_SIZE])
{
	const struct ttmem_device_row *d = ttmem_snapshot_device(
		snapshot, index);

	if (!d)
		memcpy(ret_key, "-", 2);
	else if (d->chip_id != TTMEM_UNKNOWN)
		snprintf(ret_key, DUMP_CELL_SIZE, "asic:%llx",
			(unsigned long long)d->chip_id);
	else if (d->pci_address != TTMEM_UNKNOWN)
		snprintf(ret_key, DUMP_CELL_SIZE, "pci:%llx",
			(unsigned long long)d->pci_address);
	else
		snprintf(ret_key, DUMP_CELL_SIZE, "%llu",
			(unsigned long long)d->logical);
}

static void process_key(const struct ttmem_snapshot *snapshot, uint64_t index,
	char ret_key[static DUMP_CELL_SIZE])
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		snapshot, index);
	size_t i;

	memcpy(ret_key, "-", 2);
	for (i = 0; p && i < sizeof(p->uuid); i++)
		snprintf(ret_key + 2 * i, 3, "%02x", p->uuid[i]);
}

/* One device by its own key, several by a hash of theirs. */
static void place_key(const struct ttmem_snapshot *snapshot, uint64_t index,
	char ret_key[static DUMP_CELL_SIZE])
{
	const struct ttmem_place_row *place = ttmem_snapshot_place(
		snapshot, index);
	uint64_t hash = 0xcbf29ce484222325ull;
	const char *at;
	size_t i;

	device_key(snapshot, TTMEM_NONE, ret_key);
	for (i = 0; place && i < place->devices_len; i++) {
		device_key(snapshot, place->devices[i], ret_key);
		for (at = ret_key; *at; at++)
			hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
		hash = (hash ^ ',') * 0x100000001b3ull;
	}
	if (place && place->devices_len > 1)
		snprintf(ret_key, DUMP_CELL_SIZE, "place:%llx",
			(unsigned long long)hash);
}

/* -- collecting ----------------------------------------------------------------------------- */

static int devices_collect(
	struct diff *diff, enum dump_side side, struct dump_changes *changes)
{
	const struct ttmem_snapshot *snapshot = diff->snapshots[side];
	size_t len = ttmem_snapshot_devices_len(snapshot), i;
	char device[DUMP_CELL_SIZE], name[DUMP_NAME_SIZE], key[KEY_SIZE];
	unsigned f;
	int r = 0;

	for (i = 0; i < len; i++) {
		if (!dump_has_device(&diff->selections[side], i))
			continue;
		device_key(snapshot, i, device);
		dump_device_name(snapshot, i, name, sizeof(name));
		for (f = 0; r == 0 && f < TTMEM_FIGURES; f++) {
			const struct ttmem_sums *sums = &ttmem_snapshot_device(
				snapshot, i)
								 ->figures[f];
			const char *kind = ttmem_name(TTMEM_NAMES_FIGURE, f);
			const char *const labels[DUMP_LABELS] = { name, kind };

			if (!dump_has_figure(&diff->filter, f))
				continue;
			snprintf(key, sizeof(key), "%s %s", device, kind);
			r = changes_add(changes, side, key, labels,
				ttm_value_add(
					sums->live_bytes, sums->orphaned_bytes),
				ttm_value_add(sums->live_objects,
					sums->orphaned_objects));
		}
	}
	return r;
}

/* By process, how many objects it has on the selected devices. NULL: no memory. */
static uint64_t *objects_count(const struct dump_selection *selection)
{
	const struct ttmem_snapshot *snapshot = selection->snapshot;
	size_t processes = ttmem_snapshot_processes_len(snapshot), i;
	uint64_t *counts = calloc(processes + 1, sizeof(*counts));
	const struct ttmem_object_row *object;

	for (i = 0; counts && i < ttmem_snapshot_objects_len(snapshot); i++) {
		object = ttmem_snapshot_object(snapshot, i);
		if (object->process < processes &&
			dump_has_object(selection, object))
			counts[object->process]++;
	}
	return counts;
}

static int processes_collect(
	struct diff *diff, enum dump_side side, struct dump_changes *changes)
{
	const struct dump_selection *selection = &diff->selections[side];
	const struct ttmem_snapshot *snapshot = diff->snapshots[side];
	size_t len = ttmem_snapshot_processes_len(snapshot), i;
	char name[DUMP_NAME_SIZE], key[DUMP_CELL_SIZE];
	bool listed = ttmem_snapshot_info(snapshot)->objects_listed == 1;
	uint64_t *counts = objects_count(selection);
	const struct ttmem_sums *sums;
	unsigned f;
	int r = counts ? 0 : -ENOMEM;

	for (i = 0; r == 0 && i < len; i++) {
		const char *const labels[DUMP_LABELS] = { name };
		uint64_t bytes = 0, objects = 0;

		if (!dump_has_process(selection, i))
			continue;
		for (f = 0; f < TTMEM_FIGURES; f++) {
			if (!dump_has_figure(&diff->filter, f))
				continue;
			sums = dump_selection_sums(selection, i, f);
			bytes += sums->live_bytes + sums->orphaned_bytes;
			objects += sums->live_objects + sums->orphaned_objects;
		}
		if (!objects &&
			dump_process_is_dead(
				ttmem_snapshot_process(snapshot, i)))
			continue; /* it is remembered, but gone */
		process_key(snapshot, i, key);
		dump_process_name(snapshot, i, name);
		/* Sums count an object on each of its devices. */
		r = changes_add(changes, side, key, labels, bytes,
			listed ? counts[i] : objects);
	}
	free(counts);
	return r;
}

static int objects_collect(
	struct diff *diff, enum dump_side side, struct dump_changes *changes)
{
	const struct ttmem_snapshot *snapshot = diff->snapshots[side];
	char device[DUMP_CELL_SIZE], process[DUMP_CELL_SIZE], key[KEY_SIZE];
	char devices[DUMP_LABEL_SIZE], process_name[DUMP_NAME_SIZE];
	struct dump_groups groups = { NULL, 0, 0, 0 };
	size_t i;
	int r = dump_groups_make(&diff->selections[side],
		DUMP_KEY_DEVICE | DUMP_KEY_PROCESS | DUMP_KEY_KIND |
			DUMP_KEY_SCOPE | DUMP_KEY_WHOLE,
		NULL, NULL, &groups);

	for (i = 0; r == 0 && i < groups.len; i++) {
		const struct dump_group *g = &groups.groups[i];
		const char *kind = ttmem_name(TTMEM_NAMES_FIGURE, g->figure);
		const char *const labels[DUMP_LABELS] = { devices, process_name,
			kind, g->scope };

		place_key(snapshot, g->place, device);
		process_key(snapshot, g->process, process);
		dump_place_text(snapshot, g->place, g->place, devices);
		dump_process_name(snapshot, g->process, process_name);
		snprintf(key, sizeof(key), "%s %s %s%s%s", device, process,
			kind ? kind : "-", g->scope ? " " : "",
			g->scope ? g->scope : "");
		r = changes_add(
			changes, side, key, labels, g->bytes, g->objects);
	}
	dump_groups_free(&groups);
	return r;
}

/* -- telling ------------------------------------------------------------------------------------ */

static void change_add(size_t labels, const struct dump_change *change,
	struct dump_table *table)
{
	const struct dump_amount *old = &change->side[DUMP_OLD];
	const struct dump_amount *new = &change->side[DUMP_NEW];
	uint64_t by = old->bytes < new->bytes ? new->bytes - old->bytes :
						old->bytes - new->bytes;
	char bytes[DUMP_CELL_SIZE], text[DUMP_CELL_SIZE + 1], objects[32];
	size_t i;

	snprintf(text, sizeof(text), "%s%s",
		old->bytes < new->bytes         ? "+" :
			old->bytes > new->bytes ? "-" :
						  "",
		dump_bytes(by, table->exact, bytes));
	snprintf(objects, sizeof(objects), "%+lld",
		(long long)(new->objects - old->objects));
	dump_table_add(table, "ppbbp",
		!old->there                     ? "came" :
			!new->there             ? "went" :
			new->bytes > old->bytes ? "grew" :
			new->bytes < old->bytes ? "shrank" :
						  "changed",
		text, old->there ? old->bytes : TTMEM_UNKNOWN,
		new->there ? new->bytes : TTMEM_UNKNOWN, objects);
	for (i = 0; i < labels; i++)
		dump_table_add(table, "s", change->labels[i]);
}

static int changes_print(struct diff *diff, const char *title,
	const char *labels, const struct dump_changes *changes)
{
	struct dump_table table = { .exact = diff->exact };
	size_t i;

	if (changes->len == 0)
		return 0;
	diff->found += changes->len;
	dump_table_columns(&table, ",>CHANGE,>OLD,>NEW,>OBJECTS");
	dump_table_columns(&table, labels);
	printf("\n%s: %zu\n", title, changes->len);
	for (i = 0; i < changes->len && i < diff->top; i++)
		change_add(table.columns - 5, &changes->changes[i], &table);
	return dump_table_print(&table, stdout, 2);
}

typedef int diff_collect(
	struct diff *diff, enum dump_side side, struct dump_changes *changes);

static int part_print(struct diff *diff, const char *title, const char *labels,
	diff_collect *collect)
{
	struct dump_changes changes;
	int r;

	memset(&changes, 0, sizeof(changes));
	r = collect(diff, DUMP_OLD, &changes);
	if (r == 0)
		r = collect(diff, DUMP_NEW, &changes);
	if (r == 0) {
		changes_join(&changes);
		r = changes_print(diff, title, labels, &changes);
	}
	changes_free(&changes);
	return r;
}

static int diff_print(struct diff *diff)
{
	const struct ttmem_info_row *old = ttmem_snapshot_info(
		diff->snapshots[DUMP_OLD]);
	const struct ttmem_info_row *new = ttmem_snapshot_info(
		diff->snapshots[DUMP_NEW]);
	char from[DUMP_CELL_SIZE], to[DUMP_CELL_SIZE];
	int r;

	printf("from %s to %s\n", dump_time(old->realtime_ns, from),
		dump_time(new->realtime_ns, to));
	r = part_print(diff, "Devices", "DEVICE,KIND", devices_collect);
	if (r == 0)
		r = part_print(diff, "Processes", "PROCESS", processes_collect);
	if (old->objects_listed != 1 || new->objects_listed != 1)
		puts("\nObjects: not in both snapshots");
	else if (r == 0)
		r = part_print(diff, "Objects", "DEVICES,PROCESS,KIND,SCOPE",
			objects_collect);
	if (r == 0 && !diff->found)
		puts("no change");
	return r;
}

/* -- the command ---------------------------------------------------------------------------------- */

static int side_read(struct diff *diff, enum dump_side side)
{
	int status = dump_file_read(diff->paths[side], &diff->snapshots[side]);

	if (status)
		return status;
	if (dump_selection_make(diff->snapshots[side], &diff->filter,
		    &diff->selections[side]) == 0)
		return 0;
	ttm_error("%s", strerror(ENOMEM));
	return TTM_EXIT_FAILURE;
}

int dump_diff_main(int argc, char **argv)
{
	struct ttm_command command = { .name = "ttmem-dump diff",
		.options = options_known,
		.arguments = TTM_ARGUMENTS_SOME };
	struct diff diff = { .top = TOP_DEFAULT };
	int status, first, r;
	unsigned side;

	first = ttm_options_parse(&command, argc, argv, &diff);
	if (argc - first != 2)
		ttm_error_usage("two files are wanted: OLD.json NEW.json");
	diff.paths[DUMP_OLD] = argv[first];
	diff.paths[DUMP_NEW] = argv[first + 1];
	status = side_read(&diff, DUMP_OLD);
	if (status == 0)
		status = side_read(&diff, DUMP_NEW);
	if (status == 0) {
		r = diff_print(&diff);
		if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
			r = -EIO;
		if (r < 0) {
			ttm_error("%s", strerror(-r));
			status = TTM_EXIT_FAILURE;
		}
	}
	for (side = 0; side < 2; side++) {
		dump_selection_free(&diff.selections[side]);
		ttmem_snapshot_free(&diff.snapshots[side]);
	}
	return status;
}
