/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/choice.h"
#include "common/error.h"
#include "common/options.h"
#include "command.h"

static const struct dump_command commands[] = {
	{ "report", dump_report_main,
		"what is on the devices, and whose it is" },
	{ "check", dump_check_main,
		"fail if something was left on the devices" },
	{ "run", dump_run_main, "run a command, and check what it left" },
	{ "diff", dump_diff_main,
		"what came, went and grew between two reports" },
	{ "doctor", dump_doctor_main,
		"why a process, device or ttmemd is not seen" },
	{ "clean", dump_clean_main, "remove what dead processes left" },
	{ "schema", dump_schema_main, "JSON Schema of report --format json" },
};

#define COMMANDS_LEN (sizeof(commands) / sizeof(commands[0]))

static void commands_print(void *at, const char *option, const char *value)
{
	size_t i;

	(void)at;
	(void)option;
	(void)value;
	for (i = 0; i < COMMANDS_LEN; i++)
		printf("  %-10s %s%s\n", commands[i].name, commands[i].text,
			i == 0 ? " (the default)" : "");
}

/* clang-format off */
static const struct ttm_option options_known[] = {
	TTM_OPTION_HELP_TEXT("usage: ttmem-dump [COMMAND] [options]\n\n"
		"Tells what processes have on Tenstorrent devices, as ttmemd knows it.\n\n"),
	{ .type = TTM_OPTION_TEXT, .take = commands_print },
	TTM_OPTION_HELP_TEXT("\nttmem-dump COMMAND --help tells the options of each.\n\n"),
	{ .type = TTM_OPTION_HELP, .name = "help", .letter = 'h', .help = "this text" },
	{ .type = TTM_OPTION_VERSION, .name = "version", .letter = 'V', .help = "" },
	TTM_OPTION_HELP_TEXT("\n"
		"Exit status: 0 clean, 1 failure, 2 wrong use, 3 no data or none that\n"
		"is current, 4 data incomplete or incompatible, 5 a limit or the baseline\n"
		"is exceeded, 23 leaks. See ttmem-dump(1).\n"),
	{ 0 },
};
/* clang-format on */

/* Whether --help or --version is asked for, and of no command. */
static bool is_about_all(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
		strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0;
}

static const struct dump_command *command_find(const char *name)
{
	struct ttm_choice choice;
	size_t i;

	ttm_choice_begin(&choice, name);
	for (i = 0; i < COMMANDS_LEN; i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
		ttm_choice_add(&choice, commands[i].name);
	}
	ttm_error_usage(
		"unknown command: %s %s", name, ttm_choice_text(&choice));
}

/*
 * One that is closed would be given to the next file or pipe that is opened. It
 * stays as useless as it was.
 */
static void descriptors_fill(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null",
				fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			exit(TTM_EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	struct ttm_command all = { .name = "ttmem-dump",
		.options = options_known };
	const char *first = argc > 1 ? argv[1] : "";

	ttm_error_name("ttmem-dump");
	descriptors_fill();
	if (is_about_all(first))
		ttm_options_parse(&all, argc, argv, NULL);
	if (first[0] && first[0] != '-')
		return command_find(first)->main(argc - 1, argv + 1);
	return dump_report_main(argc, argv);
}
