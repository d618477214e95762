/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/*
 * Known leaks: "CLASS KIND SIZE COUNT DEVICES SCOPE" in each line, the scope escaped and
 * to the end of the line. SIZE is on each device, DEVICES how many an object leaked on:
 * which ones may differ from run to run. Lines of version 1 have no DEVICES and stand
 * for any number.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/line.h"
#include "common/text.h"
#include "common/value.h"
#include "ttmem-dump/out.h"
#include "check.h"

#define FIRST_LINE "# ttmem baseline 2"
#define FIRST_LINE_1 "# ttmem baseline 1"
/* A scope has 112 bytes at most, each of which may need an escape. */
#define SCOPE_SIZE 1024u

struct known {
	uint64_t leak_class;
	uint64_t figure;
	uint64_t size;
	uint64_t count;
	uint64_t seen;
	uint64_t devices; /* 0: any number */
	const char *scope;
	char *text; /* what `scope` is in; NULL: an object's */
};

struct check_baseline {
	struct known *rows; /* sorted, each once */
	size_t len;
	size_t room;
	const char *path;
	unsigned version; /* of the lines that are being read; 0: none yet */
};

void check_baseline_free(struct check_baseline **baseline)
{
	size_t i;

	if (!*baseline)
		return;
	for (i = 0; i < (*baseline)->len; i++)
		free((*baseline)->rows[i].text);
	free((*baseline)->rows);
	free(*baseline);
	*baseline = NULL;
}

static bool line_parse(
	const char *line, unsigned version, struct known *ret_row)
{
	char class_name[32], kind[32];
	int rest = 0, more = 0;

	if (sscanf(line, "%31s %31s %" SCNu64 " %" SCNu64 "%n", class_name,
		    kind, &ret_row->size, &ret_row->count, &rest) != 4)
		return false;
	if (version > 1 &&
		sscanf(line + rest, " %" SCNu64 "%n", &ret_row->devices,
			&more) != 1)
		return false;
	rest += more;
	if (line[rest] != ' ')
		return false;
	ret_row->text = strdup(line + rest + 1);
	if (!ret_row->text)
		return false;
	ttm_text_unescape(ret_row->text);
	ret_row->scope = ret_row->text;
	return ttmem_name_parse(TTMEM_NAMES_CLASS, class_name,
		       &ret_row->leak_class) == 0 &&
		ttmem_name_parse(TTMEM_NAMES_FIGURE, kind, &ret_row->figure) ==
		0;
}

static int known_compare(const void *a, const void *b)
{
	const struct known *one = a, *other = b;

	if (one->leak_class != other->leak_class)
		return one->leak_class < other->leak_class ? -1 : 1;
	if (one->figure != other->figure)
		return one->figure < other->figure ? -1 : 1;
	if (one->size != other->size)
		return one->size < other->size ? -1 : 1;
	if (one->devices != other->devices)
		return one->devices < other->devices ? -1 : 1;
	return strcmp(one->scope, other->scope);
}

static bool row_add(struct check_baseline *baseline, const struct known *row)
{
	struct known *rows = ttm_list_grow(
		baseline->rows, baseline->len, &baseline->room, sizeof(*rows));

	if (!rows)
		return false;
	baseline->rows = rows;
	baseline->rows[baseline->len++] = *row;
	return true;
}

/* The first line says which version it is. */
static bool line_is_taken(struct check_baseline *baseline, const char *line)
{
	struct known row = { 0 };

	if (strcmp(line, FIRST_LINE) == 0)
		baseline->version = 2;
	else if (strcmp(line, FIRST_LINE_1) == 0)
		baseline->version = 1;
	if (!baseline->version || !*line || *line == '#')
		return baseline->version > 0;
	if (line_parse(line, baseline->version, &row) &&
		row_add(baseline, &row))
		return true;
	free(row.text);
	return false;
}

static int line_take(void *context, char *line, unsigned number)
{
	struct check_baseline *baseline = context;

	if (line_is_taken(baseline, line))
		return 0;
	ttm_error("%s:%u: not a baseline", baseline->path, number);
	return TTM_EXIT_FAILURE;
}

