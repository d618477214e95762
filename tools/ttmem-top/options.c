/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "common/device.h"
#include "common/choice.h"
#include "common/error.h"
#include "common/number.h"
#include "common/options.h"

#define SECOND_NS 1e9
#define LEAST_SECONDS 0.05
#define MOST_SECONDS 3600.0
#define MOST_CELLS 1000u

static const char help[] =
	"usage: ttmem-top [options]\n"
	"\n"
	"Shows what is on Tenstorrent devices, and whose it is, as it changes.\n"
	"Keys: h tells them; q quits.\n"
	"\n"
	"What is shown:\n"
	"      --view NAME      devices (default), charts, processes or health\n"
	"      --device NAME    the one to begin with, as displayed: 0,\n"
	"                         ..HEX, asic:HEX, pci:BDF, logical:0\n"
	"      --sort COLUMN    of processes: dram (default), pid, l1, command, ...\n"
	"      --filter TEXT    processes with this in command, user, state or pid\n"
	"      --window TIME    of charts: 1m (default), 2m, 5m, 15m, 1h, 3h, 6h,\n"
	"                       12h or 24h\n"
	"  -d, --delay SEC      between frames (default: 1; of a recording: as\n"
	"                       recorded)\n"
	"      --readonly       no signals to processes\n"
	"\n"
	"Where from:\n"
	"      --dir DIR        base directory (default: TTMEM_DIR, /run/ttmem or\n"
	"                       /dev/shm)\n"
	"      --system         root's ttmemd, whether it serves you or not\n"
	"      --replay FILE    a recording, or ttmem-dump --format json --watch 1;\n"
	"                       - is standard input. Its times and ages are those\n"
	"                       of the recording: a file always looks the same\n"
	"      --record FILE    write down what is shown, one line per snapshot\n"
	"\n"
	"Without a terminal (so it is in a pipe and with TERM=dumb, once):\n"
	"  -1, --once           print one frame of text\n"
	"  -b, --batch          print frame after frame; of a recording, each of it\n"
	"                       at once, unless --delay is given\n"
	"  -n, --count N        end after N frames\n"
	"      --size COLSxROWS of the screen; without it, text has all rows\n"
	"\n"
	"      --ascii          no other characters\n"
	"      --no-colour      also with NO_COLOR set\n"
	"      --vi             vi movement\n"
	"      --config FILE    instead of $XDG_CONFIG_HOME/ttmem/top.conf\n"
	"      --no-config      neither read nor write it\n"
	"  -h, --help\n"
	"  -V, --version\n"
	"\n"
	"Exit status of --once and --batch: 0, 1 failure, 2 wrong use, 3 no data or\n"
	"none that is current, 4 data incomplete or incompatible. See ttmem-top(1).\n";

enum {
	OPTION_ASCII = 256,
	OPTION_CONFIG,
	OPTION_DEVICE,
	OPTION_DIR,
	OPTION_FILTER,
	OPTION_NO_COLOUR,
	OPTION_NO_CONFIG,
	OPTION_READONLY,
	OPTION_RECORD,
	OPTION_REPLAY,
	OPTION_SIZE,
	OPTION_SORT,
	OPTION_SYSTEM,
	OPTION_VI,
	OPTION_VIEW,
	OPTION_WINDOW,
};

static const struct option table[] = {
	{ "ascii", no_argument, NULL, OPTION_ASCII },
	{ "batch", no_argument, NULL, 'b' },
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "count", required_argument, NULL, 'n' },
	{ "delay", required_argument, NULL, 'd' },
	{ "device", required_argument, NULL, OPTION_DEVICE },
	{ "dir", required_argument, NULL, OPTION_DIR },
	{ "filter", required_argument, NULL, OPTION_FILTER },
	{ "help", no_argument, NULL, 'h' },
	{ "no-color", no_argument, NULL, OPTION_NO_COLOUR },
	{ "no-colour", no_argument, NULL, OPTION_NO_COLOUR },
	{ "no-config", no_argument, NULL, OPTION_NO_CONFIG },
	{ "once", no_argument, NULL, '1' },
	{ "readonly", no_argument, NULL, OPTION_READONLY },
	{ "record", required_argument, NULL, OPTION_RECORD },
	{ "replay", required_argument, NULL, OPTION_REPLAY },
	{ "size", required_argument, NULL, OPTION_SIZE },
	{ "sort", required_argument, NULL, OPTION_SORT },
	{ "system", no_argument, NULL, OPTION_SYSTEM },
	{ "version", no_argument, NULL, 'V' },
	{ "vi", no_argument, NULL, OPTION_VI },
	{ "view", required_argument, NULL, OPTION_VIEW },
	{ "window", required_argument, NULL, OPTION_WINDOW },
	{ NULL, 0, NULL, 0 },
};

/* -- values ------------------------------------------------------------------- */

static uint64_t delay_parse(const char *value)
{
	double seconds;

	if (ttm_fraction_parse(value, &seconds) < 0 ||
		seconds < LEAST_SECONDS || seconds > MOST_SECONDS)
		ttm_error_usage("--delay: not a number of seconds from %.2f to "
				"%.0f: %s",
			LEAST_SECONDS, MOST_SECONDS, value);
	return (uint64_t)(seconds * SECOND_NS);
}

