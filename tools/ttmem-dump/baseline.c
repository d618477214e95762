/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/*
 * Known leaks: "CLASS KIND SIZE COUNT SCOPE" in each line, the scope escaped and to
 * the end of the line. Scopes are compared in that form.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "common/error.h"
#include "common/text.h"
#include "out.h"

#define FIRST_LINE "# ttmem baseline 1"

struct known {
	uint64_t leak_class;
	uint64_t figure;
	uint64_t size;
	uint64_t count;
	uint64_t seen;
	char *scope;
};

struct check_baseline {
	struct known *rows;
	size_t len;
	char *scope; /* of the object that is asked for, escaped */
	size_t scope_size;
};

void check_baseline_free(struct check_baseline **baseline)
{
	size_t i;

	if (!*baseline)
		return;
	for (i = 0; i < (*baseline)->len; i++)
		free((*baseline)->rows[i].scope);
	free((*baseline)->rows);
	free((*baseline)->scope);
	free(*baseline);
	*baseline = NULL;
}

static bool line_parse(const char *line, struct known *ret_row)
{
	char class_name[32], kind[32];
	int scope = 0;

	if (sscanf(line, "%31s %31s %" SCNu64 " %" SCNu64 "%n", class_name,
		    kind, &ret_row->size, &ret_row->count, &scope) != 4 ||
		line[scope] != ' ')
		return false;
	ret_row->scope = strdup(line + scope + 1);
	return ret_row->scope &&
		ttmem_name_parse(TTMEM_NAMES_CLASS, class_name,
			&ret_row->leak_class) == 0 &&
		ttmem_name_parse(TTMEM_NAMES_FIGURE, kind, &ret_row->figure) ==
		0;
}

static bool line_take(struct check_baseline *baseline, char *line)
{
	struct known *rows, row = { 0 };

	line[strcspn(line, "\n")] = '\0';
	if (!*line || *line == '#')
		return true;
	rows = realloc(baseline->rows, (baseline->len + 1) * sizeof(*rows));
	if (!rows)
		return false;
	baseline->rows = rows;
	if (line_parse(line, &row)) {
		rows[baseline->len++] = row;
		return true;
	}
	free(row.scope);
	return false;
}

int check_baseline_read(const char *path, struct check_baseline **ret_baseline)
{
	FILE *file = fopen(path, "re");
	struct check_baseline *baseline = calloc(1, sizeof(*baseline));
	char *line = NULL;
	size_t size = 0;
	unsigned number = 0;
	bool good = true;

	*ret_baseline = baseline;
	if (!file || !baseline) {
		ttm_error("%s: %s", path, strerror(errno));
		if (file)
			fclose(file);
		return TTM_EXIT_FAILURE;
	}
	while (good && getline(&line, &size, file) >= 0) {
		number++;
		good = line_take(baseline, line) &&
			(number > 1 || strcmp(line, FIRST_LINE) == 0);
	}
	if (!good || number == 0 || ferror(file)) {
		ttm_error("%s:%u: not a baseline", path, number);
		good = false;
	}
	free(line);
	fclose(file);
	return good ? 0 : TTM_EXIT_FAILURE;
}

/* A buffer that is kept: this is asked for every object. */
static const char *scope_escape(
	struct check_baseline *baseline, const char *scope)
{
	size_t size = 4 * strlen(scope ? scope : "") + 1;
	char *grown;

	if (size > baseline->scope_size) {
		grown = realloc(baseline->scope, size);
		if (!grown)
			return NULL;
		baseline->scope = grown;
		baseline->scope_size = size;
	}
	return ttm_text_escape(
		scope ? scope : "", baseline->scope, baseline->scope_size);
}

bool check_baseline_take(
	struct check_baseline *baseline, const struct ttmem_object_row *object)
{
	const char *scope = scope_escape(baseline, object->scope);
	struct known *row;
	size_t i;

	for (i = 0; scope && i < baseline->len; i++) {
		row = &baseline->rows[i];
		if (row->leak_class == object->leak_class &&
			row->figure == object->figure &&
			row->size == object->bytes &&
			strcmp(row->scope, scope) == 0) {
			row->seen++;
			return true;
		}
	}
	return false;
}

void check_baseline_exceeded(
	const struct check_baseline *baseline, struct check_lines *lines)
{
	const struct known *row;
	size_t i;

	for (i = 0; i < baseline->len; i++) {
		row = &baseline->rows[i];
		if (row->seen > row->count)
			check_lines_add(lines,
				"baseline: %" PRIu64 " objects and not %" PRIu64
				": %s %s of %" PRIu64 " bytes, scope \"%s\"",
				row->seen, row->count,
				ttmem_name(TTMEM_NAMES_CLASS, row->leak_class),
				ttmem_name(TTMEM_NAMES_FIGURE, row->figure),
				row->size, row->scope);
	}
}

int check_baseline_write(const char *path, const struct check_verdict *verdict)
{
	static struct dump_out out; /* large */
	struct check_baseline scratch = { 0 };
	const struct dump_group *g;
	const char *scope = "";
	size_t i;

	if (dump_out_open(path, &out) != 0)
		return TTM_EXIT_FAILURE;
	fputs(FIRST_LINE "\n# class kind size count scope\n", out.file);
	for (i = 0; scope && i < verdict->leaks.len; i++) {
		g = &verdict->leaks.groups[i];
		scope = scope_escape(&scratch, g->scope);
		if (scope && ttmem_name(TTMEM_NAMES_CLASS, g->leak_class) &&
			ttmem_name(TTMEM_NAMES_FIGURE, g->figure))
			fprintf(out.file, "%s %s %" PRIu64 " %" PRIu64 " %s\n",
				ttmem_name(TTMEM_NAMES_CLASS, g->leak_class),
				ttmem_name(TTMEM_NAMES_FIGURE, g->figure),
				g->size, g->objects, scope);
	}
	free(scratch.scope);
	return dump_out_close(&out, scope != NULL) || !scope ?
		TTM_EXIT_FAILURE :
		0;
}
