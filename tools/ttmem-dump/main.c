/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ttmem/version.h>

#include "command.h"
#include "common/choice.h"
#include "common/error.h"

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

static int help_print(void)
{
	size_t i;

	puts("usage: ttmem-dump [COMMAND] [options]\n\n"
	     "Tells what processes have on Tenstorrent devices, as ttmemd knows it.\n");
	for (i = 0; i < COMMANDS_LEN; i++)
		printf("  %-10s %s%s\n", commands[i].name, commands[i].text,
			i == 0 ? " (the default)" : "");
	puts("\nttmem-dump COMMAND --help tells the options of each.\n\n"
	     "  -h, --help     this text\n"
	     "  -V, --version\n\n"
	     "Exit status: 0 clean, 1 failure, 2 wrong use, 3 no data or none that\n"
	     "is current, 4 data incomplete or incompatible, 5 a limit or the baseline\n"
	     "is exceeded, 23 leaks. See ttmem-dump(1).");
	return fflush(stdout) == 0 ? TTM_EXIT_OK : TTM_EXIT_FAILURE;
}

static int version_print(void)
{
	printf("ttmem-dump %d.%d.%d\n", TTMEM_VERSION_MAJOR,
		TTMEM_VERSION_MINOR, TTMEM_VERSION_PATCH);
	return fflush(stdout) == 0 ? TTM_EXIT_OK : TTM_EXIT_FAILURE;
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
	const char *first = argc > 1 ? argv[1] : "";

	ttm_error_name("ttmem-dump");
	descriptors_fill();
	if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
		return help_print();
	if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0)
		return version_print();
	if (first[0] && first[0] != '-')
		return command_find(first)->main(argc - 1, argv + 1);
	return dump_report_main(argc, argv);
}
