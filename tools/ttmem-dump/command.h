/* SPDX-License-Identifier: Apache-2.0 */
/* What ttmem-dump can do: one entry of the table in main.c for each. */
#ifndef TTM_DUMP_COMMAND_H
#define TTM_DUMP_COMMAND_H

/*
 * argv[0] is the command's own name. Returns the exit status; what is wrong has
 * been told on stderr.
 */
typedef int dump_main(int argc, char **argv);

struct dump_command {
	const char *name;
	dump_main *main;
	const char *text; /* what it does, for --help */
};

dump_main dump_check_main;
dump_main dump_clean_main;
dump_main dump_diff_main;
dump_main dump_doctor_main;
dump_main dump_report_main;
dump_main dump_run_main;
dump_main dump_schema_main;

#endif
