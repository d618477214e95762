/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "options.h"

#include "common/error.h"
#include "common/number.h"
#include "common/options.h"

bool dump_option_take(int option, const char *help, struct dump_where *where,
	struct dump_filter *filter)
{
	switch (option) {
	case DUMP_OPTION_DEVICE:
		dump_filter_add_devices(filter, "device", optarg);
		return true;
	case DUMP_OPTION_DIR:
		where->dir = ttm_option_dir(optarg);
		return true;
	case DUMP_OPTION_FROM:
		where->from = dump_option_file("from", optarg);
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
		ttm_print_and_exit(help);
	case 'V':
		ttm_version_exit("ttmem-dump");
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

const char *dump_option_file(const char *option, const char *value)
{
	if (!value[0])
		ttm_error_usage("--%s: the name of the file is empty", option);
	return value;
}