/* Files may be put together: what is in both adds up. */
static void rows_settle(struct check_baseline *baseline)
{
	struct known *rows = baseline->rows;
	size_t i, len = 0;

	if (baseline->len)
		qsort(rows, baseline->len, sizeof(*rows), known_compare);
	for (i = 0; i < baseline->len; i++) {
		if (len && known_compare(&rows[len - 1], &rows[i]) == 0) {
			rows[len - 1].count += rows[i].count;
			free(rows[i].text);
		} else {
			rows[len++] = rows[i];
		}
	}
	baseline->len = len;
}

int check_baseline_read(const char *path, struct check_baseline **ret_baseline)
{
	struct check_baseline *baseline = calloc(1, sizeof(*baseline));
	int status;

	*ret_baseline = baseline;
	if (!baseline) {
		ttm_error("%s: %s", path, strerror(ENOMEM));
		return TTM_EXIT_FAILURE;
	}
	baseline->path = path;
	status = ttm_lines_each(path, "not a baseline: ", line_take, baseline);
	if (status == 0 && !baseline->version) {
		ttm_error("%s:0: not a baseline", path);
		status = TTM_EXIT_FAILURE;
	}
	rows_settle(baseline);
	return status;
}

void check_baseline_reset(struct check_baseline *baseline)
{
	size_t i;

	for (i = 0; i < baseline->len; i++)
		baseline->rows[i].seen = 0;
}

static struct known *known_find(
	struct check_baseline *baseline, const struct known *key)
{
	return baseline->len ? bsearch(key, baseline->rows, baseline->len,
				       sizeof(*key), known_compare) :
			       NULL;
}

bool check_baseline_take(
	struct check_baseline *baseline, const struct dump_part *part)
{
	struct known key = {
		.leak_class = part->leak_class,
		.figure = part->object->figure,
		.size = part->object->bytes,
		.devices = part->devices,
		.scope = part->object->scope ? part->object->scope : "",
	};
	struct known *row = known_find(baseline, &key);

	if (!row) {
		key.devices = 0;
		row = known_find(baseline, &key);
	}
	if (row)
		row->seen++;
	return row != NULL;
}

void check_baseline_exceeded(
	const struct check_baseline *baseline, struct check_lines *lines)
{
	char scope[SCOPE_SIZE], each[64];
	const struct known *row;
	size_t i;

	for (i = 0; i < baseline->len; i++) {
		row = &baseline->rows[i];
		if (row->seen <= row->count)
			continue;
		each[0] = '\0';
		if (row->devices > 1)
			snprintf(each, sizeof(each),
				" on each of %" PRIu64 " devices",
				row->devices);
		check_add(lines,
			"baseline: %" PRIu64 " objects and not %" PRIu64
			": %s %s of %" PRIu64 " bytes%s, scope \"%s\"",
			row->seen, row->count,
			ttmem_name(TTMEM_NAMES_CLASS, row->leak_class),
			ttmem_name(TTMEM_NAMES_FIGURE, row->figure), row->size,
			each,
			ttm_text_escape(row->scope, scope, sizeof(scope)));
	}
}

/* What has no name of ours cannot be known. */
static void record_write(const struct dump_group *record, FILE *file)
{
	const char *class_name = ttmem_name(
		TTMEM_NAMES_CLASS, record->leak_class);
	const char *kind = ttmem_name(TTMEM_NAMES_FIGURE, record->figure);
	char scope[SCOPE_SIZE];

	if (class_name && kind)
		fprintf(file, "%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
			class_name, kind, record->size, record->objects,
			record->on,
			ttm_text_escape(record->scope ? record->scope : "",
				scope, sizeof(scope)));
}

int check_baseline_write(const char *path, const struct check_verdict *verdict)
{
	static struct dump_out out; /* large */
	size_t i;

	if (dump_out_open(path, &out) != 0)
		return TTM_EXIT_FAILURE;
	fputs(FIRST_LINE "\n# class kind size count devices scope\n", out.file);
	for (i = 0; i < verdict->leaks.len; i++)
		record_write(&verdict->leaks.groups[i], out.file);
	return dump_out_close(&out, true);
}
