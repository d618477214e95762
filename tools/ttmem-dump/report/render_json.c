/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/*
 * The snapshot as the library writes it. With a filter, rows are left out of that
 * text on its way, and those that stay get new numbers: the document is one like any
 * other, only with less in it. Nothing of it is kept, so a million objects take no
 * memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define KEY_SIZE 32u

enum table {
	TABLE_OTHER, /* passed on as it is */
	TABLE_DEVICES,
	TABLE_DISTRIBUTIONS,
	TABLE_FAILURES,
	TABLE_HISTORIES,
	TABLE_MARKS,
	TABLE_OBJECTS,
	TABLE_PLACES,
	TABLE_PROCESSES,
	TABLE_SHARES,
};

/* New numbers of the rows of one table; TTMEM_NONE: left out. */
struct numbers {
	uint64_t *numbers;
	size_t len;
};

struct thinning {
	const struct dump_report *report;
	struct numbers devices;
	struct numbers processes;
	struct numbers shares;
	struct numbers places;
	/* Where in the text we are. */
	unsigned depth;
	bool in_string;
	bool escaped;
	char key[KEY_SIZE]; /* the last string */
	size_t key_len;
	enum table table;
	uint64_t index; /* of the next row */
	bool kept_some;
	bool quiet;                     /* in a row that is left out */
	const struct numbers *renumber; /* numbers here get others; or NULL */
	uint64_t number;                /* that is being read */
	bool has_digits;
};

/* -- which rows ---------------------------------------------------------------------- */

static enum table table_find(const char *key)
{
	static const struct {
		const char *key;
		enum table table;
	} known[] = {
		{ "devices", TABLE_DEVICES },
		{ "distributions", TABLE_DISTRIBUTIONS },
		{ "failures", TABLE_FAILURES },
		{ "histories", TABLE_HISTORIES },
		{ "marks", TABLE_MARKS },
		{ "objects", TABLE_OBJECTS },
		{ "places", TABLE_PLACES },
		{ "processes", TABLE_PROCESSES },
		{ "shares", TABLE_SHARES },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].key, key) == 0)
			return known[i].table;
	return TABLE_OTHER;
}

static bool distribution_is_kept(const struct thinning *t, uint64_t index)
{
	const struct ttmem_distribution_row *d = ttmem_snapshot_distribution(
		t->report->snapshot, index);

	return d && dump_has_device(&t->report->selection, d->device) &&
		dump_has_figure(&t->report->options->filter, d->figure);
}

/* Rows come in the order of the snapshot's. */
static bool row_is_kept(
	const struct thinning *t, enum table table, uint64_t index)
{
	const struct dump_selection *selection = &t->report->selection;
	const struct ttmem_snapshot *s = t->report->snapshot;
	const struct ttmem_failure_row *failure;
	const struct ttmem_history_row *history;
	const struct ttmem_object_row *object;
	const struct ttmem_place_row *place;
	const struct ttmem_share_row *share;
	const struct ttmem_mark_row *mark;

	switch (table) {
	case TABLE_DEVICES:
		return dump_has_device(selection, index);
	case TABLE_DISTRIBUTIONS:
		return distribution_is_kept(t, index);
	case TABLE_FAILURES:
		failure = ttmem_snapshot_failure(s, index);
		return failure && dump_has_failure(selection, failure);
	case TABLE_HISTORIES:
		history = ttmem_snapshot_history(s, index);
		return history && dump_has_device(selection, history->device);
	case TABLE_MARKS:
		mark = ttmem_snapshot_mark(s, index);
		return mark && dump_has_process(selection, mark->process);
	case TABLE_OBJECTS:
		object = ttmem_snapshot_object(s, index);
		return object && dump_has_object(selection, object);
	case TABLE_PLACES:
		place = ttmem_snapshot_place(s, index);
		return place && dump_has_process(selection, place->process);
	case TABLE_PROCESSES:
		return dump_has_process(selection, index);
	case TABLE_SHARES:
		share = ttmem_snapshot_share(s, index);
		return share && dump_has_share(selection, share);
	case TABLE_OTHER:
	default:
		return true;
	}
}

/* -- new numbers ---------------------------------------------------------------------- */

static int numbers_make(struct thinning *t, enum table table, size_t len,
	struct numbers *ret_numbers)
{
	uint64_t next = 0;
	size_t i;

	ret_numbers->numbers = calloc(len + 1, sizeof(uint64_t));
	if (!ret_numbers->numbers)
		return -ENOMEM;
	ret_numbers->len = len;
	for (i = 0; i < len; i++)
		ret_numbers->numbers[i] = row_is_kept(t, table, i) ? next++ :
								     TTMEM_NONE;
	return 0;
}