static uint64_t count_parse(const char *value)
{
	uint64_t count;

	if (ttm_number_parse(value, &count) < 0 || count == 0)
		ttm_error_usage("--count: not a number from 1 on: %s", value);
	return count;
}

static enum top_view view_parse(const char *value)
{
	unsigned i;

	for (i = 0; i < TOP_VIEWS; i++)
		if (strcmp(value, top_view_name((enum top_view)i)) == 0)
			return (enum top_view)i;
	ttm_error_usage("--view: unknown view: %s (valid: devices, charts, "
			"processes, health)",
		value);
}

static size_t sort_parse(const char *value)
{
	size_t column = top_column_find(TOP_TABLE_PROCESSES, value);
	size_t first = top_table_first(TOP_TABLE_PROCESSES), i;
	struct ttm_choice choice;

	if (column != TOP_COLUMNS)
		return column;
	ttm_choice_begin(&choice, value);
	for (i = 0; i < top_table_len(TOP_TABLE_PROCESSES); i++)
		ttm_choice_add(&choice, top_columns[first + i].name);
	ttm_error_usage("--sort: unknown column: %s %s", value,
		ttm_choice_text(&choice));
}

static const char *device_parse(const char *value)
{
	struct ttm_device_selector wanted;

	if (!ttm_device_parse(value, &wanted))
		ttm_error_usage("--device: not a device: %s (0, logical:0, "
				"asic:HEX, ..HEX or pci:BDF)",
			value);
	return value;
}

static unsigned window_parse(const char *value)
{
	static const char *const names[TOP_WINDOWS] = { "1m", "2m", "5m", "15m",
		"1h", "3h", "6h", "12h", "24h" };
	unsigned i;

	for (i = 0; i < TOP_WINDOWS; i++)
		if (strcmp(value, names[i]) == 0)
			return i;
	ttm_error_usage("--window: none of 1m, 2m, 5m, 15m, 1h, 3h, 6h, 12h "
			"and 24h: %s",
		value);
}

static void size_parse(const char *value, int *ret_cols, int *ret_rows)
{
	char text[32];
	char *x;
	uint64_t cols = 0, rows = 0;

	snprintf(text, sizeof(text), "%s", value);
	x = strchr(text, 'x');
	if (x)
		*x = '\0';
	if (!x || ttm_number_parse(text, &cols) < 0 ||
		ttm_number_parse(x + 1, &rows) < 0 || cols == 0 || rows == 0 ||
		cols > MOST_CELLS || rows > MOST_CELLS)
		ttm_error_usage("--size: not COLSxROWS, up to %ux%u: %s",
			MOST_CELLS, MOST_CELLS, value);
	*ret_cols = (int)cols;
	*ret_rows = (int)rows;
}

/* -- options ------------------------------------------------------------------ */

/* Those that say what is shown. */
static void view_option(int option, struct top_options *options)
{
	switch (option) {
	case OPTION_DEVICE:
		options->device = device_parse(optarg);
		break;
	case OPTION_FILTER:
		options->filter = optarg;
		break;
	case OPTION_SORT:
		options->sort = sort_parse(optarg);
		break;
	case OPTION_VIEW:
		options->view = view_parse(optarg);
		options->view_given = true;
		break;
	case OPTION_WINDOW:
		options->window = window_parse(optarg);
		break;
	case OPTION_SIZE:
		size_parse(optarg, &options->cols, &options->rows);
		break;
	case OPTION_ASCII:
		options->ascii = true;
		break;
	case OPTION_NO_COLOUR:
		options->no_colour = true;
		break;
	case OPTION_VI:
		options->vi = true;
		break;
	case OPTION_READONLY:
		options->readonly = true;
		break;
	default:
		break; /* there are no more in the table */
	}
}

static void option_take(int option, struct top_options *options)
{
	switch (option) {
	case '1':
		options->once = true;
		break;
	case 'b':
		options->batch = true;
		break;
	case 'n':
		options->count = count_parse(optarg);
		break;
	case 'd':
		options->delay_ns = delay_parse(optarg);
		break;
	case OPTION_CONFIG:
		options->config = optarg;
		break;
	case OPTION_NO_CONFIG:
		options->no_config = true;
		break;
	case OPTION_DIR:
		options->dir = ttm_option_dir(optarg);
		break;
	case OPTION_SYSTEM:
		options->system = true;
		break;
	case OPTION_REPLAY:
		options->replay = optarg;
		break;
	case OPTION_RECORD:
		options->record = optarg;
		break;
	case 'h':
		ttm_print_and_exit(help);
	case 'V':
		ttm_version_exit("ttmem-top");
	default:
		view_option(option, options);
	}
}

void top_options_parse(int argc, char **argv, struct top_options *ret_options)
{
	int option;

	memset(ret_options, 0, sizeof(*ret_options));
	ret_options->sort = TOP_COLUMNS;
	while ((option = ttm_option_next(argc, argv, "1bd:n:", table)) != -1)
		option_take(option, ret_options);
	if (optind < argc)
		ttm_error_usage("what is %s?", argv[optind]);
	if (ret_options->replay && (ret_options->dir || ret_options->system))
		ttm_error_usage("--replay reads a recording: neither --dir nor "
				"--system goes with it");
	if (ret_options->replay && ret_options->record)
		ttm_error_usage("--record and --replay do not go together");
	if (ret_options->once && ret_options->batch)
		ttm_error_usage("--once and --batch do not go together");
}
