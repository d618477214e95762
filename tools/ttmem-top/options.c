/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "app.h"

#include <stdio.h>
#include <string.h>

#include "common/device.h"
#include "common/error.h"
#include "common/number.h"
#include "common/options.h"

#define OPTIONS struct top_options
#define SECOND_NS 1000000000ull
#define MOST_CELLS 1000u

static ttm_option_take sort_parse, device_parse, size_parse;

/* clang-format off */
static const struct ttm_option options_known[] = {
	TTM_OPTION_HELP_TEXT("usage: ttmem-top [options]\n\n"
		"Shows what is on Tenstorrent devices, and whose it is, as it changes.\n"
		"Keys: h tells them; q quits.\n\n"
		"What is shown:\n"),
	TTM_OPTION(WORD, view, "view", "NAME", .words = top_view_names,
		.help = "devices (default), charts, processes or health"),
	TTM_OPTION_CALLS(device_parse, device, "device", "NAME",
		.help = "the one to begin with, as displayed: 0,\n"
			"..HEX, asic:HEX, pci:BDF, logical:0"),
	TTM_OPTION_CALLS(sort_parse, sort, "sort", "COLUMN",
		.help = "of processes: dram (default), pid, l1, command, ..."),
	TTM_OPTION(STRING, filter, "filter", "TEXT",
		.help = "processes with this in command, user, state or pid"),
	TTM_OPTION(WORD, window, "window", "TIME",
		.words = TTM_OPTION_WORDS("1m", "2m", "5m", "15m", "1h", "3h", "6h", "12h", "24h"),
		.help = "of charts: 1m (default), 2m, 5m, 15m, 1h, 3h, 6h,\n12h or 24h"),
	TTM_OPTION(SECONDS, delay_ns, "delay", "SEC", .letter = 'd',
		.least = SECOND_NS / 20, .most = 3600 * SECOND_NS,
		.help = "between frames (default: 1; of a recording: as\nrecorded)"),
	TTM_OPTION(FLAG, readonly, "readonly", NULL, .help = "no signals to processes"),
	TTM_OPTION_HELP_TEXT("\nWhere from:\n"),
	TTM_OPTION(DIR, dir, "dir", "DIR",
		.help = "base directory (default: TTMEM_DIR, /run/ttmem or\n/dev/shm)"),
	TTM_OPTION(FLAG, system, "system", NULL,
		.help = "root's ttmemd, whether it serves you or not"),
	TTM_OPTION(STRING, replay, "replay", "FILE",
		.help = "a recording, or ttmem-dump --format json --watch 1;\n"
			"- is standard input. Its times and ages are those\n"
			"of the recording: a file always looks the same"),
	TTM_OPTION(STRING, record, "record", "FILE",
		.help = "write down what is shown, one line per snapshot"),
	TTM_OPTION_HELP_TEXT(
		"\nWithout a terminal (so it is in a pipe and with TERM=dumb, once):\n"),
	TTM_OPTION(FLAG, once, "once", NULL, .letter = '1', .help = "print one frame of text"),
	TTM_OPTION(FLAG, batch, "batch", NULL, .letter = 'b',
		.help = "print frame after frame; of a recording, each of it\n"
			"at once, unless --delay is given"),
	TTM_OPTION(NUMBER, count, "count", "N", .letter = 'n', .least = 1,
		.help = "end after N frames"),
	TTM_OPTION_CALLS(size_parse, size, "size", "COLSxROWS",
		.help = "of the screen; without it, text has all rows"),
	TTM_OPTION_HELP_TEXT("\n"),
	TTM_OPTION(FLAG, ascii, "ascii", NULL, .help = "no other characters"),
	TTM_OPTION(FLAG, no_colour, "no-colour", NULL, .help = "also with NO_COLOR set"),
	TTM_OPTION(FLAG, no_colour, "no-color", NULL),
	TTM_OPTION(FLAG, vi, "vi", NULL, .help = "vi movement"),
	TTM_OPTION(STRING, config, "config", "FILE",
		.help = "instead of $XDG_CONFIG_HOME/ttmem/top.conf"),
	TTM_OPTION(FLAG, no_config, "no-config", NULL, .help = "neither read nor write it"),
	{ .type = TTM_OPTION_HELP, .name = "help", .letter = 'h', .help = "" },
	{ .type = TTM_OPTION_VERSION, .name = "version", .letter = 'V', .help = "" },
	TTM_OPTION_HELP_TEXT("\n"
		"Exit status of --once and --batch: 0, 1 failure, 2 wrong use, 3 no data or\n"
		"none that is current, 4 data incomplete or incompatible. See ttmem-top(1).\n"),
	{ 0 },
};
/* clang-format on */

static void sort_parse(void *at, const char *option, const char *value)
{
	size_t column = top_column_find(TOP_TABLE_PROCESSES, value), i;
	size_t first = top_table_first(TOP_TABLE_PROCESSES);
	size_t len = top_table_len(TOP_TABLE_PROCESSES);
	const char *words[TOP_COLUMNS + 1] = { NULL };

	for (i = 0; i < len; i++)
		words[i] = top_columns[first + i].name;
	if (column == TOP_COLUMNS)
		ttm_option_refuse(option, value, words);
	*(size_t *)at = column;
}

static void device_parse(void *at, const char *option, const char *value)
{
	struct ttm_device_selector wanted;

	if (!ttm_device_parse(value, &wanted))
		ttm_error_usage("--%s: not a device: %s (0, logical:0, "
				"asic:HEX, ..HEX or pci:BDF)",
			option, value);
	*(const char **)at = value;
}

static void size_parse(void *at, const char *option, const char *value)
{
	uint64_t cols = 0, rows = 0;
	const char *x = strchr(value, 'x');
	struct top_size *size = at;
	char text[32];

	snprintf(text, sizeof(text), "%.*s", x ? (int)(x - value) : 0, value);
	if (!x || ttm_number_parse(text, &cols) < 0 ||
		ttm_number_parse(x + 1, &rows) < 0 || cols == 0 || rows == 0 ||
		cols > MOST_CELLS || rows > MOST_CELLS)
		ttm_error_usage("--%s: not COLSxROWS, up to %ux%u: %s", option,
			MOST_CELLS, MOST_CELLS, value);
	size->cols = (int)cols;
	size->rows = (int)rows;
}

void top_options_parse(int argc, char **argv, struct top_options *ret_options)
{
	struct ttm_command command = { .name = "ttmem-top",
		.options = options_known };

	memset(ret_options, 0, sizeof(*ret_options));
	ret_options->sort = TOP_COLUMNS;
	ret_options->view = TOP_VIEWS;
	ttm_options_parse(&command, argc, argv, ret_options);
	if (ret_options->replay && (ret_options->dir || ret_options->system))
		ttm_error_usage("--replay reads a recording: neither --dir nor "
				"--system goes with it");
	if (ret_options->replay && ret_options->record)
		ttm_error_usage("--record and --replay do not go together");
	if (ret_options->once && ret_options->batch)
		ttm_error_usage("--once and --batch do not go together");
}