/* Of a key of a row that counts rows of another table; NULL for all others. */
static const struct numbers *numbers_find(const struct thinning *t)
{
	const struct {
		const char *key;
		const struct numbers *numbers;
		enum table table; /* TABLE_OTHER: any */
	} known[] = {
		{ "device", &t->devices, TABLE_OTHER },
		{ "process", &t->processes, TABLE_OTHER },
		{ "clash_process", &t->processes, TABLE_OTHER },
		{ "share", &t->shares, TABLE_OTHER },
		{ "place", &t->places, TABLE_OTHER },
		{ "live_place", &t->places, TABLE_OTHER },
		{ "orphaned_place", &t->places, TABLE_OTHER },
		{ "devices", &t->devices, TABLE_PLACES }, /* lists */
		{ "usages", &t->shares, TABLE_PLACES },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].key, t->key) == 0 &&
			(known[i].table == TABLE_OTHER ||
				known[i].table == t->table))
			return known[i].numbers;
	return NULL;
}

/* -- the text as it comes ---------------------------------------------------------------- */

static void char_write(const struct thinning *t, char c)
{
	if (!t->quiet)
		putc_unlocked(c, t->report->file);
}

/* Behind the digits. */
static void number_write(struct thinning *t)
{
	uint64_t number = t->number < t->renumber->len ?
		t->renumber->numbers[t->number] :
		TTMEM_NONE;

	t->number = 0;
	t->has_digits = false;
	if (t->quiet)
		return;
	if (number == TTMEM_NONE)
		fputs("null", t->report->file);
	else
		fprintf(t->report->file, "%llu", (unsigned long long)number);
}

static void string_take(struct thinning *t, char c)
{
	if (t->escaped)
		t->escaped = false;
	else if (c == '\\')
		t->escaped = true;
	else if (c == '"')
		t->in_string = false;
	if (t->in_string && t->key_len + 1 < KEY_SIZE)
		t->key[t->key_len++] = c;
	t->key[t->key_len] = '\0';
	char_write(t, c);
}

/* A table begins, or a row of one. */
static void open_take(struct thinning *t, char c)
{
	if (t->depth == 1 && c == '[') {
		t->table = table_find(t->key);
		t->index = 0;
		t->kept_some = false;
	} else if (t->depth == 2 && t->table != TABLE_OTHER) {
		t->quiet = !row_is_kept(t, t->table, t->index++);
		if (t->kept_some)
			char_write(t, ',');
		t->kept_some |= !t->quiet;
	}
	t->depth++;
	char_write(t, c);
}

static void close_take(struct thinning *t, char c)
{
	char_write(t, c);
	t->depth--;
	t->renumber = NULL;
	if (t->depth == 2)
		t->quiet = false;
	if (t->depth == 1)
		t->table = TABLE_OTHER;
}

static void char_take(struct thinning *t, char c)
{
	bool in_table = t->table != TABLE_OTHER;

	if (t->in_string) {
		string_take(t, c);
		return;
	}
	if (t->renumber && c >= '0' && c <= '9') {
		t->number = 10 * t->number + (uint64_t)(c - '0');
		t->has_digits = true;
		return;
	}
	if (t->has_digits)
		number_write(t);
	if (c == '{' || c == '[') {
		open_take(t, c);
	} else if (c == '}' || c == ']') {
		close_take(t, c);
	} else if (c != ',' || !in_table || t->depth != 2) {
		/* A comma is written before each kept row but the first. */
		char_write(t, c);
	}
	if (c == '"') {
		t->in_string = true;
		t->key_len = 0;
	} else if (t->depth == 3 && (c == ':' || c == ',')) {
		t->renumber = in_table && c == ':' ? numbers_find(t) : NULL;
	}
}

static int thinning_take(void *context, const char *bytes, size_t size)
{
	struct thinning *t = context;
	size_t i;

	for (i = 0; i < size; i++)
		char_take(t, bytes[i]);
	return ferror(t->report->file) ? -EIO : 0;
}

static int thinned_write(const struct dump_report *report)
{
	const struct ttmem_snapshot *s = report->snapshot;
	struct thinning t;
	int r;

	memset(&t, 0, sizeof(t));
	t.report = report;
	r = numbers_make(
		&t, TABLE_DEVICES, ttmem_snapshot_devices_len(s), &t.devices);
	if (r == 0)
		r = numbers_make(&t, TABLE_PROCESSES,
			ttmem_snapshot_processes_len(s), &t.processes);
	if (r == 0)
		r = numbers_make(&t, TABLE_SHARES, ttmem_snapshot_shares_len(s),
			&t.shares);
	if (r == 0)
		r = numbers_make(&t, TABLE_PLACES, ttmem_snapshot_places_len(s),
			&t.places);
	if (r == 0)
		r = ttmem_snapshot_write(s, thinning_take, &t);
	free(t.devices.numbers);
	free(t.processes.numbers);
	free(t.shares.numbers);
	free(t.places.numbers);
	return r;
}

int dump_render_json(const struct dump_report *report)
{
	if (dump_filter_is_set(&report->options->filter))
		return thinned_write(report);
	return ttmem_snapshot_write_file(report->snapshot, report->file);
}
