/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>

#include <ttmem/version.h>

#include "common/error.h"
#include "common/number.h"

__attribute__((noreturn)) static void print_and_exit(const char *text)
{
	bool good = fputs(text, stdout) != EOF && fflush(stdout) == 0;

	exit(good ? TTM_EXIT_OK : TTM_EXIT_FAILURE);
}

__attribute__((noreturn)) static void version_print(void)
{
	char text[64];

	snprintf(text, sizeof(text), "ttmem-dump %d.%d.%d\n",
		TTMEM_VERSION_MAJOR, TTMEM_VERSION_MINOR, TTMEM_VERSION_PATCH);
	print_and_exit(text);
}

static const char *dir_check(const char *value)
{
	if (value[0] != '/')
		ttm_error_usage("--dir: not an absolute path: %s", value);
	return value;
}

int dump_option_next(
	int argc, char **argv, const char *shorts, const struct option *table)
{
	bool in_order = shorts[0] == '+';
	char all[32];
	int option;

	snprintf(all, sizeof(all), "%s:hV%s", in_order ? "+" : "",
		shorts + in_order);
	opterr = 0; /* we speak, and once */
	option = getopt_long(argc, argv, all, table, NULL);
	if (option == ':')
		ttm_error_usage("%s needs a value", argv[optind - 1]);
	if (option == '?')
		ttm_error_usage("no such option, or with a value that it does "
				"not take: %s",
			argv[optind - 1]);
	return option;
}

bool dump_option_take(int option, const char *help, struct dump_where *where,
	struct dump_filter *filter)
{
	switch (option) {
	case DUMP_OPTION_DEVICE:
		dump_filter_add_devices(filter, "device", optarg);
		return true;
	case DUMP_OPTION_DIR:
		where->dir = dir_check(optarg);
		return true;
	case DUMP_OPTION_FROM:
		where->from = optarg;
		return true;
	case DUMP_OPTION_KIND:
		dump_filter_add_kinds(filter, "kind", optarg);
		return true;
	case DUMP_OPTION_PID:
		dump_filter_add_pids(filter, "pid", optarg);
		return true;
	case DUMP_OPTION_SCOPE:
		dump_filter_add_scope(filter, "scope", optarg);
		return true;
	case DUMP_OPTION_SYSTEM:
		where->system = true;
		return true;
	case 'h':
		print_and_exit(help);
	case 'V':
		version_print();
	default:
		return false;
	}
}

void dump_options_check(int argc, char **argv, const struct dump_where *where)
{
	if (optind < argc)
		ttm_error_usage("what is %s?", argv[optind]);
	if (where->from && (where->dir || where->system))
		ttm_error_usage("--from reads a file: neither --dir nor "
				"--system goes with it");
}

uint64_t dump_option_number(
	const char *option, const char *value, uint64_t least, uint64_t most)
{
	uint64_t number;

	if (ttm_number_parse(value, &number) < 0 || number < least ||
		number > most)
		ttm_error_usage("--%s: not a number from %llu to %llu: %s",
			option, (unsigned long long)least,
			(unsigned long long)most, value);
	return number;
}
