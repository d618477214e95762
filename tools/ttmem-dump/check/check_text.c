/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* The verdict for people, and as annotations of GitHub Actions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "check.h"

#define LEAKS_MAX 1000u
#define OTHERS_MAX 20u
#define LINE_SIZE 512u
#define ANNOTATIONS_MAX 10u

/* With --gen-suppressions the output is a file of suppressions. */
static const char *prefix(const struct check_verdict *verdict)
{
	return verdict->options->generate ? "# " : "";
}

static void lines_write(const struct check_verdict *verdict,
	const struct check_lines *lines, const char *what, FILE *file)
{
	size_t i;

	for (i = 0; i < lines->len; i++)
		fprintf(file, "%s%s: %s\n", prefix(verdict), what,
			lines->lines[i]);
}

static int scope_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * One line for each scope: a second one would never be used. There is none for leaks
 * without a scope: it would suppress all of them, those of tomorrow too.
 */
static void generated_write(const struct check_verdict *verdict, FILE *file)
{
	size_t len = 0, i;
	const char **scopes = malloc(
		(verdict->leaks.len + 1) * sizeof(*scopes));
	const char *scope;
	bool without = false;

	for (i = 0; scopes && i < verdict->leaks.len; i++) {
		scope = verdict->leaks.groups[i].scope;
		if (scope && *scope)
			scopes[len++] = scope;
		else
			without = true;
	}
	if (scopes)
		qsort(scopes, len, sizeof(*scopes), scope_compare);
	for (i = 0; scopes && i < len; i++)
		if (i == 0 || strcmp(scopes[i], scopes[i - 1]) != 0)
			suppression_write(file, scopes[i]);
	if (without)
		fputs("# no suppression for leaks without a scope: allocate "
		      "in a scope, or add process:NAME or kind:KIND\n",
			file);
	free(scopes);
}

static void records_write(const struct check_verdict *verdict,
	const struct dump_groups *records, const char *what, size_t most,
	FILE *file)
{
	char text[CHECK_RECORD_SIZE];
	size_t i;

	for (i = 0; i < records->len && i < most; i++)
		fprintf(file, "%s%s: %s\n", prefix(verdict), what,
			check_record_text(verdict, &records->groups[i], text));
	if (records->len > most)
		fprintf(file, "%s%s: %zu smaller ones\n", prefix(verdict), what,
			records->len - most);
}

static void suppressions_write(const struct check_verdict *verdict, FILE *file)
{
	const struct suppression *row;
	char text[LINE_SIZE], path[LINE_SIZE];
	size_t i;

	for (i = 0; i < verdict->excuses->suppressions.len; i++) {
		row = &verdict->excuses->suppressions.rows[i];
		ttm_text_escape(row->text, text, sizeof(text));
		ttm_text_escape(row->path, path, sizeof(path));
		if (row->uses)
			fprintf(file,
				"%ssuppressed: %" PRIu64 " object%s, %" PRIu64
				" bytes: %s\n",
				prefix(verdict), row->uses,
				row->uses == 1 ? "" : "s", row->bytes, text);
		else
			fprintf(file, "%sunused suppression: %s:%u: %s\n",
				prefix(verdict), path, row->line, text);
	}
}

void check_write_text(const struct check_verdict *verdict, FILE *file)
{
	records_write(verdict, &verdict->leaks, "leak", LEAKS_MAX, file);
	records_write(
		verdict, &verdict->others, "not counted", OTHERS_MAX, file);
	records_write(
		verdict, &verdict->foreign, "another user's", OTHERS_MAX, file);
	if (verdict->options->generate)
		generated_write(verdict, file);
	suppressions_write(verdict, file);
	lines_write(verdict, &verdict->notes, "note", file);
	lines_write(verdict, &verdict->exceeded, "limit exceeded", file);
	lines_write(verdict, &verdict->gaps, "incomplete", file);
	lines_write(verdict, &verdict->missing, "no data", file);
	if (verdict->worth.status && verdict->worth.reason[0])
		fprintf(file, "%sno current data: %s\n", prefix(verdict),
			verdict->worth.reason);
	if (verdict->worth.status && verdict->worth.hint)
		fprintf(file, "%shint: %s\n", prefix(verdict),
			verdict->worth.hint);
}

/* -- annotations ------------------------------------------------------------------------ */

/* The text is escaped already: only what the runner itself reads is left. */
static void annotation_write(
	FILE *file, const char *level, const char *title, const char *text)
{
	fprintf(file, "::%s title=%s::", level, title);
	for (; *text; text++) {
		if (*text == '%')
			fputs("%25", file);
		else
			fputc(*text, file);
	}
	fputc('\n', file);
}

static void annotations_write(FILE *file, const char *level, const char *title,
	const struct check_lines *lines)
{
	size_t i;

	for (i = 0; i < lines->len; i++)
		annotation_write(file, level, title, lines->lines[i]);
}

static void unused_annotate(const struct check_verdict *verdict, FILE *file)
{
	const struct suppressions *all = &verdict->excuses->suppressions;
	const char *level = verdict->options->strict ? "error" : "warning";
	char text[LINE_SIZE];
	size_t i;

	for (i = 0; i < all->len; i++)
		if (all->rows[i].uses == 0)
			annotation_write(file, level,
				"ttmem unused suppression",
				ttm_text_escape(
					all->rows[i].text, text, sizeof(text)));
}

/* GitHub shows ten of a step: what says that it is no verdict comes first. */
void check_write_github(const struct check_verdict *verdict, FILE *file)
{
	char text[CHECK_RECORD_SIZE];
	size_t i;

	if (verdict->worth.status)
		annotation_write(
			file, "error", "ttmem no data", verdict->worth.reason);
	annotations_write(file, "error", "ttmem no data", &verdict->missing);
	annotations_write(file, "error", "ttmem incomplete", &verdict->gaps);
	annotations_write(file, "error", "ttmem limit", &verdict->exceeded);
	for (i = 0; i < verdict->leaks.len && i < ANNOTATIONS_MAX; i++)
		annotation_write(file, "error", "ttmem leak",
			check_record_text(
				verdict, &verdict->leaks.groups[i], text));
	if (verdict->leaks.len > ANNOTATIONS_MAX) {
		snprintf(text, sizeof(text), "%zu more leaks",
			verdict->leaks.len - ANNOTATIONS_MAX);
		annotation_write(file, "error", "ttmem leak", text);
	}
	annotations_write(file, "warning", "ttmem note", &verdict->notes);
	unused_annotate(verdict, file);
}
