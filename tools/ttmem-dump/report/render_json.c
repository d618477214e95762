/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/*
 * The snapshot as the library writes it. With a filter, rows are left out of that
 * text on its way, and those that stay get new numbers: the document is one like any
 * other, only with less in it. Nothing is kept but one row at a time, so a million
 * objects take no memory.
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
	char key[KEY_SIZE]; /* the last string of the outermost object */
	size_t key_len;
	enum table table;
	uint64_t index; /* of the row */
	bool kept_some;
	char *row;
	size_t row_len;
	size_t row_room;
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

	return d &&
		dump_selection_has_device(&t->report->selection, d->device) &&
		dump_filter_has_figure(&t->report->options->filter, d->figure);
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
		return dump_selection_has_device(selection, index);
	case TABLE_DISTRIBUTIONS:
		return distribution_is_kept(t, index);
	case TABLE_FAILURES:
		failure = ttmem_snapshot_failure(s, index);
		return failure &&
			dump_selection_has_failure(selection, failure);
	case TABLE_HISTORIES:
		history = ttmem_snapshot_history(s, index);
		return history &&
			dump_selection_has_device(selection, history->device);
	case TABLE_MARKS:
		mark = ttmem_snapshot_mark(s, index);
		return mark &&
			dump_selection_has_process(selection, mark->process);
	case TABLE_OBJECTS:
		object = ttmem_snapshot_object(s, index);
		return object && dump_selection_has_object(selection, object);
	case TABLE_PLACES:
		place = ttmem_snapshot_place(s, index);
		return place &&
			dump_selection_has_process(selection, place->process);
	case TABLE_PROCESSES:
		return dump_selection_has_process(selection, index);
	case TABLE_SHARES:
		share = ttmem_snapshot_share(s, index);
		return share && dump_selection_has_share(selection, share);
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

/* Of a key that counts rows of another table; NULL for all others. */
static const struct numbers *numbers_find(
	const struct thinning *t, const char *key, size_t key_len)
{
	const struct {
		const char *key;
		const struct numbers *numbers;
	} known[] = {
		{ "device", &t->devices },
		{ "process", &t->processes },
		{ "clash_process", &t->processes },
		{ "share", &t->shares },
		{ "place", &t->places },
		{ "live_place", &t->places },
		{ "orphaned_place", &t->places },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].key) == key_len &&
			memcmp(known[i].key, key, key_len) == 0)
			return known[i].numbers;
	return NULL;
}

/* The same for a key with a list of them, in a place. */
static const struct numbers *list_find(
	const struct thinning *t, const char *key, size_t key_len)
{
	if (t->table != TABLE_PLACES)
		return NULL;
	if (key_len == 7 && memcmp(key, "devices", 7) == 0)
		return &t->devices;
	if (key_len == 6 && memcmp(key, "usages", 6) == 0)
		return &t->shares;
	return NULL;
}

static int text_write(const struct thinning *t, const char *text, size_t size)
{
	return fwrite_unlocked(text, 1, size, t->report->file) == size ? 0 :
									 -EIO;
}

static int number_write(
	const struct thinning *t, const struct numbers *numbers, uint64_t old)
{
	uint64_t number = old < numbers->len ? numbers->numbers[old] :
					       TTMEM_NONE;

	if (number == TTMEM_NONE)
		return text_write(t, "null", 4);
	return fprintf(t->report->file, "%llu", (unsigned long long)number) <
			0 ?
		-EIO :
		0;
}

/* Writes the number that begins `at`. *ret_end is behind it. */
static int number_replace(const struct thinning *t,
	const struct numbers *numbers, const char *at, const char **ret_end)
{
	*ret_end = at + strspn(at, "0123456789");
	return number_write(t, numbers, strtoull(at, NULL, 10));
}

/* Writes a list of numbers and nulls from its bracket on. */
static int list_replace(const struct thinning *t, const struct numbers *numbers,
	const char *at, const char **ret_end)
{
	const char *from = at;
	int r = 0;

	for (; r == 0 && *at && *at != ']'; at++) {
		if (*at < '0' || *at > '9')
			continue;
		r = text_write(t, from, (size_t)(at - from));
		if (r == 0)
			r = number_replace(t, numbers, at, &from);
		at = from - 1;
	}
	*ret_end = at;
	return r ? r : text_write(t, from, (size_t)(at - from));
}

/*
 * Writes the row, with new numbers behind the keys that have some: strings at its
 * own depth that a colon and a digit or a list follow.
 */
