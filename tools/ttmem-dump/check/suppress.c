/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "check.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/line.h"
#include "common/text.h"
#include "ttmem-dump/filter.h"

/* Worst case: * at both ends, and every character with a backslash. */
#define PATTERN_SIZE(text) (2 * strlen(text) + 3)

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character that stands for itself. */
static size_t literal_put(char *pattern, size_t at, char c)
{
	if (!isalnum((unsigned char)c) && (unsigned char)c < 0x80)
		pattern[at++] = '\\';
	pattern[at++] = c;
	return at;
}

/* Takes \xNN or \c; returns how far it reaches. */
static size_t escape_take(const char *text, char *ret_char)
{
	int high, low;

	if (text[1] == 'x') {
		high = hex_value(text[2]);
		low = high < 0 ? -1 : hex_value(text[3]);
		if (low >= 0 && (high || low)) {
			*ret_char = (char)(high << 4 | low);
			return 4;
		}
	}
	*ret_char = text[1] ? text[1] : '\\';
	return text[1] ? 2 : 1;
}

/* Ours to fnmatch's, which matches the whole text. */
static char *pattern_make(const char *text)
{
	char *pattern = malloc(PATTERN_SIZE(text));
	size_t at = 0, step;
	bool held = false;
	char c;

	if (!pattern)
		return NULL;
	if (*text == '^')
		text++;
	else
		pattern[at++] = '*';
	for (; *text; text += step) {
		step = 1;
		if (*text == '*') {
			pattern[at++] = '*';
		} else if (*text == '$' && !text[1]) {
			held = true;
		} else if (*text == '\\') {
			step = escape_take(text, &c);
			at = literal_put(pattern, at, c);
		} else {
			at = literal_put(pattern, at, *text);
		}
	}
	if (!held)
		pattern[at++] = '*';
	pattern[at] = '\0';
	return pattern;
}

/* -- reading ------------------------------------------------------------------------ */

/* "dram,cb"; 0: wrong, and *choice has the text that says what is valid. */
static uint32_t kinds_of(const char *text, struct ttm_choice *choice)
{
	uint32_t figures = 0, more = 1;
	char *copy = strdup(text), *at = copy, *part;

	while (more && at && (part = strsep(&at, ",")) != NULL) {
		more = dump_kind_find(part);
		figures = more ? figures | more : 0;
		if (!more)
			dump_kind_choice(choice, part);
	}
	free(copy);
	return figures;
}

static bool line_parse(
	const char *line, struct suppression *row, struct ttm_choice *choice)
{
	const char *value = strchr(line, ':');

	if (!value)
		return false;
	value++;
	if (strncmp(line, "leak:", 5) == 0)
		row->of = SUPPRESS_SCOPE;
	else if (strncmp(line, "process:", 8) == 0)
		row->of = SUPPRESS_PROCESS;
	else if (strncmp(line, "kind:", 5) == 0)
		row->of = SUPPRESS_KIND;
	else
		return false;
	if (row->of == SUPPRESS_KIND) {
		row->figures = kinds_of(value, choice);
		return row->figures != 0;
	}
	return *value != '\0';
}

static int row_add(struct suppressions *suppressions, const char *line,
	const struct suppression *like)
{
	size_t size = (suppressions->len + 1) * sizeof(*suppressions->rows);
	struct suppression *rows = realloc(suppressions->rows, size);
	struct suppression row = *like;

	if (!rows)
		return -ENOMEM;
	suppressions->rows = rows;
	row.text = strdup(line);
	row.pattern = pattern_make(strchr(line, ':') + 1);
	if (!row.text || !row.pattern) {
		free(row.text);
		free(row.pattern);
		return -ENOMEM;
	}
	rows[suppressions->len++] = row;
	return 0;
}

/* Comments, empty lines, and what check prints last. */
static bool line_is_nothing(const char *line)
{
	return !*line || *line == '#' ||
		strncmp(line, "SUMMARY: ttmem: ", 16) == 0;
}

struct reading {
	struct suppressions *suppressions;
	const char *path;
};

