/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several commands have: where figures come from, and which. */
#ifndef TTM_DUMP_OPTIONS_H
#define TTM_DUMP_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "filter.h"
#include "source.h"

/* Values of long options; those of one command start at DUMP_OPTION_OWN. */
enum dump_option {
	DUMP_OPTION_DEVICE = 256,
	DUMP_OPTION_DIR,
	DUMP_OPTION_FROM,
	DUMP_OPTION_KIND,
	DUMP_OPTION_PID,
	DUMP_OPTION_SCOPE,
	DUMP_OPTION_SYSTEM,
	DUMP_OPTION_OWN = 512,
};

/* Entries for a table of options. */
/* clang-format off */
#define DUMP_OPTIONS_WHERE \
	{ "dir", required_argument, NULL, DUMP_OPTION_DIR }, \
	{ "from", required_argument, NULL, DUMP_OPTION_FROM }, \
	{ "system", no_argument, NULL, DUMP_OPTION_SYSTEM }
#define DUMP_OPTIONS_FILTER \
	{ "device", required_argument, NULL, DUMP_OPTION_DEVICE }, \
	{ "kind", required_argument, NULL, DUMP_OPTION_KIND }, \
	{ "pid", required_argument, NULL, DUMP_OPTION_PID }, \
	{ "scope", required_argument, NULL, DUMP_OPTION_SCOPE }
#define DUMP_OPTIONS_END \
	{ "help", no_argument, NULL, 'h' }, \
	{ "version", no_argument, NULL, 'V' }, \
	{ NULL, 0, NULL, 0 }

/* The same for --help. */
#define DUMP_HELP_WHERE \
	"  --from FILE           recorded JSON lines instead, the last one; - is stdin\n" \
	"  --dir DIR             base directory (default: $TTMEM_DIR, /run/ttmem or\n" \
	"                        /dev/shm)\n" \
	"  --system              what root's ttmemd knows, whether it serves us or not\n"
#define DUMP_HELP_FILTER \
	"  --device SEL,..       0, 2-3, logical:0, ..HEX, asic:HEX or pci:BDF\n" \
	"  --pid P,..\n" \
	"  --kind K,..           dram, l1, l1_small, trace, system_memory, cb,\n" \
	"                        kernel_application, kernel_fabric, kernel_dispatch,\n" \
	"                        or kernel for the three\n" \
	"  --scope PATTERN       objects of scopes like 'ttnn.*'; may be repeated\n"
#define DUMP_HELP_END \
	"  -h, --help            this text\n"
/* clang-format on */

/*
 * Takes one of the options above, -h and -V included, which end the program.
 * False: it is one of the command's.
 */
bool dump_option_take(int option, const char *help, struct dump_where *where,
	struct dump_filter *filter);

/* Ends the program if something is left, or the options do not go together. */
void dump_options_check(int argc, char **argv, const struct dump_where *where);

/* The value of an option as a number within limits; else ends the program. */
uint64_t dump_option_number(
	const char *option, const char *value, uint64_t least, uint64_t most);

/* The same of a file, for an empty name, which a variable that is not set makes. */
const char *dump_option_file(const char *option, const char *value);

#endif