static int row_write(const struct thinning *t)
{
	const char *at = t->row, *end = t->row + t->row_len, *from = at;
	const char *string = NULL;
	unsigned depth = 0;
	int r = 0;

	for (; r == 0 && at < end; at++) {
		const struct numbers *numbers = NULL, *list = NULL;

		if (string && *at == '\\') {
			at++;
		} else if (*at == '"' && !string) {
			string = at + 1;
		} else if (*at == '"') {
			if (depth == 1 && at[1] == ':' && at[2] >= '0' &&
				at[2] <= '9')
				numbers = numbers_find(
					t, string, (size_t)(at - string));
			else if (depth == 1 && at[1] == ':' && at[2] == '[')
				list = list_find(
					t, string, (size_t)(at - string));
			string = NULL;
			if (!numbers && !list)
				continue;
			r = text_write(t, from, (size_t)(at + 2 - from));
			if (r == 0)
				r = numbers ?
					number_replace(
						t, numbers, at + 2, &from) :
					list_replace(t, list, at + 2, &from);
			at = from - 1;
			depth += list != NULL; /* its end comes next */
		} else if (!string) {
			depth += (*at == '{' || *at == '[');
			depth -= (*at == '}' || *at == ']');
		}
	}
	return r ? r : text_write(t, from, (size_t)(end - from));
}

/* -- the text as it comes ---------------------------------------------------------------- */

static int row_end(struct thinning *t)
{
	int r = 0;

	if (row_is_kept(t, t->table, t->index++)) {
		if (t->kept_some)
			r = text_write(t, ",", 1);
		t->kept_some = true;
		if (r == 0)
			r = row_write(t);
	}
	t->row_len = 0;
	return r;
}

/* One more for the zero behind it. */
static int row_add(struct thinning *t, const char *bytes, size_t size)
{
	size_t room = 2 * (t->row_len + size) + 4096;
	char *row;

	if (t->row_len + size >= t->row_room) {
		row = realloc(t->row, room);
		if (!row)
			return -ENOMEM;
		t->row = row;
		t->row_room = room;
	}
	memcpy(t->row + t->row_len, bytes, size);
	t->row_len += size;
	t->row[t->row_len] = '\0';
	return 0;
}

/* Inside the array of a table that is thinned. */
static bool in_table(const struct thinning *t)
{
	return t->table != TABLE_OTHER && t->depth >= 2;
}

static void key_follow(struct thinning *t, char c)
{
	if (!t->in_string && c == '"') {
		t->key_len = 0;
	} else if (t->in_string && c != '"' && t->key_len + 1 < KEY_SIZE) {
		t->key[t->key_len++] = c;
	}
	t->key[t->key_len] = '\0';
}

static void string_follow(struct thinning *t, char c)
{
	if (t->escaped)
		t->escaped = false;
	else if (t->in_string && c == '\\')
		t->escaped = true;
	else if (c == '"')
		t->in_string = !t->in_string;
}

static int char_take(struct thinning *t, char c)
{
	bool opens, closes, between;
	int r;

	if (t->depth == 1)
		key_follow(t, c);
	opens = !t->in_string && (c == '{' || c == '[');
	closes = !t->in_string && (c == '}' || c == ']');
	string_follow(t, c);
	if (opens && t->depth == 1 && c == '[') {
		t->table = table_find(t->key);
		t->index = 0;
		t->kept_some = false;
	}
	between = t->depth == 2 && !opens; /* commas, and the end */
	t->depth += opens;
	t->depth -= closes;
	if (!in_table(t) || (opens && t->depth == 2)) {
		r = text_write(t, &c, 1);
		if (closes && t->depth == 1)
			t->table = TABLE_OTHER;
		return r;
	}
	if (between)
		return 0;
	r = row_add(t, &c, 1);
	if (r == 0 && closes && t->depth == 2)
		r = row_end(t);
	return r;
}

/* How much inside a row is neither structure nor the end of a string. */
static size_t run_length(
	const struct thinning *t, const char *bytes, size_t size)
{
	size_t i = 0;

	if (!in_table(t) || t->depth < 3 || t->escaped)
		return 0;
	if (t->in_string)
		for (; i < size && bytes[i] != '"' && bytes[i] != '\\'; i++)
			;
	else
		for (; i < size && bytes[i] != '"' && bytes[i] != '{' &&
			bytes[i] != '}' && bytes[i] != '[' && bytes[i] != ']';
			i++)
			;
	return i;
}

static int thinning_take(void *context, const char *bytes, size_t size)
{
	struct thinning *t = context;
	size_t i = 0, run;
	int r = 0;

	while (r == 0 && i < size) {
		run = run_length(t, bytes + i, size - i);
		if (run)
			r = row_add(t, bytes + i, run);
		else
			r = char_take(t, bytes[i]);
		i += run ? run : 1;
	}
	return r;
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
	free(t.row);
	return r;
}

int dump_render_json(const struct dump_report *report)
{
	if (dump_filter_is_set(&report->options->filter))
		return thinned_write(report);
	return ttmem_snapshot_write_file(report->snapshot, report->file);
}