static int line_take(void *context, char *line, unsigned number)
{
	const struct reading *reading = context;
	struct suppression row = { .path = reading->path, .line = number };
	struct ttm_choice choice = { 0 };
	char shown[96];

	line += strspn(line, " \t");
	if (line_is_nothing(line))
		return 0;
	if (!line_parse(line, &row, &choice)) {
		if (choice.text[0])
			ttm_error("%s:%u: unknown kind: %s %s", row.path,
				number,
				ttm_text_escape(line + strlen("kind:"), shown,
					sizeof(shown)),
				choice.text);
		else
			ttm_error("%s:%u: not a suppression (leak:PATTERN, "
				  "kind:KIND,.. or process:PATTERN)",
				row.path, number);
		return TTM_EXIT_FAILURE;
	}
	if (row_add(reading->suppressions, line, &row) == 0)
		return 0;
	ttm_error("%s", strerror(ENOMEM));
	return TTM_EXIT_FAILURE;
}

int suppressions_read(struct suppressions *suppressions, const char *path)
{
	struct reading reading = { suppressions, path };

	return ttm_lines_each(path, "", line_take, &reading);
}

void suppressions_free(struct suppressions *suppressions)
{
	size_t i;

	for (i = 0; i < suppressions->len; i++) {
		free(suppressions->rows[i].text);
		free(suppressions->rows[i].pattern);
	}
	free(suppressions->rows);
	memset(suppressions, 0, sizeof(*suppressions));
}

void suppressions_reset(struct suppressions *suppressions)
{
	size_t i;

	for (i = 0; i < suppressions->len; i++) {
		suppressions->rows[i].uses = 0;
		suppressions->rows[i].bytes = 0;
	}
	suppressions->unused = suppressions->len;
	memset(suppressions->found, 0, sizeof(suppressions->found));
}

/* -- using --------------------------------------------------------------------------- */

static bool row_fits(const struct suppression *row,
	const struct ttmem_object_row *object, const char *comm)
{
	const char *text = row->of == SUPPRESS_SCOPE ? object->scope : comm;

	if (row->of == SUPPRESS_KIND)
		return object->figure < TTMEM_FIGURES &&
			row->figures >> object->figure & 1;
	return fnmatch(row->pattern, text ? text : "", 0) == 0;
}

/* The first that fits; `len` if none does. */
static size_t row_search(const struct suppressions *suppressions,
	const struct ttmem_object_row *object, const char *comm)
{
	size_t i = 0;

	while (i < suppressions->len &&
		!row_fits(&suppressions->rows[i], object, comm))
		i++;
	return i;
}

static size_t row_find(struct suppressions *suppressions,
	const struct ttmem_object_row *object, const char *comm)
{
	uint64_t hash = ((uint64_t)(uintptr_t)object->scope ^
				(uint64_t)(uintptr_t)comm << 1 ^
				object->figure) *
		0x9e3779b97f4a7c15ull;
	struct suppression_found *found = &suppressions->found[hash >> 32 &
		(SUPPRESSIONS_FOUND - 1)];

	if (found->row == 0 || found->scope != object->scope ||
		found->comm != comm || found->figure != object->figure) {
		found->scope = object->scope;
		found->comm = comm;
		found->figure = object->figure;
		found->row = row_search(suppressions, object, comm) + 1;
	}
	return found->row - 1;
}

bool suppressions_take(struct suppressions *suppressions,
	const struct dump_part *part, const char *comm)
{
	size_t i = suppressions->len ?
		row_find(suppressions, part->object, comm) :
		0;
	struct suppression *row;

	if (i == suppressions->len)
		return false;
	row = &suppressions->rows[i];
	suppressions->unused -= row->uses == 0;
	row->uses++;
	if (part->bytes != TTMEM_UNKNOWN)
		row->bytes += part->bytes;
	return true;
}

void suppression_write(FILE *file, const char *scope)
{
	const unsigned char *at = (const unsigned char *)scope;

	fputs("leak:^", file);
	for (; *at; at++) {
		if (*at < 0x20 || *at >= 0x7f)
			fprintf(file, "\\x%02x", *at);
		else if (strchr("*^$\\", *at))
			fprintf(file, "\\%c", *at);
		else
			fputc(*at, file);
	}
	fputs("$\n", file);
}
