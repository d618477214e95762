/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/line.h"
#include "common/output.h"

#define PATH_SIZE 4096

int top_config_path(char *buffer, size_t buffer_size)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int length;

	/* Relative ones are to be ignored, says the specification. */
	if (base && base[0] == '/')
		length = snprintf(
			buffer, buffer_size, "%s/ttmem/top.conf", base);
	else if (home && home[0] == '/')
		length = snprintf(
			buffer, buffer_size, "%s/.config/ttmem/top.conf", home);
	else
		return -ENOENT;
	return (size_t)length < buffer_size ? 0 : -ENAMETOOLONG;
}

/* -- reading ------------------------------------------------------------------ */

static char *trimmed(char *text)
{
	size_t length;

	text += strspn(text, " \t");
	length = strlen(text);
	while (length && strchr(" \t\r\n", text[length - 1]))
		text[--length] = '\0';
	return text;
}

static bool is_on(const char *value)
{
	return strcmp(value, "on") == 0 || strcmp(value, "yes") == 0 ||
		strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
}

static void entry_take(
	struct top_state *state, const char *name, const char *value)
{
	size_t i, column;

	for (i = 0; i < TOP_SETTINGS; i++)
		if (strcmp(top_setting_texts[i].name, name) == 0)
			*top_setting_of(&state->settings, i) = is_on(value);
	if (strcmp(name, "sort") == 0) {
		column = top_column_find(TOP_TABLE_PROCESSES, value);
		if (column < TOP_COLUMNS)
			state->sort = column;
	} else if (strcmp(name, "reverse") == 0) {
		state->reverse = is_on(value);
	} else if (strcmp(name, "view") == 0) {
		for (i = 0; i < TOP_VIEWS; i++)
			if (strcmp(top_view_names[i], value) == 0)
				state->view = (enum top_view)i;
	}
}

int top_config_read(const char *path, struct top_state *state)
{
	struct ttm_line line = { NULL, 0, 0 };
	struct ttm_input input;
	char *equals;
	int r = ttm_input_open(path, &input);

	if (r < 0)
		return r;
	while ((r = ttm_line_read(&input, TTM_LINE_MAX, &line)) > 0) {
		line.text[strcspn(line.text, "#")] = '\0';
		equals = strchr(line.text, '=');
		if (!equals)
			continue;
		*equals = '\0';
		entry_take(state, trimmed(line.text), trimmed(equals + 1));
	}
	ttm_line_free(&line);
	ttm_input_close(&input);
	return r;
}

/* -- writing ------------------------------------------------------------------ */

/* The directory of the file and the one above it. */
static void directories_make(const char *path)
{
	char part[PATH_SIZE];
	char *slash, *above;

	snprintf(part, sizeof(part), "%s", path);
	slash = strrchr(part, '/');
	if (!slash || slash == part)
		return;
	*slash = '\0';
	above = strrchr(part, '/');
	if (above && above != part) {
		*above = '\0';
		mkdir(part, 0700);
		*above = '/';
	}
	mkdir(part, 0700);
}

static void file_fill(FILE *file, const struct top_state *state)
{
	struct top_settings settings = state->settings;
	size_t i;

	fputs("# ttmem-top writes this file when settings are changed (F2).\n",
		file);
	for (i = 0; i < TOP_SETTINGS; i++)
		fprintf(file, "%s = %s\n", top_setting_texts[i].name,
			*top_setting_of(&settings, i) ? "on" : "off");
	fprintf(file, "sort = %s\n", top_columns[state->sort].name);
	fprintf(file, "reverse = %s\n", state->reverse ? "on" : "off");
}

int top_config_write(const char *path, const struct top_state *state)
{
	struct ttm_output output;
	int r;

	directories_make(path);
	r = ttm_output_open(path, true, &output);
	if (r < 0)
		return r;
	file_fill(output.file, state);
	return ttm_output_close(&output, true);
}
